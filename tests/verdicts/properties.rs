//! Properties of the replay for random images and hosts with fixed seeds.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use imagelint::cuda::{
    CodeTarget, ComputeCapability, ContainerToolkitRelease, CudaVersion, DottedVersion, DriverVersion, HostValue,
    RequirementHost, RequirementVerdict, SUPPORTED_CAPABILITIES, TargetSuffix, driver_capability_names,
    evaluate_cli_requirement, evaluate_toolkit_requirements, image_requirements, visible_devices,
};
use imagelint::describe::ImageDescription;
use imagelint::dockerfile::Dockerfile;
use imagelint::fleet;
use imagelint::fleet::{GpuNameLookup, Host};
use imagelint::knowledge::Knowledge;
use imagelint::model::fact::{Confidence, ImageFacts};
use imagelint::model::outcome::Outcome;
use imagelint::model::reference::ImageReference;
use imagelint::replay::{DiscardingRecorder, FullRecorder, Replay, StartRoute, StartupResult, replay};
use imagelint::text::source::{SourceText, Sources};
use random_images::{HostSpec, ImageSpec, SeededRandom};

use crate::support::random_images;

fn fates(image: &ImageFacts, host: &Host) -> Vec<StartupResult> {
    let knowledge = Knowledge::built_in();
    let fate = |component| replay(Replay::new(image, component, host, knowledge), &mut DiscardingRecorder);
    image.components.iter().map(fate).collect()
}

fn starts(fate: StartupResult) -> bool {
    matches!(fate, StartupResult::Starts(_))
}

#[test]
fn every_outcome_is_met_by_one_case_of_a_hundred() {
    let images: Vec<ImageFacts> = random_images::images(11, 220).iter().map(ImageSpec::read).collect();
    let hosts: Vec<Host> = random_images::hosts(12, 110).iter().map(HostSpec::read).collect();
    let mut met: BTreeMap<&str, usize> = BTreeMap::new();
    let mut cases = 0;
    for fate in images.iter().flat_map(|image| hosts.iter().flat_map(|host| fates(image, host))) {
        cases += 1;
        let name = match fate {
            StartupResult::Starts(route) => route.name(),
            StartupResult::Undetermined => "undetermined",
            StartupResult::Fails(wall) => wall.outcome().name(),
        };
        *met.entry(name).or_default() += 1;
    }
    assert!(cases >= 20_000, "{cases} cases");
    let routes = [StartRoute::Native, StartRoute::MinorVersion, StartRoute::ForwardCompat, StartRoute::Jit]
        .map(StartRoute::name);
    for name in Outcome::ALL.iter().map(|outcome| outcome.name()).chain(routes) {
        let number = met.get(name).copied().unwrap_or_default();
        assert!(number * 100 >= cases, "{name}: {number} of {cases}\n{met:#?}");
    }
}

#[test]
fn recording_the_steps_does_not_change_a_verdict() {
    let hosts: Vec<Host> = random_images::hosts(15, 50).iter().map(HostSpec::read).collect();
    let knowledge = Knowledge::built_in();
    let mut lengths = BTreeSet::new();
    for image in random_images::images(16, 60).iter().map(ImageSpec::read) {
        for host in &hosts {
            let recorded = image.components.iter().map(|component| {
                let mut steps = FullRecorder::default();
                let fate = replay(Replay::new(&image, component, host, knowledge), &mut steps);
                lengths.insert(steps.0.len());
                fate
            });
            assert_eq!(recorded.collect::<Vec<_>>(), fates(&image, host));
        }
    }
    assert_eq!(lengths.len(), 1, "every start-up has the same steps: {lengths:?}");
}

/// Whether code of the image is for one capability alone.
fn is_specific(image: &ImageFacts) -> bool {
    let codes = image.components.iter().filter_map(|component| component.code.known());
    let mut containers = codes.flat_map(|code| code.libraries.iter().flat_map(|library| &library.containers));
    containers.any(|(signature, _)| {
        signature.sass.iter().chain(&signature.ptx).any(|target| target.suffix == TargetSuffix::ArchitectureSpecific)
    })
}

