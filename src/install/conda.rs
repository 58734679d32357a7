//! Arguments of `conda install` and `conda create`, and of the programs that take its place.

use crate::dockerfile::Resolved;
use crate::install::Around;
use crate::install::Install;
use crate::install::Installs;
use crate::install::Manager;
use crate::install::RequirementFile;
use crate::install::Variant;
use crate::install::VariantSource;
use crate::install::VersionSpec;
use crate::install::environment;
use crate::install::files::at_source;
use crate::install::requirement::empty;
use crate::install::variant::is_tag;
use crate::shell::Command;
use crate::shell::Word;
use crate::source::Span;

const WITH_VALUE: &[&str] = &[
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

pub(super) fn read(words: &[Word], command: &Command, around: &Around<'_>, found: &mut Installs) {
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
                file(&next.value, next.span, around, found);
            }
            _ if text.starts_with("--file=") => {
                files += 1;
                file(&Resolved::literal(text.trim_start_matches("--file=")), word.span, around, found);
            }
            "-c" | "--channel" => {
                let named = rest.next().map(|word| channel_of(word.known().unwrap_or("")));
                channel = channel.or(named);
            }
            _ if text.starts_with("--channel=") => {
                channel = channel.or_else(|| Some(channel_of(text.trim_start_matches("--channel="))));
            }
            _ if WITH_VALUE.contains(&text) => drop(rest.next()),
            _ if text.starts_with('-') => {}
            _ => {
                if matches!(ending(text), "yml" | "yaml") {
                    files += 1;
                    file(&word.value, word.span, around, found);
                } else if let Some(package) = spec(text, word.span) {
                    if removes {
                        found.removed.push((Manager::Conda, package.name, package.span));
                    } else {
                        found.packages.push(package);
                    }
                }
            }
        }
    }
    if env && files == 0 && matches!(verb, "create" | "update") {
        file(&Resolved::literal("environment.yml"), command.span, around, found);
    }
    for package in found.packages.get_mut(from..).unwrap_or_default() {
        package.conditional |= command.conditional;
        if package.manager == Manager::Conda && package.channel.is_none() {
            package.channel.clone_from(&channel);
        }
    }
}

/// The name of a channel, which may be given by its address.
pub(super) fn channel_of(text: &str) -> String {
    let text = text.trim().trim_end_matches('/');
    match text.split_once("://") {
        Some((_, address)) => address.rsplit('/').next().unwrap_or(address).to_owned(),
        None => text.to_owned(),
    }
}

/// `conda-lock install FILE`.
pub(super) fn lock(words: &[Word], command: &Command, around: &Around<'_>, found: &mut Installs) {
    if words.first().and_then(Word::known) != Some("install") {
        return;
    }
    let from = found.packages.len();
    let ends = |word: &&Word| word.known().is_some_and(|text| matches!(ending(text), "yml" | "yaml" | "lock" | "txt"));
    match words.iter().skip(1).find(ends) {
        Some(word) => file(&word.value, word.span, around, found),
        None => file(&Resolved::literal("conda-lock.yml"), command.span, around, found),
    }
    for package in found.packages.get_mut(from..).unwrap_or_default() {
        package.conditional |= command.conditional;
    }
}

/// An environment file, a lock, or a list of specs.
fn file(path: &Resolved, span: Span, around: &Around<'_>, found: &mut Installs) {
    let opened = match path {
        Resolved::Known { value, .. } => (around.open)("", value),
        Resolved::Unresolved { reason, .. } => Err(reason.clone()),
    };
    match opened {
        Ok(opened) if environment::explicit(&opened, around.knowledge, found).is_some() => {}
        Ok(opened) if opened.path.contains("lock") => environment::lock(&opened, "default", around, found),
        Ok(opened) if ending(&opened.path) == "txt" => {
            let mut at = 0;
            for raw in opened.text.text().split_inclusive('\n') {
                let line = raw.trim();
                let span = opened.text.span(at..at + raw.trim_end().len());
                at += raw.len();
                let package = if line.starts_with(['#', '@']) { None } else { spec(line, span) };
                if let Some(mut package) = package {
                    at_source(&mut package, &opened);
                    found.packages.push(package);
                }
            }
        }
        Ok(opened) => environment::environment(&opened, around, found),
        Err(why) => {
            found.files.push(RequirementFile { path: path.clone(), constraint: false, extras: Vec::new(), span, why });
        }
    }
}

