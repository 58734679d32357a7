//! Driver libraries that COPY and ADD add to an image, identified by their file names only.

use crate::cuda::{COMPAT_ROOT, CudaVersion, LIBCUDA_SONAME, TOOLKIT_ROOT, is_compat_directory, split_path};
use crate::dockerfile::CopyInstruction;
use crate::extract::command_effects::PLAIN_EXTENSIONS;
use crate::extract::loader_files;
use crate::extract::stage_files::absolute_path;
use crate::fact::FileKind;
use crate::knowledge::Knowledge;
use crate::reference::ImageReference;
use crate::shell::{Command, Word};

/// Directory in which CUDA toolkits are installed.
const TOOLKIT_PARENT: &str = "/usr/local";
/// Characters that make a file name a pattern.
const GLOB_CHARACTERS: [char; 3] = ['*', '?', '['];

/// Returns the paths of the driver libraries that a COPY adds, by their file names.
pub(super) fn named_driver_libraries(copy: &CopyInstruction) -> Vec<String> {
    let Some(written) = copy.destination.as_ref().and_then(|(path, _)| path.known_text()) else { return Vec::new() };
    let into = absolute_path(copy.workdir.as_deref().unwrap_or("/"), written);
    let mut found: Vec<String> = Vec::new();
    for source in copy.sources.iter().filter_map(|(source, _)| source.known_text()).filter(|one| !one.starts_with("<<"))
    {
        let name = split_path(source.trim_end_matches('/')).1;
        let name = if source.contains("://") { name.split(['?', '#']).next().unwrap_or(name) } else { name };
        let folder = written.ends_with('/') || copy.sources.len() > 1;
        let Some(path) = destination_path(name, &into, folder) else { continue };
        if !found.contains(&path) {
            found.push(path);
        }
    }
    found
}

/// Returns the path of the libcuda that a COPY to a compat directory may add without naming it.
pub(super) fn possible_libcuda(copy: &CopyInstruction) -> Option<String> {
    let into = absolute_path(copy.workdir.as_deref().unwrap_or("/"), copy.destination.as_ref()?.0.known_text()?);
    let untold = |source: &str| {
        let name = split_path(source.trim_end_matches('/')).1;
        let plain = name.rsplit_once('.').is_some_and(|(_, ending)| PLAIN_EXTENSIONS.contains(&ending));
        !plain && !name.contains(".so") && !source.starts_with("<<")
    };
    let any = copy.sources.iter().any(|(source, _)| source.known_text().is_none_or(untold));
    (is_compat_directory(&into) && any).then(|| format!("{}/{LIBCUDA_SONAME}", into.trim_end_matches('/')))
}

/// Returns the destination path of a driver library; `None` for any other file.
fn destination_path(name: &str, into: &str, folder: bool) -> Option<String> {
    if !loader_files::is_driver_library_name(name) {
        return None;
    }
    let pattern = name.contains(GLOB_CHARACTERS);
    let inside = pattern || folder || !is_library_path(into);
    let name = if pattern { soname_for_pattern(name) } else { name };
    Some(if inside { format!("{}/{name}", into.trim_end_matches('/')) } else { into.to_owned() })
}

/// Returns destination and source of the driver libraries that `cp`, `mv` or `install` copies, by their file names.
pub(super) fn moved_driver_libraries(command: &Command, folder: &str) -> Vec<(String, String)> {
    // A word that is not known would be left out of the list.
    let words: Option<Vec<&str>> = command.words.iter().skip(1).map(Word::known).collect();
    let Some(words) = words else { return Vec::new() };
    let makes_folders = |word: &&&str| **word == "-d" || **word == "--directory";
    let elsewhere = |word: &&&str| word.starts_with("--target") || (!word.starts_with("--") && word.contains('t'));
    let mut options = words.iter().filter(|word| word.starts_with('-'));
    if options.clone().any(|word| makes_folders(&word)) || options.any(|word| elsewhere(&word)) {
        return Vec::new();
    }
    // `install` takes a mode, an owner and a group as words of their own.
    let mut plain: Vec<&str> = Vec::new();
    let mut value = false;
    for word in words {
        let takes = command.program() == Some("install") && matches!(word, "-m" | "-o" | "-g");
        if !value && !word.starts_with('-') {
            plain.push(word);
        }
        value = takes;
    }
    let Some((written, sources)) = plain.split_last() else { return Vec::new() };
    let into = absolute_path(folder, written);
    let inside = written.ends_with(['/', '.']) || sources.len() > 1;
    let landed =
        |source: &&str| Some((destination_path(split_path(source).1, &into, inside)?, absolute_path(folder, source)));
    sources.iter().filter_map(landed).collect()
}

