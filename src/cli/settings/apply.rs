//! Settings under the command line: what is said there wins.

use std::fs;
use std::path::Path;
use std::path::PathBuf;

use crate::cli::Failure;
use crate::cli::args::JudgingArgs;
use crate::cli::path_from;
use crate::cli::render;
use crate::cli::settings::Loaded;
use crate::cli::settings::load::Found;
use crate::cli::settings::load::at;
use crate::cli::settings::load::fail_on;
use crate::cli::settings::within;
use crate::fleet::Fleet;
use crate::nearest::unread;
use crate::rules::Page;
use crate::rules::RuleBook;
use crate::settings;
use crate::settings::Known;
use crate::settings::Set;
use crate::source::Sources;

impl Loaded {
    /// The options of a run with its settings below them.
    pub(crate) fn under(&self, options: &JudgingArgs, sources: &Sources) -> Result<JudgingArgs, Failure> {
        let mut options = options.clone();
        let Some(found) = self.of_run() else { return Ok(options) };
        let settings = &found.settings;
        let path = |written: &Set<String>| named(found, written, sources).map_err(Failure::Said);
        let file = |written: &Set<String>| file(found, written, sources).map_err(Failure::Said);
        if let Some(written) = settings.fleet.as_ref().filter(|_| options.fleet.is_none() && !fleet_in_environment()) {
            options.fleet = Some(file(written)?);
        }
        if let Some(written) = settings.baseline.as_ref().filter(|_| options.config.baseline.is_none()) {
            options.config.baseline = Some(file(written)?);
        }
        if options.rules.is_empty() {
            for written in settings.rule_folders.iter().flatten() {
                let folder = path(written)?;
                if !found.own {
                    pages_within(&folder).map_err(Failure::Said)?;
                }
                options.rules.push(folder);
            }
        }
        options.persona = options.persona.or_else(|| settings.persona.as_ref()?.value.parse().ok());
        options.preview |= settings.preview.as_ref().is_some_and(|preview| preview.value);
        options.exit.fail_on = options.exit.fail_on.or_else(|| fail_on(&settings.fail_on.as_ref()?.value));
        options.as_of = options.as_of.or(settings.as_of.as_ref().map(|day| day.value));
        Ok(options)
    }

    /// Why a registry is not asked for an image that a file names, where that is so.
    pub(crate) fn refuses(&self, registry: &str, sources: &Sources) -> Option<String> {
        let lists = [self.run, self.user].into_iter().flatten().filter_map(|at| self.files.get(at));
        let mut lists = lists.filter_map(|found| Some((found, found.settings.trusted_registries.as_ref()?)));
        let (found, list) = lists.find(|(_, list)| !settings::trusts(list, registry))?;
        let place = list.first().map_or_else(
            || found.name(),
            |one| {
                let text = sources.get(one.place.source);
                format!("{}:{}", text.name(), text.position(one.place.span.start).line)
            },
        );
        Some(format!("{registry} is not in `trusted-registries` of {place} and is not contacted"))
    }

    /// The registries that are trusted, by the run's settings and the user's.
    pub(super) fn trusted(&self) -> impl Iterator<Item = &Set<String>> {
        let user = self.user.filter(|user| Some(*user) != self.run);
        let files = [self.run, user].into_iter().flatten().filter_map(|at| self.files.get(at));
        files.flat_map(|found| found.settings.trusted_registries.iter().flatten())
    }

    /// What other settings files of this run say that only those of the run can.
    pub(crate) fn passed_over(&self) -> Vec<String> {
        let others = self.files.iter().enumerate().filter(|(at, _)| Some(*at) != self.run && Some(*at) != self.user);
        let told = |(_, found): (usize, &Found)| {
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
            let keys: Vec<&str> = keys.iter().filter(|(_, said)| *said).map(|(key, _)| *key).collect();
            let run = self.of_run().map_or_else(|| "no settings file".to_owned(), Found::name);
            (!keys.is_empty()).then(|| {
                format!(
                    "{}: {} ignored: these keys apply to a whole run, which uses {run}",
                    found.name(),
                    keys.join(", ")
                )
            })
        };
        others.filter_map(told).collect()
    }
}

/// Checks that what all settings name is there.
pub(crate) fn known(
    loaded: &Loaded,
    book: Option<&RuleBook>,
    fleet: &Fleet,
    said: &JudgingArgs,
) -> Result<(), Failure> {
    let rules: Vec<&str> = book.unwrap_or(RuleBook::built_in()).pages().flat_map(Page::names).collect();
    let pools: Vec<&str> = fleet.pools.iter().map(|pool| pool.name.value.as_str()).collect();
    // Settings speak of the pools of their own fleet, not of any that somebody tries.
    let pools = Some(pools.as_slice()).filter(|_| said.fleet.is_none() && !fleet_in_environment() && !fleet.built_in);
    let mut told = Vec::new();
    for (_, text, settings) in loaded.files.iter().flat_map(|found| &found.chain) {
        if let Err(errors) = settings::check(settings, text, Known { rules: &rules, pools }) {
            told.push(render(errors.as_ref()));
        }
    }
    if told.is_empty() { Ok(()) } else { Err(Failure::Said(told.join("\n"))) }
}

/// The path that a settings file names.
fn named(found: &Found, written: &Set<String>, sources: &Sources) -> Result<PathBuf, String> {
    let text = sources.get(written.place.source);
    let folder = Path::new(text.name()).parent().unwrap_or(Path::new(""));
    let path = folder.join(&written.value);
    if found.own {
        return Ok(path);
    }
    within(&path, folder).map_err(|error| at(text, written.place.span, &error))
}

/// The same where it is to be read: nobody waits for a pipe, and no device is read.
fn file(found: &Found, written: &Set<String>, sources: &Sources) -> Result<PathBuf, String> {
    let path = named(found, written, sources)?;
    match path.metadata() {
        Ok(about) if !about.is_file() => {
            let told = format!("{} is not a regular file", path.display());
            Err(at(sources.get(written.place.source), written.place.span, &told))
        }
        _ => Ok(path),
    }
}

/// Whether the pages of a folder lie in the repository as the folder does.
fn pages_within(folder: &Path) -> Result<(), String> {
    let entries = fs::read_dir(folder).map_err(|error| {
        format!(
            "error: cannot read rules in {}: {}",
            folder.display(),
            unread(folder, &error, "a directory of rule pages")
        )
    })?;
    for entry in entries.flatten() {
        within(&entry.path(), folder).map_err(|error| format!("error: {error}"))?;
    }
    Ok(())
}

fn fleet_in_environment() -> bool {
    path_from("IMAGELINT_FLEET").is_some()
}
