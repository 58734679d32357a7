//! What a step leaves behind: cheap to make, complete, put into words only when somebody reads it.

use crate::fact::FactId;
use crate::fleet::PoolEntry;
use crate::fleet::PoolField;
use crate::knowledge::RowInfo;
use crate::outcome::Outcome;

/// The steps, in the order in which things happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Step {
    /// Is there a manifest for the host's platform?
    Platform,
    /// Which code starts the container?
    Mode,
    /// Are GPUs put into it?
    Devices,
    /// Are the driver's compute libraries put into it?
    Capabilities,
    /// Does the host meet `NVIDIA_REQUIRE_*`?
    Requirement,
    /// Can everything be mounted?
    Mounts,
    /// Are the libraries there that the program needs to start?
    Libraries,
    /// Which libcuda does the loader find?
    Loader,
    /// Does it go with the kernel-mode driver?
    UserMode,
    /// Does the driver know the GPU?
    GpuKnown,
    /// Is there a CUDA build at all?
    Build,
    /// Is the driver new enough for the CUDA runtime?
    Runtime,
    /// Is there code for the GPU?
    Code,
    /// Will the libraries be there that it opens while it runs?
    OpenedLater,
}

impl Step {
    /// All of them, in their order.
    pub const ALL: [Self; 14] = [
        Self::Platform,
        Self::Mode,
        Self::Devices,
        Self::Capabilities,
        Self::Requirement,
        Self::Mounts,
        Self::Libraries,
        Self::Loader,
        Self::UserMode,
        Self::GpuKnown,
        Self::Build,
        Self::Runtime,
        Self::Code,
        Self::OpenedLater,
    ];

    /// The name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Platform => "platform",
            Self::Mode => "mode",
            Self::Devices => "devices",
            Self::Capabilities => "capabilities",
            Self::Requirement => "requirement",
            Self::Mounts => "mounts",
            Self::Libraries => "libraries",
            Self::Loader => "loader",
            Self::UserMode => "user-mode-driver",
            Self::GpuKnown => "gpu-known",
            Self::Build => "build",
            Self::Runtime => "runtime",
            Self::Code => "code",
            Self::OpenedLater => "opened-later",
        }
    }
}

/// How a container starts, the least remarkable way first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Route {
    /// As built.
    Native,
    /// On a driver older than the toolkit, within one CUDA major.
    MinorVersion,
    /// On the image's own user-mode driver.
    ForwardCompat,
    /// By compiling PTX at start-up.
    Jit,
}

impl Route {
    /// The name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Native => "native",
            Self::MinorVersion => "minor-version",
            Self::ForwardCompat => "forward-compat",
            Self::Jit => "jit",
        }
    }
}

/// Why a container is not created.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reason {
    /// The host does not meet a requirement.
    Requirement,
    /// A requirement cannot be read.
    MalformedRequirement,
    /// A driver capability that the toolkit does not know.
    Capability,
    /// A device that does not exist.
    Device,
    /// A file that cannot be mounted.
    Mount,
    /// The hook does not work in this mode.
    Hook,
}

impl Reason {
    /// The name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Requirement => "requirement",
            Self::MalformedRequirement => "malformed-requirement",
            Self::Capability => "capability",
            Self::Device => "device",
            Self::Mount => "mount",
            Self::Hook => "hook",
        }
    }
}

/// The error codes that a program may get.
#[derive(Clone, Copy, Debug, Eq, PartialOrd, Ord)]
pub struct Codes {
    /// This one.
    pub certain: Option<u16>,
    /// One of these.
    pub possible: &'static [u16],
}

impl PartialEq for Codes {
    fn eq(&self, other: &Self) -> bool {
        // Lists are written once each, and told apart by their place as a rule.
        let same = || std::ptr::eq(self.possible, other.possible) || self.possible == other.possible;
        self.certain == other.certain && same()
    }
}

impl Codes {
    pub(super) const NONE: Self = Self { certain: None, possible: &[] };

    pub(super) const fn certain(code: u16) -> Self {
        Self { certain: Some(code), possible: &[] }
    }

    pub(super) const fn possible(possible: &'static [u16]) -> Self {
        Self { certain: None, possible }
    }
}

/// A failing outcome met in the replay.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Wall {
    outcome: Outcome,
    reason: Option<Reason>,
    codes: Codes,
}

impl Wall {
    pub(super) const fn new(outcome: Outcome, codes: Codes) -> Self {
        Self { outcome, reason: None, codes }
    }

    pub(super) const fn refused(reason: Reason) -> Self {
        Self { outcome: Outcome::Refused, reason: Some(reason), codes: Codes::NONE }
    }

