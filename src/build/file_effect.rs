//! What a command does to files.

use crate::build::command::Word;
use crate::text::source::Span;

/// An argument that names a file, folder or address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operand {
    /// The text, which may be a glob pattern; `None` if it is unknown.
    pub text: Option<String>,
    /// The span in the source.
    pub span: Span,
}

impl Operand {
    /// Returns the operand that a word is.
    pub(super) fn of_word(word: &Word) -> Self {
        Self { text: word.known().map(str::to_owned), span: word.span }
    }

    /// Returns the last component of the path, without the parts of an address behind it; `None` if it is unknown, a
    /// pattern, or stands for the content of a folder.
    pub fn file_name(&self) -> Option<&str> {
        let text = self.text.as_deref()?;
        let path = if text.contains("://") { text.split(['?', '#']).next().unwrap_or(text) } else { text };
        let name = path.trim_end_matches('/').rsplit('/').next().unwrap_or(path);
        (!matches!(name, "" | "." | "..") && !name.contains(['*', '?', '[', '{'])).then_some(name)
    }
}

/// How files get to their destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransferKind {
    /// The sources stay.
    Copy,
    /// The sources are gone.
    Move,
    /// The destinations are symbolic links to the sources.
    Link,
}

/// Where files go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Destination {
    /// Into a folder, under their own names.
    Folder(Operand),
    /// To a path, or into it if it is a folder.
    Path(Operand),
    /// To a path that is no folder.
    File(Operand),
}

/// Where downloaded files go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DownloadTarget {
    /// Not into a file, unless by redirection.
    StandardOutput,
    /// Into one file.
    File(Operand),
    /// Under the name in the address, in the current folder or another one.
    RemoteName {
        /// The other folder.
        folder: Option<Operand>,
        /// Whether the server may determine another name.
        server_named: bool,
    },
}

/// A file or folder that is packed into an archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PackedMember {
    /// The folder that contains it, if not the current one.
    pub folder: Option<Operand>,
    /// Its path in that folder, which is its path in the archive, too.
    pub path: Operand,
}

/// What a command does to files, besides its redirections.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileEffect {
    /// It changes no file.
    Nothing,
    /// It changes only what a package manager installs.
    Packages,
    /// It copies, moves or links files.
    Transfer {
        /// How.
        kind: TransferKind,
        /// The files and folders.
        sources: Vec<Operand>,
        /// Where they go.
        to: Destination,
        /// Whether folders are copied with their content.
        recursive: bool,
        /// Whether it may leave out files, or keep those at the destination.
        selective: bool,
    },
    /// It removes files, or folders with their content.
    Remove(Vec<Operand>),
    /// It creates folders.
    MakeDirectory(Vec<Operand>),
    /// It creates files that do not exist.
    Create(Vec<Operand>),
    /// It writes or edits files.
    Write(Vec<Operand>),
    /// It downloads files.
    Download {
        /// URLs; a host name alone is one, too.
        addresses: Vec<Operand>,
        /// Where the files go.
        to: DownloadTarget,
        /// Whether a word of unknown text may stand for more options.
        may_have_options: bool,
    },
    /// It unpacks an archive, `None` for its standard input, into the current folder or another one.
    Unpack {
        /// The archive.
        archive: Option<Operand>,
        /// The other folder.
        folder: Option<Operand>,
    },
    /// It packs files into an archive, `None` for its standard output.
    Pack {
        /// The archive.
        archive: Option<Operand>,
        /// The files and folders.
        members: Vec<PackedMember>,
    },
    /// It clones a Git repository.
    Clone {
        /// The URL, or the path of another repository.
        address: Operand,
        /// The folder of the new working tree, relative to `inside`.
        folder: Option<Operand>,
        /// The folder in which Git runs, if not the current one.
        inside: Option<Operand>,
    },
    /// Any file may change.
    Unknown,
}
