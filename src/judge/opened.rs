//! What leaves a verdict open, in words that apply to every pool with the same cause.

use crate::judge::missing::is_pinned;
use crate::judge::verdict::all_missing;
use crate::judge::verdict::in_words;
use crate::judge::verdict::outcome_name;
use crate::knowledge::Knowledge;
use crate::start::Fate;
use crate::start::Verdict;

/// Between what is not known and why.
const NOT_KNOWN: &str = " is unknown: ";

/// Why a verdict is unknown, or what it depends on.
pub(super) enum Opened {
    /// What is unknown, each once.
    Reasons(Vec<Reason>),
    /// Fields of the pool or builds of the image, and the outcomes that they lead to, in order.
    Depends(String, Vec<End>),
}

/// An outcome by its name.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct End {
    name: String,
    fails: bool,
}

impl End {
    fn of(fate: Fate) -> Self {
        Self { name: outcome_name(fate), fails: matches!(fate, Fate::Fails(_)) }
    }

    /// `starts`, `fails (no-gpu)`.
    fn verb(&self) -> String {
        if self.fails { format!("fails ({})", self.name) } else { self.name.clone() }
    }
}

/// Something that is unknown.
#[derive(Clone, PartialEq)]
pub(super) struct Reason {
    /// `X is unknown: Y`, or `Y`.
    pub(super) text: String,
    /// How to supply it, an imperative; empty if there is no way.
    pub(super) supply: String,
}

/// The texts of a finding about a verdict that is open.
pub(super) struct Texts {
    pub(super) title: String,
    pub(super) cause: Option<String>,
    /// How to supply what the title says is unknown; empty if there is no way.
    pub(super) help: String,
    /// What else is unknown, each with how to supply it.
    pub(super) also_unknown: Vec<String>,
}

impl Opened {
    /// Of a verdict that starts or fails, none.
    pub(super) fn of(verdict: &Verdict<'_>, knowledge: Knowledge) -> Option<Self> {
        match verdict.fate {
            Some(Fate::Undetermined) => {
                let mut reasons: Vec<Reason> = Vec::new();
                for missing in all_missing(verdict, knowledge) {
                    let reason = Reason { text: missing.reason, supply: missing.supply };
                    if !reasons.contains(&reason) {
                        reasons.push(reason);
                    }
                }
                Some(Self::Reasons(reasons))
            }
            None => {
                let fields: Vec<&str> = verdict.open_fields.iter().map(|field| in_words(*field)).collect();
                let on = match (verdict.open_build, is_pinned(verdict)) {
                    (true, true) => "the build that the digest names".to_owned(),
                    (true, false) => "the build that the tag names".to_owned(),
                    (false, _) => fields.join(" and "),
                };
                let mut ends: Vec<End> = verdict.hosts.iter().map(|host| End::of(host.fate)).collect();
                ends.sort();
                ends.dedup();
                Some(Self::Depends(on, ends))
            }
            Some(Fate::Starts(_) | Fate::Fails(_)) => None,
        }
    }

