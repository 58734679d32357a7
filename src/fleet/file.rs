//! Reading and checking of fleet files; all errors are reported together.

use std::collections::BTreeSet;

use toml::de::DeTable;

use crate::fleet::pool_values::{compile_image_glob, compile_path_glob, parse_directory, parse_driver};
use crate::fleet::possible_hardware::MAX_HOSTS;
use crate::fleet::{Declared, DeviceListStrategy, Fleet, Launch, Mode, Pool, Runtime, toolkit_options};
use crate::knowledge::Knowledge;
use crate::knowledge::toml_reader::{Problems, Reader, Value, entries, span_of};
use crate::text::nearest::nearest_word;
use crate::text::source::{SourceId, SourceText, Span};

/// All errors in a fleet file.
pub type FleetErrors = Box<Problems>;

/// The result of looking up a GPU name in the compatibility database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GpuNameLookup {
    /// It has.
    Known,
    /// It has not.
    Unknown {
        /// Names that may have been meant, best first.
        suggestions: Vec<String>,
    },
}

/// Wrong key names that spelling suggestions do not cover, each with the key that is meant.
const MISNAMED_KEYS: &[(&str, &str)] = &[
    ("cuda", "driver_cuda"),
    ("cuda_version", "driver_cuda"),
    ("driver_version", "driver"),
    ("nvidia_driver", "driver"),
    ("gpu_type", "gpu"),
    ("toolkit_version", "toolkit"),
    ("container_toolkit", "toolkit"),
    ("architecture", "platform"),
];

/// The keys of a pool table.
pub const KEYS: &[&str] = &[
    "name",
    "gpu",
    "driver",
    "platform",
    "launch",
    "toolkit",
    "libnvidia_container",
    "engine",
    "runtime",
    "privileged",
    "cdi_specs",
    "modeset",
    "library_directory",
    "mode",
    "device_list_strategy",
    "env",
    "labels",
    "nodes",
    "compute_capability",
    "brand",
    "driver_cuda",
    "wsl",
    "dockerfiles",
    "images",
    "host",
];

/// The accepted values of `platform`.
const PLATFORMS: &[&str] = &["linux/amd64", "linux/arm64", "linux/arm64/v8", "linux/ppc64le"];

/// The help text for a fleet without a pool.
const EXAMPLE: &str = "add one:\n[[pool]]\nname = \"a100\"\ngpu = \"NVIDIA A100-SXM4-40GB\"\ndriver = \"550.163.01\"";

/// The help text for an invalid `driver`.
const DRIVER_HELP: &str = "use a version (\"535.161.08\"), a branch (\"535\") or a range (\">=535.161,<536\")";

/// The help text for an invalid `library_directory`.
const DIRECTORY_HELP: &str = "use the directory of libcuda.so.1 on the nodes, such as \"/usr/lib64\"";

/// Reads a fleet from TOML.
///
/// `gpu_exists` looks a name up in the table of GPUs; an unknown one is fine where the pool or the GPU itself declares
/// `compute_capability`.
pub fn read_fleet(
    source: SourceId,
    text: &SourceText,
    gpu_exists: &dyn Fn(&str) -> GpuNameLookup,
) -> Result<Fleet, FleetErrors> {
    let mut reader = Reader::default();
    let mut pools = Vec::new();
    let table = reader.parse(text);
    if reader.is_clean() {
        let mut seen = false;
        for (key, span, value) in entries(table.get_ref()) {
            if key == "pool" {
                seen = true;
                pools = read_pools(&mut reader, value, gpu_exists);
            } else {
                reader.unknown_key(key, span, &["pool"]);
            }
        }
        if !seen {
            reader.report(Span::new(0, 0), "the fleet has no pool", Some(EXAMPLE.to_owned()));
        }
    }
    let fleet = Fleet { source, name: text.name().to_owned(), built_in: false, pools };
    reader.finish("fleet file", text, fleet)
}

/// Reads the list of pools.
fn read_pools(reader: &mut Reader, value: &Value<'_>, gpu_exists: &dyn Fn(&str) -> GpuNameLookup) -> Vec<Pool> {
    let Some(list) = value.get_ref().as_array() else {
        let help = value.get_ref().is_table().then(|| "write `[[pool]]`, with two square brackets".to_owned());
        reader.report(span_of(value), "`pool` is not a list of tables", help);
        return Vec::new();
    };
    if list.is_empty() {
        reader.report(span_of(value), "the fleet has no pool", Some(EXAMPLE.to_owned()));
    }
    let mut names: BTreeSet<String> = BTreeSet::new();
    let mut pools = Vec::new();
    for value in list {
        let Some(table) = reader.table("pool", value) else { continue };
        let Some(pool) = read_pool(reader, span_of(value), table) else { continue };
        if !names.insert(pool.name.value.clone()) {
            reader.report(
                pool.name.span,
                format!("duplicate pool name `{}`", pool.name.value),
                Some("give every pool a unique name".to_owned()),
            );
        }
        check_gpu_names(reader, &pool, table.contains_key("compute_capability"), gpu_exists);
        pools.push(pool);
    }
    pools
}

