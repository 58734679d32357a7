//! The build context: the files that a build may read, and nothing outside of its root.

mod dockerignore;
mod parse_cache;
mod path;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::dockerfile::context::dockerignore::DockerignoreRules;
use crate::model::cause::Cause;
use crate::text::source::{SourceId, SourceText, Sources};

pub use parse_cache::ParseCache;
pub use path::{normalize_path, path_matches, resolve_path};

/// Maximum size in bytes of a file.
const MAX_FILE_BYTES: u64 = 8 << 20;
/// Maximum number of files that are read.
const MAX_FILES: usize = 512;
/// Maximum number of directory entries that are matched against a pattern.
const MAX_ENTRIES: usize = 4096;

/// Why a file of the build context was not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ContextFileError {
    /// There is no build context, such as for a Dockerfile on standard input.
    NoContext,
    /// The path does not exist, or is not a file.
    NotThere,
    /// `.dockerignore` excludes it.
    Ignored,
    /// A symbolic link leads out of the build context.
    Outside,
    /// The file or the number of files exceeds a limit.
    TooLarge,
}

impl From<ContextFileError> for Cause {
    fn from(missing: ContextFileError) -> Self {
        match missing {
            ContextFileError::NoContext => Self::NoContext,
            ContextFileError::NotThere => Self::NotThere,
            ContextFileError::Ignored => Self::IgnoredByBuild,
            ContextFileError::Outside => Self::OutsideContext,
            ContextFileError::TooLarge => Self::TooLarge,
        }
    }
}

/// A file of the build context.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContextFile {
    /// The id of the text, for spans.
    pub source: SourceId,
    /// The contents.
    pub text: Arc<str>,
    /// The cache of the value parsed from the contents.
    pub parse_cache: ParseCache,
}

impl ContextFile {
    /// Creates a file without a parse cache.
    pub fn new(source: SourceId, text: impl Into<Arc<str>>) -> Self {
        Self { source, text: text.into(), parse_cache: ParseCache::default() }
    }
}

/// Opens files of a build context by their path below its root.
pub trait ContextReader {
    /// Opens the file at a normalized path. For `folder/*` the contents are the names of the wheels in that
    /// directory, one per line; for `folder/*.sh` and the like the matching names.
    fn open(&self, path: &str) -> Result<ContextFile, ContextFileError>;
}

/// The files of the build context that one Dockerfile reads, read in advance.
#[derive(Clone, Debug, Default)]
pub struct ContextFiles(BTreeMap<String, Result<ContextFile, ContextFileError>>);

impl ContextFiles {
    /// Returns every requested path, with its file or error.
    pub fn requested_files(&self) -> impl Iterator<Item = (&str, &Result<ContextFile, ContextFileError>)> {
        self.0.iter().map(|(path, file)| (path.as_str(), file))
    }

    /// Returns a copy with the text of one source replaced; `None` if no file has this source.
    #[must_use]
    pub fn with_text(&self, source: SourceId, text: &Arc<str>) -> Option<Self> {
        let mut files = self.clone();
        let mut any = false;
        for file in files.0.values_mut().flatten().filter(|file| file.source == source) {
            file.text = Arc::clone(text);
            file.parse_cache = ParseCache::enabled();
            any = true;
        }
        any.then_some(files)
    }

    /// Enables the parse cache of every file, for files that are parsed repeatedly.
    #[must_use]
    pub fn with_parse_caches(mut self) -> Self {
        for file in self.0.values_mut().flatten() {
            file.parse_cache = ParseCache::enabled();
        }
        self
    }

    /// Replaces the source id of every file.
    #[must_use]
    pub fn with_source_ids(mut self, new: impl Fn(SourceId) -> SourceId) -> Self {
        for file in self.0.values_mut().flatten() {
            file.source = new(file.source);
        }
        self
    }
}

impl ContextReader for ContextFiles {
    fn open(&self, path: &str) -> Result<ContextFile, ContextFileError> {
        self.0.get(path).cloned().unwrap_or(Err(ContextFileError::NoContext))
    }
}

/// A build context: its root directory and its `.dockerignore` rules.
#[derive(Clone, Debug)]
pub struct BuildContext {
    root: PathBuf,
    /// The root as it was passed, for messages.
    display_root: PathBuf,
    /// The rules of `.dockerignore`.
    dockerignore: DockerignoreRules,
}

