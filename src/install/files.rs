//! The files that name what a command installs, opened through the build context.

use std::collections::BTreeSet;

use crate::dockerfile::Resolved;
use crate::install::Around;
use crate::install::Install;
use crate::install::Installs;
use crate::install::Opened;
use crate::install::RequirementFile;
use crate::install::VersionSpec;
use crate::install::address::settled;
use crate::install::index::Indexes;
use crate::install::index::Place;
use crate::install::lock::Parts;
use crate::install::marker::holds;
use crate::install::pip;
use crate::install::pip::Fed;
use crate::install::project;
use crate::install::requirement::is_unknown_source;
use crate::install::requirement::requirement;
use crate::install::requirement::wheel_behind;
use crate::install::requirements::Line;
use crate::install::requirements::lines;
use crate::install::setup;
use crate::source::Span;

type Reader = fn(&Opened, &[String], &Around<'_>) -> setup::Required;

const DEEPEST: usize = 8;
const MOST: usize = 64;

/// Reads the files that a command names; those that cannot be read stay, with the reason.
pub(super) fn follow(
    uv: bool,
    around: &Around<'_>,
    variable: &dyn Fn(&str) -> Option<String>,
    fed: Fed,
    indexes: &mut Indexes,
    found: &mut Installs,
) {
    let asked = std::mem::take(&mut found.files);
    let mut walk = Walk { uv, around, variable, indexes, found, seen: BTreeSet::new() };
    for file in asked {
        walk.file("", file, 0);
    }
    for (text, constraint) in &fed.texts {
        walk.read(text, *constraint, 0);
    }
    found.files.extend(fed.unread);
}

/// Reads the files that another list names, from that list's folder.
pub(super) fn listed(
    folder: &str,
    files: Vec<RequirementFile>,
    around: &Around<'_>,
    indexes: &mut Indexes,
    found: &mut Installs,
) {
    let mut walk = Walk { uv: false, around, variable: &|_| None, indexes, found, seen: BTreeSet::new() };
    for file in files {
        walk.file(folder, file, 1);
    }
}

struct Walk<'a, 'b> {
    uv: bool,
    around: &'a Around<'b>,
    variable: &'a dyn Fn(&str) -> Option<String>,
    indexes: &'a mut Indexes,
    found: &'a mut Installs,
    seen: BTreeSet<(String, bool)>,
}

impl Walk<'_, '_> {
    fn file(&mut self, folder: &str, mut file: RequirementFile, depth: usize) {
        match self.open(folder, &file, depth) {
            Ok(Some(opened)) if opened.path.ends_with("pyproject.toml") => {
                if project::requires(&opened) {
                    let all_extras = file.extras.iter().any(|one| one == "*");
                    let parts = Parts { all_extras, extras: file.extras, ..Parts::default() };
                    project::pep621(&opened, self.uv, &parts, self.around, self.indexes, self.found);
                } else {
                    let _read: bool = self.setuptools(folder, &file);
                }
            }
            Ok(Some(opened)) => self.read(&opened, file.constraint, depth),
            Ok(None) => {}
            Err(_) if self.setuptools(folder, &file) => {}
            Err(why) => {
                file.why = why;
                self.found.files.push(file);
            }
        }
    }

    /// The files of setuptools beside a `pyproject.toml` that does not say what the project requires.
    fn setuptools(&mut self, folder: &str, file: &RequirementFile) -> bool {
        let place = file.path.known().and_then(|path| path.strip_suffix("pyproject.toml"));
        let Some(place) = place else { return false };
        let mut read = false;
        for (name, reader) in [("setup.cfg", setup::cfg as Reader), ("setup.py", setup::py)] {
            let path = format!("{place}{name}");
            let Ok(opened) = (self.around.open)(folder, &path) else { continue };
            read = true;
            match reader(&opened, &file.extras, self.around) {
                Ok(packages) => self.found.packages.extend(packages),
                Err(why) => {
                    let (path, why) = (Resolved::literal(path), format!("what it installs is unknown: {why}"));
                    self.found.files.push(RequirementFile { path, why, ..file.clone() });
                }
            }
        }
        read
    }

    fn open(&mut self, folder: &str, file: &RequirementFile, depth: usize) -> Result<Option<Opened>, String> {
        let path = match &file.path {
            Resolved::Known { value, .. } => value,
            Resolved::Unresolved { reason, .. } => return Err(reason.clone()),
        };
        if path.contains("://") {
            return Err("it is on the network".to_owned());
        }
        if depth > DEEPEST || self.seen.len() > MOST {
            return Err("too many files include one another".to_owned());
        }
        let opened = (self.around.open)(folder, path)?;
        Ok(self.seen.insert((opened.path.clone(), file.constraint)).then_some(opened))
    }

    fn read(&mut self, opened: &Opened, constraint: bool, depth: usize) {
        let folder = opened.path.rsplit_once('/').map_or("/", |(folder, _)| folder);
        for line in opened.kept.get(|| lines(opened.text.text())).iter() {
            match line {
                Line::Requirement { text, marker, range } => {
                    let span = opened.text.span(range.clone());
                    self.requirement(text, marker.as_deref(), constraint, span, opened);
                }
                Line::Option { name, value, range } => {
                    let span = opened.text.span(range.clone());
                    self.option(name, value.clone(), constraint, span, folder, opened, depth);
                }
            }
        }
    }

    fn requirement(&mut self, text: &str, marker: Option<&str>, constraint: bool, span: Span, opened: &Opened) {
        let expanded = expanded(text, self.variable);
        let holds = marker.map(|marker| holds(marker, self.around.environment));
        let sources = expanded.as_deref().filter(|text| is_unknown_source(text, self.around.knowledge));
        if let Some(text) = sources.filter(|_| !constraint && holds != Some(Some(false))) {
            self.found.sources.push((text.to_owned(), span, opened.source));
        }
        let read = if let Some(text) = &expanded {
            requirement(text, span, self.around.knowledge)
        } else {
            let name = text.split(['=', '<', '>', '~', '!', '$', '{', '@']).next().unwrap_or("");
            let named = || requirement(name, span, self.around.knowledge);
            let named = || named().map(|package| Install { version: VersionSpec::Unresolved, ..package });
            wheel_behind(text, span, self.around.knowledge).or_else(named)
        };
        let Some(mut package) = read else { return };
        match holds {
            Some(Some(false)) => return,
            Some(None) => package.conditional = true,
            Some(Some(true)) | None => {}
        }
        at_source(&mut package, opened);
        if constraint { self.found.constraints.push(package) } else { self.found.packages.push(package) }
    }

    #[expect(clippy::too_many_arguments, reason = "one call site")]
    fn option(
        &mut self,
        name: &str,
        value: Option<String>,
        constraint: bool,
        span: Span,
        folder: &str,
        opened: &Opened,
        depth: usize,
    ) {
        let unset = || "its name contains a variable without a value".to_owned();
        let told = |raw: &String| expanded(raw, self.variable).or_else(|| settled(raw)).ok_or_else(unset);
        let given = value.as_ref().map(|raw| (told(raw), span));
        let place = |given| Place::given(given, opened.source);
        match name {
            "-r" | "--requirement" | "-c" | "--constraint" => {
                let Some(path) = value else { return };
                let path = Resolved::literal(expanded(&path, self.variable).unwrap_or(path));
                let constraint = constraint || matches!(name, "-c" | "--constraint");
                self.file(
                    folder,
                    RequirementFile { path, constraint, extras: Vec::new(), span, why: String::new() },
                    depth + 1,
                );
            }
            "-i" | "--index-url" => self.indexes.index = given.map(place),
            "--extra-index-url" => self.indexes.extra.extend(given.map(place)),
            "-f" | "--find-links" => self.indexes.links.extend(given.map(place)),
            _ => {
                let _taken: bool = pip::option(name, || given, self.indexes);
            }
        }
    }
}

/// Says of a package that it stands in a file.
pub(super) fn at_source(package: &mut Install, opened: &Opened) {
    package.source = opened.source;
    if let Some(variant) = &mut package.variant {
        variant.source = opened.source;
    }
}

/// A text with `${NAME}` put in; `None` where a variable has no value.
fn expanded(text: &str, variable: &dyn Fn(&str) -> Option<String>) -> Option<String> {
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
