//! The header of a page: the typed keys of its `toml rule` block.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use serde::Deserialize;
use toml::Spanned;

use crate::outcome::Cause;
use crate::outcome::Outcome;
use crate::rules::example::is_name;
use crate::rules::expr::Condition;
use crate::rules::pattern::Patterns;
use crate::rules::problem::Fault;
use crate::rules::problem::did_you_mean;
use crate::rules::template::Template;
use crate::rules::vocabulary::Vocabulary;
use crate::source::Span;

macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($(#[$variant_doc:meta])* $variant:ident = $word:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum $name { $($(#[$variant_doc])* $variant,)* }

        impl $name {
            /// All words, in order.
            pub const WORDS: &[&str] = &[$($word),*];

            /// The word in pages and reports.
            pub const fn word(self) -> &'static str {
                match self { $(Self::$variant => $word,)* }
            }
        }

        impl FromStr for $name {
            type Err = ();

            fn from_str(text: &str) -> Result<Self, ()> {
                match text { $($word => Ok(Self::$variant),)* _ => Err(()) }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.word())
            }
        }
    };
}
pub(super) use words;

words! {
    /// How bad a finding is.
    Severity {
        /// Worth knowing.
        Note = "note",
        /// Starts, and is fragile or wasteful.
        Warning = "warning",
        /// Does not start, or not with its GPU.
        Error = "error",
    }
}

words! {
    /// Who asked for a rule; each sees the rules of those before.
    Persona {
        /// Everybody.
        Regular = "regular",
        /// Who wants good habits kept.
        Pedantic = "pedantic",
        /// Who reviews by hand.
        Auditor = "auditor",
    }
}

words! {
    /// Whether a page speaks unasked.
    Status {
        /// Only with `--preview`.
        Preview = "preview",
        /// Always.
        Stable = "stable",
    }
}

words! {
    /// What can be done about it.
    FixKind {
        /// An edit that changes nothing else.
        Safe = "safe",
        /// An edit that changes a version, too.
        Unsafe = "unsafe",
        /// Only by hand.
        Manual = "manual",
    }
}

words! {
    /// What is told beside outcomes and conditions: by the reader of an input, and of verdicts that are left open.
    Notice {
        /// The builder would refuse it.
        Syntax = "syntax",
        /// A template stands where an instruction should.
        Template = "template",
        /// A comment for imagelint that cannot be followed.
        Comment = "comment",
        /// An ignore that leaves nothing out.
        UnusedIgnore = "unused-ignore",
        /// A verdict that nodes of one pool do not share.
        Depends = "depends",
        /// A verdict for want of something known.
        Undetermined = "undetermined",
        /// A condition for want of something known.
        Condition = "condition",
    }
}

impl Notice {
    /// All of them.
    pub const ALL: &[Self] = &[
        Self::Syntax,
        Self::Template,
        Self::Comment,
        Self::UnusedIgnore,
        Self::Depends,
        Self::Undetermined,
        Self::Condition,
    ];

    /// Those of verdicts that are left open.
    pub const OPEN: &[Self] = &[Self::Depends, Self::Undetermined];
}

/// What a page is about.
#[derive(Clone, Debug)]
pub enum Kind {
    /// Narrates one way to fail.
    Startup(Outcome),
    /// Speaks where its condition holds.
    Practice(Condition),
    /// Tells what the reader of an input took note of.
    Reader(Notice),
}

/// The header, checked.
pub(super) struct Header {
    pub(super) kind: Kind,
    pub(super) severity: Severity,
    pub(super) persona: Persona,
    pub(super) status: Status,
    pub(super) fix: FixKind,
    pub(super) since: String,
    pub(super) aliases: Vec<String>,
    pub(super) blame: String,
    pub(super) message: Template,
    pub(super) help: Template,
    pub(super) cause: Option<Template>,
    pub(super) help_for: Vec<(Cause, Template)>,
}

const KEYS: &[&str] = &[
    "aliases", "severity", "since", "status", "persona", "fix", "outcome", "when", "notice", "blame", "message",
    "cause", "help", "help_for",
];

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    severity: Option<Spanned<String>>,
    since: Spanned<String>,
    #[serde(default)]
    aliases: Vec<Spanned<String>>,
    persona: Option<Spanned<String>>,
    status: Option<Spanned<String>>,
    fix: Option<Spanned<String>>,
    outcome: Option<Spanned<String>>,
    when: Option<Spanned<String>>,
    notice: Option<Spanned<String>>,
    blame: Spanned<String>,
    message: Spanned<String>,
    cause: Option<Spanned<String>>,
    help: Spanned<String>,
    #[serde(default)]
    help_for: BTreeMap<Spanned<String>, Spanned<String>>,
}

