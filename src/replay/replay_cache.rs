//! Cache of replay parts that the starts on the hosts of one pool have in common.
//!
//! A start-up has two parts, separated by the choice of libcuda. The part up to it depends on how the container is
//! started, and on little of the GPU; the part after it depends on the GPU, the driver and that libcuda. Each is
//! cached for all hosts that are equivalent in it ([`HostEquivalence`]), so that a pool of forty GPUs in thirty
//! configurations does not need 1,200 replays; the first part is also shared by equivalent images. The result is
//! that of [`replay`](crate::replay::replay) for each single host; builds with debug assertions verify this.

use std::collections::{BTreeMap, HashMap};
use std::hash::{BuildHasherDefault, Hash};
use std::sync::Arc;

use crate::cuda::entries_with_prefix;
use crate::fleet::{Host, HostEquivalence, Mode};
use crate::model::fact::ImageFacts;
use crate::replay::fast_hash::FastHasher;
use crate::replay::loader::CachedLibcuda;
use crate::replay::loader_equivalence::loader_equivalence_key;
use crate::replay::replay_steps::{replay_after_libcuda, replay_late_library_loads, replay_until_libcuda};
use crate::replay::startup_result::StartupResultBuilder;
use crate::replay::step_record::{FirstFailureRecorder, StepRecorder};
use crate::replay::{
    FullRecorder, LoadedLibcuda, Replay, StartStep, StartupResult, StepRecord, StepResult, libraries, platform,
};

/// Prefix of the variables that hold requirements.
const REQUIREMENT_PREFIX: &str = "NVIDIA_REQUIRE_";
/// Name of the GPU's compute capability in a requirement.
const ARCH_PROPERTY: &str = "arch";

/// Maximum number of entries in each hash map of the cache; a full map is cleared.
const MAX_MAP_ENTRIES: usize = 16_384;
/// How many kinds of images are cached; a full map is cleared.
const MAX_CACHED_KINDS: usize = 512;

/// Hash map with a fast hasher for small numeric keys.
type FastMap<K, V> = HashMap<K, V, BuildHasherDefault<FastHasher>>;

/// Some steps of a replay, and their combined outcome.
#[derive(Clone, Debug)]
struct ReplayPart {
    steps: Vec<StepRecord>,
    startup_result: StartupResultBuilder,
}

impl ReplayPart {
    /// Runs steps with an empty outcome and a new recorder; also returns what they return.
    fn run<R: StepRecorder + Default + Into<Vec<StepRecord>>, T>(
        take: impl FnOnce(&mut StartupResultBuilder, &mut R) -> T,
    ) -> (Self, T) {
        let (mut startup_result, mut record) = (StartupResult::builder(), R::default());
        let end = take(&mut startup_result, &mut record);
        (Self { steps: record.into(), startup_result }, end)
    }

    /// Replays the steps up to the libcuda that a program loads; also returns it, or `None` if an earlier step
    /// decides.
    fn until_libcuda(one: Replay<'_>, whole: bool) -> (Self, Option<LoadedLibcuda<'_>>) {
        if whole {
            Self::run::<FullRecorder, _>(|result, record| replay_until_libcuda(one, result, record))
        } else {
            Self::run::<FirstFailureRecorder, _>(|result, record| replay_until_libcuda(one, result, record))
        }
    }

    /// Replays the steps after libcuda is loaded.
    fn after_libcuda(one: Replay<'_>, loaded: &LoadedLibcuda<'_>, whole: bool) -> Self {
        if whole {
            Self::run::<FullRecorder, _>(|result, record| replay_after_libcuda(one, loaded, result, record)).0
        } else {
            Self::run::<FirstFailureRecorder, _>(|result, record| replay_after_libcuda(one, loaded, result, record)).0
        }
    }

    /// Replays the step for libraries that the program opens while it runs.
    fn late_library_loads(one: Replay<'_>) -> Self {
        Self::run::<FullRecorder, _>(|result, record| replay_late_library_loads(one, result, record)).0
    }
}

/// The steps up to the libcuda that a program loads, and how the replay continues if it does.
#[derive(Clone, Debug)]
struct CachedLoaderPart {
    part: Arc<ReplayPart>,
    then: Option<LoaderContinuation>,
}

/// How a replay continues: the number of its libcuda, whether the program runs on without a GPU, and what it opens
/// later.
#[derive(Clone, Debug)]
struct LoaderContinuation {
    loaded: u32,
    goes_without: bool,
    later: Arc<ReplayPart>,
}

/// The outcome of one replay, with the parts that led to it.
#[derive(Clone, Debug)]
pub(super) struct ReplayEnd {
    /// The outcome of the start.
    pub(super) fate: StartupResult,
    parts: [Option<Arc<ReplayPart>>; 3],
}

impl ReplayEnd {
    /// Combines the outcomes of the parts.
    fn from_parts(parts: [Option<Arc<ReplayPart>>; 3]) -> Self {
        let combined = parts
            .iter()
            .flatten()
            .fold(StartupResult::builder(), |result, part| result.followed_by(part.startup_result));
        Self { fate: combined.build(), parts }
    }

