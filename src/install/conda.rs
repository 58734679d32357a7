//! Commands of conda, mamba and micromamba, and the files that they read: lists of match specs, environment files and
//! lock files, also of conda-lock and pixi.

use std::collections::BTreeSet;

use crate::build::{Command, Word};
use crate::dockerfile::ExpandedText;
use crate::install::context::{CommandContext, OpenedFile};
use crate::install::effects::{BuildVariant, InstallEffects, PackageInstall, RequirementFile, VariantSource};
use crate::install::package_index::{IndexAddress, IndexOptions};
use crate::install::requirement::{is_build_tag, package_with_version, parse_requirement, set_source};
use crate::install::requirement_files;
use crate::knowledge::Knowledge;
use crate::model::package::{PackageManager, PackageName, PackageVersion};
use crate::text::source::Span;

/// Options that take the next word as their value.
const OPTIONS_WITH_VALUE: &[&str] = &[
    "-c",
    "--channel",
    "--clone",
    "-n",
    "--name",
    "-p",
    "--prefix",
    "--platform",
    "--repodata-fn",
    "--solver",
    "--experimental-solver",
    "--subdir",
    "-r",
    "--root-prefix",
];

/// Reads the effects of a conda command from its arguments.
pub(super) fn read_arguments(
    words: &[Word],
    command: &Command,
    context: &CommandContext<'_>,
    found: &mut InstallEffects,
) {
    let mut rest = words.iter().skip_while(|word| word.known().is_some_and(|text| text.starts_with('-')));
    let Some(mut verb) = rest.next().and_then(Word::known) else { return };
    let mut rest = rest.peekable();
    let env = verb == "env";
    if env {
        verb = rest.next().and_then(Word::known).unwrap_or("");
    }
    let removes = matches!(verb, "remove" | "uninstall");
    if !removes && !matches!(verb, "install" | "create" | "update" | "upgrade") {
        return;
    }
    let from = found.packages.len();
    let mut files = 0;
    let mut channel: Option<String> = None;
    while let Some(word) = rest.next() {
        let Some(text) = word.known() else {
            found.unresolved.push((word.value.clone(), word.span));
            continue;
        };
        match text {
            "-f" | "--file" => {
                let Some(next) = rest.next() else { break };
                files += 1;
                read_spec_file(&next.value, next.span, context, found);
            }
            _ if text.starts_with("--file=") => {
                files += 1;
                read_spec_file(&ExpandedText::literal(text.trim_start_matches("--file=")), word.span, context, found);
            }
            "-c" | "--channel" => {
                let named = rest.next().map(|word| channel_name(word.known().unwrap_or("")));
                channel = channel.or(named);
            }
            _ if text.starts_with("--channel=") => {
                channel = channel.or_else(|| Some(channel_name(text.trim_start_matches("--channel="))));
            }
            _ if OPTIONS_WITH_VALUE.contains(&text) => drop(rest.next()),
            _ if text.starts_with('-') => {}
            _ => {
                if matches!(file_extension(text), "yml" | "yaml") {
                    files += 1;
                    read_spec_file(&word.value, word.span, context, found);
                } else if let Some(package) = parse_match_spec(text, word.span) {
                    if removes {
                        found.removed.push((PackageManager::Conda, package.requirement.name, package.span));
                    } else {
                        found.packages.push(package);
                    }
                }
            }
        }
    }
    if env && files == 0 && matches!(verb, "create" | "update") {
        read_spec_file(&ExpandedText::literal("environment.yml"), command.span, context, found);
    }
    for package in found.packages.get_mut(from..).unwrap_or_default() {
        package.conditional |= command.conditional;
        if package.requirement.manager == PackageManager::Conda && package.requirement.channel.is_none() {
            package.requirement.channel.clone_from(&channel);
        }
    }
}

/// Returns the name of a channel that is given by name or by URL.
fn channel_name(text: &str) -> String {
    let text = text.trim().trim_end_matches('/');
    match text.split_once("://") {
        Some((_, address)) => address.rsplit('/').next().unwrap_or(address).to_owned(),
        None => text.to_owned(),
    }
}

