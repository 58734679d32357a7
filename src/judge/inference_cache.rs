//! Cache of what was inferred of one subject, for judging it again on other pools or in more detail.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jiff::civil::Date;

use crate::infer::infer_image_facts;
use crate::judge::platform_observations::{DockerfileSummary, observe_platform};
use crate::judge::{AnalysisSettings, SubjectContent};
use crate::knowledge::Knowledge;
use crate::model::fact::{ImageFacts, Observations};
use crate::report::model::OnPlatform;

/// What was observed and inferred of a subject on one platform.
#[derive(Debug)]
pub(super) struct PlatformInference {
    pub(super) summary: DockerfileSummary,
    pub(super) images: Vec<Arc<ImageFacts>>,
    /// The day of the observations, if it is known.
    day: Option<Date>,
}

/// A platform, and the day as of which the knowledge tables are read.
type InferenceKey = (String, Option<Date>);

/// What was inferred of one subject, by platform; not shared with other subjects.
#[derive(Debug, Default)]
pub struct InferenceCache {
    inferences: Mutex<BTreeMap<InferenceKey, Option<Arc<PlatformInference>>>>,
    /// The observations, if they are the same on every platform.
    alike: Mutex<Option<Arc<(DockerfileSummary, Observations)>>>,
}

impl InferenceCache {
    /// Returns what is inferred for a platform, with the observations if findings need them; `None` if nothing can be
    /// observed.
    pub(super) fn for_platform(
        &self,
        content: &SubjectContent,
        platform: &str,
        settings: AnalysisSettings<'_>,
    ) -> Option<(Arc<PlatformInference>, Option<OnPlatform>)> {
        self.get_or_infer(content, platform, (settings.as_of, settings.detail.includes_findings()), settings.knowledge)
    }

    /// Returns the images that are inferred for a platform as of a day, with the day of the observations; `None` if
    /// nothing can be observed.
    pub fn images(
        &self,
        content: &SubjectContent,
        platform: &str,
        as_of: Option<Date>,
        knowledge: Knowledge,
    ) -> Option<(Vec<Arc<ImageFacts>>, Option<Date>)> {
        let (inference, _) = self.get_or_infer(content, platform, (as_of, false), knowledge)?;
        Some((inference.images.clone(), inference.day))
    }

    /// Returns the cached inference for a platform and day, or infers it.
    fn get_or_infer(
        &self,
        content: &SubjectContent,
        platform: &str,
        (as_of, speaks): (Option<Date>, bool),
        knowledge: Knowledge,
    ) -> Option<(Arc<PlatformInference>, Option<OnPlatform>)> {
        let key = (platform.to_owned(), as_of);
        let known = lock_ignoring_poison(&self.inferences).get(&key).cloned();
        if let Some(known) = known.as_ref().filter(|_| !speaks) {
            return known.clone().map(|inference| (inference, None));
        }
        let mut summary = DockerfileSummary::default();
        let alike = lock_ignoring_poison(&self.alike).clone();
        let seen = match &alike {
            Some(alike) => {
                summary.clone_from(&alike.0);
                Some(Cow::Borrowed(&alike.1))
            }
            None => observe_platform(content, platform, &mut summary),
        };
        let infer = |seen: &Observations| {
            let images = infer_image_facts(seen, platform, as_of, knowledge).into_iter().map(Arc::new).collect();
            Arc::new(PlatformInference { summary: summary.clone(), images, day: seen.as_of })
        };
        let inference = known.unwrap_or_else(|| seen.as_deref().map(infer));
        lock_ignoring_poison(&self.inferences).insert(key, inference.clone());
        let keeps = alike.is_none() && summary.platform_independent;
        let seen = seen.filter(|_| speaks || keeps).map(Cow::into_owned);
        if let Some(seen) = seen.as_ref().filter(|_| keeps) {
            *lock_ignoring_poison(&self.alike) = Some(Arc::new((summary.clone(), seen.clone())));
        }
        Some((inference?, seen.filter(|_| speaks).map(|seen| summary.into_platform_observations(platform, seen))))
    }
}

/// Locks a mutex, also after a panic in another thread.
fn lock_ignoring_poison<T>(kept: &Mutex<T>) -> MutexGuard<'_, T> {
    kept.lock().unwrap_or_else(PoisonError::into_inner)
}
