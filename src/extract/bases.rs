//! What is known of base images beside the tables, and builds on them.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::context::Shelf;
use crate::dockerfile::BaseKind;
use crate::dockerfile::Dockerfile;
use crate::dockerfile::EvaluateError;
use crate::dockerfile::EvaluateOptions;
use crate::dockerfile::KnownEnv;
use crate::extract::copied::Stages;
use crate::extract::dockerfile::Target;
use crate::extract::dockerfile::of_dockerfile;
use crate::extract::merge::merge;
use crate::fact::BaseSeen;
use crate::fact::Observations;
use crate::lock;
use crate::lock::Mapping;
use crate::oci::Platform;
use crate::reference::ImageReference;
use crate::source::SourceId;

/// One base image for one platform.
#[derive(Clone, Debug)]
pub struct KnownBase {
    /// The platform; none where it is said for all.
    pub platform: Option<Platform>,
    /// What was seen of it.
    pub seen: Observations,
    /// Where it is known from, for the report: `configuration sha256:...`; empty where its own places say it.
    pub told: String,
    /// Digests of its unpacked layers, lowest first; none where they are not known.
    pub layers: Vec<String>,
}

/// Everything that is known of base images beside the tables.
#[derive(Clone, Debug, Default)]
pub struct Bases {
    /// Those read just now.
    pulled: BTreeMap<String, Vec<KnownBase>>,
    /// Those of the lock file.
    locked: BTreeMap<String, Vec<KnownBase>>,
    /// Names with a tag of those of the lock file, by the names that they have by digest alone.
    tagged: BTreeMap<String, ImageReference>,
    /// Those that the settings map to a description, in the order of the file.
    mapped: Vec<Mapping<KnownBase>>,
    /// Why others could not be read.
    failed: BTreeMap<String, String>,
}

impl Bases {
    /// Adds a base that was read just now.
    pub fn pulled(&mut self, reference: &ImageReference, base: KnownBase) {
        self.pulled.entry(lock::name(reference)).or_default().push(base);
    }

    /// Adds a base of the lock file, by the name that it has there, which stood for a digest then.
    pub fn locked(&mut self, name: &str, digest: &str, base: KnownBase) {
        let tagged = ImageReference::parse(name).ok().filter(|own| own.tag().is_some() && own.digest().is_none());
        if let Some(own) = tagged {
            let repository = own.tag().and_then(|tag| name.strip_suffix(&format!(":{tag}"))).unwrap_or(name);
            let by_digest = ImageReference::parse(&format!("{repository}@{digest}"));
            let whole = ImageReference::parse(&format!("{name}@{digest}"));
            if let (Ok(by_digest), Ok(whole)) = (by_digest, whole) {
                self.tagged.entry(lock::name(&by_digest)).or_insert(whole);
            }
        }
        self.locked.entry(name.to_owned()).or_default().push(base);
    }

    /// Adds what the settings map.
    pub fn mapped(&mut self, mappings: Vec<Mapping<KnownBase>>) {
        self.mapped.extend(mappings);
    }

    /// Notes that a base could not be read.
    pub fn failed(&mut self, reference: &ImageReference, reason: String) {
        self.failed.insert(lock::name(reference), reason);
    }

    /// Whether anything is known of the base of a build, on one of the usual platforms or those it is made for.
    pub fn knows(&self, dockerfile: &Dockerfile, options: &EvaluateOptions) -> bool {
        let known = |platform: &str| {
            let base = base_of(dockerfile, &options.on(platform));
            base.is_some_and(|(reference, platform)| self.of(&reference, &platform).is_some())
        };
        !self.is_empty() && (known("linux/amd64") || known("linux/arm64"))
    }

    /// Whether nothing is known of any base.
    pub fn is_empty(&self) -> bool {
        self.pulled.is_empty() && self.locked.is_empty() && self.mapped.is_empty() && self.failed.is_empty()
    }