/// Reads the lock file that `conda-lock install FILE` installs.
pub(super) fn read_conda_lock(
    words: &[Word],
    command: &Command,
    context: &CommandContext<'_>,
    found: &mut InstallEffects,
) {
    if words.first().and_then(Word::known) != Some("install") {
        return;
    }
    let from = found.packages.len();
    let ends =
        |word: &&Word| word.known().is_some_and(|text| matches!(file_extension(text), "yml" | "yaml" | "lock" | "txt"));
    match words.iter().skip(1).find(ends) {
        Some(word) => read_spec_file(&word.value, word.span, context, found),
        None => read_spec_file(&ExpandedText::literal("conda-lock.yml"), command.span, context, found),
    }
    for package in found.packages.get_mut(from..).unwrap_or_default() {
        package.conditional |= command.conditional;
    }
}

/// Reads an environment file, a lock file or a list of match specs.
fn read_spec_file(path: &ExpandedText, span: Span, context: &CommandContext<'_>, found: &mut InstallEffects) {
    let opened = match path {
        ExpandedText::Known { value, .. } => (context.open)("", value),
        ExpandedText::Unresolved { reason, .. } => Err((**reason).clone()),
    };
    match opened {
        Ok(opened) if read_explicit_list(&opened, context.knowledge, found).is_some() => {}
        Ok(opened) if opened.path.contains("lock") => {
            read_lock_file(&opened, "default", context, found);
        }
        Ok(opened) if file_extension(&opened.path) == "txt" => {
            let mut at = 0;
            for raw in opened.text.text().split_inclusive('\n') {
                let line = raw.trim();
                let span = opened.text.source_span(at..at + raw.trim_end().len());
                at += raw.len();
                let package = if line.starts_with(['#', '@']) { None } else { parse_match_spec(line, span) };
                if let Some(mut package) = package {
                    set_source(&mut package, &opened);
                    found.packages.push(package);
                }
            }
        }
        Ok(opened) => read_environment_file(&opened, context, found),
        Err(why) => {
            found.files.push(RequirementFile {
                path: path.clone(),
                constraint: false,
                extras: Vec::new(),
                span,
                why: Some(why),
            });
        }
    }
}

/// Returns the extension of a path.
fn file_extension(path: &str) -> &str {
    path.rsplit_once('.').map_or("", |(_, ending)| ending)
}

/// Parses a conda match spec, such as `pytorch::pytorch=2.4=*cuda*`.
pub(super) fn parse_match_spec(text: &str, span: Span) -> Option<PackageInstall> {
    let (channel, text) = text.rsplit_once("::").map_or((None, text), |(channel, text)| (Some(channel), text));
    let (channel, text) = (channel.map(channel_name), text.trim());
    let end = text.find(['=', '<', '>', '!', '~', ' ', '[']).unwrap_or(text.len());
    let name = PackageName::conda(&text[..end]);
    let good = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte));
    if !good {
        return None;
    }
    let (rest, fields) = text[end..].split_once('[').unwrap_or((&text[end..], ""));
    let rest = rest.trim();
    let (version, build) = if rest.starts_with(['<', '>', '!', '~']) {
        let (range, build) = split_build_string(rest);
        (PackageVersion::range(range), build.map(str::to_owned))
    } else {
        let mut parts = rest.trim_start_matches('=').split(['=', ' ']).filter(|part| !part.is_empty());
        let version = match parts.next() {
            None | Some("*") => PackageVersion::any(),
            Some(version) if version.contains(['*', '<', '>', ',', '|', '[']) => PackageVersion::range(version),
            Some(version) => PackageVersion::exact(version),
        };
        (version, parts.next().map(str::to_owned))
    };
    let version = match (version, bracket_field(fields, "version")) {
        (PackageVersion::Range(own), Some(range)) if own.is_any() => PackageVersion::range(range),
        (version, _) => version,
    };
    let build = build.or_else(|| bracket_field(fields, "build").map(str::to_owned));
    let channel = channel.or_else(|| bracket_field(fields, "channel").map(channel_name));
    let tag = build.as_deref().and_then(tag_of_build);
    let variant = tag.map(|tag| BuildVariant { tag, from: VariantSource::LocalVersion, span, source: None });
    let mut install = PackageInstall::new(PackageManager::Conda, name, version, span);
    install.requirement.channel = channel;
    Some(PackageInstall { variant, build, ..install })
}

