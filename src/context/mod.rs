//! The build context: the files that a build may read, and nothing outside of its root.

mod ignored;
mod kept;
mod path;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::io::Read as _;
use std::path::Path;
use std::path::PathBuf;
use std::sync::Arc;

use crate::context::ignored::Ignored;
use crate::source::SourceId;
use crate::source::SourceText;
use crate::source::Sources;

pub use kept::Kept;
pub use path::matches;
pub use path::normal;
pub use path::rooted;

/// No file that lists packages is longer.
const MAX_FILE: u64 = 8 << 20;
/// No build reads more files of this kind.
const MAX_FILES: usize = 512;
/// Of a folder, so many names are looked at.
const MAX_ENTRIES: usize = 4096;

/// Why a file of the context was not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Missing {
    /// No context was given, such as for a Dockerfile on standard input.
    NoContext,
    /// It is not there, or no file.
    NotThere,
    /// `.dockerignore` keeps it out.
    Ignored,
    /// A link leads out of the context.
    Outside,
    /// It, or the number of files, is larger than anything sensible.
    TooLarge,
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoContext => "there is no build context",
            Self::NotThere => "it is not in the build context",
            Self::Ignored => "`.dockerignore` excludes it",
            Self::Outside => "it is outside the build context",
            Self::TooLarge => "it is too large",
        })
    }
}

/// A file of the context.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContextFile {
    /// The text, for spans.
    pub source: SourceId,
    /// What is in it.
    pub text: Arc<str>,
    /// What was made of that.
    pub kept: Kept,
}

impl ContextFile {
    /// A file with a text, of which nothing is kept.
    pub fn new(source: SourceId, text: impl Into<Arc<str>>) -> Self {
        Self { source, text: text.into(), kept: Kept::default() }
    }
}

/// What gives the files of a context, by their path below its root.
pub trait Shelf {
    /// The file at a normal path; of `folder/*` the names of the wheels in that folder, one a line, and of
    /// `folder/*.sh` and the like those that are of the pattern.
    fn open(&self, path: &str) -> Result<ContextFile, Missing>;
}

/// Files that were read before: those that one Dockerfile asks for.
#[derive(Clone, Debug, Default)]
pub struct Files(BTreeMap<String, Result<ContextFile, Missing>>);

impl Files {
    /// Every path that was asked for, with what was found there.
    pub fn asked(&self) -> impl Iterator<Item = (&str, &Result<ContextFile, Missing>)> {
        self.0.iter().map(|(path, file)| (path.as_str(), file))
    }

    /// The same files, one text of them replaced; none where no file has it.
    #[must_use]
    pub fn with(&self, source: SourceId, text: &Arc<str>) -> Option<Self> {
        let mut files = self.clone();
        let mut any = false;
        for file in files.0.values_mut().flatten().filter(|file| file.source == source) {
            file.text = Arc::clone(text);
            file.kept = Kept::room();
            any = true;
        }
        any.then_some(files)
    }

    /// The same files, with room for what is made of them: for those who read them again and again.
    #[must_use]
    pub fn keeping(mut self) -> Self {
        for file in self.0.values_mut().flatten() {
            file.kept = Kept::room();
        }
        self
    }

    /// The same files, where their texts have other ids.
    #[must_use]
    pub fn moved(mut self, new: impl Fn(SourceId) -> SourceId) -> Self {
        for file in self.0.values_mut().flatten() {
            file.source = new(file.source);
        }
        self
    }
}

impl Shelf for Files {
    fn open(&self, path: &str) -> Result<ContextFile, Missing> {
        self.0.get(path).cloned().unwrap_or(Err(Missing::NoContext))
    }
}

/// The root of a build context.
#[derive(Clone, Debug)]
pub struct Context {
    root: PathBuf,
    shown: PathBuf,
    ignored: Ignored,
}

impl Context {
    /// The context in a folder; `dockerfile` may have ignore rules of its own beside it.
    pub fn new(folder: &Path, dockerfile: Option<&Path>) -> Option<Self> {
        let shown = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
        let root = shown.canonicalize().ok().filter(|root| root.is_dir())?;
        let own = dockerfile.map(|path| {
            let mut name = path.as_os_str().to_owned();
            name.push(".dockerignore");
            PathBuf::from(name)
        });
        let rules = own.filter(|own| own.is_file()).unwrap_or_else(|| root.join(".dockerignore"));
        let text = inside(&root, &rules).or_else(|_| inside(rules.parent().unwrap_or(&root), &rules));
        let ignored = Ignored::read(text.as_deref().unwrap_or(""));
        Some(Self { root, shown: shown.to_owned(), ignored })
    }

