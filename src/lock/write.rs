//! Writes a lock file, in a fixed order.

use crate::describe::quoted;
use crate::lock::Entry;
use crate::lock::Lock;

const HEAD: &str = "# Base images, for checks without a network.\n# Written by `imagelint lock`; run `imagelint lock \
                    --check` to find changed images.\nversion = 1\n";

impl Lock {
    /// The lock as a TOML file that [`Self::read`] gives back.
    pub fn to_toml(&self) -> String {
        let mut lines = vec![HEAD.to_owned()];
        for entry in &self.entries {
            lines.push(written(entry));
        }
        lines.join("\n")
    }
}

fn written(entry: &Entry) -> String {
    let mut lines = vec!["[[base]]".to_owned()];
    let mut line = |key: &str, value: String| lines.push(format!("{key} = {value}"));
    line("reference", quoted(&entry.reference.value));
    line("platform", quoted(&entry.platform));
    line("digest", quoted(&entry.digest));
    line("config", quoted(&entry.config));
    if let Some(created) = &entry.created {
        line("created", quoted(created));
    }
    line("platforms", list(&entry.platforms.value));
    line("entrypoint", list(&entry.entrypoint.value));
    let withheld: Vec<String> = entry.withheld.iter().map(|name| name.value.clone()).collect();
    if !withheld.is_empty() {
        line("withheld", list(&withheld));
    }
    if !entry.env.is_empty() {
        lines.push("[base.env]".to_owned());
        lines.extend(entry.env.iter().map(|(name, value)| format!("{} = {}", key(&name.value), quoted(&value.value))));
    }
    lines.push(String::new());
    lines.join("\n")
}

fn list(items: &[String]) -> String {
    let items: Vec<String> = items.iter().map(|item| quoted(item)).collect();
    format!("[{}]", items.join(", "))
}

/// A name as a key: bare where TOML allows it.
fn key(name: &str) -> String {
    let bare = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'));
    if bare { name.to_owned() } else { quoted(name) }
}
