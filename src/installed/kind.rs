//! Which file a path speaks of. It is asked about every entry of every layer: it allocates nothing.

use crate::installed::Want;
use crate::knowledge::BuildFileRow;
use crate::knowledge::Knowledge;

/// A file that says something.
#[derive(Clone, Copy, Debug)]
pub(super) enum Kind {
    /// The record of a distribution.
    Metadata,
    /// The record of one in the older form.
    Egg,
    /// Who installed it.
    Installer,
    /// Where it comes from.
    Direct,
    /// Where one lies that is imported from its sources.
    EggLink,
    /// Folders from which an interpreter imports as well.
    Folders,
    /// Settings of a virtual environment.
    Environment,
    /// What a distribution was built with.
    Built(&'static BuildFileRow),
    /// What Debian's package manager has installed.
    Dpkg,
    /// The same for one package, in images that are made without it.
    DpkgPart,
    /// What Alpine's has.
    Apk,
    /// What RPM has, in `SQLite`.
    RpmSqlite,
    /// Changes of that which are not in it yet.
    RpmLog,
    /// The same in a Berkeley hash.
    RpmBerkeley,
    /// The same in RPM's own format.
    RpmNdb,
    /// Versions of a CUDA toolkit and its parts.
    ToolkitJson,
    /// The same before CUDA 11.1.
    ToolkitText,
    /// The operating system.
    Release,
    /// A text that is handed on.
    Plain,
    /// A file whose name says it all.
    Named,
    /// A file of which it counts that it is there.
    Mark,
}

/// Records begin with name and version.
const HEAD: u32 = 16 << 10;
/// Small files, of one to a hundred lines.
const SMALL: u32 = 64 << 10;
/// A thousand packages take one to two megabytes.
const LISTS: u32 = 8 << 20;
/// The database of a base image takes 5 to 15 MB, file lists included, and cannot be read in pieces.
const DATABASE: u32 = 16 << 20;
/// Enough to tell that there is something.
const ANYTHING: u32 = 1;

const RPM: &[&str] = &["usr/lib/sysimage/rpm", "usr/share/rpm", "var/lib/rpm"];

impl Kind {
    pub(super) fn want(self) -> Want {
        let cap = match self {
            Self::Metadata | Self::Egg => HEAD,
            Self::Installer
            | Self::Direct
            | Self::EggLink
            | Self::Folders
            | Self::Environment
            | Self::Built(_)
            | Self::ToolkitJson
            | Self::ToolkitText
            | Self::Release
            | Self::Plain
            | Self::DpkgPart => SMALL,
            Self::Dpkg | Self::Apk => LISTS,
            Self::RpmSqlite | Self::RpmBerkeley | Self::RpmNdb => DATABASE,
            Self::RpmLog => ANYTHING,
            Self::Named | Self::Mark => return Want::Presence,
        };
        Want::Text { cap }
    }

    /// Why nothing is said of a file that is longer than what is read of it; none where its head is enough.
    pub(super) fn cut(self) -> Option<&'static str> {
        match self {
            Self::Dpkg | Self::Apk => Some("a list of packages larger than 8 MiB"),
            Self::RpmSqlite | Self::RpmBerkeley | Self::RpmNdb => Some("an RPM database larger than 16 MiB"),
            Self::Direct | Self::Built(_) | Self::ToolkitJson | Self::DpkgPart | Self::Plain => {
                Some("a metadata file larger than 64 KiB")
            }
            _ => None,
        }
    }
}

/// A path from the root, without what stands before it.
pub(super) fn relative(path: &str) -> &str {
    path.strip_prefix("./").unwrap_or(path).trim_start_matches('/')
}

/// The folder of a path and the name in it.
pub(super) fn split(path: &str) -> (&str, &str) {
    path.rsplit_once('/').unwrap_or(("", path))
}

/// What stands behind the last dot of a name.
pub(super) fn ending(name: &str) -> &str {
    name.rsplit_once('.').map_or("", |(_, ending)| ending)
}

/// Which file a path from the root speaks of.
pub(super) fn kind(path: &str) -> Option<Kind> {
    let (folder, name) = split(path);
    let record = || folder.ends_with(".dist-info");
    match name {
        "METADATA" => record().then_some(Kind::Metadata),
        "RECORD" => record().then_some(Kind::Named),
        "INSTALLER" => record().then_some(Kind::Installer),
        "direct_url.json" => record().then_some(Kind::Direct),
        "PKG-INFO" => (folder.ends_with(".egg-info") || folder.ends_with(".egg/EGG-INFO")).then_some(Kind::Egg),
        "pyvenv.cfg" => Some(Kind::Environment),
        "status" => (folder == "var/lib/dpkg").then_some(Kind::Dpkg),
        "installed" => matches!(folder, "lib/apk/db" | "usr/lib/apk/db").then_some(Kind::Apk),
        "rpmdb.sqlite" => RPM.contains(&folder).then_some(Kind::RpmSqlite),
        "rpmdb.sqlite-wal" => RPM.contains(&folder).then_some(Kind::RpmLog),
        "Packages" => RPM.contains(&folder).then_some(Kind::RpmBerkeley),
        "Packages.db" => RPM.contains(&folder).then_some(Kind::RpmNdb),
        "version.txt" => is_toolkit(folder).then_some(Kind::ToolkitText),
        "version.json" if is_toolkit(folder) => Some(Kind::ToolkitJson),
        "os-release" => matches!(folder, "etc" | "usr/lib").then_some(Kind::Release),
        "ld.so.conf" | "nv_tegra_release" => (folder == "etc").then_some(Kind::Plain),
        "ld.so.cache" | "debian_version" | "alpine-release" | "redhat-release" => {
            (folder == "etc").then_some(Kind::Mark)
        }
        _ if folder == "var/lib/dpkg/status.d" => (ending(name) != "md5sums").then_some(Kind::DpkgPart),
        _ => by_ending(path, folder, ending(name)),
    }
}

fn by_ending(path: &str, folder: &str, ending: &str) -> Option<Kind> {
    match ending {
        "json" if folder.ends_with("conda-meta") => (split(folder).1 == "conda-meta").then_some(Kind::Named),
        "json" | "py" => built(path),
        "conf" => (folder == "etc/ld.so.conf.d").then_some(Kind::Plain),
        "egg-info" => Some(Kind::Egg),
        "egg-link" => Some(Kind::EggLink),
        "pth" => matches!(split(folder).1, "site-packages" | "dist-packages").then_some(Kind::Folders),
        "egg" => Some(Kind::Named),
        _ => None,
    }
}

fn built(path: &str) -> Option<Kind> {
    let of = |row: &&BuildFileRow| path.strip_suffix(row.file).is_some_and(|site| site.ends_with('/'));
    Knowledge::built_in().build_files().iter().find(of).map(Kind::Built)
}

/// Whether a folder is that of a CUDA toolkit: `usr/local/cuda-12.4`.
fn is_toolkit(folder: &str) -> bool {
    folder.strip_prefix("usr/local/cuda").is_some_and(|rest| !rest.contains('/'))
}
