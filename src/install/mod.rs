//! What commands install: Python distributions, conda packages and system packages.

mod arch_lists;
mod build_variant;
mod compile_targets;
mod conda;
mod conda_environment;
mod driver_installers;
mod framework_archive;
mod invocation;
mod lenient_toml;
mod lock_export;
mod lock_file;
mod lock_groups;
mod lock_markers;
mod marker;
mod nvcc;
mod package_index;
mod partial_url;
mod pip;
mod pip_options;
mod pipenv;
mod project_tools;
mod pyproject;
mod requirement;
mod requirement_files;
mod requirement_lines;
mod setuptools;
mod simple_regex;
mod standard_streams;
mod stream_edit;
mod system_package_name;
mod system_packages;
mod torch_arch_list;
mod torch_extension;
mod uv_lock;
mod version_range;

use crate::cause::Cause;
use crate::context::ParseCache;
use crate::dockerfile::{ExpandedText, MappedText, RunInstruction, VariableLookup};
use crate::install::invocation::{InstallerInvocation, installer_invocation};
use crate::knowledge::Knowledge;
use crate::shell::{Command, Word};
use crate::source::{SourceId, Span};

pub use arch_lists::{ArchList, read_arch_lists};
pub use build_variant::tag_of_url;
pub use compile_targets::{CompiledCode, compiled_code, enables_gpu_code};
pub use framework_archive::{
    archive_folder, downloaded_archive_folder, is_framework_archive, parse_archive, unpacked_archive,
};
pub use invocation::{is_system_package_command, python_version_of_command, python_version_of_program};
pub use lock_export::exported_file;
pub use marker::{MarkerEnvironment, TargetMachine};
pub use requirement::{is_source_requirement, normalise_name, parse_requirement};
pub use standard_streams::{standard_input, standard_output};
pub use stream_edit::{StreamEdit, parse_sed};
pub use system_package_name::is_package_file;
pub use torch_extension::{compiled_project, compiled_repository, may_compile_project};
pub use version_range::{compare_pep440_versions, is_version_between, public_version, range_contains};

/// The program that installs a package.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PackageInstaller {
    /// pip, or uv in pip's place.
    Pip,
    /// conda, mamba or micromamba.
    Conda,
    /// apt, dpkg, dnf, yum, zypper or rpm.
    Apt,
}

/// The version of a package that a command requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum VersionSpec {
    /// One version, including its local part.
    Exact(String),
    /// Any version in a range.
    Range(String),
    /// Any version.
    None,
    /// An unknown version, such as that of an unresolved variable.
    Unresolved,
}

/// Where a build variant is read from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum VariantSource {
    /// `+cu118` in the version.
    LocalVersion,
    /// The index that replaces the default one.
    IndexUrl,
    /// An extra index, which decides because the version is exact.
    ExtraIndex,
    /// The URL of a wheel.
    WheelUrl,
    /// A link page (`--find-links`).
    FindLinks,
    /// The torch backend of uv.
    TorchBackend,
}

/// The build of a distribution: `cu118`, `cpu`, `rocm6.0`, `xpu`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BuildVariant {
    /// The build tag.
    pub tag: String,
    /// Where the tag is read from.
    pub from: VariantSource,
    /// Where the tag is written.
    pub span: Span,
    /// The file that contains the tag; `None` for the command itself.
    pub source: Option<SourceId>,
}

/// The builds of a distribution that a command can choose from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum BuildCandidates {
    /// The builds of the default index.
    #[default]
    Default,
    /// Only the builds with this tag.
    Only(String),
    /// The builds of the default index and those with these tags; the best version wins, a local version above its
    /// base.
    Beside(Vec<String>),
    /// The build at this URL, which is outside any index and was not read.
    Elsewhere(String),
    /// Unknown builds, with the reason.
    Unknown(Cause),
}

