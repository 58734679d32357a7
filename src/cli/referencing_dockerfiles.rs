//! Requirements files and scripts among the inputs: the Dockerfiles that read them are checked in their place.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::cli::command_inputs::InputOptions;
use crate::cli::context_files::{DOCKERFILE_SOURCE, gather_context_files};
use crate::cli::file_search::{
    DiscoveredInput, ReferencingDockerfile, find_inputs, is_description_name, is_dockerfile_name,
};
use crate::cli::parallel;
use crate::cli::text_file::{MAX_TEXT_BYTES, path_from_current_directory, read_text};
use crate::dockerfile::context::{ContextFileError, ContextFiles};
use crate::dockerfile::{Dockerfile, EvaluateOptions};
use crate::extract::KnownBases;
use crate::text::source::Sources;

/// Largest number of Dockerfiles searched in one repository.
const MAX_SEARCHED_DOCKERFILES: usize = 4096;

/// Replaces requirements files and scripts by the Dockerfiles that read them; also returns the files that no
/// Dockerfile reads.
pub(super) fn replace_lists_by_dockerfiles(
    files: Vec<DiscoveredInput>,
    build: &InputOptions<'_>,
) -> (Vec<DiscoveredInput>, Vec<String>) {
    let mut left = Vec::new();
    let mut lists: BTreeMap<PathBuf, Vec<(String, PathBuf)>> = BTreeMap::new();
    for file in files {
        match file {
            DiscoveredInput::File(path) if is_list_or_script(&path) => {
                let Ok(real) = path.canonicalize() else { continue };
                lists.entry(repository_root(&real)).or_default().push((path.display().to_string(), real));
            }
            other => left.push(other),
        }
    }
    let mut unread = Vec::new();
    for (root, input_files) in lists {
        let readers = find_referencing_dockerfiles(&root, &input_files, build);
        let read = |name: &String| readers.iter().any(|reader| reader.replaced_inputs.contains(name));
        unread.extend(input_files.iter().map(|(name, _)| name.clone()).filter(|name| !read(name)));
        for reader in readers {
            let same = |one: &DiscoveredInput| match one {
                DiscoveredInput::File(path) => path.canonicalize().ok() == reader.path.canonicalize().ok(),
                _ => false,
            };
            match left.iter_mut().find(|one| same(one)) {
                Some(DiscoveredInput::File(path)) => {
                    let path = std::mem::take(path);
                    left.retain(|one| !matches!(one, DiscoveredInput::File(path) if path.as_os_str().is_empty()));
                    left.push(DiscoveredInput::Reader(ReferencingDockerfile { path, ..reader }));
                }
                _ => left.push(DiscoveredInput::Reader(reader)),
            }
        }
    }
    (left, unread)
}

/// Whether a file is a requirements file, lock file or script by its name, and not a Dockerfile.
pub(super) fn is_list_or_script(path: &Path) -> bool {
    let name = path.file_name().map(|name| name.to_string_lossy().to_ascii_lowercase()).unwrap_or_default();
    if is_dockerfile_name(&name) || is_description_name(&name) || !path.is_file() {
        return false;
    }
    let exact = ["pyproject.toml", "pixi.toml", "uv.toml", "pipfile", "pip.conf", "setup.py", "setup.cfg"];
    let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending);
    // `pylock.toml`, and `pylock.gpu.toml` for one of several.
    let lock = name.strip_prefix("pylock.").is_some_and(|rest| rest.ends_with("toml") && rest.matches('.').count() < 2);
    match ending {
        _ if lock || exact.contains(&name.as_str()) => true,
        "lock" | "yml" | "yaml" | "sh" => true,
        "txt" | "in" => read_text(path, MAX_TEXT_BYTES).is_ok_and(|text| Dockerfile::parse(&text).stages.is_empty()),
        _ => false,
    }
}

/// Whether the name shows that a file lists packages; text files with other names are not inputs.
pub(super) fn has_list_name(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending);
    let own = name.rsplit_once('/').map_or(name.as_str(), |(_, own)| own);
    !matches!(ending, "txt" | "in")
        || ["requirements", "constraints"].iter().any(|word| name.contains(word))
        || ["dependencies", "packages", "deps", "reqs"].iter().any(|word| own.contains(word))
}

