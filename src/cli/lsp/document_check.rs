//! Check of one document as `check` does it, with the texts of open documents in place of the files on disk.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use crate::cli::args::JudgingArgs;
use crate::cli::baseline::BaselineFilter;
use crate::cli::command_inputs::{CommandInputs, InputOptions};
use crate::cli::error::CommandError;
use crate::cli::file_search::{DiscoveredInput, ReferencingDockerfile};
use crate::cli::judging::{Judge, JudgingRun};
use crate::cli::language_server::{AnalysisLevel, DocumentAnalysis, OpenDocuments};
use crate::cli::lsp::options::LspOptions;
use crate::cli::settings::{LoadedSettings, RunSettings};
use crate::cli::text_file::{MAX_TEXT_BYTES, read_text};
use crate::cli::{base_images, fleet_file, judging, referencing_dockerfiles, scan, settings};
use crate::fleet::{Fleet, FleetErrors};
use crate::judge::{ReportDetail, SubjectContent};
use crate::knowledge::Knowledge;
use crate::rules::RuleBook;
use crate::text::source::{SourceText, Sources};

/// The options, folder and open documents that the check of a document depends on.
#[derive(Clone, Copy)]
pub(super) struct DocumentContext<'a> {
    pub(super) options: &'a LspOptions<'a>,
    pub(super) knowledge: Knowledge,
    pub(super) folder: &'a Path,
    pub(super) open: &'a OpenDocuments,
    /// The document's path relative to the folder.
    pub(super) name: Option<&'a Path>,
}

/// Texts to judge with their names; a Dockerfile judged on behalf of files that it reads carries their names.
type NamedTexts<'a> = Vec<(String, String, Option<&'a ReferencingDockerfile>)>;

/// Whether a file may be a requirements file, lock file or script that a Dockerfile reads.
pub(super) fn may_be_list_or_script(path: &Path) -> bool {
    referencing_dockerfiles::is_list_or_script(path)
}

