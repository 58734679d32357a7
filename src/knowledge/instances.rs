//! Machine types of clouds, and the GPU that they stand for.

use crate::knowledge::Knowledge;
use crate::knowledge::rows::RowInfo;

/// A machine type of a cloud.
#[derive(Clone, Copy, Debug)]
pub struct CloudInstanceRow {
    /// Where the row stands.
    pub info: RowInfo,
    /// As the cloud writes it: `g5.xlarge`.
    pub name: &'static str,
    /// `aws`, `azure`, `gcp`.
    pub provider: &'static str,
    /// Its GPU, by the name in the table of GPUs.
    pub gpu: &'static str,
    /// How many it has; none where it has a share of one.
    pub count: Option<u32>,
}

impl Knowledge {
    /// The machine type of that name; clouds tell upper from lower case, people do not.
    pub fn cloud_instance(self, name: &str) -> Option<&'static CloudInstanceRow> {
        let name = name.trim();
        self.cloud_instances().iter().find(|row| row.name.eq_ignore_ascii_case(name))
    }
}
