//! Image descriptions: files in which a user or a script declares the contents of an image that cannot be inspected.

mod described_package;
mod json;
mod parse;
mod validation;
mod write;

use std::collections::BTreeMap;

pub use self::described_package::{DescribedPackage, DescribedRemoval};
pub use self::json::DescriptionJsonError;
pub use self::parse::{DESCRIPTION_KEYS, DescriptionErrors, GPU_CODE_KEYS, PACKAGE_KEYS};
pub(crate) use self::write::toml_string;
use crate::cuda::{CodeTarget, CudaVersion};
use crate::model::fact::{InspectionDepth, InstallerBehavior};
use crate::text::source::Span;

/// A value with its span in the file; the span is empty for a value that comes from no text.
#[derive(Clone, Debug)]
pub struct Spanned<T> {
    /// The value.
    pub value: T,
    /// Its span in the file.
    pub span: Span,
}

impl<T> Spanned<T> {
    /// Creates a value that comes from no text.
    pub const fn without_span(value: T) -> Self {
        Self { value, span: Span::new(0, 0) }
    }
}

/// Values are equal wherever they are written.
impl<T: PartialEq> PartialEq for Spanned<T> {
    fn eq(&self, other: &Self) -> bool {
        self.value == other.value
    }
}

impl<T: Eq> Eq for Spanned<T> {}

/// A category of content that a description can declare as completely listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ContentCategory {
    /// Environment variables.
    Env,
    /// Packages of all package managers.
    Packages,
    /// Files.
    Files,
    /// GPU code.
    Code,
    /// Everything outside of the base image that may contain a shared library.
    Libraries,
}

impl ContentCategory {
    /// All categories.
    pub const ALL: &[Self] = &[Self::Env, Self::Packages, Self::Files, Self::Code, Self::Libraries];

    /// The names of all categories, in the order of `ALL`.
    pub const NAMES: &[&str] = &["env", "packages", "files", "code", "libraries"];

    /// Returns the name in the file.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Env => "env",
            Self::Packages => "packages",
            Self::Files => "files",
            Self::Code => "code",
            Self::Libraries => "libraries",
        }
    }
}

/// The kinds of input that a description can be made from, each with its inspection depth.
pub(crate) const SOURCE_KINDS: &[(&str, InspectionDepth)] = &[
    ("dockerfile", InspectionDepth::Text),
    ("config", InspectionDepth::Config),
    ("sbom", InspectionDepth::Sbom),
    ("layers", InspectionDepth::Layers),
];

/// Returns the kind of input that was inspected this deeply; `None` for a description that a user wrote.
fn source_kind(depth: InspectionDepth) -> Option<&'static str> {
    SOURCE_KINDS.iter().find(|(_, own)| *own == depth).map(|(word, _)| *word)
}

/// A name with its value.
pub type NamedEntry<T> = (Spanned<String>, T);

/// The packages of each package manager, in the order of installation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DescribedPackages {
    /// Python distributions installed by pip.
    pub pip: Vec<NamedEntry<Spanned<DescribedPackage>>>,
    /// conda packages.
    pub conda: Vec<NamedEntry<Spanned<DescribedPackage>>>,
    /// Debian packages.
    pub apt: Vec<NamedEntry<Spanned<DescribedPackage>>>,
    /// Constraints of commands on transitive dependencies.
    pub bounds: Vec<NamedEntry<Spanned<DescribedPackage>>>,
    /// Packages that commands remove.
    pub removed_packages: Vec<Spanned<DescribedRemoval>>,
    /// Whether commands install another Python.
    pub other_python: bool,
    /// A command that selects packages by the driver of the build machine.
    pub by_driver: Option<Spanned<String>>,
    /// Why there may be more packages than listed, such as a requirements file that was not read.
    pub unread: Option<Spanned<String>>,
    /// Numbers of the commands that install unknown wheels.
    pub unknown_wheels: Vec<Spanned<u32>>,
    /// Numbers of the commands with each behavior.
    pub behaviors: BTreeMap<InstallerBehavior, Vec<Spanned<u32>>>,
}

impl DescribedPackages {
    /// Returns the lists of command numbers with their keys.
    fn command_lists(&self) -> impl Iterator<Item = (&'static str, &[Spanned<u32>])> {
        let behaviors = self.behaviors.iter().map(|(behavior, commands)| (behavior.name(), commands.as_slice()));
        std::iter::once(("unknown_wheels", self.unknown_wheels.as_slice())).chain(behaviors)
    }

