//! The header of a rule page: the typed keys of its `toml rule` block.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use serde::Deserialize;
use toml::Spanned;

use crate::model::outcome::{FailureCause, Outcome};
use crate::rules::condition::RuleCondition;
use crate::rules::page_error::{Fault, did_you_mean};
use crate::rules::pattern::PatternCompilation;
use crate::rules::template::MessageTemplate;
use crate::rules::vocabulary::Vocabulary;
use crate::text::source::Span;

macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($(#[$variant_doc:meta])* $variant:ident = $word:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum $name { $($(#[$variant_doc])* $variant,)* }

        impl $name {
            /// All words, in order.
            pub const WORDS: &[&str] = &[$($word),*];

            /// The word in pages and reports.
            pub const fn name(self) -> &'static str {
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
                f.write_str(self.name())
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
        /// The container starts, but the setup is fragile or wasteful.
        Warning = "warning",
        /// The container does not start, or not with its GPU.
        Error = "error",
    }
}

words! {
    /// The kind of user that a rule is for; each kind also sees the rules of those before it.
    Persona {
        /// Every user.
        Regular = "regular",
        /// Users who want good practice enforced.
        Pedantic = "pedantic",
        /// Users who review findings by hand.
        Auditor = "auditor",
    }
}

words! {
    /// Whether a rule is active without `--preview`.
    Status {
        /// Only active with `--preview`.
        Preview = "preview",
        /// Always active.
        Stable = "stable",
    }
}

words! {
    /// What can be done about it.
    FixKind {
        /// An edit without side effects.
        Safe = "safe",
        /// An edit that also changes a version.
        Unsafe = "unsafe",
        /// No automatic edit; a user has to fix it.
        Manual = "manual",
    }
}

words! {
    /// Notices other than outcomes and conditions: problems of an input, and undetermined verdicts.
    Notice {
        /// The builder would reject the Dockerfile.
        Syntax = "syntax",
        /// A template placeholder in place of an instruction.
        Template = "template",
        /// A control comment for imagelint is invalid.
        Comment = "comment",
        /// A suppression that suppresses nothing.
        UnusedIgnore = "unused-ignore",
        /// A verdict that differs between the nodes of one pool.
        Depends = "depends",
        /// A verdict that is undetermined because a fact is unknown.
        Undetermined = "undetermined",
        /// A condition that cannot be evaluated because a fact is unknown.
        Condition = "condition",
    }
}

impl Notice {
    /// All notices.
    pub const ALL: &[Self] = &[
        Self::Syntax,
        Self::Template,
        Self::Comment,
        Self::UnusedIgnore,
        Self::Depends,
        Self::Undetermined,
        Self::Condition,
    ];

    /// The notices about open verdicts.
    pub const OPEN: &[Self] = &[Self::Depends, Self::Undetermined];
}

/// The subject of a rule page.
#[derive(Clone, Debug)]
pub enum PageKind {
    /// A start-up outcome.
    Startup(Outcome),
    /// A practice: findings are reported if the condition is true.
    Practice(RuleCondition),
    /// A notice.
    Reader(Notice),
}

/// The checked header of a rule page.
pub(super) struct PageHeader {
    pub(super) kind: PageKind,
    pub(super) severity: Severity,
    pub(super) persona: Persona,
    pub(super) status: Status,
    pub(super) fix: FixKind,
    pub(super) since: String,
    pub(super) aliases: Vec<String>,
    pub(super) blame: String,
    pub(super) message: MessageTemplate,
    pub(super) help: MessageTemplate,
    pub(super) cause: Option<MessageTemplate>,
    pub(super) help_for: Vec<(FailureCause, MessageTemplate)>,
}

/// The keys that a header may have.
const HEADER_KEYS: &[&str] = &[
    "aliases", "severity", "since", "status", "persona", "fix", "outcome", "when", "notice", "blame", "message",
    "cause", "help", "help_for",
];

/// The header as deserialized from TOML, before its values are checked.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawPageHeader {
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

/// Parses a header; spans in errors count from the start of `text`.
pub(super) fn parse_header(
    text: &str,
    vocabulary: &Vocabulary,
    patterns: PatternCompilation,
) -> Result<PageHeader, Fault> {
    let written: RawPageHeader = toml::from_str(text).map_err(|error| toml_fault(text, &error))?;
    let kind = match (&written.outcome, &written.when, &written.notice) {
        (Some(outcome), None, None) => {
            let names = Outcome::ALL.iter().map(|outcome| outcome.name());
            let found = outcome.get_ref().parse();
            PageKind::Startup(found.map_err(|_| unknown_keyword("outcome", outcome, names))?)
        }
        (None, None, Some(notice)) => PageKind::Reader(parse_keyword("notice", notice, Notice::WORDS)?),
        (None, Some(when), None) => {
            let condition = RuleCondition::parse_with_patterns(when.get_ref(), vocabulary, patterns);
            PageKind::Practice(condition.map_err(|fault| move_fault_to_header(fault, text, when))?)
        }
        (Some(_), Some(when), _) => {
            return Err(Fault::new(toml_span(when), "a page has `outcome` or `when`, not both"));
        }
        (_, _, Some(notice)) => {
            return Err(Fault::new(
                toml_span(notice),
                "a page with a `notice` cannot have \
            `outcome` or `when`",
            ));
        }
        (None, None, None) => {
            return Err(Fault::new(Span::new(0, text.trim_end().len()), "a page has either `outcome` or `when`")
                .with_help("a practice page requires `when`".to_owned()));
        }
    };
    let severity = match (&written.severity, &kind) {
        (Some(word), _) => parse_keyword("severity", word, Severity::WORDS)?,
        (None, PageKind::Startup(_)) => Severity::Error,
        (None, PageKind::Practice(_) | PageKind::Reader(_)) => {
            return Err(Fault::new(Span::new(0, text.trim_end().len()), "a practice page requires `severity`"));
        }
    };
    let persona = match &written.persona {
        Some(word) => parse_keyword("persona", word, Persona::WORDS)?,
        None => Persona::Regular,
    };
    let status = match &written.status {
        Some(word) => match parse_keyword("status", word, Status::WORDS)? {
            // What an outcome or a reader has to say is not kept back.
            Status::Preview if !matches!(kind, PageKind::Practice(_)) => {
                return Err(Fault::new(toml_span(word), "only a page with a condition can be a preview"));
            }
            status => status,
        },
        None => Status::Stable,
    };
    let fix = match &written.fix {
        Some(word) => parse_keyword("kind of fix", word, FixKind::WORDS)?,
        None => FixKind::Manual,
    };
    let blame = written.blame.get_ref();
    if blame.starts_with("component.") || vocabulary.find_entry(blame).is_none() {
        let help = vocabulary.nearest_name(blame).map(|near| format!("did you mean `{near}`?"));
        return Err(Fault::new(toml_span(&written.blame), format!("there is no fact `{blame}`")).with_help(help));
    }
    let since = written.since.get_ref();
    if since.split('.').count() != 3 || !since.split('.').all(|part| part.parse::<u16>().is_ok()) {
        return Err(Fault::new(toml_span(&written.since), "`since` is a version of imagelint, such as 0.1.0"));
    }
    let template = |written: &Spanned<String>| {
        if written.get_ref().trim().is_empty() {
            return Err(Fault::new(toml_span(written), "this text is empty"));
        }
        MessageTemplate::parse(written.get_ref(), vocabulary)
            .map_err(|fault| move_fault_to_header(fault, text, written))
    };
    let (message, help) = (template(&written.message)?, template(&written.help)?);
    let why = written.cause.as_ref().map(|cause| match kind {
        PageKind::Practice(_) => template(cause),
        PageKind::Startup(_) | PageKind::Reader(_) => Err(Fault::new(
            toml_span(cause),
            "only a page with a condition has a `cause`; other findings have their own",
        )),
    });
    let why = why.transpose()?;
    let mut help_for = Vec::new();
    for (name, text) in &written.help_for {
        help_for.push((parse_cause(name, &kind)?, template(text)?));
    }
    if let Some(alias) = written.aliases.iter().find(|alias| !is_rule_name(alias.get_ref())) {
        return Err(Fault::new(toml_span(alias), "a rule name consists of lower-case words joined by hyphens"));
    }
    let aliases = written.aliases.iter().map(|alias| alias.get_ref().clone()).collect();
    let (since, blame) = (since.clone(), blame.clone());
    Ok(PageHeader { kind, severity, persona, status, fix, since, aliases, blame, message, cause: why, help, help_for })
}

/// Parses a cause, which must belong to the outcome of the page.
fn parse_cause(name: &Spanned<String>, kind: &PageKind) -> Result<FailureCause, Fault> {
    let PageKind::Startup(outcome) = kind else {
        return Err(Fault::new(toml_span(name), "only the page of an outcome has help for its causes"));
    };
    let mut causes = FailureCause::ALL.iter().copied().filter(|cause| cause.outcome() == *outcome);
    let names: Vec<&str> = causes.clone().map(FailureCause::name).collect();
    let found = causes.find(|cause| cause.name() == name.get_ref());
    found.ok_or_else(|| unknown_keyword(&format!("cause of `{outcome}`"), name, names.into_iter()))
}

/// Returns the span of a TOML value.
fn toml_span(written: &Spanned<String>) -> Span {
    Span::new(written.span().start, written.span().end)
}

/// Moves an error in the value of a TOML string to the header that contains it.
fn move_fault_to_header(fault: Fault, text: &str, written: &Spanned<String>) -> Fault {
    let whole = toml_span(written);
    let raw = text.get(whole.start..whole.end).unwrap_or_default();
    match raw.find(written.get_ref().as_str()) {
        Some(offset) => fault.shifted(whole.start + offset),
        // With escapes in the string no offset can be trusted, so all of it is underlined.
        None => Fault { span: whole, ..fault },
    }
}

/// Parses a value that must be one of a fixed list.
fn parse_keyword<T: FromStr>(key: &str, written: &Spanned<String>, words: &'static [&'static str]) -> Result<T, Fault> {
    written.get_ref().parse().map_err(|_| unknown_keyword(key, written, words.iter().copied()))
}

/// Returns the error for a value that is not in the list.
fn unknown_keyword(key: &str, written: &Spanned<String>, words: impl Iterator<Item = &'static str>) -> Fault {
    let words: Vec<_> = words.collect();
    let help = did_you_mean(written.get_ref(), words.iter().copied());
    let help = help.unwrap_or_else(|| format!("one of: {}", words.join(", ")));
    Fault::new(toml_span(written), format!("`{}` is not a {key}", written.get_ref())).with_help(help)
}

/// Converts a TOML error.
fn toml_fault(text: &str, error: &toml::de::Error) -> Fault {
    let span = error.span().map_or(Span::new(0, text.trim_end().len()), |span| Span::new(span.start, span.end));
    let word = text.get(span.start..span.end).unwrap_or_default();
    let help =
        error.message().starts_with("unknown field").then(|| did_you_mean(word, HEADER_KEYS.iter().copied())).flatten();
    Fault::new(span, error.message().lines().next().unwrap_or("no TOML")).with_help(help)
}

/// Whether a text has the form of a rule name: lower-case words joined by hyphens.
pub(super) fn is_rule_name(text: &str) -> bool {
    let word =
        |word: &str| !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit());
    text.len() <= 64 && text.split('-').all(word)
}
