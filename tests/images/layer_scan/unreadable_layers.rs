//! Unreadable layers and files, and readable ones in unusual locations.

use std::fs;

use serde_json::Value;

use crate::layer_scan::elf::{ptx, sass};
use crate::layer_scan::image::{Image, Layer};
use crate::layer_scan::test_repository::{code, err, out};
use crate::layer_scan::{PATH, STARTS, both, debian, library, repository, scan, with_torch};

#[test]
fn unreadable_layer_is_an_error_in_every_format_but_skipped_is_not() {
    let whole = with_torch(&[sass(80, ' '), sass(90, ' ')]);
    let broken = with_torch(&[sass(80, ' ')]);
    let repository = repository(&[("whole", &whole), ("broken", &broken)]);
    let digest = broken.digest(1);
    let blob = repository.path("images/blobs/sha256").join(digest.trim_start_matches("sha256:"));
    let bytes = fs::read(&blob).expect("the layer");
    let mut changed = bytes.clone();
    let last = changed.len() - 600;
    changed[last] ^= 1;
    for (what, bytes, told) in [
        ("other bytes", changed, "wrong digest"),
        ("fewer bytes", bytes[..bytes.len() - 512].to_vec(), "wrong size"),
        ("more bytes", [&bytes[..], &[0; 512]].concat(), "wrong size"),
        ("no layer", Vec::new(), "wrong size"),
    ] {
        fs::write(&blob, bytes).expect("the layer");
        for format in ["human", "concise", "github", "sarif", "junit", "json", "ndjson", "markdown"] {
            let done = repository.run(&["scan", "--format", format, "oci:images:broken", "oci:images:whole"]);
            assert_eq!(code(&done), 2, "{what}, {format}: {}", out(&done));
            let words = format!("{}{}", out(&done), err(&done));
            let text = words.split_whitespace().filter(|word| *word != "│").collect::<Vec<_>>().join(" ");
            assert!(text.contains(&format!("could not be inspected: {told}")), "{what}, {format}: {text}");
        }
        let report = repository.json(&["scan", "oci:images:broken"]);
        let verdicts = report["subjects"][0]["verdicts"].to_string();
        assert!(verdicts.contains("layer 2 of 2") && verdicts.contains(told), "{what}: {verdicts}");
        assert!(!report.to_string().contains("the image is not in the compatibility database"), "{what}: {report:#}");
    }
    // What is left out on purpose is no error, and the reason names it all the same.
    let done = repository.run(&["scan", "--max-layer-bytes", "3", "--fail-on", "never", "oci:images:whole"]);
    assert_eq!(code(&done), 0, "{}", out(&done));
    let report = repository.json(&["scan", "--max-layer-bytes", "3", "oci:images:whole"]);
    let verdicts = report["subjects"][0]["verdicts"].to_string();
    assert!(verdicts.contains("more than the limit of 3 bytes; raise --max-layer-bytes"), "{verdicts}");
    assert!(!report.to_string().contains("the image is not in the compatibility database"), "{report:#}");
}

/// A library as its hard link, and what else the layer has.
fn stored(env: &[&str], layer: Layer) -> Value {
    let image = Image::new(env).layer("ADD rootfs", debian()).layer("COPY . /", layer);
    scan(&image)
}

#[test]
fn library_named_like_data_counts_through_a_library_link() {
    let library = || library(&[sass(80, ' '), ptx(80, (8, 4))]);
    let store = || Layer::new().file("/store/ab12.dat", &library());
    for (what, layer) in [
        ("a hard link", store().hard("/app/lib/libk.so", "/store/ab12.dat")),
        ("a symbolic link", store().link("/app/lib/libk.so", "/store/ab12.dat")),
    ] {
        let report = stored(&[PATH], layer);
        assert_eq!(report["subjects"][0]["gpu_content"], true, "{what}: {report:#}");
        assert_eq!(both(&report), [STARTS, STARTS], "{what}: {report:#}");
    }
    for (what, layer) in [
        ("no link", store()),
        ("a link that is no library either", store().hard("/app/a.txt", "/store/ab12.dat")),
        ("a library with nothing in it", Layer::new().file("/store/a.dat", b"x").hard("/app/a.so", "/store/a.dat")),
        ("a part of a program", Layer::new().file("/store/a.o", &library())),
    ] {
        let report = stored(&[PATH], layer);
        assert_eq!(report["subjects"][0]["gpu_content"], false, "{what}: {report:#}");
        assert!(!notes(&report).contains("hard link"), "{what}: {report:#}");
    }
}

