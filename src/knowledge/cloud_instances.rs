//! Machine types of cloud providers, and their GPUs.

use crate::knowledge::Knowledge;
use crate::knowledge::rows::CloudInstanceRow;

impl Knowledge {
    /// Returns the machine type with a name, case-insensitively.
    pub fn cloud_instance(self, name: &str) -> Option<&'static CloudInstanceRow> {
        let name = name.trim();
        self.cloud_instances().iter().find(|row| row.name.eq_ignore_ascii_case(name))
    }
}
