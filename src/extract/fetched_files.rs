//! Files that commands and ADD download, and the commands that run them: an installer is identified by its URL.

use std::collections::BTreeMap;

use crate::build::{
    Command, DownloadTarget, FileEffect, StandardInput, TransferKind, Word, is_at_or_below_pattern, is_shell,
};
use crate::cuda::split_path;
use crate::dockerfile::{CopyDestination, CopyInstruction, ExpandedText, ShellPattern};
use crate::extract::changed_files::TransferredPath;
use crate::extract::command_step::CommandStep;
use crate::extract::git_clones::repository_url;
use crate::extract::stage_files::{absolute_path, copied_path};
use crate::shell::{is_wrapper_program, wrapped_program_index};

/// Extensions of package files whose names identify their content.
const PACKAGE_EXTENSIONS: &[&str] = &[".whl", ".deb", ".rpm"];
/// Maximum number of downloaded files that are tracked per stage.
const MAX_FILES: usize = 256;
/// Maximum number of commands through which a pipe is followed.
const MAX_PIPE_DEPTH: usize = 4;

/// URLs of downloaded files by their paths.
#[derive(Clone, Debug, Default)]
pub(super) struct FetchedFiles(BTreeMap<String, String>);

impl FetchedFiles {
    /// Records the file that a command downloads, and what happens to those that earlier ones downloaded.
    pub(super) fn record_command(&mut self, step: CommandStep<'_>) {
        let command = step.command;
        for TransferredPath { from, to, kind } in step.transfers {
            match self.0.get(from).cloned() {
                Some(address) if self.0.len() < MAX_FILES && !command.conditional => self.0.insert(to.clone(), address),
                // Another file replaces it.
                _ => self.0.remove(to),
            };
            if *kind == TransferKind::Move && !command.conditional {
                self.0.remove(from);
            }
        }
        for path in step.certainly_removed_paths() {
            self.0.retain(|own, _| !is_at_or_below_pattern(own, &path));
        }
        let found = parse_download(command, step.effect)
            .and_then(|(address, to)| Some((absolute_path(step.folder, &to?), address)));
        if let Some((path, address)) = found.filter(|_| self.0.len() < MAX_FILES) {
            self.0.insert(path, address);
        }
    }

    /// Records the files that an ADD downloads; a cloned repository is not one.
    pub(super) fn record_add(&mut self, copy: &CopyInstruction) {
        let Some(CopyDestination { path, is_folder }) = &copy.destination else { return };
        for source in copy.sources.iter().filter_map(|(source, _)| source.known_text()) {
            if source.contains("://") && repository_url(source).is_none() && self.0.len() < MAX_FILES {
                let name = decode_plus(file_name(without_query(source)));
                let to = if *is_folder { absolute_path(path, &name) } else { path.clone() };
                self.0.insert(to, source.to_owned());
            }
        }
    }

    /// Returns the downloaded files that a COPY includes, by their new paths.
    pub(super) fn files_in_copy(&self, source: &str, copy: &CopyInstruction) -> Self {
        let moved =
            self.0.iter().filter_map(|(path, address)| Some((copied_path(path, source, copy)?, address.clone())));
        Self(moved.collect())
    }

    /// Adds the downloaded files of another stage.
    pub(super) fn extend(&mut self, other: Self) {
        self.0.extend(other.0);
    }

    /// Returns the command with URLs for the downloaded script that it runs or the downloaded packages that it names.
    pub(super) fn with_urls(&self, command: &Command, folder: &str) -> Option<Command> {
        if let Some(named) = self.with_package_urls(command, folder) {
            return Some(named);
        }
        let at = command.words.iter().take(8).position(|word| !is_wrapper_or_option(word))?;
        let shell = command.words.get(at)?.known().is_some_and(is_shell);
        let mut run = at;
        if shell {
            // What `-s` hands to it are arguments, and no script.
            let piped = |word: &Word| word.known() == Some("-s");
            let script = command.words.iter().skip(at + 1).take_while(|word| !piped(word)).position(|word| {
                word.output.is_some() || word.known().is_none_or(|text| !text.starts_with(['-', '+']))
            });
            let Some(script) = script else {
                let StandardInput::Pipe(before) = &command.input else { return None };
                let word = Word { value: known_value(piped_url(before)?), ..command.words.get(at)?.clone() };
                let mut named = command.clone();
                named.words.insert(at + 1, word);
                return Some(named);
            };
            run = at + 1 + script;
        }
        let word = command.words.get(run)?;
        let address = match &word.output {
            Some(before) if shell => piped_url(before)?,
            _ if self.0.is_empty() => return None,
            _ => self.url_for_path(&absolute_path(folder, word.known()?))?.to_owned(),
        };
        let mut named = command.clone();
        named.words.get_mut(run)?.value = known_value(address);
        Some(named)
    }

