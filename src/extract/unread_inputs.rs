//! Files and scripts that were not read: the packages that commands install from them are missing evidence.

use std::collections::BTreeSet;

use crate::build::{Command, FileEffect, StandardInput, Word, is_shell};
use crate::cuda::LIBCUDA_SONAME;
use crate::dockerfile::RunInstruction;
use crate::extract::command_effects::UnknownAdditions;
use crate::extract::command_reader::CommandReader;
use crate::extract::stage_files::absolute_path;
use crate::install;
use crate::install::RequirementFile;
use crate::knowledge::Knowledge;
use crate::model::cause::{Cause, ListEffect, UnknownWords, UnreadFile};
use crate::model::fact::{
    Evidence, FactId, FactKey, InstallerBehavior, ObservedBase, Origin, PrintedValue, UNNAMED_WORDS, ValueState,
};
use crate::model::note::Note;
use crate::model::package::{ObservedPackage, PackageManager, PackageName, PackageVersion};
use crate::text::source::{SourceId, Span};

/// Returns an address without the user name and password before its host.
fn strip_credentials(address: &str) -> String {
    let Some((scheme, rest)) = address.split_once("://") else { return address.to_owned() };
    let (host, path) = rest.find('/').map_or((rest, ""), |at| rest.split_at(at));
    let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
    format!("{scheme}://{host}{path}")
}

/// Calls of Python that start a program, or pip itself.
const PROGRAM_CALLS: [&str; 5] = ["subprocess", "os.system", "os.popen", "pip.main", "pip._internal"];

/// Whether Python code starts pip or conda to install packages: `pip install`, `"-m", "pip", "install"`.
fn starts_installer(code: &str) -> bool {
    let calls = PROGRAM_CALLS.iter().any(|call| code.contains(call));
    let lines = code.lines().filter(|line| calls && !line.trim_start().starts_with('#'));
    let words = lines.flat_map(|line| line.split(|c: char| !c.is_alphanumeric() && c != '_'));
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    // Between the two may be the function of pip.
    words.windows(3).any(|three| matches!(three, ["pip" | "conda", "install", _] | ["pip" | "conda", _, "install"]))
        || words.ends_with(&["pip", "install"])
}

/// Returns the frameworks that the strings of Python code name, as `"torch==2.4"` or in `"pip install torch"`.
fn frameworks_in_code(code: &str, knowledge: Knowledge) -> BTreeSet<PackageName> {
    let names = code.lines().flat_map(string_literals).flat_map(str::split_whitespace).map(|word| {
        let end = word.find(|c: char| !c.is_ascii_alphanumeric() && !matches!(c, '-' | '_' | '.'));
        PackageName::python(&word[..end.unwrap_or(word.len())])
    });
    names.filter(|name| knowledge.framework(name).is_some()).collect()
}

/// Returns the texts of the string literals in a line of Python.
fn string_literals(line: &str) -> impl Iterator<Item = &str> {
    let mut rest = line;
    std::iter::from_fn(move || {
        let start = rest.find(['"', '\''])?;
        let quote = char::from(rest.as_bytes()[start]);
        let inside = &rest[start + 1..];
        let end = inside.find(quote)?;
        rest = &inside[end + 1..];
        Some(&inside[..end])
    })
}

