//! Git repositories that commands clone, and framework builds in their folders, whose version and CUDA are unknown.

use std::collections::BTreeMap;

use crate::build::{Command, FileEffect, TransferKind, Word, is_at_or_below_pattern};
use crate::cuda::is_at_or_below;
use crate::dockerfile::CopyInstruction;
use crate::extract::changed_files::TransferredPath;
use crate::extract::command_step::CommandStep;
use crate::extract::stage_files::{absolute_path, strip_folder};
use crate::install;
use crate::install::PackageInstall;
use crate::knowledge::Knowledge;

/// Maximum number of cloned repositories that are tracked per stage.
const MAX_CLONES: usize = 64;

/// The URLs of cloned repositories by their folders.
#[derive(Clone, Debug, Default)]
pub(super) struct ClonedRepositories(BTreeMap<String, String>);

impl ClonedRepositories {
    /// Records the repository that a command clones, and what happens to those that earlier ones cloned.
    pub(super) fn record_command(&mut self, step: CommandStep<'_>) {
        for TransferredPath { from, to, kind } in step.transfers {
            let inside = self.0.iter().filter_map(|(path, address)| {
                let rest = strip_folder(path, from)?;
                Some((absolute_path(to, rest), address.clone()))
            });
            let moved: Vec<(String, String)> = inside.collect();
            if *kind == TransferKind::Move {
                self.0.retain(|path, _| !is_at_or_below(path, from));
            }
            self.0.extend(moved.into_iter().take(MAX_CLONES));
        }
        for path in step.certainly_removed_paths() {
            self.0.retain(|own, _| !is_at_or_below_pattern(own, &path));
        }
        if let Some((address, to)) = cloned_repository(step.effect).filter(|_| self.0.len() < MAX_CLONES) {
            self.0.insert(absolute_path(step.folder, &to), address);
        }
    }

    /// Records the repositories that an ADD clones.
    pub(super) fn record_add(&mut self, copy: &CopyInstruction) {
        for source in copy.sources.iter().filter_map(|(source, _)| source.known_text()) {
            if let (Some(address), Some(to)) = (repository_url(source), &copy.destination)
                && self.0.len() < MAX_CLONES
            {
                self.0.insert(to.path.clone(), address.to_owned());
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
        } else if install::is_pip_command(command) && words.contains(&"install") {
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
fn cloned_repository(effect: &FileEffect) -> Option<(String, String)> {
    let FileEffect::Clone { address, folder, inside } = effect else { return None };
    let folder = match folder {
        Some(folder) => folder.text.as_deref()?,
        None => address.file_name()?.rsplit(':').next()?.trim_end_matches(".git"),
    };
    let folder = match inside {
        Some(inside) if !folder.starts_with('/') => format!("{}/{folder}", inside.text.as_deref()?),
        _ => folder.to_owned(),
    };
    let address = address.text.clone().filter(|address| address.contains("://") || address.starts_with("git@"))?;
    Some((address, folder))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dockerfile::MappedText;
    use crate::extract::command_step::with_step;
    use crate::shell::script_commands;

    /// Returns the packages that the commands of a script build from cloned repositories.
    fn built_packages(script: &str) -> Vec<String> {
        let mut cloned = ClonedRepositories::default();
        let mut found = Vec::new();
        for command in script_commands(&MappedText::contiguous(script, 0)) {
            let folder = absolute_path("/src", command.folder.as_deref().expect("a known folder"));
            found.extend(
                cloned
                    .built_package(&command, &folder, Knowledge::built_in())
                    .map(|one| one.requirement.name.to_string()),
            );
            with_step(&command, &folder, |step| cloned.record_command(step));
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
