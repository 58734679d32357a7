//! imagelint says on which node pools a GPU container will not start, and why.

pub mod cuda;
pub mod describe;
pub mod fleet;
pub mod knowledge;
pub mod nearest;
pub mod outcome;
pub mod report;
pub mod source;
pub mod toml_reader;
