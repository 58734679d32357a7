//! Packages in a description: a version alone, or a table with everything that determines the build.

use serde_json::{Value as Json, json};
use toml::de::DeTable;

use crate::describe::{NamedEntry, Spanned};
use crate::knowledge::toml_reader::{Reader, Value, entries, span_of};

/// A package; a plain version sets only that field.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DescribedPackage {
    /// The version or range; empty if none was requested.
    pub version: String,
    /// Why the version is unknown.
    pub unknown: Option<String>,
    /// Why it may not be installed at all.
    pub conditional: Option<String>,
    /// The build variant that the command selects: `cu121`, `cpu`.
    pub variant: Option<String>,
    /// The only index of builds that it comes from.
    pub index: Option<String>,
    /// Extra indexes of builds in addition to the default one.
    pub extra_index: Vec<String>,
    /// Why the index is unknown.
    pub index_unknown: Option<String>,
    /// Why it may be a pre-release.
    pub early: Option<String>,
    /// Whether an installed version is replaced.
    pub upgrade: bool,
    /// Whether it is installed without its dependencies.
    pub no_deps: bool,
    /// The conda channel that it comes from.
    pub channel: Option<String>,
    /// The folder of the Python environment that it is installed in, if that does not see the packages of the base
    /// image; empty if unknown.
    pub environment: Option<String>,
    /// The Python version that it is installed for, if the command names it.
    pub python: Option<String>,
    /// The number of the command that installs it: packages of one command are resolved together, later commands
    /// replace earlier packages.
    pub command: Option<u32>,
}

/// A package that a command removes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DescribedRemoval {
    /// The package manager: `pip`, `conda` or `apt`.
    pub manager: String,
    /// The name of the package.
    pub name: String,
    /// The number of the command.
    pub command: u32,
    /// The folder of the Python environment that it was installed in, as for a package.
    pub environment: Option<String>,
}

/// The keys of the table of a package.
const PACKAGE_TABLE_KEYS: &[&str] = &[
    "version",
    "unknown",
    "conditional",
    "variant",
    "index",
    "extra_index",
    "index_unknown",
    "early",
    "upgrade",
    "alone",
    "channel",
    "environment",
    "apart",
    "python",
    "command",
];

/// The keys of a removed package.
const REMOVAL_KEYS: &[&str] = &["manager", "name", "command", "environment"];

/// The names of the package managers in descriptions.
pub(crate) const PACKAGE_MANAGERS: &[&str] = &["pip", "conda", "apt"];

impl DescribedPackage {
    /// Creates a package of which only the version is declared.
    pub fn with_version(version: impl Into<String>) -> Self {
        Self { version: version.into(), ..Self::default() }
    }

    /// Whether only the version is declared.
    fn has_only_version(&self) -> bool {
        *self == Self::with_version(self.version.as_str()) && !self.version.is_empty()
    }

    /// Returns the keys that are declared, with their values.
    fn fields(&self) -> Vec<(&'static str, Json)> {
        let text = |text: &Option<String>| text.as_ref().map(|text| json!(text));
        let all = [
            ("version", (!self.version.is_empty()).then(|| json!(self.version))),
            ("unknown", text(&self.unknown)),
            ("conditional", text(&self.conditional)),
            ("variant", text(&self.variant)),
            ("index", text(&self.index)),
            ("extra_index", (!self.extra_index.is_empty()).then(|| json!(self.extra_index))),
            ("index_unknown", text(&self.index_unknown)),
            ("early", text(&self.early)),
            ("upgrade", self.upgrade.then_some(Json::Bool(true))),
            ("alone", self.no_deps.then_some(Json::Bool(true))),
            ("channel", text(&self.channel)),
            ("environment", text(&self.environment)),
            ("python", text(&self.python)),
            ("command", self.command.map(|command| json!(command))),
        ];
        all.into_iter().filter_map(|(key, value)| Some((key, value?))).collect()
    }
}

impl DescribedRemoval {
    /// Returns all keys with their values.
    fn fields(&self) -> Vec<(&'static str, Json)> {
        let environment = self.environment.as_ref().map(|folder| ("environment", json!(folder)));
        let fields = [("manager", json!(self.manager)), ("name", json!(self.name)), ("command", json!(self.command))];
        fields.into_iter().chain(environment).collect()
    }
}

