//! Files, folders and archives that COPY instructions and commands add to an image without a package.

use crate::build::{Destination, FileEffect, TransferKind, Word, is_shell};
use crate::dockerfile::CopyInstruction;
use crate::extract::command_effects::is_plain_file;
use crate::extract::command_step::CommandStep;
use crate::extract::stage_files::{absolute_path, strip_folder};
use crate::model::fact::UnpackagedFiles;
use crate::model::reference::ImageReference;

/// The largest number of recorded unpackaged files per image.
pub(super) const MAX_UNPACKAGED_FILES: usize = 512;
/// Programs that add files even where their arguments are not understood.
const FILE_PROGRAMS: &[&str] = &["7z", "aria2c", "bsdtar", "cp", "cpio", "curl", "rsync", "tar", "unzip", "wget"];

/// Returns the unpackaged files that a COPY or ADD adds; `image` is the unmodified image that it copies from, if any.
pub(super) fn unpackaged_files_of_copy(copy: &CopyInstruction, image: Option<&ImageReference>) -> Vec<UnpackagedFiles> {
    let to = copy.destination.as_ref().map(|destination| destination.path.clone());
    let sources =
        copy.sources.iter().filter_map(|(source, _)| source.known_text()).filter(|source| !is_plain_file(source));
    let image = image.map(ToString::to_string);
    sources.map(|source| UnpackagedFiles { source: source.to_owned(), to: to.clone(), image: image.clone() }).collect()
}

/// Returns the unpackaged files that one command adds.
pub(super) fn unpackaged_files_of_command(step: CommandStep<'_>) -> Vec<UnpackagedFiles> {
    let command = step.command;
    let Some(program) = command.program() else { return Vec::new() };
    let unpackaged_file = |source: String, to: Option<String>| UnpackagedFiles { source, to, image: None };
    match step.effect {
        FileEffect::Transfer { kind: TransferKind::Copy | TransferKind::Move, sources, to, .. } => {
            let (Destination::Folder(to) | Destination::Path(to) | Destination::File(to)) = to;
            let to = step.absolute(to);
            let sources = sources.iter().filter_map(|source| source.text.clone());
            let binary = sources.filter(|source| !is_plain_file(source));
            binary.map(|source| unpackaged_file(source, to.clone())).collect()
        }
        FileEffect::Unpack { archive, folder: into } => {
            let to = into.as_ref().map_or_else(|| Some(step.folder.to_owned()), |into| step.absolute(into));
            // Out of a pipe there is no file to name.
            vec![unpackaged_file(archive.as_ref().and_then(|archive| archive.text.clone()).unwrap_or_default(), to)]
        }
        FileEffect::Download { addresses, .. } => {
            let addresses = addresses.iter().filter_map(|address| address.text.clone());
            addresses.filter(|text| text.contains("://")).map(|address| unpackaged_file(address, None)).collect()
        }
        FileEffect::Unknown if FILE_PROGRAMS.contains(&program) => vec![unpackaged_file(String::new(), None)],
        _ => {
            let script = if is_shell(program) || matches!(program, "source" | ".") {
                command.words.iter().skip(1).filter_map(Word::known).find(|word| !word.starts_with('-'))
            } else {
                command.words.first().and_then(Word::known).filter(|first| first.contains('/'))
            };
            script.map(|script| unpackaged_file(script.to_owned(), None)).into_iter().collect()
        }
    }
}

/// Returns those unpackaged files of another build stage that a COPY may include.
pub(super) fn select_copied_files(of_stage: &[UnpackagedFiles], copy: &CopyInstruction) -> Vec<UnpackagedFiles> {
    let reached = |unpackaged: &&UnpackagedFiles| {
        let sources = copy.sources.iter().filter_map(|(source, _)| source.known_text());
        let mut sources = sources.map(|source| absolute_path("/", source.split('*').next().unwrap_or(source)));
        sources.any(|source| {
            let either = |to: &str| strip_folder(to, &source).is_some() || strip_folder(&source, to).is_some();
            unpackaged.to.as_deref().is_none_or(either)
        })
    };
    of_stage.iter().filter(reached).cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dockerfile::MappedText;
    use crate::extract::command_step::with_step;
    use crate::shell::script_commands;

    /// Returns the unpackaged files of a shell script, as text.
    fn files_of_script(script: &str) -> Vec<String> {
        let commands = script_commands(&MappedText::contiguous(script, 0));
        let all = commands.iter().flat_map(|command| with_step(command, "/work", unpackaged_files_of_command));
        all.map(|one| format!("{} > {}", one.source, one.to.unwrap_or_default())).collect()
    }

    #[test]
    fn copy_download_and_unpack_commands_add_unpackaged_files() {
        for (script, expected) in [
            ("cp -a /m/libcudnn* /usr/lib/", &["/m/libcudnn* > /usr/lib"][..]),
            ("install -t /usr/lib a/libcudnn.so.8", &["a/libcudnn.so.8 > /usr/lib"]),
            ("tar -xJ -C /usr/local/cuda --strip-components=1", &[" > /usr/local/cuda"]),
            ("tar xf a.tgz", &["a.tgz > /work"]),
            ("wget -q https://a.b/cudnn.tgz", &["https://a.b/cudnn.tgz > "]),
            ("./install_cudnn.sh", &["./install_cudnn.sh > "]),
            ("bash -x setup.sh", &["setup.sh > "]),
        ] {
            assert_eq!(files_of_script(script), expected, "{script}");
        }
        for script in [
            "echo cudnn > a",
            "apt-get install -y libcudnn8",
            "pip install nvidia-cudnn-cu12",
            "rm -rf /m/libcudnn.so.8",
            "ls cudnn",
            "ln -s /usr/lib/libcudnn.so.8 /usr/lib/libcudnn.so",
            "ldconfig",
            "export CUDNN=/opt/cudnn",
            "curl --version",
        ] {
            assert_eq!(files_of_script(script), [""; 0], "{script}");
        }
    }
}
