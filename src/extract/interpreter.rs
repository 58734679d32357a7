//! Which of several environments of Python an image starts in, and what of the others does not count then.

use std::collections::BTreeMap;
use std::collections::BTreeSet;

use crate::dockerfile::Lookup;
use crate::dockerfile::RunInstruction;
use crate::extract::install::Reader;
use crate::extract::moves::option;
use crate::extract::tree::absolute;
use crate::extract::tree::below;
use crate::extract::venv::OF_SYSTEM;
use crate::fact::FactId;
use crate::fact::Manager;
use crate::fact::Observations;
use crate::fact::PackageSeen;
use crate::fact::TemplatePart;
use crate::fact::Why;
use crate::knowledge::Knowledge;
use crate::shell::Command;
use crate::shell::Word;

/// Words of the shell that start no program.
const BUILT_IN: &[&str] =
    &[".", ":", "cd", "echo", "exec", "export", "set", "sleep", "source", "test", "true", "ulimit"];
/// The variable that names folders that are looked into before those of the Python itself.
const FOLDERS: &str = "PYTHONPATH";

/// Where a package of Python lies, other than where the Python of the image looks.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Home {
    /// An environment, by its folder.
    Environment(String),
    /// A folder that packages are put into as they are.
    Folder(String),
    /// That cannot be told.
    Untold,
}

impl Home {
    /// The same behind a copy.
    pub(super) fn moved(&self, to: impl Fn(&str) -> Option<String>) -> Option<Self> {
        Some(match self {
            Self::Environment(folder) => Self::Environment(to(folder)?),
            Self::Folder(folder) => Self::Folder(to(folder)?),
            Self::Untold => Self::Untold,
        })
    }

    fn text(home: Option<&Self>) -> String {
        match home {
            Some(Self::Environment(folder) | Self::Folder(folder)) => folder.clone(),
            Some(Self::Untold) | None => "the Python of the image".to_owned(),
        }
    }
}

/// Where the packages lie that lie elsewhere.
pub(super) type Homes = BTreeMap<FactId, Home>;

/// Where the program of an image starts, and what.
#[derive(Clone, Copy, Debug)]
pub(super) struct At<'a> {
    pub(super) folder: &'a str,
    /// The programs that ENTRYPOINT and CMD come to, as they are written.
    pub(super) programs: &'a [String],
    /// Texts of RUN that make links.
    pub(super) links: &'a [&'a str],
}

/// What is started.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Started {
    /// The Python of the image.
    Own,
    /// That of an environment.
    Environment(String),
    /// That cannot be told.
    Unknown,
}

/// Leaves out of a framework that lies in several places what the program does not see, and says of which; where it cannot
/// be told which one it sees, neither can the framework.
pub(super) fn choose(
    seen: &mut Observations,
    homes: &Homes,
    at: At<'_>,
    own_torch: bool,
    knowledge: Knowledge,
) -> Vec<String> {
    let mut notes: Vec<String> = Vec::new();
    if homes.is_empty() {
        return notes;
    }
    let components: BTreeSet<&'static str> =
        seen.packages.iter().filter_map(|package| component(package, knowledge)).collect();
    for component_name in components {
        let of = |package: &PackageSeen| component(package, knowledge) == Some(component_name);
        let mut places: BTreeSet<Option<&Home>> =
            seen.packages.iter().filter(|package| of(package)).map(|package| homes.get(&package.fact)).collect();
        let torch = knowledge.built_framework().is_some_and(|row| row.component == component_name);
        if torch && own_torch {
            places.insert(None);
        }
        if places.len() < 2 || places.contains(&Some(&Home::Untold)) {
            continue;
        }
        match visible(seen, &places, at) {
            Some(visible) => {
                let there = |package: &PackageSeen| visible.contains(&homes.get(&package.fact));
                for package in seen.packages.iter().filter(|package| of(package) && !there(package)) {
                    let home = Home::text(homes.get(&package.fact));
                    let note = format!(
                        "{} is installed in {home}, which the program does not use, and is not checked",
                        package.name
                    );
                    if !notes.contains(&note) {
                        notes.push(note);
                    }
                }
                let kept: Vec<bool> = seen.packages.iter().map(|package| !of(package) || there(package)).collect();
                let mut kept = kept.into_iter();
                seen.packages.retain(|_| kept.next().unwrap_or(true));
            }
            // That of the base image was there first, and what is asked for anew is taken to be what is used.
            None if torch && own_torch && places.len() == 2 => {}
            None if alike(seen, homes, &of) => {}
            None => {
                let named: Vec<String> = places.iter().map(|home| Home::text(*home)).collect();
                let why = Why {
                    reason: format!(
                        "{component_name} is installed for {}, and the one that the program uses is unknown",
                        named.join(" and for ")
                    ),
                    supply: "start the program by the path of its Python, or scan the built image".to_owned(),
                };
                for package in seen.packages.iter_mut().filter(|package| of(package)) {
                    package.conditional.get_or_insert_with(|| why.clone());
                }
            }
        }
    }
    notes
}

