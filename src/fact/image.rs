//! What is known of one image as built: the input of the replay.

use std::collections::BTreeMap;

use crate::cuda::COMPAT_ROOT;
use crate::cuda::CodeTarget;
use crate::cuda::ComputeCapability;
use crate::cuda::CudaVersion;
use crate::cuda::DriverVersion;
use crate::cuda::ElfNote;
use crate::cuda::LdConf;
use crate::fact::Fact;
use crate::fact::FactId;
use crate::fact::Facts;
use crate::fact::State;
use crate::fact::Value;
use crate::fact::Why;

/// One `libcuda.so.<version>` that is packaged for forward compatibility.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompatLibrary {
    /// Its version.
    pub version: DriverVersion,
    /// Its note, where the file was read and has one.
    pub note: Option<ElfNote>,
    /// Every path by which its directory is reached, the real one first.
    pub directories: Vec<String>,
    /// The directory of the container toolkit that it lies in; none where the toolkit does not look.
    pub root: Option<&'static str>,
    /// Whether it is a file and no link.
    pub regular: bool,
    /// Whether nobody has looked into it, so that a note may be there all the same.
    pub unread: bool,
}

impl CompatLibrary {
    /// Whether it is made for one kind of module, and its number is that of no driver.
    pub fn of_module(&self) -> bool {
        self.root.is_some_and(|root| root != COMPAT_ROOT)
    }
}

/// The compat directory of an image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Compat {
    /// Its libcuda files.
    pub libraries: Vec<CompatLibrary>,
    /// CUDA version of the package, where known.
    pub cuda: Option<CudaVersion>,
    /// Whether a PTX compiler comes with it; `None` where not known.
    pub ptx_compiler: Option<bool>,
    /// Whether an absolute link leads to the directory.
    pub absolute_link: bool,
    /// Whether it was seen which directory container toolkits come to; where not, a library of that directory is one
    /// of which it is not known that the link leads to it.
    pub root_seen: bool,
}

impl From<&Compat> for Value {
    fn from(compat: &Compat) -> Self {
        Self::List(compat.libraries.iter().map(|library| format!("libcuda.so.{}", library.version)).collect())
    }
}

/// A driver library that the image brings itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DriverLibrary {
    /// Path, or package that brings it.
    pub path: String,
    /// Every path by which its directory is reached, the real one first; none for a package.
    pub directories: Vec<String>,
    /// Version in its name, where it has one.
    pub version: Option<DriverVersion>,
    /// Whether it is, or brings, a libcuda; others are parts such as libnvidia-ml.
    pub libcuda: bool,
    /// Whether it is the toolkit's stub.
    pub stub: bool,
    /// Whether it is a link, or a package that brings one.
    pub link: bool,
}

impl DriverLibrary {
    /// Whether its name has the soname's number and no version behind it, or not even that.
    pub fn unversioned(&self) -> bool {
        self.path.ends_with("/libcuda.so.1") || self.path.ends_with("/libcuda.so")
    }

    /// Whether a package brings it, of which no file was seen.
    pub fn packaged(&self) -> bool {
        !self.path.starts_with('/')
    }
}

impl From<&ComputeCapability> for Value {
    fn from(capability: &ComputeCapability) -> Self {
        Self::Text(capability.to_string())
    }
}

impl From<&Vec<DriverLibrary>> for Value {
    fn from(list: &Vec<DriverLibrary>) -> Self {
        Self::List(list.iter().map(|library| library.path.clone()).collect())
    }
}

impl From<&Vec<LdConf>> for Value {
    fn from(list: &Vec<LdConf>) -> Self {
        Self::List(list.iter().map(|file| format!("{}: {}", file.name, file.directories.join(" "))).collect())
    }
}

/// Libraries that one component asks for from outside of its own package.
#[derive(Clone, Debug)]
pub struct Needs {
    /// The component.
    pub component: String,
    /// Sonames that the loader resolves before the program starts.
    pub at_start: Fact<Vec<Soname>>,
    /// Sonames that the program opens while it runs.
    pub later: Fact<Vec<Soname>>,
    /// Whether it goes on without a GPU where one of those is not there.
    pub falls_back: bool,
}

