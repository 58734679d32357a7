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

            /// The name in reports and of the page.
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

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
