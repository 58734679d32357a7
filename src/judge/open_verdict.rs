//! Open verdicts: what makes them unknown, in texts that apply to every pool with the same cause.

use crate::cause::Explanation;
use crate::judge::missing_information::is_base_pinned;
use crate::judge::verdict::{field_description, missing_facts, outcome_name};
use crate::knowledge::Knowledge;
use crate::replay::{StartupResult, StartupVerdict};

/// Why a verdict is unknown, or what it depends on.
pub(super) enum OpenVerdict {
    /// The distinct reasons why it is unknown.
    Reasons(Vec<UnknownReason>),
    /// The pool fields or image builds that it depends on, and the sorted outcomes.
    Depends(String, Vec<NamedOutcome>),
}

/// An outcome by its name.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct NamedOutcome {
    name: String,
    fails: bool,
}

impl NamedOutcome {
    /// Returns the outcome of a result on a host.
    fn from_result(fate: StartupResult) -> Self {
        Self { name: outcome_name(fate), fails: matches!(fate, StartupResult::Fails(_)) }
    }

    /// Returns a verb phrase: `starts`, `fails (no-gpu)`.
    fn verb_phrase(&self) -> String {
        if self.fails { format!("fails ({})", self.name) } else { self.name.clone() }
    }
}

/// Something that is unknown, and why.
#[derive(Clone, PartialEq)]
pub(super) struct UnknownReason {
    /// What is unknown, and why.
    pub(super) why: Explanation,
    /// How to supply it, as an imperative; empty if that is impossible.
    pub(super) supply: String,
}

/// The texts of a finding on an open verdict.
pub(super) struct OpenVerdictTexts {
    pub(super) title: String,
    pub(super) cause: Option<String>,
    /// How to supply what the title says is unknown; empty if that is impossible.
    pub(super) help: String,
    /// What else is unknown, each with how to supply it.
    pub(super) also_unknown: Vec<String>,
}

impl OpenVerdict {
    /// Returns what leaves a verdict open; `None` if it starts or fails.
    pub(super) fn from_verdict(verdict: &StartupVerdict<'_>, knowledge: Knowledge) -> Option<Self> {
        match verdict.fate {
            Some(StartupResult::Undetermined) => {
                let mut reasons: Vec<UnknownReason> = Vec::new();
                for missing in missing_facts(verdict, knowledge) {
                    let reason = UnknownReason { why: missing.reason, supply: missing.supply };
                    if !reasons.contains(&reason) {
                        reasons.push(reason);
                    }
                }
                Some(Self::Reasons(reasons))
            }
            None => {
                let fields: Vec<&str> = verdict.open_fields.iter().map(|field| field_description(*field)).collect();
                let on = match (verdict.open_build, is_base_pinned(verdict)) {
                    (true, true) => "the build that the digest names".to_owned(),
                    (true, false) => "the build that the tag names".to_owned(),
                    (false, _) => fields.join(" and "),
                };
                let mut ends: Vec<NamedOutcome> =
                    verdict.hosts.iter().map(|host| NamedOutcome::from_result(host.fate)).collect();
                ends.sort();
                ends.dedup();
                Some(Self::Depends(on, ends))
            }
            Some(StartupResult::Starts(_) | StartupResult::Fails(_)) => None,
        }
    }

    /// Whether another open verdict has the same causes, in any order.
    pub(super) fn has_same_cause(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Reasons(own), Self::Reasons(others)) => {
                own.len() == others.len() && own.iter().all(|one| others.contains(one))
            }
            (Self::Depends(on, own), Self::Depends(same, others)) => on == same && own == others,
            (Self::Reasons(_), Self::Depends(..)) | (Self::Depends(..), Self::Reasons(_)) => false,
        }
    }

    /// Returns the reasons in one line.
    pub(super) fn text(&self) -> String {
        match self {
            Self::Reasons(reasons) if reasons.is_empty() => "unknown: nothing known decides it".to_owned(),
            Self::Reasons(reasons) => {
                let parts: Vec<String> = group_reasons(reasons).iter().map(ReasonGroup::sentence).collect();
                format!("unknown: {}", parts.join("; "))
            }
            Self::Depends(on, ends) => {
                let names: Vec<&str> = ends.iter().map(|end| end.name.as_str()).collect();
                format!("depends on {on}: {}", names.join(" or "))
            }
        }
    }

    /// Returns the texts of a finding: what is unknown and why, or what the verdict depends on.
    pub(super) fn finding_texts(&self) -> OpenVerdictTexts {
        let of =
            |title: String, cause| OpenVerdictTexts { title, cause, help: String::new(), also_unknown: Vec::new() };
        let reasons = match self {
            Self::Reasons(reasons) => reasons,
            Self::Depends(on, ends) => {
                let ends: Vec<String> = ends.iter().map(NamedOutcome::verb_phrase).collect();
                return of(self.text(), Some(format!("{}, depending on {on}", ends.join(" or "))));
            }
        };
        let mut folded = group_reasons(reasons).into_iter();
        let Some(first) = folded.next() else {
            return of("the verdict is unknown: nothing known decides it".to_owned(), None);
        };
        // A name with what was not done says enough; the rest of the reason says what is unknown for it.
        let mut texts = if first.subjects.is_empty() {
            of(first.sentence(), None)
        } else if let Some((title, rest)) = &first.why.title {
            let unknown = format!("{} unknown", subject_with_verb(&first.subjects));
            let cause = rest.as_ref().map_or_else(|| unknown.clone(), |rest| format!("{rest}, so {unknown}"));
            of(title.clone(), Some(cause))
        } else {
            of(first.sentence(), None)
        };
        texts.help = first.help();
        texts.also_unknown = folded.map(|other| other.sentence_with_help()).collect();
        texts
    }

    /// Whether the verdict may be a failure, rather than unknown.
    pub(super) fn may_fail(&self) -> bool {
        matches!(self, Self::Depends(..))
    }
}

