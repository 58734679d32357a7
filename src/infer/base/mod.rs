//! The base image: which family its reference names, and what each build of that tag carries.

mod cuda_image;
mod family;

use jiff::civil::Date;

use crate::cuda::CudaVersion;
use crate::cuda::DriverVersion;
use crate::fact::BaseSeen;
use crate::fact::Depth;
use crate::fact::Derivation;
use crate::fact::EnvFacts;
use crate::fact::Evidence;
use crate::fact::Fact;
use crate::fact::FactId;
use crate::fact::FactKey;
use crate::fact::Facts;
use crate::fact::Observations;
use crate::fact::PackageSeen;
use crate::fact::State;
use crate::fact::Why;
pub(crate) use crate::infer::base::cuda_image::tag_version;
use crate::infer::no_cuda;
use crate::infer::unknown;
use crate::knowledge::BaseFamilyRow;
use crate::knowledge::CodeFloorRow;
use crate::knowledge::FrameworkImageRow;
use crate::knowledge::Knowledge;
use crate::knowledge::RowInfo;
use crate::reference::ImageReference;

/// What kind of image the base is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Family {
    /// A CUDA base image with a row.
    Cuda,
    /// A framework image with a row.
    Framework,
    /// An operating system or language image without NVIDIA content, or nothing at all.
    Plain,
    /// Not in the tables.
    Unknown,
}

