//! What commands install: Python distributions, conda packages and system packages.

mod address;
mod archive;
mod conda;
mod edit;
mod environment;
mod export;
mod extension;
mod files;
mod flow;
mod groups;
mod index;
mod installers;
mod invocation;
mod lists;
mod lock;
mod marker;
mod nvcc;
mod options;
mod package_name;
mod pattern;
mod pip;
mod pipenv;
mod project;
mod pythons;
mod range;
mod requirement;
mod requirements;
mod setup;
mod system;
mod targets;
mod tools;
mod torch_list;
mod tree;
mod uv_config;
mod uv_lock;
mod variant;

use crate::context::Kept;
use crate::dockerfile::Lookup;
use crate::dockerfile::Mapped;
use crate::dockerfile::Resolved;
use crate::dockerfile::RunInstruction;
use crate::install::invocation::Invocation;
use crate::install::invocation::invocation;
use crate::knowledge::Knowledge;
use crate::shell::Command;
use crate::shell::Word;
use crate::source::SourceId;
use crate::source::Span;

pub use archive::archive;
pub use archive::archive_folder;
pub use archive::archive_of;
pub use archive::is_archive;
pub use archive::unpacked;
pub use edit::Edit;
pub use edit::sed;
pub use export::written_to;
pub use extension::may_compile;
pub use extension::of_project;
pub use extension::of_repository;
pub use flow::input;
pub use flow::output;
pub use index::EVERY_BUILD;
pub use invocation::is_of_system;
pub use invocation::python_named;
pub use invocation::python_of;
pub use lists::ArchList;
pub use lists::lists;
pub use marker::Environment;
pub use marker::Machine;
pub use package_name::is_file;
pub use range::admits;
pub use range::between;
pub use range::order;
pub use range::public;
pub use requirement::is_source;
pub use requirement::normalised;
pub use requirement::requirement;
pub use targets::Compiled;
pub use targets::compiled;
pub use targets::switched_on;
pub use variant::tag_of_url;

/// Why a lock file is not there that a COPY names: what is installed is by that file all the same.
pub const NAMED: &str = "a COPY names it, but it is not in the build context";

/// Why a file is not read that a secret mount brings.
pub const OF_A_SECRET: &str = "it is a build secret";

/// Who installs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Manager {
    /// pip, or uv in pip's place.
    Pip,
    /// conda, mamba or micromamba.
    Conda,
    /// apt, dpkg, dnf, yum, zypper or rpm.
    Apt,
}

/// Which version a command asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum VersionSpec {
    /// One version, with its local part.
    Exact(String),
    /// Anything in a range.
    Range(String),
    /// Whatever there is.
    None,
    /// A variable that the file does not give.
    Unresolved,
}

/// Where a variant is read from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum VariantSource {
    /// `+cu118` in the version.
    LocalVersion,
    /// The index that replaces the usual one.
    IndexUrl,
    /// A further index, which decides since the version is exact.
    ExtraIndex,
    /// The address of a wheel.
    WheelUrl,
    /// A page of links.
    FindLinks,
    /// uv's choice of a backend.
    TorchBackend,
}

/// Which build of a distribution: `cu118`, `cpu`, `rocm6.0`, `xpu`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variant {
    /// The tag.
    pub tag: String,
    /// Where it is read from.
    pub from: VariantSource,
    /// Where that is written.
    pub span: Span,
    /// The file that it is written in; the command's own where `None`.
    pub source: Option<SourceId>,
}

/// Which builds of a distribution a command chooses from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Builds {
    /// Those of the default index.
    #[default]
    Default,
    /// Those of one build's index alone.
    Only(String),
    /// Those of the default index and of these builds' indexes; the best version wins, a local one above its base.
    Beside(Vec<String>),
    /// The one at this address, which is outside of any index and was not read.
    Elsewhere(String),
    /// That cannot be told, for this reason.
    Unknown(String),
}

/// One package that a command installs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Install {
    /// Who installs it.
    pub manager: Manager,
    /// Its name; for pip in PEP 503's form.
    pub name: String,
    /// The extras in brackets.
    pub extras: Vec<String>,
    /// The version.
    pub version: VersionSpec,
    /// Why the version cannot be told, where it is no variable that hides it.
    pub untold: Option<String>,
    /// The build, where the command decides it.
    pub variant: Option<Variant>,
    /// The builds to choose from, where the version does not say.
    pub builds: Builds,
    /// Why it may be a version that is no release.
    pub early: Option<String>,
    /// Whether a version that is there already is replaced.
    pub upgrade: bool,
    /// Whether it comes without what it depends on.
    pub alone: bool,
    /// conda's build string, where it is asked for.
    pub build: Option<String>,
    /// conda's channel that comes first, where it is named.
    pub channel: Option<String>,
    /// The Python that the command names by its version.
    pub python: Option<String>,
    /// The word that names it.
    pub span: Span,
    /// The file that the word stands in; the command's own where `None`.
    pub source: Option<SourceId>,
    /// Whether the command may not run.
    pub conditional: bool,
}

/// `-r FILE` or `-c FILE`, or an environment file of conda.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequirementFile {
    /// The path as the command names it.
    pub path: Resolved,
    /// Whether it only constrains versions.
    pub constraint: bool,
    /// The extras of a project that are asked for.
    pub extras: Vec<String>,
    /// Where it is written.
    pub span: Span,
    /// Why it was not read.
    pub why: String,
}

