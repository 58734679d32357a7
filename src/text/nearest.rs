//! Finds the known word nearest to a misspelt one, and the file nearest to a path that does not exist.

use std::path::Path;
use std::{fs, io};

/// Maximum number of directory entries that are searched for a similar name.
const MAX_SEARCHED_NAMES: usize = 4096;

/// Returns why a path cannot be read and what to do: the nearest file name, or what to pass instead.
pub fn unreadable_path_message(path: &Path, error: &io::Error, expected: &str) -> String {
    if path.is_symlink() && !path.exists() {
        return format!("a symbolic link that leads nowhere; pass {expected}");
    }
    match error.kind() {
        io::ErrorKind::NotFound => match nearest_file(path) {
            Some(suggestion) => format!("not found; did you mean `{suggestion}`?"),
            None => format!("not found; pass {expected}"),
        },
        io::ErrorKind::IsADirectory => format!("this is a directory; pass {expected}"),
        _ => error.to_string(),
    }
}

/// Returns the file name in the directory of a path that is most similar to that of the path.
pub fn nearest_file(path: &Path) -> Option<String> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let names: Vec<String> = fs::read_dir(folder)
        .map(|all| {
            let names = all
                .filter_map(Result::ok)
                .take(MAX_SEARCHED_NAMES)
                .filter_map(|one| one.file_name().into_string().ok());
            names.collect()
        })
        .unwrap_or_default();
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let others = names.iter().map(String::as_str).filter(|other| *other != name);
    nearest_word(&name, others).map(str::to_owned)
}

/// Returns the candidate that is most likely meant by `word`; `None` if none is similar.
///
/// Letter case and the difference between `_` and `-` do not count.
pub fn nearest_word<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    nearest_words(word, candidates, 1).first().copied()
}

/// Returns up to `most` candidates that may be meant by `word`, the nearest first; only similar ones.
///
/// Letter case and the difference between `_` and `-` do not count.
pub fn nearest_words<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>, most: usize) -> Vec<&'a str> {
    let plain = |text: &str| text.to_lowercase().chars().map(|c| if c == '_' { '-' } else { c }).collect::<Vec<char>>();
    let word = plain(word);
    let letters = letter_set(word.iter().copied());
    let near = candidates.into_iter();
    let mut near: Vec<(usize, &str)> = near
        .filter_map(|candidate| {
            let length = candidate.chars().count();
            let most = (word.len().max(length) / 3).max(1);
            // Most words resemble no candidate, which their characters already show.
            if candidate.is_ascii() {
                let plain = candidate.bytes().map(|byte| if byte == b'_' { b'-' } else { byte.to_ascii_lowercase() });
                if word.len().abs_diff(length) > most
                    || min_edit_distance(letters, letter_set(plain.map(char::from))) > most
                {
                    return None;
                }
            }
            let other = plain(candidate);
            Some((char_edit_distance(&word, &other), candidate)).filter(|(edits, _)| *edits <= most)
        })
        .collect();
    near.sort_by_key(|(edits, _)| *edits);
    near.into_iter().take(most).map(|(_, candidate)| candidate).collect()
}

/// Returns the set of letters in a word as a bit mask; some letters share a bit.
fn letter_set(word: impl Iterator<Item = char>) -> u64 {
    word.fold(0, |letters, c| letters | 1 << (u32::from(c) % u64::BITS))
}

/// Returns a lower bound of the edit distance of two words from their letter sets.
fn min_edit_distance(one: u64, other: u64) -> usize {
    (one & !other).count_ones().max((other & !one).count_ones()) as usize
}

/// Returns the number of edits between two words: insert, delete, replace, swap of neighbours.
pub fn edit_distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    char_edit_distance(&a, &b)
}

/// Returns the edit distance of two words as characters.
fn char_edit_distance(a: &[char], b: &[char]) -> usize {
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
    fn finds_only_similar_words() {
        let words = ["kubernetes", "docker-gpus", "docker-cdi", "gke"];
        for (word, expected) in [
            ("kubernets", Some("kubernetes")),
            ("docker_gpus", Some("docker-gpus")),
            ("Docker-CDI", Some("docker-cdi")),
            ("gek", Some("gke")),
            ("slurm", None),
            ("", None),
        ] {
            assert_eq!(nearest_word(word, words), expected, "{word}");
        }
        let types = ["g5.xlarge", "p5.48xlarge", "g6.xlarge", "g4dn.xlarge"];
        assert_eq!(nearest_words("g5.xlarg", types, 2), ["g5.xlarge", "g6.xlarge"]);
        assert_eq!(nearest_words("g5.xlarg", types, 0), Vec::<&str>::new());
        assert_eq!(nearest_words("zzz", types, 3), Vec::<&str>::new());
    }

    #[test]
    fn a_path_that_leads_nowhere_is_answered_with_the_nearest_name_or_what_to_pass() {
        let place = tempfile::tempdir().expect("a folder");
        fs::write(place.path().join("fleet.toml"), "").expect("a file");
        let why = |name: &str| {
            let path = place.path().join(name);
            let error = fs::read(&path).expect_err("no file");
            unreadable_path_message(&path, &error, "a fleet file")
        };
        assert_eq!(why("fleet.tml"), "not found; did you mean `fleet.toml`?");
        assert_eq!(why("other"), "not found; pass a fleet file");
        assert_eq!(why("no/other"), "not found; pass a fleet file");
        assert_eq!(why(""), "this is a directory; pass a fleet file");
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink("loop", place.path().join("loop")).expect("a link");
            assert_eq!(why("loop"), "a symbolic link that leads nowhere; pass a fleet file");
        }
    }

    #[test]
    fn letter_and_length_bounds_never_exceed_the_edit_distance() {
        let words =
            ["", "a", "ab", "ba", "run", "urn", "runs", "RUN", "ru_n", "from", "form", "farm", "ñandú", "entrypoint"];
        for a in words {
            for b in words {
                let of = |word: &str| letter_set(word.chars());
                let edits = edit_distance(a, b);
                assert!(
                    min_edit_distance(of(a), of(b)) <= edits && a.chars().count().abs_diff(b.chars().count()) <= edits,
                    "{a} {b}"
                );
                let near = edits <= (a.chars().count().max(b.chars().count()) / 3).max(1);
                let plain = |word: &str| word.to_lowercase().replace('_', "-") == word;
                assert!(!plain(a) || !plain(b) || nearest_word(a, [b]).is_some() == near, "{a} {b}");
            }
        }
    }
}
