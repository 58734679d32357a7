//! CUDA version numbers that were never released.

use crate::cuda::CudaVersion;
use crate::infer::unknown_fact::add_unknown_fact;
use crate::knowledge::Knowledge;
use crate::model::cause::Cause;
use crate::model::fact::{Component, Derivation, Evidence, FactKey, Facts, TypedFact, ValueState};

/// Makes the CUDA version of components unknown if no such release exists.
pub(super) fn reject_nonexistent_cuda(facts: &mut Facts, components: &mut [Component], knowledge: Knowledge) {
    for component in components {
        let name = component.name.clone();
        let releases = component.possible_releases.iter_mut().map(|one| &mut one.cuda);
        // The last fact of a key is the one that holds.
        for cuda in releases.chain([&mut component.cuda]) {
            if let Some(why) = cuda.known().and_then(|cuda| explain_nonexistent_cuda(*cuda, knowledge)) {
                *cuda = unknown_cuda_fact(facts, &name, cuda, why);
            }
        }
    }
}

/// Adds the fact of an unknown CUDA version of a component.
fn unknown_cuda_fact(
    facts: &mut Facts,
    name: &str,
    cuda: &TypedFact<CudaVersion>,
    why: Cause,
) -> TypedFact<CudaVersion> {
    let evidence = Evidence::Derived { by: Derivation::Resolution, from: vec![cuda.id], row: None };
    add_unknown_fact(facts, FactKey::ComponentCuda, Some(name), why, evidence)
}

/// Explains that a CUDA version does not exist; `None` if it does, or may be newer than the tables.
fn explain_nonexistent_cuda(cuda: CudaVersion, knowledge: Knowledge) -> Option<Cause> {
    knowledge.is_nonexistent_cuda(cuda).then(|| Cause::CudaDoesNotExist { cuda: cuda.to_string() })
}

/// Parses a CUDA version, unknown if there is no such release; `None` if the text is no version.
pub(super) fn parse_existing_cuda(text: &str, knowledge: Knowledge) -> Option<ValueState<CudaVersion>> {
    let cuda: CudaVersion = text.parse().ok()?;
    Some(explain_nonexistent_cuda(cuda, knowledge).map_or(ValueState::Known(cuda), ValueState::Unknown))
}
