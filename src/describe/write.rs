//! Writes a description as TOML, in a fixed order.

use std::fmt::Write;

use crate::cuda::CodeTarget;
use crate::describe::described_package::removals_entry;
use crate::describe::{
    DescribedEnvTemplate, DescribedFile, DescribedGpuCode, ImageDescription, NamedEntry, Spanned, UnknownBase,
    described_package, source_kind,
};

/// Returns the names of GPU targets in the list `sass` or `ptx`.
pub(crate) fn target_names(list: &str, targets: &[Spanned<CodeTarget>]) -> Vec<String> {
    let prefix = if list == "ptx" { "compute_" } else { "sm_" };
    targets.iter().map(|target| format!("{prefix}{}", target.value.number())).collect()
}

impl ImageDescription {
    /// Returns the description as a TOML file.
    pub fn to_toml(&self) -> String {
        let mut out = String::new();
        let version = self.cuda_runtime.as_ref().map(|version| version.value.to_string());
        write_line(&mut out, "of", source_kind(self.source).map(toml_string));
        write_line(&mut out, "base_unknown", self.base_unknown.as_ref().map(|base| unknown_base_toml(&base.value)));
        write_line(&mut out, "base", self.base.as_ref().map(|base| toml_string(&base.value)));
        write_line(&mut out, "as_of", self.as_of.as_ref().map(|date| date.value.to_string()));
        write_line(
            &mut out,
            "platform",
            match self.platforms.as_slice() {
                [one] => Some(toml_string(&one.value)),
                several => name_list_toml(several),
            },
        );
        write_line(&mut out, "from_scratch", self.from_scratch.then(|| "true".to_owned()));
        write_line(&mut out, "builds_for_gpus", self.builds_for_gpus.then(|| "true".to_owned()));
        write_line(&mut out, "copies_unread_images", self.copies_unread_images.then(|| "true".to_owned()));
        write_line(&mut out, "cuda_runtime", version.as_deref().map(toml_string));
        let words = |words: &Spanned<Vec<String>>| toml_list(words.value.iter().map(|word| toml_string(word)));
        write_line(&mut out, "entrypoint", self.entrypoint.as_ref().map(words));
        write_line(&mut out, "command", self.command.as_ref().map(words));
        write_line(&mut out, "tag_now", self.tag_now.as_ref().map(words));
        let complete = self.complete.iter().map(|family| toml_string(family.value.as_str()));
        write_line(&mut out, "complete", (!self.complete.is_empty()).then(|| toml_list(complete)));
        write_line(&mut out, "removed", name_list_toml(&self.removed));
        write_line(&mut out, "env_unknown", name_list_toml(&self.env_unknown));
        write_section(&mut out, "env", &self.env);
        if !self.env_on_base.is_empty() {
            write_header(&mut out, "[env_on_base]");
            for (name, value) in &self.env_on_base {
                write_line(&mut out, &toml_key(&name.value), Some(env_template_toml(value)));
            }
        }
        self.write_packages(&mut out);
        if !self.files.is_empty() {
            write_header(&mut out, "[files]");
            for (path, facts) in &self.files {
                write_line(&mut out, &toml_string(&path.value), Some(file_toml(facts)));
            }
        }
        for code in &self.gpu_code {
            write_header(&mut out, "[[gpu_code]]");
            write_gpu_code(&mut out, code);
        }
        out
    }

    /// Writes the table `[packages]` and its sections.
    fn write_packages(&self, out: &mut String) {
        let packages = &self.packages;
        let commands = packages.command_lists().filter(|(_, list)| !list.is_empty());
        let commands: Vec<(&str, Vec<String>)> =
            commands.map(|(name, list)| (name, list.iter().map(|number| number.value.to_string()).collect())).collect();
        let has_fields = packages.other_python || packages.by_driver.is_some() || packages.unread.is_some();
        if has_fields || !commands.is_empty() || !packages.removed_packages.is_empty() {
            write_header(out, "[packages]");
            write_line(out, "other_python", packages.other_python.then(|| "true".to_owned()));
            write_line(out, "by_driver", packages.by_driver.as_ref().map(|command| toml_string(&command.value)));
            write_line(out, "unread", packages.unread.as_ref().map(|reason| toml_string(&reason.value)));
            for (name, list) in commands {
                write_line(out, name, Some(toml_list(list.into_iter())));
            }
            write_line(out, "gone", removals_entry(&packages.removed_packages).map(|entry| entry.to_toml()));
        }
        for (name, list) in packages.package_lists() {
            let entries = described_package::section_entries(list);
            if !entries.is_empty() {
                write_header(out, &format!("[packages.{name}]"));
            }
            for (name, written) in entries {
                write_line(out, &toml_key(&name), Some(written.to_toml()));
            }
        }
    }
}

