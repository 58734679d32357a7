//! What files of an image say of what is installed, on files that the real tools wrote.
//!
//! `tests/fixtures/installed` is laid out as an image: wheels of the default index, environments of pip, uv and
//! virtualenv, the databases of dpkg and RPM. Both RPM databases hold the same packages; in that of `SQLite`, what was
//! upgraded and removed is still in the free pages. The Berkeley hash was loaded from it, and RPM lists both alike.

mod names;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use imagelint::layer::installed::{FileEvidence, FileReadMode, GpuBackend, file_read_mode, read_evidence};
use imagelint::model::package::{Distribution, ExactVersion, PackageManager, PackageName};

const SITE: &str = "opt/venv/lib/python3.12/site-packages";

fn bytes(path: &str) -> Vec<u8> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/installed");
    fs::read(root.join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// What a reader of archives would hear of a file.
fn fixture_evidence(path: &str) -> Vec<FileEvidence> {
    let content = bytes(path);
    match file_read_mode(path) {
        FileReadMode::Text { cap } => {
            read_evidence(path, &content[..content.len().min(usize::try_from(cap).expect("a cap"))])
        }
        other => panic!("{path}: {other:?}"),
    }
}

fn package(manager: PackageManager, name: &str, version: &str) -> FileEvidence {
    FileEvidence::Package(Distribution::new(manager, name, version))
}

fn build(package: &str, version: Option<&str>, gpu: Option<GpuBackend>, cudnn: Option<&str>) -> Vec<FileEvidence> {
    vec![FileEvidence::Build {
        package: PackageName::python(package),
        version: version.map(ExactVersion::from),
        gpu,
        cudnn: cudnn.map(str::to_owned),
    }]
}

fn cuda(version: &str) -> GpuBackend {
    GpuBackend::Cuda(version.to_owned())
}

fn missed(found: &[FileEvidence]) -> bool {
    matches!(found, [FileEvidence::NotInspected(why)] if !why.is_empty())
}

#[test]
fn build_files_state_version_and_cuda() {
    for (path, expected) in [
        (
            "opt/conda/envs/old/lib/python3.8/site-packages/torch/version.py".to_owned(),
            build("torch", Some("1.7.1"), Some(cuda("10.2")), None),
        ),
        (
            "opt/conda/lib/python3.10/site-packages/torch/version.py".to_owned(),
            build("torch", Some("1.12.1+cu102"), Some(cuda("10.2")), None),
        ),
        (
            "usr/local/lib/python3.12/dist-packages/torch/version.py".to_owned(),
            build("torch", Some("2.9.1+cpu"), Some(GpuBackend::Cpu), None),
        ),
        (format!("{SITE}/torch/version.py"), build("torch", Some("2.15.0+cu132"), Some(cuda("13.2")), None)),
        (format!("{SITE}/torchvision/version.py"), build("torchvision", Some("0.29.1+cu130"), None, None)),
        (
            format!("{SITE}/onnxruntime/capi/build_and_package_info.py"),
            build("onnxruntime-gpu", Some("1.29.0"), Some(cuda("13.0")), None),
        ),
        (
            format!("{SITE}/tensorflow/python/platform/build_info.py"),
            build("tensorflow", None, Some(cuda("12.5.1")), Some("9")),
        ),
        (
            "app/lib/python3.12/site-packages/tensorflow/python/platform/build_info.py".to_owned(),
            build("tensorflow", None, Some(GpuBackend::Cpu), None),
        ),
        (
            format!("{SITE}/paddle/version/__init__.py"),
            build("paddlepaddle", Some("2.6.2"), Some(cuda("11.8")), Some("8.6.0")),
        ),
        (format!("{SITE}/cupy/.data/_wheel.json"), build("cupy", None, Some(cuda("12.x")), None)),
        (format!("{SITE}/xformers/cpp_lib.json"), build("xformers", None, Some(cuda("12.4")), None)),
    ] {
        assert_eq!(fixture_evidence(&path), expected, "{path}");
    }
}

#[test]
fn build_files_of_other_builders_or_without_a_cuda_version() {
    let torch = format!("{SITE}/torch/version.py");
    let head = "__version__ = '2.7.0'\n";
    for (text, gpu) in [
        ("cuda = None\nhip = '6.3.42131'\n", Some(GpuBackend::Rocm)),
        (
            "cuda: Optional[str] = None\nhip: Optional[str] = None\nxpu: Optional[str] = '20250000'\n",
            Some(GpuBackend::Xpu),
        ),
        ("cuda = \"12.8\"  # as built\n", Some(cuda("12.8"))),
        ("cuda='12.8'\n", Some(cuda("12.8"))),
        ("cuda = None", Some(GpuBackend::Cpu)),
        // Nothing of this is an assignment of a literal to that name.
        ("# cuda = '12.8'\n", None),
        ("    cuda = '12.8'\n", None),
        ("cuda_version = '12.8'\n", None),
        ("cuda == '12.8'\n", None),
        ("cuda = get('12.8')\n", None),
        ("cuda = '12' + minor\ncuda_is = 1\n", None),
        ("cuda = \n", None),
        ("__all__ = ['cuda', '12.8']\n", None),
        ("cuda = '12.8", None),
        ("cuda = ''\n", None),
        ("cuda = None or '12.8'\n", None),
        ("cuda = 'None'\n", Some(GpuBackend::Cpu)),
    ] {
        let text = format!("{head}{text}");
        assert_eq!(read_evidence(&torch, text.as_bytes()), build("torch", Some("2.7.0"), gpu, None), "{text}");
    }
    for (path, text) in [
        (torch.clone(), "from torch import x\n"),
        (torch, ""),
        (format!("{SITE}/xformers/cpp_lib.json"), "{\"version\": {\"cuda\": 12"),
        (format!("{SITE}/xformers/cpp_lib.json"), "[]"),
        (format!("{SITE}/tensorflow/python/platform/build_info.py"), "build_info = {'x': 'cuda_version'}"),
    ] {
        assert!(missed(&read_evidence(&path, text.as_bytes())), "{path}: {text}");
    }
    // onnxruntime without a CUDA version may be the build for the CPU, or one before 1.21.
    let path = format!("{SITE}/onnxruntime/capi/build_and_package_info.py");
    let text = "package_name = 'onnxruntime'\n__version__ = '1.20.1'\n";
    assert_eq!(read_evidence(&path, text.as_bytes()), build("onnxruntime", Some("1.20.1"), None, None));
}

#[test]
fn records_of_python_distributions() {
    let python = |name, version| vec![package(PackageManager::Pip, name, version)];
    let record = "app/.venv/lib/python3.12/site-packages/my_edited_pkg-0.1+cu124.dist-info";
    let source = |url: &str, editable| vec![FileEvidence::Source { url: url.to_owned(), variant: None, editable }];
    for (path, expected) in [
        (format!("{SITE}/torch-2.9.1.dist-info/METADATA"), python("torch", "2.9.1")),
        (format!("{record}/METADATA"), python("my-edited-pkg", "0.1+cu124")),
        (format!("{record}/INSTALLER"), vec![FileEvidence::Installer("uv".to_owned())]),
        (format!("{record}/direct_url.json"), source("file:///app/src", true)),
        ("app/deps/six-1.17.0.dist-info/METADATA".to_owned(), python("six", "1.17.0")),
        ("app/deps/six-1.17.0.dist-info/INSTALLER".to_owned(), vec![FileEvidence::Installer("pip".to_owned())]),
        (
            "app/deps/six-1.17.0.dist-info/direct_url.json".to_owned(),
            source("file:///wheels/six-1.17.0-py2.py3-none-any.whl", false),
        ),
        ("usr/lib/python3/dist-packages/PyJWT-2.6.0.egg-info/PKG-INFO".to_owned(), python("pyjwt", "2.6.0")),
    ] {
        assert_eq!(fixture_evidence(&path), expected, "{path}");
    }
}

#[test]
fn incomplete_records_fall_back_to_their_path() {
    let record = format!("{SITE}/torch-2.1.0+cu121.dist-info");
    let metadata = format!("{record}/METADATA");
    let from_path = vec![package(PackageManager::Pip, "torch", "2.1.0+cu121")];
    for text in ["", "\nName: other\nVersion: 1\n", "Name:\nVersion:\n", "Name torch", "\u{fffd}\n"] {
        assert_eq!(read_evidence(&metadata, text.as_bytes()), from_path, "{text}");
    }
    assert!(missed(&read_evidence("app/project.egg-info/PKG-INFO", b"Metadata-Version: 2.1\n")));
    assert!(missed(&read_evidence(&format!("{record}/direct_url.json"), b"{\"url\": ")));
    for text in ["{}", "{\"url\": 7}", "[]"] {
        assert_eq!(read_evidence(&format!("{record}/direct_url.json"), text.as_bytes()), Vec::new(), "{text}");
    }
    assert_eq!(read_evidence(&format!("{record}/INSTALLER"), b"\n"), Vec::new());
    assert_eq!(read_evidence(&format!("{record}/INSTALLER"), "x".repeat(4096).as_bytes()), Vec::new());
    assert_eq!(read_evidence("srv/x.egg-link", b"relative\n../\n"), Vec::new());
}

#[test]
fn source_url_keeps_local_version_and_drops_credentials() {
    let path = format!("{SITE}/torch-2.1.0+cu121.dist-info/direct_url.json");
    let text = r#"{"archive_info": {}, "url": "https://me:secret@wheels.example/whl/cu121/torch-2.1.0%2Bcu121-cp310-cp310-linux_x86_64.whl"}"#;
    let found = read_evidence(&path, text.as_bytes());
    let [FileEvidence::Source { url, variant, editable: false }] = found.as_slice() else { panic!("{found:?}") };
    assert_eq!(variant.as_deref(), Some("cu121"));
    assert!(url.starts_with("https://wheels.example/whl/cu121/") && !url.contains("secret"), "{url}");
    let plain = read_evidence(&path, br#"{"url": "https://wheels.example/a@b/torch-2.1.0.whl"}"#);
    let [FileEvidence::Source { url, variant: None, .. }] = plain.as_slice() else { panic!("{plain:?}") };
    assert_eq!(url, "https://wheels.example/a@b/torch-2.1.0.whl");
}

#[test]
fn environments_of_venv_virtualenv_and_uv() {
    for (path, system) in
        [("opt/venv/pyvenv.cfg", false), ("app/.venv/pyvenv.cfg", false), ("srv/.venv/pyvenv.cfg", true)]
    {
        assert_eq!(
            fixture_evidence(path),
            [FileEvidence::Environment { python: Some("3.12.1".to_owned()), system }],
            "{path}"
        );
    }
    assert_eq!(
        read_evidence("a/pyvenv.cfg", b"home = /usr/bin\n"),
        [FileEvidence::Environment { python: None, system: false }]
    );
}

#[test]
fn only_installed_debian_packages_are_read() {
    let dpkg = |name, version| package(PackageManager::System, name, version);
    // The fourth was removed, its settings were kept; the third is unpacked alone.
    let expected = [
        dpkg("cuda-compat-12-4", "550.54.15-0ubuntu1"),
        dpkg("libcudnn8", "8.9.0.131-1+cuda11.8"),
        dpkg("libnccl2", "2.15.5-1+cuda11.8"),
    ];
    assert_eq!(fixture_evidence("var/lib/dpkg/status"), expected);
    assert_eq!(fixture_evidence("var/lib/dpkg/status.d/libcudnn8"), [dpkg("libcudnn8", "8.9.0.131-1+cuda11.8")]);
    let status = |text: &str| read_evidence("var/lib/dpkg/status", text.as_bytes());
    for text in [
        "Package: a\nVersion: 1\n",
        "Package: a\nStatus: install ok half-installed\nVersion: 1\n",
        "Package: a\nStatus: install ok not-installed\nVersion: 1\n",
        "Package: a\nStatus: install ok installed\n",
        "Status: install ok installed\nVersion: 1\n",
        "Package: a\nStatus: install ok installed\n\nVersion: 1\n",
        "Package: a\nStatus:\nVersion: 1\n",
        "",
    ] {
        assert_eq!(status(text), Vec::new(), "{text}");
    }
    let held = status("Package: a\r\nStatus: hold ok installed\r\nVersion: 1:2-3\r\n\r\n");
    assert_eq!(held, [dpkg("a", "1:2-3")]);
}

#[test]
fn alpine_packages() {
    let text = "C:Q1eVpk=\nP:musl\nV:1.2.5-r0\nA:x86_64\nF:lib\nR:libc.musl-x86_64.so.1\n\nP:libstdc++\nV:13.2.1_git20240309-r0\n\nP:half\n\nV:1\n\n";
    let expected = [
        package(PackageManager::System, "musl", "1.2.5-r0"),
        package(PackageManager::System, "libstdc++", "13.2.1_git20240309-r0"),
    ];
    for path in ["lib/apk/db/installed", "usr/lib/apk/db/installed"] {
        assert_eq!(read_evidence(path, text.as_bytes()), expected, "{path}");
    }
    for path in ["lib/apk/db/scripts.tar", "opt/lib/apk/db/installed", "lib/apk/db/installed.old"] {
        assert_eq!(read_evidence(path, text.as_bytes()), Vec::new(), "{path}");
    }
}

#[test]
fn rpm_packages_of_both_formats() {
    let mut expected: Vec<FileEvidence> = [
        ("cuda-compat-12-4", "550.54.15-1"),
        ("cuda-cudart-12-4", "12.4.127-1"),
        ("libcublas-12-4", "12.4.5.8-1"),
        ("libcudnn9-cuda-12", "9.1.0.70-1"),
    ]
    .map(|(name, version)| package(PackageManager::System, name, version))
    .to_vec();
    expected.sort();
    for path in ["var/lib/rpm/rpmdb.sqlite", "var/lib/rpm/Packages"] {
        let mut found = fixture_evidence(path);
        found.sort();
        assert_eq!(found, expected, "{path}");
    }
    // What was upgraded and what was removed are still in the file.
    let text = String::from_utf8_lossy(&bytes("var/lib/rpm/rpmdb.sqlite")).into_owned();
    assert!(text.contains("12.3.4.1") && text.contains("epochal"));
}

/// A header of RPM with a name, a version and a release.
fn header(name: &str, version: &str, release: &str) -> Vec<u8> {
    let (mut index, mut data) = (Vec::new(), Vec::new());
    for (tag, text) in [(1000_u32, name), (1001, version), (1002, release)] {
        for number in [tag, 6, u32::try_from(data.len()).expect("small"), 1] {
            index.extend(number.to_be_bytes());
        }
        data.extend(text.bytes().chain([0]));
    }
    let count = [3, u32::try_from(data.len()).expect("small")].map(u32::to_be_bytes).concat();
    [count, index, data].concat()
}

/// A database in RPM's own format: slots of one page, every second of them free, and blobs of whole blocks.
fn ndb(headers: &[Vec<u8>]) -> Vec<u8> {
    let word = |number: usize| u32::try_from(number).expect("small").to_le_bytes();
    let mut bytes = [b"RpmP".as_slice(), &[0; 4], &word(7), &word(1), &word(headers.len() + 1), &[0; 12]].concat();
    let mut blobs = Vec::new();
    for (at, header) in headers.iter().enumerate() {
        let first = (4096 + blobs.len()) / 16;
        let blob = [b"BlbS".as_slice(), &word(at + 1), &word(1), &word(header.len()), header].concat();
        blobs.extend(blob);
        blobs.resize(blobs.len().next_multiple_of(16), 0);
        blobs.extend([&[0; 4], b"BlbE".as_slice(), &[0; 8]].concat());
        let blocks = (4096 + blobs.len()) / 16 - first;
        bytes.extend([b"Slot".as_slice(), &word(at + 1), &word(first), &word(blocks)].concat());
        bytes.extend([b"Slot".as_slice(), &[0; 12]].concat());
    }
    while bytes.len() < 4096 {
        bytes.extend([b"Slot".as_slice(), &[0; 12]].concat());
    }
    [bytes, blobs].concat()
}

#[test]
fn rpm_packages_are_read_from_the_ndb_format() {
    let path = "usr/lib/sysimage/rpm/Packages.db";
    let sound = ndb(&[
        header("cuda-cudart-12-4", "12.4.127", "1"),
        header("gpg-pubkey", "1", "2"),
        header("glibc", "2.38", "150600.14"),
    ]);
    let expected = [
        package(PackageManager::System, "cuda-cudart-12-4", "12.4.127-1"),
        package(PackageManager::System, "glibc", "2.38-150600.14"),
    ];
    assert_eq!(read_evidence(path, &sound), expected);
    assert_eq!(read_evidence(path, &ndb(&[])), Vec::new());
    assert!(missed(&read_evidence(path, &[])), "empty");
    for len in [3, 15, 100, 4095, 4096, 4100, sound.len() - 8] {
        assert!(missed(&read_evidence(path, &sound[..len])), "{len} bytes");
    }
    // Head: magic, version, pages. First slot: magic, number, place, length. First blob: magic, number, size.
    for at in [0, 4, 13, 32, 36, 40, 43, 44, 47, 4096, 4100, 4110] {
        let mut changed = sound.clone();
        changed[at] ^= 0x81;
        assert!(missed(&read_evidence(path, &changed)), "byte {at}");
    }
    // Slots that all point to one blob, which is as long as the file.
    let mut lying = ndb(&vec![header("a", "1", "1"); 100]);
    let slot = lying[40..48].to_vec();
    for at in (32..4096).step_by(16) {
        lying[at + 8..at + 16].copy_from_slice(&slot);
    }
    assert!(missed(&read_evidence(path, &lying)));
}

#[test]
fn unreadable_rpm_databases_are_reported() {
    for path in ["var/lib/rpm/rpmdb.sqlite", "var/lib/rpm/Packages"] {
        let whole = bytes(path);
        for len in [0, 15, 100, 4096, whole.len() / 2] {
            let found = read_evidence(path, &whole[..len]);
            assert!(missed(&found), "{path}, {len} bytes: {found:?}");
        }
        assert!(missed(&read_evidence(path, &[0; 8192])), "{path}");
    }
    let database = "usr/lib/sysimage/rpm/Packages.db";
    assert!(missed(&read_evidence(database, b"RpmP")));
    assert!(missed(&read_evidence("var/lib/rpm/rpmdb.sqlite-wal", &[7])));
    assert_eq!(read_evidence("var/lib/rpm/rpmdb.sqlite-wal", &[]), Vec::new());
}

/// A database that says of a page that all rows are in it over and over is not read for ever.
#[test]
fn corrupt_rpm_page_with_repeated_rows_is_bounded() {
    let whole = bytes("var/lib/rpm/rpmdb.sqlite");
    let page = 4096;
    for number in 1..whole.len() / page {
        let mut lying = whole.clone();
        let at = number * page;
        if matches!(lying[at], 5 | 13) {
            // As many rows as a page can list, each where the first one is.
            lying[at + 3..at + 5].copy_from_slice(&2000_u16.to_be_bytes());
            let first = [lying[at + 8], lying[at + 9]];
            for row in 0..2000 {
                lying[at + 8 + 2 * row..at + 10 + 2 * row].copy_from_slice(&first);
            }
        }
        let found = read_evidence("var/lib/rpm/rpmdb.sqlite", &lying);
        assert!(found.len() < 1000, "page {number}: {} packages", found.len());
    }
}

#[test]
fn the_system_and_the_toolkit() {
    let system = |id: &str, version: Option<&str>, like: &[&str]| {
        let like = like.iter().map(|one| (*one).to_owned()).collect();
        vec![FileEvidence::System { id: id.to_owned(), version: version.map(str::to_owned), like }]
    };
    assert_eq!(fixture_evidence("etc/os-release"), system("debian", Some("12"), &[]));
    let rocky = b"NAME=\"Rocky Linux\"\nID=\"rocky\"\nID_LIKE=\"rhel centos fedora\"\nVERSION_ID='9.4'\n";
    assert_eq!(
        read_evidence("/usr/lib/os-release", rocky),
        system("rocky", Some("9.4"), &["rhel", "centos", "fedora"])
    );
    assert_eq!(read_evidence("etc/os-release", b"NAME=x\nVERSION_ID=\"\"\n"), Vec::new());
    let toolkit = |version: &str, parts: &[(&str, &str)]| {
        let parts = parts.iter().map(|(name, version)| ((*name).to_owned(), (*version).to_owned()));
        vec![FileEvidence::Toolkit { version: version.to_owned(), parts: parts.collect::<BTreeMap<_, _>>() }]
    };
    let json =
        br#"{"cuda": {"name": "CUDA SDK", "version": "12.4.1"}, "cuda_cudart": {"version": "12.4.127"}, "x": 1}"#;
    assert_eq!(
        read_evidence("usr/local/cuda-12.4/version.json", json),
        toolkit("12.4.1", &[("cuda_cudart", "12.4.127")])
    );
    assert_eq!(read_evidence("./usr/local/cuda/version.txt", b"CUDA Version 10.2.89\n"), toolkit("10.2.89", &[]));
    assert!(missed(&read_evidence("usr/local/cuda/version.txt", b"10.2\n")));
    assert!(missed(&read_evidence("usr/local/cuda/version.json", b"{\"cuda_cudart\": {\"version\": \"1\"}}")));
    let lines = "/usr/local/cuda/lib64\n";
    assert_eq!(
        read_evidence("etc/ld.so.conf.d/000_cuda.conf", lines.as_bytes()),
        [FileEvidence::Text(lines.to_owned())]
    );
}

#[test]
fn a_file_beyond_the_size_limit_is_reported_as_too_long() {
    let long = |path: &str, line: &str| {
        let FileReadMode::Text { cap } = file_read_mode(path) else { panic!("{path}") };
        line.repeat(usize::try_from(cap).expect("a cap") / line.len() + 1)
    };
    for (path, line) in [
        ("var/lib/dpkg/status", "Package: a\nStatus: install ok installed\nVersion: 1\n\n"),
        ("lib/apk/db/installed", "P:a\nV:1\n\n"),
        ("usr/local/cuda/version.json", " "),
        ("x/site-packages/torch/version.py", "__version__ = '1'\n"),
        ("etc/ld.so.conf.d/x.conf", "/x\n"),
    ] {
        assert!(missed(&read_evidence(path, long(path, line).as_bytes())), "{path}");
    }
    // The head of a record is enough.
    let record = "x/site-packages/a-1.dist-info/METADATA";
    let text = format!("Name: a\nVersion: 1\n\n{}", long(record, "text\n"));
    assert_eq!(read_evidence(record, text.as_bytes()), [package(PackageManager::Pip, "a", "1")]);
}

#[test]
fn package_list_above_the_limit_is_cut_with_a_note() {
    let text = "P:a\nV:1\n\n".repeat(10_001);
    let found = read_evidence("lib/apk/db/installed", text.as_bytes());
    assert_eq!(found.len(), 10_001);
    assert!(missed(&found[10_000..]));
    assert_eq!(found[9_999], package(PackageManager::System, "a", "1"));
}
