//! Image builds defined by bake files and compose files.

mod bake;
mod bake_expression;
mod compose;
mod compose_services;
mod evaluation_notes;
mod interpolation;

use std::collections::BTreeMap;

use thiserror::Error;

use crate::model::cause::Cause;

pub use bake::{read_bake_file, read_bake_files};
pub use compose::{read_compose_file, read_compose_files, scalar_text};
pub use compose_services::{FileOpener, ResolvedService, resolve_services};
pub use interpolation::{parse_environment_file, substitute_variables};

/// Maximum number of builds in one file.
const MAX_BUILDS: usize = 1_000;
/// Maximum length of a file, in bytes.
const MAX_FILE_BYTES: usize = 1 << 20;
/// Maximum nesting depth of brackets in a file.
const MAX_NESTING: usize = 48;

/// The Dockerfile of a build.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DockerfileSource {
    /// A path, relative to the context unless absolute.
    Path(String),
    /// The text of the Dockerfile.
    Inline(String),
    /// An unknown Dockerfile, with the reason.
    Unknown(Cause),
}

/// An image build that a bake or compose file defines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImageBuild {
    /// Name of its target or service.
    pub name: String,
    /// The build context: a path relative to the directory of the file, or a URL.
    pub context: String,
    /// The Dockerfile.
    pub recipe: DockerfileSource,
    /// Build arguments; `None` if the file does not determine the value.
    pub args: BTreeMap<String, Option<String>>,
    /// Additional build contexts, which replace names in FROM; `None` if the file does not determine the value.
    pub contexts: BTreeMap<String, Option<String>>,
    /// The build stage to build.
    pub target: Option<String>,
    /// Platforms; empty for the requested one.
    pub platforms: Vec<String>,
    /// Whether the build itself is requested; otherwise only other builds need it.
    pub requested: bool,
    /// Whether it disables GPUs that the default runtime of a node would provide.
    pub refuses: bool,
    /// Parts of the definition that could not be evaluated.
    pub notes: Vec<Cause>,
}

impl ImageBuild {
    /// Creates a build with the defaults of Docker.
    fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            context: ".".to_owned(),
            recipe: DockerfileSource::Path("Dockerfile".to_owned()),
            args: BTreeMap::new(),
            contexts: BTreeMap::new(),
            target: None,
            platforms: Vec::new(),
            requested: true,
            refuses: false,
            notes: Vec::new(),
        }
    }

    /// Returns the contexts that other builds of the file provide: names of contexts, and names of builds.
    pub fn referenced_builds(&self) -> impl Iterator<Item = (&str, &str)> {
        self.contexts.iter().filter_map(|(context, value)| {
            let value = value.as_deref()?;
            let name = value.strip_prefix("target:").or_else(|| value.strip_prefix("service:"))?;
            Some((context.as_str(), name))
        })
    }

    /// Whether the build context is on this machine.
    pub fn has_local_context(&self) -> bool {
        !(self.context.contains("://") || self.context.starts_with("git@") || self.context.starts_with("target:"))
    }
}

/// Reason why a file yields no builds.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum BuildsError {
    /// The file has the wrong structure.
    #[error("{0}")]
    Unreadable(String),
    /// A syntax error at a line and a column, both counted from 1.
    #[error("line {line} column {column}: {message}")]
    Broken {
        /// What is wrong.
        message: String,
        /// Its line.
        line: usize,
        /// Its column.
        column: usize,
    },
    /// The file exceeds a limit.
    #[error("the file is too long or nested too deeply")]
    TooBig,
}

/// Returns an error for a file that is too long or too deeply nested to be parsed safely.
fn check_file_limits(text: &str) -> Result<(), BuildsError> {
    let (mut depth, mut deepest, mut marks, mut row) = (0_usize, 0_usize, 0_usize, 0_usize);
    let mut last = ' ';
    for c in text.chars() {
        match c {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        deepest = deepest.max(depth);
        // Conditionals and signs in a row nest without brackets.
        marks += usize::from(c == '?' || c == '%');
        row = if c == last && matches!(c, '!' | '-') { row + 1 } else { 0 };
        if row > 2 * MAX_NESTING && c == '!' {
            return Err(BuildsError::TooBig);
        }
        last = c;
    }
    let signs = text.split(|c: char| !matches!(c, '-' | '!' | ' ' | '\t')).map(str::len).max().unwrap_or(0);
    if text.len() > MAX_FILE_BYTES || deepest > MAX_NESTING || marks > 512 || signs > 512 {
        return Err(BuildsError::TooBig);
    }
    Ok(())
}
