//! Arguments of `conda install` and `conda create`, also for mamba and micromamba.

use crate::dockerfile::ExpandedText;
use crate::install::build_variant::is_build_tag;
use crate::install::requirement::pip_package;
use crate::install::requirement_files::set_source;
use crate::install::{
    BuildVariant, CommandContext, InstallEffects, PackageInstall, PackageInstaller, RequirementFile, VariantSource,
    VersionSpec, conda_environment,
};
use crate::shell::{Command, Word};
use crate::source::Span;

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
    around: &CommandContext<'_>,
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
                read_spec_file(&next.value, next.span, around, found);
            }
            _ if text.starts_with("--file=") => {
                files += 1;
                read_spec_file(&ExpandedText::literal(text.trim_start_matches("--file=")), word.span, around, found);
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
                    read_spec_file(&word.value, word.span, around, found);
                } else if let Some(package) = parse_match_spec(text, word.span) {
                    if removes {
                        found.removed.push((PackageInstaller::Conda, package.name, package.span));
                    } else {
                        found.packages.push(package);
                    }
                }
            }
        }
    }
    if env && files == 0 && matches!(verb, "create" | "update") {
        read_spec_file(&ExpandedText::literal("environment.yml"), command.span, around, found);
    }
    for package in found.packages.get_mut(from..).unwrap_or_default() {
        package.conditional |= command.conditional;
        if package.manager == PackageInstaller::Conda && package.channel.is_none() {
            package.channel.clone_from(&channel);
        }
    }
}

/// Returns the name of a channel that is given by name or by URL.
pub(super) fn channel_name(text: &str) -> String {
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
    around: &CommandContext<'_>,
    found: &mut InstallEffects,
) {
    if words.first().and_then(Word::known) != Some("install") {
        return;
    }
    let from = found.packages.len();
    let ends =
        |word: &&Word| word.known().is_some_and(|text| matches!(file_extension(text), "yml" | "yaml" | "lock" | "txt"));
    match words.iter().skip(1).find(ends) {
        Some(word) => read_spec_file(&word.value, word.span, around, found),
        None => read_spec_file(&ExpandedText::literal("conda-lock.yml"), command.span, around, found),
    }
    for package in found.packages.get_mut(from..).unwrap_or_default() {
        package.conditional |= command.conditional;
    }
}

/// Reads an environment file, a lock file or a list of match specs.
fn read_spec_file(path: &ExpandedText, span: Span, around: &CommandContext<'_>, found: &mut InstallEffects) {
    let opened = match path {
        ExpandedText::Known { value, .. } => (around.open)("", value),
        ExpandedText::Unresolved { reason, .. } => Err((**reason).clone()),
    };
    match opened {
        Ok(opened) if conda_environment::read_explicit_list(&opened, around.knowledge, found).is_some() => {}
        Ok(opened) if opened.path.contains("lock") => {
            conda_environment::read_lock_file(&opened, "default", around, found);
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
        Ok(opened) => conda_environment::read_environment_file(&opened, around, found),
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
    let name = text[..end].to_ascii_lowercase();
    let good = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte));
    if !good {
        return None;
    }
    let (rest, fields) = text[end..].split_once('[').unwrap_or((&text[end..], ""));
    let rest = rest.trim();
    let (version, build) = if rest.starts_with(['<', '>', '!', '~']) {
        let (range, build) = split_build_string(rest);
        (VersionSpec::Range(range.to_owned()), build.map(str::to_owned))
    } else {
        let mut parts = rest.trim_start_matches('=').split(['=', ' ']).filter(|part| !part.is_empty());
        let version = match parts.next() {
            None | Some("*") => VersionSpec::None,
            Some(version) if version.contains(['*', '<', '>', ',', '|', '[']) => VersionSpec::Range(version.to_owned()),
            Some(version) => VersionSpec::Exact(version.to_owned()),
        };
        (version, parts.next().map(str::to_owned))
    };
    let version = match (version, bracket_field(fields, "version")) {
        (VersionSpec::None, Some(range)) => VersionSpec::Range(range.to_owned()),
        (version, _) => version,
    };
    let build = build.or_else(|| bracket_field(fields, "build").map(str::to_owned));
    let channel = channel.or_else(|| bracket_field(fields, "channel").map(channel_name));
    let tag = build.as_deref().and_then(tag_of_build);
    let variant = tag.map(|tag| BuildVariant { tag, from: VariantSource::LocalVersion, span, source: None });
    let (manager, extras) = (PackageInstaller::Conda, Vec::new());
    Some(PackageInstall { manager, name, extras, version, variant, build, channel, ..pip_package("", span) })
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
