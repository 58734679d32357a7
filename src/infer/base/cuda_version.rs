//! The CUDA version of the base image.

use crate::cuda::CudaVersion;
use crate::infer::base::build::{BaseBuild, BaseFamily};
use crate::infer::nonexistent_cuda;
use crate::infer::unknown_fact::add_unknown_fact;
use crate::knowledge::Knowledge;
use crate::model::fact::{
    Derivation, EnvFacts, Evidence, FactKey, Facts, InspectionDepth, Observations, TypedFact, ValueState,
};

/// Infers the CUDA version of the base image, from its tag or from the variable that CUDA images set.
///
/// Of an image of which the configuration alone was read, a variable that is not set says nothing: its layers may hold any.
/// Where every layer was read, a runtime would have been seen.
pub(in crate::infer) fn infer_base_cuda(
    facts: &mut Facts,
    build: &BaseBuild,
    env: &EnvFacts,
    seen: &Observations,
    knowledge: Knowledge,
) -> TypedFact<CudaVersion> {
    if let Some((version, row)) = build.cuda {
        return facts.add_typed(FactKey::BaseCuda, None, ValueState::Known(version), build.row_evidence(Some(row)));
    }
    let variable = env.get("CUDA_VERSION");
    let evidence = Evidence::Derived { by: Derivation::Resolution, from: vec![variable.id], row: None };
    if let Some(state) = variable.known().and_then(|text| nonexistent_cuda::parse_existing_cuda(text, knowledge)) {
        return facts.add_typed(FactKey::BaseCuda, None, state, evidence);
    }
    // What a container is started with changes nothing of what lies in its image.
    let of_start =
        seen.depth == InspectionDepth::Layers && variable.is_unknown() && seen.base_changes.unread.env.is_some();
    let unset = (matches!(variable.state, ValueState::Absent { .. }) || of_start)
        && build.unresolved.is_none()
        && (!matches!(seen.depth, InspectionDepth::Config | InspectionDepth::Sbom | InspectionDepth::Layers)
            || seen.complete.files);
    if build.family == BaseFamily::Plain || unset {
        let searched = "the base image's family and CUDA_VERSION";
        return facts.add_typed(FactKey::BaseCuda, None, ValueState::Absent { searched }, evidence);
    }
    add_unknown_fact(facts, FactKey::BaseCuda, None, build.explain_unknown("the CUDA version of the base"), evidence)
}
