//! Which of several Python environments an image starts in, and which packages of the others are ignored.

use std::collections::{BTreeMap, BTreeSet};

use crate::build::chooses_python_environment;
use crate::extract::stage_files::{absolute_path, strip_folder};
use crate::extract::virtual_environments::{PROJECT_VARIABLE, SYSTEM_PROGRAM_FOLDERS};
use crate::knowledge::Knowledge;
use crate::model::cause::Cause;
use crate::model::fact::{Observations, TemplatePart};
use crate::model::package::{ObservedPackage, PackageManager, PythonLocation};

/// Shell commands that start no program.
const SHELL_BUILTINS: &[&str] =
    &[".", ":", "cd", "echo", "exec", "export", "set", "sleep", "source", "test", "true", "ulimit"];
/// Variable that lists folders which Python searches before its own.
const PYTHONPATH_VARIABLE: &str = "PYTHONPATH";

/// Returns the folder of a location, or a phrase, for messages.
fn display_name(location: Option<&PythonLocation>) -> String {
    match location {
        Some(PythonLocation::Environment { folder, .. } | PythonLocation::Folder(folder)) => folder.clone(),
        Some(PythonLocation::Unknown) | None => "the Python of the image".to_owned(),
    }
}

/// Working directory, programs and links with which an image starts.
#[derive(Clone, Copy, Debug)]
pub(super) struct ProgramStart<'a> {
    pub(super) folder: &'a str,
    /// The programs that ENTRYPOINT and CMD come to, as they are written.
    pub(super) programs: &'a [String],
    /// The programs to which commands created links.
    pub(super) linked_programs: &'a BTreeSet<String>,
}

/// The Python that an image starts.
#[derive(Clone, Debug, PartialEq, Eq)]
enum StartedPython {
    /// The Python of the image.
    Own,
    /// That of an environment.
    Environment(String),
    /// One that cannot be determined.
    Unknown,
}

/// Removes frameworks that the started program does not see, and returns notes; if that is unknown, marks them as
/// conditional.
pub(super) fn drop_invisible_frameworks(
    seen: &mut Observations,
    at: ProgramStart<'_>,
    own_torch: bool,
    knowledge: Knowledge,
) -> Vec<String> {
    let mut notes: Vec<String> = Vec::new();
    if seen.packages.iter().all(|package| package.location.is_none()) {
        return notes;
    }
    let components: BTreeSet<&'static str> =
        seen.packages.iter().flat_map(|package| framework_components(package, knowledge)).collect();
    for component_name in components {
        let of = |package: &ObservedPackage| framework_components(package, knowledge).any(|own| own == component_name);
        let mut places: BTreeSet<Option<&PythonLocation>> =
            seen.packages.iter().filter(|package| of(package)).map(|package| package.location.as_ref()).collect();
        let torch = knowledge.framework_with_variants().is_some_and(|row| row.component == component_name);
        if torch && own_torch {
            places.insert(None);
        }
        // An unknown Python may be that of the image.
        if places.len() < 2 || places.contains(&Some(&PythonLocation::Unknown)) {
            continue;
        }
        let is_framework = |package: &&ObservedPackage| {
            knowledge.framework(&package.requirement.name).is_some_and(|row| row.component == component_name)
        };
        let versions_in = |place: Option<&PythonLocation>| {
            let own = seen.packages.iter().filter(is_framework).filter(|package| package.location.as_ref() == place);
            own.map(|package| &package.requirement.version).collect::<Vec<_>>()
        };
        // A range may be satisfied by what the Python of the image has.
        let has_own_release = |place: Option<&PythonLocation>| {
            let (own, of_image) = (versions_in(place), versions_in(None));
            own.iter().any(|version| version.is_exact() && !of_image.contains(version))
        };
        match visible_locations(seen, &places, at, &has_own_release) {
            Some(visible) => {
                let there = |package: &ObservedPackage| visible.contains(&package.location.as_ref());
                let is_named =
                    |package: &&ObservedPackage| package.dependent.is_none() && of(package) && !there(package);
                for package in seen.packages.iter().filter(is_named) {
                    let home = display_name(package.location.as_ref());
                    let note = format!(
                        "{} is installed in {home}, which the program does not use, and is not checked",
                        package.requirement.name
                    );
                    if !notes.contains(&note) {
                        notes.push(note);
                    }
                }
                let kept: Vec<bool> = seen.packages.iter().map(|package| !of(package) || there(package)).collect();
                let mut kept = kept.into_iter();
                seen.packages.retain(|_| kept.next().unwrap_or(true));
            }
            // If the base image has a torch and a command installs another, the installed one is assumed to be used.
            None if torch && own_torch && places.len() == 2 => {}
            None if has_equal_builds(seen, &of, knowledge) => {}
            None => {
                let named: Vec<String> = places.iter().map(|home| display_name(*home)).collect();
                let why = Cause::SeveralPythons {
                    component: component_name.to_string(),
                    pythons: named.join(" and for ").clone(),
                };
                for package in seen.packages.iter_mut().filter(|package| of(package)) {
                    package.conditional.get_or_insert_with(|| why.clone());
                }
            }
        }
    }
    notes
}

