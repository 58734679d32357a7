//! The result of the evaluation of a build target: its steps, and the variables that are visible at each.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use thiserror::Error;

use crate::dockerfile::{Dialect, ExpandedText, Heredoc, MappedText, VariableLookup, expand_variables};
use crate::knowledge::Knowledge;
use crate::model::cause::Cause;
use crate::model::reference::ImageReference;
use crate::text::source::Span;

/// What an evaluation assumes about the environment variables of the base image.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BaseEnvAssumption {
    /// Nothing is known of it.
    #[default]
    Unknown,
    /// Every variable is set, and values name it between [`BASE_MARK`]s.
    Named,
    /// No variable is set.
    Empty,
}

/// The character before and after the name of a base image variable in an expanded text.
pub const BASE_MARK: char = '\u{1}';

/// The known environment variables of one base image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BaseImageEnv {
    /// The image, as FROM names it.
    pub image: ImageReference,
    /// Its variables; the cause where a value is unknown.
    pub values: BTreeMap<String, Result<String, Cause>>,
    /// Whether these are all of them.
    pub whole: bool,
}

impl BaseImageEnv {
    /// Returns the variables in the form that a scope stores; their values have no source span.
    pub(super) fn to_scope_variables(&self) -> BTreeMap<String, ExpandedText> {
        let resolved = |(name, value): (&String, &Result<String, Cause>)| {
            let value = match value {
                Ok(value) => ExpandedText::literal(value.clone()),
                Err(reason) => ExpandedText::unresolved(vec![name.clone()], reason.clone()),
            };
            (name.clone(), value)
        };
        self.values.iter().map(resolved).collect()
    }
}

/// The build options that an evaluation uses: platform, build arguments, contexts and target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EvaluateOptions {
    /// `os/architecture` or `os/architecture/variant`.
    pub platform: String,
    /// Build arguments.
    pub build_args: BTreeMap<String, String>,
    /// Build arguments that get a value of which nothing is known.
    pub unknown_args: BTreeSet<String>,
    /// Named build contexts, by the name in FROM that each one replaces: `docker-image://…`, `target:…`.
    pub contexts: BTreeMap<String, String>,
    /// The stage to build: its name or number; the last one where `None`.
    pub target: Option<String>,
    /// The platforms that the build is configured for; any requested platform if empty.
    pub platforms: Vec<String>,
    /// The environment of the base image.
    pub base_env: BaseEnvAssumption,
    /// The environment of a base image, where it was read.
    pub known_env: Option<Arc<BaseImageEnv>>,
    /// The tables that list the contents of base images that were not read.
    pub knowledge: Knowledge,
}

impl EvaluateOptions {
    /// Creates options for the last stage on `linux/amd64`, without build arguments.
    pub fn new(knowledge: Knowledge) -> Self {
        Self {
            platform: "linux/amd64".to_owned(),
            build_args: BTreeMap::new(),
            unknown_args: BTreeSet::new(),
            contexts: BTreeMap::new(),
            target: None,
            platforms: Vec::new(),
            base_env: BaseEnvAssumption::Unknown,
            known_env: None,
            knowledge,
        }
    }

    /// Returns the image that a named build context substitutes for a name in FROM.
    pub(super) fn replacement_context(&self, name: &str) -> Option<ExpandedText> {
        let (_, context) = self.contexts.iter().find(|(own, _)| own.eq_ignore_ascii_case(name))?;
        Some(match context.strip_prefix("docker-image://") {
            Some(image) => ExpandedText::literal(image),
            None => ExpandedText::unresolved(
                Vec::new(),
                Cause::ReplacedByBuild { name: name.to_owned(), context: context.clone() },
            ),
        })
    }

    /// Returns the same options for a platform; a build with a fixed platform list uses one from that list.
    #[must_use]
    pub fn for_platform(&self, requested: &str) -> Self {
        let made = self.platforms.iter().find(|own| *own == requested).or(self.platforms.first());
        Self { platform: made.map_or(requested, String::as_str).to_owned(), ..self.clone() }
    }

    /// Returns the value of a build argument that the build command sets.
    pub(super) fn build_argument(&self, name: &str) -> Option<ExpandedText> {
        if let Some(value) = self.build_args.get(name) {
            return Some(ExpandedText::literal(value.clone()));
        }
        self.unknown_args.contains(name).then(|| ExpandedText::unresolved(vec![name.to_owned()], Cause::NotInBuildFile))
    }
}

/// The maximum number of instructions that are evaluated. A layer file system supports some hundred layers, and the
/// evaluation of one instruction may depend on all previous ones.
pub(super) const MOST_INSTRUCTIONS: usize = 2_048;

