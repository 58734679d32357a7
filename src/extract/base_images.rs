//! Base images known from a registry, the lock file or the settings, and tags that have moved since.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::dockerfile::context::ContextReader;
use crate::dockerfile::{BaseImageEnv, BaseKind, Dockerfile, EvaluateError, EvaluateOptions};
use crate::extract::base_merge::merge_base_observations;
use crate::extract::dockerfile::{TargetObservations, observe_dockerfile};
use crate::extract::stage_copies::StageEvaluator;
use crate::model::cause::Cause;
use crate::model::fact::{
    Evidence, FactId, FactKey, InspectionDepth, Observations, ObservedBase, Origin, PrintedValue, ValueState,
};
use crate::model::note::Note;
use crate::model::reference::ImageReference;
use crate::registry::lock::{BaseMapping, LockedBaseImage};
use crate::registry::{Platform, PulledImage, lock};
use crate::text::source::{SourceId, Span};

/// What is known of one base image on one platform.
#[derive(Clone, Debug)]
pub struct KnownBase {
    /// The platform; `None` if this applies to all platforms.
    pub platform: Option<Platform>,
    /// What was seen of it.
    pub seen: Observations,
    /// Where it is known from, for the report: `configuration sha256:...`; empty if the origins of its facts show it.
    pub origin: String,
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