#[test]
fn a_higher_minor_capability_loses_no_support() {
    let specs = random_images::images(21, 120);
    let images: Vec<ImageFacts> = specs.iter().map(ImageSpec::read).collect();
    let plain: Vec<(&ImageSpec, &ImageFacts)> =
        specs.iter().zip(&images).filter(|(_, image)| !is_specific(image)).collect();
    let (mut compared, mut started) = (0, 0);
    for spec in random_images::hosts(22, 40).into_iter().filter(|spec| spec.driver.is_some()) {
        for minors in [&["7.0", "7.5"][..], &["8.0", "8.6", "8.9"], &["10.0", "10.3"], &["12.0", "12.1"]] {
            let with = |minor: &&str| HostSpec { capability: Some((*minor).to_owned()), ..spec.clone() }.read();
            let hosts: Vec<Host> = minors.iter().map(with).collect();
            for (pair, (text, image)) in hosts.windows(2).flat_map(|pair| plain.iter().map(move |image| (pair, image)))
            {
                for (lower, higher) in fates(image, &pair[0]).into_iter().zip(fates(image, &pair[1])) {
                    compared += 1;
                    started += usize::from(starts(lower));
                    // A driver may be too old for the newer GPU; its code is not.
                    let unknown =
                        matches!(higher, StartupResult::Fails(wall) if wall.outcome() == Outcome::GpuUnsupported);
                    assert!(
                        !starts(lower) || starts(higher) || unknown,
                        "{lower:?}, then {higher:?} on {minors:?}\n{}\n{}",
                        spec.to_toml(),
                        text.to_toml()
                    );
                }
            }
        }
    }
    assert!(compared >= 10_000 && started * 50 >= compared, "{started} of {compared} start");
}

/// Whether the image puts a compat library of the branch before everything else.
///
/// With toolkits from 1.20 on the hook takes such a library where it is newer than the driver and leaves it where it is
/// older, so that it breaks nothing and needs no exception. `LD_LIBRARY_PATH` keeps it in front of a driver that has
/// become newer than it (ld.so(8): the variable's directories are searched before the cache), and a user-mode driver older
/// than the kernel-mode driver is 803 (NVIDIA CUDA Compatibility guide, edition 615; vllm-project/vllm#33992).
fn forced_compat(spec: &ImageSpec, branch: u32) -> bool {
    let of_branch = |version: &str| version.parse().is_ok_and(|own: DriverVersion| own.branch() == branch);
    let named = |(name, value): &(&str, String)| *name == "LD_LIBRARY_PATH" && value.contains("/usr/local/cuda/compat");
    spec.compat.as_ref().is_some_and(|compat| of_branch(compat.version)) && spec.env.iter().any(named)
}

#[test]
fn a_newer_driver_of_the_branch_breaks_nothing() {
    let specs = random_images::images(31, 150);
    let images: Vec<ImageFacts> = specs.iter().map(ImageSpec::read).collect();
    let (mut compared, mut started) = (0, 0);
    for host in random_images::hosts(32, 150) {
        let driver: DriverVersion = host.driver.as_deref().unwrap_or("535.54.03").parse().expect("a driver");
        let releases = Knowledge::built_in().driver_branch(driver.branch()).expect("a branch").releases;
        let newer = releases.iter().find(|release| **release > driver).or(releases.last()).expect("a release");
        let read = |version: DriverVersion| HostSpec { driver: Some(version.to_string()), ..host.clone() }.read();
        let (older, newer) = (read(driver), read(*newer));
        for (spec, image) in specs.iter().zip(&images) {
            if forced_compat(spec, driver.branch()) {
                continue;
            }
            for (before, after) in fates(image, &older).into_iter().zip(fates(image, &newer)) {
                compared += 1;
                started += usize::from(starts(before));
                assert!(
                    !starts(before) || !matches!(after, StartupResult::Fails(_)),
                    "{before:?}, then {after:?}\n{}\n{}",
                    host.to_toml(),
                    spec.to_toml()
                );
            }
        }
    }
    assert!(compared >= 20_000 && started * 20 >= compared, "{started} of {compared} start");
}

