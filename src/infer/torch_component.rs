//! The component of torch: its version, build, CUDA runtime and GPU code; of a version range, what all releases that it
//! may be have in common.

use crate::cuda::CudaVersion;
use crate::infer::base::BaseBuild;
use crate::infer::single_build_framework::{code_wording, known_text, unknown_component, unlisted_code, variant_cuda};
use crate::infer::torch_release::{TorchBuilder, TorchInstall};
use crate::infer::unknown_fact::add_unknown_fact;
use crate::knowledge::{FrameworkRow, Knowledge, ParsedText, RowInfo, TorchBuildRow, TorchRow};
use crate::model::cause::Cause;
use crate::model::fact::{
    CodeTargets, Component, Derivation, Evidence, FactId, FactKey, Facts, FrameworkErrorCodes, GpuCode, PrintedValue,
    TypedFact, ValueState,
};
use crate::model::package::{ExactVersion, ObservedPackage};

/// Returns the component of a framework in the base image.
#[expect(clippy::too_many_arguments, reason = "one call site; the arguments are what the tables are asked with")]
pub(super) fn component_in_base_image(
    facts: &mut Facts,
    framework: &'static FrameworkRow,
    version: &ExactVersion,
    row: &'static RowInfo,
    build: &BaseBuild,
    from: &[FactId],
    arch: &str,
    knowledge: Knowledge,
) -> Component {
    let name = framework.component;
    let evidence = |row| Evidence::Derived { by: Derivation::Row, from: from.to_vec(), row: Some(row) };
    let version_id = facts.add(FactKey::ComponentVersion, Some(name), known_text(version.as_str()), evidence(row));
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
        None => unlisted_code(facts, name, version.as_str(), version_id),
    };
    Component::new_core(name, cuda, code, code_wording(framework))
}

