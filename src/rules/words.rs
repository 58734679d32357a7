//! The entries of the vocabulary: one for each name that a page may use.
//!
//! A new one is its entry here and its line in `judge/scope`, where a test compares the two.

use crate::rules::value::Type;
use crate::rules::vocabulary::Entry;

/// `FROM`, a description's base, an image's configuration, and what the tables say of the base.
const BASE: &[&str] = &["FROM", "description", "database"];
/// The registry, and what a description says of it.
const PULLED: &[&str] = &["--pull", "description"];
/// The environment of the image.
const ENVIRONMENT: &[&str] = &["ENV", "image configuration", "description", "database"];
/// What is installed.
const PACKAGES: &[&str] = &["RUN", "lock files", "layers", "description", "database"];
/// What lies in the file tree.
const FILES: &[&str] = &["RUN", "COPY", "layers", "description", "database"];
/// What is run while the image is built.
const COMMANDS: &[&str] = &["RUN", "ENV"];
/// The lists of GPUs that code is compiled for.
const LISTS: &[&str] = &["ENV", "RUN", "image configuration", "description", "database"];
/// What the image starts.
const START: &[&str] = &["ENTRYPOINT", "image configuration", "description"];
/// All of it.
const ANY: &[&str] = &["all inputs"];
/// The fleet file.
const FLEET: &[&str] = &["fleet file"];
/// The fleet file, and what the tables say of its words.
const FLEET_TABLES: &[&str] = &["fleet file", "database"];
/// The replay of the start-up.
const REPLAY: &[&str] = &["replay"];
/// The run itself.
const RUN_OF_PROGRAM: &[&str] = &["--as-of", "database"];
/// What the reader of an input noted.
const READER: &[&str] = &["reader of the input"];

/// How a step of the start-up may end, of the component that decides; not known where that is not the same on every node.
pub(super) const RESULTS: &str = "passes, stops, unknown, not-seen, fails-later, not-applicable";

/// What may become of an image on a pool; `not-applicable` of one that is not judged there.
pub(super) const FATES: &str = "starts, fails, depends, undetermined, not-applicable";

const fn entry(
    name: &'static str,
    kind: Type,
    unit: &'static str,
    doc: &'static str,
    origin: &'static [&'static str],
) -> Entry {
    Entry { name, kind, unit, doc, origin }
}

