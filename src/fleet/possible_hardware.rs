//! The GPUs and the drivers that the nodes of a pool may have, where their pool leaves them open.
//!
//! A node works with its driver, so its GPU is one that the driver supports. One GPU represents all those that the
//! tables do not distinguish. Data-centre, workstation and consumer boards are considered; the GPUs of laptops,
//! mining rigs and parts of boards have to be declared.

use std::collections::{BTreeMap, BTreeSet};

use crate::cuda::{CudaVersion, DriverVersion};
use crate::fleet::{DriverSpec, GpuSpec, Launch, Mode, Pool};
use crate::knowledge::{GpuClass, GpuRow, How, Knowledge, RowInfo};

/// The maximum number of hosts of one pool; a fleet with a larger pool is an error.
pub(super) const MAX_HOSTS: usize = 4096;
/// The maximum number of hosts of a pool without a declared GPU; a larger pool gets one unknown GPU.
const MAX_HOSTS_WITHOUT_GPU: usize = MAX_HOSTS / 2;

/// A declared or possible GPU of a pool, with its row in the compatibility database.
#[derive(Clone, Copy)]
pub(super) struct PoolGpu<'a> {
    pub(super) spec: Option<&'a GpuSpec>,
    pub(super) row: Option<&'static GpuRow>,
}

impl PoolGpu<'_> {
    /// Whether it is one of the possible GPUs of a pool that declares none.
    pub(super) fn is_assumed(self) -> bool {
        self.spec.is_none() && self.row.is_some()
    }

    /// Whether it is the GPU of a Jetson module.
    pub(super) fn is_jetson(self) -> bool {
        self.row.is_some_and(|row| row.class == GpuClass::Jetson)
    }
}

/// The branch and the CUDA version of a driver version.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct DriverProperties {
    pub(super) branch: Option<u32>,
    pub(super) cuda: Option<CudaVersion>,
    /// The row with the CUDA version.
    pub(super) row: Option<&'static RowInfo>,
}

impl DriverProperties {
    /// Returns the properties of a driver version; Jetson Linux and Windows drivers are numbered differently.
    pub(super) fn for_driver(
        driver: Option<DriverVersion>,
        class: Option<GpuClass>,
        wsl: bool,
        knowledge: Knowledge,
    ) -> Self {
        let Some(driver) = driver else { return Self::default() };
        let release = knowledge.jetson_release(driver).filter(|_| class == Some(GpuClass::Jetson));
        if let Some(release) = release {
            return Self { branch: Some(driver.branch()), cuda: Some(release.cuda), row: Some(&release.info) };
        }
        let windows = knowledge.windows_driver(driver).filter(|_| wsl);
        let branch = windows.map_or(driver.branch(), |row| row.branch);
        let driver_cuda = match windows {
            Some(windows) => knowledge.driver_branch(branch).map(|row| (row.cuda, &windows.info)),
            None => knowledge.driver_cuda(driver),
        };
        Self { branch: Some(branch), cuda: driver_cuda.map(|(cuda, _)| cuda), row: driver_cuda.map(|(_, row)| row) }
    }
}

/// Returns all properties of a GPU that affect a container start; GPUs with equal keys are interchangeable.
pub(crate) fn gpu_equivalence_key(row: &GpuRow) -> impl Ord + use<> {
    let brands: Vec<_> = row.brands.iter().map(|brand| (brand.from_branch, brand.up_to_branch, brand.brand)).collect();
    (row.capability, row.class, row.forward_compat, brands, row.last_branch, row.arm64_host)
}

