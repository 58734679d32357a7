//! Names of enum variants in the table files.

use crate::knowledge::rows::{CompatSelection, GpuClass, How, ToolkitChange};

macro_rules! words {
    ($name:ident { $($variant:ident = $word:literal),* $(,)? }) => {
        impl $name {
            /// The word that table files use.
            pub const fn word(self) -> &'static str {
                match self {
                    $(Self::$variant => $word,)*
                }
            }

            /// What a word of a table file means.
            pub fn of_word(word: &str) -> Option<Self> {
                match word {
                    $($word => Some(Self::$variant),)*
                    _ => None,
                }
            }
        }
    };
}

words! { How { Memory = "memory", Inferred = "inferred", Documented = "documented", Measured = "measured" } }

words! {
    GpuClass {
        DataCenter = "data-center",
        Consumer = "consumer",
        Workstation = "workstation",
        Jetson = "jetson",
        Vgpu = "vgpu",
        Other = "other",
    }
}

words! {
    CompatSelection {
        Off = "off",
        Mount = "mount",
        Ldconfig = "ldconfig",
        HookMajors = "hook-majors",
        HookNote = "hook-note",
        HookCuda = "hook-cuda",
    }
}

words! {
    ToolkitChange {
        BrandNames = "brand-names",
        CapabilityList = "capability-list",
        CapabilitySet = "capability-set",
        CompatModeOption = "compat-mode-option",
        CompatOptIn = "compat-opt-in",
        ComputeByDefault = "compute-by-default",
        CsvDeviceIds = "csv-device-ids",
        DeviceWords = "device-words",
        DisabledHooks = "disabled-hooks",
        EnvvarIgnored = "envvar-ignored",
        HookPlainError = "hook-plain-error",
        HookReadsFirst = "hook-reads-first",
        ImageReader = "image-reader",
        LenientVersions = "lenient-versions",
        ModesetOptional = "modeset-optional",
        NoneInJitCdi = "none-in-jit-cdi",
        QualifiedNames = "qualified-names",
        RequirementAdvice = "requirement-advice",
        RequirementTerm = "requirement-term",
        SwarmFirst = "swarm-first",
        SwarmInRuntime = "swarm-in-runtime",
    }
}
