//! Options of the container toolkit's `config.toml`, by their own dotted names.

use toml::de::DeTable;
use toml::de::DeValue;

use crate::cuda::Capabilities;
use crate::cuda::DEFAULT_CAPABILITIES;
use crate::cuda::SUPPORTED_CAPABILITIES;
use crate::fleet::Declared;
use crate::fleet::Pool;
use crate::nearest::nearest;
use crate::source::Span;
use crate::toml_reader::Reader;
use crate::toml_reader::Value;
use crate::toml_reader::entries;
use crate::toml_reader::span_of;

/// What an option holds.
#[derive(Clone, Copy)]
enum Kind {
    Flag,
    Text,
    Texts,
    /// One of these.
    Word(&'static [&'static str]),
    /// Driver capabilities with commas between them.
    Capabilities,
}

const MODES: Kind = Kind::Word(&["auto", "legacy", "jit-cdi", "cdi", "csv"]);
const MODE: &str = "nvidia-container-runtime.mode";
const COMPAT_MODE: &str = "nvidia-container-runtime.modes.legacy.cuda-compat-mode";
const LOAD_KMODS: &str = "nvidia-container-cli.load-kmods";
const DISABLED_HOOKS: &str = "nvidia-container-runtime.modes.jit-cdi.nvcdi-disable-hooks";
const ACCEPT_ENVVAR: &str = "accept-nvidia-visible-devices-envvar-when-unprivileged";
const ACCEPT_MOUNTS: &str = "accept-nvidia-visible-devices-as-volume-mounts";

/// Every option: nvidia-container-toolkit d34b304, `api/config/v1`.
const OPTIONS: &[(&str, Kind)] = &[
    ("disable-require", Kind::Flag),
    ("swarm-resource", Kind::Text),
    (ACCEPT_ENVVAR, Kind::Flag),
    (ACCEPT_MOUNTS, Kind::Flag),
    ("supported-driver-capabilities", Kind::Capabilities),
    ("nvidia-container-cli.root", Kind::Text),
    ("nvidia-container-cli.path", Kind::Text),
    ("nvidia-container-cli.environment", Kind::Texts),
    ("nvidia-container-cli.debug", Kind::Text),
    ("nvidia-container-cli.ldcache", Kind::Text),
    (LOAD_KMODS, Kind::Flag),
    ("nvidia-container-cli.no-pivot", Kind::Flag),
    ("nvidia-container-cli.no-cgroups", Kind::Flag),
    ("nvidia-container-cli.user", Kind::Text),
    ("nvidia-container-cli.ldconfig", Kind::Text),
    ("nvidia-ctk.path", Kind::Text),
    ("nvidia-container-runtime.debug", Kind::Text),
    ("nvidia-container-runtime.log-level", Kind::Text),
    ("nvidia-container-runtime.runtimes", Kind::Texts),
    (MODE, MODES),
    ("nvidia-container-runtime.modes.csv.mount-spec-path", Kind::Text),
    ("nvidia-container-runtime.modes.csv.compat-container-root", Kind::Text),
    ("nvidia-container-runtime.modes.cdi.spec-dirs", Kind::Texts),
    ("nvidia-container-runtime.modes.cdi.default-kind", Kind::Text),
    ("nvidia-container-runtime.modes.cdi.annotation-prefixes", Kind::Texts),
    ("nvidia-container-runtime.modes.jit-cdi.nvcdi-feature-flags", Kind::Texts),
    (DISABLED_HOOKS, Kind::Texts),
    (COMPAT_MODE, Kind::Word(&["ldconfig", "mount", "disabled", "hook"])),
    ("nvidia-container-runtime-hook.path", Kind::Text),
    ("nvidia-container-runtime-hook.skip-mode-detection", Kind::Flag),
    ("features.allow-cuda-compat-libs-from-container", Kind::Flag),
    ("features.allow-ldconfig-from-container", Kind::Flag),
    ("features.allow-unknown-oci-spec-fields", Kind::Flag),
    ("features.disable-cuda-compat-lib-hook", Kind::Flag),
    ("features.disable-imex-channel-creation", Kind::Flag),
    ("features.ignore-imex-channel-requests", Kind::Flag),
    ("features.no-additional-gids-for-device-nodes", Kind::Flag),
    // People write the short name; no other option has it.
    ("mode", MODES),
];

