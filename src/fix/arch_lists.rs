//! Changes that add the GPUs of the pools to the lists of GPUs that programs and extensions are compiled for.

use crate::cuda::CudaVersion;
use crate::fix::fix_context::FixContext;
use crate::fix::proposed_change::PTX_SUFFIX;
use crate::fix::{FixCandidate, ProposedChange, base_image_tags};
use crate::model::outcome::Outcome;
use crate::report::kinds::{ChangeKind, FixSafety};

/// The largest number of other base images that are considered.
const MAX_BASES: usize = 4;

/// Returns candidates that add GPUs which the present compiler supports, with PTX for those that it does not.
pub(super) fn arch_list_candidates(case: &FixContext<'_>) -> Vec<FixCandidate> {
    let missing = missing_compute_capabilities(case);
    // A compiler that does not know them fails the build; with another or an unknown compiler the result is unknown.
    let cuda = case.image.base_cuda.known().copied();
    let known = |one: &String| cuda.is_none_or(|cuda| compiler_supports(case, cuda, one).unwrap_or(true));
    let (supported, beyond): (Vec<String>, Vec<String>) = missing.into_iter().partition(known);
    let mut found = Vec::new();
    for variable in arch_list_variables(case) {
        let with_ptx = (!beyond.is_empty()).then(|| add_ptx_for_newest(&supported));
        for add in [supported.clone()].into_iter().filter(|list| !list.is_empty()).chain(with_ptx) {
            found.push(FixCandidate {
                kind: ChangeKind::ArchList,
                step: found.len(),
                title: arch_list_title(variable, &add),
                safety: FixSafety::Safe,
                change: ProposedChange::ArchList { variable: variable.to_owned(), add },
            });
        }
    }
    found
}

/// Returns candidates that add all missing GPUs on the nearest base whose compiler supports them, if the present one
/// does not.
pub(super) fn arch_list_candidates_on_other_bases(case: &FixContext<'_>) -> Vec<FixCandidate> {
    let missing = missing_compute_capabilities(case);
    let knows_all = |cuda: CudaVersion| missing.iter().all(|one| compiler_supports(case, cuda, one) == Some(true));
    let own = case.image.base_cuda.known().is_none_or(|cuda| knows_all(*cuda));
    if missing.is_empty() || own {
        return Vec::new();
    }
    let bases = base_image_tags::base_tag_candidates(case)
        .into_iter()
        .filter(|base| base_image_tags::cuda_version_of_new_base(&base.change).is_some_and(knows_all));
    let bases: Vec<FixCandidate> = bases.take(MAX_BASES).collect();
    let with = |base: &FixCandidate, variable: &str| FixCandidate {
        kind: ChangeKind::BaseTag,
        step: base.step,
        title: format!("{}, and {}", base.title, arch_list_title(variable, &missing)),
        safety: base.safety,
        change: ProposedChange::All(vec![
            base.change.clone(),
            ProposedChange::ArchList { variable: variable.to_owned(), add: missing.clone() },
        ]),
    };
    let variables = arch_list_variables(case);
    bases.iter().flat_map(|base| variables.iter().map(move |variable| with(base, variable))).collect()
}

/// Returns the compute capabilities of the target pools, such as `9.0`, if native code is missing.
fn missing_compute_capabilities(case: &FixContext<'_>) -> Vec<String> {
    let mut missing: Vec<String> = Vec::new();
    if !case.has_outcome(Outcome::NoKernelImage) {
        return missing;
    }
    let knowledge = case.knowledge();
    for pool in case.target_pools() {
        let own = pool.compute_capability.as_ref().map(|one| one.value);
        let of_gpus = pool.gpu.iter().filter_map(|gpu| {
            gpu.value.compute_capability.or_else(|| knowledge.gpu(&gpu.value.name).map(|row| row.capability))
        });
        for capability in own.into_iter().chain(of_gpus) {
            let text = capability.to_string();
            if !missing.contains(&text) {
                missing.push(text);
            }
        }
    }
    missing
}

/// Returns the names of the variables and options that contain such lists.
fn arch_list_variables<'a>(case: &'a FixContext<'_>) -> Vec<&'a str> {
    let rows = case.knowledge().cuda_extensions().iter().filter(|row| !row.plain && !row.cmake);
    let seen = case.seen.base_changes.arch_lists.iter().map(|list| list.name.as_str());
    let mut variables: Vec<&str> = rows.map(|row| row.variable).chain(seen).collect();
    variables.sort_unstable();
    variables.dedup();
    variables
}

/// Whether the compiler of a CUDA release generates native code for a GPU; `None` if the tables do not list it.
fn compiler_supports(case: &FixContext<'_>, cuda: CudaVersion, capability: &str) -> Option<bool> {
    let sets = case.knowledge().target_sets_of(cuda);
    let mut targets = sets.iter().flat_map(|row| row.targets);
    (!sets.is_empty()).then(|| targets.any(|target| target.capability.to_string() == capability))
}

/// Returns the GPUs with PTX for the newest one; without GPUs, PTX for the newest that the list contains.
fn add_ptx_for_newest(capabilities: &[String]) -> Vec<String> {
    let number = |text: &String| text.parse::<CudaVersion>().ok();
    let mut add = capabilities.to_vec();
    add.sort_by_key(number);
    let newest = add.pop().unwrap_or_default();
    add.push(format!("{newest}{PTX_SUFFIX}"));
    add
}

/// Describes the GPUs that a change adds to a variable.
fn arch_list_title(variable: &str, add: &[String]) -> String {
    if let [one] = add
        && one == PTX_SUFFIX
    {
        return format!("add PTX of the newest GPU to {variable}");
    }
    format!("add {} to {variable}", add.join(" and ").replace(PTX_SUFFIX, " with PTX"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ptx_is_of_the_newest_gpu() {
        let of = |list: &[&str]| add_ptx_for_newest(&list.iter().map(|one| (*one).to_owned()).collect::<Vec<_>>());
        assert_eq!(of(&["9.0", "8.0"]), ["8.0", "9.0+PTX"]);
        assert_eq!(of(&["12.0", "9.0"]), ["9.0", "12.0+PTX"]);
        assert_eq!(of(&[]), ["+PTX"]);
        assert_eq!(arch_list_title("L", &of(&["9.0"])), "add 9.0 with PTX to L");
        assert_eq!(arch_list_title("L", &of(&[])), "add PTX of the newest GPU to L");
    }
}