/// Returns the soname that stands for the files of a pattern such as `libcuda.so*`.
fn soname_for_pattern(pattern: &str) -> &'static str {
    if pattern.starts_with("libcuda") { LIBCUDA_SONAME } else { "libnvidia-ml.so.1" }
}

/// Whether the file name of a path is that of a shared library.
fn is_library_path(path: &str) -> bool {
    split_path(path).1.contains(".so")
}

/// A CUDA compat package that is copied with its directory.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct CopiedCompatPackage {
    /// Its name.
    pub(super) name: String,
    /// Where `/usr/local/cuda` leads, where what is copied goes there itself.
    pub(super) linked: Option<FileKind>,
}

/// Returns the compat package of a CUDA base image whose directory is copied to a toolkit location.
pub(super) fn copied_compat_package(
    copy: &CopyInstruction,
    image: &ImageReference,
    knowledge: Knowledge,
) -> Option<CopiedCompatPackage> {
    if !knowledge.is_cuda_repository(&image.familiar_name()) {
        return None;
    }
    let version = image.tag()?.split('-').next()?;
    let row = *knowledge.cuda_images_for_version(version).last()?;
    let cuda: CudaVersion = row.version.parse().ok()?;
    let (major, minor) = (cuda.major(), cuda.minor());
    knowledge.compat_package(format!("{major}.{minor}").parse().ok()?)?;
    let own = format!("{TOOLKIT_PARENT}/cuda-{major}.{minor}");
    let destination = absolute_path(copy.workdir.as_deref().unwrap_or("/"), copy.destination.as_ref()?.0.known_text()?);
    let mut linked = None;
    let brings = copy.sources.iter().filter_map(|(source, _)| source.known_text()).any(|source| {
        let source = absolute_path("/", source.trim_end_matches('*'));
        let whole = source == TOOLKIT_PARENT && destination == TOOLKIT_PARENT;
        let toolkit = [own.as_str(), TOOLKIT_ROOT].contains(&source.as_str())
            && [own.as_str(), TOOLKIT_ROOT].contains(&destination.as_str());
        let folder = is_compat_directory(&source) && is_compat_directory(&destination);
        if (toolkit || folder) && (destination == TOOLKIT_ROOT || destination == COMPAT_ROOT) {
            linked = Some(FileKind::Link(format!("cuda-{major}.{minor}")));
        }
        whole || toolkit || folder
    });
    brings.then(|| CopiedCompatPackage { name: format!("cuda-compat-{major}-{minor}"), linked })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dockerfile::{Dockerfile, EvaluateOptions};

    fn parse_copies(line: &str) -> Vec<CopyInstruction> {
        let file = Dockerfile::parse(&format!("FROM ubuntu:22.04\n{line}\n"));
        file.evaluate(&EvaluateOptions::new(Knowledge::built_in())).expect("a stage").copies
    }

    fn driver_library_paths(line: &str) -> Vec<String> {
        parse_copies(line).iter().flat_map(named_driver_libraries).collect()
    }

    #[test]
    fn names_of_driver_libraries_are_told_where_they_land() {
        for (line, expected) in [
            ("COPY libcuda.so.570.86.15 /usr/local/cuda/compat/", "/usr/local/cuda/compat/libcuda.so.570.86.15"),
            ("COPY lib/libcuda.so.1 /usr/lib64/libcuda.so.1", "/usr/lib64/libcuda.so.1"),
            ("COPY libcuda.so.470.82.01 /usr/lib64/libcuda.so.1", "/usr/lib64/libcuda.so.1"),
            ("COPY libcuda.so.470.82.01 /usr/lib64", "/usr/lib64/libcuda.so.470.82.01"),
            ("COPY libcuda.so* /usr/lib64/", "/usr/lib64/libcuda.so.1"),
            ("COPY libnvidia-ml.so* /usr/lib64/", "/usr/lib64/libnvidia-ml.so.1"),
            ("WORKDIR /srv\nCOPY libcuda.so.1 lib/", "/srv/lib/libcuda.so.1"),
            ("ADD https://x.example/a/libcuda.so.535.54.03?raw=1 /usr/lib64/", "/usr/lib64/libcuda.so.535.54.03"),
        ] {
            assert_eq!(driver_library_paths(line), [expected], "{line}");
        }
    }

    #[test]
    fn other_files_are_none() {
        for line in [
            "COPY libcudart.so.12 /usr/lib64/",
            "COPY mylibcuda.so.1 /usr/lib64/",
            "COPY libcuda.py /usr/lib64/",
            "COPY . /app",
            "COPY lib /usr/lib64",
            "COPY libnvidia-ptxjitcompiler.so.1 /usr/local/cuda/compat/",
            "COPY compat /opt/cuda/compat",
            "COPY x /usr/local/cuda/compat.txt",
            "COPY <<libcuda.so.1 /usr/lib64/\nx\nlibcuda.so.1",
            "COPY libcuda.so.1 $NOWHERE/",
            "COPY compat /usr/local/cuda/compat",
            "RUN cp libcuda.so.1 /usr/lib64/",
        ] {
            assert_eq!(driver_library_paths(line), [""; 0], "{line}");
        }
    }

    #[test]
    fn of_what_is_copied_to_a_compat_directory_nobody_knows_what_it_is() {
        for (line, expected) in [
            ("COPY --from=x/y:1 /usr/local/cuda/compat /usr/local/cuda/compat", "/usr/local/cuda/compat/libcuda.so.1"),
            ("COPY compat/* /usr/local/cuda-12.8/compat/", "/usr/local/cuda-12.8/compat/libcuda.so.1"),
            ("COPY x /usr/local/cuda/compat/", "/usr/local/cuda/compat/libcuda.so.1"),
            ("COPY $X /usr/local/cuda/compat/", "/usr/local/cuda/compat/libcuda.so.1"),
            ("COPY README.md /usr/local/cuda/compat/", ""),
            ("COPY libcuda.so.570.86.15 /usr/local/cuda/compat/", ""),
            ("COPY libnvidia-ptxjitcompiler.so.1 /usr/local/cuda/compat/", ""),
            ("COPY <<x /usr/local/cuda/compat/\na\nx", ""),
            ("COPY compat /opt/cuda/compat", ""),
            ("COPY x /usr/local/cuda/compat.txt", ""),
            ("COPY x $NOWHERE", ""),
        ] {
            let found = parse_copies(line).iter().find_map(possible_libcuda).unwrap_or_default();
            assert_eq!(found, expected, "{line}");
        }
    }

    #[test]
    fn a_compat_package_travels_with_its_directory() {
        let brought = |image: &str, rest: &str| {
            let image = ImageReference::parse(image).expect("a reference");
            let copies = parse_copies(&format!("COPY --from=x {rest}"));
            copies.iter().find_map(|copy| copied_compat_package(copy, &image, Knowledge::built_in()))
        };
        let cuda = "nvidia/cuda:12.8.0-base-ubuntu22.04";
        for (rest, linked) in [
            ("/usr/local/cuda /usr/local/cuda", true),
            ("/usr/local/cuda/ /usr/local/cuda/", true),
            ("/usr/local/cuda-12.8 /usr/local/cuda-12.8", false),
            ("/usr/local/cuda-12.8 /usr/local/cuda", true),
            ("/usr/local /usr/local", false),
            ("/usr/local/cuda-12.8/compat/* /usr/local/cuda/compat/", true),
        ] {
            let found = brought(cuda, rest).expect(rest);
            assert_eq!((found.name.as_str(), found.linked.is_some()), ("cuda-compat-12-8", linked), "{rest}");
        }
        for (image, rest) in [
            (cuda, "/usr/local/cuda/lib64 /usr/local/cuda/lib64"),
            (cuda, "/usr/local/cuda-12.8/targets /usr/local/cuda-12.8/targets"),
            (cuda, "/usr/local/cuda /opt/cuda"),
            (cuda, "/usr/local/cuda-11.8 /usr/local/cuda-11.8"),
            (cuda, "/usr/local/bin /usr/local/bin"),
            ("ubuntu:22.04", "/usr/local/cuda /usr/local/cuda"),
            ("someone/cuda:12.8.0", "/usr/local/cuda /usr/local/cuda"),
            ("nvidia/cuda:9.2-devel-ubuntu18.04", "/usr/local/cuda /usr/local/cuda"),
            ("nvidia/cuda:99.0", "/usr/local/cuda /usr/local/cuda"),
            ("nvidia/cuda", "/usr/local/cuda /usr/local/cuda"),
        ] {
            assert_eq!(brought(image, rest), None, "{image} {rest}");
        }
    }
}
