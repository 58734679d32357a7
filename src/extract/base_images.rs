//! Base images known from a registry, the lock file or the settings, and builds on top of them.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::dockerfile::context::ContextReader;
use crate::dockerfile::{BaseImageEnv, BaseKind, Dockerfile, EvaluateError, EvaluateOptions};
use crate::extract::base_merge::merge_base_observations;
use crate::extract::dockerfile::{TargetObservations, observe_dockerfile};
use crate::extract::stage_copies::StageEvaluator;
use crate::model::fact::{Observations, ObservedBase};
use crate::model::reference::ImageReference;
use crate::registry::lock::BaseMapping;
use crate::registry::{Platform, lock};
use crate::text::source::SourceId;

/// What is known of one base image on one platform.
#[derive(Clone, Debug)]
pub struct KnownBase {
    /// The platform; none where it is said for all.
    pub platform: Option<Platform>,
    /// What was seen of it.
    pub seen: Observations,
    /// Where it is known from, for the report: `configuration sha256:...`; empty if the origins of its facts show it.
    pub told: String,
    /// Digests of its unpacked layers, lowest first; none where they are not known.
    pub layers: Vec<String>,
}

/// Base images known from a registry, the lock file or the settings, in addition to the knowledge tables.
#[derive(Clone, Debug, Default)]
pub struct KnownBases {
    /// Those read just now.
    pulled: BTreeMap<String, Vec<KnownBase>>,
    /// Those of the lock file.
    locked: BTreeMap<String, Vec<KnownBase>>,
    /// Names with a tag of those of the lock file, by the names that they have by digest alone.
    tagged: BTreeMap<String, ImageReference>,
    /// Those that the settings map to a description, in the order of the file.
    mapped: Vec<BaseMapping<KnownBase>>,
    /// Why others could not be read.
    failed: BTreeMap<String, String>,
}

impl KnownBases {
    /// Adds a base image that was read in this run.
    pub fn add_pulled(&mut self, reference: &ImageReference, base: KnownBase) {
        self.pulled.entry(lock::reference_with_default_tag(reference)).or_default().push(base);
    }

    /// Adds a base image of the lock file, under its name there and with the digest that the name stood for.
    pub fn add_locked(&mut self, name: &str, digest: &str, base: KnownBase) {
        let tagged = ImageReference::parse(name).ok().filter(|own| own.tag().is_some() && own.digest().is_none());
        if let Some(own) = tagged {
            let repository = own.tag().and_then(|tag| name.strip_suffix(&format!(":{tag}"))).unwrap_or(name);
            let by_digest = ImageReference::parse(&format!("{repository}@{digest}"));
            let whole = ImageReference::parse(&format!("{name}@{digest}"));
            if let (Ok(by_digest), Ok(whole)) = (by_digest, whole) {
                self.tagged.entry(lock::reference_with_default_tag(&by_digest)).or_insert(whole);
            }
        }
        self.locked.entry(name.to_owned()).or_default().push(base);
    }

    /// Adds the base images that the settings map to descriptions.
    pub fn add_mapped(&mut self, mappings: Vec<BaseMapping<KnownBase>>) {
        self.mapped.extend(mappings);
    }

    /// Records why a base image could not be read.
    pub fn add_failure(&mut self, reference: &ImageReference, reason: String) {
        self.failed.insert(lock::reference_with_default_tag(reference), reason);
    }

    /// Whether the base image of a build is known for one of the usual platforms, or for the platform that FROM
    /// fixes.
    pub fn has_base_for(&self, dockerfile: &Dockerfile, options: &EvaluateOptions) -> bool {
        let known = |platform: &str| {
            let base = find_base_image(dockerfile, &options.for_platform(platform));
            base.is_some_and(|(reference, platform)| self.find(&reference, &platform).is_some())
        };
        !self.is_empty() && (known("linux/amd64") || known("linux/arm64"))
    }

    /// Whether nothing is known of any base image.
    pub fn is_empty(&self) -> bool {
        self.pulled.is_empty() && self.locked.is_empty() && self.mapped.is_empty() && self.failed.is_empty()
    }

    /// Returns what is known of a base image: reads of this run win over the lock file, and that over the settings.
    fn find(&self, reference: &ImageReference, platform: &str) -> Option<&KnownBase> {
        let name = lock::reference_with_default_tag(reference);
        let platform: Option<Platform> = platform.parse().ok();
        let tag = self.tagged.get(&name).map(lock::reference_with_default_tag);
        let tag = tag.as_deref().and_then(|whole| Some(whole.split_once('@')?.0)).and_then(|tag| self.locked.get(tag));
        let own = [self.pulled.get(&name), self.locked.get(&name), tag].into_iter().flatten();
        let mut own = own.filter_map(|list| select_platform(list, platform.as_ref()?));
        own.next().or_else(|| self.mapped.iter().find(|mapping| mapping.matches(reference)).map(|one| &one.description))
    }
}

