//! Packages from the databases of package managers, with the builds that Python distributions record.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::cuda::is_at_or_below;
use crate::extract::layers::entrypoint_python::EntrypointPython;
use crate::extract::layers::layer_scan::{LayerScan, is_same_version};
use crate::knowledge::Knowledge;
use crate::layer::installed::{FileEvidence, GpuBackend, PackageDirectory, RecordLocation, locate_record};
use crate::layer::{EntryKind, ImageEntry, LayerSummary, MergedLayers, installed};
use crate::model::cause::Cause;
use crate::model::fact::{FactKey, PrintedValue};
use crate::model::package::{
    Distribution, ExactVersion, IndexSelection, ObservedPackage, PackageManager, PackageName, PackageVersion,
};

/// Maximum number of system packages that are recorded: NVIDIA's own repository has fewer names for one system.
const MAX_SYSTEM_PACKAGES: usize = 1_000;

/// Variant of builds without code for GPUs.
const CPU_VARIANT: &str = "cpu";

/// Maximum number of records of one package in one folder that are distinguished.
const MAX_RECORDS: usize = 8;

/// A Python distribution or conda package in one folder.
struct SitePackage<'a> {
    site: PackageDirectory,
    version: Option<ExactVersion>,
    /// Versions that other records in the same folder say.
    others: Vec<ExactVersion>,
    /// What it was built for.
    variant: Option<String>,
    /// Whether a record of it names no build: no index of builds had it under this name.
    plain: bool,
    /// The most detailed entry.
    placed: ImageEntry<'a>,
}

/// Whether a folder contains nothing but package metadata. Folders have no slash in front.
fn has_only_metadata(tree: &MergedLayers, folder: &str) -> bool {
    let is_other_content = |path: &str| {
        let first = path.strip_prefix('/')?.strip_prefix(folder)?.strip_prefix('/')?.split('/').next()?;
        Some(!first.ends_with(".dist-info") && !first.ends_with(".egg-info"))
    };
    !tree.entries().any(|placed| is_other_content(placed.path) == Some(true))
}

/// Packages by manager and name, then by folder.
type SitePackagesByName<'a> = BTreeMap<(PackageManager, PackageName), BTreeMap<String, SitePackage<'a>>>;
/// Contents of build files, with their folders.
type BuildRecords<'a> = Vec<(PackageDirectory, &'a FileEvidence, ImageEntry<'a>)>;

