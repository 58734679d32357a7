//! An image of which not all is known, as it would be if what is not known held nothing: no variable and no library.
//!
//! Where it fails then, what cures that is worth knowing, and is told with what it hangs on.

use crate::cure::Kind;
use crate::cure::Tried;
use crate::cure::case::Aim;
use crate::cure::case::platforms_of;
use crate::cure::search::search;
use crate::cure::trial::as_seen;
use crate::fact::Evidence;
use crate::fact::FactKey;
use crate::fact::FileKind;
use crate::fact::FileSeen;
use crate::fact::Observations;
use crate::fact::Origin;
use crate::fact::State;
use crate::fact::Value;
use crate::judge;
use crate::judge::Detail;
use crate::judge::Hosts;
use crate::judge::Settings;
use crate::judge::Subject;
use crate::report::model;

/// What has to be true for such a change to help.
pub(super) const SUPPOSED: &str = "what was not read of the image sets no variable and brings no library";

const LD_CACHE: &str = "/etc/ld.so.cache";
const WHENCE: Origin = Origin::Option("what is supposed of what was not read");

/// What helps where that is so, on pools on which it may fail.
pub(super) fn supposed(
    subject: &Subject,
    judged: &model::Subject,
    settings: Settings<'_>,
    hosts: &Hosts,
) -> Vec<Tried> {
    let empty = |mut seen: Observations| {
        (seen.complete.env, seen.complete.files) = (true, true);
        // As on every system with glibc.
        let there = State::Known(Value::Text(LD_CACHE.to_owned()));
        let fact = seen.facts.add(FactKey::File, Some(LD_CACHE), there, Evidence::Leaf(vec![WHENCE]));
        seen.files.entry(LD_CACHE.to_owned()).or_insert(FileSeen { kind: FileKind::Present, fact });
        Some(seen)
    };
    let Some(subject) = as_seen(subject, judged, &platforms_of(judged, settings), empty) else { return Vec::new() };
    let settings = Settings { detail: Detail::Fates, ..settings };
    let then = judge::judge_on(&subject, settings, hosts);
    let mut found = Vec::new();
    for aim in [Aim::Failing, Aim::Open] {
        let tried = search(aim, Kind::ALL, &subject, &then, settings, hosts).tried;
        found.extend(tried.into_iter().filter(|one| one.breaks.is_empty()).map(|one| Tried {
            settles: [one.cures, one.settles].concat(),
            narrows: [one.lifts, one.narrows].concat(),
            cures: Vec::new(),
            lifts: Vec::new(),
            supposed: true,
            ..one
        }));
    }
    found
}
