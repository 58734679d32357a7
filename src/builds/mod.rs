//! Files that say how images are built: bake files and compose files into one list of builds.

mod bake;
mod compose;
mod expression;
mod extends;
mod function;
mod interpolate;
mod request;
mod standard;
mod unsupported;

use std::collections::BTreeMap;

use thiserror::Error;

pub use bake::bake;
pub use bake::bake_merged;
pub use compose::compose;
pub use compose::compose_merged;
pub use compose::scalar;
pub use extends::Opens;
pub use extends::Whole;
pub use extends::services_of;
pub use interpolate::environment_file;
pub use interpolate::interpolate;

/// More builds than this in one file are nobody's.
const MOST_BUILDS: usize = 1_000;
/// Longer files are nobody's.
const LONGEST: usize = 1 << 20;
/// Nothing that a person writes is nested deeper.
const DEEPEST: usize = 48;

/// Where the Dockerfile of a build is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Recipe {
    /// A path; from the context, unless absolute.
    Path(String),
    /// The text itself.
    Inline(String),
    /// That cannot be told, for this reason.
    Unknown(String),
}

/// One build.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Build {
    /// Its target or service.
    pub name: String,
    /// The context: a path from the file's folder, or an address.
    pub context: String,
    /// The Dockerfile.
    pub recipe: Recipe,
    /// Build arguments; `None` where the file alone does not give the value.
    pub args: BTreeMap<String, Option<String>>,
    /// What takes the place of names behind FROM; `None` where the file alone does not give it.
    pub contexts: BTreeMap<String, Option<String>>,
    /// The stage.
    pub target: Option<String>,
    /// Platforms; whatever is asked where empty.
    pub platforms: Vec<String>,
    /// Whether it is asked for; else it is here for those that stand on it alone.
    pub asked: bool,
    /// Whether it refuses a GPU that the default runtime of a node would give it.
    pub refuses: bool,
    /// What could not be followed.
    pub notes: Vec<String>,
}

impl Build {
    fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            context: ".".to_owned(),
            recipe: Recipe::Path("Dockerfile".to_owned()),
            args: BTreeMap::new(),
            contexts: BTreeMap::new(),
            target: None,
            platforms: Vec::new(),
            asked: true,
            refuses: false,
            notes: Vec::new(),
        }
    }

    /// The contexts that another build of the file makes: their names, and the names of those builds.
    pub fn referred(&self) -> impl Iterator<Item = (&str, &str)> {
        self.contexts.iter().filter_map(|(context, value)| {
            let value = value.as_deref()?;
            let name = value.strip_prefix("target:").or_else(|| value.strip_prefix("service:"))?;
            Some((context.as_str(), name))
        })
    }

    /// Whether the context lies on this machine.
    pub fn is_local(&self) -> bool {
        !(self.context.contains("://") || self.context.starts_with("git@") || self.context.starts_with("target:"))
    }
}

/// Why a file gives no builds.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum BuildsError {
    /// It is not what it should be.
    #[error("{0}")]
    Unreadable(String),
    /// It breaks off, or cannot go on, at a line and a column, both from 1.
    #[error("line {line} column {column}: {message}")]
    Broken {
        /// What is wrong.
        message: String,
        /// Its line.
        line: usize,
        /// Its column.
        column: usize,
    },
    /// It is out of all proportion.
    #[error("the file is too long or nested too deeply")]
    TooBig,
}

/// Refuses what could exhaust the readers of nested languages.
fn bounded(text: &str) -> Result<(), BuildsError> {
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
        if row > 2 * DEEPEST && c == '!' {
            return Err(BuildsError::TooBig);
        }
        last = c;
    }
    let signs = text.split(|c: char| !matches!(c, '-' | '!' | ' ' | '\t')).map(str::len).max().unwrap_or(0);
    if text.len() > LONGEST || deepest > DEEPEST || marks > 512 || signs > 512 {
        return Err(BuildsError::TooBig);
    }
    Ok(())
}