/// A file as a command finds it in the image.
#[derive(Clone, Debug)]
pub struct Opened {
    /// The source that its places are of; the command's own where `None`.
    pub source: Option<SourceId>,
    /// Where it lies in the image.
    pub path: String,
    /// What is in it.
    pub text: Mapped,
    /// What was made of that.
    pub kept: Kept,
}

impl Opened {
    /// A text, of which nothing is kept.
    pub fn new(source: Option<SourceId>, path: impl Into<String>, text: Mapped) -> Self {
        Self { source, path: path.into(), text, kept: Kept::default() }
    }

    /// The same file with another text.
    #[must_use]
    pub fn with(&self, text: Mapped) -> Self {
        Self::new(self.source, self.path.clone(), text)
    }
}

/// What a command finds around it.
#[derive(Clone, Copy)]
pub struct Around<'a> {
    /// Variables that the command itself does not set.
    pub lookup: &'a dyn Fn(&str) -> Lookup,
    /// Opens a path as seen from a folder; the folder is empty for the command's own. An error says why not.
    pub open: &'a dyn Fn(&str, &str) -> Result<Opened, String>,
    /// What markers ask for.
    pub environment: Environment<'a>,
    /// The tables.
    pub knowledge: Knowledge,
}

/// Why a file that no instruction brings is not read.
pub const NOT_BROUGHT: &str = "no COPY adds it to the image";

/// Folders of wheels that a command looks in.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Folders {
    /// Their paths as the command names them.
    pub named: Vec<String>,
    /// Whether it looks nowhere else.
    pub alone: bool,
}

/// What one command does to the packages.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Installs {
    /// What it installs.
    pub packages: Vec<Install>,
    /// What it takes away again, and where that is written.
    pub removed: Vec<(Manager, String, Span)>,
    /// Bounds on what other packages bring.
    pub constraints: Vec<Install>,
    /// The wheels that it puts into a folder, installing none of them.
    pub gathered: Option<(Resolved, Vec<Install>)>,
    /// Patterns of wheels that it installs: `/wheels/*.whl`.
    pub wheels: Vec<(String, Span)>,
    /// The folders that pip looks for wheels in.
    pub folders: Folders,
    /// Files that name more and were not read.
    pub files: Vec<RequirementFile>,
    /// Repositories and archives whose requirements no table tells: the address, and where it is written.
    pub sources: Vec<(String, Span, Option<SourceId>)>,
    /// Whether pip takes all of it from the default index.
    pub usual: bool,
    /// Words that might name packages but are not known, with the reason.
    pub unresolved: Vec<(Resolved, Span)>,
}

/// What a command of a RUN installs and removes by the tables, without the files that it names.
pub fn installs(command: &Command, run: &RunInstruction, knowledge: Knowledge) -> Installs {
    let environment = Environment { machine: Machine::new("x86_64"), python: None };
    let open = |_: &str, _: &str| Err("files are not read here".to_owned());
    installs_with(command, Around { lookup: &|name| run.scope.lookup(name), open: &open, environment, knowledge })
}

/// The same with everything around it.
pub fn installs_with(command: &Command, around: Around<'_>) -> Installs {
    let variable = |name: &str| match command.variable(name) {
        Some(value) => value.known().map(str::to_owned),
        None => match (around.lookup)(name) {
            Lookup::Known(value, _) => Some(value),
            _ => None,
        },
    };
    let mut found = Installs::default();
    let mut words = command.words.as_slice();
    let mut handed: Option<Result<Vec<Opened>, String>> = None;
    for _ in 0..8 {
        let Some(program) = words.first().and_then(Word::known) else { break };
        let program = program.rsplit('/').next().unwrap_or(program);
        let after = |skip: usize| words.get(skip..).unwrap_or(&[]);
        match invocation(program, words) {
            Some(Invocation::Inside(skip)) => {
                if program == "xargs" {
                    handed = Some(flow::handed(words, command, &around));
                }
                if matches!(program, "uv" | "pixi") {
                    // What a project needs is installed before its program runs.
                    tools::read(program, words.get(1..skip).unwrap_or(&[]), command, &around, &mut found);
                }
                words = after(skip);
                continue;
            }
            Some(Invocation::Pip(skip, uv)) => {
                let handed = handed.take();
                pip::read(after(skip), uv, handed, command, &around, &variable, &mut found);
            }
            Some(Invocation::Once(skip)) => tools::once(after(skip), command, around.knowledge, &mut found),
            Some(Invocation::Synced) => {
                let words = export::synced(words);
                pip::read(&words, false, None, command, &around, &variable, &mut found);
            }
            Some(Invocation::Tool(skip)) => tools::read(program, after(skip), command, &around, &mut found),
            Some(Invocation::Conda) => conda::read(after(1), command, &around, &mut found),
            Some(Invocation::CondaLock) => conda::lock(after(1), command, &around, &mut found),
            Some(Invocation::System) => system::read(program, after(1), (command, around.knowledge), &mut found),
            None => {
                installers::read(words, command, around.knowledge, &mut found);
                archive::fetched(words, command, around.knowledge, &mut found);
            }
        }
        if handed.is_some() && (!found.packages.is_empty() || !found.removed.is_empty()) {
            let reason = "another command passes more arguments to it".to_owned();
            found.unresolved.push((Resolved::Unresolved { names: Vec::new(), reason }, command.span));
        }
        let python = python_of(program);
        for package in &mut found.packages {
            package.python.clone_from(&python);
        }
        break;
    }
    found
}

#[cfg(test)]
mod tests;