/// Returns the component of a multi-build framework as the commands install it.
pub(super) fn component_of_torch_install(
    facts: &mut Facts,
    framework: &'static FrameworkRow,
    install: &TorchInstall<'_>,
    arch: &str,
    knowledge: Knowledge,
) -> Component {
    let name = framework.component;
    let package = install.package;
    let version = match &install.version {
        Ok(version) => version,
        Err(why) => {
            if let Some(component) = component_from_candidates(facts, framework, install, why, arch, knowledge) {
                return component;
            }
            let tag = install.variant.as_ref().ok().and_then(Option::as_deref);
            return match tag.filter(|_| package.requirement.prerelease.is_some()) {
                Some(tag) => prerelease_component(facts, framework, package, why, tag),
                None => unknown_component(facts, framework, package, why, tag),
            };
        }
    };
    let by = if install.newest { Derivation::Newest } else { Derivation::Resolution };
    let row = install.row.filter(|_| install.newest || package.requirement.name != name);
    let from = std::iter::once(package.fact).chain(install.deciding_fact).collect();
    let read = Evidence::Derived { by, from, row };
    let version_id = facts.add(FactKey::ComponentVersion, Some(name), known_text(version.as_str()), read);
    let of_table = || {
        let row = knowledge.torch_release(version)?;
        let default = row.default_variant.iter().find(|value| value.arch == arch)?;
        let of_index = knowledge
            .platform_without_cuda(&package.requirement.name, version, arch)
            .filter(|_| package.variant.is_some());
        Some((default.value.to_owned(), of_index.unwrap_or(&row.info)))
    };
    let (variant, row) = match &install.variant {
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
    let code = infer_torch_code(facts, name, (version, &variant, install.maker), arch, variant_id, knowledge);
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
    (version, variant, maker): (&ExactVersion, &str, TorchBuilder<'_>),
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
        TorchBuilder::Unread(why) => {
            let evidence = Evidence::Derived { by: Derivation::Resolution, from: vec![from], row: None };
            return add_unknown_fact(facts, FactKey::ComponentCode, Some(name), why.clone(), evidence);
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

/// What was searched if no candidate release has a CUDA build.
const SEARCHED_RELEASES: &str = "every possible release; none has a CUDA build here";

/// A release that torch may be, with its build.
struct TorchCandidate {
    release: &'static TorchRow,
    variant: String,
    code: Option<&'static TorchBuildRow>,
}

/// Returns a component of unknown version, with what all its candidates share; `None` if there are none.
fn component_from_candidates(
    facts: &mut Facts,
    framework: &'static FrameworkRow,
    install: &TorchInstall<'_>,
    why: &Cause,
    arch: &str,
    knowledge: Knowledge,
) -> Option<Component> {
    let chosen = install.variant.as_ref().ok()?;
    let candidates: Vec<TorchCandidate> = install
        .candidates
        .iter()
        .filter_map(|release| {
            let default = release.default_variant.iter().find(|value| value.arch == arch).map(|value| value.value);
            let there = |tag: &str| !tag.starts_with("cu") || arch != "amd64" || release.variants.contains(&tag);
            let variant = match chosen {
                Some(tag) => Some(tag.as_str()).filter(|tag| there(tag)),
                None => default,
            }?;
            let code =
                knowledge.torch_build(release.version, variant, arch).filter(|_| install.maker == TorchBuilder::Wheel);
            Some(TorchCandidate { release, variant: variant.to_owned(), code })
        })
        .collect();
    let may_be = if install.closed {
        components_per_candidate_kind(facts, framework, install, &candidates, arch, knowledge)
    } else {
        Vec::new()
    };
    let first = candidates.first()?;
    let name = framework.component;
    let row = first.code.map(|code| &code.info).filter(|_| chosen.is_some()).or(Some(&first.release.info));
    let read = Evidence::Derived { by: Derivation::Resolution, from: vec![install.package.fact], row: None };
    let version = facts.add(FactKey::ComponentVersion, Some(name), ValueState::Unknown(why.clone()), read);
    let from_version = |row| Evidence::Derived { by: Derivation::Row, from: vec![install.package.fact, version], row };
    let from_table = if chosen.is_none() { row } else { None };
    let variant = if candidates.iter().all(|one| one.variant == first.variant) {
        ValueState::Known(PrintedValue::Text(first.variant.clone()))
    } else {
        ValueState::Unknown(why.clone())
    };
    let variant = facts.add(FactKey::ComponentVariant, Some(name), variant, from_version(from_table));
    let cuda = add_common_cuda_fact(facts, name, &candidates, variant, why);
    let code = add_common_code_fact(facts, name, &candidates, variant, why);
    let codes = FrameworkErrorCodes { no_code: framework.no_code, bad_ptx: framework.bad_ptx };
    Some(Component { possible_releases: may_be, ..Component::new_core(name, cuda, code, codes) })
}

/// Returns the component as the newest release of each kind by CUDA and code; empty if all candidates are of one
/// kind.
///
/// Their facts precede those of the component, because the last fact of a key is the valid one.
fn components_per_candidate_kind(
    facts: &mut Facts,
    framework: &'static FrameworkRow,
    install: &TorchInstall<'_>,
    all: &[TorchCandidate],
    arch: &str,
    knowledge: Knowledge,
) -> Vec<Component> {
    let kind = |one: &TorchCandidate| (variant_cuda(&one.variant), one.code.map(|code| (code.sass, code.ptx)));
    let mut sorted: Vec<&TorchCandidate> = all.iter().collect();
    sorted.sort_by(|one, other| other.release.version.compare(one.release.version));
    let mut kinds: Vec<&TorchCandidate> = Vec::new();
    for one in sorted {
        if !kinds.iter().any(|other| kind(other) == kind(one)) {
            kinds.push(one);
        }
    }
    let decided = kinds.iter().filter(|_| kinds.len() > 1).map(|one| {
        let version = one.release.version;
        let row = Some(&one.release.info);
        let known = TorchInstall { version: Ok(version.cloned()), row, candidates: Vec::new(), ..install.clone() };
        let release = Some(format!("{} {version}", framework.component));
        Component { release, ..component_of_torch_install(facts, framework, &known, arch, knowledge) }
    });
    decided.collect()
}

/// Adds a fact about the CUDA version: known if all candidates have the same one, otherwise unknown.
fn add_common_cuda_fact(
    facts: &mut Facts,
    name: &str,
    all: &[TorchCandidate],
    from: FactId,
    why: &Cause,
) -> TypedFact<CudaVersion> {
    let mut versions: Vec<Option<CudaVersion>> = all.iter().map(|one| variant_cuda(&one.variant)).collect();
    versions.dedup();
    let evidence = Evidence::Derived { by: Derivation::Resolution, from: vec![from], row: None };
    match versions.as_slice() {
        [None] => facts.add_typed(
            FactKey::ComponentCuda,
            Some(name),
            ValueState::Absent { searched: SEARCHED_RELEASES },
            evidence,
        ),
        [Some(cuda)] => facts.add_typed(FactKey::ComponentCuda, Some(name), ValueState::Known(*cuda), evidence),
        _ => {
            let versions = || all.iter().map(|one| one.release.version);
            let oldest = versions().min_by(|one, other| one.compare(other));
            let newest = versions().max_by(|one, other| one.compare(other));
            let why = Cause::SeveralCandidates {
                because: Box::new(why.clone()),
                name: name.to_owned(),
                oldest: oldest.map_or("", ParsedText::as_str).to_owned(),
                newest: newest.map_or("", ParsedText::as_str).to_owned(),
            };
            add_unknown_fact(facts, FactKey::ComponentCuda, Some(name), why, evidence)
        }
    }
}

/// Adds a fact about the GPU code: known if all candidates have the same code, otherwise unknown.
fn add_common_code_fact(
    facts: &mut Facts,
    name: &str,
    all: &[TorchCandidate],
    from: FactId,
    why: &Cause,
) -> TypedFact<GpuCode> {
    let evidence = |row| Evidence::Derived { by: Derivation::Row, from: vec![from], row };
    if all.iter().all(|one| variant_cuda(&one.variant).is_none()) {
        return facts.add_typed(
            FactKey::ComponentCode,
            Some(name),
            ValueState::Absent { searched: SEARCHED_RELEASES },
            evidence(None),
        );
    }
    let same = |one: &TorchBuildRow, other: &TorchBuildRow| one.sass == other.sass && one.ptx == other.ptx;
    let rows: Option<Vec<&'static TorchBuildRow>> = all.iter().map(|one| one.code).collect();
    // The row with the weakest evidence represents all.
    let weakest = rows.as_deref().unwrap_or_default().iter().min_by_key(|row| row.info.how).copied();
    match (rows, weakest) {
        (Some(rows), Some(weakest)) if rows.iter().all(|row| same(row, weakest)) => {
            let container = CodeTargets { sass: weakest.sass.to_vec(), ptx: weakest.ptx.to_vec() };
            let state = ValueState::Known(GpuCode::from(container));
            facts.add_typed(FactKey::ComponentCode, Some(name), state, evidence(Some(&weakest.info)))
        }
        _ => add_unknown_fact(facts, FactKey::ComponentCode, Some(name), why.clone(), evidence(None)),
    }
}
