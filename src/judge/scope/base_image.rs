//! Vocabulary names on the base image.

use crate::judge::scope::{
    BlamedLookup, RuleScope, bool_lookup, fact_lookup, observed_list_lookup, text_lookup, version_lookup,
};
use crate::model::fact::{PrintedValue, ValueState};
use crate::model::reference::ImageReference;
use crate::rules::FactLookup;

impl RuleScope<'_> {
    /// Returns the value of a name on the base image; `None` for other names.
    pub(super) fn base_image_lookup(&self, name: &str) -> Option<BlamedLookup> {
        let rest = match name {
            "image.base" => "",
            _ => name.strip_prefix("image.base.")?,
        };
        if rest == "cuda" {
            return Some(fact_lookup(&self.image.base_cuda, version_lookup));
        }
        if rest == "tag_now" {
            return Some(self.moved_tag());
        }
        let Some(base) = self.image.base else { return Some(BlamedLookup::without_fact(FactLookup::Absent)) };
        let lookup = match &self.image.facts.get(base).state {
            ValueState::Known(PrintedValue::Text(written)) => self.reference_lookup(written, rest),
            _ => Some(FactLookup::Unknown),
        };
        let replaced = (rest == "entrypoint_replaced").then_some(self.image.compat_probe.id);
        lookup.map(|lookup| BlamedLookup::without_fact(lookup).with_fact(replaced.or(Some(base))))
    }

    /// Returns the changes of an image to which the tag has moved; absent unless the base has both a tag and a
    /// digest.
    fn moved_tag(&self) -> BlamedLookup {
        if let Some((changes, fact)) = self.seen.and_then(|all| all.tag_now.as_ref()) {
            return BlamedLookup::without_fact(observed_list_lookup(changes.clone(), true)).with_fact(Some(*fact));
        }
        let Some(base) = self.image.base else { return BlamedLookup::without_fact(FactLookup::Absent) };
        let both = match &self.image.facts.get(base).state {
            ValueState::Known(PrintedValue::Text(written)) => {
                ImageReference::parse(written).is_ok_and(|base| base.tag().is_some() && base.digest().is_some())
            }
            ValueState::Absent { .. } => false,
            ValueState::Known(_) | ValueState::Unknown(_) => true,
        };
        BlamedLookup::without_fact(if both { FactLookup::Unknown } else { FactLookup::Absent }).with_fact(Some(base))
    }

    /// Returns the value of a name on the reference of the base image.
    fn reference_lookup(&self, written: &str, name: &str) -> Option<FactLookup> {
        let Ok(reference) = ImageReference::parse(written) else { return Some(FactLookup::Absent) };
        let repository = reference.familiar_name();
        let tag = reference.tag();
        let family = self.knowledge.base_family(&repository);
        Some(match name {
            "" => text_lookup(written),
            "repository" => text_lookup(&*repository),
            "tag" => tag.map_or(FactLookup::Absent, text_lookup),
            "digest" => reference.digest().map_or(FactLookup::Absent, text_lookup),
            "nvidia" => bool_lookup(family.is_some_and(|row| row.cuda_base)),
            "ngc" => bool_lookup(family.is_some_and(|row| row.monthly)),
            "entrypoint_replaced" => {
                bool_lookup(family.is_some_and(|row| row.compat_probe.is_some()) && self.replaces_entrypoint())
            }
            "floating" => {
                let versioned = tag.is_some_and(|tag| tag.bytes().any(|byte| byte.is_ascii_digit()));
                bool_lookup(reference.digest().is_none() && !versioned)
            }
            "withdrawn" => bool_lookup(self.withdrawn_row(&reference).is_some()),
            "instead" => {
                self.withdrawn_row(&reference).and_then(|row| row.instead).map_or(FactLookup::Absent, text_lookup)
            }
            _ => return None,
        })
    }

    /// Returns the table row of a withdrawn CUDA image.
    fn withdrawn_row(&self, reference: &ImageReference) -> Option<&'static crate::knowledge::WithdrawnRow> {
        let repository = reference.familiar_name();
        // Without either, `latest` is requested.
        let requested_tag = reference.tag().or(reference.digest().is_none().then_some("latest"));
        requested_tag
            .filter(|tag| self.knowledge.nonexistent_cuda_tag(&repository, tag).is_none())
            .filter(|_| self.knowledge.is_cuda_repository(&repository))
            .and_then(|tag| self.knowledge.withdrawn_tag(&repository, crate::infer::tag_version(tag)))
    }

    /// Whether the image replaces the entrypoint of its base, which probes the compat library.
    fn replaces_entrypoint(&self) -> bool {
        let own = self.seen.and_then(|seen| seen.entrypoint.as_ref());
        own.is_some_and(|(words, _)| self.knowledge.compat_probe(words).is_none())
    }
}
