//! Enums for the values in a report of which there is a fixed set, each with its name in JSON.

use crate::model::named_values::named_values;
use crate::replay::StartRoute;
use crate::rules::Severity;

named_values! {
    /// What a fix changes, in the order of the cost: the smallest change first.
    ChangeKind {
        /// One variable of the image.
        Environment = "environment",
        /// The GPUs that an extension is compiled for.
        ArchList = "arch-list",
        /// Driver libraries in the image.
        DriverLibraries = "driver-libraries",
        /// The same release of a framework, built for another CUDA.
        FrameworkVariant = "framework-variant",
        /// Another tag of the same image.
        BaseTag = "base-tag",
        /// The platforms that the image is built for.
        Platform = "platform",
        /// The driver of a pool.
        Driver = "driver",
        /// The compat library.
        Compat = "compat",
        /// Another release of a framework.
        FrameworkVersion = "framework-version",
        /// Another base image.
        BaseImage = "base-image",
        /// The container toolkit of a pool.
        Toolkit = "toolkit",
        /// A variable given at the start of the container.
        RunEnvironment = "run-environment",
    }
}

impl ChangeKind {
    /// Whether this kind changes the image, as opposed to the fleet.
    pub const fn changes_image(self) -> bool {
        !matches!(self, Self::Driver | Self::Toolkit | Self::RunEnvironment)
    }
}

named_values! {
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

named_values! {
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

named_values! {
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

named_values! {
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

named_values! {
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

named_values! {
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

named_values! {
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
