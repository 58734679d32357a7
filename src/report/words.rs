//! The words of a report: titles of subjects, cells of verdicts, places, counts.

use crate::outcome::Outcome;
use crate::outcome::route_words;
use crate::report::escape::clean;
use crate::report::kinds::VerdictKind;
use crate::report::model::Finding;
use crate::report::model::Location;
use crate::report::model::Subject;
use crate::report::model::Verdict;

/// Said where nobody declared a fleet.
pub const NO_FLEET: &str = "no fleet file: checked against built-in example pools; findings are warnings at most. \
                            Describe yours: imagelint fleet init";

/// Name of a subject with its stage or platform, on one line.
pub fn title(subject: &Subject) -> String {
    let parts = [&subject.stage, &subject.platform].into_iter().flatten();
    let parts = parts.map(|part| format!("({})", clean(part)));
    let words: Vec<String> = std::iter::once(clean(&subject.name).into_owned()).chain(parts).collect();
    words.join(" ")
}

/// So many pools are named in a message; reports that list them all do so beside it.
const NAMED: usize = 8;

/// What a finding says, and on which pools where the message itself does not name them; not escaped.
pub fn on_pools(finding: &Finding) -> String {
    if finding.pools.iter().all(|pool| finding.message.contains(&format!("`{pool}`"))) {
        return finding.message.clone();
    }
    let named: Vec<String> = finding.pools.iter().take(NAMED).map(|pool| format!("`{pool}`")).collect();
    let named = named.join(", ");
    match finding.pools.len() {
        1 => format!("{} (pool {named})", finding.message),
        many if many <= NAMED => format!("{} (pools {named})", finding.message),
        many => format!("{} (pools {named} and {} more)", finding.message, many - NAMED),
    }
}

/// A verdict in a word for people.
pub fn word(verdict: &Verdict) -> &'static str {
    match verdict.fate {
        VerdictKind::Starts if !verdict.not_seen.is_empty() => "no failure found",
        fate => fate_word(fate),
    }
}

/// The word for the fate of one host.
pub fn fate_word(fate: VerdictKind) -> &'static str {
    match fate {
        VerdictKind::Depends => "may fail",
        VerdictKind::Undetermined => "unknown",
        VerdictKind::NotApplicable => "not applicable",
        other => other.word(),
    }
}

/// The sign before a verdict.
pub fn sign(verdict: &Verdict, ascii: bool) -> &'static str {
    match verdict.fate {
        VerdictKind::Starts if !verdict.not_seen.is_empty() => "~",
        VerdictKind::Starts => {
            if ascii {
                "+"
            } else {
                "✓"
            }
        }
        VerdictKind::Fails => {
            if ascii {
                "x"
            } else {
                "✗"
            }
        }
        VerdictKind::NotApplicable => "-",
        _ => "?",
    }
}

/// The route of a verdict in words.
pub fn route(verdict: &Verdict) -> Option<&str> {
    route_words(verdict.route.as_deref()?)
}

/// What follows the word: the outcome of a failure with its error, or the route of a start.
pub fn reason(verdict: &Verdict) -> String {
    reason_with(verdict, "CUDA error ")
}

/// The same in fewer columns: `insufficient-driver (35)`.
pub fn short_reason(verdict: &Verdict) -> String {
    reason_with(verdict, "")
}

fn reason_with(verdict: &Verdict, before: &str) -> String {
    if verdict.fate != VerdictKind::Fails {
        return route(verdict).map(|route| clean(route).into_owned()).unwrap_or_default();
    }
    let outcome = verdict.outcome.as_deref().map(|name| clean(Outcome::rule_of(name)).into_owned()).unwrap_or_default();
    match codes(verdict).as_slice() {
        [] => outcome,
        codes => format!("{outcome} ({before}{})", codes.join(" or ")).trim_start().to_owned(),
    }
}

/// The CUDA error of a failure, or those that it may be.
pub fn codes(verdict: &Verdict) -> Vec<String> {
    match verdict.codes.certain {
        Some(code) => vec![code.to_string()],
        None => verdict.codes.possible.iter().map(u16::to_string).collect(),
    }
}

/// A verdict in a few words: `fails insufficient-driver`, `starts (PTX JIT)`.
pub fn cell(verdict: &Verdict) -> String {
    let word = word(verdict);
    match (verdict.fate, &verdict.outcome, route(verdict)) {
        (VerdictKind::Fails, Some(outcome), _) => format!("{word} {}", clean(Outcome::rule_of(outcome))),
        (VerdictKind::Starts, _, Some(route)) => format!("{word} ({})", clean(route)),
        _ => word.to_owned(),
    }
}

