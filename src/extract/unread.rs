//! What commands install by files and scripts that were not read: it is missing evidence, and no silence.

use crate::context::Missing;
use crate::cuda::LIBCUDA;
use crate::extract::closed::Beyond;
use crate::extract::install::Reader;
use crate::extract::tree::absolute;
use crate::fact::BaseSeen;
use crate::fact::Evidence;
use crate::fact::FactId;
use crate::fact::FactKey;
use crate::fact::Manager;
use crate::fact::Origin;
use crate::fact::PackageSeen;
use crate::fact::State;
use crate::fact::Value;
use crate::fact::Why;
use crate::install;
use crate::install::RequirementFile;
use crate::shell::Command;
use crate::shell::Input;
use crate::shell::Word;
use crate::source::SourceId;
use crate::source::Span;

/// An address without the name and the password in front of its host.
fn without_user(address: &str) -> String {
    let Some((scheme, rest)) = address.split_once("://") else { return address.to_owned() };
    let (host, path) = rest.find('/').map_or((rest, ""), |at| rest.split_at(at));
    let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
    format!("{scheme}://{host}{path}")
}

/// A file by its path in the folder of the command; if its path in the image is given, the file that a COPY takes there.
fn in_context(path: &str) -> String {
    if path.starts_with('/') { format!("the source of `{path}`") } else { format!("`{path}`") }
}

/// How to supply a file that was not read.
fn supply(path: &str, why: &str) -> String {
    if why == install::NOT_BROUGHT {
        return format!("list the packages of `{path}` in an image description");
    }
    format!("provide {} in the build context, or list its packages in an image description", in_context(path))
}

/// That a file was not read, and why.
fn not_read(path: &str, why: &str) -> String {
    if why == Missing::NotThere.to_string() {
        return format!("{} is not in the build context", in_context(path));
    }
    match why.strip_prefix("it ") {
        Some(rest) => format!("`{path}` {rest}"),
        None => format!("`{path}` was not read ({why})"),
    }
}

