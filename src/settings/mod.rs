//! The settings of a repository: what `imagelint.toml` says, each value with its place.
//!
//! Nothing here opens a file. Who loads a file says in which folder it lies, and its patterns are seen from there.

mod known;
mod own;
mod parts;
mod pattern;
mod read;
mod tables;

#[cfg(test)]
mod tests;

use jiff::civil::Date;

use crate::source::SourceId;
use crate::source::Span;

pub use self::known::Known;
pub use self::known::check;
pub use self::own::Own;
pub use self::pattern::PathPattern;
pub use self::pattern::PoolPattern;
pub use self::read::KEYS;
pub use self::read::Words;
pub use self::read::read;
pub use self::tables::ForPaths;
pub use self::tables::Ignore;
pub use self::tables::Level;
pub use self::tables::RuleLevel;

/// The names by which settings are found in a folder, the one that counts first.
pub const FILES: [&str; 2] = [".imagelint.toml", "imagelint.toml"];

/// So many files may build on each other by `extend`.
pub const MOST_EXTENDED: usize = 8;

/// Where something is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// In which text.
    pub source: SourceId,
    /// Where in it.
    pub span: Span,
}

/// A value and where it is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Set<T> {
    /// The value.
    pub value: T,
    /// Where.
    pub place: Place,
}

/// What a settings file says, or several that build on each other.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// The file that this one builds on, as seen from it.
    pub extend: Option<Set<String>>,
    /// The fleet file, as seen from this file.
    pub fleet: Option<Set<String>>,
    /// The file of findings that are known, as seen from this file.
    pub baseline: Option<Set<String>>,
    /// Folders with rule pages, each as seen from the file that names it.
    pub rule_folders: Option<Vec<Set<String>>>,
    /// Whose rules speak.
    pub persona: Option<Set<String>>,
    /// Whether rules speak that are not stable yet.
    pub preview: Option<Set<bool>>,
    /// The level from which the exit code is 1.
    pub fail_on: Option<Set<String>>,
    /// The day that images are taken as built on.
    pub as_of: Option<Set<Date>>,
    /// Further names of files that are Dockerfiles.
    pub include: Option<Vec<PathPattern>>,
    /// Files and folders that are passed over.
    pub exclude: Option<Vec<PathPattern>>,
    /// Registries that may be asked for images that a file names.
    pub trusted_registries: Option<Vec<Set<String>>>,
    /// Build arguments.
    pub build_args: Vec<(String, Set<String>)>,
    /// The stage that ships.
    pub target: Option<Set<String>>,
    /// Platforms that images are built for.
    pub platforms: Option<Vec<Set<String>>>,
    /// How bad rules are.
    pub rules: Vec<RuleLevel>,
    /// Findings that are left out.
    pub ignores: Vec<Ignore>,
    /// What holds for some files alone.
    pub paths: Vec<ForPaths>,
}

impl Settings {
    /// The same, with what only the file says that it builds on.
    #[must_use]
    pub fn on(self, below: Self) -> Self {
        let mut build_args = below.build_args;
        build_args.retain(|(name, _)| !self.build_args.iter().any(|(own, _)| own == name));
        build_args.extend(self.build_args);
        let mut rules = below.rules;
        rules.retain(|rule| !self.rules.iter().any(|own| own.rule.value == rule.rule.value));
        rules.extend(self.rules);
        Self {
            extend: self.extend,
            fleet: self.fleet.or(below.fleet),
            baseline: self.baseline.or(below.baseline),
            rule_folders: self.rule_folders.or(below.rule_folders),
            persona: self.persona.or(below.persona),
            preview: self.preview.or(below.preview),
            fail_on: self.fail_on.or(below.fail_on),
            as_of: self.as_of.or(below.as_of),
            include: self.include.or(below.include),
            exclude: self.exclude.or(below.exclude),
            trusted_registries: self.trusted_registries.or(below.trusted_registries),
            build_args,
            target: self.target.or(below.target),
            platforms: self.platforms.or(below.platforms),
            rules,
            ignores: below.ignores.into_iter().chain(self.ignores).collect(),
            paths: below.paths.into_iter().chain(self.paths).collect(),
        }
    }
}

/// Whether a list of trusted registries names the registry; `*.example.com` stands for all below a domain.
pub fn trusts(list: &[Set<String>], registry: &str) -> bool {
    let fits = |pattern: &str| match pattern.strip_prefix("*.") {
        Some(domain) => registry.strip_suffix(domain).is_some_and(|host| host.len() > 1 && host.ends_with('.')),
        None => pattern == registry,
    };
    list.iter().any(|one| fits(&one.value))
}
