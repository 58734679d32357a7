//! A framework with one build per version: its version, CUDA runtime and GPU code.

use jiff::civil::Date;

use crate::cuda::{CodeTarget, CudaVersion};
use crate::infer::base::{BaseBuild, BaseFamily};
use crate::infer::unknown_fact::add_unknown_fact;
use crate::infer::unread_installs::explain_possibly_installed;
use crate::knowledge::{
    FrameworkBuildRow, FrameworkImageRow, FrameworkRow, Knowledge, RowInfo, newest_framework_build,
};
use crate::model::cause::Cause;
use crate::model::fact::{
    CodeTargets, Component, Derivation, Evidence, FactId, FactKey, Facts, FrameworkErrorCodes, GpuCode,
    InspectionDepth, Observations, PrintedValue, TypedFact, ValueState,
};
use crate::model::package::{ExactVersion, IndexSelection, ObservedPackage, PackageManager, PackageVersion};

/// The architecture whose wheels have separate rows.
const ARM64: &str = "arm64";

/// What the build of a framework is inferred from, in addition to its package.
#[derive(Clone, Copy)]
pub(super) struct InferenceContext<'a> {
    pub(super) seen: &'a Observations,
    pub(super) build: &'a BaseBuild,
    pub(super) arch: &'a str,
    pub(super) as_of: Option<Date>,
    pub(super) knowledge: Knowledge,
}

/// Returns the component of a single-build framework that a command installs.
pub(super) fn component_of_package(
    facts: &mut Facts,
    framework: &'static FrameworkRow,
    package: &ObservedPackage,
    image: InferenceContext<'_>,
) -> Component {
    let name = framework.component;
    let read = Evidence::Derived { by: Derivation::Resolution, from: vec![package.fact], row: None };
    let local = package.requirement.version.local().is_some();
    let built = recorded_build(package, image.seen).or_else(|| dedicated_index_build(package, image.knowledge));
    let built = built.or_else(|| conda_cpu_build(package, image.seen));
    // What a base image ships need not be what the default index has.
    let of_index = package.requirement.manager == PackageManager::Pip && image.build.fact != Some(package.fact);
    // An installed build without CUDA is the only one, unless the user chose it.
    let only = built
        .is_none_or(|built| variant_cuda(built).is_none() && package.requirement.indexes == IndexSelection::Default);
    if framework.cpu_on.contains(&image.arch) && !local && of_index && only {
        return component_without_cuda(facts, framework, package, &framework.info);
    }
    let text = match (&package.conditional, &package.requirement.version) {
        (Some(why), _) => return unknown_component(facts, framework, package, why, None),
        (None, PackageVersion::Unresolved(why)) => {
            return component_of_any_version(facts, framework, package, why, image);
        }
        (None, PackageVersion::Exact(text)) => text,
        (None, PackageVersion::Range(range)) => {
            let tag = conda_cpu_build(package, image.seen);
            let range = if range.is_any() { "no version" } else { range.as_str() };
            let of_day =
                || Cause::VersionByDate { package: package.requirement.name.to_string(), specifier: range.to_string() };
            let why = explain_possibly_installed(image.seen, package).unwrap_or_else(of_day);
            if tag.is_some() {
                return unknown_component(facts, framework, package, &why, tag);
            }
            return component_of_any_version(facts, framework, package, &why, image);
        }
    };
    if let (IndexSelection::Unknown(why), InspectionDepth::Text, None) =
        (&package.requirement.indexes, image.seen.depth, built)
    {
        return unknown_component(facts, framework, package, why, None);
    }
    let version = text.public();
    let version_id = facts.add(FactKey::ComponentVersion, Some(name), known_text(version), read);
    if let Some(row) = image.build.compiled_package_row(package) {
        return component_compiled_for_image(facts, framework, (version, version_id), row, image);
    }
    if package.requirement.manager == PackageManager::Conda
        && image.seen.depth == InspectionDepth::Layers
        && built.is_none()
    {
        let why = Cause::CondaBuildWithoutCuda {
            package: package.requirement.name.to_string(),
            version: version.to_string(),
        };
        return unknown_component(facts, framework, package, &why, None);
    }
    match built {
        Some(variant) => {
            component_of_recorded_build(facts, framework, package, version_id, (&text.without_local(), variant), image)
        }
        None => component_from_build_row(facts, framework, package, text, version_id, image),
    }
}

