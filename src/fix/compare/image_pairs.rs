//! Pairs the images of the earlier side with those of the later side.

use std::collections::{BTreeMap, VecDeque};

use crate::model::reference::ImageReference;
use crate::report::kinds::SubjectKind;
use crate::report::model::Subject;

/// A judged subject with the name by which it is paired.
#[derive(Clone, Debug)]
pub struct NamedSubject<T> {
    /// The name: a path below the compared folder, or an image reference.
    pub key: String,
    /// The text of the Dockerfile from which it is built, if any.
    pub text: Option<String>,
    /// The judged subject.
    pub judged: Subject,
    /// Additional data of the caller.
    pub with: T,
}

/// The earlier and the later version of one image; `None` on the side that lacks it.
pub type SubjectPair<T> = (Option<NamedSubject<T>>, Option<NamedSubject<T>>);

/// Functions for the earlier and the later side that return what decides the verdict on a subject, if anything does.
pub type SimilarityKeys<'a, T> = [&'a dyn Fn(&NamedSubject<T>) -> Option<String>; 2];

/// How many path parts are compared for files that were renamed.
const MAX_PATH_PARTS: usize = 8;

/// Pairs subjects: a single one on each side, then by name, by repository if only one image on each side has it, by
/// equal Dockerfile, and by similar Dockerfile if nothing that decides a start differs. Subjects without a partner
/// count as new or removed, so that a failure of a new image is not taken for an old one.
pub fn pair_subjects<T>(
    before: Vec<NamedSubject<T>>,
    after: Vec<NamedSubject<T>>,
    likeness: SimilarityKeys<'_, T>,
) -> Vec<SubjectPair<T>> {
    let is_single_pair = before.len() == 1 && after.len() == 1;
    let before = before.into_iter().map(Some).collect();
    let after = after.into_iter().map(Some).collect();
    let mut left = UnpairedSubjects { before, after, found: Vec::new() };
    let one = |_: &NamedSubject<T>| Some(String::new());
    if is_single_pair {
        left.pair_by_unique_key(&one);
    }
    // One file may hold several stages.
    left.pair_by_unique_key(&|one| Some(format!("{}\n{}", one.key, stage_name(one))));
    left.pair_by_unique_key(&repository_key);
    left.pair_renamed([&dockerfile_key, &dockerfile_key], |_, _| true);
    left.pair_in_order(&dockerfile_key);
    left.pair_renamed(likeness, has_similar_dockerfile);
    let UnpairedSubjects { before, after, mut found } = left;
    found.extend(before.into_iter().flatten().map(|one| (Some(one), None)));
    found.extend(after.into_iter().flatten().map(|one| (None, Some(one))));
    let name = |(before, after): &SubjectPair<T>| after.as_ref().or(before.as_ref()).map(|one| one.key.clone());
    found.sort_by_key(name);
    found
}

/// Returns the earlier name of a Dockerfile, if it was renamed and much of its text is the same.
pub fn earlier_dockerfile_name<T>((before, after): &SubjectPair<T>) -> Option<&str> {
    let (before, after) = (before.as_ref()?, after.as_ref()?);
    (before.key != after.key && has_similar_dockerfile(before, after)).then_some(before.key.as_str())
}

/// Returns the name of the build stage, or an empty text.
fn stage_name<T>(one: &NamedSubject<T>) -> &str {
    one.judged.stage.as_deref().unwrap_or_default()
}

/// Returns the repository of an image reference.
fn repository_key<T>(one: &NamedSubject<T>) -> Option<String> {
    (one.judged.kind == SubjectKind::Image)
        .then(|| ImageReference::parse(&one.key).ok().map(|image| image.familiar_name()))?
}

/// Returns the text of the Dockerfile with the build stage.
fn dockerfile_key<T>(one: &NamedSubject<T>) -> Option<String> {
    Some(format!("{}\n{}", stage_name(one), one.text.as_ref()?))
}

/// Whether at least half of the lines of the longer of two Dockerfiles are in both, as in git's detection of renames.
fn has_similar_dockerfile<T>(one: &NamedSubject<T>, other: &NamedSubject<T>) -> bool {
    let lines = |named: &'_ NamedSubject<T>| -> BTreeMap<String, usize> {
        let mut found = BTreeMap::new();
        let text = named.text.iter().flat_map(|text| text.lines());
        for line in text.map(str::trim).filter(|line| !line.is_empty()) {
            *found.entry(line.to_owned()).or_default() += 1;
        }
        found
    };
    let (one, other) = (lines(one), lines(other));
    let all = |lines: &BTreeMap<String, usize>| lines.values().sum::<usize>();
    let both: usize = one.iter().map(|(line, times)| *times.min(other.get(line).unwrap_or(&0))).sum();
    both > 0 && all(&one).max(all(&other)) <= 2 * both
}

