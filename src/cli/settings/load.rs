//! Search and loading of settings files.

use std::collections::BTreeMap;
use std::env;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use clap::ValueEnum as _;
use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;

use crate::cli::args::{ConfigArgs, FailOn};
use crate::cli::error::{CommandError, path_from_environment, render_diagnostic};
use crate::cli::text_file::{self, path_from_current_directory, read_text};
use crate::fleet::settings;
use crate::fleet::settings::{InputSettings, MAX_EXTENDED_FILES, SETTINGS_FILES, SettingVocabulary, Settings};
use crate::registry::Platform;
use crate::rules::Persona;
use crate::text::nearest::unreadable_path_message;
use crate::text::source::{SourceText, Sources};

/// Largest size of a settings file in bytes.
const MAX_SETTINGS_BYTES: u64 = 1 << 20;

/// A settings file with all files that it extends.
#[derive(Debug)]
pub(crate) struct SettingsChain {
    /// The file and those that it extends, each with its text and the settings in it.
    pub(crate) chain: Vec<(PathBuf, SourceText, Settings)>,
    /// All files merged.
    pub(crate) settings: Settings,
    /// Whether the user chose the file, as opposed to one in the repository: only such a file may name any path.
    pub(crate) own: bool,
}

impl SettingsChain {
    /// Returns the path of the settings file for display.
    pub(crate) fn name(&self) -> String {
        self.chain.first().map(|(path, ..)| path.display().to_string()).unwrap_or_default()
    }
}

/// The settings files of a run, and which of them applies to which input.
#[derive(Debug)]
pub(crate) struct LoadedSettings {
    pub(crate) files: Vec<SettingsChain>,
    /// Index of the file that applies to the whole run.
    pub(super) run: Option<usize>,
    /// Index of the user's settings file, whose trusted registries always apply.
    pub(super) user: Option<usize>,
    /// Whether settings files are searched near each input.
    search: bool,
    folders: BTreeMap<PathBuf, Option<usize>>,
    subjects: BTreeMap<String, (Option<usize>, Option<PathBuf>)>,
    pub(crate) today: Date,
    /// Error in a settings file nearer to an input.
    pub(crate) broken: Option<String>,
}

/// Locks the loaded settings, ignoring a poisoned mutex.
pub(crate) fn lock_settings(loaded: &Mutex<LoadedSettings>) -> MutexGuard<'_, LoadedSettings> {
    loaded.lock().unwrap_or_else(PoisonError::into_inner)
}

impl LoadedSettings {
    /// Creates the state without any settings file.
    pub(crate) fn empty() -> Self {
        let (files, folders, subjects) = (Vec::new(), BTreeMap::new(), BTreeMap::new());
        Self { files, run: None, user: None, search: false, folders, subjects, today: today(), broken: None }
    }

    /// Loads the settings of a run whose first input is at `start`.
    pub(crate) fn new(config: &ConfigArgs, start: Option<&Path>, sources: &mut Sources) -> Result<Self, CommandError> {
        let mut loaded = Self::empty();
        if config.no_config {
            return Ok(loaded);
        }
        if let Some(path) = config.config.clone().or_else(|| path_from_environment("IMAGELINT_CONFIG")) {
            loaded.run = Some(loaded.read_chain(&path, true, sources).map_err(CommandError::Message)?);
            return Ok(loaded);
        }
        if let Some(path) = user_settings_path().filter(|path| path.is_file()) {
            loaded.user = Some(loaded.read_chain(&path, true, sources).map_err(CommandError::Message)?);
        }
        loaded.search = true;
        loaded.run = loaded.find_for_path(start.unwrap_or(Path::new(".")), sources);
        match loaded.broken.take() {
            Some(broken) => Err(CommandError::Message(broken)),
            None => Ok(loaded),
        }
    }

