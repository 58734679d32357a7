//! `.dockerignore`: which files of the build context are excluded.

use crate::dockerfile::context::path::{normalize_path, path_matches};

/// The rules of a `.dockerignore` file in order; the last one that matches a path decides.
#[derive(Clone, Debug, Default)]
pub(super) struct DockerignoreRules(Vec<(String, bool)>);

impl DockerignoreRules {
    /// Parses a `.dockerignore` file.
    pub(super) fn parse(text: &str) -> Self {
        let line = |line: &str| {
            let line = line.trim().trim_start_matches('\u{feff}');
            if line.is_empty() || line.starts_with('#') {
                return None;
            }
            let (pattern, out) = line.strip_prefix('!').map_or((line, true), |rest| (rest.trim(), false));
            let pattern = normalize_path(pattern);
            (!pattern.is_empty()).then_some((pattern, out))
        };
        Self(text.lines().filter_map(line).take(4096).collect())
    }

    /// Whether a path, or a parent directory of it, is excluded.
    pub(super) fn excludes(&self, path: &str) -> bool {
        let above: Vec<&str> =
            path.match_indices('/').filter_map(|(at, _)| path.get(..at)).chain(std::iter::once(path)).collect();
        let fits = |pattern: &str| above.iter().any(|path| path_matches(pattern, path));
        self.0.iter().rfind(|(pattern, _)| fits(pattern)).is_some_and(|(_, out)| *out)
    }
}

#[cfg(test)]
mod tests {
    use super::DockerignoreRules;

    #[test]
    fn the_last_matching_rule_decides() {
        let rules =
            DockerignoreRules::parse("# all\n*\n!/requirements*.txt\nrequirements-dev.txt\n\n!src\nsrc/secret\n");
        for (path, out) in [
            ("a.txt", true),
            ("requirements.txt", false),
            ("requirements-dev.txt", true),
            ("src/x/requirements.txt", false),
            ("src/secret/y", true),
        ] {
            assert_eq!(rules.excludes(path), out, "{path}");
        }
        assert!(!DockerignoreRules::parse("").excludes("a"));
    }
}
