//! Changes of a fleet, parsed like a fleet file, so that every value has a position in the changed text.

use std::fmt::Write as _;

use crate::fleet;
use crate::fleet::{Fleet, GpuNameLookup, Pool};
use crate::knowledge::Knowledge;
use crate::text::nearest::nearest_word;
use crate::text::source::{SourceText, Sources};

/// The changes of a fleet that are requested on the command line.
#[derive(Clone, Copy, Debug)]
pub struct RequestedFleetChanges<'a> {
    /// Values to set, such as `t4.driver=550.54.15`.
    pub set: &'a [String],
    /// Pools to add, such as `b200: gpu=B200, driver=580.95.05`.
    pub add: &'a [String],
    /// Names of pools to remove.
    pub remove: &'a [String],
}

/// A fleet after the requested changes.
#[derive(Clone, Debug)]
pub struct ChangedFleet {
    /// The fleet with its changes.
    pub fleet: Fleet,
    /// Names of the existing pools that have another value now.
    pub set: Vec<String>,
    /// Names of the new pools.
    pub added: Vec<String>,
    /// The changes as short texts.
    pub descriptions: Vec<String>,
}

/// Returns the fleet with the requested changes, or why one of them is impossible.
pub fn change_fleet(
    fleet: &Fleet,
    requested: RequestedFleetChanges<'_>,
    knowledge: Knowledge,
    sources: &mut Sources,
) -> Result<ChangedFleet, String> {
    let mut text = sources.get(fleet.source).text().to_owned();
    let mut new = fleet.clone();
    let (mut set, mut added, mut descriptions) = (Vec::new(), Vec::new(), Vec::new());
    for name in requested.remove {
        let at = pool_index(&new, name)?;
        new.pools.remove(at);
        descriptions.push(format!("without pool `{name}`"));
    }
    for written in requested.set {
        let wrong = || format!("--set {written}: expected POOL.KEY=VALUE, such as t4.driver=550.54.15");
        let (path, value) = written.split_once('=').ok_or_else(wrong)?;
        let named = new.pools.iter().filter_map(|pool| {
            Some((pool.name.value.clone(), path.strip_prefix(pool.name.value.as_str())?.strip_prefix('.')?.to_owned()))
        });
        // A pool's name may have dots of its own: the longest that fits is meant.
        let (name, key) = if let Some(found) = named.max_by_key(|(name, _)| name.len()) {
            found
        } else {
            let (name, key) = path.split_once('.').ok_or_else(wrong)?;
            pool_index(&new, name)?;
            (name.to_owned(), key.to_owned())
        };
        let option = format!("--set {written}");
        let read = read_pool(&mut text, &name, &[(key.trim(), value.trim())], &option, knowledge)?;
        let at = pool_index(&new, &name)?;
        if let Some(pool) = new.pools.get_mut(at) {
            set_pool_key(pool, read, key.trim());
        }
        if !set.contains(&name) {
            set.push(name);
        }
        descriptions.push(format!("with {}={}", path.trim(), value.trim()));
    }
    for written in requested.add {
        let wrong =
            || format!("--add {written}: expected NAME: KEY=VALUE, ..., such as 'b200: gpu=B200, driver=580.95.05'");
        let (name, rest) = written.split_once(':').ok_or_else(wrong)?;
        let name = name.trim();
        if name.is_empty() {
            return Err(wrong());
        }
        if new.pools.iter().any(|pool| pool.name.value == name) {
            return Err(format!("--add {written}: the fleet already has a pool `{name}`; change it with --set"));
        }
        let pairs = split_key_values(rest).ok_or_else(wrong)?;
        new.pools.push(read_pool(&mut text, name, &pairs, &format!("--add {written}"), knowledge)?);
        added.push(name.to_owned());
        descriptions.push(format!("with a new pool `{name}`"));
    }
    let text = SourceText::new(fleet.name.clone(), text);
    for check in [fleet::check_versions, fleet::check_toolkit_modes, fleet::check_mig_support, fleet::check_host_counts]
    {
        let checked = check(&new, &text, knowledge);
        checked.map_err(|errors| join_errors(&errors))?;
    }
    new.source = sources.add(text);
    Ok(ChangedFleet { fleet: new, set, added, descriptions })
}

