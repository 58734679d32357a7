//! The patterns of `${x#p}`, `${x%p}` and `${x/p/r}`: `*`, `?` and escapes, in bounded time.

const LONGEST_VALUE: usize = 2048;
const LONGEST_PATTERN: usize = 128;

#[derive(Clone, Copy, PartialEq)]
enum Token {
    Star,
    One,
    Literal(char),
}

/// A compiled pattern.
pub(crate) struct Pattern(Vec<Token>);

impl Pattern {
    /// Compiles a pattern; `None` where it is too long.
    pub(crate) fn new(text: &str) -> Option<Self> {
        let mut tokens = Vec::new();
        let mut chars = text.chars();
        while let Some(c) = chars.next() {
            tokens.push(match c {
                '*' => Token::Star,
                '?' => Token::One,
                '\\' => Token::Literal(chars.next().unwrap_or('\\')),
                other => Token::Literal(other),
            });
        }
        (tokens.len() <= LONGEST_PATTERN).then_some(Self(tokens))
    }

    fn reversed(&self) -> Self {
        Self(self.0.iter().rev().copied().collect())
    }

    /// The length of the shortest or longest match at the start of `value`.
    fn at_start(&self, value: &[char], longest: bool) -> Option<usize> {
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
                    Token::Star => next[at] = true,
                    Token::One => next[at + 1] = true,
                    Token::Literal(own) if own == c => next[at + 1] = true,
                    Token::Literal(_) => {}
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

    fn skip_stars(&self, states: &mut [bool]) {
        for (at, token) in self.0.iter().enumerate() {
            if states[at] && *token == Token::Star {
                states[at + 1] = true;
            }
        }
    }

    /// Whether all of a value matches; `None` where it is too long.
    pub(crate) fn matches(&self, value: &str) -> Option<bool> {
        let chars: Vec<char> = value.chars().collect();
        (chars.len() <= LONGEST_VALUE).then(|| self.at_start(&chars, true) == Some(chars.len()))
    }

    /// The value without a match at its start or end; `None` where it is too long.
    pub(super) fn trim(&self, value: &str, suffix: bool, longest: bool) -> Option<String> {
        let mut chars: Vec<char> = value.chars().collect();
        if chars.len() > LONGEST_VALUE {
            return None;
        }
        if suffix {
            chars.reverse();
            let cut = self.reversed().at_start(&chars, longest).unwrap_or(0);
            return Some(chars.iter().skip(cut).rev().collect());
        }
        let cut = self.at_start(&chars, longest).unwrap_or(0);
        Some(chars.iter().skip(cut).collect())
    }

    /// The value with the first or every longest match replaced; `None` where it is too long.
    pub(super) fn replace(&self, value: &str, with: &str, all: bool) -> Option<String> {
        let chars: Vec<char> = value.chars().collect();
        if chars.len() > LONGEST_VALUE {
            return None;
        }
        let mut out = String::new();
        let mut at = 0;
        let mut done = false;
        while at < chars.len() {
            if let Some(length) = self.at_start(&chars[at..], true).filter(|length| *length > 0 && !done) {
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
            Pattern::new(pattern).and_then(|pattern| pattern.trim(value, suffix, longest)).expect("short")
        };
        assert_eq!(trim("v12.4", "v", false, false), "12.4");
        assert_eq!(trim("a/b/c", "*/", false, false), "b/c");
        assert_eq!(trim("a/b/c", "*/", false, true), "c");
        assert_eq!(trim("12.4.1", ".*", true, false), "12.4");
        assert_eq!(trim("12.4.1", ".*", true, true), "12");
        let whole = |pattern: &str, value: &str| Pattern::new(pattern).and_then(|pattern| pattern.matches(value));
        assert_eq!(whole("linux/*", "linux/arm64"), Some(true));
        assert_eq!(whole("linux", "linux/arm64"), Some(false));
        assert_eq!(whole("*", ""), Some(true));
        assert_eq!(whole("*", &"x".repeat(5000)), None);
        let replace =
            |pattern: &str, all| Pattern::new(pattern).and_then(|p| p.replace("12.4.1", "-", all)).expect("short");
        assert_eq!(replace(".", false), "12-4.1");
        assert_eq!(replace(".", true), "12-4-1");
        assert_eq!(replace(".*", true), "12-");
    }
}
