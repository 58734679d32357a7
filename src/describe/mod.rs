//! Image descriptions: what a person or a script says about an image that nobody can look into.

mod checked;
mod file;
mod json;
mod package;
mod write;

use crate::cuda::CodeTarget;
use crate::cuda::CudaVersion;
use crate::fact::Depth;
use crate::source::Span;

pub use self::file::CODE_KEYS;
pub use self::file::DescriptionErrors;
pub use self::file::KEYS;
pub use self::file::PACKAGE_KEYS;
pub use self::json::BadDescription;
pub use self::package::Gone;
pub use self::package::Package;
pub(crate) use self::write::quoted;

/// A value and the place where it is written; an empty place where it comes from no text.
#[derive(Clone, Debug)]
pub struct Spanned<T> {
    /// The value.
    pub value: T,
    /// Where.
    pub span: Span,
}

impl<T> Spanned<T> {
    /// A value that comes from no text.
    pub const fn nowhere(value: T) -> Self {
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

/// A part of a description that may be said to list everything.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Family {
    /// Environment variables.
    Env,
    /// Packages of all managers.
    Packages,
    /// Files.
    Files,
    /// GPU code.
    Code,
    /// Everything that may bring a shared library, beside the base.
    Libraries,
}

impl Family {
    /// All of them.
    pub const ALL: &[Self] = &[Self::Env, Self::Packages, Self::Files, Self::Code, Self::Libraries];

    /// All their words, in the order of [`Self::ALL`].
    pub const WORDS: &[&str] = &["env", "packages", "files", "code", "libraries"];

    /// The word of the file.
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

/// The words for what a description tells of, each with how deep that was looked into.
pub(crate) const TOLD_OF: &[(&str, Depth)] =
    &[("dockerfile", Depth::Text), ("config", Depth::Config), ("sbom", Depth::Sbom), ("layers", Depth::Layers)];

/// The word for how deep an input was looked into; none for a description that somebody wrote.
fn told_of(depth: Depth) -> Option<&'static str> {
    TOLD_OF.iter().find(|(_, own)| *own == depth).map(|(word, _)| *word)
}

/// A name with its value.
pub type Named<T> = (Spanned<String>, T);

/// The packages of each manager, in the order in which they are installed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Packages {
    /// Python distributions by pip.
    pub pip: Vec<Named<Spanned<Package>>>,
    /// conda packages.
    pub conda: Vec<Named<Spanned<Package>>>,
    /// Debian packages.
    pub apt: Vec<Named<Spanned<Package>>>,
    /// Bounds that commands put on what other packages bring.
    pub bounds: Vec<Named<Spanned<Package>>>,
    /// What commands take away.
    pub gone: Vec<Spanned<Gone>>,
    /// Whether commands bring a Python of their own.
    pub other_python: bool,
    /// A command that chooses packages by the driver of the machine that builds.
    pub by_driver: Option<Spanned<String>>,
    /// Why there may be more than is listed, such as a list of packages that nobody read.
    pub unread: Option<Spanned<String>>,
    /// The numbers of commands that install wheels of which nobody knows which they are.
    pub unknown_wheels: Vec<Spanned<u32>>,
    /// The numbers of commands that may install more than is listed.
    pub untold: Vec<Spanned<u32>>,
    /// The numbers of commands that keep, of what they name, what is there already.
    pub keeping: Vec<Spanned<u32>>,
    /// Commands that take the newest of all that they bring along as well: the number of each.
    pub renewing: Vec<Spanned<u32>>,
}

impl Packages {
    /// The lists of commands by their names.
    fn commands(&self) -> [(&'static str, &[Spanned<u32>]); 4] {
        [
            ("unknown_wheels", &self.unknown_wheels),
            ("untold", &self.untold),
            ("keeping", &self.keeping),
            ("renewing", &self.renewing),
        ]
    }

    /// The sections by their names.
    fn sections(&self) -> [(&'static str, &[Named<Spanned<Package>>]); 4] {
        [("pip", &self.pip), ("conda", &self.conda), ("apt", &self.apt), ("bounds", &self.bounds)]
    }
}

/// A base image that cannot be told.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UnknownBase {
    /// Why.
    pub reason: String,
    /// What would tell it.
    pub supply: Option<String>,
    /// Its repository, where only what follows is not known.
    pub repository: Option<String>,
}

/// What the ELF note of a compat library admits.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ElfNote {
    /// CUDA version of the library.
    pub cuda: Option<Spanned<CudaVersion>>,
    /// Driver branches.
    pub driver: Vec<Spanned<u32>>,
    /// Device classes.
    pub device: Vec<Spanned<u32>>,
}

