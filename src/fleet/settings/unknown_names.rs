//! Reports names of rules and pools in the settings that do not exist.

use crate::fleet::settings::{PoolPattern, RuleSeverity, SettingValue, Settings};
use crate::knowledge::toml_reader::{Problems, Reader};
use crate::text::nearest::nearest_word;
use crate::text::source::SourceText;

/// The names of rules and pools that exist.
#[derive(Clone, Copy, Debug)]
pub struct KnownNames<'a> {
    /// Names of rules.
    pub rules: &'a [&'a str],
    /// Names of the pools, if the settings are for this fleet.
    pub pools: Option<&'a [&'a str]>,
}

/// Reports rules and pools that do not exist; `text` is the file that the settings were read from.
pub fn check_names(settings: &Settings, text: &SourceText, known: KnownNames<'_>) -> Result<(), Box<Problems>> {
    let mut reader = Reader::default();
    let of_paths = settings.paths.iter().flat_map(|one| &one.rules);
    for level in settings.rules.iter().chain(of_paths) {
        check_rule_level(&mut reader, level, known);
    }
    for ignore in &settings.ignores {
        check_rule_name(&mut reader, &ignore.rule, known);
        check_pool_patterns(&mut reader, &ignore.pools, known);
    }
    for one in &settings.paths {
        check_pool_patterns(&mut reader, &one.pools, known);
    }
    reader.finish("settings", text, ())
}

/// Checks the rule and the pools of a severity setting.
fn check_rule_level(reader: &mut Reader, level: &RuleSeverity, known: KnownNames<'_>) {
    check_rule_name(reader, &level.rule, known);
    for (pattern, _) in &level.pools {
        check_pool_patterns(reader, std::slice::from_ref(pattern), known);
    }
}

/// Reports a rule that does not exist.
fn check_rule_name(reader: &mut Reader, rule: &SettingValue<String>, known: KnownNames<'_>) {
    if known.rules.contains(&rule.value.as_str()) {
        return;
    }
    let near = nearest_word(&rule.value, known.rules.iter().copied());
    let help = near.map(|near| format!("did you mean `{near}`?"));
    reader.report(rule.location.span, format!("there is no rule `{}`", rule.value), help);
}

/// Reports patterns that match no pool.
fn check_pool_patterns(reader: &mut Reader, patterns: &[PoolPattern], known: KnownNames<'_>) {
    let Some(pools) = known.pools else { return };
    for pattern in patterns.iter().filter(|pattern| !pools.iter().any(|pool| pattern.matches(pool))) {
        let near = nearest_word(&pattern.text, pools.iter().copied());
        let help = near
            .map_or_else(|| format!("the pools are {}", pools.join(", ")), |near| format!("did you mean `{near}`?"));
        reader.report(pattern.location.span, format!("the fleet has no pool `{}`", pattern.text), Some(help));
    }
}