/// An error that prevents the evaluation of a build target.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum EvaluateError {
    /// There is no FROM.
    #[error("the Dockerfile has no FROM")]
    NoStage,
    /// The target is not there.
    #[error("the Dockerfile has no stage `{0}`")]
    UnknownTarget(String),
    /// It is longer than what is followed.
    #[error("the Dockerfile has more than {MOST_INSTRUCTIONS} instructions, which is the limit")]
    TooLong,
}

/// The kind of the base that the first stage of a chain builds on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BaseKind {
    /// Nothing at all.
    Scratch,
    /// An image from outside of the file.
    Image(ImageReference),
    /// A name that is no image name, and why.
    Invalid(String),
    /// A name that the file alone does not give.
    Unresolved,
}

/// The base image of an evaluated build target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EvaluatedBase {
    /// The name after expansion.
    pub text: ExpandedText,
    /// Where the name is written.
    pub span: Span,
    /// The ARG defaults that went into it.
    pub sources: Vec<Span>,
    /// What it is.
    pub kind: BaseKind,
}

/// An assignment of an environment variable by ENV.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EnvAssignment {
    /// The variable.
    pub name: String,
    /// Its value.
    pub value: ExpandedText,
    /// `name=value`.
    pub span: Span,
    /// The value alone.
    pub value_span: Span,
    /// Where the values of the variables in it are written, without its own place.
    pub origins: Vec<Span>,
    /// The stage that sets it.
    pub stage: usize,
    /// The instruction that sets it.
    pub instruction: usize,
}

/// The form of a RUN command: shell or exec.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunForm {
    /// A text for the shell.
    Shell(MappedText),
    /// A JSON array: a program and its arguments.
    Exec(Vec<MappedText>),
}

/// A RUN instruction of an evaluated build target, with the state in which it runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunInstruction {
    /// Index of the stage that contains it.
    pub stage: usize,
    /// Its number among the instructions.
    pub instruction: usize,
    /// The whole instruction.
    pub span: Span,
    /// What it runs.
    pub form: RunForm,
    /// Its here-documents.
    pub heredocs: Vec<Heredoc>,
    /// The variables that hold for it.
    pub scope: Arc<VariableScope>,
    /// The words of the SHELL that holds for it.
    pub shell: Option<Vec<String>>,
    /// The working directory, if WORKDIR sets it.
    pub workdir: Option<String>,
    /// The same as seen from the base's own, with `?` for what a variable leaves open.
    pub folder: Arc<str>,
    /// The first directory of PATH, where ENV puts one there.
    pub path_head: Option<String>,
    /// Whether `--device` requests a device from the builder.
    pub device: bool,
}

impl RunInstruction {
    /// Whether the command or a here-document contains a text; cheaper than parsing the commands.
    pub fn mentions(&self, word: &str) -> bool {
        let form = match &self.form {
            RunForm::Shell(text) => text.text().contains(word),
            RunForm::Exec(words) => words.iter().any(|one| one.text().contains(word)),
        };
        form || self.heredocs.iter().any(|heredoc| heredoc.body.text().contains(word))
    }
}

/// A COPY or ADD instruction of an evaluated build target, with its paths expanded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CopyInstruction {
    /// Index of the stage that contains it.
    pub stage: usize,
    /// Its number among the instructions.
    pub instruction: usize,
    /// The whole instruction.
    pub span: Span,
    /// The value of `--from` and its position.
    pub from: Option<(ExpandedText, Span)>,
    /// The stage that `--from` means.
    pub from_stage: Option<usize>,
    /// What is copied.
    pub sources: Vec<(ExpandedText, Span)>,
    /// Whether the copies keep their parent directories (`--parents`).
    pub parents: bool,
    /// The destination; `None` if the path contains an unknown variable.
    pub destination: Option<CopyDestination>,
    /// The working directory, if WORKDIR sets it.
    pub workdir: Option<String>,
    /// The same as seen from the base's own, with `?` for what a variable leaves open.
    pub folder: Arc<str>,
}

/// The destination of a COPY or ADD instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CopyDestination {
    /// The absolute path; `?` stands for what a variable leaves open in the working directory.
    pub path: String,
    /// Whether it is a folder in which the sources keep their names.
    pub is_folder: bool,
}