#[test]
fn more_ptx_takes_no_support_away() {
    let hosts: Vec<Host> = random_images::hosts(42, 120).iter().map(HostSpec::read).collect();
    let mut draw = SeededRandom::new(41);
    let (mut compared, mut started) = (0, 0);
    for spec in random_images::images(43, 120).into_iter().filter(|spec| spec.torch.is_none() && spec.code_seen) {
        let mut more = spec.clone();
        more.ptx.push(*draw.one(&["50", "60", "70", "80", "90", "90a", "100f", "120"]));
        more.ptx.dedup();
        let (with, without) = (more.read(), spec.read());
        for host in &hosts {
            for (before, after) in fates(&without, host).into_iter().zip(fates(&with, host)) {
                compared += 1;
                started += usize::from(starts(before));
                assert!(!starts(before) || starts(after), "{before:?}, then {after:?}\n{}", more.to_toml());
            }
        }
    }
    assert!(compared >= 5_000 && started * 20 >= compared, "{started} of {compared} start");
}

/// Any three of a list: the order is antisymmetric, transitive, and agrees with equality.
fn is_total<T: Ord + Copy + std::fmt::Debug>(list: &[T]) {
    for (a, b) in list.iter().flat_map(|a| list.iter().map(move |b| (a, b))) {
        assert_eq!(a.cmp(b), b.cmp(a).reverse(), "{a:?} {b:?}");
        assert_eq!(a.cmp(b) == Ordering::Equal, a == b, "{a:?} {b:?}");
        assert_eq!(a.partial_cmp(b), Some(a.cmp(b)), "{a:?} {b:?}");
        for c in list {
            assert!(a > b || b > c || a <= c, "{a:?} {b:?} {c:?}");
        }
    }
}

#[test]
fn orderings_are_total() {
    let mut draw = SeededRandom::new(51);
    let versions: Vec<DottedVersion> = (0..60)
        .map(|_| {
            let parts: Vec<String> =
                (0..=draw.below(4)).map(|_| (*draw.one(&["0", "1", "02", "2", "10"])).to_owned()).collect();
            parts.join(".")
        })
        .map(|text| text.parse::<CudaVersion>().unwrap_or_default().0)
        .collect();
    is_total(&versions);
    is_total(&[Confidence::Assumed, Confidence::Inferred, Confidence::Declared, Confidence::Measured]);
    let images: Vec<ImageFacts> = random_images::images(52, 60).iter().map(ImageSpec::read).collect();
    let hosts: Vec<Host> = random_images::hosts(53, 40).iter().map(HostSpec::read).collect();
    let mut met: Vec<StartupResult> = Vec::new();
    for fate in images.iter().flat_map(|image| hosts.iter().flat_map(|host| fates(image, host))) {
        if !met.contains(&fate) {
            met.push(fate);
        }
    }
    assert!(met.len() > 10, "{met:?}");
    is_total(&met);
    let worst = met.iter().max().expect("a fate");
    assert!(matches!(worst, StartupResult::Fails(_)), "{worst:?}");
}

