//! Shared: what start-ups on the hosts of one pool have in common is gone through once.
//!
//! A start-up has two parts, which meet in the libcuda that a program gets. What happens up to it hangs on how the
//! container is started, and on little of the GPU; what happens behind it on the GPU, its driver and that libcuda. Each
//! part is kept for all hosts that it cannot tell apart ([`Alike`](crate::fleet::Alike)), so that a pool of forty GPUs in
//! thirty ways is not twelve hundred start-ups; and the first for all images that look alike up to there. What comes out
//! is what [`replay`](crate::start::replay) says of each host by itself; builds with debug assertions ask it every time.

use std::collections::BTreeMap;
use std::collections::HashMap;
use std::hash::BuildHasherDefault;
use std::hash::Hash;
use std::sync::Arc;

use crate::cuda::entries_from;
use crate::fact::ImageFacts;
use crate::fleet::Alike;
use crate::fleet::Host;
use crate::fleet::Mode;
use crate::start::Fate;
use crate::start::Loaded;
use crate::start::Replay;
use crate::start::Step;
use crate::start::StepRecord;
use crate::start::StepResult;
use crate::start::Steps;
use crate::start::before;
use crate::start::behind;
use crate::start::fate::Unsettled;
use crate::start::later;
use crate::start::libraries;
use crate::start::likeness::likeness;
use crate::start::loader::Kept;
use crate::start::numbers::Quick;
use crate::start::platform;
use crate::start::record::Record;
use crate::start::record::UpToStop;

/// Variables that hold requirements begin so.
const REQUIREMENTS: &str = "NVIDIA_REQUIRE_";
/// The property of a requirement that is the GPU's compute capability.
const CAPABILITY: &str = "arch";

/// So many parts are kept, and so many kinds of images; beyond that they are made anew.
const MOST_PARTS: usize = 16_384;
const MOST_KINDS: usize = 512;

type Map<K, V> = HashMap<K, V, BuildHasherDefault<Quick>>;

/// Some steps of a start-up, and what comes of them.
#[derive(Clone, Debug)]
struct Part {
    steps: Vec<StepRecord>,
    fate: Unsettled,
}

impl Part {
    fn of<R: Record + Default + Into<Vec<StepRecord>>, T>(take: impl FnOnce(&mut Unsettled, &mut R) -> T) -> (Self, T) {
        let (mut fate, mut record) = (Fate::unsettled(), R::default());
        let end = take(&mut fate, &mut record);
        (Self { steps: record.into(), fate }, end)
    }

    /// Up to the libcuda that a program gets, with that; none where it is not asked for.
    fn before(one: Replay<'_>, whole: bool) -> (Self, Option<Loaded<'_>>) {
        if whole {
            Self::of::<Steps, _>(|fate, record| before(one, fate, record))
        } else {
            Self::of::<UpToStop, _>(|fate, record| before(one, fate, record))
        }
    }

    /// Behind it.
    fn behind(one: Replay<'_>, loaded: &Loaded<'_>, whole: bool) -> Self {
        if whole {
            Self::of::<Steps, _>(|fate, record| behind(one, loaded, fate, record)).0
        } else {
            Self::of::<UpToStop, _>(|fate, record| behind(one, loaded, fate, record)).0
        }
    }

    /// What is opened once it runs.
    fn later(one: Replay<'_>) -> Self {
        Self::of::<Steps, _>(|fate, record| later(one, fate, record)).0
    }
}

/// The steps up to the libcuda that a program gets, and what comes behind where that is asked for.
#[derive(Clone, Debug)]
struct Before {
    part: Arc<Part>,
    then: Option<Then>,
}

/// That libcuda by its number, whether what runs goes on without a GPU, and what it opens later.
#[derive(Clone, Debug)]
struct Then {
    loaded: u32,
    goes_without: bool,
    later: Arc<Part>,
}

/// How one start-up ends.
#[derive(Clone, Debug)]
pub(super) struct End {
    /// What becomes of it.
    pub(super) fate: Fate,
    parts: [Option<Arc<Part>>; 3],
}

