//! Enums for the values in a report of which there is a fixed set, each with its name in JSON.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::model::fact::Confidence;
use crate::replay::Route;
use crate::rules::Severity;

macro_rules! kinds {
    ($(#[$doc:meta])* $name:ident { $($(#[$variant_doc:meta])* $variant:ident = $word:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
        pub enum $name {
            $($(#[$variant_doc])* #[serde(rename = $word)] $variant,)*
        }

        impl $name {
            /// The word in reports.
            #[must_use]
            pub const fn word(self) -> &'static str {
                match self { $(Self::$variant => $word,)* }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(self.word())
            }
        }

        impl FromStr for $name {
            type Err = ();

            fn from_str(text: &str) -> Result<Self, ()> {
                match text { $($word => Ok(Self::$variant),)* _ => Err(()) }
            }
        }
    };
}

kinds! {
    /// The prediction for an image or a component on a pool or a host.
    VerdictKind {
        /// It starts on every host.
        Starts = "starts",
        /// It fails on every host.
        Fails = "fails",
        /// It starts on some hosts of the pool and fails on others.
        Depends = "depends",
        /// A deciding value is unknown.
        Undetermined = "undetermined",
        /// Nothing in it uses a GPU.
        NotApplicable = "not-applicable",
    }
}

impl VerdictKind {
    /// Whether the image may start or fail: `depends` or `undetermined`.
    #[must_use]
    pub const fn is_unknown(self) -> bool {
        matches!(self, Self::Depends | Self::Undetermined)
    }
}

kinds! {
    /// How bad a finding is, the worst first.
    #[derive(Default)]
    FindingSeverity {
        /// The image does not start, or not with its GPU.
        Error = "error",
        /// It starts, and is fragile or wasteful; or a verdict is unknown.
        Warning = "warning",
        /// Worth knowing.
        #[default]
        Note = "note",
    }
}

impl From<Severity> for FindingSeverity {
    fn from(severity: Severity) -> Self {
        match severity {
            Severity::Error => Self::Error,
            Severity::Warning => Self::Warning,
            Severity::Note => Self::Note,
        }
    }
}

kinds! {
    /// Whether a fix may be applied without a person who decides.
    FixSafety {
        /// It changes nothing else.
        Safe = "safe",
        /// It also changes a version or another behavior.
        Unsafe = "unsafe",
        /// Only a person can apply it.
        Manual = "manual",
    }
}

kinds! {
    /// The result of a step of the simulated start.
    StepStatus {
        /// The start goes on.
        Passes = "passes",
        /// The start ends here.
        Stops = "stops",
        /// Something that decides is unknown.
        Unknown = "unknown",
        /// What decides was not inspected.
        NotSeen = "not-seen",
        /// It starts, and a later call fails.
        FailsLater = "fails-later",
        /// The step does not concern this image or host.
        NotApplicable = "not-applicable",
    }
}

kinds! {
    /// What is known of a fact.
    FactState {
        /// It has a value.
        Known = "known",
        /// It was searched and is not there.
        Absent = "absent",
        /// It may have any value.
        Unknown = "unknown",
    }
}

kinds! {
    /// What was checked.
    SubjectKind {
        /// A Dockerfile, or one stage of it.
        Dockerfile = "dockerfile",
        /// An image.
        Image = "image",
        /// An image description.
        Description = "description",
        /// A settings file, with what has no effect in it.
        Settings = "settings",
    }
}

kinds! {
    /// Where a location points.
    LocationKind {
        /// A file of the user, such as a Dockerfile.
        File = "file",
        /// The fleet file.
        Fleet = "fleet",
        /// The configuration of an image.
        Config = "config",
        /// A layer of an image.
        Layer = "layer",
        /// An option of the command line.
        Option = "option",
        /// An image description.
        Description = "description",
        /// A settings file.
        Settings = "settings",
        /// A bake or compose file.
        Builds = "builds",
    }
}

kinds! {
    /// How far a verdict can be trusted, the weakest first.
    VerdictConfidence {
        /// It comes from a database entry without a measurement.
        Assumed = "assumed",
        /// It comes from a database entry.
        Inferred = "inferred",
        /// The user declared it.
        Declared = "declared",
        /// It was read from the image.
        Measured = "measured",
    }
}

impl From<Route> for StartRoute {
    fn from(route: Route) -> Self {
        match route {
            Route::Native => Self::Native,
            Route::MinorVersion => Self::MinorVersion,
            Route::ForwardCompat => Self::ForwardCompat,
            Route::Jit => Self::Jit,
        }
    }
}

impl From<Confidence> for VerdictConfidence {
    fn from(confidence: Confidence) -> Self {
        match confidence {
            Confidence::Assumed => Self::Assumed,
            Confidence::Inferred => Self::Inferred,
            Confidence::Declared => Self::Declared,
            Confidence::Measured => Self::Measured,
        }
    }
}

kinds! {
    /// How a container starts.
    StartRoute {
        /// As built.
        Native = "native",
        /// On a driver older than the toolkit, within one CUDA major release.
        MinorVersion = "minor-version",
        /// With the user-mode driver of the image.
        ForwardCompat = "forward-compat",
        /// By compiling PTX at start-up.
        Jit = "jit",
    }
}

impl StartRoute {
    /// Returns the route in words; `None` for native code.
    #[must_use]
    pub const fn label(self) -> Option<&'static str> {
        match self {
            Self::Native => None,
            Self::MinorVersion => Some("minor version compatibility"),
            Self::ForwardCompat => Some("forward compatibility"),
            Self::Jit => Some("PTX JIT"),
        }
    }
}