    /// What is known of a base: what was read just now wins over the lock file, and that over the settings.
    fn of(&self, reference: &ImageReference, platform: &str) -> Option<&KnownBase> {
        let name = lock::name(reference);
        let platform: Option<Platform> = platform.parse().ok();
        let tag = self.tagged.get(&name).map(lock::name);
        let tag = tag.as_deref().and_then(|whole| Some(whole.split_once('@')?.0)).and_then(|tag| self.locked.get(tag));
        let own = [self.pulled.get(&name), self.locked.get(&name), tag].into_iter().flatten();
        let mut own = own.filter_map(|list| of_platform(list, platform.as_ref()?));
        own.next().or_else(|| self.mapped.iter().find(|mapping| mapping.matches(reference)).map(|one| &one.described))
    }
}

/// The base for a platform; any of them where the image has none for it, and nothing where it has one that is not here.
fn of_platform<'a>(list: &'a [KnownBase], wanted: &Platform) -> Option<&'a KnownBase> {
    let fits = |base: &&KnownBase| base.platform.as_ref().is_none_or(|own| wanted.accepts(own));
    list.iter().find(fits).or_else(|| {
        let first = list.first()?;
        let (offered, _) = first.seen.platforms.as_ref()?;
        let there = offered.iter().any(|one| one.parse().is_ok_and(|offered| wanted.accepts(&offered)));
        (!there).then_some(first)
    })
}

/// The base image of a build, and the platform for which it is asked.
pub fn base_of(dockerfile: &Dockerfile, options: &EvaluateOptions) -> Option<(ImageReference, String)> {
    let evaluated = dockerfile.evaluate(options).ok()?;
    let flattened = Stages::new(dockerfile, options).flattened(&evaluated);
    let base = flattened.as_ref().map_or(&evaluated.base, |(base, _)| base);
    let BaseKind::Image(reference) = &base.kind else { return None };
    let fixed = evaluated.platform.as_ref().and_then(|(platform, _)| platform.known());
    Some((reference.clone(), fixed.unwrap_or(&options.platform).to_owned()))
}

/// Reads one target of a Dockerfile for one platform, on what is known of its base.
pub fn of_build(
    source: SourceId,
    dockerfile: &Dockerfile,
    options: &EvaluateOptions,
    shelf: &dyn Shelf,
    bases: &Bases,
) -> Result<Target, EvaluateError> {
    let (mut target, known) = of_lines(source, dockerfile, options, shelf, bases)?;
    if let Some(known) = known {
        merge(&known.seen, &mut target.seen);
    }
    Ok(target)
}

/// What the lines of a Dockerfile say alone, with what is known of their base beside it.
pub(super) fn of_lines<'a>(
    source: SourceId,
    dockerfile: &Dockerfile,
    options: &EvaluateOptions,
    shelf: &dyn Shelf,
    bases: &'a Bases,
) -> Result<(Target, Option<&'a KnownBase>), EvaluateError> {
    let base = if bases.is_empty() { None } else { base_of(dockerfile, options) };
    let Some((reference, platform)) = base else {
        return Ok((of_dockerfile(source, dockerfile, options, shelf)?, None));
    };
    let known = bases.of(&reference, &platform);
    let known_env = known.and_then(|known| environment(&reference, &known.seen)).map(Arc::new);
    let options = EvaluateOptions { known_env, ..options.clone() };
    let mut target = of_dockerfile(source, dockerfile, &options, shelf)?;
    if let Some(reason) = bases.failed.get(&lock::name(&reference)) {
        target.notes.push(format!("base `{reference}` was not read: {reason}"));
    }
    // What a digest alone does not tell, a tag that stood for it does.
    if let (BaseSeen::Image(image, _), Some(tagged)) =
        (&mut target.seen.base, bases.tagged.get(&lock::name(&reference)))
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

/// The environment that a build on this base starts with; none where nothing is known of it.
fn environment(image: &ImageReference, seen: &Observations) -> Option<KnownEnv> {
    // A description may name a base of its own, which brings more than is written.
    let whole = seen.complete.env && matches!(seen.base, BaseSeen::NotSaid);
    if seen.env.is_empty() && !whole {
        return None;
    }
    let value = |value: &Result<String, crate::fact::Why>| value.clone().map_err(|why| why.reason);
    let values = seen.env.iter().map(|(name, (known, _))| (name.clone(), value(known))).collect();
    Some(KnownEnv { image: image.clone(), values, whole })
}
