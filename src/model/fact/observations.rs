//! What was observed in one input before any table lookup, whether a Dockerfile, image configuration, image
//! description or saved report.

use std::collections::{BTreeMap, BTreeSet};

use jiff::civil::Date;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::cuda::{CodeTarget, CudaVersion};
use crate::model::cause::Cause;
use crate::model::fact::{CompatNote, FactId, Facts, as_text};
use crate::model::named_values::named_values;
use crate::model::package::{ObservedPackage, RemovedPackage};
use crate::model::reference::ImageReference;

/// How deeply an input was inspected.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum InspectionDepth {
    /// The text of a Dockerfile.
    Text,
    /// An image description.
    #[default]
    Description,
    /// Manifest and configuration of an image.
    Config,
    /// Manifest and configuration of an image, and its SBOM.
    Sbom,
    /// Manifest, configuration and every layer.
    Layers,
}

impl InspectionDepth {
    /// Returns the name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Description => "description",
            Self::Config => "config",
            Self::Sbom => "sbom",
            Self::Layers => "layers",
        }
    }
}

/// The base image, as far as it is known.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ObservedBase {
    /// Not declared.
    NotSaid,
    /// `FROM scratch`.
    Scratch(FactId),
    /// An image reference.
    Image(ImageReference, FactId),
    /// A reference with a variable or template that has no value.
    Unresolved(Cause, FactId),
}

/// What is known about a file of the image.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FileKind {
    /// It exists.
    Present,
    /// A library with NVIDIA's ELF note about forward compatibility.
    Noted(CompatNote),
    /// A symbolic link to this target.
    Link(String),
    /// A text file with this content.
    Text(String),
    /// A file with the name of a library that the loader rejects: empty, for another machine, or of another type.
    NoLibrary,
}

/// A file of the image.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ObservedFile {
    /// What is known about the file.
    pub kind: FileKind,
    /// Evidence.
    pub fact: FactId,
}

/// A part of an environment value that depends on the environment of the base image.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TemplatePart {
    /// Literal text.
    Text(String),
    /// The value of a variable of the base image.
    Variable(String),
}

/// A value that depends on the environment of the base image, such as `/opt/x:$LD_LIBRARY_PATH`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EnvTemplate {
    /// The value as literal text and variables of the base image.
    pub set: Vec<TemplatePart>,
    /// The value if the base image does not set the variable itself, where it differs.
    pub unset: Option<String>,
}

impl EnvTemplate {
    /// Returns the variables of the base image that the value contains.
    pub fn variables(&self) -> BTreeSet<&str> {
        let names = self.set.iter().filter_map(|part| match part {
            TemplatePart::Text(_) => None,
            TemplatePart::Variable(name) => Some(name.as_str()),
        });
        names.collect()
    }

    /// Returns the value with its variables replaced; `None` if one of them has no value.
    pub fn expand(&self, value: impl Fn(&str) -> Option<String>) -> Option<String> {
        let pieces = self.set.iter().map(|part| match part {
            TemplatePart::Text(text) => Some(text.clone()),
            TemplatePart::Variable(name) => value(name),
        });
        pieces.collect()
    }
}

named_values! {
    /// How a command treats installed packages and requirements; the names are those in image descriptions.
    InstallerBehavior {
        /// It may install unknown packages.
        InstallsUnknown = "untold",
        /// It does not replace packages that are already installed.
        KeepsInstalled = "keeping",
        /// It upgrades all dependencies to the newest version.
        UpgradesDependencies = "renewing",
        /// It replaces installed packages even by the same version.
        Reinstalls = "reinstalling",
        /// It does not check what packages require: with a lock file, with overrides, or by the legacy resolver of pip.
        IgnoresRequirements = "ignoring_requirements",
    }
}

/// The numbers of the commands with each behavior.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct InstallerCommands(BTreeMap<InstallerBehavior, Vec<u32>>);

impl InstallerCommands {
    /// Returns the commands with a behavior.
    pub fn commands(&self, behavior: InstallerBehavior) -> &[u32] {
        self.0.get(&behavior).map_or(&[], Vec::as_slice)
    }

    /// Whether a command has a behavior.
    pub fn contains(&self, behavior: InstallerBehavior, command: u32) -> bool {
        self.commands(behavior).contains(&command)
    }

