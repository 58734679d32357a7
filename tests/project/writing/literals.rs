//! The messages in Rust source: string literals of at least two words that are no comments, tests or attributes.

/// What a literal may begin with that is written into a file or compared, and never read as a sentence.
const CODE: &[&str] = &["RUN ", "FROM ", "COPY ", "ENV ", "CMD ", "pip ", "apt-get ", "#", "SELECT ", "<", "```", "."];

/// What stands before a text that is no message: calls whose texts only developers see, and citations of sources.
const OTHERS: &[&str] = &["expect(", "assert!(", "assert_eq!(", "unreachable!(", "reason = ", "Citation("];

/// Lines and texts of at least two words in a source file, as people read them: messages and parts of messages.
pub(crate) fn texts(source: &str) -> Vec<(usize, String)> {
    let source = source.split("#[cfg(test)]\nmod tests {").next().unwrap_or(source);
    let signs: Vec<char> = source.chars().collect();
    let (mut found, mut at, mut line) = (Vec::new(), 0, 1);
    while at < signs.len() {
        let rest = &signs[at..];
        if starts(rest, "//") {
            at += rest.iter().position(|&sign| sign == '\n').unwrap_or(rest.len());
            continue;
        }
        // A quote as a character is no text.
        if starts(rest, "'\"'") || starts(rest, "b'\"'") {
            at += 3;
            continue;
        }
        let hashes = rest.iter().skip(1).take_while(|&&sign| sign == '#').count();
        let raw = rest[0] == 'r' && rest.get(1 + hashes) == Some(&'"') && !(at > 0 && signs[at - 1].is_alphanumeric());
        if raw || rest[0] == '"' {
            let begin = if raw { at + 2 + hashes } else { at + 1 };
            let (text, end) = literal(&signs, begin, raw.then_some(hashes));
            if !is_other(&signs[..at]) {
                let parts = text.lines().map(str::trim).filter(|part| part.split_whitespace().count() > 1);
                found.extend(parts.map(|part| (line, part.to_owned())));
            }
            line += signs[at..end].iter().filter(|&&sign| sign == '\n').count();
            at = end;
            continue;
        }
        line += usize::from(rest[0] == '\n');
        at += 1;
    }
    found
}

fn starts(signs: &[char], text: &str) -> bool {
    text.chars().enumerate().all(|(at, sign)| signs.get(at) == Some(&sign))
}

/// The text of a literal and where it ends.
fn literal(signs: &[char], begin: usize, raw: Option<usize>) -> (String, usize) {
    let (mut text, mut at) = (String::new(), begin);
    while at < signs.len() {
        match (signs[at], raw) {
            ('"', Some(hashes)) if signs[at + 1..].iter().take(hashes).all(|&sign| sign == '#') => {
                return (text, at + 1 + hashes);
            }
            ('"', None) => return (text, at + 1),
            ('\\', None) => {
                match signs.get(at + 1) {
                    // The line goes on where the next word begins.
                    Some('\n') => {
                        while signs.get(at + 1).is_some_and(|sign| sign.is_whitespace()) {
                            at += 1;
                        }
                    }
                    Some('n') => {
                        text.push('\n');
                        at += 1;
                    }
                    Some(sign) => {
                        text.push(*sign);
                        at += 1;
                    }
                    None => {}
                }
            }
            (sign, _) => text.push(sign),
        }
        at += 1;
    }
    (text, at)
}

/// Three words in lower case, as sentences have them and keys, paths and commands do not.
pub(crate) fn is_message(text: &str) -> bool {
    let plain = |word: &&str| {
        let word = word.trim_matches(|sign: char| ",.;:!?()".contains(sign));
        word.len() > 1 && word.chars().all(|sign| sign.is_ascii_lowercase() || sign == '\'')
    };
    !CODE.iter().any(|begin| text.starts_with(begin)) && text.split_whitespace().filter(plain).count() >= 3
}

fn is_other(before: &[char]) -> bool {
    let line: String = before.iter().rev().take(40).collect::<Vec<_>>().into_iter().rev().collect();
    OTHERS.iter().any(|call| line.trim_end().ends_with(call.trim_end()))
}