impl Reader<'_> {
    /// Words of a command that name packages and are not known: what they install is missing evidence; with the build
    /// that the command's index is of.
    pub(super) fn untold(&mut self, names: &[String], reason: &str, tag: Option<&str>, span: Span) {
        let what = names.first().map_or_else(|| "words of a command".to_owned(), |name| format!("${name}"));
        let supply = match names.first() {
            Some(name) => format!(
                "set it with --build-arg {name}=VALUE, or list the packages in an image \
                description"
            ),
            None => "list the packages in an image description".to_owned(),
        };
        let from = tag.map(|tag| format!(", also from the index of {tag}")).unwrap_or_default();
        let reason = match (names.first(), reason.strip_prefix("its value ")) {
            (Some(name), Some(rest)) => format!("the value of {name} {rest}"),
            _ => reason.to_owned(),
        };
        let why = Why { reason: format!("a command installs unknown packages{from}: {reason}"), supply };
        self.missing(&what, why, span);
    }

    /// Says once that commands are left out.
    pub(super) fn stop(&mut self, command: &Command, reason: &str) {
        self.done.beyond = Beyond::Files;
        let note = format!("a build installs unknown packages: {reason}");
        if !self.notes.contains(&note) {
            self.untold(&[], reason, None, command.span);
            self.note(note);
        }
    }

    /// A file that names packages and was not read: what it installs is missing evidence; with the build that the
    /// command's index is of.
    pub(super) fn unread(&mut self, file: &RequirementFile, tag: Option<&str>) {
        let path = file.path.known().unwrap_or("a requirements file");
        let what = match (file.constraint, tag) {
            (true, _) => "bounds".to_owned(),
            (false, None) => "installs".to_owned(),
            (false, Some(tag)) => format!("installs, also from the index of {tag},"),
        };
        let why = format!("{}, so what it {what} is unknown", not_read(path, &file.why));
        let note = format!("{path} was not read: {}", file.why);
        if self.notes.contains(&note) {
            if !file.constraint {
                self.missing_again(path);
            }
            return;
        }
        let supply = supply(path, &file.why);
        let name = path.rsplit('/').next().unwrap_or(path);
        if install::is_file(path) && self.knowledge.may_be_driver(name) {
            let state = State::Known(Value::Text(path.to_owned()));
            let origins = vec![Origin::File { source: self.source, span: file.span }];
            let fact = self.seen.facts.add(FactKey::Package, Some(name), state, Evidence::Leaf(origins));
            self.seen.of_base.perhaps.insert(format!("{path}/{LIBCUDA}"), (why.clone(), fact));
        }
        let why = Why { reason: why, supply };
        if file.constraint {
            self.absent_text(path, why, file.span);
        } else {
            self.missing(path, why, file.span);
        }
        self.notes.push(note);
    }

    /// A script of the context that was not read: what it installs is missing evidence.
    pub(super) fn unseen(&mut self, path: &str, why: &str, span: Span) {
        // What a tool or the base image brings is no file that somebody could give.
        if (why == install::NOT_BROUGHT && !self.builds_for_cuda())
            || self.done.made.contains_key(&absolute(&self.folder, path))
        {
            return;
        }
        let reason = format!("{}, so what it installs is unknown", not_read(path, why));
        self.missing_script(path, Why { reason, supply: supply(path, why) }, span);
    }

    /// A shell that goes through what another command fetches: it may install what it likes, and on a base for CUDA that is
    /// missing evidence.
    pub(super) fn fetched_script(&mut self, command: &Command) {
        let shell = matches!(command.program(), Some("sh" | "bash" | "dash" | "zsh"));
        let Input::Pipe(before) = &command.input else { return };
        if !shell || !matches!(before.program(), Some("curl" | "wget")) {
            return;
        }
        let mut addresses = before.words.iter().filter_map(Word::known).filter(|word| word.contains("://"));
        let Some(address) = addresses.next().map(str::to_owned) else { return };
        let place = address.split_once("://").map_or("", |(_, place)| place);
        let below = place.split_once('.').map_or("", |(_, rest)| rest);
        let is_of = |address: &str| place.starts_with(address) || below.starts_with(address);
        if self.knowledge.tool_scripts().iter().any(|row| is_of(row.address)) {
            return;
        }
        self.seen.of_base.untold.push(self.seen.commands);
        if !self.builds_for_cuda() {
            return;
        }
        let reason = format!("{address} is downloaded during the build, so what it installs is unknown");
        let supply = "scan the built image, or list what it installs in an image description".to_owned();
        self.missing_script(&address, Why { reason, supply }, command.span);
    }

    /// Whether the base is one of those that are there for CUDA.
    fn builds_for_cuda(&self) -> bool {
        let BaseSeen::Image(image, _) = &self.seen.base else { return false };
        self.knowledge.is_cuda_repository(&image.familiar())
    }

    /// What was not read and may install packages: a framework that a later command requires may be among them.
    fn missing(&mut self, what: &str, why: Why, span: Span) {
        let fact = self.absent_text(what, why, span);
        self.seen.of_base.unknown_wheels.push((self.seen.commands, fact));
    }

    /// A script that was not read and may install packages.
    fn missing_script(&mut self, what: &str, why: Why, span: Span) {
        self.missing(what, why, span);
        self.seen.of_base.scripts.extend(self.seen.of_base.unknown_wheels.last().map(|(_, fact)| *fact));
    }

    /// The same list once more, of which another stage may have left a note.
    fn missing_again(&mut self, what: &str) {
        let own = |key: FactKey, of: Option<&str>| key == FactKey::Requirements && of == Some(what);
        let mut all = self.seen.facts.iter().filter(|(_, entry)| own(entry.key, entry.of.as_deref()));
        if let Some((fact, _)) = all.next() {
            self.seen.of_base.unknown_wheels.push((self.seen.commands, fact));
        }
    }

    /// A repository or an archive at an address: what it requires is missing evidence.
    pub(super) fn unknown_source(&mut self, address: &str, span: Span, source: SourceId) {
        let address = without_user(address);
        let reason = format!("{address} was not read, so what it installs is unknown: it is on the network");
        let supply = "scan the built image, or list what it installs in an image description".to_owned();
        let origins = vec![Origin::File { source, span }];
        let state = State::Unknown(Why { reason, supply });
        let fact = self.seen.facts.add(FactKey::Requirements, Some(&address), state, Evidence::Leaf(origins));
        self.seen.of_base.unknown_wheels.push((self.seen.commands, fact));
    }

    fn absent_text(&mut self, what: &str, why: Why, span: Span) -> FactId {
        let origins = vec![Origin::File { source: self.source, span }];
        self.seen.facts.add(FactKey::Requirements, Some(what), State::Unknown(why), Evidence::Leaf(origins))
    }

    pub(super) fn note(&mut self, note: String) {
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    /// An environment that `conda-unpack` sets up and that no command made: it was packed outside of the build.
    pub(super) fn packed_elsewhere(&mut self, command: &Command) {
        let own = |package: &PackageSeen| package.manager == Manager::Conda;
        if command.program() != Some("conda-unpack") || self.seen.packages.iter().any(own) {
            return;
        }
        let first = command.words.first().and_then(Word::known).unwrap_or_default();
        let place = first.rsplit_once("/bin/").map_or("an environment", |(place, _)| place);
        let reason = format!("{place} was packed outside of the build, so its packages are unknown");
        let supply = "scan the built image, or list its packages in an image description".to_owned();
        self.note(format!("{place} was not read: it was packed outside of the build"));
        self.missing(place, Why { reason, supply }, command.span);
    }
}
