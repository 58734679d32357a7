//! Numbers of CUDA releases that there never were: whatever they come from, they tell none.

use crate::cuda::CudaVersion;
use crate::fact::Component;
use crate::fact::Derivation;
use crate::fact::Evidence;
use crate::fact::Fact;
use crate::fact::FactKey;
use crate::fact::Facts;
use crate::fact::State;
use crate::fact::Why;
use crate::infer::unknown;
use crate::knowledge::Knowledge;

/// Makes the CUDA of every component unknown whose number is none.
pub(super) fn taken_back(facts: &mut Facts, components: &mut [Component], knowledge: Knowledge) {
    for component in components {
        let name = component.name.clone();
        let releases = component.may_be.iter_mut().map(|one| &mut one.cuda);
        // The last fact of a key is the one that holds.
        for cuda in releases.chain([&mut component.cuda]) {
            if let Some(why) = cuda.known().and_then(|cuda| never_was(*cuda, knowledge)) {
                *cuda = of_none(facts, &name, cuda, why);
            }
        }
    }
}

fn of_none(facts: &mut Facts, name: &str, cuda: &Fact<CudaVersion>, why: Why) -> Fact<CudaVersion> {
    let evidence = Evidence::Derived { by: Derivation::Resolution, from: vec![cuda.id], row: None };
    unknown(facts, FactKey::ComponentCuda, Some(name), why, evidence)
}

/// Why a number tells no CUDA; none where there is such a release, or may be one that the tables do not have yet.
pub(super) fn never_was(cuda: CudaVersion, knowledge: Knowledge) -> Option<Why> {
    knowledge.never_was(cuda).then(|| Why {
        reason: format!("CUDA {cuda} does not exist"),
        supply: "set `cuda_runtime` to the release of the CUDA runtime in an image description".to_owned(),
    })
}

/// What a text says of a CUDA; none where it is no version.
pub(super) fn told(text: &str, knowledge: Knowledge) -> Option<State<CudaVersion>> {
    let cuda: CudaVersion = text.parse().ok()?;
    Some(never_was(cuda, knowledge).map_or(State::Known(cuda), State::Unknown))
}