/// One build that a base reference may stand for.
#[derive(Clone, Debug)]
pub(super) struct BaseBuild {
    pub(super) fact: Option<FactId>,
    pub(super) family: Family,
    pub(super) family_row: Option<&'static RowInfo>,
    pub(super) label: Option<String>,
    pub(super) env: Vec<(&'static str, String, &'static RowInfo)>,
    pub(super) env_unknown: Vec<(&'static str, Why)>,
    pub(super) env_known: bool,
    pub(super) cuda: Option<(CudaVersion, &'static RowInfo)>,
    /// Whether a compat package is installed; none where the tables do not say.
    pub(super) compat: Option<(bool, &'static RowInfo)>,
    /// The days between which it was built, where its recipe tells them.
    pub(super) built: Option<(Date, Date)>,
    /// The version of its libcuda, where the tables tell it.
    pub(super) compat_version: Option<(DriverVersion, &'static RowInfo)>,
    /// Where its libraries lie, if not in the directory that container toolkits look into.
    pub(super) compat_folder: Option<&'static str>,
    /// Files for `ldconfig` that it brings, each with the directory that it names.
    pub(super) ld_conf: &'static [(&'static str, &'static str)],
    /// The lowest compute capability that the image's own program takes.
    pub(super) code_floor: Option<&'static CodeFloorRow>,
    /// The family's entrypoint that tries the compat library.
    pub(super) compat_probe: Option<(&'static str, &'static RowInfo)>,
    /// Why it is not known whether that entrypoint finds out GPUs that refuse the library.
    pub(super) probe_unsure: Option<Why>,
    /// torch inside, with its CUDA variant.
    pub(super) torch: Option<(&'static str, &'static RowInfo)>,
    /// Versions before and after the torch inside, where the tables tell none of its own.
    pub(super) torch_about: Vec<&'static str>,
    /// The row by which it brings torch for the GPUs of another maker than NVIDIA, with what runs on that.
    pub(super) of_others: Option<&'static RowInfo>,
    /// The conda channel that it is from; else it is the wheel.
    pub(super) torch_channel: Option<&'static str>,
    /// Packages inside, with their versions.
    pub(super) brings: &'static [(&'static str, &'static str)],
    /// The row of an image that compiled some of them itself.
    pub(super) compiled: Option<&'static FrameworkImageRow>,
    /// What every image of its repository has, where the tables tell that.
    repository: Option<&'static BaseFamilyRow>,
    /// Libraries that it certainly does not have.
    pub(super) lacks: &'static [&'static str],
    /// The platforms that it is built for, where the tables tell them.
    pub(super) platforms: Option<(Vec<String>, &'static RowInfo)>,
    /// Whether its name alone says that it is there for GPUs.
    pub(super) named: bool,
    /// Why the reference itself cannot be told.
    unresolved: Option<Why>,
    /// Whether its configuration was read.
    pub(super) read: bool,
    name: String,
}

impl BaseBuild {
    fn new(family: Family, fact: Option<FactId>, row: Option<&'static RowInfo>, name: String) -> Self {
        Self {
            fact,
            family,
            family_row: row,
            label: None,
            env: Vec::new(),
            env_unknown: Vec::new(),
            env_known: family == Family::Plain,
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

    /// Takes back what steps after a CUDA base image may have changed: the compat library and the search path.
    fn adds_unread(&mut self) {
        self.compat = None;
        self.env.retain(|(variable, _, _)| *variable != "LD_LIBRARY_PATH");
        self.unresolved = Some(Why {
            reason: format!("the additions of `{}` to its CUDA base image were not read", self.name),
            supply: self.unseen("").supply,
        });
        self.env_unknown.push(("LD_LIBRARY_PATH", self.unseen("LD_LIBRARY_PATH")));
    }

    /// Sets a variable, in place of what it was.
    fn set(&mut self, variable: &'static str, value: &str, row: &'static RowInfo) {
        self.env.retain(|(own, _, _)| *own != variable);
        self.env.push((variable, value.to_owned(), row));
    }

    /// Whether it is of a family whose recipes are known, whatever its tag.
    pub(super) fn is_recipe_known(&self) -> bool {
        matches!(self.family, Family::Cuda | Family::Framework)
    }

    /// Whether it has a program with GPU code, whatever the tables tell of that.
    pub(super) fn has_program(&self) -> bool {
        self.family == Family::Framework && !self.repository.is_some_and(|row| row.bare)
    }

    /// Whether it brought a package that was compiled for it.
    pub(super) fn compiled(&self, package: &PackageSeen) -> Option<&'static FrameworkImageRow> {
        let name = package.name.as_str();
        self.compiled.filter(|row| self.fact == Some(package.fact) && row.compiled.contains(&name))
    }

    /// The value of a variable that is known.
    pub(super) fn variable(&self, variable: &str) -> Option<&str> {
        self.env.iter().find(|(own, _, _)| *own == variable).map(|(_, value, _)| value.as_str())
    }

    /// Puts something before the value of a variable that is known.
    fn put_before(&mut self, variable: &'static str, first: &str, row: &'static RowInfo) {
        let known =
            self.env.iter().find(|(own, _, _)| *own == variable).map(|(_, value, _)| format!("{first}:{value}"));
        if let Some(value) = known {
            self.set(variable, &value, row);
        }
    }

    /// Notes for which architectures it is built; nothing where the tables tell none.
    fn built_for<'a>(&mut self, arches: impl IntoIterator<Item = &'a str>, row: &'static RowInfo) {
        let mut platforms: Vec<String> = arches.into_iter().map(|arch| format!("linux/{arch}")).collect();
        platforms.sort();
        platforms.dedup();
        self.platforms = Some((platforms, row)).filter(|(platforms, _)| !platforms.is_empty());
    }

    /// Whether its name is not known, or has a word in it.
    pub(super) fn may_be_named(&self, word: &str) -> bool {
        let nameless = self.unresolved.is_some() && self.name.is_empty();
        nameless || self.name.to_ascii_lowercase().contains(word)
    }

    /// Whether its name is known, and it is the reason that something cannot be told.
    pub(super) fn is_unread(&self) -> bool {
        !self.read && self.unresolved.is_none() && !self.name.is_empty()
    }

    /// Why something of the base cannot be told.
    pub(super) fn unseen(&self, what: &str) -> Why {
        if let Some(why) = &self.unresolved {
            return Why { reason: format!("{what} is unknown: {}", why.reason), supply: why.supply.clone() };
        }
        let base = if self.name.is_empty() { "the image".to_owned() } else { format!("`{}`", self.name) };
        let seen = match (self.read, self.env_known || self.cuda.is_some()) {
            (true, _) => "is not in the compatibility database, and only its configuration was read",
            (false, true) => "was not read, and the compatibility database lacks the contents of this tag",
            (false, false) => "was not read, and it is not in the compatibility database",
        };
        Why {
            reason: format!("{what} is unknown: {base} {seen}"),
            supply: if self.name.is_empty() {
                "add it to the image description, and list the family under `complete`".to_owned()
            } else {
                format!("run `imagelint scan` on the built image, or describe {base} in an image description")
            },
        }
    }

    fn evidence(&self, row: Option<&'static RowInfo>) -> Evidence {
        Evidence::Derived { by: Derivation::Row, from: self.fact.into_iter().collect(), row }
    }
}

/// Every build that the base may be, for one architecture.
pub(super) fn builds(seen: &Observations, arch: &str, as_of: Option<Date>, knowledge: Knowledge) -> Vec<BaseBuild> {
    let builds = match &seen.base {
        BaseSeen::NotSaid => {
            let build = BaseBuild::new(Family::Unknown, None, None, String::new());
            vec![BaseBuild { unresolved: seen.of_base.unread.layer.clone(), ..build }]
        }
        BaseSeen::Scratch(fact) => vec![BaseBuild::new(Family::Plain, Some(*fact), None, "scratch".to_owned())],
        BaseSeen::Unresolved(why, fact) => {
            let repository = seen.base_repository.as_deref().unwrap_or_default();
            let mut build = BaseBuild::new(of_repository(repository, knowledge), Some(*fact), None, String::new());
            build.unresolved = Some(why.clone());
            build.named = knowledge.gpu_image(repository, "").is_some();
            vec![build]
        }
        BaseSeen::Image(reference, fact) => {
            // What was read is there; whoever describes an image or writes a FROM need not have seen that tag.
            let told = matches!(seen.depth, Depth::Text | Depth::Description);
            let unread = told && (seen.base_env || !seen.complete.env);
            let mut builds = of_reference(reference, *fact, arch, as_of, unread, knowledge);
            if let Some(row) = knowledge.image_arches(&reference.familiar(), reference.tag().unwrap_or_default()) {
                for build in builds.iter_mut().filter(|build| build.platforms.is_none()) {
                    build.built_for(row.arches.iter().copied(), &row.info);
                }
            }
            builds
        }
    };
    builds.into_iter().flat_map(|build| with_compat(build, knowledge)).collect()
}

/// A build with each libcuda that its compat package may have held when it was built.
fn with_compat(build: BaseBuild, knowledge: Knowledge) -> Vec<BaseBuild> {
    let row = build.cuda.and_then(|(cuda, _)| Some((cuda, knowledge.compat_package(cuda)?)));
    let (Some((true, _)), Some((from, to)), None, Some((cuda, row))) =
        (build.compat, build.built, build.compat_version, row)
    else {
        return vec![build];
    };
    let versions = knowledge.compat_versions(cuda, from, to);
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

/// What every image of a repository is, whatever its tag.
fn of_repository(repository: &str, knowledge: Knowledge) -> Family {
    if knowledge.is_cuda_repository(repository) {
        Family::Cuda
    } else if knowledge.base_family(repository).is_some() {
        Family::Framework
    } else {
        Family::Unknown
    }
}

fn of_reference(
    reference: &ImageReference,
    fact: FactId,
    arch: &str,
    as_of: Option<Date>,
    unread: bool,
    knowledge: Knowledge,
) -> Vec<BaseBuild> {
    let asked = Asked {
        repository: reference.familiar(),
        tag: reference.tag().unwrap_or_default(),
        pinned: reference.digest().is_some(),
        name: reference.to_string(),
        fact,
        arch,
        as_of,
        knowledge,
    };
    if knowledge.is_cuda_repository(&asked.repository) {
        let mut builds = cuda_image::of_tag(&asked, unread);
        if let Some(family) = knowledge.base_family(&asked.repository) {
            for build in builds.iter_mut().filter(|build| build.env_known) {
                if family.unread {
                    build.platforms = None;
                    build.adds_unread();
                }
                family.env.iter().for_each(|(variable, value)| build.set(variable, value, &family.info));
            }
        }
        return builds;
    }
    if let Some(builds) = family::of_tag(&asked) {
        return builds;
    }
    let row = knowledge.gpu_image(&asked.repository, asked.tag);
    if let Some(plain) = knowledge.plain_image(&asked.repository).filter(|_| row.is_none()) {
        let of_others = Some(&plain.info).filter(|_| plain.torch);
        return vec![BaseBuild { of_others, ..asked.build(Family::Plain, Some(&plain.info)) }];
    }
    vec![BaseBuild { named: row.is_some(), ..asked.build(Family::Unknown, row) }]
}

/// A reference, and for whom and when it is asked.
#[derive(Clone, Debug)]
struct Asked<'a> {
    repository: String,
    tag: &'a str,
    /// Whether a digest names one build.
    pinned: bool,
    name: String,
    fact: FactId,
    arch: &'a str,
    as_of: Option<Date>,
    knowledge: Knowledge,
}

impl Asked<'_> {
    fn build(&self, family: Family, row: Option<&'static RowInfo>) -> BaseBuild {
        BaseBuild::new(family, Some(self.fact), row, self.name.clone())
    }
}

/// CUDA of the base: by its tag, else by the variable that CUDA images set.
///
/// Of an image of which the configuration alone was read, a variable that is not set says nothing: its layers may hold any.
/// Where every layer was read, a runtime would have been seen.
pub(super) fn cuda(
    facts: &mut Facts,
    build: &BaseBuild,
    env: &EnvFacts,
    seen: &Observations,
    knowledge: Knowledge,
) -> Fact<CudaVersion> {
    if let Some((version, row)) = build.cuda {
        return facts.add_typed(FactKey::BaseCuda, None, State::Known(version), build.evidence(Some(row)));
    }
    let variable = env.get("CUDA_VERSION");
    let evidence = Evidence::Derived { by: Derivation::Resolution, from: vec![variable.id], row: None };
    if let Some(told) = variable.known().and_then(|text| no_cuda::told(text, knowledge)) {
        return facts.add_typed(FactKey::BaseCuda, None, told, evidence);
    }
    // What a container is started with changes nothing of what lies in its image.
    let of_start = seen.depth == Depth::Layers && variable.is_unknown() && seen.of_base.unread.env.is_some();
    let unset = (matches!(variable.state, State::Absent { .. }) || of_start)
        && build.unresolved.is_none()
        && (!matches!(seen.depth, Depth::Config | Depth::Sbom | Depth::Layers) || seen.complete.files);
    if build.family == Family::Plain || unset {
        let searched = "the base image's family and CUDA_VERSION";
        return facts.add_typed(FactKey::BaseCuda, None, State::Absent { searched }, evidence);
    }
    unknown(facts, FactKey::BaseCuda, None, build.unseen("the CUDA version of the base"), evidence)
}
