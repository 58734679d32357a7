//! Parts of the registry tests: an image writer, a real registry and a server for faults.

pub(crate) mod fake;
pub(crate) mod layout;
pub(crate) mod registry;