    /// Records the error for a base image that could not be read.
    pub fn add_failure(&mut self, reference: &ImageReference, error: String) {
        self.failed.insert(lock::reference_with_default_tag(reference), error);
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
fn select_platform<'a>(list: &'a [KnownBase], platform: &Platform) -> Option<&'a KnownBase> {
    let fits = |base: &&KnownBase| base.platform.as_ref().is_none_or(|own| platform.accepts(own));
    list.iter().find(fits).or_else(|| {
        let first = list.first()?;
        let (offered, _) = first.seen.platforms.as_ref()?;
        let there = offered.iter().any(|one| one.parse().is_ok_and(|offered| platform.accepts(&offered)));
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
    build_context: &dyn ContextReader,
    bases: &KnownBases,
) -> Result<TargetObservations, EvaluateError> {
    let (mut target, known) = observe_dockerfile_and_base(source, dockerfile, options, build_context, bases)?;
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
    build_context: &dyn ContextReader,
    bases: &'a KnownBases,
) -> Result<(TargetObservations, Option<&'a KnownBase>), EvaluateError> {
    let base = if bases.is_empty() { None } else { find_base_image(dockerfile, options) };
    let Some((reference, platform)) = base else {
        return Ok((observe_dockerfile(source, dockerfile, options, build_context)?, None));
    };
    let known = bases.find(&reference, &platform);
    let known_env = known.and_then(|known| base_environment(&reference, &known.seen)).map(Arc::new);
    let options = EvaluateOptions { known_env, ..options.clone() };
    let mut target = observe_dockerfile(source, dockerfile, &options, build_context)?;
    if let Some(error) = bases.failed.get(&lock::reference_with_default_tag(&reference)) {
        target.notes.push(Note::not_read(&format!("base `{reference}`"), error));
    }
    // A tag that pointed to the digest shows what the digest alone does not.
    if let (ObservedBase::Image(image, _), Some(tagged)) =
        (&mut target.seen.base, bases.tagged.get(&lock::reference_with_default_tag(&reference)))
        && *image == reference
    {
        image.clone_from(tagged);
        let tag = tagged.tag().unwrap_or_default();
        target
            .notes
            .push(format!("base `{reference}` is read as tag {tag}, which has this digest in the lock file").into());
    }
    if let Some(known) = known.filter(|known| !known.origin.is_empty()) {
        target.notes.push(format!("base `{reference}`: {}", known.origin).into());
    }
    Ok((target, known))
}

/// Returns the environment that a build on this base starts with; `None` if nothing is known of it.
fn base_environment(image: &ImageReference, seen: &Observations) -> Option<BaseImageEnv> {
    // A description may name a base image with variables that the description does not list.
    let whole = seen.complete.env && matches!(seen.base, ObservedBase::NotSaid);
    if seen.env.is_empty() && !whole {
        return None;
    }
    let values = seen.env.iter().map(|(name, (known, _))| (name.clone(), known.clone())).collect();
    Some(BaseImageEnv { image: image.clone(), values, whole })
}

/// Variables by which the container toolkit decides what it requires of a node and what it injects.
const GPU_VARIABLES: &[&str] =
    &["NVIDIA_DISABLE_REQUIRE", "NVIDIA_VISIBLE_DEVICES", "NVIDIA_DRIVER_CAPABILITIES", "CUDA_VERSION"];
/// The prefix of variables that hold CUDA requirements.
const REQUIRE_PREFIX: &str = "NVIDIA_REQUIRE_";
/// The largest number of values of a variable that are listed.
const MAX_VALUES: usize = 3;
/// The largest number of characters of a listed value.
const MAX_VALUE_LENGTH: usize = 120;

/// Records how the image that the tag refers to now differs from the pinned image.
pub fn record_tag_drift(pinned: &PulledImage, now: &PulledImage, seen: &mut Observations) {
    let changes = if pinned.config_digest == now.config_digest { Vec::new() } else { variable_changes(pinned, now) };
    let origin = Origin::Config { digest: now.config_digest.clone(), field: "config.Env".to_owned() };
    let fact = seen.facts.add(
        FactKey::TagNow,
        None,
        ValueState::Known(PrintedValue::from(&changes)),
        Evidence::Leaf(vec![origin]),
    );
    seen.tag_now = Some((changes, fact));
}

/// Returns the differences of all GPU variables, one text for each.
fn variable_changes(pinned: &PulledImage, now: &PulledImage) -> Vec<String> {
    let all = pinned.config.env.iter().chain(&now.config.env).map(|(name, _)| name.as_str());
    let mut names: Vec<&str> =
        all.filter(|name| GPU_VARIABLES.contains(name) || name.starts_with(REQUIRE_PREFIX)).collect();
    names.sort_unstable();
    names.dedup();
    let change = |name: &str| describe_change(name, pinned.config.variable(name), now.config.variable(name));
    names.into_iter().filter_map(change).collect()
}

/// Describes the added and removed values of one variable; `None` if there are none.
fn describe_change(name: &str, before: Option<&str>, now: Option<&str>) -> Option<String> {
    let (before, now) = (split_values(before), split_values(now));
    let only = |these: &[String], those: &[String]| -> Vec<String> {
        these.iter().filter(|word| !those.contains(word)).cloned().collect()
    };
    let (came, went) = (only(&now, &before), only(&before, &now));
    let changes = [("now", &came), ("no longer", &went)];
    let parts: Vec<String> = changes
        .into_iter()
        .filter(|(_, words)| !words.is_empty())
        .map(|(lead, words)| format!("{lead} {}", list_values(words)))
        .collect();
    (!parts.is_empty()).then(|| format!("{name}: {}", parts.join(", ")))
}

/// Splits the value of a variable at whitespace, and truncates each part.
fn split_values(value: Option<&str>) -> Vec<String> {
    value.unwrap_or_default().split_whitespace().map(|word| word.chars().take(MAX_VALUE_LENGTH).collect()).collect()
}

/// Lists the first values in quotes, and the number of further ones.
fn list_values(words: &[String]) -> String {
    let first = words.iter().take(MAX_VALUES).map(|word| format!("`{word}`")).collect::<Vec<_>>().join(" ");
    let more = words.len().saturating_sub(MAX_VALUES);
    if more == 0 { first } else { format!("{first} and {more} more") }
}

/// Returns the observations of a base image from its entry in the lock file `source`.
pub fn observe_lock_entry(entry: &LockedBaseImage, source: SourceId) -> Observations {
    let mut seen = Observations::new(InspectionDepth::Config);
    for (name, value) in &entry.env {
        let state = ValueState::Known(PrintedValue::Text(value.value.clone()));
        let fact = add_lock_fact(&mut seen, source, (FactKey::Env, Some(&name.value)), state, value.span);
        seen.env.insert(name.value.clone(), (Ok(value.value.clone()), fact));
    }
    for name in &entry.withheld {
        let why = Cause::NotInLockFile { name: name.value.clone(), image: entry.reference.value.clone() };
        let state = ValueState::Unknown(why.clone());
        let fact = add_lock_fact(&mut seen, source, (FactKey::Env, Some(&name.value)), state, name.span);
        seen.env.insert(name.value.clone(), (Err(why), fact));
    }
    seen.complete.env = true;
    let words = entry.entrypoint.value.clone();
    let state = ValueState::Known(PrintedValue::from(&words));
    let fact = add_lock_fact(&mut seen, source, (FactKey::Entrypoint, None), state, entry.entrypoint.span);
    seen.entrypoint = Some((words, fact));
    let mut platforms = entry.platforms.value.clone();
    if platforms.is_empty() {
        platforms.push(entry.platform.clone());
    }
    let state = ValueState::Known(PrintedValue::from(&platforms));
    let fact = add_lock_fact(&mut seen, source, (FactKey::Platforms, None), state, entry.platforms.span);
    seen.platforms = Some((platforms, fact));
    seen
}

/// Adds a fact whose origin is a span of the lock file.
fn add_lock_fact(
    seen: &mut Observations,
    source: SourceId,
    (key, of): (FactKey, Option<&str>),
    state: ValueState<PrintedValue>,
    span: Span,
) -> FactId {
    seen.facts.add(key, of, state, Evidence::Leaf(vec![Origin::File { source, span }]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn added_and_removed_values_are_listed() {
        let old = "cuda>=11.8 brand=tesla,driver>=450,driver<451 brand=geforce,driver>=470,driver<471";
        let new = "cuda>=11.8 brand=tesla,driver>=470,driver<471";
        let removed = "`brand=tesla,driver>=450,driver<451` `brand=geforce,driver>=470,driver<471`";
        for (before, now, expected) in [
            (Some(old), Some(new), Some(format!("X: now `brand=tesla,driver>=470,driver<471`, no longer {removed}"))),
            (None, Some("all"), Some("X: now `all`".to_owned())),
            (Some("a b c d e"), None, Some("X: no longer `a` `b` `c` and 2 more".to_owned())),
            (Some(old), Some(old), None),
            (Some("a  b"), Some("b a"), None),
            (None, Some(""), None),
            (None, None, None),
        ] {
            assert_eq!(describe_change("X", before, now), expected, "{before:?} {now:?}");
        }
    }
}