/// Returns the framework that a package is, and the one that it installs as a dependency.
fn framework_components(package: &ObservedPackage, knowledge: Knowledge) -> impl Iterator<Item = &'static str> {
    let name = Some(&package.requirement.name).filter(|_| package.requirement.manager == PackageManager::Pip);
    let own = name.and_then(|name| knowledge.framework(name));
    let required = name
        .filter(|_| !package.requirement.no_deps)
        .filter(|name| knowledge.torch_requirements_of(name).next().is_some())
        .and_then(|_| knowledge.framework_with_variants());
    own.into_iter().chain(required).map(|row| row.component)
}

/// Whether every location has the same builds of a framework.
fn has_equal_builds(seen: &Observations, of: &dyn Fn(&ObservedPackage) -> bool, knowledge: Knowledge) -> bool {
    let mut each: BTreeMap<Option<&PythonLocation>, Vec<String>> = BTreeMap::new();
    let is_library = |package: &ObservedPackage| knowledge.library_wheel(&package.requirement.name).is_some();
    for package in seen.packages.iter().filter(|package| of(package) || is_library(package)) {
        let build = format!(
            "{} {:?} {:?} {:?}",
            package.requirement.name, package.requirement.version, package.variant, package.requirement.indexes
        );
        each.entry(package.location.as_ref()).or_default().push(build);
    }
    let mut each = each.into_values();
    let first = each.next();
    each.all(|other| Some(&other) == first.as_ref())
}

/// Returns the locations with a framework that the started program sees, the first on its search path; `None` if
/// unknown. `has_framework`: whether a command installs the framework itself there.
fn visible_locations<'h>(
    seen: &Observations,
    places: &BTreeSet<Option<&'h PythonLocation>>,
    at: ProgramStart<'_>,
    has_framework: &dyn Fn(Option<&PythonLocation>) -> bool,
) -> Option<BTreeSet<Option<&'h PythonLocation>>> {
    let environments: BTreeSet<&str> = places
        .iter()
        .filter_map(|home| match home {
            Some(PythonLocation::Environment { folder, .. }) => Some(folder.as_str()),
            _ => None,
        })
        .collect();
    let words = split_start_arguments(&seen.base_changes.start_words);
    let started = started_python(seen, &environments, &words, at);
    let flat = places.iter().filter_map(|home| match home {
        Some(PythonLocation::Folder(folder)) => Some((*home, folder.as_str())),
        _ => None,
    });
    let flat: Vec<(Option<&PythonLocation>, &str)> = flat.collect();
    let path = env_value(seen, PYTHONPATH_VARIABLE);
    for part in path.split(':') {
        if let Some((home, _)) = flat.iter().find(|(_, own)| *own == part.trim_end_matches('/')) {
            return Some(BTreeSet::from([*home]));
        }
    }
    // A script finds the directory that contains it, and its arguments may name others.
    if flat.iter().any(|(_, own)| strip_folder(at.folder, own).is_some() || words.iter().any(|word| word.contains(own)))
        || path.contains('?')
    {
        return None;
    }
    let own = match started {
        StartedPython::Own => None,
        StartedPython::Environment(started) => {
            let (home, both) = places.iter().flatten().find_map(|home| match home {
                PythonLocation::Environment { folder, includes_system_packages } if *folder == started => {
                    Some((*home, *includes_system_packages))
                }
                _ => None,
            })?;
            // Its own packages come first on the search path.
            if both && !has_framework(Some(home)) {
                return Some(BTreeSet::from([None, Some(home)]));
            }
            Some(home)
        }
        // Without environments only the Python of the image remains: no word names another directory.
        StartedPython::Unknown if environments.is_empty() => None,
        StartedPython::Unknown => return None,
    };
    Some(BTreeSet::from([own]))
}