    /// Whether another pool has the same cause, in any order.
    pub(super) fn is_alike(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Reasons(own), Self::Reasons(others)) => {
                own.len() == others.len() && own.iter().all(|one| others.contains(one))
            }
            (Self::Depends(on, own), Self::Depends(same, others)) => on == same && own == others,
            (Self::Reasons(_), Self::Depends(..)) | (Self::Depends(..), Self::Reasons(_)) => false,
        }
    }

    /// One line.
    pub(super) fn text(&self) -> String {
        match self {
            Self::Reasons(reasons) if reasons.is_empty() => "unknown: nothing known decides it".to_owned(),
            Self::Reasons(reasons) => {
                let parts: Vec<String> = folded(reasons).iter().map(Folded::sentence).collect();
                format!("unknown: {}", parts.join("; "))
            }
            Self::Depends(on, ends) => {
                let names: Vec<&str> = ends.iter().map(|end| end.name.as_str()).collect();
                format!("depends on {on}: {}", names.join(" or "))
            }
        }
    }

    /// What is unknown and why, or on what it depends: the texts of a finding.
    pub(super) fn texts(&self) -> Texts {
        let of = |title: String, cause| Texts { title, cause, help: String::new(), also_unknown: Vec::new() };
        let reasons = match self {
            Self::Reasons(reasons) => reasons,
            Self::Depends(on, ends) => {
                let ends: Vec<String> = ends.iter().map(End::verb).collect();
                return of(self.text(), Some(format!("{}, depending on {on}", ends.join(" or "))));
            }
        };
        let mut folded = folded(reasons).into_iter();
        let Some(first) = folded.next() else {
            return of("the verdict is unknown: nothing known decides it".to_owned(), None);
        };
        // A name with what was not done says enough; the rest of the reason says what is unknown for it.
        let mut texts = if first.whats.iter().any(|what| what.is_empty()) || !first.why.starts_with('`') {
            of(first.sentence(), None)
        } else {
            let (title, rest) = first.why.split_once(", and ").unwrap_or((first.why, ""));
            let unknown = format!("{} unknown", are(&first.whats));
            let cause = if rest.is_empty() { unknown } else { format!("{rest}, so {unknown}") };
            of(title.to_owned(), Some(cause))
        };
        texts.help = first.help();
        texts.also_unknown = folded.map(|other| other.with_help()).collect();
        texts
    }

    /// Whether it is a verdict that may be a failure, rather than one that is unknown.
    pub(super) fn may_fail(&self) -> bool {
        matches!(self, Self::Depends(..))
    }
}

/// Things that are unknown for the same reason.
struct Folded<'r> {
    whats: Vec<&'r str>,
    why: &'r str,
    supplies: Vec<&'r str>,
}

fn folded(reasons: &[Reason]) -> Vec<Folded<'_>> {
    let mut all: Vec<Folded<'_>> = Vec::new();
    for reason in reasons {
        let (what, why) = reason.text.split_once(NOT_KNOWN).unwrap_or(("", &reason.text));
        let supply = reason.supply.as_str();
        let alike = |one: &&mut Folded<'_>| {
            one.why == why && (one.whats == [what] || (!what.is_empty() && !one.whats.contains(&"")))
        };
        if let Some(one) = all.iter_mut().find(alike) {
            if !one.whats.contains(&what) {
                one.whats.push(what);
            }
            one.supplies.push(supply);
        } else {
            all.push(Folded { whats: vec![what], why, supplies: vec![supply] });
        }
    }
    all
}

impl Folded<'_> {
    fn sentence(&self) -> String {
        match self.whats.as_slice() {
            [""] => self.why.to_owned(),
            [what] => format!("{what}{NOT_KNOWN}{}", self.why),
            several => format!("{} unknown: {}", are(several), self.why),
        }
    }

    /// How to supply them, each way once; the longer text where one contains another.
    fn help(&self) -> String {
        let mut ways: Vec<&str> = Vec::new();
        for supply in self.supplies.iter().filter(|supply| !supply.is_empty()) {
            if !ways.iter().any(|way| way.contains(supply)) {
                ways.retain(|way| !supply.contains(way));
                ways.push(supply);
            }
        }
        ways.join("; ")
    }

    fn with_help(&self) -> String {
        let (sentence, help) = (self.sentence(), self.help());
        if help.is_empty() { sentence } else { format!("{sentence} (help: {help})") }
    }
}