/// Returns a framework that was compiled for the image that contains it: for its CUDA, and for the GPUs in its
/// recipe.
fn component_compiled_for_image(
    facts: &mut Facts,
    framework: &'static FrameworkRow,
    (version, version_id): (&str, FactId),
    row: &'static FrameworkImageRow,
    image: InferenceContext<'_>,
) -> Component {
    let name = framework.component;
    let evidence = || Evidence::Derived { by: Derivation::Row, from: vec![version_id], row: Some(&row.info) };
    let cuda = facts.add_typed(FactKey::ComponentCuda, Some(name), ValueState::Known(row.cuda), evidence());
    let container = CodeTargets { sass: row.sass.to_vec(), ptx: row.ptx.to_vec() };
    let listed = image.arch != ARM64 && !(container.sass.is_empty() && container.ptx.is_empty());
    let code = if listed {
        ValueState::Known(GpuCode::from(container))
    } else {
        ValueState::Unknown(Cause::BuildTargetsNotKnown {
            name: name.to_string(),
            version: version.to_string(),
            repository: row.repository.to_string(),
            tag: row.tag.to_string(),
        })
    };
    let code = facts.add_typed(FactKey::ComponentCode, Some(name), code, evidence());
    Component::new_core(name, cuda, code, code_wording(framework))
}

/// Returns the build of a package in the image, as the package itself records it.
fn recorded_build<'a>(package: &'a ObservedPackage, seen: &Observations) -> Option<&'a str> {
    package.variant.as_deref().filter(|_| seen.depth == InspectionDepth::Layers || seen.complete.packages)
}

/// Returns the conda CPU build that a command selects by its build string.
fn conda_cpu_build<'a>(package: &'a ObservedPackage, seen: &Observations) -> Option<&'a str> {
    let of_command = package.requirement.manager == PackageManager::Conda && seen.depth == InspectionDepth::Text;
    package.variant.as_deref().filter(|variant| of_command && variant_cuda(variant).is_none())
}

/// Returns the build from the dedicated index of a distribution, if the default index has no such release.
fn dedicated_index_build(package: &ObservedPackage, knowledge: Knowledge) -> Option<&str> {
    let PackageVersion::Exact(version) = &package.requirement.version else { return None };
    let own = !knowledge.project_indexes(&package.requirement.name).is_empty();
    let is_only_source = match &package.requirement.indexes {
        IndexSelection::Only(_) => true,
        IndexSelection::DefaultAndExtra(tags) => {
            tags.len() == 1 && knowledge.framework_build(&package.requirement.name, version).is_none()
        }
        IndexSelection::Default | IndexSelection::Unknown(_) => false,
    };
    package.variant.as_deref().filter(|_| own && is_only_source)
}

/// Returns a framework whose files record its build; its GPU code is that of the row if they agree.
fn component_of_recorded_build(
    facts: &mut Facts,
    framework: &'static FrameworkRow,
    package: &ObservedPackage,
    version_id: FactId,
    (version, variant): (&ExactVersion, &str),
    image: InferenceContext<'_>,
) -> Component {
    let (name, knowledge) = (framework.component, image.knowledge);
    let read = || Evidence::Derived { by: Derivation::Resolution, from: vec![package.fact], row: None };
    let variant_id = facts.add(FactKey::ComponentVariant, Some(name), known_text(variant), read());
    let codes = code_wording(framework);
    let Some(cuda) = variant_cuda(variant) else {
        let searched = "the build variant, which does not use CUDA";
        let from = if conda_cpu_build(package, image.seen).is_some() { variant_id } else { package.fact };
        let of_cuda = Evidence::Derived { by: Derivation::Resolution, from: vec![from], row: None };
        let cuda = facts.add_typed(FactKey::ComponentCuda, Some(name), ValueState::Absent { searched }, of_cuda);
        let code = facts.add_typed(FactKey::ComponentCode, Some(name), ValueState::Absent { searched }, read());
        return Component::new_core(name, cuda, code, codes);
    };
    let row = knowledge.framework_build(&package.requirement.name, version);
    // Data on a wheel does not apply to a conda build.
    let row = row.filter(|_| package.requirement.manager != PackageManager::Conda);
    let row = row.filter(|row| row.cuda.is_some_and(|own| own.release() == cuda.release()));
    let code = match row.and_then(|row| code_for_architecture(row, Some(version), image)) {
        Some((container, row)) => {
            let evidence = Evidence::Derived { by: Derivation::Row, from: vec![version_id], row: Some(row) };
            let code = ValueState::Known(GpuCode::from(container));
            facts.add_typed(FactKey::ComponentCode, Some(name), code, evidence)
        }
        None => unlisted_code(facts, name, &format!("{version}+{variant}"), version_id),
    };
    let cuda = facts.add_typed(FactKey::ComponentCuda, Some(name), ValueState::Known(cuda), read());
    Component::new_core(name, cuda, code, codes)
}

