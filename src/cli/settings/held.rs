//! Settings while inputs are judged: which hold for which, and what of them was of no use.

use std::path::PathBuf;
use std::sync::Mutex;

use crate::cli::Failure;
use crate::cli::settings::Loaded;
use crate::cli::settings::lock;
use crate::fleet::Fleet;
use crate::judge;
use crate::judge::Content;
use crate::judge::Only;
use crate::judge::Settings;
use crate::judge::Subject;
use crate::report::model;
use crate::settings::Own;
use crate::source::Sources;

/// The settings of a run, and the folders of which everything is judged.
#[derive(Clone, Copy)]
pub(crate) struct Held<'a> {
    pub(crate) loaded: &'a Loaded,
    pub(crate) whole: &'a [PathBuf],
}

impl Held<'_> {
    /// The settings files in which ignores have no effect.
    pub(crate) fn idle(self, settings: Settings<'_>) -> Vec<model::Subject> {
        let idle = |found: &super::load::Found| {
            let own = Own { settings: &found.settings, path: None, today: self.loaded.today };
            let folder = found.chain.first().and_then(|(path, ..)| path.canonicalize().ok());
            // A user's own file speaks of other repositories as well.
            let all = !found.own
                && folder.is_some_and(|file| {
                    file.parent().is_some_and(|folder| self.whole.iter().any(|whole| folder.starts_with(whole)))
                });
            judge::of_settings(&found.name(), self.loaded.today, all, Settings { own: Some(own), ..settings })
        };
        self.loaded.files.iter().filter_map(idle).collect()
    }
}

/// The folders among the inputs: everything in them is judged.
pub(crate) fn whole(paths: &[PathBuf]) -> Vec<PathBuf> {
    paths.iter().filter(|path| path.is_dir()).filter_map(|path| path.canonicalize().ok()).collect()
}

/// Finds the settings of every input, and leaves it the pools that they name.
pub(crate) fn of_inputs(
    loaded: &Mutex<Loaded>,
    subjects: &mut [Subject],
    fleet: &Fleet,
    sources: &mut Sources,
) -> Result<(), Failure> {
    let mut loaded = lock(loaded);
    for subject in subjects {
        let path = match &subject.content {
            Content::Dockerfile { .. } | Content::Fixed(_) => Some(PathBuf::from(&subject.path)),
            Content::ByPlatform(_) | Content::Saved(_) => None,
        };
        loaded.keep(&subject.name, path.as_deref(), sources);
        let own = loaded.of_subject(&subject.name);
        own.into_iter().for_each(Own::note_paths);
        let pools = own.and_then(Own::pools);
        if let Some(pools) = pools {
            let names = fleet.pools.iter().map(|pool| pool.name.value.clone());
            let fits = |name: &String| pools.iter().any(|pattern| pattern.fits(name));
            // What runs on some pools alone runs on no others.
            let own = |name: &String| match &subject.only {
                Some(Only::Pools(own)) => own.contains(name),
                Some(Only::Nodes(_)) | None => true,
            };
            subject.only = Some(Only::Pools(names.filter(fits).filter(own).collect()));
        }
    }
    match loaded.broken.take() {
        Some(broken) => Err(Failure::Said(broken)),
        None => Ok(()),
    }
}