/// Returns the index of a pool, or an error with a suggestion.
fn pool_index(fleet: &Fleet, name: &str) -> Result<usize, String> {
    let names = || fleet.pools.iter().map(|pool| pool.name.value.as_str());
    names().position(|own| own == name).ok_or_else(|| {
        let hint =
            nearest_word(name, names()).map(|suggestion| format!("; did you mean `{suggestion}`?")).unwrap_or_default();
        format!("the fleet {} has no pool `{name}`{hint}", fleet.name)
    })
}

/// Splits `gpu=B200, driver=>=535,<536` into its pairs; a comma separates only before another key.
fn split_key_values(text: &str) -> Option<Vec<(&str, &str)>> {
    let mut starts = vec![0];
    for (at, _) in text.match_indices(',') {
        let rest = text.get(at + 1..)?.trim_start();
        let key = rest.find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-')))?;
        let begins = key > 0 && rest.get(key..)?.trim_start().starts_with('=');
        if begins && rest.starts_with(|c: char| c.is_ascii_alphabetic()) {
            starts.push(at + 1);
        }
    }
    let ends = starts.iter().skip(1).map(|start| start - 1).chain([text.len()]);
    starts
        .iter()
        .zip(ends)
        .map(|(start, end)| {
            let (key, value) = text.get(*start..end)?.split_once('=')?;
            Some((key.trim(), value.trim())).filter(|(key, value)| !key.is_empty() && !value.is_empty())
        })
        .collect()
}

/// Keys whose values are booleans or integers, not texts.
const UNQUOTED_KEYS: &[&str] = &["nodes", "privileged", "wsl", "cdi_specs", "modeset"];

/// Returns a value in the syntax of a fleet file: lists verbatim, booleans and integers without quotes, anything else
/// as a text.
fn toml_value(key: &str, value: &str) -> String {
    let plain = UNQUOTED_KEYS.contains(&key) && (value.parse::<bool>().is_ok() || value.parse::<i64>().is_ok());
    let list = value.starts_with('[') && value.ends_with(']') && !value.contains(['\n', '\r']);
    if plain || list { value.to_owned() } else { toml_string(value) }
}

