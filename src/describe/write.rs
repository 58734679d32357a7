//! Writes a description as TOML, in a fixed order.

use std::fmt::Write;

use crate::cuda::CodeTarget;
use crate::describe::Description;
use crate::describe::FileFacts;
use crate::describe::GpuCode;
use crate::describe::Named;
use crate::describe::OnBase;
use crate::describe::Spanned;
use crate::describe::UnknownBase;
use crate::describe::package;
use crate::describe::package::gone_written;
use crate::describe::told_of;

/// Targets as the list `sass` or `ptx` writes them.
pub(crate) fn code_words(list: &str, targets: &[Spanned<CodeTarget>]) -> Vec<String> {
    let prefix = if list == "ptx" { "compute_" } else { "sm_" };
    targets.iter().map(|target| format!("{prefix}{}", target.value.number())).collect()
}

impl Description {
    /// The description as a TOML file that [`Self::read`] gives back.
    pub fn to_toml(&self) -> String {
        let mut out = String::new();
        let version = self.cuda_runtime.as_ref().map(|version| version.value.to_string());
        line(&mut out, "of", told_of(self.of).map(quoted));
        line(&mut out, "base_unknown", self.base_unknown.as_ref().map(|base| base_unknown(&base.value)));
        line(&mut out, "base", self.base.as_ref().map(|base| quoted(&base.value)));
        line(&mut out, "as_of", self.as_of.as_ref().map(|date| date.value.to_string()));
        line(
            &mut out,
            "platform",
            match self.platforms.as_slice() {
                [one] => Some(quoted(&one.value)),
                several => name_list(several),
            },
        );
        line(&mut out, "from_scratch", self.from_scratch.then(|| "true".to_owned()));
        line(&mut out, "builds_for_gpus", self.builds_for_gpus.then(|| "true".to_owned()));
        line(&mut out, "cuda_runtime", version.as_deref().map(quoted));
        let words = |words: &Spanned<Vec<String>>| listed(words.value.iter().map(|word| quoted(word)));
        line(&mut out, "entrypoint", self.entrypoint.as_ref().map(words));
        line(&mut out, "tag_now", self.tag_now.as_ref().map(words));
        let complete = self.complete.iter().map(|family| quoted(family.value.as_str()));
        line(&mut out, "complete", (!self.complete.is_empty()).then(|| listed(complete)));
        line(&mut out, "removed", name_list(&self.removed));
        line(&mut out, "env_unknown", name_list(&self.env_unknown));
        section(&mut out, "env", &self.env);
        if !self.env_on_base.is_empty() {
            header(&mut out, "[env_on_base]");
            for (name, value) in &self.env_on_base {
                line(&mut out, &key_text(&name.value), Some(on_base(value)));
            }
        }
        self.packages(&mut out);
        if !self.files.is_empty() {
            header(&mut out, "[files]");
            for (path, facts) in &self.files {
                line(&mut out, &quoted(&path.value), Some(file(facts)));
            }
        }
        for code in &self.gpu_code {
            header(&mut out, "[[gpu_code]]");
            gpu_code(&mut out, code);
        }
        out
    }

    fn packages(&self, out: &mut String) {
        let packages = &self.packages;
        let commands = packages.commands().into_iter().filter(|(_, list)| !list.is_empty());
        let commands: Vec<(&str, Vec<String>)> =
            commands.map(|(name, list)| (name, list.iter().map(|number| number.value.to_string()).collect())).collect();
        let told = packages.other_python || packages.by_driver.is_some() || packages.unread.is_some();
        if told || !commands.is_empty() || !packages.gone.is_empty() {
            header(out, "[packages]");
            line(out, "other_python", packages.other_python.then(|| "true".to_owned()));
            line(out, "by_driver", packages.by_driver.as_ref().map(|command| quoted(&command.value)));
            line(out, "unread", packages.unread.as_ref().map(|reason| quoted(&reason.value)));
            for (name, list) in commands {
                line(out, name, Some(listed(list.into_iter())));
            }
            line(out, "gone", gone_written(&packages.gone).map(|gone| gone.to_toml()));
        }
        for (name, list) in packages.sections() {
            let entries = package::section(list);
            if !entries.is_empty() {
                header(out, &format!("[packages.{name}]"));
            }
            for (name, written) in entries {
                line(out, &key_text(&name), Some(written.to_toml()));
            }
        }
    }
}

