//! Shell patterns with `*`, `?` and escapes, as in `${x#p}`, `${x%p}` and `${x/p/r}`, matched in bounded time.

/// The maximum number of characters of a value that is matched.
const MAX_VALUE_LENGTH: usize = 2048;
/// The maximum number of tokens of a pattern.
const MAX_PATTERN_LENGTH: usize = 128;

/// A token of a shell pattern.
#[derive(Clone, Copy, PartialEq)]
enum ShellPatternToken {
    Star,
    One,
    Literal(char),
}

/// A compiled shell pattern.
pub(crate) struct ShellPattern(Vec<ShellPatternToken>);

impl ShellPattern {
    /// Compiles a pattern; `None` where it is too long.
    pub(crate) fn compile(text: &str) -> Option<Self> {
        let mut tokens = Vec::new();
        let mut chars = text.chars();
        while let Some(c) = chars.next() {
            tokens.push(match c {
                '*' => ShellPatternToken::Star,
                '?' => ShellPatternToken::One,
                '\\' => ShellPatternToken::Literal(chars.next().unwrap_or('\\')),
                other => ShellPatternToken::Literal(other),
            });
        }
        (tokens.len() <= MAX_PATTERN_LENGTH).then_some(Self(tokens))
    }

    /// Returns the pattern that matches reversed values.
    fn reversed(&self) -> Self {
        Self(self.0.iter().rev().copied().collect())
    }

    /// Returns the length of the shortest or longest match at the start of `value`.
    fn prefix_match_length(&self, value: &[char], longest: bool) -> Option<usize> {
        let mut states = vec![false; self.0.len() + 1];
        states[0] = true;
        self.skip_stars(&mut states);
        let mut found = None;
        for length in 0..=value.len() {
            if states[self.0.len()] {
                found = Some(length);
                if !longest {
                    break;
                }
            }
            let Some(c) = value.get(length) else { break };
            let mut next = vec![false; self.0.len() + 1];
            for (at, token) in self.0.iter().enumerate().filter(|(at, _)| states[*at]) {
                match token {
                    ShellPatternToken::Star => next[at] = true,
                    ShellPatternToken::One => next[at + 1] = true,
                    ShellPatternToken::Literal(own) if own == c => next[at + 1] = true,
                    ShellPatternToken::Literal(_) => {}
                }
            }
            self.skip_stars(&mut next);
            if !next.contains(&true) {
                break;
            }
            states = next;
        }
        found
    }

    /// Activates every state that is reachable because a `*` matches nothing.
    fn skip_stars(&self, states: &mut [bool]) {
        for (at, token) in self.0.iter().enumerate() {
            if states[at] && *token == ShellPatternToken::Star {
                states[at + 1] = true;
            }
        }
    }

    /// Whether the pattern matches a whole value; `None` where the value is too long.
    pub(crate) fn matches(&self, value: &str) -> Option<bool> {
        let chars: Vec<char> = value.chars().collect();
        (chars.len() <= MAX_VALUE_LENGTH).then(|| self.prefix_match_length(&chars, true) == Some(chars.len()))
    }

    /// Returns the value without a match at its start or end; `None` where it is too long.
    pub(super) fn remove_match(&self, value: &str, suffix: bool, longest: bool) -> Option<String> {
        let mut chars: Vec<char> = value.chars().collect();
        if chars.len() > MAX_VALUE_LENGTH {
            return None;
        }
        if suffix {
            chars.reverse();
            let cut = self.reversed().prefix_match_length(&chars, longest).unwrap_or(0);
            return Some(chars.iter().skip(cut).rev().collect());
        }
        let cut = self.prefix_match_length(&chars, longest).unwrap_or(0);
        Some(chars.iter().skip(cut).collect())
    }

    /// Returns the value with the first or every longest match replaced; `None` where it is too long.
    pub(super) fn replace(&self, value: &str, with: &str, all: bool) -> Option<String> {
        let chars: Vec<char> = value.chars().collect();
        if chars.len() > MAX_VALUE_LENGTH {
            return None;
        }
        let mut out = String::new();
        let mut at = 0;
        let mut done = false;
        while at < chars.len() {
            if let Some(length) = self.prefix_match_length(&chars[at..], true).filter(|length| *length > 0 && !done) {
                out.push_str(with);
                at += length;
                done = !all;
            } else {
                out.push(chars[at]);
                at += 1;
            }
        }
        Some(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_cut_and_replace() {
        let trim = |value: &str, pattern: &str, suffix, longest| {
            ShellPattern::compile(pattern)
                .and_then(|pattern| pattern.remove_match(value, suffix, longest))
                .expect("short")
        };
        assert_eq!(trim("v12.4", "v", false, false), "12.4");
        assert_eq!(trim("a/b/c", "*/", false, false), "b/c");
        assert_eq!(trim("a/b/c", "*/", false, true), "c");
        assert_eq!(trim("12.4.1", ".*", true, false), "12.4");
        assert_eq!(trim("12.4.1", ".*", true, true), "12");
        let whole =
            |pattern: &str, value: &str| ShellPattern::compile(pattern).and_then(|pattern| pattern.matches(value));
        assert_eq!(whole("linux/*", "linux/arm64"), Some(true));
        assert_eq!(whole("linux", "linux/arm64"), Some(false));
        assert_eq!(whole("*", ""), Some(true));
        assert_eq!(whole("*", &"x".repeat(5000)), None);
        let replace = |pattern: &str, all| {
            ShellPattern::compile(pattern).and_then(|p| p.replace("12.4.1", "-", all)).expect("short")
        };
        assert_eq!(replace(".", false), "12-4.1");
        assert_eq!(replace(".", true), "12-4-1");
        assert_eq!(replace(".*", true), "12-");
    }
}