/// The options of a `[pool.host]` table as text; unknown names and values of another type are reported.
pub(super) fn read(reader: &mut Reader, table: &DeTable<'_>) -> Vec<(String, Declared<String>)> {
    let mut options = Vec::new();
    read_table(reader, "", table, &mut options);
    options
}

fn read_table(reader: &mut Reader, prefix: &str, table: &DeTable<'_>, options: &mut Vec<(String, Declared<String>)>) {
    for (key, key_span, value) in entries(table) {
        let name = if prefix.is_empty() { key.to_owned() } else { format!("{prefix}.{key}") };
        if let Some((known, kind)) = OPTIONS.iter().find(|(known, _)| *known == name) {
            if let Some(text) = text_of(reader, known, *kind, value) {
                options.push((name, Declared { value: text, span: span_of(value) }));
            }
        } else if let Some(inner) = value.get_ref().as_table().filter(|_| is_section(&name)) {
            read_table(reader, &name, inner, options);
        } else {
            unknown(reader, &name, key_span);
        }
    }
}

/// Whether options stand below a name.
fn is_section(name: &str) -> bool {
    OPTIONS.iter().any(|(known, _)| known.strip_prefix(name).is_some_and(|rest| rest.starts_with('.')))
}

fn unknown(reader: &mut Reader, name: &str, span: Span) {
    let last = |name: &'static str| name.rsplit('.').next().unwrap_or(name);
    let whole = nearest(name, OPTIONS.iter().map(|(known, _)| *known));
    // Somebody may have left the sections out.
    let short = || {
        let word = nearest(name.rsplit('.').next().unwrap_or(name), OPTIONS.iter().map(|(known, _)| last(known)))?;
        OPTIONS.iter().map(|(known, _)| *known).find(|known| last(known) == word)
    };
    let help = whole.or_else(short).map(|known| format!("did you mean `{known}`?"));
    let help = help.unwrap_or_else(|| "use a name from the container toolkit's config.toml".to_owned());
    reader.report(span, format!("unknown option `{name}`"), Some(help));
}

fn text_of(reader: &mut Reader, name: &str, kind: Kind, value: &Value<'_>) -> Option<String> {
    match kind {
        Kind::Flag => reader.boolean(name, value).map(|flag| flag.to_string()),
        Kind::Text => reader.string(name, value),
        Kind::Texts => {
            let DeValue::Array(list) = value.get_ref() else {
                reader.wrong_type(name, value, "a list of strings");
                return None;
            };
            let texts: Vec<String> = list.iter().filter_map(|one| reader.string(name, one)).collect();
            Some(texts.join(","))
        }
        Kind::Word(words) => {
            let word = reader.string(name, value)?;
            if words.contains(&word.as_str()) {
                return Some(word);
            }
            reader.unknown_word(name, &word, span_of(value), words);
            None
        }
        Kind::Capabilities => {
            let list = reader.string(name, value)?;
            if Capabilities::read(&list).is_some() {
                return Some(list);
            }
            for word in list.split(',').map(str::trim).filter(|word| Capabilities::read(word).is_none()) {
                reader.unknown_word("driver capability", word, span_of(value), Capabilities::WORDS);
            }
            None
        }
    }
}

