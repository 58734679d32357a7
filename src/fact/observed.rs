//! What the readers saw in one input, before any table is asked: the common ground of Dockerfiles,
//! image configurations, image descriptions and saved reports.

use std::collections::BTreeMap;
use std::collections::BTreeSet;

use jiff::civil::Date;
use serde::Deserialize;
use serde::Serialize;

use crate::cuda::CodeTarget;
use crate::cuda::CudaVersion;
use crate::fact::ArchListSeen;
use crate::fact::ElfNote;
use crate::fact::FactId;
use crate::fact::Facts;
use crate::fact::LooseSeen;
use crate::fact::PackageGone;
use crate::fact::PackageSeen;
use crate::fact::Why;
use crate::fact::as_text;
use crate::reference::ImageReference;

/// How deep an input was looked into.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Depth {
    /// The text of a Dockerfile.
    Text,
    /// An image description.
    #[default]
    Description,
    /// Manifest and configuration of an image.
    Config,
    /// The same, and the list of packages that somebody keeps beside the image.
    Sbom,
    /// Manifest, configuration and every layer.
    Layers,
}

impl Depth {
    /// The word in reports.
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

/// The base image.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BaseSeen {
    /// Nothing is said of it.
    NotSaid,
    /// `FROM scratch`.
    Scratch(FactId),
    /// A reference.
    Image(ImageReference, FactId),
    /// Behind a variable or template without value.
    Unresolved(Why, FactId),
}

/// What is known of a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FileKind {
    /// It is there.
    Present,
    /// A library with NVIDIA's forward compatibility note.
    Noted(ElfNote),
    /// A symbolic link.
    Link(String),
    /// A text.
    Text(String),
    /// A file with the name of a library that no loader takes for one: it is empty, for another machine, or something else.
    NoLibrary,
}

/// A file.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct FileSeen {
    /// What is known of it.
    pub kind: FileKind,
    /// Evidence.
    pub fact: FactId,
}

/// A piece of a value that builds on the environment of the base image.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TemplatePart {
    /// As it stands.
    Text(String),
    /// The value of a variable of the base image.
    Variable(String),
}

/// A value that builds on the environment of the base image, such as `/opt/x:$LD_LIBRARY_PATH`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EnvTemplate {
    /// The value.
    pub set: Vec<TemplatePart>,
    /// The value where the base image does not set the variable, if that is another.
    pub unset: Option<String>,
}

impl EnvTemplate {
    /// The variables of the base image, each once.
    pub fn variables(&self) -> BTreeSet<&str> {
        let names = self.set.iter().filter_map(|part| match part {
            TemplatePart::Text(_) => None,
            TemplatePart::Variable(name) => Some(name.as_str()),
        });
        names.collect()
    }

    /// The value with the variables put in; none where one has none.
    pub fn filled(&self, value: impl Fn(&str) -> Option<String>) -> Option<String> {
        let pieces = self.set.iter().map(|part| match part {
            TemplatePart::Text(text) => Some(text.clone()),
            TemplatePart::Variable(name) => value(name),
        });
        pieces.collect()
    }
}

