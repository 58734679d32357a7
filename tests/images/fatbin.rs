//! Coverage against the containers of real libraries: `tests/vectors/fatbin.json` holds, per library of a public
//! wheel, what its fat binary headers say and what cuobjdump lists.

use std::collections::BTreeMap;
use std::fs;

use imagelint::cuda::{CodeTarget, ComputeCapability};
use imagelint::knowledge::Knowledge;
use imagelint::model::fact::{CodeTargets, GpuCodeLibrary};
use imagelint::replay::{CodeCoverage, code_coverage};
use serde::Deserialize;

#[derive(Deserialize)]
struct File {
    libraries: Vec<Entry>,
}

#[derive(Deserialize)]
struct Entry {
    package: String,
    version: String,
    file: String,
    sass: Vec<String>,
    ptx: Vec<String>,
    sass_counts: BTreeMap<String, usize>,
    ptx_counts: BTreeMap<String, usize>,
    relocatable_sass: Vec<String>,
    relocatable_ptx: Vec<String>,
    containers: usize,
    cuobjdump_sass: Vec<String>,
    cuobjdump_ptx: Vec<String>,
    agrees_with_cuobjdump: bool,
    #[serde(default)]
    container_signatures: BTreeMap<String, usize>,
}

impl Entry {
    fn name(&self) -> String {
        format!("{} {} {}", self.package, self.version, self.file)
    }

    /// The containers that can be loaded: as listed, else as nested as the counts of each target allow.
    fn library(&self) -> GpuCodeLibrary {
        let listed = self.container_signatures.iter().filter_map(|(key, number)| {
            let targets = key.strip_prefix(".nv_fatbin|")?.split_whitespace();
            let (ptx, sass): (Vec<&str>, Vec<&str>) = targets.partition(|target| target.starts_with("ptx"));
            let numbers = |list: Vec<&str>| {
                list.iter().map(|text| target(text.trim_start_matches("sm").trim_start_matches("ptx"))).collect()
            };
            Some((CodeTargets { sass: numbers(sass), ptx: numbers(ptx) }, *number))
        });
        let mut containers: Vec<(CodeTargets, usize)> = listed.collect();
        if containers.is_empty() {
            containers = self.nested();
        }
        GpuCodeLibrary { file: self.file.clone(), containers, ..GpuCodeLibrary::default() }
    }

    fn nested(&self) -> Vec<(CodeTargets, usize)> {
        let mut steps: Vec<usize> = self.counts().map(|(_, _, count)| count).chain([self.loadable()]).collect();
        steps.sort_unstable();
        steps.dedup();
        let mut before = 0;
        let mut found = Vec::new();
        for step in steps {
            let here = |own: bool| {
                let reaching = self.counts().filter(|(ptx, _, count)| *ptx == own && step <= *count);
                reaching.map(|(_, target, _)| target).collect()
            };
            found.push((CodeTargets { sass: here(false), ptx: here(true) }, step - before));
            before = step;
        }
        found
    }

    /// Every target with whether it is PTX and in how many containers it is.
    fn counts(&self) -> impl Iterator<Item = (bool, CodeTarget, usize)> {
        let sass = self.sass_counts.iter().map(|(text, count)| (false, target(text), *count));
        sass.chain(self.ptx_counts.iter().map(|(text, count)| (true, target(text), *count)))
    }

    /// Containers outside the relocatable section, as far as the file tells.
    fn loadable(&self) -> usize {
        let relocatable = !self.relocatable_sass.is_empty() || !self.relocatable_ptx.is_empty();
        let most = self.counts().map(|(_, _, count)| count).max().unwrap_or(0);
        if relocatable { most } else { self.containers }
    }
}

fn target(text: &str) -> CodeTarget {
    text.parse().unwrap_or_else(|error| panic!("{error}"))
}

fn entries() -> Vec<Entry> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/vectors/fatbin.json");
    let file: File = serde_json::from_str(&fs::read_to_string(path).expect("readable")).expect("JSON");
    file.libraries
}

/// Every discrete capability from Kepler to the newest.
const GPUS: &[&str] = &[
    "3.5", "3.7", "5.0", "5.2", "6.0", "6.1", "7.0", "7.5", "8.0", "8.6", "8.9", "9.0", "10.0", "10.3", "12.0", "12.1",
];

fn gpus() -> impl Iterator<Item = ComputeCapability> {
    GPUS.iter().map(|text| text.parse().expect("a capability"))
}

fn covered(library: &GpuCodeLibrary, gpu: ComputeCapability) -> CodeCoverage {
    code_coverage(library, gpu, false, Knowledge::built_in())
}

/// The rule of the programming guide, written a second time: what one listed word runs on.
fn runs(word: &str, gpu: ComputeCapability) -> bool {
    let tegra = ["53", "62", "72", "87", "110"];
    let (kind, number) = word.split_once('_').expect("a word with its kind");
    let plain = number.trim_end_matches(['a', 'f']);
    let value: u32 = plain.parse().expect("a number");
    let own = u32::from(gpu.major) * 10 + u32::from(gpu.minor);
    let same_major = value / 10 == u32::from(gpu.major);
    match (kind, number.strip_prefix(plain)) {
        (_, Some("a")) => value == own,
        (_, Some("f")) => same_major && value <= own,
        ("sm", _) if tegra.contains(&plain) => value == own,
        ("sm", _) => same_major && value <= own,
        _ => value <= own,
    }
}