impl End {
    fn of(parts: [Option<Arc<Part>>; 3]) -> Self {
        let fate = parts.iter().flatten().fold(Fate::unsettled(), |fate, part| fate.then(part.fate)).settle();
        Self { fate, parts }
    }

    /// With what comes last, where that is asked for.
    fn and(before: Arc<Part>, behind: Arc<Part>, later: Arc<Part>, whole: bool) -> Self {
        let asked = whole || !before.fate.then(behind.fate).is_decided();
        Self::of([Some(before), Some(behind), asked.then_some(later)])
    }

    /// That of a start-up that shares nothing.
    fn alone(one: Replay<'_>, whole: bool) -> Self {
        let (before, loaded) = Part::before(one, whole);
        let before = Arc::new(before);
        match loaded {
            None => Self::of([Some(before), None, None]),
            Some(loaded) => {
                let behind = Arc::new(Part::behind(one, &loaded, whole));
                Self::and(before, behind, Arc::new(Part::later(one)), whole)
            }
        }
    }

    /// Every step that was asked for, in their order.
    pub(super) fn steps(&self) -> impl Iterator<Item = &StepRecord> {
        self.parts.iter().flatten().flat_map(|part| &part.steps)
    }

    /// The step on which it turns: its first stop, else the first that cannot be told.
    pub(super) fn turn(&self) -> Option<Step> {
        turn(self.steps())
    }

    fn is(&self, other: &Self) -> bool {
        let same = |(one, other): (&StepRecord, &StepRecord)| {
            let mut facts = one.facts.iter().zip(other.facts.iter());
            (one.step, one.result, one.cite) == (other.step, other.result, other.cite)
                && one.facts.iter().count() == other.facts.iter().count()
                && facts.all(|(one, other)| one.is(other))
        };
        self.fate == other.fate
            && self.steps().count() == other.steps().count()
            && self.steps().zip(other.steps()).all(same)
    }
}

