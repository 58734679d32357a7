//! Files by which the dynamic loader finds libcuda, as commands link, write and remove them, and driver libraries that
//! COPY and ADD add, by their file names only.

use std::collections::BTreeSet;

use crate::build::{Command, Word};
use crate::cuda::{
    COMPAT_ROOT, CudaVersion, LIBCUDA_SONAME, TOOLKIT_ROOT, is_at_or_below, is_compat_directory, split_path,
};
use crate::dockerfile::CopyInstruction;
use crate::extract::command_effects::PLAIN_EXTENSIONS;
use crate::extract::stage_files::absolute_path;
use crate::install;
use crate::install::CommandContext;
use crate::knowledge::Knowledge;
use crate::model::cause::Cause;
use crate::model::fact::{Evidence, FactKey, FileKind, Observations, ObservedFile, Origin, PrintedValue, ValueState};
use crate::model::package::PackageManager;
use crate::model::reference::ImageReference;

/// The main configuration file of the dynamic loader.
const LD_CONF: &str = "/etc/ld.so.conf";
/// The folder of further configuration files of the dynamic loader.
const LD_CONF_FOLDER: &str = "/etc/ld.so.conf.d/";
/// Prefixes of the file names of driver libraries.
const DRIVER_LIBRARY_PREFIXES: &[&str] = &["libcuda.so", "libnvidia-ml.so"];
/// The part of a path that marks the stub libraries of a toolkit.
const STUBS_FOLDER: &str = "/stubs/";
/// The text that the package names of a CUDA toolkit contain.
const TOOLKIT_PACKAGE_PART: &str = "cuda";
/// The largest size, in bytes, of a text written to such a file.
const MAX_TEXT_LENGTH: usize = 16 * 1024;

/// The effect of one command on driver libraries and on configuration files of the dynamic loader.
pub(super) enum LoaderFileEffect {
    /// It has no effect on them.
    Nothing,
    /// It creates a symbolic link: the link, then its target.
    Links(String, String),
    /// It copies driver libraries: each target path with its source.
    Brings(Vec<(String, String)>),
    /// It creates driver libraries at these paths, if it runs.
    Perhaps(Vec<String>),
    /// It removes these paths.
    Removes(Vec<String>),
    /// It writes a text to these files.
    Writes(Vec<String>, String),
    /// It appends a text to these files.
    Adds(Vec<String>, String),
}

/// Returns the effect of one command, run in `folder`, on driver libraries and loader configuration.
///
/// For a command that may not run, only the possible locations of driver libraries are returned.
pub(super) fn loader_file_effect(command: &Command, folder: &str, around: &CommandContext<'_>) -> LoaderFileEffect {
    if command.conditional {
        let certain = Command { conditional: false, ..command.clone() };
        return match loader_file_effect(&certain, folder, around) {
            LoaderFileEffect::Links(link, _) => LoaderFileEffect::Perhaps(vec![link]),
            LoaderFileEffect::Brings(files) => {
                LoaderFileEffect::Perhaps(files.into_iter().map(|(path, _)| path).collect())
            }
            _ => LoaderFileEffect::Nothing,
        };
    }
    let program = command.program();
    match program {
        Some("ln") => {
            return parse_library_link(command, folder)
                .map_or(LoaderFileEffect::Nothing, |(link, target)| LoaderFileEffect::Links(link, target));
        }
        Some("cp" | "mv" | "install") => {
            let moved = moved_driver_libraries(command, folder);
            return if moved.is_empty() { LoaderFileEffect::Nothing } else { LoaderFileEffect::Brings(moved) };
        }
        // An option may mean that a file is not created.
        Some("touch") if command.words.iter().filter_map(Word::known).all(|word| !word.starts_with('-')) => {
            let created = operands(command).filter_map(|path| {
                let path = absolute_path(folder, path);
                Some((destination_path(split_path(&path).1, &path, false)?, path))
            });
            let created: Vec<_> = created.collect();
            return if created.is_empty() { LoaderFileEffect::Nothing } else { LoaderFileEffect::Brings(created) };
        }
        Some("rm" | "unlink") => {
            return LoaderFileEffect::Removes(operands(command).map(|path| absolute_path(folder, path)).collect());
        }
        _ => {}
    }
    let tee = program == Some("tee");
    let appends = command.appends || (tee && command.words.iter().any(|word| word.known() == Some("-a")));
    let named = operands(command).filter(|_| tee);
    let paths = command.writes.iter().filter_map(Word::known).chain(named).map(|path| absolute_path(folder, path));
    let paths: Vec<String> = paths.filter(|path| is_ld_conf_path(path)).collect();
    if paths.is_empty() {
        return LoaderFileEffect::Nothing;
    }
    match install::standard_output(command, around) {
        Ok(parts) if parts.iter().map(|part| part.text.text().len()).sum::<usize>() <= MAX_TEXT_LENGTH => {
            let text = parts.iter().map(|part| part.text.text()).collect();
            if appends { LoaderFileEffect::Adds(paths, text) } else { LoaderFileEffect::Writes(paths, text) }
        }
        _ => LoaderFileEffect::Nothing,
    }
}

