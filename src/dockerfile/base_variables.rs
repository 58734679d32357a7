//! Environment variables that a base image sets according to the compatibility database.

use std::collections::BTreeMap;

use crate::dockerfile::{BaseKind, ExpandedText};
use crate::knowledge::Knowledge;

/// Returns the known variable values of a base image that was not read; an ambiguous tag has only values common to
/// all its images.
pub(super) fn known_base_variables(base: &BaseKind, knowledge: Knowledge) -> BTreeMap<String, ExpandedText> {
    let mut set = BTreeMap::new();
    let BaseKind::Image(image) = base else { return set };
    let Some(tag) = image.tag().filter(|_| knowledge.is_cuda_repository(&image.familiar_name())) else { return set };
    let rows = knowledge.cuda_images_for_version(tag.split('-').next().unwrap_or(tag));
    let mut values = rows.iter().map(|row| row.cuda_version.unwrap_or(row.version));
    if let Some(first) = values.next().filter(|first| values.all(|other| other == *first)) {
        set.insert("CUDA_VERSION".to_owned(), ExpandedText::literal(first));
    }
    set
}

/// The variables that a shell or the builder sets itself; `*` at the end matches any suffix.
const SHELL_VARIABLES: &[&str] = &[
    "BASH*", "EUID", "HOME", "HOSTNAME", "HOSTTYPE", "IFS", "LINENO", "MACHTYPE", "OLDPWD", "OPTARG", "OPTIND",
    "OSTYPE", "PPID", "PS*", "PWD", "RANDOM", "SECONDS", "SHELL*", "SHLVL", "TERM", "UID", "USER",
];

/// The suffix of the names of proxy variables.
const PROXY_SUFFIX: &str = "_proxy";

/// Returns the names of all variables that a base image sets; `*` at the end matches any suffix.
pub(super) fn base_variable_names(base: &BaseKind, knowledge: Knowledge) -> Option<&'static [&'static str]> {
    let BaseKind::Image(image) = base else { return None };
    knowledge.base_image_variables(&image.familiar_name())
}

/// Whether a variable is one that the base image, a shell or the builder may set.
pub(super) fn may_be_set(names: &[&str], variable: &str) -> bool {
    let first = variable.bytes().next();
    let admits = |own: &&str| {
        // What begins otherwise is another, whatever a star stands for behind it.
        let begins = own.bytes().next() == first || own.starts_with('*');
        begins && own.strip_suffix('*').map_or(*own == variable, |start| variable.starts_with(start))
    };
    let ending = variable.len().checked_sub(PROXY_SUFFIX.len()).filter(|at| *at > 0).and_then(|at| variable.get(at..));
    let of_proxy = ending.is_some_and(|ending| ending.eq_ignore_ascii_case(PROXY_SUFFIX));
    of_proxy || names.iter().chain(SHELL_VARIABLES).any(admits)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reference::ImageReference;

    #[test]
    fn a_cuda_image_sets_its_version_where_its_name_tells_it() {
        for (name, expected) in [
            ("nvidia/cuda:11.8.0-base-ubuntu22.04", Some("11.8.0")),
            ("docker.io/nvidia/cuda:12.4.1", Some("12.4.1")),
            // One of several patches.
            ("nvidia/cuda:11.4-base-ubuntu20.04", None),
            ("nvidia/cuda:99.9.9-base", None),
            ("nvidia/cuda:latest", None),
            ("nvidia/cuda", None),
            ("python:3.11-slim", None),
            ("registry.example/cuda:11.8.0-base", None),
        ] {
            let base = BaseKind::Image(ImageReference::parse(name).expect(name));
            assert_eq!(
                known_base_variables(&base, Knowledge::built_in())
                    .get("CUDA_VERSION")
                    .and_then(ExpandedText::known_text),
                expected,
                "{name}"
            );
        }
        for (name, variable, expected) in [
            ("nvidia/cuda:12.4.1-base-ubuntu22.04", "CU", Some(false)),
            ("nvidia/cuda:12.4.1-base-ubuntu22.04", "CUDA_VERSION", Some(true)),
            ("nvidia/cuda:12.4.1-base-ubuntu22.04", "NVARCH", Some(true)),
            ("nvidia/cuda:12.4.1-base-ubuntu22.04", "HOME", Some(true)),
            ("nvidia/cuda:12.4.1-base-ubuntu22.04", "https_proxy", Some(true)),
            ("nvidia/cuda:12.4.1-base-ubuntu22.04", "HTTP_Proxy", Some(true)),
            ("nvidia/cuda:12.4.1-base-ubuntu22.04", "_proxy", Some(false)),
            ("nvidia/cuda:12.4.1-base-ubuntu22.04", "", Some(false)),
            ("nvidia/cuda:12.4.1-base-ubuntu22.04", "UDA_VERSION", Some(false)),
            ("python:3.11", "PYTHON_VERSION", Some(true)),
            ("python:3.11", "TORCH_VERSION", Some(false)),
            ("registry.example/python:3.11", "TORCH_VERSION", None),
            ("nvcr.io/nvidia/pytorch:24.01-py3", "TORCH_VERSION", None),
        ] {
            let base = BaseKind::Image(ImageReference::parse(name).expect(name));
            assert_eq!(
                base_variable_names(&base, Knowledge::built_in()).map(|names| may_be_set(names, variable)),
                expected,
                "{name} {variable}"
            );
        }
        assert!(
            known_base_variables(&BaseKind::Scratch, Knowledge::built_in()).is_empty()
                && known_base_variables(&BaseKind::Unresolved, Knowledge::built_in()).is_empty()
        );
    }
}
