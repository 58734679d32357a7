//! Dockerfiles that are read from their text when somebody asks.

use std::borrow::Cow;
use std::ops::Deref;
use std::sync::Arc;
use std::sync::OnceLock;

use crate::dockerfile::Dockerfile;
use crate::dockerfile::Instruction;
use crate::dockerfile::evaluated::MOST_INSTRUCTIONS;
use crate::dockerfile::other::may_be_another_thing;

/// A Dockerfile by its text. What is made of a text takes several times its bytes: of many files, those alone are held
/// that somebody looks into, from the first look on.
#[derive(Clone, Debug)]
pub struct OnDemand {
    text: Arc<str>,
    read: OnceLock<Arc<Dockerfile>>,
    silent: OnceLock<bool>,
}

impl OnDemand {
    /// One that nobody has looked into yet.
    pub fn new(text: impl Into<Arc<str>>) -> Self {
        Self { text: text.into(), read: OnceLock::new(), silent: OnceLock::new() }
    }

    /// One of which is known what its text says.
    pub fn known(text: impl Into<Arc<str>>, dockerfile: Dockerfile) -> Self {
        Self { text: text.into(), read: OnceLock::from(Arc::new(dockerfile)), silent: OnceLock::new() }
    }

    /// What it says, for one look: nothing of it is kept.
    pub fn once(&self) -> Cow<'_, Dockerfile> {
        if let Some(read) = self.read.get() {
            return Cow::Borrowed(read);
        }
        let read = Dockerfile::parse(&self.text);
        self.silent.get_or_init(|| is_silent(&read));
        Cow::Owned(read)
    }

    /// Whether nothing is wrong with it and none of its comments, nor any in a here-document, can speak to imagelint;
    /// known from the first look on.
    pub fn is_silent(&self) -> bool {
        *self.silent.get_or_init(|| is_silent(self))
    }

    /// Whether it has more instructions than are followed; a text of few lines is not looked into for that.
    pub fn is_too_long(&self) -> bool {
        self.text.lines().nth(MOST_INSTRUCTIONS).is_some() && self.once().is_too_long()
    }

    /// Whether this text, of a file of that name, is another thing by its ending or its bytes, and no FROM that a
    /// builder takes says otherwise.
    pub fn is_another_thing(&self, name: &str) -> bool {
        may_be_another_thing(name, &self.text) && !self.once().is_like_one()
    }
}

fn is_silent(dockerfile: &Dockerfile) -> bool {
    let plain = |one: &Instruction| one.heredocs.is_empty() && one.child.is_none();
    dockerfile.controls.is_empty() && dockerfile.problems.is_empty() && dockerfile.instructions.iter().all(plain)
}

impl Deref for OnDemand {
    type Target = Dockerfile;

    fn deref(&self) -> &Dockerfile {
        self.read.get_or_init(|| Arc::new(Dockerfile::parse(&self.text)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_kept(dockerfile: &OnDemand) -> bool {
        dockerfile.read.get().is_some()
    }

    #[test]
    fn what_one_look_reads_is_not_kept() {
        let lazy = OnDemand::new("FROM a AS b\nRUN c\n");
        assert_eq!(*lazy.once(), Dockerfile::parse("FROM a AS b\nRUN c\n"));
        assert!(!lazy.is_another_thing("x.py") && !lazy.is_too_long());
        assert!(!is_kept(&lazy) && !is_kept(&lazy.clone()));
        assert_eq!(lazy.instructions.len(), 2);
        assert!(is_kept(&lazy) && is_kept(&lazy.clone()));
        assert!(matches!(lazy.once(), Cow::Borrowed(_)), "what is kept is not read again");
    }

    #[test]
    fn what_has_something_to_say_is_not_silent() {
        for (text, expected) in [
            ("FROM a\n# a comment\nRUN pip install torch\n", true),
            ("FROM a\nRUN cat << b\n", false),
            ("FROM a\n# imagelint: ignore[torch-arch-mismatch] known\nRUN b\n", false),
            ("FROM a\n# imagelint: pools=x\n", false),
            ("FROM a\nRUN <<E\nb\nE\n", false),
            ("FROM a\nONBUILD RUN <<E\nb\nE\n", false),
            ("FROM a\nstray\n", false),
            ("RUN b\n", false),
            ("", false),
        ] {
            let (looked, asked) = (OnDemand::new(text), OnDemand::new(text));
            looked.once();
            assert_eq!((looked.is_silent(), asked.is_silent()), (expected, expected), "{text}");
            assert!(!is_kept(&looked), "one look tells it");
        }
    }

    #[test]
    fn what_is_known_is_not_read_from_the_text() {
        let known = OnDemand::known("FROM b\n", Dockerfile::parse("FROM a\nRUN c\n"));
        assert_eq!((known.instructions.len(), known.once().instructions.len()), (2, 2));
    }

    #[test]
    fn a_text_is_too_long_by_its_instructions_and_not_by_its_lines() {
        for (lines, expected) in [
            ("RUN a\n".repeat(MOST_INSTRUCTIONS - 1), false),
            ("RUN a\n".repeat(MOST_INSTRUCTIONS), true),
            ("\n".repeat(MOST_INSTRUCTIONS * 2), false),
            (format!("RUN {}b", "a \\\n".repeat(MOST_INSTRUCTIONS)), false),
        ] {
            let text = format!("FROM x\n{lines}");
            assert_eq!(Dockerfile::parse(&text).is_too_long(), expected);
            assert_eq!(OnDemand::new(text).is_too_long(), expected);
        }
    }
}
