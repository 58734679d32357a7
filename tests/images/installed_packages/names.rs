//! Which paths are looked at, what their names say, and where they count.

use std::time::Instant;

use imagelint::layer::installed::{
    FileReadMode, PackageDirectory, RecordLocation, file_read_mode, locate_record, package_from_path,
};
use imagelint::model::package::{Distribution, PackageManager};

fn is_text(path: &str) -> bool {
    matches!(file_read_mode(path), FileReadMode::Text { .. })
}

#[test]
fn relevant_paths_are_read() {
    for path in [
        "usr/lib/python3/dist-packages/PyYAML-6.0.dist-info/METADATA",
        "/usr/lib/python3/dist-packages/PyYAML-6.0.dist-info/METADATA",
        "./opt/venv/lib/python3.11/site-packages/torch/version.py",
        "usr/lib/python2.7/lib-dynload/Python-2.7.18-py2.7.egg-info",
        "a/site-packages/foo-1.0-py3.8.egg/EGG-INFO/PKG-INFO",
        "root/.local/lib/python3.11/site-packages/project.egg-link",
        "opt/venv/pyvenv.cfg",
        "var/lib/dpkg/status",
        "var/lib/dpkg/status.d/base",
        "var/lib/rpm/rpmdb.sqlite",
        "usr/lib/sysimage/rpm/rpmdb.sqlite",
        "usr/lib/sysimage/rpm/Packages.db",
        "usr/local/cuda-12.4/version.json",
        "etc/ld.so.conf",
        "etc/ld.so.conf.d/x86_64-linux-gnu.conf",
        "etc/nv_tegra_release",
    ] {
        assert!(is_text(path), "{path}: {:?}", file_read_mode(path));
    }
}

#[test]
fn files_are_recorded_by_their_name() {
    for path in [
        "opt/conda/conda-meta/pytorch-2.1.2-py3.10_cuda12.1_cudnn8.9.2_0.json",
        "a/site-packages/torch-2.1.0.dist-info/RECORD",
        "a/site-packages/foo-1.0-py3.8.egg",
        "etc/ld.so.cache",
        "etc/debian_version",
    ] {
        assert_eq!(file_read_mode(path), FileReadMode::Presence, "{path}");
    }
}

#[test]
fn programs_and_libraries_are_looked_into() {
    for path in [
        "usr/lib/x86_64-linux-gnu/libcuda.so.550.54.15",
        "usr/local/cuda/lib64/stubs/libcuda.so",
        "usr/lib/libcudart.so.12",
        "opt/conda/pkgs/x-1-0/lib/libtorch_cuda.so",
        "a/site-packages/torch/_C.cpython-311-x86_64-linux-gnu.so",
        "usr/local/bin/ollama",
        "opt/app/server-1.2",
        "usr/bin/python3.11",
        "app/build/addon.node",
        "app/run.bin",
    ] {
        assert_eq!(file_read_mode(path), FileReadMode::Elf, "{path}");
    }
}

#[test]
fn similar_paths_are_ignored() {
    for path in [
        "a/site-packages/foo/version.py",
        "a/site-packages/mytorch/version.py",
        "a/site-packages/torch/version.pyc",
        "a/site-packages/torch/version.pyi",
        "a/site-packages/onnxruntime/build_and_package_info.py",
        "torch/version.py.orig/x.py",
        "a/site-packages/cupy/_wheel.json",
        "a/direct_url.json",
        "etc/ld.so.conf.d/x.conf/y.conf",
        "etc/nginx/nginx.conf",
        "opt/etc/ld.so.conf.d/x.conf",
        "opt/conda/not-conda-meta/x-1-0.json",
        "usr/local/cuda-12.4/extras/version.json",
        "usr/local/lib/version.json",
        "var/lib/dpkg/status.d/base.md5sums",
        "var/lib/dpkg/info/libcudnn8.list",
        "usr/lib/debug/usr/lib/libx.so.1",
        "usr/local/cuda/lib64/libcudart_static.a",
        "app/kernel.o",
        "models/llama.gguf",
    ] {
        assert_eq!(file_read_mode(path), FileReadMode::Nothing, "{path}");
    }
    // These have no known ending, so they could be programs: nothing is read of them as text.
    for path in [
        "var/lib/dpkg/status-old",
        "opt/var/lib/dpkg/status",
        "var/lib/dpkg/info/status",
        "app/METADATA",
        "app/PKG-INFO",
        "opt/Packages",
        "etc/os-release/x",
        "",
        "/",
    ] {
        assert!(!is_text(path), "{path}: {:?}", file_read_mode(path));
    }
}

