//! Edits that remove a system package from its install command, so that the command still runs.

use crate::fix::write::value_edits::word_removal_span;
use crate::text::source::Span;

/// Characters that separate commands.
const COMMAND_SEPARATORS: [char; 6] = [';', '&', '|', '(', ')', '\n'];
/// Programs that accept an install command without packages.
const EMPTY_INSTALL_PROGRAMS: [&str; 2] = ["apt", "apt-get"];

/// Returns the span to delete to remove a package; `None` where the command would not run without it.
pub(super) fn package_removal_span(
    text: &str,
    escape: char,
    instruction: Span,
    word: Span,
    name: &str,
) -> Option<Span> {
    let is_package = text.get(word.start..word.end)?.starts_with(name);
    let is_boundary = |c: Option<char>| c.is_none_or(|c| c.is_whitespace() || COMMAND_SEPARATORS.contains(&c));
    let whole =
        is_boundary(text.get(..word.start)?.chars().next_back()) && is_boundary(text.get(word.end..)?.chars().next());
    let before = join_continued_lines(text.get(instruction.start..word.start)?, escape);
    let behind = join_continued_lines(text.get(word.end..instruction.end)?, escape);
    let before = before.rsplit(COMMAND_SEPARATORS).next().unwrap_or_default();
    let mut words = before.split_whitespace();
    let verb = words.by_ref().any(|word| word == "install");
    let others = words.chain(behind.split(COMMAND_SEPARATORS).next().unwrap_or_default().split_whitespace());
    let left = others.into_iter().any(|word| !word.starts_with('-'));
    let idle =
        before.split_whitespace().any(|word| EMPTY_INSTALL_PROGRAMS.contains(&word.rsplit('/').next().unwrap_or(word)));
    (is_package && whole && verb && (left || idle)).then(|| word_removal_span(text, word))
}

/// Joins a command over several lines into one line without comments.
fn join_continued_lines(text: &str, escape: char) -> String {
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
    fn package_is_removed_only_if_its_command_stays_valid() {
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
            let found = package_removal_span(text, '\\', Span::new(0, text.len()), Span::new(at, at + 3), "bad");
            let new = found.map(|span| format!("{}{}", &text[..span.start], &text[span.end..]));
            assert_eq!(new.as_deref(), expected, "{text}");
        }
        let text = "RUN apt-get install $ALL x";
        assert_eq!(package_removal_span(text, '\\', Span::new(0, text.len()), Span::new(20, 24), "bad"), None);
    }
}
