//! Records of the replay steps: cheap to create, and turned into text only when needed.

use crate::fleet::{PoolEntry, PoolField};
use crate::knowledge::RowInfo;
use crate::model::fact::FactId;
use crate::model::named_values::named_values;
use crate::model::outcome::Outcome;

named_values! {
    /// The steps of a start, in the order in which they happen.
    StartStep {
        /// Whether there is a manifest for the host's platform.
        Platform = "platform",
        /// Which mode of the toolkit starts the container.
        Mode = "mode",
        /// Whether GPUs are put into the container.
        Devices = "devices",
        /// Whether the driver's compute libraries are put into the container.
        Capabilities = "capabilities",
        /// Whether the host satisfies `NVIDIA_REQUIRE_*`.
        Requirement = "requirement",
        /// Whether every file and device can be mounted.
        Mounts = "mounts",
        /// Whether the libraries exist that the program needs to start.
        Libraries = "libraries",
        /// Which libcuda the loader loads.
        Loader = "loader",
        /// Whether that libcuda works with the kernel-mode driver.
        UserMode = "user-mode-driver",
        /// Whether the driver supports the GPU.
        GpuKnown = "gpu-known",
        /// Whether there is a CUDA build at all.
        Build = "build",
        /// Whether the driver is new enough for the CUDA runtime.
        Runtime = "runtime",
        /// Whether there is code for the GPU.
        Code = "code",
        /// Whether the libraries exist that the program opens while it runs.
        OpenedLater = "opened-later",
    }
}

named_values! {
    /// How a container starts, from the plainest route to the most special one.
    StartRoute {
        /// As built: the driver supports the build directly.
        Native = "native",
        /// On a driver older than the toolkit, within one CUDA major release.
        MinorVersion = "minor-version",
        /// With the user-mode driver of the image.
        ForwardCompat = "forward-compat",
        /// By compiling PTX at start-up.
        Jit = "jit",
    }
}

named_values! {
    /// Why a container is not created.
    RefusalReason {
        /// The host violates a requirement of the image.
        Requirement = "requirement",
        /// A requirement of the image has invalid syntax.
        MalformedRequirement = "malformed-requirement",
        /// The image requests a driver capability that the toolkit does not know.
        Capability = "capability",
        /// The container requests a device that does not exist.
        Device = "device",
        /// A file or device cannot be mounted.
        Mount = "mount",
        /// The runtime hook does not work in this mode.
        Hook = "hook",
    }
}

/// The CUDA error codes that a program may get.
#[derive(Clone, Copy, Debug, Eq, PartialOrd, Ord)]
pub struct CudaErrorCodes {
    /// The code that it certainly gets, if known.
    pub certain: Option<u16>,
    /// The codes of which it gets one.
    pub possible: &'static [u16],
}

impl PartialEq for CudaErrorCodes {
    fn eq(&self, other: &Self) -> bool {
        // Equal lists are mostly the same static one, so the address is compared first.
        let same = || std::ptr::eq(self.possible, other.possible) || self.possible == other.possible;
        self.certain == other.certain && same()
    }
}

impl CudaErrorCodes {
    /// No error codes.
    pub(super) const NONE: Self = Self { certain: None, possible: &[] };

    /// Creates the codes for one certain error.
    pub(super) const fn certain(code: u16) -> Self {
        Self { certain: Some(code), possible: &[] }
    }

    /// Creates the codes for one of several possible errors.
    pub(super) const fn possible(possible: &'static [u16]) -> Self {
        Self { certain: None, possible }
    }
}

/// The failure at which a replay stops: its outcome, refusal reason and error codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ReplayFailure {
    outcome: Outcome,
    reason: Option<RefusalReason>,
    codes: CudaErrorCodes,
}

impl ReplayFailure {
    /// Creates a failure with an outcome and error codes.
    pub(super) const fn new(outcome: Outcome, codes: CudaErrorCodes) -> Self {
        Self { outcome, reason: None, codes }
    }

    /// Creates the failure of a container that is not created.
    pub(super) const fn refused(reason: RefusalReason) -> Self {
        Self { outcome: Outcome::Refused, reason: Some(reason), codes: CudaErrorCodes::NONE }
    }

    /// Returns the same failure without error codes, for hosts that fail alike with different codes.
    pub(super) const fn without_codes(self) -> Self {
        Self { codes: CudaErrorCodes::NONE, ..self }
    }

    /// Whether two failures have the same outcome and the same reason, whatever their codes.
    pub(super) fn is_same_failure(self, other: Self) -> bool {
        (self.outcome, self.reason) == (other.outcome, other.reason)
    }

    /// Returns the outcome.
    pub const fn outcome(self) -> Outcome {
        self.outcome
    }

