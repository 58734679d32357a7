//! What the tag of a base asks of a node by now, beside the digest that it is pinned to.

use crate::fact::Evidence;
use crate::fact::FactKey;
use crate::fact::Observations;
use crate::fact::Origin;
use crate::fact::State;
use crate::fact::Value;
use crate::oci::PulledImage;

/// Variables by which the container toolkit decides what a node has to have, and what it hands out.
const ASKING: &[&str] =
    &["NVIDIA_DISABLE_REQUIRE", "NVIDIA_VISIBLE_DEVICES", "NVIDIA_DRIVER_CAPABILITIES", "CUDA_VERSION"];
const REQUIRING: &str = "NVIDIA_REQUIRE_";
/// So many words of a value are told.
const MOST: usize = 3;
/// So long is one of them.
const LONGEST: usize = 120;

/// Notes on what was seen of the pinned image how that of the tag differs.
pub fn note_tag_now(pinned: &PulledImage, now: &PulledImage, seen: &mut Observations) {
    let changes = if pinned.config_digest == now.config_digest { Vec::new() } else { changes(pinned, now) };
    let origin = Origin::Config { digest: now.config_digest.clone(), field: "config.Env".to_owned() };
    let fact = seen.facts.add(FactKey::TagNow, None, State::Known(Value::from(&changes)), Evidence::Leaf(vec![origin]));
    seen.tag_now = Some((changes, fact));
}

fn changes(pinned: &PulledImage, now: &PulledImage) -> Vec<String> {
    let all = pinned.config.env.iter().chain(&now.config.env).map(|(name, _)| name.as_str());
    let mut names: Vec<&str> = all.filter(|name| ASKING.contains(name) || name.starts_with(REQUIRING)).collect();
    names.sort_unstable();
    names.dedup();
    let change = |name: &str| change(name, pinned.config.variable(name), now.config.variable(name));
    names.into_iter().filter_map(change).collect()
}

/// The words of a value that came, and those that went.
fn change(name: &str, before: Option<&str>, now: Option<&str>) -> Option<String> {
    let (before, now) = (words(before), words(now));
    let only = |these: &[String], those: &[String]| -> Vec<String> {
        these.iter().filter(|word| !those.contains(word)).cloned().collect()
    };
    let (came, went) = (only(&now, &before), only(&before, &now));
    let told = [("now", &came), ("no longer", &went)];
    let parts: Vec<String> = told
        .into_iter()
        .filter(|(_, words)| !words.is_empty())
        .map(|(lead, words)| format!("{lead} {}", some(words)))
        .collect();
    (!parts.is_empty()).then(|| format!("{name}: {}", parts.join(", ")))
}

fn words(value: Option<&str>) -> Vec<String> {
    value.unwrap_or_default().split_whitespace().map(|word| word.chars().take(LONGEST).collect()).collect()
}

/// The first of some words, and how many more there are.
fn some(words: &[String]) -> String {
    let first = words.iter().take(MOST).map(|word| format!("`{word}`")).collect::<Vec<_>>().join(" ");
    let more = words.len().saturating_sub(MOST);
    if more == 0 { first } else { format!("{first} and {more} more") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_came_and_went_are_told() {
        let old = "cuda>=11.8 brand=tesla,driver>=450,driver<451 brand=geforce,driver>=470,driver<471";
        let new = "cuda>=11.8 brand=tesla,driver>=470,driver<471";
        let gone = "`brand=tesla,driver>=450,driver<451` `brand=geforce,driver>=470,driver<471`";
        for (before, now, told) in [
            (Some(old), Some(new), Some(format!("X: now `brand=tesla,driver>=470,driver<471`, no longer {gone}"))),
            (None, Some("all"), Some("X: now `all`".to_owned())),
            (Some("a b c d e"), None, Some("X: no longer `a` `b` `c` and 2 more".to_owned())),
            (Some(old), Some(old), None),
            (Some("a  b"), Some("b a"), None),
            (None, Some(""), None),
            (None, None, None),
        ] {
            assert_eq!(change("X", before, now), told, "{before:?} {now:?}");
        }
    }
}
