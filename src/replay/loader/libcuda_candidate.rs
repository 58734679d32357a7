//! The libcuda that a search of the loader ends at.

use crate::model::fact::{CompatLibrary, DriverLibrary};
use crate::replay::Basis;

/// A libcuda that the loader selects, before its version and its CUDA support are determined.
#[derive(Clone, Copy, Debug)]
pub(super) enum LibcudaCandidate<'a> {
    Host,
    Compat(&'a CompatLibrary),
    /// The compat library or the host's libcuda, depending on a note that was not read; both are equivalent.
    Either(&'a CompatLibrary),
    Image(&'a DriverLibrary),
    /// Unknown; the basis is what is missing to decide.
    Open(Basis),
}

impl LibcudaCandidate<'_> {
    pub(super) const fn is_host(self) -> bool {
        matches!(self, Self::Host)
    }

    /// Whether two searches end at the same file.
    pub(super) fn is_same_file(self, other: Self) -> bool {
        match (self, other) {
            (Self::Host, Self::Host) => true,
            (Self::Compat(one), Self::Compat(other)) | (Self::Either(one), Self::Either(other)) => {
                std::ptr::eq(one, other)
            }
            (Self::Image(one), Self::Image(other)) => std::ptr::eq(one, other),
            _ => false,
        }
    }
}
