//! What an image requires without a fleet: the drivers on which it starts, per kind of GPU and launch method.
//!
//! Nothing is assumed to be monotone. Every known driver release is replayed, and the results are reported as
//! ranges: the smallest driver from which on all known ones start, and the older ones that start as well.

pub mod detected_facts;
mod equivalent_gpus;
mod launch_setup;
pub mod model;
pub mod print;
mod survey;

pub use self::survey::survey_builds;