    /// Adds a command with a behavior.
    pub fn insert(&mut self, behavior: InstallerBehavior, command: u32) {
        self.0.entry(behavior).or_default().push(command);
    }

    /// Adds `commands` to every number.
    pub fn shift(&mut self, commands: u32) {
        for number in self.0.values_mut().flatten() {
            *number = number.saturating_add(commands);
        }
    }

    /// Puts the commands of a base image in front.
    pub fn prepend(&mut self, base: &Self) {
        for (behavior, of_base) in &base.0 {
            self.0.entry(*behavior).or_default().splice(0..0, of_base.iter().copied());
        }
    }

    /// Returns those that were added to an earlier state.
    #[must_use]
    pub fn added_since(&self, earlier: &Self) -> Self {
        let added = |(behavior, all): (&InstallerBehavior, &Vec<u32>)| {
            let new: Vec<u32> = all.iter().skip(earlier.commands(*behavior).len()).copied().collect();
            (!new.is_empty()).then_some((*behavior, new))
        };
        Self(self.0.iter().filter_map(added).collect())
    }

    /// Adds the behavior of some commands of `other`, and not which of them install unknown packages.
    pub fn extend_with_options(&mut self, other: &Self, is_copied: impl Fn(u32) -> bool) {
        for (behavior, commands) in other.0.iter().filter(|(own, _)| **own != InstallerBehavior::InstallsUnknown) {
            for command in commands.iter().copied().filter(|command| is_copied(*command)) {
                self.insert(*behavior, command);
            }
        }
    }
}

/// What the build changes in its base image, what it starts, how its installers treat installed packages, and what was
/// not read.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct BaseChanges {
    /// Environment values that depend on the environment of the base image, by variable.
    pub env_templates: BTreeMap<String, EnvTemplate>,
    /// Packages and absolute paths of the base image that commands remove.
    pub removed: Vec<(String, FactId)>,
    /// Driver libraries that may exist, with the reason why that is unknown.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub perhaps: BTreeMap<String, (Cause, FactId)>,
    /// Lists of GPU targets that commands compile for, in the stages that are part of the image.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub arch_lists: Vec<ObservedArchList>,
    /// The programs that ENTRYPOINT and CMD start, each as one command line; of the image itself, not of its base.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub starts: Option<(Vec<String>, FactId)>,
    /// The arguments of ENTRYPOINT and CMD as written.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub start_words: Vec<String>,
    /// Commands that install from something that was not read, such as a list or a directory of wheels: number and
    /// reason.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unknown_wheels: Vec<(u32, FactId)>,
    /// The commands of `unknown_wheels` that run a script, which does not replace what a later command pins.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub scripts: Vec<FactId>,
    /// Whether commands compile for GPUs, or copy unread files into the image.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub builds_for_gpus: bool,
    /// Whether files are copied from an image whose content is unknown.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub copies_unread_images: bool,
    /// The commands that install packages in a particular way.
    #[serde(flatten)]
    pub installers: InstallerCommands,
    /// Files that belong to no package and may be or contain shared libraries.
    #[serde(default, rename = "loose", skip_serializing_if = "Vec::is_empty")]
    pub unpackaged: Vec<UnpackagedFiles>,
    /// What was not read of the layers of the image, if the image itself was inspected.
    #[serde(default, skip_serializing_if = "Unread::is_nothing")]
    pub unread: Unread,
    /// Texts other than the Dockerfile that instructions read.
    #[serde(default, rename = "brought", skip_serializing_if = "Vec::is_empty")]
    pub referenced_texts: Vec<ReferencedText>,
}

/// The GPU code of a library.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ObservedGpuCode {
    /// The path of the library.
    pub file: String,
    /// The component that it belongs to.
    pub component: Option<String>,
    /// Targets of the cubins.
    pub sass: Vec<CodeTarget>,
    /// Targets of the PTX.
    pub ptx: Vec<CodeTarget>,
    /// Targets of the PTX that a driver may link at run time if no linked code fits.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub linkable: Vec<CodeTarget>,
    /// The newest PTX ISA version in it, which identifies the compiler.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub isa: Option<CudaVersion>,
    /// The number of containers with exactly this code.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub count: usize,
    /// The kind of code that is not declared.
    #[serde(default, rename = "unsaid", skip_serializing_if = "Option::is_none")]
    pub unknown_kind: Option<UnknownCodeKind>,
    /// The CUDA runtime that the file requires, by its soname.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runtime: Option<String>,
    /// Evidence.
    pub fact: FactId,
}

