//! Descriptions as JSON, with the keys of the TOML form.

use serde_json::{Value, json};
use thiserror::Error;

use crate::describe::described_package::removals_entry;
use crate::describe::write::target_names;
use crate::describe::{
    DescribedEnvTemplate, DescribedFile, DescribedGpuCode, DescribedPackages, ImageDescription, NamedEntry, Spanned,
    UnknownBase, described_package, source_kind,
};
use crate::text::source::SourceText;

/// Why a JSON value is not a description.
#[derive(Debug, Error)]
pub enum DescriptionJsonError {
    /// It contains a null or a number beyond 64 bits, which TOML lacks.
    #[error("not an image description: {0}")]
    NotToml(String),
    /// Its keys or values are wrong.
    #[error("{}", .0.all().iter().map(|problem| problem.message.as_str()).collect::<Vec<_>>().join("; "))]
    Errors(super::DescriptionErrors),
}

impl ImageDescription {
    /// Returns the description as JSON.
    pub fn to_json(&self) -> Value {
        let mut all = serde_json::Map::new();
        let mut insert_field = |key: &str, value: Option<Value>| {
            if let Some(value) = value {
                all.insert(key.to_owned(), value);
            }
        };
        insert_field("of", source_kind(self.source).map(|word| json!(word)));
        insert_field("base_unknown", self.base_unknown.as_ref().map(|base| unknown_base_json(&base.value)));
        insert_field("base", self.base.as_ref().map(|base| json!(base.value)));
        insert_field("as_of", self.as_of.as_ref().map(|date| json!(date.value.to_string())));
        insert_field("platform", platforms_json(&self.platforms));
        insert_field("from_scratch", self.from_scratch.then_some(Value::Bool(true)));
        insert_field("builds_for_gpus", self.builds_for_gpus.then_some(Value::Bool(true)));
        insert_field("copies_unread_images", self.copies_unread_images.then_some(Value::Bool(true)));
        insert_field("cuda_runtime", self.cuda_runtime.as_ref().map(|version| json!(version.value.to_string())));
        insert_field("entrypoint", self.entrypoint.as_ref().map(|words| json!(words.value)));
        insert_field("command", self.command.as_ref().map(|words| json!(words.value)));
        insert_field("tag_now", self.tag_now.as_ref().map(|changes| json!(changes.value)));
        let complete: Vec<&str> = self.complete.iter().map(|family| family.value.as_str()).collect();
        insert_field("complete", (!complete.is_empty()).then(|| json!(complete)));
        let removed: Vec<&str> = self.removed.iter().map(|what| what.value.as_str()).collect();
        insert_field("removed", (!removed.is_empty()).then(|| json!(removed)));
        let unknown: Vec<&str> = self.env_unknown.iter().map(|name| name.value.as_str()).collect();
        insert_field("env_unknown", (!unknown.is_empty()).then(|| json!(unknown)));
        insert_field("env", text_table_json(&self.env));
        let on_base: serde_json::Map<String, Value> =
            self.env_on_base.iter().map(|(name, value)| (name.value.clone(), env_template_json(value))).collect();
        insert_field("env_on_base", (!on_base.is_empty()).then_some(Value::Object(on_base)));
        let packages = packages_json(&self.packages);
        insert_field("packages", (!packages.is_empty()).then_some(Value::Object(packages)));
        let files: serde_json::Map<String, Value> =
            self.files.iter().map(|(path, facts)| (path.value.clone(), file_json(facts))).collect();
        insert_field("files", (!files.is_empty()).then_some(Value::Object(files)));
        let codes: Vec<Value> = self.gpu_code.iter().map(gpu_code_json).collect();
        insert_field("gpu_code", (!codes.is_empty()).then(|| json!(codes)));
        Value::Object(all)
    }

    /// Reads a description from JSON; its spans point into a generated text.
    pub fn from_json(value: Value) -> Result<Self, DescriptionJsonError> {
        let table: toml::Table =
            serde_json::from_value(value).map_err(|error| DescriptionJsonError::NotToml(error.to_string()))?;
        let text = toml::to_string(&table).map_err(|error| DescriptionJsonError::NotToml(error.to_string()))?;
        Self::read(&SourceText::new("description", text)).map_err(DescriptionJsonError::Errors)
    }
}

/// Returns the value of `platform`.
fn platforms_json(list: &[Spanned<String>]) -> Option<Value> {
    match list {
        [] => None,
        [one] => Some(json!(one.value)),
        several => Some(several.iter().map(|one| json!(one.value)).collect()),
    }
}

