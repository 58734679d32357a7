//! imagelint says on which node pools a GPU container will not start, and why.

pub mod cuda;
pub mod dockerfile;
pub mod fleet;
pub mod install;
pub mod knowledge;
pub mod outcome;
pub mod reference;
pub mod report;
pub mod shell;
pub mod source;
