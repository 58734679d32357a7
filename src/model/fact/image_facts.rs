//! What is known about a built image: the input of the start-up replay.

use std::collections::BTreeMap;
use std::fmt;

use jiff::civil::Date;

use crate::cuda::{COMPAT_ROOT, CodeTarget, CompatNote, ComputeCapability, CudaVersion, DriverVersion, LdConf};
use crate::model::cause::Cause;
use crate::model::fact::{FactId, Facts, PrintedValue, TypedFact, ValueState};
use crate::model::package::ObservedPackage;

/// A `libcuda.so.<version>` of a forward compatibility package.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompatLibrary {
    /// The driver version in its file name.
    pub version: DriverVersion,
    /// The ELF note about its compatible drivers, if the file was read and has one.
    pub note: Option<CompatNote>,
    /// All paths of its directory, the real one first.
    pub directories: Vec<String>,
    /// The compat directory that the container toolkit searches and that contains the library; `None` if there is
    /// none.
    pub root: Option<&'static str>,
    /// Whether it is a regular file, not a link.
    pub regular: bool,
    /// Whether the file was not read, so that it may have a note.
    pub unread: bool,
}

impl CompatLibrary {
    /// Whether the library is for one kind of embedded module, so that its version is not that of a driver.
    pub fn is_module_specific(&self) -> bool {
        self.root.is_some_and(|root| root != COMPAT_ROOT)
    }
}

/// The directory with the forward compatibility libraries of an image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompatDirectory {
    /// The libcuda files in the directory.
    pub libraries: Vec<CompatLibrary>,
    /// The CUDA version of the package, if known.
    pub cuda: Option<CudaVersion>,
    /// Whether the package contains a PTX compiler; `None` if unknown.
    pub ptx_compiler: Option<bool>,
    /// Whether an absolute symbolic link leads to the directory.
    pub absolute_link: bool,
    /// Whether it is known which directory the container toolkit reaches; if not, a link to the directory of a
    /// library is uncertain.
    pub root_seen: bool,
}

impl From<&CompatDirectory> for PrintedValue {
    fn from(compat: &CompatDirectory) -> Self {
        Self::List(compat.libraries.iter().map(|library| format!("libcuda.so.{}", library.version)).collect())
    }
}

/// A driver library that the image itself contains.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DriverLibrary {
    /// The path of the library, or the name of the package that contains it.
    pub path: String,
    /// All paths of its directory, the real one first; empty for a package.
    pub directories: Vec<String>,
    /// The version in its name, if any.
    pub version: Option<DriverVersion>,
    /// Whether it is or contains libcuda; others are parts such as libnvidia-ml.
    pub libcuda: bool,
    /// Whether it is the stub library of the CUDA toolkit.
    pub stub: bool,
    /// Whether it is a symbolic link, or a package that contains one.
    pub link: bool,
}

impl DriverLibrary {
    /// Whether its file name has no driver version: `libcuda.so.1` or `libcuda.so`.
    pub fn has_no_version(&self) -> bool {
        self.path.ends_with("/libcuda.so.1") || self.path.ends_with("/libcuda.so")
    }

    /// Whether only its package is known, not a file.
    pub fn is_package(&self) -> bool {
        !self.path.starts_with('/')
    }
}

impl From<&ComputeCapability> for PrintedValue {
    fn from(capability: &ComputeCapability) -> Self {
        Self::Text(capability.to_string())
    }
}

impl From<&Vec<DriverLibrary>> for PrintedValue {
    fn from(list: &Vec<DriverLibrary>) -> Self {
        Self::List(list.iter().map(|library| library.path.clone()).collect())
    }
}

impl From<&Vec<LdConf>> for PrintedValue {
    fn from(list: &Vec<LdConf>) -> Self {
        Self::List(list.iter().map(|file| format!("{}: {}", file.name, file.directories.join(" "))).collect())
    }
}

/// Libraries from outside of its own package that a component depends on.
#[derive(Clone, Debug)]
pub struct LibraryDependencies {
    /// The component.
    pub component: String,
    /// Libraries that the loader resolves before the program starts.
    pub at_start: TypedFact<Vec<RequiredLibrary>>,
    /// Libraries that the program opens at run time.
    pub at_run_time: TypedFact<Vec<RequiredLibrary>>,
    /// Whether the component continues without a GPU if one of those is missing.
    pub falls_back: bool,
}