/// What is done to what the base image brings and with its compiler, what may have been put beside it, what of it was
/// not read, and which texts and stages say so.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct OfBase {
    /// How values that cannot be told build on the environment of the base image.
    pub env_templates: BTreeMap<String, EnvTemplate>,
    /// What commands remove of it: packages and absolute paths.
    pub removed: Vec<(String, FactId)>,
    /// Driver libraries that may be there, with what stands in the way of knowing it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub perhaps: BTreeMap<String, (String, FactId)>,
    /// Lists of GPUs that commands compile for, in the stages that the image is made of.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub arch_lists: Vec<ArchListSeen>,
    /// The commands that ENTRYPOINT and CMD come to, each on one line with the program by its name; of an image or its
    /// Dockerfile alone, and not of its base.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub starts: Option<(Vec<String>, FactId)>,
    /// The words of ENTRYPOINT and CMD as they are written.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub start_words: Vec<String>,
    /// Commands that install by something that was not read, such as a list, a project or a folder of wheels: the number of
    /// each, and why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unknown_wheels: Vec<(u32, FactId)>,
    /// Those of them that run a script, which installs no other build of what a later command pins.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub scripts: Vec<FactId>,
    /// Whether commands compile for GPUs, or what nobody read is copied there.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub builds_for_gpus: bool,
    /// Commands that may install packages of which nobody knows which they are: the number of each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub untold: Vec<u32>,
    /// Commands of an installer that keeps, of what they name, what is there already: the number of each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub keeping: Vec<u32>,
    /// Commands of an installer that take the newest of all that they bring along as well: the number of each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub renewing: Vec<u32>,
    /// What is put there without a package and may be a library, or hold some.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub loose: Vec<LooseSeen>,
    /// What of its layers was not read, where the image itself was.
    #[serde(default, skip_serializing_if = "Unread::is_nothing")]
    pub unread: Unread,
    /// Texts beside the Dockerfile that instructions read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub brought: Vec<BroughtText>,
}

/// GPU code of one library.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct CodeSeen {
    /// Path.
    pub file: String,
    /// Component that it belongs to.
    pub component: Option<String>,
    /// Cubins.
    pub sass: Vec<CodeTarget>,
    /// PTX.
    pub ptx: Vec<CodeTarget>,
    /// PTX of parts that a driver may link while the program runs, where nothing that is linked already fits.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub linkable: Vec<CodeTarget>,
    /// The newest version of the PTX language in it, which tells the compiler that made it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub isa: Option<CudaVersion>,
    /// How many containers hold just that.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub count: usize,
    /// Of which kind of code nobody has said anything.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unsaid: Option<Unsaid>,
    /// The CUDA runtime that the file asks for, by its soname.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runtime: Option<String>,
    /// Evidence.
    pub fact: FactId,
}

/// A kind of code of which nothing was said.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Unsaid {
    /// Cubins.
    Sass,
    /// PTX.
    Ptx,
    /// Both: there is code that could not be read, and the evidence says why.
    Unread,
}

const fn one() -> usize {
    1
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
const fn is_one(count: &usize) -> bool {
    *count == 1
}

/// Libraries that a file asks for; where its fact is not known, there may be more of them.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct NeedsSeen {
    /// Path.
    pub file: String,
    /// Component that it belongs to.
    pub component: Option<String>,
    /// Sonames that the loader resolves before the program starts.
    pub needs: Vec<String>,
    /// Sonames that the program opens while it runs.
    pub opens: Vec<String>,
    /// Evidence.
    pub fact: FactId,
}

/// A command that asks the machine that builds for its GPU or its driver.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct BuildAskSeen {
    /// What it asks for: a word of the table of such commands.
    pub what: String,
    /// The command.
    pub command: String,
    /// Evidence.
    pub fact: FactId,
}

impl BuildAskSeen {
    /// What a command asks for that chooses packages by the driver of the machine that builds.
    pub const BY_DRIVER: &str = "variant";
    /// What a command asks for that calls an installer which is certainly not there.
    pub const MISSING_INSTALLER: &str = "installer";
}

/// A text beside the Dockerfile from which something was read, and the instruction that made the build read it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BroughtText {
    /// The number of the text among all of the run.
    pub text: u32,
    /// The number of the instruction in its Dockerfile.
    pub instruction: usize,
}

/// What of the layers of an image was not read, and of the environment that a container of it gets.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Unread {
    /// The first layer that was left out or not read to its end, and why.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub layer: Option<Why>,
    /// Files that may be programs, libraries or lists of packages.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<Why>,
    /// Variables that a container is started with and that stand elsewhere.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub env: Option<Why>,
}

impl Unread {
    /// Whether all was read.
    pub fn is_nothing(&self) -> bool {
        self.layer.is_none() && self.files.is_empty() && self.env.is_none()
    }
}

