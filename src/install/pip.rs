//! Arguments of `pip install` and `uv pip install`.

use crate::dockerfile::Resolved;
use crate::install::Around;
use crate::install::Install;
use crate::install::Installs;
use crate::install::Manager;
use crate::install::Opened;
use crate::install::RequirementFile;
use crate::install::VersionSpec;
use crate::install::address::address;
use crate::install::files;
use crate::install::flow;
use crate::install::index::Asks;
use crate::install::index::Given;
use crate::install::index::Indexes;
use crate::install::index::PIP_CONFIG;
use crate::install::index::Place;
use crate::install::index::is_there;
use crate::install::index::setting;
use crate::install::marker::holds;
use crate::install::options;
use crate::install::requirement::empty;
use crate::install::requirement::is_unknown_source;
use crate::install::requirement::normalised;
use crate::install::requirement::requirement;
use crate::install::requirement::wheel_behind;
use crate::knowledge::Knowledge;
use crate::shell::Command;
use crate::shell::Word;
use crate::source::Span;

const WITH_VALUE: &[&str] = &[
    "-t",
    "--target",
    "--prefix",
    "--root",
    "--src",
    "-b",
    "--build",
    "--python",
    "-p",
    "--python-version",
    "--python-platform",
    "--platform",
    "--implementation",
    "--abi",
    "--trusted-host",
    "--allow-insecure-host",
    "--proxy",
    "--retries",
    "--timeout",
    "--default-timeout",
    "--cache-dir",
    "--log",
    "--progress-bar",
    "--upgrade-strategy",
    "--no-binary",
    "--only-binary",
    "--config-settings",
    "-C",
    "--global-option",
    "--install-option",
    "--exists-action",
    "--cert",
    "--client-cert",
    "--use-feature",
    "--use-deprecated",
    "--hash",
    "--resolution",
    "--link-mode",
    "--keyring-provider",
    "--exclude-newer",
    "--config-file",
    "-P",
    "--upgrade-package",
    "--reinstall-package",
    "--report",
    "--group",
    "--no-build-isolation-package",
    "--refresh-package",
    "--extra",
    "--root-user-action",
    "-w",
    "--wheel-dir",
    "-d",
    "--dest",
];

pub(super) fn read(
    words: &[Word],
    uv: bool,
    handed: Option<Result<Vec<Opened>, String>>,
    command: &Command,
    around: &Around<'_>,
    variable: &dyn Fn(&str) -> Option<String>,
    found: &mut Installs,
) {
    let apart = if uv { Vec::new() } else { options::apart(words) };
    let words = if uv { words } else { &apart };
    let mut rest = words.iter();
    let verb = loop {
        let Some(word) = rest.next() else { return };
        let Some(text) = word.known() else { return };
        if !text.starts_with('-') {
            break text;
        }
        if WITH_VALUE.contains(&text) {
            rest.next();
        }
    };
    let dry = rest.as_slice().iter().any(|word| word.known() == Some("--dry-run"));
    let gathers = matches!(verb, "wheel" | "download");
    if dry || !(gathers || matches!(verb, "install" | "sync" | "uninstall")) {
        return;
    }
    let target = rest.as_slice();
    let verb = if gathers { "install" } else { verb };
    let mut indexes = Indexes { first_index: uv, ..Indexes::default() };
    let mut fed = Fed::default();
    match handed {
        Some(Ok(texts)) if verb == "install" => fed.texts.extend(texts.into_iter().map(|text| (text, false))),
        Some(Err(why)) => cannot_tell(why, command.span, found),
        Some(Ok(_)) | None => {}
    }
    let asked = Asked { verb, uv, command, around };
    arguments(rest.as_slice(), asked, &mut fed, &mut indexes, found);
    let constrains: &[&str] = if uv { &["UV_CONSTRAINT"] } else { &["PIP_CONSTRAINT"] };
    found.files.extend(bounds(constrains, command, around));
    let mut overrides = std::mem::take(&mut fed.overrides);
    overrides.extend(bounds(if uv { &["UV_OVERRIDE"] } else { &[] }, command, around));
    files::follow(uv, around, variable, fed, &mut indexes, found);
    replaced(overrides, around, &mut indexes, found);
    indexes.defaults(uv, command, around);
    if !uv {
        let named = variable("PIP_CONFIG_FILE");
        let own = named.as_deref().filter(|path| *path != "/dev/null");
        for path in own.into_iter().chain(PIP_CONFIG.iter().copied()) {
            match (around.open)("/", path) {
                Ok(opened) => indexes.config(&opened),
                Err(why) if own == Some(path) || is_there(&why) => indexes.unread(path, &why, command.span),
                Err(_) => {}
            }
        }
    }
    found.usual = indexes.is_usual();
    if verb == "install" {
        found.folders = indexes.folders();
    }
    let unread = found.files.iter().find(|file| file.constraint && !file.why.is_empty()).map(|file| {
        let path = file.path.known().unwrap_or("a file");
        format!("{path} constrains it and was not read: {}", file.why)
    });
    if let (Some(why), Some(framework)) = (&unread, around.knowledge.built_framework()) {
        let (version, untold) = (VersionSpec::Unresolved, Some(why.clone()));
        found.constraints.push(Install { version, untold, ..empty(framework.distribution, command.span) });
    }
    let untold = unread.or_else(|| indexes.any_version());
    for package in
        found.packages.iter_mut().filter(|package| matches!(package.version, VersionSpec::Range(_) | VersionSpec::None))
    {
        if let Some(untold) = &untold {
            package.version = VersionSpec::Unresolved;
            package.untold = Some(untold.clone());
        }
    }
    for package in found.packages.iter_mut().chain(&mut found.constraints) {
        package.conditional |= command.conditional;
        indexes.choose(package, around.knowledge);
    }
    if gathers || indexes.ways.alone {
        found.sources.clear();
    }
    if gathers {
        let folder = target_of(target);
        found.gathered = Some((folder, std::mem::take(&mut found.packages)));
        found.wheels.clear();
    }
}

