//! Files and folders into subjects.
//!
//! Of however many Dockerfiles, the texts are held and little that is made of them. Each is looked into twice: here, for
//! the files of its build context that it asks for ([`Inputs::build_on`]), and by whoever judges it, some at a time and
//! each dropped when it is judged ([`output::judge_and_print`](crate::cli::output::judge_and_print)).

use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::io;
use std::io::BufReader;
use std::path::Path;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering;

use crate::cli::args::BuildArgs;
use crate::cli::args::BuildSet;
use crate::cli::context::above;
use crate::cli::context::built_above;
use crate::cli::gather::gather;
use crate::cli::parallel;
use crate::cli::readers;
use crate::cli::readers::Reader;
use crate::cli::reports;
use crate::cli::settings;
use crate::cli::settings::Loaded;
use crate::cli::spliced::On;
use crate::cli::spliced::Referred;
use crate::cli::texts::MAX_TEXT;
use crate::cli::texts::Text;
use crate::cli::texts::read_file;
use crate::cli::texts::read_limited;
use crate::cli::texts::text_of;
use crate::cli::walk::Choice;
use crate::cli::walk::Found;
use crate::cli::walk::found;
use crate::cluster::Start;
use crate::context::Files;
use crate::describe::Description;
use crate::describe::DescriptionErrors;
use crate::dockerfile::Dockerfile;
use crate::dockerfile::EvaluateError;
use crate::dockerfile::EvaluateOptions;
use crate::dockerfile::OnDemand;
use crate::dockerfile::no_text;
use crate::extract;
use crate::extract::Bases;
use crate::judge::Content;
use crate::judge::Early;
use crate::judge::Subject;
use crate::knowledge::Knowledge;
use crate::report::model::InputError;
use crate::report::model::Location;
use crate::report::model::Region;
use crate::source::SourceId;
use crate::source::SourceText;
use crate::source::Sources;
use crate::toml_reader::Problems;

/// So many facts are kept of what was seen while files were gathered: what is seen of others is seen anew, so that memory does
/// not grow with the number of files.
const MOST_KEPT: u32 = 16_384;

/// What was found at the paths.
#[derive(Debug, Default)]
pub(crate) struct Inputs {
    /// To judge, in the order of the paths, folders sorted.
    pub(crate) subjects: Vec<Subject>,
    /// What could not be read.
    pub(crate) errors: Vec<InputError>,
    /// Lists of packages that no Dockerfile reads, so that there is nothing to check for them.
    pub(crate) unread: Vec<String>,
    /// Files of folders that are named like Dockerfiles and are no text, with the reason.
    pub(crate) passed: Vec<(String, &'static str)>,
    /// Services that request no GPU, by their names: whether they get one is for their images to say.
    pub(super) unrequested: BTreeSet<String>,
    /// The build context of a subject, by its name, where neither the command line nor the Dockerfile's folder says it.
    pub(super) contexts: BTreeMap<String, PathBuf>,
    /// The builds of files that say how images are built, by their numbers; none for those that could not be read.
    pub(super) referred: Vec<Option<Referred>>,
    /// The builds that a subject stands on, by its name.
    pub(super) on: BTreeMap<String, On>,
}

/// What the command line says of the build.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Build<'a> {
    /// Arguments and target.
    pub(crate) args: &'a BuildArgs,
    /// Platforms and which targets.
    pub(crate) set: &'a BuildSet,
    /// Name of the Dockerfile on standard input.
    pub(crate) stdin_filename: Option<&'a Path>,
    /// How many files to read at once.
    pub(crate) jobs: usize,
    /// What settings say of each file.
    pub(crate) settings: &'a Mutex<Loaded>,
    /// The tables.
    pub(crate) knowledge: Knowledge,
}