/// Returns the root of the repository around a file, else the folder of the file.
fn repository_root(real: &Path) -> PathBuf {
    let folder = real.parent().unwrap_or(real);
    folder.ancestors().find(|above| above.join(".git").exists()).unwrap_or(folder).to_path_buf()
}

/// Finds the Dockerfiles below a folder that read one of the files.
fn find_referencing_dockerfiles(
    root: &Path,
    input_files: &[(String, PathBuf)],
    build: &InputOptions<'_>,
) -> Vec<ReferencingDockerfile> {
    let dockerfile = |found: DiscoveredInput| match found {
        DiscoveredInput::File(path) => {
            path.file_name().is_some_and(|name| is_dockerfile_name(&name.to_string_lossy())).then_some(path)
        }
        _ => None,
    };
    let dockerfiles: Vec<PathBuf> = find_inputs(root, &build.file_selection())
        .into_iter()
        .filter_map(dockerfile)
        .take(MAX_SEARCHED_DOCKERFILES)
        .collect();
    let readers =
        parallel::map(build.jobs, &dockerfiles, |path| referencing_dockerfile(path, root, input_files, build));
    readers.into_iter().flatten().collect()
}

/// Returns the Dockerfile with the files that it reads, in its folder or a build context above; `None` if it reads
/// none.
fn referencing_dockerfile(
    path: &Path,
    root: &Path,
    input_files: &[(String, PathBuf)],
    build: &InputOptions<'_>,
) -> Option<ReferencingDockerfile> {
    let text = read_text(path, MAX_TEXT_BYTES).ok()?;
    let dockerfile = Dockerfile::parse(&text);
    let mut targets: Vec<Option<String>> = vec![build.args.target.clone()];
    if build.set.all_targets {
        targets = dockerfile.leaf_stages().iter().map(|stage| Some(stage.to_string())).collect();
    }
    let read = |context: &Path| -> Vec<ContextFiles> {
        let one = |target: &Option<String>| {
            let options = EvaluateOptions {
                build_args: build.args.build_args.iter().cloned().collect(),
                target: target.clone(),
                platforms: build.set.platforms.clone(),
                ..EvaluateOptions::new(build.knowledge)
            };
            let name = path.display().to_string();
            gather_context_files(
                (&name, DOCKERFILE_SOURCE),
                &dockerfile,
                &options,
                Some(context),
                &KnownBases::default(),
                &mut Sources::default(),
            )
            .0
        };
        targets.iter().map(one).collect()
    };
    let files_read = |context: &Path, files: &[ContextFiles]| -> Vec<String> {
        let reads = |real: &PathBuf| {
            let requested = files.iter().flat_map(ContextFiles::requested_files).filter(|(_, file)| file.is_ok());
            requested.into_iter().any(|(own, _)| context.join(own).canonicalize().is_ok_and(|own| own == *real))
        };
        input_files.iter().filter(|(_, real)| reads(real)).map(|(name, _)| name.clone()).collect()
    };
    let own = path.parent().unwrap_or(root);
    let first = build.args.context.as_deref().unwrap_or(own);
    let files = read(first);
    let found = files_read(first, &files);
    if !found.is_empty() {
        return Some(ReferencingDockerfile {
            path: path_from_current_directory(path),
            context: None,
            replaced_inputs: found,
        });
    }
    // A build may be started in a folder above its Dockerfile.
    let missing = |context: &&Path| {
        let mut absent_files = files
            .iter()
            .flat_map(ContextFiles::requested_files)
            .filter(|(_, file)| **file == Err(ContextFileError::NotThere));
        absent_files.any(|(own, _)| context.join(own).is_file())
    };
    let above = own.ancestors().skip(1).take_while(|above| above.starts_with(root));
    let mut above = above.filter(|_| build.args.context.is_none()).filter(missing);
    above.find_map(|context| {
        let found = files_read(context, &read(context));
        (!found.is_empty()).then(|| ReferencingDockerfile {
            path: path_from_current_directory(path),
            context: Some(path_from_current_directory(context)),
            replaced_inputs: found,
        })
    })
}
