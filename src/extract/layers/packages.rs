//! Packages as the databases of their managers have them, with what Python distributions say they were built with.

use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::sync::Arc;

use crate::cuda::lies_below;
use crate::extract::layers::Audit;
use crate::extract::layers::python::Python;
use crate::extract::layers::same_version;
use crate::fact::FactKey;
use crate::fact::Manager;
use crate::fact::Offered;
use crate::fact::PackageSeen;
use crate::fact::PackageVersion;
use crate::fact::Value;
use crate::fact::Why;
use crate::installed;
use crate::installed::Evidence;
use crate::installed::Gpu;
use crate::installed::Package;
use crate::installed::Place;
use crate::installed::Site;
use crate::installed::place;
use crate::knowledge::Knowledge;
use crate::layer::EntryKind;
use crate::layer::LayerSeen;
use crate::layer::Placed;
use crate::layer::Tree;

/// So many packages of the system are told: NVIDIA's own repository has fewer names for one system.
const MOST_SYSTEM: usize = 1_000;

/// The build for processors alone.
const WITHOUT: &str = "cpu";

/// So many records of one package in one folder are told apart.
const MOST_RECORDS: usize = 8;

/// A Python distribution or conda package in one folder.
struct Found<'a> {
    site: Site,
    version: String,
    /// Versions that other records in the same folder say.
    others: Vec<String>,
    /// What it was built for.
    variant: Option<String>,
    /// Whether a record of it names no build: no index of builds had it under this name.
    plain: bool,
    /// The entry that says most of it.
    placed: Placed<'a>,
}

/// Whether nothing but records of packages lies in a folder: no program comes with them. Folders have no slash in front.
fn is_alone(tree: &Tree, folder: &str) -> bool {
    let beside = |path: &str| {
        let first = path.strip_prefix('/')?.strip_prefix(folder)?.strip_prefix('/')?.split('/').next()?;
        Some(!first.ends_with(".dist-info") && !first.ends_with(".egg-info"))
    };
    !tree.entries().any(|placed| beside(placed.path) == Some(true))
}

/// By who keeps the record and name, then by folder.
type ByName<'a> = BTreeMap<(installed::Manager, String), BTreeMap<String, Found<'a>>>;
/// What a build file says, by its folder.
type Built<'a> = Vec<(Site, &'a Evidence, Placed<'a>)>;

