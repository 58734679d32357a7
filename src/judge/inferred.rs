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
use crate::report::observed::OnPlatform;

/// What was seen of a subject on one platform.
#[derive(Debug)]
pub(super) struct Told {
    pub(super) beside: Beside,
    pub(super) images: Vec<Arc<ImageFacts>>,
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
        let asked = (platform.to_owned(), settings.as_of);
        let known = lock(&self.told).get(&asked).cloned();
        let speaks = settings.detail.speaks();
        if let Some(known) = known.filter(|_| !speaks) {
            return known.map(|told| (told, None));
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
        let told = seen.as_ref().map(|seen| {
            let images = infer(seen.as_ref(), platform, settings.as_of, settings.knowledge);
            Arc::new(Told { beside: beside.clone(), images: images.into_iter().map(Arc::new).collect() })
        });
        lock(&self.told).insert(asked, told.clone());
        let seen = seen.map(|seen| {
            let seen = seen.into_owned();
            if alike.is_none() && beside.alike {
                *lock(&self.alike) = Some(Arc::new((beside.clone(), seen.clone())));
            }
            seen
        });
        Some((told?, seen.filter(|_| speaks).map(|seen| beside.on(platform, seen))))
    }
}

fn lock<T>(kept: &Mutex<T>) -> MutexGuard<'_, T> {
    kept.lock().unwrap_or_else(PoisonError::into_inner)
}
