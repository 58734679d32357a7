//! What leaves a verdict open, in words that are so of every pool that shares them.

use crate::judge::missing::is_pinned;
use crate::judge::verdict::all_missing;
use crate::judge::verdict::in_words;
use crate::judge::verdict::outcome_name;
use crate::knowledge::Knowledge;
use crate::start::Fate;
use crate::start::Verdict;

/// Between what is not known and why.
const NOT_KNOWN: &str = " is unknown: ";

/// What a verdict hangs on, or why it cannot be told.
pub(super) enum Opened {
    /// What would have to be known, each once.
    Reasons(Vec<String>),
    /// Fields of the pool or builds of the image, and the names of the ends that they lead to, in order.
    Depends(String, Vec<String>),
}

impl Opened {
    /// Of a verdict that starts or fails, none.
    pub(super) fn of(verdict: &Verdict<'_>, knowledge: Knowledge) -> Option<Self> {
        match verdict.fate {
            Some(Fate::Undetermined) => {
                let mut reasons: Vec<String> = Vec::new();
                for missing in all_missing(verdict, knowledge) {
                    add(&mut reasons, missing.reason);
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
                let mut ends: Vec<String> = verdict.hosts.iter().map(|host| outcome_name(host.fate)).collect();
                ends.sort();
                ends.dedup();
                Some(Self::Depends(on, ends))
            }
            Some(Fate::Starts(_) | Fate::Fails(_)) => None,
        }
    }

    /// Whether another pool says the same, in whatever order: what is told of several is so of each.
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
            Self::Reasons(reasons) => format!("unknown: {}", folded(reasons).join("; ")),
            Self::Depends(on, ends) => format!("depends on {on}: {}", ends.join(" or ")),
        }
    }

    /// What is unknown and why, or on what it depends: the title of a finding and its cause.
    pub(super) fn title_and_cause(&self) -> (String, Option<String>) {
        let Self::Reasons(reasons) = self else { return (self.text(), Some(self.text())) };
        let mut folded = folded_parts(reasons).into_iter();
        let Some((whats, why)) = folded.next() else {
            return ("the verdict is unknown: nothing known decides it".to_owned(), None);
        };
        let others: Vec<String> = folded.map(sentence).collect();
        let also = (!others.is_empty()).then(|| others.join("; "));
        // A name with what was not done says enough; the rest of the reason says what is unknown for it.
        if whats.iter().any(|what| what.is_empty()) || !why.starts_with('`') {
            return (sentence((whats, why)), also);
        }
        let (title, rest) = why.split_once(", and ").unwrap_or((why, ""));
        let unknown = format!("{} unknown", are(&whats));
        let cause = if rest.is_empty() { unknown } else { format!("{rest}, so {unknown}") };
        (title.to_owned(), Some(also.map_or(cause.clone(), |also| format!("{cause}; {also}"))))
    }

    /// Whether it is a verdict that may be a failure, rather than one that is unknown.
    pub(super) fn may_fail(&self) -> bool {
        matches!(self, Self::Depends(..))
    }
}

fn add(all: &mut Vec<String>, one: String) {
    if !all.contains(&one) {
        all.push(one);
    }
}

/// Things that are not known for one and the same reason, told with it once.
fn folded(reasons: &[String]) -> Vec<String> {
    folded_parts(reasons).into_iter().map(sentence).collect()
}

fn folded_parts(reasons: &[String]) -> Vec<(Vec<&str>, &str)> {
    let mut told: Vec<(Vec<&str>, &str)> = Vec::new();
    for reason in reasons {
        let (what, why) = reason.split_once(NOT_KNOWN).unwrap_or(("", reason));
        match told
            .iter_mut()
            .find(|(whats, other)| *other == why && !what.is_empty() && whats.iter().all(|one| !one.is_empty()))
        {
            Some((whats, _)) => whats.push(what),
            None => told.push((vec![what], why)),
        }
    }
    told
}

fn sentence((whats, why): (Vec<&str>, &str)) -> String {
    match whats.as_slice() {
        [""] => why.to_owned(),
        [what] => format!("{what}{NOT_KNOWN}{why}"),
        several => format!("{} unknown: {why}", are(several)),
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
        Opened::Reasons(all.iter().map(|one| (*one).to_owned()).collect())
    }

    fn depends(on: &str, ends: &[&str]) -> Opened {
        Opened::Depends(on.to_owned(), ends.iter().map(|one| (*one).to_owned()).collect())
    }

    #[test]
    fn one_reason_for_two_things_is_told_once() {
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
        for (all, title, cause) in [
            (
                vec![format!("a is unknown: {unread}"), format!("b is unknown: {unread}")],
                "`nvidia/cuda:13` was not read",
                Some("the compatibility database lacks this tag, so a and b are unknown"),
            ),
            (vec!["a is unknown: `x` has no tag".to_owned()], "`x` has no tag", Some("a is unknown")),
            (vec!["A is unknown: no default".to_owned()], "A is unknown: no default", None),
            (vec!["uv decides".to_owned(), "b is unknown: x".to_owned()], "uv decides", Some("b is unknown: x")),
            (vec!["uv decides".to_owned()], "uv decides", None),
            (vec![], "the verdict is unknown: nothing known decides it", None),
        ] {
            let found = Opened::Reasons(all).title_and_cause();
            assert_eq!((found.0.as_str(), found.1.as_deref()), (title, cause));
        }
    }

    #[test]
    fn pools_share_what_is_so_of_each_and_nothing_else() {
        let own = depends("pool.driver", &["refused", "starts"]);
        assert!(own.is_alike(&depends("pool.driver", &["refused", "starts"])));
        assert_eq!(own.text(), "depends on pool.driver: refused or starts");
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