#[test]
fn hard_link_to_a_removed_file_is_reported() {
    let code = || Layer::new().file("/opt/app/libk.so", &library(&[sass(80, ' '), ptx(80, (8, 4))]));
    let link = || Layer::new().hard("/srv/libk2.so", "/opt/app/libk.so");
    let of = |upper: Layer| {
        scan(&Image::new(&[PATH]).layer("ADD rootfs", debian()).layer("COPY a /", code()).layer("RUN mv", upper))
    };
    let report = of(link().without("/opt/app/libk.so"));
    let told = "not inspected: a hard link points to a file that is missing or unread in the layers below";
    assert!(notes(&report).contains(told) && notes(&report).contains("/srv/libk2.so"), "{}", notes(&report));
    for (what, upper) in [
        ("a link to what is there", link()),
        ("the file again", link().without("/opt/app/libk.so").file("/opt/app/libk.so", b"x")),
        ("no link", Layer::new().without("/opt/app/libk.so")),
        ("a name that nothing loads", Layer::new().without("/opt/app/libk.so").hard("/srv/a.txt", "/opt/app/libk.so")),
    ] {
        assert!(!notes(&of(upper)).contains("hard link"), "{what}");
    }
}

fn notes(report: &Value) -> String {
    report["subjects"][0]["inspected"]["notes"].to_string()
}

#[test]
fn unread_linked_files_are_reported_and_count_only_with_gpu_hints() {
    // What nothing loads under any name is not read, and neither is a link to it.
    let unread = |path: &str| Layer::new().file("/store/a.o", &library(&[sass(80, ' ')])).hard(path, "/store/a.o");
    for (what, env, path, counts) in [
        ("nothing speaks", &[PATH][..], "/app/bin/server", false),
        ("its own name", &[PATH], "/app/lib/libown_cuda.so", true),
        ("a variable", &[PATH, "USE_CUDA=1"], "/app/bin/server", true),
        ("a variable that says no", &[PATH, "USE_CUDA=0"], "/app/bin/server", false),
        ("a name with a word for none", &[PATH], "/app/lib/no-cuda.so", false),
    ] {
        let report = stored(env, unread(path));
        assert_eq!(report["subjects"][0]["gpu_content"], counts, "{what}: {report:#}");
        assert!(notes(&report).contains("a hard link points to a file that was not read"), "{what}: {report:#}");
        if counts {
            assert_eq!(both(&report), ["undetermined", "undetermined"], "{what}: {report:#}");
            assert!(report["subjects"][0]["verdicts"].to_string().contains(path), "{what}: {report:#}");
        }
    }
}

#[test]
fn sparse_files_are_put_together() {
    let folder = tempfile::tempdir().expect("temporary folder");
    let library = library(&[sass(80, ' '), ptx(80, (8, 4))]);
    let file = fs::File::create(folder.path().join("server")).expect("a file");
    std::os::unix::fs::FileExt::write_all_at(&file, &library, 0).expect("written");
    file.set_len(40 << 20).expect("a hole");
    for format in ["gnu", "posix"] {
        let mut command = std::process::Command::new("tar");
        let arguments = ["-S", "--format", format, "-cf", "-", "server"];
        let made = command.args(arguments).current_dir(folder.path()).output().expect("tar");
        assert!(made.stdout.len() < 1 << 20, "the file has a hole");
        let image = Image::new(&[PATH]).layer("ADD rootfs", debian()).layer("COPY . /", Layer::of(&made.stdout));
        let report = scan(&image);
        assert_eq!(both(&report), [STARTS, STARTS], "{format}: {report:#}");
        assert!(!notes(&report).contains("sparse"), "{format}: {report:#}");
    }
}
