//! Writes a lock file in a fixed order.

use crate::describe::toml_string;
use crate::registry::lock::{BaseImageLock, LockedBaseImage};

/// The comment and the version at the beginning of a lock file.
const FILE_HEADER: &str = "# Base images, for checks without a network.\n# Written by `imagelint lock`; run `imagelint lock \
                    --check` to find changed images.\nversion = 1\n";

impl BaseImageLock {
    /// Formats the lock as a TOML file, which `parse` reads back.
    pub fn to_toml(&self) -> String {
        let mut lines = vec![FILE_HEADER.to_owned()];
        for entry in &self.entries {
            lines.push(entry_to_toml(entry));
        }
        lines.join("\n")
    }
}

/// Formats one entry as TOML.
fn entry_to_toml(entry: &LockedBaseImage) -> String {
    let mut lines = vec!["[[base]]".to_owned()];
    let mut line = |key: &str, value: String| lines.push(format!("{key} = {value}"));
    line("reference", toml_string(&entry.reference.value));
    line("platform", toml_string(&entry.platform));
    line("digest", toml_string(&entry.digest));
    line("config", toml_string(&entry.config));
    if let Some(created) = &entry.created {
        line("created", toml_string(created));
    }
    line("platforms", toml_array(&entry.platforms.value));
    line("entrypoint", toml_array(&entry.entrypoint.value));
    let withheld: Vec<String> = entry.withheld.iter().map(|name| name.value.clone()).collect();
    if !withheld.is_empty() {
        line("withheld", toml_array(&withheld));
    }
    if !entry.env.is_empty() {
        lines.push("[base.env]".to_owned());
        lines.extend(
            entry.env.iter().map(|(name, value)| format!("{} = {}", toml_key(&name.value), toml_string(&value.value))),
        );
    }
    lines.push(String::new());
    lines.join("\n")
}

/// Formats strings as a TOML array.
fn toml_array(items: &[String]) -> String {
    let items: Vec<String> = items.iter().map(|item| toml_string(item)).collect();
    format!("[{}]", items.join(", "))
}

/// Formats a name as a TOML key, without quotes if TOML allows it.
fn toml_key(name: &str) -> String {
    let bare = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'));
    if bare { name.to_owned() } else { toml_string(name) }
}
