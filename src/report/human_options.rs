//! Options of the terminal report.

/// Options of the terminal report.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "flags of the command line")]
pub struct HumanOptions<'a> {
    /// With colours.
    pub color: bool,
    /// Without characters beyond ASCII.
    pub ascii: bool,
    /// Columns of the terminal.
    pub width: usize,
    /// Also say what is not worth saying.
    pub verbose: bool,
    /// Whether fixes were searched.
    pub searched: bool,
    /// The command that is running, `check` or `scan`.
    pub command: &'static str,
    /// What selects its input and its fleet, with a space before each word.
    pub arguments: &'a str,
}