/// Things that are unknown for the same reason.
struct ReasonGroup<'r> {
    /// What is unknown; empty if the reason is a sentence of its own.
    subjects: Vec<&'r str>,
    why: &'r Explanation,
    supplies: Vec<&'r str>,
}

/// Groups things that are unknown for the same reason.
fn group_reasons(reasons: &[UnknownReason]) -> Vec<ReasonGroup<'_>> {
    let mut all: Vec<ReasonGroup<'_>> = Vec::new();
    for reason in reasons {
        let (subject, supply) = (reason.why.subject.as_deref(), reason.supply.as_str());
        let alike = |one: &&mut ReasonGroup<'_>| {
            one.why.has_reason_of(&reason.why) && one.subjects.is_empty() == subject.is_none()
        };
        if let Some(one) = all.iter_mut().find(alike) {
            one.subjects.extend(subject.filter(|subject| !one.subjects.contains(subject)));
            one.supplies.push(supply);
        } else {
            let subjects = subject.into_iter().collect();
            all.push(ReasonGroup { subjects, why: &reason.why, supplies: vec![supply] });
        }
    }
    all
}

impl ReasonGroup<'_> {
    /// Returns what is unknown and why, in one sentence.
    fn sentence(&self) -> String {
        match self.subjects.as_slice() {
            [] => self.why.reason.clone(),
            subjects => format!("{} unknown: {}", subject_with_verb(subjects), self.why.reason),
        }
    }

    /// Returns how to supply them, each instruction once; the longer text if one contains another.
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

    /// Returns the sentence, followed by the help in parentheses.
    fn sentence_with_help(&self) -> String {
        let (sentence, help) = (self.sentence(), self.help());
        if help.is_empty() { sentence } else { format!("{sentence} (help: {help})") }
    }
}

/// Joins subjects and adds the verb: `a is`, `a and b are`.
fn subject_with_verb(whats: &[&str]) -> String {
    format!("{} {}", whats.join(" and "), if whats.len() == 1 { "is" } else { "are" })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cause::Cause;

    fn reasons(all: &[&str]) -> OpenVerdict {
        let reason = |text: &&str| UnknownReason {
            why: Cause::Recorded { reason: (*text).to_owned(), remedy: String::new() }.explain(),
            supply: String::new(),
        };
        OpenVerdict::Reasons(all.iter().map(reason).collect())
    }

    fn depends(on: &str, ends: &[&str]) -> OpenVerdict {
        let end = |name: &&str| NamedOutcome { name: (*name).to_owned(), fails: *name != "starts" };
        OpenVerdict::Depends(on.to_owned(), ends.iter().map(end).collect())
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
            let texts = reasons(all).finding_texts();
            assert_eq!((texts.title.as_str(), texts.cause.as_deref()), (title, cause));
            assert_eq!(texts.also_unknown.iter().map(String::as_str).collect::<Vec<_>>(), Vec::from_iter(also));
        }
    }

    #[test]
    fn each_unknown_has_its_own_help() {
        let reason = |text: &str, supply: &str| UnknownReason {
            why: Cause::Recorded { reason: text.to_owned(), remedy: String::new() }.explain(),
            supply: supply.to_owned(),
        };
        let all = vec![
            reason("a is unknown: `x` was not read", "describe `x`"),
            reason("i.sh was not read", "add i.sh"),
            reason("b is unknown: `x` was not read", "describe `x` or pull it"),
        ];
        let texts = OpenVerdict::Reasons(all).finding_texts();
        assert_eq!(texts.title, "`x` was not read");
        assert_eq!(texts.cause.as_deref(), Some("a and b are unknown"));
        assert_eq!(texts.help, "describe `x` or pull it");
        assert_eq!(texts.also_unknown, ["i.sh was not read (help: add i.sh)"]);
    }

    #[test]
    fn pools_with_the_same_reasons_are_alike() {
        let own = depends("pool.driver", &["refused", "starts"]);
        assert!(own.has_same_cause(&depends("pool.driver", &["refused", "starts"])));
        assert_eq!(own.text(), "depends on pool.driver: refused or starts");
        assert_eq!(own.finding_texts().cause.as_deref(), Some("fails (refused) or starts, depending on pool.driver"));
        assert!(!own.has_same_cause(&depends("pool.driver", &["no-gpu", "starts"])));
        assert!(!own.has_same_cause(&depends("pool.driver", &["refused"])));
        assert!(!own.has_same_cause(&depends("pool.launch", &["refused", "starts"])));
        assert!(!own.has_same_cause(&reasons(&["a"])));
        let own = reasons(&["a", "b"]);
        assert!(own.has_same_cause(&reasons(&["b", "a"])));
        assert!(!own.has_same_cause(&reasons(&["a"])) && !reasons(&["a"]).has_same_cause(&own));
        assert!(!own.has_same_cause(&reasons(&["a", "c"])) && !own.has_same_cause(&depends("a", &["b"])));
        assert_eq!(own.text(), "unknown: a; b");
    }
}