impl LayerScan<'_> {
    /// Records every package that the knowledge tables cover.
    pub(super) fn read_packages(&mut self, python: &EntrypointPython) {
        let tree = self.tree;
        let (mut found, mut built, mut editable) = (SitePackagesByName::new(), BuildRecords::new(), Vec::new());
        let mut order: Vec<(usize, ObservedPackage)> = Vec::new();
        for placed in tree.entries() {
            let Some(here) = locate_record(placed.path) else { continue };
            let list: &[FileEvidence] = match placed.kind {
                EntryKind::Read(list) => list,
                _ => &[],
            };
            let site = match here {
                RecordLocation::NotInstalled => continue,
                RecordLocation::System => {
                    self.read_system_packages(placed, list, &mut order);
                    continue;
                }
                RecordLocation::Site(site) => site,
                RecordLocation::OffImportPath(folder) => {
                    PackageDirectory { prefix: folder.clone(), folder, python: None }
                }
            };
            for one in list {
                match one {
                    FileEvidence::Package(package) => add_record(&mut found, package, &site, placed),
                    FileEvidence::Build { .. } => built.push((site.clone(), one, placed)),
                    FileEvidence::NotInspected(why) => self.note_not_inspected(placed.path, why),
                    FileEvidence::Source { url, editable: true, .. } => {
                        let name = installed::package_from_path(placed.path).map(|package| package.name);
                        editable.extend(name.map(|name| (name, site.folder.clone(), url.as_str())));
                    }
                    _ => {}
                }
            }
            if let Some(package) = installed::package_from_path(placed.path) {
                add_record(&mut found, &package, &site, placed);
            }
        }
        apply_build_files(&mut found, &built);
        for (name, folder, url) in editable {
            if let Some(sites) = found.get_mut(&(PackageManager::Pip, name)) {
                apply_editable_sources(sites, &folder, url);
            }
        }
        for ((manager, name), mut sites) in found {
            // A build of conda for CUDA concerns a GPU whatever it is a build of.
            let for_cuda =
                |one: &SitePackage<'_>| one.variant.as_deref().is_some_and(|variant| variant.starts_with("cu"));
            let of_conda = manager == PackageManager::Conda && sites.values().any(for_cuda);
            if !of_conda && !is_gpu_relevant(&name) {
                continue;
            }
            if manager == PackageManager::Pip {
                sites.retain(|folder, one| one.site.prefix != *folder || !has_only_metadata(tree, folder));
            }
            let counting = python.first_searched_sites(sites.values().map(|one| &one.site));
            let those: Vec<&SitePackage<'_>> = sites.values().filter(|one| counting.contains(&&one.site)).collect();
            let Some(first) = those.first() else { continue };
            let differs = those.iter().find(|one| one.version != first.version || one.variant != first.variant);
            let open = differs.map(|other| Cause::SeveralEnvironments {
                name: name.as_str().into(),
                version: version_text(first.version.as_ref()).into(),
                folder: first.site.folder.as_str().into(),
                other: version_text(other.version.as_ref()).into(),
                elsewhere: other.site.folder.as_str().into(),
            });
            let of_all = those.iter().all(|one| one.variant == first.variant);
            if open.is_some() && manager == PackageManager::Pip {
                let own = Knowledge::built_in().framework(&name).map(|row| row.component.to_owned());
                let folders = those.iter().map(|one| one.site.folder.clone());
                self.several.entry(own.unwrap_or_else(|| name.to_string())).or_default().extend(folders);
            }
            let package = self.observe_site_package(manager, &name, first, open, of_all);
            order.push((first.placed.layer, package));
        }
        // conda's records first: what Python says of its own distributions is nearer to what it imports.
        order.sort_by_key(|(layer, package)| (package.requirement.manager != PackageManager::Conda, *layer));
        // Packages from the history of unread layers come between those below and those above.
        let from_history = std::mem::take(&mut self.seen.packages);
        let floor = self.first_complete_layer();
        let (above, below): (Vec<_>, Vec<_>) = order.into_iter().partition(|(layer, _)| *layer >= floor);
        let plain = |list: Vec<(usize, ObservedPackage)>| list.into_iter().map(|(_, package)| package);
        self.seen.packages.extend(plain(below).chain(from_history).chain(plain(above)));
    }

    /// Returns an observed package; its build is set only if it is the same `of_all` environments and nothing may
    /// have replaced it.
    fn observe_site_package(
        &mut self,
        manager: PackageManager,
        name: &PackageName,
        found: &SitePackage<'_>,
        open: Option<Cause>,
        of_all: bool,
    ) -> ObservedPackage {
        let hidden = self.hidden_reason(found.placed.layer);
        let text = PrintedValue::Text(version_text(found.version.as_ref()).to_owned());
        let fact = self.add_fact(FactKey::Package, name, text, found.placed);
        let mut package = ObservedPackage::new(manager, name.clone(), package_version(found.version.clone()), fact);
        if let Some(variant) = found.variant.as_ref().filter(|_| of_all && hidden.is_none()) {
            package.variant = Some(variant.clone());
            if found.plain && variant == CPU_VARIANT {
                // Whether somebody chose it, its name does not say: that may be all that an index has.
                package.requirement.version = package_version(found.version.as_ref().map(ExactVersion::without_local));
            } else {
                package.requirement.indexes = IndexSelection::Only(variant.clone());
            }
        }
        package.conditional = open.or(hidden);
        package
    }

    /// Reads a database of the system's package manager.
    fn read_system_packages(
        &mut self,
        placed: ImageEntry<'_>,
        list: &[FileEvidence],
        order: &mut Vec<(usize, ObservedPackage)>,
    ) {
        let mut relevant: BTreeSet<&Distribution> = BTreeSet::new();
        for one in list {
            let package = match one {
                FileEvidence::Package(package) => package,
                FileEvidence::NotInspected(why) => {
                    self.seen.complete.packages &= !is_package_database(placed.path);
                    self.note_not_inspected(placed.path, why);
                    continue;
                }
                _ => continue,
            };
            if is_gpu_relevant(&package.name) {
                relevant.insert(package);
            }
        }
        let room = MAX_SYSTEM_PACKAGES.saturating_sub(order.len());
        if relevant.len() > room {
            self.seen.complete.packages = false;
            self.note_not_inspected(
                placed.path,
                &format!("the image contains more than {MAX_SYSTEM_PACKAGES} packages that concern a GPU"),
            );
        }
        let relevant: BTreeSet<&Distribution> = relevant.into_iter().take(room).collect();
        for (package, layer) in installed_since(self.tree.layers(), placed, relevant) {
            let at = ImageEntry { layer, ..placed };
            let Distribution { manager, name, version, .. } = package;
            let text = PrintedValue::Text(version_text(version.as_ref()).to_owned());
            let fact = self.add_fact(FactKey::Package, name, text, at);
            let mut seen = ObservedPackage::new(*manager, name.clone(), package_version(version.clone()), fact);
            seen.conditional = self.hidden_reason(placed.layer);
            order.push((layer, seen));
        }
    }
}

