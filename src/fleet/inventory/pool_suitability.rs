//! Whether a workload can be scheduled on a pool, by the labels that the pool declares and those that its nodes would
//! have. Undeclared properties exclude nothing.

use std::collections::BTreeSet;

use crate::cuda::{ComputeCapability, CudaVersion, DriverVersion};
use crate::fleet::cluster::{LabelCondition, LabelState, NodeRequirement, NodeRequirements};
use crate::fleet::inventory::fleet_file::matches_driver;
use crate::fleet::{DriverSpec, Fleet, GpuSpec, Pool, cluster};
use crate::knowledge::{GpuNameMatch, Knowledge};

/// Labels whose value names the GPU.
const PRODUCT_LABELS: &[&str] =
    &["nvidia.com/gpu.product", "cloud.google.com/gke-accelerator", "karpenter.k8s.aws/instance-gpu-name"];
/// Labels whose value is a machine type of a cloud provider.
const INSTANCE_TYPE_LABELS: &[&str] = &["node.kubernetes.io/instance-type", "beta.kubernetes.io/instance-type"];
/// The label for the full driver version.
const DRIVER_LABEL: &str = "nvidia.com/cuda.driver-version.full";
/// The label for the GPU family: one word, or two with a dash.
const FAMILY_LABEL: &str = "nvidia.com/gpu.family";
/// The suffix of a product whose GPUs are shared.
const SHARED_PRODUCT_SUFFIX: &str = "-SHARED";
/// The suffix of a MIG resource that is shared.
const SHARED_RESOURCE_SUFFIX: &str = ".shared";
/// The separator between product and MIG profile.
const MIG_PRODUCT_SEPARATOR: &str = "-MIG-";
/// The smallest value of the memory label in MiB, as a percentage of the memory in the name of the board.
const MIN_MEMORY_PERCENT: i64 = 90;

/// Whether a pool of a fleet may have nodes that match.
pub fn can_schedule_on_pool(nodes: &NodeRequirements, pool: &Pool, fleet: &Fleet, knowledge: Knowledge) -> bool {
    let known: BTreeSet<&str> = fleet.pools.iter().flat_map(|pool| &pool.labels).map(|(key, _)| key.as_str()).collect();
    let node_labels = PoolNodeLabels { pool, knowledge };
    nodes.may_be_fulfilled(|requirement| {
        let declared = pool.labels.iter().find(|(key, _)| *key == requirement.key);
        match declared {
            Some((_, value)) => requirement.holds.may_match_label(&LabelState::OneOf(vec![value.value.clone()])),
            None => node_labels.may_meet(requirement).unwrap_or_else(|| {
                // A label that no pool of the fleet declares decides nothing.
                !known.contains(requirement.key.as_str()) || requirement.holds.may_match_label(&LabelState::Absent)
            }),
        }
    })
}

/// The labels that nodes of a pool can have.
struct PoolNodeLabels<'a> {
    pool: &'a Pool,
    knowledge: Knowledge,
}

