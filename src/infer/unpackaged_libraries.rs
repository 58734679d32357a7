//! Libraries that may be in an image without a package: copied, unpacked or downloaded files, and loader directories
//! with unknown content.

use crate::cuda::{TOOLKIT_ROOT, split_path};
use crate::model::fact::UnpackagedFiles;

/// Characters that make a path a pattern.
const PATTERN_CHARACTERS: [char; 3] = ['*', '?', '['];

/// Whether something that was copied or downloaded may be or contain a library; `searched`: the directories that the
/// loader searches.
pub(super) fn may_provide_library(unpackaged: &UnpackagedFiles, soname: &str, searched: &[String]) -> bool {
    let path = unpackaged.source.split(['?', '#']).next().unwrap_or_default().trim_end_matches('/');
    let name = split_path(path).1;
    let target = unpackaged.to.as_deref().map(|to| split_path(to).1);
    // The name that a file gets counts as the one that it had.
    if [Some(name), target].into_iter().flatten().any(|name| is_library_file(name, soname)) {
        return true;
    }
    let wild = name.contains(PATTERN_CHARACTERS);
    if name.contains(".so") && !wild {
        return false;
    }
    if wild && !pattern_may_match_library(name, soname) {
        return false;
    }
    let lower = path.to_ascii_lowercase();
    let named = lower.contains(library_stem(soname)) && matches_soname_major(name, soname);
    let fills = unpackaged
        .to
        .as_deref()
        .is_some_and(|to| searched.iter().any(|own| own == to) || is_toolkit_library_directory(to));
    named || fills && (wild || !name.contains('.') || is_archive_name(name))
}

/// Whether a pattern may match the file of a library, or of a version of it.
fn pattern_may_match_library(pattern: &str, soname: &str) -> bool {
    let head = pattern.split(PATTERN_CHARACTERS).next().unwrap_or_default();
    let tail = pattern.rsplit(PATTERN_CHARACTERS).next().unwrap_or_default();
    (soname.starts_with(head) || is_library_file(head, soname)) && soname.ends_with(tail)
}

/// Whether a file name is that of a library or of a version of it.
fn is_library_file(name: &str, soname: &str) -> bool {
    name.strip_prefix(soname).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// Returns the name that archives and directories of a library contain: `cudnn` for `libcudnn_ops_infer.so.8`.
pub(super) fn library_stem(soname: &str) -> &str {
    let stem = soname.strip_prefix("lib").unwrap_or(soname);
    let end = stem.find(|letter: char| !letter.is_ascii_lowercase()).unwrap_or(stem.len());
    stem.get(..end).unwrap_or(stem)
}

/// Whether an archive name has the major version of a soname, or no version.
fn matches_soname_major(name: &str, soname: &str) -> bool {
    let parts = |text: &str| text.split('.').take_while(|part| part.bytes().all(|one| one.is_ascii_digit())).count();
    let words = name.split(['-', '_', '+']).map(|word| word.trim_start_matches('v'));
    let mut versions = words.filter(|word| parts(word) > 2).peekable();
    let Some(major) = soname.rsplit_once(".so.").map(|(_, major)| major) else { return true };
    versions.peek().is_none() || versions.any(|version| version.split('.').next() == major.split('.').next())
}

/// Whether a path is the toolkit directory or one of its library directories.
fn is_toolkit_library_directory(path: &str) -> bool {
    let Some(rest) = path.strip_prefix(TOOLKIT_ROOT) else { return false };
    let (version, inside) = rest.split_once('/').unwrap_or((rest, ""));
    (version.is_empty() || version.starts_with('-')) && (inside.is_empty() || split_path(inside).1.starts_with("lib"))
}

/// Whether a file name is that of an archive.
fn is_archive_name(name: &str) -> bool {
    [".tgz", ".tar", ".zip", ".txz", ".gz", ".xz", ".bz2", ".zst"].iter().any(|ending| name.ends_with(ending))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether a file copied to a path may provide a soname.
    fn may_provide(source: &str, to: &str, soname: &str) -> bool {
        let to = Some(to.to_owned()).filter(|to| !to.is_empty());
        let unpackaged = UnpackagedFiles { source: source.to_owned(), to, image: None };
        may_provide_library(&unpackaged, soname, &["/usr/lib/x86_64-linux-gnu".to_owned(), "/usr/local/lib".to_owned()])
    }

    #[test]
    fn names_and_directories_decide_what_may_provide_a_library() {
        let (lib, toolkit) = ("/usr/lib/x86_64-linux-gnu", "/usr/local/cuda/lib64");
        for (source, to, expected) in [
            ("/usr/lib/x86_64-linux-gnu/libcudnn*", lib, true),
            ("/usr/lib/x86_64-linux-gnu/libcudnn.so.8", lib, true),
            ("/x/libcudnn.so.8.9.7", "/opt", true),
            ("/x/libcudnn.so.8*", "/opt", true),
            ("/x/mine.so", "/usr/lib/libcudnn.so.8", true),
            ("https://a.b/cudnn-linux-x86_64-8.9.7.29_cuda11-archive.tar.xz", "", true),
            ("https://a.b/cudnn-11.2-linux-x64-v8.1.0.77.tgz?x=1", "", true),
            ("cudnn/lib64/", toolkit, true),
            ("cudnn.tgz", "/opt", true),
            ("libs/", lib, true),
            ("./install_cudnn.sh", "", true),
            ("docs/cudnn", "/docs/cudnn", true),
            ("libs/*", "/usr/local/lib", true),
            ("libs", "/usr/local/cuda-11.8", true),
            ("libs.tar.gz", "/usr/local/cuda/targets/x86_64-linux/lib", true),
            ("", lib, true),
            // Of another library, of another major, or elsewhere.
            ("/x/libcudnn.so.9", lib, false),
            ("/x/libcudnn.so.9*", lib, false),
            ("/x/libcudnn.so", lib, false),
            ("/x/libcublas*", lib, false),
            ("/x/*.so", lib, false),
            ("https://a.b/cudnn-linux-x86_64-9.1.0.70_cuda12-archive.tar.xz", "", false),
            ("app", "/app", false),
            ("libs/", "/usr/local/bin", false),
            ("libs/", "/usr/local/cuda/include", false),
            ("libs/", "/usr/local/cudalike/lib", false),
            ("run.sh", "/usr/local/lib", false),
            ("libfoo.so.8", "/usr/local/lib", false),
            (".", "/", false),
            ("", "", false),
        ] {
            assert_eq!(may_provide(source, to, "libcudnn.so.8"), expected, "{source} {to}");
        }
        assert!(may_provide("a/libcublas*", "/x", "libcublasLt.so.11"));
        assert!(!may_provide("a/cudnn.tgz", "/x", "libcublasLt.so.11"));
    }
}