/// A kind of GPU code that is not declared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum UnknownCodeKind {
    /// Cubins.
    Sass,
    /// PTX.
    Ptx,
    /// Both kinds: there is code that could not be read, for the reason in the evidence.
    Unread,
}

const fn one() -> usize {
    1
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
const fn is_one(count: &usize) -> bool {
    *count == 1
}

/// The libraries that a file depends on; there may be more if its fact is unknown.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ObservedLibraryDependencies {
    /// The path of the file.
    pub file: String,
    /// The component that it belongs to.
    pub component: Option<String>,
    /// Sonames that the loader resolves before the program starts.
    pub needs: Vec<String>,
    /// Sonames that the program opens at run time.
    pub opens: Vec<String>,
    /// Evidence.
    pub fact: FactId,
}

/// A build command that queries the GPU or the driver of the build machine.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct BuildMachineQuery {
    /// What it queries.
    pub what: BuildMachineProperty,
    /// The command.
    pub command: String,
    /// Evidence.
    pub fact: FactId,
}

named_values! {
    /// A property of the build machine on which the result of a build command depends.
    BuildMachineProperty {
        /// Whether it has a GPU: without one, the command fails.
        Gpu = "gpu",
        /// Its GPU: the command compiles code for it.
        Code = "code",
        /// Its driver: the command selects packages by it.
        Variant = "variant",
        /// The installer that the command calls: it is certainly not installed.
        Installer = "installer",
    }
}

/// A text other than the Dockerfile that was read, and the instruction that refers to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReferencedText {
    /// The number of the text among all texts of the run.
    pub text: u32,
    /// The number of the instruction in its Dockerfile.
    pub instruction: usize,
}

/// What was not read of the layers of an image and of the environment of its container.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Unread {
    /// Why a layer was skipped or not read completely, for the first such layer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub layer: Option<Cause>,
    /// Why files were not read that may be programs, libraries or lists of packages.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<Cause>,
    /// Why environment variables of the container are unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub env: Option<Cause>,
}

impl Unread {
    /// Whether everything was read.
    pub fn is_nothing(&self) -> bool {
        self.layer.is_none() && self.files.is_empty() && self.env.is_none()
    }
}

/// The kinds of content that are completely known, so that anything else is absent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[expect(clippy::struct_excessive_bools, reason = "independent families")]
pub struct Completeness {
    /// Environment variables.
    pub env: bool,
    /// Packages.
    pub packages: bool,
    /// Files.
    pub files: bool,
    /// GPU code.
    pub code: bool,
    /// Everything outside of the base image that may contain a shared library.
    #[serde(default)]
    pub libraries: bool,
}

/// Everything that was observed in one input.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(default)]
pub struct Observations {
    /// The facts with their evidence.
    pub facts: Facts,
    /// How deeply the input was inspected.
    pub depth: InspectionDepth,
    /// The base image.
    pub base: ObservedBase,
    /// The FROM image of the Dockerfile of an inspected image: reported, but not used for its contents.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub built_on: Option<FactId>,
    /// Whether the environment that tables list for the base image applies to this image.
    pub base_env: bool,
    /// The day of the build, if declared.
    #[serde(with = "as_text", skip_serializing_if = "Option::is_none")]
    pub as_of: Option<Date>,
    /// The platforms; `None` for an image that is built for the requested platform.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub platforms: Option<(Vec<String>, FactId)>,
    /// Environment variables; an error for a value that is unknown.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, (Result<String, Cause>, FactId)>,
    /// What the build changes in the contents of its base image.
    #[serde(rename = "of_base")]
    pub base_changes: Box<BaseChanges>,
    /// Packages in the order of the commands that install them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub packages: Vec<ObservedPackage>,
    /// Packages that commands remove.
    #[serde(rename = "gone", skip_serializing_if = "Vec::is_empty")]
    pub removed_packages: Vec<RemovedPackage>,
    /// Packages that a command installed and a later one removed: what their installation replaced stays replaced.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub uninstalled_packages: Vec<ObservedPackage>,
    /// Constraints of commands on transitive dependencies.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub bounds: Vec<ObservedPackage>,
    /// The number of commands that were read.
    pub commands: u32,
    /// Whether commands install another Python.
    pub other_python: bool,
    /// Files by path.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub files: BTreeMap<String, ObservedFile>,
    /// GPU code.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub code: Vec<ObservedGpuCode>,
    /// The libraries that files depend on.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub needs: Vec<ObservedLibraryDependencies>,
    /// The repository of a base image of which only the tag or digest is unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base_repository: Option<String>,
    /// Commands that query the build machine.
    #[serde(rename = "build_asks", skip_serializing_if = "Vec::is_empty")]
    pub build_probes: Vec<BuildMachineQuery>,
    /// The program that the image starts, if declared.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub entrypoint: Option<(Vec<String>, FactId)>,
    /// The arguments of its CMD, if declared; in shell form, the shell comes first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<(Vec<String>, FactId)>,
    /// How the current requirement of the base tag differs from that of the pinned digest; `None` if the tag was not
    /// read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tag_now: Option<(Vec<String>, FactId)>,
    /// CUDA runtime of code outside of packages.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cuda_runtime: Option<(CudaVersion, FactId)>,
    /// The kinds of content that are completely known.
    pub complete: Completeness,
    /// The fact that declares completeness without an inspection of the image.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub complete_by: Option<FactId>,
}

