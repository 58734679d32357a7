//! Reads files and directories as subjects.
//!
//! For each Dockerfile, little more than the text is kept in memory. Each is evaluated twice: here, for the files of
//! its build context that it uses ([`Inputs::gather_build_contexts`]), and when it is judged, a few at a time, each
//! dropped afterwards ([`judge_and_print`](crate::cli::judging::judge_and_print)).

use std::io;
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::cli::build_context::{infer_build_context, inferred_context_note};
use crate::cli::command_inputs::{CommandInputs, InputOptions};
use crate::cli::context_files::gather_context_files;
use crate::cli::file_search::{DiscoveredInput, ReferencingDockerfile, find_inputs};
use crate::cli::input_texts::{InputText, classify_text, read_input};
use crate::cli::text_file::{MAX_TEXT_BYTES, read_limited};
use crate::cli::{parallel, referencing_dockerfiles, saved_reports};
use crate::describe::{DescriptionErrors, ImageDescription};
use crate::dockerfile::{EvaluateOptions, LazyDockerfile, non_text_reason};
use crate::extract;
use crate::extract::KnownBases;
use crate::fleet::cluster::Start;
use crate::judge::{AnalysisSubject, CachedTargetObservations, SubjectContent};
use crate::model::note::Note;
use crate::report::kinds::{LocationKind, SubjectKind};
use crate::report::model::{InputError, Location, Region};
use crate::text::source::{SourceText, Sources};

/// Maximum number of facts that stay in memory from the search for context files. Others are inferred again, so that
/// memory does not grow with the number of files.
const MAX_KEPT_FACTS: u32 = 16_384;

impl CommandInputs {
    /// Reads every file and directory at the paths.
    pub(crate) fn read(paths: &[impl AsRef<Path>], build: &InputOptions<'_>, sources: &mut Sources) -> Self {
        let mut inputs = Self::default();
        let choice = build.file_selection();
        let files: Vec<DiscoveredInput> = paths.iter().flat_map(|path| find_inputs(path.as_ref(), &choice)).collect();
        let (files, unread) = referencing_dockerfiles::replace_lists_by_dockerfiles(files, build);
        inputs.unread = unread;
        let texts = parallel::map(build.jobs, &files, |file| match file {
            DiscoveredInput::File(path) | DiscoveredInput::Reader(ReferencingDockerfile { path, .. }) => {
                Some(read_input(path))
            }
            DiscoveredInput::Standard | DiscoveredInput::Error(..) => None,
        });
        for (file, text) in files.into_iter().zip(texts) {
            match (file, text) {
                // Named on the command line, it is a file that no Dockerfile reads.
                (DiscoveredInput::File(path), Some(Ok(InputText::Dockerfile(parsed, text))))
                    if parsed.is_not_a_dockerfile(&path.to_string_lossy()) =>
                {
                    let given = paths.iter().any(|given| given.as_ref() == path);
                    let name = path.display().to_string();
                    match non_text_reason(text.text()) {
                        Some(why) if given => inputs.add_error(&name, why.to_owned()),
                        Some(why) => inputs.skipped.push((name, why)),
                        None if given => inputs.unread.push(name),
                        None => {}
                    }
                }
                (DiscoveredInput::File(path), Some(Ok(text))) => {
                    inputs.add_file(&path.display().to_string(), text, build, sources);
                }
                (DiscoveredInput::Reader(reader), Some(Ok(text))) => inputs.add_reader(reader, text, build, sources),
                (
                    DiscoveredInput::File(path) | DiscoveredInput::Reader(ReferencingDockerfile { path, .. }),
                    Some(Err(error)),
                ) => {
                    inputs.add_error(&path.display().to_string(), error);
                }
                (DiscoveredInput::Error(name, error), _) => inputs.add_error(&name, error),
                (DiscoveredInput::Standard | DiscoveredInput::File(_) | DiscoveredInput::Reader(_), _) => {
                    inputs.read_standard_input(build, sources);
                }
            }
        }
        inputs
    }

