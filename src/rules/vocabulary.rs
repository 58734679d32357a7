//! The vocabulary: the names that conditions, messages and `blame` may use.
//!
//! A new one is its entry here and its line in `judge/scope`, where a test compares the two.

use crate::fleet::{Launch, Mode};
use crate::model::outcome::Outcome;
use crate::rules::functions::{ConditionFunction, ConditionOperator, FUNCTIONS, OPERATORS};
use crate::rules::value::ValueType;
use crate::text::nearest::nearest_word;

/// A name of the vocabulary, with its type and meaning.
#[derive(Clone, Copy, Debug)]
pub struct VocabularyEntry {
    /// The name; one that ends in `.*` stands for all names with that prefix.
    pub name: &'static str,
    /// The type of the fact.
    pub kind: ValueType,
    /// The unit or form of the value; empty if the meaning includes it.
    pub unit: &'static str,
    /// The meaning.
    pub doc: &'static str,
    /// The kinds of input that determine the fact.
    pub origin: &'static [&'static str],
}

/// The names, functions and operators of conditions.
#[derive(Clone, Copy, Debug)]
pub struct Vocabulary {
    /// All names.
    pub entries: &'static [VocabularyEntry],
    /// All functions.
    pub functions: &'static [ConditionFunction],
    /// All operators.
    pub signs: &'static [ConditionOperator],
}

impl Vocabulary {
    /// Returns the vocabulary of the rule pages.
    pub const fn built_in() -> Self {
        Self { entries: VOCABULARY_ENTRIES, functions: FUNCTIONS, signs: OPERATORS }
    }

    /// Returns the entry for a name.
    pub fn find_entry(&self, name: &str) -> Option<&'static VocabularyEntry> {
        self.entries.iter().find(|entry| match entry.name.strip_suffix('*') {
            Some(prefix) => name.strip_prefix(prefix).is_some_and(|rest| !rest.is_empty() && !rest.contains('.')),
            None => entry.name == name,
        })
    }

    /// Returns the allowed values of a fact, if they are a closed list.
    pub fn allowed_values(&self, name: &str) -> Option<Vec<&'static str>> {
        match name {
            "verdict.outcome" => Some(Outcome::ALL.iter().map(|outcome| outcome.name()).collect()),
            "verdict.fate" => Some(POOL_VERDICTS.split(", ").collect()),
            "pool.launch" => Some(Launch::WORDS.to_vec()),
            "pool.mode" => Some(Mode::WORDS.to_vec()),
            _ if name.starts_with("step.") => Some(STEP_RESULTS.split(", ").collect()),
            _ => None,
        }
    }

    /// Returns the name that is most similar to a misspelled one.
    pub fn nearest_name(&self, name: &str) -> Option<&'static str> {
        nearest_word(name, self.entries.iter().map(|entry| entry.name))
    }
}

/// Sources for the base image: `FROM`, a description, and the database.
const BASE_SOURCES: &[&str] = &["FROM", "description", "database"];
/// Sources for the current state of a tag in the registry.
const REGISTRY_SOURCES: &[&str] = &["--pull", "description"];
/// Sources for the environment of the image.
const ENVIRONMENT_SOURCES: &[&str] = &["ENV", "image configuration", "description", "database"];
/// Sources for the installed packages.
const PACKAGE_SOURCES: &[&str] = &["RUN", "lock files", "layers", "description", "database"];
/// Sources for the files of the image.
const FILE_SOURCES: &[&str] = &["RUN", "COPY", "layers", "description", "database"];
/// Sources for the commands of the build.
const BUILD_COMMAND_SOURCES: &[&str] = &["RUN", "ENV"];
/// Sources for the lists of GPU architectures to compile for.
const ARCH_LIST_SOURCES: &[&str] = &["ENV", "RUN", "image configuration", "description", "database"];
/// Sources for the program that the image starts.
const START_SOURCES: &[&str] = &["ENTRYPOINT", "image configuration", "description"];
/// All inputs.
const ALL_SOURCES: &[&str] = &["all inputs"];
/// The fleet file.
const FLEET_SOURCES: &[&str] = &["fleet file"];
/// The fleet file, with the database for its values.
const FLEET_DATABASE_SOURCES: &[&str] = &["fleet file", "database"];
/// The replay of the start.
const REPLAY_SOURCES: &[&str] = &["replay"];
/// Sources for the date of the analysis.
const DATE_SOURCES: &[&str] = &["--as-of", "database"];
/// The reader of an input.
const READER_SOURCES: &[&str] = &["reader of the input"];