/// Returns the last `parts` parts of the name, if it has that many.
fn path_suffix<T>(one: &NamedSubject<T>, parts: usize) -> Option<String> {
    let all: Vec<&str> = one.key.split('/').collect();
    Some(all.get(all.len().checked_sub(parts)?..)?.join("/"))
}

/// The subjects that have no partner yet, and the pairs so far.
struct UnpairedSubjects<T> {
    before: Vec<Option<NamedSubject<T>>>,
    after: Vec<Option<NamedSubject<T>>>,
    found: Vec<SubjectPair<T>>,
}

impl<T> UnpairedSubjects<T> {
    /// Pairs subjects whose key occurs once on each side.
    fn pair_by_unique_key(&mut self, key: &dyn Fn(&NamedSubject<T>) -> Option<String>) {
        let keys = self.subject_keys([key, key]);
        self.pair_by_keys(&keys, |_, _| true);
    }

    /// Pairs subjects by a key of their content, and by as many last parts of their paths as distinguish those with
    /// equal keys.
    fn pair_renamed(&mut self, keys: SimilarityKeys<'_, T>, may: impl Fn(&NamedSubject<T>, &NamedSubject<T>) -> bool) {
        if self.before.iter().all(Option::is_none) || self.after.iter().all(Option::is_none) {
            return;
        }
        let keys = self.subject_keys(keys);
        for parts in (0..=MAX_PATH_PARTS).rev() {
            let with_tail = |list: &[Option<NamedSubject<T>>], keys: &[Option<String>]| -> Vec<Option<String>> {
                let key = |(one, key): (&Option<NamedSubject<T>>, &Option<String>)| {
                    Some(format!("{}\n{}", path_suffix(one.as_ref()?, parts)?, key.as_ref()?))
                };
                list.iter().zip(keys).map(key).collect()
            };
            let [was, is] = &keys;
            self.pair_by_keys(&[with_tail(&self.before, was), with_tail(&self.after, is)], &may);
        }
    }

    /// Pairs the remaining subjects that have the same key, one by one.
    fn pair_in_order(&mut self, key: &dyn Fn(&NamedSubject<T>) -> Option<String>) {
        let [was, is] = self.subject_keys([key, key]);
        let mut places: BTreeMap<&str, VecDeque<usize>> = BTreeMap::new();
        for (at, key) in was.iter().enumerate() {
            if let Some(key) = key {
                places.entry(key).or_default().push_back(at);
            }
        }
        for (at, key) in is.iter().enumerate() {
            let other = key.as_ref().and_then(|key| places.get_mut(key.as_str())?.pop_front());
            let Some(one) = other.and_then(|other| self.before.get_mut(other)?.take()) else { continue };
            self.found.push((Some(one), self.after.get_mut(at).and_then(Option::take)));
        }
    }

    /// Computes the keys of both sides.
    fn subject_keys(&self, [was, is]: SimilarityKeys<'_, T>) -> [Vec<Option<String>>; 2] {
        let all = |list: &[Option<NamedSubject<T>>], key: &dyn Fn(&NamedSubject<T>) -> Option<String>| {
            list.iter().map(|one| one.as_ref().and_then(key)).collect()
        };
        [all(&self.before, was), all(&self.after, is)]
    }

    /// Pairs subjects whose computed key occurs once on each side, if `may` accepts the pair.
    fn pair_by_keys(
        &mut self,
        keys: &[Vec<Option<String>>; 2],
        may: impl Fn(&NamedSubject<T>, &NamedSubject<T>) -> bool,
    ) {
        let mut places: BTreeMap<&str, [Vec<usize>; 2]> = BTreeMap::new();
        for (side, keys) in keys.iter().enumerate() {
            for (at, key) in keys.iter().enumerate() {
                if let Some(list) = key.as_ref().and_then(|key| places.entry(key).or_default().get_mut(side)) {
                    list.push(at);
                }
            }
        }
        for [was, is] in places.into_values() {
            let ([was], [is]) = (was.as_slice(), is.as_slice()) else { continue };
            let (Some(one), Some(other)) = (self.before.get_mut(*was), self.after.get_mut(*is)) else { continue };
            if one.as_ref().zip(other.as_ref()).is_some_and(|(one, other)| may(one, other)) {
                self.found.push((one.take(), other.take()));
            }
        }
    }
}
