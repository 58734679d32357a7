//! Requirement files of pip and uv: their lines, options for the whole command, and the files that they include.

use std::collections::BTreeSet;
use std::ops::Range;

use crate::dockerfile::{ExpandedText, MappedText};
use crate::install::context::{CommandContext, OpenedFile};
use crate::install::dependency_selection::DependencySelection;
use crate::install::effects::{InstallEffects, RequirementFile};
use crate::install::lock_file::{is_pylock_file, read_pylock};
use crate::install::marker::evaluate_marker;
use crate::install::package_index::{IndexAddress, IndexOptions, apply_index_option};
use crate::install::requirement::{
    has_unknown_dependencies, known_address_end, parse_partial_wheel_url, parse_requirement, set_source,
};
use crate::install::{pyproject, setuptools};
use crate::model::cause::Cause;
use crate::model::package::{PackageName, PackageVersion};
use crate::text::source::Span;

/// One logical line of a requirement file: continuation lines joined, without comments.
#[derive(Clone, Debug, PartialEq, Eq)]
enum RequirementLine {
    /// A requirement, without its hashes and its marker.
    Requirement {
        /// The requirement as written.
        text: String,
        /// The environment marker after the semicolon.
        marker: Option<String>,
        /// Where the requirement is written.
        range: Range<usize>,
    },
    /// An option, with its value if it has one.
    Option {
        /// Such as `--index-url`.
        name: String,
        /// What follows it.
        value: Option<String>,
        /// Where both are written.
        range: Range<usize>,
    },
}

/// Byte order mark, which some editors write at the beginning of a file.
const BYTE_ORDER_MARK: char = '\u{feff}';

/// Parses the lines of a requirement file; ranges refer to the text of the file.
fn parse_requirement_lines(text: &str) -> Vec<RequirementLine> {
    let mut out = Vec::new();
    let mut start = 0;
    for raw in text.split_inclusive('\n') {
        let begins = start;
        start += raw.len();
        let ends_open = text.get(..begins).is_some_and(ends_with_continuation);
        if !ends_open {
            // The mark at the beginning of a file is no part of its first line.
            let mark = if begins == 0 && text.starts_with(BYTE_ORDER_MARK) { BYTE_ORDER_MARK.len_utf8() } else { 0 };
            parse_line(&logical_line(text, begins + mark), &mut out);
        }
    }
    out
}

/// Whether a text ends in a line that continues on the next one.
fn ends_with_continuation(before: &str) -> bool {
    let line = before.strip_suffix('\n').map(|line| line.strip_suffix('\r').unwrap_or(line));
    line.is_some_and(|line| line.ends_with('\\') && !is_comment_line(line))
}

/// Whether the last line of a text is only a comment.
fn is_comment_line(line: &str) -> bool {
    line.rsplit('\n').next().is_some_and(|last| last.trim_start().starts_with('#'))
}

/// Returns a line joined with its continuation lines.
fn logical_line(text: &str, begins: usize) -> MappedText {
    let mut out = MappedText::default();
    let mut at = begins;
    for raw in text.get(begins..).unwrap_or("").split_inclusive('\n') {
        let line = raw.trim_end_matches(['\n', '\r']);
        let open = line.ends_with('\\') && !is_comment_line(line);
        out.push(if open { &line[..line.len() - 1] } else { line }, at);
        at += raw.len();
        if !open {
            break;
        }
    }
    out
}

/// Parses a logical line.
fn parse_line(line: &MappedText, out: &mut Vec<RequirementLine>) {
    let text = line.text();
    let comment = if text.trim_start().starts_with('#') { Some(0) } else { comment_start(text) };
    let text = &text[..comment.unwrap_or(text.len())];
    let body = text.trim();
    let Some(first) = text.find(|c: char| !c.is_whitespace()) else { return };
    let place = |range: Range<usize>| {
        let span = line.source_span(range);
        span.start..span.end
    };
    if body.starts_with('-') {
        let (name, value) = parse_option(body);
        out.push(RequirementLine::Option { name, value, range: place(first..first + body.len()) });
        return;
    }
    // The hashes and other options of a requirement follow it.
    let end = body.find(" --").unwrap_or(body.len());
    let body = body[..end].trim_end();
    let (requirement, marker) = match body.split_once(" ;").or_else(|| split_marker(body)) {
        Some((requirement, marker)) => (requirement.trim_end(), Some(marker.trim().to_owned())),
        None => (body, None),
    };
    let range = place(first..first + requirement.len());
    out.push(RequirementLine::Requirement { text: requirement.to_owned(), marker, range });
}