/// Returns the layer since which each package is in a database, which each installing layer writes anew.
fn installed_since<'a>(
    layers: &[Arc<LayerSummary>],
    placed: ImageEntry<'_>,
    mut left: BTreeSet<&'a Distribution>,
) -> BTreeMap<&'a Distribution, usize> {
    let mut found: BTreeMap<&Distribution, usize> = left.iter().map(|package| (*package, placed.layer)).collect();
    for (index, layer) in layers.iter().enumerate().take(placed.layer + 1).rev() {
        match layer.entries.get(placed.path).map(|entry| &entry.kind) {
            Some(EntryKind::Read(list)) => {
                let there = list.iter().filter_map(|one| match one {
                    FileEvidence::Package(package) => left.get(package).copied(),
                    _ => None,
                });
                left = there.collect();
            }
            Some(_) => left.clear(),
            // It leaves the database as it is.
            None => continue,
        }
        found.extend(left.iter().map(|package| (*package, index)));
    }
    found
}

/// Returns the version of an installed package; an unknown one may be any.
fn package_version(version: Option<ExactVersion>) -> PackageVersion {
    version.map_or_else(PackageVersion::any, PackageVersion::Exact)
}

/// Returns a version as written; an empty text for an unknown one.
fn version_text(version: Option<&ExactVersion>) -> &str {
    version.map_or("", ExactVersion::as_str)
}

/// Whether a path is that of a package database, and no other file that the system has once.
fn is_package_database(path: &str) -> bool {
    ["/dpkg/", "/rpm/", "/apk/"].iter().any(|part| path.contains(part))
}

/// Adds a record of a distribution; the first record with a version wins.
fn add_record<'a>(
    found: &mut SitePackagesByName<'a>,
    package: &Distribution,
    site: &PackageDirectory,
    placed: ImageEntry<'a>,
) {
    let sites = found.entry((package.manager, package.name.clone())).or_default();
    let new = || {
        let (version, plain) = (package.version.clone(), has_no_build_tag(package.version.as_ref()));
        let variant =
            package.build.as_deref().and_then(installed::gpu_backend_of_conda_build).as_ref().and_then(variant_tag);
        // The build in a conda build string was chosen by the solver or the user.
        let plain = plain && package.build.is_none();
        SitePackage { site: site.clone(), version, others: Vec::new(), variant, plain, placed }
    };
    let one = sites.entry(site.folder.clone()).or_insert_with(new);
    if one.version.is_none() {
        *one = new();
    } else if one.version != package.version && one.others.len() < MAX_RECORDS {
        one.others.extend(package.version.clone());
    }
}