fn base_unknown(base: &UnknownBase) -> String {
    let mut parts = vec![format!("reason = {}", quoted(&base.reason))];
    parts.extend(base.supply.as_ref().map(|supply| format!("supply = {}", quoted(supply))));
    parts.extend(base.repository.as_ref().map(|repository| format!("repository = {}", quoted(repository))));
    format!("{{ {} }}", parts.join(", "))
}

fn header(out: &mut String, header: &str) {
    if !out.is_empty() {
        out.push('\n');
    }
    out.push_str(header);
    out.push('\n');
}

fn line(out: &mut String, key: &str, value: Option<String>) {
    if let Some(value) = value {
        // Writing to a string cannot fail.
        let _ = writeln!(out, "{key} = {value}");
    }
}

fn section(out: &mut String, name: &str, list: &[Named<Spanned<String>>]) {
    if list.is_empty() {
        return;
    }
    header(out, &format!("[{name}]"));
    for (key, text) in list {
        line(out, &key_text(&key.value), Some(quoted(&text.value)));
    }
}

fn key_text(key: &str) -> String {
    let bare = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    if !key.is_empty() && key.bytes().all(bare) { key.to_owned() } else { quoted(key) }
}

fn listed(items: impl Iterator<Item = String>) -> String {
    format!("[{}]", items.collect::<Vec<_>>().join(", "))
}

/// A text as a TOML string.
pub(crate) fn quoted(text: &str) -> String {
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

fn file(facts: &FileFacts) -> String {
    let mut parts = Vec::new();
    if let Some(link) = &facts.link {
        parts.push(format!("link = {}", quoted(&link.value)));
    }
    if let Some(text) = &facts.text {
        parts.push(format!("text = {}", quoted(&text.value)));
    }
    if let Some(note) = &facts.elf_note {
        let numbers = |list: &[Spanned<u32>]| listed(list.iter().map(|number| number.value.to_string()));
        let cuda = note.cuda.as_ref().map(|cuda| format!("cuda = {}, ", quoted(&cuda.value.to_string())));
        let (driver, device) = (numbers(&note.driver), numbers(&note.device));
        parts.push(format!("elf_note = {{ {}driver = {driver}, device = {device} }}", cuda.unwrap_or_default()));
    }
    for (key, names) in [("needs", &facts.needs), ("opens", &facts.opens)] {
        parts.extend(name_list(names).map(|list| format!("{key} = {list}")));
    }
    if parts.is_empty() { "{}".to_owned() } else { format!("{{ {} }}", parts.join(", ")) }
}

fn on_base(value: &OnBase) -> String {
    let set = quoted(&value.set.value);
    match &value.unset {
        Some(unset) => format!("{{ set = {set}, unset = {} }}", quoted(&unset.value)),
        None => set,
    }
}

fn name_list(names: &[Spanned<String>]) -> Option<String> {
    (!names.is_empty()).then(|| listed(names.iter().map(|name| quoted(&name.value))))
}

fn gpu_code(out: &mut String, code: &GpuCode) {
    line(out, "file", code.file.as_ref().map(|file| quoted(&file.value)));
    line(out, "component", code.component.as_ref().map(|component| quoted(&component.value)));
    line(out, "untold", code.untold.as_ref().map(|reason| quoted(&reason.value)));
    for (key, targets) in [("sass", &code.sass), ("ptx", &code.ptx)] {
        let words = targets.as_ref().map(|targets| code_words(key, targets).into_iter().map(|word| quoted(&word)));
        line(out, key, words.map(listed));
    }
    let words = code_words("ptx", &code.linkable).into_iter().map(|word| quoted(&word));
    line(out, "linkable", (!code.linkable.is_empty()).then(|| listed(words)));
    line(out, "ptx_isa", code.ptx_isa.as_ref().map(|isa| quoted(&isa.value.to_string())));
    line(out, "containers", code.containers.as_ref().map(|count| count.value.to_string()));
    line(out, "needs", name_list(&code.needs));
    line(out, "opens", name_list(&code.opens));
}