    /// Returns the command with URLs for the downloaded packages that it names, where the file name in the URL
    /// identifies more.
    fn with_package_urls(&self, command: &Command, folder: &str) -> Option<Command> {
        if self.0.is_empty() {
            return None;
        }
        let address = |word: &Word| {
            let path = word.known().filter(|text| !text.contains("://"))?;
            let ending = PACKAGE_EXTENSIONS.iter().find(|ending| path.ends_with(**ending))?;
            self.url_for_path(&absolute_path(folder, path)).filter(|address| address.ends_with(ending))
        };
        command.words.iter().find_map(address)?;
        let mut named = command.clone();
        for word in &mut named.words {
            word.value = address(word).map(str::to_owned).map_or_else(|| word.value.clone(), known_value);
        }
        Some(named)
    }

    /// Returns the URL of a file; for a pattern, only if all matching files have the same URL.
    pub(super) fn url_for_path(&self, path: &str) -> Option<&str> {
        if !path.contains('*') {
            return self.0.get(path).map(String::as_str);
        }
        let mut urls = self.0.iter().filter(|(own, _)| is_pattern_match(path, own)).map(|(_, address)| address);
        let first = urls.next()?;
        urls.all(|other| other == first).then_some(first)
    }
}

/// Returns the URL whose content a command writes to its standard output, perhaps through a pipe.
fn piped_url(command: &Command) -> Option<String> {
    let mut command = command;
    for _ in 0..MAX_PIPE_DEPTH {
        match (parse_download(command, &FileEffect::of_command(command)), &command.input) {
            (Some((address, None)), _) => return Some(address),
            (None, StandardInput::Pipe(before)) if matches!(command.program(), Some("tee" | "cat")) => command = before,
            _ => return None,
        }
    }
    None
}

/// Returns the path of the file that a command downloads.
pub(super) fn download_path(step: CommandStep<'_>) -> Option<String> {
    parse_download(step.command, step.effect).and_then(|(_, to)| Some(absolute_path(step.folder, &to?)))
}

/// Returns the URL that a command downloads, and the output file unless it writes to its standard output.
fn parse_download(command: &Command, effect: &FileEffect) -> Option<(String, Option<String>)> {
    let at = wrapped_program_index(&command.words);
    if at > 0 {
        let unwrapped = Command { words: command.words.iter().skip(at).cloned().collect(), ..command.clone() };
        return download_of_effect(&unwrapped, &FileEffect::of_command(&unwrapped));
    }
    download_of_effect(command, effect)
}

/// Returns the URL and the output file of a download by a program without a wrapper.
fn download_of_effect(command: &Command, effect: &FileEffect) -> Option<(String, Option<String>)> {
    let FileEffect::Download { addresses, to, .. } = effect else { return None };
    let mut known = addresses.iter().filter_map(|address| address.text.as_ref()).filter(|text| text.contains("://"));
    let (Some(address), None) = (known.next(), known.next()) else { return None };
    let to = match to {
        DownloadTarget::StandardOutput => command.writes.first().and_then(Word::known).map(str::to_owned),
        DownloadTarget::File(file) => Some(file.text.clone().filter(|file| !file.is_empty())?),
        DownloadTarget::RemoteName { folder, .. } => {
            let name = file_name(without_query(address));
            // curl keeps the name as the URL encodes it.
            let name = if command.program() == Some("curl") { name.to_owned() } else { decode_plus(name) };
            Some(match folder {
                Some(folder) => format!("{}/{name}", folder.text.as_deref()?),
                None => name,
            })
        }
    };
    Some((address.clone(), to))
}

/// Whether a word precedes the program that is run: a wrapper such as `sudo`, or an option.
fn is_wrapper_or_option(word: &Word) -> bool {
    word.known().is_some_and(|text| is_wrapper_program(file_name(text)) || text.starts_with('-'))
}

/// Whether a path matches a pattern with stars.
fn is_pattern_match(pattern: &str, path: &str) -> bool {
    ShellPattern::compile(pattern).and_then(|pattern| pattern.matches(path)) == Some(true)
}

/// Returns a URL without its query and fragment.
fn without_query(address: &str) -> &str {
    address.split(['?', '#']).next().unwrap_or_default()
}

/// Decodes the percent-encoded plus signs of a file name, as versions contain them.
fn decode_plus(name: &str) -> String {
    name.replace("%2B", "+").replace("%2b", "+")
}

/// Returns the last component of a path.
fn file_name(path: &str) -> &str {
    split_path(path).1
}