/// Families of which everything was seen, so that the rest is absent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[expect(clippy::struct_excessive_bools, reason = "independent families")]
pub struct Completeness {
    /// Environment.
    pub env: bool,
    /// Packages.
    pub packages: bool,
    /// Files.
    pub files: bool,
    /// GPU code.
    pub code: bool,
    /// Everything that may bring a shared library, beside the base.
    #[serde(default)]
    pub libraries: bool,
}

/// Everything that was seen in one input.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(default)]
pub struct Observations {
    /// The evidence.
    pub facts: Facts,
    /// How deep the input was looked into.
    pub depth: Depth,
    /// Base image.
    pub base: BaseSeen,
    /// What the FROM names of a Dockerfile beside a measured image: told of, and never taken for what the image holds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub built_on: Option<FactId>,
    /// Whether what tables say of the base's environment holds for the image; not where the files of the base
    /// alone were copied, nor where its environment was read.
    pub base_env: bool,
    /// Day of the build, where said.
    #[serde(with = "as_text", skip_serializing_if = "Option::is_none")]
    pub as_of: Option<Date>,
    /// Platforms; none = built for whatever is asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub platforms: Option<(Vec<String>, FactId)>,
    /// Environment; an error where a variable has a value that cannot be told.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, (Result<String, Why>, FactId)>,
    /// What is done to what the base image brings, and what may have been put beside it.
    pub of_base: Box<OfBase>,
    /// Packages in the order of the commands.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub packages: Vec<PackageSeen>,
    /// Packages that commands took away.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub gone: Vec<PackageGone>,
    /// Bounds that commands put on what other packages bring.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub bounds: Vec<PackageSeen>,
    /// How many commands were read.
    pub commands: u32,
    /// Whether commands bring a Python of their own.
    pub other_python: bool,
    /// Files by path.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub files: BTreeMap<String, FileSeen>,
    /// GPU code.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub code: Vec<CodeSeen>,
    /// Libraries that files ask for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub needs: Vec<NeedsSeen>,
    /// Repository of a base of which only the tag or digest cannot be told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base_repository: Option<String>,
    /// Commands that ask the machine that builds.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub build_asks: Vec<BuildAskSeen>,
    /// The program that the image starts, where one is said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub entrypoint: Option<(Vec<String>, FactId)>,
    /// What the tag of the base asks of a node by now, other than the digest beside it; empty where both ask the
    /// same, none where the tag was not read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tag_now: Option<(Vec<String>, FactId)>,
    /// CUDA runtime of code that is not one of the packages.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cuda_runtime: Option<(CudaVersion, FactId)>,
    /// What was seen whole.
    pub complete: Completeness,
    /// Where somebody says so who has not read the image.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub complete_by: Option<FactId>,
}

impl Observations {
    /// The installer that a command calls and that is certainly missing.
    pub fn missing_installer(&self) -> Option<&str> {
        let missing = self.build_asks.iter().find(|one| one.what == BuildAskSeen::MISSING_INSTALLER);
        missing.map(|one| one.command.as_str())
    }

    /// Nothing seen so far.
    pub fn new(depth: Depth) -> Self {
        Self {
            facts: Facts::default(),
            depth,
            base: BaseSeen::NotSaid,
            built_on: None,
            base_env: true,
            as_of: None,
            platforms: None,
            env: BTreeMap::new(),
            of_base: Box::default(),
            packages: Vec::new(),
            gone: Vec::new(),
            bounds: Vec::new(),
            commands: 0,
            other_python: false,
            files: BTreeMap::new(),
            code: Vec::new(),
            needs: Vec::new(),
            base_repository: None,
            build_asks: Vec::new(),
            entrypoint: None,
            tag_now: None,
            cuda_runtime: None,
            complete: Completeness::default(),
            complete_by: None,
        }
    }
}

impl Default for Observations {
    fn default() -> Self {
        Self::new(Depth::Description)
    }
}
