//! Options in the `config.toml` of the container toolkit, by their dotted names.

use toml::de::{DeTable, DeValue};

use crate::cuda::{DEFAULT_CAPABILITIES, DriverCapabilities, SUPPORTED_CAPABILITIES};
use crate::fleet::{Declared, Pool};
use crate::knowledge::toml_reader::{Reader, Value, entries, span_of};
use crate::text::nearest::nearest_word;
use crate::text::source::Span;

/// The type of the value of an option.
#[derive(Clone, Copy)]
enum ToolkitOptionKind {
    Flag,
    Text,
    Texts,
    /// One of these.
    Word(&'static [&'static str]),
    /// Driver capabilities with commas between them.
    Capabilities,
}

/// The values of the mode option.
const RUNTIME_MODES: ToolkitOptionKind = ToolkitOptionKind::Word(&["auto", "legacy", "jit-cdi", "cdi", "csv"]);
/// The option that sets the mode of the nvidia runtime.
const MODE_OPTION: &str = "nvidia-container-runtime.mode";
/// The option that sets the handling of compat libraries in legacy mode.
const COMPAT_MODE_OPTION: &str = "nvidia-container-runtime.modes.legacy.cuda-compat-mode";
/// The option that lets the toolkit load kernel modules.
const LOAD_KMODS_OPTION: &str = "nvidia-container-cli.load-kmods";
/// The option that lists the disabled hooks of jit-cdi mode.
const DISABLED_HOOKS_OPTION: &str = "nvidia-container-runtime.modes.jit-cdi.nvcdi-disable-hooks";
/// The option that accepts device lists in variables of unprivileged containers.
const ACCEPT_ENVVAR_OPTION: &str = "accept-nvidia-visible-devices-envvar-when-unprivileged";
/// The option that accepts device lists in volume mounts.
const ACCEPT_MOUNTS_OPTION: &str = "accept-nvidia-visible-devices-as-volume-mounts";

/// All options with the types of their values: nvidia-container-toolkit d34b304, `api/config/v1`.
const OPTIONS: &[(&str, ToolkitOptionKind)] = &[
    ("disable-require", ToolkitOptionKind::Flag),
    ("swarm-resource", ToolkitOptionKind::Text),
    (ACCEPT_ENVVAR_OPTION, ToolkitOptionKind::Flag),
    (ACCEPT_MOUNTS_OPTION, ToolkitOptionKind::Flag),
    ("supported-driver-capabilities", ToolkitOptionKind::Capabilities),
    ("nvidia-container-cli.root", ToolkitOptionKind::Text),
    ("nvidia-container-cli.path", ToolkitOptionKind::Text),
    ("nvidia-container-cli.environment", ToolkitOptionKind::Texts),
    ("nvidia-container-cli.debug", ToolkitOptionKind::Text),
    ("nvidia-container-cli.ldcache", ToolkitOptionKind::Text),
    (LOAD_KMODS_OPTION, ToolkitOptionKind::Flag),
    ("nvidia-container-cli.no-pivot", ToolkitOptionKind::Flag),
    ("nvidia-container-cli.no-cgroups", ToolkitOptionKind::Flag),
    ("nvidia-container-cli.user", ToolkitOptionKind::Text),
    ("nvidia-container-cli.ldconfig", ToolkitOptionKind::Text),
    ("nvidia-ctk.path", ToolkitOptionKind::Text),
    ("nvidia-container-runtime.debug", ToolkitOptionKind::Text),
    ("nvidia-container-runtime.log-level", ToolkitOptionKind::Text),
    ("nvidia-container-runtime.runtimes", ToolkitOptionKind::Texts),
    (MODE_OPTION, RUNTIME_MODES),
    ("nvidia-container-runtime.modes.csv.mount-spec-path", ToolkitOptionKind::Text),
    ("nvidia-container-runtime.modes.csv.compat-container-root", ToolkitOptionKind::Text),
    ("nvidia-container-runtime.modes.cdi.spec-dirs", ToolkitOptionKind::Texts),
    ("nvidia-container-runtime.modes.cdi.default-kind", ToolkitOptionKind::Text),
    ("nvidia-container-runtime.modes.cdi.annotation-prefixes", ToolkitOptionKind::Texts),
    ("nvidia-container-runtime.modes.jit-cdi.nvcdi-feature-flags", ToolkitOptionKind::Texts),
    (DISABLED_HOOKS_OPTION, ToolkitOptionKind::Texts),
    (COMPAT_MODE_OPTION, ToolkitOptionKind::Word(&["ldconfig", "mount", "disabled", "hook"])),
    ("nvidia-container-runtime-hook.path", ToolkitOptionKind::Text),
    ("nvidia-container-runtime-hook.skip-mode-detection", ToolkitOptionKind::Flag),
    ("features.allow-cuda-compat-libs-from-container", ToolkitOptionKind::Flag),
    ("features.allow-ldconfig-from-container", ToolkitOptionKind::Flag),
    ("features.allow-unknown-oci-spec-fields", ToolkitOptionKind::Flag),
    ("features.disable-cuda-compat-lib-hook", ToolkitOptionKind::Flag),
    ("features.disable-imex-channel-creation", ToolkitOptionKind::Flag),
    ("features.ignore-imex-channel-requests", ToolkitOptionKind::Flag),
    ("features.no-additional-gids-for-device-nodes", ToolkitOptionKind::Flag),
    // People write the short name; no other option has it.
    ("mode", RUNTIME_MODES),
];

