//! The printed form of a fact's value.

use serde::Deserialize;
use serde::Serialize;

use crate::cuda::CudaVersion;

/// A value as reports show it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Value {
    /// One word or line.
    Text(String),
    /// Several.
    List(Vec<String>),
}

impl From<&String> for Value {
    fn from(text: &String) -> Self {
        Self::Text(text.clone())
    }
}

impl From<&CudaVersion> for Value {
    fn from(version: &CudaVersion) -> Self {
        Self::Text(version.to_string())
    }
}

impl From<&Vec<String>> for Value {
    fn from(list: &Vec<String>) -> Self {
        Self::List(list.clone())
    }
}

impl std::fmt::Display for Value {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Text(text) => f.write_str(text),
            Self::List(list) => f.write_str(&list.join(", ")),
        }
    }
}
