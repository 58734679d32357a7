//! Phrases of reports: titles of subjects, verdicts, locations, counts.

use crate::report::escape::escape_one_line;
use crate::report::kinds::{LocationKind, VerdictKind};
use crate::report::model::{Finding, Location, Subject, Verdict};

/// Notice that no fleet file was found.
pub const NO_FLEET: &str = "no fleet file: checked against built-in example pools; findings are warnings at most. \
                            Describe yours: imagelint fleet init";

/// Returns the name of a subject with its stage or platform, on one line.
pub fn subject_title(subject: &Subject) -> String {
    let parts = [&subject.stage, &subject.platform].into_iter().flatten();
    let parts = parts.map(|part| format!("({})", escape_one_line(part)));
    let words: Vec<String> = std::iter::once(escape_one_line(&subject.name).into_owned()).chain(parts).collect();
    words.join(" ")
}

/// Maximum number of pools named in a message.
const MAX_NAMED_POOLS: usize = 8;

/// Returns the message of a finding, with its pools if the message does not name them; not escaped.
pub fn message_with_pools(finding: &Finding) -> String {
    if finding.pools.iter().all(|pool| finding.message.contains(&format!("`{pool}`"))) {
        return finding.message.clone();
    }
    let named: Vec<String> = finding.pools.iter().take(MAX_NAMED_POOLS).map(|pool| format!("`{pool}`")).collect();
    let named = named.join(", ");
    match finding.pools.len() {
        1 => format!("{} (pool {named})", finding.message),
        many if many <= MAX_NAMED_POOLS => format!("{} (pools {named})", finding.message),
        many => format!("{} (pools {named} and {} more)", finding.message, many - MAX_NAMED_POOLS),
    }
}

/// Returns the label of a verdict, such as `starts` or `may fail`.
pub fn verdict_label(verdict: &Verdict) -> &'static str {
    match verdict.fate {
        VerdictKind::Starts if !verdict.not_seen.is_empty() => "no failure found",
        fate => verdict_kind_label(fate),
    }
}

/// Returns the label of a kind of verdict.
pub fn verdict_kind_label(fate: VerdictKind) -> &'static str {
    match fate {
        VerdictKind::Depends => "may fail",
        VerdictKind::Undetermined => "unknown",
        VerdictKind::NotApplicable => "not applicable",
        other => other.name(),
    }
}

/// Returns the symbol before a verdict.
pub fn verdict_symbol(verdict: &Verdict, ascii: bool) -> &'static str {
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

/// Returns the route of a verdict in words.
pub fn route_label(verdict: &Verdict) -> Option<&str> {
    verdict.route?.label()
}

/// Returns the text after the label of a verdict: the outcome of a failure with its CUDA error, or the route of a
/// start.
pub fn reason_text(verdict: &Verdict) -> String {
    reason_with_prefix(verdict, "CUDA error ")
}

/// Returns the same in fewer columns: `insufficient-driver (35)`.
pub fn short_reason_text(verdict: &Verdict) -> String {
    reason_with_prefix(verdict, "")
}

/// Returns the reason, with `before` in front of the CUDA errors.
fn reason_with_prefix(verdict: &Verdict, before: &str) -> String {
    if verdict.fate != VerdictKind::Fails {
        return route_label(verdict).map(|route| escape_one_line(route).into_owned()).unwrap_or_default();
    }
    let outcome = verdict.outcome.map(|outcome| outcome.rule_name().to_owned()).unwrap_or_default();
    match cuda_error_codes(verdict).as_slice() {
        [] => outcome,
        codes => format!("{outcome} ({before}{})", codes.join(" or ")).trim_start().to_owned(),
    }
}

/// Returns the CUDA error of a failure, or all that are possible.
pub fn cuda_error_codes(verdict: &Verdict) -> Vec<String> {
    match verdict.codes.certain {
        Some(code) => vec![code.to_string()],
        None => verdict.codes.possible.iter().map(u16::to_string).collect(),
    }
}

/// Returns a verdict in a few words: `fails insufficient-driver`, `starts (PTX JIT)`.
pub fn verdict_phrase(verdict: &Verdict) -> String {
    let word = verdict_label(verdict);
    match (verdict.fate, &verdict.outcome, route_label(verdict)) {
        (VerdictKind::Fails, Some(outcome), _) => format!("{word} {}", outcome.rule_name()),
        (VerdictKind::Starts, _, Some(route)) => format!("{word} ({})", escape_one_line(route)),
        _ => word.to_owned(),
    }
}

