//! Which image of the one side is which of the other.

use std::collections::BTreeMap;
use std::collections::VecDeque;

use crate::reference::ImageReference;
use crate::report::model::Subject;

/// A subject with the name that it has on both sides.
#[derive(Clone, Debug)]
pub struct Named<T> {
    /// A path below what was given, a reference.
    pub key: String,
    /// The Dockerfile that it is built from, where there is one.
    pub text: Option<String>,
    /// What was judged.
    pub judged: Subject,
    /// What goes with it.
    pub with: T,
}

/// One image on both sides.
pub type Sides<T> = (Option<Named<T>>, Option<Named<T>>);

/// Says what of a subject decides how it ends, before and after; none where nothing does.
pub type Likeness<'a, T> = [&'a dyn Fn(&Named<T>) -> Option<String>; 2];

/// So many parts of paths are compared where files have other names.
const PARTS: usize = 8;

/// Pairs: of one on each side those, else by their names, else by the repository where one image alone is of it. What is
/// left has another name now: the same Dockerfile is the same image wherever it lies, and one with few other lines is, where
/// nothing that decides a start is another. Whatever else came and went is new and gone, so that no failure of something
/// new is taken for an old one.
pub fn pairs<T>(before: Vec<Named<T>>, after: Vec<Named<T>>, likeness: Likeness<'_, T>) -> Vec<Sides<T>> {
    let alone = before.len() == 1 && after.len() == 1;
    let before = before.into_iter().map(Some).collect();
    let after = after.into_iter().map(Some).collect();
    let mut left = Left { before, after, found: Vec::new() };
    let one = |_: &Named<T>| Some(String::new());
    if alone {
        left.matched(&one);
    }
    // One file may hold several stages.
    left.matched(&|one| Some(format!("{}\n{}", one.key, stage(one))));
    left.matched(&repository);
    left.renamed([&content, &content], |_, _| true);
    left.in_order(&content);
    left.renamed(likeness, is_alike);
    let Left { before, after, mut found } = left;
    found.extend(before.into_iter().flatten().map(|one| (Some(one), None)));
    found.extend(after.into_iter().flatten().map(|one| (None, Some(one))));
    let name = |(before, after): &Sides<T>| after.as_ref().or(before.as_ref()).map(|one| one.key.clone());
    found.sort_by_key(name);
    found
}

/// The name that a Dockerfile had before, where it is another and much of its text is not.
pub fn renamed_from<T>((before, after): &Sides<T>) -> Option<&str> {
    let (before, after) = (before.as_ref()?, after.as_ref()?);
    (before.key != after.key && is_alike(before, after)).then_some(before.key.as_str())
}

fn stage<T>(one: &Named<T>) -> &str {
    one.judged.stage.as_deref().unwrap_or_default()
}

fn repository<T>(one: &Named<T>) -> Option<String> {
    (one.judged.kind == "image").then(|| ImageReference::parse(&one.key).ok().map(|image| image.familiar()))?
}

/// The Dockerfile with the stage.
fn content<T>(one: &Named<T>) -> Option<String> {
    Some(format!("{}\n{}", stage(one), one.text.as_ref()?))
}

/// Whether at least half of the lines of the longer of two Dockerfiles are in both, as git asks of a file with another name.
fn is_alike<T>(one: &Named<T>, other: &Named<T>) -> bool {
    let lines = |named: &'_ Named<T>| -> BTreeMap<String, usize> {
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

/// The last parts of the name, where it has as many.
fn tail<T>(one: &Named<T>, parts: usize) -> Option<String> {
    let all: Vec<&str> = one.key.split('/').collect();
    Some(all.get(all.len().checked_sub(parts)?..)?.join("/"))
}

/// What has no other side yet.
struct Left<T> {
    before: Vec<Option<Named<T>>>,
    after: Vec<Option<Named<T>>>,
    found: Vec<Sides<T>>,
}

impl<T> Left<T> {
    /// Pairs what has a key that is there once on each side.
    fn matched(&mut self, key: &dyn Fn(&Named<T>) -> Option<String>) {
        let keys = self.keys([key, key]);
        self.by_keys(&keys, |_, _| true);
    }

    /// Pairs by a key of what is in files, and as many of the last parts of their names as it takes to tell those with the
    /// same key apart.
    fn renamed(&mut self, keys: Likeness<'_, T>, may: impl Fn(&Named<T>, &Named<T>) -> bool) {
        if self.before.iter().all(Option::is_none) || self.after.iter().all(Option::is_none) {
            return;
        }
        let keys = self.keys(keys);
        for parts in (0..=PARTS).rev() {
            let with_tail = |list: &[Option<Named<T>>], keys: &[Option<String>]| -> Vec<Option<String>> {
                let key = |(one, key): (&Option<Named<T>>, &Option<String>)| {
                    Some(format!("{}\n{}", tail(one.as_ref()?, parts)?, key.as_ref()?))
                };
                list.iter().zip(keys).map(key).collect()
            };
            let [was, is] = &keys;
            self.by_keys(&[with_tail(&self.before, was), with_tail(&self.after, is)], &may);
        }
    }

    /// Pairs what is left with the same key one by one.
    fn in_order(&mut self, key: &dyn Fn(&Named<T>) -> Option<String>) {
        let [was, is] = self.keys([key, key]);
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

    fn keys(&self, [was, is]: Likeness<'_, T>) -> [Vec<Option<String>>; 2] {
        let all = |list: &[Option<Named<T>>], key: &dyn Fn(&Named<T>) -> Option<String>| {
            list.iter().map(|one| one.as_ref().and_then(key)).collect()
        };
        [all(&self.before, was), all(&self.after, is)]
    }

    fn by_keys(&mut self, keys: &[Vec<Option<String>>; 2], may: impl Fn(&Named<T>, &Named<T>) -> bool) {
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