/// Reads a `[pool.host]` table into option names and values; unknown names and wrong types are reported.
pub(super) fn read_toolkit_options(reader: &mut Reader, table: &DeTable<'_>) -> Vec<(String, Declared<String>)> {
    let mut options = Vec::new();
    read_options_table(reader, "", table, &mut options);
    options
}

/// Reads the options of a table and of its subtables.
fn read_options_table(
    reader: &mut Reader,
    prefix: &str,
    table: &DeTable<'_>,
    options: &mut Vec<(String, Declared<String>)>,
) {
    for (key, key_span, value) in entries(table) {
        let name = if prefix.is_empty() { key.to_owned() } else { format!("{prefix}.{key}") };
        if let Some((known, kind)) = OPTIONS.iter().find(|(known, _)| *known == name) {
            if let Some(text) = option_text(reader, known, *kind, value) {
                options.push((name, Declared { value: text, span: span_of(value) }));
            }
        } else if let Some(inner) = value.get_ref().as_table().filter(|_| is_section(&name)) {
            read_options_table(reader, &name, inner, options);
        } else {
            report_unknown_option(reader, &name, key_span);
        }
    }
}

/// Whether a dotted name is the prefix of an option.
fn is_section(name: &str) -> bool {
    OPTIONS.iter().any(|(known, _)| known.strip_prefix(name).is_some_and(|rest| rest.starts_with('.')))
}

/// Reports an unknown option, with a suggestion.
fn report_unknown_option(reader: &mut Reader, name: &str, span: Span) {
    let last = |name: &'static str| name.rsplit('.').next().unwrap_or(name);
    let whole = nearest_word(name, OPTIONS.iter().map(|(known, _)| *known));
    // The sections may be omitted.
    let short = || {
        let word = nearest_word(name.rsplit('.').next().unwrap_or(name), OPTIONS.iter().map(|(known, _)| last(known)))?;
        OPTIONS.iter().map(|(known, _)| *known).find(|known| last(known) == word)
    };
    let help = whole.or_else(short).map(|known| format!("did you mean `{known}`?"));
    let help = help.unwrap_or_else(|| "use a name from the container toolkit's config.toml".to_owned());
    reader.report(span, format!("unknown option `{name}`"), Some(help));
}

/// Returns the value of an option as text; reports a value of a wrong type.
fn option_text(reader: &mut Reader, name: &str, kind: ToolkitOptionKind, value: &Value<'_>) -> Option<String> {
    match kind {
        ToolkitOptionKind::Flag => reader.boolean(name, value).map(|flag| flag.to_string()),
        ToolkitOptionKind::Text => reader.string(name, value),
        ToolkitOptionKind::Texts => {
            let DeValue::Array(list) = value.get_ref() else {
                reader.wrong_type(name, value, "a list of strings");
                return None;
            };
            let texts: Vec<String> = list.iter().filter_map(|one| reader.string(name, one)).collect();
            Some(texts.join(","))
        }
        ToolkitOptionKind::Word(words) => {
            let word = reader.string(name, value)?;
            if words.contains(&word.as_str()) {
                return Some(word);
            }
            reader.unknown_word(name, &word, span_of(value), words);
            None
        }
        ToolkitOptionKind::Capabilities => {
            let list = reader.string(name, value)?;
            if DriverCapabilities::parse(&list).is_some() {
                return Some(list);
            }
            for word in list.split(',').map(str::trim).filter(|word| DriverCapabilities::parse(word).is_none()) {
                reader.unknown_word("driver capability", word, span_of(value), DriverCapabilities::NAMES);
            }
            None
        }
    }
}

