//! Environment files of conda, and the locks of conda-lock and pixi: the block style of YAML that they are written in.

use std::collections::BTreeSet;

use crate::dockerfile::Resolved;
use crate::install::Around;
use crate::install::Install;
use crate::install::Installs;
use crate::install::Manager;
use crate::install::Opened;
use crate::install::RequirementFile;
use crate::install::VersionSpec;
use crate::install::conda::channel_of;
use crate::install::conda::spec;
use crate::install::files;
use crate::install::files::at_source;
use crate::install::index::Indexes;
use crate::install::index::Place;
use crate::install::requirement::named;
use crate::install::requirement::normalised;
use crate::install::requirement::requirement;
use crate::knowledge::Knowledge;
use crate::source::Span;

/// One line of block style.
struct Line<'a> {
    /// Blanks in front, with the dashes of a list counted in.
    indent: usize,
    /// Whether it begins an element of a list.
    item: bool,
    text: &'a str,
    start: usize,
}

fn lines(text: &str) -> Vec<Line<'_>> {
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
        out.push(Line { indent, item, text: inner, start: start + indent });
    }
    out
}

fn unquoted(text: &str) -> &str {
    text.trim().trim_matches(['"', '\''])
}

fn place(line: &Line<'_>, opened: &Opened) -> Span {
    opened.text.span(line.start..line.start + line.text.len())
}

/// `environment.yml`: what conda installs, and what pip does below it.
pub(super) fn environment(opened: &Opened, around: &Around<'_>, found: &mut Installs) {
    let mut inside = false;
    let mut pip: Option<usize> = None;
    let mut indexes = Indexes::default();
    let from = found.packages.len();
    let mut listed: Vec<RequirementFile> = Vec::new();
    let (mut channels, mut channel) = (false, None);
    for line in lines(opened.text.text()) {
        if line.indent == 0 && !line.item {
            inside = line.text.trim_end_matches(' ') == "dependencies:";
            channels = line.text.starts_with("channels:");
            let flow = line.text.split_once('[').filter(|_| channels).map(|(_, list)| list);
            let first = flow.and_then(|list| list.split([',', ']']).next()).map(|first| channel_of(unquoted(first)));
            channel = channel.or(first);
            continue;
        }
        if channels && line.item && channel.is_none() {
            channel = Some(channel_of(unquoted(line.text)));
        }
        if !inside || !line.item {
            continue;
        }
        if pip.is_some_and(|indent| line.indent <= indent) {
            pip = None;
        }
        let span = place(&line, opened);
        let text = unquoted(line.text);
        if text == "pip:" {
            pip = Some(line.indent);
            continue;
        }
        let package = if pip.is_none() {
            spec(text, span)
        } else if let Some((name, url)) = text.split_once([' ', '=']).filter(|_| text.starts_with('-')) {
            let path = Resolved::literal(url.trim());
            let url = Place::new(url.trim(), span, opened.source);
            match name {
                "--extra-index-url" => indexes.extra.push(url),
                "--index-url" | "-i" => indexes.index = Some(url),
                "--find-links" | "-f" => indexes.links.push(url),
                "-r" | "--requirement" | "-c" | "--constraint" => {
                    let constraint = matches!(name, "-c" | "--constraint");
                    listed.push(RequirementFile { path, constraint, extras: Vec::new(), span, why: String::new() });
                }
                _ => {}
            }
            None
        } else {
            requirement(text.split(" --").next().unwrap_or(text), span, around.knowledge)
        };
        if let Some(mut package) = package {
            at_source(&mut package, opened);
            found.packages.push(package);
        }
    }
    let folder = opened.path.rsplit_once('/').map_or("", |(folder, _)| folder);
    files::listed(folder, listed, around, &mut indexes, found);
    for package in found.packages.get_mut(from..).unwrap_or_default() {
        if package.manager == Manager::Pip {
            indexes.choose(package, around.knowledge);
        } else if package.channel.is_none() {
            package.channel.clone_from(&channel);
        }
    }
}

