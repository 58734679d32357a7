//! Why something is unknown, and what would make it known: the one type for that, with its wording in this one file.
//!
//! Readers and inference pass a [`Cause`] on as data. Code matches its variants; only reports print its text.

mod cause_names;
mod explanation;
mod names;
mod recorded;
#[cfg(test)]
mod tests;

use std::cmp::Ordering;
use std::fmt;

use jiff::civil::Date;
use serde::{Deserialize, Serialize};

pub use self::explanation::Explanation;
use self::names::Names;
pub use self::recorded::RecordedKind;
use crate::cuda::{ComputeCapability, CudaVersion, DriverVersion};

/// How to choose a base image of NVIDIA whose contents are known.
const EXACT_TAG: &str = "use the exact tag, such as 12.4.1-base-ubuntu22.04";
/// How to correct a build for which there is no wheel.
const CORRECT_BUILD: &str = "correct the build in its version or its index, or describe the built image";
/// The remedy where nothing better is known.
const SCAN_OR_DESCRIBE: &str = "scan the built image, or describe it in an image description";
/// The remedy where nothing explains an unknown value, with the command.
pub(crate) const RUN_SCAN_OR_DESCRIBE: &str =
    "run `imagelint scan` on the built image, or describe it in an image description";
/// The remedy where a rule condition cannot use a value.
pub(crate) const CORRECT_VALUE: &str = "correct the value, or adapt the condition to it";
/// The remedy where an image description leaves the base image open.
pub(crate) const SET_BASE: &str = "set `base`";
/// The remedy where an image description leaves a package open.
pub(crate) const ADD_TO_DESCRIPTION: &str = "add it to the image description";
/// The remedy where an image description has a file of GPU code without targets.
pub(crate) const SET_CODE_TARGETS: &str = "set its `sass` and `ptx`";
/// The remedy where a part of a layer was not read.
pub(super) const ALL_LAYERS: &str = "scan the image with all of its layers, each as it was pushed";
/// The remedy where the tables end before a version.
const NEWER_DATABASE: &str = "use a newer imagelint: its compatibility database ends before it";
/// The remedy where the ELF note of a libcuda in the image was not read.
const ELF_NOTE: &str = "scan the built image, or set `elf_note` of this libcuda under [files] of an image description";
/// The remedy where a newer driver decides.
const THAT_DRIVER: &str = "use that driver release or newer";
/// The remedy where the number of GPUs of a node decides.
const GPU_COUNT: &str = "set `count` in the `gpu` of the pool";
/// The remedy where an expression of a bake file has no value.
const WRITE_VALUE: &str = "write the value into the file";
/// The remedy where a service was not read.
const READABLE_SERVICE: &str = "correct `extends`, or provide the file that it names";
/// How the sentence on words of a command begins.
pub(super) const COMMAND_INSTALLS: &str = "a command installs unknown packages";
/// Words before the build whose index a command uses too.
pub(super) const FROM_INDEX: &str = ", also from the index of ";
/// Fields that are clauses, not names.
const CLAUSES: &[&str] = &["detail", "error", "mark", "reason", "remedy", "what"];

macro_rules! causes {
    ($($variant:ident $({ $($field:ident: $type:ty),+ })? = $reason:literal => $remedy:expr;)*) => {
        /// Why something is unknown. Each variant carries what its sentence names.
        #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(into = "CauseText", from = "CauseText")]
        #[expect(
            missing_docs,
            clippy::doc_markdown,
            reason = "the doc of a variant is its sentence, with the names of its fields"
        )]
        pub enum Cause { $(#[doc = $reason] $variant $({ $($field: $type),+ })?,)* }

        impl Cause {
            /// Why: a clause that can follow a colon, such as "the base image was not read".
            #[expect(unused_variables, reason = "a sentence may name fewer fields than its remedy")]
            pub fn reason(&self) -> String {
                match self { $(Self::$variant $({ $($field),+ })? => format!($reason),)* }
            }

            /// What the user can do: an imperative, such as "scan the built image".
            #[expect(unused_variables, reason = "a remedy may name fewer fields than its sentence")]
            pub fn remedy(&self) -> String {
                match self { $(Self::$variant $({ $($field),+ })? => String::from($remedy),)* }
            }
        }

        impl Names for Cause {
            fn add_names<'n>(&'n self, found: &mut Vec<&'n str>) {
                match self {
                    $(Self::$variant $({ $($field),+ })? => {
                        $($(if !CLAUSES.contains(&stringify!($field)) {
                            $field.add_names(found);
                        })+)?
                    })*
                }
            }
        }
    };
}