    /// Combines the parts, with the last one only if it is wanted.
    fn join_parts(before: Arc<ReplayPart>, behind: Arc<ReplayPart>, later: Arc<ReplayPart>, whole: bool) -> Self {
        let needs_later = whole || !before.startup_result.followed_by(behind.startup_result).is_decided();
        Self::from_parts([Some(before), Some(behind), needs_later.then_some(later)])
    }

    /// Replays a start without using the cache.
    fn without_cache(one: Replay<'_>, whole: bool) -> Self {
        let (before, loaded) = ReplayPart::until_libcuda(one, whole);
        let before = Arc::new(before);
        match loaded {
            None => Self::from_parts([Some(before), None, None]),
            Some(loaded) => {
                let behind = Arc::new(ReplayPart::after_libcuda(one, &loaded, whole));
                Self::join_parts(before, behind, Arc::new(ReplayPart::late_library_loads(one)), whole)
            }
        }
    }

    /// Iterates over every recorded step, in order.
    pub(super) fn steps(&self) -> impl Iterator<Item = &StepRecord> {
        self.parts.iter().flatten().flat_map(|part| &part.steps)
    }

    /// Returns the deciding step: the first that stops, otherwise the first that is unknown.
    pub(super) fn deciding_step(&self) -> Option<StartStep> {
        deciding_step_of(self.steps())
    }

    /// Whether two replays have the same outcome and the same steps.
    fn is_same(&self, other: &Self) -> bool {
        let same = |(one, other): (&StepRecord, &StepRecord)| {
            let mut facts = one.facts.iter().zip(other.facts.iter());
            (one.step, one.result, one.cite) == (other.step, other.result, other.cite)
                && one.facts.iter().count() == other.facts.iter().count()
                && facts.all(|(one, other)| one.is_same(other))
        };
        self.fate == other.fate
            && self.steps().count() == other.steps().count()
            && self.steps().zip(other.steps()).all(same)
    }
}

/// Returns the deciding step of a start: the first that stops, otherwise the first that is unknown.
pub(super) fn deciding_step_of<'s>(steps: impl Iterator<Item = &'s StepRecord>) -> Option<StartStep> {
    let mut open = None;
    for step in steps {
        match step.result {
            StepResult::Stops(_) => return Some(step.step),
            StepResult::Unknown if open.is_none() => open = Some(step.step),
            _ => {}
        }
    }
    open
}

/// The numbers that identify a component in the cache.
#[derive(Clone, Copy, Debug)]
struct ComponentCacheKey {
    /// Number of the component, and `kind`, the number shared by all components that are alike up to libcuda.
    own: u32,
    kind: u32,
    /// Whether a requirement of its image depends on the compute capability.
    capability: bool,
}

/// Cache of the replays on the hosts of one pool.
#[derive(Clone, Debug, Default)]
pub struct ReplayCache {
    /// Whether there are enough hosts for comparing images with each other to pay off.
    pub(super) wide: bool,
    numbers: u32,
    kinds: BTreeMap<String, u32>,
    before: FastMap<(u32, u32, u32, bool), CachedLoaderPart>,
    loaded: Vec<CachedLibcuda>,
    key: FastMap<usize, ComponentCacheKey>,
    modes: FastMap<(usize, u32), bool>,
    behind: FastMap<(u32, u32, u32, u8), Arc<ReplayPart>>,
}

impl ReplayCache {
    /// Clears what is cached by the address of an image, so that the cache can be used for other images on the same
    /// hosts.
    #[must_use]
    pub fn reset_for_other_images(mut self) -> Self {
        self.key.clear();
        self.modes.clear();
        self.behind.clear();
        self
    }

    /// Returns the host in the mode that applies to an image.
    pub(super) fn host_in_selected_mode<'a>(&mut self, image: &'a ImageFacts, host: &'a Host) -> &'a Host {
        let (Some(in_cdi), Some(HostEquivalence { before_libcuda: before, .. })) = (&host.in_cdi, host.alike) else {
            return platform::host_in_selected_mode(image, host);
        };
        let is_in_cdi = || std::ptr::eq(platform::host_in_selected_mode(image, host), in_cdi.as_ref());
        let known = *self.modes.entry((std::ptr::from_ref(image).addr(), before)).or_insert_with(is_in_cdi);
        debug_assert_eq!(known, is_in_cdi(), "hosts that are alike take the same mode");
        if known { in_cdi } else { host }
    }

    /// Replays a start on a host in its selected mode, with the steps up to the deciding one.
    pub(super) fn replay_until_decided(&mut self, one: Replay<'_>) -> ReplayEnd {
        self.replay_with_cache(one, false)
    }

    /// Replays a start on a host in its selected mode, with every step.
    pub(super) fn replay_all_steps(&mut self, one: Replay<'_>) -> ReplayEnd {
        self.replay_with_cache(one, true)
    }