/// A text of signs that parsers stumble over, or a good one with some of them put in.
fn text(draw: &mut SeededRandom) -> String {
    const SIGNS: &[&str] = &[
        "0",
        "1",
        "9",
        ".",
        ",",
        " ",
        "=",
        "<",
        ">",
        "!",
        "cuda",
        "brand",
        "driver",
        "arch",
        "sm_",
        "a",
        "f",
        "-",
        "+",
        "/",
        ":",
        "@",
        "sha256:",
        "\"",
        "'",
        "\\",
        "\n",
        "\t",
        "[",
        "]",
        "{",
        "}",
        "#",
        "$",
        "${",
        "FROM ",
        "RUN ",
        "ARG ",
        "<<E",
        "é",
        "\u{0}",
        "\u{feff}",
        "𝔘",
        "99999999999999999999",
        "gpu = ",
        "[[pool]]",
        "name",
        "%",
        "|",
        "&&",
        "(",
        ")",
    ];
    const GOOD: &[&str] = &[
        "cuda>=12.4 brand=tesla,driver>=470,driver<471",
        "535.161.08",
        "nvcr.io/nvidia/pytorch:24.04-py3@sha256:0123",
        "FROM nvidia/cuda:12.4.1-base-ubuntu22.04\nRUN apt-get install -y python3-pip && pip install torch==2.4.1+cu124",
        "[[pool]]\nname = \"a\"\ngpu = [\"A100\", { name = \"T4\" }]\ndriver = \">=535,<536\"\n",
        "cuda_runtime = \"12.4\"\n[files]\n\"/x\" = { link = \"y\" }\n[[gpu_code]]\nsass = [\"sm_90a\"]\n",
        "compute,utility",
        "8.6",
    ];
    let mut found = if draw.percent(50) { (*draw.one(GOOD)).to_owned() } else { String::new() };
    for _ in 0..=draw.below(8) {
        let places: Vec<usize> = found.char_indices().map(|(at, _)| at).chain([found.len()]).collect();
        let at = *draw.one(&places);
        if draw.percent(25) {
            found.truncate(at);
        } else {
            found.insert_str(at, draw.one::<&str>(SIGNS));
        }
    }
    found
}

#[test]
fn no_text_stops_a_parser() {
    let mut draw = SeededRandom::new(61);
    let known = |text: &str| HostValue::Known(text.to_owned());
    let host =
        RequirementHost { cuda: known("12.4"), driver: known("550.54.15"), arch: known("8.0"), brand: known("tesla") };
    let mut understood: BTreeMap<&str, usize> = BTreeMap::new();
    let cases = 20_000;
    for _ in 0..cases {
        let text = text(&mut draw);
        let mut sources = Sources::default();
        let source = SourceText::new("drawn", text.clone());
        let id = sources.add(source.clone());
        let env = BTreeMap::from([
            ("CUDA_VERSION".to_owned(), text.clone()),
            ("NVIDIA_DISABLE_REQUIRE".to_owned(), text.clone()),
        ]);
        let _ = visible_devices(Some(&text), true);
        let _ = Dockerfile::parse(&text);
        for (parser, read) in [
            ("requirement", !matches!(evaluate_cli_requirement(&text, &host), RequirementVerdict::Malformed { .. })),
            (
                "requirement, csv",
                !matches!(
                    evaluate_toolkit_requirements([text.as_str()], &host, ContainerToolkitRelease::default()),
                    RequirementVerdict::Malformed { .. }
                ),
            ),
            ("driver", text.parse::<DriverVersion>().is_ok()),
            ("cuda", text.parse::<CudaVersion>().is_ok()),
            ("capability", text.parse::<ComputeCapability>().is_ok()),
            ("target", text.parse::<CodeTarget>().is_ok()),
            ("reference", ImageReference::parse(&text).is_ok()),
            ("description", ImageDescription::read(&source).is_ok()),
            ("fleet", fleet::read_fleet(id, &source, &|_| GpuNameLookup::Known).is_ok()),
            ("environment", image_requirements(&env, ContainerToolkitRelease::default()).is_ok()),
            ("capabilities", driver_capability_names(Some(&text), false, SUPPORTED_CAPABILITIES).is_ok()),
        ] {
            *understood.entry(parser).or_default() += usize::from(read);
        }
    }
    // Each parser met texts of both kinds: neither it nor the draw is blind.
    for (parser, number) in &understood {
        assert!(*number > 20 && *number < cases - 20, "{parser} reads {number} of {cases}\n{understood:#?}");
    }
}
