//! Other builds of a framework that conda installs, selected by the version of another package in the environment.

use crate::fix::fix_context::FixContext;
use crate::fix::proposed_change::{is_conda_package, last_pip_package};
use crate::fix::versions::{cuda_version_of_build, distance};
use crate::fix::{FixCandidate, ProposedChange};
use crate::knowledge::{CondaBuildRow, compare_natural};
use crate::model::fact::FactKey;
use crate::model::package::{ExactVersion, ObservedPackage, PackageManager, PackageVersion};
use crate::report::kinds::{ChangeKind, FixSafety};

/// The architecture for which the tables list conda builds.
const LISTED_ARCHITECTURE: &str = "amd64";

/// Returns candidates for the same framework release for another CUDA version, from the same channel.
pub(super) fn conda_variant_candidates(case: &FixContext<'_>) -> Vec<FixCandidate> {
    find_conda_variants(case).unwrap_or_default()
}

/// Returns these candidates; `None` if no package of the environment selects the build.
fn find_conda_variants(case: &FixContext<'_>) -> Option<Vec<FixCandidate>> {
    let knowledge = case.knowledge();
    let name = knowledge.framework_with_variants()?.component;
    let packages = || case.seen.packages.iter().filter(|one| one.requirement.manager == PackageManager::Conda);
    let framework = packages().rfind(|one| knowledge.has_variants(&one.requirement.name))?;
    // An explicitly named build, or one of another tool, is not chosen by the other packages.
    if framework.variant.is_some()
        || last_pip_package(&case.seen, name).is_some()
        || case.archs.iter().any(|a| a != LISTED_ARCHITECTURE)
    {
        return None;
    }
    let chooser = |one: &&ObservedPackage| knowledge.conda_variant(&one.requirement.name).is_some_and(|row| !row.cpu);
    let choosing = packages().rfind(chooser)?;
    let PackageVersion::Exact(now) = &choosing.requirement.version else { return None };
    let now = now.as_str();
    let channel =
        knowledge.conda_variant(&choosing.requirement.name)?.channel.or(framework.requirement.channel.as_deref())?;
    let version = ExactVersion::from(case.component_fact(FactKey::ComponentVersion, name)?);
    let has = |row: &&CondaBuildRow| {
        row.channel == channel
            && knowledge.conda_build(channel, &version, row.variant).is_some_and(|own| own.info.row == row.info.row)
    };
    let mut builds: Vec<&str> = knowledge.conda_builds().iter().filter(has).map(|row| row.variant).collect();
    builds.sort_by(|one, other| compare_natural(one, other));
    let place = builds.iter().position(|build| cuda_version_of_build(build) == now)?;
    let mut ranked: Vec<(usize, &str)> =
        builds.iter().enumerate().map(|(at, build)| (distance(at, place), *build)).collect();
    ranked.sort_unstable();
    let safety = cuda_selection_safety(case, choosing, now);
    let candidate = |(step, (_, build)): (usize, (usize, &str))| {
        let (package, to) = (choosing.requirement.name.clone(), cuda_version_of_build(build));
        let title = format!("install {package}={to}, which selects {name} {version} for CUDA {to}");
        let change = ProposedChange::Conda { package, from: now.to_owned(), to };
        FixCandidate { kind: ChangeKind::FrameworkVariant, step, title, safety, change }
    };
    Some(ranked.into_iter().skip(1).enumerate().map(candidate).collect())
}

/// Returns how safe another CUDA version is: other packages may have the version that is replaced, or be built on the
/// framework.
fn cuda_selection_safety(case: &FixContext<'_>, choosing: &ObservedPackage, now: &str) -> FixSafety {
    let knowledge = case.knowledge();
    let of_release = |text: &str| text == now || text.strip_prefix(now).is_some_and(|rest| rest.starts_with('.'));
    let bound = |one: &ObservedPackage| {
        !is_conda_package(one, &choosing.requirement.name)
            && match &one.requirement.version {
                PackageVersion::Exact(text) => of_release(text.as_str()),
                PackageVersion::Range(range) => range.as_str().contains(now),
                PackageVersion::Unresolved(_) => false,
            }
    };
    let frameworks = knowledge.frameworks();
    let other = |name: &str| !knowledge.has_variants(name) && frameworks.iter().any(|row| row.component == name);
    let is_only_framework = !case.image.components.iter().any(|one| other(&one.name)) && case.seen.code.is_empty();
    match (case.seen.packages.iter().any(bound), is_only_framework) {
        (true, _) => FixSafety::Manual,
        (false, true) => FixSafety::Safe,
        (false, false) => FixSafety::Unsafe,
    }
}
