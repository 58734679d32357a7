//! What was seen of a Dockerfile while the files of its build context were looked for: who judges it need not read it
//! once more.

use std::sync::Mutex;
use std::sync::PoisonError;

use crate::extract::Target;

/// What was seen on every platform alike, with the files, the options and the bases of the content that it stands in; for
/// the first who asks.
#[derive(Debug, Default)]
pub struct Early(Mutex<Option<Box<Target>>>);

impl Early {
    /// Keeps what was seen; nothing where another platform may make it another.
    pub fn new(target: Option<Target>) -> Self {
        Self(Mutex::new(target.filter(|target| !target.of_platform).map(Box::new)))
    }

    /// Whether something is kept.
    pub(super) fn is_there(&self) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }

    pub(super) fn take(&self) -> Option<Target> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take().map(|target| *target)
    }
}

/// A copy may be given other files or another text, and is read anew.
impl Clone for Early {
    fn clone(&self) -> Self {
        Self::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fact::Observations;

    #[test]
    fn what_is_kept_is_for_one_and_for_every_platform() {
        let target = |of_platform: bool| Target {
            seen: Observations::default(),
            stage: Some("a".to_owned()),
            stages: Vec::new(),
            notes: Vec::new(),
            of_platform,
        };
        let early = Early::new(Some(target(false)));
        assert!(early.is_there() && !early.clone().is_there() && early.clone().take().is_none());
        assert_eq!(early.take().and_then(|target| target.stage).as_deref(), Some("a"));
        assert!(!early.is_there() && early.take().is_none());
        assert!(Early::new(Some(target(true))).take().is_none() && Early::new(None).take().is_none());
    }
}