impl Build<'_> {
    /// Which files of a folder are taken.
    pub(super) fn choice(&self) -> Choice {
        let loaded = settings::lock(self.settings);
        let found = loaded.of_run().map(|found| &found.settings);
        let list = |list: Option<&Vec<_>>| list.cloned().unwrap_or_default();
        Choice {
            include: list(found.and_then(|settings| settings.include.as_ref())),
            exclude: list(found.and_then(|settings| settings.exclude.as_ref())),
        }
    }

    /// How a Dockerfile is built: as the command line says, else as its settings do.
    fn options(&self, name: &str, sources: &mut Sources) -> EvaluateOptions {
        let mut loaded = settings::lock(self.settings);
        let path = Path::new(name);
        let at = loaded.of_file(path, sources);
        let real = path.canonicalize().ok();
        let own = loaded.at(at, real.as_deref());
        let mut options = EvaluateOptions {
            target: self.args.target.clone(),
            platforms: self.set.platforms.clone(),
            ..EvaluateOptions::new(self.knowledge)
        };
        if let Some(own) = own {
            let args = own.build_args().into_iter();
            options.build_args.extend(args.map(|(name, value)| (name.clone(), value.value.clone())));
            options.target = options.target.or_else(|| own.target().map(|target| target.value.clone()));
            if options.platforms.is_empty() {
                let platforms = own.platforms().unwrap_or_default();
                options.platforms = platforms.iter().map(|platform| platform.value.clone()).collect();
            }
        }
        options.build_args.extend(self.args.build_args.iter().cloned());
        options
    }
}

impl Inputs {
    /// Reads everything at the paths.
    pub(crate) fn read(paths: &[impl AsRef<Path>], build: &Build<'_>, sources: &mut Sources) -> Self {
        let mut inputs = Self::default();
        let choice = build.choice();
        let files: Vec<Found> = paths.iter().flat_map(|path| found(path.as_ref(), &choice)).collect();
        let (files, unread) = readers::instead(files, build);
        inputs.unread = unread;
        let texts = parallel::map(build.jobs, &files, |file| match file {
            Found::File(path) | Found::Reader(Reader { path, .. }) => Some(read_file(path)),
            Found::Standard | Found::Error(..) => None,
        });
        for (file, text) in files.into_iter().zip(texts) {
            match (file, text) {
                // Named on the command line, it is a file that no Dockerfile reads.
                (Found::File(path), Some(Ok(Text::Dockerfile(parsed, text))))
                    if parsed.is_another_thing(&path.to_string_lossy()) =>
                {
                    let given = paths.iter().any(|given| given.as_ref() == path);
                    let name = path.display().to_string();
                    match no_text(text.text()) {
                        Some(why) if given => inputs.error(&name, why.to_owned()),
                        Some(why) => inputs.passed.push((name, why)),
                        None if given => inputs.unread.push(name),
                        None => {}
                    }
                }
                (Found::File(path), Some(Ok(text))) => {
                    inputs.file(&path.display().to_string(), text, build, sources);
                }
                (Found::Reader(reader), Some(Ok(text))) => inputs.reader(reader, text, build, sources),
                (Found::File(path) | Found::Reader(Reader { path, .. }), Some(Err(error))) => {
                    inputs.error(&path.display().to_string(), error);
                }
                (Found::Error(name, error), _) => inputs.error(&name, error),
                (Found::Standard | Found::File(_) | Found::Reader(_), _) => inputs.standard(build, sources),
            }
        }
        inputs
    }

    /// A file with a text that is known, perhaps in the place of files that it reads.
    pub(super) fn given(
        &mut self,
        name: &str,
        text: String,
        reader: Option<&Reader>,
        build: &Build<'_>,
        sources: &mut Sources,
    ) {
        let text = text_of(Path::new(name), text);
        match reader {
            Some(reader) => self.reader(reader.clone(), text, build, sources),
            None => self.file(name, text, build, sources),
        }
    }

    fn standard(&mut self, build: &Build<'_>, sources: &mut Sources) {
        let name = build.stdin_filename.map_or_else(|| "-".to_owned(), |path| path.display().to_string());
        let mut input = BufReader::new(io::stdin());
        let limit = if begins_as_json(&mut input) { reports::LONGEST_PIPED } else { MAX_TEXT };
        match read_limited(input, limit) {
            Ok(text) if is_object(&text) => self.file(&name, Text::Report(reports::of_text(&text)), build, sources),
            Ok(text) => {
                let text = SourceText::new(name.as_str(), text);
                self.dockerfile(&name, OnDemand::new(text.shared()), text, build, sources);
            }
            Err(error) => self.error(&name, format!("cannot read standard input: {error}")),
        }
    }

    fn file(&mut self, name: &str, text: Text, build: &Build<'_>, sources: &mut Sources) {
        match text {
            Text::Dockerfile(dockerfile, text) => self.dockerfile(name, dockerfile, text, build, sources),
            Text::Description(text) => self.description(name, text, sources),
            Text::Report(Ok(report)) => self.report(name, report, sources),
            Text::Report(Err(error)) => self.error(name, error),
        }
    }

