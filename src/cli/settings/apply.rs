//! Merging of settings with command-line options, which take precedence.

use std::fs;
use std::path::{Path, PathBuf};

use crate::cli::args::JudgingArgs;
use crate::cli::error::{CommandError, path_from_environment, render_diagnostic};
use crate::cli::settings::load::{SettingsChain, error_at, parse_fail_on};
use crate::cli::settings::{LoadedSettings, path_in_repository};
use crate::fleet::settings::{KnownNames, SettingValue};
use crate::fleet::{Fleet, settings};
use crate::rules::{RuleBook, RulePage};
use crate::text::nearest::unreadable_path_message;
use crate::text::source::Sources;

impl LoadedSettings {
    /// Returns the options completed by the settings of the run; options of the command line take precedence.
    pub(crate) fn merge_with_options(
        &self,
        options: &JudgingArgs,
        sources: &Sources,
    ) -> Result<JudgingArgs, CommandError> {
        let mut options = options.clone();
        let Some(found) = self.run_chain() else { return Ok(options) };
        let settings = &found.settings;
        let path =
            |written: &SettingValue<String>| settings_path(found, written, sources).map_err(CommandError::Message);
        let file =
            |written: &SettingValue<String>| settings_file_path(found, written, sources).map_err(CommandError::Message);
        if let Some(written) = settings.fleet.as_ref().filter(|_| options.fleet.is_none() && !is_fleet_in_environment())
        {
            options.fleet = Some(file(written)?);
        }
        if let Some(written) = settings.baseline.as_ref().filter(|_| options.config.baseline.is_none()) {
            options.config.baseline = Some(file(written)?);
        }
        if options.rules.is_empty() {
            for written in settings.rule_folders.iter().flatten() {
                let folder = path(written)?;
                if !found.own {
                    check_pages_in_repository(&folder).map_err(CommandError::Message)?;
                }
                options.rules.push(folder);
            }
        }
        options.persona = options.persona.or_else(|| settings.persona.as_ref()?.value.parse().ok());
        options.preview |= settings.preview.as_ref().is_some_and(|preview| preview.value);
        options.exit.fail_on = options.exit.fail_on.or_else(|| parse_fail_on(&settings.fail_on.as_ref()?.value));
        options.as_of = options.as_of.or(settings.as_of.as_ref().map(|day| day.value));
        Ok(options)
    }

    /// Returns why a registry is not contacted, if the settings list trusted registries without it.
    pub(crate) fn untrusted_registry_message(&self, registry: &str, sources: &Sources) -> Option<String> {
        let lists = [self.run, self.user].into_iter().flatten().filter_map(|at| self.files.get(at));
        let mut lists = lists.filter_map(|found| Some((found, found.settings.trusted_registries.as_ref()?)));
        let (found, list) = lists.find(|(_, list)| !settings::is_trusted_registry(list, registry))?;
        let place = list.first().map_or_else(
            || found.name(),
            |one| {
                let text = sources.get(one.location.source);
                format!("{}:{}", text.name(), text.position(one.location.span.start).line)
            },
        );
        Some(format!("{registry} is not in `trusted-registries` of {place} and is not contacted"))
    }

    /// Returns the trusted registries of the run's settings and of the user's settings.
    pub(super) fn trusted_registries(&self) -> impl Iterator<Item = &SettingValue<String>> {
        let user = self.user.filter(|user| Some(*user) != self.run);
        let files = [self.run, user].into_iter().flatten().filter_map(|at| self.files.get(at));
        files.flat_map(|found| found.settings.trusted_registries.iter().flatten())
    }

