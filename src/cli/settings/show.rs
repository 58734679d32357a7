//! `--show-settings`: prints every setting in effect with the file and line that sets it.

use std::io;
use std::io::Write as _;
use std::path::Path;

use clap::ValueEnum as _;

use crate::cli::args::JudgingArgs;
use crate::cli::error::{CommandError, path_from_environment};
use crate::cli::exit::Exit;
use crate::cli::settings::LoadedSettings;
use crate::cli::streams;
use crate::fleet::settings::{InputSettings, SettingLocation, SettingValue, Settings};
use crate::judge::{AnalysisSubject, SubjectContent};
use crate::report::escape::escape_one_line;
use crate::text::source::Sources;

/// Finds where settings come from: a flag, an environment variable or a line in a settings file.
struct SettingOrigins<'a> {
    sources: &'a Sources,
    settings: Option<&'a Settings>,
}

impl SettingOrigins<'_> {
    /// Returns file and line of a setting.
    fn file_and_line(&self, place: SettingLocation) -> String {
        let text = self.sources.get(place.source);
        format!("{}:{}", text.name(), text.position(place.span.start).line)
    }

    /// Returns the origin of a key: flag, environment variable, line in the settings, or `default`.
    fn origin_of<T>(
        &self,
        flag: Option<&str>,
        variable: Option<&str>,
        key: impl Fn(&Settings) -> Option<&SettingValue<T>>,
    ) -> String {
        if let Some(flag) = flag {
            return flag.to_owned();
        }
        if let Some(variable) = variable.filter(|name| path_from_environment(name).is_some()) {
            return variable.to_owned();
        }
        let set = self.settings.and_then(key);
        set.map_or_else(|| "default".to_owned(), |set| self.file_and_line(set.location))
    }
}

/// Prints the settings of the run, then those of each input.
pub(crate) fn show_settings(
    loaded: &LoadedSettings,
    holds: &JudgingArgs,
    cli_args: &JudgingArgs,
    subjects: &[AnalysisSubject],
    fleet: &str,
    sources: &Sources,
) -> Result<Exit, CommandError> {
    let mut out = io::BufWriter::new(streams::stdout());
    let origins = SettingOrigins { sources, settings: loaded.run_chain().map(|found| &found.settings) };
    let flag = |given: bool, name: &'static str| given.then_some(name);
    let path = |path: &Path| path.display().to_string();
    writeln!(out, "# this run")?;
    let given = flag(cli_args.fleet.is_some(), "--fleet");
    let origin = origins.origin_of(given, Some("IMAGELINT_FLEET"), |own| own.fleet.as_ref());
    print_setting(&mut out, "fleet", fleet, &origin)?;
    if let Some(file) = &holds.config.baseline {
        let origin = origins
            .origin_of(flag(cli_args.config.baseline.is_some(), "--baseline"), None, |own| own.baseline.as_ref());
        print_setting(&mut out, "baseline", &path(file), &origin)?;
    }
    for folder in &holds.rules {
        let given = flag(!cli_args.rules.is_empty(), "--rules");
        let origin = origins.origin_of(given, None, |own| own.rule_folders.as_ref()?.first());
        print_setting(&mut out, "rule-folders", &path(folder), &origin)?;
    }
    let origin = origins.origin_of(flag(cli_args.persona.is_some(), "--persona"), None, |own| own.persona.as_ref());
    print_setting(&mut out, "persona", holds.persona().name(), &origin)?;
    let origin = origins.origin_of(flag(cli_args.preview, "--preview"), None, |own| own.preview.as_ref());
    writeln!(out, "preview = {}  # {}", holds.preview, escape_one_line(&origin))?;
    let level = holds.fail_on().to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default();
    let origin =
        origins.origin_of(flag(cli_args.exit.fail_on.is_some(), "--fail-on"), None, |own| own.fail_on.as_ref());
    print_setting(&mut out, "fail-on", &level, &origin)?;
    if let Some(day) = holds.as_of {
        let origin = origins.origin_of(flag(cli_args.as_of.is_some(), "--as-of"), None, |own| own.as_of.as_ref());
        print_setting(&mut out, "as-of", &day.to_string(), &origin)?;
    }
    if let Some(settings) = origins.settings {
        for (key, list) in [("include", &settings.include), ("exclude", &settings.exclude)] {
            for pattern in list.iter().flatten() {
                print_setting(&mut out, key, &pattern.text, &origins.file_and_line(pattern.location))?;
            }
        }
    }
    for registry in loaded.trusted_registries() {
        print_setting(&mut out, "trusted-registries", &registry.value, &origins.file_and_line(registry.location))?;
    }
    for subject in subjects {
        if let Some(own) = loaded.settings_of_subject(&subject.name) {
            writeln!(out, "\n# {}", escape_one_line(&subject.name))?;
            print_subject_settings(&mut out, own, subject, &origins)?;
        }
    }
    out.flush()?;
    Ok(Exit::Clean)
}

/// Prints the settings of one input.
fn print_subject_settings(
    out: &mut impl io::Write,
    own: InputSettings<'_>,
    subject: &AnalysisSubject,
    origins: &SettingOrigins<'_>,
) -> io::Result<()> {
    if let SubjectContent::Dockerfile { options, .. } = &subject.content {
        let written = own.build_args();
        for (name, value) in &options.build_args {
            let set = written.iter().rev().find(|(key, set)| key == name && set.value == *value);
            let origin = set.map_or_else(|| "--build-arg".to_owned(), |(_, set)| origins.file_and_line(set.location));
            print_setting(out, &format!("build-args.{name}"), value, &origin)?;
        }
        if let Some(target) = &options.target {
            let set = own.target().filter(|set| set.value == *target);
            let origin = set.map_or_else(|| "--target".to_owned(), |set| origins.file_and_line(set.location));
            print_setting(out, "target", target, &origin)?;
        }
        for platform in &options.platforms {
            let set = own.platforms().and_then(|list| list.iter().find(|set| set.value == *platform));
            let origin = set.map_or_else(|| "--platform".to_owned(), |set| origins.file_and_line(set.location));
            print_setting(out, "platform", platform, &origin)?;
        }
    }
    for pattern in own.pools().unwrap_or_default() {
        print_setting(out, "pools", &pattern.text, &origins.file_and_line(pattern.location))?;
    }
    for rule in own.rule_severities() {
        if let Some(level) = &rule.severity {
            let key = format!("rules.{}.severity", rule.rule.value);
            print_setting(out, &key, level.value.name(), &origins.file_and_line(level.location))?;
        }
        for (pattern, level) in &rule.pools {
            let key = format!("rules.{}.pools.{}", rule.rule.value, pattern.text);
            print_setting(out, &key, level.name(), &origins.file_and_line(pattern.location))?;
        }
    }
    for ignore in own.possible_ignores() {
        let until = ignore.until.as_ref().map_or_else(String::new, |until| format!(" until {}", until.value));
        let over = if ignore.is_expired(own.today) { ", expired" } else { "" };
        let value = format!("{}{until}{over}", ignore.rule.value);
        print_setting(out, "ignore", &value, &origins.file_and_line(ignore.location))?;
    }
    Ok(())
}

/// Prints one setting with its origin.
fn print_setting(out: &mut impl io::Write, key: &str, value: &str, origin: &str) -> io::Result<()> {
    writeln!(out, "{} = \"{}\"  # {}", escape_one_line(key), escape_one_line(value), escape_one_line(origin))
}
