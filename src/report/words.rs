//! The words of a report: titles of subjects, cells of verdicts, places, counts.

use crate::report::escape::clean;
use crate::report::model::Finding;
use crate::report::model::Location;
use crate::report::model::Subject;
use crate::report::model::Verdict;

/// Said where nobody declared a fleet.
pub const NO_FLEET: &str = "no fleet file: judged against the built-in reference fleet, findings are capped at warning";

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

/// A verdict in a word or two.
pub fn cell(verdict: &Verdict) -> String {
    match verdict.fate.as_str() {
        "starts" => match verdict.route.as_deref() {
            None | Some("native") => "starts".to_owned(),
            Some("minor-version") => "starts (minor)".to_owned(),
            Some("forward-compat") => "starts (compat)".to_owned(),
            Some(route) => format!("starts ({})", clean(route)),
        },
        "fails" => match &verdict.outcome {
            Some(outcome) => format!("FAILS {}", clean(outcome)),
            None => "FAILS".to_owned(),
        },
        "undetermined" => "cannot tell".to_owned(),
        "not-applicable" => "-".to_owned(),
        other => clean(other).into_owned(),
    }
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