    /// A Dockerfile in the place of files that it reads.
    fn reader(&mut self, reader: Reader, text: Text, build: &Build<'_>, sources: &mut Sources) {
        let before = self.subjects.len();
        let notes: Vec<String> = reader.notes().collect();
        let name = reader.path.display().to_string();
        if let Some(context) = reader.context {
            self.contexts.insert(name.clone(), context);
        }
        self.file(&name, text, build, sources);
        for subject in self.subjects.iter_mut().skip(before) {
            subject.notes.extend(notes.iter().cloned());
        }
    }

    fn dockerfile(
        &mut self,
        name: &str,
        dockerfile: OnDemand,
        text: SourceText,
        build: &Build<'_>,
        sources: &mut Sources,
    ) {
        let source = sources.add(text);
        let targets = if build.set.all_targets { dockerfile.leaves() } else { Vec::new() };
        let mut options = build.options(name, sources);
        if build.set.all_targets {
            options.target = None;
        }
        if targets.len() < 2 {
            return self.target(name, name, source, dockerfile, options);
        }
        for stage in targets {
            let options = EvaluateOptions { target: Some(stage.to_string()), ..options.clone() };
            self.target(name, name, source, dockerfile.clone(), options);
        }
    }

    /// Adds one target of a Dockerfile at `path`.
    pub(super) fn target(
        &mut self,
        name: &str,
        path: &str,
        source: SourceId,
        dockerfile: OnDemand,
        options: EvaluateOptions,
    ) {
        if let Some(error) = options.target.as_deref().and_then(|target| unknown(target, &dockerfile.once())) {
            return self.error(name, error);
        }
        if dockerfile.is_too_long() {
            return self.error(name, EvaluateError::TooLong.to_string());
        }
        let (files, bases, early) = (Files::default(), Arc::default(), Early::default());
        let content = Content::Dockerfile { source, dockerfile, options, files, bases, early };
        let (name, path) = (name.to_owned(), path.to_owned());
        self.subjects.push(Subject {
            name,
            path,
            kind: "dockerfile",
            digest: None,
            images: Vec::new(),
            notes: Vec::new(),
            as_of: None,
            only: None,
            start: Start::default(),
            named_at: None,
            content,
        });
    }

    fn description(&mut self, name: &str, text: SourceText, sources: &mut Sources) {
        match Description::read(&text) {
            Ok(description) => {
                let source = sources.add(text);
                let seen = extract::of_description(&description, Some(source), None);
                self.subjects.push(Subject {
                    name: name.to_owned(),
                    path: name.to_owned(),
                    kind: "description",
                    digest: None,
                    images: Vec::new(),
                    notes: Vec::new(),
                    as_of: None,
                    only: None,
                    start: Start::default(),
                    named_at: None,
                    content: Content::Fixed(Box::new(seen)),
                });
            }
            Err(_) if is_fleet(name, text.text()) => self.error(
                name,
                format!(
                    "it is a fleet file (`[[pool]]`), not an image description: use `imagelint fleet check {name}` to \
                     check it, or `--fleet {name}` to check images against it"
                ),
            ),
            Err(errors) => self.mistakes(name, &errors, text, sources),
        }
    }

    /// Every mistake of a description, with its place.
    fn mistakes(&mut self, name: &str, errors: &DescriptionErrors, text: SourceText, sources: &mut Sources) {
        for problem in errors.all() {
            let help = problem.help.as_ref().map_or_else(String::new, |help| format!("; {help}"));
            let location = Location {
                kind: "description".to_owned(),
                path: name.to_owned(),
                label: problem.message.clone(),
                region: Some(Region::of(&text, problem.span)),
                made_by: None,
            };
            let message = format!("{}{help}", problem.message);
            self.errors.push(InputError { input: name.to_owned(), message, location: Some(location) });
        }
        sources.add(text);
    }

