//! What is known of drivers, GPUs, toolkits, images and wheels: tables with source and date.

mod rows;

pub use self::rows::*;
