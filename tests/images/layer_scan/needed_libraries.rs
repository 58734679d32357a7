//! Libraries outside of a package that its files require.

use serde_json::Value;

use crate::layer_scan::elf::{Elf, container, ptx, sass};
use crate::layer_scan::image::{Image, Layer};
use crate::layer_scan::{COMPUTE, GPUS, PATH, SITE, STARTS, both, debian, repository, scan, torch};

const MISSING: [&str; 2] = ["fails library-missing", "fails library-missing"];
const BOTH: [&str; 2] = [STARTS, STARTS];
const NEEDED: [&str; 3] = ["libcublas.so.12", "libcudart.so.12", "libc.so.6"];

fn library(needed: &[&'static str], runpath: Option<&'static str>) -> Vec<u8> {
    let elf = Elf { needed: needed.to_vec(), runpath, ..Elf::default() };
    elf.registered(&[container(&[sass(80, ' '), sass(90, ' ')])]).bytes()
}

fn record(layer: Layer, name: &str, version: &str) -> Layer {
    let text = format!("Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n");
    layer.text(&format!("{SITE}/{}-{version}.dist-info/METADATA", name.replace('-', "_")), &text)
}

fn faiss(needed: &[&'static str], runpath: Option<&'static str>) -> Layer {
    let file = format!("{SITE}/faiss/_swigfaiss.cpython-311-x86_64-linux-gnu.so");
    record(Layer::new(), "faiss-gpu-cu12", "1.8.0.2").file(&file, &library(needed, runpath))
}

/// A package that no table knows.
fn own(needed: &[&'static str]) -> Layer {
    let file = format!("{SITE}/mything/_C.cpython-311-x86_64-linux-gnu.so");
    record(Layer::new(), "mything", "1.0").file(&file, &library(needed, None))
}

fn image(layer: Layer) -> Image {
    Image::new(&[GPUS, COMPUTE, PATH]).layer("ADD rootfs", debian()).layer("RUN pip install --no-deps", layer)
}

/// With libraries that say nothing of themselves; paths that do not begin at the root are below the packages.
fn present(layer: Layer, files: &[&str]) -> Layer {
    let path = |file: &&str| if file.starts_with('/') { (*file).to_owned() } else { format!("{SITE}/{file}") };
    files.iter().fold(layer, |layer, file| layer.file(&path(file), &Elf::default().bytes()))
}

#[test]
fn package_with_an_absent_needed_library_fails() {
    for (what, layer) in [
        ("a package of the tables", faiss(&NEEDED, None)),
        ("one of its libraries", present(faiss(&NEEDED, None), &["/usr/lib/x86_64-linux-gnu/libcublas.so.12"])),
        ("those of another major", present(faiss(&NEEDED, None), &["/usr/local/cuda-11.8/lib64/libcudart.so.11.0"])),
        ("a path of its own that leads nowhere", faiss(&NEEDED, Some("$ORIGIN/../nvidia/cublas/lib"))),
        ("a package that no table knows", own(&NEEDED)),
    ] {
        let report = scan(&image(layer));
        assert_eq!(both(&report), MISSING, "{what}: {report:#}");
        let found = report["subjects"][0]["findings"].to_string();
        assert!(found.contains("libcudart.so.12"), "{what}: {found}");
        assert!(!report.to_string().contains("statically linked"), "{what}: {report:#}");
    }
}

#[test]
fn present_or_not_surely_loaded_library_is_not_reported_missing() {
    let wheels = ["nvidia/cublas/lib/libcublas.so.12", "nvidia/cuda_runtime/lib/libcudart.so.12"];
    let beside = ["faiss/libcublas.so.12", "faiss/libcudart.so.12.4.127"];
    let called = |soname| Elf { soname: Some(soname), ..Elf::default() }.bytes();
    let other_names = faiss(&NEEDED, None)
        .file(&format!("{SITE}/faiss/blas.so"), &called("libcublas.so.12"))
        .file(&format!("{SITE}/faiss/runtime.so"), &called("libcudart.so.12"));
    let second = format!("{SITE}/faiss/_swigfaiss_avx2.cpython-311-x86_64-linux-gnu.so");
    for (what, layer) in [
        ("wheels of the libraries", present(faiss(&NEEDED, None), &wheels)),
        ("beside it", present(faiss(&NEEDED, None), &beside)),
        ("by a path of its own", present(faiss(&NEEDED, Some("$ORIGIN")), &beside)),
        ("under another name", other_names),
        ("its own copies", faiss(&["libcublas-0abc1234.so.12.4.5.8", "libcudart-d0da41ae.so.12.4.127"], None)),
        ("another library of it does without", faiss(&NEEDED, None).file(&second, &library(&["libc.so.6"], None))),
        ("nothing of CUDA", faiss(&["libm.so.6"], None)),
    ] {
        let report = scan(&image(layer));
        assert_eq!(both(&report), BOTH, "{what}: {report:#}");
    }
    // With torch, it is unknown whether an unlisted package is used; an unread one causes no failure.
    let site = |layer: Layer| torch(layer, SITE, "2.6.0+cu124", "12.4", &[sass(80, ' '), sass(90, ' ')]);
    let passed = |name: &str, file: &str| {
        record(Layer::new(), name, "0.0.29").file(&format!("{SITE}/{file}"), &library(&NEEDED, None))
    };
    for (what, layer) in [
        ("an unknown one", site(own(&NEEDED))),
        ("xformers", site(passed("xformers", "xformers/_C.so"))),
        ("bitsandbytes", site(passed("bitsandbytes", "bitsandbytes/libbitsandbytes_cuda124.so"))),
    ] {
        let report = scan(&image(layer));
        assert!(!both(&report).contains(&MISSING[0].to_owned()), "{what}: {report:#}");
    }
    let left_out = repository(&[(
        "one",
        &image(faiss(&NEEDED, None)).layer("COPY . /", Layer::new().file("/x", &vec![7; 20_000])),
    )]);
    let report = left_out.json(&["scan", "--max-layer-bytes", "15kB", "oci:images:one"]);
    assert!(!both(&report).contains(&MISSING[0].to_owned()), "a layer that was left out: {report:#}");
}

#[test]
fn needed_cuda_runtime_is_not_assumed_statically_linked() {
    let told = |layer: Layer| {
        let report: Value = scan(&image(layer));
        report.to_string()
    };
    let file = format!("{SITE}/nvidia/cuda_runtime/lib/libcudart.so.12");
    let with = told(own(&["libcudart.so.12"]).file(&file, &Elf::default().bytes()));
    assert!(!with.contains("statically linked") && !with.contains("undetermined"), "{with}");
    let without = told(own(&["libm.so.6"]));
    assert!(without.contains("it may be statically linked"), "{without}");
    // The compiler tells it where PTX does.
    let elf = Elf { needed: vec!["libcudart.so.12"], ..Elf::default() };
    let elf = elf.registered(&[container(&[sass(80, ' '), ptx(90, (8, 4))])]).bytes();
    let layer = record(Layer::new(), "mything", "1.0").file(&format!("{SITE}/mything/_C.so"), &elf);
    let report = scan(&image(layer.file(&file, &Elf::default().bytes())));
    assert_eq!(both(&report), [STARTS, STARTS], "{report:#}");
}

/// A program that needs a library of the CUDA runtime, with its search path.
fn program(soname: &'static str, runpath: Option<&'static str>) -> Layer {
    Layer::new().file("/opt/x/bin/exe", &library(&[soname], runpath))
}

fn started(layers: Vec<Layer>, env: &[&str]) -> Image {
    let image = Image::new(&[&[GPUS, COMPUTE, PATH], env].concat()).layer("ADD rootfs", debian());
    layers.into_iter().fold(image, |image, layer| image.layer("COPY . /", layer)).starts(&["/opt/x/bin/exe"])
}

#[test]
fn a_removed_or_invalid_library_is_absent_despite_links_to_it() {
    let lib = "/usr/lib/x86_64-linux-gnu";
    let (name, file) = (format!("{lib}/libcudart.so.12"), format!("{lib}/libcudart.so.12.4.127"));
    let elf = || Elf::default().bytes();
    let exe = || program("libcudart.so.12", None);
    let arm = || Elf { machine: 183, ..Elf::default() }.bytes();
    let linked = || exe().file(&file, &elf()).link(&name, "libcudart.so.12.4.127");
    let gone = || Layer::new().without(&file);
    for (what, layers) in [
        ("deleted behind its link", vec![linked(), gone()]),
        ("deleted with its folder", vec![linked(), Layer::new().without(lib), Layer::new().link(&name, &file)]),
        ("a link that never led anywhere", vec![exe().link(&name, "libcudart.so.12.4.127")]),
        ("a link in circles", vec![exe().link(&name, "libcudart.so.12")]),
        ("an empty file", vec![exe().file(&name, b"")]),
        ("a text", vec![exe().file(&name, b"INPUT(-lcudart)")]),
        ("a link to an empty file", vec![exe().file(&file, b"").link(&name, &file)]),
        ("a library of another machine", vec![exe().file(&name, &arm())]),
        ("an empty file on a path of its own", vec![program("libcudart.so.12", Some(lib)).file(&name, b"")]),
    ] {
        let report = scan(&started(layers, &["CUDA_VERSION=12.4.1"]));
        assert_eq!(both(&report), MISSING, "{what}: {report:#}");
        assert!(report.to_string().contains("libcudart.so.12"), "{what}");
    }
    let moved = || exe().file("/opt/data/cuda-runtime", &elf());
    for (what, layers) in [
        ("a link to a file", vec![linked()]),
        ("the link is gone, too, and the file came back", vec![linked(), gone(), Layer::new().file(&file, &elf())]),
        ("a file of another name", vec![moved().link(&name, "/opt/data/cuda-runtime")]),
        (
            "a link over a link",
            vec![linked().link("/opt/l", lib), Layer::new().link(&name, "/opt/l/libcudart.so.12.4.127")],
        ),
        ("an empty one beside it", vec![linked().file("/opt/old/libcudart.so.12", b"")]),
        ("a hard link", vec![exe().file(&file, &elf()).hard(&name, &file), gone()]),
        ("one that the program finds by itself", vec![program("libcudart.so.12", Some(lib)).file(&name, &elf())]),
    ] {
        let report = scan(&started(layers, &["CUDA_VERSION=12.4.1"]));
        assert_eq!(both(&report), BOTH, "{what}: {report:#}");
    }
}

#[test]
fn needed_cuda_runtime_major_decides_the_minimum_driver() {
    let elf = || Elf::default().bytes();
    let too_old = "fails insufficient-driver";
    for (what, soname, layer, env, old, new) in [
        (
            "a name alone",
            "libcudart.so.13",
            program("libcudart.so.13", None).file("/opt/x/lib/libcudart.so.13", &elf()),
            "LD_LIBRARY_PATH=/opt/x/lib",
            too_old,
            STARTS,
        ),
        (
            "by a path of its own",
            "libcudart.so.13",
            program("libcudart.so.13", Some("$ORIGIN/../lib")).file("/opt/x/lib/libcudart.so.13", &elf()),
            "A=b",
            too_old,
            STARTS,
        ),
        (
            "beside a toolkit of another major",
            "libcudart.so.13",
            program("libcudart.so.13", Some("$ORIGIN/../lib")).file("/opt/x/lib/libcudart.so.13", &elf()),
            "CUDA_VERSION=12.4.1",
            too_old,
            STARTS,
        ),
        (
            "a major that both drivers have",
            "libcudart.so.12",
            program("libcudart.so.12", Some("$ORIGIN/../lib")).file("/opt/x/lib/libcudart.so.12", &elf()),
            "A=b",
            STARTS,
            STARTS,
        ),
        (
            "one that kept its name for a major",
            "libcudart.so.11.0",
            program("libcudart.so.11.0", Some("$ORIGIN/../lib")).file("/opt/x/lib/libcudart.so.11.0", &elf()),
            "A=b",
            STARTS,
            STARTS,
        ),
        ("nothing that tells it", "libm.so.6", program("libm.so.6", None), "A=b", "undetermined", "undetermined"),
    ] {
        let repository = repository(&[("one", &started(vec![layer], &[env]))]);
        for (driver, expected) in [("550.54.15", old), ("580.65.06", new)] {
            repository.file("fleet.toml", &crate::layer_scan::FLEET.replace("570.211.01", driver));
            let report = repository.json(&["scan", "oci:images:one"]);
            assert_eq!(both(&report), [expected, expected], "{what}, {soname} on {driver}: {report:#}");
            assert_eq!(
                report.to_string().contains("statically linked"),
                expected == "undetermined",
                "{what}: {report:#}"
            );
        }
    }
}