/// Wraps a value as resolved, without origins.
fn known_value(value: String) -> ExpandedText {
    ExpandedText::Known { value, origins: Vec::new() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dockerfile::MappedText;
    use crate::extract::command_step::with_step;
    use crate::shell::script_commands;

    /// Returns the words of the last command of a script, with URLs for downloaded files.
    fn last_command_with_urls(script: &str) -> Option<String> {
        let mut fetched = FetchedFiles::default();
        let commands = script_commands(&MappedText::contiguous(script, 0));
        let (last, before) = commands.split_last().expect("a command");
        for command in before {
            with_step(command, "/tmp", |step| fetched.record_command(step));
        }
        let named = fetched.with_urls(last, "/tmp")?;
        Some(named.words.iter().filter_map(Word::known).collect::<Vec<_>>().join(" "))
    }

    #[test]
    fn a_file_that_was_fetched_is_run_by_its_address() {
        for (script, expected) in [
            ("wget https://a.b/x_1.run && sh x_1.run --silent", "sh https://a.b/x_1.run --silent"),
            ("wget -q https://a.b/x.run; chmod +x x.run; ./x.run -s", "https://a.b/x.run -s"),
            ("curl -fsSLo x.run https://a.b/y.run && bash ./x.run", "bash https://a.b/y.run"),
            ("curl -o /opt/x.run https://a.b/y.run\nsudo sh /opt/x.run", "sh https://a.b/y.run"),
            ("curl https://a.b/y.run --output x.run; sh x.run", "sh https://a.b/y.run"),
            ("curl https://a.b/y.run > x.run; sh x.run", "sh https://a.b/y.run"),
            ("curl -LO https://a.b/x_1.run && ./x_*.run --toolkit", "https://a.b/x_1.run --toolkit"),
            ("wget -O x.run https://a.b/y.run?c=1; sh x.run", "sh https://a.b/y.run?c=1"),
            ("wget https://a.b/y.run?c=1; sh y.run", "sh https://a.b/y.run?c=1"),
            ("wget -P /opt https://a.b/y.run; sh /opt/y.run", "sh https://a.b/y.run"),
            ("wget -qOx.run https://a.b/y.run; sh x.run", "sh https://a.b/y.run"),
            ("wget -o log https://a.b/y.run; sh y.run", "sh https://a.b/y.run"),
            ("aria2c -x 8 -d /opt -o x.run https://a.b/y.run; sh /opt/x.run", "sh https://a.b/y.run"),
            ("wget https://a.b/y.run; mv y.run /opt/z.run; sh /opt/z.run", "sh https://a.b/y.run"),
            (
                "wget -O x.whl https://a.b/t-1%2Bcu118.whl; pip install x.whl y",
                "pip install https://a.b/t-1%2Bcu118.whl y",
            ),
            ("wget https://a.b/x_1_amd64.deb; dpkg -i x_1_amd64.deb", "dpkg -i https://a.b/x_1_amd64.deb"),
            (
                "curl -Lo /opt/x.rpm https://a.b/x-1.0-1.x86_64.rpm; rpm -i /opt/*.rpm",
                "rpm -i https://a.b/x-1.0-1.x86_64.rpm",
            ),
            ("curl -fsSL https://a.b/i.sh | sh", "sh https://a.b/i.sh"),
            ("wget -qO- https://a.b/i.sh | sudo bash -s -- --silent", "bash https://a.b/i.sh -s -- --silent"),
            ("bash <(curl -s https://a.b/i.sh)", "bash https://a.b/i.sh"),
        ] {
            assert_eq!(last_command_with_urls(script).unwrap_or_default(), expected, "{script}");
        }
    }

    #[test]
    fn file_without_a_download_keeps_its_path() {
        for script in [
            "wget https://a.b/x.run; sh y.run",
            "wget https://a.b/x.run https://a.b/y.run; sh x.run",
            "curl https://a.b/x.run; sh x.run",
            "curl -LO https://a.b/x_1.run; curl -LO https://a.b/x_2.run; sh x_*.run",
            "wget -O- https://a.b/x.run; sh x.run",
            "wget -O x.whl https://a.b/t.whl; pip install y.whl",
            "wget -O x.whl https://a.b/latest; pip install x.whl",
            "wget -O x.deb https://a.b/latest; dpkg -i x.deb",
            "wget https://a.b/x.deb; dpkg -i y.deb",
            "wget https://a.b/x.deb; wget https://a.b/y.deb; dpkg -i *.deb",
            "wget -qOx.run https://a.b/y.run; mv y.run z.run; sh z.run",
            "wget -O x.run https://a.b/y.run; sh y.run",
            "wget $URL/x.run; sh x.run",
            "curl https://a.b/i.sh | tar x",
            "curl -o i.sh https://a.b/i.sh | sh",
            "cat i.sh | sh",
            "echo https://a.b/i.sh | sh",
            "sh",
            "sudo",
            "wget -o",
        ] {
            assert_eq!(last_command_with_urls(script), None, "{script}");
        }
    }

    #[test]
    fn star_matches_any_part_of_a_path() {
        for (pattern, path, expected) in [
            ("/a/*.run", "/a/x.run", true),
            ("/a/x_*_linux*", "/a/x_1_linux.run", true),
            ("/a/x*x", "/a/x", false),
            ("/a/*y", "/a/x", false),
            ("/b/*", "/a/x", false),
        ] {
            assert_eq!(is_pattern_match(pattern, path), expected, "{pattern} {path}");
        }
    }
}