    /// Puts what is known of base images under every Dockerfile, and reads the files of its build context that it asks
    /// for: many at once, with the texts in the order of the subjects.
    pub(super) fn build_on(&mut self, known: &Arc<Bases>, build: &Build<'_>, sources: &mut Sources) {
        let spliced = self.spliced(known, sources);
        let kept = AtomicU32::new(0);
        let gathered = parallel::map(build.jobs, &self.subjects, |subject| {
            let known = spliced.get(&subject.name).unwrap_or(known);
            let Content::Dockerfile { source, dockerfile, options, .. } = &subject.content else { return None };
            // Whoever judges it reads it again: all of them at once would be the most of what a run holds.
            let dockerfile = &*dockerfile.once();
            let said = self.contexts.get(&subject.name).map(PathBuf::as_path).or(build.args.context.as_deref());
            let above = (said.is_none() && subject.path != "-").then(|| above(Path::new(&subject.path), dockerfile));
            let above = above.flatten();
            let mut texts = Sources::default();
            let context = said.or(above.as_deref());
            let (files, seen) = gather((&subject.path, *source), dockerfile, options, context, known, &mut texts);
            let seen = seen.filter(|seen| kept.fetch_add(seen.seen.facts.len(), Ordering::Relaxed) < MOST_KEPT);
            Some((files, texts, above, Early::new(seen)))
        });
        for (subject, gathered) in self.subjects.iter_mut().zip(gathered) {
            let Some((found, texts, above, seen)) = gathered else { continue };
            if let Content::Dockerfile { files, bases, early, .. } = &mut subject.content {
                *early = seen;
                *files = found.moved(sources.append(texts));
                *bases = Arc::clone(spliced.get(&subject.name).unwrap_or(known));
            }
            subject.notes.extend(above.as_deref().map(built_above));
        }
    }

    /// Makes the paths what the pools' patterns of a fleet file in `folder` mean.
    pub(crate) fn seen_from(&mut self, folder: &Path) {
        let Ok(folder) = folder.canonicalize() else { return };
        for subject in &mut self.subjects {
            // The path of a saved subject is what it was when it was seen.
            if !matches!(subject.content, Content::Saved(_))
                && let Ok(path) = Path::new(&subject.path).canonicalize()
                && let Ok(inside) = path.strip_prefix(&folder)
            {
                subject.path = inside.display().to_string();
            }
        }
    }

    pub(super) fn error(&mut self, input: &str, message: String) {
        self.errors.push(InputError { input: input.to_owned(), message, location: None });
    }

    /// Adds every error of a TOML file, each at its place.
    pub(super) fn problems(&mut self, text: SourceText, errors: &Problems, sources: &mut Sources) {
        for problem in errors.all() {
            let help = problem.help.as_ref().map_or_else(String::new, |help| format!("; {help}"));
            let (kind, path, region) = ("file".to_owned(), text.name().to_owned(), Region::of(&text, problem.span));
            let location = Location { kind, path, label: String::new(), region: Some(region), made_by: None };
            let message = format!("{}{help}", problem.message);
            self.errors.push(InputError { input: text.name().to_owned(), message, location: Some(location) });
        }
        let _ = sources.add(text);
    }
}

/// That a Dockerfile has no such stage; a file without any stage is told of by its problems.
fn unknown(target: &str, dockerfile: &Dockerfile) -> Option<String> {
    if dockerfile.stages.is_empty() || dockerfile.stage(target).is_some() {
        return None;
    }
    let unknown = EvaluateError::UnknownTarget(target.to_owned());
    let names: Vec<&str> = dockerfile.stages.iter().filter_map(|stage| stage.name.as_deref()).collect();
    let has =
        if names.is_empty() { "its stages have no names".to_owned() } else { format!("it has {}", names.join(", ")) };
    Some(format!("{unknown}; {has}"))
}

/// Whether a file that was meant to describe an image declares pools.
fn is_fleet(name: &str, text: &str) -> bool {
    !name.ends_with(".image.toml") && text.lines().any(|line| line.trim_end().starts_with("[[pool]]"))
}

/// Whether the first letter is that of a JSON object, or of a template.
fn begins_as_json(input: &mut impl io::BufRead) -> bool {
    let first = |bytes: &[u8]| bytes.iter().copied().find(|byte| !byte.is_ascii_whitespace());
    input.fill_buf().ok().and_then(first) == Some(b'{')
}

/// Whether a text is a JSON object, such as a saved report: a template begins with more than one brace, or with a sign.
fn is_object(text: &str) -> bool {
    text.trim_start().strip_prefix('{').is_some_and(|rest| rest.trim_start().starts_with('"'))
}
