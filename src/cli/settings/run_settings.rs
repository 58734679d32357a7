//! Settings while inputs are judged: which file applies to which input, and which suppressions had no effect.

use std::path::PathBuf;
use std::sync::Mutex;

use crate::cli::error::CommandError;
use crate::cli::settings::{LoadedSettings, lock_settings};
use crate::fleet::Fleet;
use crate::fleet::settings::InputSettings;
use crate::judge;
use crate::judge::{AnalysisSettings, AnalysisSubject, PoolRestriction, SubjectContent};
use crate::report::model;
use crate::text::source::Sources;

/// The settings of a run, and the folders that are judged completely.
#[derive(Clone, Copy)]
pub(crate) struct RunSettings<'a> {
    pub(crate) loaded: &'a LoadedSettings,
    pub(crate) whole: &'a [PathBuf],
}

impl RunSettings<'_> {
    /// Returns the settings files with suppressions that have no effect, each as a subject.
    pub(crate) fn files_with_unused_suppressions(self, settings: AnalysisSettings<'_>) -> Vec<model::Subject> {
        let idle = |found: &super::load::SettingsChain| {
            let own = InputSettings { settings: &found.settings, path: None, today: self.loaded.today };
            let folder = found.chain.first().and_then(|(path, ..)| path.canonicalize().ok());
            // A user's own file applies to other repositories as well.
            let all = !found.own
                && folder.is_some_and(|file| {
                    file.parent().is_some_and(|folder| self.whole.iter().any(|whole| folder.starts_with(whole)))
                });
            judge::settings_subject(
                &found.name(),
                self.loaded.today,
                all,
                AnalysisSettings { own: Some(own), ..settings },
            )
        };
        self.loaded.files.iter().filter_map(idle).collect()
    }
}

/// Returns the folders among the inputs, in which everything is judged.
pub(crate) fn judged_folders(paths: &[PathBuf]) -> Vec<PathBuf> {
    paths.iter().filter(|path| path.is_dir()).filter_map(|path| path.canonicalize().ok()).collect()
}

/// Assigns the settings to every input, and restricts it to the pools that its settings name.
pub(crate) fn assign_to_inputs(
    loaded: &Mutex<LoadedSettings>,
    subjects: &mut [AnalysisSubject],
    fleet: &Fleet,
    sources: &mut Sources,
) -> Result<(), CommandError> {
    let mut loaded = lock_settings(loaded);
    for subject in subjects {
        let path = match &subject.content {
            SubjectContent::Dockerfile { .. } | SubjectContent::Fixed(_) => Some(PathBuf::from(&subject.path)),
            SubjectContent::ByPlatform(_) | SubjectContent::Saved(_) => None,
        };
        loaded.assign_to_subject(&subject.name, path.as_deref(), sources);
        let own = loaded.settings_of_subject(&subject.name);
        own.into_iter().for_each(InputSettings::mark_path_settings_used);
        let pools = own.and_then(InputSettings::pools);
        if let Some(pools) = pools {
            let names = fleet.pools.iter().map(|pool| pool.name.value.clone());
            let fits = |name: &String| pools.iter().any(|pattern| pattern.matches(name));
            // What runs on some pools alone runs on no others.
            let own = |name: &String| match &subject.only {
                Some(PoolRestriction::Pools(own)) => own.contains(name),
                Some(PoolRestriction::Nodes(_)) | None => true,
            };
            subject.only = Some(PoolRestriction::Pools(names.filter(fits).filter(own).collect()));
        }
    }
    match loaded.broken.take() {
        Some(broken) => Err(CommandError::Message(broken)),
        None => Ok(()),
    }
}