/// All entries.
#[rustfmt::skip]
pub(super) const ENTRIES: &[Entry] = &[
    entry("day", Type::Date, "day", "the date of `--as-of`, else that of the newest database entry", RUN_OF_PROGRAM),
    entry("image.base", Type::Text, "reference", "the resolved base image, with repository and tag or digest", BASE),
    entry("image.base.repository", Type::Text, "reference without tag", "repository of the base image", BASE),
    entry("image.base.tag", Type::Text, "tag", "tag of the base image", BASE),
    entry("image.base.digest", Type::Text, "sha256:…", "digest that pins the base image", BASE),
    entry("image.base.cuda", Type::Version, "CUDA release", "CUDA release that the base image includes", BASE),
    entry("image.base.floating", Type::Bool, "", "no digest, and a tag without a version or `latest`", BASE),
    entry("image.base.tag_now", Type::List, "variable: changes", "what the tag requires now, if it differs from the digest; unknown without `--pull`", PULLED),
    entry("image.base.withdrawn", Type::Bool, "", "the registry no longer serves the tag", BASE),
    entry("image.base.instead", Type::Text, "tag", "tag that replaces a withdrawn one", BASE),
    entry("image.base.nvidia", Type::Bool, "", "NVIDIA publishes the base image", BASE),
    entry("image.base.ngc", Type::Bool, "", "the base image is a monthly framework container of NVIDIA", BASE),
    entry("image.base.entrypoint_replaced", Type::Bool, "", "the image does not start the entrypoint of its base, which selects the compat library", START),
    entry("image.gpu_content", Type::Bool, "", "something in the image is for a GPU", ANY),
    entry("image.platforms", Type::List, "os/arch", "platforms of the image; absent if the build decides", &["FROM --platform", "manifests", "description"]),
    entry("image.entrypoint", Type::List, "words", "the program that the image starts, with its arguments", START),
    entry("image.starts", Type::List, "words with spaces", "the commands of ENTRYPOINT and CMD without shells and wrappers; always complete", START),
    entry("image.env.*", Type::Text, "", "a variable of the image's environment", ENVIRONMENT),
    entry("image.env_set", Type::List, "names", "variables that the image itself sets, in addition to those of its base", ENVIRONMENT),
    entry("image.env_misspelt", Type::List, "name (did you mean name?)", "variables whose names resemble one of the container toolkit", ENVIRONMENT),
    entry("image.ld_library_path", Type::Text, "directories with colons", "the directories that the loader searches first", ENVIRONMENT),
    entry("image.ld_conf", Type::List, "file: directories", "files with directories for ldconfig, in the order of their use", FILES),
    entry("image.ld_conf.directories", Type::List, "directories", "the directories in those files, in that order", FILES),
    entry("image.stub_paths", Type::List, "directories", "stub directories of the CUDA toolkit in LD_LIBRARY_PATH or in a file for ldconfig; without those of a test or build stage", FILES),
    entry("image.compat_conf", Type::List, "file: directories", "files for ldconfig with a compat directory of the CUDA toolkit, with these directories only", FILES),
    entry("image.driver_libraries", Type::List, "package names or paths", "driver files of the image outside compat directories", FILES),
    entry("image.driver_links", Type::List, "paths", "links at paths where the container toolkit mounts libraries of a WSL node", FILES),
    entry("image.compat.present", Type::Bool, "", "the image contains a user-mode driver for forward compatibility", FILES),
    entry("image.compat.libraries", Type::List, "libcuda.so.VERSION or packages", "the libcuda files for forward compatibility, each version once, or the packages that include several", FILES),
    entry("image.compat.count", Type::Number, "files", "number of libcuda versions for forward compatibility", FILES),
    entry("image.compat.cuda", Type::Version, "CUDA release", "CUDA release of the compat package", FILES),
    entry("image.packages", Type::List, "names", "packages that commands or package lists name, of every package manager", PACKAGES),
    entry("image.packages.named", Type::List, "names", "the same, without unread files and unknown content of the base image; always complete", PACKAGES),
    entry("image.packages.other_cuda", Type::List, "names", "system packages and wheels without own libraries, whose CUDA major release differs from that of the base image", PACKAGES),
    entry("image.cuda_mix", Type::List, "name (CUDA release)", "the packages with GPU code, if their CUDA major releases differ", PACKAGES),
    entry("image.processor_packages", Type::List, "names", "CPU-only packages of projects with a GPU package, if nothing in the image contains GPU code", PACKAGES),
    entry("package.*", Type::Text, "as installed", "the version of a package; write `_` for `-` in its name", PACKAGES),
    entry("toolkit.cuda", Type::Version, "CUDA release", "CUDA release of nvcc in the image", PACKAGES),
    entry("build.gpu_asks", Type::List, "commands", "commands that fail in a build without a GPU", COMMANDS),
    entry("build.code_asks", Type::List, "commands", "commands that compile for the GPU of the build machine", COMMANDS),
    entry("build.missing_installers", Type::List, "names", "installers that a command calls and that the image certainly lacks; the build stops there", COMMANDS),
    entry("build.variant_asks", Type::List, "commands", "commands that select packages by the driver of the build machine", COMMANDS),
    entry("arch_list.refused", Type::List, "8.6, 9.0+PTX", "entries of a GPU list that the compiler does not support: of TORCH_CUDA_ARCH_LIST, else of the first list in a command", LISTS),
    entry("arch_list.name", Type::Text, "variable or option", "the variable or option with those entries: `TORCH_CUDA_ARCH_LIST`, `CMAKE_CUDA_ARCHITECTURES`, `-gencode`, …", LISTS),
    entry("arch_list.compiler", Type::Version, "CUDA release", "CUDA release of the compiler that does not support them", LISTS),
    entry("arch_list.cubins_alone", Type::Text, "variable or option", "the first GPU list of a command without PTX", LISTS),
    entry("arch_list.entries", Type::List, "8.6, 9.0+PTX", "entries of TORCH_CUDA_ARCH_LIST in the environment of the image", ENVIRONMENT),
    entry("arch_list.ptx", Type::Bool, "", "an entry of that list ends in `+PTX`", ENVIRONMENT),
    entry("torch.present", Type::Bool, "", "PyTorch is installed", PACKAGES),
    entry("torch.version", Type::Text, "PEP 440", "version of PyTorch with its local part", PACKAGES),
    entry("torch.pinned", Type::Bool, "", "the version of PyTorch is pinned", PACKAGES),
    entry("torch.cuda", Type::Version, "CUDA release", "CUDA release of the PyTorch build", PACKAGES),
    entry("torch.variant", Type::Text, "cu121, cpu, rocm6.0", "the build of PyTorch", PACKAGES),
    entry("torch.index_without_effect", Type::List, "cu121, cpu", "builds of PyTorch in an extra index that a command names and does not use", PACKAGES),
    entry("torch.replaces", Type::Text, "PEP 440, or whose it is", "the PyTorch of the base image, if a command replaces it", PACKAGES),
    entry("torch.cpu_build", Type::Bool, "", "PyTorch is a CPU-only build", PACKAGES),
    entry("tensorflow.present", Type::Bool, "", "TensorFlow is installed", PACKAGES),
    entry("tensorflow.version", Type::Text, "PEP 440", "version of TensorFlow with its local part", PACKAGES),
    entry("tensorflow.pinned", Type::Bool, "", "the version of TensorFlow is pinned", PACKAGES),
    entry("tensorflow.cuda", Type::Version, "CUDA release", "CUDA release of the TensorFlow build", PACKAGES),
    entry("tensorflow.variant", Type::Text, "cpu, …", "the build of TensorFlow", PACKAGES),
    entry("tensorflow.cpu_build", Type::Bool, "", "TensorFlow is a CPU-only build", PACKAGES),
    entry("component.name", Type::Text, "", "name of a component; only inside `components.exists` and `components.all`", PACKAGES),
    entry("component.version", Type::Text, "", "its version", PACKAGES),
    entry("component.variant", Type::Text, "cu121, cpu", "its build", PACKAGES),
    entry("component.cuda", Type::Version, "CUDA release", "CUDA release of its build", PACKAGES),
    entry("notice.message", Type::Text, "a sentence", "the problem of the input; only on pages with a `notice`", READER),
    entry("pool.name", Type::Text, "", "name of the pool", FLEET),
    entry("pool.gpu", Type::Text, "", "GPU of the pool as written; unknown if there are several", FLEET),
    entry("pool.gpu.arch", Type::Version, "compute capability", "compute capability of the pool's GPU", FLEET_TABLES),
    entry("pool.driver", Type::Version, "driver version", "kernel-mode driver of the pool; unknown if it is a branch or a list", FLEET),
    entry("pool.driver.branch", Type::Number, "first number", "branch of that driver", FLEET),
    entry("pool.driver.cuda", Type::Version, "CUDA release", "newest CUDA release that this branch supports", FLEET_TABLES),
    entry("pool.driver.end_of_support", Type::Date, "day", "last day of support of this branch", FLEET_TABLES),
    entry("pool.forward_compat", Type::Bool, "", "NVIDIA supports the required compat package on this GPU and driver", FLEET_TABLES),
    entry("pool.launch", Type::Text, "docker-gpus, kubernetes, …", "launch method", FLEET),
    entry("pool.platform", Type::Text, "os/arch", "platform of the pool's nodes", FLEET_TABLES),
    entry("pool.toolkit", Type::Version, "toolkit version", "container toolkit of the pool", FLEET),
    entry("pool.mode", Type::Text, "legacy, jit-cdi, cdi, csv, none", "mode of the container toolkit, declared or derived", FLEET_TABLES),
    entry("step.platform", Type::Text, RESULTS, "the image has a manifest for the platform of the nodes", REPLAY),
    entry("step.mode", Type::Text, RESULTS, "the mode of the container toolkit; always passes", REPLAY),
    entry("step.devices", Type::Text, RESULTS, "the container gets GPUs", REPLAY),
    entry("step.capabilities", Type::Text, RESULTS, "the container gets the compute libraries of the driver", REPLAY),
    entry("step.requirement", Type::Text, RESULTS, "the nodes satisfy every `NVIDIA_REQUIRE_*`", REPLAY),
    entry("step.mounts", Type::Text, RESULTS, "all mounts are possible", REPLAY),
    entry("step.libraries", Type::Text, RESULTS, "the libraries for the start are present", REPLAY),
    entry("step.loader", Type::Text, RESULTS, "the loader finds a libcuda", REPLAY),
    entry("step.user_mode_driver", Type::Text, RESULTS, "that libcuda is compatible with the kernel-mode driver", REPLAY),
    entry("step.gpu_known", Type::Text, RESULTS, "the driver supports the GPU", REPLAY),
    entry("step.build", Type::Text, RESULTS, "a CUDA build is present", REPLAY),
    entry("step.runtime", Type::Text, RESULTS, "the driver is new enough for the CUDA runtime", REPLAY),
    entry("step.code", Type::Text, RESULTS, "there is code for the GPU", REPLAY),
    entry("step.opened_later", Type::Text, RESULTS, "the libraries that the program opens later are present", REPLAY),
    entry("verdict.outcome", Type::Text, "outcome name", "how the start fails; absent if it does not", REPLAY),
    entry("verdict.fate", Type::Text, FATES, "the verdict for the pool", REPLAY),
    entry("verdict.title", Type::Text, "a sentence", "what is wrong, with the values of the image and of the pool", REPLAY),
    entry("verdict.message", Type::Text, "a sentence", "the message that a user sees", REPLAY),
    entry("verdict.check_alone", Type::Bool, "", "only `NVIDIA_REQUIRE_*` stops the image; all other inspected steps pass", REPLAY),
    entry("verdict.fails_later", Type::Text, "a sentence", "what starts and fails later, because the image lacks a library that it opens; absent if none is known", REPLAY),
    entry("verdict.without_gpu", Type::Text, "a sentence", "why a program starts and uses no GPU; absent if no reason is known", REPLAY),
];
