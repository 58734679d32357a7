use super::*;
use crate::describe::Description;
use crate::extract;
use crate::fleet;
use crate::fleet::GpuName;
use crate::infer::infer;
use crate::outcome::Outcome;
use crate::source::SourceText;
use crate::source::Sources;

const WHOLE: &str =
    "complete = [\"env\", \"packages\", \"files\", \"code\"]\n[env]\nNVIDIA_VISIBLE_DEVICES = \"all\"\n";

/// What is told of the image on a pool.
fn told<T>(image: &str, pool: &str, of: impl Fn(&Verdict<'_>) -> T) -> T {
    let knowledge = Knowledge::built_in();
    let description = Description::read(&SourceText::new("x.image.toml", image.to_owned())).expect("a description");
    let images = infer(&extract::of_description(&description, None, None), "linux/amd64", None, knowledge);
    let text = SourceText::new("fleet.toml", format!("[[pool]]\nname = \"p\"\n{pool}\n"));
    let source = Sources::default().add(text.clone());
    let fleet = fleet::read(source, &text, &|_| GpuName::Known).expect("a fleet");
    let hosts = fleet.pools[0].hosts(knowledge, None);
    let pairs: Vec<_> = hosts.iter().flat_map(|host| images.iter().map(move |image| (image, host))).collect();
    of(verdicts(&pairs, knowledge).first().expect("a verdict"))
}

/// Outcome, certain code, open fields and build, and how many hosts are told.
fn found(image: &str, pool: &str) -> (String, Option<u16>, Vec<PoolField>, bool, usize) {
    told(image, pool, |verdict| {
        let (name, code) = match verdict.fate {
            Some(Fate::Starts(_)) => ("starts", None),
            Some(Fate::Undetermined) => ("undetermined", None),
            Some(Fate::Fails(wall)) => (wall.outcome().name(), wall.codes().certain),
            None => ("depends", None),
        };
        (name.to_owned(), code, verdict.open_fields.clone(), verdict.open_build, verdict.hosts.len())
    })
}

/// The codes of the verdict, certain and possible.
fn codes(image: &str, pool: &str) -> (Option<u16>, Vec<u16>) {
    told(image, pool, |verdict| {
        let (certain, possible) = verdict.codes();
        (certain, possible)
    })
}

fn own(runtime: &str, sass: &str) -> String {
    format!("cuda_runtime = \"{runtime}\"\n{WHOLE}[[gpu_code]]\nsass = [\"{sass}\"]\nptx = []\n")
}

const PLAIN: &str = "launch = \"docker-gpus\"\ntoolkit = \"1.17.4\"\n";

#[test]
fn a_wall_on_every_host_comes_before_the_commonest() {
    // Old branches are too old for the runtime as well; the code is for another GPU on all of them.
    let (outcome, code, ..) = found(&own("12.8", "sm_90"), &format!("gpu = \"Tesla T4\"\n{PLAIN}"));
    assert_eq!((outcome.as_str(), code), ("no-kernel-image", Some(209)));
}

#[test]
fn walls_that_differ_share_no_code() {
    let pool = format!("gpu = \"Tesla T4\"\ndriver = [\"470.82.01\", \"535.54.03\"]\n{PLAIN}");
    // The older driver is too old, the newer one has code it cannot run: both stand on the older, one on both.
    assert_eq!(found(&own("12.2", "sm_90"), &pool).0, "no-kernel-image");
    // One is too old, on the other the image's older library is first.
    let baked = format!(
        "cuda_runtime = \"12.2\"\n{WHOLE}[files]\n\"/etc/debian_version\" = {{}}\n\"/usr/lib/x86_64-linux-gnu/libcuda.so.535.104.05\" = {{}}\n[[gpu_code]]\nsass = [\"sm_75\"]\n"
    );
    let pool = format!("gpu = \"Tesla T4\"\ndriver = [\"450.51.06\", \"535.54.03\"]\n{PLAIN}");
    let (outcome, code, ..) = found(&baked, &pool);
    assert_eq!((outcome.as_str(), code), ("driver-mismatch", Some(803)));
}

#[test]
fn one_host_that_starts_makes_it_depend() {
    let pool = format!("gpu = \"Tesla T4\"\ndriver = [\"450.51.06\", \"535.54.03\"]\n{PLAIN}");
    let (outcome, code, fields, build, _) = found(&own("12.2", "sm_75"), &pool);
    assert_eq!((outcome.as_str(), code, build), ("depends", None, false));
    assert_eq!(fields, [PoolField::Driver]);
}

#[test]
fn builds_that_all_fail_fail_whichever_it_is() {
    let image = "base = \"nvidia/cuda:11.2.2-cudnn8-devel-ubuntu20.04@sha256:0000000000000000000000000000000000000000000000000000000000000000\"\n";
    let pool = "gpu = \"NVIDIA GeForce RTX 2080 Ti\"\ndriver = \"450.102.04\"\nlaunch = \"docker-gpus\"\nlibnvidia_container = \"1.4.0\"\n";
    let (outcome, code, _, build, _) = found(image, pool);
    // One build is refused first; 804 is behind that as well.
    assert_eq!((outcome.as_str(), code, build), ("compat-not-supported", Some(804), false));
}

#[test]
fn a_brand_that_the_pool_declares_is_asked_and_not_that_of_the_row() {
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
        assert_eq!(found(image, &pool).0, expected, "{gpu} {brand}");
    }
}