/// The folder that `pip wheel` and `pip download` put wheels into; the working directory where none is named.
fn target_of(words: &[Word]) -> Resolved {
    let mut rest = words.iter();
    while let Some(word) = rest.next() {
        let text = word.known().unwrap_or(&word.raw);
        match text.split_once('=') {
            Some(("--wheel-dir" | "--dest", _)) if word.known().is_none() => return word.value.clone(),
            Some(("--wheel-dir" | "--dest", folder)) => return Resolved::literal(folder),
            _ if matches!(text, "-w" | "--wheel-dir" | "-d" | "--dest") => {
                return rest.next().map_or_else(|| Resolved::literal("."), |word| word.value.clone());
            }
            _ => match text.get(..2) {
                Some("-w" | "-d") if !text.starts_with("--") => {
                    return text.get(2..).map_or_else(|| Resolved::literal("."), Resolved::literal);
                }
                _ => {}
            },
        }
    }
    Resolved::literal(".")
}

/// The files of bounds that variables name.
fn bounds(names: &[&str], command: &Command, around: &Around<'_>) -> Vec<RequirementFile> {
    let file =
        |path| RequirementFile { path, constraint: true, extras: Vec::new(), span: command.span, why: String::new() };
    let files = |value: Resolved| match &value {
        Resolved::Known { value, .. } => value.split_whitespace().map(Resolved::literal).map(file).collect(),
        Resolved::Unresolved { .. } => vec![file(value)],
    };
    names.iter().filter_map(|name| setting(name, command, around)).flat_map(files).collect()
}

/// Takes files of overrides: what they say stands in place of what is asked for, and bounds what is brought along.
fn replaced(overrides: Vec<RequirementFile>, around: &Around<'_>, indexes: &mut Indexes, found: &mut Installs) {
    let (from, before) = (found.constraints.len(), found.files.len());
    files::listed("", overrides, around, indexes, found);
    let unread = found.files.get(before).map(|file| {
        let path = file.path.known().unwrap_or("a file");
        format!("{path} overrides the requirements and was not read: {}", file.why)
    });
    for package in found.packages.iter_mut().filter(|_| unread.is_some()) {
        package.version = VersionSpec::Unresolved;
        package.untold.clone_from(&unread);
    }
    for said in found.constraints.iter().skip(from) {
        for package in found.packages.iter_mut().filter(|package| package.name == said.name && !said.conditional) {
            package.version.clone_from(&said.version);
            package.variant.clone_from(&said.variant);
        }
    }
}

/// What a command is, for the reading of its arguments.
#[derive(Clone, Copy)]
struct Asked<'a, 'b> {
    verb: &'a str,
    uv: bool,
    command: &'a Command,
    around: &'a Around<'b>,
}

/// Lists of packages that other commands write.
#[derive(Default)]
pub(super) struct Fed {
    /// Those that can be told, each with whether it only constrains.
    pub(super) texts: Vec<(Opened, bool)>,
    /// Files of overrides.
    pub(super) overrides: Vec<RequirementFile>,
    /// Those that cannot.
    pub(super) unread: Vec<RequirementFile>,
}

fn cannot_tell(reason: String, span: Span, found: &mut Installs) {
    found.unresolved.push((Resolved::Unresolved { names: Vec::new(), reason }, span));
}

