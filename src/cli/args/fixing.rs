//! Arguments of `imagelint check` on fixes.

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
    /// Whether fixes are written to the files.
    pub(crate) fn writes_files(&self) -> bool {
        self.fix && !self.dry_run && !self.diff
    }

    /// Whether fixes are printed as a patch.
    pub(crate) fn prints_patch(&self) -> bool {
        self.diff || self.dry_run
    }

    /// Whether unsafe fixes are allowed, although no flag requests fixes.
    pub(crate) fn has_unused_unsafe_fixes(&self) -> bool {
        self.unsafe_fixes && !self.writes_files() && !self.prints_patch()
    }

    /// Returns the lowest safety that a fix may have.
    pub(crate) fn lowest_safety(&self) -> FixSafety {
        if self.unsafe_fixes { FixSafety::Unsafe } else { FixSafety::Safe }
    }
}
