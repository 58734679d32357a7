//! The compatibility database: tables about drivers, GPUs, toolkits, images and wheels, with source and date.

#[macro_use]
#[path = "build/package_tables.rs"]
mod package_table_declarations;
#[macro_use]
#[path = "build/tables.rs"]
mod table_declarations;
#[path = "build/schema.rs"]
pub(crate) mod schema;

pub mod overlay;
pub mod toml_reader;

mod alias_rows;
mod base_lookup;
mod cloud_instances;
mod cuda_tags;
mod distribution_queries;
mod driver_rows;
mod gpu_names;
mod jetson_windows_lookup;
mod library_lookup;
mod lookup;
mod mig_profiles;
mod name_index;
mod natural_order;
mod newer_versions;
mod package_lookup;
mod printable_rows;
mod queries;
mod recipe_lookup;
mod rows;
mod stage_names;
mod toolkit_changes;
mod toolkit_lookup;
mod wheel_lookup;

mod tables {
    include!(concat!(env!("OUT_DIR"), "/tables.rs"));
}

pub use self::cuda_tags::NoSuchTag;
pub use self::gpu_names::{GpuNameMatch, names_vgpu_profile};
pub use self::lookup::Knowledge;
pub(crate) use self::lookup::{Row, Tables};
pub use self::natural_order::compare_natural;
pub use self::printable_rows::{FieldValue, ShownRow};
pub use self::queries::{KnowledgeAnswer, QUERY_SUBJECTS, TableSummary, row_heading};
pub use self::recipe_lookup::recipes_on_day;
pub use self::rows::*;
