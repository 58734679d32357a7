//! Whether a GPU is whole or partitioned with MIG.

use std::collections::BTreeSet;

use crate::fleet::{GpuSpec, is_mig_profile, mig_division_text};

/// The partitioning of a GPU, as far as a source states it.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum GpuPartitioning {
    /// Not stated.
    #[default]
    Unknown,
    /// It is whole.
    Whole,
    /// It is divided.
    Mig {
        /// The profiles of its devices, as a fleet file has them; empty if unknown.
        profiles: BTreeSet<String>,
        /// Whether the machine also has whole GPUs of its name, if known.
        has_whole_gpus: Option<bool>,
    },
}

impl GpuPartitioning {
    /// Returns a partitioned GPU with the valid ones of these profiles.
    pub(super) fn mig<'a>(profiles: impl IntoIterator<Item = &'a str>, has_whole_gpus: Option<bool>) -> Self {
        Self::Mig { profiles: profiles.into_iter().filter_map(normalise_profile).collect(), has_whole_gpus }
    }

    /// Returns the partitioning for a MIG mode that is on or off.
    pub(super) fn from_mig_mode(divided: bool) -> Self {
        if divided { Self::mig([], None) } else { Self::Whole }
    }

    /// Whether the GPU is partitioned.
    pub(super) const fn is_mig(&self) -> bool {
        matches!(self, Self::Mig { .. })
    }

    /// Returns the profile that all MIG devices of the machine certainly have.
    pub(super) fn single_profile(&self) -> Option<&str> {
        match self {
            Self::Mig { profiles, has_whole_gpus: Some(false) } if profiles.len() == 1 => {
                profiles.first().map(String::as_str)
            }
            Self::Unknown | Self::Whole | Self::Mig { .. } => None,
        }
    }

    /// Whether some devices of the machine may match a declaration.
    pub(super) fn may_match(&self, declared: &GpuSpec) -> bool {
        match (self, declared.mig.as_deref()) {
            (Self::Unknown, _) | (Self::Whole, None) | (Self::Mig { .. }, Some("")) => true,
            (Self::Whole, Some(_)) => false,
            (Self::Mig { has_whole_gpus, .. }, None) => *has_whole_gpus == Some(true),
            (Self::Mig { profiles, .. }, Some(own)) => {
                profiles.is_empty() || normalise_profile(own).is_some_and(|own| profiles.contains(&own))
            }
        }
    }

    /// Returns texts for the partitions that match none of the declarations.
    pub(super) fn undeclared_partitions(&self, declared: &[&GpuSpec]) -> Vec<String> {
        let whole = || declared.iter().any(|spec| spec.mig.is_none());
        let any = || declared.iter().any(|spec| spec.mig.as_deref() == Some(""));
        match self {
            Self::Unknown => Vec::new(),
            Self::Whole if whole() => Vec::new(),
            Self::Whole => vec![mig_division_text(None)],
            Self::Mig { .. } if any() => Vec::new(),
            Self::Mig { profiles, .. } if profiles.is_empty() => {
                if declared.iter().any(|spec| spec.mig.is_some()) {
                    Vec::new()
                } else {
                    vec![mig_division_text(Some(""))]
                }
            }
            Self::Mig { profiles, has_whole_gpus } => {
                let own: Vec<String> =
                    declared.iter().filter_map(|spec| normalise_profile(spec.mig.as_deref()?)).collect();
                let others = profiles
                    .iter()
                    .filter(|profile| !own.contains(profile))
                    .map(|profile| mig_division_text(Some(profile)));
                others.chain((*has_whole_gpus == Some(true) && !whole()).then(|| mig_division_text(None))).collect()
            }
        }
    }
}

/// Returns a profile as written in a fleet file; device plugins write a dot instead of the plus sign of nvidia-smi.
fn normalise_profile(text: &str) -> Option<String> {
    let text = text.strip_prefix("MIG ").unwrap_or(text);
    let own = text.split_once("gb.").map(|(size, rest)| format!("{size}gb+{rest}"));
    let own = own.unwrap_or_else(|| text.to_owned());
    is_mig_profile(&own).then_some(own)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(mig: Option<&str>) -> GpuSpec {
        GpuSpec {
            name: "A100".to_owned(),
            count: None,
            compute_capability: None,
            brand: None,
            mig: mig.map(str::to_owned),
        }
    }

    #[test]
    fn whole_and_divided_are_not_the_same() {
        let small = || GpuPartitioning::mig(["1g.5gb"], Some(false));
        let both = || GpuPartitioning::mig(["1g.5gb", "3g.20gb"], Some(true));
        for (own, declared, may_be, others) in [
            (GpuPartitioning::Unknown, None, true, ""),
            (GpuPartitioning::Unknown, Some("1g.5gb"), true, ""),
            (GpuPartitioning::Whole, None, true, ""),
            (GpuPartitioning::Whole, Some(""), false, "whole"),
            (GpuPartitioning::Whole, Some("1g.5gb"), false, "whole"),
            (GpuPartitioning::from_mig_mode(true), None, false, "partitioned with MIG"),
            (GpuPartitioning::from_mig_mode(true), Some("1g.5gb"), true, ""),
            (GpuPartitioning::mig(["no profile"], None), Some("1g.5gb"), true, ""),
            (small(), None, false, "MIG 1g.5gb"),
            (small(), Some(""), true, ""),
            (small(), Some("1g.5gb"), true, ""),
            (small(), Some("MIG 1g.5gb"), true, ""),
            (small(), Some("2g.10gb"), false, "MIG 1g.5gb"),
            (small(), Some("1g.5gb+me"), false, "MIG 1g.5gb"),
            (GpuPartitioning::mig(["1g.10gb.me"], None), Some("1g.10gb+me"), true, ""),
            (GpuPartitioning::mig(["1g.10gb.me"], None), Some("1g.10gb"), false, "MIG 1g.10gb+me"),
            (both(), None, true, "MIG 1g.5gb, MIG 3g.20gb"),
            (both(), Some("3g.20gb"), true, "MIG 1g.5gb, whole"),
            (both(), Some(""), true, ""),
        ] {
            let declared = spec(declared);
            assert_eq!(own.may_match(&declared), may_be, "{own:?} {declared:?}");
            assert_eq!(own.undeclared_partitions(&[&declared]).join(", "), others, "{own:?} {declared:?}");
        }
        // A list is what a node may have any one of.
        let all = [None, Some("1g.5gb"), Some("3g.20gb")].map(spec);
        assert!(both().undeclared_partitions(&all.iter().collect::<Vec<_>>()).is_empty());
        assert_eq!(both().undeclared_partitions(&all.iter().skip(1).collect::<Vec<_>>()), ["whole"]);
        assert_eq!(
            (small().single_profile(), both().single_profile(), GpuPartitioning::Whole.single_profile()),
            (Some("1g.5gb"), None, None)
        );
        assert_eq!(GpuPartitioning::mig(["1g.5gb"], None).single_profile(), None);
    }
}
