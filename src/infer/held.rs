//! Lists of packages and files that were not read, in images where nothing else was seen that concerns a GPU: they count
//! where something in or beside them speaks of a GPU, and are merely told of where nothing does.

use crate::fact::Component;
use crate::fact::Derivation;
use crate::fact::Evidence;
use crate::fact::FactId;
use crate::fact::FactKey;
use crate::fact::Facts;
use crate::fact::Observations;
use crate::fact::State;
use crate::fact::Why;
use crate::infer::component::PLAIN_WORDING;
use crate::infer::unknown;

/// Words that speak of a GPU where they stand in a name.
const SPEAKING: &[&str] = &["cuda", "gpu", "gpus", "nvidia"];
/// Words in front of those that take it back.
const DENYING: &[&str] = &["no", "non", "not", "without"];
/// Values by which a variable says no.
const NO: &[&str] = &["", "-1", "0", "false", "no", "none", "off"];

/// What stands for all that an unread list installs, where something speaks of a GPU.
pub(super) fn unread(facts: &mut Facts, seen: &Observations, name: &str) -> Option<Component> {
    let lists: Vec<(FactId, Why)> = seen
        .facts
        .iter()
        .filter_map(|(id, entry)| match (entry.key, &entry.state) {
            (FactKey::Requirements, State::Unknown(why)) => Some((id, why.clone())),
            _ => None,
        })
        .collect();
    let passed = || seen.of_base.unread.files.iter();
    let file = passed().find(|why| speaks(&why.reason));
    let Some(first) = lists.first() else { return passed_over(facts, seen, name, file) };
    let said = lists.iter().find(|(_, why)| speaks(&why.reason));
    let variable = variable(seen);
    let package = seen.packages.iter().find(|package| speaks(&package.name));
    let ask = seen.build_asks.first();
    let beside = variable.or(package.map(|package| package.fact)).or(ask.map(|ask| ask.fact));
    if said.is_none() && beside.is_none() {
        return None;
    }
    let (list, why) = said.unwrap_or(first);
    let from: Vec<FactId> = std::iter::once(*list).chain(beside).collect();
    let evidence = || Evidence::Derived { by: Derivation::Resolution, from: from.clone(), row: None };
    let cuda = unknown(facts, FactKey::ComponentCuda, Some(name), why.clone(), evidence());
    let code = unknown(facts, FactKey::ComponentCode, Some(name), why.clone(), evidence());
    Some(Component { anonymous: true, ..Component::core(name, cuda, code, PLAIN_WORDING) })
}

/// The first variable that speaks of a GPU.
fn variable(seen: &Observations) -> Option<FactId> {
    let found = seen.env.iter().find(|(name, (value, _))| {
        let value = value.as_deref().unwrap_or("?");
        !NO.contains(&value.to_ascii_lowercase().as_str()) && (speaks(name) || speaks(value))
    });
    found.map(|(_, (_, id))| *id)
}

/// What stands for files that were not read, where the name of one or something else in the image speaks of a GPU.
fn passed_over(facts: &mut Facts, seen: &Observations, name: &str, speaking: Option<&Why>) -> Option<Component> {
    let first = speaking.or(seen.of_base.unread.files.first())?;
    let package = || seen.packages.first().map(|package| package.fact);
    let library = || seen.files.iter().find(|(path, _)| speaks(path)).map(|(_, file)| file.fact);
    let beside = variable(seen).or_else(package).or_else(library);
    if speaking.is_none() && beside.is_none() {
        return None;
    }
    let from: Vec<FactId> = beside.into_iter().collect();
    let evidence = || Evidence::Derived { by: Derivation::Resolution, from: from.clone(), row: None };
    let cuda = unknown(facts, FactKey::ComponentCuda, Some(name), first.clone(), evidence());
    let code = unknown(facts, FactKey::ComponentCode, Some(name), first.clone(), evidence());
    Some(Component { anonymous: true, ..Component::core(name, cuda, code, PLAIN_WORDING) })
}

/// Whether a text has a word for a GPU in it: `requirements-gpu.txt`, `TORCH_CUDA_ARCH_LIST`, `whl/cu121`.
fn speaks(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    let words: Vec<&str> = lower.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty()).collect();
    let tag = |word: &str| {
        let digits = word.strip_prefix("cuda").or_else(|| word.strip_prefix("cu"));
        digits.is_some_and(|digits| digits.len() > 1 && digits.bytes().all(|one| one.is_ascii_digit()))
    };
    words.iter().enumerate().any(|(at, word)| {
        let before = at.checked_sub(1).and_then(|before| words.get(before));
        (SPEAKING.contains(word) || tag(word)) && !before.is_some_and(|before| DENYING.contains(before))
    })
}

#[cfg(test)]
mod tests {
    use super::speaks;

    #[test]
    fn a_name_speaks_of_a_gpu_by_whole_words() {
        for text in
            ["requirements-gpu.txt", "docker/cuda/req.txt", "TORCH_CUDA_ARCH_LIST", "whl/cu121", "cuda12", "r_cu118"]
        {
            assert!(speaks(text), "{text}");
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
            assert!(!speaks(text), "{text}");
        }
    }
}
