//! How GPUs can be divided.

use crate::knowledge::Knowledge;
use crate::knowledge::gpu_names;
use crate::knowledge::rows::RowInfo;

/// The profiles of the slices that a GPU can be divided into.
#[derive(Clone, Copy, Debug)]
pub struct MigProfileRow {
    /// Where the row stands.
    pub info: RowInfo,
    /// By the name in the table of GPUs.
    pub gpu: &'static str,
    /// `1g.10gb`: without what is added to a profile, as `+me`.
    pub profiles: &'static [&'static str],
}

impl Knowledge {
    /// Whether a GPU that `name` may mean can have slices of a profile, whatever is added to it (`1g.10gb.me`); none where the
    /// table does not know one of them.
    pub fn has_slices(self, name: &str, profile: &str) -> Option<bool> {
        let name = self.cloud_instance(name).map_or(name, |row| row.gpu);
        let meant = gpu_names::all(self.gpus(), name);
        let rows: Option<Vec<&MigProfileRow>> =
            meant.iter().map(|gpu| self.mig_profiles().iter().find(|row| row.gpu == gpu.name)).collect();
        let rows = rows.filter(|rows| !rows.is_empty())?;
        let plain = plain(profile)?;
        Some(rows.iter().any(|row| row.profiles.contains(&plain)))
    }
}

/// A profile without what is added to it: `1g.10gb` of `1g.10gb.me`, `1g.24gb-me` and `1g.24gb+gfx`; none of what is no
/// profile.
fn plain(profile: &str) -> Option<&str> {
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
            assert_eq!(plain(profile), expected, "{profile}");
        }
    }
}