/// A libcuda above the host's, where the image's own system keeps libraries.
fn listed_compat() -> String {
    format!(
        "cuda_runtime = \"12.9\"\n{WHOLE}[files]\n\"/etc/debian_version\" = {{}}\n\
         \"/usr/local/cuda-12.9/compat/libcuda.so.575.57.08\" = {{}}\n\
         \"/etc/ld.so.conf.d/cuda-compat.conf\" = {{ text = \"/usr/local/cuda-12.9/compat\" }}\n\
         [[gpu_code]]\nsass = [\"sm_90\"]\nptx = []\n"
    )
}

#[test]
fn what_hangs_on_a_directory_that_the_pool_leaves_open_depends_on_it() {
    let pool = |launch: &str, directory: &str| {
        format!("gpu = \"H100\"\ndriver = \"580.82.07\"\nlaunch = \"{launch}\"\ntoolkit = \"1.18.1\"\n{directory}")
    };
    let image = listed_compat();
    let (outcome, _, fields, ..) = found(&image, &pool("docker-cdi", ""));
    assert_eq!((outcome.as_str(), fields), ("depends", vec![PoolField::LibraryDirectory]));
    let debian = found(&image, &pool("docker-cdi", "library_directory = \"/usr/lib/x86_64-linux-gnu\"\n"));
    assert_eq!((debian.0.as_str(), debian.1), ("driver-mismatch", Some(803)));
    assert_eq!(found(&image, &pool("docker-cdi", "library_directory = \"/usr/lib64\"\n")).0, "starts");
    // Where the container stack mounts into the image's own directory nothing hangs on the node's.
    assert_eq!(found(&image, &pool("docker-gpus", "")).0, "starts");
    assert_eq!(found(&own("12.9", "sm_90"), &pool("docker-cdi", "")).0, "starts");
}