/// What is known of one file; nothing beyond its being there where all is empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileFacts {
    /// Target of a symbolic link.
    pub link: Option<Spanned<String>>,
    /// Whole text.
    pub text: Option<Spanned<String>>,
    /// ELF note.
    pub elf_note: Option<ElfNote>,
    /// Libraries that the loader resolves before the program starts.
    pub needs: Vec<Spanned<String>>,
    /// Libraries that the program opens while it runs.
    pub opens: Vec<Spanned<String>>,
}

/// A value in which `${NAME}` stands for a variable of the base, and `$$` for a dollar sign.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OnBase {
    /// The value.
    pub set: Spanned<String>,
    /// The value where the base does not set the variable, if that is another.
    pub unset: Option<Spanned<String>>,
}

/// GPU code of one library.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GpuCode {
    /// The library.
    pub file: Option<Spanned<String>>,
    /// The package it belongs to.
    pub component: Option<Spanned<String>>,
    /// Why nobody knows for which GPUs it is compiled.
    pub untold: Option<Spanned<String>>,
    /// Targets of native code; none = not declared.
    pub sass: Option<Vec<Spanned<CodeTarget>>>,
    /// Targets of PTX; none = not declared.
    pub ptx: Option<Vec<Spanned<CodeTarget>>>,
    /// Targets of PTX that is linked while the program runs, if at all.
    pub linkable: Vec<Spanned<CodeTarget>>,
    /// The newest version of the PTX language in it.
    pub ptx_isa: Option<Spanned<CudaVersion>>,
    /// How many containers of the library hold just that; one where not said.
    pub containers: Option<Spanned<u32>>,
    /// Libraries that the loader resolves before the program starts.
    pub needs: Vec<Spanned<String>>,
    /// Libraries that the program opens while it runs.
    pub opens: Vec<Spanned<String>>,
}

/// A description; what is missing is not declared.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Description {
    /// How deep the input was looked into that it tells of; of a Dockerfile what its base brings is not known.
    pub of: Depth,
    /// Image it is built on.
    pub base: Option<Spanned<String>>,
    /// That the image it is built on cannot be told.
    pub base_unknown: Option<Spanned<UnknownBase>>,
    /// Day as of which it holds.
    pub as_of: Option<Spanned<jiff::civil::Date>>,
    /// `linux/amd64`, or all of them; none where nothing fixes it.
    pub platforms: Vec<Spanned<String>>,
    /// Whether the files of the base were copied into an empty image, so that its environment is not there.
    pub from_scratch: bool,
    /// Whether commands compile for GPUs, or what nobody read is copied into it.
    pub builds_for_gpus: bool,
    /// CUDA runtime of the image.
    pub cuda_runtime: Option<Spanned<CudaVersion>>,
    /// Program that the image starts.
    pub entrypoint: Option<Spanned<Vec<String>>>,
    /// What the tag of the base asks of a node by now, other than the pinned digest.
    pub tag_now: Option<Spanned<Vec<String>>>,
    /// Families of which everything is listed.
    pub complete: Vec<Spanned<Family>>,
    /// Environment variables.
    pub env: Vec<Named<Spanned<String>>>,
    /// Environment variables whose values build on the environment of the base.
    pub env_on_base: Vec<Named<OnBase>>,
    /// What the build removes of the base: packages and absolute paths.
    pub removed: Vec<Spanned<String>>,
    /// Variables that are set to a value that cannot be told.
    pub env_unknown: Vec<Spanned<String>>,
    /// Packages.
    pub packages: Packages,
    /// Files by path.
    pub files: Vec<Named<FileFacts>>,
    /// GPU code.
    pub gpu_code: Vec<GpuCode>,
}
