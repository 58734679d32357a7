//! The CUDA runtime of an image as its files have it: for code that is not one of the packages.

use std::collections::BTreeMap;

use crate::cuda::CudaVersion;
use crate::cuda::split_path;
use crate::extract::layers::Audit;
use crate::extract::layers::place::Owner;
use crate::extract::layers::place::owner;
use crate::fact::Evidence as Leaf;
use crate::fact::FactKey;
use crate::fact::State;
use crate::fact::Value;
use crate::installed::Evidence;
use crate::knowledge::Knowledge;
use crate::layer::EntryKind;
use crate::layer::Placed;

/// The library of the CUDA runtime, before its version.
const RUNTIME: &str = "libcudart.so.";
/// Folders that the loader looks into, and those of toolkits.
const FOLDERS: [&str; 4] = ["/usr/local/cuda", "/usr/lib", "/lib", "/usr/local/lib"];

impl Audit<'_> {
    /// The runtime whose library lies where programs find it; none where there are several.
    pub(super) fn runtime(&mut self) {
        let tree = self.tree;
        let mut found: BTreeMap<CudaVersion, Placed<'_>> = BTreeMap::new();
        let floor = self.floor();
        for placed in tree.entries().filter(|placed| placed.layer >= floor) {
            if let Some(version) = version(placed) {
                found.entry(version).or_insert(placed);
            }
        }
        if found.len() != 1 {
            return;
        }
        if let Some((version, placed)) = found.pop_first() {
            let origin = self.origin(placed.layer, placed.path);
            let state = State::Known(Value::Text(version.to_string()));
            let fact = self.seen.facts.add(FactKey::CudaRuntime, None, state, Leaf::Leaf(vec![origin]));
            self.seen.cuda_runtime = Some((version, fact));
        }
    }
}

/// CUDA of a library such as `libcudart.so.12.4.127`, or of a toolkit's own record of its version.
fn version(placed: Placed<'_>) -> Option<CudaVersion> {
    if !FOLDERS.iter().any(|folder| placed.path.starts_with(folder)) {
        return None;
    }
    let text = match placed.kind {
        EntryKind::Read(list) => list.iter().find_map(|one| match one {
            Evidence::Toolkit { version, .. } => Some(version.as_str()),
            _ => None,
        })?,
        EntryKind::Elf(_) | EntryKind::Present if is_library(placed.path) => {
            split_path(placed.path).1.strip_prefix(RUNTIME)?
        }
        _ => return None,
    };
    let parts: Vec<&str> = text.split('.').take(2).collect();
    // `libcudart.so.12` tells the major alone.
    if parts.len() < 2 { None } else { parts.join(".").parse().ok() }
}

fn is_library(path: &str) -> bool {
    !path.contains("/site-packages/") && owner(path, Knowledge::built_in()) == Owner::Cuda
}
