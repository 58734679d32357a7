//! Records and databases of installed packages.

use std::fs;
use std::path::Path;

use imagelint::layer::installed::{FileEvidence, file_read_mode, locate_record, package_from_path, read_evidence};

pub(crate) const WORDS: &[&str] = &[
    "Package: a\nStatus: install ok installed\nVersion: 1\n\n",
    "P:a\nV:1\n\n",
    "Name: a\nVersion: 1\n",
    "__version__ = '1+cu121'\n",
    "cuda: Optional[str] = '12.1'\n",
    "'cuda_version', '12'",
    "{\"url\": \"https://a:b@c/whl/cu121/d.whl\"}",
    "{\"cuda\": {\"version\": \"1\"}}",
    "site-packages/",
    ".dist-info/METADATA",
    ".egg/EGG-INFO/PKG-INFO",
    "conda-meta/a-1-0.json",
    "include-system-site-packages = true\n",
];

/// Every kind of file that is read as text.
const PATHS: &[&str] = &[
    "a/site-packages/b-1.dist-info/METADATA",
    "a/site-packages/b-1.dist-info/INSTALLER",
    "a/site-packages/b-1.dist-info/direct_url.json",
    "a/site-packages/b.egg-link",
    "a/site-packages/torch/version.py",
    "a/site-packages/tensorflow/python/platform/build_info.py",
    "a/site-packages/xformers/cpp_lib.json",
    "a/pyvenv.cfg",
    "var/lib/dpkg/status",
    "lib/apk/db/installed",
    "usr/local/cuda/version.json",
    "etc/os-release",
];

fn fixture(path: &str) -> Vec<u8> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/installed");
    fs::read(root.join(path)).expect("a fixture")
}

pub(crate) fn seeds() -> Vec<String> {
    let paths =
        ["var/lib/dpkg/status", "opt/conda/lib/python3.10/site-packages/torch/version.py", "opt/venv/pyvenv.cfg"];
    let mut seeds: Vec<String> =
        paths.iter().map(|path| String::from_utf8_lossy(&fixture(path)).into_owned()).collect();
    seeds.extend(WORDS.iter().map(|word| (*word).to_owned()));
    seeds
}

fn bounded(found: &[FileEvidence], len: usize) {
    assert!(found.len() <= len / 4 + 2, "{} pieces of evidence in {len} bytes", found.len());
}

/// A text as every kind of file, and as a path.
pub(crate) fn read_text(text: &str) {
    for path in PATHS {
        bounded(&read_evidence(path, text.as_bytes()), text.len());
    }
    for path in text.lines().take(64) {
        let _ = file_read_mode(path);
        if let Some(package) = package_from_path(path) {
            assert!(!package.name.is_empty(), "a package without a name in {path}");
        }
        let _ = locate_record(path);
    }
}

/// A database of RPM with pieces of a text in it.
pub(crate) fn read_database(text: &str) {
    let piece = text.as_bytes();
    let spread = piece.iter().fold(piece.len(), |sum, byte| sum.wrapping_mul(31).wrapping_add(usize::from(*byte)));
    for path in ["var/lib/rpm/rpmdb.sqlite", "var/lib/rpm/Packages"] {
        let mut bytes = fixture(path);
        let len = bytes.len();
        for (number, byte) in piece.iter().take(64).enumerate() {
            let at = spread.wrapping_add(number.wrapping_mul(spread | 1)) % len;
            bytes[at] = *byte;
        }
        bytes.truncate(len - spread % 3 * (spread % len) / 2);
        bounded(&read_evidence(path, &bytes), len);
    }
    // Slots and blobs of RPM's own format, with numbers out of the text.
    let number = |at: usize| u32::from(piece.get(at % piece.len().max(1)).copied().unwrap_or(1)).to_le_bytes();
    let mut bytes = [b"RpmP".as_slice(), &[0; 8], &1_u32.to_le_bytes(), &[0; 16]].concat();
    for at in 0..254 {
        bytes.extend([b"Slot".as_slice(), &number(at), &number(at + 1), &number(at + 2)].concat());
    }
    for at in 0..256 {
        bytes.extend([b"BlbS".as_slice(), &number(at), &number(at + 1), &number(at + 2), piece].concat());
    }
    bounded(&read_evidence("usr/lib/sysimage/rpm/Packages.db", &bytes), bytes.len());
}