#[test]
fn what_looks_for_its_libraries_first_does_not_come_to_its_runtime() {
    let image = |files: &[&str]| {
        let files: Vec<String> = files.iter().map(|name| format!("\"/usr/lib64/lib{name}\" = {{}}\n")).collect();
        format!("{WHOLE}[packages.pip]\ntensorflow = \"2.15.1\"\n[files]\n{}", files.concat())
    };
    let pool = |driver: &str| format!("gpu = \"A100\"\ndriver = \"{driver}\"\n{PLAIN}");
    for driver in ["470.223.02", "525.60.13", "535.54.03"] {
        assert_eq!(found(&image(&[]), &pool(driver)).0, "library-missing", "{driver}");
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
    let (outcome, code, ..) = found(&image(&all), &pool("470.223.02"));
    assert_eq!((outcome.as_str(), code), ("insufficient-driver", Some(35)));
}

#[test]
fn code_that_a_description_lists_is_of_a_cuda_build_whatever_the_base() {
    let pool = format!("gpu = \"A100\"\ndriver = \"550.54.15\"\n{PLAIN}");
    let code =
        |head: &str, kinds: &str| format!("{head}\n[[gpu_code]]\nfile = \"/usr/bin/x\"\ncomponent = \"x\"\n{kinds}\n");
    for head in ["base = \"ubuntu:22.04\"", "base = \"python:3.11-slim\"", "complete = [\"env\", \"code\"]", WHOLE] {
        assert_eq!(found(&code(head, "sass = [\"sm_90\"]\nptx = []"), &pool).0, "no-kernel-image", "{head}");
        assert_eq!(found(&code(head, "sass = [\"sm_80\"]"), &pool).0, "undetermined", "{head}");
        assert_eq!(found(&code(head, "sass = []\nptx = []"), &pool).0, "cpu-only", "{head}");
    }
}

#[test]
fn what_hangs_on_a_brand_that_nobody_told_depends_on_it() {
    let image = "base = \"nvidia/cuda:11.3.1-base-ubuntu20.04\"\n";
    let pool = |more: &str| {
        format!(
            "gpu = {{ name = \"Own 9000\", compute_capability = \"7.5\" }}\ndriver = \"460.80\"\nlaunch = \"docker-gpus\"\nlibnvidia_container = \"1.4.0\"\n{more}"
        )
    };
    let (outcome, _, fields, ..) = found(image, &pool(""));
    assert_eq!((outcome.as_str(), fields), ("depends", vec![PoolField::Brand]));
    assert_eq!(found(image, &pool("brand = \"tesla\"\n")).0, "starts");
    assert_eq!(found(image, &pool("brand = \"geforce\"\n")).0, "compat-not-supported");
    // What asks for no compat library asks for no brand.
    assert_eq!(found(&own("11.2", "sm_75"), &pool("")).0, "starts");
}

/// Taken or left aside, by a note that nobody read: the fate is told where both come to the same.
#[test]
fn what_fails_with_either_library_fails() {
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
        let (outcome, ..) = found(&image, &pool);
        assert_eq!(outcome, expected, "{torch} {gpu} {driver} {toolkit}");
        assert_eq!(codes(&image, &pool).0, code, "{torch} {gpu} {driver} {toolkit}");
    }
    let (certain, possible) = codes(&image(newer), &pool(consumer, "570.195.03", "1.20.0"));
    assert_eq!((certain, possible), (None, vec![35, 804]));
}

#[test]
fn of_many_hosts_one_of_each_way_is_told() {
    let image = own("12.2", "sm_75");
    let (.., hosts) = found(&image, "gpu = \"Tesla T4\"\n");
    assert!((2..10).contains(&hosts), "{hosts}");
    assert_eq!(found(&image, &format!("gpu = \"Tesla T4\"\ndriver = \"535.54.03\"\n{PLAIN}")).4, 1);
}

#[test]
fn codes_that_differ_are_none_and_a_list_holds_its_parts() {
    let wall = |codes| Wall::new(Outcome::DriverMismatch, codes);
    let (one, list) = (wall(Codes::certain(803)), wall(Codes::possible(&[803, 804])));
    assert_eq!(both(one, list), list);
    assert_eq!(both(list, one), list);
    assert_eq!(both(one, one), one);
    assert_eq!(both(one, wall(Codes::certain(999))).codes(), Codes::NONE);
}

#[test]
fn nothing_is_said_of_no_host() {
    assert!(verdicts(&[], Knowledge::built_in()).is_empty());
}