/// A list of addresses, as conda writes it under `@EXPLICIT`; `None` where the file is none.
pub(super) fn explicit(opened: &Opened, knowledge: Knowledge, found: &mut Installs) -> Option<()> {
    let lines = lines(opened.text.text());
    lines.iter().any(|line| line.text == "@EXPLICIT").then_some(())?;
    for line in lines.iter().filter(|line| line.text.contains("://")) {
        let url = line.text.split('#').next().unwrap_or(line.text).trim();
        // The list is one for the platform that the command runs on.
        Entry {
            conda: true,
            platform: "noarch".to_owned(),
            url: url.to_owned(),
            span: place(line, opened),
            ..Entry::default()
        }
        .finish(("", knowledge), opened, found);
    }
    Some(())
}

/// The addresses that an environment of `pixi.lock` has for a platform; `None` where the file lists none.
fn of_environment(text: &str, name: &str, subdir: &str) -> Option<BTreeSet<String>> {
    let (mut inside, mut own, mut here, mut found) = (false, false, false, None);
    for line in lines(text) {
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

/// A lock of conda-lock or pixi: the packages for one platform, and for pixi of one environment.
pub(super) fn lock(opened: &Opened, environment: &str, around: &Around<'_>, found: &mut Installs) {
    let subdir = if around.environment.machine.name() == "aarch64" { "linux-aarch64" } else { "linux-64" };
    let chosen = of_environment(opened.text.text(), environment, subdir);
    let mut entry = Entry::default();
    let mut inside = false;
    for line in lines(opened.text.text()) {
        if line.indent == 0 && !line.item {
            entry.finish_one_of(chosen.as_ref(), (subdir, around.knowledge), opened, found);
            inside = matches!(line.text, "package:" | "packages:");
            continue;
        }
        if !inside {
            continue;
        }
        if line.item && line.indent == 2 {
            entry.finish_one_of(chosen.as_ref(), (subdir, around.knowledge), opened, found);
        }
        if line.indent != 2 {
            continue;
        }
        let Some((key, value)) = line.text.split_once(':') else { continue };
        let value = unquoted(value).to_owned();
        match key {
            "name" => (entry.name, entry.span) = (value, place(&line, opened)),
            "version" => (entry.version, entry.span) = (value, place(&line, opened)),
            "platform" | "subdir" => entry.platform = value,
            "build" => entry.build = value,
            // Older locks of pixi name the kind, and the address below it.
            "manager" | "kind" => entry.conda = value == "conda",
            "url" => entry.url = value,
            "conda" => (entry.conda, entry.url, entry.span) = (true, value, place(&line, opened)),
            "pypi" => (entry.conda, entry.url, entry.span) = (false, value, place(&line, opened)),
            _ => {}
        }
    }
    entry.finish_one_of(chosen.as_ref(), (subdir, around.knowledge), opened, found);
}

#[derive(Default)]
struct Entry {
    name: String,
    version: String,
    build: String,
    platform: String,
    url: String,
    conda: bool,
    span: Span,
}

impl Entry {
    fn finish_one_of(
        &mut self,
        chosen: Option<&BTreeSet<String>>,
        on: (&str, Knowledge),
        opened: &Opened,
        found: &mut Installs,
    ) {
        if chosen.is_some_and(|chosen| !self.url.is_empty() && !chosen.contains(&self.url)) {
            *self = Self::default();
        }
        self.finish(on, opened, found);
    }

    fn finish(&mut self, (subdir, knowledge): (&str, Knowledge), opened: &Opened, found: &mut Installs) {
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
            spec(&text, entry.span)
        } else {
            let whole =
                |one: &Install| one.name == normalised(&entry.name) && matches!(one.version, VersionSpec::Exact(_));
            let by_url = requirement(&entry.url, entry.span, knowledge).filter(whole);
            Some(by_url.unwrap_or_else(|| named(&entry.name, VersionSpec::Exact(entry.version.clone()), entry.span)))
        };
        if let Some(mut install) = install {
            at_source(&mut install, opened);
            let same = |own: &Install| own.name == install.name && own.manager == install.manager;
            if !found.packages.iter().any(same) {
                found.packages.push(install);
            }
        }
    }
}