impl BuildContext {
    /// Creates the context of a directory; a `.dockerignore` file named after `dockerfile` takes precedence. `None`
    /// if the directory does not exist.
    pub fn new(folder: &Path, dockerfile: Option<&Path>) -> Option<Self> {
        let shown = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
        let root = shown.canonicalize().ok().filter(|root| root.is_dir())?;
        let own = dockerfile.map(|path| {
            let mut name = path.as_os_str().to_owned();
            name.push(".dockerignore");
            PathBuf::from(name)
        });
        let rules = own.filter(|own| own.is_file()).unwrap_or_else(|| root.join(".dockerignore"));
        let text = read_inside(&root, &rules).or_else(|_| read_inside(rules.parent().unwrap_or(&root), &rules));
        let ignored = DockerignoreRules::parse(text.as_deref().unwrap_or(""));
        Some(Self { root, display_root: shown.to_owned(), dockerignore: ignored })
    }

    /// Reads a file, or the names that match a pattern, as a source text.
    fn read_source(&self, path: &str) -> Result<SourceText, ContextFileError> {
        if self.dockerignore.excludes(path) {
            return Err(ContextFileError::Ignored);
        }
        let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
        let text = if name.contains('*') {
            self.list_names(folder, if name == "*" { "*.whl" } else { name })?
        } else {
            read_inside(&self.root, &self.root.join(path))?
        };
        let shown = self.display_root.join(path);
        let shown = shown.strip_prefix("./").unwrap_or(&shown);
        Ok(SourceText::new(shown.display().to_string(), text))
    }
}

impl BuildContext {
    /// Returns the names in a directory that match a pattern, one per line.
    fn list_names(&self, folder: &str, pattern: &str) -> Result<String, ContextFileError> {
        let real = self.root.join(folder).canonicalize().map_err(|_| ContextFileError::NotThere)?;
        if !real.starts_with(&self.root) {
            return Err(ContextFileError::Outside);
        }
        let entries = fs::read_dir(&real).map_err(|_| ContextFileError::NotThere)?;
        let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        let path = |name: &str| if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") };
        let hidden = pattern.starts_with('.');
        let kept = |name: &String| {
            path_matches(pattern, name) && name.starts_with('.') == hidden && !self.dockerignore.excludes(&path(name))
        };
        let mut names: Vec<String> = names.take(MAX_ENTRIES).filter(kept).collect();
        names.sort();
        Ok(names.join("\n"))
    }
}

/// Reads a file that is in `root` after all symbolic links are resolved.
fn read_inside(root: &Path, path: &Path) -> Result<String, ContextFileError> {
    let real = path.canonicalize().map_err(|_| ContextFileError::NotThere)?;
    let root = root.canonicalize().map_err(|_| ContextFileError::NotThere)?;
    if !real.starts_with(&root) {
        return Err(ContextFileError::Outside);
    }
    if !real.is_file() {
        return Err(ContextFileError::NotThere);
    }
    let mut bytes = Vec::new();
    let file = fs::File::open(&real).map_err(|_| ContextFileError::NotThere)?;
    file.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes).map_err(|_| ContextFileError::NotThere)?;
    if u64::try_from(bytes.len()).is_ok_and(|len| len > MAX_FILE_BYTES) {
        return Err(ContextFileError::TooLarge);
    }
    Ok(decode_text(bytes))
}

/// Decodes a text as pip does: as UTF-16 if it begins with a byte order mark, otherwise as UTF-8.
fn decode_text(bytes: Vec<u8>) -> String {
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

/// Reads files of a build context on demand, and records them with their sources.
#[derive(Debug)]
pub struct RecordingReader<'a> {
    context: &'a BuildContext,
    sources: RefCell<&'a mut Sources>,
    files: RefCell<ContextFiles>,
}

impl<'a> RecordingReader<'a> {
    /// Creates a reader that has read nothing yet.
    pub fn new(context: &'a BuildContext, sources: &'a mut Sources) -> Self {
        Self { context, sources: RefCell::new(sources), files: RefCell::default() }
    }

    /// Whether any requested file exists.
    pub fn has_any_file(&self) -> bool {
        self.files.borrow().0.values().any(Result::is_ok)
    }

    /// Returns the requested files and errors.
    pub fn into_files(self) -> ContextFiles {
        self.files.into_inner()
    }
}

impl ContextReader for RecordingReader<'_> {
    fn open(&self, path: &str) -> Result<ContextFile, ContextFileError> {
        let mut files = self.files.borrow_mut();
        if let Some(known) = files.0.get(path) {
            return known.clone();
        }
        if files.0.len() >= MAX_FILES {
            return Err(ContextFileError::TooLarge);
        }
        let file = self.context.read_source(path).map(|text| {
            let content = text.shared_text();
            ContextFile::new(self.sources.borrow_mut().add(text), content)
        });
        files.0.insert(path.to_owned(), file.clone());
        file
    }
}

#[cfg(test)]
mod tests;
