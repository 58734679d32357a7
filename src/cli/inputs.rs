//! Files and folders into subjects.

use std::fs;
use std::io;
use std::io::Read as _;
use std::path::Path;

use ignore::WalkBuilder;

use crate::cli::args::BuildArgs;
use crate::cli::args::BuildSet;
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
}

impl Inputs {
    /// Reads everything at the paths.
    pub(crate) fn read(paths: &[impl AsRef<Path>], build: &Build<'_>, sources: &mut Sources) -> Self {
        let mut inputs = Self::default();
        for path in paths {
            inputs.path(path.as_ref(), build, sources);
        }
        inputs
    }

    fn path(&mut self, path: &Path, build: &Build<'_>, sources: &mut Sources) {
        if path == Path::new("-") {
            let mut text = String::new();
            match io::stdin().take(MAX_TEXT).read_to_string(&mut text) {
                Ok(_) => self.dockerfile("-", text, build, sources),
                Err(error) => self.error("-", format!("cannot read standard input: {error}")),
            }
        } else if path.is_dir() {
            self.folder(path, build, sources);
        } else {
            self.file(path, build, sources);
        }
    }

    fn folder(&mut self, folder: &Path, build: &Build<'_>, sources: &mut Sources) {
        let walk = WalkBuilder::new(folder)
            .hidden(false)
            .filter_entry(|entry| entry.file_name() != ".git")
            .sort_by_file_name(Ord::cmp)
            .build();
        for entry in walk {
            match entry {
                Ok(entry) => {
                    let name = entry.file_name().to_string_lossy();
                    let file = entry.file_type().is_some_and(|kind| kind.is_file());
                    if file && (is_dockerfile(&name) || is_description(&name)) {
                        let path = entry.path();
                        self.file(path.strip_prefix("./").unwrap_or(path), build, sources);
                    }
                }
                Err(error) => self.error(&folder.display().to_string(), error.to_string()),
            }
        }
    }

    fn file(&mut self, path: &Path, build: &Build<'_>, sources: &mut Sources) {
        let name = path.display().to_string();
        let report = Path::new(&name).extension().is_some_and(|extension| extension.eq_ignore_ascii_case("json"));
        let text = match read_text(path, if report { MAX_REPORT } else { MAX_TEXT }) {
            Ok(text) => text,
            Err(error) => return self.error(&name, error),
        };
        if is_description(&name) {
            self.description(&name, text, sources);
        } else if report {
            self.report(&name, &text);
        } else {
            self.dockerfile(&name, text, build, sources);
        }
    }

    fn dockerfile(&mut self, name: &str, text: String, build: &Build<'_>, sources: &mut Sources) {
        let dockerfile = Dockerfile::parse(&text);
        let source = sources.add(SourceText::new(name, text));
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
            return self.target(name, name, source, &dockerfile, options, context, sources);
        }
        for stage in targets {
            let options = target(Some(stage.to_string()));
            self.target(name, name, source, &dockerfile, options, context, sources);
        }
    }

    /// Adds one target of a Dockerfile at `path`.
    #[expect(clippy::too_many_arguments, reason = "what one build is made of")]
    pub(super) fn target(
        &mut self,
        name: &str,
        path: &str,
        source: SourceId,
        dockerfile: &Dockerfile,
        options: EvaluateOptions,
        context: Option<&Path>,
        sources: &mut Sources,
    ) {
        // A file without any stage is told of by its problems.
        if let Err(error @ EvaluateError::UnknownTarget(_)) = dockerfile.evaluate(&options) {
            return self.error(name, error.to_string());
        }
        let files = gather(path, source, dockerfile, &options, context, sources);
        let content = Content::Dockerfile { source, dockerfile: dockerfile.clone(), options, files };
        let (name, path) = (name.to_owned(), path.to_owned());
        self.subjects.push(Subject { name, path, kind: "dockerfile", digest: None, notes: Vec::new(), content });
    }

    fn description(&mut self, name: &str, text: String, sources: &mut Sources) {
        let text = SourceText::new(name, text);
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
