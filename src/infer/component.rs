//! The components of an image: what can start or fail separately, with its CUDA runtime and GPU code.

use std::collections::BTreeMap;

use jiff::civil::Date;

use crate::cuda::{CudaVersion, split_path};
use crate::infer::base::BaseBuild;
use crate::infer::single_build_framework::{
    InferenceContext, code_wording, component_of_package, inherit_cuda, variant_cuda,
};
use crate::infer::torch_component::{component_in_base_image, component_of_torch_install};
use crate::infer::torch_release::ImageTorch;
use crate::infer::unknown_fact::add_unknown_fact;
use crate::infer::{build_choice, compiled_for_torch, library_per_cuda, mismatched_cuda, runtime_packages, torch};
use crate::knowledge::{Knowledge, TargetSetRow};
use crate::model::cause::Cause;
pub(super) use crate::model::fact::CUDA_RUNTIME_COMPONENT;
use crate::model::fact::{
    CodeTargets, Component, ComponentRole, Derivation, Evidence, FactId, FactKey, Facts, FrameworkErrorCodes, GpuCode,
    InspectionDepth, Observations, ObservedGpuCode, TypedFact, UnknownCodeKind, ValueState,
};
use crate::model::package::{ExactVersion, IndexSelection, ObservedPackage, PackageManager, PackageVersion};

/// The error codes that the CUDA runtime itself reports for missing GPU code and for unusable PTX.
pub(super) const CUDA_RUNTIME_ERROR_CODES: FrameworkErrorCodes = FrameworkErrorCodes { no_code: 209, bad_ptx: 222 };

/// Infers all components of an image, core ones first.
pub(super) fn infer_components(
    facts: &mut Facts,
    seen: &Observations,
    build: &BaseBuild,
    base_cuda: &TypedFact<CudaVersion>,
    arch: &str,
    as_of: Option<Date>,
    knowledge: Knowledge,
) -> Vec<Component> {
    let mut code: CodeByComponent<'_> = BTreeMap::new();
    for entry in &seen.code {
        code.entry(entry.component.as_deref().unwrap_or(CUDA_RUNTIME_COMPONENT)).or_default().push(entry);
    }
    let image = InferenceContext { seen, build, arch, as_of, knowledge };
    let mut list = package_components(facts, image);
    apply_measured_code(facts, &mut list, &mut code, image);
    let own_code = code.remove(CUDA_RUNTIME_COMPONENT);
    let named = components_of_code_files(facts, code, base_cuda, !list.is_empty(), image);
    list.extend(named);
    let own = image_component(facts, own_code.as_deref(), base_cuda, list.is_empty(), image);
    list.extend(own);
    if list.is_empty() {
        list.extend(runtime_packages::runtime_component(facts, seen, CUDA_RUNTIME_ERROR_CODES, knowledge));
    }
    list.sort_by(|a, b| (a.role, &a.name).cmp(&(b.role, &b.name)));
    list
}

/// GPU code files, grouped by their component.
type CodeByComponent<'a> = BTreeMap<&'a str, Vec<&'a ObservedGpuCode>>;

