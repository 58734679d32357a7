//! What is known of drivers, GPUs, toolkits, images and wheels: tables with source and date.

mod gpu_names;
mod library_lookup;
mod library_rows;
mod lookup;
mod rows;

mod tables {
    include!(concat!(env!("OUT_DIR"), "/tables.rs"));
}

pub use self::library_rows::*;
pub use self::lookup::Knowledge;
pub use self::rows::*;