    /// Returns notes on keys in other settings files that only the run's settings file can set.
    pub(crate) fn ignored_key_notes(&self) -> Vec<String> {
        let others = self.files.iter().enumerate().filter(|(at, _)| Some(*at) != self.run && Some(*at) != self.user);
        let ignored_note = |(_, found): (usize, &SettingsChain)| {
            let own = &found.settings;
            let keys = [
                ("fleet", own.fleet.is_some()),
                ("baseline", own.baseline.is_some()),
                ("rule-folders", own.rule_folders.is_some()),
                ("persona", own.persona.is_some()),
                ("preview", own.preview.is_some()),
                ("fail-on", own.fail_on.is_some()),
                ("as-of", own.as_of.is_some()),
                ("include", own.include.is_some()),
                ("exclude", own.exclude.is_some()),
                ("trusted-registries", own.trusted_registries.is_some()),
            ];
            let keys: Vec<&str> = keys.iter().filter(|(_, is_set)| *is_set).map(|(key, _)| *key).collect();
            let run = self.run_chain().map_or_else(|| "no settings file".to_owned(), SettingsChain::name);
            (!keys.is_empty()).then(|| {
                format!(
                    "{}: {} ignored: these keys apply to a whole run, which uses {run}",
                    found.name(),
                    keys.join(", ")
                )
            })
        };
        others.filter_map(ignored_note).collect()
    }
}

/// Checks that the rules and pools named in the settings exist.
pub(crate) fn check_names_in_settings(
    loaded: &LoadedSettings,
    book: Option<&RuleBook>,
    fleet: &Fleet,
    cli_args: &JudgingArgs,
) -> Result<(), CommandError> {
    let rules: Vec<&str> = book.unwrap_or(RuleBook::built_in()).pages().flat_map(RulePage::names).collect();
    let pools: Vec<&str> = fleet.pools.iter().map(|pool| pool.name.value.as_str()).collect();
    // Settings refer to the pools of their own fleet, not to those of another fleet file.
    let pools =
        Some(pools.as_slice()).filter(|_| cli_args.fleet.is_none() && !is_fleet_in_environment() && !fleet.built_in);
    let mut messages = Vec::new();
    for (_, text, settings) in loaded.files.iter().flat_map(|found| &found.chain) {
        if let Err(errors) = settings::check_names(settings, text, KnownNames { rules: &rules, pools }) {
            messages.push(render_diagnostic(errors.as_ref()));
        }
    }
    if messages.is_empty() { Ok(()) } else { Err(CommandError::Message(messages.join("\n"))) }
}

/// Returns a path that a settings file names, resolved against its folder and checked to be in the repository.
fn settings_path(found: &SettingsChain, written: &SettingValue<String>, sources: &Sources) -> Result<PathBuf, String> {
    let text = sources.get(written.location.source);
    let folder = Path::new(text.name()).parent().unwrap_or(Path::new(""));
    let path = folder.join(&written.value);
    if found.own {
        return Ok(path);
    }
    path_in_repository(&path, folder).map_err(|error| error_at(text, written.location.span, &error))
}

/// Returns a path that a settings file names, and rejects devices, pipes and folders.
fn settings_file_path(
    found: &SettingsChain,
    written: &SettingValue<String>,
    sources: &Sources,
) -> Result<PathBuf, String> {
    let path = settings_path(found, written, sources)?;
    match path.metadata() {
        Ok(about) if !about.is_file() => {
            let message = format!("{} is not a regular file", path.display());
            Err(error_at(sources.get(written.location.source), written.location.span, &message))
        }
        _ => Ok(path),
    }
}

/// Checks that all pages of a rule folder are in the repository, symbolic links resolved.
fn check_pages_in_repository(folder: &Path) -> Result<(), String> {
    let entries = fs::read_dir(folder).map_err(|error| {
        format!(
            "error: cannot read rules in {}: {}",
            folder.display(),
            unreadable_path_message(folder, &error, "a directory of rule pages")
        )
    })?;
    for entry in entries.flatten() {
        path_in_repository(&entry.path(), folder).map_err(|error| format!("error: {error}"))?;
    }
    Ok(())
}

/// Whether the environment variable for the fleet file is set.
fn is_fleet_in_environment() -> bool {
    path_from_environment("IMAGELINT_FLEET").is_some()
}