/// Splits off the build string after a version range, as in `>=2.4=*cpu*`.
fn split_build_string(range: &str) -> (&str, Option<&str>) {
    let starts = |(at, _): &(usize, &str)| {
        let before = range.get(..*at).and_then(|before| before.chars().next_back());
        !before.is_none_or(|before| "<>=!~,|".contains(before)) && range.get(at + 1..at + 2) != Some("=")
    };
    match range.match_indices('=').find(starts) {
        Some((at, _)) => (range.get(..at).unwrap_or(range), range.get(at + 1..)),
        None => (range, None),
    }
}

/// Returns the value of a field in the brackets of a match spec, as in `[version=">=2.4",build="cpu*"]`.
fn bracket_field<'a>(fields: &'a str, name: &str) -> Option<&'a str> {
    let (_, value) = fields.split_once(&format!("{name}="))?;
    let value = value.trim_start();
    match value.chars().next().filter(|quote| matches!(quote, '"' | '\'')) {
        Some(quote) => value.get(1..)?.split(quote).next(),
        None => value.split([',', ']']).next().map(str::trim),
    }
}

/// Returns the build tag in a build string: `cu121` in `py3.10_cuda12.1_cudnn8.9.2_0`, `cpu` in `cpu_generic`, none
/// in `cuda12*`.
fn tag_of_build(build: &str) -> Option<String> {
    build.split('_').find_map(|written| {
        let part = written.trim_matches('*');
        let whole = |tag: &String| part == written || !tag.starts_with("cu") || tag.len() > "cu12".len();
        let digits = part.strip_prefix("cuda").map(|rest| rest.replace('.', ""));
        let tag = digits.map_or_else(|| part.to_owned(), |digits| format!("cu{digits}"));
        Some(tag).filter(|tag| is_build_tag(tag) && whole(tag))
    })
}

/// One line of block-style YAML.
struct YamlLine<'a> {
    /// Number of columns before the text, including the dash of a list item.
    indent: usize,
    /// Whether the line begins a list item.
    item: bool,
    /// The text without indentation, dash and comment.
    text: &'a str,
    /// Offset of the text in the file.
    start: usize,
}

/// Splits a text into lines, without comments and blank lines.
fn yaml_lines(text: &str) -> Vec<YamlLine<'_>> {
    let mut out = Vec::new();
    let mut at = 0;
    for raw in text.split_inclusive('\n') {
        let start = at;
        at += raw.len();
        let line = raw.trim_end();
        let cut = line.find(" #").unwrap_or(line.len());
        let line = line.get(..cut).unwrap_or(line).trim_end();
        let body = line.trim_start();
        if body.is_empty() || body.starts_with('#') {
            continue;
        }
        let item = body.starts_with("- ");
        let inner = if item { body[2..].trim_start() } else { body };
        let indent = line.len() - inner.len();
        out.push(YamlLine { indent, item, text: inner, start: start + indent });
    }
    out
}

/// Returns a text without surrounding blanks and quotes.
fn unquoted(text: &str) -> &str {
    text.trim().trim_matches(['"', '\''])
}

/// Returns where a line is written.
fn line_span(line: &YamlLine<'_>, opened: &OpenedFile) -> Span {
    opened.text.source_span(line.start..line.start + line.text.len())
}

