//! Reports: how verdicts and findings are told.

pub mod baseline;
pub mod escape;
pub mod files;
pub mod fingerprint;
pub mod hosts;
pub mod human;
pub mod json;
pub mod matrix;
pub mod model;
pub mod ndjson;
pub mod observed;
pub mod open;
pub mod paint;
pub mod snippet;
pub mod summary;
pub mod why;
pub mod words;