    /// Adds a file whose text is known. With `reader`, the file is a Dockerfile that reads other input files.
    pub(super) fn add_text(
        &mut self,
        name: &str,
        text: String,
        reader: Option<&ReferencingDockerfile>,
        build: &InputOptions<'_>,
        sources: &mut Sources,
    ) {
        let text = classify_text(Path::new(name), text);
        match reader {
            Some(reader) => self.add_reader(reader.clone(), text, build, sources),
            None => self.add_file(name, text, build, sources),
        }
    }

    /// Reads a saved report or a Dockerfile from standard input.
    fn read_standard_input(&mut self, build: &InputOptions<'_>, sources: &mut Sources) {
        let name = build.stdin_filename.map_or_else(|| "-".to_owned(), |path| path.display().to_string());
        let mut input = BufReader::new(io::stdin());
        let limit = if starts_with_brace(&mut input) { saved_reports::MAX_PIPED_BYTES } else { MAX_TEXT_BYTES };
        match read_limited(input, limit) {
            Ok(text) if is_json_object(&text) => {
                self.add_file(&name, InputText::Report(saved_reports::read_report_text(&text)), build, sources);
            }
            Ok(text) => {
                let text = SourceText::new(name.as_str(), text);
                self.add_dockerfile(&name, LazyDockerfile::new(text.shared_text()), text, build, sources);
            }
            Err(error) => self.add_error(&name, format!("cannot read standard input: {error}")),
        }
    }

    /// Adds a Dockerfile, an image description or a saved report.
    fn add_file(&mut self, name: &str, text: InputText, build: &InputOptions<'_>, sources: &mut Sources) {
        match text {
            InputText::Dockerfile(dockerfile, text) => self.add_dockerfile(name, dockerfile, text, build, sources),
            InputText::Description(text) => self.add_description(name, text, sources),
            InputText::Report(Ok(report)) => self.add_report(name, report, sources),
            InputText::Report(Err(error)) => self.add_error(name, error),
        }
    }

    /// Adds a Dockerfile in place of the input files that it reads.
    fn add_reader(
        &mut self,
        reader: ReferencingDockerfile,
        text: InputText,
        build: &InputOptions<'_>,
        sources: &mut Sources,
    ) {
        let before = self.subjects.len();
        let notes: Vec<Note> = reader.notes().map(Note::from).collect();
        let name = reader.path.display().to_string();
        if let Some(context) = reader.context {
            self.contexts.insert(name.clone(), context);
        }
        self.add_file(&name, text, build, sources);
        for subject in self.subjects.iter_mut().skip(before) {
            subject.notes.extend(notes.iter().cloned());
        }
    }

    /// Adds a Dockerfile: its selected target, or all of its final stages.
    fn add_dockerfile(
        &mut self,
        name: &str,
        dockerfile: LazyDockerfile,
        text: SourceText,
        build: &InputOptions<'_>,
        sources: &mut Sources,
    ) {
        let source = sources.add(text);
        let targets = if build.set.all_targets { dockerfile.leaf_stages() } else { Vec::new() };
        let mut options = build.evaluate_options(name, sources);
        if build.set.all_targets {
            options.target = None;
        }
        if targets.len() < 2 {
            return self.add_target(name, name, source, dockerfile, options);
        }
        for stage in targets {
            let options = EvaluateOptions { target: Some(stage.to_string()), ..options.clone() };
            self.add_target(name, name, source, dockerfile.clone(), options);
        }
    }

    /// Adds an image description, or the errors in it.
    fn add_description(&mut self, name: &str, text: SourceText, sources: &mut Sources) {
        match ImageDescription::read(&text) {
            Ok(description) => {
                let source = sources.add(text);
                let seen = extract::observe_description(&description, Some(source), None);
                self.subjects.push(AnalysisSubject {
                    name: name.to_owned(),
                    path: name.to_owned(),
                    kind: SubjectKind::Description,
                    digest: None,
                    images: Vec::new(),
                    notes: Vec::new(),
                    as_of: None,
                    only: None,
                    start: Start::default(),
                    named_at: None,
                    content: SubjectContent::Fixed(Box::new(seen)),
                });
            }
            Err(_) if is_fleet_file(name, text.text()) => self.add_error(
                name,
                format!(
                    "it is a fleet file (`[[pool]]`), not an image description: use `imagelint fleet check {name}` to \
                     check it, or `--fleet {name}` to check images against it"
                ),
            ),
            Err(errors) => self.add_description_errors(name, &errors, text, sources),
        }
    }

