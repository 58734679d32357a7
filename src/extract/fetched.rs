//! What commands and ADD fetch from an address, and what commands then run of it: an installer is known by the name that it has there.

use std::collections::BTreeMap;

use crate::cuda::split_path;
use crate::dockerfile::CopyInstruction;
use crate::dockerfile::Pattern;
use crate::dockerfile::Resolved;
use crate::extract::cloned::repository;
use crate::extract::tree::absolute;
use crate::extract::tree::carried;
use crate::extract::tree::ends_in_folder;
use crate::shell::Command;
use crate::shell::Input;
use crate::shell::Word;
use crate::shell::runs_another;

/// How the names of packages end that tell what is in them.
const PACKAGES: &[&str] = &[".whl", ".deb", ".rpm"];
/// No stage fetches more files.
const MOST: usize = 256;
/// How many commands a pipe is followed through.
const DEEPEST: usize = 4;

/// Addresses of the files that were fetched, by their paths.
#[derive(Clone, Debug, Default)]
pub(super) struct Fetched(BTreeMap<String, String>);

impl Fetched {
    /// Remembers what a command fetches, and where a file goes that was fetched.
    pub(super) fn note(&mut self, command: &Command, folder: &str) {
        let found = match command.program() {
            Some("mv" | "cp" | "ln" | "install") => self.moved(command, folder),
            _ => fetches(command).and_then(|(address, to)| Some((absolute(folder, &to?), address))),
        };
        if let Some((path, address)) = found.filter(|_| self.0.len() < MOST) {
            self.0.insert(path, address);
        }
    }

    /// Remembers the addresses that an ADD names; what is unpacked at once, or cloned, is no file.
    pub(super) fn added(&mut self, copy: &CopyInstruction) {
        let Some(destination) = copy.destination.as_ref().and_then(|(path, _)| path.known()) else { return };
        for source in copy.sources.iter().filter_map(|(source, _)| source.known()) {
            if source.contains("://") && repository(source).is_none() && self.0.len() < MOST {
                let name = decoded(name_of(without_query(source)));
                let to = if ends_in_folder(copy, destination) {
                    format!("{destination}/{name}")
                } else {
                    destination.to_owned()
                };
                self.0.insert(absolute(&copy.folder, &to), source.to_owned());
            }
        }
    }

    /// The files that a COPY brings from here.
    pub(super) fn copied(&self, source: &str, copy: &CopyInstruction) -> Self {
        let moved = self.0.iter().filter_map(|(path, address)| Some((carried(path, source, copy)?, address.clone())));
        Self(moved.collect())
    }

    /// Adds the files of another stage.
    pub(super) fn extend(&mut self, other: Self) {
        self.0.extend(other.0);
    }

    fn moved(&self, command: &Command, folder: &str) -> Option<(String, String)> {
        let mut words = command.words.iter().skip(1).filter_map(Word::known).filter(|word| !word.starts_with('-'));
        let (from, to) = (words.next()?, words.next_back()?);
        let address = self.0.get(&absolute(folder, from))?.clone();
        let to = if to.ends_with(['/', '.']) { format!("{to}/{}", name_of(from)) } else { to.to_owned() };
        Some((absolute(folder, &to), address))
    }

    /// The command with the address of what it runs in place of the file, where that was fetched.
    pub(super) fn named(&self, command: &Command, folder: &str) -> Option<Command> {
        if let Some(named) = self.packages(command, folder) {
            return Some(named);
        }
        let at = command.words.iter().take(8).position(|word| !in_front(word))?;
        let shell = command.words.get(at)?.known().is_some_and(|word| {
            let name = name_of(word);
            matches!(name, "sh" | "bash" | "dash" | "ash" | "zsh")
        });
        let mut run = at;
        if shell {
            // What `-s` hands to it are arguments, and no script.
            let piped = |word: &Word| word.known() == Some("-s");
            let script = command.words.iter().skip(at + 1).take_while(|word| !piped(word)).position(|word| {
                word.output.is_some() || word.known().is_none_or(|text| !text.starts_with(['-', '+']))
            });
            let Some(script) = script else {
                let Input::Pipe(before) = &command.input else { return None };
                let word = Word { value: known(streamed(before)?), ..command.words.get(at)?.clone() };
                let mut named = command.clone();
                named.words.insert(at + 1, word);
                return Some(named);
            };
            run = at + 1 + script;
        }
        let word = command.words.get(run)?;
        let address = match &word.output {
            Some(before) if shell => streamed(before)?,
            _ if self.0.is_empty() => return None,
            _ => self.address(&absolute(folder, word.known()?))?.to_owned(),
        };
        let mut named = command.clone();
        named.words.get_mut(run)?.value = known(address);
        Some(named)
    }

    /// The command with the addresses of the packages that it names, whose names there say more.
    fn packages(&self, command: &Command, folder: &str) -> Option<Command> {
        if self.0.is_empty() {
            return None;
        }
        let address = |word: &Word| {
            let path = word.known().filter(|text| !text.contains("://"))?;
            let ending = PACKAGES.iter().find(|ending| path.ends_with(**ending))?;
            self.address(&absolute(folder, path)).filter(|address| address.ends_with(ending))
        };
        command.words.iter().find_map(address)?;
        let mut named = command.clone();
        for word in &mut named.words {
            word.value = address(word).map(str::to_owned).map_or_else(|| word.value.clone(), known);
        }
        Some(named)
    }

