//! Another extra of a package, which brings the build of the same release for another CUDA.

use crate::cure::Candidate;
use crate::cure::Kind;
use crate::cure::Wish;
use crate::cure::case::Case;
use crate::cure::versions::has_wheel;
use crate::cure::wish::package_of;
use crate::fact::Manager;
use crate::fact::PackageSeen;
use crate::fact::PackageVersion;
use crate::install::admits;
use crate::install::between;
use crate::install::public;
use crate::knowledge::BroughtRow;
use crate::knowledge::FrameworkBuildRow;
use crate::knowledge::LibraryNeedsRow;
use crate::knowledge::by_number;
use crate::report::kinds::FixSafety;

/// What becomes of an image without the libraries.
const MISSING: &str = "library-missing";

/// The same release for another CUDA, where an extra chooses it.
pub(super) fn variants(case: &Case<'_>) -> Vec<Candidate> {
    let knowledge = case.knowledge();
    let rows = || knowledge.brought_packages().iter().filter(|row| row.same && !row.extra.is_empty());
    let mut found: Vec<Candidate> = Vec::new();
    for row in rows() {
        let (Some(asked), Some(brought)) =
            (package_of(&case.seen, row.distribution), package_of(&case.seen, row.brings))
        else {
            continue;
        };
        if brought.command != asked.command {
            continue;
        }
        let now = build(case, asked, row.brings).map(|build| build.version);
        let pinned = matches!(asked.version, PackageVersion::Exact(_));
        let other = |one: &&BroughtRow| {
            let version = build(case, asked, one.brings).map(|build| build.version);
            one.distribution == row.distribution
                && one.brings != row.brings
                && words(one.extra) == words(row.extra)
                && version.is_some_and(|version| between(version, one.from, one.before))
        };
        let mut others: Vec<&BroughtRow> = rows().filter(other).collect();
        others.sort_by(|one, other| by_number(other.extra, one.extra));
        for other in others {
            let Some(then) = build(case, asked, other.brings) else { continue };
            let Some(cuda) = then.cuda else { continue };
            let name = row.distribution;
            let title = match &asked.version {
                PackageVersion::Exact(version) => {
                    format!("install {name}[{}]=={}, the same release for CUDA {cuda}", other.extra, public(version))
                }
                _ => format!("install {name}[{}], the newest release for CUDA {cuda}", other.extra),
            };
            found.push(Candidate {
                kind: Kind::FrameworkVariant,
                step: found.len(),
                title,
                safety: if pinned || now == Some(then.version) { FixSafety::Safe } else { FixSafety::Unsafe },
                wish: Wish::Extra {
                    package: name.to_owned(),
                    from: row.extra.to_owned(),
                    to: other.extra.to_owned(),
                    without: row.brings.to_owned(),
                    brings: other.brings.to_owned(),
                },
            });
        }
    }
    found
}

/// The same release with the extra that brings the libraries which it asks for, or with what it depends on.
pub(super) fn whole(case: &Case<'_>) -> Vec<Candidate> {
    let knowledge = case.knowledge();
    if !case.ends(MISSING) {
        return Vec::new();
    }
    let mut found: Vec<Candidate> = Vec::new();
    let mut add = |title: String, wish: Wish| {
        let known = found.iter().any(|one: &Candidate| one.title == title);
        let candidate = Candidate { kind: Kind::FrameworkVariant, step: 0, title, safety: FixSafety::Unsafe, wish };
        found.extend((!known).then_some(candidate));
    };
    for package in case.seen.packages.iter().filter(|one| one.manager == Manager::Pip) {
        let name = &package.name;
        let along = |row: &LibraryNeedsRow| row.distribution == *name && row.along && row.with.is_none();
        if package.alone && knowledge.library_needs().iter().any(along) {
            let title = format!("install {name} with its dependencies, without --no-deps");
            add(title, Wish::Whole { package: name.clone() });
        }
        let PackageVersion::Exact(version) = &package.version else { continue };
        let version = public(version);
        let rows = knowledge
            .brought_packages()
            .iter()
            .filter(|row| row.distribution == *name && !row.extra.is_empty() && between(version, row.from, row.before));
        // Extras whose libraries are there already are asked for.
        let libraries = |row: &&BroughtRow| knowledge.library_wheel(row.brings).is_some();
        let python = case.python(package);
        let met = |row: &&BroughtRow| !knowledge.is_unmet(name, row.extra, version, python.as_deref());
        let missing = |row: &&BroughtRow| package_of(&case.seen, row.brings).is_none();
        for row in rows.filter(libraries).filter(met).filter(missing) {
            let title = format!("install {name}[{}]=={version}, with the libraries that it loads", row.extra);
            let wish = Wish::Extra {
                package: name.clone(),
                from: String::new(),
                to: row.extra.to_owned(),
                without: String::new(),
                brings: row.brings.to_owned(),
            };
            add(title, wish);
        }
    }
    found
}

/// The release of what an extra brings: the one that is pinned, else the newest of the day that a range admits and that
/// is there for the Python of the image.
fn build(case: &Case<'_>, asked: &PackageSeen, brings: &str) -> Option<&'static FrameworkBuildRow> {
    let knowledge = case.knowledge();
    let rows = knowledge.framework_builds().iter().filter(|row| row.distribution == brings);
    let python = case.python(asked);
    let there = |row: &&FrameworkBuildRow| {
        python.as_ref().is_none_or(|python| has_wheel(knowledge, brings, row.version, python))
    };
    let mut rows = rows.filter(there);
    match &asked.version {
        PackageVersion::Exact(version) => rows.find(|row| row.version == public(version)),
        PackageVersion::Open(range) => {
            let day = case.seen.as_of.or(case.settings.as_of);
            let out =
                |row: &&FrameworkBuildRow| day.is_none_or(|day| row.released.is_some_and(|released| released <= day));
            let fits = |row: &&FrameworkBuildRow| {
                row.version.matches('.').count() >= 2 && (range.is_empty() || admits(range, row.version) == Some(true))
            };
            rows.filter(out).filter(fits).max_by(|one, other| by_number(one.version, other.version))
        }
        PackageVersion::Unresolved(_) => None,
    }
}

/// An extra without its number: what it says beside the CUDA.
fn words(extra: &str) -> (Option<String>, String) {
    let numbered = extra.contains(|c: char| c.is_ascii_digit());
    let word: String = extra.chars().filter(|c| !c.is_ascii_digit()).collect();
    // What names no CUDA is no neighbour of what does.
    (numbered.then(|| word.clone()), word)
}
