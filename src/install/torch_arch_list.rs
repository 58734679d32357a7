//! Parses the architecture list of torch's build tools: numbers, and names that stand for some.

use std::cmp::Reverse;

use crate::cause::Cause;
use crate::install::compile_targets::CompiledCode;
use crate::knowledge::{Knowledge, TorchArchNameRow};

/// Parses a list such as `7.0 8.0;9.0+PTX` or `Ampere;Hopper` as a release of torch does; `None` for an empty list.
///
/// The build tools refuse a list with an entry that they do not know: then, and where a name stands for other GPUs from
/// release to release, `found` gets the reason and no code. Nothing is told of an empty list, which is none.
pub(super) fn read_torch_arch_list(
    list: &str,
    torch: Option<&str>,
    knowledge: Knowledge,
    found: &mut CompiledCode,
) -> Option<()> {
    if list.is_empty() {
        return None;
    }
    let whole =
        expand_names(list, torch, knowledge).and_then(|list| list.split(';').try_for_each(|one| add_entry(one, found)));
    if let Err(why) = whole {
        (found.sass, found.ptx, found.untold) = (Vec::new(), Vec::new(), Some(why));
    }
    Some(())
}

/// Replaces architecture names in a list by their targets, the longest names first.
fn expand_names(list: &str, torch: Option<&str>, knowledge: Knowledge) -> Result<String, Cause> {
    let mut list = list.replace(' ', ";");
    let mut names: Vec<&str> = knowledge.torch_arch_names().iter().map(|row| row.name).collect();
    names.sort_by_key(|name| (Reverse(name.len()), *name));
    names.dedup();
    for name in names {
        if !list.contains(name) {
            continue;
        }
        let mut rows = knowledge.torch_arch_name_rows(name, torch);
        // A release that does not know the name leaves it as it is.
        let Some(row) = rows.next() else { continue };
        if rows.any(|other: &TorchArchNameRow| other.targets != row.targets) {
            return Err(Cause::ArchNameByRelease { name: name.to_owned() });
        }
        list = list.replace(name, &row.targets.join(";"));
    }
    Ok(list)
}

/// Adds the target of one entry; an error if torch rejects it.
fn add_entry(entry: &str, found: &mut CompiledCode) -> Result<(), Cause> {
    let number = entry.strip_suffix("+PTX").unwrap_or(entry);
    let target = Some(number).filter(|number| number.contains('.')).and_then(|number| number.parse().ok());
    let Some(target) = target else {
        return Err(Cause::ArchRejected { entry: entry.to_owned() });
    };
    found.add_target(target, number != entry);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `cubins | PTX`, or why nothing is told.
    fn format_targets(list: &str, torch: Option<&str>) -> String {
        let mut found = CompiledCode::default();
        if read_torch_arch_list(list, torch, Knowledge::built_in(), &mut found).is_none() {
            return "nothing".to_owned();
        }
        let text = |list: &[crate::cuda::CodeTarget]| list.iter().map(|one| one.number()).collect::<Vec<_>>().join(" ");
        found
            .untold
            .as_ref()
            .map_or_else(|| format!("{} | {}", text(&found.sass), text(&found.ptx)), ToString::to_string)
    }

    #[test]
    fn a_list_is_read_as_torch_reads_it() {
        for (list, torch, expected) in [
            ("8.0;9.0+PTX", None, "80 90 | 90"),
            ("7.0 9.0a", None, "70 90a | "),
            ("Hopper", None, "90 | 90"),
            ("Maxwell;7.0", None, "50 52 70 | 52"),
            ("Kepler+Tesla", None, "37 | "),
            ("Ampere", Some("2.4.0"), "80 86 | 86"),
            ("Ampere", Some("1.6.0"), "80 | 80"),
            ("Ampere+Tegra", Some("2.4.0"), "87 | "),
            ("Blackwell", Some("2.6.0"), "100 | 100"),
            ("Blackwell", Some("2.7.1"), "100 120 | 120"),
            ("Hopper Blackwell", Some("2.8.0"), "90 100 103 120 121 | 90 121"),
            ("Blackwell+Tegra", Some("2.8.0"), "101 | "),
            ("Blackwell+Tegra", Some("2.9.0"), "110 | "),
            ("", Some("2.8.0"), "nothing"),
        ] {
            assert_eq!(format_targets(list, torch), expected, "{list} {torch:?}");
        }
    }

    #[test]
    fn a_rejected_list_has_no_code() {
        for (list, torch, entry) in [
            ("nonsense", None, "nonsense"),
            ("hopper", None, "hopper"),
            ("HOPPER", None, "HOPPER"),
            ("9.0;hopper", None, "hopper"),
            ("7.0,8.0", None, "7.0,8.0"),
            ("80", None, "80"),
            ("8.0;", None, ""),
            ("Hopper+PTX", None, "9.0+PTX+PTX"),
            ("Hopper", Some("1.13.1"), "Hopper"),
            ("Blackwell", Some("2.5.1"), "Blackwell"),
            ("Volta+Tegra", Some("1.13.1"), "7.0+PTX+Tegra"),
        ] {
            let why = format!("the build tools of torch do not know the architecture `{entry}` and reject the list");
            assert_eq!(format_targets(list, torch), why, "{list} {torch:?}");
        }
        for name in ["Ampere", "Blackwell", "Blackwell+Tegra"] {
            assert!(format_targets(name, None).starts_with(&format!("the meaning of `{name}` differs")), "{name}");
        }
    }
}