/// The framework that a package is, or puts another of in its place.
fn component(package: &PackageSeen, knowledge: Knowledge) -> Option<&'static str> {
    if package.manager != Manager::Pip {
        return None;
    }
    let built = || knowledge.built_framework().filter(|_| knowledge.torch_pins_of(&package.name).next().is_some());
    knowledge.framework(&package.name).or_else(built).map(|row| row.component)
}

/// Whether each place has the same of a framework.
fn alike(seen: &Observations, homes: &Homes, of: &dyn Fn(&PackageSeen) -> bool) -> bool {
    let mut each: BTreeMap<Option<&Home>, Vec<String>> = BTreeMap::new();
    for package in seen.packages.iter().filter(|package| of(package)) {
        let said = format!("{} {:?} {:?} {:?}", package.name, package.version, package.variant, package.offered);
        each.entry(homes.get(&package.fact)).or_default().push(said);
    }
    let mut each = each.into_values();
    let first = each.next();
    each.all(|other| Some(&other) == first.as_ref())
}

/// The places that the program sees, of those that have a framework: the one that it finds first; none where that cannot
/// be told.
fn visible<'h>(
    seen: &Observations,
    places: &BTreeSet<Option<&'h Home>>,
    at: At<'_>,
) -> Option<BTreeSet<Option<&'h Home>>> {
    let environments: BTreeSet<&str> = places
        .iter()
        .filter_map(|home| match home {
            Some(Home::Environment(folder)) => Some(folder.as_str()),
            _ => None,
        })
        .collect();
    let words = parted(&seen.of_base.start_words);
    let started = started(seen, &environments, &words, at);
    let flat = places.iter().filter_map(|home| match home {
        Some(Home::Folder(folder)) => Some((*home, folder.as_str())),
        _ => None,
    });
    let flat: Vec<(Option<&Home>, &str)> = flat.collect();
    let path = value(seen, FOLDERS);
    for part in path.split(':') {
        if let Some((home, _)) = flat.iter().find(|(_, own)| *own == part.trim_end_matches('/')) {
            return Some(BTreeSet::from([*home]));
        }
    }
    // A script sees the folder that it lies in, and may be told of others.
    if flat.iter().any(|(_, own)| below(at.folder, own).is_some() || words.iter().any(|word| word.contains(own)))
        || path.contains('?')
    {
        return None;
    }
    let own = match started {
        Started::Own => None,
        Started::Environment(folder) => {
            Some(places.iter().flatten().find(|home| ***home == Home::Environment(folder.clone())).copied()?)
        }
        // Nothing but the Python of the image is left beside folders that nobody names.
        Started::Unknown if environments.is_empty() => None,
        Started::Unknown => return None,
    };
    Some(BTreeSet::from([own]))
}