/// Splits the arguments of ENTRYPOINT and CMD as a shell would.
fn split_start_arguments(words: &[String]) -> Vec<String> {
    let signs = |letter: char| letter.is_whitespace() || matches!(letter, ';' | '&' | '|' | '(' | ')' | '"' | '\'');
    words.iter().flat_map(|word| word.split(signs)).filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

/// Returns a variable of the image, with `?` for a value that only the base image knows.
fn env_value(seen: &Observations, name: &str) -> String {
    if let Some((Ok(value), _)) = seen.env.get(name) {
        return value.clone();
    }
    let parts = seen.base_changes.env_templates.get(name).map(|template| &template.set);
    let text = |part: &TemplatePart| match part {
        TemplatePart::Text(text) => text.clone(),
        TemplatePart::Variable(_) => String::new(),
    };
    match (parts, seen.env.get(name)) {
        (Some(parts), _) => parts.iter().map(text).collect(),
        (None, Some((Err(_), _))) => "?".to_owned(),
        (None, _) => String::new(),
    }
}

/// Returns the Python that ENTRYPOINT and CMD start, with the PATH of the image.
fn started_python(
    seen: &Observations,
    environments: &BTreeSet<&str>,
    words: &[String],
    at: ProgramStart<'_>,
) -> StartedPython {
    let by_path = |word: &str| {
        let path = absolute_path(at.folder, word.rsplit_once('=').map_or(word, |(_, value)| value));
        environments.iter().find(|own| strip_folder(&path, own).is_some_and(|rest| rest.starts_with("bin/"))).copied()
    };
    let named: BTreeSet<&str> = words.iter().filter_map(|word| by_path(word)).collect();
    match named.iter().collect::<Vec<_>>().as_slice() {
        [] => {}
        [one] => return StartedPython::Environment((**one).to_owned()),
        _ => return StartedPython::Unknown,
    }
    let path = env_value(seen, "PATH");
    let first = path.split(':').find_map(|part| {
        let part = part.trim_end_matches('/');
        let own = environments.iter().find(|own| part.strip_suffix("/bin") == Some(**own));
        // What the base has on its PATH stands where that is named, and there the Python of the image.
        own.map(|own| Some(*own))
            .or_else(|| (part.is_empty() || SYSTEM_PROGRAM_FOLDERS.contains(&part)).then_some(None))
    });
    let on_path = first.flatten();
    let python = at.programs.iter().find(|program| is_python(program));
    let program = python.or_else(|| at.programs.iter().find(|program| !SHELL_BUILTINS.contains(&program.as_str())));
    let project = absolute_path(at.folder, ".venv");
    let is_of_environment = |program: &String| {
        environments.iter().any(|own| strip_folder(program, own).is_some_and(|rest| rest.starts_with("bin/python")))
    };
    let links_python = || at.linked_programs.iter().any(is_of_environment);
    match (program.map(String::as_str), on_path) {
        (Some(tool), _) if chooses_python_environment(tool) => {
            let is_project_run = program.is_some_and(|program| program == "uv")
                && words.iter().any(|word| word == "run")
                && !words.iter().any(|word| matches!(word.as_str(), "tool" | "--active" | "--project" | "--directory"))
                && env_value(seen, PROJECT_VARIABLE).is_empty();
            if is_project_run && environments.contains(project.as_str()) {
                StartedPython::Environment(project)
            } else {
                StartedPython::Unknown
            }
        }
        // Another name may lead to the Python of an environment.
        (Some(python), None) if is_python(python) && links_python() => StartedPython::Unknown,
        (Some(program), _) if is_system_program(program) && !links_python() => StartedPython::Own,
        (Some(python), _) if python.starts_with('/') && is_python(python) => StartedPython::Own,
        // A tool has its own environment.
        (Some(program), _)
            if !is_python(program) && environments.iter().any(|own| own.rsplit('/').next() == Some(program)) =>
        {
            StartedPython::Unknown
        }
        (_, Some(own)) => StartedPython::Environment(own.to_owned()),
        (Some(python), None) if is_python(python) && path != "?" => StartedPython::Own,
        (Some(_) | None, None) => StartedPython::Unknown,
    }
}

/// Whether a program is named by its path in a folder of system programs.
fn is_system_program(program: &str) -> bool {
    program.rsplit_once('/').is_some_and(|(folder, _)| SYSTEM_PROGRAM_FOLDERS.contains(&folder))
}

/// Whether a program is a Python interpreter, by its name.
fn is_python(program: &str) -> bool {
    let name = program.rsplit('/').next().unwrap_or(program);
    let version = name.strip_prefix("python");
    version.is_some_and(|version| version.bytes().all(|one| one.is_ascii_digit() || one == b'.'))
}
