//! Names in the settings that nothing answers to.

use crate::nearest::nearest;
use crate::settings::PoolPattern;
use crate::settings::RuleLevel;
use crate::settings::Set;
use crate::settings::Settings;
use crate::source::SourceText;
use crate::toml_reader::Problems;
use crate::toml_reader::Reader;

/// What there is.
#[derive(Clone, Copy, Debug)]
pub struct Known<'a> {
    /// Names of rules.
    pub rules: &'a [&'a str],
    /// Names of pools, where the settings speak of this fleet.
    pub pools: Option<&'a [&'a str]>,
}

/// Reports rules and pools that are not there; `text` is what the settings were read from.
pub fn check(settings: &Settings, text: &SourceText, known: Known<'_>) -> Result<(), Box<Problems>> {
    let mut reader = Reader::default();
    let of_paths = settings.paths.iter().flat_map(|one| &one.rules);
    for level in settings.rules.iter().chain(of_paths) {
        rule(&mut reader, level, known);
    }
    for ignore in &settings.ignores {
        named(&mut reader, &ignore.rule, known);
        pools(&mut reader, &ignore.pools, known);
    }
    for one in &settings.paths {
        pools(&mut reader, &one.pools, known);
    }
    reader.finish("settings", text, ())
}

fn rule(reader: &mut Reader, level: &RuleLevel, known: Known<'_>) {
    named(reader, &level.rule, known);
    for (pattern, _) in &level.pools {
        pools(reader, std::slice::from_ref(pattern), known);
    }
}

fn named(reader: &mut Reader, rule: &Set<String>, known: Known<'_>) {
    if known.rules.contains(&rule.value.as_str()) {
        return;
    }
    let near = nearest(&rule.value, known.rules.iter().copied());
    let help = near.map(|near| format!("did you mean `{near}`?"));
    reader.report(rule.place.span, format!("there is no rule `{}`", rule.value), help);
}

fn pools(reader: &mut Reader, patterns: &[PoolPattern], known: Known<'_>) {
    let Some(pools) = known.pools else { return };
    for pattern in patterns.iter().filter(|pattern| !pools.iter().any(|pool| pattern.fits(pool))) {
        let near = nearest(&pattern.text, pools.iter().copied());
        let help = near
            .map_or_else(|| format!("the pools are {}", pools.join(", ")), |near| format!("did you mean `{near}`?"));
        reader.report(pattern.place.span, format!("the fleet has no pool `{}`", pattern.text), Some(help));
    }
}