/// A package that a command installs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PackageInstall {
    /// The program that installs it.
    pub manager: PackageInstaller,
    /// Its name; for pip as normalised by PEP 503.
    pub name: String,
    /// The requested extras.
    pub extras: Vec<String>,
    /// The requested version.
    pub version: VersionSpec,
    /// Why the version is unknown, unless a variable hides it.
    pub untold: Option<Cause>,
    /// The build, if the command determines it.
    pub variant: Option<BuildVariant>,
    /// The builds to choose from, if the version does not determine the build.
    pub builds: BuildCandidates,
    /// Why it may be a pre-release.
    pub early: Option<Cause>,
    /// Whether a version that is already installed is replaced.
    pub upgrade: bool,
    /// Whether it is installed without its dependencies.
    pub alone: bool,
    /// The requested conda build string.
    pub build: Option<String>,
    /// The first conda channel that is named.
    pub channel: Option<String>,
    /// The Python version in the name of the installing program.
    pub python: Option<String>,
    /// Where the package is named.
    pub span: Span,
    /// The file that names the package; `None` for the command itself.
    pub source: Option<SourceId>,
    /// Whether the package may not be installed, since the command is conditional or a marker is unknown.
    pub conditional: bool,
}

/// A requirement, constraint or project file, or an environment file of conda.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequirementFile {
    /// The path as written in the command.
    pub path: ExpandedText,
    /// Whether it only constrains versions.
    pub constraint: bool,
    /// The requested extras of a project.
    pub extras: Vec<String>,
    /// Where it is written.
    pub span: Span,
    /// Why the file was not read; `None` before it is read.
    pub why: Option<Cause>,
}

/// A file of the image as a command reads it.
#[derive(Clone, Debug)]
pub struct OpenedFile {
    /// The source that its spans refer to; `None` for the command itself.
    pub source: Option<SourceId>,
    /// The path in the image.
    pub path: String,
    /// The contents.
    pub text: MappedText,
    /// The cached parse result.
    pub kept: ParseCache,
}

impl OpenedFile {
    /// Creates a file without a cached parse result.
    pub fn new(source: Option<SourceId>, path: impl Into<String>, text: MappedText) -> Self {
        Self { source, path: path.into(), text, kept: ParseCache::default() }
    }

    /// Returns the same file with other contents.
    #[must_use]
    pub fn with_text(&self, text: MappedText) -> Self {
        Self::new(self.source, self.path.clone(), text)
    }
}

/// The context of a command: variables, files, marker environment and knowledge.
#[derive(Clone, Copy)]
pub struct CommandContext<'a> {
    /// Looks up a variable that the command does not set itself.
    pub lookup: &'a dyn Fn(&str) -> VariableLookup,
    /// Opens a path relative to a folder; an empty folder is the working directory. An error is why that is not
    /// possible.
    pub open: &'a dyn Fn(&str, &str) -> Result<OpenedFile, Cause>,
    /// The environment that markers are evaluated for.
    pub environment: MarkerEnvironment<'a>,
    /// The knowledge tables.
    pub knowledge: Knowledge,
}

/// Folders that a command searches for wheels.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FindLinksFolders {
    /// The paths as written in the command.
    pub named: Vec<String>,
    /// Whether nothing else is searched.
    pub alone: bool,
}

/// The effects of one command on packages.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InstallEffects {
    /// The packages that it installs.
    pub packages: Vec<PackageInstall>,
    /// The packages that it removes, and where that is written.
    pub removed: Vec<(PackageInstaller, String, Span)>,
    /// Constraints on the versions of dependencies.
    pub constraints: Vec<PackageInstall>,
    /// The wheels that it saves in a folder without installing them.
    pub gathered: Option<(ExpandedText, Vec<PackageInstall>)>,
    /// Glob patterns of wheels that it installs: `/wheels/*.whl`.
    pub wheels: Vec<(String, Span)>,
    /// The folders that pip searches for wheels.
    pub folders: FindLinksFolders,
    /// Requirement files that were not read.
    pub files: Vec<RequirementFile>,
    /// Repositories and archives with unknown requirements: the address, and where it is written.
    pub sources: Vec<(String, Span, Option<SourceId>)>,
    /// Whether pip uses only the default index.
    pub usual: bool,
    /// Words that may name packages but are unknown, with the reason.
    pub unresolved: Vec<(ExpandedText, Span)>,
}