/// Records the effect of a command in the observations.
pub(super) fn record_loader_file_effect(says: LoaderFileEffect, origin: Origin, seen: &mut Observations) {
    match says {
        LoaderFileEffect::Nothing => {}
        LoaderFileEffect::Links(link, target) => record_file(seen, link, FileKind::Link(target), origin),
        LoaderFileEffect::Brings(libraries) => {
            for (path, source) in libraries {
                // A stub stays one wherever it lies.
                let stub = source.contains(STUBS_FOLDER);
                let kind = if stub { FileKind::Link(source) } else { FileKind::Present };
                record_file(seen, path, kind, origin.clone());
            }
        }
        LoaderFileEffect::Perhaps(paths) => {
            for path in paths {
                let because = Cause::CreatedByBranch { path: path.clone() };
                record_possible_driver_library(seen, path, because, origin.clone());
            }
        }
        LoaderFileEffect::Removes(paths) => {
            seen.files.retain(|own, _| !paths.iter().any(|path| is_removed_by(own, path)));
            seen.base_changes.perhaps.retain(|own, _| !paths.iter().any(|path| is_removed_by(own, path)));
        }
        LoaderFileEffect::Writes(paths, text) => {
            for path in paths {
                record_file(seen, path, FileKind::Text(text.clone()), origin.clone());
            }
        }
        LoaderFileEffect::Adds(paths, text) => {
            for path in paths {
                let before = match seen.files.get(&path).map(|file| &file.kind) {
                    Some(FileKind::Text(before)) if before.len() <= MAX_TEXT_LENGTH => format!("{before}\n"),
                    _ => String::new(),
                };
                record_file(seen, path, FileKind::Text(format!("{before}{text}")), origin.clone());
            }
        }
    }
}

/// Removes links to toolkit stubs that nothing in the image provides.
pub(super) fn remove_dangling_stub_links(seen: &mut Observations) {
    let of_toolkit = |name: &str| name.contains(TOOLKIT_PACKAGE_PART) || is_driver_library_name(name);
    if seen
        .packages
        .iter()
        .any(|package| package.requirement.manager != PackageManager::Pip && of_toolkit(&package.requirement.name))
    {
        return;
    }
    let there: BTreeSet<String> = seen
        .files
        .iter()
        .filter(|(_, file)| !matches!(file.kind, FileKind::Link(_)))
        .map(|(path, _)| path.clone())
        .collect();
    seen.files.retain(|path, file| match &file.kind {
        FileKind::Link(target) => {
            let target = absolute_path(split_path(path).0, target);
            !target.contains(STUBS_FOLDER) || there.contains(&target)
        }
        _ => true,
    });
}

/// Returns the known arguments of a command that are not options.
fn operands(command: &Command) -> impl Iterator<Item = &str> {
    command.words.iter().skip(1).filter_map(Word::known).filter(|word| !word.starts_with('-'))
}

/// Returns the symbolic link to a driver library that `ln` creates, and its target.
fn parse_library_link(command: &Command, folder: &str) -> Option<(String, String)> {
    let options = command.words.iter().skip(1).filter_map(Word::known).filter(|word| word.starts_with('-'));
    let symbolic = options.clone().any(|word| word == "--symbolic" || (!word.starts_with("--") && word.contains('s')));
    let plain =
        options.clone().all(|word| !word.starts_with("--target") && (word.starts_with("--") || !word.contains('t')));
    let words: Vec<&str> = operands(command).collect();
    // An unknown word would be missing from the list.
    let known = command.words.iter().all(|word| word.known().is_some());
    let (target, link) = match words.as_slice() {
        [target, link] => (*target, *link),
        [target] => (*target, "."),
        _ => return None,
    };
    if !symbolic || !plain || !known {
        return None;
    }
    let name = split_path(target).1;
    let path = absolute_path(folder, link);
    // Into a directory it goes under the name of what it leads to.
    let into = is_driver_library_name(name) && !split_path(&path).1.contains(".so");
    let path = if into { format!("{}/{name}", path.trim_end_matches('/')) } else { path };
    is_driver_library_name(split_path(&path).1).then(|| (path, target.to_owned()))
}

