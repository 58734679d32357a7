//! What was inferred of one subject, for those who judge it again and again: on other pools, or in more detail.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::MutexGuard;
use std::sync::PoisonError;

use jiff::civil::Date;

use crate::fact::ImageFacts;
use crate::fact::Observations;
use crate::infer::infer;
use crate::judge::Content;
use crate::judge::Settings;
use crate::judge::seen::Beside;
use crate::judge::seen::observe;
use crate::knowledge::Knowledge;
use crate::report::observed::OnPlatform;

/// What was seen of a subject on one platform.
#[derive(Debug)]
pub(super) struct Told {
    pub(super) beside: Beside,
    pub(super) images: Vec<Arc<ImageFacts>>,
    /// The day that it was seen on, where that is told.
    day: Option<Date>,
}

/// A platform and the day for which tables are asked.
type Asked = (String, Option<Date>);

/// What was inferred of one subject, and of no other, by platform.
#[derive(Debug, Default)]
pub struct Inferred {
    told: Mutex<BTreeMap<Asked, Option<Arc<Told>>>>,
    /// What was seen, where that is the same on every platform.
    alike: Mutex<Option<Arc<(Beside, Observations)>>>,
}

impl Inferred {
    /// What is told of a platform, and what was seen there where findings ask for that; none where nothing can be seen.
    pub(super) fn on(
        &self,
        content: &Content,
        platform: &str,
        settings: Settings<'_>,
    ) -> Option<(Arc<Told>, Option<OnPlatform>)> {
        self.asked(content, platform, (settings.as_of, settings.detail.speaks()), settings.knowledge)
    }

    /// What is inferred for a platform with the tables as of a day, and the day that it was seen on, where that is told;
    /// none where nothing can be seen.
    pub fn images(
        &self,
        content: &Content,
        platform: &str,
        as_of: Option<Date>,
        knowledge: Knowledge,
    ) -> Option<(Vec<Arc<ImageFacts>>, Option<Date>)> {
        let (told, _) = self.asked(content, platform, (as_of, false), knowledge)?;
        Some((told.images.clone(), told.day))
    }

    fn asked(
        &self,
        content: &Content,
        platform: &str,
        (as_of, speaks): (Option<Date>, bool),
        knowledge: Knowledge,
    ) -> Option<(Arc<Told>, Option<OnPlatform>)> {
        let asked = (platform.to_owned(), as_of);
        let known = lock(&self.told).get(&asked).cloned();
        if let Some(known) = known.as_ref().filter(|_| !speaks) {
            return known.clone().map(|told| (told, None));
        }
        let mut beside = Beside::default();
        let alike = lock(&self.alike).clone();
        let seen = match &alike {
            Some(alike) => {
                beside.clone_from(&alike.0);
                Some(Cow::Borrowed(&alike.1))
            }
            None => observe(content, platform, &mut beside),
        };
        let infer = |seen: &Observations| {
            let images = infer(seen, platform, as_of, knowledge).into_iter().map(Arc::new).collect();
            Arc::new(Told { beside: beside.clone(), images, day: seen.as_of })
        };
        let told = known.unwrap_or_else(|| seen.as_deref().map(infer));
        lock(&self.told).insert(asked, told.clone());
        let keeps = alike.is_none() && beside.alike;
        let seen = seen.filter(|_| speaks || keeps).map(Cow::into_owned);
        if let Some(seen) = seen.as_ref().filter(|_| keeps) {
            *lock(&self.alike) = Some(Arc::new((beside.clone(), seen.clone())));
        }
        Some((told?, seen.filter(|_| speaks).map(|seen| beside.on(platform, seen))))
    }
}

fn lock<T>(kept: &Mutex<T>) -> MutexGuard<'_, T> {
    kept.lock().unwrap_or_else(PoisonError::into_inner)
}
