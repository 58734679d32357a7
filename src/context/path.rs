//! Paths with slashes: their normal form, and patterns over them.

/// A path below a root: without `.`, empty parts and a leading slash; `..` never leads above the root.
pub fn normal(path: &str) -> String {
    let mut whole = String::with_capacity(path.len());
    append(&mut whole, 0, path);
    whole
}

/// A path as seen from a folder, in normal form behind the slash of the root.
pub fn rooted(folder: &str, path: &str) -> String {
    let mut whole = String::with_capacity(folder.len() + path.len() + 2);
    whole.push('/');
    if !path.starts_with('/') {
        append(&mut whole, 1, folder);
    }
    append(&mut whole, 1, path);
    whole
}

/// Goes along a path from where another leads, never above the first `root` bytes of that.
fn append(whole: &mut String, root: usize, path: &str) {
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

/// Whether a path fits a pattern with `*`, `?` and `[…]` inside of a part, and `**` for any number of parts.
pub fn matches(pattern: &str, path: &str) -> bool {
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
                next[at + 1] = reached[at] && part_matches(part, name);
            }
        }
        reached = next;
    }
    reached.last().copied().unwrap_or(false)
}

/// One element of a pattern's part.
enum Glob {
    Star,
    Any,
    One(char),
    Set { not: bool, ranges: Vec<(char, char)> },
}

fn globs(part: &str) -> Vec<Glob> {
    let mut out = Vec::new();
    let mut chars = part.chars().peekable();
    while let Some(c) = chars.next() {
        out.push(match c {
            '*' => Glob::Star,
            '?' => Glob::Any,
            '\\' => Glob::One(chars.next().unwrap_or('\\')),
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
                Glob::Set { not, ranges }
            }
            c => Glob::One(c),
        });
    }
    out
}

fn part_matches(part: &str, name: &str) -> bool {
    let globs = globs(part);
    let name: Vec<char> = name.chars().collect();
    let mut reached = vec![false; name.len() + 1];
    reached[0] = true;
    for glob in &globs {
        let mut next = vec![false; name.len() + 1];
        if matches!(glob, Glob::Star) {
            let mut open = false;
            for (at, here) in reached.iter().enumerate() {
                open |= *here;
                next[at] = open;
            }
        } else {
            for (at, c) in name.iter().enumerate() {
                let fits = match glob {
                    Glob::Star | Glob::Any => true,
                    Glob::One(own) => own == c,
                    Glob::Set { not, ranges } => ranges.iter().any(|(low, high)| low <= c && c <= high) != *not,
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
    fn paths_are_seen_from_their_folder_and_never_lead_above_the_root() {
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
            assert_eq!(rooted(folder, path), expected, "{folder} {path}");
            let whole = if path.starts_with('/') { path.to_owned() } else { format!("{folder}/{path}") };
            assert_eq!(expected.strip_prefix('/'), Some(normal(&whole).as_str()), "{folder} {path}");
        }
    }

    #[test]
    fn no_path_leads_above_the_root() {
        for (path, expected) in
            [("./a//b/", "a/b"), ("../../etc/passwd", "etc/passwd"), ("/a/../b", "b"), ("a/..", ""), ("", "")]
        {
            assert_eq!(normal(path), expected, "{path}");
        }
    }

    #[test]
    fn patterns_fit_parts_and_never_cross_a_slash() {
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
            assert_eq!(matches(pattern, path), expected, "{pattern} {path}");
        }
    }
}
