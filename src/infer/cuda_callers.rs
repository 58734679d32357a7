//! Whether the image has anything that calls CUDA; CUDA libraries without a program do not count.

use crate::cuda::LIBCUDA_SONAME;
use crate::infer::component::CUDA_RUNTIME_ERROR_CODES;
use crate::infer::unknown_fact::add_unknown_fact;
use crate::knowledge::Knowledge;
use crate::model::cause::Cause;
use crate::model::fact::{
    Component, CudaUsage, Derivation, Evidence, FactEntry, FactId, FactKey, Facts, InspectionDepth, Observations,
    ObservedLibraryDependencies, UNNAMED_LIST, ValueState,
};
use crate::model::package::{ObservedPackage, PackageManager};

/// Returns what indicates that something in the image calls CUDA: packages, programs, GPU code, builds for GPUs,
/// unread files, a description or the command that it starts.
pub(super) fn detect_cuda_callers(seen: &Observations, components: &[Component], knowledge: Knowledge) -> CudaUsage {
    let calls_nothing = |one: &Component| (one.anonymous && !one.program) || one.is_without_cuda();
    let has_evidence = seen.base_changes.builds_for_gpus
        || seen.cuda_runtime.is_some()
        || !seen.code.is_empty()
        || !seen.base_changes.arch_lists.is_empty();
    let asks = |file: &ObservedLibraryDependencies| {
        file.needs
            .iter()
            .chain(&file.opens)
            .any(|name| name == LIBCUDA_SONAME || knowledge.cuda_of_runtime(name).is_some())
    };
    if has_evidence || !components.iter().all(calls_nothing) || seen.needs.iter().any(asks) {
        return CudaUsage::Found;
    }
    // In an image that was scanned, the packages of its base are among those that were seen.
    let scanned = seen.depth == InspectionDepth::Layers;
    let packages = if scanned { &[][..] } else { seen.packages.as_slice() };
    let has_runtime = |package: &ObservedPackage| {
        knowledge.runtime_package(&package.requirement.name).is_some()
            || knowledge.library_wheel(&package.requirement.name).is_some_and(|row| row.runtime)
    };
    let may_call = |package: &ObservedPackage| {
        knowledge.may_contain_libraries(&package.requirement.name)
            && knowledge.cpu_package(&package.requirement.name).is_none()
            && !has_runtime(package)
    };
    let mut entries = seen.facts.iter();
    let unread =
        entries.find(|(_, entry)| entry.key == FactKey::Requirements && matches!(entry.state, ValueState::Unknown(_)));
    let of_system = |package: &ObservedPackage| package.requirement.manager == PackageManager::System;
    let monitor = |command: &String| knowledge.monitoring_program(command).is_some();
    let complete = seen.complete.packages && seen.complete.code;
    let started = seen.base_changes.starts.iter().flat_map(|(commands, _)| commands);
    match unread {
        None if started.clone().next().is_some() && started.clone().all(monitor) => CudaUsage::MonitoringProgram,
        None if !scanned && complete && seen.packages.iter().all(of_system) => CudaUsage::Absent,
        Some((list, _)) => CudaUsage::UnreadList(list),
        None if seen.base_changes.copies_unread_images || packages.iter().any(may_call) => CudaUsage::Possible,
        None if packages.iter().any(has_runtime) => CudaUsage::RuntimePackage,
        None => CudaUsage::NotFound,
    }
}

/// Words in names that refer to a GPU.
const GPU_TERMS: &[&str] = &["cuda", "gpu", "gpus", "nvidia"];
/// Words in front of those that negate them.
const NEGATIONS: &[&str] = &["no", "non", "not", "without"];
/// Values of a variable that mean false.
const FALSE_VALUES: &[&str] = &["", "-1", "0", "false", "no", "none", "off"];