    fn read(&self, path: &str) -> Result<SourceText, Missing> {
        if self.ignored.holds(path) {
            return Err(Missing::Ignored);
        }
        let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
        let text = if name.contains('*') {
            self.names(folder, if name == "*" { "*.whl" } else { name })?
        } else {
            inside(&self.root, &self.root.join(path))?
        };
        let shown = self.shown.join(path);
        let shown = shown.strip_prefix("./").unwrap_or(&shown);
        Ok(SourceText::new(shown.display().to_string(), text))
    }
}

impl Context {
    /// The names of a pattern in a folder, one a line.
    fn names(&self, folder: &str, pattern: &str) -> Result<String, Missing> {
        let real = self.root.join(folder).canonicalize().map_err(|_| Missing::NotThere)?;
        if !real.starts_with(&self.root) {
            return Err(Missing::Outside);
        }
        let entries = fs::read_dir(&real).map_err(|_| Missing::NotThere)?;
        let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        let path = |name: &str| if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") };
        let hidden = pattern.starts_with('.');
        let kept = |name: &String| {
            matches(pattern, name) && name.starts_with('.') == hidden && !self.ignored.holds(&path(name))
        };
        let mut names: Vec<String> = names.take(MAX_ENTRIES).filter(kept).collect();
        names.sort();
        Ok(names.join("\n"))
    }
}

/// The text of a file that lies in `root` when every link is followed.
fn inside(root: &Path, path: &Path) -> Result<String, Missing> {
    let real = path.canonicalize().map_err(|_| Missing::NotThere)?;
    let root = root.canonicalize().map_err(|_| Missing::NotThere)?;
    if !real.starts_with(&root) {
        return Err(Missing::Outside);
    }
    if !real.is_file() {
        return Err(Missing::NotThere);
    }
    let mut bytes = Vec::new();
    let file = fs::File::open(&real).map_err(|_| Missing::NotThere)?;
    file.take(MAX_FILE + 1).read_to_end(&mut bytes).map_err(|_| Missing::NotThere)?;
    if u64::try_from(bytes.len()).is_ok_and(|len| len > MAX_FILE) {
        return Err(Missing::TooLarge);
    }
    Ok(decoded(bytes))
}

/// A text as pip reads it: in UTF-16 where it begins with a mark of that, else in UTF-8.
fn decoded(bytes: Vec<u8>) -> String {
    let wide = |unit: fn([u8; 2]) -> u16| {
        let units = bytes.chunks_exact(2).skip(1).map(|pair| unit([pair[0], pair[1]]));
        char::decode_utf16(units).map(|one| one.unwrap_or(char::REPLACEMENT_CHARACTER)).collect::<String>()
    };
    match bytes.get(..2) {
        Some([0xff, 0xfe]) => wide(u16::from_le_bytes),
        Some([0xfe, 0xff]) => wide(u16::from_be_bytes),
        _ => String::from_utf8(bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()),
    }
}

/// Reads files on demand and keeps them as sources.
#[derive(Debug)]
pub struct Gathering<'a> {
    context: &'a Context,
    sources: RefCell<&'a mut Sources>,
    files: RefCell<Files>,
}

impl<'a> Gathering<'a> {
    /// Nothing read yet.
    pub fn new(context: &'a Context, sources: &'a mut Sources) -> Self {
        Self { context, sources: RefCell::new(sources), files: RefCell::default() }
    }

    /// Whether a file that was asked for is there.
    pub fn found_any(&self) -> bool {
        self.files.borrow().0.values().any(Result::is_ok)
    }

    /// What was asked for.
    pub fn into_files(self) -> Files {
        self.files.into_inner()
    }
}

impl Shelf for Gathering<'_> {
    fn open(&self, path: &str) -> Result<ContextFile, Missing> {
        let mut files = self.files.borrow_mut();
        if let Some(known) = files.0.get(path) {
            return known.clone();
        }
        if files.0.len() >= MAX_FILES {
            return Err(Missing::TooLarge);
        }
        let file = self.context.read(path).map(|text| {
            let content = text.shared();
            ContextFile::new(self.sources.borrow_mut().add(text), content)
        });
        files.0.insert(path.to_owned(), file.clone());
        file
    }
}

#[cfg(test)]
mod tests;
