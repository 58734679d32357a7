//! Requirement lists that tools export from a lock file or a project, traced back to their source files.

use crate::build::{Command, Word};
use crate::dockerfile::{ExpandedText, MappedText};
use crate::install::context::{CommandContext, OpenedFile};
use crate::install::dependency_selection::DependencySelection;
use crate::install::effects::{InstallEffects, PackageInstall};
use crate::install::package_index::IndexOptions;
use crate::install::{project_tools, pyproject};
use crate::knowledge::Knowledge;
use crate::model::cause::Cause;
use crate::model::package::{PackageName, PackageVersion};

/// Options of these tools that take a value and select no package.
const OPTIONS_WITH_VALUE: &[&str] = &[
    "-f",
    "--format",
    "-o",
    "--output",
    "--output-file",
    "--python-version",
    "--python-platform",
    "--python",
    "-p",
    "-c",
    "--constraint",
    "--resolver",
    "--annotation-style",
    "--custom-compile-command",
    "--cache-dir",
];

/// What an export command does, by its subcommand.
enum ExportTask<'a> {
    /// Exports a lock file; contains the tool and its arguments.
    Lock(&'a str, &'a [Word]),
    /// Resolves requirement lists and projects to exact versions; contains the arguments.
    Compile(&'a [Word]),
}

/// Returns what an export command does; `None` for other commands.
fn export_task(command: &Command) -> Option<ExportTask<'_>> {
    let known = |at: usize| command.words.get(at).and_then(Word::known).unwrap_or("");
    let after = |at: usize| command.words.get(at..).unwrap_or_default();
    let program = command.program()?;
    match (program, known(1), known(2)) {
        ("poetry" | "pdm" | "uv", "export", _) | ("pipenv", "requirements", _) => {
            Some(ExportTask::Lock(program, after(2)))
        }
        ("uv", "pip", "compile") => Some(ExportTask::Compile(after(3))),
        ("pip-compile", ..) => Some(ExportTask::Compile(after(1))),
        (_, "-m", "piptools") if program.starts_with("python") && known(3) == "compile" => {
            Some(ExportTask::Compile(after(4)))
        }
        _ => None,
    }
}

/// Returns the file that an export command writes besides standard output, and its contents; `None` if it writes
/// none.
pub fn exported_file(
    command: &Command,
    context: &CommandContext<'_>,
) -> Option<(ExpandedText, Result<Vec<OpenedFile>, Cause>)> {
    let task = export_task(command)?;
    let (ExportTask::Lock(_, words) | ExportTask::Compile(words)) = &task;
    let named = option_word(words, &["-o", "--output", "--output-file"]).map(|word| word.value.clone());
    let file = named.or_else(|| inline_value(words, &["--output", "--output-file"]));
    let file = file.or_else(|| matches!(command.program(), Some("pip-compile")).then(|| default_output_file(words)))?;
    Some((file, export_output(command, context)?))
}

/// Returns what an export command writes to standard output; `None` for other commands.
pub(super) fn export_output(command: &Command, context: &CommandContext<'_>) -> Option<Result<Vec<OpenedFile>, Cause>> {
    Some(match export_task(command)? {
        ExportTask::Lock(tool, words) => exported_lock(tool, words, command, context),
        ExportTask::Compile(words) => compiled_requirements(words, context),
    })
}

/// Converts the arguments of `pip-sync` to those of pip, with `requirements.txt` as the default file.
pub(super) fn pip_sync_arguments(words: &[Word]) -> Vec<Word> {
    let word =
        |text: &str, like: &Word| Word { value: ExpandedText::literal(text), raw: text.to_owned(), ..like.clone() };
    let Some(first) = words.first() else { return Vec::new() };
    let rest = words.get(1..).unwrap_or_default();
    let files = rest.iter().any(|word| word.known().is_none_or(|text| !text.starts_with('-')));
    let usual = (!files).then(|| word("requirements.txt", first));
    std::iter::once(word("sync", first)).chain(rest.iter().cloned()).chain(usual).collect()
}

