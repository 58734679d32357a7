//! Libraries that may lie in an image without a package: what was copied, unpacked or fetched there and bears their name, and
//! folders of the loader that were filled with what nobody read.

use crate::cuda::TOOLKIT_ROOT;
use crate::cuda::split_path;
use crate::fact::LooseSeen;

/// Signs of a pattern.
const WILD: [char; 3] = ['*', '?', '['];

/// How a thing that was put into an image may be or hold a library.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Hold {
    /// Not at all.
    No,
    /// It fills a folder that the loader looks into, or is about the library by its name.
    Fills,
    /// It is a file, an archive or a folder of the loader that bears its name.
    Named,
}

/// Whether something that was put there may be or hold the library of that soname, with the folders that the loader looks
/// into.
pub(super) fn holds(loose: &LooseSeen, soname: &str, searched: &[String]) -> Hold {
    let path = loose.source.split(['?', '#']).next().unwrap_or_default().trim_end_matches('/');
    let name = split_path(path).1;
    let target = loose.to.as_deref().map(|to| split_path(to).1);
    // The name that a file gets counts as the one that it had.
    if [Some(name), target].into_iter().flatten().any(|name| is_file_of(name, soname)) {
        return Hold::Named;
    }
    let wild = name.contains(WILD);
    if name.contains(".so") && !wild {
        return Hold::No;
    }
    if wild && !may_mean(name, soname) {
        return Hold::No;
    }
    let lower = path.to_ascii_lowercase();
    let named = lower.contains(word(soname)) && goes_with(name, soname);
    let fills = loose.to.as_deref().is_some_and(|to| searched.iter().any(|own| own == to) || is_of_toolkit(to));
    let full = wild || !name.contains('.') || is_archive(name);
    match (named, fills && full) {
        // A folder, or a script, of that name may be about it and hold none.
        (true, within) if within || wild || is_archive(name) => Hold::Named,
        (false, false) => Hold::No,
        _ => Hold::Fills,
    }
}

/// Whether a pattern may mean the file of a library, or of a version of it.
fn may_mean(pattern: &str, soname: &str) -> bool {
    let head = pattern.split(WILD).next().unwrap_or_default();
    let tail = pattern.rsplit(WILD).next().unwrap_or_default();
    (soname.starts_with(head) || is_file_of(head, soname)) && soname.ends_with(tail)
}

/// Whether a file name is that of a library or of a version of it.
fn is_file_of(name: &str, soname: &str) -> bool {
    name.strip_prefix(soname).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// The word that archives and folders of a library have in their names: `cudnn` of `libcudnn_ops_infer.so.8`.
pub(super) fn word(soname: &str) -> &str {
    let stem = soname.strip_prefix("lib").unwrap_or(soname);
    let end = stem.find(|letter: char| !letter.is_ascii_lowercase()).unwrap_or(stem.len());
    stem.get(..end).unwrap_or(stem)
}

/// Whether a version in the name of an archive is of the major release that a soname asks for; so it is where none is named.
fn goes_with(name: &str, soname: &str) -> bool {
    let parts = |text: &str| text.split('.').take_while(|part| part.bytes().all(|one| one.is_ascii_digit())).count();
    let words = name.split(['-', '_', '+']).map(|word| word.trim_start_matches('v'));
    let mut versions = words.filter(|word| parts(word) > 2).peekable();
    let Some(major) = soname.rsplit_once(".so.").map(|(_, major)| major) else { return true };
    versions.peek().is_none() || versions.any(|version| version.split('.').next() == major.split('.').next())
}

/// Whether a path is the folder of the toolkit, or one of its folders of libraries.
fn is_of_toolkit(path: &str) -> bool {
    let Some(rest) = path.strip_prefix(TOOLKIT_ROOT) else { return false };
    let (version, inside) = rest.split_once('/').unwrap_or((rest, ""));
    (version.is_empty() || version.starts_with('-')) && (inside.is_empty() || split_path(inside).1.starts_with("lib"))
}

fn is_archive(name: &str) -> bool {
    [".tgz", ".tar", ".zip", ".txz", ".gz", ".xz", ".bz2", ".zst"].iter().any(|ending| name.ends_with(ending))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hold(source: &str, to: &str, soname: &str) -> Hold {
        let to = Some(to.to_owned()).filter(|to| !to.is_empty());
        let loose = LooseSeen { source: source.to_owned(), to, image: None };
        holds(&loose, soname, &["/usr/lib/x86_64-linux-gnu".to_owned(), "/usr/local/lib".to_owned()])
    }

    #[test]
    fn names_and_folders_tell_what_may_hold_a_library() {
        let (lib, toolkit) = ("/usr/lib/x86_64-linux-gnu", "/usr/local/cuda/lib64");
        for (source, to, expected) in [
            ("/usr/lib/x86_64-linux-gnu/libcudnn*", lib, Hold::Named),
            ("/usr/lib/x86_64-linux-gnu/libcudnn.so.8", lib, Hold::Named),
            ("/x/libcudnn.so.8.9.7", "/opt", Hold::Named),
            ("/x/libcudnn.so.8*", "/opt", Hold::Named),
            ("/x/mine.so", "/usr/lib/libcudnn.so.8", Hold::Named),
            ("https://a.b/cudnn-linux-x86_64-8.9.7.29_cuda11-archive.tar.xz", "", Hold::Named),
            ("https://a.b/cudnn-11.2-linux-x64-v8.1.0.77.tgz?x=1", "", Hold::Named),
            ("cudnn/lib64/", toolkit, Hold::Named),
            ("cudnn.tgz", "/opt", Hold::Named),
            ("libs/", lib, Hold::Fills),
            ("./install_cudnn.sh", "", Hold::Fills),
            ("docs/cudnn", "/docs/cudnn", Hold::Fills),
            ("libs/*", "/usr/local/lib", Hold::Fills),
            ("libs", "/usr/local/cuda-11.8", Hold::Fills),
            ("libs.tar.gz", "/usr/local/cuda/targets/x86_64-linux/lib", Hold::Fills),
            ("", lib, Hold::Fills),
            // Of another library, of another major, or elsewhere.
            ("/x/libcudnn.so.9", lib, Hold::No),
            ("/x/libcudnn.so.9*", lib, Hold::No),
            ("/x/libcudnn.so", lib, Hold::No),
            ("/x/libcublas*", lib, Hold::No),
            ("/x/*.so", lib, Hold::No),
            ("https://a.b/cudnn-linux-x86_64-9.1.0.70_cuda12-archive.tar.xz", "", Hold::No),
            ("app", "/app", Hold::No),
            ("libs/", "/usr/local/bin", Hold::No),
            ("libs/", "/usr/local/cuda/include", Hold::No),
            ("libs/", "/usr/local/cudalike/lib", Hold::No),
            ("run.sh", "/usr/local/lib", Hold::No),
            ("libfoo.so.8", "/usr/local/lib", Hold::No),
            (".", "/", Hold::No),
            ("", "", Hold::No),
        ] {
            assert_eq!(hold(source, to, "libcudnn.so.8"), expected, "{source} {to}");
        }
        assert_eq!(hold("a/libcublas*", "/x", "libcublasLt.so.11"), Hold::Named);
        assert_eq!(hold("a/cudnn.tgz", "/x", "libcublasLt.so.11"), Hold::No);
    }
}