/// What a verdict reports after its word: what is wrong with the error in parentheses, or why it is unknown.
pub fn explained(verdict: &Verdict) -> String {
    let message = verdict.message.as_str();
    match verdict.fate {
        VerdictKind::Starts => message.split_once("), ").map_or_else(String::new, |(_, more)| more.to_owned()),
        VerdictKind::Fails => {
            match (verdict.codes.certain, message.strip_prefix("error ").and_then(|rest| rest.split_once(": "))) {
                // The text of the error comes before what is wrong.
                (Some(code), Some((_, rest))) => {
                    format!("{} (CUDA error {code})", rest.split_once(": ").map_or(rest, |(_, title)| title))
                }
                (None, Some((codes, title))) => format!("{title} (CUDA error {codes})"),
                (_, None) => message.to_owned(),
            }
        }
        _ => message.strip_prefix("unknown: ").unwrap_or(message).to_owned(),
    }
}

/// A verdict in one sentence: `fails: driver 470 is too old for CUDA 12.4 (CUDA error 35)`, `starts (PTX JIT)`.
pub fn sentence(verdict: &Verdict) -> String {
    let more = explained(verdict);
    match verdict.fate {
        _ if more.is_empty() => cell(verdict),
        VerdictKind::Starts => format!("{}, {more}", cell(verdict)),
        _ => format!("{}: {more}", word(verdict)),
    }
}

/// The first `most` of a list, and the number of the rest.
pub fn listed(list: &[String], most: usize, between: &str) -> String {
    let named: Vec<&str> = list.iter().take(most).map(String::as_str).collect();
    match list.len().saturating_sub(most) {
        0 => named.join(between),
        more => format!("{} and {more} more", named.join(between)),
    }
}

/// Names in a series: `a`, `a and b`, `a, b and c`.
pub fn series(list: &[&str]) -> String {
    match list {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [others @ .., end] => format!("{} and {end}", others.join(", ")),
    }
}

/// A component in words: the libraries of the toolkit have no name of their own.
pub fn named(component: &str) -> &str {
    if component == "cuda" { "program in the image" } else { component }
}

/// The name of a fact in words.
pub fn fact(key: &str) -> String {
    if let Some(variable) = key.strip_prefix("env.") {
        return variable.to_owned();
    }
    match key.strip_prefix("pool.") {
        Some("gpu") => return "GPU of the pool".to_owned(),
        Some(field) => return format!("{field} of the pool"),
        None => {}
    }
    let (of, what) = key.rsplit_once('.').unwrap_or(("", key));
    let of_words = match of {
        "" => String::new(),
        "image" | "cuda" => " of the image".to_owned(),
        "image.base" => " of the base image".to_owned(),
        other => format!(" of the {}", named(other))
            .replace(" of the the ", " of the ")
            .replace(&format!("the {other}"), other),
    };
    let what = match what {
        "code" => "GPU architectures",
        "cuda" => "CUDA",
        "compat" => "cuda-compat",
        "base" => return "base image".to_owned(),
        other => return format!("{}{of_words}", other.replace('_', " ")),
    };
    format!("{what}{of_words}")
}

/// A place on one line: `Dockerfile:2:6`, `config field Env`, `layer sha256:...`.
pub fn place(location: &Location) -> String {
    let path = clean(&location.path);
    match (location.kind.as_str(), location.region) {
        (_, Some(region)) => format!("{path}:{}:{}", region.start_line, region.start_column),
        ("config", None) => format!("config field {path}"),
        ("layer", None) => layer(&path, location.made_by.as_deref()),
        ("option", None) => format!("option {path}"),
        _ => path.into_owned(),
    }
}

/// So much of a digest tells layers apart.
const DIGEST: usize = 12;

/// `/opt/app in layer sha256:0123456789ab, made by RUN make`.
fn layer(place: &str, made_by: Option<&str>) -> String {
    let made_by = made_by.map(|step| format!(", made by `{}`", clean(step))).unwrap_or_default();
    let mut parts = place.splitn(3, ':');
    match (parts.next(), parts.next(), parts.next()) {
        (Some(kind), Some(digest), Some(path)) => {
            format!("{path} in layer {kind}:{}{made_by}", digest.get(..DIGEST).unwrap_or(digest))
        }
        _ => format!("layer {place}{made_by}"),
    }
}

/// A number with its noun: `1 pool`, `2 pools`.
pub fn count(number: usize, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_names_its_pools_once() {
        let told = |message: &str, pools: &[&str]| {
            let pools = pools.iter().map(|pool| (*pool).to_owned()).collect();
            on_pools(&Finding { message: message.to_owned(), pools, ..Finding::default() })
        };
        assert_eq!(told("x", &[]), "x");
        assert_eq!(told("x", &["a"]), "x (pool `a`)");
        assert_eq!(told("x", &["a", "b"]), "x (pools `a`, `b`)");
        assert_eq!(told("x on pool `a`", &["a"]), "x on pool `a`");
        assert_eq!(told("x on pool `a`", &["a", "b"]), "x on pool `a` (pools `a`, `b`)");
        let many = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j"];
        assert_eq!(told("x", &many), "x (pools `a`, `b`, `c`, `d`, `e`, `f`, `g`, `h` and 2 more)");
    }
}
