//! Files by which the dynamic loader finds libcuda, as commands link, write and remove them, and driver libraries that
//! COPY and ADD add, by their file names only.

use std::collections::BTreeSet;

use crate::build::{Destination, DownloadTarget, FileEffect, TransferKind, Word, is_at_or_below_pattern};
use crate::cuda::{COMPAT_ROOT, CudaVersion, LIBCUDA_SONAME, TOOLKIT_ROOT, is_compat_directory, split_path};
use crate::dockerfile::{CopyDestination, CopyInstruction};
use crate::extract::changed_files::FileChange;
use crate::extract::command_effects::is_plain_file;
use crate::extract::command_step::CommandStep;
use crate::extract::stage_files::absolute_path;
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

/// Records what one command does to driver libraries and to configuration files of the dynamic loader.
///
/// `changes` are the changes of the command to files whose content is known.
pub(super) fn record_loader_files(
    step: CommandStep<'_>,
    changes: &[(String, FileChange)],
    origin: &Origin,
    seen: &mut Observations,
) {
    let is_selective = matches!(step.effect, FileEffect::Transfer { selective: true, .. });
    for path in step.removed_or_moved_paths() {
        record_removal(seen, &path, step.command.conditional || is_selective, origin);
    }
    for (path, kind) in created_driver_libraries(step) {
        if step.command.conditional {
            let because = Cause::CreatedByBranch { path: path.clone() };
            record_possible_driver_library(seen, path, because, origin.clone());
        } else {
            record_file(seen, path, kind, origin.clone());
        }
    }
    for (path, change) in changes.iter().filter(|(path, _)| is_ld_conf_path(path)) {
        let kind = match change {
            FileChange::Written(Ok(file)) if file.text.text().len() <= MAX_TEXT_LENGTH => {
                FileKind::Text(file.text.text().to_owned())
            }
            FileChange::Written(_) if !step.command.conditional && !keeps_content(step) => FileKind::Present,
            _ => continue,
        };
        record_file(seen, path.clone(), kind, origin.clone());
    }
}

/// Records a text that a command appends to configuration files of the loader whose content is unknown.
pub(super) fn record_appended_text(step: CommandStep<'_>, text: &str, origin: &Origin, seen: &mut Observations) {
    if step.command.conditional || !step.command.appends_output() || text.len() > MAX_TEXT_LENGTH {
        return;
    }
    let operands = match step.effect {
        FileEffect::Write(files) => files.as_slice(),
        _ => &[],
    };
    let redirected = step.command.writes.iter().filter_map(Word::known).map(|path| absolute_path(step.folder, path));
    let written = operands.iter().filter_map(|file| step.absolute(file));
    for path in redirected.chain(written).filter(|path| is_ld_conf_path(path)) {
        let before = match seen.files.get(&path).map(|file| &file.kind) {
            Some(FileKind::Text(before)) if before.len() <= MAX_TEXT_LENGTH => format!("{before}\n"),
            _ => String::new(),
        };
        record_file(seen, path, FileKind::Text(format!("{before}{text}")), origin.clone());
    }
}

/// Whether a command keeps the content of the files that it writes: it appends to them, or edits them with `sed -i`.
fn keeps_content(step: CommandStep<'_>) -> bool {
    let edits = step.command.program() == Some("sed") && matches!(step.effect, FileEffect::Write(_));
    edits || step.command.appends_output()
}

