//! Handles `exit` and `return`, which end the current shell or function; with an error status they end the build.

use crate::shell::command::Word;
use crate::shell::walk::command_status::Tristate;
use crate::shell::walk::state::{Reachability, ShellBlockKind, ShellWalker};

impl Reachability {
    /// Returns whether the current command is reached.
    pub(super) fn combined(self) -> Tristate {
        self.shell.and(self.function)
    }

    /// Returns the reachability behind a block: a subshell only ends itself, and a function returns to its caller.
    pub(super) fn after_block(self, inner: Self, kind: &ShellBlockKind, apart: bool) -> Self {
        if apart {
            return self;
        }
        match kind {
            ShellBlockKind::Subshell | ShellBlockKind::Script => self,
            ShellBlockKind::Called => Self { shell: inner.shell, ..self },
            ShellBlockKind::If | ShellBlockKind::Loop | ShellBlockKind::Case(_) | ShellBlockKind::Braces => inner,
        }
    }
}

impl ShellWalker<'_> {
    /// Returns the reachability behind a command, which may be `exit` or `return`.
    pub(super) fn reachability_after(&self, words: &[Word]) -> Reachability {
        let (shell, code) = match words {
            [first, rest @ ..] if first.known() == Some("exit") => (true, rest.first()),
            [first, rest @ ..] if first.known() == Some("return") => (false, rest.first()),
            _ => return self.goes,
        };
        // Without a number the status is that of the command in front: behind `||` that has failed.
        let told = code.filter(|word| word.raw != "$?");
        let fails = match told {
            Some(word) => word.known().and_then(|code| code.parse::<i64>().ok()).is_some_and(|code| code != 0),
            None => self.list.is_after_failure(),
        };
        let outside = !shell && !self.branches.iter().any(|branch| branch.kind == ShellBlockKind::Called);
        if fails || outside || self.part.is_in_subshell() {
            return self.goes;
        }
        // That the command in front ends well is what is asked here.
        let asks =
            self.list.is_after_success() && !self.branches.iter().any(|branch| branch.kind == ShellBlockKind::Loop);
        let chance = if asks { self.current_execution().and(Tristate::Maybe) } else { self.current_execution() };
        let mut goes = self.goes;
        let left = if shell { &mut goes.shell } else { &mut goes.function };
        *left = left.and(chance.not());
        goes
    }
}
