//! Lists of driver capabilities that may do in the place of one.

use crate::cuda::Capabilities;
use crate::cure::case::Case;
use crate::fact::Presence;
use crate::nearest::nearest;
use crate::report::kinds::FixSafety;

/// What every program that calls CUDA asks for.
const USUAL: [&str; 2] = ["compute", "utility"];
const ALL: &str = "all";

/// What there is, its misspelt words as they are meant; that with what libraries need; with the usual; less than there
/// is, where the node refuses something; then everything.
pub(super) fn capabilities(case: &Case<'_>, now: Option<&str>) -> Vec<(String, FixSafety)> {
    let mut needed: Vec<&str> = Vec::new();
    let lists = case.image.needs.iter().flat_map(|needs| [&needs.at_start, &needs.later]);
    for library in lists.filter_map(|list| list.known()).flatten() {
        if let Presence::Driver(capability) = library.presence {
            needed.push(capability);
        }
    }
    lists_of(now, &needed, case.ends("refused"))
}

fn lists_of(now: Option<&str>, needed: &[&str], refused: bool) -> Vec<(String, FixSafety)> {
    let written: Vec<&str> = match now {
        Some(now) => now.split(',').map(str::trim).filter(|word| !word.is_empty()).collect(),
        None => USUAL.to_vec(),
    };
    let misspelt = written.iter().any(|word| !is_known(word));
    // Of a word that is like none, nobody knows what it stands for.
    let meant: Option<Vec<&str>> = written.iter().copied().map(meant).collect();
    let right = meant.map_or_else(|| written.clone(), |words| once(words.into_iter()));
    let with = |words: &[&str], more: &[&str]| once(words.iter().chain(more).copied()).join(",");
    let mut found: Vec<(String, FixSafety)> = Vec::new();
    let mut add = |list: String, safety: FixSafety| {
        let new = Some(list.as_str()) != now && !list.is_empty() && !found.iter().any(|(other, _)| *other == list);
        found.extend(new.then_some((list, safety)));
    };
    if misspelt {
        add(right.join(","), FixSafety::Safe);
    }
    if !right.contains(&ALL) {
        add(with(&right, needed), FixSafety::Safe);
        add(with(&right, &[needed, &USUAL].concat()), FixSafety::Safe);
        add(with(&right, &[needed, &["video"]].concat()), FixSafety::Safe);
    }
    if refused {
        let spare = |word: &&str| !USUAL.contains(word) && !needed.contains(word);
        for word in right.iter().copied().filter(spare).filter(|word| *word != ALL) {
            add(right.iter().copied().filter(|one| *one != word).collect::<Vec<_>>().join(","), FixSafety::Unsafe);
        }
        add(with(&USUAL, needed), FixSafety::Unsafe);
    }
    add(ALL.to_owned(), FixSafety::Safe);
    found
}

fn is_known(word: &str) -> bool {
    word == ALL || Capabilities::WORDS.contains(&word)
}

/// The word that somebody meant.
fn meant(word: &str) -> Option<&str> {
    if is_known(word) { Some(word) } else { nearest(word, Capabilities::WORDS.iter().copied()) }
}

/// Each word once.
fn once<'a>(words: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut found: Vec<&str> = Vec::new();
    for word in words {
        if !found.contains(&word) {
            found.push(word);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_right_then_fuller_then_less_then_everything() {
        let video = "compute,utility,video";
        for (now, needed, refused, expected) in [
            (None, &[][..], false, &["compute,utility", video, "all"][..]),
            (Some("compute,utility"), &[], false, &[video, "all"]),
            (Some("compute,utility"), &["video"], false, &[video, "all"]),
            (Some("compute"), &[], false, &["compute,utility", "compute,video", "all"]),
            (Some("compute,utilty"), &[], true, &["compute,utility", video, "all"]),
            (Some("all"), &[], true, &["compute,utility"]),
            (Some("all"), &["video"], true, &[video]),
            (Some("all"), &[], false, &[]),
            (Some("compute,utility,display"), &[], true, &["compute,utility,display,video", "compute,utility", "all"]),
            // Nobody knows what is meant.
            (
                Some("compute,xyz"),
                &[],
                true,
                &["compute,xyz,utility", "compute,xyz,video", "compute", "compute,utility", "all"],
            ),
        ] {
            let found = lists_of(now, needed, refused);
            let lists: Vec<&str> = found.iter().map(|(list, _)| list.as_str()).collect();
            assert_eq!(lists, expected, "{now:?} {needed:?} {refused}");
            // To take something away is never safe.
            let less = |list: &str| {
                now.is_some_and(|now| now.contains("all") || now.contains("display")) && list == "compute,utility"
            };
            assert!(found.iter().all(|(list, safety)| !less(list) || *safety == FixSafety::Unsafe), "{now:?}");
        }
    }
}