/// Returns the component of a distribution that has no CUDA build for the platform in any version.
pub(super) fn component_without_cuda(
    facts: &mut Facts,
    framework: &'static FrameworkRow,
    package: &ObservedPackage,
    row: &'static RowInfo,
) -> Component {
    let name = framework.component;
    let searched = "the builds for this platform, which do not use CUDA";
    let evidence = |from| Evidence::Derived { by: Derivation::Row, from: vec![from], row: Some(row) };
    let variant = facts.add(FactKey::ComponentVariant, Some(name), known_text("cpu"), evidence(package.fact));
    let cuda = facts.add_typed(FactKey::ComponentCuda, Some(name), ValueState::Absent { searched }, evidence(variant));
    let code = facts.add_typed(FactKey::ComponentCode, Some(name), ValueState::Absent { searched }, evidence(variant));
    Component::new_core(name, cuda, code, code_wording(framework))
}

/// Returns a framework of unknown version, with its CUDA if all versions have the same.
fn component_of_any_version(
    facts: &mut Facts,
    framework: &'static FrameworkRow,
    package: &ObservedPackage,
    why: &Cause,
    image: InferenceContext<'_>,
) -> Component {
    let knowledge = image.knowledge;
    if let Some(why) = image.as_of.and_then(|day| explain_unreleased(package, day, knowledge)) {
        return unknown_component(facts, framework, package, &why, None);
    }
    let mut component = unknown_component(facts, framework, package, why, None);
    // What may be there already is of any release and any build.
    let kept = explain_possibly_installed(image.seen, package).is_some();
    let own = image.build.fact != Some(package.fact) && !kept;
    // An older release of what has the extra may be there, which does not have it.
    let here = |name: &str| {
        image.seen.packages.iter().any(|one| one.requirement.name == name && one.command == package.command)
    };
    let mut rows = knowledge.gpu_dependencies_on(&package.requirement.name);
    let absent = kept && rows.any(|row| here(row.distribution));
    if let Some(row) = common_release_row(package, knowledge).filter(|_| own) {
        let evidence = |row| Evidence::Derived { by: Derivation::Row, from: vec![package.fact], row: Some(row) };
        let cuda = row.cuda.map_or(ValueState::Unknown(why.clone()), ValueState::Known);
        component.cuda = facts.add_typed(FactKey::ComponentCuda, Some(&component.name), cuda, evidence(&row.info));
        if let Some((container, row)) = code_for_architecture(row, row.version.map(|version| &**version), image) {
            let code = ValueState::Known(GpuCode::from(container));
            component.code = facts.add_typed(FactKey::ComponentCode, Some(&component.name), code, evidence(row));
        }
    } else if package.requirement.manager != PackageManager::Conda
        && let Some(row) = knowledge.framework_build_of_every_version(&package.requirement.name).filter(|_| !absent)
        && let Some(cuda) = row.cuda
    {
        let evidence = Evidence::Derived { by: Derivation::Row, from: vec![package.fact], row: Some(&row.info) };
        component.cuda =
            facts.add_typed(FactKey::ComponentCuda, Some(&component.name), ValueState::Known(cuda), evidence);
    }
    component
}

