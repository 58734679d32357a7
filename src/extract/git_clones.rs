//! Git repositories that commands clone, and framework builds in their folders, whose version and CUDA are unknown.

use std::collections::BTreeMap;

use crate::dockerfile::CopyInstruction;
use crate::extract::stage_files::absolute_path;
use crate::install;
use crate::install::PackageInstall;
use crate::knowledge::Knowledge;
use crate::shell::{Command, Word};

/// Maximum number of cloned repositories that are tracked per stage.
const MAX_CLONES: usize = 64;

/// Options of `git clone` that take the next argument as their value.
const CLONE_OPTIONS_WITH_VALUE: &[&str] =
    &["-b", "--branch", "--depth", "-o", "--origin", "-j", "--jobs", "-c", "--config"];

/// The URLs of cloned repositories by their folders.
#[derive(Clone, Debug, Default)]
pub(super) struct ClonedRepositories(BTreeMap<String, String>);

impl ClonedRepositories {
    /// Records the repository that a command clones.
    pub(super) fn record_clone(&mut self, command: &Command, folder: &str) {
        let found = parse_git_clone(command).filter(|_| self.0.len() < MAX_CLONES);
        if let Some((address, to)) = found {
            self.0.insert(absolute_path(folder, &to), address);
        }
    }

    /// Records the repositories that an ADD clones.
    pub(super) fn record_add(&mut self, copy: &CopyInstruction) {
        let destination = copy.destination.as_ref().and_then(|(path, _)| path.known_text());
        for source in copy.sources.iter().filter_map(|(source, _)| source.known_text()) {
            if let (Some(address), Some(to)) = (repository_url(source), destination)
                && self.0.len() < MAX_CLONES
            {
                self.0.insert(absolute_path(&copy.folder, to), address.to_owned());
            }
        }
    }

    /// Returns the package that a command builds and installs in the folder of a cloned repository.
    pub(super) fn built_package(
        &self,
        command: &Command,
        folder: &str,
        knowledge: Knowledge,
    ) -> Option<PackageInstall> {
        if self.0.is_empty() {
            return None;
        }
        let words: Vec<&str> = command.words.iter().filter_map(Word::known).collect();
        let program = command.program()?;
        let place = if program.starts_with("python") && words.contains(&"setup.py") {
            words.iter().any(|word| matches!(*word, "install" | "develop")).then_some(".")?
        } else if (program.starts_with("pip") || words.contains(&"pip")) && words.contains(&"install") {
            let path =
                |word: &&&str| word.starts_with(['.', '/']) && !matches!(word.rsplit('.').next(), Some("txt" | "whl"));
            words.iter().skip(1).find(path)?
        } else {
            return None;
        };
        let place = place.split('[').next().unwrap_or(place);
        let address = self.0.get(&absolute_path(folder, place))?;
        install::parse_requirement(&format!("git+{address}"), command.span, knowledge)
            .map(|one| PackageInstall { conditional: command.conditional, ..one })
    }
}

/// Returns the URL of the repository that a source of ADD names, without fragment and query.
pub(super) fn repository_url(source: &str) -> Option<&str> {
    let address = source.split(['#', '?']).next().unwrap_or(source);
    let git = address.starts_with("git@") || address.starts_with("git://");
    (git || (address.contains("://") && address.strip_suffix(".git").is_some())).then_some(address)
}

/// Returns the URL and the target folder of a `git clone` command.
fn parse_git_clone(command: &Command) -> Option<(String, String)> {
    if command.program() != Some("git") {
        return None;
    }
    let words: Vec<&str> = command.words.iter().skip(1).map(|word| word.known().unwrap_or("?")).collect();
    let at = words.iter().position(|word| *word == "clone")?;
    let mut plain = Vec::new();
    let mut rest = words.iter().skip(at + 1);
    while let Some(word) = rest.next() {
        if CLONE_OPTIONS_WITH_VALUE.contains(word) {
            rest.next();
        } else if !word.starts_with('-') {
            plain.push(*word);
        }
    }
    let address = *plain.first()?;
    let last = address.trim_end_matches('/').rsplit('/').next()?;
    let to = plain.get(1).copied().unwrap_or_else(|| last.trim_end_matches(".git"));
    address.contains("://").then(|| (address.to_owned(), to.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dockerfile::MappedText;
    use crate::shell::script_commands;

    /// Returns the packages that the commands of a script build from cloned repositories.
    fn built_packages(script: &str) -> Vec<String> {
        let mut cloned = ClonedRepositories::default();
        let mut found = Vec::new();
        let mut folder = "/src".to_owned();
        for command in script_commands(&MappedText::contiguous(script, 0)) {
            if command.program() == Some("cd") {
                folder = absolute_path(&folder, command.words.get(1).and_then(Word::known).unwrap_or("/"));
            }
            found.extend(
                cloned
                    .built_package(&command, &folder, Knowledge::built_in())
                    .map(|one| one.requirement.name.to_string()),
            );
            cloned.record_clone(&command, &folder);
        }
        found
    }

    #[test]
    fn a_build_in_the_folder_of_a_repository_is_of_its_package() {
        let torch = "https://github.com/pytorch/pytorch";
        for (script, expected) in [
            (format!("git clone --recursive {torch} && cd pytorch && python setup.py install"), vec!["torch"]),
            (format!("git clone -b v2.1.0 {torch}.git /opt/t; cd /opt/t; python3 setup.py develop"), vec!["torch"]),
            (format!("git clone {torch}; pip install ./pytorch"), vec!["torch"]),
            (format!("git clone {torch}; cd pytorch; pip install -v -e ."), vec!["torch"]),
            (format!("git clone {torch}; cd pytorch; pip install -r ./requirements.txt"), vec![]),
            (format!("git clone {torch}; python setup.py install"), vec![]),
            (
                format!("git clone {torch}; cd pytorch; python setup.py --version; python tools/setup_helpers.py"),
                vec![],
            ),
            (format!("git clone {torch}; cd pytorch; pip install numpy"), vec![]),
            ("git clone https://github.com/pytorch/examples; cd examples; pip install .".to_owned(), vec![]),
            ("git clone https://github.com/me/web pytorch; cd pytorch; pip install .".to_owned(), vec![]),
            ("git pull; cd pytorch; python setup.py install".to_owned(), vec![]),
            ("git clone $URL pytorch; cd pytorch; python setup.py install".to_owned(), vec![]),
        ] {
            assert_eq!(built_packages(&script), expected, "{script}");
        }
    }
}