/// Splits off the marker after a semicolon, except in a URL, which may contain semicolons.
fn split_marker(body: &str) -> Option<(&str, &str)> {
    if body.contains("://") { None } else { body.split_once(';') }
}

/// Returns where a comment begins: at a `#` after a blank.
fn comment_start(text: &str) -> Option<usize> {
    text.match_indices('#').map(|(at, _)| at).find(|at| {
        at.checked_sub(1).and_then(|before| text.as_bytes().get(before)).is_some_and(u8::is_ascii_whitespace)
    })
}

/// Splits an option line into name and value.
fn parse_option(body: &str) -> (String, Option<String>) {
    let end = body.find([' ', '\t', '=']).unwrap_or(body.len());
    let (name, rest) = body.split_at(end);
    if end == body.len() && !name.starts_with("--") && name.len() > 2 {
        let (name, value) = name.split_at(name.char_indices().nth(2).map_or(name.len(), |(at, _)| at));
        return (name.to_owned(), Some(value.to_owned()));
    }
    let value = rest.trim_start_matches([' ', '\t', '=']).trim().trim_matches(['"', '\'']);
    (name.to_owned(), (!value.is_empty()).then(|| value.to_owned()))
}

/// Function that reads the requirements in a file of setuptools.
type SetupReader = fn(&OpenedFile, &[PackageName], &CommandContext<'_>) -> setuptools::SetupRequirements;

/// Maximum depth of nested includes.
const MAX_DEPTH: usize = 8;
/// Maximum number of files that are read for one command.
const MAX_FILES: usize = 64;

/// Reads the files that a command names; files that cannot be read stay in the list, with the reason.
pub(super) fn read_named_files(
    uv: bool,
    context: &CommandContext<'_>,
    variable: &dyn Fn(&str) -> Option<String>,
    fed: GeneratedRequirements,
    indexes: &mut IndexOptions,
    found: &mut InstallEffects,
) {
    let named_files = std::mem::take(&mut found.files);
    let mut walk = RequirementFileReader { uv, context, variable, indexes, found, seen: BTreeSet::new() };
    for file in named_files {
        walk.read_file("", file, 0);
    }
    for (text, constraint) in &fed.texts {
        walk.read_lines(text, *constraint, 0);
    }
    found.files.extend(fed.unread);
}

/// Reads the files that another file names, relative to the folder of that file.
pub(super) fn read_included_files(
    folder: &str,
    files: Vec<RequirementFile>,
    context: &CommandContext<'_>,
    indexes: &mut IndexOptions,
    found: &mut InstallEffects,
) {
    let mut walk =
        RequirementFileReader { uv: false, context, variable: &|_| None, indexes, found, seen: BTreeSet::new() };
    for file in files {
        walk.read_file(folder, file, 1);
    }
}

/// State of reading requirement files and the files that they include.
struct RequirementFileReader<'a, 'b> {
    /// Whether the command is uv rather than pip.
    uv: bool,
    context: &'a CommandContext<'b>,
    /// Returns the value of an environment variable.
    variable: &'a dyn Fn(&str) -> Option<String>,
    indexes: &'a mut IndexOptions,
    found: &'a mut InstallEffects,
    /// Paths that were already read, each with whether as constraints.
    seen: BTreeSet<(String, bool)>,
}

impl RequirementFileReader<'_, '_> {
    /// Reads one file; a `pyproject.toml` as a project.
    fn read_file(&mut self, folder: &str, mut file: RequirementFile, depth: usize) {
        match self.open_file(folder, &file, depth) {
            Ok(Some(opened)) if opened.path.ends_with("pyproject.toml") => {
                if pyproject::declares_dependencies(&opened) {
                    let all_extras = file.extras.iter().any(|one| *one == "*");
                    let parts =
                        DependencySelection { all_extras, extras: file.extras, ..DependencySelection::default() };
                    pyproject::read_dependencies(&opened, self.uv, &parts, self.context, self.indexes, self.found);
                } else {
                    let _read: bool = self.read_setuptools_files(folder, &file);
                }
            }
            // What a command generates is a list of requirements here, whatever its format.
            Ok(Some(opened)) if is_pylock_file(&opened.path) && opened.text.text().contains("lock-version") => {
                if let Some(packages) = read_pylock(&opened, self.context) {
                    let to = if file.constraint { &mut self.found.constraints } else { &mut self.found.packages };
                    to.extend(packages);
                } else {
                    file.why = Some(Cause::NotOfFormat { tool: "pylock.toml".to_owned() });
                    self.found.files.push(file);
                }
            }
            Ok(Some(opened)) => self.read_lines(&opened, file.constraint, depth),
            Ok(None) => {}
            Err(_) if self.read_setuptools_files(folder, &file) => {}
            Err(why) => {
                file.why = Some(why);
                self.found.files.push(file);
            }
        }
    }

    /// Reads `setup.cfg` and `setup.py` next to a `pyproject.toml` without dependencies; returns whether one was
    /// found.
    fn read_setuptools_files(&mut self, folder: &str, file: &RequirementFile) -> bool {
        let place = file.path.known_text().and_then(|path| path.strip_suffix("pyproject.toml"));
        let Some(place) = place else { return false };
        let mut read = false;
        for (name, reader) in
            [("setup.cfg", setuptools::read_setup_cfg as SetupReader), ("setup.py", setuptools::read_setup_py)]
        {
            let path = format!("{place}{name}");
            let Ok(opened) = (self.context.open)(folder, &path) else { continue };
            read = true;
            match reader(&opened, &file.extras, self.context) {
                Ok(packages) => self.found.packages.extend(packages),
                Err(why) => {
                    let (path, why) =
                        (ExpandedText::literal(path), Some(Cause::InstallsNotKnown { because: Box::new(why) }));
                    self.found.files.push(RequirementFile { path, why, ..file.clone() });
                }
            }
        }
        read
    }

    /// Opens a file; `None` if it was already read.
    fn open_file(&mut self, folder: &str, file: &RequirementFile, depth: usize) -> Result<Option<OpenedFile>, Cause> {
        let path = match &file.path {
            ExpandedText::Known { value, .. } => value,
            ExpandedText::Unresolved { reason, .. } => return Err((**reason).clone()),
        };
        if path.contains("://") {
            return Err(Cause::OnNetwork);
        }
        if depth > MAX_DEPTH || self.seen.len() > MAX_FILES {
            return Err(Cause::TooManyIncludes);
        }
        let opened = (self.context.open)(folder, path)?;
        Ok(self.seen.insert((opened.path.clone(), file.constraint)).then_some(opened))
    }

    /// Reads the lines of a requirement file.
    fn read_lines(&mut self, opened: &OpenedFile, constraint: bool, depth: usize) {
        let folder = opened.path.rsplit_once('/').map_or("/", |(folder, _)| folder);
        for line in opened.kept.get_or_parse(|| parse_requirement_lines(opened.text.text())).iter() {
            match line {
                RequirementLine::Requirement { text, marker, range } => {
                    let span = opened.text.source_span(range.clone());
                    self.add_requirement(text, marker.as_deref(), constraint, span, opened);
                }
                RequirementLine::Option { name, value, range } => {
                    let span = opened.text.source_span(range.clone());
                    self.apply_option(name, value.clone(), constraint, span, folder, opened, depth);
                }
            }
        }
    }

    /// Adds a requirement to the packages or to the constraints.
    fn add_requirement(&mut self, text: &str, marker: Option<&str>, constraint: bool, span: Span, opened: &OpenedFile) {
        let expanded = expand_variables(text, self.variable);
        let holds = marker.map(|marker| evaluate_marker(marker, self.context.environment));
        let sources = expanded.as_deref().filter(|text| has_unknown_dependencies(text, self.context.knowledge));
        if let Some(text) = sources.filter(|_| !constraint && holds != Some(Some(false))) {
            self.found.sources.push((text.to_owned(), span, opened.source));
        }
        let read = if let Some(text) = &expanded {
            parse_requirement(text, span, self.context.knowledge)
        } else {
            let name = text.split(['=', '<', '>', '~', '!', '$', '{', '@']).next().unwrap_or("");
            let named = || parse_requirement(name, span, self.context.knowledge);
            let named = || named().map(|package| package.with_version(PackageVersion::behind_variable()));
            parse_partial_wheel_url(text, span, self.context.knowledge).or_else(named)
        };
        let Some(mut package) = read else { return };
        match holds {
            Some(Some(false)) => return,
            Some(None) => package.conditional = true,
            Some(Some(true)) | None => {}
        }
        set_source(&mut package, opened);
        if constraint { self.found.constraints.push(package) } else { self.found.packages.push(package) }
    }

    /// Applies an option line: reads an included file, or sets an index.
    #[expect(clippy::too_many_arguments, reason = "one call site")]
    fn apply_option(
        &mut self,
        name: &str,
        value: Option<String>,
        constraint: bool,
        span: Span,
        folder: &str,
        opened: &OpenedFile,
        depth: usize,
    ) {
        let unset = || Cause::NameBehindVariable;
        let expand =
            |raw: &String| expand_variables(raw, self.variable).or_else(|| known_address_end(raw)).ok_or_else(unset);
        let given = value.as_ref().map(|raw| (expand(raw), span));
        let place = |given| IndexAddress::from_option(given, opened.source);
        match name {
            "-r" | "--requirement" | "-c" | "--constraint" => {
                let Some(path) = value else { return };
                let path = ExpandedText::literal(expand_variables(&path, self.variable).unwrap_or(path));
                let constraint = constraint || matches!(name, "-c" | "--constraint");
                self.read_file(
                    folder,
                    RequirementFile { path, constraint, extras: Vec::new(), span, why: None },
                    depth + 1,
                );
            }
            "-i" | "--index-url" => self.indexes.index = given.map(place),
            "--extra-index-url" => self.indexes.extra.extend(given.map(place)),
            "-f" | "--find-links" => self.indexes.links.extend(given.map(place)),
            _ => {
                let _applied: bool = apply_index_option(name, || given, self.indexes);
            }
        }
    }
}

/// Replaces every `${NAME}` by the value of the variable; `None` if one has no value.
fn expand_variables(text: &str, variable: &dyn Fn(&str) -> Option<String>) -> Option<String> {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        let (name, behind) = after.split_once('}')?;
        out.push_str(before);
        out.push_str(&variable(name)?);
        rest = behind;
    }
    out.push_str(rest);
    Some(out)
}

