//! Images that other tools made and turned into other forms: buildah, umoci, skopeo, rpm. What is seen is the same in
//! every form.

use std::fs;
use std::path::Path;
use std::process::Command;

use elf::{Elf, container, sass};
use serde_json::Value;
use test_repository::{TestRepository, code, err, fates};

use crate::support::{elf, test_repository};

/// What to do where a tool is not there.
const NEEDS: &str = "the tools that tests/install-tools installs";
const FLEET: &str = "[[pool]]\nname = \"h100\"\ngpu = \"H100\"\ndriver = \"550.54.15\"\ntoolkit = \"1.17.8\"\nlaunch = \"docker-gpus\"\n\
    [[pool]]\nname = \"t4\"\ngpu = \"T4\"\ndriver = \"550.54.15\"\ntoolkit = \"1.17.8\"\nlaunch = \"docker-gpus\"\n";
const DOCKERFILE: &str = "FROM scratch
COPY system /
COPY app /opt/app
COPY later /opt/app
ENV NVIDIA_VISIBLE_DEVICES=all CUDA_VERSION=12.4.1
ENTRYPOINT [\"/opt/app/start\"]
";
/// A stanza as Debian writes it, and one of a package that was removed and not purged.
const STATUS: &str = "Package: libc6
Status: install ok installed
Priority: optional
Section: libs
Installed-Size: 12986
Maintainer: GNU Libc Maintainers <debian-glibc@lists.debian.org>
Architecture: amd64
Multi-Arch: same
Source: glibc
Version: 2.36-9+deb12u4
Depends: libgcc-s1, libcrypt1
Conffiles:
 /etc/ld.so.conf.d/x86_64-linux-gnu.conf d4e7a7b88a71b5ffd9e2644e71a0cfab
Description: GNU C Library: Shared libraries
 Contains the standard libraries that are used by nearly all programs on
 the system.

Package: cuda-cudart-12-4
Status: install ok installed
Architecture: amd64
Version: 12.4.127-1
Description: CUDA Runtime native Libraries

Package: cuda-cudart-11-8
Status: deinstall ok config-files
Architecture: amd64
Version: 11.8.89-1
";

/// Runs a tool in the folder of a place, and expects that it succeeds.
fn tool(repository: &TestRepository, program: &str, arguments: &[&str]) -> String {
    let home = repository.path("home");
    fs::create_dir_all(&home).expect("a folder");
    let mut command = Command::new(program);
    command.args(arguments).current_dir(repository.path(".")).env("HOME", &home).env("TMPDIR", &home);
    let done = command.env_remove("REGISTRY_AUTH_FILE").output().expect(NEEDS);
    assert!(done.status.success(), "{program} {arguments:?}: {}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8_lossy(&done.stdout).into_owned()
}

fn write(path: &Path, bytes: &[u8]) {
    fs::create_dir_all(path.parent().expect("a folder")).expect("folders");
    fs::write(path, bytes).expect("a file");
}

/// Code for an H100 alone.
fn library() -> Vec<u8> {
    Elf::default().registered(&[container(&[sass(90, 'a')])]).bytes()
}

/// Builds the Dockerfile by buildah into the layout `made`, under the name `one`.
fn buildah(repository: &TestRepository, dockerfile: &str, layers: bool) {
    repository.file("Containerfile", dockerfile);
    let (root, run) = (repository.path("store").display().to_string(), repository.path("run").display().to_string());
    let store = ["--root", &root, "--runroot", &run, "--storage-driver", "vfs"];
    let build = ["bud", "--isolation", "chroot", "--layers", "--tag", "localhost/one:1", "."];
    let build: Vec<&str> = build.into_iter().filter(|word| layers || *word != "--layers").collect();
    tool(repository, "buildah", &[&store[..], &build].concat());
    tool(repository, "buildah", &[&store[..], &["push", "--quiet", "localhost/one:1", "oci:made:one"]].concat());
}

/// What is said of an image: fates, facts, and what was not inspected.
fn scanned(repository: &TestRepository, image: &str) -> (Vec<String>, Vec<String>, String) {
    let report = repository.json(&["scan", "--no-cache", image, "--fleet", "fleet.toml"]);
    assert_eq!(report["errors"], Value::Array(Vec::new()), "{image}: {report:#}");
    let facts = report["subjects"][0]["facts"].as_array().expect("facts");
    let mut facts: Vec<String> =
        facts.iter().map(|fact| format!("{} {} {}", fact["key"], fact["state"], fact["value"])).collect();
    facts.sort();
    let notes = report["subjects"][0]["inspected"]["notes"].as_array().expect("notes");
    let first = notes.first().and_then(Value::as_str).unwrap_or_default();
    (fates(&report), facts, first.split(',').next().unwrap_or_default().to_owned())
}

fn made(layers: bool) -> TestRepository {
    let repository = TestRepository::empty();
    repository.file("fleet.toml", FLEET);
    repository.file("system/var/lib/dpkg/status", STATUS);
    repository.file("system/etc/os-release", "ID=debian\nVERSION_ID=\"12\"\n");
    write(&repository.path("app/libmine.so"), &library());
    repository.file("app/start", "#!/bin/sh\n");
    repository.file("later/notes.txt", "none\n");
    buildah(&repository, DOCKERFILE, layers);
    repository
}

#[test]
fn every_image_format_of_buildah_has_the_same_report() {
    let repository = made(true);
    let (before, facts, layers) = scanned(&repository, "oci:made:one");
    assert_eq!(layers, "layers 3 of 3");
    let fate = |pool: &str, fates: &[String]| {
        fates.iter().find(|one| one.starts_with(&format!("\"{pool}\" null"))).cloned().unwrap_or_default()
    };
    assert!(fate("h100", &before).contains("starts"), "{before:?}");
    assert!(fate("t4", &before).contains("fails"), "{before:?}");
    let said = facts.join("\n");
    assert!(said.contains("12.4.127-1") && !said.contains("11.8.89"), "{said}");
    let copy = |options: &[&str], to: &str| {
        let all = [&["copy", "--quiet", "--insecure-policy"], options, &["oci:made:one", to]].concat();
        tool(&repository, "skopeo", &all);
    };
    copy(&["--dest-compress-format", "gzip", "--dest-compress"], "oci-archive:gzip.tar:one");
    copy(&["--dest-decompress"], "dir:plain");
    let from_plain = |options: &[&str], to: &str| {
        let all = [&["copy", "--quiet", "--insecure-policy"], options, &["dir:plain", to]].concat();
        tool(&repository, "skopeo", &all);
    };
    from_plain(&["--dest-oci-accept-uncompressed-layers"], "oci:unpacked:one");
    from_plain(&["--dest-compress", "--dest-compress-format", "zstd"], "oci:zstd:one");
    copy(&["--format", "v2s2"], "dir:schema2");
    tool(
        &repository,
        "skopeo",
        &[
            "copy",
            "--quiet",
            "--insecure-policy",
            "--format",
            "v2s2",
            "dir:schema2",
            "docker-archive:saved.tar:team/one:1",
        ],
    );
    tool(&repository, "gzip", &["--keep", "saved.tar"]);
    tool(&repository, "zstd", &["--quiet", "gzip.tar", "-o", "packed.tar.zst"]);
    let manifests = |folder: &str| -> String {
        let files = fs::read_dir(repository.path(folder).join("blobs/sha256")).expect("blobs");
        let texts = files.filter_map(|file| fs::read_to_string(file.expect("a file").path()).ok());
        texts.filter(|text| text.contains("\"layers\"")).collect()
    };
    for (folder, form) in [("zstd", "tar+zstd"), ("unpacked", "layer.v1.tar\""), ("made", "tar+gzip")] {
        assert!(manifests(folder).contains(form), "{folder}: {}", manifests(folder));
    }
    for image in [
        "oci:zstd:one",
        "oci-archive:gzip.tar:one",
        "oci:unpacked:one",
        "docker-archive:saved.tar",
        "docker-archive:saved.tar.gz",
        "oci-archive:packed.tar.zst",
        "./saved.tar.gz",
        "./zstd",
        "dir:plain",
        "dir:schema2",
        "./schema2",
    ] {
        let (fates, found, layers) = scanned(&repository, image);
        assert_eq!((fates, layers), (before.clone(), "layers 3 of 3".to_owned()), "{image}");
        assert_eq!(found, facts, "{image}");
    }
    // A folder of another kind is reported, and does not hide the others.
    let done = repository.run(&["scan", "--fleet", "fleet.toml", "dir:zstd", "oci:zstd:one"]);
    assert_eq!(code(&done), 2);
    assert!(test_repository::out(&done).contains("oci:zstd:one"), "{}", err(&done));
}

#[test]
fn squashed_build_has_one_layer_and_the_same_report() {
    let (apart, squashed) = (made(true), made(false));
    let (fates, facts, layers) = scanned(&squashed, "oci:made:one");
    assert_eq!(layers, "layers 1 of 1");
    let (before, all, _) = scanned(&apart, "oci:made:one");
    assert_eq!((fates, facts), (before, all));
}

#[test]
fn files_removed_or_inserted_by_umoci_change_the_scan() {
    let repository = made(true);
    let (before, ..) = scanned(&repository, "oci:made:one");
    tool(&repository, "umoci", &["unpack", "--rootless", "--image", "made:one", "bundle"]);
    fs::remove_file(repository.path("bundle/rootfs/opt/app/libmine.so")).expect("removed");
    tool(&repository, "umoci", &["repack", "--image", "made:two", "bundle"]);
    let (after, _, layers) = scanned(&repository, "oci:made:two");
    assert_eq!(layers, "layers 4 of 4");
    assert!(
        before.iter().any(|fate| fate.contains("fails")) && !after.iter().any(|fate| fate.contains("fails")),
        "{after:?}"
    );
    write(&repository.path("again.so"), &library());
    tool(&repository, "umoci", &["insert", "--rootless", "--image", "made:two", "again.so", "/opt/new/again.so"]);
    let (third, _, layers) = scanned(&repository, "oci:made:two");
    assert_eq!(layers, "layers 5 of 5");
    assert_eq!(
        third.iter().filter(|fate| fate.contains("fails")).count(),
        before.iter().filter(|fate| fate.contains("fails")).count()
    );
    // An opaque whiteout hides the folder and all below it.
    tool(&repository, "umoci", &["insert", "--rootless", "--opaque", "--image", "made:two", "later", "/opt/new"]);
    let (fourth, ..) = scanned(&repository, "oci:made:two");
    assert_eq!(fourth, after);
    // One with nothing in it at all.
    tool(&repository, "umoci", &["new", "--image", "made:empty"]);
    let (empty, _, layers) = scanned(&repository, "oci:made:empty");
    assert_eq!((layers.as_str(), empty.len()), ("layers 0 of 0", before.len().min(empty.len())));
}

/// What apk writes of an installed package, files included.
const APK: &str = "C:Q1qKcZ+j23xssAXmgQhkOO8dHnbWw=
P:cuda-cudart-12-4
V:12.4.127-r0
A:x86_64
S:415014
I:634880
T:the runtime
U:https://example.com/
L:custom
o:cuda
m:Somebody <somebody@example.com>
t:1700507197
c:e7f8f2a2
D:so:libc.musl-x86_64.so.1
p:so:libcudart.so.12=12.4.127
F:usr
F:usr/lib
R:libcudart.so.12
a:0:0:755
Z:Q1XkfmXdNgRnSC4FTLBwSrQYFhcG4=

C:Q1uQpuLTt7d1kOhHCLkLuRd6WwIDg=
P:musl
V:1.2.4_git20230717-r4
A:x86_64
S:410102
I:667648
F:lib
R:ld-musl-x86_64.so.1
a:0:0:755
Z:Q1LSJzS4/5pJtrFlJYTPJcZdaTsGY=

";

/// The beginning of the record that conda keeps of a package.
const CONDA: &str = r#"{
  "arch": "x86_64",
  "build": "py3.11_cuda12.4_cudnn9.1.0_0",
  "build_number": 0,
  "channel": "https://mirror.example/pytorch/linux-64",
  "constrains": ["cpuonly <0"],
  "depends": ["python >=3.11,<3.12.0a0", "pytorch-cuda >=12.4,<12.5"],
  "files": ["lib/python3.11/site-packages/torch/__init__.py"],
  "name": "pytorch",
  "version": "2.4.0"
}
"#;

#[test]
fn the_databases_of_other_systems_are_read_as_their_tools_write_them() {
    let spec = "Name: cuda-cudart-12-4\nVersion: 12.4.127\nRelease: 1\nSummary: x\nLicense: x\nBuildArch: noarch\n\
        %description\nx\n%files\n";
    let repository = TestRepository::empty();
    repository.file("fleet.toml", FLEET);
    repository.file("one.spec", spec);
    let top = format!("_topdir {}", repository.path("built").display());
    tool(&repository, "rpmbuild", &["--define", &top, "-bb", "one.spec"]);
    let package = repository.path("built/RPMS/noarch/cuda-cudart-12-4-12.4.127-1.noarch.rpm").display().to_string();
    let database = repository.path("rpm/usr/lib/sysimage/rpm");
    fs::create_dir_all(&database).expect("folders");
    let shown = database.display().to_string();
    tool(&repository, "rpm", &["--dbpath", &shown, "--nodeps", "--ignoreos", "-i", &package]);
    assert!(database.join("rpmdb.sqlite").is_file(), "another form than sqlite");
    repository.file("rpm/etc/os-release", "ID=\"rocky\"\nVERSION_ID=\"9.4\"\nID_LIKE=\"rhel centos fedora\"\n");
    repository.file("apk/lib/apk/db/installed", APK);
    repository.file("apk/etc/os-release", "ID=alpine\nVERSION_ID=3.19.1\n");
    repository.file("conda/opt/conda/conda-meta/pytorch-2.4.0-py3.11_cuda12.4_cudnn9.1.0_0.json", CONDA);
    repository.file("conda/opt/conda/conda-meta/history", "==> 2026-01-01 00:00:00 <==\n");
    // A write-ahead log next to a database, and a truncated database.
    fs::create_dir_all(repository.path("log/var/lib/rpm")).expect("folders");
    fs::copy(database.join("rpmdb.sqlite"), repository.path("log/var/lib/rpm/rpmdb.sqlite")).expect("a copy");
    repository.file("log/var/lib/rpm/rpmdb.sqlite-wal", "more");
    repository.file("ndb/usr/lib/sysimage/rpm/Packages.db", "RpmP\0\0\0\0");
    for (folder, told, missed) in [
        ("rpm", Some("12.4.127-1"), None),
        ("apk", Some("12.4.127-r0"), None),
        ("conda", Some("2.4.0"), None),
        ("log", Some("12.4.127-1"), Some("changes of the RPM database")),
        ("ndb", None, Some("an RPM database that is damaged or has an unknown format")),
    ] {
        buildah(&repository, &format!("FROM scratch\nCOPY {folder} /\n"), true);
        let report = repository.json(&["scan", "--no-cache", "oci:made:one", "--fleet", "fleet.toml"]);
        let facts = report["subjects"][0]["facts"].to_string();
        let notes = report["subjects"][0]["inspected"]["notes"].to_string();
        match told {
            Some(version) => assert!(facts.contains(version), "{folder}: {facts}"),
            None => assert!(!facts.contains("12.4.127"), "{folder}: {facts}"),
        }
        match missed {
            Some(why) => assert!(notes.contains(why), "{folder}: {notes}"),
            None => assert!(!notes.contains("not inspected"), "{folder}: {notes}"),
        }
    }
}