impl Pool {
    /// Returns the declared GPUs, else the possible ones, else one unknown GPU.
    pub(super) fn gpus(&self, knowledge: Knowledge) -> Vec<PoolGpu<'_>> {
        if !self.gpu.is_empty() {
            let gpus = self.gpu.iter().map(|gpu| &gpu.value);
            return gpus.map(|gpu| PoolGpu { spec: Some(gpu), row: knowledge.gpu(&gpu.name) }).collect();
        }
        let possible = self.possible_gpus(knowledge);
        if possible.is_empty() || self.host_count_for_gpus(&possible, knowledge) > MAX_HOSTS_WITHOUT_GPU {
            return vec![PoolGpu { spec: None, row: None }];
        }
        possible
    }

    /// Returns one possible GPU for each equivalence key.
    fn possible_gpus(&self, knowledge: Knowledge) -> Vec<PoolGpu<'_>> {
        let mut likenesses = BTreeSet::new();
        let rows = knowledge.gpus().iter().filter(|row| row.info.how != How::Memory && self.may_have_gpu(row));
        let own = rows.filter(|row| likenesses.insert(gpu_equivalence_key(row)));
        let gpus = own.map(|row| PoolGpu { spec: None, row: Some(row) });
        gpus.filter(|gpu| !self.possible_drivers(*gpu, knowledge).0.is_empty()).collect()
    }

    /// Whether the declared fields of the pool are compatible with a GPU.
    fn may_have_gpu(&self, row: &GpuRow) -> bool {
        let mode = self.mode.as_ref().map(|mode| mode.value);
        let arm64 = self.platform.as_ref().is_some_and(|platform| platform.value.starts_with("linux/arm64"));
        let classes: &[GpuClass] = match self.launch.as_ref().map(|launch| launch.value) {
            // That mode is for modules alone.
            _ if mode == Some(Mode::Csv) => &[GpuClass::Jetson],
            // A cloud has no boards for desks.
            Some(Launch::Gke) => &[GpuClass::DataCenter],
            _ => &[GpuClass::DataCenter, GpuClass::Consumer, GpuClass::Workstation],
        };
        // A board that is part of an arm64 machine makes no other; the others go into machines of either kind.
        let machine = arm64 || mode == Some(Mode::Csv) || !row.arm64_host;
        let capability = self.compute_capability.as_ref().is_none_or(|own| own.value == row.capability);
        let brand = self.brand.as_ref().is_none_or(|own| row.brands.iter().any(|brand| brand.brand == own.value));
        classes.contains(&row.class) && machine && capability && brand
    }

    /// Whether a node with a driver may have a GPU that its pool does not declare.
    fn may_support_gpu(&self, row: &GpuRow, driver: Option<DriverVersion>, knowledge: Knowledge) -> bool {
        if row.class == GpuClass::Jetson {
            let release = driver.and_then(|driver| knowledge.jetson_release(driver));
            return release.is_none_or(|release| release.capabilities.contains(&row.capability));
        }
        let wsl = self.wsl.as_ref().is_some_and(|wsl| wsl.value);
        // Of those that the pool's own words leave over, none drives it.
        let Some(branch) = DriverProperties::for_driver(driver, Some(row.class), wsl, knowledge).branch else {
            return false;
        };
        let known = knowledge.branch_supports(branch, row.capability).map(|(known, _)| known);
        // Of a branch that is newer than the tables it is only known what was dropped before.
        known.unwrap_or_else(|| row.last_branch.is_none_or(|last| branch <= last))
    }

    /// Returns the drivers to check for a GPU, and whether the declaration allows more than one.
    pub(super) fn possible_drivers(
        &self,
        gpu: PoolGpu<'_>,
        knowledge: Knowledge,
    ) -> (Vec<Option<DriverVersion>>, bool) {
        let mut drivers: Vec<Option<DriverVersion>> = Vec::new();
        let mut open = self.driver.len() > 1;
        for spec in &self.driver {
            let tried = match &spec.value {
                DriverSpec::Exact(version) => vec![*version],
                DriverSpec::Branch(branch) => boundary_releases(knowledge, |version| version.branch() == *branch)
                    .or_else(|| branch.to_string().parse().ok().map(|version| vec![version]))
                    .unwrap_or_default(),
                DriverSpec::Range { from, before } => {
                    let inside = |version: DriverVersion| {
                        from.is_none_or(|from| from <= version) && before.is_none_or(|before| version < before)
                    };
                    let mut tried = boundary_releases(knowledge, inside).unwrap_or_default();
                    tried.extend(from.iter().copied());
                    tried
                }
            };
            open |= tried.len() > 1;
            drivers.extend(tried.into_iter().map(Some));
        }
        drivers.sort();
        drivers.dedup();
        if drivers.is_empty() {
            drivers = self.drivers_for_gpu(gpu, knowledge);
            open = true;
        }
        if let Some(row) = gpu.row.filter(|_| gpu.is_assumed()) {
            drivers.retain(|driver| self.may_support_gpu(row, *driver, knowledge));
        }
        (drivers, open)
    }

    /// Returns the drivers to check where none is declared: the newest release of every branch that supports the GPU.
    /// The oldest release is added where the branch has the minimum driver of a CUDA version, or where `driver_cuda`
    /// is declared; without a known GPU the driver is unknown.
    fn drivers_for_gpu(&self, gpu: PoolGpu<'_>, knowledge: Knowledge) -> Vec<Option<DriverVersion>> {
        // A module's driver comes with its own release, and has none of these numbers.
        if gpu.row.is_some_and(|row| row.class == GpuClass::Jetson) {
            return vec![None];
        }
        let declared = self.driver_cuda.as_ref().map(|cuda| cuda.value.release());
        let overridden = self.compute_capability.as_ref().map(|capability| capability.value);
        let capability =
            gpu.spec.and_then(|gpu| gpu.compute_capability).or(overridden).or(gpu.row.map(|row| row.capability));
        let drives = |branch| capability.and_then(|capability| knowledge.branch_supports(branch, capability));
        let found: Vec<_> = knowledge
            .driver_branches()
            .iter()
            .filter(|row| drives(row.branch).is_some_and(|(known, _)| known))
            .filter(|row| declared.is_none_or(|declared| declared == row.cuda.release()))
            .flat_map(|row| {
                let floor = knowledge.minor_compat().iter().any(|floor| floor.min_driver.branch() == row.branch);
                let oldest = row.releases.first().filter(|_| declared.is_some() || floor);
                [oldest, row.releases.last()]
            })
            .flatten()
            .copied()
            .map(Some)
            .collect();
        if found.is_empty() { vec![None] } else { found }
    }

    /// Returns the number of possible hosts without creating them.
    pub(super) fn host_count(&self, knowledge: Knowledge) -> usize {
        self.host_count_for_gpus(&self.gpus(knowledge), knowledge)
    }

    /// Returns the number of possible hosts with certain GPUs.
    fn host_count_for_gpus(&self, gpus: &[PoolGpu<'_>], knowledge: Knowledge) -> usize {
        let (mut width, mut known) = (0_usize, BTreeMap::new());
        for gpu in gpus {
            let tegra = gpu.is_jetson();
            let of_launch = |launch: &Launch| self.launch_configurations(tegra, None, *launch, knowledge, None).len();
            let ways: usize =
                *known.entry(tegra).or_insert_with(|| self.candidate_launches().iter().map(of_launch).sum());
            width = width.saturating_add(ways.saturating_mul(self.possible_drivers(*gpu, knowledge).0.len()));
        }
        width
    }
}

