//! The files of the image that a shell script can access before it runs.

/// The files of the image that a shell script can access before it runs.
#[derive(Clone, Copy)]
pub struct ShellFiles<'a> {
    /// The working directory at the start; empty if it is unknown.
    pub folder: &'a str,
    /// Returns the text of a file that certainly exists, by its path.
    pub text: &'a dyn Fn(&str) -> Option<String>,
    /// Whether no previous command may have changed a file, by its path.
    pub unchanged: &'a dyn Fn(&str) -> bool,
    /// Returns the paths that a glob pattern matches, in the shell's order, if they are known.
    pub listed: &'a dyn Fn(&str) -> Option<Vec<String>>,
}

impl ShellFiles<'static> {
    /// No known files.
    pub const NONE: Self = Self { folder: "", text: &|_| None, unchanged: &|_| true, listed: &|_| None };
}
