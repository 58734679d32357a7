//! `--show-settings`: what holds, each with where it is said.

use std::io;
use std::io::Write as _;
use std::path::Path;

use clap::ValueEnum as _;

use crate::cli::Failure;
use crate::cli::args::JudgingArgs;
use crate::cli::exit::Exit;
use crate::cli::path_from;
use crate::cli::settings::Loaded;
use crate::cli::streams;
use crate::judge::Content;
use crate::judge::Subject;
use crate::report::escape::clean;
use crate::settings::Own;
use crate::settings::Place;
use crate::settings::Set;
use crate::settings::Settings;
use crate::source::Sources;

/// Where things are said.
struct Origins<'a> {
    sources: &'a Sources,
    settings: Option<&'a Settings>,
}

impl Origins<'_> {
    fn place(&self, place: Place) -> String {
        let text = self.sources.get(place.source);
        format!("{}:{}", text.name(), text.position(place.span.start).line)
    }

    /// Where a key is said: on the command line, in a variable, in settings, nowhere.
    fn of<T>(&self, flag: Option<&str>, variable: Option<&str>, key: impl Fn(&Settings) -> Option<&Set<T>>) -> String {
        if let Some(flag) = flag {
            return flag.to_owned();
        }
        if let Some(variable) = variable.filter(|name| path_from(name).is_some()) {
            return variable.to_owned();
        }
        let set = self.settings.and_then(key);
        set.map_or_else(|| "default".to_owned(), |set| self.place(set.place))
    }
}

/// Prints the settings of the run, then those of each input.
pub(crate) fn show(
    loaded: &Loaded,
    holds: &JudgingArgs,
    said: &JudgingArgs,
    subjects: &[Subject],
    fleet: &str,
    sources: &Sources,
) -> Result<Exit, Failure> {
    let mut out = io::BufWriter::new(streams::out());
    let origins = Origins { sources, settings: loaded.of_run().map(|found| &found.settings) };
    let flag = |given: bool, name: &'static str| given.then_some(name);
    let path = |path: &Path| path.display().to_string();
    writeln!(out, "# this run")?;
    let given = flag(said.fleet.is_some(), "--fleet");
    let origin = origins.of(given, Some("IMAGELINT_FLEET"), |own| own.fleet.as_ref());
    line(&mut out, "fleet", fleet, &origin)?;
    if let Some(file) = &holds.config.baseline {
        let origin = origins.of(flag(said.config.baseline.is_some(), "--baseline"), None, |own| own.baseline.as_ref());
        line(&mut out, "baseline", &path(file), &origin)?;
    }
    for folder in &holds.rules {
        let given = flag(!said.rules.is_empty(), "--rules");
        let origin = origins.of(given, None, |own| own.rule_folders.as_ref()?.first());
        line(&mut out, "rule-folders", &path(folder), &origin)?;
    }
    let origin = origins.of(flag(said.persona.is_some(), "--persona"), None, |own| own.persona.as_ref());
    line(&mut out, "persona", holds.persona().word(), &origin)?;
    let origin = origins.of(flag(said.preview, "--preview"), None, |own| own.preview.as_ref());
    writeln!(out, "preview = {}  # {}", holds.preview, clean(&origin))?;
    let level = holds.fail_on().to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default();
    let origin = origins.of(flag(said.exit.fail_on.is_some(), "--fail-on"), None, |own| own.fail_on.as_ref());
    line(&mut out, "fail-on", &level, &origin)?;
    if let Some(day) = holds.as_of {
        let origin = origins.of(flag(said.as_of.is_some(), "--as-of"), None, |own| own.as_of.as_ref());
        line(&mut out, "as-of", &day.to_string(), &origin)?;
    }
    if let Some(settings) = origins.settings {
        for (key, list) in [("include", &settings.include), ("exclude", &settings.exclude)] {
            for pattern in list.iter().flatten() {
                line(&mut out, key, &pattern.text, &origins.place(pattern.place))?;
            }
        }
    }
    for registry in loaded.trusted() {
        line(&mut out, "trusted-registries", &registry.value, &origins.place(registry.place))?;
    }
    for subject in subjects {
        if let Some(own) = loaded.of_subject(&subject.name) {
            writeln!(out, "\n# {}", clean(&subject.name))?;
            one(&mut out, own, subject, &origins)?;
        }
    }
    out.flush()?;
    Ok(Exit::Clean)
}

fn one(out: &mut impl io::Write, own: Own<'_>, subject: &Subject, origins: &Origins<'_>) -> io::Result<()> {
    if let Content::Dockerfile { options, .. } = &subject.content {
        let written = own.build_args();
        for (name, value) in &options.build_args {
            let set = written.iter().rev().find(|(key, set)| key == name && set.value == *value);
            let origin = set.map_or_else(|| "--build-arg".to_owned(), |(_, set)| origins.place(set.place));
            line(out, &format!("build-args.{name}"), value, &origin)?;
        }
        if let Some(target) = &options.target {
            let set = own.target().filter(|set| set.value == *target);
            let origin = set.map_or_else(|| "--target".to_owned(), |set| origins.place(set.place));
            line(out, "target", target, &origin)?;
        }
        for platform in &options.platforms {
            let set = own.platforms().and_then(|list| list.iter().find(|set| set.value == *platform));
            let origin = set.map_or_else(|| "--platform".to_owned(), |set| origins.place(set.place));
            line(out, "platform", platform, &origin)?;
        }
    }
    for pattern in own.pools().unwrap_or_default() {
        line(out, "pools", &pattern.text, &origins.place(pattern.place))?;
    }
    for rule in own.rules() {
        if let Some(level) = &rule.severity {
            let key = format!("rules.{}.severity", rule.rule.value);
            line(out, &key, level.value.word(), &origins.place(level.place))?;
        }
        for (pattern, level) in &rule.pools {
            let key = format!("rules.{}.pools.{}", rule.rule.value, pattern.text);
            line(out, &key, level.word(), &origins.place(pattern.place))?;
        }
    }
    for ignore in own.ignored() {
        let until = ignore.until.as_ref().map_or_else(String::new, |until| format!(" until {}", until.value));
        let over = if ignore.is_over(own.today) { ", expired" } else { "" };
        let value = format!("{}{until}{over}", ignore.rule.value);
        line(out, "ignore", &value, &origins.place(ignore.place))?;
    }
    Ok(())
}

fn line(out: &mut impl io::Write, key: &str, value: &str, origin: &str) -> io::Result<()> {
    writeln!(out, "{} = \"{}\"  # {}", clean(key), clean(value), clean(origin))
}