    /// Returns why the container is not created, if it is not.
    pub const fn reason(self) -> Option<RefusalReason> {
        self.reason
    }

    /// Returns the error codes.
    pub const fn codes(self) -> CudaErrorCodes {
        self.codes
    }
}

/// The result of one replay step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepResult {
    /// The start continues, by this route.
    Passes(StartRoute),
    /// The start fails here.
    Stops(ReplayFailure),
    /// The result is unknown; the facts of the record list what is missing.
    Unknown,
    /// The start continues, but something relevant was not inspected.
    NotSeen,
    /// The program starts, and fails at something that it does later.
    FailsLater,
    /// The step does not apply to this host or component.
    NotApplicable,
}

impl StepResult {
    /// Returns the name used in reports.
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

/// A fact, pool field or table row on which the result of a step rests.
#[derive(Clone, Copy, Debug)]
pub enum Basis {
    /// A fact of the image.
    Image(FactId),
    /// A field of the pool.
    Pool(PoolField),
    /// An entry of a table in the pool, such as an environment variable or an option.
    Entry(PoolEntry),
    /// A row of a knowledge table.
    Row(&'static RowInfo),
}

impl Basis {
    /// Whether two bases are the same.
    pub(super) fn is_same(self, other: Self) -> bool {
        match (self, other) {
            (Self::Image(one), Self::Image(other)) => one == other,
            (Self::Pool(one), Self::Pool(other)) => one == other,
            (Self::Entry(one), Self::Entry(other)) => one == other,
            (Self::Row(one), Self::Row(other)) => std::ptr::eq(one, other),
            _ => false,
        }
    }
}

/// Up to six bases of a step's result, the deciding ones first.
#[derive(Clone, Copy, Debug, Default)]
pub struct StepEvidenceList([Option<Basis>; 6]);

impl StepEvidenceList {
    /// Creates the list from these bases; more than six are cut off.
    pub fn new(list: impl IntoIterator<Item = Basis>) -> Self {
        let mut all = Self::default();
        for (place, basis) in all.0.iter_mut().zip(list) {
            *place = Some(basis);
        }
        all
    }

    /// Iterates over the bases.
    pub fn iter(&self) -> impl Iterator<Item = Basis> {
        self.0.iter().flatten().copied()
    }
}

/// The document or upstream source file on which a step is based.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Citation(pub &'static str);

/// The record of one replay step: its result with the facts that decided it.
#[derive(Clone, Copy, Debug)]
pub struct StepRecord {
    /// The step.
    pub step: StartStep,
    /// Its result.
    pub result: StepResult,
    /// The facts that decided the result, or that are missing for it.
    pub facts: StepEvidenceList,
    /// The document that the step follows.
    pub cite: Citation,
}

impl StepRecord {
    /// Creates a record.
    pub(super) fn new(
        step: StartStep,
        result: StepResult,
        facts: impl IntoIterator<Item = Basis>,
        cite: Citation,
    ) -> Self {
        Self { step, result, facts: StepEvidenceList::new(facts), cite }
    }
}

/// Receives the step records of a replay.
pub trait StepRecorder {
    /// Whether the steps after the deciding one are wanted as well.
    const ALL_STEPS: bool = true;

    /// Receives one step record.
    fn record(&mut self, step: StepRecord);
}

/// Recorder that discards every step record, for matrices and searches.
#[derive(Clone, Copy, Debug, Default)]
pub struct DiscardingRecorder;

impl StepRecorder for DiscardingRecorder {
    const ALL_STEPS: bool = false;

    fn record(&mut self, _: StepRecord) {}
}

/// Recorder that stores every step record.
#[derive(Clone, Debug, Default)]
pub struct FullRecorder(pub Vec<StepRecord>);

impl From<FullRecorder> for Vec<StepRecord> {
    fn from(steps: FullRecorder) -> Self {
        steps.0
    }
}

impl StepRecorder for FullRecorder {
    fn record(&mut self, step: StepRecord) {
        self.0.push(step);
    }
}

/// Recorder that stores the step records up to the deciding one, and needs none after it.
#[derive(Clone, Debug)]
pub(super) struct FirstFailureRecorder(pub(super) Vec<StepRecord>);

impl Default for FirstFailureRecorder {
    fn default() -> Self {
        // As many as there are up to the libcuda that a program gets.
        Self(Vec::with_capacity(8))
    }
}

impl From<FirstFailureRecorder> for Vec<StepRecord> {
    fn from(steps: FirstFailureRecorder) -> Self {
        steps.0
    }
}

impl StepRecorder for FirstFailureRecorder {
    const ALL_STEPS: bool = false;

    fn record(&mut self, step: StepRecord) {
        self.0.push(step);
    }
}
