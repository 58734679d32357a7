//! What a Dockerfile says about one target.

use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::sync::Arc;

use thiserror::Error;

use crate::dockerfile::Heredoc;
use crate::dockerfile::Mapped;
use crate::dockerfile::Resolved;
use crate::dockerfile::Scope;
use crate::knowledge::Knowledge;
use crate::reference::ImageReference;
use crate::source::Span;

/// What an evaluation takes the environment of the base image to be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BaseEnv {
    /// Nothing is known of it.
    #[default]
    Unseen,
    /// Every variable is set, and values name it between [`BASE_MARK`]s.
    Named,
    /// No variable is set.
    Empty,
}

/// Stands before and behind the name of a variable of the base image.
pub const BASE_MARK: char = '\u{1}';

/// What is known of the environment of one base image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownEnv {
    /// The image, as FROM names it.
    pub image: ImageReference,
    /// Its variables; the reason where a value cannot be told.
    pub values: BTreeMap<String, Result<String, String>>,
    /// Whether these are all of them.
    pub whole: bool,
}

impl KnownEnv {
    /// The variables as a scope holds them; a value has no place in the file.
    pub(super) fn scope(&self) -> BTreeMap<String, Resolved> {
        let resolved = |(name, value): (&String, &Result<String, String>)| {
            let value = match value {
                Ok(value) => Resolved::literal(value.clone()),
                Err(reason) => Resolved::Unresolved { names: vec![name.clone()], reason: reason.clone() },
            };
            (name.clone(), value)
        };
        self.values.iter().map(resolved).collect()
    }
}

/// What a build would be told on the command line.
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
    pub base_env: BaseEnv,
    /// The environment of a base image, where it was read.
    pub known_env: Option<Arc<KnownEnv>>,
    /// The tables that tell what a base brings that was not read.
    pub knowledge: Knowledge,
}

impl EvaluateOptions {
    /// The last stage for `linux/amd64`, without build arguments.
    pub fn new(knowledge: Knowledge) -> Self {
        Self {
            platform: "linux/amd64".to_owned(),
            build_args: BTreeMap::new(),
            unknown_args: BTreeSet::new(),
            contexts: BTreeMap::new(),
            target: None,
            platforms: Vec::new(),
            base_env: BaseEnv::Unseen,
            known_env: None,
            knowledge,
        }
    }

    /// What the build puts in the place of a name behind FROM, where it does.
    pub(super) fn instead_of(&self, name: &str) -> Option<Resolved> {
        let (_, context) = self.contexts.iter().find(|(own, _)| own.eq_ignore_ascii_case(name))?;
        Some(match context.strip_prefix("docker-image://") {
            Some(image) => Resolved::literal(image),
            None => Resolved::Unresolved {
                names: Vec::new(),
                reason: format!("the build replaces `{name}` with `{context}`, which is not inspected"),
            },
        })
    }

    /// The same for a platform that is asked; a build for certain platforms makes the nearest of them.
    #[must_use]
    pub fn on(&self, asked: &str) -> Self {
        let made = self.platforms.iter().find(|own| *own == asked).or(self.platforms.first());
        Self { platform: made.map_or(asked, String::as_str).to_owned(), ..self.clone() }
    }

    /// What the command line gives an argument.
    pub(super) fn given(&self, name: &str) -> Option<Resolved> {
        if let Some(value) = self.build_args.get(name) {
            return Some(Resolved::literal(value.clone()));
        }
        self.unknown_args.contains(name).then(|| Resolved::Unresolved {
            names: vec![name.to_owned()],
            reason: "the build file does not define its value".to_owned(),
        })
    }
}

/// So many instructions of one file are followed. A layer file system takes some hundred layers, and written files stay
/// far below that; each instruction may have to look at all in front of it.
pub(super) const MOST_INSTRUCTIONS: usize = 2_048;

/// Why nothing can be evaluated.
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

/// What the first stage of a chain builds on.
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

/// The base image of a chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EvaluatedBase {
    /// The name after expansion.
    pub text: Resolved,
    /// Where the name is written.
    pub span: Span,
    /// The ARG defaults that went into it.
    pub sources: Vec<Span>,
    /// What it is.
    pub kind: BaseKind,
}

/// One setting of an environment variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EnvSet {
    /// The variable.
    pub name: String,
    /// Its value.
    pub value: Resolved,
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

/// How a RUN says what to run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunForm {
    /// A text for the shell.
    Shell(Mapped),
    /// A JSON array: a program and its arguments.
    Exec(Vec<Mapped>),
}

/// A RUN of the chain.
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
    pub scope: Arc<Scope>,
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
    /// Whether a word stands anywhere in what it runs: a look that costs less than taking the commands apart.
    pub fn mentions(&self, word: &str) -> bool {
        let form = match &self.form {
            RunForm::Shell(text) => text.text().contains(word),
            RunForm::Exec(words) => words.iter().any(|one| one.text().contains(word)),
        };
        form || self.heredocs.iter().any(|heredoc| heredoc.body.text().contains(word))
    }
}

/// A COPY or ADD of the chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CopyInstruction {
    /// The stage it stands in.
    pub stage: usize,
    /// Its number among the instructions.
    pub instruction: usize,
    /// The whole instruction.
    pub span: Span,
    /// What `--from` says and where.
    pub from: Option<(Resolved, Span)>,
    /// The stage that `--from` means.
    pub from_stage: Option<usize>,
    /// What is copied.
    pub sources: Vec<(Resolved, Span)>,
    /// Whether they keep the folders that they lie in.
    pub parents: bool,
    /// Where it goes.
    pub destination: Option<(Resolved, Span)>,
    /// The working directory, where WORKDIR says it.
    pub workdir: Option<String>,
    /// The same as seen from the base's own, with `?` for what a variable leaves open.
    pub folder: Arc<str>,
}

/// What a Dockerfile says about one target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Evaluated {
    /// The stages from the root to the target.
    pub chain: Vec<usize>,
    /// What the root builds on.
    pub base: EvaluatedBase,
    /// What `--platform` at the root's FROM says and where.
    pub platform: Option<(Resolved, Span)>,
    /// Every setting of a variable, in order.
    pub env: Vec<EnvSet>,
    /// The RUN instructions, in order.
    pub runs: Vec<RunInstruction>,
    /// The COPY and ADD instructions, in order.
    pub copies: Vec<CopyInstruction>,
    /// The variables that hold at the end.
    pub scope: Arc<Scope>,
    /// The working directory at the end, as far as the file says it: from `/` where it does not.
    pub folder: Arc<str>,
}

impl Evaluated {
    /// The setting of a variable that holds at the end.
    pub fn env(&self, name: &str) -> Option<&EnvSet> {
        self.env.iter().rfind(|set| set.name == name)
    }
}