/// The options of the container toolkit that affect a container start, with defaults filled in.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "independent switches of one configuration file")]
pub struct ToolkitOptions {
    /// `disable-require`.
    pub disable_require: bool,
    /// `accept-nvidia-visible-devices-envvar-when-unprivileged`.
    pub accept_envvar: bool,
    /// `accept-nvidia-visible-devices-as-volume-mounts`.
    pub accept_mounts: bool,
    /// `supported-driver-capabilities`.
    pub supported: DriverCapabilities,
    /// The same as written, `all` spelt out.
    pub supported_text: String,
    /// Whether `nvidia-container-runtime.mode` names one.
    pub mode_configured: bool,
    /// `nvidia-container-cli.load-kmods`.
    pub loads_modules: bool,
    /// Variables of `swarm-resource`, which stand in for `NVIDIA_VISIBLE_DEVICES`.
    pub swarm: Vec<String>,
}

impl ToolkitOptions {
    /// The option that accepts `NVIDIA_VISIBLE_DEVICES` in unprivileged containers.
    pub const ACCEPT_ENVVAR: &str = ACCEPT_ENVVAR_OPTION;
    /// The option that accepts device lists in volume mounts.
    pub const ACCEPT_MOUNTS: &str = ACCEPT_MOUNTS_OPTION;
    /// The option that disables the requirement check.
    pub const DISABLE_REQUIRE: &str = "disable-require";
    /// The option that sets the mode of the nvidia runtime.
    pub const MODE: &str = MODE_OPTION;
    /// The short name that is accepted for the mode option.
    pub(super) const SHORT_MODE: &str = "mode";
    /// The option that lists the driver capabilities that a container may have.
    pub const SUPPORTED_CAPABILITIES: &str = "supported-driver-capabilities";

    /// Returns the options that a pool declares, with defaults for the others.
    pub(super) fn for_pool(pool: &Pool) -> Self {
        let supported_text = match pool.toolkit_option("supported-driver-capabilities") {
            Some(list) if !list.split(',').any(|word| word.trim() == "all") => list,
            _ => SUPPORTED_CAPABILITIES,
        };
        let swarm = pool.toolkit_option("swarm-resource").unwrap_or_default().split(',').map(str::trim);
        Self {
            disable_require: pool.is_toolkit_option_enabled("disable-require"),
            accept_envvar: pool.toolkit_option(ACCEPT_ENVVAR_OPTION) != Some("false"),
            accept_mounts: pool.is_toolkit_option_enabled(ACCEPT_MOUNTS_OPTION),
            supported: DriverCapabilities::parse(supported_text).unwrap_or_default(),
            supported_text: supported_text.to_owned(),
            mode_configured: pool.configured_mode().is_some(),
            loads_modules: pool.toolkit_option(LOAD_KMODS_OPTION) != Some("false"),
            swarm: swarm.filter(|name| !name.is_empty()).map(str::to_owned).collect(),
        }
    }
}

impl Pool {
    /// Returns the declared value of a container toolkit option as text.
    pub(super) fn toolkit_option(&self, name: &str) -> Option<&str> {
        self.host.iter().find(|(key, _)| key == name).map(|(_, value)| value.value.as_str())
    }

    /// Whether a container toolkit option is declared as `true`.
    pub(super) fn is_toolkit_option_enabled(&self, name: &str) -> bool {
        self.toolkit_option(name) == Some("true")
    }

    /// Returns the mode that the toolkit configuration sets; `None` where it is `auto`.
    pub(super) fn configured_mode(&self) -> Option<&str> {
        self.toolkit_option(MODE_OPTION).or_else(|| self.toolkit_option("mode")).filter(|mode| *mode != "auto")
    }

    /// Returns the declared `cuda-compat-mode`.
    pub(super) fn compat_mode(&self) -> Option<&str> {
        self.toolkit_option(COMPAT_MODE_OPTION)
    }

    /// Whether a hook is excluded from the CDI specifications that the toolkit generates at container start.
    pub(super) fn is_hook_disabled(&self, hook: &str) -> bool {
        let list = self.toolkit_option(DISABLED_HOOKS_OPTION).unwrap_or_default();
        list.split(',').any(|name| name == hook || name == "all")
    }

    /// Whether device lists are accepted in volume mounts but not in variables.
    pub(super) fn accepts_only_volume_mounts(&self) -> bool {
        self.is_toolkit_option_enabled(ACCEPT_MOUNTS_OPTION)
            && self.toolkit_option(ACCEPT_ENVVAR_OPTION) == Some("false")
    }

    /// Whether device lists in volume mounts are accepted; `None` where the option is not declared.
    pub(super) fn accepts_volume_mounts(&self) -> Option<bool> {
        self.toolkit_option(ACCEPT_MOUNTS_OPTION).map(|text| text == "true")
    }
}

/// Returns the driver capabilities of a container that requests none.
pub(super) fn default_capabilities(compute: bool) -> DriverCapabilities {
    DriverCapabilities::parse(if compute { DEFAULT_CAPABILITIES } else { "utility" }).unwrap_or_default()
}
