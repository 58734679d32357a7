//! A cache for the value parsed from a text, stored with the text.

use std::any::Any;
use std::fmt;
use std::sync::{Arc, OnceLock};

/// A cached value of any type.
type CachedValue = Arc<dyn Any + Send + Sync>;

/// A cache for the value parsed from one text. The default stores nothing, since values are larger than texts; of
/// different types only the first is cached.
#[derive(Clone, Default)]
pub struct ParseCache(Option<Arc<OnceLock<CachedValue>>>);

impl ParseCache {
    /// Creates a cache that stores a value.
    pub fn enabled() -> Self {
        Self(Some(Arc::default()))
    }

    /// Returns the cached value, or parses it now.
    pub fn get_or_parse<T: Send + Sync + 'static>(&self, make: impl Fn() -> T) -> Arc<T> {
        let Some(room) = &self.0 else { return Arc::new(make()) };
        let own = Arc::clone(room.get_or_init(|| Arc::new(make())));
        own.downcast().unwrap_or_else(|_| Arc::new(make()))
    }
}

impl fmt::Debug for ParseCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Kept")
    }
}

/// What is kept is no part of a file.
impl PartialEq for ParseCache {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for ParseCache {}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    #[test]
    fn a_value_is_parsed_once_if_the_cache_is_enabled() {
        for (kept, expected) in [(ParseCache::enabled(), 1), (ParseCache::default(), 3)] {
            let calls = Cell::new(0);
            let make = || {
                calls.set(calls.get() + 1);
                calls.get()
            };
            // A clone is of the same text.
            let all = [kept.get_or_parse(make), kept.clone().get_or_parse(make), kept.get_or_parse(make)];
            assert_eq!(calls.get(), expected, "{all:?}");
            assert!(all.iter().all(|one| **one <= expected));
        }
    }

    #[test]
    fn values_of_different_types_are_not_mixed_up() {
        let kept = ParseCache::enabled();
        assert_eq!(*kept.get_or_parse(|| 1_u32), 1);
        assert_eq!(*kept.get_or_parse(|| "text".to_owned()), "text");
        assert_eq!(*kept.get_or_parse(|| 2_u32), 1);
        assert_eq!(*kept.get_or_parse(|| "other".to_owned()), "other");
    }
}