fn arguments(words: &[Word], asked: Asked<'_, '_>, fed: &mut Fed, indexes: &mut Indexes, found: &mut Installs) {
    let Asked { verb, uv, command, around } = asked;
    let mut rest = words.iter().peekable();
    let mut extras: Vec<String> = Vec::new();
    let from = found.files.len();
    while let Some(word) = rest.next() {
        let Some(text) = word.known() else {
            if inside(word, uv, indexes, found) {
                continue;
            }
            match word.output.as_deref().filter(|_| verb == "install").map(|inner| flow::output(inner, around)) {
                Some(Ok(texts)) => fed.texts.extend(texts.iter().map(|text| (flow::one_a_line(text), false))),
                Some(Err(why)) => cannot_tell(why, word.span, found),
                None => unresolved(word, verb, command, around.knowledge, found),
            }
            continue;
        };
        if !text.starts_with('-') {
            package(word, text, asked, found);
            continue;
        }
        let (name, inline) = split_option(text);
        let name = if uv { name } else { options::whole(name) };
        let mut given = |inline: Option<&str>| given(inline, word, &mut rest);
        let mut value = |inline: Option<&str>| given(inline).and_then(|(value, span)| Some((value.ok()?, span)));
        match name {
            _ if names_file(name) => {
                let constraint = bounds_only(name);
                let next = if inline.is_none() { rest.next() } else { None };
                let path = match (inline, next) {
                    (Some(path), _) => Resolved::literal(path),
                    (None, Some(next)) => next.value.clone(),
                    (None, None) => continue,
                };
                let span = next.map_or(word.span, |next| next.span);
                let file = RequirementFile { path, constraint, extras: Vec::new(), span, why: String::new() };
                let stdin = matches!(file.path.known(), Some("-" | "/dev/stdin" | "/dev/fd/0"));
                if is_override(name) {
                    fed.overrides.push(file);
                    continue;
                }
                let written = match next.and_then(|next| next.output.as_deref()) {
                    Some(inner) => Some(flow::output(inner, around)),
                    None => stdin.then(|| flow::input(command, around)),
                };
                match written {
                    Some(Ok(texts)) => fed.texts.extend(texts.into_iter().map(|text| (text, constraint))),
                    Some(Err(why)) => fed.unread.push(RequirementFile { why, ..file }),
                    None => found.files.push(file),
                }
            }
            "-e" | "--editable" => {
                if let Some((path, span)) = value(inline) {
                    if verb == "install" && is_unknown_source(&path, around.knowledge) {
                        found.sources.push((path.clone(), span, None));
                    }
                    project(&path, span, found);
                }
            }
            "--extra" | "--group" => extras.extend(value(inline).map(|(name, _)| normalised(&name))),
            "--all-extras" => extras.push("*".to_owned()),
            _ if !option(name, || given(inline), indexes)
                && inline.is_none()
                && WITH_VALUE.contains(&name)
                && !(uv && name == "--hash") =>
            {
                drop(given(None));
            }
            _ => {}
        }
    }
    for file in found.files.iter_mut().skip(from) {
        file.extras.extend(extras.iter().cloned());
    }
}

/// What an option is given: what stands in the same word, else the next one.
pub(super) fn given<'w>(inline: Option<&str>, word: &Word, rest: &mut impl Iterator<Item = &'w Word>) -> Option<Given> {
    match inline {
        Some(value) => Some((Ok(value.to_owned()), word.span)),
        None => rest.next().map(|next| (address(&next.value, &next.raw), next.span)),
    }
}

/// Takes `--option=$VALUE` with a value that is not known; says whether it was one that counts.
pub(super) fn inside(word: &Word, uv: bool, indexes: &mut Indexes, found: &mut Installs) -> bool {
    let (name, inline) = split_option(word.raw.trim_matches(['"', '\'']));
    let name = if uv { name } else { options::whole(name) };
    let Some(raw) = inline.filter(|_| name.starts_with('-')) else { return false };
    if names_file(name) {
        let (path, constraint, span) = (word.value.clone(), bounds_only(name), word.span);
        found.files.push(RequirementFile { path, constraint, extras: Vec::new(), span, why: String::new() });
        return true;
    }
    option(name, || Some((address(&word.value, raw), word.span)), indexes)
}

/// Whether an option names a list of packages.
fn names_file(name: &str) -> bool {
    matches!(name, "-r" | "--requirement" | "--requirements") || bounds_only(name)
}

/// Whether an option names a list that only bounds versions.
fn bounds_only(name: &str) -> bool {
    matches!(name, "-c" | "--constraint" | "--constraints") || is_override(name)
}

/// Whether an option names a list that stands above what is asked for.
fn is_override(name: &str) -> bool {
    matches!(name, "--override" | "--overrides")
}