/// The options that the replay asks for, defaults filled in.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "independent switches of one configuration file")]
pub struct Options {
    /// `disable-require`.
    pub disable_require: bool,
    /// `accept-nvidia-visible-devices-envvar-when-unprivileged`.
    pub accept_envvar: bool,
    /// `accept-nvidia-visible-devices-as-volume-mounts`.
    pub accept_mounts: bool,
    /// `supported-driver-capabilities`.
    pub supported: Capabilities,
    /// The same as written, `all` spelt out.
    pub supported_text: String,
    /// Whether `nvidia-container-runtime.mode` names one.
    pub mode_configured: bool,
    /// `nvidia-container-cli.load-kmods`.
    pub loads_modules: bool,
    /// Variables of `swarm-resource`, which stand in for `NVIDIA_VISIBLE_DEVICES`.
    pub swarm: Vec<String>,
}

impl Options {
    /// Whether the variable counts in unprivileged containers.
    pub const ACCEPT_ENVVAR: &str = ACCEPT_ENVVAR;
    /// Whether device lists in volume mounts count.
    pub const ACCEPT_MOUNTS: &str = ACCEPT_MOUNTS;
    /// Switches the requirement check off.
    pub const DISABLE_REQUIRE: &str = "disable-require";
    /// The mode of the runtime.
    pub const MODE: &str = MODE;
    /// The name that people write for it.
    pub(super) const SHORT_MODE: &str = "mode";
    /// The driver capabilities that a container may have.
    pub const SUPPORTED_CAPABILITIES: &str = "supported-driver-capabilities";

    /// Those of a pool.
    pub(super) fn of(pool: &Pool) -> Self {
        let supported_text = match pool.host_option("supported-driver-capabilities") {
            Some(list) if !list.split(',').any(|word| word.trim() == "all") => list,
            _ => SUPPORTED_CAPABILITIES,
        };
        let swarm = pool.host_option("swarm-resource").unwrap_or_default().split(',').map(str::trim);
        Self {
            disable_require: pool.host_flag("disable-require"),
            accept_envvar: pool.host_option(ACCEPT_ENVVAR) != Some("false"),
            accept_mounts: pool.host_flag(ACCEPT_MOUNTS),
            supported: Capabilities::read(supported_text).unwrap_or_default(),
            supported_text: supported_text.to_owned(),
            mode_configured: pool.configured_mode().is_some(),
            loads_modules: pool.host_option(LOAD_KMODS) != Some("false"),
            swarm: swarm.filter(|name| !name.is_empty()).map(str::to_owned).collect(),
        }
    }
}

impl Pool {
    /// An option of the toolkit's configuration, as text.
    pub(super) fn host_option(&self, name: &str) -> Option<&str> {
        self.host.iter().find(|(key, _)| key == name).map(|(_, value)| value.value.as_str())
    }

    /// Whether an option is there and true.
    pub(super) fn host_flag(&self, name: &str) -> bool {
        self.host_option(name) == Some("true")
    }

    /// The mode that the configuration names; none where it is `auto`.
    pub(super) fn configured_mode(&self) -> Option<&str> {
        self.host_option(MODE).or_else(|| self.host_option("mode")).filter(|mode| *mode != "auto")
    }

    /// `cuda-compat-mode`.
    pub(super) fn compat_mode(&self) -> Option<&str> {
        self.host_option(COMPAT_MODE)
    }

    /// Whether a hook is left out of specifications made at container start.
    pub(super) fn hook_disabled(&self, hook: &str) -> bool {
        let list = self.host_option(DISABLED_HOOKS).unwrap_or_default();
        list.split(',').any(|name| name == hook || name == "all")
    }

    /// Whether device lists are accepted in volume mounts and not in variables.
    pub(super) fn takes_mounts_alone(&self) -> bool {
        self.host_flag(ACCEPT_MOUNTS) && self.host_option(ACCEPT_ENVVAR) == Some("false")
    }

    /// Whether device lists in volume mounts are accepted, where the configuration says so or not.
    pub(super) fn accepts_mounts(&self) -> Option<bool> {
        self.host_option(ACCEPT_MOUNTS).map(|text| text == "true")
    }
}

/// What a container gets that asks for no capability.
pub(super) fn default_capabilities(compute: bool) -> Capabilities {
    Capabilities::read(if compute { DEFAULT_CAPABILITIES } else { "utility" }).unwrap_or_default()
}
