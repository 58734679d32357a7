//! Files and folders into subjects.

use std::fs;
use std::io;
use std::io::Read as _;
use std::path::Path;
use std::path::PathBuf;

use ignore::DirEntry;
use ignore::WalkBuilder;

use crate::cli::args::BuildArgs;
use crate::cli::args::BuildSet;
use crate::cli::parallel;
use crate::cli::render;
use crate::context::Context;
use crate::context::Files;
use crate::context::Gathering;
use crate::describe::Description;
use crate::dockerfile::Dockerfile;
use crate::dockerfile::EvaluateError;
use crate::dockerfile::EvaluateOptions;
use crate::extract;
use crate::judge::Content;
use crate::judge::Subject;
use crate::report::json;
use crate::report::model::InputError;
use crate::source::SourceId;
use crate::source::SourceText;
use crate::source::Sources;

/// No text that a person wrote is longer.
pub(super) const MAX_TEXT: u64 = 4 << 20;
/// Saved reports of large audits may be.
const MAX_REPORT: u64 = 256 << 20;

/// What was found at the paths.
#[derive(Debug, Default)]
pub(crate) struct Inputs {
    /// To judge, in the order of the paths, folders sorted.
    pub(crate) subjects: Vec<Subject>,
    /// What could not be read.
    pub(crate) errors: Vec<InputError>,
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
}

/// Something at a path.
#[derive(Debug)]
enum Found {
    File(PathBuf),
    Standard,
    Error(String, String),
}

/// The text of a file, read as what its name says.
enum Text {
    Dockerfile(Dockerfile, SourceText),
    Description(SourceText),
    Report(String),
}

impl Inputs {
    /// Reads everything at the paths.
    pub(crate) fn read(paths: &[impl AsRef<Path>], build: &Build<'_>, sources: &mut Sources) -> Self {
        let mut inputs = Self::default();
        let files: Vec<Found> = paths.iter().flat_map(|path| found(path.as_ref())).collect();
        let texts = parallel::map(build.jobs, &files, |file| match file {
            Found::File(path) => Some(read_file(path)),
            Found::Standard | Found::Error(..) => None,
        });
        for (file, text) in files.into_iter().zip(texts) {
            match (file, text) {
                (Found::File(path), Some(Ok(text))) => inputs.file(&path.display().to_string(), text, build, sources),
                (Found::File(path), Some(Err(error))) => inputs.error(&path.display().to_string(), error),
                (Found::Error(name, error), _) => inputs.error(&name, error),
                (Found::Standard | Found::File(_), _) => inputs.standard(build, sources),
            }
        }
        inputs
    }

    fn standard(&mut self, build: &Build<'_>, sources: &mut Sources) {
        let name = build.stdin_filename.map_or_else(|| "-".to_owned(), |path| path.display().to_string());
        let mut bytes = Vec::new();
        match io::stdin().take(MAX_TEXT).read_to_end(&mut bytes) {
            Ok(_) => {
                let text = String::from_utf8_lossy(&bytes).into_owned();
                self.dockerfile(&name, Dockerfile::parse(&text), SourceText::new(name.as_str(), text), build, sources);
            }
            Err(error) => self.error(&name, format!("cannot read standard input: {error}")),
        }
    }

    fn file(&mut self, name: &str, text: Text, build: &Build<'_>, sources: &mut Sources) {
        match text {
            Text::Dockerfile(dockerfile, text) => self.dockerfile(name, dockerfile, text, build, sources),
            Text::Description(text) => self.description(name, text, sources),
            Text::Report(text) => self.report(name, &text),
        }
    }

    fn dockerfile(
        &mut self,
        name: &str,
        dockerfile: Dockerfile,
        text: SourceText,
        build: &Build<'_>,
        sources: &mut Sources,
    ) {
        let source = sources.add(text);
        let targets = if build.set.all_targets { dockerfile.leaves() } else { Vec::new() };
        let target = |target: Option<String>| EvaluateOptions {
            build_args: build.args.build_args.iter().cloned().collect(),
            target,
            platforms: build.set.platforms.clone(),
            ..EvaluateOptions::default()
        };
        let context = build.args.context.as_deref();
        if targets.len() < 2 {
            let options = target(build.args.target.clone());
            return self.target(name, name, source, dockerfile, options, context, sources);
        }
        for stage in targets {
            let options = target(Some(stage.to_string()));
            self.target(name, name, source, dockerfile.clone(), options, context, sources);
        }
    }

