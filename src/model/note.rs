//! Notes of a report on what an input leaves open: lines for readers, and what code distinguishes in them.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

use crate::model::fact::UNNAMED_WORDS;

/// How the note on words of a command begins.
const COMMAND_INSTALLS: &str = "a command installs unknown packages: ";
/// What stands between a file and the cause why it was not read.
const NOT_READ: &str = " was not read: ";
/// What stands between a path in an image and the cause why it was not inspected.
const NOT_INSPECTED: &str = " was not inspected: ";
/// The note that no pool has the nodes which a workload requires.
const NO_POOL: &str = "not checked: no pool of the fleet has the nodes that it requires";

/// A note of a report, which is one line of text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(into = "String")]
#[schemars(with = "String", inline)]
pub struct Note {
    line: String,
    kind: NoteKind,
}

/// The kind of a note, for the kinds that code distinguishes.
#[derive(Clone, Debug, PartialEq, Eq)]
enum NoteKind {
    /// Something was not read.
    Unread {
        /// What, in a list of such things.
        name: String,
    },
    /// No pool has the nodes that the input requires.
    NoPool,
    /// Any other.
    Other,
}

impl Note {
    /// A file or an image that was not read.
    pub fn not_read(what: &str, cause: impl fmt::Display) -> Self {
        Self::unread(format!("{what}{NOT_READ}{cause}"), what)
    }

    /// A part of an image that was not inspected.
    pub fn not_inspected(what: &str, cause: impl fmt::Display) -> Self {
        Self::unread(format!("{what}{NOT_INSPECTED}{cause}"), what)
    }

    /// A command whose words name unknown packages.
    pub fn unknown_packages(cause: impl fmt::Display) -> Self {
        Self::unread(format!("{COMMAND_INSTALLS}{cause}"), UNNAMED_WORDS)
    }

    /// No pool of the fleet has the nodes that the input requires.
    pub fn no_pool() -> Self {
        Self { line: NO_POOL.to_owned(), kind: NoteKind::NoPool }
    }

    fn unread(line: String, name: &str) -> Self {
        Self { line, kind: NoteKind::Unread { name: name.to_owned() } }
    }

    /// Parses a line of a saved report.
    fn parse(line: String) -> Self {
        let name = if line.starts_with(COMMAND_INSTALLS) {
            Some(UNNAMED_WORDS)
        } else {
            [NOT_READ, NOT_INSPECTED].iter().find_map(|between| Some(line.split_once(between)?.0))
        };
        let kind = match name {
            Some(name) => NoteKind::Unread { name: name.to_owned() },
            None if line == NO_POOL => NoteKind::NoPool,
            None => NoteKind::Other,
        };
        Self { line, kind }
    }

    /// Returns the note on one of several platforms.
    #[must_use]
    pub fn on_platform(self, platform: &str) -> Self {
        let prefixed = |text: &str| format!("{platform}: {text}");
        let kind = match self.kind {
            NoteKind::Unread { name } => NoteKind::Unread { name: prefixed(&name) },
            other @ (NoteKind::NoPool | NoteKind::Other) => other,
        };
        Self { line: prefixed(&self.line), kind }
    }

    /// Replaces a path in the line.
    pub fn replace_path(&mut self, path: &str, shown: &str) {
        self.line = self.line.replace(path, shown);
        if let NoteKind::Unread { name } = &mut self.kind {
            *name = name.replace(path, shown);
        }
    }

    /// Returns what was not read, if the note is about that.
    pub fn unread_name(&self) -> Option<&str> {
        match &self.kind {
            NoteKind::Unread { name } => Some(name),
            NoteKind::NoPool | NoteKind::Other => None,
        }
    }

    /// Whether the note is that no pool has the nodes which the input requires.
    pub fn is_no_pool(&self) -> bool {
        self.kind == NoteKind::NoPool
    }

    /// Returns the line.
    pub fn line(&self) -> &str {
        &self.line
    }
}

impl From<String> for Note {
    fn from(line: String) -> Self {
        Self { line, kind: NoteKind::Other }
    }
}

impl From<&str> for Note {
    fn from(line: &str) -> Self {
        Self::from(line.to_owned())
    }
}

impl From<Note> for String {
    fn from(note: Note) -> Self {
        note.line
    }
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.line)
    }
}

impl<'de> Deserialize<'de> for Note {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(Self::parse)
    }
}

#[cfg(test)]
mod tests {
    use super::Note;

    #[test]
    fn the_kind_of_a_note_survives_a_saved_report() {
        for (note, unread) in [
            (Note::not_read("a.sh", "it is too large"), Some("a.sh")),
            (Note::not_inspected("layer 1 of 2", "it is damaged"), Some("layer 1 of 2")),
            (Note::unknown_packages("x was not read: y"), Some("words of a command")),
            (Note::not_read("base `a`", "no such image").on_platform("linux/arm64"), Some("linux/arm64: base `a`")),
            (Note::no_pool(), None),
            (Note::from("stage `a` is not checked"), None),
        ] {
            let saved = Note::parse(note.line().to_owned());
            assert_eq!((note.unread_name(), &saved), (unread, &note));
        }
    }
}
