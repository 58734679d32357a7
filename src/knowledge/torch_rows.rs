//! Rows about what decides the release of torch: other distributions' pins and versions of Python.

use crate::knowledge::rows::RowInfo;

/// Which torch another distribution asks for.
#[derive(Clone, Copy, Debug)]
pub struct TorchPinRow {
    /// Where the row stands.
    pub info: RowInfo,
    /// Distribution: `torchvision`.
    pub distribution: &'static str,
    /// Version; `*` for every version without a row of its own.
    pub version: &'static str,
    /// Range of PEP 440; empty where any will do.
    pub torch: &'static str,
}

/// Which torch releases have a wheel for a version of Python.
#[derive(Clone, Copy, Debug)]
pub struct TorchPythonRow {
    /// Where the row stands.
    pub info: RowInfo,
    /// `3.8`.
    pub python: &'static str,
    /// The first release.
    pub first: &'static str,
    /// The last one, where later ones have none.
    pub last: Option<&'static str>,
}

/// The Python of an image or distribution.
#[derive(Clone, Copy, Debug)]
pub struct ImagePythonRow {
    /// Where the row stands.
    pub info: RowInfo,
    /// `ubuntu`, `python`.
    pub name: &'static str,
    /// `22.04`, `3.11`.
    pub version: &'static str,
    /// Its Python.
    pub python: &'static str,
}