/// One library that is asked for by name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Soname {
    /// `libcudart.so.12`.
    pub name: String,
    /// Whether it is there.
    pub presence: Presence,
}

/// Where a library comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presence {
    /// The image has it where the loader looks, or in a package of its own.
    Image,
    /// The container stack brings it with this driver capability.
    Driver(&'static str),
    /// Nothing that is known of the image has it, and everything is known.
    Absent,
    /// Cannot be told.
    Unseen,
    /// Nothing that was seen brings it, and not everything was seen.
    Unfound,
}

impl From<&Vec<Soname>> for Value {
    fn from(list: &Vec<Soname>) -> Self {
        Self::List(list.iter().map(|library| library.name.clone()).collect())
    }
}

/// GPU code that was built together: what one container of a fat binary holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Signature {
    /// Cubins.
    pub sass: Vec<CodeTarget>,
    /// PTX.
    pub ptx: Vec<CodeTarget>,
}

/// One library with GPU code.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Library {
    /// Its path or name; empty where the code stands for a component as a whole.
    pub file: String,
    /// What its containers hold, and how many hold just that.
    pub containers: Vec<(Signature, usize)>,
    /// PTX of parts that a driver may link while the program runs.
    pub linkable: Vec<CodeTarget>,
    /// Whether nobody has said of a container which machine code, or which PTX, it holds.
    pub unsaid: bool,
}

/// The GPU code of a component. Coverage is asked per library and container, never of the union.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GpuCode {
    /// Every library that is known.
    pub libraries: Vec<Library>,
    /// Whether these are all that lie in the image, those that the component picks at run time among them.
    pub unsorted: bool,
}

impl GpuCode {
    /// Puts signatures together by the files that hold them, in the order of their first.
    pub fn of_files<'a>(list: impl IntoIterator<Item = (&'a str, Signature, usize)>) -> Self {
        let mut code = Self::default();
        for (file, signature, count) in list {
            let known = code.libraries.iter_mut().find(|library| library.file == file && !file.is_empty());
            if let Some(library) = known {
                library.containers.push((signature, count));
            } else {
                let containers = vec![(signature, count)];
                code.libraries.push(Library { file: file.to_owned(), containers, ..Library::default() });
            }
        }
        code
    }

    /// Whether there is any: libraries may be listed that have none.
    pub fn holds_some(&self) -> bool {
        let holds = |(own, _): &(Signature, usize)| !own.sass.is_empty() || !own.ptx.is_empty();
        self.libraries.iter().any(|library| library.containers.iter().any(holds))
    }
}

impl From<Signature> for GpuCode {
    /// The code of a component as a table row tells it.
    fn from(signature: Signature) -> Self {
        Self::of_files([("", signature, 1)])
    }
}

impl From<&GpuCode> for Value {
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
pub enum Role {
    /// The image is there to run it.
    Core,
    /// It is there as well.
    Extension,
    /// The container itself: nothing was seen in the image that calls CUDA.
    Container,
}

/// The name of the component for the CUDA runtime of the image itself: a key of reports, never a word for people.
pub const OWN_RUNTIME: &str = "cuda";

/// The name of the component that stands for an image in which nothing was found that calls CUDA.
pub const UNCALLED: &str = "container";

/// Something that can start or fail on its own.
#[derive(Clone, Debug)]
pub struct Component {
    /// `torch`, `tensorflow`, `cuda` for the image's own runtime.
    pub name: String,
    /// Role.
    pub role: Role,
    /// Its CUDA runtime; absent in a build without CUDA.
    pub cuda: Fact<CudaVersion>,
    /// Its GPU code; unknown where nothing was seen of it.
    pub code: Fact<GpuCode>,
    /// How the framework words the errors of the CUDA runtime.
    pub codes: CodeWording,
    /// Whether it stands for whatever the image may run: of its GPU code nobody has said that there is any.
    pub anonymous: bool,
    /// Whether it stands for the program of a framework image, which has GPU code that nobody has listed.
    pub program: bool,
    /// Which release it is, where that is one of several.
    pub release: Option<String>,
    /// The releases of which it certainly is one, where that is all that is known: one of each kind, the newest first.
    pub may_be: Vec<Self>,
    /// Whether everything was looked through for code that it cannot do without, and that was not found.
    pub hollow: bool,
}

impl Component {
    /// What people call it: the component for the CUDA runtime of the image itself has no name of its own.
    pub fn called(&self) -> &str {
        if matches!(self.name.as_str(), OWN_RUNTIME | UNCALLED) { "the image" } else { &self.name }
    }