    /// Adds one target of a Dockerfile at `path`.
    #[expect(clippy::too_many_arguments, reason = "what one build is made of")]
    pub(super) fn target(
        &mut self,
        name: &str,
        path: &str,
        source: SourceId,
        dockerfile: Dockerfile,
        options: EvaluateOptions,
        root: Option<&Path>,
        sources: &mut Sources,
    ) {
        // A file without any stage is told of by its problems.
        if let Some(target) = &options.target
            && !dockerfile.stages.is_empty()
            && dockerfile.stage(target).is_none()
        {
            return self.error(name, EvaluateError::UnknownTarget(target.clone()).to_string());
        }
        let files = gather(path, source, &dockerfile, &options, root, sources);
        let content = Content::Dockerfile { source, dockerfile, options, files };
        let (name, path) = (name.to_owned(), path.to_owned());
        self.subjects.push(Subject { name, path, kind: "dockerfile", digest: None, notes: Vec::new(), content });
    }

    fn description(&mut self, name: &str, text: SourceText, sources: &mut Sources) {
        match Description::read(&text) {
            Ok(description) => {
                let source = sources.add(text);
                let seen = extract::of_description(&description, Some(source), None);
                let content = Content::Fixed(seen);
                let path = name.to_owned();
                self.subjects.push(Subject {
                    name: name.to_owned(),
                    path,
                    kind: "description",
                    digest: None,
                    notes: Vec::new(),
                    content,
                });
            }
            Err(errors) => self.error(name, render(errors.as_ref())),
        }
    }

    /// Every subject of a saved report, to be judged again.
    fn report(&mut self, name: &str, text: &str) {
        let report = match json::read(text) {
            Ok(report) => report,
            Err(error) => return self.error(name, error.to_string()),
        };
        for subject in report.subjects {
            match Description::from_json(subject.description) {
                Ok(description) => {
                    let seen = extract::of_description(&description, None, Some(name));
                    let kind = match subject.kind.as_str() {
                        "dockerfile" => "dockerfile",
                        "image" => "image",
                        _ => "description",
                    };
                    let content = Content::Fixed(seen);
                    let path = subject.name.clone();
                    self.subjects.push(Subject {
                        name: subject.name,
                        path,
                        kind,
                        digest: subject.digest,
                        notes: Vec::new(),
                        content,
                    });
                }
                Err(error) => self.error(name, format!("{}: {error}", subject.name)),
            }
        }
    }

    /// Makes the paths what the pools' patterns of a fleet file in `folder` mean.
    pub(crate) fn seen_from(&mut self, folder: &Path) {
        let Ok(folder) = folder.canonicalize() else { return };
        for subject in &mut self.subjects {
            if let Ok(path) = Path::new(&subject.path).canonicalize()
                && let Ok(inside) = path.strip_prefix(&folder)
            {
                subject.path = inside.display().to_string();
            }
        }
    }

    pub(super) fn error(&mut self, input: &str, message: String) {
        self.errors.push(InputError { input: input.to_owned(), message, location: None });
    }
}

/// The files of the build context that the commands of a Dockerfile read; its own folder where none is named.
fn gather(
    name: &str,
    source: SourceId,
    dockerfile: &Dockerfile,
    options: &EvaluateOptions,
    context: Option<&Path>,
    sources: &mut Sources,
) -> Files {
    let own = (name != "-").then(|| Path::new(name));
    let folder = context.or_else(|| own.and_then(Path::parent));
    let Some(context) = folder.and_then(|folder| Context::new(folder, own)) else { return Files::default() };
    let gathering = Gathering::new(&context, sources);
    // What is copied may hang on the platform.
    let usual = ["linux/amd64".to_owned(), "linux/arm64".to_owned()];
    for platform in options.platforms.iter().chain(&usual) {
        let options = EvaluateOptions { platform: platform.clone(), ..options.clone() };
        if extract::of_dockerfile(source, dockerfile, &options, &gathering).is_err() {
            break;
        }
    }
    gathering.into_files()
}