/// Requirement lists that other commands write, and override files.
#[derive(Default)]
pub(super) struct GeneratedRequirements {
    /// The known lists, each with whether it only constrains versions.
    pub(super) texts: Vec<(OpenedFile, bool)>,
    /// Override files.
    pub(super) overrides: Vec<RequirementFile>,
    /// The unknown lists.
    pub(super) unread: Vec<RequirementFile>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn format_lines(text: &str) -> Vec<String> {
        let one = |line: RequirementLine| match line {
            RequirementLine::Requirement { text: own, marker, range } => {
                format!("{own}|{}|{}", marker.unwrap_or_default(), &text[range])
            }
            RequirementLine::Option { name, value, range } => {
                format!("{name} {}|{}", value.unwrap_or_default(), &text[range])
            }
        };
        parse_requirement_lines(text).into_iter().map(one).collect()
    }

    #[test]
    fn ranges_refer_to_the_text() {
        for (text, expected) in [
            ("torch==2.1 # why\r\n", vec!["torch==2.1||torch==2.1"]),
            ("  a ; python_version < '3'\n", vec!["a|python_version < '3'|a"]),
            ("a>=1;sys_platform=='linux'", vec!["a>=1|sys_platform=='linux'|a>=1"]),
            ("a==1 \\\n    --hash=sha256:00 \\\n    --hash=sha256:01\nb", vec!["a==1||a==1", "b||b"]),
            (
                "--index-url https://x/whl/cu121\n",
                vec!["--index-url https://x/whl/cu121|--index-url https://x/whl/cu121"],
            ),
            (
                "--extra-index-url=https://x/whl/cu121",
                vec!["--extra-index-url https://x/whl/cu121|--extra-index-url=https://x/whl/cu121"],
            ),
            ("-rbase.txt\n-c c.txt", vec!["-r base.txt|-rbase.txt", "-c c.txt|-c c.txt"]),
            ("x @ https://h/a#sha256=00", vec!["x @ https://h/a#sha256=00||x @ https://h/a#sha256=00"]),
            ("# a \\\nb\n\n#c\n  # d", vec!["b||b"]),
            ("a\\\n==1\n", vec!["a==1||a\\\n==1"]),
            ("", vec![]),
            ("-", vec!["- |-"]),
            ("\u{e9}\\", vec!["\u{e9}||\u{e9}"]),
        ] {
            assert_eq!(format_lines(text), expected, "{text:?}");
        }
    }
}
