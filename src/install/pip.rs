//! `pip install` and `uv pip install`: their options and arguments.

use crate::build::{Command, Word};
use crate::dockerfile::ExpandedText;
use crate::install::context::{CommandContext, OpenedFile};
use crate::install::effects::{InstallEffects, RequirementFile};
use crate::install::marker::evaluate_marker;
use crate::install::package_index::{
    IndexOptions, PIP_CONFIG_FILES, apply_index_option, command_variable, exists_unread,
};
use crate::install::pip_options::{
    apply_unresolved_option, complete_option, option_value, split_option, split_short_options, takes_constraint_file,
    takes_override_file, takes_requirement_file,
};
use crate::install::requirement::{has_unknown_dependencies, parse_partial_wheel_url, parse_requirement, pip_package};
use crate::install::requirement_files::GeneratedRequirements;
use crate::install::{requirement_files, standard_streams};
use crate::knowledge::Knowledge;
use crate::model::cause::Cause;
use crate::model::fact::InstallerBehavior;
use crate::model::package::{PackageManager, PackageName, PackageVersion};
use crate::text::source::Span;

/// Options that take the next word as their value.
const OPTIONS_WITH_VALUE: &[&str] = &[
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

/// Reads the effects of a `pip` or `uv pip` command from its arguments.
pub(super) fn read_arguments(
    words: &[Word],
    uv: bool,
    xargs_arguments: Option<Result<Vec<OpenedFile>, Cause>>,
    command: &Command,
    context: &CommandContext<'_>,
    variable: &dyn Fn(&str) -> Option<String>,
    found: &mut InstallEffects,
) {
    let split_words = if uv { Vec::new() } else { split_short_options(words) };
    let words = if uv { words } else { &split_words };
    let mut rest = words.iter();
    let verb = loop {
        let Some(word) = rest.next() else { return };
        let Some(text) = word.known() else { return };
        if !text.starts_with('-') {
            break text;
        }
        if OPTIONS_WITH_VALUE.contains(&text) {
            rest.next();
        }
    };
    let dry = rest.as_slice().iter().any(|word| word.known() == Some("--dry-run"));
    let gathers = matches!(verb, "wheel" | "download");
    if dry || !(gathers || matches!(verb, "install" | "sync" | "uninstall")) {
        return;
    }
    let has_legacy_resolver =
        rest.as_slice().iter().filter_map(Word::known).any(|word| word.starts_with("--use-deprecated"));
    let ignores_requirements = has_legacy_resolver || verb == "sync";
    found.behaviors.extend(ignores_requirements.then_some(InstallerBehavior::IgnoresRequirements));
    found.syncs |= verb == "sync";
    let target = rest.as_slice();
    let verb = if gathers { "install" } else { verb };
    let mut indexes = IndexOptions { first_index: uv, ..IndexOptions::default() };
    let mut fed = GeneratedRequirements::default();
    match xargs_arguments {
        Some(Ok(texts)) if verb == "install" => fed.texts.extend(texts.into_iter().map(|text| (text, false))),
        Some(Err(why)) => add_unknown_words(why, command.span, found),
        Some(Ok(_)) | None => {}
    }
    let pip_command = PipCommand { verb, uv, command, context };
    read_words(rest.as_slice(), pip_command, &mut fed, &mut indexes, found);
    let constrains: &[&str] = if uv { &["UV_CONSTRAINT"] } else { &["PIP_CONSTRAINT"] };
    found.files.extend(constraint_files(constrains, command, context));
    let mut overrides = std::mem::take(&mut fed.overrides);
    overrides.extend(constraint_files(if uv { &["UV_OVERRIDE"] } else { &[] }, command, context));
    requirement_files::read_named_files(uv, context, variable, fed, &mut indexes, found);
    apply_overrides(overrides, context, &mut indexes, found);
    indexes.apply_environment(uv, command, context);
    if !uv {
        let named = variable("PIP_CONFIG_FILE");
        let own = named.as_deref().filter(|path| *path != "/dev/null");
        for path in own.into_iter().chain(PIP_CONFIG_FILES.iter().copied()) {
            match (context.open)("/", path) {
                Ok(opened) => indexes.apply_pip_config(&opened),
                Err(why) if own == Some(path) || exists_unread(&why) => {
                    indexes.add_unread_config(path, why, command.span);
                }
                Err(_) => {}
            }
        }
    }
    let resolution = indexes.resolution;
    let reinstalls = resolution.reinstall && !gathers;
    let upgrades = !gathers && (resolution.reinstall || resolution.upgrade && (uv || resolution.eager));
    found.behaviors.extend(reinstalls.then_some(InstallerBehavior::Reinstalls));
    found.behaviors.extend(upgrades.then_some(InstallerBehavior::UpgradesDependencies));
    found.default_index_only = indexes.is_default();
    if verb == "install" {
        found.folders = indexes.link_folders();
    }
    let unread = found.files.iter().find(|file| file.constraint).and_then(|file| {
        let path = file.path.known_text().unwrap_or("a file").to_owned();
        Some(Cause::ConstraintsNotRead { path, because: Box::new(file.why.clone()?) })
    });
    if let (Some(why), Some(framework)) = (&unread, context.knowledge.framework_with_variants()) {
        let version = PackageVersion::Unresolved(why.clone());
        found.constraints.push(pip_package(framework.distribution, command.span).with_version(version));
    }
    let unknown_cause = unread.or_else(|| indexes.unknown_version_cause());
    for package in found.packages.iter_mut().filter(|package| package.requirement.version.is_range()) {
        if let Some(cause) = &unknown_cause {
            package.requirement.version = PackageVersion::Unresolved(cause.clone());
        }
    }
    for package in found.packages.iter_mut().chain(&mut found.constraints) {
        package.conditional |= command.conditional;
        indexes.choose_builds(package, context.knowledge);
    }
    if gathers || indexes.resolution.no_deps {
        found.sources.clear();
    }
    if gathers {
        let folder = wheel_output_folder(target);
        found.gathered = Some((folder, std::mem::take(&mut found.packages)));
        found.wheels.clear();
    }
}

/// Returns the folder in which `pip wheel` and `pip download` save wheels; the working directory if none is named.
fn wheel_output_folder(words: &[Word]) -> ExpandedText {
    let mut rest = words.iter();
    while let Some(word) = rest.next() {
        let text = word.known().unwrap_or(&word.raw);
        match text.split_once('=') {
            Some(("--wheel-dir" | "--dest", _)) if word.known().is_none() => return word.value.clone(),
            Some(("--wheel-dir" | "--dest", folder)) => return ExpandedText::literal(folder),
            _ if matches!(text, "-w" | "--wheel-dir" | "-d" | "--dest") => {
                return rest.next().map_or_else(|| ExpandedText::literal("."), |word| word.value.clone());
            }
            _ => match text.get(..2) {
                Some("-w" | "-d") if !text.starts_with("--") => {
                    return text.get(2..).map_or_else(|| ExpandedText::literal("."), ExpandedText::literal);
                }
                _ => {}
            },
        }
    }
    ExpandedText::literal(".")
}

/// Returns the constraint or override files that environment variables name.
fn constraint_files(names: &[&str], command: &Command, context: &CommandContext<'_>) -> Vec<RequirementFile> {
    let file = |path| RequirementFile { path, constraint: true, extras: Vec::new(), span: command.span, why: None };
    let files = |value: ExpandedText| match &value {
        ExpandedText::Known { value, .. } => value.split_whitespace().map(ExpandedText::literal).map(file).collect(),
        ExpandedText::Unresolved { .. } => vec![file(value)],
    };
    names.iter().filter_map(|name| command_variable(name, command, context)).flat_map(files).collect()
}

/// Applies override files: they replace requested versions, and constrain the versions of dependencies.
fn apply_overrides(
    overrides: Vec<RequirementFile>,
    context: &CommandContext<'_>,
    indexes: &mut IndexOptions,
    found: &mut InstallEffects,
) {
    found.behaviors.extend((!overrides.is_empty()).then_some(InstallerBehavior::IgnoresRequirements));
    let (from, before) = (found.constraints.len(), found.files.len());
    requirement_files::read_included_files("", overrides, context, indexes, found);
    let unread = found.files.get(before).map(|file| {
        let path = file.path.known_text().unwrap_or("a file").to_owned();
        Cause::OverridesNotRead { path, because: Box::new(file.why.clone().unwrap_or(Cause::NotRead)) }
    });
    if let Some(why) = unread {
        for package in &mut found.packages {
            package.requirement.version = PackageVersion::Unresolved(why.clone());
        }
    }
    for constraint in found.constraints.iter().skip(from) {
        for package in found
            .packages
            .iter_mut()
            .filter(|package| package.requirement.name == constraint.requirement.name && !constraint.conditional)
        {
            package.apply_override(constraint);
        }
    }
}

/// A pip command, as the context of its arguments.
#[derive(Clone, Copy)]
struct PipCommand<'a, 'b> {
    /// The subcommand, such as `install`.
    verb: &'a str,
    /// Whether the command is uv rather than pip.
    uv: bool,
    command: &'a Command,
    context: &'a CommandContext<'b>,
}

/// Records that some words of a command are unknown.
fn add_unknown_words(reason: Cause, span: Span, found: &mut InstallEffects) {
    found.unresolved.push((ExpandedText::unresolved(Vec::new(), reason), span));
}

/// Reads the words after the subcommand.
fn read_words(
    words: &[Word],
    pip_command: PipCommand<'_, '_>,
    fed: &mut GeneratedRequirements,
    indexes: &mut IndexOptions,
    found: &mut InstallEffects,
) {
    let PipCommand { verb, uv, command, context } = pip_command;
    let mut rest = words.iter().peekable();
    let mut extras: Vec<PackageName> = Vec::new();
    let from = found.files.len();
    while let Some(word) = rest.next() {
        let Some(text) = word.known() else {
            if apply_unresolved_option(word, uv, indexes, found) {
                continue;
            }
            match word
                .output
                .as_deref()
                .filter(|_| verb == "install")
                .map(|inner| standard_streams::standard_output(inner, context))
            {
                Some(Ok(texts)) => {
                    fed.texts.extend(texts.iter().map(|text| (standard_streams::one_word_per_line(text), false)));
                }
                Some(Err(why)) => add_unknown_words(why, word.span, found),
                None => read_unresolved_word(word, verb, command, context.knowledge, found),
            }
            continue;
        };
        if !text.starts_with('-') {
            read_package(word, text, pip_command, found);
            continue;
        }
        let (name, inline) = split_option(text);
        let name = if uv { name } else { complete_option(name) };
        let mut given = |inline: Option<&str>| option_value(inline, word, &mut rest);
        let mut value = |inline: Option<&str>| given(inline).and_then(|(value, span)| Some((value.ok()?, span)));
        match name {
            _ if takes_requirement_file(name) => {
                let constraint = takes_constraint_file(name);
                let next = if inline.is_none() { rest.next() } else { None };
                let path = match (inline, next) {
                    (Some(path), _) => ExpandedText::literal(path),
                    (None, Some(next)) => next.value.clone(),
                    (None, None) => continue,
                };
                let span = next.map_or(word.span, |next| next.span);
                let file = RequirementFile { path, constraint, extras: Vec::new(), span, why: None };
                let stdin = matches!(file.path.known_text(), Some("-" | "/dev/stdin" | "/dev/fd/0"));
                if takes_override_file(name) {
                    fed.overrides.push(file);
                    continue;
                }
                let written = match next.and_then(|next| next.output.as_deref()) {
                    Some(inner) => Some(standard_streams::standard_output(inner, context)),
                    None => stdin.then(|| standard_streams::standard_input(command, context)),
                };
                match written {
                    Some(Ok(texts)) => fed.texts.extend(texts.into_iter().map(|text| (text, constraint))),
                    Some(Err(why)) => fed.unread.push(RequirementFile { why: Some(why), ..file }),
                    None => found.files.push(file),
                }
            }
            "-e" | "--editable" => {
                if let Some((path, span)) = value(inline) {
                    if verb == "install" && has_unknown_dependencies(&path, context.knowledge) {
                        found.sources.push((path.clone(), span, None));
                    }
                    let repository = path.contains("git+").then(|| parse_requirement(&path, span, context.knowledge));
                    match repository.flatten().filter(|_| verb == "install") {
                        Some(package) => found.packages.push(package),
                        None => add_project(&path, span, found),
                    }
                }
            }
            // Of other packages, the choice does not depend on what is installed.
            "--reinstall-package" | "--upgrade-package" | "-P" if uv => {
                let package = value(inline).and_then(|(text, span)| parse_requirement(&text, span, context.knowledge));
                let concerns = package.is_some_and(|one| context.knowledge.has_variants(&one.requirement.name));
                let reinstalls = name == "--reinstall-package";
                indexes.resolution.upgrade |= concerns && !reinstalls;
                indexes.resolution.reinstall |= concerns && reinstalls;
            }
            "--extra" | "--group" => extras.extend(value(inline).map(|(name, _)| PackageName::python(&name))),
            "--all-extras" => extras.push(PackageName::python("*")),
            _ if !apply_index_option(name, || given(inline), indexes)
                && inline.is_none()
                && OPTIONS_WITH_VALUE.contains(&name)
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

/// Reads a word that names a package, a wheel, a project or, for `sync`, a requirement file.
fn read_package(
    word: &Word,
    text: &str,
    PipCommand { verb, context, .. }: PipCommand<'_, '_>,
    found: &mut InstallEffects,
) {
    // A URL may hold a semicolon, so that only a blank in front of it ends one.
    let parts = text.split_once(" ;").or_else(|| text.split_once(';').filter(|_| !text.contains("://")));
    let (text, marker) = parts.map_or((text, None), |(text, marker)| (text.trim_end(), Some(marker)));
    let holding = marker.map(|marker| evaluate_marker(marker, context.environment));
    if verb == "install" && holding != Some(Some(false)) && has_unknown_dependencies(text, context.knowledge) {
        found.sources.push((text.to_owned(), word.span, None));
    }
    if verb == "uninstall" {
        found.removed.push((PackageManager::Pip, PackageName::python(text), word.span));
    } else if verb == "sync" {
        let path = word.value.clone();
        found.files.push(RequirementFile { path, constraint: false, extras: Vec::new(), span: word.span, why: None });
    } else if verb == "install" && is_wheel_pattern(text) {
        found.wheels.push((text.to_owned(), word.span));
    } else if let Some(mut package) = parse_requirement(text, word.span, context.knowledge) {
        match holding {
            Some(Some(false)) => return,
            holding => package.conditional = holding == Some(None),
        }
        found.packages.push(package);
    } else {
        add_project(text, word.span, found);
    }
}

/// Whether a word is a glob pattern of wheels, such as `/wheels/*.whl`.
fn is_wheel_pattern(text: &str) -> bool {
    let name = text.rsplit('/').next().unwrap_or(text);
    let wheels = text.contains('/') || name.rsplit('.').next() == Some("whl");
    wheels && name.contains(['*', '?']) && !text.contains("://") && !text.contains('[')
}

/// Adds the `pyproject.toml` of a project folder, such as `.` or `./src[extra]`.
fn add_project(path: &str, span: Span, found: &mut InstallEffects) {
    let (folder, extras) = path.split_once('[').map_or((path, ""), |(folder, extras)| (folder, extras));
    if folder.starts_with(['.', '/']) && !matches!(folder.rsplit('.').next(), Some("whl" | "gz" | "zip")) {
        let path = ExpandedText::literal(format!("{}/pyproject.toml", folder.trim_end_matches('/')));
        let extras =
            extras.trim_end().trim_end_matches(']').split(',').map(|name| PackageName::python(name.trim())).collect();
        found.files.push(RequirementFile { path, constraint: false, extras, span, why: None });
    }
}

/// Reads a partly unknown word, such as `torch==$V` with a known name and an unknown version.
fn read_unresolved_word(word: &Word, verb: &str, command: &Command, knowledge: Knowledge, found: &mut InstallEffects) {
    let raw = word.raw.trim_matches(['"', '\'']);
    let name = raw.split(['=', '<', '>', '~', '!', '$', '`', '{']).next().unwrap_or("");
    let pinned = raw.get(name.len()..).is_some_and(|rest| rest.starts_with(['=', '<', '>', '~', '!']));
    if verb == "install"
        && let Some(package) = parse_partial_wheel_url(&word.raw, word.span, knowledge)
    {
        found.packages.push(package);
        return;
    }
    match parse_requirement(name, word.span, knowledge) {
        Some(mut package) if pinned && verb == "install" => {
            package.requirement.version = PackageVersion::behind_variable();
            package.conditional = command.conditional;
            found.packages.push(package);
        }
        _ => found.unresolved.push((word.value.clone(), word.span)),
    }
}