/// Returns the requirement list of the selected parts of a project's lock file.
fn exported_lock(
    tool: &str,
    words: &[Word],
    command: &Command,
    context: &CommandContext<'_>,
) -> Result<Vec<OpenedFile>, Cause> {
    let word = |text: &str| Word {
        value: ExpandedText::literal(text),
        raw: text.to_owned(),
        span: command.span,
        output: None,
    };
    let verb = if matches!(tool, "uv" | "pipenv") { "sync" } else { "install" };
    let mut arguments = vec![word(verb)];
    // poetry writes the main group, and those that are named.
    arguments.extend((tool == "poetry").then(|| word("--no-dev")));
    let mut rest = words.iter();
    while let Some(one) = rest.next() {
        match one.known() {
            Some("--dev") if tool == "poetry" => arguments.extend([word("--with"), word("dev")]),
            Some(text) if OPTIONS_WITH_VALUE.contains(&text) => drop(rest.next()),
            _ => arguments.push(one.clone()),
        }
    }
    let mut found = InstallEffects::default();
    project_tools::read_arguments(tool, &arguments, command, context, &mut found);
    requirement_list(&found, context.knowledge)
}

/// Returns the requirement lists that are resolved to exact versions; an existing output file takes precedence.
fn compiled_requirements(words: &[Word], context: &CommandContext<'_>) -> Result<Vec<OpenedFile>, Cause> {
    let mut sources: Vec<&Word> = Vec::new();
    let mut selection = DependencySelection::default();
    let mut upgrades = false;
    let mut rest = words.iter();
    while let Some(word) = rest.next() {
        let Some(text) = word.known() else {
            return Err(Cause::WriterNotKnown);
        };
        let (name, value) = text.split_once('=').map_or((text, None), |(name, value)| (name, Some(value)));
        upgrades |= matches!(name, "-U" | "--upgrade" | "-P" | "--upgrade-package");
        match name {
            "--all-extras" => selection.all_extras = true,
            "--extra" | "--group" => {
                let value = value.or_else(|| rest.next().and_then(Word::known)).unwrap_or_default();
                selection.extras.extend(value.split(',').map(PackageName::python));
            }
            "-i" | "--index-url" | "--extra-index-url" | "--find-links" | "--index" | "--default-index"
            | "--torch-backend" => {
                return Err(Cause::WriterSelectsIndex);
            }
            _ if text.starts_with('-') => {
                if value.is_none() && OPTIONS_WITH_VALUE.contains(&name) {
                    rest.next();
                }
            }
            _ => sources.push(word),
        }
    }
    let named = option_word(words, &["-o", "--output", "--output-file"]).and_then(Word::known).map(str::to_owned);
    let out = named.or_else(|| inline_value(words, &["--output", "--output-file"])?.known_text().map(str::to_owned));
    // Present pins stay unless the command upgrades them.
    let there = out.filter(|_| !upgrades).and_then(|out| (context.open)("", &out).ok());
    let usual = ["requirements.in", "pyproject.toml"];
    if sources.is_empty() {
        let first = usual.iter().find_map(|path| (context.open)("", path).ok());
        let first = first.ok_or(Cause::SourceNotInContext)?;
        return source_requirements(first, &selection, context).map(|one| vec![there.unwrap_or(one)]);
    }
    let open = |word: &&Word| (context.open)("", word.known().unwrap_or_default());
    let made = |word: &&Word| open(word).and_then(|opened| source_requirements(opened, &selection, context));
    let whole = |word: &Word, why: Cause| Cause::file_not_read(word.known().unwrap_or_default(), why);
    let made: Result<Vec<OpenedFile>, Cause> =
        sources.iter().map(|word| made(word).map_err(|why| whole(word, why))).collect();
    made.map(|made| there.map_or(made, |there| vec![there]))
}