#[test]
fn gpu_coverage_of_every_library_matches_its_headers() {
    let entries = entries();
    assert_eq!(entries.len(), 127);
    for entry in &entries {
        let library = entry.library();
        for gpu in gpus() {
            let counts = |ptx: bool, kind: &str| {
                let list = if ptx { &entry.ptx_counts } else { &entry.sass_counts };
                assert!(list.keys().all(|word| word.starts_with(kind)), "{}", entry.name());
                list.iter().filter(|(word, _)| runs(word, gpu)).map(|(_, count)| *count).collect::<Vec<_>>()
            };
            let (sass, ptx) = (counts(false, "sm_"), counts(true, "compute_"));
            let found = covered(&library, gpu);
            let least = sass.iter().copied().max().unwrap_or(0);
            let most = sass.iter().sum::<usize>();
            assert!((least..=most).contains(&found.cubin), "{} on {gpu}: {found:?}, {least}..={most}", entry.name());
            let runnable = found.cubin + found.ptx;
            let least = least.max(ptx.iter().copied().max().unwrap_or(0));
            let most = most + ptx.iter().sum::<usize>();
            assert!((least..=most).contains(&runnable), "{} on {gpu}: {found:?}, {least}..={most}", entry.name());
            assert!(runnable <= found.all, "{} on {gpu}: {found:?}", entry.name());
        }
    }
}

#[test]
fn gpu_coverage_agrees_with_the_cuobjdump_listing() {
    for entry in &entries() {
        assert!(entry.agrees_with_cuobjdump, "{}", entry.name());
        // cuobjdump prints family cubins without their letter, and five old cubins with one that their header lacks.
        let loose = |list: &[String]| {
            let mut words: Vec<String> = list.iter().map(|word| word.trim_end_matches(['a', 'f']).to_owned()).collect();
            words.sort();
            words.dedup();
            words
        };
        assert_eq!(loose(&entry.cuobjdump_sass), loose(&entry.sass), "{}", entry.name());
        assert_eq!(loose(&entry.cuobjdump_ptx), loose(&entry.ptx), "{}", entry.name());
        let library = entry.library();
        for gpu in gpus() {
            let found = covered(&library, gpu);
            let listed = entry.sass.iter().chain(&entry.ptx).any(|word| runs(word, gpu));
            assert_eq!(found.cubin + found.ptx > 0, listed, "{} on {gpu}: {found:?}", entry.name());
        }
    }
}

#[test]
fn listed_containers_add_up() {
    let mut listed = 0;
    for entry in entries().iter().filter(|entry| !entry.container_signatures.is_empty()) {
        listed += 1;
        let all: usize = entry.container_signatures.values().sum();
        assert_eq!(all, entry.containers, "{}", entry.name());
        let library = entry.library();
        for (ptx, target, count) in entry.counts() {
            let holds = |signature: &CodeTargets| if ptx { &signature.ptx } else { &signature.sass }.contains(&target);
            let found: usize = library.containers.iter().filter(|(one, _)| holds(one)).map(|(_, number)| number).sum();
            assert_eq!(found, count, "{}: {}", entry.name(), target.number());
        }
    }
    assert_eq!(listed, 23);
}

#[test]
fn torch_wheel_covers_supported_gpus_fully_and_others_not_at_all() {
    let share = |entry: &Entry, gpu: &str| {
        let found = covered(&entry.library(), gpu.parse().expect(gpu));
        (found.cubin + found.ptx) * 100 / found.all
    };
    let entries = entries();
    let find = |version: &str, file: &str| {
        let found =
            entries.iter().find(|one| one.package == "torch" && one.version == version && one.file.ends_with(file));
        found.unwrap_or_else(|| panic!("torch {version} {file}"))
    };
    // Since 2.0 a build has all or nothing.
    for gpu in ["7.5", "8.0", "8.6", "8.9", "9.0", "10.0", "10.3", "12.0", "12.1"] {
        assert_eq!(share(find("2.15.0", "/libtorch_cuda.so"), gpu), 100, "{gpu}");
    }
    for gpu in ["7.0", "6.1", "5.0"] {
        assert_eq!(share(find("2.15.0", "/libtorch_cuda.so"), gpu), 0, "{gpu}");
    }
    // Older builds have parts for one generation: above the threshold where the build is for the GPU, far below else.
    for gpu in ["5.0", "6.0", "7.0", "7.5"] {
        assert!(share(find("1.11.0", "/libtorch_cuda.so"), gpu) >= 80, "{gpu}");
    }
    for gpu in ["3.5", "8.0", "8.6"] {
        assert!(share(find("1.11.0", "/libtorch_cuda.so"), gpu) < 80, "{gpu}");
    }
}