    /// The same without a code: of hosts that fail alike with different ones.
    pub(super) const fn without_codes(self) -> Self {
        Self { codes: Codes::NONE, ..self }
    }

    /// Whether two walls are one: the same outcome for the same reason, whatever the code.
    pub(super) fn same(self, other: Self) -> bool {
        (self.outcome, self.reason) == (other.outcome, other.reason)
    }

    /// Which outcome.
    pub const fn outcome(self) -> Outcome {
        self.outcome
    }

    /// Why the container is not created, where it is not.
    pub const fn reason(self) -> Option<Reason> {
        self.reason
    }

    /// The error codes.
    pub const fn codes(self) -> Codes {
        self.codes
    }
}

/// What a step found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepResult {
    /// Goes on.
    Passes(Route),
    /// Ends here.
    Stops(Wall),
    /// Cannot be told; what is missing stands among the facts.
    Unknown,
    /// Goes on, but something was not seen.
    NotSeen,
    /// Starts, and fails at something that it does later.
    FailsLater,
    /// Not taken on this host or for this component.
    NotApplicable,
}

impl StepResult {
    /// The word in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Passes(_) => "passes",
            Self::Stops(_) => "stops",
            Self::Unknown => "unknown",
            Self::NotSeen => "not-seen",
            Self::FailsLater => "fails-later",
            Self::NotApplicable => "not-applicable",
        }
    }
}

/// Something that a step looked at.
#[derive(Clone, Copy, Debug)]
pub enum Basis {
    /// A fact of the image.
    Image(FactId),
    /// A field of the pool.
    Pool(PoolField),
    /// An entry of one of its tables.
    Entry(PoolEntry),
    /// A table row.
    Row(&'static RowInfo),
}

impl Basis {
    /// Whether two are the same.
    pub(super) fn is(self, other: Self) -> bool {
        match (self, other) {
            (Self::Image(one), Self::Image(other)) => one == other,
            (Self::Pool(one), Self::Pool(other)) => one == other,
            (Self::Entry(one), Self::Entry(other)) => one == other,
            (Self::Row(one), Self::Row(other)) => std::ptr::eq(one, other),
            _ => false,
        }
    }
}

/// Up to six of them, the deciding ones first.
#[derive(Clone, Copy, Debug, Default)]
pub struct BasisList([Option<Basis>; 6]);

impl BasisList {
    /// The list of these; more than six are cut off.
    pub fn of(list: impl IntoIterator<Item = Basis>) -> Self {
        let mut all = Self::default();
        for (place, basis) in all.0.iter_mut().zip(list) {
            *place = Some(basis);
        }
        all
    }

    /// Every entry.
    pub fn iter(&self) -> impl Iterator<Item = Basis> {
        self.0.iter().flatten().copied()
    }
}

/// The document or upstream file that a step follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cite(pub &'static str);

/// One step of the replay.
#[derive(Clone, Copy, Debug)]
pub struct StepRecord {
    /// Which step.
    pub step: Step,
    /// What it found.
    pub result: StepResult,
    /// What decided it, or what is missing.
    pub facts: BasisList,
    /// What it follows.
    pub cite: Cite,
}

impl StepRecord {
    pub(super) fn new(step: Step, result: StepResult, facts: impl IntoIterator<Item = Basis>, cite: Cite) -> Self {
        Self { step, result, facts: BasisList::of(facts), cite }
    }
}

/// Where step records go.
pub trait Record {
    /// Whether the steps behind the deciding one are wanted as well.
    const WHOLE: bool = true;

    /// Takes one.
    fn record(&mut self, step: StepRecord);
}

/// Keeps nothing: for matrices and searches.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoRecord;

impl Record for NoRecord {
    const WHOLE: bool = false;

    fn record(&mut self, _: StepRecord) {}
}

/// Keeps all.
#[derive(Clone, Debug, Default)]
pub struct Steps(pub Vec<StepRecord>);

impl From<Steps> for Vec<StepRecord> {
    fn from(steps: Steps) -> Self {
        steps.0
    }
}

impl Record for Steps {
    fn record(&mut self, step: StepRecord) {
        self.0.push(step);
    }
}

/// Keeps all up to the one that decides, and asks for none behind it.
#[derive(Clone, Debug)]
pub(super) struct UpToStop(pub(super) Vec<StepRecord>);

impl Default for UpToStop {
    fn default() -> Self {
        // As many as there are up to the libcuda that a program gets.
        Self(Vec::with_capacity(8))
    }
}

impl From<UpToStop> for Vec<StepRecord> {
    fn from(steps: UpToStop) -> Self {
        steps.0
    }
}

impl Record for UpToStop {
    const WHOLE: bool = false;

    fn record(&mut self, step: StepRecord) {
        self.0.push(step);
    }
}
