//! What `check` may change.

use crate::report::kinds::FixSafety;

/// What `check` may change.
#[derive(Debug, clap::Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub(crate) struct FixArgs {
    /// Write safe fixes, then check again
    ///
    /// imagelint tries each fix on every pool before it writes the file. Other instructions do not change.
    #[arg(long, help_heading = "Fixes")]
    pub(crate) fix: bool,
    /// Allow unsafe fixes, such as other versions
    ///
    /// For use with --fix and --diff.
    #[arg(long, help_heading = "Fixes")]
    pub(crate) unsafe_fixes: bool,
    /// Print the patch instead of writing files
    ///
    /// For use with --fix.
    #[arg(long, requires = "fix", help_heading = "Fixes", hide_short_help = true)]
    pub(crate) dry_run: bool,
    /// Print fixes as a patch, write nothing
    #[arg(long, help_heading = "Fixes")]
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
    pub(crate) fn least(&self) -> FixSafety {
        if self.unsafe_fixes { FixSafety::Unsafe } else { FixSafety::Safe }
    }
}
