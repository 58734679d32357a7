//! Dockerfiles that are parsed when they are first used.

use std::borrow::Cow;
use std::ops::Deref;
use std::sync::{Arc, OnceLock};

use crate::dockerfile::evaluated_target::MOST_INSTRUCTIONS;
use crate::dockerfile::file_type::may_be_other_file_type;
use crate::dockerfile::{Dockerfile, Instruction};

/// The text of a Dockerfile, parsed on first use to save memory with many files.
#[derive(Clone, Debug)]
pub struct LazyDockerfile {
    text: Arc<str>,
    read: OnceLock<Arc<Dockerfile>>,
    silent: OnceLock<bool>,
}

impl LazyDockerfile {
    /// Creates a Dockerfile that is not yet parsed.
    pub fn new(text: impl Into<Arc<str>>) -> Self {
        Self { text: text.into(), read: OnceLock::new(), silent: OnceLock::new() }
    }

    /// Creates a Dockerfile from a text and its parsed form.
    pub fn from_parsed(text: impl Into<Arc<str>>, dockerfile: Dockerfile) -> Self {
        Self { text: text.into(), read: OnceLock::from(Arc::new(dockerfile)), silent: OnceLock::new() }
    }

    /// Returns the parsed Dockerfile without storing it for later use.
    pub fn parsed_uncached(&self) -> Cow<'_, Dockerfile> {
        if let Some(read) = self.read.get() {
            return Cow::Borrowed(read);
        }
        let read = Dockerfile::parse(&self.text);
        self.silent.get_or_init(|| is_free_of_notices(&read));
        Cow::Owned(read)
    }

    /// Whether it has no problems and no comments for imagelint, not even possible ones in here-documents.
    pub fn is_free_of_notices(&self) -> bool {
        *self.silent.get_or_init(|| is_free_of_notices(self))
    }

    /// Whether it has too many instructions; a text with few lines is not parsed for this.
    pub fn is_too_long(&self) -> bool {
        self.text.lines().nth(MOST_INSTRUCTIONS).is_some() && self.parsed_uncached().is_too_long()
    }

    /// Whether a file is something else by its name or bytes, and has no valid FROM.
    pub fn is_not_a_dockerfile(&self, name: &str) -> bool {
        may_be_other_file_type(name, &self.text) && !self.parsed_uncached().is_plausible()
    }
}

/// Whether a parsed Dockerfile has no problems, comments for imagelint, here-documents or ONBUILD instructions.
fn is_free_of_notices(dockerfile: &Dockerfile) -> bool {
    let plain = |one: &Instruction| one.heredocs.is_empty() && one.child.is_none();
    dockerfile.controls.is_empty() && dockerfile.problems.is_empty() && dockerfile.instructions.iter().all(plain)
}

impl Deref for LazyDockerfile {
    type Target = Dockerfile;

    fn deref(&self) -> &Dockerfile {
        self.read.get_or_init(|| Arc::new(Dockerfile::parse(&self.text)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_parsed(dockerfile: &LazyDockerfile) -> bool {
        dockerfile.read.get().is_some()
    }

    #[test]
    fn parsed_uncached_does_not_fill_the_cache() {
        let lazy = LazyDockerfile::new("FROM a AS b\nRUN c\n");
        assert_eq!(*lazy.parsed_uncached(), Dockerfile::parse("FROM a AS b\nRUN c\n"));
        assert!(!lazy.is_not_a_dockerfile("x.py") && !lazy.is_too_long());
        assert!(!is_parsed(&lazy) && !is_parsed(&lazy.clone()));
        assert_eq!(lazy.instructions.len(), 2);
        assert!(is_parsed(&lazy) && is_parsed(&lazy.clone()));
        assert!(matches!(lazy.parsed_uncached(), Cow::Borrowed(_)), "what is kept is not read again");
    }

    #[test]
    fn text_with_warnings_or_suppressions_is_not_silent() {
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
            let (looked, unparsed) = (LazyDockerfile::new(text), LazyDockerfile::new(text));
            looked.parsed_uncached();
            assert_eq!((looked.is_free_of_notices(), unparsed.is_free_of_notices()), (expected, expected), "{text}");
            assert!(!is_parsed(&looked), "one look tells it");
        }
    }

    #[test]
    fn parsed_dockerfile_is_not_parsed_again() {
        let known = LazyDockerfile::from_parsed("FROM b\n", Dockerfile::parse("FROM a\nRUN c\n"));
        assert_eq!((known.instructions.len(), known.parsed_uncached().instructions.len()), (2, 2));
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
            assert_eq!(LazyDockerfile::new(text).is_too_long(), expected);
        }
    }
}
