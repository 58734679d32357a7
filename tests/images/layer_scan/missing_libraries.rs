//! What an image lacks although its packages say that it is there, and files that cannot be read.

use serde_json::Value;

use crate::layer_scan::elf::{Elf, Entry, container, ptx, sass};
use crate::layer_scan::image::{Image, Layer};
use crate::layer_scan::{
    COMPUTE, GPUS, NO_CODE, PATH, SITE, STARTS, both, debian, fate, library, repository, scan, with_torch,
};

const OPEN: [&str; 2] = ["undetermined", "undetermined"];
const NONE_FOUND: &str = "the files of the image contain none";

fn image(layer: Layer) -> Image {
    Image::new(&[GPUS, COMPUTE, PATH]).layer("ADD rootfs", debian()).layer("RUN pip install", layer)
}

/// torch without its libraries.
fn record(cuda: Option<&str>) -> Layer {
    let local = cuda.map_or_else(|| "cpu".to_owned(), |cuda| format!("cu{}", cuda.replace('.', "")));
    let cuda = cuda.map_or_else(|| "None".to_owned(), |cuda| format!("'{cuda}'"));
    let built = format!("__version__ = '2.6.0+{local}'\ncuda: Optional[str] = {cuda}\nhip: Optional[str] = None\n");
    let metadata = "Metadata-Version: 2.1\nName: torch\nVersion: 2.6.0\n";
    let layer = Layer::new().text(&format!("{SITE}/torch-2.6.0.dist-info/METADATA"), metadata);
    layer.text(&format!("{SITE}/torch/version.py"), &built)
}

fn package(name: &str, version: &str) -> Layer {
    let text = format!("Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n");
    Layer::new().text(&format!("{SITE}/{}-{version}.dist-info/METADATA", name.replace('-', "_")), &text)
}

fn notes(report: &Value) -> String {
    report["subjects"][0]["inspected"]["notes"].to_string()
}

/// A library with code for both pools, of another shape of ELF.
fn of_class_32() -> Vec<u8> {
    let mut bytes = library(&[sass(80, ' '), sass(90, ' ')]);
    bytes[4] = 1;
    bytes
}

fn of_arm() -> Vec<u8> {
    let elf = Elf { machine: 183, ..Elf::default() };
    elf.registered(&[container(&[sass(80, ' '), sass(90, ' ')])]).bytes()
}

fn both_pools() -> [Entry; 2] {
    [sass(80, ' '), sass(90, ' ')]
}

fn broken() -> Vec<u8> {
    [&b"\x7fELF"[..], &[0xff; 200]].concat()
}

const LIBRARY: &str = "torch/lib/libtorch_cuda.so";
const POINTER: &str = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 1499\n";

#[test]
fn cuda_build_without_gpu_code_in_its_files_is_unknown() {
    let cuda = || record(Some("12.4"));
    let at = |file: &str| format!("{SITE}/{file}");
    for (what, layer, noted) in [
        ("a record alone", package("torch", "2.6.0"), false),
        ("no library", cuda(), false),
        ("an empty one", cuda().file(&at(LIBRARY), b""), true),
        ("a pointer to one", cuda().text(&at(LIBRARY), POINTER), true),
        ("a link out of the image", cuda().link(&at(LIBRARY), "/mnt/models/libtorch_cuda.so"), false),
        ("one of another machine", cuda().file(&at(LIBRARY), &of_arm()), true),
        ("one of 32 bits", cuda().file(&at(LIBRARY), &of_class_32()), true),
        ("the beginning of one", cuda().file(&at(LIBRARY), &broken()), true),
        ("one without code", cuda().file(&at(LIBRARY), &Elf::default().bytes()), false),
        ("that beside it", cuda().file(&at("torch/lib/libtorch_cuda_linalg.so"), &library(&[sass(80, ' ')])), false),
        ("a record of another", package("vllm", "0.8.5"), false),
    ] {
        let report = scan(&image(layer));
        assert_eq!(both(&report), OPEN, "{what}: {report:#}");
        assert!(report.to_string().contains(NONE_FOUND), "{what}: {report:#}");
        let notes = notes(&report);
        assert_eq!(notes.contains("libtorch_cuda.so was not inspected"), noted, "{what}: {notes}");
    }
}