/// Returns the components of the base image's packages and of those that are installed over them.
fn package_components(facts: &mut Facts, image: InferenceContext<'_>) -> Vec<Component> {
    let InferenceContext { seen, build, arch, as_of, knowledge } = image;
    let mut found: BTreeMap<&'static str, Component> = BTreeMap::new();
    let of_variants = knowledge.framework_with_variants();
    if let (Some((version, row)), Some(framework)) = (build.torch, of_variants) {
        let from: Vec<FactId> = build.fact.into_iter().collect();
        let component = component_in_base_image(facts, framework, version, row, build, &from, arch, knowledge);
        found.insert(framework.component, component);
    }
    let torch = torch::resolve_torch(seen, build, arch, as_of, knowledge);
    match (&torch, of_variants) {
        (ImageTorch::Installed(one), Some(framework)) => {
            found.insert(framework.component, component_of_torch_install(facts, framework, one, arch, knowledge));
        }
        (ImageTorch::None, Some(framework)) => {
            found.remove(framework.component);
        }
        _ => {}
    }
    // Without a requested version, a package that depends on torch keeps the base image's build for another GPU vendor.
    let keeps_base_build = |package: &&ObservedPackage| {
        let open = package.separate_environment().is_none() && package.requirement.version.is_range();
        let pins = || knowledge.torch_requirements_of(&package.requirement.name).next().is_some();
        build.other_vendor_torch.is_some() && open && pins()
    };
    for package in seen.packages.iter().filter(|package| !keeps_base_build(package)) {
        if let Some(framework) = knowledge.framework(&package.requirement.name).filter(|row| !row.variants) {
            // A later install replaces an earlier one and that of the base image.
            found.insert(framework.component, component_of_package(facts, framework, package, image));
        }
    }
    build_choice::apply_overwriting_cpu_builds(facts, &mut found, image);
    inherit_runtimes(facts, &mut found, seen, knowledge);
    compiled_for_torch::mark_incompatible_with_torch(facts, &mut found, &torch, image);
    let mut list: Vec<Component> = found.into_values().collect();
    list.extend(runtime_packages::components_with_cuda_in_name(facts, seen, CUDA_RUNTIME_ERROR_CODES, knowledge));
    mismatched_cuda::mark_mismatched_cuda(facts, &mut list, seen, knowledge);
    list
}

/// Replaces what the tables list for components with the GPU code that was read from their files.
fn apply_measured_code(
    facts: &mut Facts,
    list: &mut [Component],
    code: &mut CodeByComponent<'_>,
    image: InferenceContext<'_>,
) {
    let InferenceContext { seen, knowledge, .. } = image;
    for component in list {
        let is_optional = |entry: &&ObservedGpuCode| knowledge.is_optional_code_library(&component.name, &entry.file);
        let of_its_own = |entries: &Vec<&ObservedGpuCode>| !is_layer_scan(seen) || !entries.iter().all(is_optional);
        let unread = |entries: &Vec<&ObservedGpuCode>| entries.iter().all(|entry| is_unread_code(entry));
        let entries = code.remove(component.name.as_str());
        if is_layer_scan(seen) && entries.as_ref().is_some_and(unread) {
            // The tables replace unread code; they have no entry for code that a command compiles.
            continue;
        }
        // Files of which somebody says that they hold nothing, and that there are no others, are as good as none.
        let all_described = seen.complete.code && !is_layer_scan(seen);
        let hold_some = |entries: &Vec<&ObservedGpuCode>| {
            !all_described || entries.iter().any(|entry| has_code_or_unread_part(entry))
        };
        if let Some(entries) = entries.filter(of_its_own).filter(hold_some) {
            let entries = library_per_cuda::loaded_library_code(entries, component, seen, knowledge);
            component.code = measured_code(facts, seen, &component.name, &entries);
            if component.cuda.is_unknown() && !is_conditional_component(seen, &component.name, knowledge) {
                let runtime = runtime_from_files(facts, &component.name, &entries, &component.cuda.state, knowledge);
                component.cuda = runtime.unwrap_or(component.cuda.clone());
            }
        } else if seen.complete.code {
            record_missing_code(facts, component, seen, knowledge);
        } else {
            continue;
        }
        // The code that was read applies to every possible release; if the CUDA version is known, too, nothing is open.
        let code = component.code.clone();
        component.possible_releases.retain(|_| component.cuda.is_unknown());
        for one in &mut component.possible_releases {
            (one.code, one.lacks_required_code) = (code.clone(), component.lacks_required_code);
        }
    }
}

