use super::*;
use crate::describe::ImageDescription;
use crate::fleet::GpuNameLookup;
use crate::infer::infer_image_facts;
use crate::model::outcome::Outcome;
use crate::text::source::{SourceText, Sources};
use crate::{extract, fleet};

/// Start of an image description whose facts are all known.
const WHOLE: &str =
    "complete = [\"env\", \"packages\", \"files\", \"code\"]\n[env]\nNVIDIA_VISIBLE_DEVICES = \"all\"\n";

/// Returns what a function reads from the verdict on an image on a pool.
fn map_image_verdict<T>(image: &str, pool: &str, of: impl Fn(&StartupVerdict<'_>) -> T) -> T {
    let knowledge = Knowledge::built_in();
    let description =
        ImageDescription::read(&SourceText::new("x.image.toml", image.to_owned())).expect("a description");
    let images =
        infer_image_facts(&extract::observe_description(&description, None, None), "linux/amd64", None, knowledge);
    let text = SourceText::new("fleet.toml", format!("[[pool]]\nname = \"p\"\n{pool}\n"));
    let source = Sources::default().add(text.clone());
    let fleet = fleet::read_fleet(source, &text, &|_| GpuNameLookup::Known).expect("a fleet");
    let hosts = fleet.pools[0].hosts(knowledge, None);
    let pairs: Vec<_> = hosts.iter().flat_map(|host| images.iter().map(move |image| (image, host))).collect();
    of(pool_verdicts(&pairs, knowledge).first().expect("a verdict"))
}

/// Returns the outcome, the certain code, the open fields, whether the build is open, and the number of listed hosts.
fn verdict_summary(image: &str, pool: &str) -> (String, Option<u16>, Vec<PoolField>, bool, usize) {
    map_image_verdict(image, pool, |verdict| {
        let (name, code) = match verdict.fate {
            Some(StartupResult::Starts(_)) => ("starts", None),
            Some(StartupResult::Undetermined) => ("undetermined", None),
            Some(StartupResult::Fails(failure)) => (failure.outcome().name(), failure.codes().certain),
            None => ("depends", None),
        };
        (name.to_owned(), code, verdict.open_fields.clone(), verdict.open_build, verdict.hosts.len())
    })
}

/// Returns the certain and the possible codes of the verdict.
fn verdict_codes(image: &str, pool: &str) -> (Option<u16>, Vec<u16>) {
    map_image_verdict(image, pool, |verdict| {
        let (certain, possible) = verdict.error_codes();
        (certain, possible)
    })
}

/// Describes an image with a CUDA runtime and native code for one target.
fn image_with_code(runtime: &str, sass: &str) -> String {
    format!("cuda_runtime = \"{runtime}\"\n{WHOLE}[[gpu_code]]\nsass = [\"{sass}\"]\nptx = []\n")
}

/// Launch fields of a pool with Docker and a container toolkit.
const PLAIN: &str = "launch = \"docker-gpus\"\ntoolkit = \"1.17.4\"\n";

#[test]
fn a_failure_on_every_host_precedes_the_most_frequent() {
    // Old branches are too old for the runtime as well; the code is for another GPU on all of them.
    let (outcome, code, ..) =
        verdict_summary(&image_with_code("12.8", "sm_90"), &format!("gpu = \"Tesla T4\"\n{PLAIN}"));
    assert_eq!((outcome.as_str(), code), ("no-kernel-image", Some(209)));
}

#[test]
fn differing_failures_share_no_code() {
    let pool = format!("gpu = \"Tesla T4\"\ndriver = [\"470.82.01\", \"535.54.03\"]\n{PLAIN}");
    // The older driver is too old, the newer one has code it cannot run: both stand on the older, one on both.
    assert_eq!(verdict_summary(&image_with_code("12.2", "sm_90"), &pool).0, "no-kernel-image");
    // One is too old, on the other the image's older library is first.
    let baked = format!(
        "cuda_runtime = \"12.2\"\n{WHOLE}[files]\n\"/etc/debian_version\" = {{}}\n\"/usr/lib/x86_64-linux-gnu/libcuda.so.535.104.05\" = {{}}\n[[gpu_code]]\nsass = [\"sm_75\"]\n"
    );
    let pool = format!("gpu = \"Tesla T4\"\ndriver = [\"450.51.06\", \"535.54.03\"]\n{PLAIN}");
    let (outcome, code, ..) = verdict_summary(&baked, &pool);
    assert_eq!((outcome.as_str(), code), ("driver-mismatch", Some(803)));
}

#[test]
fn one_starting_host_makes_the_verdict_depend() {
    let pool = format!("gpu = \"Tesla T4\"\ndriver = [\"450.51.06\", \"535.54.03\"]\n{PLAIN}");
    let (outcome, code, fields, build, _) = verdict_summary(&image_with_code("12.2", "sm_75"), &pool);
    assert_eq!((outcome.as_str(), code, build), ("depends", None, false));
    assert_eq!(fields, [PoolField::Driver]);
}

#[test]
fn a_tag_whose_builds_all_fail_fails() {
    let image = "base = \"nvidia/cuda:11.2.2-cudnn8-devel-ubuntu20.04@sha256:0000000000000000000000000000000000000000000000000000000000000000\"\n";
    let pool = "gpu = \"NVIDIA GeForce RTX 2080 Ti\"\ndriver = \"450.102.04\"\nlaunch = \"docker-gpus\"\nlibnvidia_container = \"1.4.0\"\n";
    let (outcome, code, _, build, _) = verdict_summary(image, pool);
    // One build is refused first; 804 is behind that as well.
    assert_eq!((outcome.as_str(), code, build), ("compat-not-supported", Some(804), false));
}

#[test]
fn a_declared_brand_overrides_the_table() {
    let image = "base = \"nvidia/cuda:11.3.1-base-ubuntu20.04\"\n";
    for (gpu, brand, expected) in [
        ("RTX 2080 Ti", "", "compat-not-supported"),
        ("RTX 2080 Ti", "brand = \"geforce\"\n", "compat-not-supported"),
        ("RTX 2080 Ti", "brand = \"tesla\"\n", "starts"),
        ("Tesla T4", "", "starts"),
        ("Tesla T4", "brand = \"tesla\"\n", "starts"),
        ("Tesla T4", "brand = \"geforce\"\n", "compat-not-supported"),
    ] {
        let pool = format!(
            "gpu = \"{gpu}\"\ndriver = \"460.80\"\nlaunch = \"docker-gpus\"\nlibnvidia_container = \"1.4.0\"\n{brand}"
        );
        assert_eq!(verdict_summary(image, &pool).0, expected, "{gpu} {brand}");
    }
}

/// Describes an image with a newer libcuda in a directory that its loader configuration lists.
fn image_with_listed_compat() -> String {
    format!(
        "cuda_runtime = \"12.9\"\n{WHOLE}[files]\n\"/etc/debian_version\" = {{}}\n\
         \"/usr/local/cuda-12.9/compat/libcuda.so.575.57.08\" = {{}}\n\
         \"/etc/ld.so.conf.d/cuda-compat.conf\" = {{ text = \"/usr/local/cuda-12.9/compat\" }}\n\
         [[gpu_code]]\nsass = [\"sm_90\"]\nptx = []\n"
    )
}

#[test]
fn an_open_library_directory_can_decide_the_verdict() {
    let pool = |launch: &str, directory: &str| {
        format!("gpu = \"H100\"\ndriver = \"580.82.07\"\nlaunch = \"{launch}\"\ntoolkit = \"1.18.1\"\n{directory}")
    };
    let image = image_with_listed_compat();
    let (outcome, _, fields, ..) = verdict_summary(&image, &pool("docker-cdi", ""));
    assert_eq!((outcome.as_str(), fields), ("depends", vec![PoolField::LibraryDirectory]));
    let debian = verdict_summary(&image, &pool("docker-cdi", "library_directory = \"/usr/lib/x86_64-linux-gnu\"\n"));
    assert_eq!((debian.0.as_str(), debian.1), ("driver-mismatch", Some(803)));
    assert_eq!(verdict_summary(&image, &pool("docker-cdi", "library_directory = \"/usr/lib64\"\n")).0, "starts");
    // If libraries are mounted into the image's own directory, that of the node does not matter.
    assert_eq!(verdict_summary(&image, &pool("docker-gpus", "")).0, "starts");
    assert_eq!(verdict_summary(&image_with_code("12.9", "sm_90"), &pool("docker-cdi", "")).0, "starts");
}

#[test]
fn missing_libraries_are_reported_before_an_old_driver() {
    let image = |files: &[&str]| {
        let files: Vec<String> = files.iter().map(|name| format!("\"/usr/lib64/lib{name}\" = {{}}\n")).collect();
        format!("{WHOLE}[packages.pip]\ntensorflow = \"2.15.1\"\n[files]\n{}", files.concat())
    };
    let pool = |driver: &str| format!("gpu = \"A100\"\ndriver = \"{driver}\"\n{PLAIN}");
    for driver in ["470.223.02", "525.60.13", "535.54.03"] {
        assert_eq!(verdict_summary(&image(&[]), &pool(driver)).0, "library-missing", "{driver}");
    }
    let all = [
        "cudart.so.12",
        "cublas.so.12",
        "cublasLt.so.12",
        "cufft.so.11",
        "curand.so.10",
        "cusolver.so.11",
        "cusparse.so.12",
        "cudnn.so.8",
    ];
    let (outcome, code, ..) = verdict_summary(&image(&all), &pool("470.223.02"));
    assert_eq!((outcome.as_str(), code), ("insufficient-driver", Some(35)));
}

#[test]
fn listed_gpu_code_is_a_cuda_build_on_any_base() {
    let pool = format!("gpu = \"A100\"\ndriver = \"550.54.15\"\n{PLAIN}");
    let code =
        |head: &str, kinds: &str| format!("{head}\n[[gpu_code]]\nfile = \"/usr/bin/x\"\ncomponent = \"x\"\n{kinds}\n");
    for head in ["base = \"ubuntu:22.04\"", "base = \"python:3.11-slim\"", "complete = [\"env\", \"code\"]", WHOLE] {
        assert_eq!(verdict_summary(&code(head, "sass = [\"sm_90\"]\nptx = []"), &pool).0, "no-kernel-image", "{head}");
        assert_eq!(verdict_summary(&code(head, "sass = [\"sm_80\"]"), &pool).0, "undetermined", "{head}");
        assert_eq!(verdict_summary(&code(head, "sass = []\nptx = []"), &pool).0, "cpu-only", "{head}");
    }
}

#[test]
fn an_unknown_brand_can_decide_the_verdict() {
    let image = "base = \"nvidia/cuda:11.3.1-base-ubuntu20.04\"\n";
    let pool = |more: &str| {
        format!(
            "gpu = {{ name = \"Own 9000\", compute_capability = \"7.5\" }}\ndriver = \"460.80\"\nlaunch = \"docker-gpus\"\nlibnvidia_container = \"1.4.0\"\n{more}"
        )
    };
    let (outcome, _, fields, ..) = verdict_summary(image, &pool(""));
    assert_eq!((outcome.as_str(), fields), ("depends", vec![PoolField::Brand]));
    assert_eq!(verdict_summary(image, &pool("brand = \"tesla\"\n")).0, "starts");
    assert_eq!(verdict_summary(image, &pool("brand = \"geforce\"\n")).0, "compat-not-supported");
    // Without a need for the compat library, the brand does not matter.
    assert_eq!(verdict_summary(&image_with_code("11.2", "sm_75"), &pool("")).0, "starts");
}

/// Whether the compat library is loaded depends on an unread ELF note; the result is known where both cases agree.
#[test]
fn verdict_fails_if_both_possible_libraries_fail() {
    let pool = |gpu: &str, driver: &str, toolkit: &str| {
        format!("gpu = \"{gpu}\"\ndriver = \"{driver}\"\nlaunch = \"docker-cdi\"\ntoolkit = \"{toolkit}\"\n")
    };
    let image =
        |torch: &str| format!("base = \"nvidia/cuda:12.8.1-devel-ubuntu22.04\"\n[packages.pip]\ntorch = \"{torch}\"\n");
    let (consumer, server) = ("RTX 5090", "A100");
    let (newer, older) = ("2.11.0+cu130", "2.11.0+cu128");
    for (torch, gpu, driver, toolkit, expected, code) in [
        // 35 by the host's library, 804 where the other is taken.
        (newer, consumer, "570.195.03", "1.20.0", "insufficient-driver", None),
        (newer, consumer, "570.195.03", "1.19.0", "insufficient-driver", Some(35)),
        (newer, server, "570.195.03", "1.20.0", "insufficient-driver", Some(35)),
        // Taken it fails, left aside it starts.
        (older, consumer, "570.195.03", "1.20.0", "depends", None),
        (older, consumer, "570.195.03", "1.19.0", "starts", None),
        (older, consumer, "575.57.08", "1.20.0", "starts", None),
        (older, server, "570.195.03", "1.20.0", "starts", None),
        (newer, consumer, "580.65.06", "1.20.0", "starts", None),
    ] {
        let image = image(torch);
        let pool = pool(gpu, driver, toolkit);
        let (outcome, ..) = verdict_summary(&image, &pool);
        assert_eq!(outcome, expected, "{torch} {gpu} {driver} {toolkit}");
        assert_eq!(verdict_codes(&image, &pool).0, code, "{torch} {gpu} {driver} {toolkit}");
    }
    let (certain, possible) = verdict_codes(&image(newer), &pool(consumer, "570.195.03", "1.20.0"));
    assert_eq!((certain, possible), (None, vec![35, 804]));
}

#[test]
fn many_hosts_list_one_per_distinct_result() {
    let image = image_with_code("12.2", "sm_75");
    let (.., hosts) = verdict_summary(&image, "gpu = \"Tesla T4\"\n");
    assert!((2..10).contains(&hosts), "{hosts}");
    assert_eq!(verdict_summary(&image, &format!("gpu = \"Tesla T4\"\ndriver = \"535.54.03\"\n{PLAIN}")).4, 1);
}

#[test]
fn differing_codes_are_dropped_and_a_list_covers_its_parts() {
    let failure = |codes| ReplayFailure::new(Outcome::DriverMismatch, codes);
    let (one, list) = (failure(CudaErrorCodes::certain(803)), failure(CudaErrorCodes::possible(&[803, 804])));
    assert_eq!(merge_failures(one, list), list);
    assert_eq!(merge_failures(list, one), list);
    assert_eq!(merge_failures(one, one), one);
    assert_eq!(merge_failures(one, failure(CudaErrorCodes::certain(999))).codes(), CudaErrorCodes::NONE);
}

#[test]
fn no_hosts_give_no_verdict() {
    assert!(pool_verdicts(&[], Knowledge::built_in()).is_empty());
}
