//! Whether a pool is where a workload may be placed: by the labels that the pool declares, else by what a node labels
//! itself with where it has what the pool declares. What a pool leaves open speaks against nothing.

use std::collections::BTreeSet;

use crate::cluster;
use crate::cluster::Demand;
use crate::cluster::Holds;
use crate::cluster::Label;
use crate::cluster::Nodes;
use crate::cuda::ComputeCapability;
use crate::cuda::CudaVersion;
use crate::cuda::DriverVersion;
use crate::fleet::DriverSpec;
use crate::fleet::Fleet;
use crate::fleet::GpuSpec;
use crate::fleet::Pool;
use crate::inventory::placed::goes_with;
use crate::knowledge::Knowledge;
use crate::knowledge::SameGpu;

/// Labels whose value names the GPU.
const PRODUCTS: &[&str] =
    &["nvidia.com/gpu.product", "cloud.google.com/gke-accelerator", "karpenter.k8s.aws/instance-gpu-name"];
/// Labels whose value is a machine type of a cloud.
const TYPES: &[&str] = &["node.kubernetes.io/instance-type", "beta.kubernetes.io/instance-type"];
/// The whole driver version.
const DRIVER: &str = "nvidia.com/cuda.driver-version.full";
/// The family of the GPU: one word, or two with a dash.
const FAMILY: &str = "nvidia.com/gpu.family";
/// What a product ends with where its GPUs are shared.
const SHARED: &str = "-SHARED";
/// What the resource of a slice ends with where it is shared.
const SHARED_SLICE: &str = ".shared";
/// What stands before the profile of a slice.
const SLICE: &str = "-MIG-";
/// Of the memory that is in a board's name, at least this part of a hundred is told by its label, in MiB.
const LEAST_MEMORY: i64 = 90;

/// Whether a pool of a fleet has nodes that may do.
pub fn suits(nodes: &Nodes, pool: &Pool, fleet: &Fleet, knowledge: Knowledge) -> bool {
    let known: BTreeSet<&str> = fleet.pools.iter().flat_map(|pool| &pool.labels).map(|(key, _)| key.as_str()).collect();
    let asked = Asked { pool, knowledge };
    nodes.fit(|demand| {
        let declared = pool.labels.iter().find(|(key, _)| *key == demand.key);
        match declared {
            Some((_, value)) => demand.holds.may(&Label::OneOf(vec![value.value.clone()])),
            None => asked.may(demand).unwrap_or_else(|| {
                // A label that no pool of the fleet declares says nothing.
                !known.contains(demand.key.as_str()) || demand.holds.may(&Label::Absent)
            }),
        }
    })
}

struct Asked<'a> {
    pool: &'a Pool,
    knowledge: Knowledge,
}