/// Returns the newest release in a bounded range if all releases in it have the same CUDA and code.
fn common_release_row(package: &ObservedPackage, knowledge: Knowledge) -> Option<&'static FrameworkBuildRow> {
    let PackageVersion::Range(range) = &package.requirement.version else { return None };
    let ends = range.is_bounded_above() && !range.names_build();
    let rows = knowledge.framework_releases_of(&package.requirement.name);
    let within: Vec<_> = rows.filter(|row| row.is_in_range(range)).collect();
    let first = within.first().filter(|row| ends && row.cuda.is_some() && row.code_known)?;
    let same = |row: &&FrameworkBuildRow| {
        (row.cuda, row.code_known, row.sass, row.ptx) == (first.cuda, first.code_known, first.sass, first.ptx)
    };
    newest_framework_build(within.iter().copied())
        .filter(|_| package.requirement.manager == PackageManager::Pip && within.iter().copied().all(|row| same(&row)))
}

/// Explains why a package is unknown on a date when no allowed release was released yet.
fn explain_unreleased(package: &ObservedPackage, day: Date, knowledge: Knowledge) -> Option<Cause> {
    let PackageVersion::Range(range) = &package.requirement.version else { return None };
    let rows = knowledge.framework_releases_of(&package.requirement.name);
    let mut days =
        rows.filter(|row| range.is_any() || row.is_in_range(range)).filter_map(|row| row.released).peekable();
    days.peek()?;
    days.all(|released| released > day)
        .then(|| Cause::NoReleaseOnDate { package: package.requirement.name.to_string(), day: day.to_string() })
}

/// Gives a package the CUDA of the component that it runs on; unknown if it is certainly built for another major
/// version.
pub(super) fn inherit_cuda(facts: &mut Facts, component: &mut Component, on: &Component, is_own_build: bool) {
    match (&component.cuda.state, &on.cuda.state) {
        (ValueState::Known(_), ValueState::Unknown(_)) => return,
        (ValueState::Known(own), ValueState::Known(there)) if is_own_build && own.major() != there.major() => {
            let from = vec![component.cuda.id, on.cuda.id];
            let evidence = Evidence::Derived { by: Derivation::Resolution, from, row: None };
            let name = component.name.clone();
            let why = Cause::RuntimeOfOtherCuda {
                package: name.clone(),
                built_for: *own,
                other: on.name.clone(),
                installed_for: *there,
                major: own.major(),
            };
            component.cuda = add_unknown_fact(facts, FactKey::ComponentCuda, Some(&name), why, evidence);
            return;
        }
        _ => {}
    }
    let mut of = |cuda: &TypedFact<CudaVersion>| {
        let evidence = Evidence::Derived { by: Derivation::Resolution, from: vec![cuda.id], row: None };
        facts.add_typed(FactKey::ComponentCuda, Some(&component.name), cuda.state.clone(), evidence)
    };
    // The last fact of a key is the one that holds.
    let of_release = on.possible_releases.iter().map(|one| {
        let (cuda, release) = (of(&one.cuda), one.release.clone());
        Component { cuda, release, possible_releases: Vec::new(), ..component.clone() }
    });
    let may_be: Vec<Component> = of_release.collect();
    let cuda = of(&on.cuda);
    *component = Component { cuda, possible_releases: may_be, ..component.clone() };
}

/// Returns a component of unknown version and build; its CUDA may be known from the selected index.
pub(super) fn unknown_component(
    facts: &mut Facts,
    framework: &'static FrameworkRow,
    package: &ObservedPackage,
    why: &Cause,
    tag: Option<&str>,
) -> Component {
    let name = framework.component;
    let read = Evidence::Derived { by: Derivation::Resolution, from: vec![package.fact], row: None };
    facts.add(FactKey::ComponentVersion, Some(name), ValueState::Unknown(why.clone()), read.clone());
    let code = add_unknown_fact(facts, FactKey::ComponentCode, Some(name), why.clone(), read.clone());
    let cuda = match tag.map(variant_cuda) {
        Some(Some(cuda)) => ValueState::Known(cuda),
        Some(None) => ValueState::Absent { searched: "the build variant, which does not use CUDA" },
        None => ValueState::Unknown(why.clone()),
    };
    // Of a build without CUDA it matters whether a command chose it.
    let variant = tag.filter(|_| matches!(cuda, ValueState::Absent { .. }));
    let variant = variant.map(|tag| facts.add(FactKey::ComponentVariant, Some(name), known_text(tag), read.clone()));
    let of_variant = |from| Evidence::Derived { by: Derivation::Resolution, from: vec![from], row: None };
    let cuda = facts.add_typed(FactKey::ComponentCuda, Some(name), cuda, variant.map_or(read, of_variant));
    Component::new_core(name, cuda, code, code_wording(framework))
}

