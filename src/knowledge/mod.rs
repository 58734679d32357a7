//! What is known of drivers, GPUs, toolkits, images and wheels: tables with source and date.

#[macro_use]
#[path = "build/schema.rs"]
pub(crate) mod schema;

mod alias_rows;
mod ask;
mod ask_wheels;
mod base_lookup;
mod change_rows;
mod code_rows;
mod cuda_tags;
mod driver_rows;
mod error_rows;
mod gpu_names;
mod image_rows;
mod instances;
mod library_lookup;
mod library_rows;
mod lookup;
mod named;
mod newer;
mod numbered_lookup;
mod order;
mod package_lookup;
mod recipe_lookup;
mod rows;
mod set;
mod shown;
mod slices;
mod stages;
mod toolkit_lookup;
mod torch_rows;
mod verdict_rows;
mod wheel_lookup;
mod wheel_rows;
mod words;

mod tables {
    include!(concat!(env!("OUT_DIR"), "/tables.rs"));
}

pub(crate) use every_table;

pub use self::ask::Answer;
pub use self::ask::SUBJECTS;
pub use self::ask::TableSummary;
pub use self::ask::heading;
pub use self::cuda_tags::NoSuchTag;
pub use self::gpu_names::{SameGpu, names_share};
pub use self::lookup::Knowledge;
pub use self::order::by_number;
pub use self::order::{BEYOND, EARLIEST};
pub use self::recipe_lookup::standing;
pub use self::rows::*;
pub(crate) use self::set::Row;
pub(crate) use self::set::Tables;
pub use self::shown::Shown;
pub use self::shown::ShownRow;
