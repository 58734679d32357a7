//! Text of inputs: files with spans, and suggestions for misspelt words.

pub mod nearest;
pub mod source;
