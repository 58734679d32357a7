//! One document judged as `check` would judge its file, with the texts that are open in the place of those on the disk.

use std::path::Path;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::PoisonError;

use crate::cli::Failure;
use crate::cli::args::JudgingArgs;
use crate::cli::baseline::Sieve;
use crate::cli::fleet;
use crate::cli::inputs::Build;
use crate::cli::inputs::Inputs;
use crate::cli::known;
use crate::cli::lsp::Options;
use crate::cli::output;
use crate::cli::output::Judge;
use crate::cli::output::Run;
use crate::cli::readers;
use crate::cli::readers::Reader;
use crate::cli::settings;
use crate::cli::settings::Held;
use crate::cli::settings::Loaded;
use crate::cli::texts::MAX_TEXT;
use crate::cli::texts::read_text;
use crate::cli::walk::Found;
use crate::cli::workloads;
use crate::fleet::Fleet;
use crate::fleet::FleetErrors;
use crate::judge::Content;
use crate::judge::Detail;
use crate::knowledge::Knowledge;
use crate::lsp::Depth;
use crate::lsp::Judged;
use crate::lsp::Open;
use crate::rules::RuleBook;
use crate::source::SourceText;
use crate::source::Sources;

/// What a judgement hangs on beside the document itself.
#[derive(Clone, Copy)]
pub(super) struct Around<'a> {
    pub(super) options: &'a Options<'a>,
    pub(super) knowledge: Knowledge,
    pub(super) folder: &'a Path,
    pub(super) open: &'a Open,
    /// The document, as named from the folder.
    pub(super) name: Option<&'a Path>,
}

/// What is judged: texts by their names, some of them in the place of what they read.
type Texts<'a> = Vec<(String, String, Option<&'a Reader>)>;

/// Whether a file may be a list of packages or a script that a Dockerfile reads.
pub(super) fn may_be_list(path: &Path) -> bool {
    readers::is_list(path)
}

