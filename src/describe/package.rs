//! How a description tells of a package: by its version alone, or with what else decides which one it is.

use serde_json::Value as Json;
use serde_json::json;
use toml::de::DeTable;

use crate::describe::Named;
use crate::describe::Spanned;
use crate::toml_reader::Reader;
use crate::toml_reader::Value;
use crate::toml_reader::entries;
use crate::toml_reader::span_of;

/// One package; of a plain version only that is set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Package {
    /// The version, or a range; empty where none was asked for.
    pub version: String,
    /// Why the version cannot be told.
    pub unknown: Option<String>,
    /// Why it may not be there at all.
    pub conditional: Option<String>,
    /// The build that the command chose: `cu121`, `cpu`.
    pub variant: Option<String>,
    /// The one index of builds that it comes from.
    pub index: Option<String>,
    /// Indexes of builds beside the default one.
    pub extra_index: Vec<String>,
    /// Why the index cannot be told.
    pub index_unknown: Option<String>,
    /// Why it may be a version that is no release.
    pub early: Option<String>,
    /// Whether a version that is there already is replaced.
    pub upgrade: bool,
    /// Whether it was installed without what it depends on.
    pub alone: bool,
    /// The channel of conda that it comes from.
    pub channel: Option<String>,
    /// Whether it lies in an environment of Python beside that of the base image.
    pub apart: bool,
    /// Python that it is installed for, where the command says it.
    pub python: Option<String>,
    /// Which command of the build installs it: those of one command are chosen together, later ones replace earlier ones.
    pub command: Option<u32>,
}

/// A package that a command of the build takes away.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gone {
    /// `pip`, `conda` or `apt`.
    pub manager: String,
    /// Its name.
    pub name: String,
    /// The command.
    pub command: u32,
}

const KEYS: &[&str] = &[
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
    "apart",
    "python",
    "command",
];

const GONE_KEYS: &[&str] = &["manager", "name", "command"];

/// The managers by the names that descriptions give them.
pub(crate) const MANAGERS: &[&str] = &["pip", "conda", "apt"];

impl Package {
    /// A package of this version.
    pub fn of(version: impl Into<String>) -> Self {
        Self { version: version.into(), ..Self::default() }
    }

    /// Whether a version is all that is said.
    fn is_plain(&self) -> bool {
        *self == Self::of(self.version.as_str()) && !self.version.is_empty()
    }

    /// What is said, key by key.
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
            ("alone", self.alone.then_some(Json::Bool(true))),
            ("channel", text(&self.channel)),
            ("apart", self.apart.then_some(Json::Bool(true))),
            ("python", text(&self.python)),
            ("command", self.command.map(|command| json!(command))),
        ];
        all.into_iter().filter_map(|(key, value)| Some((key, value?))).collect()
    }
}

impl Gone {
    fn fields(&self) -> Vec<(&'static str, Json)> {
        vec![("manager", json!(self.manager)), ("name", json!(self.name)), ("command", json!(self.command))]
    }
}

/// One value of a section: what stands there as TOML and as JSON.
pub(super) enum Written {
    /// A version.
    Text(String),
    /// Keys.
    Fields(Vec<(&'static str, Json)>),
    /// Several installs of the same name.
    List(Vec<Self>),
}

impl Written {
    fn of(package: &Package) -> Self {
        if package.is_plain() { Self::Text(package.version.clone()) } else { Self::Fields(package.fields()) }
    }

    /// As TOML on one line.
    pub(super) fn to_toml(&self) -> String {
        match self {
            Self::Text(text) => super::quoted(text),
            Self::Fields(fields) if fields.is_empty() => "{}".to_owned(),
            Self::Fields(fields) => {
                let pairs: Vec<String> =
                    fields.iter().map(|(key, value)| format!("{key} = {}", plain(value))).collect();
                format!("{{ {} }}", pairs.join(", "))
            }
            Self::List(list) => {
                format!("[{}]", list.iter().map(Self::to_toml).collect::<Vec<_>>().join(", "))
            }
        }
    }

    /// As JSON.
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

/// A value of the three kinds that the fields have.
fn plain(value: &Json) -> String {
    match value {
        Json::String(text) => super::quoted(text),
        Json::Array(list) => format!("[{}]", list.iter().map(plain).collect::<Vec<_>>().join(", ")),
        other => other.to_string(),
    }
}

/// The entries of a section in the order of their names' first mention.
pub(super) fn section(list: &[Named<Spanned<Package>>]) -> Vec<(String, Written)> {
    let mut found: Vec<(String, Vec<Written>)> = Vec::new();
    let mut places = std::collections::BTreeMap::new();
    for (name, package) in list {
        let at = *places.entry(name.value.as_str()).or_insert_with(|| {
            found.push((name.value.clone(), Vec::new()));
            found.len() - 1
        });
        if let Some((_, all)) = found.get_mut(at) {
            all.push(Written::of(&package.value));
        }
    }
    let one = |mut all: Vec<Written>| match all.pop() {
        Some(only) if all.is_empty() => only,
        end => {
            all.extend(end);
            Written::List(all)
        }
    };
    found.into_iter().map(|(name, all)| (name, one(all))).collect()
}

/// What is taken away, as it is written.
pub(super) fn gone_written(list: &[Spanned<Gone>]) -> Option<Written> {
    (!list.is_empty()).then(|| Written::List(list.iter().map(|gone| Written::Fields(gone.value.fields())).collect()))
}

/// Reads a section.
pub(super) fn read(reader: &mut Reader, key: &str, value: &Value<'_>) -> Vec<Named<Spanned<Package>>> {
    let Some(table) = reader.table(key, value) else { return Vec::new() };
    let mut found = Vec::new();
    for (name, span, value) in entries(table) {
        for one in Reader::one_or_more(value) {
            let package = match one.get_ref().as_table() {
                Some(table) => Some(package(reader, table)),
                None if one.get_ref().is_str() => reader.string(name, one).map(Package::of),
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

fn package(reader: &mut Reader, table: &DeTable<'_>) -> Package {
    let mut found = Package::default();
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
            "alone" => found.alone = reader.boolean(key, value).unwrap_or(false),
            "channel" => found.channel = reader.string(key, value),
            "apart" => found.apart = reader.boolean(key, value).unwrap_or(false),
            "python" => found.python = reader.string(key, value),
            "command" => found.command = reader.number(key, value),
            _ => reader.unknown_key(key, span, KEYS),
        }
    }
    found
}

/// Reads what is taken away.
pub(super) fn gone(reader: &mut Reader, key: &str, value: &Value<'_>) -> Vec<Spanned<Gone>> {
    let mut found = Vec::new();
    for one in Reader::one_or_more(value) {
        let Some(table) = reader.table(key, one) else { continue };
        let mut gone = Gone { manager: String::new(), name: String::new(), command: 0 };
        for (key, span, value) in entries(table) {
            match key {
                "manager" => gone.manager = reader.string(key, value).unwrap_or_default(),
                "name" => gone.name = reader.string(key, value).unwrap_or_default(),
                "command" => gone.command = reader.number(key, value).unwrap_or(0),
                _ => reader.unknown_key(key, span, GONE_KEYS),
            }
        }
        if !MANAGERS.contains(&gone.manager.as_str()) {
            reader.unknown_word("manager", &gone.manager, span_of(one), MANAGERS);
        }
        found.push(Spanned { value: gone, span: span_of(one) });
    }
    found
}
