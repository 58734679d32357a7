//! The ways in which a GPU container can fail to start: the closed list that pages narrate and reports name.

use std::fmt;
use std::str::FromStr;

macro_rules! outcomes {
    ($($(#[$doc:meta])* $variant:ident = $name:literal;)*) => {
        /// How a start-up fails. Each has exactly one start-up page, named after it.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Outcome { $($(#[$doc])* $variant,)* }

        impl Outcome {
            /// All of them, in the order in which the start-up meets them.
            pub const ALL: &[Self] = &[$(Self::$variant),*];

            /// The name in JSON and in conditions of rules.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }
        }

        impl FromStr for Outcome {
            type Err = UnknownOutcome;

            fn from_str(text: &str) -> Result<Self, UnknownOutcome> {
                match text { $($name => Ok(Self::$variant),)* _ => Err(UnknownOutcome) }
            }
        }
    };
}

/// A name that is no outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownOutcome;

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
    /// The name for people, which is that of the page.
    pub const fn rule(self) -> &'static str {
        match self {
            Self::Refused => "container-refused",
            other => other.name(),
        }
    }

    /// The same for the name in a report.
    pub fn rule_of(name: &str) -> &str {
        match name.parse::<Self>() {
            Ok(outcome) => outcome.rule(),
            Err(_) => name,
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
        /// Why a start-up fails so, where one cure does not help for all: a page may have a help of its own for each.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Cause { $($(#[$doc])* $variant,)* }

        impl Cause {
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
    /// A variable asks for no GPU.
    AsksForNone = "asks-for-none" of NoGpu;
    /// It asks for the driver's files alone.
    DriverOnly = "driver-only" of NoGpu;
    /// Who starts the container hands out none.
    NoneHanded = "none-handed" of NoGpu;
    /// The containers of the pool are started without the runtime that puts GPUs in.
    PlainRuntime = "plain-runtime" of NoGpu;
    /// The container toolkit of the pool does nothing.
    ToolkitOff = "toolkit-off" of NoGpu;
    /// The node does not read the variable in an unprivileged container.
    VariableIgnored = "variable-ignored" of NoGpu;
    /// The node does not read lists of devices that are mounted.
    MountsIgnored = "mounts-ignored" of NoGpu;
    /// The CUDA runtime is told to use none.
    Hidden = "hidden" of NoGpu;
    /// The driver's compute libraries are not asked for.
    WithoutCompute = "without-compute" of NoGpu;
    /// Programs do not look where the node puts the driver.
    DriverElsewhere = "driver-elsewhere" of NoGpu;
    /// What the loader misses is the driver's, which is not put into the container.
    DriverOutside = "driver-outside" of LibraryMissing;
    /// A requirement is no requirement.
    MalformedRequirement = "malformed-requirement" of Refused;
    /// A driver capability that the node does not know or allow.
    Capability = "capability" of Refused;
    /// A device that the node lacks.
    MissingDevice = "missing-device" of Refused;
    /// Devices of two vendors that do not go together.
    MixedDevices = "mixed-devices" of Refused;
    /// A list of devices that is mounted stands for none.
    MountsRefused = "mounts-refused" of Refused;
    /// The variable counts in a privileged container alone.
    VariableForbidden = "variable-forbidden" of Refused;
    /// MIG is configured by an unprivileged container.
    MigVariable = "mig-variable" of Refused;
    /// Compat libraries in several directories.
    CompatScattered = "compat-scattered" of Refused;
    /// Something in the place of the driver's firmware.
    Firmware = "firmware" of Refused;
    /// The node lacks the device that `display` brings.
    NoModeset = "no-modeset" of Refused;
    /// A link in the place of a library of the driver.
    DriverLink = "driver-link" of Refused;
    /// The hook does not work in the mode of the node.
    Hook = "hook" of Refused;
    /// The image's library does not know the GPU, which the node's driver does.
    LibraryUnaware = "library-unaware" of GpuUnsupported;
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// How a container starts, in words; none for native code.
pub fn route_words(route: &str) -> Option<&str> {
    match route {
        "native" => None,
        "minor-version" => Some("minor version compatibility"),
        "forward-compat" => Some("forward compatibility"),
        "jit" => Some("PTX JIT"),
        other => Some(other),
    }
}
