//! The releases and requirements in the compatibility database.

use jiff::civil::Date;

use crate::knowledge::{FrameworkBuildRow, Knowledge, RequiresDistRow, TorchRow};
use crate::model::cause::Cause;
use crate::model::package::{ExactVersion, IndexSelection, PackageName};
use crate::resolve::catalog::{Catalog, Release, Releases};
use crate::resolve::request::DependencySpecifier;

/// The architecture whose wheels the tables list by release and by Python version.
pub const LISTED_ARCHITECTURE: &str = "amd64";

/// The releases that the tables list for an architecture, a Python version, a day and the indexes of a command.
#[derive(Clone, Copy)]
pub struct TableCatalog<'a> {
    /// The tables.
    pub knowledge: Knowledge,
    /// The architecture, such as `amd64`.
    pub arch: &'a str,
    /// The day of the build; `None` for the newest releases.
    pub as_of: Option<Date>,
    /// The Python version, as `3.11`; `None` for any.
    pub python: Option<&'a str>,
    /// The indexes of the command.
    pub indexes: &'a IndexSelection,
}

impl TableCatalog<'_> {
    /// Returns the releases of torch that an installer can select.
    pub fn torch_releases(&self) -> impl Iterator<Item = &'static TorchRow> {
        self.knowledge.served_torch_releases().filter(|row| {
            self.python.is_none_or(|python| has_wheel_for_python(row, python, self.knowledge))
                && self.is_released(row)
                && self.is_on_indexes(row)
        })
    }

    /// Whether a release of torch certainly has no wheel for the Python version.
    pub fn lacks_wheel(&self, row: &TorchRow) -> bool {
        let listed = |python: &str| self.knowledge.torch_pythons().any(|range| range.python == python);
        self.arch == LISTED_ARCHITECTURE
            && self.python.is_some_and(|python| listed(python) && !has_wheel_for_python(row, python, self.knowledge))
    }

    /// Whether a release of torch was released by the day of the build.
    fn is_released(&self, row: &TorchRow) -> bool {
        self.as_of.zip(row.released).is_none_or(|(day, released)| released <= day)
    }

    /// Whether the indexes have a release of torch for the architecture.
    fn is_on_indexes(&self, row: &TorchRow) -> bool {
        let default = row.default_variant.iter().any(|value| value.arch == self.arch);
        match self.indexes {
            IndexSelection::Only(tag) => self.has_build(row, tag),
            IndexSelection::DefaultAndExtra(tags) => default || tags.iter().any(|tag| self.has_build(row, tag)),
            IndexSelection::Default | IndexSelection::Unknown(_) => default,
        }
    }

    /// Whether a release of torch has a build; builds without CUDA are not listed and count as existing.
    pub fn has_build(&self, row: &TorchRow, tag: &str) -> bool {
        if !tag.starts_with("cu") {
            return true;
        }
        if self.arch == LISTED_ARCHITECTURE {
            return row.variants.contains(&tag);
        }
        self.knowledge.torch_build(row.version, tag, self.arch).is_some()
    }

    /// Returns the releases of a framework with one build each.
    ///
    /// A release whose wheels are not listed for the Python version does not count, nor does one of an unknown day if
    /// the day of the build is known.
    pub fn framework_releases(&self, name: &str) -> impl Iterator<Item = &'static FrameworkBuildRow> {
        let has_wheel = |row: &FrameworkBuildRow| {
            let mut rows = self.knowledge.complete_wheel_pythons_of(row.distribution);
            row.version.is_some_and(|version| {
                self.python.is_none_or(|python| rows.any(|own| own.python == python && own.contains(version)))
            })
        };
        let is_released =
            |row: &FrameworkBuildRow| self.as_of.is_none_or(|day| row.released.is_some_and(|released| released <= day));
        let rows = self.knowledge.framework_releases_of(name);
        rows.filter(move |row| row.is_full_release() && has_wheel(row) && is_released(row))
    }

    /// Returns the releases of a framework, or those of a distribution with a dependency of the same version that is a
    /// framework.
    fn releases_with_dependencies(&self, name: &str) -> Vec<ExactVersion> {
        let dependencies = self.knowledge.gpu_dependencies_of(name).filter(|row| row.same).map(|row| row.package);
        let mut distributions: Vec<&str> = dependencies.chain([name]).collect();
        distributions.sort_unstable();
        distributions.dedup();
        let rows = distributions.into_iter().flat_map(|distribution| self.framework_releases(distribution));
        rows.filter_map(|row| Some(row.version?.cloned())).collect()
    }

    /// Returns the releases of a distribution with what each requires of torch.
    fn releases_with_torch_requirement(&self, name: &str) -> impl Iterator<Item = &'static RequiresDistRow> {
        let rows =
            self.knowledge.torch_requirements_of(name).filter(|row| row.version.is_some() && !row.range.is_any());
        let is_on_indexes =
            |row: &RequiresDistRow| row.released.is_none() || !matches!(self.indexes, IndexSelection::Only(_));
        let is_released =
            |row: &RequiresDistRow| self.as_of.zip(row.released).is_none_or(|(day, released)| released <= day);
        rows.filter(move |row| is_on_indexes(row) && is_released(row))
    }
}

impl Catalog for TableCatalog<'_> {
    fn releases(&self, name: &PackageName) -> Releases {
        if self.knowledge.has_variants(name) {
            return Releases::complete(self.torch_releases().map(|row| Release::new(row.version.cloned())).collect());
        }
        let unlisted = || Releases::unlisted(Cause::TorchRequirement { package: name.to_string() });
        let builds = self.releases_with_dependencies(name);
        if !builds.is_empty() {
            return Releases::complete(builds.into_iter().map(Release::new).collect());
        }
        // Most packages have no row, and are done here.
        let mut rows = self.releases_with_torch_requirement(name).peekable();
        if rows.peek().is_none() {
            return unlisted();
        }
        // Its wheels exist where those of the torch that it is built for do.
        let torch: Vec<&TorchRow> = self.torch_releases().collect();
        let is_built =
            |row: &&RequiresDistRow| torch.iter().any(|torch| row.range.contains(torch.version) == Some(true));
        let listed: Vec<Release> =
            rows.filter(is_built).filter_map(|row| Some(Release::new(row.version?.cloned()))).collect();
        if listed.is_empty() { unlisted() } else { Releases::complete(listed) }
    }

    fn requirements(
        &self,
        name: &PackageName,
        version: Option<&ExactVersion>,
        _: &[PackageName],
    ) -> Vec<DependencySpecifier> {
        let Some(version) = version.map(ExactVersion::without_local) else { return Vec::new() };
        let is_required = |row: &&RequiresDistRow| {
            row.is_of_version(&version) && !row.unasked && row.arch.is_none_or(|arch| arch == self.arch)
        };
        let rows = self.knowledge.requirements_of(name).filter(is_required);
        rows.map(|row| DependencySpecifier::new(PackageName::python(row.package), row.range.cloned())).collect()
    }
}

/// Whether a release of torch has a wheel for a Python version.
fn has_wheel_for_python(row: &TorchRow, python: &str, knowledge: Knowledge) -> bool {
    let range = knowledge.torch_pythons().find(|range| range.python == python);
    range.is_some_and(|range| range.contains(row.version))
}
