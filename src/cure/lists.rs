//! GPUs of the pools, in lists of what programs and extensions are compiled for.

use crate::cuda::CudaVersion;
use crate::cure::Candidate;
use crate::cure::Kind;
use crate::cure::Wish;
use crate::cure::base;
use crate::cure::case::Case;
use crate::report::kinds::FixSafety;

/// What stands behind a GPU in a list of which PTX is wanted as well, as torch writes it; alone, PTX of the newest one.
pub(super) const WITH_PTX: &str = "+PTX";
/// On so many other bases they are tried.
const BASES: usize = 4;

/// More GPUs for the compiler that is there; for those that it does not know, PTX of the newest that it does.
pub(super) fn arch_lists(case: &Case<'_>) -> Vec<Candidate> {
    let missing = missing(case);
    // A compiler that does not know them ends the build; where another may be there, or none is known, nobody can tell.
    let cuda = case.image.base_cuda.known().copied();
    let known = |one: &String| cuda.is_none_or(|cuda| knows(case, cuda, one).unwrap_or(true));
    let (told, beyond): (Vec<String>, Vec<String>) = missing.into_iter().partition(known);
    let mut found = Vec::new();
    for variable in variables(case) {
        let with_ptx = (!beyond.is_empty()).then(|| with_ptx(&told));
        for add in [told.clone()].into_iter().filter(|list| !list.is_empty()).chain(with_ptx) {
            found.push(Candidate {
                kind: Kind::ArchList,
                step: found.len(),
                title: title(variable, &add),
                safety: FixSafety::Safe,
                wish: Wish::ArchList { variable: variable.to_owned(), add },
            });
        }
    }
    found
}

/// All GPUs that are missing, on the nearest other bases whose compiler knows them, where the own one does not.
pub(super) fn on_other_bases(case: &Case<'_>) -> Vec<Candidate> {
    let missing = missing(case);
    let knows_all = |cuda: CudaVersion| missing.iter().all(|one| knows(case, cuda, one) == Some(true));
    let own = case.image.base_cuda.known().is_none_or(|cuda| knows_all(*cuda));
    if missing.is_empty() || own {
        return Vec::new();
    }
    let bases = base::candidates(case).into_iter().filter(|base| base::cuda_of(&base.wish).is_some_and(knows_all));
    let bases: Vec<Candidate> = bases.take(BASES).collect();
    let with = |base: &Candidate, variable: &str| Candidate {
        kind: Kind::BaseTag,
        step: base.step,
        title: format!("{}, and {}", base.title, title(variable, &missing)),
        safety: base.safety,
        wish: Wish::All(vec![
            base.wish.clone(),
            Wish::ArchList { variable: variable.to_owned(), add: missing.clone() },
        ]),
    };
    let variables = variables(case);
    bases.iter().flat_map(|base| variables.iter().map(move |variable| with(base, variable))).collect()
}

/// The GPUs of the pools that changes are sought for, `9.0`, where code is what is missing.
fn missing(case: &Case<'_>) -> Vec<String> {
    let mut missing: Vec<String> = Vec::new();
    if !case.ends("no-kernel-image") {
        return missing;
    }
    let knowledge = case.knowledge();
    for pool in case.aimed() {
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

/// The variables and options with such lists.
fn variables<'a>(case: &'a Case<'_>) -> Vec<&'a str> {
    let rows = case.knowledge().cuda_extensions().iter().filter(|row| !row.plain && !row.cmake);
    let seen = case.seen.of_base.arch_lists.iter().map(|list| list.name.as_str());
    let mut variables: Vec<&str> = rows.map(|row| row.variable).chain(seen).collect();
    variables.sort_unstable();
    variables.dedup();
    variables
}

/// Whether the compiler of a release makes machine code for a GPU; none where the tables do not tell.
fn knows(case: &Case<'_>, cuda: CudaVersion, capability: &str) -> Option<bool> {
    let sets = case.knowledge().target_sets_of(cuda);
    let mut targets = sets.iter().flat_map(|row| row.targets);
    (!sets.is_empty()).then(|| targets.any(|target| target.capability.to_string() == capability))
}

/// The same GPUs with PTX of the newest; of none, PTX of the newest that the list has.
fn with_ptx(told: &[String]) -> Vec<String> {
    let number = |text: &String| text.parse::<CudaVersion>().ok();
    let mut add = told.to_vec();
    add.sort_by_key(number);
    let newest = add.pop().unwrap_or_default();
    add.push(format!("{newest}{WITH_PTX}"));
    add
}

fn title(variable: &str, add: &[String]) -> String {
    if let [one] = add
        && one == WITH_PTX
    {
        return format!("add PTX of the newest GPU to {variable}");
    }
    format!("add {} to {variable}", add.join(" and ").replace(WITH_PTX, " with PTX"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ptx_is_of_the_newest_gpu() {
        let of = |list: &[&str]| with_ptx(&list.iter().map(|one| (*one).to_owned()).collect::<Vec<_>>());
        assert_eq!(of(&["9.0", "8.0"]), ["8.0", "9.0+PTX"]);
        assert_eq!(of(&["12.0", "9.0"]), ["9.0", "12.0+PTX"]);
        assert_eq!(of(&[]), ["+PTX"]);
        assert_eq!(title("L", &of(&["9.0"])), "add 9.0 with PTX to L");
        assert_eq!(title("L", &of(&[])), "add PTX of the newest GPU to L");
    }
}