    /// Returns the index of the settings file nearest to a file or folder, and reads it if necessary.
    pub(crate) fn find_for_path(&mut self, path: &Path, sources: &mut Sources) -> Option<usize> {
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
            if let Some(file) = SETTINGS_FILES.iter().map(|name| above.join(name)).find(|file| file.is_file()) {
                match self.read_chain(&file, false, sources) {
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

    /// Records which settings apply to a subject; `path` is that of its file.
    pub(crate) fn assign_to_subject(&mut self, subject: &str, path: Option<&Path>, sources: &mut Sources) {
        let at = match path {
            Some(path) => self.find_for_path(path, sources),
            None => self.run,
        };
        let real = path.and_then(|path| path.canonicalize().ok());
        self.subjects.insert(subject.to_owned(), (at, real));
    }

    /// Returns the settings that apply to a subject.
    pub(crate) fn settings_of_subject(&self, subject: &str) -> Option<InputSettings<'_>> {
        let (at, path) = self.subjects.get(subject).map_or((self.run, None), |(at, path)| (*at, path.as_deref()));
        let settings = &self.files.get(at?)?.settings;
        Some(InputSettings { settings, path, today: self.today })
    }

    /// Returns the settings at an index, as they apply to a file at `path`.
    pub(crate) fn settings_at<'a>(&'a self, at: Option<usize>, path: Option<&'a Path>) -> Option<InputSettings<'a>> {
        Some(InputSettings { settings: &self.files.get(at?)?.settings, path, today: self.today })
    }

    /// Returns the settings file that applies to the whole run.
    pub(crate) fn run_chain(&self) -> Option<&SettingsChain> {
        self.files.get(self.run?)
    }

    /// Reads a settings file and those that it extends, and returns its index.
    fn read_chain(&mut self, path: &Path, own: bool, sources: &mut Sources) -> Result<usize, String> {
        let mut chain: Vec<(PathBuf, SourceText, Settings)> = Vec::new();
        let mut next = Some(path.to_path_buf());
        let mut seen = Vec::new();
        while let Some(path) = next.take() {
            let real = if own {
                path.canonicalize().map_err(|error| {
                    unusable_settings_error(&path, &unreadable_path_message(&path, &error, "a settings file"))
                })?
            } else {
                let folder = path.parent().unwrap_or(Path::new(""));
                path_in_repository(&path, folder)
                    .and_then(|path| path.canonicalize().map_err(|error| error.to_string()))
                    .map_err(|error| unusable_settings_error(&path, &error))?
            };
            if seen.contains(&real) {
                return Err(unusable_settings_error(&path, "it extends itself"));
            }
            if seen.len() >= MAX_EXTENDED_FILES {
                return Err(unusable_settings_error(
                    &path,
                    &format!("`extend` chains more than {MAX_EXTENDED_FILES} files"),
                ));
            }
            let shown = path_from_current_directory(&real);
            let text = read_text(&real, MAX_SETTINGS_BYTES).map_err(|error| unusable_settings_error(&shown, &error))?;
            let text = SourceText::new(shown.display().to_string(), text);
            let source = sources.add(text.clone());
            let folder = real.parent().unwrap_or(Path::new("/")).to_path_buf();
            seen.push(real);
            let found = settings::read_settings(source, &text, &folder, accepted_values())
                .map_err(|errors| render_diagnostic(errors.as_ref()))?;
            next = match &found.extend {
                Some(written) if own => Some(folder.join(&written.value)),
                Some(written) => {
                    let path = path_in_repository(&folder.join(&written.value), &folder);
                    Some(path.map_err(|error| error_at(&text, written.location.span, &error))?)
                }
                None => None,
            };
            chain.push((shown, text, found));
        }
        let all = chain.iter().map(|(_, _, settings)| settings.clone()).reduce(Settings::merge_over);
        self.files.push(SettingsChain { chain, settings: all.unwrap_or_default(), own });
        Ok(self.files.len() - 1)
    }
}

/// Returns the values that settings accept for personas, levels and platforms.
fn accepted_values() -> SettingVocabulary<'static> {
    SettingVocabulary {
        personas: Persona::WORDS,
        levels: &["error", "warning", "note", "undetermined", "never"],
        is_platform: |text| text.parse::<Platform>().is_ok(),
    }
}

/// Parses a level of `fail-on`.
pub(super) fn parse_fail_on(word: &str) -> Option<FailOn> {
    FailOn::from_str(word, false).ok()
}

/// Formats an error with its position: `imagelint.toml:3:9: ...`.
pub(super) fn error_at(text: &SourceText, span: crate::text::source::Span, message: &str) -> String {
    format!("error: {}:{}: {message}", text.name(), text.position(span.start))
}

/// Formats the error for a settings file that cannot be used.
fn unusable_settings_error(path: &Path, error: &str) -> String {
    format!("error: cannot use the settings {}: {error}\nhelp: pass another file, or --no-config", path.display())
}

/// Returns a path that repository settings name, if it is in the repository and not in `.git`, symbolic links
/// resolved.
pub(crate) fn path_in_repository(path: &Path, folder: &Path) -> Result<PathBuf, String> {
    let found = text_file::path_in_repository(path, folder)?;
    let real = found.canonicalize().map_err(|error| error.to_string())?;
    if real.components().any(|part| part.as_os_str() == ".git") {
        return Err(format!("{} is in a .git directory and is not read", path.display()));
    }
    Ok(found)
}

/// Returns the path of the user's settings file.
fn user_settings_path() -> Option<PathBuf> {
    let home = || path_from_environment("HOME").map(|home| home.join(".config"));
    let folder = path_from_environment("XDG_CONFIG_HOME").filter(|path| path.is_absolute()).or_else(home)?;
    Some(folder.join("imagelint").join("imagelint.toml"))
}

/// Returns today's date in UTC.
fn today() -> Date {
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let now = i64::try_from(seconds).ok().and_then(|seconds| Timestamp::from_second(seconds).ok());
    now.unwrap_or(Timestamp::UNIX_EPOCH).to_zoned(TimeZone::UTC).date()
}
