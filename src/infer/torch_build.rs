//! A framework with several builds per version: its version, build, CUDA runtime and GPU code.

use crate::cause::Cause;
use crate::cuda::CudaVersion;
use crate::fact::{
    CodeTargets, Component, Derivation, Evidence, FactId, FactKey, Facts, GpuCode, ObservedPackage, TypedFact,
    ValueState,
};
use crate::infer::base::BaseBuild;
use crate::infer::single_build_framework::{code_wording, known_text, unknown_component, unlisted_code, variant_cuda};
use crate::infer::torch::{TorchBuilder, TorchInstall};
use crate::infer::{add_unknown_fact, torch_candidates};
use crate::knowledge::{FrameworkRow, Knowledge, RowInfo};

/// Returns the component of a framework in the base image.
#[expect(clippy::too_many_arguments, reason = "one call site; the arguments are what the tables are asked with")]
pub(super) fn component_in_base_image(
    facts: &mut Facts,
    framework: &'static FrameworkRow,
    version: &'static str,
    row: &'static RowInfo,
    build: &BaseBuild,
    from: &[FactId],
    arch: &str,
    knowledge: Knowledge,
) -> Component {
    let name = framework.component;
    let evidence = |row| Evidence::Derived { by: Derivation::Row, from: from.to_vec(), row: Some(row) };
    let version_id = facts.add(FactKey::ComponentVersion, Some(name), known_text(version), evidence(row));
    let (state, cuda_row) = match build.cuda {
        Some((cuda, row)) => (ValueState::Known(cuda), row),
        None => (ValueState::Unknown(build.explain_unknown("its CUDA runtime")), row),
    };
    let cuda = facts.add_typed(FactKey::ComponentCuda, Some(name), state, evidence(cuda_row));
    let code = match build.cuda {
        Some((cuda, _)) => {
            let maker = build.torch_channel.map_or(TorchBuilder::Wheel, TorchBuilder::Channel);
            infer_torch_code(facts, name, (version, &variant_name(cuda), maker), arch, version_id, knowledge)
        }
        None => unlisted_code(facts, name, version, version_id),
    };
    Component::new_core(name, cuda, code, code_wording(framework))
}

/// Returns the component of a multi-build framework as the commands install it.
pub(super) fn component_of_torch_install(
    facts: &mut Facts,
    framework: &'static FrameworkRow,
    brought: &TorchInstall<'_>,
    arch: &str,
    knowledge: Knowledge,
) -> Component {
    let name = framework.component;
    let package = brought.package;
    let version = match &brought.version {
        Ok(version) => version,
        Err(why) => {
            if let Some(component) =
                torch_candidates::component_from_candidates(facts, framework, brought, why, arch, knowledge)
            {
                return component;
            }
            let tag = brought.variant.as_ref().ok().and_then(Option::as_deref);
            return match tag.filter(|_| package.early.is_some()) {
                Some(tag) => prerelease_component(facts, framework, package, why, tag),
                None => unknown_component(facts, framework, package, why, tag),
            };
        }
    };
    let by = if brought.newest { Derivation::Newest } else { Derivation::Resolution };
    let row = brought.row.filter(|_| brought.newest || package.name != name);
    let from = std::iter::once(package.fact).chain(brought.told).collect();
    let read = Evidence::Derived { by, from, row };
    let version_id = facts.add(FactKey::ComponentVersion, Some(name), known_text(version), read);
    let of_table = || {
        let row = knowledge.torch_release(version)?;
        let default = row.default_variant.iter().find(|value| value.arch == arch)?;
        let of_index =
            knowledge.platform_without_cuda(&package.name, version, arch).filter(|_| package.variant.is_some());
        Some((default.value.to_owned(), of_index.unwrap_or(&row.info)))
    };
    let (variant, row) = match &brought.variant {
        Ok(Some(variant)) => (Ok(variant.clone()), None),
        Err(why) => (Err(why.clone()), None),
        Ok(None) => {
            let why = || Cause::TorchNotInTables { because: Box::new(knowledge.missing_version_cause(name, version)) };
            of_table().map_or_else(|| (Err(why()), None), |(variant, row)| (Ok(variant), Some(row)))
        }
    };
    let component = |cuda, code| Component::new_core(name, cuda, code, code_wording(framework));
    let from_version = Evidence::Derived { by: Derivation::Row, from: vec![version_id], row };
    let variant = match variant {
        Ok(variant) => variant,
        Err(why) => {
            let cuda = add_unknown_fact(facts, FactKey::ComponentCuda, Some(name), why.clone(), from_version.clone());
            let code = add_unknown_fact(facts, FactKey::ComponentCode, Some(name), why, from_version);
            return component(cuda, code);
        }
    };
    let variant_id = facts.add(FactKey::ComponentVariant, Some(name), known_text(&variant), from_version);
    let from_variant = Evidence::Derived { by: Derivation::Resolution, from: vec![variant_id], row: None };
    let Some(cuda) = variant_cuda(&variant) else {
        let searched = "the build variant, which does not use CUDA";
        let cuda =
            facts.add_typed(FactKey::ComponentCuda, Some(name), ValueState::Absent { searched }, from_variant.clone());
        let code = facts.add_typed(FactKey::ComponentCode, Some(name), ValueState::Absent { searched }, from_variant);
        return component(cuda, code);
    };
    let cuda = facts.add_typed(FactKey::ComponentCuda, Some(name), ValueState::Known(cuda), from_variant);
    let code = infer_torch_code(facts, name, (version, &variant, brought.maker), arch, variant_id, knowledge);
    component(cuda, code)
}

