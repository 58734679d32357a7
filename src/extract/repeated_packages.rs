//! A limit for requirement lists that name one package very often.

use std::collections::BTreeMap;

use crate::install::PackageInstall;
use crate::model::fact::PackageVersion;

/// The largest number of requirements or constraints of one command for the same package; each is compared with each.
pub(super) const MAX_REPEATS: usize = 64;

/// Drops entries beyond the limit per package, and marks the last remaining version as unresolved if a dropped entry
/// differs. Returns whether any differed.
pub(super) fn limit_repeats(list: &mut Vec<PackageInstall>) -> bool {
    if list.len() <= MAX_REPEATS {
        return false;
    }
    let mut kept: BTreeMap<String, Vec<PackageInstall>> = BTreeMap::new();
    let mut differs: BTreeMap<String, bool> = BTreeMap::new();
    list.retain(|one| {
        let alike = kept.entry(one.name.clone()).or_default();
        if alike.len() < MAX_REPEATS {
            alike.push(one.clone());
            return true;
        }
        let other = differs.entry(one.name.clone()).or_default();
        *other = *other || !alike.iter().any(|own| is_same_requirement(own, one));
        false
    });
    differs.retain(|_, other| *other);
    let any = !differs.is_empty();
    for one in list.iter_mut().rev() {
        if differs.remove(&one.name).is_some() {
            one.version = PackageVersion::behind_variable();
        }
    }
    any
}

/// Whether two entries differ in nothing but their source positions.
fn is_same_requirement(one: &PackageInstall, other: &PackageInstall) -> bool {
    PackageInstall { span: one.span, source: one.source, ..other.clone() } == *one
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dockerfile::{MappedText, VariableLookup};
    use crate::install::{CommandContext, MarkerEnvironment, TargetMachine, read_installs_in_context};
    use crate::knowledge::Knowledge;
    use crate::shell::script_commands;

    /// Returns the packages that `pip install` installs for these arguments.
    fn packages_of(words: &str) -> Vec<PackageInstall> {
        let commands = script_commands(&MappedText::contiguous(&format!("pip install {words}"), 0));
        let (lookup, open) =
            (|_: &str| VariableLookup::Unset, |_: &str, _: &str| Err(crate::model::cause::Cause::NotCopied));
        let environment = MarkerEnvironment { machine: TargetMachine::new("x86_64"), python: None };
        let around = CommandContext { lookup: &lookup, open: &open, environment, knowledge: Knowledge::built_in() };
        read_installs_in_context(&commands[0], around).packages
    }

    #[test]
    fn repeats_of_one_package_are_limited() {
        let often = |word: &str, times: usize| vec![word; times].join(" ");
        for (words, left, expected) in [
            (often("torch==2.4.0", MAX_REPEATS), MAX_REPEATS, false),
            (often("torch==2.4.0", 40 * MAX_REPEATS), MAX_REPEATS, false),
            (often("torch==2.4.0 numpy", MAX_REPEATS + 1), 2 * MAX_REPEATS, false),
            (format!("{} torch==2.4.0", often("numpy", MAX_REPEATS)), MAX_REPEATS + 1, false),
            (format!("{} torch==2.5.0", often("torch==2.4.0", MAX_REPEATS)), MAX_REPEATS, true),
            (format!("{} torch[x]==2.4.0", often("torch==2.4.0", MAX_REPEATS)), MAX_REPEATS, true),
            (format!("{} torch", often("torch==2.4.0", MAX_REPEATS)), MAX_REPEATS, true),
        ] {
            let mut list = packages_of(&words);
            assert_eq!((limit_repeats(&mut list), list.len()), (expected, left), "{words}");
            let untold: Vec<usize> = (0..left)
                .filter(|at| list[*at].name == "torch" && list[*at].version == PackageVersion::behind_variable())
                .collect();
            assert_eq!(untold, if expected { vec![left - 1] } else { Vec::new() }, "{words}");
        }
    }

    #[test]
    fn different_packages_are_not_limited() {
        let words: Vec<String> = (0..3 * MAX_REPEATS).map(|number| format!("p{number}=={number}")).collect();
        let mut list = packages_of(&words.join(" "));
        let before = list.clone();
        assert!(!limit_repeats(&mut list));
        assert_eq!(list, before);
    }
}