/// Reads a header; places in faults count from the start of `text`.
pub(super) fn header(text: &str, vocabulary: &Vocabulary, patterns: Patterns) -> Result<Header, Fault> {
    let written: Written = toml::from_str(text).map_err(|error| unreadable(text, &error))?;
    let kind = match (&written.outcome, &written.when, &written.notice) {
        (Some(outcome), None, None) => {
            let names = Outcome::ALL.iter().map(|outcome| outcome.name());
            let found = outcome.get_ref().parse();
            Kind::Startup(found.map_err(|_| wrong_word("outcome", outcome, names))?)
        }
        (None, None, Some(notice)) => Kind::Reader(word_of("notice", notice, Notice::WORDS)?),
        (None, Some(when), None) => {
            let condition = Condition::read(when.get_ref(), vocabulary, patterns);
            Kind::Practice(condition.map_err(|fault| inside(fault, text, when))?)
        }
        (Some(_), Some(when), _) => return Err(Fault::new(place(when), "a page has `outcome` or `when`, not both")),
        (_, _, Some(notice)) => {
            return Err(Fault::new(
                place(notice),
                "a page with a `notice` cannot have \
            `outcome` or `when`",
            ));
        }
        (None, None, None) => {
            return Err(Fault::new(Span::new(0, text.trim_end().len()), "a page has either `outcome` or `when`")
                .help("a practice page requires `when`".to_owned()));
        }
    };
    let severity = match (&written.severity, &kind) {
        (Some(word), _) => word_of("severity", word, Severity::WORDS)?,
        (None, Kind::Startup(_)) => Severity::Error,
        (None, Kind::Practice(_) | Kind::Reader(_)) => {
            return Err(Fault::new(Span::new(0, text.trim_end().len()), "a practice page requires `severity`"));
        }
    };
    let persona = match &written.persona {
        Some(word) => word_of("persona", word, Persona::WORDS)?,
        None => Persona::Regular,
    };
    let status = match &written.status {
        // What an outcome or a reader has to say is not kept back.
        Some(word) if word.get_ref() == Status::Preview.word() && !matches!(kind, Kind::Practice(_)) => {
            return Err(Fault::new(place(word), "only a page with a condition can be a preview"));
        }
        Some(word) => word_of("status", word, Status::WORDS)?,
        None => Status::Stable,
    };
    let fix = match &written.fix {
        Some(word) => word_of("kind of fix", word, FixKind::WORDS)?,
        None => FixKind::Manual,
    };
    let blame = written.blame.get_ref();
    if blame.starts_with("component.") || vocabulary.find(blame).is_none() {
        let help = vocabulary.nearest(blame).map(|near| format!("did you mean `{near}`?"));
        return Err(Fault::new(place(&written.blame), format!("there is no fact `{blame}`")).help(help));
    }
    let since = written.since.get_ref();
    if since.split('.').count() != 3 || !since.split('.').all(|part| part.parse::<u16>().is_ok()) {
        return Err(Fault::new(place(&written.since), "`since` is a version of imagelint, such as 0.1.0"));
    }
    let template = |written: &Spanned<String>| {
        if written.get_ref().trim().is_empty() {
            return Err(Fault::new(place(written), "this text is empty"));
        }
        Template::parse(written.get_ref(), vocabulary).map_err(|fault| inside(fault, text, written))
    };
    let (message, help) = (template(&written.message)?, template(&written.help)?);
    let why = written.cause.as_ref().map(|cause| match kind {
        Kind::Practice(_) => template(cause),
        Kind::Startup(_) | Kind::Reader(_) => {
            Err(Fault::new(place(cause), "only a page with a condition has a `cause`; other findings have their own"))
        }
    });
    let why = why.transpose()?;
    let mut help_for = Vec::new();
    for (name, text) in &written.help_for {
        help_for.push((cause(name, &kind)?, template(text)?));
    }
    if let Some(alias) = written.aliases.iter().find(|alias| !is_name(alias.get_ref())) {
        return Err(Fault::new(place(alias), "a rule name consists of lower-case words joined by hyphens"));
    }
    let aliases = written.aliases.iter().map(|alias| alias.get_ref().clone()).collect();
    let (since, blame) = (since.clone(), blame.clone());
    Ok(Header { kind, severity, persona, status, fix, since, aliases, blame, message, cause: why, help, help_for })
}

/// A cause of the outcome that the page narrates.
fn cause(name: &Spanned<String>, kind: &Kind) -> Result<Cause, Fault> {
    let Kind::Startup(outcome) = kind else {
        return Err(Fault::new(place(name), "only the page of an outcome has help for its causes"));
    };
    let mut causes = Cause::ALL.iter().copied().filter(|cause| cause.outcome() == *outcome);
    let names: Vec<&str> = causes.clone().map(Cause::name).collect();
    let found = causes.find(|cause| cause.name() == name.get_ref());
    found.ok_or_else(|| wrong_word(&format!("cause of `{outcome}`"), name, names.into_iter()))
}

fn place(written: &Spanned<String>) -> Span {
    Span::new(written.span().start, written.span().end)
}

/// Moves a fault from the value of a TOML string to the text that it is written in.
fn inside(fault: Fault, text: &str, written: &Spanned<String>) -> Fault {
    let whole = place(written);
    let raw = text.get(whole.start..whole.end).unwrap_or_default();
    match raw.find(written.get_ref().as_str()) {
        Some(offset) => fault.shifted(whole.start + offset),
        // With escapes in the string no offset can be trusted, so all of it is underlined.
        None => Fault { span: whole, ..fault },
    }
}

fn word_of<T: FromStr>(key: &str, written: &Spanned<String>, words: &'static [&'static str]) -> Result<T, Fault> {
    written.get_ref().parse().map_err(|_| wrong_word(key, written, words.iter().copied()))
}

fn wrong_word(key: &str, written: &Spanned<String>, words: impl Iterator<Item = &'static str>) -> Fault {
    let words: Vec<_> = words.collect();
    let help = did_you_mean(written.get_ref(), words.iter().copied());
    let help = help.unwrap_or_else(|| format!("one of: {}", words.join(", ")));
    Fault::new(place(written), format!("`{}` is not a {key}", written.get_ref())).help(help)
}

fn unreadable(text: &str, error: &toml::de::Error) -> Fault {
    let span = error.span().map_or(Span::new(0, text.trim_end().len()), |span| Span::new(span.start, span.end));
    let word = text.get(span.start..span.end).unwrap_or_default();
    let help = error.message().starts_with("unknown field").then(|| did_you_mean(word, KEYS.iter().copied())).flatten();
    Fault::new(span, error.message().lines().next().unwrap_or("no TOML")).help(help)
}