/// Returns the components known only from files with GPU code; `others`: whether there are other components.
fn components_of_code_files(
    facts: &mut Facts,
    code: CodeByComponent<'_>,
    base_cuda: &TypedFact<CudaVersion>,
    others: bool,
    image: InferenceContext<'_>,
) -> Vec<Component> {
    let InferenceContext { seen, build, knowledge, .. } = image;
    // That packages are present in an image does not mean that the image is there to run them.
    let is_incidental = is_layer_scan(seen) && others;
    let mut found = Vec::new();
    for (name, entries) in code {
        let code = measured_code(facts, seen, name, &entries);
        let cuda = infer_image_runtime(facts, seen, build, base_cuda, (name, &entries), knowledge);
        let known = knowledge.frameworks().iter().find(|row| row.component == name);
        let role = if is_incidental && known.is_none() { ComponentRole::Extension } else { ComponentRole::Core };
        let codes = known.map_or(CUDA_RUNTIME_ERROR_CODES, code_wording);
        let has_unread_code = entries.iter().any(|entry| is_unread_code(entry));
        found.push(Component {
            role,
            lacks_required_code: has_unread_code,
            ..Component::new_core(name, cuda, code, codes)
        });
    }
    found
}

/// Returns the component of the image's CUDA runtime and of GPU code of no other component; `alone`: whether there is
/// none.
fn image_component(
    facts: &mut Facts,
    own_code: Option<&[&ObservedGpuCode]>,
    base_cuda: &TypedFact<CudaVersion>,
    is_only_component: bool,
    image: InferenceContext<'_>,
) -> Option<Component> {
    let InferenceContext { seen, build, knowledge, .. } = image;
    let own_entries = own_code.unwrap_or_default();
    let runtime = infer_image_runtime(facts, seen, build, base_cuda, (CUDA_RUNTIME_COMPONENT, own_entries), knowledge);
    // If the base image was not read, only the packages that commands added to it are known.
    let on_top = is_only_component && own_code.is_none() && runtime.is_unknown() && !is_layer_scan(seen);
    let on_top = if on_top {
        runtime_packages::runtime_component(facts, seen, CUDA_RUNTIME_ERROR_CODES, knowledge)
    } else {
        None
    };
    let present = own_code.is_some() || !matches!(runtime.state, ValueState::Absent { .. });
    if on_top.is_some() || !present {
        return on_top;
    }
    let started = |entries: &[&ObservedGpuCode]| {
        !is_layer_scan(seen) || entries.iter().any(|one| is_started_by_image(seen, &one.file))
    };
    let decides = is_only_component || own_code.is_some_and(started);
    let role = if decides { ComponentRole::Core } else { ComponentRole::Extension };
    let anonymous = own_code.is_none();
    let has_unread_code = own_entries.iter().any(|entry| is_unread_code(entry));
    let code = match own_code {
        Some(entries) => measured_code(facts, seen, CUDA_RUNTIME_COMPONENT, entries),
        None => uninspected_code(facts, CUDA_RUNTIME_COMPONENT, seen, vec![runtime.id]),
    };
    let program = anonymous && decides && build.has_gpu_program() && !is_layer_scan(seen);
    let plain = Component::new_core(CUDA_RUNTIME_COMPONENT, runtime, code, CUDA_RUNTIME_ERROR_CODES);
    Some(Component { role, anonymous, program, lacks_required_code: has_unread_code, ..plain })
}

/// Gives packages that run on another component its CUDA runtime, except versions newer than the tables.
fn inherit_runtimes(
    facts: &mut Facts,
    found: &mut BTreeMap<&'static str, Component>,
    seen: &Observations,
    knowledge: Knowledge,
) {
    let newer = |name: &str, version: &ExactVersion| {
        knowledge.has_bundled_variants(name) && knowledge.is_newer_framework(name, version)
    };
    let is_newer = |name: &str| {
        seen.packages.iter().rfind(|package| package.requirement.name == name).is_some_and(
            |package| matches!(&package.requirement.version, PackageVersion::Exact(version) if newer(name, version)),
        )
    };
    let rows = || knowledge.frameworks().iter().filter(|row| row.cuda_from.is_some() && !is_newer(row.distribution));
    // A component of several distributions is judged once, by whichever of them is there.
    let once = |at: usize, component: &str| !rows().take(at).any(|row| row.component == component);
    for (_, row) in rows().enumerate().filter(|(at, row)| once(*at, row.component)) {
        let Some(on) = row.cuda_from.and_then(|on| found.get(on)).cloned() else { continue };
        let mut own = rows().filter(|other| other.component == row.component);
        let own_build = own.any(|other| has_known_cuda_build(seen, other.distribution, knowledge));
        if let Some(component) = found.get_mut(row.component) {
            inherit_cuda(facts, component, &on, own_build);
        }
    }
}