/// A library that is required by its soname.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequiredLibrary {
    /// The soname, such as `libcudart.so.12`.
    pub name: String,
    /// Where the library comes from.
    pub provider: LibraryProvider,
}

/// Where a required library comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LibraryProvider {
    /// The image: in a directory that the loader searches, or in a package.
    Image,
    /// The driver of the host, mounted for this driver capability.
    Driver(&'static str),
    /// Nothing: the content of the image is completely known, and the library is not in it.
    Absent,
    /// Unknown.
    Unknown,
    /// Nothing that is known of the image, which is only partly known.
    Unfound,
}

impl From<&Vec<RequiredLibrary>> for PrintedValue {
    fn from(list: &Vec<RequiredLibrary>) -> Self {
        Self::List(list.iter().map(|library| library.name.clone()).collect())
    }
}

/// The targets of GPU code that was built together: the content of one container of a fat binary.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CodeTargets {
    /// Targets of the cubins.
    pub sass: Vec<CodeTarget>,
    /// Targets of the PTX.
    pub ptx: Vec<CodeTarget>,
}

/// A library with GPU code.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GpuCodeLibrary {
    /// The path or name of the library; empty for the code of a component as a whole.
    pub file: String,
    /// The targets in its containers, each with the number of containers that have exactly these.
    pub containers: Vec<(CodeTargets, usize)>,
    /// PTX of parts that a driver may link at run time.
    pub linkable: Vec<CodeTarget>,
    /// Whether the machine code or the PTX of a container is not declared.
    pub has_unknown_code: bool,
}

/// The GPU code of a component. Coverage is decided per library and container, never for the union.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GpuCode {
    /// All known libraries.
    pub libraries: Vec<GpuCodeLibrary>,
    /// Whether these are all libraries of the image, including those that the component selects at run time.
    pub unsorted: bool,
}

impl GpuCode {
    /// Groups code by the file that contains it, in the order of first occurrence.
    pub fn from_files<'a>(list: impl IntoIterator<Item = (&'a str, CodeTargets, usize)>) -> Self {
        let mut code = Self::default();
        for (file, signature, count) in list {
            let known = code.libraries.iter_mut().find(|library| library.file == file && !file.is_empty());
            if let Some(library) = known {
                library.containers.push((signature, count));
            } else {
                let containers = vec![(signature, count)];
                code.libraries.push(GpuCodeLibrary { file: file.to_owned(), containers, ..GpuCodeLibrary::default() });
            }
        }
        code
    }

    /// Whether there is any GPU code; libraries without code may be listed too.
    pub fn has_code(&self) -> bool {
        let holds = |(own, _): &(CodeTargets, usize)| !own.sass.is_empty() || !own.ptx.is_empty();
        self.libraries.iter().any(|library| library.containers.iter().any(holds))
    }
}

impl From<CodeTargets> for GpuCode {
    /// Returns the code of a component as listed in a knowledge table.
    fn from(signature: CodeTargets) -> Self {
        Self::from_files([("", signature, 1)])
    }
}

impl From<&GpuCode> for PrintedValue {
    fn from(code: &GpuCode) -> Self {
        let mut list: Vec<String> = Vec::new();
        for (signature, _) in code.libraries.iter().flat_map(|library| &library.containers) {
            let sass = signature.sass.iter().map(|target| format!("sm_{}", target.number()));
            let ptx = signature.ptx.iter().map(|target| format!("compute_{}", target.number()));
            for target in sass.chain(ptx) {
                if !list.contains(&target) {
                    list.push(target);
                }
            }
        }
        Self::List(list)
    }
}

/// Whether an image is of use without a component.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ComponentRole {
    /// The image exists to run it.
    Core,
    /// An addition to a core component.
    Extension,
    /// The container itself: nothing is known in the image that calls CUDA.
    Container,
}

/// Name of the component for the CUDA runtime of the image itself: a key in reports, not shown to users.
pub const CUDA_RUNTIME_COMPONENT: &str = "cuda";

