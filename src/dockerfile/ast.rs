//! The syntax tree of a Dockerfile.

use crate::dockerfile::stages::StageNames;
use crate::dockerfile::{LintComment, MappedText};
use crate::source::Span;

/// The keyword of an instruction; `Unknown` contains an unrecognized one.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "each name is the keyword itself")]
pub enum InstructionKind {
    Add,
    Arg,
    Cmd,
    Copy,
    Entrypoint,
    Env,
    Expose,
    From,
    Healthcheck,
    Label,
    Maintainer,
    Onbuild,
    Run,
    Shell,
    Stopsignal,
    User,
    Volume,
    Workdir,
    Unknown(String),
}

impl InstructionKind {
    /// Returns the instruction kind of a keyword in any case.
    pub fn from_keyword(word: &str) -> Self {
        match word.to_ascii_uppercase().as_str() {
            "ADD" => Self::Add,
            "ARG" => Self::Arg,
            "CMD" => Self::Cmd,
            "COPY" => Self::Copy,
            "ENTRYPOINT" => Self::Entrypoint,
            "ENV" => Self::Env,
            "EXPOSE" => Self::Expose,
            "FROM" => Self::From,
            "HEALTHCHECK" => Self::Healthcheck,
            "LABEL" => Self::Label,
            "MAINTAINER" => Self::Maintainer,
            "ONBUILD" => Self::Onbuild,
            "RUN" => Self::Run,
            "SHELL" => Self::Shell,
            "STOPSIGNAL" => Self::Stopsignal,
            "USER" => Self::User,
            "VOLUME" => Self::Volume,
            "WORKDIR" => Self::Workdir,
            _ => Self::Unknown(word.to_owned()),
        }
    }

    /// Returns the keyword in upper case, or the unknown keyword as written.
    pub fn keyword(&self) -> &str {
        match self {
            Self::Add => "ADD",
            Self::Arg => "ARG",
            Self::Cmd => "CMD",
            Self::Copy => "COPY",
            Self::Entrypoint => "ENTRYPOINT",
            Self::Env => "ENV",
            Self::Expose => "EXPOSE",
            Self::From => "FROM",
            Self::Healthcheck => "HEALTHCHECK",
            Self::Label => "LABEL",
            Self::Maintainer => "MAINTAINER",
            Self::Onbuild => "ONBUILD",
            Self::Run => "RUN",
            Self::Shell => "SHELL",
            Self::Stopsignal => "STOPSIGNAL",
            Self::User => "USER",
            Self::Volume => "VOLUME",
            Self::Workdir => "WORKDIR",
            Self::Unknown(word) => word,
        }
    }

    /// Whether `BuildKit` accepts here-documents after this keyword.
    pub fn accepts_heredocs(&self) -> bool {
        matches!(self, Self::Run | Self::Copy | Self::Add)
    }

    /// Whether the arguments can be written as a JSON array.
    pub fn accepts_json_form(&self) -> bool {
        matches!(self, Self::Add | Self::Copy | Self::Cmd | Self::Entrypoint | Self::Run | Self::Shell | Self::Volume)
    }
}

/// A `--name=value` flag in front of the arguments of an instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InstructionFlag {
    /// The name without the dashes.
    pub name: String,
    /// What follows `=`; `None` where there is no `=`.
    pub value: Option<MappedText>,
    /// The whole flag.
    pub span: Span,
}

/// A here-document that an instruction opens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Heredoc {
    /// The terminator without its quotes.
    pub name: String,
    /// The opening word.
    pub span: Span,
    /// The body, up to but without the terminator.
    pub body: MappedText,
    /// Whether variables in the body are expanded: the terminator is not quoted.
    pub expand: bool,
    /// Whether leading tabs are stripped: `<<-`.
    pub strip: bool,
}

/// An instruction with its flags, arguments and here-documents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instruction {
    /// Its keyword.
    pub kind: InstructionKind,
    /// From the keyword to the last byte, heredocs included.
    pub span: Span,
    /// The keyword.
    pub keyword: Span,
    /// The flags in front of the arguments.
    pub flags: Vec<InstructionFlag>,
    /// What follows keyword and flags, without continuations and comments.
    pub arguments: MappedText,
    /// The elements where the arguments are a JSON array.
    pub json: Option<Vec<MappedText>>,
    /// The here-documents it opens.
    pub heredocs: Vec<Heredoc>,
    /// The instruction below ONBUILD.
    pub child: Option<Box<Instruction>>,
}

impl Instruction {
    /// Returns the first flag with a name.
    pub fn flag(&self, name: &str) -> Option<&InstructionFlag> {
        self.flags.iter().find(|flag| flag.name == name)
    }
}

/// A build stage: a FROM and the instructions after it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stage {
    /// The name after AS.
    pub name: Option<String>,
    /// Its number, from 0.
    pub index: usize,
    /// Which instruction is its FROM.
    pub from: usize,
    /// The base as written.
    pub base: MappedText,
    /// Where the base is written.
    pub base_span: Span,
    /// The instructions after its FROM.
    pub instructions: Vec<usize>,
}

/// An error that `BuildKit` would report, with its source span.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DockerfileProblem {
    /// Where it is.
    pub span: Span,
    /// What is wrong.
    pub message: String,
    /// Whether a template language wrote it: the file that gets built is another one.
    pub templated: bool,
}

impl DockerfileProblem {
    /// Creates a problem in text that does not come from a template language.
    pub fn new(span: Span, message: impl Into<String>) -> Self {
        Self { span, message: message.into(), templated: false }
    }
}

/// A parsed Dockerfile, with its errors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dockerfile {
    /// The escape character: `\`, or what `# escape=` says.
    pub escape: char,
    /// All instructions in order.
    pub instructions: Vec<Instruction>,
    /// The build stages in order.
    pub stages: Vec<Stage>,
    /// What is wrong with the file.
    pub problems: Vec<DockerfileProblem>,
    /// Comments that speak to imagelint.
    pub controls: Vec<LintComment>,
    /// The stages by their names.
    pub(super) names: StageNames,
}
