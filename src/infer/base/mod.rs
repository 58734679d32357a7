//! The base image: the family that its reference names, and the content of each build of that tag.

mod cuda_image;
mod framework_image;

use jiff::civil::Date;

use crate::cause::{BaseName, Cause};
use crate::cuda::{CudaVersion, DriverVersion};
use crate::fact::{
    Derivation, EnvFacts, Evidence, FactId, FactKey, Facts, InspectionDepth, Observations, ObservedBase,
    ObservedPackage, TypedFact, ValueState,
};
pub(crate) use crate::infer::base::cuda_image::tag_version;
use crate::infer::{add_unknown_fact, nonexistent_cuda};
use crate::knowledge::{BaseFamilyRow, CodeFloorRow, FrameworkImageRow, Knowledge, RowInfo};
use crate::reference::ImageReference;

/// The kind of a base image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BaseFamily {
    /// A CUDA base image with a row.
    Cuda,
    /// A framework image with a row.
    Framework,
    /// An operating system or language image without NVIDIA content, or `scratch`.
    Plain,
    /// An image that is not in the tables.
    Unknown,
}

/// One build that a base image reference may stand for.
#[derive(Clone, Debug)]
pub(super) struct BaseBuild {
    pub(super) fact: Option<FactId>,
    pub(super) family: BaseFamily,
    pub(super) family_row: Option<&'static RowInfo>,
    pub(super) label: Option<String>,
    pub(super) env: Vec<(&'static str, String, &'static RowInfo)>,
    pub(super) env_unknown: Vec<(&'static str, Cause)>,
    pub(super) env_known: bool,
    pub(super) cuda: Option<(CudaVersion, &'static RowInfo)>,
    /// Whether a compat package is installed; `None` if the tables do not list it.
    pub(super) compat: Option<(bool, &'static RowInfo)>,
    /// The dates between which it was built, if its recipe is known.
    pub(super) built: Option<(Date, Date)>,
    /// The driver version of its compat library, if the tables list it.
    pub(super) compat_version: Option<(DriverVersion, &'static RowInfo)>,
    /// The directory of its compat libraries, if it is not the one that container toolkits search.
    pub(super) compat_folder: Option<&'static str>,
    /// Configuration files for `ldconfig` in the image, each with the directory that it names.
    pub(super) ld_conf: &'static [(&'static str, &'static str)],
    /// The lowest compute capability that the image's program supports.
    pub(super) code_floor: Option<&'static CodeFloorRow>,
    /// The entrypoint of the family that tests the compat library.
    pub(super) compat_probe: Option<(&'static str, &'static RowInfo)>,
    /// Why it is unknown whether that entrypoint detects GPUs that reject the compat library.
    pub(super) probe_unsure: Option<Cause>,
    /// The torch version in the image, with its CUDA variant.
    pub(super) torch: Option<(&'static str, &'static RowInfo)>,
    /// The listed versions before and after the torch in the image, if the tables do not list its exact version.
    pub(super) torch_about: Vec<&'static str>,
    /// The row by which it contains torch for GPUs of another vendor than NVIDIA.
    pub(super) of_others: Option<&'static RowInfo>,
    /// The conda channel of its torch; `None` for the wheel.
    pub(super) torch_channel: Option<&'static str>,
    /// Packages in the image, with their versions.
    pub(super) brings: &'static [(&'static str, &'static str)],
    /// The row of an image that compiled some of its packages itself.
    pub(super) compiled: Option<&'static FrameworkImageRow>,
    /// What every image of its repository has, if the tables list it.
    repository: Option<&'static BaseFamilyRow>,
    /// Libraries that it certainly does not have.
    pub(super) lacks: &'static [&'static str],
    /// The platforms that it is built for, if the tables list them.
    pub(super) platforms: Option<(Vec<String>, &'static RowInfo)>,
    /// Whether its name already shows that it is meant for GPUs.
    pub(super) named: bool,
    /// Why the reference itself is unknown.
    unresolved: Option<Cause>,
    /// Whether its image configuration was read.
    pub(super) read: bool,
    name: String,
}

impl BaseBuild {
    /// Creates a build of which only the family is known.
    fn new(family: BaseFamily, fact: Option<FactId>, row: Option<&'static RowInfo>, name: String) -> Self {
        Self {
            fact,
            family,
            family_row: row,
            label: None,
            env: Vec::new(),
            env_unknown: Vec::new(),
            env_known: family == BaseFamily::Plain,
            cuda: None,
            compat: None,
            built: None,
            compat_version: None,
            compat_folder: None,
            ld_conf: &[],
            code_floor: None,
            compat_probe: None,
            probe_unsure: None,
            torch: None,
            torch_about: Vec::new(),
            of_others: None,
            torch_channel: None,
            brings: &[],
            compiled: None,
            repository: None,
            lacks: &[],
            platforms: None,
            named: false,
            unresolved: None,
            read: false,
            name,
        }
    }

    /// Discards what steps after a CUDA base image may have changed: the compat library and the library search path.
    fn mark_additions_unread(&mut self) {
        self.compat = None;
        self.env.retain(|(variable, _, _)| *variable != "LD_LIBRARY_PATH");
        self.unresolved = Some(Cause::AdditionsNotRead { base: self.name_in_cause() });
        self.env_unknown.push(("LD_LIBRARY_PATH", self.explain_unknown("LD_LIBRARY_PATH")));
    }

    /// Sets an environment variable and replaces its previous value.
    fn set_variable(&mut self, variable: &'static str, value: &str, row: &'static RowInfo) {
        self.env.retain(|(own, _, _)| *own != variable);
        self.env.push((variable, value.to_owned(), row));
    }

    /// Whether it belongs to a family whose recipes are known, whatever its tag.
    pub(super) fn is_recipe_known(&self) -> bool {
        matches!(self.family, BaseFamily::Cuda | BaseFamily::Framework)
    }

    /// Whether it contains a program with GPU code, whatever the tables list.
    pub(super) fn has_gpu_program(&self) -> bool {
        self.family == BaseFamily::Framework && !self.repository.is_some_and(|row| row.bare)
    }

    /// Returns the row of the image if a package was compiled for this image.
    pub(super) fn compiled_package_row(&self, package: &ObservedPackage) -> Option<&'static FrameworkImageRow> {
        let name = package.name.as_str();
        self.compiled.filter(|row| self.fact == Some(package.fact) && row.compiled.contains(&name))
    }

    /// Returns the value of an environment variable, if it is known.
    pub(super) fn variable(&self, variable: &str) -> Option<&str> {
        self.env.iter().find(|(own, _, _)| *own == variable).map(|(_, value, _)| value.as_str())
    }

    /// Prepends a path to the value of an environment variable, if that is known.
    fn prepend_to_variable(&mut self, variable: &'static str, first: &str, row: &'static RowInfo) {
        let known =
            self.env.iter().find(|(own, _, _)| *own == variable).map(|(_, value, _)| format!("{first}:{value}"));
        if let Some(value) = known {
            self.set_variable(variable, &value, row);
        }
    }

    /// Records the architectures for which it is built; does nothing if there are none.
    fn set_platforms<'a>(&mut self, arches: impl IntoIterator<Item = &'a str>, row: &'static RowInfo) {
        let mut platforms: Vec<String> = arches.into_iter().map(|arch| format!("linux/{arch}")).collect();
        platforms.sort();
        platforms.dedup();
        self.platforms = Some((platforms, row)).filter(|(platforms, _)| !platforms.is_empty());
    }

    /// Whether its name is unknown or contains a word.
    pub(super) fn name_may_contain(&self, word: &str) -> bool {
        let nameless = self.unresolved.is_some() && self.name.is_empty();
        nameless || self.name.to_ascii_lowercase().contains(word)
    }

    /// Whether its name is known, and something is unknown because it was not read.
    pub(super) fn is_named_but_unread(&self) -> bool {
        !self.read && self.unresolved.is_none() && !self.name.is_empty()
    }

    /// Explains why a property of the base image is unknown.
    pub(super) fn explain_unknown(&self, what: &str) -> Cause {
        if let Some(why) = &self.unresolved {
            return Cause::Unknown { what: what.to_owned(), because: Box::new(why.clone()) };
        }
        let base = self.name_in_cause();
        let because = match (self.read, self.env_known || self.cuda.is_some()) {
            (true, _) => Cause::BaseConfigOnly { base },
            (false, true) => Cause::BaseTagNotInTables { base },
            (false, false) => Cause::BaseNotRead { base },
        };
        Cause::Unknown { what: what.to_owned(), because: Box::new(because) }
    }

    /// Returns the name of the base image for use in a cause.
    fn name_in_cause(&self) -> BaseName {
        if self.name.is_empty() { BaseName::Image } else { BaseName::Named(self.name.clone()) }
    }

    /// Returns the evidence for a fact that a table row gives.
    fn row_evidence(&self, row: Option<&'static RowInfo>) -> Evidence {
        Evidence::Derived { by: Derivation::Row, from: self.fact.into_iter().collect(), row }
    }
}

/// Returns every build that the base image may be, for one architecture.
pub(super) fn possible_base_builds(
    seen: &Observations,
    arch: &str,
    as_of: Option<Date>,
    knowledge: Knowledge,
) -> Vec<BaseBuild> {
    let builds = match &seen.base {
        ObservedBase::NotSaid => {
            let build = BaseBuild::new(BaseFamily::Unknown, None, None, String::new());
            vec![BaseBuild { unresolved: seen.of_base.unread.layer.clone(), ..build }]
        }
        ObservedBase::Scratch(fact) => vec![BaseBuild::new(BaseFamily::Plain, Some(*fact), None, "scratch".to_owned())],
        ObservedBase::Unresolved(why, fact) => {
            let repository = seen.base_repository.as_deref().unwrap_or_default();
            let mut build =
                BaseBuild::new(family_of_repository(repository, knowledge), Some(*fact), None, String::new());
            build.unresolved = Some(why.clone());
            build.named = knowledge.gpu_image_evidence(repository, "").is_some();
            vec![build]
        }
        ObservedBase::Image(reference, fact) => {
            // What was read is there; whoever describes an image or writes a FROM need not have seen that tag.
            let told = matches!(seen.depth, InspectionDepth::Text | InspectionDepth::Description);
            let unread = told && (seen.base_env || !seen.complete.env);
            let mut builds = builds_for_reference(reference, *fact, arch, as_of, unread, knowledge);
            if let Some(row) = knowledge.image_arches(&reference.familiar_name(), reference.tag().unwrap_or_default()) {
                for build in builds.iter_mut().filter(|build| build.platforms.is_none()) {
                    build.set_platforms(row.arches.iter().copied(), &row.info);
                }
            }
            builds
        }
    };
    builds.into_iter().flat_map(|build| with_compat_versions(build, knowledge)).collect()
}

/// Returns a build once for each libcuda version that its compat package may have had when it was built.
fn with_compat_versions(build: BaseBuild, knowledge: Knowledge) -> Vec<BaseBuild> {
    let row = build.cuda.and_then(|(cuda, _)| Some((cuda, knowledge.compat_package(cuda)?)));
    let (Some((true, _)), Some((from, to)), None, Some((cuda, row))) =
        (build.compat, build.built, build.compat_version, row)
    else {
        return vec![build];
    };
    let versions = knowledge.compat_versions_between(cuda, from, to);
    let several = versions.len() > 1;
    let of_version = |version| {
        let mut build = BaseBuild { compat_version: Some((version, &row.info)), ..build.clone() };
        if several {
            let own = build.label.take().map_or_else(String::new, |label| format!("{label}, "));
            build.label = Some(format!("{own}with libcuda {version}"));
        }
        build
    };
    let builds: Vec<BaseBuild> = versions.into_iter().map(of_version).collect();
    if builds.is_empty() { vec![build] } else { builds }
}

/// Returns the family of all images of a repository.
fn family_of_repository(repository: &str, knowledge: Knowledge) -> BaseFamily {
    if knowledge.is_cuda_repository(repository) {
        BaseFamily::Cuda
    } else if knowledge.base_family(repository).is_some() {
        BaseFamily::Framework
    } else {
        BaseFamily::Unknown
    }
}

/// Returns every build that an image reference may stand for.
fn builds_for_reference(
    reference: &ImageReference,
    fact: FactId,
    arch: &str,
    as_of: Option<Date>,
    unread: bool,
    knowledge: Knowledge,
) -> Vec<BaseBuild> {
    let asked = BaseImageQuery {
        repository: reference.familiar_name(),
        tag: reference.tag().unwrap_or_default(),
        pinned: reference.digest().is_some(),
        name: reference.to_string(),
        fact,
        arch,
        as_of,
        knowledge,
    };
    if knowledge.is_cuda_repository(&asked.repository) {
        let mut builds = cuda_image::builds_for_cuda_tag(&asked, unread);
        if let Some(family) = knowledge.base_family(&asked.repository) {
            for build in builds.iter_mut().filter(|build| build.env_known) {
                if family.unread {
                    build.platforms = None;
                    build.mark_additions_unread();
                }
                family.env.iter().for_each(|(variable, value)| build.set_variable(variable, value, &family.info));
            }
        }
        return builds;
    }
    if let Some(builds) = framework_image::builds_for_framework_tag(&asked) {
        return builds;
    }
    let row = knowledge.gpu_image_evidence(&asked.repository, asked.tag);
    if let Some(plain) = knowledge.plain_image(&asked.repository).filter(|_| row.is_none()) {
        let of_others = Some(&plain.info).filter(|_| plain.torch);
        return vec![BaseBuild { of_others, ..asked.new_build(BaseFamily::Plain, Some(&plain.info)) }];
    }
    vec![BaseBuild { named: row.is_some(), ..asked.new_build(BaseFamily::Unknown, row) }]
}

/// An image reference, with the architecture and the date for which its builds are requested.
#[derive(Clone, Debug)]
struct BaseImageQuery<'a> {
    repository: String,
    tag: &'a str,
    /// Whether a digest selects one build.
    pinned: bool,
    name: String,
    fact: FactId,
    arch: &'a str,
    as_of: Option<Date>,
    knowledge: Knowledge,
}

impl BaseImageQuery<'_> {
    /// Creates a build of this reference of which only the family is known.
    fn new_build(&self, family: BaseFamily, row: Option<&'static RowInfo>) -> BaseBuild {
        BaseBuild::new(family, Some(self.fact), row, self.name.clone())
    }
}