#[test]
fn builds_with_gpu_code_or_runtime_compilation_keep_their_verdict() {
    let code = |entries: &[_]| record(Some("12.4")).file(&format!("{SITE}/{LIBRARY}"), &library(entries));
    let linalg =
        |layer: Layer| layer.file(&format!("{SITE}/torch/lib/libtorch_cuda_linalg.so"), &library(&[sass(80, ' ')]));
    let foreign = |layer: Layer| {
        let layer = layer.file("/usr/lib/aarch64-linux-gnu/libz.so.1", &of_arm());
        layer.file(&format!("{SITE}/tools/firmware.so"), &broken()).file("/usr/share/qemu/s390.bin", &of_class_32())
    };
    for (what, layer, expected) in [
        ("code for both", code(&[sass(80, ' '), sass(90, ' ')]), [STARTS, STARTS]),
        ("code for one", code(&[sass(80, ' ')]), [STARTS, NO_CODE]),
        ("PTX", code(&[ptx(80, (8, 4))]), [STARTS, STARTS]),
        ("another beside", linalg(code(&[sass(80, ' '), sass(90, ' ')])), [STARTS, STARTS]),
        ("files of no concern", foreign(code(&[sass(80, ' '), sass(90, ' ')])), [STARTS, STARTS]),
        ("what compiles", package("cupy-cuda12x", "13.3.0"), [STARTS, STARTS]),
        ("what compiles too", package("jax-cuda12-plugin", "0.4.30"), [STARTS, STARTS]),
        ("a plugin without any", package("auto-gptq", "0.7.1"), ["undetermined", "undetermined"]),
    ] {
        let report = scan(&image(layer));
        if what != "a plugin without any" {
            assert_eq!(both(&report), expected, "{what}: {report:#}");
        }
        assert!(!report.to_string().contains(NONE_FOUND), "{what}: {report:#}");
        assert!(!notes(&report).contains("was not inspected"), "{what}: {}", notes(&report));
    }
    let cpu = scan(&Image::new(&[PATH]).layer("ADD rootfs", debian()).layer("RUN pip install", record(None)));
    assert_eq!(cpu["subjects"][0]["gpu_content"], false, "{cpu:#}");
    // A GPU that no compiler of that CUDA supports has no code, with any files.
    let repository = repository(&[("one", &image(record(Some("13.0"))))]);
    let fleet = crate::layer_scan::FLEET.replace("\"A100\"", "\"V100\"").replace("570.211.01", "580.82.07");
    repository.file("fleet.toml", &fleet);
    let report = repository.json(&["scan", "oci:images:one"]);
    assert_eq!(fate(&report, "a100"), NO_CODE, "{report:#}");
    assert_eq!(fate(&report, "h100"), "undetermined", "{report:#}");
}

#[test]
fn a_library_with_unknown_dependencies_does_not_certainly_start() {
    let changed = |at: usize, value: &[u8]| {
        let mut bytes = library(&both_pools());
        bytes[at..at + value.len()].copy_from_slice(value);
        bytes
    };
    let far = (1_u64 << 62).to_le_bytes();
    let at = |file: &str, bytes: &[u8]| record(Some("12.4")).file(&format!("{SITE}/{file}"), bytes);
    for (what, bytes) in [("far away", changed(32, &far)), ("too many", changed(56, &[255, 255]))] {
        let report = scan(&image(at(LIBRARY, &bytes)));
        assert_eq!(both(&report), OPEN, "{what}: {report:#}");
        assert!(notes(&report).contains("so the libraries that it requires are unknown"), "{what}: {}", notes(&report));
        // Of one that nothing is known to load by itself, nothing hangs on it.
        let sound = at(LIBRARY, &library(&both_pools()));
        let report = scan(&image(sound.file(&format!("{SITE}/torch/lib/libtorch_cuda_linalg.so"), &bytes)));
        assert_eq!(both(&report), [STARTS, STARTS], "{what}: {report:#}");
    }
    let sound = scan(&image(at(LIBRARY, &library(&both_pools()))));
    assert_eq!(both(&sound), [STARTS, STARTS], "{sound:#}");
    assert!(!notes(&sound).contains("the libraries that it requires are unknown"), "{}", notes(&sound));
}

#[test]
fn only_the_first_unreadable_libraries_are_named() {
    let many = (0..40).fold(record(Some("12.4")), |layer, number| {
        layer.file(&format!("{SITE}/torch/lib/libtorch_cuda.so.{number:02}"), &broken())
    });
    let notes = notes(&scan(&image(many)));
    assert_eq!(notes.matches("was not inspected").count(), 4, "{notes}");
    assert!(notes.contains("36 more libraries were not inspected"), "{notes}");
}

