//! Lists of packages that tools write from a lock or a project, followed back to what they are made of.

use crate::dockerfile::Mapped;
use crate::dockerfile::Resolved;
use crate::install::Around;
use crate::install::Install;
use crate::install::Installs;
use crate::install::Opened;
use crate::install::VersionSpec;
use crate::install::index::Indexes;
use crate::install::lock::Parts;
use crate::install::project;
use crate::install::tools;
use crate::knowledge::Knowledge;
use crate::shell::Command;
use crate::shell::Word;

/// Options of these tools that a value follows and that choose no package.
const WITH_VALUE: &[&str] = &[
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

/// What a tool does, by the words in front of its arguments.
enum Task<'a> {
    /// Writes what a lock holds: the tool, and its arguments.
    Lock(&'a str, &'a [Word]),
    /// Looks for versions of what lists and projects ask for.
    Compile(&'a [Word]),
}

fn task(command: &Command) -> Option<Task<'_>> {
    let known = |at: usize| command.words.get(at).and_then(Word::known).unwrap_or("");
    let after = |at: usize| command.words.get(at..).unwrap_or_default();
    let program = command.program()?;
    match (program, known(1), known(2)) {
        ("poetry" | "pdm" | "uv", "export", _) | ("pipenv", "requirements", _) => Some(Task::Lock(program, after(2))),
        ("uv", "pip", "compile") => Some(Task::Compile(after(3))),
        ("pip-compile", ..) => Some(Task::Compile(after(1))),
        (_, "-m", "piptools") if program.starts_with("python") && known(3) == "compile" => {
            Some(Task::Compile(after(4)))
        }
        _ => None,
    }
}

/// The file that such a command writes beside its standard output, and the texts in it; `None` where it writes none.
pub fn written_to(command: &Command, around: &Around<'_>) -> Option<(Resolved, Result<Vec<Opened>, String>)> {
    let task = task(command)?;
    let (Task::Lock(_, words) | Task::Compile(words)) = &task;
    let named = option(words, &["-o", "--output", "--output-file"]).map(|word| word.value.clone());
    let file = named.or_else(|| inline(words, &["--output", "--output-file"]));
    let file = file.or_else(|| matches!(command.program(), Some("pip-compile")).then(|| by_source(words)))?;
    Some((file, output(command, around)?))
}

/// What such a command writes; `None` where it is another one.
pub(super) fn output(command: &Command, around: &Around<'_>) -> Option<Result<Vec<Opened>, String>> {
    Some(match task(command)? {
        Task::Lock(tool, words) => of_lock(tool, words, command, around),
        Task::Compile(words) => compiled(words, around),
    })
}

/// The words of `pip-sync`, as those of pip: its files, else the usual one.
pub(super) fn synced(words: &[Word]) -> Vec<Word> {
    let word = |text: &str, like: &Word| Word { value: Resolved::literal(text), raw: text.to_owned(), ..like.clone() };
    let Some(first) = words.first() else { return Vec::new() };
    let rest = words.get(1..).unwrap_or_default();
    let files = rest.iter().any(|word| word.known().is_none_or(|text| !text.starts_with('-')));
    let usual = (!files).then(|| word("requirements.txt", first));
    std::iter::once(word("sync", first)).chain(rest.iter().cloned()).chain(usual).collect()
}

/// What the lock of a project holds of the parts that are asked for.
fn of_lock(tool: &str, words: &[Word], command: &Command, around: &Around<'_>) -> Result<Vec<Opened>, String> {
    let word =
        |text: &str| Word { value: Resolved::literal(text), raw: text.to_owned(), span: command.span, output: None };
    let verb = if matches!(tool, "uv" | "pipenv") { "sync" } else { "install" };
    let mut asked = vec![word(verb)];
    // poetry writes the main group, and those that are named.
    asked.extend((tool == "poetry").then(|| word("--no-dev")));
    let mut rest = words.iter();
    while let Some(one) = rest.next() {
        match one.known() {
            Some("--dev") if tool == "poetry" => asked.extend([word("--with"), word("dev")]),
            Some(text) if WITH_VALUE.contains(&text) => drop(rest.next()),
            _ => asked.push(one.clone()),
        }
    }
    let mut found = Installs::default();
    tools::read(tool, &asked, command, around, &mut found);
    listed(&found, around.knowledge)
}

