//! A cause in parts, for titles and for what is unknown for the same cause.

use std::fmt;

use crate::model::cause::{BaseName, Cause};

/// A cause in parts: what is unknown, why, and how a title states that.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Explanation {
    /// What is unknown, if the reason is about one thing.
    pub subject: Option<String>,
    /// Why.
    pub reason: String,
    /// The cause of that reason alone: the same one for other subjects.
    pub cause: Cause,
    /// The reason as a title and what follows from it, if it is about a named image.
    pub title: Option<(String, Option<String>)>,
}

impl Explanation {
    /// Creates an explanation that consists of the complete sentence of a cause.
    fn plain(cause: Cause) -> Self {
        Self { subject: None, reason: cause.reason(), cause, title: None }
    }

    /// Whether another subject is unknown for the same reason.
    pub fn has_same_reason(&self, other: &Self) -> bool {
        self.cause == other.cause
    }

    fn about(self, subject: String) -> Self {
        Self { subject: Some(subject), ..self }
    }
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.subject {
            Some(subject) => write!(f, "{subject} is unknown: {}", self.reason),
            None => f.write_str(&self.reason),
        }
    }
}

impl Cause {
    /// Returns the explanation of the cause: its title, the unknown subject and the reason.
    pub fn explain(&self) -> Explanation {
        let reason = || Explanation::plain(self.clone());
        let titled = |title: String, rest: Option<&str>| Explanation {
            title: Some((title, rest.map(str::to_owned))),
            ..Explanation::plain(self.clone())
        };
        match self {
            Self::Recorded { reason, .. } => recorded(reason),
            Self::Unknown { what, because } => because.explain().about(what.clone()),
            Self::VersionNotKnown { name, because } => because.explain().about(format!("the version of {name}")),
            Self::IndexNotKnown { because } => because.explain().about("the address of an index".to_owned()),
            Self::BackendNotKnown { because } => because.explain().about("the uv option `torch-backend`".to_owned()),
            Self::InstallsNotKnown { because } => because.explain().about("what it installs".to_owned()),
            Self::SourceOnNetwork { address } => {
                Explanation::plain(Self::OnNetwork).about(format!("{address} was not read, so what it installs"))
            }
            Self::BuildNotKnown { because }
            | Self::ArgumentNotKnown { because, .. }
            | Self::TemplateNotKnown { because }
            | Self::ArchiveNotKnown { because }
            | Self::BaseConfigNotRead { because }
            | Self::FrameworkNotInTables { because }
            | Self::TorchNotInTables { because }
            | Self::RuntimeNotKnown { because }
            | Self::PerhapsDriver { because }
            | Self::NewestNotKnown { because, .. } => because.explain(),
            Self::EnvValue { name, because } => match because.explain() {
                Explanation { subject: Some(subject), reason, cause, title } => {
                    Explanation { subject: Some(format!("the value of {name}: {subject}")), reason, cause, title }
                }
                Explanation { subject: None, .. } => reason(),
            },
            Self::SeveralCandidates { because, name, oldest, newest } => {
                let Explanation { subject, cause, .. } = because.explain();
                let (because, name) = (Box::new(cause), name.clone());
                let (oldest, newest) = (oldest.clone(), newest.clone());
                Explanation { subject, ..Explanation::plain(Self::SeveralCandidates { because, name, oldest, newest }) }
            }
            Self::BaseConfigOnly { base: base @ BaseName::Named(_) } => {
                titled(format!("{base} is not in the compatibility database"), Some("only its configuration was read"))
            }
            Self::BaseTagNotInTables { base: base @ BaseName::Named(_) } => titled(
                format!("{base} was not read"),
                Some("the compatibility database lacks the contents of this tag"),
            ),
            Self::BaseNotRead { base: base @ BaseName::Named(_) } => {
                titled(format!("{base} was not read"), Some("it is not in the compatibility database"))
            }
            Self::DigestNotRead { image } => {
                titled(format!("`{image}` includes no CUDA version"), Some("the digest was not read"))
            }
            // Those with one sentence and several remedies are one reason.
            Self::ImageNewer { image, date } => Self::BaseNewer { image: image.clone(), date: *date }.explain(),
            Self::CodeNotInTables { name, build } => {
                let (package, version) = (name.clone(), build.clone());
                Self::CodeOfReleaseNotInTables { package, version }.explain()
            }
            Self::DriverFileVersion { path } => Self::LibcudaVersion { path: path.clone() }.explain(),
            Self::BaseNewer { .. }
            | Self::BaseByDate { .. }
            | Self::BaseWithoutTag { .. }
            | Self::ImageNotInTables { .. }
            | Self::NotAnImageReference { .. } => titled(self.reason(), None),
            _ => reason(),
        }
    }
}

/// A sentence of an earlier report or a description in parts.
fn recorded(text: &str) -> Explanation {
    let (subject, reason) = match text.split_once(" is unknown: ") {
        Some((subject, reason)) => (Some(subject.to_owned()), reason),
        None => (None, text),
    };
    let title = reason.starts_with('`').then(|| match reason.split_once(", and ") {
        Some((title, rest)) => (title.to_owned(), Some(rest.to_owned())),
        None => (reason.to_owned(), None),
    });
    Explanation { subject, title, ..Explanation::plain(Cause::recorded(reason, "")) }
}