    /// One that the image is there to run, known by name.
    pub fn core(name: &str, cuda: Fact<CudaVersion>, code: Fact<GpuCode>, codes: CodeWording) -> Self {
        Self {
            name: name.to_owned(),
            role: Role::Core,
            cuda,
            code,
            codes,
            anonymous: false,
            program: false,
            release: None,
            may_be: Vec::new(),
            hollow: false,
        }
    }

    /// The variable of the image that decides whether it uses the processor alone, whatever its build; none where its CUDA
    /// rests on no variable.
    pub fn switch<'a>(&self, facts: &'a Facts) -> Option<&'a str> {
        facts.variable(self.cuda.id).and_then(|id| facts.get(id).of.as_deref())
    }

    /// Whether a variable of the image keeps it on the processor.
    pub fn is_switched_off(&self, facts: &Facts) -> bool {
        matches!(self.cuda.state, State::Absent { .. }) && self.switch(facts).is_some()
    }
}

/// Which numbers a framework prints for missing and for unusable code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CodeWording {
    /// No code for the GPU.
    pub no_code: u16,
    /// PTX that the driver cannot compile.
    pub bad_ptx: u16,
}

/// The environment of an image.
#[derive(Clone, Debug)]
pub struct EnvFacts {
    /// Variables that are set, and those that the start-up asks for, by name.
    set: Vec<(String, Fact<String>)>,
    /// Of each the end of its name, by which it is told apart from most others.
    ends: Vec<u64>,
    /// What holds for all others: absent, or unknown because the base was not seen.
    pub others: Fact<String>,
}

impl EnvFacts {
    /// These variables, and what holds for all others.
    pub fn of(set: BTreeMap<String, Fact<String>>, others: Fact<String>) -> Self {
        let set: Vec<(String, Fact<String>)> = set.into_iter().collect();
        Self { ends: set.iter().map(|(name, _)| end(name)).collect(), set, others }
    }

    /// The fact about one variable.
    pub fn get(&self, name: &str) -> &Fact<String> {
        self.own(name).unwrap_or(&self.others)
    }

    /// The same, where it has one by name.
    pub fn own(&self, name: &str) -> Option<&Fact<String>> {
        let end = end(name);
        let mut alike = self.ends.iter().zip(&self.set).filter(|(own, _)| **own == end);
        alike.find(|(_, (own, _))| own == name).map(|(_, (_, fact))| fact)
    }

    /// Every variable with a fact by name of which the name begins so, by name.
    pub fn beginning<'s>(&'s self, prefix: &'s str) -> impl Iterator<Item = (&'s str, &'s Fact<String>)> {
        let first = self.set.partition_point(|(name, _)| name.as_str() < prefix);
        let rest = self.set.iter().skip(first).map(|(name, fact)| (name.as_str(), fact));
        rest.take_while(move |(name, _)| name.starts_with(prefix))
    }
}

/// The last eight bytes of a name; of a shorter one all of them.
fn end(name: &str) -> u64 {
    let last = name.as_bytes().last_chunk::<8>().copied();
    last.map_or_else(|| name.bytes().fold(0, |end, byte| end << 8 | u64::from(byte)), u64::from_be_bytes)
}

/// What was seen in an image that calls CUDA.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Callers {
    /// Something does, or somebody says so.
    Seen,
    /// Nothing but a package of the CUDA runtime.
    Runtime,
    /// Nothing: all that there is of CUDA comes with the base image.
    None,
    /// Nothing, and the description of the image is complete: it lists no GPU code and no package of Python.
    Nobody,
    /// Nothing, and what this list installs was not read.
    Unread(FactId),
}