/// Returns a framework whose distribution has one build per version.
fn component_from_build_row(
    facts: &mut Facts,
    framework: &'static FrameworkRow,
    package: &ObservedPackage,
    whole: &ExactVersion,
    version_id: FactId,
    image: InferenceContext<'_>,
) -> Component {
    let (name, knowledge) = (framework.component, image.knowledge);
    let (version, local) = (&whole.without_local(), whole.local().unwrap_or_default());
    // A wheel whose name contains its CUDA is of the release, for that CUDA.
    let own = variant_cuda(local.split('.').next().unwrap_or(local));
    // What holds for every version need not hold for one that came later, unless the name itself says it.
    let newer = knowledge.is_newer_framework(&package.requirement.name, version)
        && knowledge.cuda_of_name(&package.requirement.name).is_none();
    let row =
        knowledge.framework_build(&package.requirement.name, version).filter(|row| !newer || row.version.is_some());
    // The tables list builds of wheels; a build of conda may be for another CUDA, or for none.
    let of_conda = package.requirement.manager == PackageManager::Conda;
    let row = row.filter(|_| !of_conda);
    // If the base image has a framework, or a CUDA runtime is declared, the name of a CPU build proves nothing.
    let read = image.seen.depth == InspectionDepth::Layers;
    let plain = matches!(image.build.family, BaseFamily::Plain | BaseFamily::Cuda) && image.seen.cuda_runtime.is_none();
    let plain = plain || read;
    let row = row.filter(|row| row.cuda.is_some() || plain);
    let named = knowledge.cuda_of_version(&package.requirement.name, version.as_str()).filter(|_| row.is_none());
    let source_row = row.map(|row| &row.info).or(named.map(|(_, row)| row));
    let evidence = Evidence::Derived { by: Derivation::Row, from: vec![version_id], row: source_row };
    let listed_code = row.and_then(|row| code_for_architecture(row, Some(version), image));
    let listed_code = listed_code
        .map(|(code, row)| (own.map_or_else(|| code.clone(), |own| code_for_cuda_release(&code, own, knowledge)), row));
    let (own_name, own_version) = (package.requirement.name.clone(), version.to_string());
    let because = match row {
        Some(row) if row.cuda.is_some() && row.code_known => Cause::CodeForArchNotInTables {
            package: own_name.to_string(),
            version: own_version,
            arch: image.arch.to_owned(),
        },
        Some(row) if row.cuda.is_some() => {
            Cause::CodeOfReleaseNotInTables { package: own_name.to_string(), version: own_version }
        }
        _ if of_conda => Cause::CondaBuildNotInTables { package: own_name.to_string(), version: own_version },
        _ => knowledge.missing_version_cause(&package.requirement.name, version),
    };
    let why = Cause::FrameworkNotInTables { because: Box::new(because) };
    let (cuda, code) = match (row, image.seen.cuda_runtime.filter(|_| !read)) {
        (None, Some((cuda, _))) => (ValueState::Known(cuda), ValueState::Unknown(why)),
        (None, None) => match named {
            Some((cuda, _)) => (ValueState::Known(cuda), ValueState::Unknown(why)),
            None => (ValueState::Unknown(why.clone()), ValueState::Unknown(why)),
        },
        (Some(row), _) => {
            let cuda = own.or(row.cuda);
            let cuda =
                cuda.map_or(ValueState::Absent { searched: "the build, which does not use CUDA" }, ValueState::Known);
            let code = listed_code.clone().map(|(container, _)| ValueState::Known(GpuCode::from(container)));
            (cuda, code.unwrap_or(ValueState::Unknown(why)))
        }
    };
    let declared_runtime = image.seen.cuda_runtime.filter(|_| row.is_none() && !read);
    let of_cuda = match declared_runtime {
        Some((_, fact)) => Evidence::Derived { by: Derivation::Resolution, from: vec![fact], row: None },
        None => evidence.clone(),
    };
    let cuda = facts.add_typed(FactKey::ComponentCuda, Some(name), cuda, of_cuda);
    let of_code = match listed_code {
        Some((_, row)) => Evidence::Derived { by: Derivation::Row, from: vec![version_id], row: Some(row) },
        None => evidence,
    };
    let code = facts.add_typed(FactKey::ComponentCode, Some(name), code, of_code);
    Component::new_core(name, cuda, code, code_wording(framework))
}

