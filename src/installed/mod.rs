//! What the files of an image say of what is installed in it: which paths are worth reading, and what stands there.
//!
//! [`want`] is asked about the path of every regular file, [`read`] about those that it wants the text of. Neither
//! looks at anything but its arguments, so what they say of one layer holds whatever lies above or below it. Whether
//! a distribution counts is decided by the path at which it is *reached*, through links too: [`place`]. The content
//! of an environment often lies in a tool's cache, to which the environment has hard links.
//!
//! Paths are those of an archive: with or without `/` or `./` before them, and `/` between their parts.

mod built;
mod dpkg;
mod inert;
mod kind;
mod name;
mod place;
mod python;
mod rpm;
mod system;

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::Serialize;

use crate::installed::inert::loadable;
use crate::installed::kind::Kind;
use crate::installed::kind::kind;
use crate::installed::kind::relative;

pub use name::built_for;
pub use name::named;
pub use place::Place;
pub use place::Site;
pub use place::is_kept;
pub use place::place;

/// No database names more packages: a desktop with everything on it has some five thousand.
const MOST_PACKAGES: usize = 10_000;
/// Bytes of the names and versions of one database: a hundred for each of them.
const MOST_TEXT: usize = 1 << 20;
/// Names, versions and other words are no longer than this.
const LONGEST_WORD: usize = 512;

/// What of a regular file is worth looking at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Want {
    /// Nothing.
    Nothing,
    /// That it is there.
    Presence,
    /// Its first bytes, for [`read`].
    Text {
        /// So many of them.
        cap: u32,
    },
    /// Its structure, if it is an ELF file.
    Elf,
}

/// Who keeps the record of a package.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Manager {
    /// pip, uv and whoever writes what they do.
    Python,
    /// conda, mamba and pixi.
    Conda,
    /// Debian's.
    Dpkg,
    /// Alpine's.
    Apk,
    /// That of Red Hat and of SUSE.
    Rpm,
}

/// An installed package.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Package {
    /// Who keeps the record.
    pub manager: Manager,
    /// Its name; a distribution's in the normal form of PEP 503.
    pub name: String,
    /// Its version, as it stands there; empty where nothing says it.
    pub version: String,
    /// The build string of conda.
    pub build: Option<String>,
}

/// Which GPUs a distribution was built for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Gpu {
    /// NVIDIA's, with this version of CUDA: `12.4`, `12.x`.
    Cuda(String),
    /// AMD's.
    Rocm,
    /// Intel's.
    Xpu,
    /// None.
    Cpu,
}

/// What one file says.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Evidence {
    /// A package is installed.
    Package(Package),
    /// What a distribution was built with.
    Build {
        /// Normalised name of the distribution.
        package: String,
        /// Version with its local part.
        version: Option<String>,
        /// GPUs; none where the file does not say.
        gpu: Option<Gpu>,
        /// Version of cuDNN.
        cudnn: Option<String>,
    },
    /// Who installed the distribution beside whose record this stands: `pip`, `uv`, `Poetry 1.8.3`.
    Installer(String),
    /// Where that distribution comes from, if not from an index.
    Source {
        /// The address, without credentials.
        url: String,
        /// The build that the address speaks of: `cu121`.
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

impl Evidence {
    fn missed(why: &str) -> Vec<Self> {
        vec![Self::NotInspected(why.to_owned())]
    }
}

/// What to look at in a regular file. Links are another matter: all of them are worth keeping.
///
/// Everything that is not known to be a text or data by its ending is worth a look, since programs have no ending:
/// the first four bytes tell, and no file is read further for nothing.
pub fn want(path: &str) -> Want {
    let path = relative(path);
    match kind(path) {
        Some(kind) => kind.want(),
        None if loadable(path) => Want::Elf,
        None => Want::Nothing,
    }
}

/// What stands in a file: its first bytes, as many as [`want`] asks for or all where there are fewer.
pub fn read(path: &str, bytes: &[u8]) -> Vec<Evidence> {
    let path = relative(path);
    let Some(kind) = kind(path) else { return Vec::new() };
    let Want::Text { cap } = kind.want() else { return Vec::new() };
    let cut = u32::try_from(bytes.len()).map_or(true, |len| len >= cap);
    if cut && let Some(why) = kind.cut() {
        return Evidence::missed(why);
    }
    let text = || String::from_utf8_lossy(bytes);
    match kind {
        Kind::Metadata | Kind::Egg => python::metadata(path, &text()),
        Kind::Installer => python::installer(&text()),
        Kind::Direct => python::direct(bytes),
        Kind::EggLink => python::egg_link(&text()),
        Kind::Folders => python::folders(path, &text()),
        Kind::Environment => python::environment(&text()),
        Kind::Built(row) => built::read(row, &text()),
        Kind::Dpkg => dpkg::status(&text(), false),
        Kind::DpkgPart => dpkg::status(&text(), true),
        Kind::Apk => dpkg::apk(&text()),
        Kind::RpmSqlite => rpm::sqlite(bytes),
        Kind::RpmBerkeley => rpm::berkeley(bytes),
        Kind::RpmLog if bytes.is_empty() => Vec::new(),
        Kind::RpmLog => Evidence::missed("changes of the RPM database that are only in its log"),
        Kind::RpmNdb => rpm::ndb(bytes),
        Kind::ToolkitJson => system::toolkit_json(bytes),
        Kind::ToolkitText => system::toolkit_text(&text()),
        Kind::Release => system::release(&text()),
        Kind::Plain => vec![Evidence::Text(text().into_owned())],
        Kind::Named | Kind::Mark => Vec::new(),
    }
}

/// A word of a sensible length, or none.
fn word(text: &str) -> Option<String> {
    let text = text.trim();
    let sound = !text.is_empty() && text.len() <= LONGEST_WORD && !text.chars().any(char::is_control);
    sound.then(|| text.to_owned())
}
