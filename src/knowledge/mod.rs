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

mod base_images;
mod drivers;
mod gpu_names;
mod lookup;
mod name_index;
mod natural_order;
mod newer_versions;
mod packages;
mod parsed_text;
mod printable_rows;
mod queries;
mod rows;

/// The knowledge tables, which the build script generates from `rules/knowledge`.
mod tables {
    include!(concat!(env!("OUT_DIR"), "/tables.rs"));
}

pub use self::base_images::{NoSuchTag, recipes_on_day};
pub use self::gpu_names::{GpuNameMatch, names_vgpu_profile};
pub use self::lookup::Knowledge;
pub(crate) use self::lookup::{Row, Tables};
pub use self::natural_order::compare_natural;
pub use self::parsed_text::{ParsedText, RowRange, RowVersion};
pub use self::printable_rows::{FieldValue, ShownRow};
pub use self::queries::{KnowledgeAnswer, QUERY_SUBJECTS, TableSummary, row_heading};
pub use self::rows::*;