/// Everything the replay asks of one image.
#[derive(Clone, Debug)]
pub struct ImageFacts {
    /// The evidence.
    pub facts: Facts,
    /// Which build, where several answer to the same tag.
    pub build: Option<String>,
    /// Platforms; absent = built for whatever is asked.
    pub platforms: Fact<Vec<String>>,
    /// Environment.
    pub env: EnvFacts,
    /// Compat directory.
    pub compat: Fact<Compat>,
    /// Driver libraries outside the compat directory.
    pub driver_libraries: Fact<Vec<DriverLibrary>>,
    /// Directory that legacy mode mounts the host's libraries into.
    pub library_directory: Fact<String>,
    /// Files that name directories to `ldconfig`, by name.
    pub ld_conf: Fact<Vec<LdConf>>,
    /// The loader's cache as shipped.
    pub ld_cache: Fact<String>,
    /// Entrypoint that tries the compat library and falls back to the host's.
    pub compat_probe: Fact<Vec<String>>,
    /// Libraries that components ask for.
    pub needs: Vec<Needs>,
    /// Files in the place of the driver's firmware directories; unknown where a link stands there.
    pub firmware: Fact<Vec<String>>,
    /// Base reference, where there is one.
    pub base: Option<FactId>,
    /// CUDA of the base.
    pub base_cuda: Fact<CudaVersion>,
    /// Components, core ones first.
    pub components: Vec<Component>,
    /// What calls CUDA.
    pub callers: Callers,
    /// Lowest compute capability that components take, where that is all that is known of their GPU code.
    pub code_floors: Vec<CodeFloor>,
    /// Whether anything concerns a GPU.
    pub gpu_content: bool,
    /// The processor for which the image is made, as far as its contents state it.
    pub made_for: MadeFor,
}

/// The processor for which an image is made, as far as its contents state it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MadeFor {
    /// NVIDIA GPUs: somebody chose a CUDA build, a package that expects a GPU or a GPU base image.
    Gpus,
    /// Nothing is stated: what there is comes by default.
    Unstated,
    /// Another processor, with the reason in words.
    Other(String),
}

/// What is known of GPU code that nobody has read: the GPUs that it is not for.
#[derive(Clone, Debug)]
pub struct CodeFloor {
    /// Name of the component.
    pub component: String,
    /// The lowest compute capability that it takes.
    pub lowest: Fact<ComputeCapability>,
    /// The lowest that it is known to take, where nobody has said anything of those between.
    pub sure: Option<ComputeCapability>,
    /// Whether it is code that a program calls where it chooses to.
    pub called: bool,
}

impl ImageFacts {
    /// The reason why a fact is unknown.
    pub fn why(&self, id: FactId) -> Option<&Why> {
        match &self.facts.get(id).state {
            State::Unknown(why) => Some(why),
            State::Known(_) | State::Absent { .. } => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fact::FactId;

    fn fact(value: &str) -> Fact<String> {
        Fact { id: FactId(0), state: State::Known(value.to_owned()) }
    }

    /// Names that end alike, that begin alike, and that are shorter than what they are told apart by.
    #[test]
    fn a_variable_is_found_by_its_whole_name() {
        let names =
            ["A", "AA", "CUDA_VERSION", "NV_CUDA_VERSION", "NVIDIA_REQUIRE_CUDA", "NVIDIA_REQUIRE_X", "VERSION", ""];
        let set = names.iter().map(|name| ((*name).to_owned(), fact(name))).collect();
        let env = EnvFacts::of(set, fact("others"));
        for name in names {
            assert_eq!(env.get(name).known().map(String::as_str), Some(name));
        }
        for name in
            ["B", "A_VERSION", "CUDA_VERSIO", "UDA_VERSION", "ERSION", "NVIDIA_REQUIRE_", "\0A", "a", "cuda_version"]
        {
            assert!(env.own(name).is_none(), "{name}");
            assert_eq!(env.get(name).known().map(String::as_str), Some("others"), "{name}");
        }
        let beginning = |prefix: &str| env.beginning(prefix).map(|(name, _)| name.to_owned()).collect::<Vec<_>>();
        assert_eq!(beginning("NVIDIA_REQUIRE_"), ["NVIDIA_REQUIRE_CUDA", "NVIDIA_REQUIRE_X"]);
        assert_eq!(beginning("A"), ["A", "AA"]);
        assert!(beginning("NVIDIA_REQUIRE_Z").is_empty() && beginning("Z").is_empty());
    }
}
