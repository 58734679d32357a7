//! Evidence into observations: one reader per kind of input, nothing concluded yet.

mod along;
mod config;
mod copied;
mod description;
mod dockerfile;
mod history;
mod inherited;
mod install;
mod landing;
mod packaged;
mod removed;
mod tree;

pub use self::config::of_config;
pub use self::description::{of_description, to_description};
pub use self::dockerfile::{Target, of_dockerfile};