causes! {
    // Sentences of image descriptions and saved reports.
    Recorded { kind: RecordedKind, reason: String, remedy: String } = "{reason}" => remedy.as_str();

    // Values of variables.
    TemplateMarker = "the line contains a template marker" => SCAN_OR_DESCRIBE;
    ValueTooLong = "the value is too long" => SCAN_OR_DESCRIBE;
    PatternValueTooLong = "the value is too long for a pattern" => SCAN_OR_DESCRIBE;
    SubstitutionBroken = "a substitution is not closed, or nested too deeply" => SCAN_OR_DESCRIBE;
    SubstitutionNotClosed = "a substitution is not closed" => SCAN_OR_DESCRIBE;
    SubstitutionWithoutName = "a substitution has no name" => SCAN_OR_DESCRIBE;
    SubstitutionNotSupported = "this form of substitution is not supported" => SCAN_OR_DESCRIBE;
    SingleQuoteNotClosed = "a single quote is not closed" => SCAN_OR_DESCRIBE;
    DoubleQuoteNotClosed = "a double quote is not closed" => SCAN_OR_DESCRIBE;
    CommandOutput = "its value is the output of a command" => SCAN_OR_DESCRIBE;
    OutputOfCommand = "it is the output of another command" => SCAN_OR_DESCRIBE;
    NoDefault { name: String } = "{name} has no default; only the command line can set it" => SCAN_OR_DESCRIBE;
    ValueRequired = "the file requires a value from the command line" => SCAN_OR_DESCRIBE;
    OnlyBaseSets = "only the base image could set it" => SCAN_OR_DESCRIBE;
    SetNowhere = "neither the file nor its base image sets it" => SCAN_OR_DESCRIBE;
    SetElsewhere = "something else may set it" => SCAN_OR_DESCRIBE;
    SetByUninspectedCommand = "a command that is not inspected may set it" => SCAN_OR_DESCRIBE;
    SetInLoop = "a loop assigns several values" => SCAN_OR_DESCRIBE;
    ValueByControlFlow = "its value depends on the control flow of the script" => SCAN_OR_DESCRIBE;
    ArgumentByControlFlow = "the argument depends on the control flow of the script" => SCAN_OR_DESCRIBE;
    ReadAtRunTime = "the script reads it at run time" => SCAN_OR_DESCRIBE;
    Placeholder = "it contains a placeholder; replace it with the name of the image" => SCAN_OR_DESCRIBE;
    SecretValue = "its value comes from a build secret" => SCAN_OR_DESCRIBE;
    ReplacedByBuild { name: String, context: String } =
        "the build replaces `{name}` with `{context}`, which is not inspected" => SCAN_OR_DESCRIBE;
    NotInBuildFile = "the build file does not define its value" => SCAN_OR_DESCRIBE;
    NotUsableHere { value: String } = "`{value}` is not usable here" => SCAN_OR_DESCRIBE;
    ArgumentNotKnown { because: Box<Cause>, name: String } =
        "{because}" => format!("set it with --build-arg {name}=VALUE");
    TemplateNotKnown { because: Box<Cause> } = "{because}" => "check the file that the template generates";

    // Files that a build reads.
    NotRead = "files are not read here" => SCAN_OR_DESCRIBE;
    NoContext = "there is no build context" => SCAN_OR_DESCRIBE;
    NotThere = "it is not in the build context" => SCAN_OR_DESCRIBE;
    IgnoredByBuild = "`.dockerignore` excludes it" => SCAN_OR_DESCRIBE;
    OutsideContext = "it is outside the build context" => SCAN_OR_DESCRIBE;
    TooLarge = "it is too large" => SCAN_OR_DESCRIBE;
    LayersNotRead = "layers were not read" => SCAN_OR_DESCRIBE;
    NotCopied = "no COPY adds it to the image" => SCAN_OR_DESCRIBE;
    NotInContext = "a COPY names it, but it is not in the build context" => SCAN_OR_DESCRIBE;
    BuildSecret = "it is a build secret" => SCAN_OR_DESCRIBE;
    OnNetwork = "it is on the network" => SCAN_OR_DESCRIBE;
    FromImage { image: String } = "it comes from `{image}`" => SCAN_OR_DESCRIBE;
    FromElsewhere = "it comes from another stage or image" => SCAN_OR_DESCRIBE;
    ManyMounts { limit: usize } = "it may be under one of more than {limit} mounts" => SCAN_OR_DESCRIBE;
    ManyLookups { limit: usize } = "more than {limit} lookups in other stages are necessary" => SCAN_OR_DESCRIBE;
    ManyInstructions { limit: usize } =
        "files come from too many stages: more than {limit} instructions count" => SCAN_OR_DESCRIBE;
    StageNotEvaluated { error: String } = "{error}" => SCAN_OR_DESCRIBE;
    TooManyIncludes = "too many files include one another" => SCAN_OR_DESCRIBE;
    TooManyFiles = "it is made of too many files" => SCAN_OR_DESCRIBE;
    SeveralFiles = "it is made of several files" => SCAN_OR_DESCRIBE;
    TooLongToEdit = "it is too long to follow the edits of a command" => SCAN_OR_DESCRIBE;
    WrittenByCommand = "a command writes it first" => SCAN_OR_DESCRIBE;
    PerhapsWritten = "a command may write it first" => SCAN_OR_DESCRIBE;
    RemovedByCommand = "a command removes it first" => SCAN_OR_DESCRIBE;
    MatchesUnknown = "the files that match it are unknown" => SCAN_OR_DESCRIBE;
    MatchesNotKnown { pattern: String } = "the files that match {pattern} are unknown" => SCAN_OR_DESCRIBE;
    OutputNotKnown { program: String } = "the output of `{program}` is unknown" => SCAN_OR_DESCRIBE;
    InputNotKnown = "its input is unknown" => SCAN_OR_DESCRIBE;
    NoInput = "its input does not exist" => SCAN_OR_DESCRIBE;
    FileNotRead { path: String, because: Box<Cause> } = "{path} was not read: {because}" => because.remedy();
    WriterNotKnown = "a word of the command that writes it is unknown" => SCAN_OR_DESCRIBE;
    WriterSelectsIndex = "the command that writes it selects an index" => SCAN_OR_DESCRIBE;
    SourceNotInContext = "its source is not in the build context" => SCAN_OR_DESCRIBE;
    ProjectWithoutRequirements = "the project has no requirements" => SCAN_OR_DESCRIBE;
    ProjectNotSupported = "the requirements of the project are not supported" => SCAN_OR_DESCRIBE;
    LockSkipped = "it is skipped" => SCAN_OR_DESCRIBE;
    NotOfFormat { tool: String } = "it does not have the format of {tool}" => SCAN_OR_DESCRIBE;
    UvRunArgument = "this argument of `uv run` is not supported" => SCAN_OR_DESCRIBE;
    SetupElsewhere = "its install_requires is in another file" => SCAN_OR_DESCRIBE;
    SetupExtras = "its extras_require is not a plain table of lists" => SCAN_OR_DESCRIBE;
    SetupRequires = "its install_requires is not a plain list" => SCAN_OR_DESCRIBE;
    InstallsNotKnown { because: Box<Cause> } = "what it installs is unknown: {because}" => because.remedy();
    PackageNotNamed = "its file name does not identify the package" => SCAN_OR_DESCRIBE;
    MoreArguments = "another command passes more arguments to it" => SCAN_OR_DESCRIBE;

    // Indexes and builds.
    IndexNotKnown { because: Box<Cause> } = "the address of an index is unknown: {because}" => SCAN_OR_DESCRIBE;
    IndexSettingsNotRead { path: String, because: Box<Cause> } =
        "{path} may set an index and was not read: {because}" => SCAN_OR_DESCRIBE;
    IndexOfOneProject = "the only index contains the wheels of a single project" => SCAN_OR_DESCRIBE;
    IndexByCondition = "the project selects its index by an unknown condition" => SCAN_OR_DESCRIBE;
    NoIndex = "no index is used, and the wheels at the given location are unknown" => SCAN_OR_DESCRIBE;
    WheelPageNotRead { page: String } = "the wheels on {page} were not read" => SCAN_OR_DESCRIBE;
    WheelsNotKnown { directory: String, because: Box<Cause> } =
        "the wheels in {directory} are unknown: {because}" => SCAN_OR_DESCRIBE;
    UnknownFilesAdded = "a command adds unknown files to it" => SCAN_OR_DESCRIBE;
    WheelDirectoryFirst = "a wheel directory takes precedence over the index for some packages" => SCAN_OR_DESCRIBE;
    SeveralBuilds = "the index contains several builds of the same version" => SCAN_OR_DESCRIBE;
    SeveralLocked { name: String } =
        "the lock file contains several builds of {name}, and the one for this image is unknown" => SCAN_OR_DESCRIBE;
    SeveralLockedBuilds = "the lock file contains several builds of it" => SCAN_OR_DESCRIBE;
    NightliesOnly = "the index contains nightly builds and no release" => SCAN_OR_DESCRIBE;
    IndexHasPrereleases { kind: String } = "the index has {kind}" => SCAN_OR_DESCRIBE;
    NewerInExtraIndex { kind: String } = "an additional index contains {kind}, which may be newer" => SCAN_OR_DESCRIBE;
    PreReleasesAllowed = "pre-release versions are allowed" => SCAN_OR_DESCRIBE;
    BackendByMachine { backend: String } = "uv selects the build by the machine: `{backend}`" => SCAN_OR_DESCRIBE;
    BackendNotKnown { because: Box<Cause> } =
        "the uv option `torch-backend` is unknown: {because}" => SCAN_OR_DESCRIBE;
    BuiltFromSources { path: String } =
        "it is built from the sources of {path} with the CUDA toolkit of that build step" => SCAN_OR_DESCRIBE;
    CustomWheel { file: String } =
        "{file} is a custom wheel, and its name does not include the CUDA version" => SCAN_OR_DESCRIBE;
    WheelAddressNotKnown { word: String } =
        "the address of the wheel in `{word}` is unknown, and its name does not include the CUDA version" =>
        SCAN_OR_DESCRIBE;
    ArchiveVersion { version: String } = "the archive contains version `{version}`" => SCAN_OR_DESCRIBE;
    ArchiveNotKnown { because: Box<Cause> } = "{because}" => because.remedy();
    ConstraintsNotRead { path: String, because: Box<Cause> } =
        "{path} constrains it and was not read: {because}" => SCAN_OR_DESCRIBE;
    OverridesNotRead { path: String, because: Box<Cause> } =
        "{path} overrides the requirements and was not read: {because}" => SCAN_OR_DESCRIBE;

    // Targets of compilers.
    ArchRejected { entry: String } =
        "the build tools of torch do not know the architecture `{entry}` and reject the list" => SCAN_OR_DESCRIBE;
    ArchNameByRelease { name: String } =
        "the meaning of `{name}` differs between releases of torch, and the release that compiles is unknown" =>
        SCAN_OR_DESCRIBE;
    CompileSwitch { name: String } =
        "{name}, whose value is unknown, decides whether it is compiled" => SCAN_OR_DESCRIBE;
    TargetNotRead { address: String } = "the target of {address} was not inspected" => SCAN_OR_DESCRIBE;
    MakefileIgnores { name: String } = "the makefile may ignore {name}" => SCAN_OR_DESCRIBE;
    MakefileIgnoresEnv { name: String } = "the makefile may ignore {name} of the environment" => SCAN_OR_DESCRIBE;
    TargetsNotKnown { because: Box<Cause>, by: String } =
        "its GPU targets are unknown: {because}" => format!("set the targets as numbers in {by}");

    // Commands that install something unknown.
    UnknownPackages { words: UnknownWords } = "{words}" => words.remedy();
    BuildInstallsUnknown { because: Box<Cause> } =
        "a build installs unknown packages: {because}" =>
        "scan the built image, or list its packages in an image description";
    UnknownWheels = "a command installs unknown wheels" => "add it to the image description";
    ListNotRead { file: UnreadFile, effect: ListEffect } = "{file}, so what it {effect} is unknown" => file.remedy();
    ScriptNotRead { file: UnreadFile } = "{file}, so what it installs is unknown" => file.remedy();
    ScriptDownloaded { address: String } =
        "{address} is downloaded during the build, so what it installs is unknown" =>
        "scan the built image, or list what it installs in an image description";
    PerhapsRemoved { name: String } =
        "a command that may not run, or whose environment is unknown, removes {name}" => SCAN_OR_DESCRIBE;
    ModuleRemoved { path: String } =
        "a command removes {path}, and what is left of the package is unknown" => SCAN_OR_DESCRIBE;
    PythonCodeInstalls { code: String } =
        "{code} starts an installer, so what it installs is unknown" =>
        "scan the built image, or list what it installs in an image description";
    SourceOnNetwork { address: String } =
        "{address} was not read, so what it installs is unknown: it is on the network" =>
        "scan the built image, or list what it installs in an image description";
    PackedElsewhere { place: String } =
        "{place} was packed outside of the build, so its packages are unknown" =>
        "scan the built image, or list its packages in an image description";
    ScriptsTooDeep = "the scripts are nested too deeply" => SCAN_OR_DESCRIBE;

    // Commands and packages.
    ManyCommands { commands: u32, packages: usize } =
        "it has more than {commands} commands or {packages} packages; the rest is skipped" => SCAN_OR_DESCRIBE;
    TooManyPackages { packages: usize, variants: usize } =
        "it names more than {packages} packages, or one of them in more than {variants} variants" => SCAN_OR_DESCRIBE;
    NameBehindVariable = "its name contains a variable without a value" => SCAN_OR_DESCRIBE;
    ScriptTooLarge = "a script exceeds the limits for commands, words or levels; the rest is skipped" => SCAN_OR_DESCRIBE;
    TooManyStages { limit: usize } = "it requires more than {limit} lookups in other stages" => SCAN_OR_DESCRIBE;
    BuildNotKnown { because: Box<Cause> } =
        "{because}" =>
        "set the build in the version and its index, such as +cu128 with --index-url https://download.pytorch.org/whl/cu128";
    PrereleaseVersion { name: String, because: Box<Cause> } =
        "{because}: the resulting version of {name} is not in the compatibility database" =>
        "scan the built image, or set the version and the GPU code in an image description";
    VersionNotKnown { name: String, because: Box<Cause> } =
        "the version of {name} is unknown: {because}" =>
        format!("scan the built image, or set the version of {name} in an image description");
    NotAnImage { error: String } = "{error}" => "correct `base`";

    // Layers of images.
    LayerIncomplete { what: String } =
        "{what}" => ALL_LAYERS;
    LayerFileNotRead { mark: String, path: String } = "{mark}: {path}" => ALL_LAYERS;

    // Base images.
    Unknown { what: String, because: Box<Cause> } = "{what} is unknown: {because}" => because.remedy();
    BaseConfigNotRead { because: Box<Cause> } =
        "{because}" => format!("read its configuration with `imagelint check --pull`, {}", because.remedy());
    BaseConfigOnly { base: BaseName } =
        "{base} is not in the compatibility database, and only its configuration was read" => base.remedy();
    BaseTagNotInTables { base: BaseName } =
        "{base} was not read, and the compatibility database lacks the contents of this tag" => base.remedy();
    BaseNotRead { base: BaseName } =
        "{base} was not read, and it is not in the compatibility database" => base.remedy();
    AdditionsNotRead { base: BaseName } =
        "the additions of {base} to its CUDA base image were not read" => base.remedy();
    BaseNewer { image: String, date: Date } =
        "`{image}` is newer than the compatibility database of {date}" => scan_or_describe(image);
    NoSuchTag { image: String, version: String, date: Date } =
        "the compatibility database of {date} has no tag for CUDA {version}: does `{image}` exist?" => EXACT_TAG;
    DigestNotRead { image: String } =
        "`{image}` includes no CUDA version, and the digest was not read" => scan_or_describe(image);
    BaseByDate { image: String } =
        "`{image}` includes no CUDA version: the build date decides its content" => EXACT_TAG;
    NoTagWithoutPatch { image: String, version: String, date: Date, nearest: Option<String> } =
        "the compatibility database of {date} has no tag for CUDA {version} without a patch release: does `{image}` exist?" =>
        existing_tag(nearest.as_deref());
    NoTagWithPart { image: String, version: String, part: String, date: Date, nearest: Option<String> } =
        "the compatibility database of {date} has no tag for CUDA {version} with `{part}`: does `{image}` exist?" =>
        existing_tag(nearest.as_deref());
    ImageNewer { image: String, date: Date } =
        "`{image}` is newer than the compatibility database of {date}" =>
        RUN_SCAN_OR_DESCRIBE;
    ImageNotInTables { image: String, date: Date } =
        "`{image}` is not in the compatibility database of {date}" =>
        RUN_SCAN_OR_DESCRIBE;
    MonthNotInTables { image: String, date: Date } =
        "the compatibility database of {date} does not have the contents of `{image}`" => scan_or_describe(image);
    BuildOfDigest =
        "the compatibility database has no entry for this digest, and its tag has several builds" =>
        "set the date of the build with --as-of, because the compatibility database has no entry for this digest; or run `imagelint scan` on the built image";
    BuildOfSystem =
        "the tag has builds on several operating systems" =>
        "name the operating system in the tag, pin the digest, or set the date of the build with --as-of";
    BuildOfDate =
        "the tag has several builds" => "pin the digest, or set the date of the build with --as-of";
    EnvValue { name: String, because: Box<Cause> } = "the value of {name}: {because}" => because.remedy();

    // Components.
    VersionNewer { package: String, version: String, date: Date } =
        "{package} {version} is newer than the compatibility database of {date}" => SCAN_OR_DESCRIBE;
    VersionNotInTables { package: String, version: String, date: Date } =
        "{package} {version} is not in the compatibility database of {date}" => SCAN_OR_DESCRIBE;
    CodeForArchNotInTables { package: String, version: String, arch: String } =
        "the GPU code of {package} {version} for {arch} is not in the compatibility database" => SCAN_OR_DESCRIBE;
    CodeOfReleaseNotInTables { package: String, version: String } =
        "the GPU code of {package} {version} is not in the compatibility database" => SCAN_OR_DESCRIBE;
    CondaBuildNotInTables { package: String, version: String } =
        "the conda build of {package} {version} is not in the compatibility database" => SCAN_OR_DESCRIBE;
    FrameworkNotInTables { because: Box<Cause> } =
        "{because}" => "describe its CUDA runtime and GPU code in an image description";
    TorchNotInTables { because: Box<Cause> } =
        "{because}" =>
        "pin the build with its index, such as +cu124 from https://download.pytorch.org/whl/cu124, or describe its GPU code in an image description";
    SeveralCandidates { because: Box<Cause>, name: String, oldest: String, newest: String } =
        "{because}; {name} {oldest} to {newest} are possible, and their CUDA versions differ" => because.remedy();
    RuntimeNotKnown { because: Box<Cause> } =
        "{because}" => "set `cuda_runtime` in an image description";
    RuntimeNotFound { name: String } =
        "{name} contains GPU code, and its CUDA runtime was not found; it may be statically linked" =>
        "set `cuda_runtime` in an image description";
    RuntimeNotDeclared { name: String } =
        "{name} contains GPU code, and its CUDA version is not declared" =>
        "set `cuda_runtime` in an image description";
    CodeNotInFiles { name: String, files: String } =
        "a CUDA build of {name} contains GPU code{files}, and the files of the image contain none" =>
        "inspect these files: one may be missing, empty or for another architecture";
    CodeNotDescribed { name: String, files: String } =
        "a CUDA build of {name} contains GPU code{files}, and the complete lists of the image description contain none" =>
        "list it under [[gpu_code]] in the image description";
    PerhapsDriver { because: Box<Cause> } =
        "{because}" => "scan the built image, or list its libraries under [files] of an image description";
    RuntimeOfOtherCuda { package: String, built_for: CudaVersion, other: String, installed_for: CudaVersion, major: u32 } =
        "{package} is built for CUDA {built_for}, and {other} is installed for CUDA {installed_for}: it is unknown whether a CUDA {major} runtime is available" =>
        format!("install {other} for CUDA {major}, or run `imagelint scan` on the built image");
    BuildForOtherCuda { package: String, built_for: String, other: String, cuda: CudaVersion } =
        "{package} is installed for CUDA {built_for}, and {other} is installed for CUDA {cuda}" =>
        format!("install {package} for CUDA {cuda}, or describe the built image");
    NewestNotKnown { because: Box<Cause>, package: String } =
        "{because}" => format!("pin it, such as {package}==<version>+<build>");
    NotARange { range: String } = "`{range}` is not a version range" => SCAN_OR_DESCRIBE;
    ReleaseDatesNotInTables { package: String } =
        "the release dates of the allowed {package} versions are not in the compatibility database" => SCAN_OR_DESCRIBE;
    NoReleaseMatches { package: String, date: Date } =
        "no release of {package} in the compatibility database of {date} matches" => SCAN_OR_DESCRIBE;
    SeveralReleases = "several releases match" => SCAN_OR_DESCRIBE;
    BuildImpliesCuda { tag: String, package: String, cuda: CudaVersion } =
        "the build {tag} of {package} implies CUDA {cuda}, which does not exist" => CORRECT_BUILD;
    NoWheelOfVersion { package: String, version: String, tag: String, known: String } =
        "no wheel of {package} {version} for {tag} is known, only for {known}" => CORRECT_BUILD;
    DriverFileNotNamed { path: String } =
        "it is unknown whether the copied files include {path}, and for which driver" => SCAN_OR_DESCRIBE;
    CreatedByBranch { path: String } = "{path} is created by only some branches of the commands" => SCAN_OR_DESCRIBE;
    PackageBehindVariable { name: String } =
        "the package name {name} contains a variable without a value" => SCAN_OR_DESCRIBE;
    DriverByRelease { name: String } =
        "{name} includes driver libraries in some releases, and the release of the base image is unknown" =>
        SCAN_OR_DESCRIBE;
    DriverByBuildMachine { name: String } =
        "the GPUs of the build machine decide whether `{name}` installed a driver" => SCAN_OR_DESCRIBE;

    // Facts about packages, components and the base image.
    DependencyVersion { name: String, package: String } =
        "{name} is installed as a dependency, and its version is unknown" =>
        format!("pin the version of {package}, or of {name} itself");
    InstalledElsewhere { name: String, folder: String } =
        "{name} is installed into {folder}, and no PYTHONPATH or inspected COPY puts this on the search path of Python" =>
        "set PYTHONPATH in the image, or scan the built image";
    SeveralInSbom { name: String, versions: String } =
        "the SBOM of the image lists several versions of {name}: {versions}" =>
        "scan the image with all of its layers";
    CopiedLibraries =
        "the CUDA version that the copied libraries require is unknown" =>
        "set `cuda_runtime` in an image description";
    CopiedTorch { package: String, image: String } =
        "{package} is copied from `{image}`, and its build there is unknown" =>
        RUN_SCAN_OR_DESCRIBE;
    DescribedVariable { name: String } = "the value of {name} is unknown" => "set it under [env]";
    DescribedExtension { name: String } =
        "{name} extends a variable of the base image" =>
        "set its whole value under [env]";
    MadeForOtherPlatform { name: String } =
        "another build makes `{name}`, but not for this platform" =>
        "check that build for the platforms of the pools";
    NotAnImageReference { text: String, error: String } =
        "`{text}` is not a valid image reference: {error}" =>
        "correct the FROM line";
    SeveralPythons { component: String, pythons: String } =
        "{component} is installed for {pythons}, and the one that the program uses is unknown" =>
        "start the program by the path of its Python, or scan the built image";
    CodePartlyRead { file: String, detail: String } =
        "{file} contains GPU code that is only partly readable: {detail}" =>
        "list it under [[gpu_code]] in an image description";
    LayerAboveNotRead { layer: String } =
        "layer {layer} was not inspected and may replace it" =>
        "scan the image with all of its layers";
    SeveralEnvironments { name: Box<str>, version: Box<str>, folder: Box<str>, other: Box<str>, elsewhere: Box<str> } =
        "several environments contain {name}: {version} in /{folder} and {other} in /{elsewhere}" =>
        "name the interpreter in ENTRYPOINT, or put its directory first on PATH";
    NotInLockFile { name: String, image: String } =
        "the lock file does not contain the value of {name} in `{image}`" =>
        "run `imagelint check --pull`, which reads the base image";
    OutsideIndex { address: String } =
        "{address} is outside of the index, and it was not read" =>
        "pin the build and its index, such as +cu128 with --index-url https://download.pytorch.org/whl/cu128, or scan the built image";
    ReleaseMayNotExist { name: String, version: String, date: Date } =
        "the compatibility database of {date} has no {name} {version}, and the build does not stop if it cannot be installed" =>
        "pin a release that exists, and connect commands with `&&`";
    InstalledByBranch { name: String } =
        "{name} is installed by only some branches of the commands" =>
        "describe or scan the built image";
    VariableWithoutValue = "it contains a variable without a value" => "set it with --build-arg NAME=VALUE";
    VersionBehindVariable { name: String } =
        "the version of {name} contains a variable without a value" =>
        "set it with --build-arg NAME=VALUE";
    SetOutsideManifest { name: String } =
        "`{name}` is set outside of the manifest when the container starts" =>
        "write its value into the manifest";
    VariablesOutsideManifest { place: String } =
        "variables are set outside of the manifest when the container starts: {place} was not read" =>
        "write the variables that begin with NVIDIA_ into the manifest";
    WithoutDependencies { name: String } =
        "{name} is installed without its dependencies, and the compatibility database does not list whether this build includes its libraries" =>
        format!("install {name} with its dependencies, or scan the built image");
    NoBuildOnDate { image: String, day: String } =
        "the compatibility database has no build of `{image}` as of {day}" =>
        "use a tag that existed on that date, correct the date, or run `imagelint scan` on the built image";
    BaseWithoutTag { image: String, tag: String } =
        "`{image}` has no tag, so its content is unknown" =>
        format!("add a tag, such as {tag}; or {RUN_SCAN_OR_DESCRIBE}");
    EntrypointProbe { image: String } =
        "it is unknown whether the entrypoint of `{image}` detects GPUs that cuda-compat does not support" =>
        "set `entrypoint` in an image description";
    OlderRelease { package: Box<str>, version: Box<str>, requirement: Box<str>, range: Box<str>, restriction: Box<str> } =
        "{package} {version} requires {requirement}{range}, and the command restricts that to {restriction}: the compatible older release is not in the compatibility database" =>
        format!("pin {package} and {requirement}");
    CompiledForOtherTorch { name: Box<str>, release: Box<str>, compiled_for: Box<str>, torch: Box<str>, range: Box<str> } =
        "{name} {release} is compiled for torch {compiled_for}, and torch {torch} is installed: it is unknown whether {name} loads" =>
        format!("install torch{range}, or a release of {name} for torch {torch}");
    BaseTorchReplaced { name: String, release: String, torch: String } =
        "{name} {release} of the base image is compiled for the torch of that image, but torch {torch} replaces it: it is unknown whether {name} loads" =>
        "keep the torch of the base image, or run `imagelint scan` on the built image";
    OtherCudaThanTorch { name: Box<str>, release: Box<str>, torch: Box<str>, expected: Box<str>, installed: Box<str> } =
        "{name} {release} is compatible with torch {torch} for CUDA {expected}, and torch is installed for CUDA {installed}: it is unknown whether {name} loads" =>
        format!("install torch {torch} for CUDA {expected}, or run `imagelint scan` on the built image");
    MayAlreadyInclude { source: String, name: String } =
        "{source} may already include {name} and was not read; if it does not, {name} installs the torch that its newest release requires" =>
        format!("install {name} and torch with one command, describe the base image, or scan the built image");
    CompatDriverNotKnown { cuda: String } =
        "the driver version in the cuda-compat package of CUDA {cuda} is not in the compatibility database" =>
        "run `imagelint scan` on the built image";
    CodeNotInspected { name: String } =
        "the GPU code of {name} was not inspected" =>
        "list it under [[gpu_code]] in an image description";
    CondaByDate { package: String } =
        "conda installs {package} without a version: the build date decides" =>
        format!("pin it, such as {package}=<version>");
    CondaByChannel { package: String } =
        "conda selects the build of {package} by its channels" =>
        "select it with pytorch-cuda, cuda-version or a build string";
    CpuAndCudaBuilds { package: String } =
        "one command installs {package} for the CPU and another for CUDA, and the one that the program imports is unknown" =>
        "list only the one that the program imports";
    PipAndConda { package: String, pip_build: String, conda_build: String } =
        "pip installs {package} {pip_build} and conda installs {package} {conda_build}, and the one that Python imports is unknown" =>
        "list only the one that the program imports";
    PackageDriverNotKnown { package: String } =
        "the driver version of the libraries in {package} is unknown" =>
        "list its libcuda under [files] of an image description, or scan the image";
    DriverFileVersion { path: String } =
        "the driver version of {path} is unknown" =>
        "list the file with its version under [files] of an image description, or scan the image";
    VersionByDate { package: String, specifier: String } =
        "{package} is installed with {specifier}: the build date decides its version" =>
        format!("pin it, such as {package}==<version>");
    CondaBuildWithoutCuda { package: String, version: String } =
        "the build string of conda does not include the CUDA version of {package} {version}" =>
        "describe its CUDA runtime and GPU code in an image description";
    BuildTargetsNotKnown { name: String, version: String, repository: String, tag: String } =
        "{name} {version} was compiled for `{repository}:{tag}`, and its GPU targets are not in the compatibility database" =>
        "run `imagelint scan` on the image, or list its [[gpu_code]] in an image description";
    NoReleaseOnDate { package: String, day: String } =
        "no suitable release of {package} was available on {day}" =>
        "pin the version of the package that requires it";
    CodeNotInTables { name: String, build: String } =
        "the GPU code of {name} {build} is not in the compatibility database" =>
        "list it under [[gpu_code]] in an image description";
    NoCudaProgram =
        "the image has no known program that calls CUDA" =>
        "list the packages or the [[gpu_code]] of the image in an image description";
    CudaDoesNotExist { cuda: String } =
        "CUDA {cuda} does not exist" =>
        "set `cuda_runtime` to the release of the CUDA runtime in an image description";
    SameDirectory { package: String, other: String } =
        "{package} and {other} are installed into the same directory, and the one that overwrites the other is unknown" =>
        format!("install only {other}");
    EntrypointShell =
        "it is unknown whether the ENTRYPOINT, which replaces that of the base image, runs a shell that selects cuda-compat" =>
        "keep the ENTRYPOINT of the base image, or start the program without a shell";
    ReleaseByPython { package: String } =
        "the newest release of {package} depends on the Python version, which is unknown" =>
        format!("pin it, such as {package}==<version>");
    CudaOfPackage { package: String } =
        "the CUDA version that {package} calls is unknown" =>
        "describe the image with `cuda_runtime` and [[gpu_code]]";
    CodeOnRuntime { name: String } =
        "the GPU code that runs on {name} was not inspected" =>
        "list it under [[gpu_code]] in an image description";
    CudaDecidedBy { by: String, package: String } =
        "{by} decides the CUDA version of {package}" =>
        "install a package for one CUDA release, or describe the image with `cuda_runtime`";
    ReleaseWithoutWheel { name: String, version: String, python: String } =
        "{name} {version} has no wheel for Python {python}, so the installer stops with an error" =>
        format!("pin a release of {name} with a wheel for Python {python}, or use another Python");
    ConflictingPins { name: String, version: String, package: String, range: String } =
        "{package} requires {name}{range}, and the command pins {name} {version}, so the installer stops with an error" =>
        "pin releases that fit each other";
    ConflictingRequirements { name: String, requirements: String } =
        "no release of {name} satisfies all requirements of the command ({requirements}), so the installer stops with an error" =>
        "change one of the requirements";
    NoWheelForPython { name: String, python: String } =
        "no release of {name} has a wheel for Python {python}; an older release of the package that requires it may not need it" =>
        format!("pin the package that requires {name}, or use a newer Python");
    BaseMayIncludeBuild { name: String, version: String } =
        "the base image was not read and may already include a build of {name} {version}, which the pin keeps" =>
        format!("pin the build with its index, such as {name}=={version}+cuXXX from https://download.pytorch.org/whl/cuXXX, describe the base image, or scan the built image");
    BaseMayInclude { name: String } =
        "the base image was not read and may already include {name}" =>
        format!("pin it, such as {name}==<version>, or scan the built image");
    OlderTorchPossible { package: String } =
        "{package} may require an older torch than its releases in the compatibility database, so the installed torch may stay" =>
        "pin torch as well, or scan the built image";
    ReleaseForTorch { package: String, torch: String } =
        "the release of {package} for torch {torch} is not in the compatibility database" =>
        format!("pin {package} or torch");
    TorchRequirement { package: String } =
        "the torch release that {package} requires is not in the compatibility database" =>
        "pin torch as well";
    CustomBuild { package: String, version: String, local: String } =
        "{package} {version} is a custom build, and `{local}` does not include the CUDA version" =>
        "declare its build, such as cu124, in an image description";
    InstalledReleaseNotKnown { name: String } =
        "the installed release of {name} is unknown, and with it which other releases are compatible" =>
        format!("pin {name}");
    SearchOrder =
        "packages of the command conflict, and the selected releases depend on the order in which the installer tries them" =>
        "pin the versions";
    SearchLimit { steps: usize } = "the search for compatible releases takes more than {steps} steps" => "pin the versions";
    OnlyPrereleases { package: String } = "only pre-releases of {package} are in the range" => "pin the version";
    NotKnownInIndex { package: String, version: String, arch: String } =
        "it is unknown whether that index contains {package} {version} for {arch}" =>
        "run `imagelint scan` on the built image";
    NoMuslWheel { name: String, system: String } =
        "{name} has no wheel for musl, the C library of {system}: pip fails to install it" =>
        "use a base image with glibc, or describe the built image";
    NoWheelOfBuild { name: String, version: String, arch: String, tag: String } =
        "no wheel of {name} {version} for {arch} has {tag} in its version: the index of {tag} contains that build as {version}" =>
        format!("install {name}=={version} only from the index of {tag}, or describe the built image");

    // Builds of bake and compose files.
    ServiceAttribute { key: String, service: String } =
        "`{key}` of service `{service}` is unknown, because a variable in it has no known value" =>
        "set the variable in `.env`, or give it a default";
    TargetAttribute { key: String, target: String } =
        "`{key}` of target `{target}` is unknown, because its expression could not be evaluated" => WRITE_VALUE;
    FunctionNotComputed { key: String, target: String, function: String, place: String } =
        "`{key}` of target `{target}` is unknown: imagelint does not compute `{function}`{place}" => WRITE_VALUE;
    FunctionFails { key: Box<str>, target: Box<str>, function: Box<str>, error: Box<str>, place: Box<str> } =
        "`{key}` of target `{target}` is unknown: `{function}` fails: {error}{place}" => "correct its arguments";
    GroupTargets { group: String } =
        "the targets of group `{group}` are unknown, because their expression could not be evaluated" => WRITE_VALUE;
    ServiceNotRead { service: String, file: String } = "service `{service}` of `{file}` could not be read" => READABLE_SERVICE;
    ServiceOfThisFileNotRead { service: String } = "service `{service}` of this file could not be read" => READABLE_SERVICE;
    ServiceExtendsItself { service: String } = "service `{service}` extends itself" => "correct `extends`";
    ServiceExtendsNoService { service: String } =
        "service `{service}` extends something that is not a service" => "correct `extends`";

    // Steps of the start-up.
    NoCudaCaller { failure: CallerFailure } =
        "nothing that calls CUDA was found; a program that does would {failure}" =>
        "name the packages or [[gpu_code]] of the image in an image description";
    UvmWithoutCompute =
        "whether the libcuda of the image finds /dev/nvidia-uvm without the capability compute is unknown" =>
        "request the capability compute";
    LibrariesNotFound { component: String, libraries: String } =
        "{component} needs {libraries}, and nothing in the image is known to include it" =>
        "install it, or scan the built image";
    DriverPackageNotPinned { package: String } =
        "{package} installs an unpinned driver package" =>
        "install only the toolkit, such as cuda-toolkit-12-2, or pin the driver package";
    DriverRelease { path: String } = "the driver release of {path} is unknown" => "pin its version";
    CudaLinkTarget =
        "the target of the link `/usr/local/cuda` in the image is unknown" =>
        "declare the link under [files] of an image description, or scan the image";
    DriverBranchesOfCompat { libcuda: DriverVersion } =
        "whether libcuda {libcuda} of the image lists its driver branches is unknown" => ELF_NOTE;
    LibcudaVersion { path: String } =
        "the driver version of {path} is unknown" =>
        "declare the file with its version under [files] of an image description, or scan the image";
    CompatOnModule { compat: CudaVersion, module: CudaVersion } =
        "no source states whether cuda-compat of CUDA {compat} runs on a module release with CUDA {module}" =>
        "use an image for the CUDA version of the module release";
    CompatOnGpu { libcuda: DriverVersion, gpu: String, driver: DriverVersion } =
        "no source states whether libcuda {libcuda} runs on {gpu} with driver {driver}" => ELF_NOTE;
    CudaNewer { cuda: CudaVersion, date: Date } =
        "CUDA {cuda} is newer than the compatibility database of {date}" => NEWER_DATABASE;
    DriverMinimumDisputed {
        min_driver: DriverVersion, cuda_major: u32, from_branch: u32, cuda: CudaVersion, libcuda: DriverVersion
    } =
        "NVIDIA's release notes require driver {min_driver} for CUDA {cuda_major}, its compatibility guide branch {from_branch}: no source states what the CUDA {cuda} runtime does on {libcuda}" =>
        THAT_DRIVER;
    DriverAheadOfBranch { driver: DriverVersion, cuda: CudaVersion, required: DriverVersion } =
        "driver {driver} itself reports CUDA {cuda}, and NVIDIA's release notes require driver {required}: no source states what the runtime does on the older one" =>
        THAT_DRIVER;
    CudaReleaseOfComponent { newest: CudaVersion, driver: DriverVersion, cuda: CudaVersion, component: String } =
        "CUDA {newest} needs driver {driver}, other releases of CUDA {cuda} an older one: which release {component} uses is unknown" =>
        "set the full version of the CUDA runtime, or use that driver release or newer";
    DriverByCudaVersion =
        "the CUDA version of the driver does not show whether the driver is new enough" =>
        "set `driver` of the pool";
    CallsOnOlderGpu { component: String, lowest: ComputeCapability, gpu: String } =
        "{component} supports compute capability {lowest} and newer, so calls to it on {gpu} fail; whether the program makes them is unknown" =>
        "remove it from the image for these nodes, or test it there";
    GpuNotStated { component: String, capability: ComputeCapability, gpu: String } =
        "no source states whether {component} supports GPUs with compute capability {capability}, such as {gpu}" =>
        "list [[gpu_code]] in an image description, or run `imagelint scan` on the image";
    NativeCodeRequired { component: String, gpu: String, cuda: String, build: Box<BuildForGpu> } =
        "{component} runs on {gpu} only if it contains native code for it: the driver compiles no PTX of CUDA {cuda}" =>
        format!("run `imagelint scan` on the built image to read its PTX, or {build}");
    PtxRequired { component: String, gpu: String, cuda: String, build: Box<BuildForGpu> } =
        "{component} runs on {gpu} only if it contains PTX: CUDA {cuda} compiles no native code for this GPU" =>
        format!("run `imagelint scan` on the built image to read its PTX, or {build}");
    CodePartlyCovered { code: Box<PartlyCoveredCode> } =
        "{code} is unknown" => "run the image once on that GPU, or use a build for it";
    PtxFailuresReported { component: String, gpu: String, reports: String, build: Box<BuildForGpu> } =
        "{component} has no native code for {gpu}, only PTX; the driver should compile it, but failures are reported ({reports})" =>
        format!("test it on that GPU, or {build}");
    CodeNotListed { component: String } =
        "the listed code of {component} does not support this GPU, and its native code or its PTX is not listed" =>
        "write `sass` and `ptx` under [[gpu_code]] in the image description, `[]` for none";
    PtxLinkingNotTested { component: String } =
        "{component} supports this GPU only in parts with PTX, and whether the driver links them is untested" =>
        "build it for the GPU, or test it there";
    RequiredLibraries { component: String } =
        "some libraries of {component} in the image do not support this GPU, and which ones it uses is unknown" =>
        "list the libraries that it needs under [[gpu_code]] in an image description";
    PtxCompilerOfCompat =
        "whether cuda-compat in the image includes the PTX compiler is unknown" =>
        "list libnvidia-ptxjitcompiler.so under [files] of an image description";
    PtxNewer { cuda: CudaVersion, date: Date } =
        "PTX of CUDA {cuda} is newer than the compatibility database of {date}" => NEWER_DATABASE;
    ModuleReleaseNotInTables { driver: DriverVersion } =
        "no module release with driver {driver} is in the compatibility database" => NEWER_DATABASE;
    CapabilityNewer { capability: ComputeCapability, date: Date } =
        "compute capability {capability} is newer than the compatibility database of {date}" => NEWER_DATABASE;
    CapabilityNotInTables { capability: ComputeCapability } =
        "compute capability {capability} is not in the compatibility database" => NEWER_DATABASE;
    DriverBranchNewer { branch: u32, date: Date } =
        "driver branch {branch} is newer than the compatibility database of {date}" => NEWER_DATABASE;
    DriverBranchNotInTables { branch: u32 } =
        "driver branch {branch} is not in the compatibility database" => NEWER_DATABASE;

    // Fields of pools.
    ToolkitNewer { version: String, date: Date } =
        "container toolkit {version} is newer than the compatibility database of {date}" => NEWER_DATABASE;
    AnyToolkitNewer { date: Date } =
        "container toolkit is newer than the compatibility database of {date}" => NEWER_DATABASE;
    NoToolkitWithMode =
        "no version of the container toolkit has the `mode` of the pool" =>
        "set `toolkit` of the pool to the version of its nodes, or leave `mode` out";
    NoToolkitWithModeUntil { day: Date } =
        "no version of the container toolkit until {day} has the `mode` of the pool" =>
        "set `toolkit` of the pool to the version of its nodes, or leave `mode` out";
    PoolFieldNotSet { field: String } = "the pool does not set `{field}`" => format!("set `{field}` of the pool");
    LibraryDirectoryNotSet =
        "the pool does not set `library_directory`, into which CDI mounts the driver" =>
        "set `library_directory` of the pool";
    PoolDriverNewer { date: Date } =
        "the driver of the pool is not in the compatibility database, newer than the compatibility database of {date}" =>
        "set `driver_cuda` of the pool";
    PoolDriverNotInTables =
        "the driver of the pool is not in the compatibility database" => "set `driver_cuda` of the pool";
    PoolGpuNotInTables =
        "the GPU is not in the compatibility database" => "set `compute_capability` of the pool";
    PoolBrand = "the brand of the GPU with this driver is unknown" => "set `brand` of the pool";
    NodeGpu { name: String } =
        "it is unknown whether the node has a GPU `{name}`: the pool does not declare the number of GPUs" => GPU_COUNT;
    NodeDevice { name: String } =
        "it is unknown whether the node has the device `{name}`" =>
        "request devices by index, or let the launch method select them";
    VisibleGpu { name: String, variable: String } =
        "it is unknown whether the container has a GPU `{name}` for {variable}: the pool does not declare the number of GPUs" =>
        GPU_COUNT;
    VisibleDevice { name: String, variable: String } =
        "it is unknown whether the node has `{name}`, which {variable} lists" =>
        "list GPUs by index, or let the launch method select them";
}

