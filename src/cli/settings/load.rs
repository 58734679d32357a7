//! Finds and reads settings files.

use std::collections::BTreeMap;
use std::env;
use std::path::Path;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::MutexGuard;
use std::sync::PoisonError;
use std::time::SystemTime;
use std::time::UNIX_EPOCH;

use clap::ValueEnum as _;
use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;

use crate::cli::Failure;
use crate::cli::args::ConfigArgs;
use crate::cli::args::FailOn;
use crate::cli::builds::inside;
use crate::cli::path_from;
use crate::cli::render;
use crate::cli::texts::read_text;
use crate::nearest::unread;
use crate::oci::Platform;
use crate::rules::Persona;
use crate::settings;
use crate::settings::FILES;
use crate::settings::MOST_EXTENDED;
use crate::settings::Own;
use crate::settings::Settings;
use crate::settings::Words;
use crate::source::SourceText;
use crate::source::Sources;

/// No settings file is longer.
const LONGEST: u64 = 1 << 20;

/// A settings file with all that it builds on.
#[derive(Debug)]
pub(crate) struct Found {
    /// The file, and those that it builds on, each with its text and what it says by itself.
    pub(crate) chain: Vec<(PathBuf, SourceText, Settings)>,
    /// All of them as one.
    pub(crate) settings: Settings,
    /// Whether it is the user's own word and not the repository's: such a file may name any path.
    pub(crate) own: bool,
}

impl Found {
    /// The file itself, as shown.
    pub(crate) fn name(&self) -> String {
        self.chain.first().map(|(path, ..)| path.display().to_string()).unwrap_or_default()
    }
}

/// The settings of all inputs of a run.
#[derive(Debug)]
pub(crate) struct Loaded {
    pub(crate) files: Vec<Found>,
    /// The file that holds for a run, where there is one.
    pub(super) run: Option<usize>,
    /// The user's own file, whose word on registries always holds.
    pub(super) user: Option<usize>,
    /// Whether files are looked for beside each input.
    search: bool,
    folders: BTreeMap<PathBuf, Option<usize>>,
    subjects: BTreeMap<String, (Option<usize>, Option<PathBuf>)>,
    pub(crate) today: Date,
    /// Why a file that lies nearer to an input cannot be used.
    pub(crate) broken: Option<String>,
}

