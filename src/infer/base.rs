//! The base image: which family its reference names, and what each build of that tag carries.

use jiff::civil::Date;

use crate::cuda::CudaVersion;
use crate::fact::BaseSeen;
use crate::fact::Derivation;
use crate::fact::EnvFacts;
use crate::fact::Evidence;
use crate::fact::Fact;
use crate::fact::FactId;
use crate::fact::FactKey;
use crate::fact::Facts;
use crate::fact::Observations;
use crate::fact::State;
use crate::fact::Why;
use crate::infer::unknown;
use crate::knowledge::BaseFamilyRow;
use crate::knowledge::ByArch;
use crate::knowledge::CudaImageRow;
use crate::knowledge::FrameworkImageRow;
use crate::knowledge::Knowledge;
use crate::knowledge::RequireRow;
use crate::knowledge::RowInfo;
use crate::reference::ImageReference;

/// What kind of image the base is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Family {
    /// A CUDA base image with a row.
    Cuda,
    /// A framework image with a row.
    Framework,
    /// An operating system or language image without NVIDIA content, or nothing at all.
    Plain,
    /// Not in the tables.
    Unknown,
}

/// One build that a base reference may stand for.
#[derive(Clone, Debug)]
pub(super) struct BaseBuild {
    pub(super) fact: Option<FactId>,
    pub(super) family: Family,
    pub(super) family_row: Option<&'static RowInfo>,
    pub(super) label: Option<String>,
    pub(super) env: Vec<(&'static str, String, &'static RowInfo)>,
    pub(super) env_unknown: Vec<(&'static str, Why)>,
    pub(super) env_known: bool,
    pub(super) cuda: Option<(CudaVersion, &'static RowInfo)>,
    /// Whether a compat package is installed; none where the tables do not say.
    pub(super) compat: Option<(bool, &'static RowInfo)>,
    /// The family's entrypoint that tries the compat library.
    pub(super) compat_probe: Option<(&'static str, &'static RowInfo)>,
    /// torch inside, with its CUDA variant.
    pub(super) torch: Option<(&'static str, &'static RowInfo)>,
    /// Why the reference itself cannot be told.
    unresolved: Option<Why>,
    name: String,
}

impl BaseBuild {
    fn new(family: Family, fact: Option<FactId>, row: Option<&'static RowInfo>, name: String) -> Self {
        Self {
            fact,
            family,
            family_row: row,
            label: None,
            env: Vec::new(),
            env_unknown: Vec::new(),
            env_known: family == Family::Plain,
            cuda: None,
            compat: None,
            compat_probe: None,
            torch: None,
            unresolved: None,
            name,
        }
    }

    /// Why something of the base cannot be told.
    pub(super) fn unseen(&self, what: &str) -> Why {
        if let Some(why) = &self.unresolved {
            return Why { reason: format!("{what} is not known: {}", why.reason), supply: why.supply.clone() };
        }
        let base = if self.name.is_empty() { "the image".to_owned() } else { format!("`{}`", self.name) };
        Why {
            reason: format!("{what} is not known: {base} is not in the tables and was not read"),
            supply: if self.name.is_empty() {
                "say it in the image description, and name the family under `complete`".to_owned()
            } else {
                format!("run `imagelint scan` on the built image, or describe {base} in an image description")
            },
        }
    }

    fn evidence(&self, row: Option<&'static RowInfo>) -> Evidence {
        Evidence::Derived { by: Derivation::Row, from: self.fact.into_iter().collect(), row }
    }
}

/// Every build that the base may be, for one architecture.
pub(super) fn builds(seen: &Observations, arch: &str, as_of: Option<Date>, knowledge: Knowledge) -> Vec<BaseBuild> {
    match &seen.base {
        BaseSeen::NotSaid => vec![BaseBuild::new(Family::Unknown, None, None, String::new())],
        BaseSeen::Scratch(fact) => vec![BaseBuild::new(Family::Plain, Some(*fact), None, "scratch".to_owned())],
        BaseSeen::Unresolved(why, fact) => {
            let mut build = BaseBuild::new(Family::Unknown, Some(*fact), None, String::new());
            build.unresolved = Some(why.clone());
            vec![build]
        }
        BaseSeen::Image(reference, fact) => of_reference(reference, *fact, arch, as_of, knowledge),
    }
}

fn of_reference(
    reference: &ImageReference,
    fact: FactId,
    arch: &str,
    as_of: Option<Date>,
    knowledge: Knowledge,
) -> Vec<BaseBuild> {
    let repository = reference.familiar();
    let tag = reference.tag().unwrap_or_default();
    let name = reference.to_string();
    if knowledge.is_cuda_repository(&repository)
        && let Some(row) = knowledge.cuda_image(tag_version(tag))
    {
        return cuda_builds(row, fact, arch, as_of, &name, reference.digest().is_some(), knowledge);
    }
    if let Some(row) = knowledge.framework_image(&repository, tag) {
        let base = row.base.and_then(|version| knowledge.cuda_image(version));
        return match base {
            Some(base) => inherited(row, cuda_builds(base, fact, arch, as_of, &name, true, knowledge)),
            None => vec![framework_build(row, fact, name, knowledge)],
        };
    }
    if let Some(row) = knowledge.plain_image(&repository) {
        return vec![BaseBuild::new(Family::Plain, Some(fact), Some(&row.info), name)];
    }
    let mut build = BaseBuild::new(Family::Unknown, Some(fact), None, name);
    if knowledge.is_cuda_repository(&repository) {
        build.family = Family::Cuda;
    } else if let Some(family) = knowledge.base_family(&repository) {
        build.family = Family::Framework;
        build.family_row = Some(&family.info);
        inherit(&mut build, family);
    }
    vec![build]
}

/// The version part of a CUDA base tag: `11.2.2` of `11.2.2-cudnn8-devel-ubuntu20.04`.
pub(crate) fn tag_version(tag: &str) -> &str {
    tag.split('-').next().unwrap_or(tag)
}

fn by_arch<T: Copy>(values: &[ByArch<T>], arch: &str) -> Option<T> {
    values.iter().find(|value| value.arch == arch).map(|value| value.value)
}

fn cuda_builds(
    row: &'static CudaImageRow,
    fact: FactId,
    arch: &str,
    as_of: Option<Date>,
    name: &str,
    pinned: bool,
    knowledge: Knowledge,
) -> Vec<BaseBuild> {
    let info = &row.info;
    let mut build = BaseBuild::new(Family::Cuda, Some(fact), Some(info), name.to_owned());
    build.env_known = true;
    build.cuda = row.version.parse().ok().map(|version| (version, info));
    build.compat = by_arch(row.bundles_compat, arch).map(|bundled| (bundled, info));
    let cuda_version = row.cuda_version.unwrap_or(row.version);
    for (variable, value) in [
        ("CUDA_VERSION", cuda_version),
        ("LD_LIBRARY_PATH", row.ld_library_path),
        ("NVIDIA_DRIVER_CAPABILITIES", row.driver_capabilities),
        ("NVIDIA_VISIBLE_DEVICES", row.visible_devices),
    ] {
        build.env.push((variable, value.to_owned(), info));
    }
    let candidates = requirements(row, arch, as_of, pinned, knowledge);
    if candidates.is_empty() {
        let why = build.unseen("NVIDIA_REQUIRE_CUDA");
        build.env_unknown.push(("NVIDIA_REQUIRE_CUDA", why));
        return vec![build];
    }
    let several = candidates.len() > 1;
    candidates
        .into_iter()
        .map(|require| {
            let mut build = build.clone();
            build.label = several.then(|| format!("as built {} .. {}", require.first_seen, require.last_seen));
            build.env.push(("NVIDIA_REQUIRE_CUDA", require.value.to_owned(), &require.info));
            build
        })
        .collect()
}

/// The requirement strings that a tag may have: the newest, or all whose interval holds the day.
fn requirements(
    row: &CudaImageRow,
    arch: &str,
    as_of: Option<Date>,
    pinned: bool,
    knowledge: Knowledge,
) -> Vec<&'static RequireRow> {
    let newest = by_arch(row.require, arch).and_then(|id| knowledge.requirement(id));
    let history = || {
        row.require_history
            .iter()
            .filter_map(|id| knowledge.requirement(id))
            .filter(|require| require.tag_versions.contains(&row.version))
    };
    let candidates: Vec<_> = match as_of {
        Some(day) => history().filter(|require| require.first_seen <= day && day <= require.last_seen).collect(),
        // A digest names one build, and the tag beside it does not say which.
        None if pinned => history().collect(),
        None => Vec::new(),
    };
    // The tables keep no architecture with a string. Stages of other architectures carried the bare
    // version alone, beside those with alternatives.
    let of_arch = |require: &&RequireRow| arch == "amd64" && require.value.contains(' ');
    let with_alternatives: Vec<_> = candidates.iter().copied().filter(of_arch).collect();
    match (with_alternatives.is_empty(), candidates.is_empty() || arch != "amd64") {
        (false, _) => with_alternatives,
        (true, false) => candidates,
        (true, true) => newest.into_iter().collect(),
    }
}

/// What an image has from the CUDA base image that it is built on: the requirement and what is injected.
///
/// Steps after the base may change the search path of libraries, so that and the compat library stay unknown.
fn inherited(row: &'static FrameworkImageRow, mut builds: Vec<BaseBuild>) -> Vec<BaseBuild> {
    for build in &mut builds {
        build.family = Family::Framework;
        build.cuda = Some((row.cuda, &row.info));
        build.torch = row.torch.map(|version| (version, &row.info));
        build.compat = None;
        build.env.retain(|(variable, _, _)| *variable != "LD_LIBRARY_PATH");
        build.unresolved = Some(Why {
            reason: format!("what `{}` adds to its CUDA base image was not read", build.name),
            supply: build.unseen("").supply,
        });
        build.env_unknown.push(("LD_LIBRARY_PATH", build.unseen("LD_LIBRARY_PATH")));
    }
    builds
}

fn framework_build(row: &'static FrameworkImageRow, fact: FactId, name: String, knowledge: Knowledge) -> BaseBuild {
    let info = &row.info;
    let mut build = BaseBuild::new(Family::Framework, Some(fact), Some(info), name);
    build.cuda = Some((row.cuda, info));
    build.torch = row.torch.map(|version| (version, info));
    if let Some(family) = knowledge.base_family(row.repository) {
        inherit(&mut build, family);
    }
    build
}

/// What every image of a family has, whatever its tag.
fn inherit(build: &mut BaseBuild, family: &'static BaseFamilyRow) {
    build.env_known = true;
    build.compat = family.compat.map(|bundled| (bundled, &family.info));
    build.compat_probe = family.compat_probe.map(|word| (word, &family.info));
    for (variable, value) in family.env {
        build.env.push((variable, (*value).to_owned(), &family.info));
    }
}

/// CUDA of the base: by its tag, else by the variable that CUDA images set.
pub(super) fn cuda(facts: &mut Facts, build: &BaseBuild, env: &EnvFacts) -> Fact<CudaVersion> {
    if let Some((version, row)) = build.cuda {
        return facts.add_typed(FactKey::BaseCuda, None, State::Known(version), build.evidence(Some(row)));
    }
    let variable = env.get("CUDA_VERSION");
    let evidence = Evidence::Derived { by: Derivation::Resolution, from: vec![variable.id], row: None };
    if let Some(version) = variable.known().and_then(|text| text.parse().ok()) {
        return facts.add_typed(FactKey::BaseCuda, None, State::Known(version), evidence);
    }
    if build.family == Family::Plain || matches!(variable.state, State::Absent { .. }) {
        let searched = "the base image's family and CUDA_VERSION";
        return facts.add_typed(FactKey::BaseCuda, None, State::Absent { searched }, evidence);
    }
    unknown(facts, FactKey::BaseCuda, None, build.unseen("the CUDA version of the base"), evidence)
}

#[cfg(test)]
mod tests {
    use super::tag_version;

    #[test]
    fn the_version_stands_before_the_first_dash() {
        for (tag, version) in [("11.2.2-cudnn8-devel-ubuntu20.04", "11.2.2"), ("12.4.1", "12.4.1"), ("", "")] {
            assert_eq!(tag_version(tag), version, "{tag}");
        }
    }
}