impl Audit<'_> {
    /// Every package that the tables have something to say of.
    pub(super) fn packages(&mut self, python: &Python) {
        let tree = self.tree;
        let (mut found, mut built, mut editable) = (ByName::new(), Built::new(), Vec::new());
        let mut order: Vec<(usize, PackageSeen)> = Vec::new();
        for placed in tree.entries() {
            let Some(here) = place(placed.path) else { continue };
            let list: &[Evidence] = match placed.kind {
                EntryKind::Read(list) => list,
                _ => &[],
            };
            let site = match here {
                Place::Kept => continue,
                Place::System => {
                    self.system(placed, list, &mut order);
                    continue;
                }
                Place::Site(site) => site,
                Place::Loose(folder) => Site { prefix: folder.clone(), folder, python: None },
            };
            for one in list {
                match one {
                    Evidence::Package(package) => put(&mut found, package, &site, placed),
                    Evidence::Build { .. } => built.push((site.clone(), one, placed)),
                    Evidence::NotInspected(why) => self.note(placed.path, why),
                    Evidence::Source { url, editable: true, .. } => {
                        let name = installed::named(placed.path).map(|package| package.name);
                        editable.extend(name.map(|name| (name, site.folder.clone(), url.as_str())));
                    }
                    _ => {}
                }
            }
            if let Some(package) = installed::named(placed.path) {
                put(&mut found, &package, &site, placed);
            }
        }
        add_builds(&mut found, &built);
        for (name, folder, url) in editable {
            if let Some(sites) = found.get_mut(&(installed::Manager::Python, name)) {
                from_sources(sites, &folder, url);
            }
        }
        for ((manager, name), mut sites) in found {
            // A build of conda for CUDA concerns a GPU whatever it is a build of.
            let for_cuda = |one: &Found<'_>| one.variant.as_deref().is_some_and(|variant| variant.starts_with("cu"));
            let of_conda = manager == installed::Manager::Conda && sites.values().any(for_cuda);
            if !of_conda && !concerns(&name) {
                continue;
            }
            if manager == installed::Manager::Python {
                sites.retain(|folder, one| one.site.prefix != *folder || !is_alone(tree, folder));
            }
            let counting = python.counting(sites.values().map(|one| &one.site));
            let those: Vec<&Found<'_>> = sites.values().filter(|one| counting.contains(&&one.site)).collect();
            let Some(first) = those.first() else { continue };
            let differs = those.iter().find(|one| one.version != first.version || one.variant != first.variant);
            let open = differs.map(|other| Why {
                reason: format!(
                    "several environments contain {name}: {} in /{} and {} in /{}",
                    first.version, first.site.folder, other.version, other.site.folder
                ),
                supply: "name the interpreter in ENTRYPOINT, or put its directory first on PATH".to_owned(),
            });
            let manager = if manager == installed::Manager::Conda { Manager::Conda } else { Manager::Pip };
            let of_all = those.iter().all(|one| one.variant == first.variant);
            if open.is_some() && manager == Manager::Pip {
                let own = Knowledge::built_in().framework(&name).map(|row| row.component.to_owned());
                let folders = those.iter().map(|one| one.site.folder.clone());
                self.several.entry(own.unwrap_or_else(|| name.clone())).or_default().extend(folders);
            }
            let package = self.package(manager, &name, first, open, of_all);
            order.push((first.placed.layer, package));
        }
        // conda's records first: what Python says of its own distributions is nearer to what it imports.
        order.sort_by_key(|(layer, package)| (package.manager != Manager::Conda, *layer));
        // What the history tells of layers that were not read lies between those below and those above.
        let told = std::mem::take(&mut self.seen.packages);
        let floor = self.floor();
        let (above, below): (Vec<_>, Vec<_>) = order.into_iter().partition(|(layer, _)| *layer >= floor);
        let plain = |list: Vec<(usize, PackageSeen)>| list.into_iter().map(|(_, package)| package);
        self.seen.packages.extend(plain(below).chain(told).chain(plain(above)));
    }

    /// A package; its build is told where it is the same `of_all` that may count, and nothing may have replaced it.
    fn package(
        &mut self,
        manager: Manager,
        name: &str,
        found: &Found<'_>,
        open: Option<Why>,
        of_all: bool,
    ) -> PackageSeen {
        let hidden = self.hidden(found.placed.layer);
        let fact = self.fact(FactKey::Package, name, Value::Text(found.version.clone()), found.placed);
        let mut package = PackageSeen::new(manager, name.to_owned(), said(&found.version), fact);
        if let Some(variant) = found.variant.as_ref().filter(|_| of_all && hidden.is_none()) {
            package.variant = Some(variant.clone());
            if found.plain && variant == WITHOUT {
                // Whether somebody chose it, its name does not say: that may be all that an index has.
                package.version = said(public(&found.version));
            } else {
                package.offered = Offered::Only(variant.clone());
            }
        }
        package.conditional = open.or(hidden);
        package
    }

    /// The database of the system's package manager.
    fn system(&mut self, placed: Placed<'_>, list: &[Evidence], order: &mut Vec<(usize, PackageSeen)>) {
        let mut wanted: BTreeSet<&Package> = BTreeSet::new();
        for one in list {
            let package = match one {
                Evidence::Package(package) => package,
                Evidence::NotInspected(why) => {
                    self.seen.complete.packages &= !is_database(placed.path);
                    self.note(placed.path, why);
                    continue;
                }
                _ => continue,
            };
            if concerns(&package.name) {
                wanted.insert(package);
            }
        }
        let room = MOST_SYSTEM.saturating_sub(order.len());
        if wanted.len() > room {
            self.seen.complete.packages = false;
            self.note(placed.path, &format!("the image contains more than {MOST_SYSTEM} packages that concern a GPU"));
        }
        let wanted: BTreeSet<&Package> = wanted.into_iter().take(room).collect();
        for (package, layer) in since(self.tree.layers(), placed, wanted) {
            let at = Placed { layer, ..placed };
            let fact = self.fact(FactKey::Package, &package.name, Value::Text(package.version.clone()), at);
            let mut seen = PackageSeen::new(Manager::Apt, package.name.clone(), said(&package.version), fact);
            seen.conditional = self.hidden(placed.layer);
            order.push((layer, seen));
        }
    }
}

