//! The outcomes of a failed start-up: the closed list that rule pages explain and reports name.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

macro_rules! outcomes {
    ($($(#[$doc:meta])* $variant:ident = $name:literal;)*) => {
        /// How a start-up fails. Each has exactly one start-up page, named after it.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
        pub enum Outcome { $($(#[$doc])* #[serde(rename = $name)] $variant,)* }

        impl Outcome {
            /// All of them, in the order in which the start-up meets them.
            pub const ALL: &[Self] = &[$(Self::$variant),*];

            /// The name in JSON and in conditions of rules.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }
        }

        impl FromStr for Outcome {
            type Err = InvalidOutcomeName;

            fn from_str(text: &str) -> Result<Self, InvalidOutcomeName> {
                match text { $($name => Ok(Self::$variant),)* _ => Err(InvalidOutcomeName) }
            }
        }
    };
}

/// The error for a name that is not an outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InvalidOutcomeName;

outcomes! {
    /// No manifest for the pool's platform.
    WrongPlatform = "wrong-platform";
    /// The container is not created.
    Refused = "refused";
    /// No GPU is put into the container (35 without libcuda, 100 with it).
    NoGpu = "no-gpu";
    /// The loader does not find a library that the program needs.
    LibraryMissing = "library-missing";
    /// The loader finds the toolkit's stub instead of a driver (34).
    StubLibrary = "stub-library";
    /// The user-mode driver is not the kernel-mode driver's and not a forward-compatible one (803).
    DriverMismatch = "driver-mismatch";
    /// Forward compatibility on a GPU class that has none (804).
    CompatNotSupported = "compat-not-supported";
    /// Forward compatibility on a driver branch that the package does not list (803, 999 or 100).
    CompatUnusable = "compat-unusable";
    /// The driver, or the compat library in its place, does not know the GPU.
    GpuUnsupported = "gpu-unsupported";
    /// The driver is too old for the CUDA runtime (35).
    InsufficientDriver = "insufficient-driver";
    /// The build has no GPU code at all.
    CpuOnly = "cpu-only";
    /// No code for the GPU (209; 200 in TensorFlow).
    NoKernelImage = "no-kernel-image";
    /// PTX newer than the driver that must compile it (222; 218 in TensorFlow).
    UnsupportedPtx = "unsupported-ptx";
    /// PTX must be compiled and the compiler is missing (221).
    JitFailed = "jit-failed";
}

impl Outcome {
    /// Returns the name of the rule page about the outcome, which is its name for users.
    pub const fn rule_name(self) -> &'static str {
        match self {
            Self::Refused => "container-refused",
            other => other.name(),
        }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

macro_rules! causes {
    ($($(#[$doc:meta])* $variant:ident = $name:literal of $outcome:ident;)*) => {
        /// Why a start-up fails, for outcomes that need different fixes: a rule page may have its own help for each.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum FailureCause { $($(#[$doc])* $variant,)* }

        impl FailureCause {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$variant),*];

            /// The name in pages.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }

            /// The outcome that it leads to.
            pub const fn outcome(self) -> Outcome {
                match self { $(Self::$variant => Outcome::$outcome,)* }
            }
        }
    };
}

causes! {
    /// An environment variable requests no GPU.
    VariableRequestsNone = "asks-for-none" of NoGpu;
    /// An environment variable requests only the driver files.
    DriverOnly = "driver-only" of NoGpu;
    /// Whatever starts the container gives it no GPU.
    LaunchRequestsNone = "none-handed" of NoGpu;
    /// The pool starts containers without the runtime that adds GPUs.
    PlainRuntime = "plain-runtime" of NoGpu;
    /// The container toolkit of the pool is disabled.
    ToolkitOff = "toolkit-off" of NoGpu;
    /// The node ignores the environment variable in an unprivileged container.
    VariableIgnored = "variable-ignored" of NoGpu;
    /// The node ignores device lists that are mounted as volumes.
    MountsIgnored = "mounts-ignored" of NoGpu;
    /// An environment variable hides all GPUs from the CUDA runtime.
    Hidden = "hidden" of NoGpu;
    /// The compute libraries of the driver are not requested.
    WithoutCompute = "without-compute" of NoGpu;
    /// Programs do not search the directory into which the node mounts the driver.
    DriverElsewhere = "driver-elsewhere" of NoGpu;
    /// The missing library belongs to the driver, which is not mounted into the container.
    DriverOutside = "driver-outside" of LibraryMissing;
    /// A requirement is malformed.
    MalformedRequirement = "malformed-requirement" of Refused;
    /// The node does not know or allow a driver capability.
    Capability = "capability" of Refused;
    /// The node lacks a requested device.
    MissingDevice = "missing-device" of Refused;
    /// Devices of two vendors cannot be combined.
    MixedDevices = "mixed-devices" of Refused;
    /// A device list that is mounted as volumes is invalid.
    MountsRefused = "mounts-refused" of Refused;
    /// The environment variable is only allowed in a privileged container.
    VariableForbidden = "variable-forbidden" of Refused;
    /// An unprivileged container configures MIG.
    MigVariable = "mig-variable" of Refused;
    /// There are compat libraries in several directories.
    CompatScattered = "compat-scattered" of Refused;
    /// A file or link is at the path of the driver firmware.
    Firmware = "firmware" of Refused;
    /// The node lacks the device that the capability `display` adds.
    NoModeset = "no-modeset" of Refused;
    /// A symbolic link is at the path of a driver library.
    DriverLink = "driver-link" of Refused;
    /// The hook does not work in the mode of the node.
    Hook = "hook" of Refused;
    /// The driver library of the image does not support the GPU, although the driver of the node does.
    LibraryUnaware = "library-unaware" of GpuUnsupported;
}

impl fmt::Display for FailureCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