/// Whether the CUDA build of a package is known from its version or as the build of the default index.
fn has_known_cuda_build(seen: &Observations, name: &str, knowledge: Knowledge) -> bool {
    let package = seen.packages.iter().rfind(|package| package.requirement.name == name);
    !is_layer_scan(seen)
        && package.is_some_and(|package| {
            package.requirement.manager == PackageManager::Pip
                && match &package.requirement.version {
                    PackageVersion::Exact(version) => {
                        let has_no_index =
                            !knowledge.has_build_index(name) && knowledge.project_indexes(name).is_empty();
                        let by_itself = || {
                            (package.requirement.indexes == IndexSelection::Default || has_no_index)
                                && package.variant.is_none()
                        };
                        version.local().map_or_else(by_itself, |local| variant_cuda(local).is_some())
                    }
                    PackageVersion::Range(_) | PackageVersion::Unresolved(_) => false,
                }
        })
}

/// Infers the CUDA runtime of code outside packages: from its files, else as declared, else that of the base image.
fn infer_image_runtime(
    facts: &mut Facts,
    seen: &Observations,
    build: &BaseBuild,
    base_cuda: &TypedFact<CudaVersion>,
    (name, entries): (&str, &[&ObservedGpuCode]),
    knowledge: Knowledge,
) -> TypedFact<CudaVersion> {
    let (state, by, from) = match (seen.cuda_runtime, &base_cuda.state) {
        (Some((version, fact)), _) => (ValueState::Known(version), Derivation::Resolution, fact),
        (None, state) => (runtime_from_base(facts, seen, build, state, name), Derivation::Inheritance, base_cuda.id),
    };
    runtime_from_files(facts, name, entries, &state, knowledge).unwrap_or_else(|| {
        let evidence = Evidence::Derived { by, from: vec![from], row: None };
        facts.add_typed(FactKey::ComponentCuda, Some(name), state, evidence)
    })
}

/// Returns the CUDA runtime that the base image provides.
fn runtime_from_base(
    facts: &Facts,
    seen: &Observations,
    build: &BaseBuild,
    base_cuda: &ValueState<CudaVersion>,
    name: &str,
) -> ValueState<CudaVersion> {
    match base_cuda {
        ValueState::Known(version) => ValueState::Known(*version),
        ValueState::Absent { .. } if has_gpu_code(seen, name) => {
            ValueState::Unknown(match explain_unread_code(facts, seen, name) {
                Some(why) => Cause::RuntimeNotKnown { because: Box::new(why) },
                None if is_layer_scan(seen) => Cause::RuntimeNotFound { name: name.to_owned() },
                None => Cause::RuntimeNotDeclared { name: name.to_owned() },
            })
        }
        ValueState::Absent { searched } => ValueState::Absent { searched },
        ValueState::Unknown(_) => ValueState::Unknown(build.explain_unknown("the CUDA runtime of the image")),
    }
}

/// Explains why GPU code of a component was not read.
fn explain_unread_code(facts: &Facts, seen: &Observations, name: &str) -> Option<Cause> {
    let of = |code: &&ObservedGpuCode| code.component.as_deref().unwrap_or(CUDA_RUNTIME_COMPONENT) == name;
    let entry = seen.code.iter().filter(of).find(|entry| is_unread_code(entry))?;
    match &facts.get(entry.fact).state {
        ValueState::Unknown(why) => Some(why.clone()),
        ValueState::Known(_) | ValueState::Absent { .. } => None,
    }
}