/// Name of the component for an image in which nothing is known that calls CUDA.
pub const CONTAINER_COMPONENT: &str = "container";

/// A part of the image that can start or fail on its own, such as a framework.
#[derive(Clone, Debug)]
pub struct Component {
    /// The name: `torch`, `tensorflow`, or `cuda` for the CUDA runtime of the image itself.
    pub name: String,
    /// Whether the image is of use without it.
    pub role: ComponentRole,
    /// Its CUDA runtime; absent in a build without CUDA.
    pub cuda: TypedFact<CudaVersion>,
    /// Its GPU code; unknown if nothing is known about it.
    pub code: TypedFact<GpuCode>,
    /// The error numbers of the CUDA runtime that it prints.
    pub error_codes: FrameworkErrorCodes,
    /// Whether it stands for anything that the image may run, of which it is unknown whether it has GPU code.
    pub anonymous: bool,
    /// Whether it is the program of a framework image, whose GPU code is not listed anywhere.
    pub program: bool,
    /// Its release, if it is one of several possible ones.
    pub release: Option<String>,
    /// The releases that it can be, if only that is known: one of each kind, the newest first.
    pub possible_releases: Vec<Self>,
    /// Whether a complete search did not find GPU code that it cannot do without.
    pub lacks_required_code: bool,
}

impl Component {
    /// Returns the name for users: `the image` for a component that is not a framework.
    pub fn display_name(&self) -> &str {
        if matches!(self.name.as_str(), CUDA_RUNTIME_COMPONENT | CONTAINER_COMPONENT) {
            "the image"
        } else {
            &self.name
        }
    }

    /// Creates a core component: one that the image exists to run.
    pub fn new_core(
        name: &str,
        cuda: TypedFact<CudaVersion>,
        code: TypedFact<GpuCode>,
        codes: FrameworkErrorCodes,
    ) -> Self {
        Self {
            name: name.to_owned(),
            role: ComponentRole::Core,
            cuda,
            code,
            error_codes: codes,
            anonymous: false,
            program: false,
            release: None,
            possible_releases: Vec::new(),
            lacks_required_code: false,
        }
    }

    /// Whether it is certainly a build without CUDA.
    pub fn is_without_cuda(&self) -> bool {
        matches!(self.cuda.state, ValueState::Absent { .. })
    }

    /// Returns the environment variable that decides whether it uses CUDA; `None` if its CUDA version depends on no
    /// variable.
    pub fn cuda_variable<'a>(&self, facts: &'a Facts) -> Option<&'a str> {
        facts.env_variable(self.cuda.id).and_then(|id| facts.get(id).subject.as_deref())
    }

    /// Whether an environment variable restricts it to the CPU.
    pub fn is_disabled_by_variable(&self, facts: &Facts) -> bool {
        self.is_without_cuda() && self.cuda_variable(facts).is_some()
    }
}

/// The CUDA error numbers that a framework prints for missing and for unusable GPU code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameworkErrorCodes {
    /// No code for the GPU.
    pub no_code: u16,
    /// PTX that the driver cannot compile.
    pub bad_ptx: u16,
}

/// The environment variables of an image.
#[derive(Clone, Debug)]
pub struct EnvFacts {
    /// Variables that are set, and those that the start-up reads, by name.
    set: Vec<(String, TypedFact<String>)>,
    /// For each variable the end of its name, which distinguishes it from most others.
    suffix_keys: Vec<u64>,
    /// The fact about all other variables: absent, or unknown because the base image was not read.
    pub others: TypedFact<String>,
}

impl EnvFacts {
    /// Creates the environment from the facts about single variables and the fact about all others.
    pub fn new(set: BTreeMap<String, TypedFact<String>>, others: TypedFact<String>) -> Self {
        let set: Vec<(String, TypedFact<String>)> = set.into_iter().collect();
        Self { suffix_keys: set.iter().map(|(name, _)| suffix_key(name)).collect(), set, others }
    }

    /// Returns the fact about a variable.
    pub fn get(&self, name: &str) -> &TypedFact<String> {
        self.get_listed(name).unwrap_or(&self.others)
    }