/// Returns the effects of a command of a RUN instruction, without reading the files that it names.
pub fn read_installs(command: &Command, run: &RunInstruction, knowledge: Knowledge) -> InstallEffects {
    let environment = MarkerEnvironment { machine: TargetMachine::new("x86_64"), python: None };
    let open = |_: &str, _: &str| Err(Cause::NotRead);
    read_installs_in_context(
        command,
        CommandContext { lookup: &|name| run.scope.lookup(name), open: &open, environment, knowledge },
    )
}

/// Returns the effects of a command in a context, including those of the files that it names.
pub fn read_installs_in_context(command: &Command, around: CommandContext<'_>) -> InstallEffects {
    let variable = |name: &str| match command.variable(name) {
        Some(value) => value.known_text().map(str::to_owned),
        None => match (around.lookup)(name) {
            VariableLookup::Known(value, _) => Some(value),
            _ => None,
        },
    };
    let mut found = InstallEffects::default();
    let mut words = command.words.as_slice();
    let mut handed: Option<Result<Vec<OpenedFile>, Cause>> = None;
    for _ in 0..8 {
        let Some(program) = words.first().and_then(Word::known) else { break };
        let program = program.rsplit('/').next().unwrap_or(program);
        let after = |skip: usize| words.get(skip..).unwrap_or(&[]);
        match installer_invocation(program, words) {
            Some(InstallerInvocation::Inside(skip)) => {
                if program == "xargs" {
                    handed = Some(standard_streams::xargs_arguments(words, command, &around));
                }
                if matches!(program, "uv" | "pixi") {
                    // What a project needs is installed before its program runs.
                    project_tools::read_arguments(
                        program,
                        words.get(1..skip).unwrap_or(&[]),
                        command,
                        &around,
                        &mut found,
                    );
                }
                words = after(skip);
                continue;
            }
            Some(InstallerInvocation::Pip(skip, uv)) => {
                let handed = handed.take();
                pip::read_arguments(after(skip), uv, handed, command, &around, &variable, &mut found);
            }
            Some(InstallerInvocation::Once(skip)) => {
                project_tools::read_single_run(after(skip), command, around.knowledge, &mut found);
            }
            Some(InstallerInvocation::Synced) => {
                let words = lock_export::pip_sync_arguments(words);
                pip::read_arguments(&words, false, None, command, &around, &variable, &mut found);
            }
            Some(InstallerInvocation::Tool(skip)) => {
                project_tools::read_arguments(program, after(skip), command, &around, &mut found);
            }
            Some(InstallerInvocation::Conda) => conda::read_arguments(after(1), command, &around, &mut found),
            Some(InstallerInvocation::CondaLock) => conda::read_conda_lock(after(1), command, &around, &mut found),
            Some(InstallerInvocation::System) => {
                system_packages::read_arguments(program, after(1), (command, around.knowledge), &mut found);
            }
            None => {
                driver_installers::read_installer(words, command, around.knowledge, &mut found);
                framework_archive::read_downloads(words, command, around.knowledge, &mut found);
            }
        }
        if handed.is_some() && (!found.packages.is_empty() || !found.removed.is_empty()) {
            let value = ExpandedText::unresolved(Vec::new(), Cause::MoreArguments);
            found.unresolved.push((value, command.span));
        }
        let python = python_version_of_program(program);
        for package in &mut found.packages {
            package.python.clone_from(&python);
        }
        break;
    }
    found
}

#[cfg(test)]
mod tests;