impl PoolNodeLabels<'_> {
    /// Whether the declared properties can meet a demand; `None` if they do not determine the label.
    fn may_meet(&self, requirement: &NodeRequirement) -> Option<bool> {
        let key = requirement.key.as_str();
        if PRODUCT_LABELS.contains(&key) {
            return Some(self.may_have_product(&requirement.holds));
        }
        if INSTANCE_TYPE_LABELS.contains(&key) {
            return Some(self.may_match_instance_type(&requirement.holds));
        }
        if let Some(profile) = key.strip_prefix(cluster::MIG_RESOURCE_PREFIX) {
            return Some(self.may_have_mig_profile(profile));
        }
        if key == DRIVER_LABEL {
            return Some(self.may_match_driver_version(&requirement.holds));
        }
        let label = self.label_from_pool(key)?;
        let first_word = |values: &[String]| -> Vec<String> {
            values.iter().map(|value| value.split('-').next().unwrap_or(value).to_owned()).collect()
        };
        Some(match &requirement.holds {
            LabelCondition::In(values) if key == FAMILY_LABEL => {
                LabelCondition::In(first_word(values)).may_match_label(&label)
            }
            LabelCondition::NotIn(values) if key == FAMILY_LABEL => {
                LabelCondition::NotIn(first_word(values)).may_match_label(&label)
            }
            holds => holds.may_match_label(&label),
        })
    }

    /// Returns the declared GPUs of the pool.
    fn gpus(&self) -> impl Iterator<Item = &GpuSpec> {
        self.pool.gpu.iter().map(|gpu| &gpu.value)
    }

    /// Whether a product label can meet the operator.
    fn may_have_product(&self, holds: &LabelCondition) -> bool {
        if self.pool.gpu.is_empty() {
            return true;
        }
        let whole = |value: &str| {
            let value = value.strip_suffix(SHARED_PRODUCT_SUFFIX).unwrap_or(value);
            value.split_once(MIG_PRODUCT_SEPARATOR).map_or(value, |(gpu, _)| gpu).to_owned()
        };
        let same = |gpu: &GpuSpec, value: &str| self.knowledge.compare_gpus(&gpu.name, &whole(value));
        // Not every pool declares whether its GPUs are shared or partitioned.
        let surely = |gpu: &GpuSpec, value: &String| {
            gpu.mig.is_none() && whole(value) == *value && same(gpu, value) == GpuNameMatch::Yes
        };
        match holds {
            LabelCondition::In(values) => {
                self.gpus().any(|gpu| values.iter().any(|value| same(gpu, value) != GpuNameMatch::No))
            }
            LabelCondition::NotIn(values) => self.gpus().any(|gpu| !values.iter().any(|value| surely(gpu, value))),
            // A name is no number, and nodes have labels only where that is set up.
            LabelCondition::Above(_) | LabelCondition::Below(_) => false,
            LabelCondition::Exists | LabelCondition::DoesNotExist | LabelCondition::Unknown => true,
        }
    }

    /// Whether nodes can offer MIG devices of a profile: false if the declaration or the tables exclude it for every
    /// GPU.
    fn may_have_mig_profile(&self, resource: &str) -> bool {
        let profile = resource.strip_suffix(SHARED_RESOURCE_SUFFIX).unwrap_or(resource);
        let of_pool = self.pool.compute_capability.as_ref().map(|own| own.value);
        let may_have = |gpu: &GpuSpec| self.knowledge.has_mig_profile(&gpu.name, profile) != Some(false);
        let may = |gpu: &GpuSpec| match gpu.mig.as_deref() {
            None => gpu.supports_mig(of_pool, self.knowledge) != Some(false) && may_have(gpu),
            // A resource is named after its profile, with a dot for each plus.
            Some("") => may_have(gpu),
            Some(own) => own.strip_prefix("MIG ").unwrap_or(own).replace('+', ".") == profile,
        };
        self.pool.gpu.is_empty() || self.gpus().any(may)
    }

    /// Whether a machine type label can meet the operator.
    fn may_match_instance_type(&self, holds: &LabelCondition) -> bool {
        let LabelCondition::In(values) = holds else { return true };
        let may = |gpu: &GpuSpec, value: &String| {
            self.knowledge.cloud_instance(value).is_none_or(|row| {
                let count = gpu.count.zip(row.count).is_none_or(|(own, of_type)| own == of_type);
                count && self.knowledge.compare_gpus(&gpu.name, row.gpu) != GpuNameMatch::No
            })
        };
        self.pool.gpu.is_empty() || self.gpus().any(|gpu| values.iter().any(|value| may(gpu, value)))
    }

    /// Whether the driver version label can meet the operator.
    fn may_match_driver_version(&self, holds: &LabelCondition) -> bool {
        let specs = || self.pool.driver.iter().map(|spec| &spec.value);
        let version = |value: &String| value.parse::<DriverVersion>().ok();
        let goes = |spec: &DriverSpec, value| version(value).is_some_and(|version| matches_driver(spec, version));
        if self.pool.driver.is_empty() {
            return true;
        }
        match holds {
            LabelCondition::In(values) => specs().any(|spec| values.iter().any(|value| goes(spec, value))),
            LabelCondition::NotIn(values) => specs().any(|spec| match spec {
                DriverSpec::Exact(own) => !values.iter().any(|value| version(value) == Some(*own)),
                DriverSpec::Branch(_) | DriverSpec::Range { .. } => true,
            }),
            // A version with dots is no number.
            LabelCondition::Above(_) | LabelCondition::Below(_) => false,
            LabelCondition::Exists | LabelCondition::DoesNotExist | LabelCondition::Unknown => true,
        }
    }

    /// Returns the possible values of a label that follows from declared properties; `None` for any other label.
    fn label_from_pool(&self, key: &str) -> Option<LabelState> {
        let part = |number: usize, of: &[&str]| of.contains(&key).then_some(number);
        if let Some(at) = key.strip_prefix("nvidia.com/cuda.driver").and_then(|rest| match rest {
            ".major" | "-version.major" => Some(0),
            ".minor" | "-version.minor" => Some(1),
            ".rev" | "-version.revision" => Some(2),
            _ => None,
        }) {
            return Some(self.driver_component(at));
        }
        if let Some(at) = part(0, &["nvidia.com/gpu.compute.major"]).or(part(1, &["nvidia.com/gpu.compute.minor"])) {
            return Some(label_of_values(
                self.compute_capabilities().map(|all| all.iter().map(|one| version_component(one, at)).collect()),
            ));
        }
        if let Some(rest) = key.strip_prefix("nvidia.com/cuda.runtime") {
            let cuda_versions = self.driver_cuda_versions();
            return match rest {
                "-version.full" => {
                    Some(label_of_values(cuda_versions.map(|all| all.iter().map(ToString::to_string).collect())))
                }
                ".major" | "-version.major" => Some(label_of_values(
                    cuda_versions.map(|all| all.iter().map(|one| version_component(one, 0)).collect()),
                )),
                ".minor" | "-version.minor" => Some(label_of_values(
                    cuda_versions.map(|all| all.iter().map(|one| version_component(one, 1)).collect()),
                )),
                _ => None,
            };
        }
        Some(match key {
            "nvidia.com/gpu.count" => label_of_values(
                self.for_every_gpu(|gpu| gpu.count.filter(|_| gpu.mig.is_none()).map(|count| count.to_string())),
            ),
            "nvidia.com/gpu.memory" => self.memory_label(),
            FAMILY_LABEL => label_of_values(self.for_every_gpu(|gpu| {
                let row = self.knowledge.gpu(&gpu.name).filter(|_| gpu.compute_capability.is_none())?;
                Some(row.architecture.to_lowercase())
            })),
            "kubernetes.io/arch" | "beta.kubernetes.io/arch" => {
                let platforms = self.pool.platforms(self.knowledge).into_iter();
                label_of_values(platforms.map(|platform| platform.split('/').nth(1).map(str::to_owned)).collect())
            }
            "nvidia.com/gpu.present" => LabelState::OneOf(vec!["true".to_owned()]),
            "kubernetes.io/os" | "beta.kubernetes.io/os" => LabelState::OneOf(vec!["linux".to_owned()]),
            _ => return None,
        })
    }

    /// Returns a property of every declared GPU; `None` if it is unknown for one.
    fn for_every_gpu<T>(&self, of: impl Fn(&GpuSpec) -> Option<T>) -> Option<Vec<T>> {
        self.gpus().map(of).collect()
    }

    /// Returns the compute capabilities of the pool; `None` if one is unknown.
    fn compute_capabilities(&self) -> Option<Vec<ComputeCapability>> {
        if let Some(own) = &self.pool.compute_capability {
            return Some(vec![own.value]);
        }
        let of = |gpu: &GpuSpec| gpu.compute_capability.or_else(|| Some(self.knowledge.gpu(&gpu.name)?.capability));
        self.for_every_gpu(of)
    }

    /// Returns the CUDA versions of the driver; `None` if one is unknown.
    fn driver_cuda_versions(&self) -> Option<Vec<CudaVersion>> {
        if let Some(own) = &self.pool.driver_cuda {
            return Some(vec![own.value]);
        }
        let of = |spec: &DriverSpec| match spec {
            DriverSpec::Exact(driver) => Some(self.knowledge.driver_cuda(*driver)?.0),
            DriverSpec::Branch(branch) => Some(self.knowledge.driver_branch(*branch)?.cuda),
            DriverSpec::Range { .. } => None,
        };
        self.pool.driver.iter().map(|spec| of(&spec.value)).collect()
    }

    /// Returns the possible values of one component of the driver version.
    fn driver_component(&self, at: usize) -> LabelState {
        let exact = |spec: &DriverSpec| match spec {
            DriverSpec::Exact(version) => Some(version_component(version, at)),
            DriverSpec::Branch(branch) if at == 0 => Some(branch.to_string()),
            DriverSpec::Branch(_) | DriverSpec::Range { .. } => None,
        };
        let [one] = self.pool.driver.as_slice() else {
            return label_of_values(self.pool.driver.iter().map(|spec| exact(&spec.value)).collect());
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
                LabelState::Between(from.map(|from| i64::from(from.branch())), before.as_ref().map(last))
            }
            spec => label_of_values(exact(spec).map(|text| vec![text])),
        }
    }

    /// Returns the range of the memory label, from the memory in the names of the boards.
    fn memory_label(&self) -> LabelState {
        let of = |gpu: &GpuSpec| {
            let mut words = gpu.name.split(|sign: char| !sign.is_ascii_alphanumeric()).map(str::to_ascii_lowercase);
            let gb = words.find_map(|word| word.strip_suffix("gb")?.parse::<i64>().ok())?;
            Some(gb.checked_mul(1024)?).filter(|_| gpu.mig.is_none())
        };
        let Some(all) = self.for_every_gpu(of) else { return LabelState::Unknown };
        match (all.iter().min(), all.iter().max()) {
            (Some(least), Some(most)) => LabelState::Between(Some(least / 100 * MIN_MEMORY_PERCENT), Some(*most)),
            _ => LabelState::Unknown,
        }
    }
}

/// Returns one component of a dotted version; empty if it has fewer.
fn version_component(version: &impl ToString, at: usize) -> String {
    version.to_string().split('.').nth(at).unwrap_or_default().to_owned()
}

/// Returns a label with one of these values; unknown if a value is missing.
fn label_of_values(values: Option<Vec<String>>) -> LabelState {
    values.filter(|values| !values.is_empty()).map_or(LabelState::Unknown, LabelState::OneOf)
}

#[cfg(test)]
#[path = "pool_suitability_tests.rs"]
mod tests;
