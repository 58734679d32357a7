//! Cache for observations that are made while a build context is collected; the first reader takes them.

use std::sync::{Mutex, PoisonError};

use crate::extract::TargetObservations;

/// Observations that are equal on every platform, for the same files, options and base images; taken by the first
/// reader.
#[derive(Debug, Default)]
pub struct CachedTargetObservations(Mutex<Option<Box<TargetObservations>>>);

impl CachedTargetObservations {
    /// Caches observations; nothing if they depend on the platform.
    pub fn new(target: Option<TargetObservations>) -> Self {
        Self(Mutex::new(target.filter(|target| !target.of_platform).map(Box::new)))
    }

    /// Whether observations are cached.
    pub(super) fn is_cached(&self) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }

    /// Takes the cached observations.
    pub(super) fn take(&self) -> Option<TargetObservations> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take().map(|target| *target)
    }
}

/// A copy may be given other files or another text, and is read anew.
impl Clone for CachedTargetObservations {
    fn clone(&self) -> Self {
        Self::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::fact::Observations;

    #[test]
    fn target_without_platform_use_is_cached_for_all_platforms() {
        let target = |of_platform: bool| TargetObservations {
            seen: Observations::default(),
            stage: Some("a".to_owned()),
            stages: Vec::new(),
            notes: Vec::new(),
            of_platform,
        };
        let cached_target = CachedTargetObservations::new(Some(target(false)));
        assert!(
            cached_target.is_cached() && !cached_target.clone().is_cached() && cached_target.clone().take().is_none()
        );
        assert_eq!(cached_target.take().and_then(|target| target.stage).as_deref(), Some("a"));
        assert!(!cached_target.is_cached() && cached_target.take().is_none());
        assert!(
            CachedTargetObservations::new(Some(target(true))).take().is_none()
                && CachedTargetObservations::new(None).take().is_none()
        );
    }
}