/// Returns the component of a pre-release from the index of one CUDA: its CUDA is known, its version and code are
/// not.
fn prerelease_component(
    facts: &mut Facts,
    framework: &'static FrameworkRow,
    package: &ObservedPackage,
    why: &Cause,
    tag: &str,
) -> Component {
    let name = framework.component;
    let derived = |from| Evidence::Derived { by: Derivation::Resolution, from: vec![from], row: None };
    let version =
        facts.add(FactKey::ComponentVersion, Some(name), ValueState::Unknown(why.clone()), derived(package.fact));
    let variant = facts.add(FactKey::ComponentVariant, Some(name), known_text(tag), derived(version));
    let component = unknown_component(facts, framework, package, why, Some(tag));
    match component.code.state {
        ValueState::Unknown(_) if variant_cuda(tag).is_some() => {
            let code = add_unknown_fact(facts, FactKey::ComponentCode, Some(name), why.clone(), derived(variant));
            Component { code, ..component }
        }
        _ => component,
    }
}

/// Infers the GPU code of a build; wheels and conda builds are listed separately.
fn infer_torch_code(
    facts: &mut Facts,
    name: &str,
    (version, variant, maker): (&str, &str, TorchBuilder<'_>),
    arch: &str,
    from: FactId,
    knowledge: Knowledge,
) -> TypedFact<GpuCode> {
    let wheel = || knowledge.torch_build(version, variant, arch).map(|row| (&row.info, row.sass, row.ptx));
    let (row, whose) = match maker {
        TorchBuilder::Wheel => (wheel(), String::new()),
        TorchBuilder::Channel(channel) => {
            let row = knowledge.conda_build(channel, version, variant).filter(|_| arch == "amd64");
            (row.map(|row| (&row.info, row.sass, row.ptx)), format!(" of conda channel {channel}"))
        }
        TorchBuilder::Unknown => (None, " of conda, channel unknown,".to_owned()),
    };
    let Some((info, sass, ptx)) = row else {
        return unlisted_code(facts, name, &format!("{version}+{variant} for {arch}{whose}"), from);
    };
    let evidence = Evidence::Derived { by: Derivation::Row, from: vec![from], row: Some(info) };
    let container = CodeTargets { sass: sass.to_vec(), ptx: ptx.to_vec() };
    facts.add_typed(FactKey::ComponentCode, Some(name), ValueState::Known(GpuCode::from(container)), evidence)
}

/// Returns the build variant of a CUDA version: `cu124` for 12.4.
fn variant_name(cuda: CudaVersion) -> String {
    format!("cu{}{}", cuda.major(), cuda.minor())
}
