//! What an image demands, without any fleet: the drivers that it starts on, for every kind of GPU and way of starting.
//!
//! Nothing is assumed to be monotone. Every known driver release is replayed, and what comes out is told as
//! ranges: the smallest driver from which on all known ones start, and the older ones that start as well.

mod kind;
mod lines;
pub mod model;
pub mod seen;
mod sentence;
mod survey;
pub mod tell;
mod way;

pub use self::survey::survey;
