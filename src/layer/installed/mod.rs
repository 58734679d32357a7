//! Reads the files of an image that describe installed software: selects the paths to read, and extracts evidence
//! from their content.
//!
//! [`file_read_mode`] selects the regular files to read by their path, and [`read_evidence`] reads their text. Both
//! depend on their arguments alone, so the result for one layer does not depend on other layers. The path at which a
//! distribution is *reached*, also through links, decides whether it counts: [`locate_record`]. The content of an
//! environment is often in the cache of a tool, to which the environment has hard links.
//!
//! Paths are those of an archive: with or without `/` or `./` before them, and `/` between their parts.

mod build_metadata;
mod file_kind;
mod package_names;
mod python;
mod record_location;
mod rpm;
mod system;
mod text_databases;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::layer::installed::file_kind::{InstalledFileKind, classify_file, may_be_loadable, relative_path};
use crate::model::package::{Distribution, ExactVersion, PackageName};
pub use file_kind::FileReadMode;

pub use package_names::{gpu_backend_of_conda_build, package_from_path};
pub use record_location::{PackageDirectory, RecordLocation, is_cache_or_build_path, locate_record};

/// The largest number of packages in one database; a full desktop has about five thousand.
const MAX_PACKAGES: usize = 10_000;
/// The largest total length in bytes of the names and versions in one database, fifty bytes for each package.
const MAX_PACKAGE_TEXT: usize = 512 << 10;
/// The largest length of names, versions and other values.
const MAX_VALUE_LENGTH: usize = 512;

/// The GPU platform that a distribution was built for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum GpuBackend {
    /// NVIDIA, with this CUDA version: `12.4`, `12.x`.
    Cuda(String),
    /// AMD.
    Rocm,
    /// Intel.
    Xpu,
    /// No GPU.
    Cpu,
}

/// A fact about installed software that one file states.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FileEvidence {
    /// A package is installed.
    Package(Distribution),
    /// What a distribution was built with.
    Build {
        /// The name of the distribution.
        package: PackageName,
        /// Version with its local part.
        version: Option<ExactVersion>,
        /// GPUs; none where the file does not say.
        gpu: Option<GpuBackend>,
        /// Version of cuDNN.
        cudnn: Option<String>,
    },
    /// The installer of the distribution with this record: `pip`, `uv`, `Poetry 1.8.3`.
    Installer(String),
    /// Where that distribution comes from, if not from an index.
    Source {
        /// The address, without credentials.
        url: String,
        /// The build in the URL: `cu121`.
        variant: Option<String>,
        /// Whether the distribution is imported from there.
        editable: bool,
    },
    /// Folders from which the interpreter imports as well, from a `.pth` file among its packages.
    Folders(Vec<String>),
    /// A virtual environment.
    Environment {
        /// Python: `3.11.9`.
        python: Option<String>,
        /// Whether it sees the packages of the interpreter that it was made with.
        system: bool,
    },
    /// The operating system.
    System {
        /// `ubuntu`.
        id: String,
        /// `22.04`.
        version: Option<String>,
        /// Those whose packages it takes: `debian`.
        like: Vec<String>,
    },
    /// A CUDA toolkit.
    Toolkit {
        /// `12.4.1`.
        version: String,
        /// Versions of its parts: `cuda_cudart`.
        parts: BTreeMap<String, String>,
    },
    /// A text that others understand: lines for `ldconfig`, the release of a Tegra system.
    Text(String),
    /// Something that was not understood, and why.
    NotInspected(String),
}

impl FileEvidence {
    /// Returns evidence that something was not understood, with the reason.
    fn not_inspected(why: &str) -> Vec<Self> {
        vec![Self::NotInspected(why.to_owned())]
    }
}

/// Returns how much of a regular file is read. Symbolic links are not files here: all of them are recorded.
///
/// Everything that is not known to be a text or data by its ending is worth a look, since programs have no ending:
/// the first four bytes tell, and no file is read further for nothing.
pub fn file_read_mode(path: &str) -> FileReadMode {
    let path = relative_path(path);
    match classify_file(path) {
        Some(kind) => kind.read_mode(),
        None if may_be_loadable(path) => FileReadMode::Elf,
        None => FileReadMode::Nothing,
    }
}

/// Extracts the evidence from the first bytes of a file, as many as `file_read_mode` requests.
pub fn read_evidence(path: &str, bytes: &[u8]) -> Vec<FileEvidence> {
    let path = relative_path(path);
    let Some(kind) = classify_file(path) else { return Vec::new() };
    let FileReadMode::Text { cap } = kind.read_mode() else { return Vec::new() };
    let cut = u32::try_from(bytes.len()).map_or(true, |len| len >= cap);
    if cut && let Some(why) = kind.truncation_reason() {
        return FileEvidence::not_inspected(why);
    }
    let text = || String::from_utf8_lossy(bytes);
    match kind {
        InstalledFileKind::Metadata | InstalledFileKind::Egg => python::read_metadata(path, &text()),
        InstalledFileKind::Installer => python::read_installer(&text()),
        InstalledFileKind::Direct => python::read_direct_url(bytes),
        InstalledFileKind::EggLink => python::read_egg_link(&text()),
        InstalledFileKind::Folders => python::read_pth_file(path, &text()),
        InstalledFileKind::Environment => python::read_pyvenv_config(&text()),
        InstalledFileKind::Built(row) => build_metadata::read_build_metadata(row, &text()),
        InstalledFileKind::Dpkg => text_databases::read_dpkg_status(&text(), false),
        InstalledFileKind::DpkgPart => text_databases::read_dpkg_status(&text(), true),
        InstalledFileKind::Apk => text_databases::read_apk_database(&text()),
        InstalledFileKind::RpmSqlite => rpm::read_sqlite_packages(bytes),
        InstalledFileKind::RpmBerkeley => rpm::read_berkeley_packages(bytes),
        InstalledFileKind::RpmLog if bytes.is_empty() => Vec::new(),
        InstalledFileKind::RpmLog => {
            FileEvidence::not_inspected("changes of the RPM database that are only in its log")
        }
        InstalledFileKind::RpmNdb => rpm::read_ndb_packages(bytes),
        InstalledFileKind::ToolkitJson => system::read_toolkit_json(bytes),
        InstalledFileKind::ToolkitText => system::read_toolkit_text(&text()),
        InstalledFileKind::Release => system::read_os_release(&text()),
        InstalledFileKind::Plain => vec![FileEvidence::Text(text().into_owned())],
        InstalledFileKind::Named | InstalledFileKind::Mark => Vec::new(),
    }
}

/// Returns a trimmed value; `None` if it is empty, too long, or contains control characters.
fn clean_value(text: &str) -> Option<String> {
    let text = text.trim();
    let sound = !text.is_empty() && text.len() <= MAX_VALUE_LENGTH && !text.chars().any(char::is_control);
    sound.then(|| text.to_owned())
}