/// Returns a placeholder component for everything that an unread package list installs, if something mentions a GPU.
pub(super) fn component_for_unread_lists(facts: &mut Facts, seen: &Observations, name: &str) -> Option<Component> {
    let unread_list = |(id, entry): (FactId, &FactEntry)| match (entry.key, &entry.state) {
        (FactKey::Requirements, ValueState::Unknown(why)) => {
            Some((id, why.clone(), may_be_for_gpus(entry.subject.as_deref(), why)))
        }
        _ => None,
    };
    let lists: Vec<(FactId, Cause, bool)> = seen.facts.iter().filter_map(unread_list).collect();
    let file = seen.base_changes.unread.files.iter().find(|why| may_be_for_gpus(None, why));
    let Some(first) = lists.first() else { return component_for_unread_files(facts, seen, name, file) };
    let gpu_list = lists.iter().find(|(.., for_gpus)| *for_gpus);
    let variable = gpu_variable(seen);
    let package = seen.packages.iter().find(|package| mentions_gpu(&package.requirement.name));
    let ask = seen.build_probes.first();
    let gpu_hint = variable.or(package.map(|package| package.fact)).or(ask.map(|ask| ask.fact));
    if gpu_list.is_none() && gpu_hint.is_none() {
        return None;
    }
    let (list, why, _) = gpu_list.unwrap_or(first);
    let from: Vec<FactId> = std::iter::once(*list).chain(gpu_hint).collect();
    let evidence = || Evidence::Derived { by: Derivation::Resolution, from: from.clone(), row: None };
    let cuda = add_unknown_fact(facts, FactKey::ComponentCuda, Some(name), why.clone(), evidence());
    let code = add_unknown_fact(facts, FactKey::ComponentCode, Some(name), why.clone(), evidence());
    Some(Component { anonymous: true, ..Component::new_core(name, cuda, code, CUDA_RUNTIME_ERROR_CODES) })
}

/// Whether names in the cause of an unread list or file mention a GPU, or may do so because nothing is known of them.
fn may_be_for_gpus(list: Option<&str>, why: &Cause) -> bool {
    let list = list.filter(|list| *list != UNNAMED_LIST);
    match why {
        Cause::CopiedLibraries => true,
        _ => match (why.names(), list) {
            (None, None) => true,
            (names, _) => names.into_iter().flatten().chain(list).any(mentions_gpu),
        },
    }
}

/// Returns the first environment variable that mentions a GPU.
fn gpu_variable(seen: &Observations) -> Option<FactId> {
    let found = seen.env.iter().find(|(name, (value, _))| {
        let value = value.as_deref().unwrap_or("?");
        !FALSE_VALUES.contains(&value.to_ascii_lowercase().as_str()) && (mentions_gpu(name) || mentions_gpu(value))
    });
    found.map(|(_, (_, id))| *id)
}

/// Returns a placeholder component for unread files, if the name of one or something else in the image mentions a
/// GPU.
fn component_for_unread_files(
    facts: &mut Facts,
    seen: &Observations,
    name: &str,
    speaking: Option<&Cause>,
) -> Option<Component> {
    let first = speaking.or(seen.base_changes.unread.files.first())?;
    let package = || seen.packages.first().map(|package| package.fact);
    let library = || seen.files.iter().find(|(path, _)| mentions_gpu(path)).map(|(_, file)| file.fact);
    let gpu_hint = gpu_variable(seen).or_else(package).or_else(library);
    if speaking.is_none() && gpu_hint.is_none() {
        return None;
    }
    let from: Vec<FactId> = gpu_hint.into_iter().collect();
    let evidence = || Evidence::Derived { by: Derivation::Resolution, from: from.clone(), row: None };
    let cuda = add_unknown_fact(facts, FactKey::ComponentCuda, Some(name), first.clone(), evidence());
    let code = add_unknown_fact(facts, FactKey::ComponentCode, Some(name), first.clone(), evidence());
    Some(Component { anonymous: true, ..Component::new_core(name, cuda, code, CUDA_RUNTIME_ERROR_CODES) })
}

/// Whether a text contains a GPU term: `requirements-gpu.txt`, `TORCH_CUDA_ARCH_LIST`, `whl/cu121`.
fn mentions_gpu(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    let words: Vec<&str> = lower.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty()).collect();
    let tag = |word: &str| {
        let digits = word.strip_prefix("cuda").or_else(|| word.strip_prefix("cu"));
        digits.is_some_and(|digits| digits.len() > 1 && digits.bytes().all(|one| one.is_ascii_digit()))
    };
    words.iter().enumerate().any(|(at, word)| {
        let before = at.checked_sub(1).and_then(|before| words.get(before));
        (GPU_TERMS.contains(word) || tag(word)) && !before.is_some_and(|before| NEGATIONS.contains(before))
    })
}

#[cfg(test)]
mod tests {
    use super::mentions_gpu;

    #[test]
    fn only_whole_words_mention_a_gpu() {
        for text in
            ["requirements-gpu.txt", "docker/cuda/req.txt", "TORCH_CUDA_ARCH_LIST", "whl/cu121", "cuda12", "r_cu118"]
        {
            assert!(mentions_gpu(text), "{text}");
        }
        for text in [
            "requirements.txt",
            "no-gpu.txt",
            "without_cuda",
            "nogpu",
            "cu",
            "cu1",
            "cup12",
            "barracuda",
            "",
            "accu121",
        ] {
            assert!(!mentions_gpu(text), "{text}");
        }
    }
}