impl Around<'_> {
    /// The mistakes of a fleet file.
    pub(super) fn fleet_file(self, name: &Path, text: &str) -> Judged {
        let text = SourceText::new(name.display().to_string(), text);
        let mut judged = Judged::default();
        if let Err(errors) = fleet::of_text(&text, judged.sources.add(text.clone()), self.knowledge) {
            judged.mistakes = mistakes(name, &errors);
        }
        judged
    }

    /// The document itself.
    pub(super) fn file(self, text: &str, depth: Depth) -> Judged {
        let name = self.name.map_or_else(|| "-".to_owned(), |name| name.display().to_string());
        self.texts(vec![(name, text.to_owned(), None)], depth)
    }

    /// The Dockerfiles that read a file.
    pub(super) fn readers(self, name: &Path) -> Vec<Reader> {
        let mut sources = Sources::default();
        let Ok(loaded) = self.loaded(&mut sources) else { return Vec::new() };
        let judging = loaded.under(&self.options.judging, &sources).unwrap_or_else(|_| self.options.judging.clone());
        let settings = Mutex::new(loaded);
        let (found, _) = readers::instead(vec![Found::File(name.to_path_buf())], &self.build(&judging, &settings));
        let reader = |found| match found {
            Found::Reader(reader) => Some(reader),
            Found::File(_) | Found::Standard | Found::Error(..) => None,
        };
        found.into_iter().filter_map(reader).collect()
    }

    /// Judges the Dockerfiles that stand for a file.
    pub(super) fn readers_judged(self, readers: &[Reader], depth: Depth) -> Judged {
        let text = |reader: &Reader| match self.open.text(&self.folder.join(&reader.path)) {
            Some(text) => Some(text.to_owned()),
            None => read_text(&reader.path, MAX_TEXT).ok(),
        };
        let named =
            readers.iter().filter_map(|reader| Some((reader.path.display().to_string(), text(reader)?, Some(reader))));
        self.texts(named.collect(), depth)
    }

    /// The pools of the fleet that holds for the document.
    pub(super) fn pools(self) -> Vec<String> {
        let mut sources = Sources::default();
        let judging = self.loaded(&mut sources).and_then(|loaded| loaded.under(&self.options.judging, &sources));
        let Ok(judging) = judging else { return Vec::new() };
        match self.fleet(&judging, &mut sources) {
            Ok(fleet) => fleet.pools.into_iter().map(|pool| pool.name.value).collect(),
            Err(_) => Vec::new(),
        }
    }

    /// The names of all rules that hold for the document.
    pub(super) fn rules(self) -> Vec<String> {
        let mut sources = Sources::default();
        let judging = self.loaded(&mut sources).and_then(|loaded| loaded.under(&self.options.judging, &sources));
        let own = judging.and_then(|judging| output::own_rules(&judging)).ok().flatten();
        own.as_ref().unwrap_or(RuleBook::built_in()).pages().map(|page| page.name.clone()).collect()
    }

    /// Where settings and fleet are looked for: a file that was never saved has a folder at least.
    fn first(self) -> Option<PathBuf> {
        let name = self.name?;
        name.ancestors().find(|path| path.exists()).map(Path::to_path_buf)
    }

    fn loaded(self, sources: &mut Sources) -> Result<Loaded, Failure> {
        Loaded::new(&self.options.judging.config, self.first().as_deref(), sources)
    }

    fn build<'a>(&'a self, judging: &JudgingArgs, settings: &'a Mutex<Loaded>) -> Build<'a> {
        let (args, set) = (&self.options.build, self.options.set);
        Build { args, set, stdin_filename: None, jobs: judging.jobs(), settings, knowledge: self.knowledge }
    }

    /// The fleet as it stands in the editor, or on the disk.
    fn fleet(self, judging: &JudgingArgs, sources: &mut Sources) -> Result<Fleet, Refused> {
        let first = self.first();
        let Some(path) = fleet::place(judging, first.as_deref()) else {
            return fleet::load(judging, first.as_deref(), self.knowledge, sources).map_err(Refused::from);
        };
        let unsaved = self.open.text(&self.folder.join(&path));
        let text = match unsaved {
            Some(text) => text.to_owned(),
            None => read_text(&path, MAX_TEXT)
                .map_err(|error| Refused::Said(format!("cannot read the fleet file {}: {error}", path.display())))?,
        };
        let text = SourceText::new(path.display().to_string(), text);
        let source = sources.add(text.clone());
        let fleet = fleet::of_text(&text, source, self.knowledge).map_err(|errors| Refused::Fleet(path, errors))?;
        fleet::asked(judging, &fleet)?;
        Ok(fleet)
    }

    /// Judges some texts, and says why where that cannot be.
    fn texts(self, texts: Texts<'_>, depth: Depth) -> Judged {
        let mut judged = Judged::default();
        match self.judge(texts, depth, &mut judged) {
            Ok(()) => {}
            Err(Refused::Said(why)) => judged.refused = Some(format!("not checked: {}", why.trim())),
            Err(Refused::Fleet(path, errors)) => {
                judged.refused = Some(format!("not checked: {errors}"));
                judged.mistakes = mistakes(&path, &errors);
            }
        }
        judged
    }

    fn judge(self, texts: Texts<'_>, depth: Depth, judged: &mut Judged) -> Result<(), Refused> {
        let sources = &mut judged.sources;
        let loaded = self.loaded(sources)?;
        let mut judging = loaded.under(&self.options.judging, sources)?;
        judging.show_fixes = depth == Depth::Fixes;
        let fleet = self.fleet(&judging, sources)?;
        let settings = Mutex::new(loaded);
        let build = self.build(&judging, &settings);
        let mut inputs = Inputs::default();
        for (name, text, reader) in texts {
            inputs.given(&name, text, reader, &build, sources);
        }
        settings::of_inputs(&settings, &mut inputs.subjects, &fleet, sources)?;
        let own = output::own_rules(&judging)?;
        settings::known(&settings::lock(&settings), own.as_ref(), &fleet, &self.options.judging)?;
        known::add(&mut inputs, self.first().as_deref(), None, &build, sources);
        self.unsaved(&mut inputs, sources);
        if !fleet.built_in
            && let Some(folder) = Path::new(&fleet.name).parent()
        {
            inputs.seen_from(if folder.as_os_str().is_empty() { Path::new(".") } else { folder });
        }
        inputs.subjects.retain(|subject| !workloads::unplaced(subject, &fleet, self.knowledge));
        let loaded = settings.into_inner().unwrap_or_else(PoisonError::into_inner);
        let run = Run {
            fleet: &fleet,
            options: &judging,
            knowledge: self.knowledge,
            sources,
            settings: Some(Held { loaded: &loaded, whole: &[] }),
            command: "lsp",
        };
        let detail = if depth == Depth::Facts { Detail::Everything } else { Detail::Verdicts };
        let book = own.as_ref().unwrap_or(RuleBook::built_in());
        let judge = Judge::new(run, &inputs.subjects, book, detail);
        let mut sieve = Sieve::new(&judging, sources, book)?;
        let mut report = judge.head(inputs.errors);
        report.subjects = inputs.subjects.iter().map(|subject| sieve.pass(judge.judge(subject))).collect();
        drop(sieve);
        judged.report = Some(report);
        Ok(())
    }

    /// Puts what is open in the place of what a build reads from the disk.
    fn unsaved(self, inputs: &mut Inputs, sources: &mut Sources) {
        for subject in &mut inputs.subjects {
            let Content::Dockerfile { files, .. } = &mut subject.content else { continue };
            let read: Vec<_> =
                files.asked().filter_map(|(_, file)| file.as_ref().ok()).map(|file| file.source).collect();
            for id in read {
                let name = sources.get(id).name().to_owned();
                let Some(text) = self.open.text(&self.folder.join(&name)) else { continue };
                if let Some(with) = files.with(id, &Arc::from(text)) {
                    *files = with;
                    sources.replace(id, SourceText::new(name, text));
                }
            }
        }
    }
}

/// Why nothing was judged.
enum Refused {
    Said(String),
    Fleet(PathBuf, FleetErrors),
}

impl From<Failure> for Refused {
    fn from(failure: Failure) -> Self {
        Self::Said(match failure {
            Failure::Said(text) => text,
            Failure::Pipe => "a pipe was closed".to_owned(),
        })
    }
}

fn mistakes(path: &Path, errors: &FleetErrors) -> Vec<(String, crate::source::Span, String)> {
    let told = |problem: &crate::toml_reader::Problem| {
        let help = problem.help.as_ref().map_or_else(String::new, |help| format!("\nhelp: {help}"));
        (path.display().to_string(), problem.span, format!("{}{help}", problem.message))
    };
    errors.all().iter().map(told).collect()
}
