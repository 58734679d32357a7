//! Another extra of a package, which brings the build of the same release for another CUDA.

use crate::cure::Candidate;
use crate::cure::Kind;
use crate::cure::Safety;
use crate::cure::Wish;
use crate::cure::case::Case;
use crate::cure::wish::package_of;
use crate::fact::PackageVersion;
use crate::install::between;
use crate::install::public;
use crate::knowledge::BroughtRow;
use crate::knowledge::by_number;

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
        let PackageVersion::Exact(version) = &asked.version else { continue };
        let version = public(version);
        if brought.command != asked.command {
            continue;
        }
        let build = |row: &BroughtRow| {
            let mut builds = knowledge.framework_builds().iter().filter(|one| one.distribution == row.brings);
            builds.find(|one| one.version == version).and_then(|one| one.cuda)
        };
        let other = |one: &&BroughtRow| {
            one.distribution == row.distribution
                && one.brings != row.brings
                && words(one.extra) == words(row.extra)
                && between(version, one.from, one.before)
        };
        let mut others: Vec<&BroughtRow> = rows().filter(other).collect();
        others.sort_by(|one, other| by_number(other.extra, one.extra));
        for other in others {
            let Some(cuda) = build(other) else { continue };
            let name = row.distribution;
            found.push(Candidate {
                kind: Kind::FrameworkVariant,
                step: found.len(),
                title: format!("install {name}[{}]=={version}, the same release for CUDA {cuda}", other.extra),
                safety: Safety::Safe,
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

/// An extra without its number: what it says beside the CUDA.
fn words(extra: &str) -> (Option<String>, String) {
    let numbered = extra.contains(|c: char| c.is_ascii_digit());
    let word: String = extra.chars().filter(|c| !c.is_ascii_digit()).collect();
    // What names no CUDA is no neighbour of what does.
    (numbered.then(|| word.clone()), word)
}
