//! Commands that end the shell or the function that they stand in: `exit` and `return`. One that fails ends the build.

use crate::dockerfile::Resolved;
use crate::shell::Word;
use crate::shell::walk::Walk;
use crate::shell::walk::branches::Kind;
use crate::shell::walk::chance::Chance;
use crate::shell::wrapper;

/// Whether the commands at hand were not left behind by an earlier one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Goes {
    /// By `exit`.
    shell: Chance,
    /// By `return`.
    function: Chance,
}

impl Default for Goes {
    fn default() -> Self {
        Self { shell: Chance::Yes, function: Chance::Yes }
    }
}

impl Goes {
    /// Whether what stands here is reached, as far as earlier commands decide.
    pub(super) fn on(self) -> Chance {
        self.shell.and(self.function)
    }

    /// How it goes on behind a branch, where `self` held in front of it: a shell of its own ends by itself alone, and a
    /// function returns to where it was called.
    pub(super) fn behind(self, inner: Self, kind: &Kind, apart: bool) -> Self {
        if apart {
            return self;
        }
        match kind {
            Kind::Subshell | Kind::Script => self,
            Kind::Called => Self { shell: inner.shell, ..self },
            Kind::If | Kind::Loop | Kind::Case(_) | Kind::Braces => inner,
        }
    }
}

impl Walk<'_> {
    /// How it goes on behind a command: `exit` and `return` end what they stand in, and the build may go on elsewhere.
    pub(super) fn behind(&self, words: &[Word]) -> Goes {
        let (shell, code) = match words {
            [first, rest @ ..] if first.known() == Some("exit") => (true, rest.first()),
            [first, rest @ ..] if first.known() == Some("return") => (false, rest.first()),
            _ => return self.goes,
        };
        // Without a number the status is that of the command in front: behind `||` that has failed.
        let told = code.filter(|word| word.raw != "$?");
        let fails = match told {
            Some(word) => word.known().and_then(|code| code.parse::<i64>().ok()).is_some_and(|code| code != 0),
            None => self.list.is_behind_failure(),
        };
        let outside = !shell && !self.branches.iter().any(|branch| branch.kind == Kind::Called);
        if fails || outside || self.part.is_any() {
            return self.goes;
        }
        // That the command in front ends well is what is asked here.
        let asks = self.list.is_behind_success() && !self.branches.iter().any(|branch| branch.kind == Kind::Loop);
        let chance = if asks { self.chance().and(Chance::Maybe) } else { self.chance() };
        let mut goes = self.goes;
        let left = if shell { &mut goes.shell } else { &mut goes.function };
        *left = left.and(chance.not());
        goes
    }

    /// The words of the program that runs in the end; what is set in front of it is set here.
    pub(super) fn within(&mut self, words: Vec<Word>) -> Vec<Word> {
        let skip = wrapper::inner(&words);
        let own: Vec<(String, Resolved)> = words.iter().take(skip).filter_map(wrapper::set).collect();
        self.variables.extend(own);
        words.into_iter().skip(skip).collect()
    }
}
