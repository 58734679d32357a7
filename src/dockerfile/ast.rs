//! What a Dockerfile is made of.

use crate::dockerfile::Control;
use crate::dockerfile::Mapped;
use crate::dockerfile::stages::StageNames;
use crate::source::Span;

/// A keyword; [`Kind::Unknown`] holds a word that is none.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "each name is the keyword itself")]
pub enum Kind {
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

impl Kind {
    /// The kind of a word, in any case.
    pub fn of(word: &str) -> Self {
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

    /// The keyword in upper case, or the unknown word as written.
    pub fn name(&self) -> &str {
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

    /// Whether `BuildKit` reads heredocs after this keyword.
    pub fn takes_heredocs(&self) -> bool {
        matches!(self, Self::Run | Self::Copy | Self::Add)
    }

    /// Whether a JSON array is another way to write the arguments.
    pub fn takes_json(&self) -> bool {
        matches!(self, Self::Add | Self::Copy | Self::Cmd | Self::Entrypoint | Self::Run | Self::Shell | Self::Volume)
    }
}

/// `--name=value` in front of the arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flag {
    /// The name without the dashes.
    pub name: String,
    /// What follows `=`; `None` where there is no `=`.
    pub value: Option<Mapped>,
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
    pub body: Mapped,
    /// Whether variables in the body are expanded: the terminator is not quoted.
    pub expand: bool,
    /// Whether leading tabs are stripped: `<<-`.
    pub strip: bool,
}

/// One instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instruction {
    /// Its keyword.
    pub kind: Kind,
    /// From the keyword to the last byte, heredocs included.
    pub span: Span,
    /// The keyword.
    pub keyword: Span,
    /// The flags in front of the arguments.
    pub flags: Vec<Flag>,
    /// What follows keyword and flags, without continuations and comments.
    pub arguments: Mapped,
    /// The elements where the arguments are a JSON array.
    pub json: Option<Vec<Mapped>>,
    /// The here-documents it opens.
    pub heredocs: Vec<Heredoc>,
    /// The instruction below ONBUILD.
    pub child: Option<Box<Instruction>>,
}

impl Instruction {
    /// The first flag of a name.
    pub fn flag(&self, name: &str) -> Option<&Flag> {
        self.flags.iter().find(|flag| flag.name == name)
    }
}

/// A build stage: a FROM and what follows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stage {
    /// The name after AS.
    pub name: Option<String>,
    /// Its number, from 0.
    pub index: usize,
    /// Which instruction is its FROM.
    pub from: usize,
    /// The base as written.
    pub base: Mapped,
    /// Where the base is written.
    pub base_span: Span,
    /// The instructions after its FROM.
    pub instructions: Vec<usize>,
}

/// Something that `BuildKit` would refuse.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Where it is.
    pub span: Span,
    /// What is wrong.
    pub message: String,
    /// Whether a template language wrote it: the file that gets built is another one.
    pub templated: bool,
}

impl Problem {
    /// What no template language explains.
    pub fn new(span: Span, message: impl Into<String>) -> Self {
        Self { span, message: message.into(), templated: false }
    }
}

/// A Dockerfile as far as it could be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dockerfile {
    /// The escape character: `\`, or what `# escape=` says.
    pub escape: char,
    /// All instructions in order.
    pub instructions: Vec<Instruction>,
    /// The build stages in order.
    pub stages: Vec<Stage>,
    /// What is wrong with the file.
    pub problems: Vec<Problem>,
    /// Comments that speak to imagelint.
    pub controls: Vec<Control>,
    /// The stages by their names.
    pub(super) names: StageNames,
}
