//! Firmware: what stands in the image where the driver's firmware directory of one version is mounted.

use crate::fact::Derivation;
use crate::fact::Evidence;
use crate::fact::Fact;
use crate::fact::FactId;
use crate::fact::FactKey;
use crate::fact::Facts;
use crate::fact::FileKind;
use crate::fact::Observations;
use crate::fact::State;
use crate::fact::Why;

/// Files in the place of firmware directories; a link may lead anywhere.
pub(super) fn firmware(facts: &mut Facts, seen: &Observations) -> Fact<Vec<String>> {
    let entries = || seen.files.iter().filter(|(path, _)| is_version_directory(path));
    let from: Vec<FactId> = entries().map(|(_, file)| file.fact).collect();
    let link = entries().find(|(_, file)| matches!(file.kind, FileKind::Link(_)));
    let state = match link {
        Some((path, _)) => State::Unknown(Why {
            reason: format!("{path} is a link, and where it leads decides whether firmware can be mounted"),
            supply: "put a directory there, or nothing".to_owned(),
        }),
        None if from.is_empty() => State::Absent { searched: "the files that are seen of the image" },
        None => State::Known(entries().map(|(path, _)| path.clone()).collect()),
    };
    let evidence = Evidence::Derived { by: Derivation::Resolution, from, row: None };
    facts.add_typed(FactKey::Firmware, None, state, evidence)
}

/// Whether a path is itself `/lib/firmware/nvidia/VERSION`, nothing below it.
fn is_version_directory(path: &str) -> bool {
    let path = path.strip_prefix("/usr").unwrap_or(path);
    path.strip_prefix("/lib/firmware/nvidia/").is_some_and(|rest| !rest.is_empty() && !rest.contains('/'))
}

#[cfg(test)]
mod tests {
    use super::is_version_directory;

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