/// Whether a file name is that of a driver library.
fn is_driver_library_name(name: &str) -> bool {
    DRIVER_LIBRARY_PREFIXES.iter().any(|library| name.starts_with(library))
}

/// Whether a path is a configuration file that lists directories for the dynamic loader.
pub(super) fn is_ld_conf_path(path: &str) -> bool {
    let folder = path.strip_prefix(LD_CONF_FOLDER);
    path == LD_CONF || folder.is_some_and(|name| !name.contains('/') && name.strip_suffix(".conf").is_some())
}

/// Whether removing `path` (a file, a parent directory or a name pattern) removes the file `own`.
fn is_removed_by(own: &str, path: &str) -> bool {
    match path.strip_suffix('*') {
        Some(head) => own.strip_prefix(head).is_some_and(|rest| !rest.contains('/')),
        None => is_at_or_below(own, path),
    }
}

/// Records a file of the image.
pub(super) fn record_file(seen: &mut Observations, path: String, kind: FileKind, origin: Origin) {
    let printed = match &kind {
        FileKind::Link(target) => format!("link to {target}"),
        FileKind::Text(text) => text.clone(),
        FileKind::Present | FileKind::NoLibrary | FileKind::Noted(_) => "present".to_owned(),
    };
    let evidence = Evidence::Leaf(vec![origin]);
    let fact = seen.facts.add(FactKey::File, Some(&path), ValueState::Known(PrintedValue::Text(printed)), evidence);
    seen.files.insert(path, ObservedFile { kind, fact });
}

/// Records a driver library that may exist in the image.
pub(super) fn record_possible_driver_library(seen: &mut Observations, path: String, reason: Cause, origin: Origin) {
    let state = ValueState::Known(PrintedValue::Text("perhaps".to_owned()));
    let fact = seen.facts.add(FactKey::File, Some(&path), state, Evidence::Leaf(vec![origin]));
    seen.base_changes.perhaps.insert(path, (reason, fact));
}

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
    let may_contain_libcuda = |source: &str| {
        let name = split_path(source.trim_end_matches('/')).1;
        let plain = name.rsplit_once('.').is_some_and(|(_, ending)| PLAIN_EXTENSIONS.contains(&ending));
        !plain && !name.contains(".so") && !source.starts_with("<<")
    };
    let any = copy.sources.iter().any(|(source, _)| source.known_text().is_none_or(may_contain_libcuda));
    (is_compat_directory(&into) && any).then(|| format!("{}/{LIBCUDA_SONAME}", into.trim_end_matches('/')))
}

/// Returns the destination path of a driver library; `None` for any other file.
fn destination_path(name: &str, into: &str, folder: bool) -> Option<String> {
    if !is_driver_library_name(name) {
        return None;
    }
    let pattern = name.contains(GLOB_CHARACTERS);
    let inside = pattern || folder || !is_library_path(into);
    let name = if pattern { soname_for_pattern(name) } else { name };
    Some(if inside { format!("{}/{name}", into.trim_end_matches('/')) } else { into.to_owned() })
}

