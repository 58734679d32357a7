//! Lists that name one package again and again.

use std::collections::BTreeMap;

use crate::install::Install;
use crate::install::VersionSpec;

/// So many requirements or bounds of one command on one package are kept: each is held against each.
pub(super) const MOST_ALIKE: usize = 64;

/// Leaves out what stands behind so many entries of one package. Where one that is left out says something else than those
/// in front of it, the last that stays has no version that can be told; says whether there was such a one.
pub(super) fn thin(list: &mut Vec<Install>) -> bool {
    if list.len() <= MOST_ALIKE {
        return false;
    }
    let mut kept: BTreeMap<String, Vec<Install>> = BTreeMap::new();
    let mut differs: BTreeMap<String, bool> = BTreeMap::new();
    list.retain(|one| {
        let alike = kept.entry(one.name.clone()).or_default();
        if alike.len() < MOST_ALIKE {
            alike.push(one.clone());
            return true;
        }
        let other = differs.entry(one.name.clone()).or_default();
        *other = *other || !alike.iter().any(|own| says_the_same(own, one));
        false
    });
    differs.retain(|_, other| *other);
    let any = !differs.is_empty();
    for one in list.iter_mut().rev() {
        if differs.remove(&one.name).is_some() {
            one.version = VersionSpec::Unresolved;
        }
    }
    any
}

/// Whether two entries differ in nothing but their places.
fn says_the_same(one: &Install, other: &Install) -> bool {
    Install { span: one.span, source: one.source, ..other.clone() } == *one
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dockerfile::Lookup;
    use crate::dockerfile::Mapped;
    use crate::install::Around;
    use crate::install::Environment;
    use crate::install::Machine;
    use crate::install::installs_with;
    use crate::knowledge::Knowledge;
    use crate::shell::script_commands;

    fn named(words: &str) -> Vec<Install> {
        let commands = script_commands(&Mapped::whole(&format!("pip install {words}"), 0));
        let (lookup, open) = (|_: &str| Lookup::Unset, |_: &str, _: &str| Err("it is not there".to_owned()));
        let environment = Environment { machine: Machine::new("x86_64"), python: None };
        let around = Around { lookup: &lookup, open: &open, environment, knowledge: Knowledge::built_in() };
        installs_with(&commands[0], around).packages
    }

    #[test]
    fn one_package_named_again_and_again_is_kept_so_often() {
        let often = |word: &str, times: usize| vec![word; times].join(" ");
        for (words, left, expected) in [
            (often("torch==2.4.0", MOST_ALIKE), MOST_ALIKE, false),
            (often("torch==2.4.0", 40 * MOST_ALIKE), MOST_ALIKE, false),
            (often("torch==2.4.0 numpy", MOST_ALIKE + 1), 2 * MOST_ALIKE, false),
            (format!("{} torch==2.4.0", often("numpy", MOST_ALIKE)), MOST_ALIKE + 1, false),
            (format!("{} torch==2.5.0", often("torch==2.4.0", MOST_ALIKE)), MOST_ALIKE, true),
            (format!("{} torch[x]==2.4.0", often("torch==2.4.0", MOST_ALIKE)), MOST_ALIKE, true),
            (format!("{} torch", often("torch==2.4.0", MOST_ALIKE)), MOST_ALIKE, true),
        ] {
            let mut list = named(&words);
            assert_eq!((thin(&mut list), list.len()), (expected, left), "{words}");
            let untold: Vec<usize> = (0..left)
                .filter(|at| list[*at].name == "torch" && list[*at].version == VersionSpec::Unresolved)
                .collect();
            assert_eq!(untold, if expected { vec![left - 1] } else { Vec::new() }, "{words}");
        }
    }

    #[test]
    fn as_many_packages_as_there_are_stay() {
        let words: Vec<String> = (0..3 * MOST_ALIKE).map(|number| format!("p{number}=={number}")).collect();
        let mut list = named(&words.join(" "));
        let before = list.clone();
        assert!(!thin(&mut list));
        assert_eq!(list, before);
    }
}
