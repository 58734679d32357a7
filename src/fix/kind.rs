//! Kinds of changes, the smallest first, and their side effects.

use std::fmt::Write as _;

use crate::report::kinds::ChangeKind;

/// Returns what a change of this kind changes, what changes for the program, and how safe it is.
const fn describe(kind: ChangeKind) -> [&'static str; 3] {
    match kind {
        ChangeKind::Environment => [
            "one variable of the image: devices, capabilities, its own requirement, search path",
            "nothing",
            "safe; unsafe for a requirement, a removed value and the order of a search path",
        ],
        ChangeKind::ArchList => ["the GPUs that an extension is compiled for", "nothing", "safe"],
        ChangeKind::DriverLibraries => ["driver libraries in the image, which are left out", "nothing", "unsafe"],
        ChangeKind::FrameworkVariant => [
            "the same release of a framework, built for another CUDA or with the libraries that it requires",
            "the build",
            "safe; unsafe if other packages build on it, on a mirror, or with more packages; manual if another package is a build for the old CUDA",
        ],
        ChangeKind::BaseTag => [
            "another tag of the same image: patch, minor release or operating system",
            "the base",
            "safe within a CUDA minor release. Unsafe within an operating system, a CUDA major release and few minor releases of a framework that no other package builds on. Else manual",
        ],
        ChangeKind::Platform => ["the platforms that the image is built for", "the build", "manual"],
        ChangeKind::Driver => {
            ["the driver of a pool: the smallest release with which it starts", "only the nodes", "manual"]
        }
        ChangeKind::Compat => {
            ["the compat library, which is installed or left out", "nothing", "safe to leave out, else unsafe"]
        }
        ChangeKind::FrameworkVersion => [
            "another release of the framework: patch, then minor",
            "the release",
            "unsafe; manual across major releases and many minor releases",
        ],
        ChangeKind::BaseImage => {
            ["a CUDA image instead of one without CUDA, if libraries are missing", "everything from the base", "manual"]
        }
        ChangeKind::Toolkit => ["the container toolkit of a pool, or its mode", "only the nodes", "manual"],
        ChangeKind::RunEnvironment => ["a variable given at the start of the container", "only a check", "manual"],
    }
}

/// The sort key of a change: of two changes, the one with the lower value in the first differing field is smaller.
/// The order of the fields is the order of the published list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Cost {
    /// Whether it breaks a pool.
    pub(super) breaks: bool,
    /// The number of target pools on which it does not help.
    pub(super) helpless: usize,
    /// Whether it starts only with code that is compiled at start-up.
    pub(super) compiled: bool,
    /// Whether it is far from what is there.
    pub(super) far: bool,
    /// The number of target pools on which the start stays uncertain.
    pub(super) left: usize,
    /// How many changes it is together.
    pub(super) changes: usize,
    /// What is changed.
    pub(super) kind: ChangeKind,
    /// How far it is from what is there, within its kind.
    pub(super) step: usize,
}

/// Descriptions of the fields of `Cost`, in their order.
const COST_FIELD_DESCRIPTIONS: [&str; 8] = [
    "a change that breaks no pool, before one that breaks a pool",
    "a change that helps on more of the failing pools",
    "a start with native code, before a start with PTX that is compiled at start-up",
    "a near release, before another major release and one more than two minor releases away",
    "a certain start on more pools, before a removed failure with an unknown rest",
    "fewer changes, before more changes together",
    "the kind, as in the table",
    "within a kind the nearest: patches of a minor release, then one release of each neighbouring minor release",
];

/// Returns the cost order as Markdown: the list of criteria, the most important first, and the table of kinds, the
/// smallest first. In the list of changes the first of each kind comes before the second of any.
pub fn cost_order() -> String {
    let mut text = String::new();
    for (at, line) in COST_FIELD_DESCRIPTIONS.iter().enumerate() {
        // Writing into a text cannot fail.
        let _ = writeln!(text, "{}. {line}", at + 1);
    }
    text.push_str("\n| kind | what changes | what changes for the program | safety |\n|---|---|---|---|\n");
    for kind in ChangeKind::ALL {
        let _ = writeln!(text, "| `{}` | {} |", kind.name(), describe(*kind).join(" | "));
    }
    text
}
