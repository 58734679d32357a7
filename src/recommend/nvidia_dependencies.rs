//! NVIDIA's library wheels that chosen packages depend on.
//!
//! Those of one name lie in one folder whoever asks for them, and each asks for releases of its own: of two that bring some
//! which have nothing else to do with each other, it is not known that they go together.

use crate::infer::is_compiled_for_torch;
use crate::knowledge::Knowledge;
use crate::recommend::release::{CandidateRelease, torch_pin};

/// Whether two releases depend on NVIDIA's library wheels, each on its own versions.
pub(super) fn have_conflicting_nvidia_wheels(
    one: &CandidateRelease,
    other: &CandidateRelease,
    knowledge: Knowledge,
) -> bool {
    let (with_torch, other_with_torch) = (is_torch_based(one, knowledge), is_torch_based(other, knowledge));
    (with_torch != other_with_torch || !with_torch && one.name != other.name)
        && depends_on_nvidia_wheels(one, knowledge)
        && depends_on_nvidia_wheels(other, knowledge)
}

/// Whether a release is `PyTorch` itself or depends on a release of it.
fn is_torch_based(choice: &CandidateRelease, knowledge: Knowledge) -> bool {
    knowledge.has_variants(&choice.name)
        || choice.within.is_some() && is_compiled_for_torch(&choice.name, knowledge)
        || torch_pin(&choice.name, choice.version, knowledge).is_some_and(|pin| !pin.is_empty())
}

/// Whether a release depends on NVIDIA's library wheels.
fn depends_on_nvidia_wheels(choice: &CandidateRelease, knowledge: Knowledge) -> bool {
    if let Some(image) = choice.within {
        // By conda its libraries lie elsewhere.
        return is_torch_based(choice, knowledge) && image.torch_channel.is_none();
    }
    if !is_torch_based(choice, knowledge) {
        let extras = choice.spec.split_once('[').and_then(|(_, rest)| rest.split_once(']'));
        let extras: Vec<&str> = extras.map_or_else(Vec::new, |(extras, _)| extras.split(',').collect());
        let mut asked = knowledge.brought_of(&choice.name).filter(|row| extras.contains(&row.extra));
        return asked.any(|row| row.with.is_some() || knowledge.library_wheels_of(row.brings).next().is_some());
    }
    let mut rows = knowledge.library_needs().iter().filter(|row| row.distribution == choice.code).peekable();
    let Ok(version) = choice.version.parse() else { return true };
    if rows.peek().is_none() {
        return true;
    }
    match knowledge.library_needs_of(choice.code, version) {
        Some(row) => {
            row.along && !choice.build.is_some_and(|build| choice.page.is_some() && row.whole.contains(&build))
        }
        // Before the first that brings some it held them itself; what came later than was read is as what was.
        None => rows.any(|row| row.along && row.from < version),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn choice(code: &'static str, spec: &str, version: &'static str, page: bool) -> CandidateRelease {
        let (name, _) = spec.split_once(['[', '=']).expect(spec);
        let page = page.then(|| "https://x/cu121".to_owned());
        let build = page.is_some().then_some("cu121");
        let (name, spec) = (name.to_owned(), spec.to_owned());
        CandidateRelease { name, code, version, build, spec, page, cuda: None, within: None }
    }

    #[test]
    fn each_brings_its_own_libraries_where_nothing_ties_them() {
        let knowledge = Knowledge::built_in();
        let torch = |version: &'static str| choice("torch", &format!("torch=={version}"), version, false);
        let jax = |extra: &str| choice("jax-cuda12-plugin", &format!("jax[{extra}]==0.6.2"), "0.6.2", false);
        let flow = |spec: &str| choice("tensorflow", spec, "2.18.0", false);
        let vision = choice("torchvision", "torchvision==0.21.0", "0.21.0", false);
        let vllm = choice("vllm", "vllm==0.8.3", "0.8.3", false);
        let cupy = choice("cupy-cuda12x", "cupy-cuda12x==13.6.0", "13.6.0", false);
        let whole = choice("torch", "torch==2.1.2+cu121", "2.1.2", true);
        for (one, other, expected) in [
            (&torch("2.6.0"), &jax("cuda12"), true),
            (&torch("2.14.1"), &jax("cuda12"), true),
            (&vllm, &jax("cuda12"), true),
            (&torch("2.6.0"), &flow("tensorflow[and-cuda]==2.18.0"), true),
            (&jax("cuda12"), &flow("tensorflow[and-cuda]==2.18.0"), true),
            (&torch("2.6.0"), &jax("cuda12-local"), false),
            (&torch("1.12.1"), &jax("cuda12"), false),
            (&whole, &jax("cuda12"), false),
            (&torch("2.6.0"), &flow("tensorflow==2.18.0"), false),
            (&torch("2.6.0"), &vision, false),
            (&torch("2.6.0"), &vllm, false),
            (&vllm, &vision, false),
            (&torch("2.6.0"), &cupy, false),
            (&jax("cuda12"), &cupy, false),
        ] {
            for (one, other) in [(one, other), (other, one)] {
                assert_eq!(
                    have_conflicting_nvidia_wheels(one, other, knowledge),
                    expected,
                    "{} {}",
                    one.spec,
                    other.spec
                );
            }
        }
    }
}
