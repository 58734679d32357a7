//! GPU requirements of the image that a base tag refers to now, compared with the digest that it is pinned to.

use crate::model::fact::{Evidence, FactKey, Observations, Origin, PrintedValue, ValueState};
use crate::registry::PulledImage;

/// Variables by which the container toolkit decides what it requires of a node and what it injects.
const GPU_VARIABLES: &[&str] =
    &["NVIDIA_DISABLE_REQUIRE", "NVIDIA_VISIBLE_DEVICES", "NVIDIA_DRIVER_CAPABILITIES", "CUDA_VERSION"];
/// The prefix of variables that hold CUDA requirements.
const REQUIRE_PREFIX: &str = "NVIDIA_REQUIRE_";
/// The largest number of values of a variable that are listed.
const MAX_VALUES: usize = 3;
/// The largest number of characters of a listed value.
const MAX_VALUE_LENGTH: usize = 120;

/// Records how the image that the tag refers to now differs from the pinned image.
pub fn record_tag_drift(pinned: &PulledImage, now: &PulledImage, seen: &mut Observations) {
    let changes = if pinned.config_digest == now.config_digest { Vec::new() } else { variable_changes(pinned, now) };
    let origin = Origin::Config { digest: now.config_digest.clone(), field: "config.Env".to_owned() };
    let fact = seen.facts.add(
        FactKey::TagNow,
        None,
        ValueState::Known(PrintedValue::from(&changes)),
        Evidence::Leaf(vec![origin]),
    );
    seen.tag_now = Some((changes, fact));
}

/// Returns the differences of all GPU variables, one text for each.
fn variable_changes(pinned: &PulledImage, now: &PulledImage) -> Vec<String> {
    let all = pinned.config.env.iter().chain(&now.config.env).map(|(name, _)| name.as_str());
    let mut names: Vec<&str> =
        all.filter(|name| GPU_VARIABLES.contains(name) || name.starts_with(REQUIRE_PREFIX)).collect();
    names.sort_unstable();
    names.dedup();
    let change = |name: &str| describe_change(name, pinned.config.variable(name), now.config.variable(name));
    names.into_iter().filter_map(change).collect()
}

/// Describes the added and removed values of one variable; `None` if there are none.
fn describe_change(name: &str, before: Option<&str>, now: Option<&str>) -> Option<String> {
    let (before, now) = (split_values(before), split_values(now));
    let only = |these: &[String], those: &[String]| -> Vec<String> {
        these.iter().filter(|word| !those.contains(word)).cloned().collect()
    };
    let (came, went) = (only(&now, &before), only(&before, &now));
    let told = [("now", &came), ("no longer", &went)];
    let parts: Vec<String> = told
        .into_iter()
        .filter(|(_, words)| !words.is_empty())
        .map(|(lead, words)| format!("{lead} {}", list_values(words)))
        .collect();
    (!parts.is_empty()).then(|| format!("{name}: {}", parts.join(", ")))
}

/// Splits the value of a variable at whitespace, and truncates each part.
fn split_values(value: Option<&str>) -> Vec<String> {
    value.unwrap_or_default().split_whitespace().map(|word| word.chars().take(MAX_VALUE_LENGTH).collect()).collect()
}

/// Lists the first values in quotes, and the number of further ones.
fn list_values(words: &[String]) -> String {
    let first = words.iter().take(MAX_VALUES).map(|word| format!("`{word}`")).collect::<Vec<_>>().join(" ");
    let more = words.len().saturating_sub(MAX_VALUES);
    if more == 0 { first } else { format!("{first} and {more} more") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn added_and_removed_values_are_listed() {
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
            assert_eq!(describe_change("X", before, now), told, "{before:?} {now:?}");
        }
    }
}
