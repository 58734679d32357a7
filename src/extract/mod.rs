//! Evidence into observations: one reader per kind of input, nothing concluded yet.

mod along;
mod asked;
mod bases;
mod built;
mod claims;
mod compiled;
mod config;
mod copied;
mod described;
mod description;
mod dockerfile;
mod history;
mod inherited;
mod install;
mod landing;
mod layers;
mod linked;
mod locked;
mod merge;
mod packaged;
mod removed;
mod run_time;
mod steps;
mod tag_now;
mod tree;
mod written;

pub use self::bases::{Bases, KnownBase, base_of, of_build};
pub use self::built::{Recipe, of_built};
pub use self::claims::of_claims;
pub use self::config::of_config;
pub use self::description::{of_description, to_description};
pub use self::dockerfile::{Target, of_dockerfile};
pub use self::layers::{MissingLayer, of_layers};
pub use self::locked::of_locked;
pub use self::run_time::set_at_run_time;
pub use self::tag_now::note_tag_now;
