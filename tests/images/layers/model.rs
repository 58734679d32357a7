//! Random layers against a plain model of a union file system, which keeps every file by name.

use std::collections::BTreeMap;
use std::sync::Arc;

use imagelint::layer::{EntryKind, MergedLayers};

use crate::layers::build::{Archive, read};

#[derive(Clone, Debug, PartialEq)]
enum Node {
    Directory,
    File(usize),
    Link(String),
}

type Files = BTreeMap<String, Node>;

fn remove(files: &mut Files, path: &str) {
    files.retain(|other, _| other != path && !other.starts_with(&format!("{path}/")));
}

/// Follows links of the files alone, as in a directory that only this layer is unpacked to.
fn real(files: &Files, path: &str) -> Option<String> {
    let mut ahead: Vec<String> = path.split('/').rev().filter(|part| !part.is_empty()).map(str::to_owned).collect();
    let (mut done, mut links) = (Vec::<String>::new(), 0);
    while let Some(part) = ahead.pop() {
        if part == ".." {
            done.pop();
            continue;
        }
        let here = format!("/{}", done.iter().chain([&part]).cloned().collect::<Vec<_>>().join("/"));
        if let Some(Node::Link(target)) = files.get(&here) {
            links += 1;
            if links > 40 {
                return None;
            }
            if target.starts_with('/') {
                done.clear();
            }
            ahead.extend(target.split('/').rev().filter(|part| !part.is_empty()).map(str::to_owned));
        } else {
            done.push(part);
        }
    }
    Some(done.iter().flat_map(|part| ["/", part]).collect())
}

/// Returns the path of a new entry and creates its directories.
fn land(files: &mut Files, path: &str) -> Option<String> {
    let (parent, name) = path.rsplit_once('/').expect("a path");
    let parent = real(files, parent)?;
    let mut made = String::new();
    for part in parent.split('/').filter(|part| !part.is_empty()) {
        made = format!("{made}/{part}");
        if files.get(&made) != Some(&Node::Directory) {
            files.insert(made.clone(), Node::Directory);
        }
    }
    Some(format!("{parent}/{name}"))
}

struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).expect("31 bits") % bound
    }

    fn path(&mut self) -> String {
        let names = ["a", "b", "x.so", "y.so", "t.txt"];
        (0..=self.below(3)).flat_map(|_| ["/", names[self.below(names.len())]]).collect()
    }
}

/// Adds a random layer to both.
fn layer(random: &mut Random, index: usize, below: &mut Files) -> Archive {
    let (mut archive, mut upper) = (Archive::default(), Files::new());
    for _ in 0..random.below(10) {
        let path = random.path();
        let written = path.get(1..).expect("a name").to_owned();
        let (parent, name) = path.rsplit_once('/').expect("a path");
        let node = match random.below(10) {
            0 => Node::Directory,
            1 | 2 => Node::Link(if random.below(2) == 0 { random.path() } else { format!("..{}", random.path()) }),
            3 => {
                archive = archive.file(&format!("{parent}/.wh.{name}"), "");
                if let Some(gone) = land(&mut upper, &path) {
                    remove(below, &gone);
                }
                continue;
            }
            4 if random.below(3) == 0 => {
                archive = archive.file(&format!("{path}/.wh..wh..opq"), "");
                if let Some(marker) = land(&mut upper, &format!("{path}/.")) {
                    let inside = marker.trim_end_matches('.').to_owned();
                    below.retain(|other, _| !other.starts_with(&inside));
                }
                continue;
            }
            _ => Node::File(index),
        };
        // No runtime unpacks a file and then something below it; a directory that gives way to a file and comes back
        // within one archive is left out as well.
        let landing = real(&upper, parent).map(|parent| format!("{parent}/{name}/"));
        if node != Node::Directory && landing.is_some_and(|from| upper.keys().any(|other| other.starts_with(&from))) {
            continue;
        }
        archive = match &node {
            Node::Directory => archive.directory(&written),
            Node::Link(target) => archive.link(&written, target),
            Node::File(_) => archive.file(&written, "x"),
        };
        let Some(path) = land(&mut upper, &path) else { continue };
        if !(node == Node::Directory && upper.get(&path) == Some(&Node::Directory)) {
            remove(&mut upper, &path);
        }
        upper.insert(path, node);
    }
    for (path, node) in upper {
        if node != Node::Directory || below.get(&path).is_some_and(|below| *below != Node::Directory) {
            remove(below, &path);
        }
        below.insert(path, node);
    }
    archive
}

#[test]
fn random_layers_merge_like_the_model() {
    let mut kept = 0;
    for seed in 0..3000 {
        let mut random = Random(seed);
        let (mut files, mut layers, mut names) = (Files::new(), Vec::new(), Vec::new());
        for index in 0..4 {
            let archive = layer(&mut random, index, &mut files);
            names.push(
                archive
                    .0
                    .chunks(512)
                    .map(|block| String::from_utf8_lossy(&block[..60]).into_owned())
                    .collect::<Vec<_>>(),
            );
            layers.push(Arc::new(read(&archive.end()).expect("a layer")));
        }
        let tree = MergedLayers::merge(layers);
        let found: BTreeMap<String, Option<String>> = tree
            .entries()
            .map(|placed| match placed.kind {
                EntryKind::Link(target) => (placed.path.to_owned(), Some(target.clone())),
                _ => (placed.path.to_owned(), Some(placed.layer.to_string())),
            })
            .collect();
        let wanted = |path: &str| path.rsplit('/').next().is_some_and(|name| name.contains(".so"));
        let expected: BTreeMap<String, Option<String>> = files
            .iter()
            .filter_map(|(path, node)| match node {
                Node::Link(target) => Some((path.clone(), Some(target.clone()))),
                Node::File(layer) if wanted(path) => Some((path.clone(), Some(layer.to_string()))),
                _ => None,
            })
            .collect();
        kept += expected.len();
        assert_eq!(found, expected, "seed {seed}: {names:#?}");
    }
    assert!(kept > 3000, "{kept} entries are too few to tell anything");
}
