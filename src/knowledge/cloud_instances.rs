//! Machine types of cloud providers, and their GPUs.

use crate::knowledge::Knowledge;
use crate::knowledge::rows::RowInfo;

/// A machine type of a cloud provider.
#[derive(Clone, Copy, Debug)]
pub struct CloudInstanceRow {
    /// Table, key and source of the row.
    pub info: RowInfo,
    /// Name that the provider uses: `g5.xlarge`.
    pub name: &'static str,
    /// Provider: `aws`, `azure`, `gcp`.
    pub provider: &'static str,
    /// Its GPU, by name in the table `gpus`.
    pub gpu: &'static str,
    /// Number of GPUs; `None` if it has a fraction of one.
    pub count: Option<u32>,
}

impl Knowledge {
    /// Returns the machine type with a name, case-insensitively.
    pub fn cloud_instance(self, name: &str) -> Option<&'static CloudInstanceRow> {
        let name = name.trim();
        self.cloud_instances().iter().find(|row| row.name.eq_ignore_ascii_case(name))
    }
}