#[test]
fn a_complete_description_without_code_of_torch_leaves_torch_unknown() {
    let repository = repository(&[("one", &image(record(None)))]);
    let fate_of = |text: &str| {
        repository.file("one.image.toml", text);
        let report = repository.json(&["check", "one.image.toml"]);
        both(&report)
    };
    let head = "complete = [\"env\", \"packages\", \"files\", \"code\"]\n[env]\nNVIDIA_VISIBLE_DEVICES = \"all\"\n";
    let env = "NVIDIA_DRIVER_CAPABILITIES = \"compute,utility\"\n[packages.pip]\n";
    let torch = format!("{head}{env}torch = \"2.6.0+cu124\"\n");
    let code = "[[gpu_code]]\nfile = \"libtorch_cuda.so\"\ncomponent = \"torch\"\nptx = []\n";
    assert_eq!(fate_of(&torch), OPEN);
    assert_eq!(fate_of(&format!("{torch}{code}sass = [\"sm_80\", \"sm_90\"]\n")), [STARTS, STARTS]);
    assert_eq!(fate_of(&format!("{torch}{code}sass = [\"sm_80\"]\n")), [STARTS, NO_CODE]);
    assert_eq!(fate_of(&format!("{head}{env}cupy-cuda12x = \"13.3.0\"\n")), [STARTS, STARTS]);
    assert_eq!(fate_of(&torch.replace(", \"code\"", "")), [STARTS, STARTS]);
}

#[test]
fn partially_read_library_falls_back_to_the_database_with_a_note() {
    let of = |containers: &[Vec<u8>]| {
        let bytes = Elf::default().registered(containers).bytes();
        scan(&image(record(Some("12.4")).file(&format!("{SITE}/{LIBRARY}"), &bytes)))
    };
    let one = container(&[sass(80, ' '), sass(90, ' ')]);
    let report = of(&[one[..one.len() - 64].to_vec()]);
    let told = "the code of torch is taken from the compatibility database, if its build is there";
    assert!(notes(&report).contains(told), "{report:#}");
    assert_eq!(both(&report), [STARTS, STARTS], "{report:#}");
    assert_eq!(report["subjects"][0]["verdicts"][0]["confidence"], "inferred", "{report:#}");
    let report = of(&[one]);
    assert!(!notes(&report).contains(told), "{report:#}");
    assert_eq!(report["subjects"][0]["verdicts"][0]["confidence"], "measured", "{report:#}");
}

#[test]
fn limit_of_one_candidate_library_is_not_attributed_to_all() {
    let parts = "supports this GPU only in parts with PTX";
    let of = |image: Image, first: &[Entry], second: &[Entry]| {
        let linked = |entries: &[Entry]| {
            let elf = Elf::default().registered(&[container(entries)]);
            elf.relocatable(&[container(&[ptx(80, (8, 4))])]).bytes()
        };
        let layer = package("bitsandbytes", "0.45.0");
        let layer = layer.file(&format!("{SITE}/bitsandbytes/libbitsandbytes_cuda121.so"), &linked(first));
        let layer = layer.file(&format!("{SITE}/bitsandbytes/libbitsandbytes_cuda124.so"), &linked(second));
        scan(&image.layer("RUN pip install", layer))
    };
    let torch = || with_torch(&[sass(80, ' '), sass(90, ' ')]);
    // Which of them is loaded is not known where a variable names it, or where torch is for another CUDA.
    let set = || {
        let image = Image::new(&[GPUS, COMPUTE, PATH, "BNB_CUDA_VERSION=121"]).layer("ADD rootfs", debian());
        image.layer(
            "RUN pip install torch",
            crate::layer_scan::torch(Layer::new(), SITE, "2.6.0+cu124", "12.4", &both_pools()),
        )
    };
    let other = || {
        let image = Image::new(&[GPUS, COMPUTE, PATH]).layer("ADD rootfs", debian());
        image.layer(
            "RUN pip install torch",
            crate::layer_scan::torch(Layer::new(), SITE, "2.6.0+cu126", "12.6", &both_pools()),
        )
    };
    let (old, new) = ([sass(80, ' ')], [sass(80, ' '), sass(90, ' ')]);
    for (first, second) in [(&old[..], &new[..]), (&new, &old)] {
        for image in [set(), other()] {
            let text = of(image, first, second).to_string();
            assert!(!text.contains(parts), "{text}");
            assert!(text.contains("some libraries of bitsandbytes in the image do not support this GPU"), "{text}");
        }
    }
    for image in [torch(), set(), other()] {
        assert!(of(image, &old, &old).to_string().contains(parts));
    }
    assert_eq!(both(&of(set(), &new, &new)), [STARTS, STARTS]);
    // That of torch's CUDA is loaded, whatever the other has.
    assert_eq!(both(&of(torch(), &old, &new)), [STARTS, STARTS]);
    let report = of(torch(), &new, &old);
    assert_eq!(fate(&report, "h100"), "undetermined", "{report:#}");
    assert!(report.to_string().contains(parts), "{report:#}");
}

