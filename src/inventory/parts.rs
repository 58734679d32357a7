//! Whether a GPU is whole, or divided by MIG.

use std::collections::BTreeSet;

use crate::fleet::GpuSpec;
use crate::fleet::division;
use crate::fleet::is_profile;

/// What a source says of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Parts {
    /// Nothing.
    #[default]
    Untold,
    /// It is whole.
    Whole,
    /// It is divided.
    Mig {
        /// The profiles of its devices, as a fleet file has them; empty where they are not told.
        profiles: BTreeSet<String>,
        /// Whether whole GPUs of its name lie beside it in the machine; none where that is not told.
        beside: Option<bool>,
    },
}

impl Parts {
    /// Divided into devices of which these profiles are told; what is no profile is not.
    pub(super) fn mig<'a>(profiles: impl IntoIterator<Item = &'a str>, beside: Option<bool>) -> Self {
        Self::Mig { profiles: profiles.into_iter().filter_map(profile).collect(), beside }
    }

    /// Of a source that tells both.
    pub(super) fn known(divided: bool) -> Self {
        if divided { Self::mig([], None) } else { Self::Whole }
    }

    /// Whether it is divided.
    pub(super) const fn is_mig(&self) -> bool {
        matches!(self, Self::Mig { .. })
    }

    /// The one profile of which every device in the machine is, where that is certain.
    pub(super) fn only(&self) -> Option<&str> {
        match self {
            Self::Mig { profiles, beside: Some(false) } if profiles.len() == 1 => profiles.first().map(String::as_str),
            Self::Untold | Self::Whole | Self::Mig { .. } => None,
        }
    }

    /// Whether a machine that says so may be one of a declaration: some of its devices are.
    pub(super) fn may_be(&self, declared: &GpuSpec) -> bool {
        match (self, declared.mig.as_deref()) {
            (Self::Untold, _) | (Self::Whole, None) | (Self::Mig { .. }, Some("")) => true,
            (Self::Whole, Some(_)) => false,
            (Self::Mig { beside, .. }, None) => *beside == Some(true),
            (Self::Mig { profiles, .. }, Some(own)) => {
                profiles.is_empty() || profile(own).is_some_and(|own| profiles.contains(&own))
            }
        }
    }

    /// What of it is of none of the declarations, in words.
    pub(super) fn others(&self, declared: &[&GpuSpec]) -> Vec<String> {
        let whole = || declared.iter().any(|spec| spec.mig.is_none());
        let any = || declared.iter().any(|spec| spec.mig.as_deref() == Some(""));
        match self {
            Self::Untold => Vec::new(),
            Self::Whole if whole() => Vec::new(),
            Self::Whole => vec![division(None)],
            Self::Mig { .. } if any() => Vec::new(),
            Self::Mig { profiles, .. } if profiles.is_empty() => {
                if declared.iter().any(|spec| spec.mig.is_some()) {
                    Vec::new()
                } else {
                    vec![division(Some(""))]
                }
            }
            Self::Mig { profiles, beside } => {
                let own: Vec<String> = declared.iter().filter_map(|spec| profile(spec.mig.as_deref()?)).collect();
                let others =
                    profiles.iter().filter(|profile| !own.contains(profile)).map(|profile| division(Some(profile)));
                others.chain((*beside == Some(true) && !whole()).then(|| division(None))).collect()
            }
        }
    }
}

/// A profile as a fleet file has it; device plugins write a dot where nvidia-smi writes a plus sign.
fn profile(text: &str) -> Option<String> {
    let text = text.strip_prefix("MIG ").unwrap_or(text);
    let own = text.split_once("gb.").map(|(size, rest)| format!("{size}gb+{rest}"));
    let own = own.unwrap_or_else(|| text.to_owned());
    is_profile(&own).then_some(own)
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
        let small = || Parts::mig(["1g.5gb"], Some(false));
        let both = || Parts::mig(["1g.5gb", "3g.20gb"], Some(true));
        for (own, declared, may_be, others) in [
            (Parts::Untold, None, true, ""),
            (Parts::Untold, Some("1g.5gb"), true, ""),
            (Parts::Whole, None, true, ""),
            (Parts::Whole, Some(""), false, "whole"),
            (Parts::Whole, Some("1g.5gb"), false, "whole"),
            (Parts::known(true), None, false, "partitioned with MIG"),
            (Parts::known(true), Some("1g.5gb"), true, ""),
            (Parts::mig(["no profile"], None), Some("1g.5gb"), true, ""),
            (small(), None, false, "MIG 1g.5gb"),
            (small(), Some(""), true, ""),
            (small(), Some("1g.5gb"), true, ""),
            (small(), Some("MIG 1g.5gb"), true, ""),
            (small(), Some("2g.10gb"), false, "MIG 1g.5gb"),
            (small(), Some("1g.5gb+me"), false, "MIG 1g.5gb"),
            (Parts::mig(["1g.10gb.me"], None), Some("1g.10gb+me"), true, ""),
            (Parts::mig(["1g.10gb.me"], None), Some("1g.10gb"), false, "MIG 1g.10gb+me"),
            (both(), None, true, "MIG 1g.5gb, MIG 3g.20gb"),
            (both(), Some("3g.20gb"), true, "MIG 1g.5gb, whole"),
            (both(), Some(""), true, ""),
        ] {
            let declared = spec(declared);
            assert_eq!(own.may_be(&declared), may_be, "{own:?} {declared:?}");
            assert_eq!(own.others(&[&declared]).join(", "), others, "{own:?} {declared:?}");
        }
        // A list is what a node may have any one of.
        let all = [None, Some("1g.5gb"), Some("3g.20gb")].map(spec);
        assert!(both().others(&all.iter().collect::<Vec<_>>()).is_empty());
        assert_eq!(both().others(&all.iter().skip(1).collect::<Vec<_>>()), ["whole"]);
        assert_eq!((small().only(), both().only(), Parts::Whole.only()), (Some("1g.5gb"), None, None));
        assert_eq!(Parts::mig(["1g.5gb"], None).only(), None);
    }
}