/// What is there for the time of a look.
pub(crate) fn lock(loaded: &Mutex<Loaded>) -> MutexGuard<'_, Loaded> {
    loaded.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Loaded {
    /// No settings at all.
    pub(crate) fn none() -> Self {
        let (files, folders, subjects) = (Vec::new(), BTreeMap::new(), BTreeMap::new());
        Self { files, run: None, user: None, search: false, folders, subjects, today: today(), broken: None }
    }

    /// The settings of the run whose first input is at `start`.
    pub(crate) fn new(config: &ConfigArgs, start: Option<&Path>, sources: &mut Sources) -> Result<Self, Failure> {
        let mut loaded = Self::none();
        if config.no_config {
            return Ok(loaded);
        }
        if let Some(path) = config.config.clone().or_else(|| path_from("IMAGELINT_CONFIG")) {
            loaded.run = Some(loaded.read(&path, true, sources).map_err(Failure::Said)?);
            return Ok(loaded);
        }
        if let Some(path) = user_file().filter(|path| path.is_file()) {
            loaded.user = Some(loaded.read(&path, true, sources).map_err(Failure::Said)?);
        }
        loaded.search = true;
        loaded.run = loaded.of_file(start.unwrap_or(Path::new(".")), sources);
        match loaded.broken.take() {
            Some(broken) => Err(Failure::Said(broken)),
            None => Ok(loaded),
        }
    }

    /// The settings that are nearest to a file or folder.
    pub(crate) fn of_file(&mut self, path: &Path, sources: &mut Sources) -> Option<usize> {
        if !self.search {
            return self.run;
        }
        let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
        let found = path.canonicalize().ok().or_else(|| path.parent()?.canonicalize().ok());
        let Some(start) = found.or_else(|| env::current_dir().ok()) else { return self.user };
        let folder = if start.is_dir() { start } else { start.parent()?.to_path_buf() };
        if let Some(known) = self.folders.get(&folder) {
            return *known;
        }
        let (mut walked, mut found) = (Vec::new(), self.user);
        for above in folder.ancestors() {
            if let Some(known) = self.folders.get(above) {
                found = *known;
                break;
            }
            walked.push(above.to_path_buf());
            if let Some(file) = FILES.iter().map(|name| above.join(name)).find(|file| file.is_file()) {
                match self.read(&file, false, sources) {
                    Ok(at) => found = Some(at),
                    Err(error) => self.broken = self.broken.take().or(Some(error)),
                }
                break;
            }
            if above.join(".git").exists() {
                break;
            }
        }
        for folder in walked {
            self.folders.insert(folder, found);
        }
        found
    }

    /// Keeps in mind which settings a subject has; `path` is that of its file.
    pub(crate) fn keep(&mut self, subject: &str, path: Option<&Path>, sources: &mut Sources) {
        let at = match path {
            Some(path) => self.of_file(path, sources),
            None => self.run,
        };
        let real = path.and_then(|path| path.canonicalize().ok());
        self.subjects.insert(subject.to_owned(), (at, real));
    }

    /// The settings of a subject, as they hold for it.
    pub(crate) fn of_subject(&self, subject: &str) -> Option<Own<'_>> {
        let (at, path) = self.subjects.get(subject).map_or((self.run, None), |(at, path)| (*at, path.as_deref()));
        let settings = &self.files.get(at?)?.settings;
        Some(Own { settings, path, today: self.today })
    }

    /// What holds for a file at this path.
    pub(crate) fn at<'a>(&'a self, at: Option<usize>, path: Option<&'a Path>) -> Option<Own<'a>> {
        Some(Own { settings: &self.files.get(at?)?.settings, path, today: self.today })
    }

    /// The settings of the run.
    pub(crate) fn of_run(&self) -> Option<&Found> {
        self.files.get(self.run?)
    }

    /// Reads a file and those that it builds on.
    fn read(&mut self, path: &Path, own: bool, sources: &mut Sources) -> Result<usize, String> {
        let mut chain: Vec<(PathBuf, SourceText, Settings)> = Vec::new();
        let mut next = Some(path.to_path_buf());
        let mut seen = Vec::new();
        while let Some(path) = next.take() {
            let real = if own {
                path.canonicalize().map_err(|error| cannot(&path, &unread(&path, &error, "a settings file")))?
            } else {
                let folder = path.parent().unwrap_or(Path::new(""));
                within(&path, folder)
                    .and_then(|path| path.canonicalize().map_err(|error| error.to_string()))
                    .map_err(|error| cannot(&path, &error))?
            };
            if seen.contains(&real) {
                return Err(cannot(&path, "it extends itself"));
            }
            if seen.len() >= MOST_EXTENDED {
                return Err(cannot(&path, &format!("`extend` chains more than {MOST_EXTENDED} files")));
            }
            let shown = here(&real);
            let text = read_text(&real, LONGEST).map_err(|error| cannot(&shown, &error))?;
            let text = SourceText::new(shown.display().to_string(), text);
            let source = sources.add(text.clone());
            let folder = real.parent().unwrap_or(Path::new("/")).to_path_buf();
            seen.push(real);
            let found = settings::read(source, &text, &folder, words()).map_err(|errors| render(errors.as_ref()))?;
            next = match &found.extend {
                Some(written) if own => Some(folder.join(&written.value)),
                Some(written) => {
                    let path = within(&folder.join(&written.value), &folder);
                    Some(path.map_err(|error| at(&text, written.place.span, &error))?)
                }
                None => None,
            };
            chain.push((shown, text, found));
        }
        let all = chain.iter().map(|(_, _, settings)| settings.clone()).reduce(Settings::on);
        self.files.push(Found { chain, settings: all.unwrap_or_default(), own });
        Ok(self.files.len() - 1)
    }
}

fn words() -> Words<'static> {
    Words {
        personas: Persona::WORDS,
        levels: &["error", "warning", "note", "undetermined", "never"],
        is_platform: |text| text.parse::<Platform>().is_ok(),
    }
}

/// The level that a word stands for.
pub(super) fn fail_on(word: &str) -> Option<FailOn> {
    FailOn::from_str(word, false).ok()
}

/// `imagelint.toml:3:9: ...`.
pub(super) fn at(text: &SourceText, span: crate::source::Span, message: &str) -> String {
    format!("error: {}:{}: {message}", text.name(), text.position(span.start))
}

fn cannot(path: &Path, error: &str) -> String {
    format!("error: cannot use the settings {}: {error}\nhelp: pass another file, or --no-config", path.display())
}

/// A path that settings of a repository name: below its root, links followed, and nothing of git's own.
pub(crate) fn within(path: &Path, folder: &Path) -> Result<PathBuf, String> {
    let found = inside(path, folder)?;
    let real = found.canonicalize().map_err(|error| error.to_string())?;
    if real.components().any(|part| part.as_os_str() == ".git") {
        return Err(format!("{} is in a .git directory and is not read", path.display()));
    }
    Ok(found)
}

/// A full path as seen from here.
fn here(path: &Path) -> PathBuf {
    let folder = env::current_dir().and_then(|folder| folder.canonicalize()).ok();
    folder.and_then(|folder| path.strip_prefix(folder).ok()).unwrap_or(path).to_path_buf()
}

fn user_file() -> Option<PathBuf> {
    let home = || path_from("HOME").map(|home| home.join(".config"));
    let folder = path_from("XDG_CONFIG_HOME").filter(|path| path.is_absolute()).or_else(home)?;
    Some(folder.join("imagelint").join("imagelint.toml"))
}

/// The day, by universal time.
fn today() -> Date {
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let now = i64::try_from(seconds).ok().and_then(|seconds| Timestamp::from_second(seconds).ok());
    now.unwrap_or(Timestamp::UNIX_EPOCH).to_zoned(TimeZone::UTC).date()
}