#[test]
fn an_encrypted_layer_is_named_as_such_and_no_other() {
    let whole = || image(record(Some("12.4")).file(&format!("{SITE}/{LIBRARY}"), &library(&[sass(80, ' ')])));
    for (ending, told) in [("+encrypted", true), ("+gzip+encrypted", true), ("", false), ("+gzip", false)] {
        let report = scan(&whole().packed(ending));
        assert_eq!(notes(&report).contains("was not inspected: it is encrypted"), told, "{ending}: {report:#}");
        assert_eq!(fate(&report, "h100") == NO_CODE, !told, "{ending}: {report:#}");
        assert_ne!(fate(&report, "h100"), STARTS, "{ending}");
    }
}

#[test]
fn unreadable_gpu_code_does_not_mean_no_gpu_code() {
    let one = || container(&[sass(80, ' '), sass(90, ' ')]);
    let of = |elf: Elf, env: &[&str]| {
        let image = Image::new(env).layer("ADD rootfs", debian());
        scan(&image.layer("COPY . /", Layer::new().file("/app/libown.so", &elf.bytes())))
    };
    let unknown = Entry { kind: 77, ..sass(90, ' ') };
    let second = [&b"\x50\xed\x55\xba\x02\0\x10\0"[..], &one()[8..]].concat();
    let trailing = [&one()[..], &[0xff; 40]].concat();
    for (what, elf, told) in [
        ("no section table", Elf { sections: false, ..Elf::default() }.registered(&[one()]), "is not known"),
        (
            "a kind that nobody knows",
            Elf::default().registered(&[container(&[unknown, sass(90, ' ')])]),
            "of an unknown kind",
        ),
        ("a header of another version", Elf::default().registered(&[second]), "has an unknown format"),
        ("bytes behind it", Elf::default().registered(&[trailing]), "has an unknown format"),
    ] {
        for env in [&[PATH][..], &[GPUS, COMPUTE, PATH, "CUDA_VERSION=12.4.1"]] {
            let report = of(elf.clone(), env);
            assert_eq!(report["subjects"][0]["gpu_content"], true, "{what}: {report:#}");
            assert_eq!(both(&report), OPEN, "{what}, {env:?}: {report:#}");
            assert!(notes(&report).contains("libown.so was not inspected"), "{what}: {report:#}");
            let verdicts = report["subjects"][0]["verdicts"].to_string();
            assert!(
                verdicts.contains("/app/libown.so contains GPU code") && verdicts.contains(told),
                "{what}: {verdicts}"
            );
        }
    }
    for (what, elf) in [
        ("no GPU code", Elf::default()),
        ("no sections and none", Elf { sections: false, ..Elf::default() }),
        (
            "bytes of the same name elsewhere",
            Elf::default().with(".data", 1, 8, b"\x50\xed\x55\xba\x02\0\x10\0".to_vec()),
        ),
        ("a section without anything", Elf::default().registered(&[Vec::new()])),
    ] {
        let report = of(elf, &[PATH]);
        assert_eq!(report["subjects"][0]["gpu_content"], false, "{what}: {report:#}");
    }
    // The readable libraries are not all that count; torch has its tables.
    let layer = Layer::new().file("/app/liba.so", &library(&both_pools()));
    let two = layer.file("/app/libb.so", &Elf { sections: false, ..Elf::default() }.registered(&[one()]).bytes());
    assert_eq!(both(&scan(&image(two))), OPEN);
    let layer = record(Some("12.4")).file(&format!("{SITE}/{LIBRARY}"), &library(&both_pools()));
    let torch = layer.file("/app/libb.so", &Elf { sections: false, ..Elf::default() }.registered(&[one()]).bytes());
    assert_eq!(both(&scan(&image(torch))), [STARTS, STARTS]);
}
