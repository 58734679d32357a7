//! Classifies a file by its path and its extension. This is called for every entry of every layer and
//! allocates nothing.

use crate::knowledge::{BuildFileRow, Knowledge};

/// The kinds of files that describe installed software.
#[derive(Clone, Copy, Debug)]
pub(super) enum InstalledFileKind {
    /// `METADATA` of a distribution.
    Metadata,
    /// Metadata of a distribution in the egg format.
    Egg,
    /// `INSTALLER`, the tool that installed a distribution.
    Installer,
    /// `direct_url.json`, the source of a distribution.
    Direct,
    /// A link to the sources of an editable distribution.
    EggLink,
    /// A `.pth` file with further import directories.
    Folders,
    /// `pyvenv.cfg` of a virtual environment.
    Environment,
    /// The build options of a distribution.
    Built(&'static BuildFileRow),
    /// The dpkg status file.
    Dpkg,
    /// The dpkg record of one package, in images built without dpkg.
    DpkgPart,
    /// The apk database.
    Apk,
    /// The RPM database in `SQLite` format.
    RpmSqlite,
    /// Changes to that database that are not yet written to it.
    RpmLog,
    /// The RPM database in Berkeley DB hash format.
    RpmBerkeley,
    /// The RPM database in its own format.
    RpmNdb,
    /// Versions of a CUDA toolkit and its parts.
    ToolkitJson,
    /// The same before CUDA 11.1.
    ToolkitText,
    /// The operating system.
    Release,
    /// A text that is returned unchanged.
    Plain,
    /// A file of which only the name is used.
    Named,
    /// A file of which only the existence is used.
    Mark,
}

/// The number of bytes read of a metadata file, which starts with name and version.
const METADATA_CAP: u32 = 16 << 10;
/// The number of bytes read of small files, of one to a hundred lines.
const SMALL_FILE_CAP: u32 = 64 << 10;
/// The number of bytes read of a package list; a thousand packages take one to two megabytes.
const PACKAGE_LIST_CAP: u32 = 8 << 20;
/// The number of bytes read of an RPM database. That of a base image takes 5 to 15 MB and cannot be read in pieces.
const DATABASE_CAP: u32 = 16 << 20;
/// The number of bytes read to detect whether a file is empty.
const EXISTENCE_CAP: u32 = 1;

const RPM_DIRECTORIES: &[&str] = &["usr/lib/sysimage/rpm", "usr/share/rpm", "var/lib/rpm"];

impl InstalledFileKind {
    /// Returns how much of a file of this kind is read.
    pub(super) fn read_mode(self) -> FileReadMode {
        let cap = match self {
            Self::Metadata | Self::Egg => METADATA_CAP,
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
            | Self::DpkgPart => SMALL_FILE_CAP,
            Self::Dpkg | Self::Apk => PACKAGE_LIST_CAP,
            Self::RpmSqlite | Self::RpmBerkeley | Self::RpmNdb => DATABASE_CAP,
            Self::RpmLog => EXISTENCE_CAP,
            Self::Named | Self::Mark => return FileReadMode::Presence,
        };
        FileReadMode::Text { cap }
    }

