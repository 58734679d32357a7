//! The printed form of a fact's value.

use serde::{Deserialize, Serialize};

use crate::cuda::CudaVersion;

/// The value of a fact as reports show it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum PrintedValue {
    /// A single value.
    Text(String),
    /// A list of values.
    List(Vec<String>),
}

impl From<&String> for PrintedValue {
    fn from(text: &String) -> Self {
        Self::Text(text.clone())
    }
}

impl From<&CudaVersion> for PrintedValue {
    fn from(version: &CudaVersion) -> Self {
        Self::Text(version.to_string())
    }
}

impl From<&Vec<String>> for PrintedValue {
    fn from(list: &Vec<String>) -> Self {
        Self::List(list.clone())
    }
}

impl std::fmt::Display for PrintedValue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Text(text) => f.write_str(text),
            Self::List(list) => f.write_str(&list.join(", ")),
        }
    }
}