/// The results of a start-up step for the deciding component; unknown if the nodes of the pool differ.
const STEP_RESULTS: &str = "passes, stops, unknown, not-seen, fails-later, not-applicable";

/// The verdicts of an image on a pool; `not-applicable` if it is not judged there.
const POOL_VERDICTS: &str = "starts, fails, depends, undetermined, not-applicable";

/// Returns an entry from its parts.
const fn vocabulary_entry(
    name: &'static str,
    kind: ValueType,
    unit: &'static str,
    doc: &'static str,
    origin: &'static [&'static str],
) -> VocabularyEntry {
    VocabularyEntry { name, kind, unit, doc, origin }
}

/// All entries of the vocabulary.
#[rustfmt::skip]
const VOCABULARY_ENTRIES: &[VocabularyEntry] = &[
    vocabulary_entry("day", ValueType::Date, "day", "the date of `--as-of`, else that of the newest database entry", DATE_SOURCES),
    vocabulary_entry("image.base", ValueType::Text, "reference", "the resolved base image, with repository and tag or digest", BASE_SOURCES),
    vocabulary_entry("image.base.repository", ValueType::Text, "reference without tag", "repository of the base image", BASE_SOURCES),
    vocabulary_entry("image.base.tag", ValueType::Text, "tag", "tag of the base image", BASE_SOURCES),
    vocabulary_entry("image.base.digest", ValueType::Text, "sha256:…", "digest that pins the base image", BASE_SOURCES),
    vocabulary_entry("image.base.cuda", ValueType::Version, "CUDA release", "CUDA release that the base image includes", BASE_SOURCES),
    vocabulary_entry("image.base.floating", ValueType::Bool, "", "no digest, and a tag without a version or `latest`", BASE_SOURCES),
    vocabulary_entry("image.base.tag_now", ValueType::List, "variable: changes", "what the tag requires now, if it differs from the digest; unknown without `--pull`", REGISTRY_SOURCES),
    vocabulary_entry("image.base.withdrawn", ValueType::Bool, "", "the registry no longer serves the tag", BASE_SOURCES),
    vocabulary_entry("image.base.instead", ValueType::Text, "tag", "tag that replaces a withdrawn one", BASE_SOURCES),
    vocabulary_entry("image.base.nvidia", ValueType::Bool, "", "NVIDIA publishes the base image", BASE_SOURCES),
    vocabulary_entry("image.base.ngc", ValueType::Bool, "", "the base image is a monthly framework container of NVIDIA", BASE_SOURCES),
    vocabulary_entry("image.base.entrypoint_replaced", ValueType::Bool, "", "the image does not start the entrypoint of its base, which selects the compat library", START_SOURCES),
    vocabulary_entry("image.gpu_content", ValueType::Bool, "", "something in the image is for a GPU", ALL_SOURCES),
    vocabulary_entry("image.platforms", ValueType::List, "os/arch", "platforms of the image; absent if the build decides", &["FROM --platform", "manifests", "description"]),
    vocabulary_entry("image.entrypoint", ValueType::List, "words", "the program that the image starts, with its arguments", START_SOURCES),
    vocabulary_entry("image.starts", ValueType::List, "words with spaces", "the commands of ENTRYPOINT and CMD without shells and wrappers; always complete", START_SOURCES),
    vocabulary_entry("image.env.*", ValueType::Text, "", "a variable of the image's environment", ENVIRONMENT_SOURCES),
    vocabulary_entry("image.env_set", ValueType::List, "names", "variables that the image itself sets, in addition to those of its base", ENVIRONMENT_SOURCES),
    vocabulary_entry("image.env_misspelt", ValueType::List, "name (did you mean name?)", "variables whose names resemble one of the container toolkit", ENVIRONMENT_SOURCES),
    vocabulary_entry("image.ld_library_path", ValueType::Text, "directories with colons", "the directories that the loader searches first", ENVIRONMENT_SOURCES),
    vocabulary_entry("image.ld_conf", ValueType::List, "file: directories", "files with directories for ldconfig, in the order of their use", FILE_SOURCES),
    vocabulary_entry("image.ld_conf.directories", ValueType::List, "directories", "the directories in those files, in that order", FILE_SOURCES),
    vocabulary_entry("image.stub_paths", ValueType::List, "directories", "stub directories of the CUDA toolkit in LD_LIBRARY_PATH or in a file for ldconfig; without those of a test or build stage", FILE_SOURCES),
    vocabulary_entry("image.compat_conf", ValueType::List, "file: directories", "files for ldconfig with a compat directory of the CUDA toolkit, with these directories only", FILE_SOURCES),
    vocabulary_entry("image.driver_libraries", ValueType::List, "package names or paths", "driver files of the image outside compat directories", FILE_SOURCES),
    vocabulary_entry("image.driver_links", ValueType::List, "paths", "links at paths where the container toolkit mounts libraries of a WSL node", FILE_SOURCES),
    vocabulary_entry("image.compat.present", ValueType::Bool, "", "the image contains a user-mode driver for forward compatibility", FILE_SOURCES),
    vocabulary_entry("image.compat.libraries", ValueType::List, "libcuda.so.VERSION or packages", "the libcuda files for forward compatibility, each version once, or the packages that include several", FILE_SOURCES),
    vocabulary_entry("image.compat.count", ValueType::Number, "files", "number of libcuda versions for forward compatibility", FILE_SOURCES),
    vocabulary_entry("image.compat.cuda", ValueType::Version, "CUDA release", "CUDA release of the compat package", FILE_SOURCES),
    vocabulary_entry("image.packages", ValueType::List, "names", "packages that commands or package lists name, of every package manager", PACKAGE_SOURCES),
    vocabulary_entry("image.packages.named", ValueType::List, "names", "the same, without unread files and unknown content of the base image; always complete", PACKAGE_SOURCES),
    vocabulary_entry("image.packages.other_cuda", ValueType::List, "names", "system packages and wheels without own libraries, whose CUDA major release differs from that of the base image", PACKAGE_SOURCES),
    vocabulary_entry("image.cuda_mix", ValueType::List, "name (CUDA release)", "the packages with GPU code, if their CUDA major releases differ", PACKAGE_SOURCES),
    vocabulary_entry("image.processor_packages", ValueType::List, "names", "CPU-only packages of projects with a GPU package, if nothing in the image contains GPU code", PACKAGE_SOURCES),
    vocabulary_entry("package.*", ValueType::Text, "as installed", "the version of a package; write `_` for `-` in its name", PACKAGE_SOURCES),
    vocabulary_entry("toolkit.cuda", ValueType::Version, "CUDA release", "CUDA release of nvcc in the image", PACKAGE_SOURCES),
    vocabulary_entry("build.gpu_asks", ValueType::List, "commands", "commands that fail in a build without a GPU", BUILD_COMMAND_SOURCES),
    vocabulary_entry("build.code_asks", ValueType::List, "commands", "commands that compile for the GPU of the build machine", BUILD_COMMAND_SOURCES),
    vocabulary_entry("build.missing_installers", ValueType::List, "names", "installers that a command calls and that the image certainly lacks; the build stops there", BUILD_COMMAND_SOURCES),
    vocabulary_entry("build.variant_asks", ValueType::List, "commands", "commands that select packages by the driver of the build machine", BUILD_COMMAND_SOURCES),
    vocabulary_entry("arch_list.refused", ValueType::List, "8.6, 9.0+PTX", "entries of a GPU list that the compiler does not support: of TORCH_CUDA_ARCH_LIST, else of the first list in a command", ARCH_LIST_SOURCES),
    vocabulary_entry("arch_list.name", ValueType::Text, "variable or option", "the variable or option with those entries: `TORCH_CUDA_ARCH_LIST`, `CMAKE_CUDA_ARCHITECTURES`, `-gencode`, …", ARCH_LIST_SOURCES),
    vocabulary_entry("arch_list.compiler", ValueType::Version, "CUDA release", "CUDA release of the compiler that does not support them", ARCH_LIST_SOURCES),
    vocabulary_entry("arch_list.cubins_alone", ValueType::Text, "variable or option", "the first GPU list of a command without PTX", ARCH_LIST_SOURCES),
    vocabulary_entry("arch_list.entries", ValueType::List, "8.6, 9.0+PTX", "entries of TORCH_CUDA_ARCH_LIST in the environment of the image", ENVIRONMENT_SOURCES),
    vocabulary_entry("arch_list.ptx", ValueType::Bool, "", "an entry of that list ends in `+PTX`", ENVIRONMENT_SOURCES),
    vocabulary_entry("torch.present", ValueType::Bool, "", "PyTorch is installed", PACKAGE_SOURCES),
    vocabulary_entry("torch.version", ValueType::Text, "PEP 440", "version of PyTorch with its local part", PACKAGE_SOURCES),
    vocabulary_entry("torch.pinned", ValueType::Bool, "", "the version of PyTorch is pinned", PACKAGE_SOURCES),
    vocabulary_entry("torch.cuda", ValueType::Version, "CUDA release", "CUDA release of the PyTorch build", PACKAGE_SOURCES),
    vocabulary_entry("torch.variant", ValueType::Text, "cu121, cpu, rocm6.0", "the build of PyTorch", PACKAGE_SOURCES),
    vocabulary_entry("torch.index_without_effect", ValueType::List, "cu121, cpu", "builds of PyTorch in an extra index that a command names and does not use", PACKAGE_SOURCES),
    vocabulary_entry("torch.replaces", ValueType::Text, "PEP 440, or whose it is", "the PyTorch of the base image, if a command replaces it", PACKAGE_SOURCES),
    vocabulary_entry("torch.cpu_build", ValueType::Bool, "", "PyTorch is a CPU-only build", PACKAGE_SOURCES),
    vocabulary_entry("tensorflow.present", ValueType::Bool, "", "TensorFlow is installed", PACKAGE_SOURCES),
    vocabulary_entry("tensorflow.version", ValueType::Text, "PEP 440", "version of TensorFlow with its local part", PACKAGE_SOURCES),
    vocabulary_entry("tensorflow.pinned", ValueType::Bool, "", "the version of TensorFlow is pinned", PACKAGE_SOURCES),
    vocabulary_entry("tensorflow.cuda", ValueType::Version, "CUDA release", "CUDA release of the TensorFlow build", PACKAGE_SOURCES),
    vocabulary_entry("tensorflow.variant", ValueType::Text, "cpu, …", "the build of TensorFlow", PACKAGE_SOURCES),
    vocabulary_entry("tensorflow.cpu_build", ValueType::Bool, "", "TensorFlow is a CPU-only build", PACKAGE_SOURCES),
    vocabulary_entry("component.name", ValueType::Text, "", "name of a component; only inside `components.exists` and `components.all`", PACKAGE_SOURCES),
    vocabulary_entry("component.version", ValueType::Text, "", "its version", PACKAGE_SOURCES),
    vocabulary_entry("component.variant", ValueType::Text, "cu121, cpu", "its build", PACKAGE_SOURCES),
    vocabulary_entry("component.cuda", ValueType::Version, "CUDA release", "CUDA release of its build", PACKAGE_SOURCES),
    vocabulary_entry("notice.message", ValueType::Text, "a sentence", "the problem of the input; only on pages with a `notice`", READER_SOURCES),
    vocabulary_entry("pool.name", ValueType::Text, "", "name of the pool", FLEET_SOURCES),
    vocabulary_entry("pool.gpu", ValueType::Text, "", "GPU of the pool as written; unknown if there are several", FLEET_SOURCES),
    vocabulary_entry("pool.gpu.arch", ValueType::Version, "compute capability", "compute capability of the pool's GPU", FLEET_DATABASE_SOURCES),
    vocabulary_entry("pool.driver", ValueType::Version, "driver version", "kernel-mode driver of the pool; unknown if it is a branch or a list", FLEET_SOURCES),
    vocabulary_entry("pool.driver.branch", ValueType::Number, "first number", "branch of that driver", FLEET_SOURCES),
    vocabulary_entry("pool.driver.cuda", ValueType::Version, "CUDA release", "newest CUDA release that this branch supports", FLEET_DATABASE_SOURCES),
    vocabulary_entry("pool.driver.end_of_support", ValueType::Date, "day", "last day of support of this branch", FLEET_DATABASE_SOURCES),
    vocabulary_entry("pool.forward_compat", ValueType::Bool, "", "NVIDIA supports the required compat package on this GPU and driver", FLEET_DATABASE_SOURCES),
    vocabulary_entry("pool.launch", ValueType::Text, "docker-gpus, kubernetes, …", "launch method", FLEET_SOURCES),
    vocabulary_entry("pool.platform", ValueType::Text, "os/arch", "platform of the pool's nodes", FLEET_DATABASE_SOURCES),
    vocabulary_entry("pool.toolkit", ValueType::Version, "toolkit version", "container toolkit of the pool", FLEET_SOURCES),
    vocabulary_entry("pool.mode", ValueType::Text, "legacy, jit-cdi, cdi, csv, none", "mode of the container toolkit, declared or derived", FLEET_DATABASE_SOURCES),
    vocabulary_entry("step.platform", ValueType::Text, STEP_RESULTS, "the image has a manifest for the platform of the nodes", REPLAY_SOURCES),
    vocabulary_entry("step.mode", ValueType::Text, STEP_RESULTS, "the mode of the container toolkit; always passes", REPLAY_SOURCES),
    vocabulary_entry("step.devices", ValueType::Text, STEP_RESULTS, "the container gets GPUs", REPLAY_SOURCES),
    vocabulary_entry("step.capabilities", ValueType::Text, STEP_RESULTS, "the container gets the compute libraries of the driver", REPLAY_SOURCES),
    vocabulary_entry("step.requirement", ValueType::Text, STEP_RESULTS, "the nodes satisfy every `NVIDIA_REQUIRE_*`", REPLAY_SOURCES),
    vocabulary_entry("step.mounts", ValueType::Text, STEP_RESULTS, "all mounts are possible", REPLAY_SOURCES),
    vocabulary_entry("step.libraries", ValueType::Text, STEP_RESULTS, "the libraries for the start are present", REPLAY_SOURCES),
    vocabulary_entry("step.loader", ValueType::Text, STEP_RESULTS, "the loader finds a libcuda", REPLAY_SOURCES),
    vocabulary_entry("step.user_mode_driver", ValueType::Text, STEP_RESULTS, "that libcuda is compatible with the kernel-mode driver", REPLAY_SOURCES),
    vocabulary_entry("step.gpu_known", ValueType::Text, STEP_RESULTS, "the driver supports the GPU", REPLAY_SOURCES),
    vocabulary_entry("step.build", ValueType::Text, STEP_RESULTS, "a CUDA build is present", REPLAY_SOURCES),
    vocabulary_entry("step.runtime", ValueType::Text, STEP_RESULTS, "the driver is new enough for the CUDA runtime", REPLAY_SOURCES),
    vocabulary_entry("step.code", ValueType::Text, STEP_RESULTS, "there is code for the GPU", REPLAY_SOURCES),
    vocabulary_entry("step.opened_later", ValueType::Text, STEP_RESULTS, "the libraries that the program opens later are present", REPLAY_SOURCES),
    vocabulary_entry("verdict.outcome", ValueType::Text, "outcome name", "how the start fails; absent if it does not", REPLAY_SOURCES),
    vocabulary_entry("verdict.fate", ValueType::Text, POOL_VERDICTS, "the verdict for the pool", REPLAY_SOURCES),
    vocabulary_entry("verdict.title", ValueType::Text, "a sentence", "what is wrong, with the values of the image and of the pool", REPLAY_SOURCES),
    vocabulary_entry("verdict.message", ValueType::Text, "a sentence", "the message that a user sees", REPLAY_SOURCES),
    vocabulary_entry("verdict.check_alone", ValueType::Bool, "", "only `NVIDIA_REQUIRE_*` stops the image; all other inspected steps pass", REPLAY_SOURCES),
    vocabulary_entry("verdict.fails_later", ValueType::Text, "a sentence", "what starts and fails later, because the image lacks a library that it opens; absent if none is known", REPLAY_SOURCES),
    vocabulary_entry("verdict.without_gpu", ValueType::Text, "a sentence", "why a program starts and uses no GPU; absent if no reason is known", REPLAY_SOURCES),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wildcard_matches_exactly_one_segment() {
        let words = Vocabulary::built_in();
        assert_eq!(words.find_entry("image.env.NVIDIA_REQUIRE_CUDA").map(|entry| entry.kind), Some(ValueType::Text));
        for name in ["image.env", "image.env.", "image.env.a.b", "image.bas", "", "*"] {
            assert!(words.find_entry(name).is_none(), "{name}");
        }
    }

    #[test]
    fn no_name_is_listed_twice() {
        for (at, entry) in VOCABULARY_ENTRIES.iter().enumerate() {
            assert!(VOCABULARY_ENTRIES[at + 1..].iter().all(|other| other.name != entry.name), "{}", entry.name);
        }
    }

    #[test]
    fn every_function_example_parses_and_names_its_arguments() {
        let words = Vocabulary::built_in();
        for function in words.functions {
            let condition = match function.gives {
                ValueType::Bool => function.example.to_owned(),
                _ => format!("({}) == true", function.example),
            };
            let read = crate::rules::condition::RuleCondition::parse(&condition, &words);
            assert!(read.is_ok(), "{}: {read:?}", function.example);
            assert!(function.example.contains(&format!("{}(", function.name)), "{}", function.example);
        }
    }

    #[test]
    fn every_vocabulary_entry_names_its_source() {
        for entry in VOCABULARY_ENTRIES {
            assert!(!entry.origin.is_empty() && !entry.doc.is_empty() && !entry.doc.ends_with('.'), "{}", entry.name);
        }
    }
}
