//! Alternative lists of driver capabilities for `NVIDIA_DRIVER_CAPABILITIES`.

use crate::cuda::DriverCapabilities;
use crate::fix::fix_context::FixContext;
use crate::model::fact::LibraryProvider;
use crate::model::outcome::Outcome;
use crate::report::kinds::FixSafety;
use crate::text::nearest::nearest_word;

/// The capabilities that every CUDA program needs.
const DEFAULT_CAPABILITIES: [&str; 2] = ["compute", "utility"];
const ALL_CAPABILITIES: &str = "all";

/// Returns lists of driver capabilities that may replace `now`, the best first: with corrected spelling, with the
/// needed ones, with the default ones, with fewer if the node refuses some, then `all`.
pub(super) fn capability_lists(case: &FixContext<'_>, now: Option<&str>) -> Vec<(String, FixSafety)> {
    let mut needed: Vec<&str> = Vec::new();
    let lists = case.image.needs.iter().flat_map(|needs| [&needs.at_start, &needs.at_run_time]);
    for library in lists.filter_map(|list| list.known()).flatten() {
        if let LibraryProvider::Driver(capability) = library.provider {
            needed.push(capability);
        }
    }
    ranked_capability_lists(now, &needed, case.has_outcome(Outcome::Refused))
}

/// Returns replacement lists for the current value and the needed capabilities, in order of preference.
fn ranked_capability_lists(now: Option<&str>, needed: &[&str], refused: bool) -> Vec<(String, FixSafety)> {
    let written: Vec<&str> = match now {
        Some(now) => now.split(',').map(str::trim).filter(|word| !word.is_empty()).collect(),
        None => DEFAULT_CAPABILITIES.to_vec(),
    };
    let misspelt = written.iter().any(|word| !is_known_capability(word));
    // The meaning of a word that resembles none is unknown.
    let corrected: Option<Vec<&str>> = written.iter().copied().map(correct_capability).collect();
    let right = corrected.map_or_else(|| written.clone(), |words| deduplicate(words.into_iter()));
    let with = |words: &[&str], more: &[&str]| deduplicate(words.iter().chain(more).copied()).join(",");
    let mut found: Vec<(String, FixSafety)> = Vec::new();
    let mut add = |list: String, safety: FixSafety| {
        let new = Some(list.as_str()) != now && !list.is_empty() && !found.iter().any(|(other, _)| *other == list);
        found.extend(new.then_some((list, safety)));
    };
    if misspelt {
        add(right.join(","), FixSafety::Safe);
    }
    if !right.contains(&ALL_CAPABILITIES) {
        add(with(&right, needed), FixSafety::Safe);
        add(with(&right, &[needed, &DEFAULT_CAPABILITIES].concat()), FixSafety::Safe);
        add(with(&right, &[needed, &["video"]].concat()), FixSafety::Safe);
    }
    if refused {
        let spare = |word: &&str| !DEFAULT_CAPABILITIES.contains(word) && !needed.contains(word);
        for word in right.iter().copied().filter(spare).filter(|word| *word != ALL_CAPABILITIES) {
            add(right.iter().copied().filter(|one| *one != word).collect::<Vec<_>>().join(","), FixSafety::Unsafe);
        }
        add(with(&DEFAULT_CAPABILITIES, needed), FixSafety::Unsafe);
    }
    add(ALL_CAPABILITIES.to_owned(), FixSafety::Safe);
    found
}

/// Whether a word is a driver capability or `all`.
fn is_known_capability(word: &str) -> bool {
    word == ALL_CAPABILITIES || DriverCapabilities::NAMES.contains(&word)
}

/// Returns a capability with its spelling corrected; `None` if no known one is similar.
fn correct_capability(word: &str) -> Option<&str> {
    if is_known_capability(word) { Some(word) } else { nearest_word(word, DriverCapabilities::NAMES.iter().copied()) }
}

/// Returns the words without duplicates, in their order.
fn deduplicate<'a>(words: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
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
            // The intended word is unknown.
            (
                Some("compute,xyz"),
                &[],
                true,
                &["compute,xyz,utility", "compute,xyz,video", "compute", "compute,utility", "all"],
            ),
        ] {
            let found = ranked_capability_lists(now, needed, refused);
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
