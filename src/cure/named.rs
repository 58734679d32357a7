//! Another name of a package, under which the same release is built for another CUDA: `cupy-cuda12x`.

use crate::cure::Candidate;
use crate::cure::Kind;
use crate::cure::Wish;
use crate::cure::case::Case;
use crate::cure::versions::has_wheel;
use crate::cure::wish::package_of;
use crate::fact::Manager;
use crate::fact::PackageSeen;
use crate::fact::PackageVersion;
use crate::install::public;
use crate::knowledge::FrameworkBuildRow;
use crate::knowledge::FrameworkRow;
use crate::knowledge::Knowledge;
use crate::knowledge::by_number;
use crate::report::kinds::FixSafety;

/// The same release for another CUDA, where the name says which.
pub(super) fn variants(case: &Case<'_>) -> Vec<Candidate> {
    let knowledge = case.knowledge();
    let mut found: Vec<Candidate> = Vec::new();
    let pip = case.seen.packages.iter().filter(|one| one.manager == Manager::Pip);
    for (package, row) in pip.filter_map(|one| Some((one, knowledge.framework(&one.name)?))) {
        let version = match &package.version {
            PackageVersion::Exact(text) => Some(public(text)),
            PackageVersion::Open(range) if range.is_empty() => None,
            PackageVersion::Open(_) | PackageVersion::Unresolved(_) => continue,
        };
        // Others that are built on it want the name that they ask for.
        let alone = case.image.components.iter().filter(|one| one.name != row.component).count() == 0;
        for (other, build) in others(knowledge, row, version) {
            let there = |python: String| has_wheel(knowledge, other.distribution, build.version, &python);
            let twice = package_of(&case.seen, other.distribution).is_some();
            let Some(cuda) = build.cuda.filter(|_| !twice && is_there(case, package, there)) else { continue };
            let name = other.distribution;
            let (title, safety) = match version {
                Some(version) => {
                    let safety = if alone { FixSafety::Safe } else { FixSafety::Unsafe };
                    (format!("install {name}=={version}, the same release for CUDA {cuda}"), safety)
                }
                None => (format!("install {name}, the newest release for CUDA {cuda}"), FixSafety::Unsafe),
            };
            let wish = Wish::Name { from: package.name.clone(), to: name.to_owned() };
            found.push(Candidate { kind: Kind::FrameworkVariant, step: found.len(), title, safety, wish });
        }
    }
    found
}

fn is_there(case: &Case<'_>, package: &PackageSeen, there: impl Fn(String) -> bool) -> bool {
    case.python(package).is_none_or(there)
}

/// The other names of a package that differ in their number alone and of which the tables have the release, or any where
/// none is asked for; the newest CUDA first.
fn others(
    knowledge: Knowledge,
    own: &FrameworkRow,
    version: Option<&str>,
) -> Vec<(&'static FrameworkRow, &'static FrameworkBuildRow)> {
    let build = |name: &str| match version {
        Some(version) => {
            knowledge.framework_builds().iter().find(|row| row.distribution == name && row.version == version)
        }
        None => knowledge.framework_build(name, "*"),
    };
    let numbered = own.distribution.contains(|c: char| c.is_ascii_digit());
    let alike = |row: &&FrameworkRow| {
        numbered
            && row.component == own.component
            && row.distribution != own.distribution
            && bare(row.distribution) == bare(own.distribution)
    };
    let rows = knowledge.frameworks().iter().filter(alike);
    let mut found: Vec<_> = rows.filter_map(|row| Some((row, build(row.distribution)?))).collect();
    found.sort_by(|(one, _), (other, _)| by_number(other.distribution, one.distribution));
    found
}

/// A name without its number.
fn bare(name: &str) -> String {
    name.chars().filter(|c| !c.is_ascii_digit()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_one_release_differ_in_their_number() {
        let knowledge = Knowledge::built_in();
        for (name, version, expected) in [
            ("cupy-cuda13x", Some("13.6.0"), &["cupy-cuda12x", "cupy-cuda11x"][..]),
            ("cupy-cuda13x", Some("14.2.0"), &["cupy-cuda12x"]),
            ("cupy-cuda12x", Some("14.2.0"), &["cupy-cuda13x"]),
            ("cupy-cuda12x", Some("13.3.0"), &[]),
            ("cupy-cuda13x", Some("99.0.0"), &[]),
            ("cupy", Some("13.6.0"), &[]),
            ("torch", Some("2.6.0"), &[]),
            ("tensorflow-gpu", Some("2.4.0"), &[]),
            ("onnxruntime-gpu", None, &[]),
            ("cupy-cuda12x", None, &["cupy-cuda13x", "cupy-cuda11x"]),
        ] {
            let row = knowledge.framework(name).expect(name);
            let found: Vec<&str> = others(knowledge, row, version).iter().map(|(row, _)| row.distribution).collect();
            assert_eq!(found, expected, "{name} {version:?}");
        }
    }
}
