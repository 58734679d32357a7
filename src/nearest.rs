//! The known word nearest to a misspelt one.

/// The candidate that a person most likely meant by `word`; none where all are far off.
///
/// Letter case and the difference between `_` and `-` do not count.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let plain = |text: &str| text.to_lowercase().replace('_', "-");
    let word = plain(word);
    candidates
        .into_iter()
        .map(|candidate| (distance(&word, &plain(candidate)), candidate))
        .filter(|(distance, candidate)| *distance <= (word.chars().count().max(candidate.chars().count()) / 3).max(1))
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// Edits between two words: insert, delete, replace, swap of neighbours.
pub fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut before_last = vec![0; b.len() + 1];
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut row = vec![i + 1; b.len() + 1];
        for (j, y) in b.iter().enumerate() {
            let swapped = i > 0 && j > 0 && *x == b[j - 1] && a[i - 1] == *y;
            let swap = if swapped { before_last[j - 1] + 1 } else { usize::MAX };
            row[j + 1] = (last[j] + usize::from(x != y)).min(last[j + 1] + 1).min(row[j] + 1).min(swap);
        }
        before_last = std::mem::replace(&mut last, row);
    }
    last[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_what_was_meant_and_nothing_far_off() {
        let words = ["kubernetes", "docker-gpus", "docker-cdi", "gke"];
        for (word, expected) in [
            ("kubernets", Some("kubernetes")),
            ("docker_gpus", Some("docker-gpus")),
            ("Docker-CDI", Some("docker-cdi")),
            ("gek", Some("gke")),
            ("slurm", None),
            ("", None),
        ] {
            assert_eq!(nearest(word, words), expected, "{word}");
        }
    }
}
