//! Files, folders and archives that copies and commands put into an image without a package.

use crate::cuda::split_path;
use crate::dockerfile::CopyInstruction;
use crate::extract::closed::PLAIN;
use crate::extract::tree::absolute;
use crate::extract::tree::below;
use crate::fact::LooseSeen;
use crate::reference::ImageReference;
use crate::shell::Command;
use crate::shell::Word;

/// No image keeps more of them.
pub(super) const MOST: usize = 512;
/// Commands that put files where their last argument says.
const MOVERS: &[&str] = &["cp", "install", "mv", "rsync"];
/// Commands that unpack.
const UNPACKERS: &[&str] = &["7z", "bsdtar", "cpio", "tar", "unzip"];
/// Commands that fetch.
const FETCHERS: &[&str] = &["aria2c", "curl", "wget"];
/// Commands that run a script.
const SHELLS: &[&str] = &["bash", "sh", "source", "."];

/// What a COPY or ADD brings, out of an image where it names one whose files nothing changed.
pub(super) fn of_copy(copy: &CopyInstruction, image: Option<&ImageReference>) -> Vec<LooseSeen> {
    let to = copy.destination.as_ref().and_then(|(path, _)| path.known());
    let to = to.map(|path| absolute(&copy.folder, path));
    let sources = copy.sources.iter().filter_map(|(source, _)| source.known()).filter(|source| !is_plain(source));
    let image = image.map(ToString::to_string);
    sources.map(|source| LooseSeen { source: source.to_owned(), to: to.clone(), image: image.clone() }).collect()
}

/// What one command puts somewhere, as it is run in a folder.
pub(super) fn of_command(command: &Command, folder: &str) -> Vec<LooseSeen> {
    let Some(program) = command.program() else { return Vec::new() };
    let words: Vec<&str> = command.words.iter().skip(1).filter_map(Word::known).collect();
    let plain = || words.iter().copied().filter(|word| !word.starts_with('-'));
    let put = |source: &str, to: Option<String>| LooseSeen { source: source.to_owned(), to, image: None };
    if MOVERS.contains(&program) {
        let into = words.windows(2).find(|pair| matches!(pair[0], "-t" | "--target-directory")).map(|pair| pair[1]);
        let mut sources: Vec<&str> = plain().filter(|word| Some(*word) != into).collect();
        let Some(to) = into.or_else(|| sources.pop()) else { return Vec::new() };
        let to = absolute(folder, to);
        let sources = sources.into_iter().filter(|source| !is_plain(source));
        return sources.map(|source| put(source, Some(to.clone()))).collect();
    }
    if UNPACKERS.contains(&program) {
        let named = |pair: &&[&str]| matches!(pair[0], "-C" | "--directory" | "-d");
        let apart = words.windows(2).find(named).map(|pair| pair[1]);
        let joined = || words.iter().find_map(|word| word.strip_prefix("--directory=").or(word.strip_prefix("-o/")));
        let to = Some(absolute(folder, apart.or_else(joined).unwrap_or(".")));
        // Out of a pipe there is no file to name.
        let archives: Vec<LooseSeen> = plain().map(|source| put(source, to.clone())).collect();
        return if archives.is_empty() { vec![put("", to)] } else { archives };
    }
    if FETCHERS.contains(&program) {
        return plain().filter(|word| word.contains("://")).map(|address| put(address, None)).collect();
    }
    let script = if SHELLS.contains(&program) {
        plain().next()
    } else {
        command.words.first().and_then(Word::known).filter(|first| first.contains('/'))
    };
    script.map(|script| put(script, None)).into_iter().collect()
}

/// What a COPY brings of those that another stage put somewhere.
pub(super) fn copied(of_stage: &[LooseSeen], copy: &CopyInstruction) -> Vec<LooseSeen> {
    let reached = |loose: &&LooseSeen| {
        let sources = copy.sources.iter().filter_map(|(source, _)| source.known());
        let mut sources = sources.map(|source| absolute("/", source.split('*').next().unwrap_or(source)));
        sources.any(|source| {
            let either = |to: &str| below(to, &source).is_some() || below(&source, to).is_some();
            loose.to.as_deref().is_none_or(either)
        })
    };
    of_stage.iter().filter(reached).cloned().collect()
}

/// Whether a file is a text, and holds no library.
fn is_plain(source: &str) -> bool {
    let name = split_path(source).1;
    name.rsplit_once('.').is_some_and(|(_, ending)| PLAIN.contains(&ending))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dockerfile::Mapped;
    use crate::shell::script_commands;

    fn put(script: &str) -> Vec<String> {
        let commands = script_commands(&Mapped::whole(script, 0));
        let all = commands.iter().flat_map(|command| of_command(command, "/work"));
        all.map(|one| format!("{} > {}", one.source, one.to.unwrap_or_default())).collect()
    }

    #[test]
    fn commands_that_move_fetch_and_unpack_put_files_somewhere() {
        for (script, expected) in [
            ("cp -a /m/libcudnn* /usr/lib/", &["/m/libcudnn* > /usr/lib"][..]),
            ("install -t /usr/lib a/libcudnn.so.8", &["a/libcudnn.so.8 > /usr/lib"]),
            ("tar -xJ -C /usr/local/cuda --strip-components=1", &["/usr/local/cuda > /usr/local/cuda"]),
            ("tar xf a.tgz", &["xf > /work", "a.tgz > /work"]),
            ("wget -q https://a.b/cudnn.tgz", &["https://a.b/cudnn.tgz > "]),
            ("./install_cudnn.sh", &["./install_cudnn.sh > "]),
            ("bash -x setup.sh", &["setup.sh > "]),
        ] {
            assert_eq!(put(script), expected, "{script}");
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
            assert_eq!(put(script), [""; 0], "{script}");
        }
    }
}