/// Returns the value of `base_unknown`.
fn unknown_base_toml(base: &UnknownBase) -> String {
    let mut parts = vec![format!("reason = {}", toml_string(&base.reason))];
    parts.extend(base.supply.as_ref().map(|supply| format!("supply = {}", toml_string(supply))));
    parts.extend(base.repository.as_ref().map(|repository| format!("repository = {}", toml_string(repository))));
    format!("{{ {} }}", parts.join(", "))
}

/// Writes the header of a table, after an empty line.
fn write_header(out: &mut String, header: &str) {
    if !out.is_empty() {
        out.push('\n');
    }
    out.push_str(header);
    out.push('\n');
}

/// Writes a key with its value, if there is one.
fn write_line(out: &mut String, key: &str, value: Option<String>) {
    if let Some(value) = value {
        // Writing to a string cannot fail.
        let _ = writeln!(out, "{key} = {value}");
    }
}

/// Writes a table of strings, unless it is empty.
fn write_section(out: &mut String, name: &str, list: &[NamedEntry<Spanned<String>>]) {
    if list.is_empty() {
        return;
    }
    write_header(out, &format!("[{name}]"));
    for (key, text) in list {
        write_line(out, &toml_key(&key.value), Some(toml_string(&text.value)));
    }
}

/// Returns a TOML key, in quotes where necessary.
fn toml_key(key: &str) -> String {
    let bare = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    if !key.is_empty() && key.bytes().all(bare) { key.to_owned() } else { toml_string(key) }
}

/// Returns a TOML list of values.
fn toml_list(items: impl Iterator<Item = String>) -> String {
    format!("[{}]", items.collect::<Vec<_>>().join(", "))
}

/// Returns a text as a TOML string.
pub(crate) fn toml_string(text: &str) -> String {
    let mut out = String::from('"');
    for character in text.chars() {
        match character {
            '"' | '\\' => out.extend(['\\', character]),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            _ if character.is_ascii_control() => {
                let _ = write!(out, "\\u{:04X}", u32::from(character));
            }
            _ => out.push(character),
        }
    }
    out.push('"');
    out
}

/// Returns the value of an entry of `files`.
fn file_toml(facts: &DescribedFile) -> String {
    let mut parts = Vec::new();
    if let Some(link) = &facts.link {
        parts.push(format!("link = {}", toml_string(&link.value)));
    }
    if let Some(text) = &facts.text {
        parts.push(format!("text = {}", toml_string(&text.value)));
    }
    if let Some(note) = &facts.elf_note {
        let numbers = |list: &[Spanned<u32>]| toml_list(list.iter().map(|number| number.value.to_string()));
        let cuda = note.cuda.as_ref().map(|cuda| format!("cuda = {}, ", toml_string(&cuda.value.to_string())));
        let (driver, device) = (numbers(&note.driver), numbers(&note.device));
        parts.push(format!("elf_note = {{ {}driver = {driver}, device = {device} }}", cuda.unwrap_or_default()));
    }
    for (key, names) in [("needs", &facts.needs), ("opens", &facts.opens)] {
        parts.extend(name_list_toml(names).map(|list| format!("{key} = {list}")));
    }
    if parts.is_empty() { "{}".to_owned() } else { format!("{{ {} }}", parts.join(", ")) }
}

/// Returns the value of an entry of `env_on_base`.
fn env_template_toml(value: &DescribedEnvTemplate) -> String {
    let set = toml_string(&value.set.value);
    match &value.unset {
        Some(unset) => format!("{{ set = {set}, unset = {} }}", toml_string(&unset.value)),
        None => set,
    }
}

/// Returns a TOML list of names; `None` if it is empty.
fn name_list_toml(names: &[Spanned<String>]) -> Option<String> {
    (!names.is_empty()).then(|| toml_list(names.iter().map(|name| toml_string(&name.value))))
}

/// Writes the keys of a `[[gpu_code]]` table.
fn write_gpu_code(out: &mut String, code: &DescribedGpuCode) {
    write_line(out, "file", code.file.as_ref().map(|file| toml_string(&file.value)));
    write_line(out, "component", code.component.as_ref().map(|component| toml_string(&component.value)));
    write_line(out, "untold", code.targets_unknown.as_ref().map(|reason| toml_string(&reason.value)));
    for (key, targets) in [("sass", &code.sass), ("ptx", &code.ptx)] {
        let words =
            targets.as_ref().map(|targets| target_names(key, targets).into_iter().map(|word| toml_string(&word)));
        write_line(out, key, words.map(toml_list));
    }
    let words = target_names("ptx", &code.linkable).into_iter().map(|word| toml_string(&word));
    write_line(out, "linkable", (!code.linkable.is_empty()).then(|| toml_list(words)));
    write_line(out, "ptx_isa", code.ptx_isa.as_ref().map(|isa| toml_string(&isa.value.to_string())));
    write_line(out, "containers", code.containers.as_ref().map(|count| count.value.to_string()));
    write_line(out, "needs", name_list_toml(&code.needs));
    write_line(out, "opens", name_list_toml(&code.opens));
}