/// Selects the base image for a platform: the first one if the image offers none for it, `None` if that one is
/// missing here.
fn select_platform<'a>(list: &'a [KnownBase], wanted: &Platform) -> Option<&'a KnownBase> {
    let fits = |base: &&KnownBase| base.platform.as_ref().is_none_or(|own| wanted.accepts(own));
    list.iter().find(fits).or_else(|| {
        let first = list.first()?;
        let (offered, _) = first.seen.platforms.as_ref()?;
        let there = offered.iter().any(|one| one.parse().is_ok_and(|offered| wanted.accepts(&offered)));
        (!there).then_some(first)
    })
}

/// Returns the base image of a build and the platform for which it is requested.
pub fn find_base_image(dockerfile: &Dockerfile, options: &EvaluateOptions) -> Option<(ImageReference, String)> {
    let evaluated = dockerfile.evaluate(options).ok()?;
    let flattened = StageEvaluator::new(dockerfile, options).flattened_base(&evaluated);
    let base = flattened.as_ref().map_or(&evaluated.base, |(base, _)| base);
    let BaseKind::Image(reference) = &base.kind else { return None };
    let fixed = evaluated.platform.as_ref().and_then(|(platform, _)| platform.known_text());
    Some((reference.clone(), fixed.unwrap_or(&options.platform).to_owned()))
}

/// Reads one target of a Dockerfile for one platform, and merges in what is known of its base image.
pub fn observe_dockerfile_on_base(
    source: SourceId,
    dockerfile: &Dockerfile,
    options: &EvaluateOptions,
    shelf: &dyn ContextReader,
    bases: &KnownBases,
) -> Result<TargetObservations, EvaluateError> {
    let (mut target, known) = observe_dockerfile_and_base(source, dockerfile, options, shelf, bases)?;
    if let Some(known) = known {
        merge_base_observations(&known.seen, &mut target.seen);
    }
    Ok(target)
}

/// Reads one target of a Dockerfile, and returns what is known of its base image separately.
pub(super) fn observe_dockerfile_and_base<'a>(
    source: SourceId,
    dockerfile: &Dockerfile,
    options: &EvaluateOptions,
    shelf: &dyn ContextReader,
    bases: &'a KnownBases,
) -> Result<(TargetObservations, Option<&'a KnownBase>), EvaluateError> {
    let base = if bases.is_empty() { None } else { find_base_image(dockerfile, options) };
    let Some((reference, platform)) = base else {
        return Ok((observe_dockerfile(source, dockerfile, options, shelf)?, None));
    };
    let known = bases.find(&reference, &platform);
    let known_env = known.and_then(|known| base_environment(&reference, &known.seen)).map(Arc::new);
    let options = EvaluateOptions { known_env, ..options.clone() };
    let mut target = observe_dockerfile(source, dockerfile, &options, shelf)?;
    if let Some(reason) = bases.failed.get(&lock::reference_with_default_tag(&reference)) {
        target.notes.push(format!("base `{reference}` was not read: {reason}"));
    }
    // What a digest alone does not tell, a tag that stood for it does.
    if let (ObservedBase::Image(image, _), Some(tagged)) =
        (&mut target.seen.base, bases.tagged.get(&lock::reference_with_default_tag(&reference)))
        && *image == reference
    {
        image.clone_from(tagged);
        let tag = tagged.tag().unwrap_or_default();
        target.notes.push(format!("base `{reference}` is read as tag {tag}, which has this digest in the lock file"));
    }
    if let Some(known) = known.filter(|known| !known.told.is_empty()) {
        target.notes.push(format!("base `{reference}`: {}", known.told));
    }
    Ok((target, known))
}

/// Returns the environment that a build on this base starts with; `None` if nothing is known of it.
fn base_environment(image: &ImageReference, seen: &Observations) -> Option<BaseImageEnv> {
    // A description may name a base of its own, which brings more than is written.
    let whole = seen.complete.env && matches!(seen.base, ObservedBase::NotSaid);
    if seen.env.is_empty() && !whole {
        return None;
    }
    let values = seen.env.iter().map(|(name, (known, _))| (name.clone(), known.clone())).collect();
    Some(BaseImageEnv { image: image.clone(), values, whole })
}