    /// Returns the package lists of the description, each with its key in the file: `pip`, `conda`, `apt`, `bounds`.
    fn package_lists(&self) -> [(&'static str, &[NamedEntry<Spanned<DescribedPackage>>]); 4] {
        [("pip", &self.pip), ("conda", &self.conda), ("apt", &self.apt), ("bounds", &self.bounds)]
    }
}

/// A base image that is unknown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UnknownBase {
    /// Why it is unknown.
    pub reason: String,
    /// What the user can do to make it known.
    pub supply: Option<String>,
    /// Its repository, if only tag or digest are unknown.
    pub repository: Option<String>,
}

/// The ELF note of a compat library, which lists its compatible drivers and devices.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DescribedElfNote {
    /// CUDA version of the library.
    pub cuda: Option<Spanned<CudaVersion>>,
    /// Driver branches.
    pub driver: Vec<Spanned<u32>>,
    /// Device classes.
    pub device: Vec<Spanned<u32>>,
}

/// What a description declares about a file; only its existence if everything is empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DescribedFile {
    /// The target of a symbolic link.
    pub link: Option<Spanned<String>>,
    /// The content of a text file.
    pub text: Option<Spanned<String>>,
    /// ELF note.
    pub elf_note: Option<DescribedElfNote>,
    /// Libraries that the loader resolves before the program starts.
    pub needs: Vec<Spanned<String>>,
    /// Libraries that the program opens at run time.
    pub opens: Vec<Spanned<String>>,
}

/// A value in which `${NAME}` stands for a variable of the base image, and `$$` for a dollar sign.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DescribedEnvTemplate {
    /// The value.
    pub set: Spanned<String>,
    /// The value if the base image does not set the variable itself, where it differs.
    pub unset: Option<Spanned<String>>,
}

/// The GPU code of a library.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DescribedGpuCode {
    /// The path of the library.
    pub file: Option<Spanned<String>>,
    /// The package that it belongs to.
    pub component: Option<Spanned<String>>,
    /// Why its GPU targets are unknown.
    pub targets_unknown: Option<Spanned<String>>,
    /// Targets of native code; `None` if not declared.
    pub sass: Option<Vec<Spanned<CodeTarget>>>,
    /// Targets of PTX; `None` if not declared.
    pub ptx: Option<Vec<Spanned<CodeTarget>>>,
    /// Targets of PTX that is linked at run time, if at all.
    pub linkable: Vec<Spanned<CodeTarget>>,
    /// The newest PTX ISA version in it.
    pub ptx_isa: Option<Spanned<CudaVersion>>,
    /// The number of containers with exactly this code; one if not declared.
    pub containers: Option<Spanned<u32>>,
    /// Libraries that the loader resolves before the program starts.
    pub needs: Vec<Spanned<String>>,
    /// Libraries that the program opens at run time.
    pub opens: Vec<Spanned<String>>,
}

/// An image description; anything that is missing is not declared.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ImageDescription {
    /// How deeply the described input was inspected; the base image of a Dockerfile is not inspected.
    pub source: InspectionDepth,
    /// The base image.
    pub base: Option<Spanned<String>>,
    /// The unknown base image.
    pub base_unknown: Option<Spanned<UnknownBase>>,
    /// The day of the build.
    pub as_of: Option<Spanned<jiff::civil::Date>>,
    /// The platforms, such as `linux/amd64`; empty if they are not fixed.
    pub platforms: Vec<Spanned<String>>,
    /// Whether the files of the base image were copied into an empty image, without its environment.
    pub from_scratch: bool,
    /// Whether commands compile for GPUs.
    pub builds_for_gpus: bool,
    /// Whether files are copied from an image whose content is unknown.
    pub copies_unread_images: bool,
    /// CUDA runtime of the image.
    pub cuda_runtime: Option<Spanned<CudaVersion>>,
    /// The program that the image starts.
    pub entrypoint: Option<Spanned<Vec<String>>>,
    /// The default arguments behind the entrypoint, or the program itself without one.
    pub command: Option<Spanned<Vec<String>>>,
    /// How the current requirement of the base image's tag differs from that of the pinned digest.
    pub tag_now: Option<Spanned<Vec<String>>>,
    /// The categories of which everything is listed.
    pub complete: Vec<Spanned<ContentCategory>>,
    /// Environment variables.
    pub env: Vec<NamedEntry<Spanned<String>>>,
    /// Environment variables whose values depend on the environment of the base image.
    pub env_on_base: Vec<NamedEntry<DescribedEnvTemplate>>,
    /// Packages and absolute paths of the base image that the build removes.
    pub removed: Vec<Spanned<String>>,
    /// Environment variables whose values are unknown.
    pub env_unknown: Vec<Spanned<String>>,
    /// Packages.
    pub packages: DescribedPackages,
    /// Files by path.
    pub files: Vec<NamedEntry<DescribedFile>>,
    /// GPU code.
    pub gpu_code: Vec<DescribedGpuCode>,
}