    /// Adds every error in an image description, with its location.
    fn add_description_errors(
        &mut self,
        name: &str,
        errors: &DescriptionErrors,
        text: SourceText,
        sources: &mut Sources,
    ) {
        for problem in errors.all() {
            let help = problem.help.as_ref().map_or_else(String::new, |help| format!("; {help}"));
            let location = Location {
                kind: LocationKind::Description,
                path: name.to_owned(),
                label: problem.message.clone(),
                region: Some(Region::from_span(&text, problem.span)),
                made_by: None,
            };
            let message = format!("{}{help}", problem.message);
            self.errors.push(InputError { input: name.to_owned(), message, location: Some(location) });
        }
        sources.add(text);
    }

    /// Assigns the known base images to every Dockerfile, and reads the files of its build context. Works in
    /// parallel, with the texts in the order of the subjects.
    pub(super) fn gather_build_contexts(
        &mut self,
        known: &Arc<KnownBases>,
        build: &InputOptions<'_>,
        sources: &mut Sources,
    ) {
        let spliced = self.bases_of_dependents(known, sources);
        let kept = AtomicU32::new(0);
        let gathered = parallel::map(build.jobs, &self.subjects, |subject| {
            let known = spliced.get(&subject.name).unwrap_or(known);
            let SubjectContent::Dockerfile { source, dockerfile, options, .. } = &subject.content else { return None };
            // It is evaluated again when it is judged: keeping all of them would dominate memory.
            let dockerfile = &*dockerfile.parsed_uncached();
            let explicit_context =
                self.contexts.get(&subject.name).map(PathBuf::as_path).or(build.args.context.as_deref());
            let above = (explicit_context.is_none() && subject.path != "-")
                .then(|| infer_build_context(Path::new(&subject.path), dockerfile));
            let above = above.flatten();
            let mut texts = Sources::default();
            let context = explicit_context.or(above.as_deref());
            let (files, seen) =
                gather_context_files((&subject.path, *source), dockerfile, options, context, known, &mut texts);
            let seen = seen.filter(|seen| kept.fetch_add(seen.seen.facts.len(), Ordering::Relaxed) < MAX_KEPT_FACTS);
            Some((files, texts, above, CachedTargetObservations::new(seen)))
        });
        for (subject, gathered) in self.subjects.iter_mut().zip(gathered) {
            let Some((found, texts, above, seen)) = gathered else { continue };
            if let SubjectContent::Dockerfile { files, bases, cached_target, .. } = &mut subject.content {
                *cached_target = seen;
                *files = found.with_source_ids(sources.append(texts));
                *bases = Arc::clone(spliced.get(&subject.name).unwrap_or(known));
            }
            subject.notes.extend(above.as_deref().map(inferred_context_note).map(Note::from));
        }
    }

    /// Makes the paths of the subjects relative to `folder`, the directory of the fleet file, for the patterns of its
    /// pools.
    pub(crate) fn make_paths_relative_to(&mut self, folder: &Path) {
        let Ok(folder) = folder.canonicalize() else { return };
        for subject in &mut self.subjects {
            // The path of a saved subject is what it was when it was seen.
            if !matches!(subject.content, SubjectContent::Saved(_))
                && let Ok(path) = Path::new(&subject.path).canonicalize()
                && let Ok(inside) = path.strip_prefix(&folder)
            {
                subject.path = inside.display().to_string();
            }
        }
    }
}

/// Whether a file that was read as an image description is a fleet file.
fn is_fleet_file(name: &str, text: &str) -> bool {
    !name.ends_with(".image.toml") && text.lines().any(|line| line.trim_end().starts_with("[[pool]]"))
}

/// Whether the first character is a brace, as in a JSON object or a template.
fn starts_with_brace(input: &mut impl io::BufRead) -> bool {
    let first = |bytes: &[u8]| bytes.iter().copied().find(|byte| !byte.is_ascii_whitespace());
    input.fill_buf().ok().and_then(first) == Some(b'{')
}

/// Whether a text is a JSON object, such as a saved report, and not a template.
fn is_json_object(text: &str) -> bool {
    text.trim_start().strip_prefix('{').is_some_and(|rest| rest.trim_start().starts_with('"'))
}