/// What the lists ask for that versions are looked for; those that are there already stay.
fn compiled(words: &[Word], around: &Around<'_>) -> Result<Vec<Opened>, String> {
    let mut sources: Vec<&Word> = Vec::new();
    let mut parts = Parts::default();
    let mut upgrades = false;
    let mut rest = words.iter();
    while let Some(word) = rest.next() {
        let Some(text) = word.known() else {
            return Err("a word of the command that writes it is unknown".to_owned());
        };
        let (name, value) = text.split_once('=').map_or((text, None), |(name, value)| (name, Some(value)));
        upgrades |= matches!(name, "-U" | "--upgrade" | "-P" | "--upgrade-package");
        match name {
            "--all-extras" => parts.all_extras = true,
            "--extra" | "--group" => {
                let value = value.or_else(|| rest.next().and_then(Word::known)).unwrap_or_default();
                parts.extras.extend(value.split(',').map(str::to_owned));
            }
            "-i" | "--index-url" | "--extra-index-url" | "--find-links" | "--index" | "--default-index"
            | "--torch-backend" => {
                return Err("the command that writes it selects an index".to_owned());
            }
            _ if text.starts_with('-') => {
                if value.is_none() && WITH_VALUE.contains(&name) {
                    rest.next();
                }
            }
            _ => sources.push(word),
        }
    }
    let named = option(words, &["-o", "--output", "--output-file"]).and_then(Word::known).map(str::to_owned);
    let out = named.or_else(|| inline(words, &["--output", "--output-file"])?.known().map(str::to_owned));
    // What is there already stays, where nothing asks for newer versions.
    let there = out.filter(|_| !upgrades).and_then(|out| (around.open)("", &out).ok());
    let usual = ["requirements.in", "pyproject.toml"];
    if sources.is_empty() {
        let first = usual.iter().find_map(|path| (around.open)("", path).ok());
        let first = first.ok_or_else(|| "its source is not in the build context".to_owned())?;
        return of_source(first, &parts, around).map(|one| vec![there.unwrap_or(one)]);
    }
    let open = |word: &&Word| (around.open)("", word.known().unwrap_or_default());
    let made = |word: &&Word| open(word).and_then(|opened| of_source(opened, &parts, around));
    let whole = |word: &Word, why: &str| format!("{} was not read: {why}", word.known().unwrap_or_default());
    let made: Result<Vec<Opened>, String> =
        sources.iter().map(|word| made(word).map_err(|why| whole(word, &why))).collect();
    made.map(|made| there.map_or(made, |there| vec![there]))
}

fn of_source(opened: Opened, parts: &Parts, around: &Around<'_>) -> Result<Opened, String> {
    match opened.path.rsplit('/').next() {
        Some("pyproject.toml") if project::requires(&opened) => {
            let (mut found, mut indexes) = (Installs::default(), Indexes::default());
            project::pep621(&opened, false, parts, around, &mut indexes, &mut found);
            listed(&found, around.knowledge)?
                .into_iter()
                .next()
                .ok_or_else(|| "the project has no requirements".to_owned())
        }
        Some("pyproject.toml" | "setup.py" | "setup.cfg") => {
            Err("the requirements of the project are not supported".to_owned())
        }
        _ => Ok(opened),
    }
}

/// The list that names these packages, each word where its package is written.
fn listed(found: &Installs, knowledge: Knowledge) -> Result<Vec<Opened>, String> {
    if let Some(file) = found.files.first() {
        return Err(format!("{} was not read: {}", file.path.known().unwrap_or("a file"), file.why));
    }
    if let Some((Resolved::Unresolved { reason, .. }, _)) = found.unresolved.first() {
        return Err(reason.clone());
    }
    let mut text = Mapped::default();
    let source = found.packages.first().and_then(|one| one.source);
    for package in &found.packages {
        if package.source != source {
            return Err("it is made of several files".to_owned());
        }
        let line = line(package, knowledge)?;
        let last = line.char_indices().next_back().map_or(0, |(at, _)| at);
        for (at, c) in line.char_indices() {
            let place = if at == last { package.span.end.saturating_sub(1) } else { package.span.start };
            text.push(c.encode_utf8(&mut [0; 4]), place);
        }
        text.push("\n", package.span.end);
    }
    Ok(vec![Opened::new(source, "/dev/stdout", text)])
}

fn line(package: &Install, knowledge: Knowledge) -> Result<String, String> {
    let extras = if package.extras.is_empty() { String::new() } else { format!("[{}]", package.extras.join(",")) };
    let version = match &package.version {
        VersionSpec::Exact(version) => {
            let tag = package.variant.as_ref().filter(|_| !version.contains('+'));
            format!("=={version}{}", tag.map_or_else(String::new, |variant| format!("+{}", variant.tag)))
        }
        VersionSpec::Range(range) => range.clone(),
        VersionSpec::None => String::new(),
        VersionSpec::Unresolved => match &package.untold {
            Some(why) if knowledge.framework(&package.name).is_some() => return Err(why.clone()),
            _ => String::new(),
        },
    };
    // Nobody knows the release of the kernel, and so not whether it holds.
    let marker = if package.conditional { " ; platform_release == \"\"" } else { "" };
    Ok(format!("{}{extras}{version}{marker}", package.name))
}

/// The word behind one of these options.
fn option<'w>(words: &'w [Word], names: &[&str]) -> Option<&'w Word> {
    let at = words.iter().position(|word| word.known().is_some_and(|text| names.contains(&text)))?;
    words.get(at + 1)
}

/// The value in the same word as one of these options.
fn inline(words: &[Word], names: &[&str]) -> Option<Resolved> {
    words.iter().filter_map(Word::known).find_map(|text| {
        let (name, value) = text.split_once('=')?;
        names.contains(&name).then(|| Resolved::literal(value))
    })
}

/// The file that pip-compile writes where none is named: `requirements.txt` of `requirements.in`.
fn by_source(words: &[Word]) -> Resolved {
    let source = words.iter().filter_map(Word::known).find(|text| text.rsplit('.').next() == Some("in"));
    source.map_or_else(
        || Resolved::literal("requirements.txt"),
        |source| Resolved::literal(format!("{}.txt", source.trim_end_matches(".in"))),
    )
}