/// Whether the GPU code of a file was not read.
fn is_unread_code(entry: &ObservedGpuCode) -> bool {
    entry.unknown_kind == Some(UnknownCodeKind::Unread)
}

/// Returns the CUDA runtime that files with GPU code imply, by their required library or compiler, if that adds to
/// what is known.
fn runtime_from_files(
    facts: &mut Facts,
    name: &str,
    entries: &[&ObservedGpuCode],
    found: &ValueState<CudaVersion>,
    knowledge: Knowledge,
) -> Option<TypedFact<CudaVersion>> {
    let required = required_runtime(entries, knowledge);
    let other = |cuda: &CudaVersion| required.is_some_and(|(_, required_cuda)| required_cuda.major() != cuda.major());
    match found {
        ValueState::Known(cuda) if !other(cuda) => return None,
        ValueState::Absent { .. } if required.is_none() => return None,
        ValueState::Known(_) | ValueState::Absent { .. } | ValueState::Unknown(_) => {}
    }
    let of_compiler = compiler_release(entries, knowledge).filter(|(_, row)| !other(&row.cuda));
    let (cuda, evidence) = match (of_compiler, required) {
        (Some((fact, row)), _) => {
            (row.cuda, Evidence::Derived { by: Derivation::Row, from: vec![fact], row: Some(&row.info) })
        }
        (None, Some((fact, required_cuda))) => {
            (required_cuda, Evidence::Derived { by: Derivation::Resolution, from: vec![fact], row: None })
        }
        (None, None) => return None,
    };
    Some(facts.add_typed(FactKey::ComponentCuda, Some(name), ValueState::Known(cuda), evidence))
}

/// Returns the CUDA runtime that all files require, if it is the same: its soname gives the major version, before
/// CUDA 11 the release.
fn required_runtime(entries: &[&ObservedGpuCode], knowledge: Knowledge) -> Option<(FactId, CudaVersion)> {
    let mut required = entries.iter().filter_map(|entry| Some((entry.fact, entry.runtime.as_deref()?)));
    let (fact, soname) = required.next()?;
    if required.any(|(_, other)| other != soname) {
        return None;
    }
    Some((fact, knowledge.cuda_of_runtime(soname)?))
}

/// Whether it is uncertain that a component is installed, or which one.
fn is_conditional_component(seen: &Observations, name: &str, knowledge: Knowledge) -> bool {
    let of = |package: &str| knowledge.framework(package).is_some_and(|row| row.component == name);
    seen.packages.iter().any(|package| package.conditional.is_some() && of(&package.requirement.name))
}

/// Returns the first CUDA release that writes the newest PTX version in the files.
fn compiler_release(entries: &[&ObservedGpuCode], knowledge: Knowledge) -> Option<(FactId, &'static TargetSetRow)> {
    let newest = entries.iter().filter(|entry| entry.isa.is_some()).max_by_key(|entry| entry.isa)?;
    let isa = newest.isa?;
    let row = knowledge.target_sets().iter().find(|row| row.ptx_isa == isa)?;
    Some((newest.fact, row))
}

/// Whether the image contains GPU code of a component.
fn has_gpu_code(seen: &Observations, name: &str) -> bool {
    let of_it = |code: &&ObservedGpuCode| code.component.as_deref().unwrap_or(CUDA_RUNTIME_COMPONENT) == name;
    seen.code.iter().filter(of_it).any(|code| is_layer_scan(seen) || has_code_or_unread_part(code))
}

/// Whether a file has GPU code, or parts of it are unknown.
fn has_code_or_unread_part(code: &ObservedGpuCode) -> bool {
    code.unknown_kind.is_some() || [&code.sass, &code.ptx, &code.linkable].iter().any(|list| !list.is_empty())
}