/// Restricts GPU code to the targets that the compilers of a CUDA release support.
fn code_for_cuda_release(code: &CodeTargets, cuda: CudaVersion, knowledge: Knowledge) -> CodeTargets {
    let Some(row) = knowledge.target_set(cuda) else { return code.clone() };
    let made = |list: &[CodeTarget]| list.iter().filter(|target| row.targets.contains(target)).copied().collect();
    CodeTargets { sass: made(&code.sass), ptx: made(&code.ptx) }
}

/// Returns the GPU code of the wheel for the image's architecture, with its row; amd64 code does not apply to arm64.
fn code_for_architecture(
    row: &'static FrameworkBuildRow,
    version: Option<&ExactVersion>,
    image: InferenceContext<'_>,
) -> Option<(CodeTargets, &'static RowInfo)> {
    if image.arch == ARM64 && row.cuda.is_some() {
        let own = image.knowledge.framework_build_for(row.distribution, version?, image.arch)?;
        return Some((CodeTargets { sass: own.sass.to_vec(), ptx: own.ptx.to_vec() }, &own.info));
    }
    row.code_known.then(|| (CodeTargets { sass: row.sass.to_vec(), ptx: row.ptx.to_vec() }, &row.info))
}

/// Adds the fact that the GPU code of a build is not in the tables.
pub(super) fn unlisted_code(facts: &mut Facts, name: &str, build: &str, from: FactId) -> TypedFact<GpuCode> {
    let evidence = Evidence::Derived { by: Derivation::Row, from: vec![from], row: None };
    let why = Cause::CodeNotInTables { name: name.to_string(), build: build.to_string() };
    add_unknown_fact(facts, FactKey::ComponentCode, Some(name), why, evidence)
}

/// Returns a known text value.
pub(super) fn known_text(text: &str) -> ValueState<PrintedValue> {
    ValueState::Known(PrintedValue::Text(text.to_owned()))
}

/// Returns the error codes that a framework reports for missing GPU code and unusable PTX.
pub(super) fn code_wording(framework: &FrameworkRow) -> FrameworkErrorCodes {
    FrameworkErrorCodes { no_code: framework.no_code, bad_ptx: framework.bad_ptx }
}

/// Returns the CUDA version of a build variant: 12.4 for `cu124`; `None` for `cpu`, `rocm6.2`, `xpu`.
pub(crate) fn variant_cuda(variant: &str) -> Option<CudaVersion> {
    let digits = variant.strip_prefix("cu").filter(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()))?;
    let (major, minor) = digits.split_at_checked(digits.len().checked_sub(1)?)?;
    format!("{major}.{minor}").parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_digit_of_a_variant_is_the_cuda_minor() {
        for (variant, cuda) in [
            ("cu92", Some("9.2")),
            ("cu102", Some("10.2")),
            ("cu118", Some("11.8")),
            ("cu130", Some("13.0")),
            ("cpu", None),
            ("rocm6.2", None),
            ("cu", None),
            ("cu1", None),
            ("cxx11", None),
        ] {
            assert_eq!(variant_cuda(variant).map(|cuda| cuda.to_string()).as_deref(), cuda, "{variant}");
        }
    }
}