/// Reads a pool with these values, as a part of a fleet file that is appended to `text`.
fn read_pool(
    text: &mut String,
    name: &str,
    pairs: &[(&str, &str)],
    option: &str,
    knowledge: Knowledge,
) -> Result<Pool, String> {
    let mut part = format!("\n[[pool]]\nname = {}\n", toml_string(name));
    for (key, value) in pairs {
        let bare = key
            .split('.')
            .all(|word| !word.is_empty() && word.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-')));
        if !bare {
            return Err(format!(
                "{option}: `{key}` is not a key of a pool; run `imagelint fleet show` for the keys in use"
            ));
        }
        if *key == "name" {
            return Err(format!("{option}: the name of a pool cannot change; use --remove and --add"));
        }
        part.extend([key, " = ", &toml_value(key, value), "\n"]);
    }
    // Lines without anything stand for what is before it, so that each place is that of the whole text.
    let whole = SourceText::new(option, format!("{}{part}", "\n".repeat(text.len())));
    let exists = |name: &str| {
        if knowledge.gpu(name).is_some() {
            return GpuNameLookup::Known;
        }
        let suggestions = knowledge.gpu_suggestions(name).into_iter().map(str::to_owned).collect();
        GpuNameLookup::Unknown { suggestions }
    };
    let fleet = fleet::read_fleet(crate::text::source::SourceId(0), &whole, &exists);
    let fleet = fleet.map_err(|errors| format!("{option}: {}", join_errors(&errors)))?;
    text.push_str(&part);
    fleet.pools.into_iter().next().ok_or_else(|| format!("{option}: expected a pool"))
}

/// Joins the messages of several errors with their help texts.
fn join_errors(errors: &fleet::FleetErrors) -> String {
    let one = |problem: &crate::knowledge::toml_reader::Problem| {
        let help = problem.help.as_ref().map(|help| format!("; {help}")).unwrap_or_default();
        format!("{}{help}", problem.message)
    };
    errors.all().iter().map(one).collect::<Vec<_>>().join("; ")
}

/// Returns a text as a quoted TOML string.
fn toml_string(value: &str) -> String {
    let mut text = String::from('"');
    for c in value.chars() {
        match c {
            '"' | '\\' => text.extend(['\\', c]),
            c if c.is_control() => {
                let _ = write!(text, "\\u{:04X}", u32::from(c));
            }
            c => text.push(c),
        }
    }
    text.push('"');
    text
}

/// Copies the value of a key from `new` to `pool`, and clears values that depended on the old one.
fn set_pool_key(pool: &mut Pool, new: Pool, key: &str) {
    match key {
        "driver" => (pool.driver, pool.driver_cuda) = (new.driver, None),
        "driver_cuda" => pool.driver_cuda = new.driver_cuda,
        "gpu" => (pool.gpu, pool.compute_capability, pool.brand) = (new.gpu, None, None),
        "toolkit" => (pool.toolkit, pool.libnvidia_container) = (new.toolkit, None),
        "libnvidia_container" => pool.libnvidia_container = new.libnvidia_container,
        "platform" => pool.platform = new.platform,
        "launch" => pool.launch = new.launch,
        "engine" => pool.engine = new.engine,
        "runtime" => pool.runtime = new.runtime,
        "privileged" => pool.privileged = new.privileged,
        "cdi_specs" => pool.cdi_specs = new.cdi_specs,
        "modeset" => pool.modeset = new.modeset,
        "library_directory" => pool.library_directory = new.library_directory,
        "mode" => pool.mode = new.mode,
        "device_list_strategy" => pool.device_list_strategy = new.device_list_strategy,
        "nodes" => pool.nodes = new.nodes,
        "compute_capability" => pool.compute_capability = new.compute_capability,
        "brand" => pool.brand = new.brand,
        "wsl" => pool.wsl = new.wsl,
        "dockerfiles" => pool.dockerfiles = new.dockerfiles,
        "images" => pool.images = new.images,
        _ => {
            for (own, new) in [(&mut pool.env, new.env), (&mut pool.labels, new.labels), (&mut pool.host, new.host)] {
                own.retain(|(name, _)| !new.iter().any(|(other, _)| other == name));
                own.extend(new);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{split_key_values, toml_string, toml_value};

    #[test]
    fn comma_separates_only_before_a_key() {
        let pairs = |text: &'static str| split_key_values(text).unwrap_or_default();
        assert_eq!(pairs("gpu=B200, driver=580.95.05"), [("gpu", "B200"), ("driver", "580.95.05")]);
        assert_eq!(pairs(" driver = >=535,<536 , gpu=T4"), [("driver", ">=535,<536"), ("gpu", "T4")]);
        assert_eq!(pairs("env.A=b=c"), [("env.A", "b=c")]);
        for wrong in ["", "gpu", "=B200", "gpu=", "gpu=B200, driver="] {
            assert_eq!(split_key_values(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn value_has_the_syntax_of_a_fleet_file() {
        for (key, value, expected) in [
            ("driver", "550.54.15", "\"550.54.15\""),
            ("gpu", "[\"T4\", \"L4\"]", "[\"T4\", \"L4\"]"),
            ("gpu", "[T4", "\"[T4\""),
            ("gpu", "[\"T4\",\n\"L4\"]", "\"[\\\"T4\\\",\\u000A\\\"L4\\\"]\""),
            ("nodes", "4", "4"),
            ("nodes", "four", "\"four\""),
            ("wsl", "true", "true"),
            ("wsl", "true\n[[pool]]", "\"true\\u000A[[pool]]\""),
        ] {
            assert_eq!(toml_value(key, value), expected, "{key}={value}");
        }
    }

    #[test]
    fn value_is_one_quoted_text() {
        assert_eq!(toml_string("a\"\\\n"), "\"a\\\"\\\\\\u000A\"");
    }
}
