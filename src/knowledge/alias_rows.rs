//! Aliases of values in fleet files, settings and options, and suggestions for unknown values.

use crate::knowledge::Knowledge;
use crate::knowledge::rows::ValueAliasRow;
use crate::text::nearest::nearest_word;

impl Knowledge {
    /// Returns the valid values that an unknown word may stand for, most likely first: by alias, otherwise by
    /// spelling.
    pub fn suggested_values<'a>(self, word: &str, values: &[&'a str]) -> Vec<&'a str> {
        let lower = word.trim().to_ascii_lowercase();
        let plain = lower.replace('_', "-");
        let alias = |row: &&ValueAliasRow| row.word == lower || row.word == plain;
        let targets = self.value_aliases().iter().find(alias).map_or(&[][..], |row| row.means);
        let value = |mean: &&str| values.iter().copied().find(|value| value == mean);
        let found: Vec<&str> = targets.iter().filter_map(value).collect();
        if found.is_empty() { nearest_word(word.trim(), values.iter().copied()).into_iter().collect() } else { found }
    }

    /// Returns the suggestion as a question: ``did you mean `docker-gpus` or `docker-cdi`?``; `None` if no value is
    /// similar.
    pub fn did_you_mean(self, word: &str, values: &[&str]) -> Option<String> {
        let meant: Vec<String> = self.suggested_values(word, values).iter().map(|value| format!("`{value}`")).collect();
        (!meant.is_empty()).then(|| format!("did you mean {}?", meant.join(" or ")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_suggests_values_of_its_field_only() {
        let launch = ["docker-gpus", "docker-cdi", "kubernetes", "enroot", "singularity", "podman-cdi", "native"];
        let severity = ["off", "note", "warning", "error"];
        for (word, values, expected) in [
            ("k8s", &launch[..], &["kubernetes"][..]),
            ("K8S", &launch, &["kubernetes"]),
            ("docker", &launch, &["docker-gpus", "docker-cdi"]),
            ("pyxis", &launch, &["enroot"]),
            ("apptainer", &launch, &["singularity"]),
            ("kubernetis", &launch, &["kubernetes"]),
            ("bare_metal", &launch, &["native"]),
            ("lambda", &launch, &[]),
            ("k8s", &severity, &[]),
            ("none", &severity, &["off"]),
            ("eror", &severity, &["error"]),
        ] {
            assert_eq!(Knowledge::built_in().suggested_values(word, values), expected, "{word}");
        }
    }

    #[test]
    fn an_alias_is_in_lower_case_and_written_once() {
        let rows = Knowledge::built_in().value_aliases();
        for (at, row) in rows.iter().enumerate() {
            assert_eq!(row.word, row.word.to_ascii_lowercase());
            assert!(!row.means.is_empty() && !row.means.contains(&row.word), "{}", row.word);
            assert!(rows.iter().take(at).all(|other| other.word != row.word), "{}", row.word);
        }
    }
}