/// Returns the driver libraries that a command copies, moves, links, creates or downloads, by their file names.
fn created_driver_libraries(step: CommandStep<'_>) -> Vec<(String, FileKind)> {
    match step.effect {
        FileEffect::Transfer { kind, sources, to, .. } => {
            let transferred = sources.iter().filter_map(|source| {
                let from = source.text.as_deref()?;
                let path = transferred_library_path(to, from, step)?;
                // A stub remains a stub at any path.
                let file_kind = match kind {
                    TransferKind::Link => FileKind::Link(from.to_owned()),
                    _ if absolute_path(step.folder, from).contains(STUBS_FOLDER) => {
                        FileKind::Link(absolute_path(step.folder, from))
                    }
                    _ => FileKind::Present,
                };
                Some((path, file_kind))
            });
            transferred.collect()
        }
        FileEffect::Create(files) => present_libraries(files.iter().filter_map(|file| step.absolute(file))),
        FileEffect::Download { addresses, to, .. } => {
            let downloaded = addresses.iter().filter_map(|address| match to {
                DownloadTarget::StandardOutput => None,
                DownloadTarget::File(file) => step.absolute(file),
                DownloadTarget::RemoteName { folder, .. } => {
                    let into = match folder {
                        Some(folder) => step.absolute(folder)?,
                        None => step.folder.to_owned(),
                    };
                    Some(absolute_path(&into, address.file_name()?))
                }
            });
            present_libraries(downloaded)
        }
        _ => Vec::new(),
    }
}

/// Returns those of some files that are driver libraries by their names.
fn present_libraries(paths: impl Iterator<Item = String>) -> Vec<(String, FileKind)> {
    let libraries = paths.filter(|path| is_driver_library_name(split_path(path).1));
    libraries.map(|path| (path, FileKind::Present)).collect()
}

/// Returns the path of a driver library that is copied, moved or linked to a destination; `None` for any other file.
fn transferred_library_path(to: &Destination, from: &str, step: CommandStep<'_>) -> Option<String> {
    let name = split_path(from).1;
    match to {
        Destination::File(path) => {
            let path = step.absolute(path)?;
            is_driver_library_name(split_path(&path).1).then_some(path)
        }
        Destination::Folder(folder) => destination_path(name, &step.absolute(folder)?, true),
        Destination::Path(path) => {
            let path = step.absolute(path)?;
            // A library may get the name of a driver library, such as a stub.
            let renamed = is_driver_library_name(split_path(&path).1).then(|| path.clone());
            destination_path(name, &path, false).or(renamed)
        }
    }
}

