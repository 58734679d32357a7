//! What is known of drivers, GPUs, toolkits, images and wheels: tables with source and date.

mod gpu_names;
mod lookup;
mod rows;
mod torch_rows;

mod tables {
    include!(concat!(env!("OUT_DIR"), "/tables.rs"));
}

pub use self::lookup::Knowledge;
pub use self::rows::*;