    /// Replays a start with the cached parts; `whole` requests every step.
    fn replay_with_cache(&mut self, one: Replay<'_>, whole: bool) -> ReplayEnd {
        let Some(alike) = one.host.alike.filter(|_| !one.host.wsl) else { return ReplayEnd::without_cache(one, whole) };
        let key = self.component_key(one);
        let Some(CachedLoaderPart { part, then }) = self.loader_part(one, alike, key, whole) else {
            return ReplayEnd::without_cache(one, whole);
        };
        let end = match then {
            None => ReplayEnd::from_parts([Some(part), None, None]),
            Some(then) => match self.driver_part(one, alike, key, &then, whole) {
                Some(behind) => ReplayEnd::join_parts(part, behind, then.later, whole),
                None => ReplayEnd::without_cache(one, whole),
            },
        };
        debug_assert!(
            end.is_same(&ReplayEnd::without_cache(one, whole)),
            "what is alike ends alike: {end:?} {:?}",
            one.host
        );
        end
    }

    /// Returns the numbers that identify a component in the cache.
    fn component_key(&mut self, one: Replay<'_>) -> ComponentCacheKey {
        let place = std::ptr::from_ref(one.component).addr();
        if let Some(known) = self.key.get(&place) {
            return *known;
        }
        let (image, host) = (one.image, one.host);
        let of_image = image.env.with_prefix(REQUIREMENT_PREFIX).filter_map(|(_, value)| value.known());
        let of_pool = entries_with_prefix(&host.env, REQUIREMENT_PREFIX).map(|(_, value)| value);
        let capability = of_image.chain(of_pool).any(|value| value.contains(ARCH_PROPERTY));
        self.numbers = self.numbers.wrapping_add(1);
        let own = self.numbers;
        let kind = if self.wide { self.kind_number(loader_equivalence_key(one), own) } else { own };
        let key = ComponentCacheKey { own, kind, capability };
        self.key.insert(place, key);
        key
    }

    /// Returns the number of a kind of images, which is `own` for a new kind.
    fn kind_number(&mut self, likeness: String, own: u32) -> u32 {
        if self.kinds.len() >= MAX_CACHED_KINDS {
            self.kinds.clear();
        }
        *self.kinds.entry(likeness).or_insert(own)
    }

    /// Returns the cached part up to libcuda, or replays it.
    fn loader_part(
        &mut self,
        one: Replay<'_>,
        alike: HostEquivalence,
        key: ComponentCacheKey,
        whole: bool,
    ) -> Option<CachedLoaderPart> {
        // That mode depends on the module itself.
        let by_gpu = one.host.mode == Mode::Csv || key.capability;
        let like = (key.kind, alike.before_libcuda, if by_gpu { alike.after_libcuda + 1 } else { 0 }, whole);
        if let Some(known) = self.before.get(&like) {
            return Some(known.clone());
        }
        let (part, loaded) = ReplayPart::until_libcuda(one, whole);
        let then = match loaded {
            None => None,
            Some(loaded) => Some(LoaderContinuation {
                loaded: self.libcuda_number(CachedLibcuda::from_loaded(one.image, loaded)?),
                goes_without: libraries::starts_without_gpu(one),
                later: Arc::new(ReplayPart::late_library_loads(one)),
            }),
        };
        let made = CachedLoaderPart { part: Arc::new(part), then };
        insert_bounded(&mut self.before, like, made.clone());
        Some(made)
    }

    /// Returns the cached part after libcuda, or replays it.
    fn driver_part(
        &mut self,
        one: Replay<'_>,
        alike: HostEquivalence,
        key: ComponentCacheKey,
        then: &LoaderContinuation,
        whole: bool,
    ) -> Option<Arc<ReplayPart>> {
        let flags = u8::from(whole) | u8::from(then.goes_without) << 1;
        let like = (key.own, alike.after_libcuda, then.loaded, flags);
        if let Some(known) = self.behind.get(&like) {
            return Some(Arc::clone(known));
        }
        let loaded = self.loaded.get(usize::try_from(then.loaded).ok()?)?.resolve_in(one.image)?;
        let made = Arc::new(ReplayPart::after_libcuda(one, &loaded, whole));
        insert_bounded(&mut self.behind, like, Arc::clone(&made));
        Some(made)
    }

    /// Returns the number of a libcuda, which is the same for all that are the same.
    fn libcuda_number(&mut self, loaded: CachedLibcuda) -> u32 {
        let at = self.loaded.iter().position(|other| other.is_same(&loaded)).unwrap_or_else(|| {
            self.loaded.push(loaded);
            self.loaded.len() - 1
        });
        u32::try_from(at).unwrap_or(u32::MAX)
    }
}

/// Inserts a value, and clears a full map first.
fn insert_bounded<K: Eq + Hash, V>(map: &mut FastMap<K, V>, key: K, value: V) {
    if map.len() >= MAX_MAP_ENTRIES {
        map.clear();
    }
    map.insert(key, value);
}

#[cfg(test)]
#[path = "shared_tests.rs"]
mod tests;
