//! The framework that has several builds a version: its version, build, CUDA runtime and GPU code.

use crate::cuda::CudaVersion;
use crate::fact::Component;
use crate::fact::Derivation;
use crate::fact::Evidence;
use crate::fact::Fact;
use crate::fact::FactId;
use crate::fact::FactKey;
use crate::fact::Facts;
use crate::fact::GpuCode;
use crate::fact::PackageSeen;
use crate::fact::Signature;
use crate::fact::State;
use crate::fact::Why;
use crate::infer::base::BaseBuild;
use crate::infer::candidates;
use crate::infer::framework::component_unknown;
use crate::infer::framework::known_text;
use crate::infer::framework::no_code_row;
use crate::infer::framework::variant_cuda;
use crate::infer::framework::wording;
use crate::infer::torch::Brought;
use crate::infer::torch::Maker;
use crate::infer::unknown;
use crate::knowledge::FrameworkRow;
use crate::knowledge::Knowledge;
use crate::knowledge::RowInfo;

/// A framework that the base image ships.
#[expect(clippy::too_many_arguments, reason = "one call site; the arguments are what the tables are asked with")]
pub(super) fn shipped(
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
        Some((cuda, row)) => (State::Known(cuda), row),
        None => (State::Unknown(build.unseen("its CUDA runtime")), row),
    };
    let cuda = facts.add_typed(FactKey::ComponentCuda, Some(name), state, evidence(cuda_row));
    let code = match build.cuda {
        Some((cuda, _)) => {
            let maker = build.torch_channel.map_or(Maker::Wheel, Maker::Channel);
            torch_code(facts, name, (version, &variant_of(cuda), maker), arch, version_id, knowledge)
        }
        None => no_code_row(facts, name, version, version_id),
    };
    Component::core(name, cuda, code, wording(framework))
}

/// The framework of several builds a version, as the commands brought it.
pub(super) fn brought(
    facts: &mut Facts,
    framework: &'static FrameworkRow,
    brought: &Brought<'_>,
    arch: &str,
    knowledge: Knowledge,
) -> Component {
    let name = framework.component;
    let package = brought.package;
    let version = match &brought.version {
        Ok(version) => version,
        Err(why) => {
            if let Some(component) = candidates::shared(facts, framework, brought, why, arch, knowledge) {
                return component;
            }
            let tag = brought.variant.as_ref().ok().and_then(Option::as_deref);
            return match tag.filter(|_| package.early.is_some()) {
                Some(tag) => early(facts, framework, package, why, tag),
                None => component_unknown(facts, framework, package, why, tag),
            };
        }
    };
    let by = if brought.newest { Derivation::Newest } else { Derivation::Resolution };
    let row = brought.row.filter(|_| brought.newest || package.name != name);
    let from = std::iter::once(package.fact).chain(brought.told).collect();
    let read = Evidence::Derived { by, from, row };
    let version_id = facts.add(FactKey::ComponentVersion, Some(name), known_text(version), read);
    let of_table = || {
        let row = knowledge.torch(version)?;
        let default = row.default_variant.iter().find(|value| value.arch == arch)?;
        let of_index = knowledge.without_cuda_on(&package.name, version, arch).filter(|_| package.variant.is_some());
        Some((default.value.to_owned(), of_index.unwrap_or(&row.info)))
    };
    let (variant, row) = match &brought.variant {
        Ok(Some(variant)) => (Ok(variant.clone()), None),
        Err(why) => (Err(why.clone()), None),
        Ok(None) => {
            let why = || Why {
                reason: knowledge.lacks_version(name, version),
                supply: "pin the build with its index, such as +cu124 from https://download.pytorch.org/whl/cu124, or \
                    describe its GPU code in an image description"
                    .to_owned(),
            };
            of_table().map_or_else(|| (Err(why()), None), |(variant, row)| (Ok(variant), Some(row)))
        }
    };
    let component = |cuda, code| Component::core(name, cuda, code, wording(framework));
    let from_version = Evidence::Derived { by: Derivation::Row, from: vec![version_id], row };
    let variant = match variant {
        Ok(variant) => variant,
        Err(why) => {
            let cuda = unknown(facts, FactKey::ComponentCuda, Some(name), why.clone(), from_version.clone());
            let code = unknown(facts, FactKey::ComponentCode, Some(name), why, from_version);
            return component(cuda, code);
        }
    };
    let variant_id = facts.add(FactKey::ComponentVariant, Some(name), known_text(&variant), from_version);
    let from_variant = Evidence::Derived { by: Derivation::Resolution, from: vec![variant_id], row: None };
    let Some(cuda) = variant_cuda(&variant) else {
        let searched = "the build variant, which does not use CUDA";
        let cuda =
            facts.add_typed(FactKey::ComponentCuda, Some(name), State::Absent { searched }, from_variant.clone());
        let code = facts.add_typed(FactKey::ComponentCode, Some(name), State::Absent { searched }, from_variant);
        return component(cuda, code);
    };
    let cuda = facts.add_typed(FactKey::ComponentCuda, Some(name), State::Known(cuda), from_variant);
    let code = torch_code(facts, name, (version, &variant, brought.maker), arch, variant_id, knowledge);
    component(cuda, code)
}

/// A build of no release, from the index of one CUDA: that is known of it, and neither which it is nor its code.
fn early(
    facts: &mut Facts,
    framework: &'static FrameworkRow,
    package: &PackageSeen,
    why: &Why,
    tag: &str,
) -> Component {
    let name = framework.component;
    let derived = |from| Evidence::Derived { by: Derivation::Resolution, from: vec![from], row: None };
    let version = facts.add(FactKey::ComponentVersion, Some(name), State::Unknown(why.clone()), derived(package.fact));
    let variant = facts.add(FactKey::ComponentVariant, Some(name), known_text(tag), derived(version));
    let component = component_unknown(facts, framework, package, why, Some(tag));
    match component.code.state {
        State::Unknown(_) if variant_cuda(tag).is_some() => {
            let code = unknown(facts, FactKey::ComponentCode, Some(name), why.clone(), derived(variant));
            Component { code, ..component }
        }
        _ => component,
    }
}

/// The code of a build: what is known of a wheel says nothing of one of conda.
fn torch_code(
    facts: &mut Facts,
    name: &str,
    (version, variant, maker): (&str, &str, Maker<'_>),
    arch: &str,
    from: FactId,
    knowledge: Knowledge,
) -> Fact<GpuCode> {
    let wheel = || knowledge.torch_build(version, variant, arch).map(|row| (&row.info, row.sass, row.ptx));
    let (row, whose) = match maker {
        Maker::Wheel => (wheel(), String::new()),
        Maker::Channel(channel) => {
            let row = knowledge.conda_build(channel, version, variant).filter(|_| arch == "amd64");
            (row.map(|row| (&row.info, row.sass, row.ptx)), format!(" of conda channel {channel}"))
        }
        Maker::Unknown => (None, " of conda, channel unknown,".to_owned()),
    };
    let Some((info, sass, ptx)) = row else {
        return no_code_row(facts, name, &format!("{version}+{variant} for {arch}{whose}"), from);
    };
    let evidence = Evidence::Derived { by: Derivation::Row, from: vec![from], row: Some(info) };
    let container = Signature { sass: sass.to_vec(), ptx: ptx.to_vec() };
    facts.add_typed(FactKey::ComponentCode, Some(name), State::Known(GpuCode::from(container)), evidence)
}

/// `cu124` for 12.4.
fn variant_of(cuda: CudaVersion) -> String {
    format!("cu{}{}", cuda.major(), cuda.minor())
}