impl CommandReader<'_> {
    /// Records packages that arguments with unknown values name, as missing evidence; `tag` is the build of the extra
    /// index.
    pub(super) fn record_unknown_packages(&mut self, names: &[String], because: Cause, tag: Option<&str>, span: Span) {
        let variable = names.first().cloned();
        let what = variable.as_ref().map_or_else(|| UNNAMED_WORDS.to_owned(), |name| format!("${name}"));
        let words = UnknownWords { variable, tag: tag.map(str::to_owned), because: Box::new(because) };
        self.add_unread_packages(&what, Cause::UnknownPackages { words }, span);
    }

    /// Records once that further commands are not read.
    pub(super) fn record_skipped_commands(&mut self, command: &Command, reason: &Cause) {
        self.state.unknown_additions = UnknownAdditions::Files;
        let note = Note::from(format!("a build installs unknown packages: {reason}"));
        if !self.notes.contains(&note) {
            self.record_unknown_packages(&[], reason.clone(), None, command.span);
            self.add_note(note);
        }
    }

    /// Records a requirement file that was not read, as missing evidence; `tag` is the build of the extra index.
    pub(super) fn record_unread_file(&mut self, file: &RequirementFile, tag: Option<&str>) {
        let path = file.path.known_text().unwrap_or("a requirements file");
        let effect = match (file.constraint, tag) {
            (true, _) => ListEffect::Constrains,
            (false, None) => ListEffect::Installs,
            (false, Some(tag)) => ListEffect::InstallsFrom(tag.to_owned()),
        };
        let because = file.why.clone().unwrap_or(Cause::NotRead);
        let note = Note::not_read(path, &because);
        let unread = UnreadFile { path: path.to_owned(), because: Box::new(because) };
        let why = Cause::ListNotRead { file: unread, effect };
        if self.notes.contains(&note) {
            if !file.constraint {
                self.repeat_unread_packages(path);
            }
            return;
        }
        let name = path.rsplit('/').next().unwrap_or(path);
        if install::is_package_file(path) && self.knowledge.may_be_driver_package(name) {
            let state = ValueState::Known(PrintedValue::Text(path.to_owned()));
            let origins = vec![Origin::File { source: self.source, span: file.span }];
            let fact = self.seen.facts.add(FactKey::Package, Some(name), state, Evidence::Leaf(origins));
            self.seen.base_changes.perhaps.insert(format!("{path}/{LIBCUDA_SONAME}"), (why.clone(), fact));
        }
        if file.constraint {
            self.add_unread_fact(path, why, file.span);
        } else {
            self.add_unread_packages(path, why, file.span);
        }
        self.notes.push(note);
    }

    /// Records a script of the build context that was not read, as missing evidence.
    pub(super) fn record_unread_script(&mut self, path: &str, why: &Cause, span: Span) {
        let whole = absolute_path(&self.folder, path);
        if let Some(address) = self.state.fetched.url_for_path(&whole).map(str::to_owned) {
            return self.record_script_at(&address, span);
        }
        // A file of a tool or of the base image is none that the user could provide.
        if (matches!(why, Cause::NotCopied) && !self.has_cuda_base())
            || self.state.changed_files.written_file(&whole).is_some()
        {
            return;
        }
        let file = UnreadFile { path: path.to_owned(), because: Box::new(why.clone()) };
        self.add_unread_script(path, Cause::ScriptNotRead { file }, span);
    }

    /// Records a shell that runs a downloaded script, as missing evidence on a CUDA base image.
    pub(super) fn record_downloaded_script(&mut self, command: &Command) {
        let StandardInput::Pipe(before) = &command.input else { return };
        let is_download = matches!(FileEffect::of_command(before), FileEffect::Download { .. });
        if !command.program().is_some_and(is_shell) || !is_download {
            return;
        }
        let mut addresses = before.words.iter().filter_map(Word::known).filter(|word| word.contains("://"));
        if let Some(address) = addresses.next() {
            self.record_script_at(address, command.span);
        }
    }

    /// Records a downloaded script that a shell runs, unless it only installs a tool.
    fn record_script_at(&mut self, address: &str, span: Span) {
        let place = address.split_once("://").map_or("", |(_, place)| place);
        let below = place.split_once('.').map_or("", |(_, rest)| rest);
        let is_of = |address: &str| place.starts_with(address) || below.starts_with(address);
        if self.knowledge.tool_scripts().iter().any(|row| is_of(row.address)) {
            return;
        }
        self.seen.base_changes.installers.insert(InstallerBehavior::InstallsUnknown, self.seen.commands);
        if !self.has_cuda_base() {
            return;
        }
        let cause = Cause::ScriptDownloaded { address: address.to_owned() };
        self.add_unread_script(address, cause, span);
    }

    /// Records Python code of a command or of the build context that starts an installer, as missing evidence.
    pub(super) fn record_python_code(&mut self, command: &Command, run: &RunInstruction) {
        if !command.program().is_some_and(|program| program.starts_with("python")) {
            return;
        }
        let mut words = command.words.iter().skip(1).filter_map(Word::known);
        let first = words.find(|word| !word.starts_with('-') || matches!(*word, "-c" | "-m"));
        let (name, frameworks) = match first {
            Some("-c") => {
                let code = words.next().filter(|code| starts_installer(code));
                ("the Python code of the command", code.map(|code| frameworks_in_code(code, self.knowledge)))
            }
            Some(path)
                if path.rsplit_once('.').is_some_and(|(stem, ending)| ending == "py" && !stem.ends_with("setup")) =>
            {
                let opened = self.open_image_file("", path, run);
                let opened = opened.ok().filter(|opened| starts_installer(opened.text.text()));
                (path, opened.map(|opened| frameworks_in_code(opened.text.text(), self.knowledge)))
            }
            _ => return,
        };
        let Some(frameworks) = frameworks else { return };
        let cause = Cause::PythonCodeInstalls { code: name.to_owned() };
        self.seen.base_changes.installers.insert(InstallerBehavior::InstallsUnknown, self.seen.commands);
        self.add_unread_script(name, cause.clone(), command.span);
        for package in frameworks {
            let state = ValueState::Known(PrintedValue::Text(package.to_string()));
            let origins = vec![Origin::File { source: self.source, span: command.span }];
            let fact = self.seen.facts.add(FactKey::Package, Some(&package), state, Evidence::Leaf(origins));
            let version = PackageVersion::Unresolved(cause.clone());
            let possible = ObservedPackage::new(PackageManager::Pip, package, version, fact);
            let conditional = Some(cause.clone());
            self.seen.packages.push(ObservedPackage { conditional, command: self.seen.commands, ..possible });
        }
    }

    /// Whether the base image is a CUDA image.
    fn has_cuda_base(&self) -> bool {
        let ObservedBase::Image(image, _) = &self.seen.base else { return false };
        self.knowledge.is_cuda_repository(&image.familiar_name())
    }

    /// Adds an unread input that may install packages, among them a framework that a later command requires.
    fn add_unread_packages(&mut self, what: &str, why: Cause, span: Span) {
        let fact = self.add_unread_fact(what, why, span);
        self.seen.base_changes.unknown_wheels.push((self.seen.commands, fact));
    }

    /// Adds an unread script that may install packages.
    fn add_unread_script(&mut self, what: &str, why: Cause, span: Span) {
        self.add_unread_packages(what, why, span);
        self.seen.base_changes.scripts.extend(self.seen.base_changes.unknown_wheels.last().map(|(_, fact)| *fact));
    }

    /// Adds the same unread file once more for the current command.
    fn repeat_unread_packages(&mut self, what: &str) {
        let own = |key: FactKey, of: Option<&str>| key == FactKey::Requirements && of == Some(what);
        let mut all = self.seen.facts.iter().filter(|(_, entry)| own(entry.key, entry.subject.as_deref()));
        if let Some((fact, _)) = all.next() {
            self.seen.base_changes.unknown_wheels.push((self.seen.commands, fact));
        }
    }

    /// Records a repository or archive at an address, whose requirements are missing evidence.
    pub(super) fn record_unread_source(&mut self, address: &str, span: Span, source: SourceId) {
        let address = strip_credentials(address);
        let origins = vec![Origin::File { source, span }];
        let state = ValueState::Unknown(Cause::SourceOnNetwork { address: address.clone() });
        let fact = self.seen.facts.add(FactKey::Requirements, Some(&address), state, Evidence::Leaf(origins));
        self.seen.base_changes.unknown_wheels.push((self.seen.commands, fact));
    }

    /// Adds the fact that requirements are unknown.
    fn add_unread_fact(&mut self, what: &str, why: Cause, span: Span) -> FactId {
        let origins = vec![Origin::File { source: self.source, span }];
        self.seen.facts.add(FactKey::Requirements, Some(what), ValueState::Unknown(why), Evidence::Leaf(origins))
    }

    /// Adds a note, unless it is already present.
    pub(super) fn add_note(&mut self, note: impl Into<Note>) {
        let note = note.into();
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    /// Records an environment that `conda-unpack` sets up and that was packed outside of the build.
    pub(super) fn record_unpacked_environment(&mut self, command: &Command) {
        let own = |package: &ObservedPackage| package.requirement.manager == PackageManager::Conda;
        if command.program() != Some("conda-unpack") || self.seen.packages.iter().any(own) {
            return;
        }
        let first = command.words.first().and_then(Word::known).unwrap_or_default();
        let place = first.rsplit_once("/bin/").map_or("an environment", |(place, _)| place);
        self.add_note(Note::not_read(place, "it was packed outside of the build"));
        self.add_unread_packages(place, Cause::PackedElsewhere { place: place.to_owned() }, command.span);
    }
}

#[cfg(test)]
mod tests {
    use super::starts_installer;

    #[test]
    fn python_code_installs_only_if_it_calls_an_installer() {
        for (code, expected) in [
            ("import subprocess; subprocess.run(['python', '-m', 'pip', 'install', 'torch'])", true),
            ("import os\nos.system('pip install torch')", true),
            ("from pip._internal import main\nmain(['install'])\nimport pip\npip.main(['install', 'x'])", true),
            ("import subprocess\nsubprocess.run('conda install x'.split())", true),
            ("print('pip install torch')", false),
            ("import subprocess\nfrom transformers import pipeline\n# install the weights\nprint('secondary')", false),
            ("import subprocess\n# pip install torch\nsubprocess.run(['ls'])", false),
            ("import subprocess\nINSTALLED_APPS = ['pip']", false),
        ] {
            assert_eq!(starts_installer(code), expected, "{code}");
        }
    }
}