impl Cause {
    /// Creates the cause for a file that was not read because of another cause.
    pub fn file_not_read(path: &str, because: Self) -> Self {
        Self::FileNotRead { path: path.to_owned(), because: Box::new(because) }
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.reason())
    }
}

/// Sorts by what a reader sees.
impl Ord for Cause {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.reason(), self.remedy()).cmp(&(other.reason(), other.remedy()))
    }
}

impl PartialOrd for Cause {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// A cause as files hold it.
#[derive(Serialize, Deserialize)]
struct CauseText {
    reason: String,
    #[serde(rename = "supply")]
    remedy: String,
}

impl From<Cause> for CauseText {
    fn from(cause: Cause) -> Self {
        Self { reason: cause.reason(), remedy: cause.remedy() }
    }
}

impl From<CauseText> for Cause {
    fn from(CauseText { reason, remedy }: CauseText) -> Self {
        Self::recorded(reason, remedy)
    }
}

/// The base image in a sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BaseName {
    /// The image as a whole, where no base image is named.
    Image,
    /// A base image by its reference.
    Named(String),
}

impl BaseName {
    fn remedy(&self) -> String {
        match self {
            Self::Image => "add it to the image description, and list the family under `complete`".to_owned(),
            Self::Named(name) => scan_or_describe(name),
        }
    }
}

