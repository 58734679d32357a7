//! Variables that a base image sets by the tables, as far as words of a Dockerfile ask for them.

use std::collections::BTreeMap;

use crate::dockerfile::BaseKind;
use crate::dockerfile::Resolved;
use crate::knowledge::Knowledge;

/// The variables of a base that was not read; a name that may mean several images has what all of them set.
pub(super) fn tabled(base: &BaseKind) -> BTreeMap<String, Resolved> {
    let mut set = BTreeMap::new();
    let BaseKind::Image(image) = base else { return set };
    let knowledge = Knowledge::built_in();
    let Some(tag) = image.tag().filter(|_| knowledge.is_cuda_repository(&image.familiar())) else { return set };
    let rows = knowledge.cuda_images_of(tag.split('-').next().unwrap_or(tag));
    let mut values = rows.iter().map(|row| row.cuda_version.unwrap_or(row.version));
    if let Some(first) = values.next().filter(|first| values.all(|other| other == *first)) {
        set.insert("CUDA_VERSION".to_owned(), Resolved::literal(first));
    }
    set
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
            assert_eq!(tabled(&base).get("CUDA_VERSION").and_then(Resolved::known), expected, "{name}");
        }
        assert!(tabled(&BaseKind::Scratch).is_empty() && tabled(&BaseKind::Unresolved).is_empty());
    }
}