/// Infers the CUDA version of the base image, from its tag or from the variable that CUDA images set.
///
/// Of an image of which the configuration alone was read, a variable that is not set says nothing: its layers may hold any.
/// Where every layer was read, a runtime would have been seen.
pub(super) fn infer_base_cuda(
    facts: &mut Facts,
    build: &BaseBuild,
    env: &EnvFacts,
    seen: &Observations,
    knowledge: Knowledge,
) -> TypedFact<CudaVersion> {
    if let Some((version, row)) = build.cuda {
        return facts.add_typed(FactKey::BaseCuda, None, ValueState::Known(version), build.row_evidence(Some(row)));
    }
    let variable = env.get("CUDA_VERSION");
    let evidence = Evidence::Derived { by: Derivation::Resolution, from: vec![variable.id], row: None };
    if let Some(told) = variable.known().and_then(|text| nonexistent_cuda::parse_existing_cuda(text, knowledge)) {
        return facts.add_typed(FactKey::BaseCuda, None, told, evidence);
    }
    // What a container is started with changes nothing of what lies in its image.
    let of_start = seen.depth == InspectionDepth::Layers && variable.is_unknown() && seen.of_base.unread.env.is_some();
    let unset = (matches!(variable.state, ValueState::Absent { .. }) || of_start)
        && build.unresolved.is_none()
        && (!matches!(seen.depth, InspectionDepth::Config | InspectionDepth::Sbom | InspectionDepth::Layers)
            || seen.complete.files);
    if build.family == BaseFamily::Plain || unset {
        let searched = "the base image's family and CUDA_VERSION";
        return facts.add_typed(FactKey::BaseCuda, None, ValueState::Absent { searched }, evidence);
    }
    add_unknown_fact(facts, FactKey::BaseCuda, None, build.explain_unknown("the CUDA version of the base"), evidence)
}