/// The layer since which each package is in a database, which is written anew by each layer that installs something.
fn since<'a>(
    layers: &[Arc<LayerSeen>],
    placed: Placed<'_>,
    mut left: BTreeSet<&'a Package>,
) -> BTreeMap<&'a Package, usize> {
    let mut found: BTreeMap<&Package, usize> = left.iter().map(|package| (*package, placed.layer)).collect();
    for (index, layer) in layers.iter().enumerate().take(placed.layer + 1).rev() {
        match layer.entries.get(placed.path).map(|entry| &entry.kind) {
            Some(EntryKind::Read(list)) => {
                let there = list.iter().filter_map(|one| match one {
                    Evidence::Package(package) => left.get(package).copied(),
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

fn said(version: &str) -> PackageVersion {
    if version.is_empty() { PackageVersion::Open(String::new()) } else { PackageVersion::Exact(version.to_owned()) }
}

/// Whether a path is that of a database of packages, and no other file that the system has once.
fn is_database(path: &str) -> bool {
    ["/dpkg/", "/rpm/", "/apk/"].iter().any(|part| path.contains(part))
}

/// A record of a distribution; the one that says its version counts, and of those the first.
fn put<'a>(found: &mut ByName<'a>, package: &Package, site: &Site, placed: Placed<'a>) {
    let sites = found.entry((package.manager, package.name.clone())).or_default();
    let new = || {
        let (version, plain) = (package.version.clone(), is_plain(&package.version));
        let variant = package.build.as_deref().and_then(installed::built_for).as_ref().and_then(variant_of);
        // What a build string of conda says, conda's solver or somebody chose.
        let plain = plain && package.build.is_none();
        Found { site: site.clone(), version, others: Vec::new(), variant, plain, placed }
    };
    let one = sites.entry(site.folder.clone()).or_insert_with(new);
    if one.version.is_empty() {
        *one = new();
    } else if one.version != package.version && one.others.len() < MOST_RECORDS {
        one.others.push(package.version.clone());
    }
}

/// What distributions say they were built with counts more than what their records say.
fn add_builds<'a>(found: &mut ByName<'a>, built: &Built<'a>) {
    for (site, evidence, placed) in built {
        let Evidence::Build { package, version, gpu, .. } = evidence else { continue };
        let variant = gpu.as_ref().and_then(variant_of);
        // `cupy` says what `cupy-cuda12x` was built with.
        let of = |name: &str| {
            name == package || name.strip_prefix(package.as_str()).is_some_and(|rest| rest.starts_with('-'))
        };
        let named = found.iter_mut().filter(|((manager, name), _)| *manager == installed::Manager::Python && of(name));
        let mut those: Vec<&mut Found<'a>> = named.filter_map(|(_, sites)| sites.get_mut(&site.folder)).collect();
        for one in &mut those {
            // A leftover of another version would say nothing of it.
            let plain = version.as_deref().map(public);
            let mut own = std::iter::once(&one.version).chain(&one.others).map(|own| public(own));
            if plain.is_none_or(|plain| own.any(|own| same_version(plain, own))) {
                one.version = version.clone().unwrap_or_else(|| one.version.clone());
                one.variant.clone_from(&variant);
                one.placed = *placed;
            }
        }
        if those.is_empty()
            && let Some(version) = version
        {
            let (version, plain) = (version.clone(), is_plain(version));
            let one = Found { site: site.clone(), version, others: Vec::new(), variant, plain, placed: *placed };
            let sites = found.entry((installed::Manager::Python, package.clone())).or_default();
            sites.insert(site.folder.clone(), one);
        }
    }
}

/// A distribution that is imported from its sources is what these say, at the place of its record.
fn from_sources(sites: &mut BTreeMap<String, Found<'_>>, folder: &str, url: &str) {
    let Some(sources) = url.strip_prefix("file://").map(|path| path.trim_matches('/')) else { return };
    let inside = |at: &&String| at.as_str() != folder && lies_below(at, sources);
    let Some(at) = sites.keys().find(inside).cloned() else { return };
    if !sites.contains_key(folder) {
        return;
    }
    let Some(source) = sites.remove(&at) else { return };
    if let Some(record) = sites.get_mut(folder) {
        let site = record.site.clone();
        let version = if source.version.is_empty() { record.version.clone() } else { source.version };
        *record = Found { site, version, ..source };
    }
}

/// Whether a version is one that names no build.
fn is_plain(version: &str) -> bool {
    !version.is_empty() && !version.contains('+')
}

/// A version without its local part.
fn public(version: &str) -> &str {
    version.split('+').next().unwrap_or(version)
}

/// `cu124` of 12.4; none where only the major is said.
fn variant_of(gpu: &Gpu) -> Option<String> {
    match gpu {
        Gpu::Cuda(version) => {
            let mut parts = version.split('.').map(|part| part.parse::<u32>().ok());
            let (major, minor) = (parts.next()??, parts.next()??);
            (minor < 10).then(|| format!("cu{major}{minor}"))
        }
        Gpu::Rocm => Some("rocm".to_owned()),
        Gpu::Xpu => Some("xpu".to_owned()),
        Gpu::Cpu => Some(WITHOUT.to_owned()),
    }
}

/// Whether the tables have anything to say of a package.
pub(in crate::extract) fn concerns(name: &str) -> bool {
    let knowledge = Knowledge::built_in();
    knowledge.framework(name).is_some()
        || knowledge.library_wheel(name).is_some()
        || knowledge.driver_package(name).is_some()
        || knowledge.runtime_package(name).is_some()
        || knowledge.library_packages().iter().any(|row| row.name == name)
        || knowledge.conda_variant(name).is_some()
        || knowledge.carries_libraries(name)
        || knowledge.torch_pins_of(name).next().is_some()
}
