//! Which image of the one side is which of the other.

use std::collections::BTreeMap;

use crate::reference::ImageReference;
use crate::report::model::Subject;

/// A subject with the name that it has on both sides.
#[derive(Clone, Debug)]
pub struct Named<T> {
    /// A path below what was given, a reference.
    pub key: String,
    /// What was judged.
    pub judged: Subject,
    /// What goes with it.
    pub with: T,
}

/// One image on both sides.
pub type Sides<T> = (Option<Named<T>>, Option<Named<T>>);

/// Pairs: of one on each side those, else by their names, else by the repository where one image alone is of it.
pub fn pairs<T>(before: Vec<Named<T>>, after: Vec<Named<T>>) -> Vec<Sides<T>> {
    let alone = before.len() == 1 && after.len() == 1;
    let mut before: Vec<Option<Named<T>>> = before.into_iter().map(Some).collect();
    let mut after: Vec<Option<Named<T>>> = after.into_iter().map(Some).collect();
    let mut found: Vec<Sides<T>> = Vec::new();
    let one = |_: &Named<T>| Some(String::new());
    if alone {
        matched(&mut before, &mut after, one, &mut found);
    }
    matched(&mut before, &mut after, |one| Some(exact(one)), &mut found);
    matched(&mut before, &mut after, repository, &mut found);
    found.extend(before.into_iter().flatten().map(|one| (Some(one), None)));
    found.extend(after.into_iter().flatten().map(|one| (None, Some(one))));
    let name = |(before, after): &Sides<T>| after.as_ref().or(before.as_ref()).map(|one| one.key.clone());
    found.sort_by_key(name);
    found
}

/// The name with the stage: one file may hold several.
fn exact<T>(one: &Named<T>) -> String {
    format!("{}\n{}", one.key, one.judged.stage.as_deref().unwrap_or_default())
}

fn repository<T>(one: &Named<T>) -> Option<String> {
    (one.judged.kind == "image").then(|| ImageReference::parse(&one.key).ok().map(|image| image.familiar()))?
}

/// Pairs what has a key that is there once on each side.
fn matched<T>(
    before: &mut [Option<Named<T>>],
    after: &mut [Option<Named<T>>],
    key: impl Fn(&Named<T>) -> Option<String>,
    found: &mut Vec<Sides<T>>,
) {
    let mut places: BTreeMap<String, (Vec<usize>, Vec<usize>)> = BTreeMap::new();
    for (at, one) in before.iter().enumerate() {
        if let Some(key) = one.as_ref().and_then(&key) {
            places.entry(key).or_default().0.push(at);
        }
    }
    for (at, one) in after.iter().enumerate() {
        if let Some(key) = one.as_ref().and_then(&key) {
            places.entry(key).or_default().1.push(at);
        }
    }
    for (was, is) in places.into_values() {
        if let ([was], [is]) = (was.as_slice(), is.as_slice()) {
            let one = before.get_mut(*was).and_then(Option::take);
            let other = after.get_mut(*is).and_then(Option::take);
            found.push((one, other));
        }
    }
}