/// Takes an option about indexes; says whether it was one.
pub(super) fn option(name: &str, value: impl FnOnce() -> Option<Given>, indexes: &mut Indexes) -> bool {
    let place = |given: Given| Place::given(given, None);
    match name {
        "--no-index" => indexes.asks = Asks::Links,
        "-i" | "--index-url" | "--pypi-url" | "--default-index" => indexes.index = value().map(place),
        "--extra-index-url" | "--index" => indexes.extra.extend(value().map(place)),
        "-f" | "--find-links" => indexes.links.extend(value().map(place)),
        "--torch-backend" => indexes.backend = value(),
        "--pre" => indexes.early = true,
        "--no-deps" | "--no-dependencies" => indexes.ways.alone = true,
        "--prerelease" => indexes.early |= value().is_some_and(|(strategy, _)| strategy.as_deref() == Ok("allow")),
        "--index-strategy" => {
            indexes.first_index &= value().is_none_or(|(strategy, _)| strategy.as_deref() == Ok("first-index"));
        }
        "-U" | "--upgrade" | "--force-reinstall" | "-I" | "--ignore-installed" | "--reinstall" => {
            indexes.ways.upgrade = true;
        }
        _ => return false,
    }
    true
}

/// `--name=value`, or a short option with its value behind it.
fn split_option(text: &str) -> (&str, Option<&str>) {
    if text.starts_with("--") {
        return text.split_once('=').map_or((text, None), |(name, value)| (name, Some(value)));
    }
    match text.get(..2) {
        Some(short @ ("-r" | "-c" | "-i" | "-f" | "-e")) if text.len() > 2 => (short, text.get(2..)),
        _ => (text, None),
    }
}

fn package(word: &Word, text: &str, Asked { verb, around, .. }: Asked<'_, '_>, found: &mut Installs) {
    // A URL may hold a semicolon, so that only a blank in front of it ends one.
    let parts = text.split_once(" ;").or_else(|| text.split_once(';').filter(|_| !text.contains("://")));
    let (text, marker) = parts.map_or((text, None), |(text, marker)| (text.trim_end(), Some(marker)));
    let holding = marker.map(|marker| holds(marker, around.environment));
    if verb == "install" && holding != Some(Some(false)) && is_unknown_source(text, around.knowledge) {
        found.sources.push((text.to_owned(), word.span, None));
    }
    if verb == "uninstall" {
        found.removed.push((Manager::Pip, normalised(text), word.span));
    } else if verb == "sync" {
        let path = word.value.clone();
        found.files.push(RequirementFile {
            path,
            constraint: false,
            extras: Vec::new(),
            span: word.span,
            why: String::new(),
        });
    } else if verb == "install" && is_pattern(text) {
        found.wheels.push((text.to_owned(), word.span));
    } else if let Some(mut package) = requirement(text, word.span, around.knowledge) {
        match holding {
            Some(Some(false)) => return,
            holding => package.conditional = holding == Some(None),
        }
        found.packages.push(package);
    } else {
        project(text, word.span, found);
    }
}

/// `/wheels/*.whl`: whatever lies there.
fn is_pattern(text: &str) -> bool {
    let name = text.rsplit('/').next().unwrap_or(text);
    let wheels = text.contains('/') || name.rsplit('.').next() == Some("whl");
    wheels && name.contains(['*', '?']) && !text.contains("://") && !text.contains('[')
}

/// A folder with a project: `.`, `./src[extra]`.
fn project(path: &str, span: Span, found: &mut Installs) {
    let (folder, extras) = path.split_once('[').map_or((path, ""), |(folder, extras)| (folder, extras));
    if folder.starts_with(['.', '/']) && !matches!(folder.rsplit('.').next(), Some("whl" | "gz" | "zip")) {
        let path = Resolved::literal(format!("{}/pyproject.toml", folder.trim_end_matches('/')));
        let extras = extras.trim_end().trim_end_matches(']').split(',').map(|name| normalised(name.trim())).collect();
        found.files.push(RequirementFile { path, constraint: false, extras, span, why: String::new() });
    }
}

/// A word such as `torch==$V`: the name is known though the version is not.
fn unresolved(word: &Word, verb: &str, command: &Command, knowledge: Knowledge, found: &mut Installs) {
    let raw = word.raw.trim_matches(['"', '\'']);
    let name = raw.split(['=', '<', '>', '~', '!', '$', '`', '{']).next().unwrap_or("");
    let pinned = raw.get(name.len()..).is_some_and(|rest| rest.starts_with(['=', '<', '>', '~', '!']));
    if verb == "install"
        && let Some(package) = wheel_behind(&word.raw, word.span, knowledge)
    {
        found.packages.push(package);
        return;
    }
    match requirement(name, word.span, knowledge) {
        Some(mut package) if pinned && verb == "install" => {
            package.version = VersionSpec::Unresolved;
            package.conditional = command.conditional;
            found.packages.push(package);
        }
        _ => found.unresolved.push((word.value.clone(), word.span)),
    }
}
