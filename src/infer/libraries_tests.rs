//! What is said of a library that a component asks for.

use super::*;
use crate::fact::FileSeen;
use crate::fact::Value;
use crate::infer::infer;

fn seen(files: &[&str], packages: &[(Manager, &str, &str)]) -> Observations {
    let mut seen = Observations::new(Depth::Description);
    let leaf = Evidence::Leaf(Vec::new());
    let fact = seen.facts.add(FactKey::File, None, State::Known(Value::List(Vec::new())), leaf);
    for path in files {
        seen.files.insert((*path).to_owned(), FileSeen { kind: FileKind::Present, fact });
    }
    for (manager, name, version) in packages {
        let version = PackageVersion::Exact((*version).to_owned());
        let name = (*name).to_owned();
        seen.packages.push(PackageSeen::new(*manager, name, version, fact));
    }
    seen
}

/// What is said of the first library that onnxruntime 1.18 asks for, `libcublas.so.11`.
fn cublas_11(mut seen: Observations, cuda: &str) -> Option<Presence> {
    let pip = seen_package("onnxruntime-gpu", "1.18.0", &mut seen);
    seen.packages.push(pip);
    let leaf = Evidence::Leaf(Vec::new());
    let fact = seen.facts.add(FactKey::CudaRuntime, None, State::Known(Value::Text(cuda.to_owned())), leaf);
    seen.cuda_runtime = cuda.parse().ok().map(|cuda| (cuda, fact));
    let images = infer(&seen, "linux/amd64", None, Knowledge::built_in());
    let needs = images.first()?.needs.iter().find(|needs| needs.component == "onnxruntime")?;
    needs.at_start.known()?.iter().find(|library| library.name == "libcublas.so.11").map(|library| library.presence)
}

fn seen_package(name: &str, version: &str, seen: &mut Observations) -> PackageSeen {
    let fact = seen.facts.add(
        FactKey::Package,
        Some(name),
        State::Known(Value::Text(version.to_owned())),
        Evidence::Leaf(Vec::new()),
    );
    let version = PackageVersion::Exact(version.to_owned());
    PackageSeen::new(Manager::Pip, name.to_owned(), version, fact)
}

#[test]
fn a_library_is_missing_only_where_everything_is_known() {
    let (pip, apt, conda) = (Manager::Pip, Manager::Apt, Manager::Conda);
    let file = "/usr/lib/x86_64-linux-gnu/libcublas.so.11";
    for (what, files, packages, cuda, complete, expected) in [
        ("another major", &[][..], &[][..], "12.1", (false, true), Presence::Absent),
        ("all files listed", &[], &[], "", (true, false), Presence::Absent),
        ("its own major", &[], &[], "11.8", (false, true), Presence::Unseen),
        ("packages not all listed", &[], &[], "12.1", (false, false), Presence::Unseen),
        ("nothing said of the base", &[], &[], "", (false, true), Presence::Unseen),
        ("a file", &[file], &[], "12.1", (true, true), Presence::Image),
        ("a version of it", &["/usr/lib64/libcublas.so.11.11.3.6"], &[], "12.1", (true, true), Presence::Image),
        ("a file elsewhere", &["/opt/libcublas.so.11"], &[], "12.1", (true, true), Presence::Unseen),
        ("a file of another name", &["/usr/lib64/libcublas.so.110"], &[], "", (true, true), Presence::Absent),
        ("its wheel", &[], &[(pip, "nvidia-cublas-cu11", "11.11.3.6")], "12.1", (true, true), Presence::Unseen),
        ("another wheel", &[], &[(pip, "nvidia-cublas-cu12", "12.1.3.1")], "12.1", (true, true), Presence::Absent),
        ("a package that may", &[], &[(conda, "cudatoolkit", "11.8")], "12.1", (true, true), Presence::Unseen),
        ("a package that may not", &[], &[(apt, "curl", "8")], "12.1", (true, true), Presence::Absent),
    ] {
        let mut seen = seen(files, packages);
        (seen.complete.files, seen.complete.packages) = complete;
        assert_eq!(cublas_11(seen, cuda), Some(expected), "{what}");
    }
}

