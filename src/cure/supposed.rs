//! An image of which not all is known, as it would be if what is not known were of some kind: nothing at all, no
//! variable and no library; or what images of its kind usually have.
//!
//! Where it fails then, what cures that is worth knowing, and is told with what it hangs on.

use crate::cure::Kind;
use crate::cure::Tried;
use crate::cure::case::Aim;
use crate::cure::case::platforms_of;
use crate::cure::case::whole;
use crate::cure::means::Means;
use crate::cure::search::search;
use crate::cure::trial::as_seen;
use crate::cure::usual::Usual;
use crate::fact::Evidence;
use crate::fact::FactKey;
use crate::fact::FileKind;
use crate::fact::FileSeen;
use crate::fact::Observations;
use crate::fact::Origin;
use crate::fact::State;
use crate::fact::Value;
use crate::fleet::Launch;
use crate::judge;
use crate::judge::Detail;
use crate::judge::Settings;
use crate::judge::Subject;
use crate::report::model;

/// What has to be true where nothing is supposed to be there.
const NOTHING: &str = "the unread part of the image sets no variable and contains no library";

const LD_CACHE: &str = "/etc/ld.so.cache";
const WHENCE: Origin = Origin::Option("an assumption about the unread part of the image");

/// What helps on pools on which it may fail, by what has to be true for that.
pub(super) fn supposed(
    subject: &Subject,
    judged: &model::Subject,
    settings: Settings<'_>,
    means: &Means<'_>,
) -> Vec<Vec<Tried>> {
    let platforms = platforms_of(judged, settings);
    // What starts without a container has the files of its host.
    let contained = settings.fleet.pools.iter().any(|pool| {
        let native = pool.launch.as_ref().is_some_and(|launch| launch.value == Launch::Native);
        !native && whole(judged).any(|one| one.pool == pool.name.value && Aim::Open.takes(one.fate))
    });
    let usual = platforms.first().filter(|_| contained).and_then(|platform| {
        let seen = judge::observations(&subject.content, platform)?;
        Usual::of(&seen, platform, settings)
    });
    let under = |what: &str, change: &dyn Fn(Observations) -> Observations| {
        under((what, change), subject, judged, settings, means)
    };
    let either = |usually: &bool| match usual.as_ref().filter(|_| *usually) {
        None => under(NOTHING, &empty),
        Some(usual) => under(&usual.what, &|seen| usual.put(seen)),
    };
    let mut found = Vec::new();
    let all: &[bool] = if usual.is_some() { &[false, true] } else { &[false] };
    means.crew.each(all, either, |tried| {
        found.push(tried);
        true
    });
    found
}

/// Nothing is there that was not seen.
fn empty(mut seen: Observations) -> Observations {
    (seen.complete.env, seen.complete.files) = (true, true);
    // As on every system with glibc.
    let there = State::Known(Value::Text(LD_CACHE.to_owned()));
    let fact = seen.facts.add(FactKey::File, Some(LD_CACHE), there, Evidence::Leaf(vec![WHENCE]));
    seen.files.entry(LD_CACHE.to_owned()).or_insert(FileSeen { kind: FileKind::Present, fact });
    seen
}

/// What helps where that is so.
fn under(
    (what, change): (&str, &dyn Fn(Observations) -> Observations),
    subject: &Subject,
    judged: &model::Subject,
    settings: Settings<'_>,
    means: &Means<'_>,
) -> Vec<Tried> {
    let change = |seen: Observations| Some(change(seen));
    let Some(subject) = as_seen(subject, judged, &platforms_of(judged, settings), change) else { return Vec::new() };
    let settings = Settings { detail: Detail::Fates, ..settings };
    let then = judge::judge_on(&subject, settings, means.hosts);
    let mut found = Vec::new();
    for aim in [Aim::Failing, Aim::Open] {
        let tried = search(aim, Kind::ALL, &subject, &then, settings, means).tried;
        found.extend(tried.into_iter().filter(|one| one.breaks.is_empty()).map(|one| Tried {
            settles: [one.cures, one.settles].concat(),
            narrows: [one.lifts, one.narrows].concat(),
            cures: Vec::new(),
            lifts: Vec::new(),
            supposed: Some(what.to_owned()),
            ..one
        }));
    }
    found
}