fn ending(path: &str) -> &str {
    path.rsplit_once('.').map_or("", |(_, ending)| ending)
}

pub(super) fn spec(text: &str, span: Span) -> Option<Install> {
    let (channel, text) = text.rsplit_once("::").map_or((None, text), |(channel, text)| (Some(channel), text));
    let (channel, text) = (channel.map(channel_of), text.trim());
    let end = text.find(['=', '<', '>', '!', '~', ' ', '[']).unwrap_or(text.len());
    let name = text[..end].to_ascii_lowercase();
    let good = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte));
    if !good {
        return None;
    }
    let (rest, fields) = text[end..].split_once('[').unwrap_or((&text[end..], ""));
    let rest = rest.trim();
    let (version, build) = if rest.starts_with(['<', '>', '!', '~']) {
        let (range, build) = behind_range(rest);
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
    let version = match (version, field(fields, "version")) {
        (VersionSpec::None, Some(range)) => VersionSpec::Range(range.to_owned()),
        (version, _) => version,
    };
    let build = build.or_else(|| field(fields, "build").map(str::to_owned));
    let channel = channel.or_else(|| field(fields, "channel").map(channel_of));
    let tag = build.as_deref().and_then(tag_of_build);
    let variant = tag.map(|tag| Variant { tag, from: VariantSource::LocalVersion, span, source: None });
    let (manager, extras) = (Manager::Conda, Vec::new());
    Some(Install { manager, name, extras, version, variant, build, channel, ..empty("", span) })
}

/// The build string that follows a range, as in `>=2.4=*cpu*`.
fn behind_range(range: &str) -> (&str, Option<&str>) {
    let starts = |(at, _): &(usize, &str)| {
        let before = range.get(..*at).and_then(|before| before.chars().next_back());
        !before.is_none_or(|before| "<>=!~,|".contains(before)) && range.get(at + 1..at + 2) != Some("=")
    };
    match range.match_indices('=').find(starts) {
        Some((at, _)) => (range.get(..at).unwrap_or(range), range.get(at + 1..)),
        None => (range, None),
    }
}

/// The value of a field in the brackets of a spec, as in `[version=">=2.4",build="cpu*"]`.
fn field<'a>(fields: &'a str, name: &str) -> Option<&'a str> {
    let (_, value) = fields.split_once(&format!("{name}="))?;
    let value = value.trim_start();
    match value.chars().next().filter(|quote| matches!(quote, '"' | '\'')) {
        Some(quote) => value.get(1..)?.split(quote).next(),
        None => value.split([',', ']']).next().map(str::trim),
    }
}

/// `cu121` from `py3.10_cuda12.1_cudnn8.9.2_0`, `cu126` from `cuda126_generic`, `cpu` from `cpu_generic`, `cu120` from
/// `cuda120*`; `cuda12*` may be any of CUDA 12.
fn tag_of_build(build: &str) -> Option<String> {
    build.split('_').find_map(|written| {
        let part = written.trim_matches('*');
        let whole = |tag: &String| part == written || !tag.starts_with("cu") || tag.len() > "cu12".len();
        let digits = part.strip_prefix("cuda").map(|rest| rest.replace('.', ""));
        let tag = digits.map_or_else(|| part.to_owned(), |digits| format!("cu{digits}"));
        Some(tag).filter(|tag| is_tag(tag) && whole(tag))
    })
}