/// The files at a path, a folder's sorted.
fn found(path: &Path) -> Vec<Found> {
    if path == Path::new("-") {
        return vec![Found::Standard];
    }
    if !path.is_dir() {
        return vec![Found::File(path.to_path_buf())];
    }
    let walk = WalkBuilder::new(path)
        .hidden(false)
        .filter_entry(|entry| entry.file_name() != ".git")
        .sort_by_file_name(Ord::cmp)
        .build();
    let file = |entry: Result<DirEntry, ignore::Error>| match entry {
        Ok(entry) => {
            let name = entry.file_name().to_string_lossy();
            let file = entry.file_type().is_some_and(|kind| kind.is_file());
            let path = entry.path();
            let path = path.strip_prefix("./").unwrap_or(path);
            (file && (is_dockerfile(&name) || is_description(&name))).then(|| Found::File(path.to_path_buf()))
        }
        Err(error) => Some(Found::Error(path.display().to_string(), error.to_string())),
    };
    walk.filter_map(file).collect()
}

fn read_file(path: &Path) -> Result<Text, String> {
    let name = path.display().to_string();
    let report = Path::new(&name).extension().is_some_and(|extension| extension.eq_ignore_ascii_case("json"));
    let text = read_text(path, if report { MAX_REPORT } else { MAX_TEXT })?;
    Ok(if is_description(&name) {
        Text::Description(SourceText::new(name, text))
    } else if report {
        Text::Report(text)
    } else {
        Text::Dockerfile(Dockerfile::parse(&text), SourceText::new(name, text))
    })
}

/// The text of a file, if it is not too long.
pub(super) fn read_text(path: &Path, limit: u64) -> Result<String, String> {
    let file = fs::File::open(path).map_err(|error| error.to_string())?;
    let mut bytes = Vec::new();
    file.take(limit + 1).read_to_end(&mut bytes).map_err(|error| error.to_string())?;
    if u64::try_from(bytes.len()).is_ok_and(|len| len > limit) {
        return Err(format!("longer than {limit} bytes"));
    }
    String::from_utf8(bytes).or_else(|error| Ok(String::from_utf8_lossy(error.as_bytes()).into_owned()))
}

/// `Dockerfile`, `Containerfile`, `Dockerfile.gpu`, `gpu.dockerfile`, in any case.
fn is_dockerfile(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    if [".dockerignore", ".md"].into_iter().any(|ending| name.ends_with(ending)) {
        return false;
    }
    let separated = |rest: &str| rest.is_empty() || rest.starts_with(['.', '_', '-']);
    ["dockerfile", "containerfile"].into_iter().any(|word| {
        name.strip_prefix(word).is_some_and(separated)
            || name.strip_suffix(word).is_some_and(|rest| rest.ends_with(['.', '_', '-']))
    })
}

fn is_description(name: &str) -> bool {
    name.ends_with(".image.toml")
}

#[cfg(test)]
mod tests {
    use super::is_dockerfile;

    #[test]
    fn the_usual_names_are_found_and_no_others() {
        for (name, expected) in [
            ("Dockerfile", true),
            ("dockerfile", true),
            ("Dockerfile.gpu", true),
            ("Dockerfile-gpu", true),
            ("Dockerfile_gpu", true),
            ("gpu.Dockerfile", true),
            ("x.containerfile", true),
            ("Containerfile", true),
            ("Dockerfiles", false),
            ("mydockerfile", false),
            ("Dockerfile.md", false),
            (".dockerignore", false),
            ("Dockerfile.dockerignore", false),
        ] {
            assert_eq!(is_dockerfile(name), expected, "{name}");
        }
    }
}