/// Returns the requirement list of one input: the file itself, or the dependencies of a `pyproject.toml`.
fn source_requirements(
    opened: OpenedFile,
    selection: &DependencySelection,
    context: &CommandContext<'_>,
) -> Result<OpenedFile, Cause> {
    match opened.path.rsplit('/').next() {
        Some("pyproject.toml") if pyproject::declares_dependencies(&opened) => {
            let (mut found, mut indexes) = (InstallEffects::default(), IndexOptions::default());
            pyproject::read_dependencies(&opened, false, selection, context, &mut indexes, &mut found);
            requirement_list(&found, context.knowledge)?.into_iter().next().ok_or(Cause::ProjectWithoutRequirements)
        }
        Some("pyproject.toml" | "setup.py" | "setup.cfg") => Err(Cause::ProjectNotSupported),
        _ => Ok(opened),
    }
}

/// Returns a requirement list of some packages, with each line mapped to where its package is written.
fn requirement_list(found: &InstallEffects, knowledge: Knowledge) -> Result<Vec<OpenedFile>, Cause> {
    if let Some(file) = found.files.first() {
        return Err(Cause::file_not_read(
            file.path.known_text().unwrap_or("a file"),
            file.why.clone().unwrap_or(Cause::NotRead),
        ));
    }
    if let Some((ExpandedText::Unresolved { reason, .. }, _)) = found.unresolved.first() {
        return Err((**reason).clone());
    }
    let mut text = MappedText::default();
    let source = found.packages.first().and_then(|one| one.source);
    for package in &found.packages {
        if package.source != source {
            return Err(Cause::SeveralFiles);
        }
        let line = requirement_line(package, knowledge)?;
        let last = line.char_indices().next_back().map_or(0, |(at, _)| at);
        for (at, c) in line.char_indices() {
            let place = if at == last { package.span.end.saturating_sub(1) } else { package.span.start };
            text.push(c.encode_utf8(&mut [0; 4]), place);
        }
        text.push("\n", package.span.end);
    }
    Ok(vec![OpenedFile::new(source, "/dev/stdout", text)])
}

/// Formats a package as a line of a requirement file.
fn requirement_line(package: &PackageInstall, knowledge: Knowledge) -> Result<String, Cause> {
    let extras = if package.requirement.extras.is_empty() {
        String::new()
    } else {
        format!("[{}]", package.requirement.extras.join(","))
    };
    let version = match &package.requirement.version {
        PackageVersion::Exact(version) => {
            let tag = package.variant.as_ref().filter(|_| version.local().is_none());
            format!("=={version}{}", tag.map_or_else(String::new, |variant| format!("+{}", variant.tag)))
        }
        PackageVersion::Range(range) => range.to_string(),
        PackageVersion::Unresolved(why)
            if !matches!(why, Cause::VariableWithoutValue | Cause::NotARange { .. })
                && knowledge.framework(&package.requirement.name).is_some() =>
        {
            return Err(why.clone());
        }
        PackageVersion::Unresolved(_) => String::new(),
    };
    // The kernel release is unknown, and so is the result of the marker.
    let marker = if package.conditional { " ; platform_release == \"\"" } else { "" };
    Ok(format!("{}{extras}{version}{marker}", package.requirement.name))
}

/// Returns the word after one of these options.
fn option_word<'w>(words: &'w [Word], names: &[&str]) -> Option<&'w Word> {
    let at = words.iter().position(|word| word.known().is_some_and(|text| names.contains(&text)))?;
    words.get(at + 1)
}

/// Returns the value in the same word as one of these options.
fn inline_value(words: &[Word], names: &[&str]) -> Option<ExpandedText> {
    words.iter().filter_map(Word::known).find_map(|text| {
        let (name, value) = text.split_once('=')?;
        names.contains(&name).then(|| ExpandedText::literal(value))
    })
}

/// Returns the file that `pip-compile` writes by default: `requirements.txt` for `requirements.in`.
fn default_output_file(words: &[Word]) -> ExpandedText {
    let source = words.iter().filter_map(Word::known).find(|text| text.rsplit('.').next() == Some("in"));
    source.map_or_else(
        || ExpandedText::literal("requirements.txt"),
        |source| ExpandedText::literal(format!("{}.txt", source.trim_end_matches(".in"))),
    )
}
