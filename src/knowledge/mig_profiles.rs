//! MIG profiles: the partitions of a GPU.

use crate::knowledge::rows::MigProfileRow;
use crate::knowledge::{Knowledge, gpu_names};

impl Knowledge {
    /// Whether a GPU that `name` may refer to supports a MIG profile, regardless of additions (`1g.10gb.me`); `None`
    /// if the table lacks one.
    pub fn has_mig_profile(self, name: &str, profile: &str) -> Option<bool> {
        let name = self.cloud_instance(name).map_or(name, |row| row.gpu);
        let meant = gpu_names::find_gpus(self.gpus(), name);
        let rows: Option<Vec<&MigProfileRow>> =
            meant.iter().map(|gpu| self.mig_profiles().iter().find(|row| row.gpu == gpu.name)).collect();
        let rows = rows.filter(|rows| !rows.is_empty())?;
        let plain = base_profile(profile)?;
        Some(rows.iter().any(|row| row.profiles.contains(&plain)))
    }
}

/// Returns a profile without its additions: `1g.10gb` of `1g.10gb.me`, `1g.24gb-me` and `1g.24gb+gfx`; `None` for
/// other text.
fn base_profile(profile: &str) -> Option<&str> {
    let (slices, rest) = profile.split_once("g.")?;
    let (memory, _) = rest.split_once("gb")?;
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    (is_number(slices) && is_number(memory)).then(|| &profile[..slices.len() + memory.len() + 4])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_added_to_a_profile_is_left_out() {
        for (profile, expected) in [
            ("1g.10gb", Some("1g.10gb")),
            ("1g.10gb.me", Some("1g.10gb")),
            ("1g.24gb-me", Some("1g.24gb")),
            ("4g.96gb+gfx", Some("4g.96gb")),
            ("1c.3g.40gb", None),
            ("all", None),
            ("g.gb", None),
            ("1g.", None),
            ("1g.xgb", None),
            ("", None),
        ] {
            assert_eq!(base_profile(profile), expected, "{profile}");
        }
    }
}
