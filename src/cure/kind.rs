//! Kinds of changes, the smallest first, and what else they may change.

macro_rules! kinds {
    ($($(#[$doc:meta])* $variant:ident = $name:literal;)*) => {
        /// What is changed, in the order of the cost.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Kind { $($(#[$doc])* $variant,)* }

        impl Kind {
            /// All of them, the smallest change first.
            pub const ALL: &[Self] = &[$(Self::$variant),*];

            /// The word in reports.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }
        }
    };
}

kinds! {
    /// One variable of the image.
    Environment = "environment";
    /// The GPUs that an extension is compiled for.
    ArchList = "arch-list";
    /// Driver libraries that the image brings itself.
    DriverLibraries = "driver-libraries";
    /// The same release of a framework, built for another CUDA.
    FrameworkVariant = "framework-variant";
    /// Another tag of the same image.
    BaseTag = "base-tag";
    /// The platforms that the image is built for.
    Platform = "platform";
    /// The driver of a pool.
    Driver = "driver";
    /// The compat library.
    Compat = "compat";
    /// Another release of a framework.
    FrameworkVersion = "framework-version";
    /// The container toolkit of a pool.
    Toolkit = "toolkit";
    /// A variable given at the start of the container.
    RunEnvironment = "run-environment";
}

impl Kind {
    /// Whether the image is changed, and not the fleet.
    pub const fn of_image(self) -> bool {
        !matches!(self, Self::Driver | Self::Toolkit | Self::RunEnvironment)
    }
}

/// What else a change may change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Safety {
    /// Nothing for the program.
    Safe,
    /// A version that the program meets, or a check.
    Unsafe,
    /// No file of the image holds it, or more than its edit hangs on it: it is told and never written.
    Manual,
}

impl Safety {
    /// The word in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Safe => "safe",
            Self::Unsafe => "unsafe",
            Self::Manual => "manual",
        }
    }
}