    /// Returns why a truncated file of this kind gives no result; `None` if its start is enough.
    pub(super) fn truncation_reason(self) -> Option<&'static str> {
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

/// Returns a path relative to the root, without `/` or `./` before it.
pub(super) fn relative_path(path: &str) -> &str {
    path.strip_prefix("./").unwrap_or(path).trim_start_matches('/')
}

/// Splits a path into directory and file name.
pub(super) fn split_directory(path: &str) -> (&str, &str) {
    path.rsplit_once('/').unwrap_or(("", path))
}

/// Returns the text after the last dot of a name.
pub(super) fn file_extension(name: &str) -> &str {
    name.rsplit_once('.').map_or("", |(_, ending)| ending)
}

/// Returns the kind of the file at a path relative to the root.
pub(super) fn classify_file(path: &str) -> Option<InstalledFileKind> {
    let (folder, name) = split_directory(path);
    let record = || folder.ends_with(".dist-info");
    match name {
        "METADATA" => record().then_some(InstalledFileKind::Metadata),
        "RECORD" => record().then_some(InstalledFileKind::Named),
        "INSTALLER" => record().then_some(InstalledFileKind::Installer),
        "direct_url.json" => record().then_some(InstalledFileKind::Direct),
        "PKG-INFO" => {
            (folder.ends_with(".egg-info") || folder.ends_with(".egg/EGG-INFO")).then_some(InstalledFileKind::Egg)
        }
        "pyvenv.cfg" => Some(InstalledFileKind::Environment),
        "status" => (folder == "var/lib/dpkg").then_some(InstalledFileKind::Dpkg),
        "installed" => matches!(folder, "lib/apk/db" | "usr/lib/apk/db").then_some(InstalledFileKind::Apk),
        "rpmdb.sqlite" => RPM_DIRECTORIES.contains(&folder).then_some(InstalledFileKind::RpmSqlite),
        "rpmdb.sqlite-wal" => RPM_DIRECTORIES.contains(&folder).then_some(InstalledFileKind::RpmLog),
        "Packages" => RPM_DIRECTORIES.contains(&folder).then_some(InstalledFileKind::RpmBerkeley),
        "Packages.db" => RPM_DIRECTORIES.contains(&folder).then_some(InstalledFileKind::RpmNdb),
        "version.txt" => is_toolkit_directory(folder).then_some(InstalledFileKind::ToolkitText),
        "version.json" if is_toolkit_directory(folder) => Some(InstalledFileKind::ToolkitJson),
        "os-release" => matches!(folder, "etc" | "usr/lib").then_some(InstalledFileKind::Release),
        "ld.so.conf" | "nv_tegra_release" => (folder == "etc").then_some(InstalledFileKind::Plain),
        "ld.so.cache" | "debian_version" | "alpine-release" | "redhat-release" => {
            (folder == "etc").then_some(InstalledFileKind::Mark)
        }
        _ if folder == "var/lib/dpkg/status.d" => {
            (file_extension(name) != "md5sums").then_some(InstalledFileKind::DpkgPart)
        }
        _ => classify_by_extension(path, folder, file_extension(name)),
    }
}

/// Returns the kind of a file that is recognised by its extension.
fn classify_by_extension(path: &str, folder: &str, ending: &str) -> Option<InstalledFileKind> {
    match ending {
        "json" if folder.ends_with("conda-meta") => {
            (split_directory(folder).1 == "conda-meta").then_some(InstalledFileKind::Named)
        }
        "json" | "py" => build_metadata_kind(path),
        "conf" => (folder == "etc/ld.so.conf.d").then_some(InstalledFileKind::Plain),
        "egg-info" => Some(InstalledFileKind::Egg),
        "egg-link" => Some(InstalledFileKind::EggLink),
        "pth" => {
            matches!(split_directory(folder).1, "site-packages" | "dist-packages").then_some(InstalledFileKind::Folders)
        }
        "egg" => Some(InstalledFileKind::Named),
        _ => None,
    }
}

/// Returns the kind of a build metadata file that the tables list.
fn build_metadata_kind(path: &str) -> Option<InstalledFileKind> {
    let of = |row: &&BuildFileRow| path.strip_suffix(row.file).is_some_and(|site| site.ends_with('/'));
    Knowledge::built_in().build_files().iter().find(of).map(InstalledFileKind::Built)
}

/// Whether a directory is that of a CUDA toolkit: `usr/local/cuda-12.4`.
fn is_toolkit_directory(folder: &str) -> bool {
    folder.strip_prefix("usr/local/cuda").is_some_and(|rest| !rest.contains('/'))
}

/// Extensions of text and data files, sorted, including object files, archives and separate debug information, which
/// are never loaded.
const DATA_EXTENSIONS: &[&str] = &[
    "a",
    "awk",
    "bash",
    "bat",
    "bmp",
    "bz2",
    "c",
    "cc",
    "cfg",
    "chm",
    "cjs",
    "cl",
    "cmake",
    "conda",
    "conf",
    "cpp",
    "cs",
    "css",
    "csv",
    "cts",
    "cu",
    "cuh",
    "cxx",
    "d",
    "dat",
    "db",
    "deb",
    "debug",
    "desktop",
    "dist-info",
    "el",
    "eot",
    "f",
    "f90",
    "fish",
    "gguf",
    "gif",
    "gir",
    "gmo",
    "go",
    "gpg",
    "gz",
    "h",
    "h5",
    "hh",
    "hpp",
    "htm",
    "html",
    "hxx",
    "icns",
    "ico",
    "idx",
    "in",
    "inc",
    "inf",
    "ini",
    "inl",
    "ipp",
    "ipynb",
    "jar",
    "java",
    "jpeg",
    "jpg",
    "js",
    "json",
    "jsonl",
    "jsx",
    "key",
    "ko",
    "kt",
    "la",
    "less",
    "lib",
    "list",
    "lo",
    "lock",
    "log",
    "lst",
    "lua",
    "m",
    "m4",
    "man",
    "map",
    "md",
    "md5sums",
    "mjs",
    "mo",
    "mod",
    "mp3",
    "mp4",
    "mts",
    "npy",
    "npz",
    "o",
    "odt",
    "onnx",
    "otf",
    "parquet",
    "patch",
    "pb",
    "pc",
    "pdf",
    "pem",
    "pkl",
    "pl",
    "plist",
    "pm",
    "png",
    "po",
    "pod",
    "postinst",
    "postrm",
    "pot",
    "preinst",
    "prerm",
    "proto",
    "ps",
    "ps1",
    "pt",
    "pth",
    "ptx",
    "pxd",
    "pxi",
    "py",
    "pyc",
    "pyi",
    "pyo",
    "pyx",
    "qm",
    "rb",
    "res",
    "rng",
    "rpm",
    "rs",
    "rst",
    "s",
    "safetensors",
    "scss",
    "sed",
    "service",
    "sh",
    "sha256",
    "shlibs",
    "sqlite",
    "src",
    "svg",
    "swg",
    "swift",
    "sym",
    "tbl",
    "tcl",
    "template",
    "tgz",
    "tif",
    "tiff",
    "toml",
    "triggers",
    "ts",
    "tsv",
    "tsx",
    "ttc",
    "ttf",
    "txt",
    "typed",
    "ui",
    "wasm",
    "wav",
    "webp",
    "whl",
    "woff",
    "woff2",
    "wsdl",
    "xbm",
    "xcf",
    "xml",
    "xpm",
    "xsd",
    "xsl",
    "xslt",
    "xz",
    "yaml",
    "yml",
    "zip",
    "zsh",
    "zst",
];

/// Whether a file may be a program or a library.
pub(super) fn may_be_loadable(path: &str) -> bool {
    let ending = file_extension(split_directory(path).1);
    DATA_EXTENSIONS.binary_search(&ending).is_err() && !path.starts_with("usr/lib/debug/")
}

/// How much of a regular file is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileReadMode {
    /// Nothing.
    Nothing,
    /// Only its existence.
    Presence,
    /// Its first bytes, to recognize it.
    Text {
        /// So many of them.
        cap: u32,
    },
    /// Its structure, if it is an ELF file.
    Elf,
}

#[cfg(test)]
mod tests {
    use crate::layer::installed::file_kind::{DATA_EXTENSIONS, may_be_loadable};

    #[test]
    fn endings_are_sorted() {
        assert!(DATA_EXTENSIONS.is_sorted());
        assert!(
            may_be_loadable("usr/bin/x") && !may_be_loadable("usr/bin/x.py") && !may_be_loadable("usr/share/x.zst")
        );
    }
}