/// The step on which a start-up turns: its first stop, else the first that cannot be told.
pub(super) fn turn<'s>(steps: impl Iterator<Item = &'s StepRecord>) -> Option<Step> {
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

/// What is told of a component before anything is started.
#[derive(Clone, Copy, Debug)]
struct Looks {
    /// A number of its own, and that of all that look alike up to the libcuda that they get.
    own: u32,
    kind: u32,
    /// Whether its image asks for a compute capability.
    capability: bool,
}

/// Start-ups on the hosts of one pool.
#[derive(Clone, Debug, Default)]
pub struct Shared {
    /// Whether there are so many hosts that images are compared.
    pub(super) wide: bool,
    numbers: u32,
    kinds: BTreeMap<String, u32>,
    before: Map<(u32, u32, u32, bool), Before>,
    loaded: Vec<Kept>,
    looks: Map<usize, Looks>,
    modes: Map<(usize, u32), bool>,
    behind: Map<(u32, u32, u32, u8), Arc<Part>>,
}

impl Shared {
    /// The same for other images on the same hosts. What is kept of images by their place is forgotten.
    #[must_use]
    pub fn for_others(mut self) -> Self {
        self.looks.clear();
        self.modes.clear();
        self.behind.clear();
        self
    }

    /// The host as it behaves for an image.
    pub(super) fn host_for<'a>(&mut self, image: &'a ImageFacts, host: &'a Host) -> &'a Host {
        let (Some(in_cdi), Some(Alike { before, .. })) = (&host.in_cdi, host.alike) else {
            return platform::host_for(image, host);
        };
        let is_in_cdi = || std::ptr::eq(platform::host_for(image, host), in_cdi.as_ref());
        let known = *self.modes.entry((std::ptr::from_ref(image).addr(), before)).or_insert_with(is_in_cdi);
        debug_assert_eq!(known, is_in_cdi(), "hosts that are alike take the same mode");
        if known { in_cdi } else { host }
    }

    /// How a start-up ends on a host as it behaves for the image, with the steps up to the one that decides.
    pub(super) fn end(&mut self, one: Replay<'_>) -> End {
        self.ended(one, false)
    }

    /// The same with every step.
    pub(super) fn whole(&mut self, one: Replay<'_>) -> End {
        self.ended(one, true)
    }

    fn ended(&mut self, one: Replay<'_>, whole: bool) -> End {
        let Some(alike) = one.host.alike.filter(|_| !one.host.wsl) else { return End::alone(one, whole) };
        let looks = self.looks(one);
        let Some(Before { part, then }) = self.before(one, alike, looks, whole) else { return End::alone(one, whole) };
        let end = match then {
            None => End::of([Some(part), None, None]),
            Some(then) => match self.behind(one, alike, looks, &then, whole) {
                Some(behind) => End::and(part, behind, then.later, whole),
                None => End::alone(one, whole),
            },
        };
        debug_assert!(end.is(&End::alone(one, whole)), "what is alike ends alike: {end:?} {:?}", one.host);
        end
    }

    fn looks(&mut self, one: Replay<'_>) -> Looks {
        let place = std::ptr::from_ref(one.component).addr();
        if let Some(known) = self.looks.get(&place) {
            return *known;
        }
        let (image, host) = (one.image, one.host);
        let of_image = image.env.beginning(REQUIREMENTS).filter_map(|(_, value)| value.known());
        let of_pool = entries_from(&host.env, REQUIREMENTS).map(|(_, value)| value);
        let capability = of_image.chain(of_pool).any(|value| value.contains(CAPABILITY));
        self.numbers = self.numbers.wrapping_add(1);
        let own = self.numbers;
        let kind = if self.wide { self.kind(likeness(one), own) } else { own };
        let looks = Looks { own, kind, capability };
        self.looks.insert(place, looks);
        looks
    }

    fn kind(&mut self, likeness: String, own: u32) -> u32 {
        if self.kinds.len() >= MOST_KINDS {
            self.kinds.clear();
        }
        *self.kinds.entry(likeness).or_insert(own)
    }

    fn before(&mut self, one: Replay<'_>, alike: Alike, looks: Looks, whole: bool) -> Option<Before> {
        // That mode asks for the module itself.
        let by_gpu = one.host.mode == Mode::Csv || looks.capability;
        let like = (looks.kind, alike.before, if by_gpu { alike.behind + 1 } else { 0 }, whole);
        if let Some(known) = self.before.get(&like) {
            return Some(known.clone());
        }
        let (part, loaded) = Part::before(one, whole);
        let then = match loaded {
            None => None,
            Some(loaded) => Some(Then {
                loaded: self.number(Kept::of(one.image, loaded)?),
                goes_without: libraries::goes_without(one),
                later: Arc::new(Part::later(one)),
            }),
        };
        let made = Before { part: Arc::new(part), then };
        keep(&mut self.before, like, made.clone());
        Some(made)
    }

    fn behind(&mut self, one: Replay<'_>, alike: Alike, looks: Looks, then: &Then, whole: bool) -> Option<Arc<Part>> {
        let flags = u8::from(whole) | u8::from(then.goes_without) << 1;
        let like = (looks.own, alike.behind, then.loaded, flags);
        if let Some(known) = self.behind.get(&like) {
            return Some(Arc::clone(known));
        }
        let loaded = self.loaded.get(usize::try_from(then.loaded).ok()?)?.of_image(one.image)?;
        let made = Arc::new(Part::behind(one, &loaded, whole));
        keep(&mut self.behind, like, Arc::clone(&made));
        Some(made)
    }

    /// The number of a libcuda: one for all that are the same.
    fn number(&mut self, loaded: Kept) -> u32 {
        let at = self.loaded.iter().position(|other| other.is(&loaded)).unwrap_or_else(|| {
            self.loaded.push(loaded);
            self.loaded.len() - 1
        });
        u32::try_from(at).unwrap_or(u32::MAX)
    }
}

fn keep<K: Eq + Hash, V>(map: &mut Map<K, V>, key: K, value: V) {
    if map.len() >= MOST_PARTS {
        map.clear();
    }
    map.insert(key, value);
}

#[cfg(test)]
#[path = "shared_tests.rs"]
mod tests;