    /// Returns the fact about a variable, if it is listed by name.
    pub fn get_listed(&self, name: &str) -> Option<&TypedFact<String>> {
        let end = suffix_key(name);
        let mut alike = self.suffix_keys.iter().zip(&self.set).filter(|(own, _)| **own == end);
        alike.find(|(_, (own, _))| own == name).map(|(_, (_, fact))| fact)
    }

    /// Returns all listed variables whose name starts with a prefix, by name.
    pub fn with_prefix<'s>(&'s self, prefix: &'s str) -> impl Iterator<Item = (&'s str, &'s TypedFact<String>)> {
        let first = self.set.partition_point(|(name, _)| name.as_str() < prefix);
        let rest = self.set.iter().skip(first).map(|(name, fact)| (name.as_str(), fact));
        rest.take_while(move |(name, _)| name.starts_with(prefix))
    }
}

/// Returns the last eight bytes of a name as a number; all bytes of a shorter name.
fn suffix_key(name: &str) -> u64 {
    let last = name.as_bytes().last_chunk::<8>().copied();
    last.map_or_else(|| name.bytes().fold(0, |end, byte| end << 8 | u64::from(byte)), u64::from_be_bytes)
}

/// What is known about programs in the image that call CUDA.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CudaUsage {
    /// Something calls CUDA, or is declared to.
    Found,
    /// Nothing was found; a package installs the CUDA runtime.
    RuntimePackage,
    /// Nothing was found: all CUDA files belong to the base image.
    NotFound,
    /// Nothing was found, and the image starts a program that only queries the GPUs.
    MonitoringProgram,
    /// Nothing calls CUDA: the description is complete, and lists no GPU code and no Python package.
    Absent,
    /// Nothing was found, but the packages of this list were not read.
    UnreadList(FactId),
    /// Nothing was found, but a package or a file of an unread image may call CUDA.
    Possible,
}

/// What distinguishes a possible build of the base image from the others.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BaseImageBuild {
    /// Its CUDA version, if the tag stands for several.
    pub cuda: Option<&'static str>,
    /// Its operating systems, if the tag names none.
    pub systems: Vec<&'static str>,
    /// The first day on which it was built.
    pub first: Option<Date>,
    /// The day from which it was no longer built.
    pub until: Option<Date>,
    /// The version of its libcuda, if several were current when it was built.
    pub libcuda: Option<DriverVersion>,
}

impl BaseImageBuild {
    /// Whether builds on other operating systems differ from it.
    pub fn names_system(&self) -> bool {
        !self.systems.is_empty()
    }
}

impl fmt::Display for BaseImageBuild {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let systems = match self.systems.as_slice() {
            [] => None,
            [os] => Some(format!("on {os}")),
            [os, others @ ..] => Some(format!("on {os} and {} more", others.len())),
        };
        let period = match (self.first, self.until) {
            (Some(first), Some(until)) => Some(format!("as built {first} .. {until}")),
            (Some(first), None) => Some(format!("as built since {first}")),
            (None, Some(until)) => Some(format!("as built before {until}")),
            (None, None) => None,
        };
        let cuda = self.cuda.map(|cuda| format!("CUDA {cuda}"));
        let libcuda = self.libcuda.map(|version| format!("with libcuda {version}"));
        let parts: Vec<String> = [cuda, systems, period, libcuda].into_iter().flatten().collect();
        f.write_str(&parts.join(", "))
    }
}