/// The words of ENTRYPOINT and CMD, as a shell would part them.
fn parted(words: &[String]) -> Vec<String> {
    let signs = |letter: char| letter.is_whitespace() || matches!(letter, ';' | '&' | '|' | '(' | ')' | '"' | '\'');
    words.iter().flat_map(|word| word.split(signs)).filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

/// A variable as the image has it, with `?` for what only the base knows.
fn value(seen: &Observations, name: &str) -> String {
    if let Some((Ok(value), _)) = seen.env.get(name) {
        return value.clone();
    }
    let parts = seen.of_base.env_templates.get(name).map(|template| &template.set);
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

/// What the words of ENTRYPOINT and CMD start, with PATH as the image has it.
fn started(seen: &Observations, environments: &BTreeSet<&str>, words: &[String], at: At<'_>) -> Started {
    let by_path = |word: &str| {
        let path = absolute(at.folder, word.rsplit_once('=').map_or(word, |(_, value)| value));
        environments.iter().find(|own| below(&path, own).is_some_and(|rest| rest.starts_with("bin/"))).copied()
    };
    let named: BTreeSet<&str> = words.iter().filter_map(|word| by_path(word)).collect();
    match named.iter().collect::<Vec<_>>().as_slice() {
        [] => {}
        [one] => return Started::Environment((**one).to_owned()),
        _ => return Started::Unknown,
    }
    let path = value(seen, "PATH");
    let first = path.split(':').find_map(|part| {
        let part = part.trim_end_matches('/');
        let own = environments.iter().find(|own| part.strip_suffix("/bin") == Some(**own));
        // What the base has on its PATH stands where that is named, and there the Python of the image.
        own.map(|own| Some(*own)).or_else(|| (part.is_empty() || OF_SYSTEM.contains(&part)).then_some(None))
    });
    let on_path = first.flatten();
    let python = at.programs.iter().find(|program| is_python(program));
    let program = python.or_else(|| at.programs.iter().find(|program| !BUILT_IN.contains(&program.as_str())));
    let project = absolute(at.folder, ".venv");
    let links_python =
        || at.links.iter().any(|text| environments.iter().any(|own| text.contains(&format!("{own}/bin/python"))));
    match (program.map(String::as_str), on_path) {
        (Some("uv" | "uvx" | "poetry" | "pipenv" | "pdm" | "conda" | "mamba" | "micromamba"), _) => {
            let own = environments.contains(project.as_str()) && program.is_some_and(|program| program == "uv");
            if own { Started::Environment(project) } else { Started::Unknown }
        }
        // Another name may lead to the Python of an environment.
        (Some(python), None) if is_python(python) && links_python() => Started::Unknown,
        (Some(python), _) if python.starts_with('/') && is_python(python) => Started::Own,
        (_, Some(own)) => Started::Environment(own.to_owned()),
        (Some(python), None) if is_python(python) && path != "?" => Started::Own,
        (Some(_) | None, None) => Started::Unknown,
    }
}

/// Whether a program is a Python by its name.
fn is_python(program: &str) -> bool {
    let name = program.rsplit('/').next().unwrap_or(program);
    let version = name.strip_prefix("python");
    version.is_some_and(|version| version.bytes().all(|one| one.is_ascii_digit() || one == b'.'))
}

impl Reader<'_> {
    /// The Python of the environment that a command installs into, where one was named for it.
    pub(super) fn of_environment(
        &self,
        command: &Command,
        run: &RunInstruction,
        lookup: &dyn Fn(&str) -> Lookup,
    ) -> Option<String> {
        self.done.environments.python(command, &self.folder, run.path_head.as_deref(), lookup)
    }

    /// Where the packages of a command lie, other than where the Python of the image looks.
    pub(super) fn home(
        &self,
        command: &Command,
        run: &RunInstruction,
        lookup: &dyn Fn(&str) -> Lookup,
    ) -> Option<Home> {
        let own = self.done.environments.home(command, &self.folder, run.path_head.as_deref(), lookup);
        if own.is_some() {
            return own.map(Home::Environment);
        }
        let words: Vec<&str> = command.words.iter().filter_map(Word::known).collect();
        if let Some(target) = option(&words, "--target", "-t").filter(|_| words.contains(&"install")) {
            let target = absolute(&self.folder, target);
            return (!target.contains("-packages")).then_some(Home::Folder(target));
        }
        let of_system = self.done.environments.is_of_system(command, run.path_head.as_deref(), lookup);
        (!of_system).then_some(Home::Untold)
    }
}
