//! `.dockerignore`: which files a build does not see.

use crate::context::path::matches;
use crate::context::path::normal;

/// The rules in their order; the last one that fits a path decides.
#[derive(Clone, Debug, Default)]
pub(super) struct Ignored(Vec<(String, bool)>);

impl Ignored {
    pub(super) fn read(text: &str) -> Self {
        let line = |line: &str| {
            let line = line.trim().trim_start_matches('\u{feff}');
            if line.is_empty() || line.starts_with('#') {
                return None;
            }
            let (pattern, out) = line.strip_prefix('!').map_or((line, true), |rest| (rest.trim(), false));
            let pattern = normal(pattern);
            (!pattern.is_empty()).then_some((pattern, out))
        };
        Self(text.lines().filter_map(line).take(4096).collect())
    }

    /// Whether a path, or a folder above it, is kept out.
    pub(super) fn holds(&self, path: &str) -> bool {
        let above: Vec<&str> =
            path.match_indices('/').filter_map(|(at, _)| path.get(..at)).chain(std::iter::once(path)).collect();
        let fits = |pattern: &str| above.iter().any(|path| matches(pattern, path));
        self.0.iter().rfind(|(pattern, _)| fits(pattern)).is_some_and(|(_, out)| *out)
    }
}

#[cfg(test)]
mod tests {
    use super::Ignored;

    #[test]
    fn the_last_rule_that_fits_decides() {
        let rules = Ignored::read("# all\n*\n!/requirements*.txt\nrequirements-dev.txt\n\n!src\nsrc/secret\n");
        for (path, out) in [
            ("a.txt", true),
            ("requirements.txt", false),
            ("requirements-dev.txt", true),
            ("src/x/requirements.txt", false),
            ("src/secret/y", true),
        ] {
            assert_eq!(rules.holds(path), out, "{path}");
        }
        assert!(!Ignored::read("").holds("a"));
    }
}
