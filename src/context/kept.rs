//! What was made of a text, beside the text.

use std::any::Any;
use std::fmt;
use std::sync::Arc;
use std::sync::OnceLock;

type Made = Arc<dyn Any + Send + Sync>;

/// What a reader made of one text, for those who read it again. Nothing is kept where nobody asked for that, since what is
/// made is larger than the text; and of readers that make different things, the first one's is.
#[derive(Clone, Default)]
pub struct Kept(Option<Arc<OnceLock<Made>>>);

impl Kept {
    /// A place to keep it.
    pub fn room() -> Self {
        Self(Some(Arc::default()))
    }

    /// What was made before, else what is made now.
    pub fn get<T: Send + Sync + 'static>(&self, make: impl Fn() -> T) -> Arc<T> {
        let Some(room) = &self.0 else { return Arc::new(make()) };
        let own = Arc::clone(room.get_or_init(|| Arc::new(make())));
        own.downcast().unwrap_or_else(|_| Arc::new(make()))
    }
}

impl fmt::Debug for Kept {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Kept")
    }
}

/// What is kept is no part of a file.
impl PartialEq for Kept {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Kept {}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    #[test]
    fn what_is_made_is_made_once_where_there_is_room_for_it() {
        for (kept, expected) in [(Kept::room(), 1), (Kept::default(), 3)] {
            let calls = Cell::new(0);
            let make = || {
                calls.set(calls.get() + 1);
                calls.get()
            };
            // A clone is of the same text.
            let all = [kept.get(make), kept.clone().get(make), kept.get(make)];
            assert_eq!(calls.get(), expected, "{all:?}");
            assert!(all.iter().all(|one| **one <= expected));
        }
    }

    #[test]
    fn two_readers_do_not_get_what_the_other_made() {
        let kept = Kept::room();
        assert_eq!(*kept.get(|| 1_u32), 1);
        assert_eq!(*kept.get(|| "text".to_owned()), "text");
        assert_eq!(*kept.get(|| 2_u32), 1);
        assert_eq!(*kept.get(|| "other".to_owned()), "other");
    }
}
