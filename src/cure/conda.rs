//! Other builds of a framework that conda installs: another package of the environment chooses them by its version.

use crate::cure::Candidate;
use crate::cure::Kind;
use crate::cure::Wish;
use crate::cure::case::Case;
use crate::cure::framework::cuda_of;
use crate::cure::versions::far;
use crate::cure::wish::of_conda;
use crate::cure::wish::package_of;
use crate::fact::FactKey;
use crate::fact::Manager;
use crate::fact::PackageSeen;
use crate::fact::PackageVersion;
use crate::knowledge::CondaBuildRow;
use crate::knowledge::by_number;
use crate::report::kinds::FixSafety;

/// The architecture that the tables list builds of conda for.
const LISTED: &str = "amd64";

/// The same release for another CUDA, of those that its channel has.
pub(super) fn variants(case: &Case<'_>) -> Vec<Candidate> {
    found(case).unwrap_or_default()
}

fn found(case: &Case<'_>) -> Option<Vec<Candidate>> {
    let knowledge = case.knowledge();
    let name = knowledge.built_framework()?.component;
    let packages = || case.seen.packages.iter().filter(|one| one.manager == Manager::Conda);
    let framework = packages().rfind(|one| knowledge.is_built_framework(&one.name))?;
    // A build that is named by itself, and one that another tool installs, are not chosen by what lies beside.
    if framework.variant.is_some() || package_of(&case.seen, name).is_some() || case.archs.iter().any(|a| a != LISTED) {
        return None;
    }
    let chooser = |one: &&PackageSeen| knowledge.conda_variant(&one.name).is_some_and(|row| !row.cpu);
    let choosing = packages().rfind(chooser)?;
    let PackageVersion::Exact(now) = &choosing.version else { return None };
    let channel = knowledge.conda_variant(&choosing.name)?.channel.or(framework.channel.as_deref())?;
    let version = case.told(FactKey::ComponentVersion, name)?;
    let has = |row: &&CondaBuildRow| {
        row.channel == channel
            && knowledge.conda_build(channel, &version, row.variant).is_some_and(|own| own.info.row == row.info.row)
    };
    let mut builds: Vec<&str> = knowledge.conda_builds().iter().filter(has).map(|row| row.variant).collect();
    builds.sort_by(|one, other| by_number(one, other));
    let place = builds.iter().position(|build| cuda_of(build) == *now)?;
    let mut ranked: Vec<(usize, &str)> =
        builds.iter().enumerate().map(|(at, build)| (far(at, place), *build)).collect();
    ranked.sort_unstable();
    let safety = safety(case, choosing, now);
    let candidate = |(step, (_, build)): (usize, (usize, &str))| {
        let (package, to) = (choosing.name.clone(), cuda_of(build));
        let title = format!("install {package}={to}, which selects {name} {version} for CUDA {to}");
        let wish = Wish::Conda { package, from: now.clone(), to };
        Candidate { kind: Kind::FrameworkVariant, step, title, safety, wish }
    };
    Some(ranked.into_iter().skip(1).enumerate().map(candidate).collect())
}

/// What has the version of the CUDA that goes, or is built on the framework, may not fit any more.
fn safety(case: &Case<'_>, choosing: &PackageSeen, now: &str) -> FixSafety {
    let knowledge = case.knowledge();
    let of_release = |text: &str| text == now || text.strip_prefix(now).is_some_and(|rest| rest.starts_with('.'));
    let bound = |one: &PackageSeen| {
        !of_conda(one, &choosing.name)
            && match &one.version {
                PackageVersion::Exact(text) => of_release(text),
                PackageVersion::Open(range) => range.contains(now),
                PackageVersion::Unresolved(_) => false,
            }
    };
    let frameworks = knowledge.frameworks();
    let other = |name: &str| !knowledge.is_built_framework(name) && frameworks.iter().any(|row| row.component == name);
    let alone = !case.image.components.iter().any(|one| other(&one.name)) && case.seen.code.is_empty();
    match (case.seen.packages.iter().any(bound), alone) {
        (true, _) => FixSafety::Manual,
        (false, true) => FixSafety::Safe,
        (false, false) => FixSafety::Unsafe,
    }
}