/// Everything about an image that the start-up replay depends on.
#[derive(Clone, Debug)]
pub struct ImageFacts {
    /// The facts with their evidence.
    pub facts: Facts,
    /// The build, where the same tag has several.
    pub build: Option<BaseImageBuild>,
    /// The platforms; absent for an image that is built for the requested platform.
    pub platforms: TypedFact<Vec<String>>,
    /// The environment variables.
    pub env: EnvFacts,
    /// The forward compatibility directory.
    pub compat: TypedFact<CompatDirectory>,
    /// Driver libraries outside of the compat directory.
    pub driver_libraries: TypedFact<Vec<DriverLibrary>>,
    /// The directory into which the legacy mode of the container toolkit mounts the driver libraries.
    pub library_directory: TypedFact<String>,
    /// Configuration files of `ldconfig`, by name.
    pub ld_conf: TypedFact<Vec<LdConf>>,
    /// The loader cache in the image.
    pub ld_cache: TypedFact<String>,
    /// The entrypoint, if it tests the compat library and falls back to the driver of the host.
    pub compat_probe: TypedFact<Vec<String>>,
    /// Packages with GPU code that are installed only as dependencies.
    pub dependencies: Vec<ObservedPackage>,
    /// Libraries that the components depend on.
    pub needs: Vec<LibraryDependencies>,
    /// Files at the paths of the driver firmware; unknown if there is a symbolic link.
    pub firmware: TypedFact<Vec<String>>,
    /// The fact of the base image reference, if there is one.
    pub base: Option<FactId>,
    /// The CUDA version of the base image.
    pub base_cuda: TypedFact<CudaVersion>,
    /// The components, core ones first.
    pub components: Vec<Component>,
    /// What calls CUDA.
    pub cuda_usage: CudaUsage,
    /// Lowest compute capabilities of components whose GPU code is otherwise unknown.
    pub minimum_capabilities: Vec<MinimumCapability>,
    /// Whether anything in the image concerns GPUs.
    pub gpu_content: bool,
    /// The processor for which the image is built, as far as its contents state it.
    pub target_processor: TargetProcessor,
}

/// The processor for which an image is built, as far as its contents state it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TargetProcessor {
    /// NVIDIA GPUs: the author chose a CUDA build, a package that expects a GPU or a GPU base image.
    Gpus,
    /// Not stated: all GPU contents are there by default.
    Unstated,
    /// Another processor, with the reason in words.
    Other(String),
}

/// The lowest compute capability of a component whose GPU code was not read.
#[derive(Clone, Debug)]
pub struct MinimumCapability {
    /// The name of the component.
    pub component: String,
    /// The lowest compute capability that it may support.
    pub lowest: TypedFact<ComputeCapability>,
    /// The lowest that it is known to support, if nothing is known about those between.
    pub sure: Option<ComputeCapability>,
    /// Whether it is code that a program calls only if it chooses to.
    pub is_optional: bool,
}

impl ImageFacts {
    /// Returns the reason why a fact is unknown.
    pub fn unknown_cause(&self, id: FactId) -> Option<&Cause> {
        match &self.facts.get(id).state {
            ValueState::Unknown(why) => Some(why),
            ValueState::Known(_) | ValueState::Absent { .. } => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::fact::FactId;

    /// Returns a known fact.
    fn string_fact(value: &str) -> TypedFact<String> {
        TypedFact { id: FactId(0), state: ValueState::Known(value.to_owned()) }
    }

    /// Names with a common ending, with a common beginning, and shorter than the part that distinguishes them.
    #[test]
    fn a_variable_is_found_by_its_whole_name() {
        let names =
            ["A", "AA", "CUDA_VERSION", "NV_CUDA_VERSION", "NVIDIA_REQUIRE_CUDA", "NVIDIA_REQUIRE_X", "VERSION", ""];
        let set = names.iter().map(|name| ((*name).to_owned(), string_fact(name))).collect();
        let env = EnvFacts::new(set, string_fact("others"));
        for name in names {
            assert_eq!(env.get(name).known().map(String::as_str), Some(name));
        }
        for name in
            ["B", "A_VERSION", "CUDA_VERSIO", "UDA_VERSION", "ERSION", "NVIDIA_REQUIRE_", "\0A", "a", "cuda_version"]
        {
            assert!(env.get_listed(name).is_none(), "{name}");
            assert_eq!(env.get(name).known().map(String::as_str), Some("others"), "{name}");
        }
        let beginning = |prefix: &str| env.with_prefix(prefix).map(|(name, _)| name.to_owned()).collect::<Vec<_>>();
        assert_eq!(beginning("NVIDIA_REQUIRE_"), ["NVIDIA_REQUIRE_CUDA", "NVIDIA_REQUIRE_X"]);
        assert_eq!(beginning("A"), ["A", "AA"]);
        assert!(beginning("NVIDIA_REQUIRE_Z").is_empty() && beginning("Z").is_empty());
    }
}
