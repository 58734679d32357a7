//! The order in which `ldconfig` searches directories, and the file that it links for a soname.

use std::iter;

use crate::cuda::DriverVersion;

/// The library directory of distributions outside of the Debian family.
pub const LIB64_DIRECTORY: &str = "/usr/lib64";

/// Returns the library directory of Debian for an architecture.
pub fn debian_library_directory(arch: &str) -> &'static str {
    match arch {
        "arm64" => "/usr/lib/aarch64-linux-gnu",
        "ppc64le" => "/usr/lib/powerpc64le-linux-gnu",
        _ => "/usr/lib/x86_64-linux-gnu",
    }
}

/// A configuration file that lists directories for `ldconfig`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LdConf {
    /// Its name within `/etc/ld.so.conf.d`, by which the files are read in order.
    pub name: String,
    /// The directories that it lists.
    pub directories: Vec<String>,
}

impl LdConf {
    /// Parses the text of such a file: one directory on each line, `#` before a comment. Other directives are
    /// ignored.
    pub fn parse(name: &str, text: &str) -> Self {
        let lines = text.lines().map(|line| line.split('#').next().unwrap_or_default().trim());
        let listing = lines.filter(|line| line.starts_with('/'));
        let words = listing.flat_map(|line| line.split([':', ',', ' ', '\t']));
        let directories =
            words.filter(|word| word.starts_with('/')).map(trim_trailing_slash).map(str::to_owned).collect();
        Self { name: name.to_owned(), directories }
    }
}

/// Returns the directories in a value of `LD_LIBRARY_PATH`, separated by colons or semicolons; empty ones are
/// omitted.
pub fn library_path_directories(value: &str) -> impl Iterator<Item = &str> {
    value.split([':', ';']).filter(|directory| !directory.is_empty()).map(trim_trailing_slash)
}

/// Returns a directory without trailing slashes.
pub fn trim_trailing_slash(directory: &str) -> &str {
    let directory = directory.trim_end_matches('/');
    if directory.is_empty() { "/" } else { directory }
}

/// Returns the directories in search order: those of the command line, of the files by name, and the defaults.
///
/// `image` and `added` are sorted by name; `added` are files, of one directory each, that the container stack writes.
pub fn ldconfig_search_order<'a>(
    command_line: impl Iterator<Item = &'a str>,
    image: &'a [LdConf],
    added: impl Iterator<Item = (&'a str, &'a str)>,
    default: impl Iterator<Item = &'a str>,
) -> impl Iterator<Item = &'a str> {
    let mut listed = image
        .iter()
        .flat_map(|file| file.directories.iter().map(|directory| (file.name.as_str(), directory.as_str())))
        .peekable();
    let mut added = added.peekable();
    let files = iter::from_fn(move || match (listed.peek(), added.peek()) {
        (Some((listed_name, _)), Some((added_name, _))) if listed_name < added_name => listed.next(),
        (_, Some(_)) => added.next(),
        (_, None) => listed.next(),
    });
    command_line.chain(files.map(|(_, directory)| directory)).chain(default)
}

/// The file that is linked, of several with one soname in one directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkedFile<T> {
    /// There is no file.
    None,
    /// The one with the highest version in its name; the first of equals.
    One(T),
    /// Undetermined, because one of several files has an unknown version.
    Undetermined,
}

/// Returns the file that `ldconfig` links; `None` stands for an unknown version.
pub fn select_linked_file<T>(files: impl Iterator<Item = (Option<DriverVersion>, T)>) -> LinkedFile<T> {
    let mut best: Option<(Option<DriverVersion>, T)> = None;
    for (version, file) in files {
        best = match (best, version) {
            (None, _) => Some((version, file)),
            (Some((Some(highest), kept)), Some(version)) => {
                Some(if version > highest { (Some(version), file) } else { (Some(highest), kept) })
            }
            (Some(_), _) => return LinkedFile::Undetermined,
        };
    }
    best.map_or(LinkedFile::None, |(_, file)| LinkedFile::One(file))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_read_by_name_after_the_command_line() {
        let image = ["00-cuda-compat", "cuda-compat", "x86_64-linux-gnu"]
            .map(|name| LdConf { name: name.to_owned(), directories: vec![format!("/{name}")] });
        let order = |added: &[(&'static str, &'static str)]| -> Vec<String> {
            let added = added.iter().copied();
            ldconfig_search_order(["/first"].into_iter(), &image, added, ["/last"].into_iter())
                .map(str::to_owned)
                .collect()
        };
        assert_eq!(order(&[]), ["/first", "/00-cuda-compat", "/cuda-compat", "/x86_64-linux-gnu", "/last"]);
        assert_eq!(
            order(&[("00-compat-1", "/hook"), ("00-nvcr-1", "/host"), ("zz-nvcr-1", "/system")]),
            ["/first", "/hook", "/00-cuda-compat", "/host", "/cuda-compat", "/x86_64-linux-gnu", "/system", "/last"]
        );
    }

    #[test]
    fn the_highest_version_is_linked() {
        let of = |list: &[&str]| {
            let versions: Vec<Option<DriverVersion>> = list.iter().map(|text| text.parse().ok()).collect();
            select_linked_file(versions.into_iter().zip(list.iter().map(|text| (*text).to_owned())))
        };
        let one = |text: &str| LinkedFile::One(text.to_owned());
        assert_eq!(of(&["535.104.12", "550.54.15", "470.57.02"]), one("550.54.15"));
        assert_eq!(of(&["535.54.03", "535.54.3"]), one("535.54.03"));
        assert_eq!(of(&["?"]), one("?"));
        assert_eq!(of(&["535.54.03", "?"]), LinkedFile::Undetermined);
        assert_eq!(of(&["?", "535.54.03"]), LinkedFile::Undetermined);
        assert_eq!(of(&[]), LinkedFile::None);
    }

    #[test]
    fn ldconfig_file_yields_only_directories() {
        let text = "# compat\n/usr/local/cuda/compat/  # first\n\ninclude /etc/more/*.conf\nrelative\n/a:/b\n/c,/d\n";
        let read = LdConf::parse("x.conf", text);
        assert_eq!(read.directories, ["/usr/local/cuda/compat", "/a", "/b", "/c", "/d"]);
        assert!(LdConf::parse("x.conf", "").directories.is_empty());
    }
}