/// Returns the explanation of a verdict: what is wrong, with the CUDA error, or why it is unknown.
pub fn verdict_explanation(verdict: &Verdict) -> String {
    match (&verdict.explanation, verdict.fate) {
        (Some(explanation), _) => explanation.clone(),
        // The message of a start is its kind and its route.
        (None, VerdictKind::Starts) => String::new(),
        (None, _) => verdict.message.clone(),
    }
}

/// Returns a verdict in one sentence: `fails: driver 470 is too old for CUDA 12.4 (CUDA error 35)`, `starts (PTX
/// JIT)`.
pub fn verdict_sentence(verdict: &Verdict) -> String {
    let more = verdict_explanation(verdict);
    match verdict.fate {
        _ if more.is_empty() => verdict_phrase(verdict),
        VerdictKind::Starts => format!("{}, {more}", verdict_phrase(verdict)),
        _ => format!("{}: {more}", verdict_label(verdict)),
    }
}

/// Returns the message that an image uses no GPU, with what keeps it from that.
pub fn unused_gpu_message(cause: &str) -> String {
    format!("no GPU is used: {cause}")
}

/// Joins the first `most` items of a list, and adds the number of the rest.
pub fn join_first(list: &[String], most: usize, between: &str) -> String {
    let named: Vec<&str> = list.iter().take(most).map(String::as_str).collect();
    match list.len().saturating_sub(most) {
        0 => named.join(between),
        more => format!("{} and {more} more", named.join(between)),
    }
}

/// Joins names to a series: `a`, `a and b`, `a, b and c`.
pub fn join_with_and(list: &[&str]) -> String {
    match list {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [others @ .., end] => format!("{} and {end}", others.join(", ")),
    }
}

/// Returns a component in words; the libraries of the CUDA toolkit have no name.
pub fn component_label(component: &str) -> &str {
    if component == "cuda" { "program in the image" } else { component }
}

/// Returns the key of a fact in words.
pub fn fact_label(key: &str) -> String {
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
        other => format!(" of the {}", component_label(other))
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

/// Returns a location on one line: `Dockerfile:2:6`, `config field Env`, `layer sha256:...`.
pub fn location_label(location: &Location) -> String {
    let path = escape_one_line(&location.path);
    match (location.kind, location.region) {
        (_, Some(region)) => format!("{path}:{}:{}", region.start_line, region.start_column),
        (LocationKind::Config, None) => format!("config field {path}"),
        (LocationKind::Layer, None) => layer_label(&path, location.made_by.as_deref()),
        (LocationKind::Option, None) => format!("option {path}"),
        _ => path.into_owned(),
    }
}

/// Number of characters of a digest that distinguish layers.
const DIGEST_LENGTH: usize = 12;

/// Returns a path in a layer: `/opt/app in layer sha256:0123456789ab, made by RUN make`.
fn layer_label(place: &str, made_by: Option<&str>) -> String {
    let made_by = made_by.map(|step| format!(", made by `{}`", escape_one_line(step))).unwrap_or_default();
    let mut parts = place.splitn(3, ':');
    match (parts.next(), parts.next(), parts.next()) {
        (Some(kind), Some(digest), Some(path)) => {
            format!("{path} in layer {kind}:{}{made_by}", digest.get(..DIGEST_LENGTH).unwrap_or(digest))
        }
        _ => format!("layer {place}{made_by}"),
    }
}

/// Returns a number with its noun: `1 pool`, `2 pools`.
pub fn pluralize(number: usize, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_names_its_pools_once() {
        let message_on_pools = |message: &str, pools: &[&str]| {
            let pools = pools.iter().map(|pool| (*pool).to_owned()).collect();
            message_with_pools(&Finding { message: message.to_owned(), pools, ..Finding::default() })
        };
        assert_eq!(message_on_pools("x", &[]), "x");
        assert_eq!(message_on_pools("x", &["a"]), "x (pool `a`)");
        assert_eq!(message_on_pools("x", &["a", "b"]), "x (pools `a`, `b`)");
        assert_eq!(message_on_pools("x on pool `a`", &["a"]), "x on pool `a`");
        assert_eq!(message_on_pools("x on pool `a`", &["a", "b"]), "x on pool `a` (pools `a`, `b`)");
        let many = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j"];
        assert_eq!(message_on_pools("x", &many), "x (pools `a`, `b`, `c`, `d`, `e`, `f`, `g`, `h` and 2 more)");
    }
}
