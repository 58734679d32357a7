//! Reports: how verdicts and findings are told.

pub mod model;
