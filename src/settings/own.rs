//! What the settings say of one input.

use std::path::Path;

use jiff::civil::Date;

use crate::settings::ForPaths;
use crate::settings::Ignore;
use crate::settings::Level;
use crate::settings::PathPattern;
use crate::settings::PoolPattern;
use crate::settings::RuleLevel;
use crate::settings::Set;
use crate::settings::Settings;

/// The settings as they hold for one input.
#[derive(Clone, Copy, Debug)]
pub struct Own<'a> {
    /// All of them.
    pub settings: &'a Settings,
    /// The full path of the input, where it is a file.
    pub path: Option<&'a Path>,
    /// The day on which ignores run out or not.
    pub today: Date,
}

impl<'a> Own<'a> {
    /// What is said of these files alone, the last first: it counts most.
    fn for_paths(self) -> impl Iterator<Item = &'a ForPaths> {
        let fits = move |one: &&ForPaths| self.path.is_some_and(|path| one.fits(path));
        self.settings.paths.iter().rev().filter(fits)
    }

    /// Keeps in mind which entries for some files alone are for this one.
    pub fn note_paths(self) {
        self.for_paths().for_each(drop);
    }

    /// How bad a rule is, where the settings say it.
    pub fn level(self, rule: &str, pool: Option<&str>) -> Option<Level> {
        self.rules().filter(|one| one.rule.value == rule).find_map(|one| one.on(pool))
    }

    /// The ignore that leaves out what a rule says, for one pool or without pools.
    pub fn ignores(self, rule: &str, pool: Option<&str>) -> Option<&'a Ignore> {
        let fits = |one: &&Ignore| {
            let file = self.is_among(&one.paths);
            let on =
                one.pools.is_empty() || pool.is_some_and(|pool| one.pools.iter().any(|pattern| pattern.fits(pool)));
            one.rule.value == rule && file && on && !one.is_over(self.today)
        };
        let found = self.settings.ignores.iter().find(fits)?;
        found.use_it();
        Some(found)
    }

    /// What is said of rules, that which counts most first.
    pub fn rules(self) -> impl Iterator<Item = &'a RuleLevel> {
        self.for_paths().flat_map(|one| &one.rules).chain(&self.settings.rules)
    }

    /// The ignores that may hold for it, on some pool.
    pub fn ignored(self) -> impl Iterator<Item = &'a Ignore> {
        self.settings.ignores.iter().filter(move |one| self.is_among(&one.paths))
    }

    /// Whether it is one of these files; every input is, where none is named.
    fn is_among(self, paths: &[PathPattern]) -> bool {
        paths.is_empty() || self.path.is_some_and(|path| paths.iter().any(|pattern| pattern.fits(path)))
    }

    /// Build arguments, those of the files that it is among last.
    pub fn build_args(self) -> Vec<&'a (String, Set<String>)> {
        let mut lists: Vec<&[(String, Set<String>)]> = self.for_paths().map(|one| one.build_args.as_slice()).collect();
        lists.push(&self.settings.build_args);
        lists.into_iter().rev().flatten().collect()
    }

    /// The stage that ships.
    pub fn target(self) -> Option<&'a Set<String>> {
        self.for_paths().find_map(|one| one.target.as_ref()).or(self.settings.target.as_ref())
    }

    /// Platforms that it is built for.
    pub fn platforms(self) -> Option<&'a [Set<String>]> {
        let own = self.for_paths().find_map(|one| one.platforms.as_deref());
        own.or(self.settings.platforms.as_deref())
    }

    /// The pools that it runs on; none where the settings leave that to the fleet.
    pub fn pools(self) -> Option<&'a [PoolPattern]> {
        self.for_paths().map(|one| one.pools.as_slice()).find(|pools| !pools.is_empty())
    }
}