/// An entry of a section, before it is written as TOML or JSON.
pub(super) enum SerializedEntry {
    /// A plain version.
    Text(String),
    /// A table.
    Fields(Vec<(&'static str, Json)>),
    /// Several installations under the same name.
    List(Vec<Self>),
}

impl SerializedEntry {
    /// Creates the entry of a package.
    fn from_package(package: &DescribedPackage) -> Self {
        if package.has_only_version() { Self::Text(package.version.clone()) } else { Self::Fields(package.fields()) }
    }

    /// Returns the entry as a TOML value on one line.
    pub(super) fn to_toml(&self) -> String {
        match self {
            Self::Text(text) => super::toml_string(text),
            Self::Fields(fields) if fields.is_empty() => "{}".to_owned(),
            Self::Fields(fields) => {
                let pairs: Vec<String> =
                    fields.iter().map(|(key, value)| format!("{key} = {}", inline_toml(value))).collect();
                format!("{{ {} }}", pairs.join(", "))
            }
            Self::List(list) => {
                format!("[{}]", list.iter().map(Self::to_toml).collect::<Vec<_>>().join(", "))
            }
        }
    }

    /// Returns the entry as a JSON value.
    pub(super) fn to_json(&self) -> Json {
        match self {
            Self::Text(text) => json!(text),
            Self::Fields(fields) => {
                Json::Object(fields.iter().map(|(key, value)| ((*key).to_owned(), value.clone())).collect())
            }
            Self::List(list) => list.iter().map(Self::to_json).collect(),
        }
    }
}

/// Returns a string, list or scalar as a TOML value.
fn inline_toml(value: &Json) -> String {
    match value {
        Json::String(text) => super::toml_string(text),
        Json::Array(list) => format!("[{}]", list.iter().map(inline_toml).collect::<Vec<_>>().join(", ")),
        other => other.to_string(),
    }
}

/// Returns the entries of a section, grouped by name in the order of first occurrence.
pub(super) fn section_entries(list: &[NamedEntry<Spanned<DescribedPackage>>]) -> Vec<(String, SerializedEntry)> {
    let mut found: Vec<(String, Vec<SerializedEntry>)> = Vec::new();
    let mut places = std::collections::BTreeMap::new();
    for (name, package) in list {
        let at = *places.entry(name.value.as_str()).or_insert_with(|| {
            found.push((name.value.clone(), Vec::new()));
            found.len() - 1
        });
        if let Some((_, all)) = found.get_mut(at) {
            all.push(SerializedEntry::from_package(&package.value));
        }
    }
    let one = |mut all: Vec<SerializedEntry>| match all.pop() {
        Some(only) if all.is_empty() => only,
        end => {
            all.extend(end);
            SerializedEntry::List(all)
        }
    };
    found.into_iter().map(|(name, all)| (name, one(all))).collect()
}

/// Returns the value of `gone`; `None` if nothing is removed.
pub(super) fn removals_entry(list: &[Spanned<DescribedRemoval>]) -> Option<SerializedEntry> {
    (!list.is_empty()).then(|| {
        SerializedEntry::List(list.iter().map(|removal| SerializedEntry::Fields(removal.value.fields())).collect())
    })
}

/// Reads a section of packages.
pub(super) fn read_section(
    reader: &mut Reader,
    key: &str,
    value: &Value<'_>,
) -> Vec<NamedEntry<Spanned<DescribedPackage>>> {
    let Some(table) = reader.table(key, value) else { return Vec::new() };
    let mut found = Vec::new();
    for (name, span, value) in entries(table) {
        for one in Reader::one_or_more(value) {
            let package = match one.get_ref().as_table() {
                Some(table) => Some(read_package_table(reader, table)),
                None if one.get_ref().is_str() => reader.string(name, one).map(DescribedPackage::with_version),
                None => {
                    reader.wrong_type(name, one, "a string or a table");
                    None
                }
            };
            let name = Spanned { value: name.to_owned(), span };
            found.extend(package.map(|package| (name, Spanned { value: package, span: span_of(one) })));
        }
    }
    found
}

/// Reads the table of a package.
fn read_package_table(reader: &mut Reader, table: &DeTable<'_>) -> DescribedPackage {
    let mut found = DescribedPackage::default();
    for (key, span, value) in entries(table) {
        match key {
            "version" => found.version = reader.string(key, value).unwrap_or_default(),
            "unknown" => found.unknown = reader.string(key, value),
            "conditional" => found.conditional = reader.string(key, value),
            "variant" => found.variant = reader.string(key, value),
            "index" => found.index = reader.string(key, value),
            "extra_index" => {
                let words = Reader::one_or_more(value).into_iter();
                found.extra_index = words.filter_map(|one| reader.string(key, one)).collect();
            }
            "index_unknown" => found.index_unknown = reader.string(key, value),
            "early" => found.early = reader.string(key, value),
            "upgrade" => found.upgrade = reader.boolean(key, value).unwrap_or(false),
            "alone" => found.no_deps = reader.boolean(key, value).unwrap_or(false),
            "channel" => found.channel = reader.string(key, value),
            "environment" => found.environment = reader.string(key, value),
            // As versions before 0.2 wrote it.
            "apart" => {
                let exists = reader.boolean(key, value) == Some(true);
                found.environment = found.environment.or_else(|| exists.then(String::new));
            }
            "python" => found.python = reader.string(key, value),
            "command" => found.command = reader.number(key, value),
            _ => reader.unknown_key(key, span, PACKAGE_TABLE_KEYS),
        }
    }
    found
}

/// Reads the value of `gone`.
pub(super) fn read_removals(reader: &mut Reader, key: &str, value: &Value<'_>) -> Vec<Spanned<DescribedRemoval>> {
    let mut found = Vec::new();
    for one in Reader::one_or_more(value) {
        let Some(table) = reader.table(key, one) else { continue };
        let mut removal =
            DescribedRemoval { manager: String::new(), name: String::new(), command: 0, environment: None };
        for (key, span, value) in entries(table) {
            match key {
                "manager" => removal.manager = reader.string(key, value).unwrap_or_default(),
                "name" => removal.name = reader.string(key, value).unwrap_or_default(),
                "command" => removal.command = reader.number(key, value).unwrap_or(0),
                "environment" => removal.environment = reader.string(key, value),
                _ => reader.unknown_key(key, span, REMOVAL_KEYS),
            }
        }
        if !PACKAGE_MANAGERS.contains(&removal.manager.as_str()) {
            reader.unknown_word("manager", &removal.manager, span_of(one), PACKAGE_MANAGERS);
        }
        found.push(Spanned { value: removal, span: span_of(one) });
    }
    found
}