impl DocumentContext<'_> {
    /// Returns the errors in a fleet file.
    pub(super) fn check_fleet_file(self, name: &Path, text: &str) -> DocumentAnalysis {
        let text = SourceText::new(name.display().to_string(), text);
        let mut judged = DocumentAnalysis::default();
        if let Err(errors) = fleet_file::parse_fleet(&text, judged.sources.add(text.clone()), self.knowledge) {
            judged.mistakes = fleet_mistakes(name, &errors);
        }
        judged
    }

    /// Judges the document itself.
    pub(super) fn judge_document(self, text: &str, depth: AnalysisLevel) -> DocumentAnalysis {
        let name = self.name.map_or_else(|| "-".to_owned(), |name| name.display().to_string());
        self.judge_texts(vec![(name, text.to_owned(), None)], depth)
    }

    /// Returns the Dockerfiles that read a file.
    pub(super) fn find_dockerfiles(self, name: &Path) -> Vec<ReferencingDockerfile> {
        let mut sources = Sources::default();
        let Ok(loaded) = self.load_settings(&mut sources) else { return Vec::new() };
        let judging =
            loaded.merge_with_options(&self.options.judging, &sources).unwrap_or_else(|_| self.options.judging.clone());
        let settings = Mutex::new(loaded);
        let (found, _) = referencing_dockerfiles::replace_lists_by_dockerfiles(
            vec![DiscoveredInput::File(name.to_path_buf())],
            &self.build_options(&judging, &settings),
        );
        let reader = |found| match found {
            DiscoveredInput::Reader(reader) => Some(reader),
            DiscoveredInput::File(_) | DiscoveredInput::Standard | DiscoveredInput::Error(..) => None,
        };
        found.into_iter().filter_map(reader).collect()
    }

    /// Judges the Dockerfiles that read a file, in place of that file.
    pub(super) fn judge_dockerfiles(self, readers: &[ReferencingDockerfile], depth: AnalysisLevel) -> DocumentAnalysis {
        let text = |reader: &ReferencingDockerfile| match self.open.text(&self.folder.join(&reader.path)) {
            Some(text) => Some(text.to_owned()),
            None => read_text(&reader.path, MAX_TEXT_BYTES).ok(),
        };
        let named =
            readers.iter().filter_map(|reader| Some((reader.path.display().to_string(), text(reader)?, Some(reader))));
        self.judge_texts(named.collect(), depth)
    }

    /// Returns the names of the fleet's pools that apply to the document.
    pub(super) fn pool_names(self) -> Vec<String> {
        let mut sources = Sources::default();
        let judging = self
            .load_settings(&mut sources)
            .and_then(|loaded| loaded.merge_with_options(&self.options.judging, &sources));
        let Ok(judging) = judging else { return Vec::new() };
        match self.load_fleet(&judging, &mut sources) {
            Ok(fleet) => fleet.pools.into_iter().map(|pool| pool.name.value).collect(),
            Err(_) => Vec::new(),
        }
    }

    /// Returns the names of all rules that apply to the document.
    pub(super) fn rule_names(self) -> Vec<String> {
        let mut sources = Sources::default();
        let judging = self
            .load_settings(&mut sources)
            .and_then(|loaded| loaded.merge_with_options(&self.options.judging, &sources));
        let own = judging.and_then(|judging| judging::custom_rule_book(&judging)).ok().flatten();
        own.as_ref().unwrap_or(RuleBook::built_in()).pages().map(|page| page.name.clone()).collect()
    }

    /// Returns the existing path from which settings and fleet file are searched; for an unsaved document, its
    /// nearest existing folder.
    fn search_start(self) -> Option<PathBuf> {
        let name = self.name?;
        name.ancestors().find(|path| path.exists()).map(Path::to_path_buf)
    }

    /// Loads the settings that apply to the document.
    fn load_settings(self, sources: &mut Sources) -> Result<LoadedSettings, CommandError> {
        LoadedSettings::new(&self.options.judging.config, self.search_start().as_deref(), sources)
    }

    /// Returns the build options of the document.
    fn build_options<'a>(&'a self, judging: &JudgingArgs, settings: &'a Mutex<LoadedSettings>) -> InputOptions<'a> {
        let (args, set) = (&self.options.build, self.options.set);
        InputOptions { args, set, stdin_filename: None, jobs: judging.jobs(), settings, knowledge: self.knowledge }
    }

    /// Loads the fleet from the open document of the fleet file, or from disk.
    fn load_fleet(self, judging: &JudgingArgs, sources: &mut Sources) -> Result<Fleet, DocumentError> {
        let first = self.search_start();
        let Some(path) = fleet_file::find_fleet_file(judging, first.as_deref()) else {
            return fleet_file::load_fleet(judging, first.as_deref(), self.knowledge, sources)
                .map_err(DocumentError::from);
        };
        let unsaved = self.open.text(&self.folder.join(&path));
        let text = match unsaved {
            Some(text) => text.to_owned(),
            None => read_text(&path, MAX_TEXT_BYTES).map_err(|error| {
                DocumentError::Message(format!("cannot read the fleet file {}: {error}", path.display()))
            })?,
        };
        let text = SourceText::new(path.display().to_string(), text);
        let source = sources.add(text.clone());
        let fleet = fleet_file::parse_fleet(&text, source, self.knowledge)
            .map_err(|errors| DocumentError::Fleet(path, errors))?;
        fleet_file::check_selected_pools(judging, &fleet)?;
        Ok(fleet)
    }

    /// Judges texts, and records the reason if that is not possible.
    fn judge_texts(self, texts: NamedTexts<'_>, depth: AnalysisLevel) -> DocumentAnalysis {
        let mut judged = DocumentAnalysis::default();
        match self.judge_into(texts, depth, &mut judged) {
            Ok(()) => {}
            Err(DocumentError::Message(why)) => judged.refused = Some(format!("not checked: {}", why.trim())),
            Err(DocumentError::Fleet(path, errors)) => {
                judged.refused = Some(format!("not checked: {errors}"));
                judged.mistakes = fleet_mistakes(&path, &errors);
            }
        }
        judged
    }

    /// Judges texts and stores sources and report in `judged`.
    fn judge_into(
        self,
        texts: NamedTexts<'_>,
        depth: AnalysisLevel,
        judged: &mut DocumentAnalysis,
    ) -> Result<(), DocumentError> {
        let sources = &mut judged.sources;
        let loaded = self.load_settings(sources)?;
        let mut judging = loaded.merge_with_options(&self.options.judging, sources)?;
        judging.show_fixes = depth == AnalysisLevel::Fixes;
        let fleet = self.load_fleet(&judging, sources)?;
        let settings = Mutex::new(loaded);
        let build = self.build_options(&judging, &settings);
        let mut inputs = CommandInputs::default();
        for (name, text, reader) in texts {
            inputs.add_text(&name, text, reader, &build, sources);
        }
        settings::assign_to_inputs(&settings, &mut inputs.subjects, &fleet, sources)?;
        let own = judging::custom_rule_book(&judging)?;
        settings::check_names_in_settings(
            &settings::lock_settings(&settings),
            own.as_ref(),
            &fleet,
            &self.options.judging,
        )?;
        base_images::add_known_bases(&mut inputs, self.search_start().as_deref(), None, &build, sources);
        self.use_open_documents(&mut inputs, sources);
        if !fleet.built_in
            && let Some(folder) = Path::new(&fleet.name).parent()
        {
            inputs.make_paths_relative_to(if folder.as_os_str().is_empty() { Path::new(".") } else { folder });
        }
        inputs.subjects.retain(|subject| !scan::has_no_matching_pool(subject, &fleet, self.knowledge));
        let loaded = settings.into_inner().unwrap_or_else(PoisonError::into_inner);
        let run = JudgingRun {
            fleet: &fleet,
            options: &judging,
            knowledge: self.knowledge,
            sources,
            settings: Some(RunSettings { loaded: &loaded, whole: &[] }),
            command: "lsp",
        };
        let detail = if depth == AnalysisLevel::Facts { ReportDetail::Everything } else { ReportDetail::Verdicts };
        let book = own.as_ref().unwrap_or(RuleBook::built_in());
        let judge = Judge::new(run, &inputs.subjects, book, detail);
        let mut sieve = BaselineFilter::new(&judging, sources, book)?;
        let mut report = judge.report_head(inputs.errors);
        report.subjects = inputs.subjects.iter().map(|subject| sieve.filter_subject(judge.judge(subject))).collect();
        drop(sieve);
        judged.report = Some(report);
        Ok(())
    }

    /// Replaces files that a build reads from disk by the texts of open documents.
    fn use_open_documents(self, inputs: &mut CommandInputs, sources: &mut Sources) {
        for subject in &mut inputs.subjects {
            let SubjectContent::Dockerfile { files, .. } = &mut subject.content else { continue };
            let read: Vec<_> =
                files.requested_files().filter_map(|(_, file)| file.as_ref().ok()).map(|file| file.source).collect();
            for id in read {
                let name = sources.get(id).name().to_owned();
                let Some(text) = self.open.text(&self.folder.join(&name)) else { continue };
                if let Some(with) = files.with_text(id, &Arc::from(text)) {
                    *files = with;
                    sources.replace(id, SourceText::new(name, text));
                }
            }
        }
    }
}

/// Reason why a document was not judged.
enum DocumentError {
    /// The error message.
    Message(String),
    /// Errors in the fleet file at a path.
    Fleet(PathBuf, FleetErrors),
}

impl From<CommandError> for DocumentError {
    fn from(failure: CommandError) -> Self {
        Self::Message(match failure {
            CommandError::Message(text) => text,
            CommandError::Pipe => "a pipe was closed".to_owned(),
        })
    }
}

/// Returns the errors of a fleet file with file name, span and message.
fn fleet_mistakes(path: &Path, errors: &FleetErrors) -> Vec<(String, crate::text::source::Span, String)> {
    let mistake = |problem: &crate::knowledge::toml_reader::Problem| {
        let help = problem.help.as_ref().map_or_else(String::new, |help| format!("\nhelp: {help}"));
        (path.display().to_string(), problem.span, format!("{}{help}", problem.message))
    };
    errors.all().iter().map(mistake).collect()
}
