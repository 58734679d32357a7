//! The nearest right word for a misspelt one.

/// The candidate that `word` most likely meant; none where nothing is near.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let allowed = |candidate: &str| (word.len().max(candidate.len()) / 3).clamp(1, 4);
    candidates
        .into_iter()
        .map(|candidate| (distance(word, candidate), candidate))
        .filter(|(distance, candidate)| *distance <= allowed(candidate))
        .min()
        .map(|(_, candidate)| candidate)
}

/// A help line that offers the nearest word.
pub(super) fn did_you_mean<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<String> {
    nearest(word, candidates).map(|candidate| format!("did you mean `{candidate}`?"))
}

/// Edits (insert, drop, replace a character) from one word to the other; words are cut at 64 characters.
fn distance(left: &str, right: &str) -> usize {
    let right: Vec<char> = right.chars().take(64).collect();
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (at, from) in left.chars().take(64).enumerate() {
        let mut diagonal = at;
        row[0] = at + 1;
        for (index, to) in right.iter().enumerate() {
            let replaced = diagonal + usize::from(from != *to);
            diagonal = row[index + 1];
            row[index + 1] = replaced.min(diagonal + 1).min(row[index] + 1);
        }
    }
    row[right.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_word_that_was_meant() {
        let words = ["severity", "since", "message", "when"];
        for (typed, meant) in [
            ("severty", Some("severity")),
            ("mesage", Some("message")),
            ("wehn", None),
            ("whem", Some("when")),
            ("", None),
            ("colour", None),
        ] {
            assert_eq!(nearest(typed, words), meant, "{typed}");
        }
    }
}