/// Whether files come from scanning the image's layers, rather than named in a description.
fn is_layer_scan(seen: &Observations) -> bool {
    seen.depth == InspectionDepth::Layers
}

/// Whether the entrypoint of the image starts a file, by path or by name.
fn is_started_by_image(seen: &Observations, file: &str) -> bool {
    let words = seen.entrypoint.iter().flat_map(|(words, _)| words);
    words
        .flat_map(|word| word.split_whitespace())
        .any(|word| word == file || (!word.contains('/') && split_path(file).1 == word))
}

/// Adds the fact of the GPU code that was read from files.
fn measured_code(
    facts: &mut Facts,
    seen: &Observations,
    name: &str,
    entries: &[&ObservedGpuCode],
) -> TypedFact<GpuCode> {
    let from: Vec<FactId> = entries.iter().map(|entry| entry.fact).collect();
    if let Some(why) = explain_unread_code(facts, seen, name) {
        let evidence = Evidence::Derived { by: Derivation::Resolution, from, row: None };
        return add_unknown_fact(facts, FactKey::ComponentCode, Some(name), why, evidence);
    }
    let signature = |entry: &ObservedGpuCode| CodeTargets { sass: entry.sass.clone(), ptx: entry.ptx.clone() };
    let mut code =
        GpuCode::from_files(entries.iter().map(|entry| (entry.file.as_str(), signature(entry), entry.count)));
    code.unsorted = is_layer_scan(seen);
    for library in &mut code.libraries {
        let parts = entries.iter().filter(|entry| entry.file == library.file).flat_map(|entry| &entry.linkable);
        library.linkable.extend(parts.copied());
        library.has_unknown_code =
            entries.iter().any(|entry| entry.file == library.file && entry.unknown_kind.is_some());
    }
    let evidence = Evidence::Derived { by: Derivation::Resolution, from, row: None };
    facts.add_typed(FactKey::ComponentCode, Some(name), ValueState::Known(code), evidence)
}

/// Records that complete inspection detected no GPU code of a component: it has none, unless it is a build that
/// requires some.
fn record_missing_code(facts: &mut Facts, component: &mut Component, seen: &Observations, knowledge: Knowledge) {
    let name = component.name.clone();
    let files: Vec<&str> = knowledge.required_code_libraries(&name).collect();
    let has_some = !files.is_empty() || component.code.known().is_some_and(GpuCode::has_code);
    component.lacks_required_code = has_some && !component.is_without_cuda() && !knowledge.runs_without_gpu_code(&name);
    if !component.lacks_required_code {
        component.code = uninspected_code(facts, &name, seen, vec![component.cuda.id]);
    } else if !is_conditional_component(seen, &name, knowledge) {
        let files = if files.is_empty() { String::new() } else { format!(" in {}", files.join(" or ")) };
        let name_of = name.clone();
        let why = if is_layer_scan(seen) {
            Cause::CodeNotInFiles { name: name_of, files }
        } else {
            Cause::CodeNotDescribed { name: name_of, files }
        };
        let evidence = Evidence::Derived { by: Derivation::Resolution, from: vec![component.cuda.id], row: None };
        component.code = add_unknown_fact(facts, FactKey::ComponentCode, Some(&name), why, evidence);
    }
}

/// Adds the fact of GPU code that was not seen: absent if everything was inspected, else unknown.
fn uninspected_code(facts: &mut Facts, name: &str, seen: &Observations, from: Vec<FactId>) -> TypedFact<GpuCode> {
    let evidence = Evidence::Derived { by: Derivation::Resolution, from, row: None };
    if seen.complete.code {
        let searched = "every library of the image";
        return facts.add_typed(FactKey::ComponentCode, Some(name), ValueState::Absent { searched }, evidence);
    }
    let why = Cause::CodeNotInspected { name: name.to_string() };
    add_unknown_fact(facts, FactKey::ComponentCode, Some(name), why, evidence)
}
