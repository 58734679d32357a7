//! One build that a base image may be: its family and its content, as far as they are known.

use jiff::civil::Date;

use crate::cuda::{CudaVersion, DriverVersion};
use crate::knowledge::{BaseFamilyRow, CodeFloorRow, FrameworkImageRow, Knowledge, RowInfo, RowVersion};
use crate::model::cause::{BaseName, Cause};
use crate::model::fact::{BaseImageBuild, Derivation, Evidence, FactId};
use crate::model::package::ObservedPackage;

/// The kind of a base image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::infer) enum BaseFamily {
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
pub(in crate::infer) struct BaseBuild {
    pub(in crate::infer) fact: Option<FactId>,
    pub(in crate::infer) family: BaseFamily,
    pub(in crate::infer) family_row: Option<&'static RowInfo>,
    pub(in crate::infer) variant: Option<BaseImageBuild>,
    pub(in crate::infer) env: Vec<(&'static str, String, &'static RowInfo)>,
    pub(in crate::infer) env_unknown: Vec<(&'static str, Cause)>,
    pub(in crate::infer) env_known: bool,
    pub(in crate::infer) cuda: Option<(CudaVersion, &'static RowInfo)>,
    /// Whether a compat package is installed; `None` if the tables do not list it.
    pub(in crate::infer) compat: Option<(bool, &'static RowInfo)>,
    /// The dates between which it was built, if its recipe is known.
    pub(in crate::infer) built: Option<(Date, Date)>,
    /// The driver version of its compat library, if the tables list it.
    pub(in crate::infer) compat_version: Option<(DriverVersion, &'static RowInfo)>,
    /// The directory of its compat libraries, if it is not the one that container toolkits search.
    pub(in crate::infer) compat_folder: Option<&'static str>,
    /// Configuration files for `ldconfig` in the image, each with the directory that it names.
    pub(in crate::infer) ld_conf: &'static [(&'static str, &'static str)],
    /// The lowest compute capability that the image's program supports.
    pub(in crate::infer) code_floor: Option<&'static CodeFloorRow>,
    /// The entrypoint of the family that tests the compat library.
    pub(in crate::infer) compat_probe: Option<(&'static str, &'static RowInfo)>,
    /// Why it is unknown whether that entrypoint detects GPUs that reject the compat library.
    pub(in crate::infer) probe_unsure: Option<Cause>,
    /// The torch version in the image, with its CUDA variant.
    pub(in crate::infer) torch: Option<(RowVersion, &'static RowInfo)>,
    /// The listed versions before and after the torch in the image, if the tables do not list its exact version.
    pub(in crate::infer) torch_bounds: Option<[Option<RowVersion>; 2]>,
    /// The row by which it contains torch for GPUs of another vendor than NVIDIA.
    pub(in crate::infer) other_vendor_torch: Option<&'static RowInfo>,
    /// The conda channel of its torch; `None` for the wheel.
    pub(in crate::infer) torch_channel: Option<&'static str>,
    /// Packages in the image, with their versions.
    pub(in crate::infer) packages: &'static [(&'static str, RowVersion)],
    /// The row of an image that compiled some of its packages itself.
    pub(in crate::infer) compiled: Option<&'static FrameworkImageRow>,
    /// What every image of its repository has, if the tables list it.
    pub(super) repository: Option<&'static BaseFamilyRow>,
    /// Libraries that it certainly does not have.
    pub(in crate::infer) lacks: &'static [&'static str],
    /// The platforms that it is built for, if the tables list them.
    pub(in crate::infer) platforms: Option<(Vec<String>, &'static RowInfo)>,
    /// Whether its name already shows that it is meant for GPUs.
    pub(in crate::infer) named: bool,
    /// Why the reference itself is unknown.
    pub(super) unresolved: Option<Cause>,
    /// Whether its image configuration was read.
    pub(in crate::infer) read: bool,
    pub(super) name: String,
}

impl BaseBuild {
    /// Creates a build of which only the family is known.
    pub(super) fn new(family: BaseFamily, fact: Option<FactId>, row: Option<&'static RowInfo>, name: String) -> Self {
        Self {
            fact,
            family,
            family_row: row,
            variant: None,
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
            torch_bounds: None,
            other_vendor_torch: None,
            torch_channel: None,
            packages: &[],
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
    pub(super) fn mark_additions_unread(&mut self) {
        self.compat = None;
        self.env.retain(|(variable, _, _)| *variable != "LD_LIBRARY_PATH");
        self.unresolved = Some(Cause::AdditionsNotRead { base: self.name_in_cause() });
        self.env_unknown.push(("LD_LIBRARY_PATH", self.explain_unknown("LD_LIBRARY_PATH")));
    }

    /// Sets an environment variable and replaces its previous value.
    pub(super) fn set_variable(&mut self, variable: &'static str, value: &str, row: &'static RowInfo) {
        self.env.retain(|(own, _, _)| *own != variable);
        self.env.push((variable, value.to_owned(), row));
    }

    /// Whether it belongs to a family whose recipes are known, whatever its tag.
    pub(in crate::infer) fn is_recipe_known(&self) -> bool {
        matches!(self.family, BaseFamily::Cuda | BaseFamily::Framework)
    }

    /// Whether it contains a program with GPU code, whatever the tables list.
    pub(in crate::infer) fn has_gpu_program(&self) -> bool {
        self.family == BaseFamily::Framework && !self.repository.is_some_and(|row| row.bare)
    }

    /// Returns the row of the image if a package was compiled for this image.
    pub(in crate::infer) fn compiled_package_row(
        &self,
        package: &ObservedPackage,
    ) -> Option<&'static FrameworkImageRow> {
        let name = package.requirement.name.as_str();
        self.compiled.filter(|row| self.fact == Some(package.fact) && row.compiled.contains(&name))
    }

    /// Returns the value of an environment variable, if it is known.
    pub(in crate::infer) fn variable(&self, variable: &str) -> Option<&str> {
        self.env.iter().find(|(own, _, _)| *own == variable).map(|(_, value, _)| value.as_str())
    }

    /// Prepends a path to the value of an environment variable, if that is known.
    pub(super) fn prepend_to_variable(&mut self, variable: &'static str, first: &str, row: &'static RowInfo) {
        let known =
            self.env.iter().find(|(own, _, _)| *own == variable).map(|(_, value, _)| format!("{first}:{value}"));
        if let Some(value) = known {
            self.set_variable(variable, &value, row);
        }
    }

    /// Records the architectures for which it is built; does nothing if there are none.
    pub(super) fn set_platforms<'a>(&mut self, arches: impl IntoIterator<Item = &'a str>, row: &'static RowInfo) {
        let mut platforms: Vec<String> = arches.into_iter().map(|arch| format!("linux/{arch}")).collect();
        platforms.sort();
        platforms.dedup();
        self.platforms = Some((platforms, row)).filter(|(platforms, _)| !platforms.is_empty());
    }

    /// Whether its name is unknown or contains a word.
    pub(in crate::infer) fn name_may_contain(&self, word: &str) -> bool {
        let nameless = self.unresolved.is_some() && self.name.is_empty();
        nameless || self.name.to_ascii_lowercase().contains(word)
    }

    /// Whether its name is known, and something is unknown because it was not read.
    pub(in crate::infer) fn is_named_but_unread(&self) -> bool {
        !self.read && self.unresolved.is_none() && !self.name.is_empty()
    }

    /// Explains why a property of the base image is unknown.
    pub(in crate::infer) fn explain_unknown(&self, what: &str) -> Cause {
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
    pub(super) fn row_evidence(&self, row: Option<&'static RowInfo>) -> Evidence {
        Evidence::Derived { by: Derivation::Row, from: self.fact.into_iter().collect(), row }
    }
}

/// An image reference, with the architecture and the date for which its builds are requested.
#[derive(Clone, Debug)]
pub(super) struct BaseImageQuery<'a> {
    pub(super) repository: String,
    pub(super) tag: &'a str,
    /// Whether a digest selects one build.
    pub(super) pinned: bool,
    pub(super) name: String,
    pub(super) fact: FactId,
    pub(super) arch: &'a str,
    pub(super) as_of: Option<Date>,
    pub(super) knowledge: Knowledge,
}

impl BaseImageQuery<'_> {
    /// Creates a build of this reference of which only the family is known.
    pub(super) fn new_build(&self, family: BaseFamily, row: Option<&'static RowInfo>) -> BaseBuild {
        BaseBuild::new(family, Some(self.fact), row, self.name.clone())
    }
}