impl fmt::Display for BaseName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Image => f.write_str("the image"),
            Self::Named(name) => write!(f, "`{name}`"),
        }
    }
}

/// A file that names packages or commands and was not read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnreadFile {
    /// The path as the command names it.
    pub path: String,
    /// Why it was not read.
    pub because: Box<Cause>,
}

impl UnreadFile {
    /// The file by its path in the folder of the command; if its path in the image is given, the source of the COPY.
    fn in_context(&self) -> String {
        if self.path.starts_with('/') { format!("the source of `{}`", self.path) } else { format!("`{}`", self.path) }
    }

    fn remedy(&self) -> String {
        match *self.because {
            Cause::NotCopied => format!("list the packages of `{}` in an image description", self.path),
            _ => format!(
                "provide {} in the build context, or list its packages in an image description",
                self.in_context()
            ),
        }
    }
}

impl fmt::Display for UnreadFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, because } = self;
        match **because {
            Cause::NotThere => write!(f, "{} is not in the build context", self.in_context()),
            _ => match because.reason().strip_prefix("it ") {
                Some(rest) => write!(f, "`{path}` {rest}"),
                None => write!(f, "`{path}` was not read ({because})"),
            },
        }
    }
}

/// What a list of packages does to the packages that a command installs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ListEffect {
    /// It constrains their versions.
    Constrains,
    /// It names them.
    Installs,
    /// It names them, and the command takes them from the index of one build too.
    InstallsFrom(String),
}