/// Reports pools with too many possible hosts to check them all.
pub fn check_host_counts(fleet: &Fleet, text: &SourceText, knowledge: Knowledge) -> Result<(), FleetErrors> {
    let mut reader = Reader::default();
    for pool in &fleet.pools {
        let width = pool.host_count(knowledge);
        if width > MAX_HOSTS {
            reader.report(
                pool.name.span,
                format!(
                    "the nodes of pool `{}` have {width} possible configurations, more than {MAX_HOSTS}",
                    pool.name.value
                ),
                Some("split the pool, or declare `driver`, `launch` and `toolkit`".to_owned()),
            );
        }
    }
    reader.finish("fleet file", text, ())
}

/// Reports modes that the declared container toolkit does not support.
pub fn check_toolkit_modes(fleet: &Fleet, text: &SourceText, knowledge: Knowledge) -> Result<(), FleetErrors> {
    let mut reader = Reader::default();
    for pool in &fleet.pools {
        let (Some(mode), Some(toolkit)) = (&pool.mode, &pool.toolkit) else { continue };
        if let Some(from) = knowledge.first_toolkit_with_mode(mode.value.as_str()).filter(|from| toolkit.value < *from)
        {
            let message = format!("the mode `{}` requires container toolkit {from} or newer", mode.value);
            let against = format!("toolkit {} does not support it", toolkit.value);
            reader.report_conflict(mode.span, message, (toolkit.span, against));
        }
    }
    reader.finish("fleet file", text, ())
}

/// Reports GPUs that are declared as divided by MIG and do not support it.
pub fn check_mig_support(fleet: &Fleet, text: &SourceText, knowledge: Knowledge) -> Result<(), FleetErrors> {
    let mut reader = Reader::default();
    for (pool, gpu) in fleet.pools.iter().flat_map(|pool| pool.gpu.iter().map(move |gpu| (pool, gpu))) {
        let of_pool = pool.compute_capability.as_ref().map(|declared| declared.value);
        if gpu.value.mig.is_some() && gpu.value.supports_mig(of_pool, knowledge) == Some(false) {
            let message = format!("`{}` does not support MIG", gpu.value.name);
            let help =
                "remove `mig`: only data center GPUs from Ampere on and some workstation GPUs support it".to_owned();
            reader.report(gpu.span, message, Some(help));
        }
    }
    reader.finish("fleet file", text, ())
}

/// Reports GPU names that the compatibility database does not contain.
fn check_gpu_names(reader: &mut Reader, pool: &Pool, overridden: bool, gpu_exists: &dyn Fn(&str) -> GpuNameLookup) {
    for gpu in &pool.gpu {
        if overridden || gpu.value.compute_capability.is_some() {
            continue;
        }
        if let GpuNameLookup::Unknown { suggestions } = gpu_exists(&gpu.value.name) {
            let quoted: Vec<String> = suggestions.iter().map(|name| format!("`{name}`")).collect();
            let own = "for a GPU that is not in the compatibility database, add `compute_capability = \"X.Y\"`";
            let help =
                if quoted.is_empty() { own.to_owned() } else { format!("did you mean {}? {own}", quoted.join(" or ")) };
            reader.report(gpu.span, format!("unknown GPU `{}`", gpu.value.name), Some(help));
        }
    }
}