#[test]
fn names_state_package_version_and_build() {
    let python = |name: &str, version: &str| Distribution::new(PackageManager::Pip, name, version);
    let conda = |name: &str, version: &str, build: &str| Distribution {
        build: Some(build.to_owned()),
        ..Distribution::new(PackageManager::Conda, name, version)
    };
    let meta = |name: &str| format!("opt/conda/conda-meta/{name}.json");
    for (path, expected) in [
        ("s/torch-2.1.0+cu121.dist-info/RECORD".to_owned(), python("torch", "2.1.0+cu121")),
        (
            "s/nvidia_cuda_runtime_cu12-12.1.105.dist-info/METADATA".to_owned(),
            python("nvidia-cuda-runtime-cu12", "12.1.105"),
        ),
        ("s/PyYAML-6.0-py3.11-linux-x86_64.egg".to_owned(), python("pyyaml", "6.0")),
        ("s/lazr.restfulclient-0.14.5.egg-info/PKG-INFO".to_owned(), python("lazr-restfulclient", "0.14.5")),
        ("s/foo-1.0-py3.8.egg/EGG-INFO/PKG-INFO".to_owned(), python("foo", "1.0")),
        ("s/wsgiref.egg-info".to_owned(), python("wsgiref", "")),
        ("s/vllm.egg-link".to_owned(), python("vllm", "")),
        (meta("pytorch-2.1.2-py3.10_cuda12.1_cudnn8.9.2_0"), conda("pytorch", "2.1.2", "py3.10_cuda12.1_cudnn8.9.2_0")),
        (meta("pytorch-cuda-12.1-ha16c6d3_5"), conda("pytorch-cuda", "12.1", "ha16c6d3_5")),
        (meta("_libgcc_mutex-0.1-main"), conda("_libgcc_mutex", "0.1", "main")),
    ] {
        assert_eq!(package_from_path(&path), Some(expected), "{path}");
    }
    for path in [
        "opt/conda/conda-meta/history.json",
        "opt/conda/conda-meta/a-b.json",
        "opt/conda/conda-meta/--.json",
        "opt/conda/conda-meta/history",
        "s/.dist-info/METADATA",
        "s/-1.dist-info/METADATA",
        "s/torch.dist-info/METADATA",
        "s/.egg-info/PKG-INFO",
        "s/torch-2.1.0/METADATA",
        "s/torch/version.py",
        "var/lib/dpkg/status",
    ] {
        assert_eq!(package_from_path(path), None, "{path}");
    }
}

fn site(folder: &str, prefix: &str, python: Option<&str>) -> RecordLocation {
    RecordLocation::Site(PackageDirectory {
        folder: folder.to_owned(),
        prefix: prefix.to_owned(),
        python: python.map(str::to_owned),
    })
}

#[test]
fn a_record_belongs_to_the_interpreter_of_its_folder() {
    for (folder, prefix, python) in [
        ("opt/venv/lib/python3.11/site-packages", "opt/venv", Some("3.11")),
        ("usr/local/lib/python3.10/dist-packages", "usr/local", Some("3.10")),
        ("usr/lib64/python3.9/site-packages", "usr", Some("3.9")),
        ("usr/lib/python3/dist-packages", "usr", None),
        ("root/.pyenv/versions/3.12.1/lib/python3.12/site-packages", "root/.pyenv/versions/3.12.1", Some("3.12")),
        ("opt/conda/envs/test/lib/python3.8/site-packages", "opt/conda/envs/test", Some("3.8")),
        ("usr/lib/pypy3.10/site-packages", "usr", Some("3.10")),
        ("usr/lib/python3.13t/site-packages", "usr", Some("3.13")),
        // Where poetry puts environments by itself.
        (
            "root/.cache/pypoetry/virtualenvs/x-abc-py3.12/lib/python3.12/site-packages",
            "root/.cache/pypoetry/virtualenvs/x-abc-py3.12",
            Some("3.12"),
        ),
        ("app/__pypackages__/3.11/lib", "app", Some("3.11")),
        ("usr/lib/python3.11", "usr", Some("3.11")),
    ] {
        let expected = Some(site(folder, prefix, python));
        for tail in ["torch-2.1.0.dist-info/METADATA", "torch/version.py", "x.egg-info", "x-1.egg-info/PKG-INFO"] {
            assert_eq!(locate_record(&format!("/{folder}/{tail}")), expected, "{folder}/{tail}");
        }
        assert_eq!(locate_record(&format!("{folder}/a-1.egg/EGG-INFO/PKG-INFO")), expected, "{folder}");
    }
    let meta = "opt/conda/envs/a/conda-meta";
    assert_eq!(
        locate_record(&format!("{meta}/python-3.11.9-h955ad1f_0.json")),
        Some(site(meta, "opt/conda/envs/a", None))
    );
    assert_eq!(locate_record("opt/venv/pyvenv.cfg"), Some(site("opt/venv", "opt/venv", None)));
    assert_eq!(locate_record("var/lib/dpkg/status"), Some(RecordLocation::System));
    assert_eq!(locate_record("usr/bin/env"), None);
}