/// Returns the first and the last known release of every branch that `inside` accepts; `None` where there is none.
fn boundary_releases(knowledge: Knowledge, inside: impl Fn(DriverVersion) -> bool) -> Option<Vec<DriverVersion>> {
    let mut found = Vec::new();
    for row in knowledge.driver_branches() {
        for releases in [row.releases, row.other_releases] {
            let mut known = releases.iter().copied().filter(|version| inside(*version));
            found.extend(known.next());
            found.extend(known.next_back());
        }
    }
    (!found.is_empty()).then_some(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fleet::{GpuNameLookup, PoolField, read_fleet};
    use crate::text::source::{SourceText, Sources};

    const ALL: &[GpuClass] = &[GpuClass::DataCenter, GpuClass::Consumer, GpuClass::Workstation];

    fn pool(text: &str) -> Pool {
        let text = SourceText::new("fleet.toml", format!("[[pool]]\nname = \"p\"\n{text}"));
        let source = Sources::default().add(text.clone());
        read_fleet(source, &text, &|_| GpuNameLookup::Known).expect("a fleet").pools.remove(0)
    }

    /// Returns the capabilities and classes of the GPUs of a pool's hosts; `None` for a host without a GPU.
    fn checked_gpus(text: &str) -> BTreeSet<Option<(String, GpuClass)>> {
        let hosts = pool(text).hosts(Knowledge::built_in(), None);
        let of = |gpu: &crate::fleet::HostGpu| Some((gpu.capability?.to_string(), gpu.class?));
        hosts.iter().map(|host| host.gpu.as_ref().and_then(of)).collect()
    }

    fn has_capability(found: &BTreeSet<Option<(String, GpuClass)>>, capability: &str) -> bool {
        found.iter().flatten().any(|(own, _)| own == capability)
    }

    #[test]
    fn driver_limits_the_possible_gpus_of_a_node() {
        for (driver, there, not_there) in [
            ("450.80.02", &["3.5", "7.0", "7.5", "8.0"][..], &["8.9", "9.0", "10.0", "12.0"][..]),
            ("535.161.08", &["5.0", "7.0", "8.0", "9.0"], &["3.5", "3.7", "10.0", "12.0"]),
            ("590.44.01", &["7.5", "9.0", "10.0", "12.0"], &["5.2", "6.1", "7.0"]),
            // Newer than the tables: what was dropped before stays out.
            ("9999.1", &["7.5", "12.0"], &["3.5", "7.0"]),
        ] {
            let found = checked_gpus(&format!("driver = \"{driver}\"\nlaunch = \"docker-gpus\"\ntoolkit = \"1.17.8\""));
            assert!(there.iter().all(|one| has_capability(&found, one)), "{driver}: {found:?}");
            assert!(!not_there.iter().any(|one| has_capability(&found, one)), "{driver}: {found:?}");
        }
    }

    #[test]
    fn other_pool_fields_limit_the_possible_gpus() {
        let gpus_for = |text: &str| checked_gpus(&format!("driver = \"570.86.15\"\ntoolkit = \"1.17.8\"\n{text}"));
        let classes =
            |text: &str| -> BTreeSet<GpuClass> { gpus_for(text).iter().flatten().map(|(_, class)| *class).collect() };
        assert_eq!(classes("launch = \"docker-gpus\"").into_iter().collect::<Vec<_>>(), ALL);
        assert_eq!(classes("launch = \"gke\""), BTreeSet::from([GpuClass::DataCenter]));
        let capable = gpus_for("launch = \"docker-gpus\"\ncompute_capability = \"8.6\"");
        assert!(capable.iter().all(|one| one.as_ref().is_some_and(|(own, _)| own == "8.6")), "{capable:?}");
        let geforce = classes("launch = \"docker-gpus\"\nbrand = \"geforce\"");
        assert_eq!(geforce, BTreeSet::from([GpuClass::Consumer]));
        let modules =
            checked_gpus("mode = \"csv\"\nlaunch = \"nvidia-runtime\"\ntoolkit = \"1.18.2\"\ndriver = \"540.4.0\"");
        assert!(
            modules.iter().flatten().all(|(_, class)| *class == GpuClass::Jetson) && has_capability(&modules, "8.7")
        );
        assert!(!has_capability(&modules, "5.3"), "{modules:?}");
    }

    #[test]
    fn gpus_of_arm64_machines_are_tried_only_on_arm64() {
        let arm64_hosts = |platform: &str| {
            let text = format!("driver = \"570.86.15\"\n{platform}");
            let pool = pool(&text);
            let gpus = pool.gpus(Knowledge::built_in());
            gpus.iter().filter(|gpu| gpu.row.is_some_and(|row| row.arm64_host)).count()
        };
        assert!(arm64_hosts("platform = \"linux/arm64\"") > 2);
        assert_eq!((arm64_hosts(""), arm64_hosts("platform = \"linux/amd64\"")), (0, 0));
    }

    /// A GPU that no table tells apart is tried once, and the pool is said to leave it open.
    #[test]
    fn one_gpu_represents_its_equivalents() {
        let hosts = pool("driver = \"535.161.08\"\nlaunch = \"docker-gpus\"\ntoolkit = \"1.17.8\"")
            .hosts(Knowledge::built_in(), None);
        let names: BTreeSet<&str> = hosts.iter().filter_map(|host| Some(host.gpu.as_ref()?.name.as_str())).collect();
        assert_eq!(names.len(), hosts.len());
        assert!(hosts.len() < 60, "{}", hosts.len());
        assert!(hosts.iter().all(|host| host.assumed == [PoolField::Gpu]));
        assert!(hosts.iter().all(|host| host.gpu.as_ref().is_some_and(|gpu| !gpu.named)));
    }

    /// What leaves too much open is not tried GPU by GPU, and stays within bounds.
    #[test]
    fn a_pool_with_few_properties_stays_within_bounds() {
        for text in ["", "driver = \">=418\"", "launch = \"docker-gpus\"", "platform = \"linux/arm64\""] {
            let pool = pool(text);
            assert!(pool.host_count(Knowledge::built_in()) <= MAX_HOSTS, "{text}");
            let hosts = pool.hosts(Knowledge::built_in(), Some(Knowledge::built_in().newest_source_date()));
            assert!(!hosts.is_empty() && hosts.len() < MAX_HOSTS, "{text}: {}", hosts.len());
            let named = hosts.iter().any(|host| host.gpu.as_ref().is_some_and(|gpu| gpu.named));
            assert!(!named, "{text}");
        }
        let unknown = |text: &str| checked_gpus(text).contains(&None);
        assert!(unknown("") && unknown("driver = \">=418\""));
        // A capability that no GPU has, and a driver that drives none.
        assert!(checked_gpus("driver = \"535.161.08\"\ncompute_capability = \"99.0\"").contains(&None));
        assert!(unknown("driver = \"540.4.0\"\nmode = \"csv\"\ncompute_capability = \"5.3\""));
    }
}