/// Reads one pool; `None` where it has no name.
fn read_pool(reader: &mut Reader, span: Span, table: &DeTable<'_>) -> Option<Pool> {
    let mut pool = Pool::with_name(Declared { value: String::new(), span });
    let mut named = false;
    for (key, key_span, value) in entries(table) {
        let declared = span_of(value);
        match key {
            "name" => {
                named = true;
                if let Some(name) = reader.declared_string(key, value) {
                    if name.value.trim().is_empty() {
                        reader.report(declared, "the name is empty", None);
                    }
                    pool.name = name;
                }
            }
            "gpu" => {
                reader.require_not_empty(key_span, value, "`gpu` is empty; add a GPU or remove the key");
                pool.gpu = Reader::one_or_more(value).into_iter().filter_map(|gpu| reader.gpu(gpu)).collect();
            }
            "driver" => {
                reader.require_not_empty(key_span, value, "`driver` is empty; add a driver or remove the key");
                let found = Reader::one_or_more(value).into_iter();
                pool.driver =
                    found.filter_map(|one| reader.parsed_string(key, one, parse_driver, Some(DRIVER_HELP))).collect();
            }
            "platform" => {
                pool.platform = reader.declared_string(key, value);
                if let Some(platform) = pool.platform.as_ref().filter(|one| !PLATFORMS.contains(&one.value.as_str())) {
                    reader.unknown_word(key, &platform.value, declared, PLATFORMS);
                }
            }
            "launch" => pool.launch = reader.keyword(key, value, Launch::WORDS),
            "mode" => pool.mode = reader.keyword(key, value, Mode::WORDS),
            "device_list_strategy" => pool.device_list_strategy = reader.keyword(key, value, DeviceListStrategy::WORDS),
            "runtime" => pool.runtime = reader.keyword(key, value, Runtime::WORDS),
            "privileged" => pool.privileged = reader.declared_boolean(key, value),
            "cdi_specs" => pool.cdi_specs = reader.declared_boolean(key, value),
            "modeset" => pool.modeset = reader.declared_boolean(key, value),
            "library_directory" => {
                pool.library_directory = reader.parsed_string(key, value, parse_directory, Some(DIRECTORY_HELP));
            }
            "toolkit" => pool.toolkit = reader.dotted_version(key, value),
            "libnvidia_container" => pool.libnvidia_container = reader.dotted_version(key, value),
            "driver_cuda" => pool.driver_cuda = reader.dotted_version(key, value),
            "engine" => pool.engine = reader.parsed_string(key, value, parse_engine, Some("such as \"docker 28.2\"")),
            "env" => pool.env = read_string_table(reader, key, value),
            "labels" => pool.labels = read_string_table(reader, key, value),
            "nodes" => {
                pool.nodes = reader.number(key, value).map(|nodes| Declared { value: nodes, span: declared });
            }
            "compute_capability" => pool.compute_capability = reader.compute_capability(value),
            "brand" => pool.brand = reader.brand(value),
            "wsl" => pool.wsl = reader.declared_boolean(key, value),
            "dockerfiles" | "images" => {
                reader.require_not_empty(
                    key_span,
                    value,
                    "an empty list matches nothing; add a pattern, or remove the key to match everything",
                );
                if key == "images" {
                    pool.images = reader.globs(key, value, compile_image_glob);
                } else {
                    pool.dockerfiles = reader.globs(key, value, compile_path_glob);
                }
            }
            "host" => {
                if let Some(table) = reader.table(key, value) {
                    pool.host = toolkit_options::read_toolkit_options(reader, table);
                }
            }
            _ => match MISNAMED_KEYS.iter().find(|(other, _)| *other == key) {
                Some((_, correct_key)) => {
                    reader.report(
                        key_span,
                        format!("unknown key `{key}`"),
                        Some(format!("did you mean `{correct_key}`?")),
                    );
                }
                None => reader.unknown_key(key, key_span, KEYS),
            },
        }
    }
    if !named {
        reader.report(span, "the pool has no `name`", Some("add `name = \"...\"`".to_owned()));
    }
    named.then_some(pool)
}

/// The known engines, for spelling suggestions; other engines are accepted too.
const ENGINES: &[&str] = &["docker", "podman", "containerd", "cri-o", "nerdctl"];

/// Parses a container engine: a name, and optionally a version.
fn parse_engine(text: &str) -> Result<String, String> {
    let words: Vec<&str> = text.split_whitespace().collect();
    if let Some(name) = words.first().filter(|name| !ENGINES.contains(name))
        && let Some(suggestion) = nearest_word(name, ENGINES.iter().copied())
    {
        return Err(format!("unknown engine `{name}`: did you mean `{suggestion}`?"));
    }
    let good = match words.as_slice() {
        [_] => true,
        [_, version] => version.starts_with(|first: char| first.is_ascii_digit()),
        _ => false,
    };
    if good { Ok(words.join(" ")) } else { Err(format!("`{text}` is not an engine: expected a name and a version")) }
}

/// Reads a table of strings.
fn read_string_table(reader: &mut Reader, key: &str, value: &Value<'_>) -> Vec<(String, Declared<String>)> {
    let Some(table) = reader.table(key, value) else { return Vec::new() };
    entries(table)
        .into_iter()
        .filter_map(|(key, _, value)| reader.declared_string(key, value).map(|text| (key.to_owned(), text)))
        .collect()
}

/// Returns the text of the reference fleet, which is used where there is no fleet file.
pub fn built_in_fleet_text() -> SourceText {
    SourceText::new("built-in", include_str!("../../rules/reference-fleet.toml"))
}

/// Returns the reference fleet; `source` is the id of the text of `built_in_fleet_text`.
pub fn built_in_fleet(source: SourceId) -> Fleet {
    let pools = read_fleet(source, &built_in_fleet_text(), &|_| GpuNameLookup::Known)
        .map(|fleet| fleet.pools)
        .unwrap_or_default();
    Fleet { source, name: "built-in".to_owned(), built_in: true, pools }
}

#[cfg(test)]
#[path = "file_tests.rs"]
mod tests;
