//! The result of the evaluation of a build target.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use thiserror::Error;

use crate::cause::Cause;
use crate::dockerfile::{ExpandedText, Heredoc, MappedText, VariableScope};
use crate::knowledge::Knowledge;
use crate::reference::ImageReference;
use crate::source::Span;

/// What an evaluation assumes about the environment variables of the base image.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BaseEnvAssumption {
    /// Nothing is known of it.
    #[default]
    Unseen,
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
    /// Its variables; the reason where a value cannot be told.
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
    /// What the build puts in the place of names behind FROM, as its command says: `docker-image://…`, `target:…`.
    pub contexts: BTreeMap<String, String>,
    /// The stage to build: its name or number; the last one where `None`.
    pub target: Option<String>,
    /// The platforms that the build is told to make images for; whatever is asked where empty.
    pub platforms: Vec<String>,
    /// The environment of the base image.
    pub base_env: BaseEnvAssumption,
    /// The environment of a base image, where it was read.
    pub known_env: Option<Arc<BaseImageEnv>>,
    /// The tables that tell what a base brings that was not read.
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
            base_env: BaseEnvAssumption::Unseen,
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
    pub fn for_platform(&self, asked: &str) -> Self {
        let made = self.platforms.iter().find(|own| *own == asked).or(self.platforms.first());
        Self { platform: made.map_or(asked, String::as_str).to_owned(), ..self.clone() }
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
    /// The stage it stands in.
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
    /// The working directory, where WORKDIR says it.
    pub workdir: Option<String>,
    /// The same as seen from the base's own, with `?` for what a variable leaves open.
    pub folder: Arc<str>,
    /// The first directory of PATH, where ENV puts one there.
    pub path_head: Option<String>,
    /// Whether the builder is asked for a device.
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
    /// The stage it stands in.
    pub stage: usize,
    /// Its number among the instructions.
    pub instruction: usize,
    /// The whole instruction.
    pub span: Span,
    /// What `--from` says and where.
    pub from: Option<(ExpandedText, Span)>,
    /// The stage that `--from` means.
    pub from_stage: Option<usize>,
    /// What is copied.
    pub sources: Vec<(ExpandedText, Span)>,
    /// Whether they keep the folders that they lie in.
    pub parents: bool,
    /// Where it goes.
    pub destination: Option<(ExpandedText, Span)>,
    /// The working directory, where WORKDIR says it.
    pub workdir: Option<String>,
    /// The same as seen from the base's own, with `?` for what a variable leaves open.
    pub folder: Arc<str>,
}

/// An evaluated build target: base image, environment, and the instructions of all its stages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EvaluatedTarget {
    /// The stages from the root to the target.
    pub chain: Vec<usize>,
    /// What the root builds on.
    pub base: EvaluatedBase,
    /// What `--platform` at the root's FROM says and where.
    pub platform: Option<(ExpandedText, Span)>,
    /// Every setting of a variable, in order.
    pub env: Vec<EnvAssignment>,
    /// The RUN instructions, in order.
    pub runs: Vec<RunInstruction>,
    /// The COPY and ADD instructions, in order.
    pub copies: Vec<CopyInstruction>,
    /// The variables that hold at the end.
    pub scope: Arc<VariableScope>,
    /// The working directory at the end, as far as the file says it: from `/` where it does not.
    pub folder: Arc<str>,
}

impl EvaluatedTarget {
    /// Returns the last assignment of an environment variable.
    pub fn env(&self, name: &str) -> Option<&EnvAssignment> {
        self.env.iter().rfind(|set| set.name == name)
    }
}