/// `a is`, `a and b are`.
fn are(whats: &[&str]) -> String {
    format!("{} {}", whats.join(" and "), if whats.len() == 1 { "is" } else { "are" })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reasons(all: &[&str]) -> Opened {
        let reason = |text: &&str| Reason { text: (*text).to_owned(), supply: String::new() };
        Opened::Reasons(all.iter().map(reason).collect())
    }

    fn depends(on: &str, ends: &[&str]) -> Opened {
        let end = |name: &&str| End { name: (*name).to_owned(), fails: *name != "starts" };
        Opened::Depends(on.to_owned(), ends.iter().map(end).collect())
    }

    #[test]
    fn one_reason_for_two_things_is_printed_once() {
        for (all, expected) in [
            (&["a is unknown: x", "b is unknown: x"][..], "a and b are unknown: x"),
            (&["a is unknown: x", "b is unknown: y"], "a is unknown: x; b is unknown: y"),
            (&["a is unknown: x", "no source says", "b is unknown: x"], "a and b are unknown: x; no source says"),
            (&["x", "a is unknown: x"], "x; a is unknown: x"),
            (&["no source says"], "no source says"),
            (&[], "nothing known decides it"),
        ] {
            assert_eq!(reasons(all).text(), format!("unknown: {expected}"), "{all:?}");
        }
    }

    #[test]
    fn a_title_names_what_was_not_read() {
        let unread = "`nvidia/cuda:13` was not read, and the compatibility database lacks this tag";
        let (a, b) = (format!("a is unknown: {unread}"), format!("b is unknown: {unread}"));
        for (all, title, cause, also) in [
            (
                &[a.as_str(), b.as_str()][..],
                "`nvidia/cuda:13` was not read",
                Some("the compatibility database lacks this tag, so a and b are unknown"),
                None,
            ),
            (&["a is unknown: `x` has no tag"], "`x` has no tag", Some("a is unknown"), None),
            (&["A is unknown: no default"], "A is unknown: no default", None, None),
            (&["uv decides", "b is unknown: x"], "uv decides", None, Some("b is unknown: x")),
            (&["uv decides"], "uv decides", None, None),
            (&[], "the verdict is unknown: nothing known decides it", None, None),
        ] {
            let texts = reasons(all).texts();
            assert_eq!((texts.title.as_str(), texts.cause.as_deref()), (title, cause));
            assert_eq!(texts.also_unknown.iter().map(String::as_str).collect::<Vec<_>>(), Vec::from_iter(also));
        }
    }

    #[test]
    fn each_unknown_has_its_own_help() {
        let reason = |text: &str, supply: &str| Reason { text: text.to_owned(), supply: supply.to_owned() };
        let all = vec![
            reason("a is unknown: `x` was not read", "describe `x`"),
            reason("i.sh was not read", "add i.sh"),
            reason("b is unknown: `x` was not read", "describe `x` or pull it"),
        ];
        let texts = Opened::Reasons(all).texts();
        assert_eq!(texts.title, "`x` was not read");
        assert_eq!(texts.cause.as_deref(), Some("a and b are unknown"));
        assert_eq!(texts.help, "describe `x` or pull it");
        assert_eq!(texts.also_unknown, ["i.sh was not read (help: add i.sh)"]);
    }

    #[test]
    fn pools_with_the_same_reasons_are_alike() {
        let own = depends("pool.driver", &["refused", "starts"]);
        assert!(own.is_alike(&depends("pool.driver", &["refused", "starts"])));
        assert_eq!(own.text(), "depends on pool.driver: refused or starts");
        assert_eq!(own.texts().cause.as_deref(), Some("fails (refused) or starts, depending on pool.driver"));
        assert!(!own.is_alike(&depends("pool.driver", &["no-gpu", "starts"])));
        assert!(!own.is_alike(&depends("pool.driver", &["refused"])));
        assert!(!own.is_alike(&depends("pool.launch", &["refused", "starts"])));
        assert!(!own.is_alike(&reasons(&["a"])));
        let own = reasons(&["a", "b"]);
        assert!(own.is_alike(&reasons(&["b", "a"])));
        assert!(!own.is_alike(&reasons(&["a"])) && !reasons(&["a"]).is_alike(&own));
        assert!(!own.is_alike(&reasons(&["a", "c"])) && !own.is_alike(&depends("a", &["b"])));
        assert_eq!(own.text(), "unknown: a; b");
    }
}
