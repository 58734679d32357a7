//! The entries of the vocabulary: one for each name that a page may use.
//!
//! A new one is its entry here and its line in `judge/scope`, where a test compares the two.

use crate::rules::value::Type;
use crate::rules::vocabulary::Entry;

/// `FROM`, a description's base, an image's configuration, and what the tables say of the base.
const BASE: &[&str] = &["FROM", "description", "tables"];
/// The registry, and what a description says of it.
const PULLED: &[&str] = &["--pull", "description"];
/// The environment of the image.
const ENVIRONMENT: &[&str] = &["ENV", "image configuration", "description", "tables"];
/// What is installed.
const PACKAGES: &[&str] = &["RUN", "lock files", "layers", "description", "tables"];
/// What lies in the file tree.
const FILES: &[&str] = &["RUN", "COPY", "layers", "description", "tables"];
/// What is run while the image is built.
const COMMANDS: &[&str] = &["RUN", "ENV"];
/// The lists of GPUs that code is compiled for.
const LISTS: &[&str] = &["ENV", "RUN", "image configuration", "description", "tables"];
/// What the image starts.
const START: &[&str] = &["ENTRYPOINT", "image configuration", "description"];
/// All of it.
const ANY: &[&str] = &["everything that was seen"];
/// The fleet file.
const FLEET: &[&str] = &["fleet file"];
/// The fleet file, and what the tables say of its words.
const FLEET_TABLES: &[&str] = &["fleet file", "tables"];
/// The replay of the start-up.
const REPLAY: &[&str] = &["replay"];
/// The run itself.
const RUN_OF_PROGRAM: &[&str] = &["--as-of", "tables"];
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
    entry("day", Type::Date, "day", "the day that is asked for, else that of the newest table row", RUN_OF_PROGRAM),
    entry("image.base", Type::Text, "reference", "the base image as resolved, with repository and tag or digest", BASE),
    entry("image.base.repository", Type::Text, "reference without tag", "where the base image is kept", BASE),
    entry("image.base.tag", Type::Text, "tag", "tag of the base image", BASE),
    entry("image.base.digest", Type::Text, "sha256:…", "digest that the base image is pinned to", BASE),
    entry("image.base.cuda", Type::Version, "CUDA release", "CUDA release that the base image holds", BASE),
    entry("image.base.floating", Type::Bool, "", "no digest, and the tag names no version or is `latest`", BASE),
    entry("image.base.tag_now", Type::List, "variable: changes", "what the tag of the base image asks of a node by now, other than the digest beside it; not known without --pull", PULLED),
    entry("image.base.withdrawn", Type::Bool, "", "the tag is no longer served", BASE),
    entry("image.base.instead", Type::Text, "tag", "tag that takes the place of a withdrawn one", BASE),
    entry("image.base.nvidia", Type::Bool, "", "the base image is one of NVIDIA's", BASE),
    entry("image.base.ngc", Type::Bool, "", "the base image is one of NVIDIA's framework containers, released by month", BASE),
    entry("image.base.entrypoint_replaced", Type::Bool, "", "the image starts another program than the entrypoint by which its base tries the compat library", START),
    entry("image.gpu_content", Type::Bool, "", "something in the image concerns a GPU", ANY),
    entry("image.platforms", Type::List, "os/arch", "platforms that the image is for; absent where it is built for whatever is asked", &["FROM --platform", "manifests", "description"]),
    entry("image.entrypoint", Type::List, "words", "the program that the image starts, with the arguments that belong to it", START),
    entry("image.starts", Type::List, "words with blanks", "the commands that ENTRYPOINT and CMD of the image itself come to, each behind its shell or wrapper and with the program by its name, whatever the base starts: always seen whole", START),
    entry("image.env.*", Type::Text, "", "a variable of the image's environment", ENVIRONMENT),
    entry("image.env_set", Type::List, "names", "variables that the image sets itself, beside those of its base", ENVIRONMENT),
    entry("image.env_misspelt", Type::List, "name (meant name)", "variables of the image that are named nearly like one that the container toolkit reads", ENVIRONMENT),
    entry("image.ld_library_path", Type::Text, "directories with colons", "where the loader looks first", ENVIRONMENT),
    entry("image.ld_conf", Type::List, "file: directories", "files that name directories to ldconfig, in the order in which they are read", FILES),
    entry("image.ld_conf.directories", Type::List, "directories", "the directories that those files name, in that order", FILES),
    entry("image.stub_paths", Type::List, "directories", "stubs directories of the CUDA toolkit that LD_LIBRARY_PATH or a file for ldconfig names; not those of LD_LIBRARY_PATH that a last stage named as one for tests or builds adds to what would ship", FILES),
    entry("image.compat_conf", Type::List, "file: directories", "files for ldconfig that name a compat directory of the CUDA toolkit, with these directories alone", FILES),
    entry("image.driver_libraries", Type::List, "package names or paths", "driver files baked in outside compat directories", FILES),
    entry("image.driver_links", Type::List, "paths", "links in the image where the container toolkit mounts libraries of a WSL node", FILES),
    entry("image.compat.present", Type::Bool, "", "a user-mode driver for forward compatibility lies in the image", FILES),
    entry("image.compat.libraries", Type::List, "libcuda.so.VERSION or packages", "the libcuda files for forward compatibility, each version once, or the packages that bring more of them", FILES),
    entry("image.compat.count", Type::Number, "files", "how many versions of libcuda lie there for forward compatibility", FILES),
    entry("image.compat.cuda", Type::Version, "CUDA release", "CUDA release that the compat package is of", FILES),
    entry("image.packages", Type::List, "names", "packages of every manager that commands or package lists name", PACKAGES),
    entry("image.packages.named", Type::List, "names", "the same, whatever else the base image or a file that was not read may bring: always seen whole", PACKAGES),
    entry("image.packages.other_cuda", Type::List, "names", "system packages, and wheels without libraries of their own, whose name or version says a CUDA major release that is not the base image's", PACKAGES),
    entry("image.cuda_mix", Type::List, "name (CUDA release)", "the packages with GPU code, where they were built with different CUDA major releases", PACKAGES),
    entry("image.processor_packages", Type::List, "names", "packages without GPU code of projects that have it in another package, where nothing that was seen in the image has GPU code", PACKAGES),
    entry("package.*", Type::Text, "as installed", "the version of a package; a `-` in its name is written `_` here", PACKAGES),
    entry("toolkit.cuda", Type::Version, "CUDA release", "CUDA release of the nvcc in the image, by the package that brings it", PACKAGES),
    entry("build.gpu_asks", Type::List, "commands", "commands that end the build where no GPU is", COMMANDS),
    entry("build.code_asks", Type::List, "commands", "commands that compile for the GPU of the machine that builds", COMMANDS),
    entry("build.variant_asks", Type::List, "commands", "commands that choose packages by the driver of the machine that builds", COMMANDS),
    entry("arch_list.refused", Type::List, "8.6, 9.0+PTX", "entries of a list of GPUs that the compiler which reads it does not know: TORCH_CUDA_ARCH_LIST of the image, else the first such list that a command compiles by", LISTS),
    entry("arch_list.name", Type::Text, "variable or option", "where those entries stand: `TORCH_CUDA_ARCH_LIST`, `CMAKE_CUDA_ARCHITECTURES`, `-gencode`, …", LISTS),
    entry("arch_list.compiler", Type::Version, "CUDA release", "CUDA release of the compiler that does not know them", LISTS),
    entry("arch_list.cubins_alone", Type::Text, "variable or option", "the first list that a command compiles by and that asks for no PTX", LISTS),
    entry("arch_list.entries", Type::List, "8.6, 9.0+PTX", "what TORCH_CUDA_ARCH_LIST names, as the environment of the image sets it", ENVIRONMENT),
    entry("arch_list.ptx", Type::Bool, "", "an entry of that list ends in `+PTX`", ENVIRONMENT),
    entry("torch.present", Type::Bool, "", "PyTorch is installed", PACKAGES),
    entry("torch.version", Type::Text, "PEP 440", "version of PyTorch with its local part", PACKAGES),
    entry("torch.pinned", Type::Bool, "", "the version of PyTorch is written down", PACKAGES),
    entry("torch.cuda", Type::Version, "CUDA release", "CUDA release that PyTorch was built with", PACKAGES),
    entry("torch.variant", Type::Text, "cu121, cpu, rocm6.0", "which build of PyTorch it is", PACKAGES),
    entry("torch.index_without_effect", Type::List, "cu121, cpu", "builds of PyTorch whose index a command names beside the default one, and of which none is installed", PACKAGES),
    entry("torch.replaces", Type::Text, "PEP 440, or whose it is", "the PyTorch of the base image, where a command installs another release over it", PACKAGES),
    entry("torch.cpu_build", Type::Bool, "", "PyTorch was built without GPU code", PACKAGES),
    entry("tensorflow.present", Type::Bool, "", "TensorFlow is installed", PACKAGES),
    entry("tensorflow.version", Type::Text, "PEP 440", "version of TensorFlow with its local part", PACKAGES),
    entry("tensorflow.pinned", Type::Bool, "", "the version of TensorFlow is written down", PACKAGES),
    entry("tensorflow.cuda", Type::Version, "CUDA release", "CUDA release that TensorFlow was built with", PACKAGES),
    entry("tensorflow.variant", Type::Text, "cpu, …", "which build of TensorFlow it is", PACKAGES),
    entry("tensorflow.cpu_build", Type::Bool, "", "TensorFlow was built without GPU code", PACKAGES),
    entry("component.name", Type::Text, "", "name of a component; only inside `components.exists` and `components.all`", PACKAGES),
    entry("component.version", Type::Text, "", "its version", PACKAGES),
    entry("component.variant", Type::Text, "cu121, cpu", "which build of it it is", PACKAGES),
    entry("component.cuda", Type::Version, "CUDA release", "CUDA release that it was built with", PACKAGES),
    entry("notice.message", Type::Text, "a sentence", "what the reader took note of; only on pages with a `notice`", READER),
    entry("pool.name", Type::Text, "", "name of the pool", FLEET),
    entry("pool.gpu", Type::Text, "", "GPU of the pool as written; not known where it has several", FLEET),
    entry("pool.gpu.arch", Type::Version, "compute capability", "compute capability of the pool's GPU", FLEET_TABLES),
    entry("pool.driver", Type::Version, "driver version", "kernel-mode driver of the pool; not known where it is a branch or several", FLEET),
    entry("pool.driver.branch", Type::Number, "first number", "branch of that driver", FLEET),
    entry("pool.driver.cuda", Type::Version, "CUDA release", "newest CUDA release that this branch supports", FLEET_TABLES),
    entry("pool.driver.end_of_support", Type::Date, "day", "last day of the support of this branch", FLEET_TABLES),
    entry("pool.forward_compat", Type::Bool, "", "NVIDIA supports the compat package of the CUDA release that the image needs on the pool's GPU and driver", FLEET_TABLES),
    entry("pool.launch", Type::Text, "docker-gpus, kubernetes, …", "how containers are started there", FLEET),
    entry("pool.platform", Type::Text, "os/arch", "platform of the pool's nodes", FLEET_TABLES),
    entry("pool.toolkit", Type::Version, "toolkit version", "container toolkit of the pool", FLEET),
    entry("pool.mode", Type::Text, "legacy, jit-cdi, cdi, csv, none", "mode of the container toolkit, declared or the one that all its nodes take", FLEET_TABLES),
    entry("step.platform", Type::Text, RESULTS, "is there a manifest for the platform of the nodes", REPLAY),
    entry("step.mode", Type::Text, RESULTS, "which code starts the container; it always passes", REPLAY),
    entry("step.devices", Type::Text, RESULTS, "are GPUs put into the container", REPLAY),
    entry("step.capabilities", Type::Text, RESULTS, "are the driver's libraries for computing put into it", REPLAY),
    entry("step.requirement", Type::Text, RESULTS, "do the nodes meet every `NVIDIA_REQUIRE_*`", REPLAY),
    entry("step.mounts", Type::Text, RESULTS, "can everything be mounted", REPLAY),
    entry("step.libraries", Type::Text, RESULTS, "are the libraries there that the program needs to start", REPLAY),
    entry("step.loader", Type::Text, RESULTS, "which libcuda does the loader find", REPLAY),
    entry("step.user_mode_driver", Type::Text, RESULTS, "does that libcuda go with the kernel-mode driver", REPLAY),
    entry("step.gpu_known", Type::Text, RESULTS, "does the driver know the GPU", REPLAY),
    entry("step.build", Type::Text, RESULTS, "is there a CUDA build at all", REPLAY),
    entry("step.runtime", Type::Text, RESULTS, "is the driver new enough for the CUDA runtime", REPLAY),
    entry("step.code", Type::Text, RESULTS, "is there code for the GPU", REPLAY),
    entry("step.opened_later", Type::Text, RESULTS, "will the libraries be there that it opens while it runs", REPLAY),
    entry("verdict.outcome", Type::Text, "outcome name", "how the start-up fails; absent where it does not", REPLAY),
    entry("verdict.fate", Type::Text, FATES, "what becomes of the image on the pool", REPLAY),
    entry("verdict.message", Type::Text, "a sentence", "the error that a user sees, then what is wrong", REPLAY),
    entry("verdict.title", Type::Text, "a sentence", "what is wrong, without the error", REPLAY),
    entry("verdict.check_alone", Type::Bool, "", "nothing but `NVIDIA_REQUIRE_*` stops the image there: all other steps of all components pass as far as was seen", REPLAY),
    entry("verdict.fails_later", Type::Text, "a sentence", "what starts there and will fail as it runs, because a library that it opens is certainly not in the image; absent where it is not known to", REPLAY),
    entry("verdict.without_gpu", Type::Text, "a sentence", "why a program starts there and uses no GPU; absent where it is not known to", REPLAY),
];
