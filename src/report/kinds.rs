//! The closed sets of words in a report: each is an enum with the word that JSON has.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;

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
    /// Whether the pool or the image leaves the verdict open.
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
