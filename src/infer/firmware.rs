//! Firmware: files in the image where a version directory of the driver's firmware is mounted.

use crate::cuda::{resolve_links, split_path};
use crate::model::fact::{
    Derivation, Evidence, FactId, FactKey, Facts, FileKind, Observations, ObservedBase, TypedFact, ValueState,
};

/// Infers the files in the place of firmware directories, and links to outside the image; links to image paths are
/// followed.
pub(super) fn infer_firmware_conflicts(facts: &mut Facts, seen: &Observations) -> TypedFact<Vec<String>> {
    let entries = || seen.files.iter().filter(|(path, _)| is_firmware_version_directory(path));
    let mut from: Vec<FactId> = entries().map(|(_, file)| file.fact).collect();
    // If a base has none of them, its name shows that.
    if let (true, ObservedBase::Image(_, base) | ObservedBase::Scratch(base) | ObservedBase::Unresolved(_, base)) =
        (from.is_empty() && !seen.complete.files, &seen.base)
    {
        from.push(*base);
    }
    let in_the_way: Vec<String> =
        entries().filter_map(|(path, file)| firmware_conflict(path, &file.kind, seen)).collect();
    let state = if in_the_way.is_empty() {
        ValueState::Absent { searched: "the base image and the inspected files of the image" }
    } else {
        ValueState::Known(in_the_way)
    };
    let evidence = Evidence::Derived { by: Derivation::Resolution, from, row: None };
    facts.add_typed(FactKey::Firmware, None, state, evidence)
}

/// Returns what conflicts with a firmware directory: a file, a link to one, or a link with more `..` than parent
/// directories.
fn firmware_conflict(path: &str, kind: &FileKind, seen: &Observations) -> Option<String> {
    let FileKind::Link(target) = kind else { return Some(path.to_owned()) };
    if leads_outside_image(path, target) {
        return Some(format!("{path} -> {target}"));
    }
    let link = |path: &str| match &seen.files.get(path)?.kind {
        FileKind::Link(target) => Some(target.as_str()),
        _ => None,
    };
    // Links that go in circles lead nowhere.
    let passes = resolve_links(path, link).is_some_and(|behind| !seen.files.contains_key(&behind));
    (!passes).then(|| path.to_owned())
}

/// Whether a link has more `..` than directories before them.
fn leads_outside_image(path: &str, target: &str) -> bool {
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

/// Whether a path is `/lib/firmware/nvidia/VERSION` itself, nothing below it.
fn is_firmware_version_directory(path: &str) -> bool {
    let path = path.strip_prefix("/usr").unwrap_or(path);
    path.strip_prefix("/lib/firmware/nvidia/").is_some_and(|rest| !rest.is_empty() && !rest.contains('/'))
}

#[cfg(test)]
mod tests {
    use super::{is_firmware_version_directory, leads_outside_image};

    #[test]
    fn a_link_leaves_the_image_with_more_dots_than_parents() {
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
            assert_eq!(leads_outside_image("/lib/firmware/nvidia/550.54.15", target), expected, "{target}");
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
            assert_eq!(is_firmware_version_directory(path), expected, "{path}");
        }
    }
}
