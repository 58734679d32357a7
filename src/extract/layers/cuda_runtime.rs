//! The CUDA runtime version of an image by its files, for code outside of packages.

use std::collections::BTreeMap;

use crate::cuda::{CudaVersion, split_path};
use crate::extract::layers::file_owner::{FileOwner, owner_of_file};
use crate::extract::layers::layer_scan::LayerScan;
use crate::knowledge::Knowledge;
use crate::layer::installed::FileEvidence;
use crate::layer::{EntryKind, ImageEntry};
use crate::model::fact::{Evidence, FactKey, PrintedValue, ValueState};

/// The file name of the CUDA runtime library, up to its version.
const CUDART_PREFIX: &str = "libcudart.so.";
/// Folders of CUDA toolkits and those that the dynamic loader searches.
const LIBRARY_FOLDERS: [&str; 4] = ["/usr/local/cuda", "/usr/lib", "/lib", "/usr/local/lib"];

/// The first file of each CUDA runtime version.
type RuntimeFilesByVersion<'a> = BTreeMap<CudaVersion, ImageEntry<'a>>;

impl LayerScan<'_> {
    /// Records the CUDA runtime version if the searched folders, or else the other folders, contain exactly one.
    pub(super) fn detect_cuda_runtime(&mut self) {
        let tree = self.tree;
        let (mut found, mut elsewhere) = (RuntimeFilesByVersion::new(), RuntimeFilesByVersion::new());
        let floor = self.first_complete_layer();
        for placed in tree.entries().filter(|placed| placed.layer >= floor) {
            if let Some(version) = cuda_version_of_file(placed) {
                let near = LIBRARY_FOLDERS.iter().any(|folder| placed.path.starts_with(folder));
                if near { &mut found } else { &mut elsewhere }.entry(version).or_insert(placed);
            }
        }
        // A program may have its own next to it.
        if found.is_empty() {
            found = elsewhere;
        }
        if found.len() != 1 {
            return;
        }
        if let Some((version, placed)) = found.pop_first() {
            let origin = self.layer_origin(placed.layer, placed.path);
            let state = ValueState::Known(PrintedValue::Text(version.to_string()));
            let fact = self.seen.facts.add(FactKey::CudaRuntime, None, state, Evidence::Leaf(vec![origin]));
            self.seen.cuda_runtime = Some((version, fact));
        }
    }
}

/// Returns the CUDA version of a runtime library such as `libcudart.so.12.4.127`, or of a toolkit's version file.
fn cuda_version_of_file(placed: ImageEntry<'_>) -> Option<CudaVersion> {
    let text = match placed.kind {
        EntryKind::Read(list) => list.iter().find_map(|one| match one {
            FileEvidence::Toolkit { version, .. } => Some(version.as_str()),
            _ => None,
        })?,
        EntryKind::Elf(_) | EntryKind::Present if is_cuda_file_outside_python(placed.path) => {
            split_path(placed.path).1.strip_prefix(CUDART_PREFIX)?
        }
        _ => return None,
    };
    let parts: Vec<&str> = text.split('.').take(2).collect();
    // `libcudart.so.12` contains only the major version.
    if parts.len() < 2 { None } else { parts.join(".").parse().ok() }
}

/// Whether a path belongs to CUDA and is outside of site-packages.
fn is_cuda_file_outside_python(path: &str) -> bool {
    !path.contains("/site-packages/") && owner_of_file(path, Knowledge::built_in()) == FileOwner::Cuda
}
