//! Packages that are left out of the command that installs them, so that the command still runs.

use crate::cure::write::word::dropped;
use crate::source::Span;

/// What separates the commands of a line.
const SEPARATORS: [char; 6] = [';', '&', '|', '(', ')', '\n'];
/// Programs that install nothing without an error when no package is named.
const IDLE: [&str; 2] = ["apt", "apt-get"];

/// What to cut so that a package is gone; none when its word is the program itself, an argument of another program, or the
/// only package of a command that needs one.
pub(super) fn cut(text: &str, escape: char, instruction: Span, word: Span, name: &str) -> Option<Span> {
    let is_package = text.get(word.start..word.end)?.starts_with(name);
    let apart = |c: Option<char>| c.is_none_or(|c| c.is_whitespace() || SEPARATORS.contains(&c));
    let whole = apart(text.get(..word.start)?.chars().next_back()) && apart(text.get(word.end..)?.chars().next());
    let before = one_line(text.get(instruction.start..word.start)?, escape);
    let behind = one_line(text.get(word.end..instruction.end)?, escape);
    let before = before.rsplit(SEPARATORS).next().unwrap_or_default();
    let mut words = before.split_whitespace();
    let verb = words.by_ref().any(|word| word == "install");
    let others = words.chain(behind.split(SEPARATORS).next().unwrap_or_default().split_whitespace());
    let left = others.into_iter().any(|word| !word.starts_with('-'));
    let idle = before.split_whitespace().any(|word| IDLE.contains(&word.rsplit('/').next().unwrap_or(word)));
    (is_package && whole && verb && (left || idle)).then(|| dropped(text, word))
}

/// A command that goes on over lines, as one line without comments.
fn one_line(text: &str, escape: char) -> String {
    let lines = text.lines().enumerate().filter(|(at, line)| *at == 0 || !line.trim_start().starts_with('#'));
    let ends = text.ends_with('\n');
    let mut joined = lines.fold(String::new(), |mut joined, (_, line)| {
        match line.trim_end().strip_suffix(escape) {
            Some(line) => joined.extend([line, " "]),
            None => joined.extend([line, "\n"]),
        }
        joined
    });
    if !ends && joined.ends_with('\n') {
        joined.pop();
    }
    joined
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_package_goes_only_when_its_command_still_runs() {
        for (text, expected) in [
            ("RUN apt-get install -y a bad c", Some("RUN apt-get install -y a c")),
            (
                "RUN apt-get update && apt-get install -y bad && ls",
                Some("RUN apt-get update && apt-get install -y && ls"),
            ),
            ("RUN apt-get install -y \\\n  a \\\n  # why\n  bad", Some("RUN apt-get install -y \\\n  a \\\n  # why\n")),
            ("RUN (apt-get install a bad)", Some("RUN (apt-get install a)")),
            ("RUN yum install -y a bad", Some("RUN yum install -y a")),
            ("RUN yum install -y bad && yum install -y a", None),
            ("RUN dnf install -y bad", None),
            ("RUN ./bad -s -N", None),
            ("RUN bad -s -N", None),
            ("RUN sh bad -s -N", None),
            ("RUN apt-get install -y a && sh ./bad -s", None),
            ("RUN dpkg -i bad", None),
            ("RUN [\"apt-get\", \"install\", \"bad\", \"a\"]", None),
            ("RUN bash -c 'apt-get install a bad'", None),
            ("RUN apt-get install a 'bad' b", None),
            ("RUN apt-get install a bad=1.2", None),
        ] {
            let at = text.find("bad").expect("there");
            let found = cut(text, '\\', Span::new(0, text.len()), Span::new(at, at + 3), "bad");
            let new = found.map(|span| format!("{}{}", &text[..span.start], &text[span.end..]));
            assert_eq!(new.as_deref(), expected, "{text}");
        }
        let text = "RUN apt-get install $ALL x";
        assert_eq!(cut(text, '\\', Span::new(0, text.len()), Span::new(20, 24), "bad"), None);
    }
}