/// Applies the build files of distributions, which count more than their package metadata.
fn apply_build_files<'a>(found: &mut SitePackagesByName<'a>, built: &BuildRecords<'a>) {
    for (site, evidence, placed) in built {
        let FileEvidence::Build { package, version, gpu, .. } = evidence else { continue };
        let variant = gpu.as_ref().and_then(variant_tag);
        // `cupy` says what `cupy-cuda12x` was built with.
        let of = |name: &str| {
            name == package.as_str() || name.strip_prefix(package.as_str()).is_some_and(|rest| rest.starts_with('-'))
        };
        let named = found.iter_mut().filter(|((manager, name), _)| *manager == PackageManager::Pip && of(name));
        let mut those: Vec<&mut SitePackage<'a>> = named.filter_map(|(_, sites)| sites.get_mut(&site.folder)).collect();
        for one in &mut those {
            // A leftover of another version would say nothing of it.
            let plain = version.as_ref().map(ExactVersion::public);
            let mut own = one.version.iter().chain(&one.others).map(ExactVersion::public);
            if plain.is_none_or(|plain| own.any(|own| is_same_version(plain, own))) {
                one.version = version.clone().or_else(|| one.version.take());
                one.variant.clone_from(&variant);
                one.placed = *placed;
            }
        }
        if those.is_empty()
            && let Some(version) = version
        {
            let (version, plain) = (Some(version.clone()), has_no_build_tag(Some(version)));
            let one = SitePackage { site: site.clone(), version, others: Vec::new(), variant, plain, placed: *placed };
            let sites = found.entry((PackageManager::Pip, package.clone())).or_default();
            sites.insert(site.folder.clone(), one);
        }
    }
}

/// Replaces the record of an editable install with that of its sources.
fn apply_editable_sources(sites: &mut BTreeMap<String, SitePackage<'_>>, folder: &str, url: &str) {
    let Some(sources) = url.strip_prefix("file://").map(|path| path.trim_matches('/')) else { return };
    let inside = |at: &&String| at.as_str() != folder && is_at_or_below(at, sources);
    let Some(at) = sites.keys().find(inside).cloned() else { return };
    if !sites.contains_key(folder) {
        return;
    }
    let Some(source) = sites.remove(&at) else { return };
    if let Some(record) = sites.get_mut(folder) {
        let site = record.site.clone();
        let version = source.version.or_else(|| record.version.clone());
        *record = SitePackage { site, version, ..source };
    }
}

/// Whether a version has no local build tag.
fn has_no_build_tag(version: Option<&ExactVersion>) -> bool {
    version.is_some_and(|version| version.local().is_none())
}

/// Returns the variant tag of a build: `cu124` for 12.4; `None` if only the major version is known.
fn variant_tag(gpu: &GpuBackend) -> Option<String> {
    match gpu {
        GpuBackend::Cuda(version) => {
            let mut parts = version.split('.').map(|part| part.parse::<u32>().ok());
            let (major, minor) = (parts.next()??, parts.next()??);
            (minor < 10).then(|| format!("cu{major}{minor}"))
        }
        GpuBackend::Rocm => Some("rocm".to_owned()),
        GpuBackend::Xpu => Some("xpu".to_owned()),
        GpuBackend::Cpu => Some(CPU_VARIANT.to_owned()),
    }
}

/// Whether the knowledge tables cover a package.
pub(in crate::extract) fn is_gpu_relevant(name: &str) -> bool {
    let knowledge = Knowledge::built_in();
    knowledge.framework(name).is_some()
        || knowledge.library_wheel(name).is_some()
        || knowledge.driver_package(name).is_some()
        || knowledge.runtime_package(name).is_some()
        || knowledge.library_packages().iter().any(|row| row.name == name)
        || knowledge.conda_variant(name).is_some()
        || knowledge.may_contain_libraries(name)
        || knowledge.torch_requirements_of(name).next().is_some()
}