impl Observations {
    /// Records a removal: the package is no longer installed, if an earlier command installed it in the environment.
    ///
    /// If another environment keeps the package, that one decides, and nothing of the removed one counts.
    pub fn remove_package(&mut self, removal: RemovedPackage, is_here: &dyn Fn(&ObservedPackage) -> bool) {
        let matches_removal = |package: &ObservedPackage| {
            let earlier = (1..=removal.command).contains(&package.command);
            earlier && package.requirement.manager == removal.manager && package.requirement.name == removal.name
        };
        let removed: Vec<ObservedPackage> =
            self.packages.extract_if(.., |package| matches_removal(package) && is_here(package)).collect();
        let is_elsewhere = self.packages.iter().any(matches_removal);
        if !is_elsewhere {
            self.uninstalled_packages.extend(removed);
            self.removed_packages.push(removal);
        }
    }

    /// Returns the packages that a command installed, in order, whether or not they were removed later.
    pub fn packages_of_command(&self, command: u32) -> impl Iterator<Item = &ObservedPackage> {
        self.uninstalled_packages.iter().chain(&self.packages).filter(move |package| package.command == command)
    }

    /// Returns the package installer that a command calls although it is certainly not installed.
    pub fn missing_installer(&self) -> Option<&str> {
        let missing = self.build_probes.iter().find(|one| one.what == BuildMachineProperty::Installer);
        missing.map(|one| one.command.as_str())
    }

    /// Creates observations without any content.
    pub fn new(depth: InspectionDepth) -> Self {
        Self {
            facts: Facts::default(),
            depth,
            base: ObservedBase::NotSaid,
            built_on: None,
            base_env: true,
            as_of: None,
            platforms: None,
            env: BTreeMap::new(),
            base_changes: Box::default(),
            packages: Vec::new(),
            removed_packages: Vec::new(),
            uninstalled_packages: Vec::new(),
            bounds: Vec::new(),
            commands: 0,
            other_python: false,
            files: BTreeMap::new(),
            code: Vec::new(),
            needs: Vec::new(),
            base_repository: None,
            build_probes: Vec::new(),
            entrypoint: None,
            command: None,
            tag_now: None,
            cuda_runtime: None,
            complete: Completeness::default(),
            complete_by: None,
        }
    }
}

impl Default for Observations {
    fn default() -> Self {
        Self::new(InspectionDepth::Description)
    }
}

/// Files that may contain shared libraries, although they belong to no package.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct UnpackagedFiles {
    /// The source as written: a path, a glob or a URL.
    pub source: String,
    /// The absolute target path, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    /// The image from which the files are copied unchanged, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,
}

/// A list of GPU targets that a build command compiles for, in a stage that is part of the image.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ObservedArchList {
    /// The variable or option that contains the list.
    pub name: String,
    /// The entries as written, each with its target.
    pub entries: Vec<(String, CodeTarget)>,
    /// Whether the list requests PTX; `None` where that is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ptx: Option<bool>,
    /// The base image whose compiler uses the list; `None` where it may be another compiler.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compiler: Option<ImageReference>,
    /// Evidence.
    pub fact: FactId,
}