    /// The address of a file; of a pattern, where one file alone is meant.
    fn address(&self, path: &str) -> Option<&str> {
        if !path.contains('*') {
            return self.0.get(path).map(String::as_str);
        }
        let mut meant = self.0.iter().filter(|(own, _)| matches(path, own)).map(|(_, address)| address);
        let first = meant.next()?;
        meant.all(|other| other == first).then_some(first)
    }
}

/// The address whose content a command writes on its standard output, perhaps through others.
fn streamed(command: &Command) -> Option<String> {
    let mut command = command;
    for _ in 0..DEEPEST {
        match (fetches(command), &command.input) {
            (Some((address, None)), _) => return Some(address),
            (None, Input::Pipe(before)) if matches!(command.program(), Some("tee" | "cat")) => command = before,
            _ => return None,
        }
    }
    None
}

/// The file that a command fetches from an address.
pub(super) fn fetched_to(command: &Command, folder: &str) -> Option<String> {
    fetches(command).and_then(|(_, to)| Some(absolute(folder, &to?)))
}

/// The address that a command fetches, with the file that it makes; none where it writes to its standard output.
fn fetches(command: &Command) -> Option<(String, Option<String>)> {
    let at = command.words.iter().take(8).position(|word| !in_front(word))?;
    let program = name_of(command.words.get(at)?.known()?);
    if !matches!(program, "curl" | "wget" | "aria2c") {
        return None;
    }
    let curl = program == "curl";
    // `-o` of wget names a log.
    let letter = if program == "wget" { 'O' } else { 'o' };
    let words: Vec<&str> = command.words.iter().skip(at + 1).map(|word| word.known().unwrap_or("")).collect();
    let mut addresses = words.iter().filter(|word| word.contains("://") && !word.starts_with('-'));
    let address = (*addresses.next()?).to_owned();
    if addresses.next().is_some() {
        return None;
    }
    let mut remote = !curl;
    let mut folder = "";
    let mut to = None;
    let mut rest = words.iter().copied();
    while let Some(word) = rest.next() {
        let long = |name: &str| word.strip_prefix(name)?.strip_prefix('=').map(str::to_owned);
        let short = word.starts_with('-') && !word.starts_with("--");
        match word {
            "--output" | "--output-document" | "--out" => to = rest.next().map(str::to_owned),
            "--directory-prefix" | "-P" | "--output-dir" | "--dir" | "-d" if word != "-d" || !curl => {
                folder = rest.next().unwrap_or("");
            }
            "--remote-name" | "--remote-name-all" => remote = true,
            // Other letters may stand before the one that names the file, and the file at once behind it.
            _ if short && word.contains(letter) => {
                let named = word.split_once(letter).map_or("", |(_, file)| file);
                to = if named.is_empty() { rest.next() } else { Some(named) }.map(str::to_owned);
            }
            _ if short && curl && word.contains('O') => remote = true,
            _ => to = long("--output").or_else(|| long("--output-document")).or_else(|| long("--out")).or(to),
        }
    }
    let name = || name_of(without_query(&address)).to_owned();
    let to = match to {
        Some(to) if matches!(to.as_str(), "-" | "/dev/stdout") => None,
        Some(to) if to.is_empty() => return None,
        Some(to) => Some(to),
        None if remote => Some(name()),
        None => command.writes.first().and_then(Word::known).map(str::to_owned),
    };
    let to = to.map(|to| if folder.is_empty() { to } else { format!("{folder}/{to}") });
    Some((address, to))
}

/// Whether a word stands before the program that is run.
fn in_front(word: &Word) -> bool {
    word.known().is_some_and(|text| runs_another(name_of(text)) || text.starts_with('-'))
}

/// Whether a path is of a pattern with stars.
fn matches(pattern: &str, path: &str) -> bool {
    Pattern::new(pattern).and_then(|pattern| pattern.matches(path)) == Some(true)
}

fn without_query(address: &str) -> &str {
    address.split(['?', '#']).next().unwrap_or_default()
}

/// A name with the signs that addresses write otherwise, as far as versions have them.
fn decoded(name: &str) -> String {
    name.replace("%2B", "+").replace("%2b", "+")
}

fn name_of(path: &str) -> &str {
    split_path(path).1
}

fn known(value: String) -> Resolved {
    Resolved::Known { value, origins: Vec::new() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dockerfile::Mapped;
    use crate::shell::script_commands;

    /// The words of the last command of a script, with addresses in place of files.
    fn last_named(script: &str) -> Option<String> {
        let mut fetched = Fetched::default();
        let commands = script_commands(&Mapped::whole(script, 0));
        let (last, before) = commands.split_last().expect("a command");
        for command in before {
            fetched.note(command, "/tmp");
        }
        let named = fetched.named(last, "/tmp")?;
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
            assert_eq!(last_named(script).unwrap_or_default(), expected, "{script}");
        }
    }

    #[test]
    fn what_was_not_fetched_so_keeps_its_name() {
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
            assert_eq!(last_named(script), None, "{script}");
        }
    }

    #[test]
    fn stars_stand_for_anything() {
        for (pattern, path, expected) in [
            ("/a/*.run", "/a/x.run", true),
            ("/a/x_*_linux*", "/a/x_1_linux.run", true),
            ("/a/x*x", "/a/x", false),
            ("/a/*y", "/a/x", false),
            ("/b/*", "/a/x", false),
        ] {
            assert_eq!(matches(pattern, path), expected, "{pattern} {path}");
        }
    }
}
