//! What a page may ask of the base image.

use crate::fact::State;
use crate::fact::Value as FactValue;
use crate::judge::scope::Said;
use crate::judge::scope::Subject;
use crate::judge::scope::of;
use crate::judge::scope::seen;
use crate::judge::scope::text;
use crate::judge::scope::truth;
use crate::judge::scope::version;
use crate::reference::ImageReference;
use crate::rules::Lookup;

impl Subject<'_> {
    /// What is known under a name that speaks of the base image.
    pub(super) fn of_base(&self, name: &str) -> Option<Said> {
        let rest = match name {
            "image.base" => "",
            _ => name.strip_prefix("image.base.")?,
        };
        if rest == "cuda" {
            return Some(of(&self.image.base_cuda, version));
        }
        if rest == "tag_now" {
            return Some(self.tag_now());
        }
        let Some(base) = self.image.base else { return Some(Said::plain(Lookup::Absent)) };
        let lookup = match &self.image.facts.get(base).state {
            State::Known(FactValue::Text(written)) => self.of_reference(written, rest),
            _ => Some(Lookup::Unknown),
        };
        let replaced = (rest == "entrypoint_replaced").then_some(self.image.compat_probe.id);
        lookup.map(|lookup| Said::plain(lookup).on(replaced.or(Some(base))))
    }

    /// Of a base without a digest, or with nothing else, no tag can have moved away.
    fn tag_now(&self) -> Said {
        if let Some((changes, fact)) = self.seen.and_then(|all| all.tag_now.as_ref()) {
            return Said::plain(seen(changes.clone(), true)).on(Some(*fact));
        }
        let Some(base) = self.image.base else { return Said::plain(Lookup::Absent) };
        let both = match &self.image.facts.get(base).state {
            State::Known(FactValue::Text(written)) => {
                ImageReference::parse(written).is_ok_and(|base| base.tag().is_some() && base.digest().is_some())
            }
            State::Absent { .. } => false,
            State::Known(_) | State::Unknown(_) => true,
        };
        Said::plain(if both { Lookup::Unknown } else { Lookup::Absent }).on(Some(base))
    }

    fn of_reference(&self, written: &str, name: &str) -> Option<Lookup> {
        let Ok(reference) = ImageReference::parse(written) else { return Some(Lookup::Absent) };
        let repository = reference.familiar();
        let tag = reference.tag();
        let family = self.knowledge.base_family(&repository);
        Some(match name {
            "" => text(written),
            "repository" => text(&*repository),
            "tag" => tag.map_or(Lookup::Absent, text),
            "digest" => reference.digest().map_or(Lookup::Absent, text),
            "nvidia" => truth(family.is_some_and(|row| row.cuda_base)),
            "ngc" => truth(family.is_some_and(|row| row.monthly)),
            "entrypoint_replaced" => truth(family.is_some_and(|row| row.compat_probe.is_some()) && self.replaced()),
            "floating" => {
                let versioned = tag.is_some_and(|tag| tag.bytes().any(|byte| byte.is_ascii_digit()));
                truth(reference.digest().is_none() && !versioned)
            }
            "withdrawn" => truth(self.withdrawn(&reference).is_some()),
            "instead" => self.withdrawn(&reference).and_then(|row| row.instead).map_or(Lookup::Absent, text),
            _ => return None,
        })
    }

    fn withdrawn(&self, reference: &ImageReference) -> Option<&'static crate::knowledge::WithdrawnRow> {
        let repository = reference.familiar();
        // Where neither stands there, it is `latest` that is asked for.
        let asked = reference.tag().or(reference.digest().is_none().then_some("latest"));
        asked
            .filter(|tag| self.knowledge.no_such_cuda_tag(&repository, tag).is_none())
            .filter(|_| self.knowledge.is_cuda_repository(&repository))
            .and_then(|tag| self.knowledge.withdrawn(&repository, crate::infer::tag_version(tag)))
    }

    /// Whether the image says what it starts, and that is not what tries the compat library.
    fn replaced(&self) -> bool {
        let own = self.seen.and_then(|seen| seen.entrypoint.as_ref());
        own.is_some_and(|(words, _)| self.knowledge.compat_probe(words).is_none())
    }
}