#[test]
fn a_part_comes_with_the_whole_and_may_be_left_out_of_files() {
    let (whole, part) = ("/usr/lib/x86_64-linux-gnu/libcudnn.so.8", "libcudnn_ops_infer.so.8");
    let file = format!("/usr/lib/x86_64-linux-gnu/{part}");
    for (what, files, packages, expected) in [
        ("both", &[whole, &file][..], &[][..], Presence::Image),
        ("the whole alone", &[whole], &[], Presence::Absent),
        ("its package", &[], &[(Manager::Apt, "libcudnn8", "8.9.7.29-1+cuda12.2")], Presence::Image),
        ("another package", &[], &[(Manager::Apt, "libcudnn9-cuda-12", "9.1.0-1")], Presence::Absent),
    ] {
        let mut seen = seen(files, packages);
        seen.complete.files = true;
        let pip = seen_package("onnxruntime-gpu", "1.18.0", &mut seen);
        seen.packages.push(pip);
        let images = infer(&seen, "linux/amd64", None, Knowledge::built_in());
        let needs = images[0].needs.iter().find(|needs| needs.component == "onnxruntime").expect("needs");
        let later = needs.later.known().expect("parts");
        let found = later.iter().find(|library| library.name == part).map(|library| library.presence);
        assert_eq!(found, Some(expected), "{what}");
    }
}

#[test]
fn a_version_is_that_of_its_release() {
    for (version, expected) in [
        ("2.15.0.post1", Some("2.15.0")),
        ("2.16.0rc0", Some("2.16.0")),
        ("2.15.1+cu12", Some("2.15.1")),
        ("8.9.7.29-1+cuda12.2", Some("8.9.7.29")),
        ("2.15", Some("2.15")),
        ("nightly", None),
        ("", None),
        ("v2.15", None),
        (".post1", None),
    ] {
        assert_eq!(release_of(version), expected.and_then(|text| text.parse().ok()), "{version}");
    }
}

#[test]
fn a_package_of_an_unknown_version_asks_for_nothing() {
    let mut seen = seen(&[], &[(Manager::Pip, "onnxruntime-gpu", "nightly")]);
    seen.complete.files = true;
    let images = infer(&seen, "linux/amd64", None, Knowledge::built_in());
    assert!(images.iter().all(|image| image.needs.is_empty()));
}

#[test]
fn files_come_level_by_level() {
    let fact = FactId(0);
    let file = |name: &str, needs: &[&str]| NeedsSeen {
        file: format!("/opt/lib/{name}"),
        component: None,
        needs: needs.iter().map(|need| (*need).to_owned()).collect(),
        opens: Vec::new(),
        fact,
    };
    let order = |files: &[NeedsSeen]| -> Vec<String> {
        breadth_first(files.iter().collect()).iter().map(|file| split_path(&file.file).1.to_owned()).collect()
    };
    let (deep, app) = (file("liba.so.1", &["libdeep.so"]), file("zapp", &["libc.so.1", "libb.so.1"]));
    let (one, other) = (file("libb.so.1", &["liba.so.1"]), file("libc.so.1", &[]));
    let all = [deep, one, other, app];
    assert_eq!(order(&all), ["zapp", "libc.so.1", "libb.so.1", "liba.so.1"]);
    // Those that ask for nothing of each other stay as they were read, and so do those that go round.
    assert_eq!(order(&[file("y", &["q"]), file("x", &["q"])]), ["y", "x"]);
    assert_eq!(order(&[file("y", &["x"]), file("x", &["y"])]), ["y", "x"]);
    assert_eq!(order(&[]), [""; 0]);
}