#[test]
fn records_in_caches_and_vendored_copies_are_not_installed() {
    let record = "torch-2.1.0.dist-info/METADATA";
    for folder in [
        "opt/conda/pkgs/pytorch-2.1.2-py3.10_cuda12.1_cudnn8.9.2_0/lib/python3.10/site-packages",
        "opt/conda/pkgs/tzdata-2024a-h04d1e81_0/site-packages",
        "root/.cache/uv/archive-v0/APjKzl61QI1knFbB",
        "opt/uv-cache/archive-v0/APjKzl61QI1knFbB",
        "root/.cache/pdm/packages/torch-2.1.0-cp311-cp311-linux_x86_64/lib",
        "tmp/pip-build-env-x/overlay/lib/python3.11/site-packages",
        "opt/venv/lib/python3.11/site-packages/setuptools/_vendor",
        "opt/venv/lib/python3.11/site-packages/foo/tests/data/lib/python3.11/site-packages",
        "src/pip/tests/data/packages",
        "src/setuptools/_vendor",
    ] {
        for tail in [record, "torch/version.py"] {
            assert_eq!(
                locate_record(&format!("{folder}/{tail}")),
                Some(RecordLocation::NotInstalled),
                "{folder}/{tail}"
            );
        }
    }
    // A source tree, or a folder of `pip install --target`: nothing says that it is imported from.
    for folder in ["var/task", "app/deps", "workspace/vllm", "opt/pkgs/mine", "opt/pytorch/pytorch"] {
        assert_eq!(
            locate_record(&format!("{folder}/{record}")),
            Some(RecordLocation::OffImportPath(folder.to_owned())),
            "{folder}"
        );
    }
}

/// Millions of entries are asked about; a build without optimisation is some thirty times slower.
#[test]
fn path_classification_is_fast() {
    let paths = [
        "usr/share/doc/libcudnn8/copyright",
        "opt/venv/lib/python3.11/site-packages/torch/include/ATen/ops/add_native.h",
        "opt/venv/lib/python3.11/site-packages/torch/nn/modules/__pycache__/linear.cpython-311.pyc",
        "opt/venv/lib/python3.11/site-packages/torch/nn/modules/linear.py",
        "opt/venv/lib/python3.11/site-packages/torch/lib/libtorch_cuda.so",
        "opt/venv/lib/python3.11/site-packages/torch-2.1.0.dist-info/METADATA",
        "opt/conda/conda-meta/pytorch-2.1.2-py3.10_cuda12.1_cudnn8.9.2_0.json",
        "usr/share/zoneinfo/Europe/Berlin",
    ];
    let rounds = 50_000;
    let started = Instant::now();
    let mut wanted = 0_usize;
    for _ in 0..rounds {
        wanted +=
            paths.iter().filter(|path| file_read_mode(std::hint::black_box(path)) != FileReadMode::Nothing).count();
    }
    let seconds = started.elapsed().as_secs_f64();
    let count = f64::from(rounds) * 8.0;
    eprintln!("{:.1} million paths a second", count / seconds / 1e6);
    assert_eq!(wanted, 5 * 50_000);
    assert!(count / seconds > 100_000.0, "{} paths a second", count / seconds);
}