/// Returns the value of `base_unknown`.
fn unknown_base_json(base: &UnknownBase) -> Value {
    let mut map = serde_json::Map::new();
    map.insert("reason".to_owned(), json!(base.reason));
    map.extend(base.supply.as_ref().map(|supply| ("supply".to_owned(), json!(supply))));
    map.extend(base.repository.as_ref().map(|repository| ("repository".to_owned(), json!(repository))));
    Value::Object(map)
}

/// Returns the entries of `packages`.
fn packages_json(packages: &DescribedPackages) -> serde_json::Map<String, Value> {
    let mut map = serde_json::Map::new();
    map.extend(packages.other_python.then(|| ("other_python".to_owned(), Value::Bool(true))));
    map.extend(packages.by_driver.as_ref().map(|command| ("by_driver".to_owned(), json!(command.value))));
    map.extend(packages.unread.as_ref().map(|reason| ("unread".to_owned(), json!(reason.value))));
    for (name, list) in packages.command_lists().filter(|(_, list)| !list.is_empty()) {
        map.insert(name.to_owned(), list.iter().map(|number| json!(number.value)).collect());
    }
    map.extend(removals_entry(&packages.removed_packages).map(|entry| ("gone".to_owned(), entry.to_json())));
    for (name, list) in packages.package_lists() {
        let entries: serde_json::Map<String, Value> = described_package::section_entries(list)
            .into_iter()
            .map(|(name, written)| (name, written.to_json()))
            .collect();
        if !entries.is_empty() {
            map.insert(name.to_owned(), Value::Object(entries));
        }
    }
    map
}

/// Returns a table of strings; `None` if it is empty.
fn text_table_json(list: &[NamedEntry<Spanned<String>>]) -> Option<Value> {
    let map: serde_json::Map<String, Value> =
        list.iter().map(|(name, text)| (name.value.clone(), json!(text.value))).collect();
    (!map.is_empty()).then_some(Value::Object(map))
}

/// Returns the value of an entry of `env_on_base`.
fn env_template_json(value: &DescribedEnvTemplate) -> Value {
    match &value.unset {
        Some(unset) => json!({ "set": value.set.value, "unset": unset.value }),
        None => json!(value.set.value),
    }
}

/// Returns the value of an entry of `files`.
fn file_json(facts: &DescribedFile) -> Value {
    let mut map = serde_json::Map::new();
    if let Some(link) = &facts.link {
        map.insert("link".to_owned(), json!(link.value));
    }
    if let Some(text) = &facts.text {
        map.insert("text".to_owned(), json!(text.value));
    }
    if let Some(note) = &facts.elf_note {
        let numbers = |list: &[Spanned<u32>]| list.iter().map(|number| number.value).collect::<Vec<_>>();
        let mut inner = serde_json::Map::new();
        if let Some(cuda) = &note.cuda {
            inner.insert("cuda".to_owned(), json!(cuda.value.to_string()));
        }
        inner.insert("driver".to_owned(), json!(numbers(&note.driver)));
        inner.insert("device".to_owned(), json!(numbers(&note.device)));
        map.insert("elf_note".to_owned(), Value::Object(inner));
    }
    insert_library_names(&mut map, &facts.needs, &facts.opens);
    Value::Object(map)
}

/// Returns the value of an element of `gpu_code`.
fn gpu_code_json(code: &DescribedGpuCode) -> Value {
    let mut map = serde_json::Map::new();
    for (key, text) in [("file", &code.file), ("component", &code.component), ("untold", &code.targets_unknown)] {
        if let Some(text) = text {
            map.insert(key.to_owned(), json!(text.value));
        }
    }
    for (key, targets) in [("sass", &code.sass), ("ptx", &code.ptx)] {
        if let Some(targets) = targets {
            map.insert(key.to_owned(), json!(target_names(key, targets)));
        }
    }
    if !code.linkable.is_empty() {
        map.insert("linkable".to_owned(), json!(target_names("ptx", &code.linkable)));
    }
    if let Some(isa) = &code.ptx_isa {
        map.insert("ptx_isa".to_owned(), json!(isa.value.to_string()));
    }
    if let Some(count) = &code.containers {
        map.insert("containers".to_owned(), json!(count.value));
    }
    insert_library_names(&mut map, &code.needs, &code.opens);
    Value::Object(map)
}

/// Inserts the lists `needs` and `opens` that are not empty.
fn insert_library_names(
    map: &mut serde_json::Map<String, Value>,
    needs: &[Spanned<String>],
    opens: &[Spanned<String>],
) {
    for (key, names) in [("needs", needs), ("opens", opens)] {
        if !names.is_empty() {
            let names: Vec<&str> = names.iter().map(|name| name.value.as_str()).collect();
            map.insert(key.to_owned(), json!(names));
        }
    }
}
