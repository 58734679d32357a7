//! Firmware: what stands in the image where the driver's firmware directory of one version is mounted.

use crate::cuda::resolve;
use crate::cuda::split_path;
use crate::fact::BaseSeen;
use crate::fact::Derivation;
use crate::fact::Evidence;
use crate::fact::Fact;
use crate::fact::FactId;
use crate::fact::FactKey;
use crate::fact::Facts;
use crate::fact::FileKind;
use crate::fact::Observations;
use crate::fact::State;

/// Files in the place of firmware directories, and links that lead out of the image; one to a path of the image is
/// followed.
pub(super) fn firmware(facts: &mut Facts, seen: &Observations) -> Fact<Vec<String>> {
    let entries = || seen.files.iter().filter(|(path, _)| is_version_directory(path));
    let mut from: Vec<FactId> = entries().map(|(_, file)| file.fact).collect();
    // Of a base that has none of them, its name is what tells it.
    if let (true, BaseSeen::Image(_, base) | BaseSeen::Scratch(base) | BaseSeen::Unresolved(_, base)) =
        (from.is_empty() && !seen.complete.files, &seen.base)
    {
        from.push(*base);
    }
    let in_the_way: Vec<String> = entries().filter_map(|(path, file)| in_the_way(path, &file.kind, seen)).collect();
    let state = if in_the_way.is_empty() {
        State::Absent { searched: "the base image and the inspected files of the image" }
    } else {
        State::Known(in_the_way)
    };
    let evidence = Evidence::Derived { by: Derivation::Resolution, from, row: None };
    facts.add_typed(FactKey::Firmware, None, state, evidence)
}

/// What stands in the place of a directory: a file, a link to one, or a link with more `..` than it is deep.
fn in_the_way(path: &str, kind: &FileKind, seen: &Observations) -> Option<String> {
    let FileKind::Link(target) = kind else { return Some(path.to_owned()) };
    if leads_out(path, target) {
        return Some(format!("{path} -> {target}"));
    }
    let link = |path: &str| match &seen.files.get(path)?.kind {
        FileKind::Link(target) => Some(target.as_str()),
        _ => None,
    };
    // Links that go in circles lead nowhere.
    let passes = resolve(path, link).is_some_and(|behind| !seen.files.contains_key(&behind));
    (!passes).then(|| path.to_owned())
}

/// Whether a link has more `..` than directories before them.
fn leads_out(path: &str, target: &str) -> bool {
    let from = if target.starts_with('/') { "" } else { split_path(path).0 };
    let mut depth = 0_usize;
    for part in from.split('/').chain(target.split('/')).filter(|part| !matches!(*part, "" | ".")) {
        match (part, depth) {
            ("..", 0) => return true,
            ("..", _) => depth -= 1,
            _ => depth += 1,
        }
    }
    false
}

/// Whether a path is itself `/lib/firmware/nvidia/VERSION`, nothing below it.
fn is_version_directory(path: &str) -> bool {
    let path = path.strip_prefix("/usr").unwrap_or(path);
    path.strip_prefix("/lib/firmware/nvidia/").is_some_and(|rest| !rest.is_empty() && !rest.contains('/'))
}

#[cfg(test)]
mod tests {
    use super::is_version_directory;
    use super::leads_out;

    #[test]
    fn a_link_leads_out_with_more_dots_than_it_is_deep() {
        for (target, expected) in [
            ("/../../../../opt/firmware", true),
            ("/..", true),
            ("../../../../..", true),
            ("../../..", false),
            ("../../../..", true),
            ("../other", false),
            ("/opt/../firmware", false),
            ("/opt/./firmware", false),
            ("550.54.14", false),
        ] {
            assert_eq!(leads_out("/lib/firmware/nvidia/550.54.15", target), expected, "{target}");
        }
    }

    #[test]
    fn only_the_directory_itself_counts() {
        for (path, expected) in [
            ("/lib/firmware/nvidia/550.54.15", true),
            ("/usr/lib/firmware/nvidia/550.54.15", true),
            ("/lib/firmware/nvidia/550.54.15/gsp_ga10x.bin", false),
            ("/lib/firmware/nvidia", false),
            ("/lib/firmware/nvidia/", false),
            ("/opt/lib/firmware/nvidia/550.54.15", false),
        ] {
            assert_eq!(is_version_directory(path), expected, "{path}");
        }
    }
}
