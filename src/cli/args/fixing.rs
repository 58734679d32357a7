//! What `check` may change.

use crate::cure::Safety;

/// What `check` may change.
#[derive(Debug, clap::Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub(crate) struct FixArgs {
    /// Write the smallest safe changes that make images start into their files, then check again.
    ///
    /// A change is tried on every pool before it is written, and no other instruction of the file changes.
    #[arg(long)]
    pub(crate) fix: bool,
    /// With --fix and --diff: also changes of versions that the program meets, and of checks.
    #[arg(long)]
    pub(crate) unsafe_fixes: bool,
    /// With --fix: print the changes as a patch instead.
    #[arg(long, requires = "fix")]
    pub(crate) dry_run: bool,
    /// Print the changes that --fix would write as a patch, and write nothing.
    #[arg(long)]
    pub(crate) diff: bool,
}

impl FixArgs {
    /// Whether files are written.
    pub(crate) fn writes(&self) -> bool {
        self.fix && !self.dry_run && !self.diff
    }

    /// Whether a patch is printed.
    pub(crate) fn prints(&self) -> bool {
        self.diff || self.dry_run
    }

    /// Whether more changes are allowed, and none is asked for.
    pub(crate) fn is_idle(&self) -> bool {
        self.unsafe_fixes && !self.writes() && !self.prints()
    }

    /// What a change may be at worst.
    pub(crate) fn least(&self) -> Safety {
        if self.unsafe_fixes { Safety::Unsafe } else { Safety::Safe }
    }
}