/// Reads an `environment.yml`: conda packages, and pip requirements below `pip:`.
fn read_environment_file(opened: &OpenedFile, context: &CommandContext<'_>, found: &mut InstallEffects) {
    let mut inside = false;
    let mut pip: Option<usize> = None;
    let mut indexes = IndexOptions::default();
    let from = found.packages.len();
    let mut listed: Vec<RequirementFile> = Vec::new();
    let (mut channels, mut channel) = (false, None);
    for line in yaml_lines(opened.text.text()) {
        if line.indent == 0 && !line.item {
            inside = line.text.trim_end_matches(' ') == "dependencies:";
            channels = line.text.starts_with("channels:");
            let flow = line.text.split_once('[').filter(|_| channels).map(|(_, list)| list);
            let first = flow.and_then(|list| list.split([',', ']']).next()).map(|first| channel_name(unquoted(first)));
            channel = channel.or(first);
            continue;
        }
        if channels && line.item && channel.is_none() {
            channel = Some(channel_name(unquoted(line.text)));
        }
        if !inside || !line.item {
            continue;
        }
        if pip.is_some_and(|indent| line.indent <= indent) {
            pip = None;
        }
        let span = line_span(&line, opened);
        let text = unquoted(line.text);
        if text == "pip:" {
            pip = Some(line.indent);
            continue;
        }
        let package = if pip.is_none() {
            parse_match_spec(text, span)
        } else if let Some((name, url)) = text.split_once([' ', '=']).filter(|_| text.starts_with('-')) {
            let path = ExpandedText::literal(url.trim());
            let url = IndexAddress::new(url.trim(), span, opened.source);
            match name {
                "--extra-index-url" => indexes.extra.push(url),
                "--index-url" | "-i" => indexes.index = Some(url),
                "--find-links" | "-f" => indexes.links.push(url),
                "-r" | "--requirement" | "-c" | "--constraint" => {
                    let constraint = matches!(name, "-c" | "--constraint");
                    listed.push(RequirementFile { path, constraint, extras: Vec::new(), span, why: None });
                }
                _ => {}
            }
            None
        } else {
            parse_requirement(text.split(" --").next().unwrap_or(text), span, context.knowledge)
        };
        if let Some(mut package) = package {
            set_source(&mut package, opened);
            found.packages.push(package);
        }
    }
    let folder = opened.path.rsplit_once('/').map_or("", |(folder, _)| folder);
    requirement_files::read_included_files(folder, listed, context, &mut indexes, found);
    for package in found.packages.get_mut(from..).unwrap_or_default() {
        if package.requirement.manager == PackageManager::Pip {
            indexes.choose_builds(package, context.knowledge);
        } else if package.requirement.channel.is_none() {
            package.requirement.channel.clone_from(&channel);
        }
    }
}

/// Reads a list of package URLs that conda writes under `@EXPLICIT`; `None` if the file is something else.
fn read_explicit_list(opened: &OpenedFile, knowledge: Knowledge, found: &mut InstallEffects) -> Option<()> {
    let lines = yaml_lines(opened.text.text());
    lines.iter().any(|line| line.text == "@EXPLICIT").then_some(())?;
    for line in lines.iter().filter(|line| line.text.contains("://")) {
        let url = line.text.split('#').next().unwrap_or(line.text).trim();
        // The list is one for the platform that the command runs on.
        CondaLockEntry {
            conda: true,
            platform: "noarch".to_owned(),
            url: url.to_owned(),
            span: line_span(line, opened),
            ..CondaLockEntry::default()
        }
        .add_package(("", knowledge), opened, found);
    }
    Some(())
}

/// Returns the package URLs of one environment of a `pixi.lock` for a platform; `None` if the file lists none.
fn pixi_environment_urls(text: &str, name: &str, subdir: &str) -> Option<BTreeSet<String>> {
    let (mut inside, mut own, mut here, mut found) = (false, false, false, None);
    for line in yaml_lines(text) {
        match (line.indent, line.item) {
            (0, false) => inside = line.text == "environments:",
            (2, false) => own = line.text.trim_end_matches(':') == name,
            (6, false) => here = line.text.trim_end_matches(':') == subdir,
            (8, true) if inside && own && here => {
                let url = line.text.split_once(':').map(|(_, url)| unquoted(url).to_owned());
                found.get_or_insert_with(BTreeSet::new).extend(url);
            }
            _ => {}
        }
    }
    found
}

/// Reads a lock file of conda-lock or pixi: the packages for one platform, and for pixi of one environment.
pub(super) fn read_lock_file(
    opened: &OpenedFile,
    environment: &str,
    context: &CommandContext<'_>,
    found: &mut InstallEffects,
) {
    let subdir = if context.environment.machine.name() == "aarch64" { "linux-aarch64" } else { "linux-64" };
    let chosen = pixi_environment_urls(opened.text.text(), environment, subdir);
    let mut entry = CondaLockEntry::default();
    let mut inside = false;
    for line in yaml_lines(opened.text.text()) {
        if line.indent == 0 && !line.item {
            entry.add_selected_package(chosen.as_ref(), (subdir, context.knowledge), opened, found);
            inside = matches!(line.text, "package:" | "packages:");
            continue;
        }
        if !inside {
            continue;
        }
        if line.item && line.indent == 2 {
            entry.add_selected_package(chosen.as_ref(), (subdir, context.knowledge), opened, found);
        }
        if line.indent != 2 {
            continue;
        }
        let Some((key, value)) = line.text.split_once(':') else { continue };
        let value = unquoted(value).to_owned();
        match key {
            "name" => (entry.name, entry.span) = (value, line_span(&line, opened)),
            "version" => (entry.version, entry.span) = (value, line_span(&line, opened)),
            "platform" | "subdir" => entry.platform = value,
            "build" => entry.build = value,
            // Older locks of pixi name the kind, and the address below it.
            "manager" | "kind" => entry.conda = value == "conda",
            "url" => entry.url = value,
            "conda" => (entry.conda, entry.url, entry.span) = (true, value, line_span(&line, opened)),
            "pypi" => (entry.conda, entry.url, entry.span) = (false, value, line_span(&line, opened)),
            _ => {}
        }
    }
    entry.add_selected_package(chosen.as_ref(), (subdir, context.knowledge), opened, found);
}

