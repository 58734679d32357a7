//! The order in which `ldconfig` goes through directories, and which file of one soname it links.

use std::iter;

use crate::cuda::DriverVersion;

/// The directory of libraries on systems that are not of Debian's family.
pub const LIB64: &str = "/usr/lib64";

/// Debian's own directory for libraries of an architecture.
pub fn debian_directory(arch: &str) -> &'static str {
    match arch {
        "arm64" => "/usr/lib/aarch64-linux-gnu",
        "ppc64le" => "/usr/lib/powerpc64le-linux-gnu",
        _ => "/usr/lib/x86_64-linux-gnu",
    }
}

/// A file that names directories to `ldconfig`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LdConf {
    /// Its name within `/etc/ld.so.conf.d`, by which the files are read in order.
    pub name: String,
    /// The directories that it lists.
    pub directories: Vec<String>,
}

impl LdConf {
    /// Reads the text of such a file: a directory a line, `#` before a remark; other directives are no directories.
    pub fn read(name: &str, text: &str) -> Self {
        let lines = text.lines().map(|line| line.split('#').next().unwrap_or_default().trim());
        let listing = lines.filter(|line| line.starts_with('/'));
        let words = listing.flat_map(|line| line.split([':', ',', ' ', '\t']));
        let directories = words.filter(|word| word.starts_with('/')).map(trimmed).map(str::to_owned).collect();
        Self { name: name.to_owned(), directories }
    }
}

/// The directories of a value of `LD_LIBRARY_PATH`, which colons and semicolons part; that of the program, an empty one, is
/// left out.
pub fn library_path(value: &str) -> impl Iterator<Item = &str> {
    value.split([':', ';']).filter(|directory| !directory.is_empty()).map(trimmed)
}

/// A directory without the slash at its end.
pub fn trimmed(directory: &str) -> &str {
    let directory = directory.trim_end_matches('/');
    if directory.is_empty() { "/" } else { directory }
}

/// The directories in order: those of the command line, those of the files by name, the default ones.
///
/// `image` and `added` are sorted by name; `added` are files, of one directory each, that the container stack writes.
pub fn search_order<'a>(
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

/// Which of several files with one soname in one directory is linked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Linked<T> {
    /// There is none.
    None,
    /// The one with the highest version in its name; the first of equals.
    One(T),
    /// Cannot be told: of several, one has a version that is not known.
    Open,
}

/// The file that `ldconfig` links; a version that is not known is none.
pub fn linked<T>(files: impl Iterator<Item = (Option<DriverVersion>, T)>) -> Linked<T> {
    let mut best: Option<(Option<DriverVersion>, T)> = None;
    for (version, file) in files {
        best = match (best, version) {
            (None, _) => Some((version, file)),
            (Some((Some(highest), kept)), Some(version)) => {
                Some(if version > highest { (Some(version), file) } else { (Some(highest), kept) })
            }
            (Some(_), _) => return Linked::Open,
        };
    }
    best.map_or(Linked::None, |(_, file)| Linked::One(file))
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
            search_order(["/first"].into_iter(), &image, added, ["/last"].into_iter()).map(str::to_owned).collect()
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
            linked(versions.into_iter().zip(list.iter().map(|text| (*text).to_owned())))
        };
        let one = |text: &str| Linked::One(text.to_owned());
        assert_eq!(of(&["535.104.12", "550.54.15", "470.57.02"]), one("550.54.15"));
        assert_eq!(of(&["535.54.03", "535.54.3"]), one("535.54.03"));
        assert_eq!(of(&["?"]), one("?"));
        assert_eq!(of(&["535.54.03", "?"]), Linked::Open);
        assert_eq!(of(&["?", "535.54.03"]), Linked::Open);
        assert_eq!(of(&[]), Linked::None);
    }

    #[test]
    fn a_file_lists_directories_and_nothing_else() {
        let text = "# compat\n/usr/local/cuda/compat/  # first\n\ninclude /etc/more/*.conf\nrelative\n/a:/b\n/c,/d\n";
        let read = LdConf::read("x.conf", text);
        assert_eq!(read.directories, ["/usr/local/cuda/compat", "/a", "/b", "/c", "/d"]);
        assert!(LdConf::read("x.conf", "").directories.is_empty());
    }
}