/// Returns destination and source of the driver libraries that `cp`, `mv` or `install` copies, by their file names.
fn moved_driver_libraries(command: &Command, folder: &str) -> Vec<(String, String)> {
    // An unknown word would be missing from the list.
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
    use crate::dockerfile::{MappedText, VariableLookup};
    use crate::install::{MarkerEnvironment, TargetMachine};
    use crate::model::fact::InspectionDepth;
    use crate::shell::script_commands;

    /// Returns the recorded files after a shell script, as text.
    fn files_after_script(script: &str) -> Vec<String> {
        let mut seen = Observations::new(InspectionDepth::Text);
        let lookup = |_: &str| VariableLookup::NoValue;
        let open = |_: &str, _: &str| Err(Cause::NotCopied);
        let environment = MarkerEnvironment { machine: TargetMachine::new("x86_64"), python: None };
        let around = CommandContext { lookup: &lookup, open: &open, environment, knowledge: Knowledge::built_in() };
        for command in script_commands(&MappedText::contiguous(script, 0)) {
            record_loader_file_effect(
                loader_file_effect(&command, "/srv", &around),
                Origin::Option("--test"),
                &mut seen,
            );
        }
        let words = |kind: &FileKind| match kind {
            FileKind::Link(target) => format!("-> {target}"),
            FileKind::Text(text) => text.lines().filter(|line| !line.is_empty()).collect::<Vec<_>>().join("|"),
            FileKind::Present | FileKind::NoLibrary | FileKind::Noted(_) => String::new(),
        };
        let certain = seen.files.iter().map(|(path, file)| format!("{path} {}", words(&file.kind)));
        certain.chain(seen.base_changes.perhaps.keys().map(|path| format!("{path} perhaps"))).collect()
    }

    #[test]
    fn links_of_driver_libraries_and_lists_of_directories_are_noted() {
        for (script, expected) in [
            ("ln -s /a/stubs/libcuda.so /usr/lib/libcuda.so.1", "/usr/lib/libcuda.so.1 -> /a/stubs/libcuda.so"),
            ("ln -sfn libcuda.so /a/stubs/libcuda.so.1 && ldconfig", "/a/stubs/libcuda.so.1 -> libcuda.so"),
            ("ln -sf /a/stubs/libcuda.so /usr/lib64/", "/usr/lib64/libcuda.so -> /a/stubs/libcuda.so"),
            ("ln --symbolic /a/libnvidia-ml.so.1 libnvidia-ml.so.1", "/srv/libnvidia-ml.so.1 -> /a/libnvidia-ml.so.1"),
            ("echo /a/compat > /etc/ld.so.conf.d/00-a.conf", "/etc/ld.so.conf.d/00-a.conf /a/compat"),
            ("echo \"/a\" >> /etc/ld.so.conf; echo /b >> /etc/ld.so.conf", "/etc/ld.so.conf /a|/b"),
            ("printf '/a\\n/b\\n' > /etc/ld.so.conf.d/a.conf", "/etc/ld.so.conf.d/a.conf /a|/b"),
            ("printf '%s\\n' /a /b > /etc/ld.so.conf.d/a.conf", "/etc/ld.so.conf.d/a.conf /a|/b"),
            ("echo /a | tee /etc/ld.so.conf.d/a.conf", "/etc/ld.so.conf.d/a.conf /a"),
            ("echo -e '/a\\n/b' | tee -a /etc/ld.so.conf.d/a.conf >/dev/null", "/etc/ld.so.conf.d/a.conf /a|/b"),
        ] {
            assert_eq!(files_after_script(script), [expected], "{script}");
        }
    }

    #[test]
    fn copied_driver_libraries_are_recorded_at_their_destination() {
        for (script, expected) in [
            ("cp /tmp/libcuda.so.535.54.03 /usr/lib64/", "/usr/lib64/libcuda.so.535.54.03 "),
            ("cp -a /tmp/libcuda.so.535.54.03 /usr/lib64", "/usr/lib64/libcuda.so.535.54.03 "),
            ("cp x/libcuda.so.535.54.03 /usr/lib64/libcuda.so.1", "/usr/lib64/libcuda.so.1 "),
            ("mv /tmp/driver/libcuda.so* /usr/lib64/", "/usr/lib64/libcuda.so.1 "),
            ("install -m 755 libnvidia-ml.so.1 /usr/lib64/", "/usr/lib64/libnvidia-ml.so.1 "),
            ("cp /a/stubs/libcuda.so /usr/lib/libcuda.so.1", "/usr/lib/libcuda.so.1 -> /a/stubs/libcuda.so"),
            ("cp readme libcuda.so.1 /usr/lib64", "/usr/lib64/libcuda.so.1 "),
            ("if [ -n \"$A\" ]; then cp /a/libcuda.so.1 /usr/lib64/; fi", "/usr/lib64/libcuda.so.1 perhaps"),
            ("test -e /x || ln -s /a/libcuda.so.1 /usr/lib64/libcuda.so.1", "/usr/lib64/libcuda.so.1 perhaps"),
        ] {
            assert_eq!(files_after_script(script), [expected], "{script}");
        }
        for script in [
            "cp libcudart.so.12 /usr/lib64/",
            "if true; then cp libcudart.so.12 /usr/lib64/; fi",
            "if [ -n \"$A\" ]; then rm /usr/lib64/libcuda.so.1; fi",
            "[ -n \"$A\" ] && cp libcuda.so.1 /usr/lib64/; rm -f /usr/lib64/libcuda*",
            "cp $LIB /usr/lib64/libcuda.so.1",
            "cp libcuda.so.1 $(pwd)/",
            "cp -t /usr/lib64 libcuda.so.1",
            "install -d /usr/lib64/libcuda.so.1",
            "cp libcuda.so.1 /usr/lib64/ && rm /usr/lib64/libcuda.so.1",
            "echo cp libcuda.so.1 /usr/lib64/",
        ] {
            assert_eq!(files_after_script(script), [""; 0], "{script}");
        }
    }

    #[test]
    fn removed_uncertain_and_unrelated_files_are_not_recorded() {
        for script in [
            "ln -s /a/libcuda.so /b/libcuda.so.1 && rm -f /b/libcuda.so.1",
            "ln -s /a/libcuda.so /b/libcuda.so.1 && rm -rf /b",
            "ln -s /a/libcuda.so /b/libcuda.so.1 && rm /b/libcuda*",
            "ln /a/libcuda.so /b/libcuda.so.1",
            "ln -s /usr/local/cuda-12.4 /usr/local/cuda",
            "ln -s /usr/bin/python3 /usr/bin/python",
            "ln -st /b /a/libcuda.so",
            "ln -s $(pwd)/libcuda.so /b/libcuda.so.1",
            "echo /a > /etc/ld.so.conf.d/a.txt",
            "echo /a > /etc/ld.so.conf.d/deeper/a.conf",
            "echo /a",
            "echo $(pwd) > /etc/ld.so.conf.d/a.conf",
            "echo /a > /etc/ld.so.conf.d/a.conf && rm /etc/ld.so.conf.d/*",
            "echo /a; true; tee /etc/ld.so.conf.d/a.conf",
            "if [ -d /a ]; then echo /a > /etc/ld.so.conf.d/a.conf; fi",
        ] {
            assert_eq!(files_after_script(script), Vec::<String>::new(), "{script}");
        }
    }

    #[test]
    fn a_link_to_stubs_that_nothing_provides_is_removed() {
        let of = |script: &str, package: Option<&str>| {
            let mut seen = Observations::new(InspectionDepth::Text);
            let lookup = |_: &str| VariableLookup::NoValue;
            let open = |_: &str, _: &str| Err(Cause::NotCopied);
            let (environment, knowledge) =
                (MarkerEnvironment { machine: TargetMachine::new("x86_64"), python: None }, Knowledge::built_in());
            let around = CommandContext { lookup: &lookup, open: &open, environment, knowledge };
            for command in script_commands(&MappedText::contiguous(script, 0)) {
                record_loader_file_effect(
                    loader_file_effect(&command, "/", &around),
                    Origin::Option("--test"),
                    &mut seen,
                );
            }
            if let Some(name) = package {
                let version = crate::model::package::PackageVersion::any();
                let fact = crate::model::fact::FactId(0);
                seen.packages.push(crate::model::package::ObservedPackage::new(
                    PackageManager::System,
                    crate::model::package::PackageName::system(name),
                    version,
                    fact,
                ));
            }
            remove_dangling_stub_links(&mut seen);
            seen.files.len()
        };
        let stubs = "ln -s /c/stubs/libcuda.so /c/stubs/libcuda.so.1";
        assert_eq!(of(stubs, None), 0);
        assert_eq!(of("ln -s libcuda.so /c/stubs/libcuda.so.1", None), 0);
        assert_eq!(of(stubs, Some("curl")), 0);
        // Something may bring it, it is put there, or it leads elsewhere.
        assert_eq!(of(stubs, Some("cuda-driver-dev-12-4")), 1);
        assert_eq!(of(stubs, Some("nvidia-cuda-toolkit")), 1);
        assert_eq!(of(&format!("cp /x/libcuda.so /c/stubs/ && {stubs}"), None), 2);
        assert_eq!(of("ln -s /c/lib/libcuda.so /c/lib/libcuda.so.1", None), 1);
        assert_eq!(of("echo /c/stubs > /etc/ld.so.conf.d/a.conf", None), 1);
    }
}

#[cfg(test)]
mod driver_files_tests {
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
    fn driver_libraries_have_the_path_of_their_destination() {
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
    fn other_files_are_not_loader_files() {
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
    fn copy_to_a_compat_directory_has_unknown_contents() {
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
    fn compat_package_is_copied_with_its_directory() {
        let copied_package = |image: &str, rest: &str| {
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
            let found = copied_package(cuda, rest).expect(rest);
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
            assert_eq!(copied_package(image, rest), None, "{image} {rest}");
        }
    }
}