impl fmt::Display for ListEffect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Constrains => f.write_str("bounds"),
            Self::Installs => f.write_str("installs"),
            Self::InstallsFrom(tag) => write!(f, "installs{FROM_INDEX}{tag},"),
        }
    }
}

/// Words of a command that name packages and whose value is unknown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownWords {
    /// The first variable without a value.
    pub variable: Option<String>,
    /// The build whose index the command uses.
    pub tag: Option<String>,
    /// Why the value is unknown.
    pub because: Box<Cause>,
}

impl UnknownWords {
    fn remedy(&self) -> String {
        match &self.variable {
            Some(name) => {
                format!("set it with --build-arg {name}=VALUE, or list the packages in an image description")
            }
            None => "list the packages in an image description".to_owned(),
        }
    }
}

impl fmt::Display for UnknownWords {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(COMMAND_INSTALLS)?;
        if let Some(tag) = &self.tag {
            write!(f, "{FROM_INDEX}{tag}")?;
        }
        let reason = self.because.reason();
        match (&self.variable, reason.strip_prefix("its value ")) {
            (Some(name), Some(rest)) => write!(f, ": the value of {name} {rest}"),
            _ => write!(f, ": {reason}"),
        }
    }
}

/// How a program fails that calls CUDA.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallerFailure {
    /// It finds no libcuda.
    NoLibcuda,
    /// It finds no GPU.
    NoGpu,
    /// It fails at the step that is unknown.
    AtThisStep,
}

