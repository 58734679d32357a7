//! Facts on the libraries that a component needs.

use super::*;
use crate::infer::infer_image_facts;
use crate::model::fact::{ObservedFile, PrintedValue};
use crate::model::package::{PackageName, PackageVersion};

/// Creates observations with files and packages.
fn observations_with(files: &[&str], packages: &[(PackageManager, &str, &str)]) -> Observations {
    let mut seen = Observations::new(InspectionDepth::Description);
    let leaf = Evidence::Leaf(Vec::new());
    let fact = seen.facts.add(FactKey::File, None, ValueState::Known(PrintedValue::List(Vec::new())), leaf);
    for path in files {
        seen.files.insert((*path).to_owned(), ObservedFile { kind: FileKind::Present, fact });
    }
    for (manager, name, version) in packages {
        let version = PackageVersion::exact(*version);
        let name = PackageName::new(*manager, name);
        seen.packages.push(ObservedPackage::new(*manager, name, version, fact));
    }
    seen
}

/// Returns the presence of the first library that onnxruntime 1.18 requires, `libcublas.so.11`.
fn cublas_11_presence(mut seen: Observations, cuda: &str) -> Option<LibraryProvider> {
    let pip = pip_package("onnxruntime-gpu", "1.18.0", &mut seen);
    seen.packages.push(pip);
    let leaf = Evidence::Leaf(Vec::new());
    let fact = seen.facts.add(FactKey::CudaRuntime, None, ValueState::Known(PrintedValue::Text(cuda.to_owned())), leaf);
    seen.cuda_runtime = cuda.parse().ok().map(|cuda| (cuda, fact));
    let images = infer_image_facts(&seen, "linux/amd64", None, Knowledge::built_in());
    let needs = images.first()?.needs.iter().find(|needs| needs.component == "onnxruntime")?;
    needs.at_start.known()?.iter().find(|library| library.name == "libcublas.so.11").map(|library| library.provider)
}

/// Creates a pip package with an exact version.
fn pip_package(name: &str, version: &str, seen: &mut Observations) -> ObservedPackage {
    let fact = seen.facts.add(
        FactKey::Package,
        Some(name),
        ValueState::Known(PrintedValue::Text(version.to_owned())),
        Evidence::Leaf(Vec::new()),
    );
    let version = PackageVersion::exact(version);
    ObservedPackage::new(PackageManager::Pip, PackageName::python(name), version, fact)
}

#[test]
fn a_library_is_missing_only_where_everything_is_known() {
    let (pip, apt, conda) = (PackageManager::Pip, PackageManager::System, PackageManager::Conda);
    let file = "/usr/lib/x86_64-linux-gnu/libcublas.so.11";
    for (what, files, packages, cuda, complete, expected) in [
        ("another major", &[][..], &[][..], "12.1", (false, true), LibraryProvider::Absent),
        ("all files listed", &[], &[], "", (true, false), LibraryProvider::Absent),
        ("its own major", &[], &[], "11.8", (false, true), LibraryProvider::Unknown),
        ("packages not all listed", &[], &[], "12.1", (false, false), LibraryProvider::Unknown),
        ("nothing said of the base", &[], &[], "", (false, true), LibraryProvider::Unknown),
        ("a file", &[file], &[], "12.1", (true, true), LibraryProvider::Image),
        ("a version of it", &["/usr/lib64/libcublas.so.11.11.3.6"], &[], "12.1", (true, true), LibraryProvider::Image),
        ("a file elsewhere", &["/opt/libcublas.so.11"], &[], "12.1", (true, true), LibraryProvider::Unknown),
        ("a file of another name", &["/usr/lib64/libcublas.so.110"], &[], "", (true, true), LibraryProvider::Absent),
        ("its wheel", &[], &[(pip, "nvidia-cublas-cu11", "11.11.3.6")], "12.1", (true, true), LibraryProvider::Unknown),
        (
            "another wheel",
            &[],
            &[(pip, "nvidia-cublas-cu12", "12.1.3.1")],
            "12.1",
            (true, true),
            LibraryProvider::Absent,
        ),
        ("a package that may", &[], &[(conda, "cudatoolkit", "11.8")], "12.1", (true, true), LibraryProvider::Unknown),
        ("a package that may not", &[], &[(apt, "curl", "8")], "12.1", (true, true), LibraryProvider::Absent),
    ] {
        let mut seen = observations_with(files, packages);
        (seen.complete.files, seen.complete.packages) = complete;
        assert_eq!(cublas_11_presence(seen, cuda), Some(expected), "{what}");
    }
}

#[test]
fn library_package_provides_its_parts_but_a_single_file_does_not() {
    let (whole, part) = ("/usr/lib/x86_64-linux-gnu/libcudnn.so.8", "libcudnn_ops_infer.so.8");
    let file = format!("/usr/lib/x86_64-linux-gnu/{part}");
    for (what, files, packages, expected) in [
        ("both", &[whole, &file][..], &[][..], LibraryProvider::Image),
        ("the whole alone", &[whole], &[], LibraryProvider::Absent),
        ("its package", &[], &[(PackageManager::System, "libcudnn8", "8.9.7.29-1+cuda12.2")], LibraryProvider::Image),
        ("another package", &[], &[(PackageManager::System, "libcudnn9-cuda-12", "9.1.0-1")], LibraryProvider::Absent),
    ] {
        let mut seen = observations_with(files, packages);
        seen.complete.files = true;
        let pip = pip_package("onnxruntime-gpu", "1.18.0", &mut seen);
        seen.packages.push(pip);
        let images = infer_image_facts(&seen, "linux/amd64", None, Knowledge::built_in());
        let needs = images[0].needs.iter().find(|needs| needs.component == "onnxruntime").expect("needs");
        let later = needs.at_run_time.known().expect("parts");
        let found = later.iter().find(|library| library.name == part).map(|library| library.provider);
        assert_eq!(found, Some(expected), "{what}");
    }
}

#[test]
fn a_package_of_unknown_version_requires_nothing() {
    let mut seen = observations_with(&[], &[(PackageManager::Pip, "onnxruntime-gpu", "nightly")]);
    seen.complete.files = true;
    let images = infer_image_facts(&seen, "linux/amd64", None, Knowledge::built_in());
    assert!(images.iter().all(|image| image.needs.is_empty()));
}

#[test]
fn files_are_ordered_level_by_level() {
    let fact = FactId(0);
    let file = |name: &str, needs: &[&str]| ObservedLibraryDependencies {
        file: format!("/opt/lib/{name}"),
        component: None,
        needs: needs.iter().map(|need| (*need).to_owned()).collect(),
        opens: Vec::new(),
        fact,
    };
    let order = |files: &[ObservedLibraryDependencies]| -> Vec<String> {
        order_breadth_first(files.iter().collect()).iter().map(|file| split_path(&file.file).1.to_owned()).collect()
    };
    let (deep, app) = (file("liba.so.1", &["libdeep.so"]), file("zapp", &["libc.so.1", "libb.so.1"]));
    let (one, other) = (file("libb.so.1", &["liba.so.1"]), file("libc.so.1", &[]));
    let all = [deep, one, other, app];
    assert_eq!(order(&all), ["zapp", "libc.so.1", "libb.so.1", "liba.so.1"]);
    // Files that do not need each other stay in the order in which they were read, as do cycles.
    assert_eq!(order(&[file("y", &["q"]), file("x", &["q"])]), ["y", "x"]);
    assert_eq!(order(&[file("y", &["x"]), file("x", &["y"])]), ["y", "x"]);
    assert_eq!(order(&[]), [""; 0]);
}
