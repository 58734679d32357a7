//! Reads the requirement files that a command names, and the files that these include, from the build context.

use std::collections::BTreeSet;

use crate::dockerfile::ExpandedText;
use crate::install::context::{CommandContext, OpenedFile};
use crate::install::dependency_selection::DependencySelection;
use crate::install::effects::{InstallEffects, PackageInstall, RequirementFile};
use crate::install::marker::evaluate_marker;
use crate::install::package_index::{IndexAddress, IndexOptions};
use crate::install::partial_url::known_address_end;
use crate::install::pip_options::apply_index_option;
use crate::install::requirement::{has_unknown_dependencies, parse_partial_wheel_url, parse_requirement, set_source};
use crate::install::requirement_lines::{RequirementLine, parse_requirement_lines};
use crate::install::{pyproject, setuptools};
use crate::model::cause::Cause;
use crate::model::fact::PackageVersion;
use crate::text::source::Span;

/// Function that reads the requirements in a file of setuptools.
type SetupReader = fn(&OpenedFile, &[String], &CommandContext<'_>) -> setuptools::SetupRequirements;

/// Maximum depth of nested includes.
const MAX_DEPTH: usize = 8;
/// Maximum number of files that are read for one command.
const MAX_FILES: usize = 64;

/// Reads the files that a command names; files that cannot be read stay in the list, with the reason.
pub(super) fn read_named_files(
    uv: bool,
    around: &CommandContext<'_>,
    variable: &dyn Fn(&str) -> Option<String>,
    fed: GeneratedRequirements,
    indexes: &mut IndexOptions,
    found: &mut InstallEffects,
) {
    let asked = std::mem::take(&mut found.files);
    let mut walk = RequirementFileReader { uv, around, variable, indexes, found, seen: BTreeSet::new() };
    for file in asked {
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
    around: &CommandContext<'_>,
    indexes: &mut IndexOptions,
    found: &mut InstallEffects,
) {
    let mut walk =
        RequirementFileReader { uv: false, around, variable: &|_| None, indexes, found, seen: BTreeSet::new() };
    for file in files {
        walk.read_file(folder, file, 1);
    }
}

/// State of reading requirement files and the files that they include.
struct RequirementFileReader<'a, 'b> {
    /// Whether the command is uv rather than pip.
    uv: bool,
    around: &'a CommandContext<'b>,
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
                    let all_extras = file.extras.iter().any(|one| one == "*");
                    let parts =
                        DependencySelection { all_extras, extras: file.extras, ..DependencySelection::default() };
                    pyproject::read_dependencies(&opened, self.uv, &parts, self.around, self.indexes, self.found);
                } else {
                    let _read: bool = self.read_setuptools_files(folder, &file);
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
            let Ok(opened) = (self.around.open)(folder, &path) else { continue };
            read = true;
            match reader(&opened, &file.extras, self.around) {
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
        let opened = (self.around.open)(folder, path)?;
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
        let holds = marker.map(|marker| evaluate_marker(marker, self.around.environment));
        let sources = expanded.as_deref().filter(|text| has_unknown_dependencies(text, self.around.knowledge));
        if let Some(text) = sources.filter(|_| !constraint && holds != Some(Some(false))) {
            self.found.sources.push((text.to_owned(), span, opened.source));
        }
        let read = if let Some(text) = &expanded {
            parse_requirement(text, span, self.around.knowledge)
        } else {
            let name = text.split(['=', '<', '>', '~', '!', '$', '{', '@']).next().unwrap_or("");
            let named = || parse_requirement(name, span, self.around.knowledge);
            let named =
                || named().map(|package| PackageInstall { version: PackageVersion::behind_variable(), ..package });
            parse_partial_wheel_url(text, span, self.around.knowledge).or_else(named)
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
        let told =
            |raw: &String| expand_variables(raw, self.variable).or_else(|| known_address_end(raw)).ok_or_else(unset);
        let given = value.as_ref().map(|raw| (told(raw), span));
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
                let _taken: bool = apply_index_option(name, || given, self.indexes);
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