impl fmt::Display for CallerFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoLibcuda => "find no libcuda",
            Self::NoGpu => "find no GPU",
            Self::AtThisStep => "fail at this step",
        })
    }
}

/// A build with native code for a GPU, as an imperative.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BuildForGpu {
    /// A build with a known toolkit or a newer one.
    Toolkit {
        /// The GPU.
        gpu: String,
        /// The first CUDA release that compiles native code for it.
        first: String,
    },
    /// A build whose toolkit is unknown.
    AnyToolkit,
}

impl fmt::Display for BuildForGpu {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Toolkit { gpu, first } => {
                write!(f, "use a build with native code for {gpu} (CUDA {first} or newer)")
            }
            Self::AnyToolkit => f.write_str("use a build for a CUDA release that supports the GPU"),
        }
    }
}

/// A library of which a GPU runs only some containers of device code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartlyCoveredCode {
    /// The component.
    pub component: String,
    /// The library, or the component if it is unknown.
    pub file: String,
    /// The GPU.
    pub gpu: String,
    /// How many containers it runs.
    pub runnable: usize,
    /// How many containers there are.
    pub all: usize,
    /// Whether the driver leaves out containers with PTX alone.
    pub without_ptx: bool,
    /// The variable that disables the compiler of PTX or native code.
    pub variable: Option<String>,
}

impl fmt::Display for PartlyCoveredCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { component, file, gpu, runnable, all, without_ptx, variable } = self;
        let percent = (runnable * 100 / all.max(&1)).max(1);
        let kind = if *without_ptx { "native code" } else { "native code or PTX" };
        write!(f, "{runnable} of {all} containers of device code in {file} ({percent} %) have {kind} for {gpu}")?;
        if *without_ptx {
            f.write_str(", and the driver does not compile the PTX of the others")?;
        }
        if let Some(variable) = variable {
            write!(f, ", with {variable}=1")?;
        }
        write!(f, ": whether {component} runs the others")
    }
}

fn scan_or_describe(image: &str) -> String {
    format!("run `imagelint scan` on the built image, or describe `{image}` in an image description")
}

fn existing_tag(nearest: Option<&str>) -> String {
    nearest.map_or_else(|| EXACT_TAG.to_owned(), |tag| format!("use an existing tag, such as {tag}"))
}