/// One package entry of a lock file of conda-lock or pixi.
#[derive(Default)]
struct CondaLockEntry {
    name: String,
    version: String,
    build: String,
    /// The conda platform, such as `linux-64`; empty if not given.
    platform: String,
    url: String,
    /// Whether it is a conda package rather than a pip package.
    conda: bool,
    /// Where the package is written.
    span: Span,
}

impl CondaLockEntry {
    /// Adds the package if its URL is among the selected ones, and resets the entry.
    fn add_selected_package(
        &mut self,
        chosen: Option<&BTreeSet<String>>,
        on: (&str, Knowledge),
        opened: &OpenedFile,
        found: &mut InstallEffects,
    ) {
        if chosen.is_some_and(|chosen| !self.url.is_empty() && !chosen.contains(&self.url)) {
            *self = Self::default();
        }
        self.add_package(on, opened, found);
    }

    /// Adds the package of the entry if it is for this platform, and resets the entry.
    fn add_package(&mut self, (subdir, knowledge): (&str, Knowledge), opened: &OpenedFile, found: &mut InstallEffects) {
        let mut entry = std::mem::take(self);
        let parts: Vec<&str> = entry.url.rsplit('/').collect();
        // …/linux-64/name-version-build.conda#sum
        let file = parts.first().and_then(|file| file.split('#').next()).unwrap_or("");
        let stem = file.strip_suffix(".conda").or_else(|| file.strip_suffix(".tar.bz2")).unwrap_or(file);
        let mut words = stem.rsplitn(3, '-');
        let mut word = || words.next().unwrap_or("").to_owned();
        let (build, version, name) = (word(), word(), word());
        if entry.conda && entry.name.is_empty() {
            // pixi names a package by its address alone.
            (entry.build, entry.version, entry.name) = (build, version, name);
        } else if entry.conda && entry.build.is_empty() && entry.name == name && entry.version == version {
            // conda-lock has the build in the address alone.
            entry.build = build;
        }
        if entry.conda && entry.platform.is_empty() {
            entry.platform = parts.get(1).copied().unwrap_or("").to_owned();
        }
        let other = !entry.platform.is_empty() && entry.platform != subdir && entry.platform != "noarch";
        let windows = !entry.conda && ["win_amd64", "macosx", "win32"].iter().any(|part| entry.url.contains(part));
        if entry.name.is_empty() || entry.version.is_empty() || other || windows {
            return;
        }
        let install = if entry.conda {
            let text = if entry.build.is_empty() {
                format!("{}={}", entry.name, entry.version)
            } else {
                format!("{}={}={}", entry.name, entry.version, entry.build)
            };
            parse_match_spec(&text, entry.span)
        } else {
            let whole = |one: &PackageInstall| {
                one.requirement.name == PackageName::python(&entry.name) && one.requirement.version.is_exact()
            };
            let by_url = parse_requirement(&entry.url, entry.span, knowledge).filter(whole);
            Some(by_url.unwrap_or_else(|| {
                package_with_version(&entry.name, PackageVersion::exact(entry.version.as_str()), entry.span)
            }))
        };
        if let Some(mut install) = install {
            set_source(&mut install, opened);
            let same = |own: &PackageInstall| {
                own.requirement.name == install.requirement.name
                    && own.requirement.manager == install.requirement.manager
            };
            if !found.packages.iter().any(same) {
                found.packages.push(install);
            }
        }
    }
}