/// Records that a command removes a file or folder, or may do so.
fn record_removal(seen: &mut Observations, path: &str, conditional: bool, origin: &Origin) {
    let is_removed = |own: &str| is_at_or_below_pattern(own, path);
    if !conditional && !path.contains('{') {
        seen.files.retain(|own, _| !is_removed(own));
        seen.base_changes.perhaps.retain(|own, _| !is_removed(own));
        return;
    }
    let is_library = |own: &str| is_driver_library_name(split_path(own).1);
    let removed: Vec<String> = seen.files.keys().filter(|own| is_library(own) && is_removed(own)).cloned().collect();
    for own in removed {
        seen.files.remove(&own);
        let because = Cause::PerhapsRemoved { name: own.clone() };
        record_possible_driver_library(seen, own, because, origin.clone());
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

/// Whether a file name is that of a driver library.
fn is_driver_library_name(name: &str) -> bool {
    DRIVER_LIBRARY_PREFIXES.iter().any(|library| name.starts_with(library))
}

/// Whether a path is a configuration file that lists directories for the dynamic loader.
pub(super) fn is_ld_conf_path(path: &str) -> bool {
    let folder = path.strip_prefix(LD_CONF_FOLDER);
    path == LD_CONF || folder.is_some_and(|name| !name.contains('/') && name.strip_suffix(".conf").is_some())
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
    let Some(CopyDestination { path: into, is_folder }) = &copy.destination else { return Vec::new() };
    let mut found: Vec<String> = Vec::new();
    for source in copy.sources.iter().filter_map(|(source, _)| source.known_text()).filter(|one| !one.starts_with("<<"))
    {
        let name = split_path(source.trim_end_matches('/')).1;
        let name = if source.contains("://") { name.split(['?', '#']).next().unwrap_or(name) } else { name };
        let Some(path) = destination_path(name, into, *is_folder) else { continue };
        if !found.contains(&path) {
            found.push(path);
        }
    }
    found
}

/// Returns the path of the libcuda that a COPY to a compat directory may add without naming it.
pub(super) fn possible_libcuda(copy: &CopyInstruction) -> Option<String> {
    let into = &copy.destination.as_ref()?.path;
    let may_contain_libcuda = |source: &str| {
        let name = split_path(source.trim_end_matches('/')).1;
        !is_plain_file(name) && !name.contains(".so") && !source.starts_with("<<")
    };
    let any = copy.sources.iter().any(|(source, _)| source.known_text().is_none_or(may_contain_libcuda));
    (is_compat_directory(into) && any).then(|| format!("{}/{LIBCUDA_SONAME}", into.trim_end_matches('/')))
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
    /// The link at `/usr/local/cuda`, if the destination is that path or below it.
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
    let destination = copy.destination.as_ref()?.path.as_str();
    let mut linked = None;
    let brings = copy.sources.iter().filter_map(|(source, _)| source.known_text()).any(|source| {
        let source = absolute_path("/", source.trim_end_matches('*'));
        let whole = source == TOOLKIT_PARENT && destination == TOOLKIT_PARENT;
        let toolkit = [own.as_str(), TOOLKIT_ROOT].contains(&source.as_str())
            && [own.as_str(), TOOLKIT_ROOT].contains(&destination);
        let folder = is_compat_directory(&source) && is_compat_directory(destination);
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
    use crate::dockerfile::MappedText;
    use crate::extract::command_step::with_step;
    use crate::install::OpenedFile;
    use crate::model::fact::InspectionDepth;
    use crate::shell::script_commands;

    /// Records what the commands of a script, run in `folder`, do to driver libraries.
    fn observe_script(script: &str, folder: &str) -> Observations {
        let mut seen = Observations::new(InspectionDepth::Text);
        for command in script_commands(&MappedText::contiguous(script, 0)) {
            with_step(&command, folder, |step| {
                record_loader_files(step, &[], &Origin::Option("--test"), &mut seen);
            });
        }
        seen
    }

    /// Returns the recorded files after a shell script, as text.
    fn files_after_script(script: &str) -> Vec<String> {
        let seen = observe_script(script, "/srv");
        let words = |kind: &FileKind| match kind {
            FileKind::Link(target) => format!("-> {target}"),
            FileKind::Text(text) => text.lines().filter(|line| !line.is_empty()).collect::<Vec<_>>().join("|"),
            FileKind::Present | FileKind::NoLibrary | FileKind::Noted(_) => String::new(),
        };
        let certain = seen.files.iter().map(|(path, file)| format!("{path} {}", words(&file.kind)));
        certain.chain(seen.base_changes.perhaps.keys().map(|path| format!("{path} perhaps"))).collect()
    }

    #[test]
    fn links_of_driver_libraries_are_recorded() {
        for (script, expected) in [
            ("ln -s /a/stubs/libcuda.so /usr/lib/libcuda.so.1", "/usr/lib/libcuda.so.1 -> /a/stubs/libcuda.so"),
            ("ln -sfn libcuda.so /a/stubs/libcuda.so.1 && ldconfig", "/a/stubs/libcuda.so.1 -> libcuda.so"),
            ("ln -sf /a/stubs/libcuda.so /usr/lib64/", "/usr/lib64/libcuda.so -> /a/stubs/libcuda.so"),
            ("ln -st /b /a/libcuda.so", "/b/libcuda.so -> /a/libcuda.so"),
            ("ln --symbolic /a/libnvidia-ml.so.1 libnvidia-ml.so.1", "/srv/libnvidia-ml.so.1 -> /a/libnvidia-ml.so.1"),
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
            ("cp -t /usr/lib64 libcuda.so.1", "/usr/lib64/libcuda.so.1 "),
            ("rsync -a /a/libcuda.so.1 /usr/lib64/", "/usr/lib64/libcuda.so.1 "),
            ("curl -o /usr/lib64/libcuda.so.1 https://x.example/a", "/usr/lib64/libcuda.so.1 "),
            ("wget -P /usr/lib64 https://x.example/libcuda.so.1", "/usr/lib64/libcuda.so.1 "),
            ("ln /a/libcuda.so /usr/lib64/libcuda.so.1", "/usr/lib64/libcuda.so.1 "),
            ("cp /a/vendor.so /usr/lib64/libcuda.so.1", "/usr/lib64/libcuda.so.1 "),
            ("mv /a/libcuda.so.1 /usr/lib64/ && mv /usr/lib64/libcuda.so.1 /b/", "/b/libcuda.so.1 "),
            ("cp /a/libcuda.so.1 /b/; if [ -n \"$A\" ]; then rm /b/libcuda.so.1; fi", "/b/libcuda.so.1 perhaps"),
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
            "ln -s /a/libcuda.so /b/libcuda.so.1 && rm /b/libcuda.so.?",
            "ln -s /a/libcuda.so /usr/lib/x/libcuda.so.1 && rm /usr/lib/*/libcuda.so.1",
            "ln -s /usr/local/cuda-12.4 /usr/local/cuda",
            "ln -s /usr/bin/python3 /usr/bin/python",
            "ln -s $(pwd)/libcuda.so /b/libcuda.so.1",
        ] {
            assert_eq!(files_after_script(script), Vec::<String>::new(), "{script}");
        }
    }

    #[test]
    fn configuration_files_of_the_loader_have_their_new_content() {
        let text = |text: &str| Ok(OpenedFile::new(None, "", MappedText::contiguous(text, 0)));
        let written = |content| FileChange::Written(content);
        let (conf, unknown) = ("/etc/ld.so.conf.d/a.conf", || Err(Cause::WrittenByCommand));
        for (script, path, change, expected) in [
            ("x", conf, written(text("/a\n/b\n")), Some("/a\n/b\n")),
            ("x", "/etc/ld.so.conf", written(text("/a")), Some("/a")),
            // What a program writes is unknown, and the old text is gone.
            ("x", conf, written(unknown()), None),
            ("if [ -n \"$A\" ]; then x; fi", conf, written(unknown()), Some("/old")),
            ("x", "/etc/ld.so.conf.d/a.txt", written(text("/a")), Some("/old")),
            ("x", "/etc/ld.so.conf.d/deeper/a.conf", written(text("/a")), Some("/old")),
            ("rm /etc/ld.so.conf.d/*", "/x", written(text("/a")), None),
        ] {
            let mut seen = Observations::new(InspectionDepth::Text);
            let origin = Origin::Option("--test");
            record_file(&mut seen, conf.to_owned(), FileKind::Text("/old".to_owned()), origin.clone());
            for command in script_commands(&MappedText::contiguous(script, 0)) {
                let changes = [(path.to_owned(), change.clone())];
                with_step(&command, "/", |step| record_loader_files(step, &changes, &origin, &mut seen));
            }
            let place = if path == "/etc/ld.so.conf" { path } else { conf };
            let found = match seen.files.get(place).map(|file| &file.kind) {
                Some(FileKind::Text(text)) => Some(text.as_str()),
                _ => None,
            };
            assert_eq!(found, expected, "{script} {path}");
            assert!(!seen.files.contains_key("/etc/ld.so.conf.d/a.txt"));
        }
    }

    #[test]
    fn a_link_to_stubs_that_nothing_provides_is_removed() {
        let of = |script: &str, package: Option<&str>| {
            let mut seen = observe_script(script, "/");
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
        // Something may install it, it is copied there, or the link has another target.
        assert_eq!(of(stubs, Some("cuda-driver-dev-12-4")), 1);
        assert_eq!(of(stubs, Some("nvidia-cuda-toolkit")), 1);
        assert_eq!(of(&format!("cp /x/libcuda.so /c/stubs/ && {stubs}"), None), 2);
        assert_eq!(of("ln -s /c/lib/libcuda.so /c/lib/libcuda.so.1", None), 1);
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