/// An evaluated build target: base image, environment, and the instructions of all its stages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EvaluatedTarget {
    /// The stages from the root to the target.
    pub chain: Vec<usize>,
    /// What the root builds on.
    pub base: EvaluatedBase,
    /// The value of `--platform` in the root's FROM and its position.
    pub platform: Option<(ExpandedText, Span)>,
    /// Every setting of a variable, in order.
    pub env: Vec<EnvAssignment>,
    /// The RUN instructions, in order.
    pub runs: Vec<RunInstruction>,
    /// The COPY and ADD instructions, in order.
    pub copies: Vec<CopyInstruction>,
    /// The variables that hold at the end.
    pub scope: Arc<VariableScope>,
    /// The final working directory as set in the file, relative to `/` if no WORKDIR is absolute.
    pub folder: Arc<str>,
}

impl EvaluatedTarget {
    /// Returns the last assignment of an environment variable.
    pub fn env(&self, name: &str) -> Option<&EnvAssignment> {
        self.env.iter().rfind(|set| set.name == name)
    }
}

/// Returns the known variable values of a base image that was not read; an ambiguous tag has only values common to
/// all its images.
pub(super) fn known_base_variables(base: &BaseKind, knowledge: Knowledge) -> BTreeMap<String, ExpandedText> {
    let mut set = BTreeMap::new();
    let BaseKind::Image(image) = base else { return set };
    let Some(tag) = image.tag().filter(|_| knowledge.is_cuda_repository(&image.familiar_name())) else { return set };
    let rows = knowledge.cuda_images_for_version(tag.split('-').next().unwrap_or(tag));
    let mut values = rows.iter().map(|row| row.cuda_version.unwrap_or(row.version));
    if let Some(first) = values.next().filter(|first| values.all(|other| other == *first)) {
        set.insert("CUDA_VERSION".to_owned(), ExpandedText::literal(first));
    }
    set
}

/// The variables that a shell or the builder sets itself; `*` at the end matches any suffix.
const SHELL_VARIABLES: &[&str] = &[
    "BASH*", "EUID", "HOME", "HOSTNAME", "HOSTTYPE", "IFS", "LINENO", "MACHTYPE", "OLDPWD", "OPTARG", "OPTIND",
    "OSTYPE", "PPID", "PS*", "PWD", "RANDOM", "SECONDS", "SHELL*", "SHLVL", "TERM", "UID", "USER",
];

/// The suffix of the names of proxy variables.
const PROXY_SUFFIX: &str = "_proxy";

/// Returns the names of all variables that a base image sets; `*` at the end matches any suffix.
pub(super) fn base_variable_names(base: &BaseKind, knowledge: Knowledge) -> Option<&'static [&'static str]> {
    let BaseKind::Image(image) = base else { return None };
    knowledge.base_image_variables(&image.familiar_name())
}

/// Whether a variable is one that the base image, a shell or the builder may set.
fn may_be_set(names: &[&str], variable: &str) -> bool {
    let first = variable.bytes().next();
    let admits = |own: &&str| {
        // A different first letter is another variable, whatever a later `*` stands for.
        let begins = own.bytes().next() == first || own.starts_with('*');
        begins && own.strip_suffix('*').map_or(*own == variable, |start| variable.starts_with(start))
    };
    let ending = variable.len().checked_sub(PROXY_SUFFIX.len()).filter(|at| *at > 0).and_then(|at| variable.get(at..));
    let of_proxy = ending.is_some_and(|ending| ending.eq_ignore_ascii_case(PROXY_SUFFIX));
    of_proxy || names.iter().chain(SHELL_VARIABLES).any(admits)
}

/// The ENV and ARG values that are visible at one point; an ENV hides an ARG of the same name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VariableScope {
    pub(super) env: BTreeMap<String, ExpandedText>,
    /// `None` is an ARG without a value.
    pub(super) args: BTreeMap<String, Option<ExpandedText>>,
    /// What a base image sets of names that are not here; none where there is no base image.
    pub(super) base_env: Option<BaseEnvAssumption>,
    /// The names that the base image sets, where all of them are known.
    pub(super) of_base: Option<&'static [&'static str]>,
    /// The arguments in front of the first FROM, which no stage sees that does not declare them.
    pub(super) hidden: Arc<BTreeSet<String>>,
    /// Whether this is the scope in front of the first FROM.
    pub(super) global: bool,
}

