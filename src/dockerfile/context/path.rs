//! Slash-separated paths: normalization, and matching against patterns.

/// Normalizes a path below a root: removes `.`, empty components and a leading slash; `..` never leads above the
/// root.
pub fn normalize_path(path: &str) -> String {
    let mut whole = String::with_capacity(path.len());
    append_path(&mut whole, 0, path);
    whole
}

/// Resolves a path against a directory; the result is normalized and begins with a slash.
pub fn resolve_path(folder: &str, path: &str) -> String {
    let mut whole = String::with_capacity(folder.len() + path.len() + 2);
    whole.push('/');
    if !path.starts_with('/') {
        append_path(&mut whole, 1, folder);
    }
    append_path(&mut whole, 1, path);
    whole
}

/// Appends the components of a path; `..` never removes the first `root` bytes.
fn append_path(whole: &mut String, root: usize, path: &str) {
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => whole.truncate(whole.rfind('/').unwrap_or(0).max(root)),
            part => {
                if whole.len() > root {
                    whole.push('/');
                }
                whole.push_str(part);
            }
        }
    }
}

/// Whether a path matches a pattern with `*`, `?` and `[…]` within a component, and `**` for any number of
/// components.
pub fn path_matches(pattern: &str, path: &str) -> bool {
    let pattern: Vec<&str> = pattern.split('/').collect();
    let path: Vec<&str> = path.split('/').collect();
    // Which beginnings of the path the pattern has eaten so far.
    let mut reached = vec![false; path.len() + 1];
    reached[0] = true;
    for part in pattern {
        let mut next = vec![false; path.len() + 1];
        if part == "**" {
            let mut open = false;
            for (at, here) in reached.iter().enumerate() {
                open |= *here;
                next[at] = open;
            }
        } else {
            for (at, name) in path.iter().enumerate() {
                next[at + 1] = reached[at] && component_matches(part, name);
            }
        }
        reached = next;
    }
    reached.last().copied().unwrap_or(false)
}

/// One element of a pattern component.
enum GlobElement {
    Star,
    Any,
    One(char),
    Set { not: bool, ranges: Vec<(char, char)> },
}

/// Parses a pattern component into its elements.
fn parse_component(part: &str) -> Vec<GlobElement> {
    let mut out = Vec::new();
    let mut chars = part.chars().peekable();
    while let Some(c) = chars.next() {
        out.push(match c {
            '*' => GlobElement::Star,
            '?' => GlobElement::Any,
            '\\' => GlobElement::One(chars.next().unwrap_or('\\')),
            '[' => {
                let not = chars.next_if(|c| matches!(c, '^' | '!')).is_some();
                let mut ranges = Vec::new();
                while let Some(low) = chars.next().filter(|c| *c != ']') {
                    let high = match chars.next_if_eq(&'-') {
                        Some(_) => chars.next().unwrap_or(low),
                        None => low,
                    };
                    ranges.push((low, high));
                }
                GlobElement::Set { not, ranges }
            }
            c => GlobElement::One(c),
        });
    }
    out
}

/// Whether a name matches a pattern component.
fn component_matches(part: &str, name: &str) -> bool {
    let globs = parse_component(part);
    let name: Vec<char> = name.chars().collect();
    let mut reached = vec![false; name.len() + 1];
    reached[0] = true;
    for glob in &globs {
        let mut next = vec![false; name.len() + 1];
        if matches!(glob, GlobElement::Star) {
            let mut open = false;
            for (at, here) in reached.iter().enumerate() {
                open |= *here;
                next[at] = open;
            }
        } else {
            for (at, c) in name.iter().enumerate() {
                let fits = match glob {
                    GlobElement::Star | GlobElement::Any => true,
                    GlobElement::One(own) => own == c,
                    GlobElement::Set { not, ranges } => ranges.iter().any(|(low, high)| low <= c && c <= high) != *not,
                };
                next[at + 1] = reached[at] && fits;
            }
        }
        reached = next;
    }
    reached.last().copied().unwrap_or(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_resolved_against_a_folder_and_stay_below_the_root() {
        for (folder, path, expected) in [
            ("/app", "a.txt", "/app/a.txt"),
            ("/app/", "./b//c/", "/app/b/c"),
            ("app", "../a", "/a"),
            ("/app", "../../../a", "/a"),
            ("/app", "b/../../c", "/c"),
            ("/app", "/etc/./x", "/etc/x"),
            ("/app", "/../x", "/x"),
            ("/", "", "/"),
            ("", "..", "/"),
            ("/?", "x", "/?/x"),
            ("/ñ", "../é", "/é"),
        ] {
            assert_eq!(resolve_path(folder, path), expected, "{folder} {path}");
            let whole = if path.starts_with('/') { path.to_owned() } else { format!("{folder}/{path}") };
            assert_eq!(expected.strip_prefix('/'), Some(normalize_path(&whole).as_str()), "{folder} {path}");
        }
    }

    #[test]
    fn normalized_paths_stay_below_the_root() {
        for (path, expected) in
            [("./a//b/", "a/b"), ("../../etc/passwd", "etc/passwd"), ("/a/../b", "b"), ("a/..", ""), ("", "")]
        {
            assert_eq!(normalize_path(path), expected, "{path}");
        }
    }

    #[test]
    fn wildcards_match_within_one_component() {
        for (pattern, path, expected) in [
            ("requirements*.txt", "requirements-gpu.txt", true),
            ("*.txt", "a/b.txt", false),
            ("**/*.txt", "a/b.txt", true),
            ("**/*.txt", "b.txt", true),
            ("a/**", "a/b/c", true),
            ("a/?.[a-c]", "a/x.b", true),
            ("a/?.[^a-c]", "a/x.b", false),
            ("a", "ab", false),
            ("\\*", "*", true),
            ("[", "x", false),
            ("***************************x", "yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy", false),
        ] {
            assert_eq!(path_matches(pattern, path), expected, "{pattern} {path}");
        }
    }
}