impl Asked<'_> {
    /// Whether a demand may be met by what the pool declares; none where that has nothing to do with the label.
    fn may(&self, demand: &Demand) -> Option<bool> {
        let key = demand.key.as_str();
        if PRODUCTS.contains(&key) {
            return Some(self.product(&demand.holds));
        }
        if TYPES.contains(&key) {
            return Some(self.machine_type(&demand.holds));
        }
        if let Some(profile) = key.strip_prefix(cluster::SLICE) {
            return Some(self.slices(profile));
        }
        if key == DRIVER {
            return Some(self.driver(&demand.holds));
        }
        let label = self.label(key)?;
        let first_word = |values: &[String]| -> Vec<String> {
            values.iter().map(|value| value.split('-').next().unwrap_or(value).to_owned()).collect()
        };
        Some(match &demand.holds {
            Holds::In(values) if key == FAMILY => Holds::In(first_word(values)).may(&label),
            Holds::NotIn(values) if key == FAMILY => Holds::NotIn(first_word(values)).may(&label),
            holds => holds.may(&label),
        })
    }

    fn gpus(&self) -> impl Iterator<Item = &GpuSpec> {
        self.pool.gpu.iter().map(|gpu| &gpu.value)
    }

    fn product(&self, holds: &Holds) -> bool {
        if self.pool.gpu.is_empty() {
            return true;
        }
        let whole = |value: &str| {
            let value = value.strip_suffix(SHARED).unwrap_or(value);
            value.split_once(SLICE).map_or(value, |(gpu, _)| gpu).to_owned()
        };
        let same = |gpu: &GpuSpec, value: &str| self.knowledge.same_gpu(&gpu.name, &whole(value));
        // Whether GPUs are shared or parted is not told by every pool.
        let surely = |gpu: &GpuSpec, value: &String| {
            gpu.mig.is_none() && whole(value) == *value && same(gpu, value) == SameGpu::Yes
        };
        match holds {
            Holds::In(values) => self.gpus().any(|gpu| values.iter().any(|value| same(gpu, value) != SameGpu::No)),
            Holds::NotIn(values) => self.gpus().any(|gpu| !values.iter().any(|value| surely(gpu, value))),
            // A name is no number, and nodes label themselves only where somebody has set that up.
            Holds::Above(_) | Holds::Below(_) => false,
            Holds::Exists | Holds::DoesNotExist | Holds::Untold => true,
        }
    }

    /// Whether nodes may offer slices of a profile: where the pool says that its GPUs are divided in this way, or does not
    /// say how, or leaves it open of GPUs that can be divided.
    /// No nodes may where the tables know that the GPU has no such profile.
    fn slices(&self, resource: &str) -> bool {
        let profile = resource.strip_suffix(SHARED_SLICE).unwrap_or(resource);
        let of_pool = self.pool.compute_capability.as_ref().map(|own| own.value);
        let may_have = |gpu: &GpuSpec| self.knowledge.has_slices(&gpu.name, profile) != Some(false);
        let may = |gpu: &GpuSpec| match gpu.mig.as_deref() {
            None => gpu.divisible(of_pool, self.knowledge) != Some(false) && may_have(gpu),
            // A resource is named after its profile, with a dot for each plus.
            Some("") => may_have(gpu),
            Some(own) => own.strip_prefix("MIG ").unwrap_or(own).replace('+', ".") == profile,
        };
        self.pool.gpu.is_empty() || self.gpus().any(may)
    }

    fn machine_type(&self, holds: &Holds) -> bool {
        let Holds::In(values) = holds else { return true };
        let may = |gpu: &GpuSpec, value: &String| {
            self.knowledge.cloud_instance(value).is_none_or(|row| {
                let count = gpu.count.zip(row.count).is_none_or(|(own, of_type)| own == of_type);
                count && self.knowledge.same_gpu(&gpu.name, row.gpu) != SameGpu::No
            })
        };
        self.pool.gpu.is_empty() || self.gpus().any(|gpu| values.iter().any(|value| may(gpu, value)))
    }

    fn driver(&self, holds: &Holds) -> bool {
        let specs = || self.pool.driver.iter().map(|spec| &spec.value);
        let version = |value: &String| value.parse::<DriverVersion>().ok();
        let goes = |spec: &DriverSpec, value| version(value).is_some_and(|version| goes_with(spec, version));
        if self.pool.driver.is_empty() {
            return true;
        }
        match holds {
            Holds::In(values) => specs().any(|spec| values.iter().any(|value| goes(spec, value))),
            Holds::NotIn(values) => specs().any(|spec| match spec {
                DriverSpec::Exact(own) => !values.iter().any(|value| version(value) == Some(*own)),
                DriverSpec::Branch(_) | DriverSpec::Range { .. } => true,
            }),
            // A version with dots is no number.
            Holds::Above(_) | Holds::Below(_) => false,
            Holds::Exists | Holds::DoesNotExist | Holds::Untold => true,
        }
    }

    /// What is known of a label that hangs on what pools declare; none of any other.
    fn label(&self, key: &str) -> Option<Label> {
        let part = |number: usize, of: &[&str]| of.contains(&key).then_some(number);
        if let Some(at) = key.strip_prefix("nvidia.com/cuda.driver").and_then(|rest| match rest {
            ".major" | "-version.major" => Some(0),
            ".minor" | "-version.minor" => Some(1),
            ".rev" | "-version.revision" => Some(2),
            _ => None,
        }) {
            return Some(self.driver_part(at));
        }
        if let Some(at) = part(0, &["nvidia.com/gpu.compute.major"]).or(part(1, &["nvidia.com/gpu.compute.minor"])) {
            return Some(one_of(self.capabilities().map(|all| all.iter().map(|one| dotted(one, at)).collect())));
        }
        if let Some(rest) = key.strip_prefix("nvidia.com/cuda.runtime") {
            let told = self.cuda();
            return match rest {
                "-version.full" => Some(one_of(told.map(|all| all.iter().map(ToString::to_string).collect()))),
                ".major" | "-version.major" => {
                    Some(one_of(told.map(|all| all.iter().map(|one| dotted(one, 0)).collect())))
                }
                ".minor" | "-version.minor" => {
                    Some(one_of(told.map(|all| all.iter().map(|one| dotted(one, 1)).collect())))
                }
                _ => None,
            };
        }
        Some(match key {
            "nvidia.com/gpu.count" => {
                one_of(self.of_gpus(|gpu| gpu.count.filter(|_| gpu.mig.is_none()).map(|count| count.to_string())))
            }
            "nvidia.com/gpu.memory" => self.memory(),
            FAMILY => one_of(self.of_gpus(|gpu| {
                let row = self.knowledge.gpu(&gpu.name).filter(|_| gpu.compute_capability.is_none())?;
                Some(row.architecture.to_lowercase())
            })),
            "kubernetes.io/arch" | "beta.kubernetes.io/arch" => {
                let platforms = self.pool.platforms(self.knowledge).into_iter();
                one_of(platforms.map(|platform| platform.split('/').nth(1).map(str::to_owned)).collect())
            }
            "nvidia.com/gpu.present" => Label::OneOf(vec!["true".to_owned()]),
            "kubernetes.io/os" | "beta.kubernetes.io/os" => Label::OneOf(vec!["linux".to_owned()]),
            _ => return None,
        })
    }

    /// What holds for each GPU of the pool; none where it is not known of one.
    fn of_gpus<T>(&self, of: impl Fn(&GpuSpec) -> Option<T>) -> Option<Vec<T>> {
        self.gpus().map(of).collect()
    }

    fn capabilities(&self) -> Option<Vec<ComputeCapability>> {
        if let Some(own) = &self.pool.compute_capability {
            return Some(vec![own.value]);
        }
        let of = |gpu: &GpuSpec| gpu.compute_capability.or_else(|| Some(self.knowledge.gpu(&gpu.name)?.capability));
        self.of_gpus(of)
    }

    /// The CUDA of the driver.
    fn cuda(&self) -> Option<Vec<CudaVersion>> {
        if let Some(own) = &self.pool.driver_cuda {
            return Some(vec![own.value]);
        }
        let of = |spec: &DriverSpec| match spec {
            DriverSpec::Exact(driver) => Some(self.knowledge.driver_cuda(*driver)?.0),
            DriverSpec::Branch(branch) => Some(self.knowledge.branch(*branch)?.cuda),
            DriverSpec::Range { .. } => None,
        };
        self.pool.driver.iter().map(|spec| of(&spec.value)).collect()
    }

    fn driver_part(&self, at: usize) -> Label {
        let exact = |spec: &DriverSpec| match spec {
            DriverSpec::Exact(version) => Some(dotted(version, at)),
            DriverSpec::Branch(branch) if at == 0 => Some(branch.to_string()),
            DriverSpec::Branch(_) | DriverSpec::Range { .. } => None,
        };
        let [one] = self.pool.driver.as_slice() else {
            return one_of(self.pool.driver.iter().map(|spec| exact(&spec.value)).collect());
        };
        match &one.value {
            DriverSpec::Range { from, before } if at == 0 => {
                let last = |before: &DriverVersion| {
                    let branch = i64::from(before.branch());
                    // A bound that is a branch alone leaves that branch out.
                    if before.to_string().split('.').skip(1).all(|part| part.trim_matches('0').is_empty()) {
                        branch - 1
                    } else {
                        branch
                    }
                };
                Label::Between(from.map(|from| i64::from(from.branch())), before.as_ref().map(last))
            }
            spec => one_of(exact(spec).map(|text| vec![text])),
        }
    }

    /// The memory of the boards whose name says it.
    fn memory(&self) -> Label {
        let of = |gpu: &GpuSpec| {
            let mut words = gpu.name.split(|sign: char| !sign.is_ascii_alphanumeric()).map(str::to_ascii_lowercase);
            let gb = words.find_map(|word| word.strip_suffix("gb")?.parse::<i64>().ok())?;
            Some(gb.checked_mul(1024)?).filter(|_| gpu.mig.is_none())
        };
        let Some(all) = self.of_gpus(of) else { return Label::Untold };
        match (all.iter().min(), all.iter().max()) {
            (Some(least), Some(most)) => Label::Between(Some(least / 100 * LEAST_MEMORY), Some(*most)),
            _ => Label::Untold,
        }
    }
}

/// One part of something with dots; empty where it has fewer.
fn dotted(version: &impl ToString, at: usize) -> String {
    version.to_string().split('.').nth(at).unwrap_or_default().to_owned()
}

/// One of these values; nothing is known where one of them is not.
fn one_of(values: Option<Vec<String>>) -> Label {
    values.filter(|values| !values.is_empty()).map_or(Label::Untold, Label::OneOf)
}

#[cfg(test)]
#[path = "suits_tests.rs"]
mod tests;