impl VariableScope {
    /// Looks up a variable.
    pub fn lookup(&self, name: &str) -> VariableLookup {
        match self.env.get(name).or_else(|| self.args.get(name).and_then(Option::as_ref)) {
            Some(ExpandedText::Known { value, origins }) => VariableLookup::Known(value.clone(), origins.clone()),
            Some(ExpandedText::Unresolved { names, reason }) => {
                let names = if names.is_empty() { vec![name.to_owned()] } else { names.clone() };
                VariableLookup::Unknown(names, (**reason).clone())
            }
            None if self.global || self.args.contains_key(name) => VariableLookup::NoValue,
            None if self.hidden.contains(name) && self.is_set_nowhere(name) => VariableLookup::Unset,
            None => match self.base_env {
                Some(BaseEnvAssumption::Unknown) => {
                    let reason = if self.is_set_nowhere(name) { Cause::SetNowhere } else { Cause::OnlyBaseSets };
                    VariableLookup::Unknown(vec![name.to_owned()], reason)
                }
                Some(BaseEnvAssumption::Named) => {
                    VariableLookup::Known(format!("{BASE_MARK}{name}{BASE_MARK}"), Vec::new())
                }
                Some(BaseEnvAssumption::Empty) | None => VariableLookup::Unset,
            },
        }
    }

    /// Whether neither the file so far nor the base image nor a shell sets a variable.
    pub fn is_set_nowhere(&self, name: &str) -> bool {
        let set = self.env.contains_key(name) || self.args.contains_key(name);
        !set && self.of_base.is_some_and(|names| !may_be_set(names, name))
    }

    /// Returns the value of an ENV variable.
    pub fn env(&self, name: &str) -> Option<&ExpandedText> {
        self.env.get(name)
    }

    /// Expands a text by the Dockerfile rules; `at` is added to the source spans of a known value.
    pub(super) fn expand(&self, text: &MappedText, escape: char, at: Option<Span>) -> ExpandedText {
        let mut resolved = expand_variables(text.text(), Dialect::Dockerfile(escape), &|name| self.lookup(name));
        if let (ExpandedText::Known { origins, .. }, Some(at)) = (&mut resolved, at)
            && !origins.contains(&at)
        {
            origins.push(at);
        }
        resolved
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::reference::ImageReference;

    #[test]
    fn cuda_image_sets_cuda_version_from_its_tag() {
        for (name, expected) in [
            ("nvidia/cuda:11.8.0-base-ubuntu22.04", Some("11.8.0")),
            ("docker.io/nvidia/cuda:12.4.1", Some("12.4.1")),
            // One of several patches.
            ("nvidia/cuda:11.4-base-ubuntu20.04", None),
            ("nvidia/cuda:99.9.9-base", None),
            ("nvidia/cuda:latest", None),
            ("nvidia/cuda", None),
            ("python:3.11-slim", None),
            ("registry.example/cuda:11.8.0-base", None),
        ] {
            let base = BaseKind::Image(ImageReference::parse(name).expect(name));
            assert_eq!(
                known_base_variables(&base, Knowledge::built_in())
                    .get("CUDA_VERSION")
                    .and_then(ExpandedText::known_text),
                expected,
                "{name}"
            );
        }
        for (name, variable, expected) in [
            ("nvidia/cuda:12.4.1-base-ubuntu22.04", "CU", Some(false)),
            ("nvidia/cuda:12.4.1-base-ubuntu22.04", "CUDA_VERSION", Some(true)),
            ("nvidia/cuda:12.4.1-base-ubuntu22.04", "NVARCH", Some(true)),
            ("nvidia/cuda:12.4.1-base-ubuntu22.04", "HOME", Some(true)),
            ("nvidia/cuda:12.4.1-base-ubuntu22.04", "https_proxy", Some(true)),
            ("nvidia/cuda:12.4.1-base-ubuntu22.04", "HTTP_Proxy", Some(true)),
            ("nvidia/cuda:12.4.1-base-ubuntu22.04", "_proxy", Some(false)),
            ("nvidia/cuda:12.4.1-base-ubuntu22.04", "", Some(false)),
            ("nvidia/cuda:12.4.1-base-ubuntu22.04", "UDA_VERSION", Some(false)),
            ("python:3.11", "PYTHON_VERSION", Some(true)),
            ("python:3.11", "TORCH_VERSION", Some(false)),
            ("registry.example/python:3.11", "TORCH_VERSION", None),
            ("nvcr.io/nvidia/pytorch:24.01-py3", "TORCH_VERSION", None),
        ] {
            let base = BaseKind::Image(ImageReference::parse(name).expect(name));
            assert_eq!(
                base_variable_names(&base, Knowledge::built_in()).map(|names| may_be_set(names, variable)),
                expected,
                "{name} {variable}"
            );
        }
        assert!(
            known_base_variables(&BaseKind::Scratch, Knowledge::built_in()).is_empty()
                && known_base_variables(&BaseKind::Unresolved, Knowledge::built_in()).is_empty()
        );
    }
}
