//! Edits of shell words and variable values: quoting, extending lists and removing words.

use crate::cuda::{CudaVersion, library_path_directories};
use crate::dockerfile::{Dockerfile, InstructionKind, edit};
use crate::fix::proposed_change::PTX_SUFFIX;
use crate::text::source::Span;

/// Quotes a value for ENV where necessary.
pub(super) fn quote_env_value(value: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '/' | ':' | ',' | '=' | '+' | '>');
    if !value.is_empty() && value.chars().all(plain) { value.to_owned() } else { format!("\"{value}\"") }
}

/// Extends a colon-separated list that refers to variables; `None` where the new value does not just add pieces.
pub(super) fn extend_path_list(written: &str, now: &str, value: &str) -> Option<String> {
    let (old, new): (Vec<&str>, Vec<&str>) =
        (library_path_directories(now).collect(), library_path_directories(value).collect());
    if !written.contains('$') || written.contains('\\') || old.len() >= new.len() {
        return None;
    }
    let quote =
        written.chars().next().filter(|c| matches!(c, '"' | '\'') && 1 < written.len() && written.ends_with(*c));
    let inner = match quote {
        Some(_) => written.get(1..written.len() - 1)?,
        None => written,
    };
    let list = if let Some(more) = new.strip_prefix(old.as_slice()) {
        format!("{}:{}", inner.trim_end_matches(':'), more.join(":"))
    } else {
        // Pieces that come to the front may stay where they were as well.
        let front = (1..=new.len()).find_map(|length| {
            let (front, rest) = new.split_at_checked(length)?;
            let left = old.iter().filter(|piece| !front.contains(piece));
            left.eq(rest).then_some(front)
        })?;
        format!("{}:{}", front.join(":"), inner.trim_start_matches(':'))
    };
    let plain = quote.is_some() || !list.contains(|c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '#'));
    plain.then(|| quote.map_or_else(|| list.clone(), |quote| format!("{quote}{list}{quote}")))
}

/// Quotes a word against globbing, inside the quotes that `before`, the preceding command text, leaves open.
pub(super) fn quote_shell_word(before: &str, word: &str) -> String {
    let expands = word.contains('$');
    match open_quote(before) {
        Some('"') => format!("'{word}'"),
        None if !expands => format!("'{word}'"),
        None | Some(_) => format!("\"{word}\""),
    }
}

/// Returns the quote that a shell text leaves open.
fn open_quote(text: &str) -> Option<char> {
    let mut open = None;
    let mut begins = true;
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        match (open, c) {
            (None | Some('"'), '\\') => {
                rest.next();
            }
            (None, '"' | '\'') => open = Some(c),
            (Some(quote), c) if quote == c => open = None,
            // The rest of the line is a comment.
            (None, '#') if begins => {
                rest.by_ref().find(|c| *c == '\n');
            }
            _ => {}
        }
        begins = c.is_whitespace();
    }
    open
}

/// Removes the pieces that contain some text from a colon-separated list, and preserves its quotes.
pub(super) fn remove_pieces(written: &str, holds: &[&str]) -> String {
    let quote =
        written.chars().next().filter(|c| matches!(c, '"' | '\'') && 1 < written.len() && written.ends_with(*c));
    let inner = match quote {
        Some(quote) => written.trim_start_matches(quote).trim_end_matches(quote),
        None => written,
    };
    let left: Vec<&str> =
        inner.split(':').filter(|piece| !holds.iter().any(|substring| piece.contains(substring))).collect();
    let left = left.join(":");
    match quote {
        Some(quote) => format!("{quote}{left}{quote}"),
        None if left.is_empty() => "\"\"".to_owned(),
        None => left,
    }
}

/// Returns the span to delete with a word: its preceding blanks, or its whole continued line.
pub(super) fn word_removal_span(text: &str, word: Span) -> Span {
    let start = edit::line_start(text, word.start);
    let before = text.get(start..word.start).unwrap_or_default();
    let end = text.get(word.end..).and_then(|rest| rest.find('\n')).map_or(text.len(), |at| word.end + at + 1);
    let after = text.get(word.end..end).unwrap_or_default();
    if before.trim().is_empty() && after.trim() == "\\" {
        return Span::new(start, end);
    }
    let blanks = before.len() - before.trim_end_matches([' ', '\t']).len();
    Span::new(word.start - blanks, word.end)
}

/// Returns the end of the shell word that contains a span, including a quote that starts before it.
pub(super) fn word_end(text: &str, span: Span) -> usize {
    let rest = text.get(span.end..).unwrap_or_default();
    let begun = text.get(..span.start).and_then(|before| before.chars().next_back());
    let ends = |c: char| {
        let quote = matches!(c, '"' | '\'') && begun != Some(c);
        quote || c.is_whitespace() || matches!(c, '\\' | ';' | '&' | '|' | ')' | ',')
    };
    span.end + rest.find(ends).unwrap_or(rest.len())
}

/// Maximum number of variables resolved for one architecture list.
const MAX_ARCH_LIST_VARIABLES: usize = 8;
/// Installer options whose value is an index.
const INDEX_OPTIONS: [&str; 5] = ["--index-url", "--extra-index-url", "--find-links", "-i", "-f"];

/// Returns the spans of URLs that follow an index option, outside comments.
pub(super) fn index_url_spans(text: &str) -> Vec<Span> {
    let mut found = Vec::new();
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let begins = start;
        start += line.len();
        if line.trim_start().starts_with('#') {
            continue;
        }
        for (at, _) in line.match_indices("://") {
            let ends = |c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '=');
            let from = line.get(..at).and_then(|before| before.rfind(ends)).map_or(0, |before| before + 1);
            let option = line.get(..from).unwrap_or_default().trim_end_matches(['"', '\'']);
            let option = option.trim_end_matches(['=', ' ', '\t']).rsplit(char::is_whitespace).next();
            if option.is_some_and(|option| INDEX_OPTIONS.contains(&option)) {
                let behind = |c: char| c.is_whitespace() || matches!(c, '"' | '\'' | ';' | '&' | '|' | ')' | '\\');
                let to = line.get(at..).and_then(|rest| rest.find(behind)).map_or(line.len(), |length| at + length);
                found.push(Span::new(begins + from, begins + to));
            }
        }
    }
    found
}

/// Quotes a new value like the old one.
pub(super) fn requote_value(written: &str, value: &str) -> String {
    let quote = written.chars().next().filter(|c| matches!(c, '"' | '\'') && 1 < written.len());
    match quote.filter(|quote| written.ends_with(*quote) && !value.contains(['"', '\'', '\\', '$'])) {
        Some(quote) => format!("{quote}{value}{quote}"),
        None => quote_env_value(value),
    }
}

/// Returns edits that append GPUs to every architecture list of a variable, or of the variables that it refers to.
pub(super) fn extend_arch_list(
    text: &str,
    dockerfile: &Dockerfile,
    variable: &str,
    add: &[String],
    is_name: &dyn Fn(&str) -> bool,
) -> Vec<(Span, String)> {
    let mut found = Vec::new();
    let mut names = vec![variable.to_owned()];
    let mut at = 0;
    while let Some(name) = names.get(at).cloned().filter(|_| at < MAX_ARCH_LIST_VARIABLES) {
        at += 1;
        let (lists, others) = extend_variable_lists(text, dockerfile, &name, add, is_name);
        found.extend(lists);
        for other in others {
            if !names.contains(&other) {
                names.push(other);
            }
        }
    }
    found
}

/// Extends the lists in one variable, and returns the edits and the variables that it refers to.
fn extend_variable_lists(
    text: &str,
    dockerfile: &Dockerfile,
    variable: &str,
    add: &[String],
    is_name: &dyn Fn(&str) -> bool,
) -> (Vec<(Span, String)>, Vec<String>) {
    let (mut found, mut others) = (Vec::new(), Vec::new());
    for instruction in &dockerfile.instructions {
        let Some(slice) = text.get(instruction.span.start..instruction.span.end) else { continue };
        for (at, _) in slice.match_indices(variable) {
            let behind = slice.get(at + variable.len()..).unwrap_or_default();
            // cmake takes a type as well: `-DX:STRING=80`.
            let typed = |rest: &str| rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_uppercase()).len();
            let typing = behind.strip_prefix(':').map_or(0, |rest| 1 + typed(rest));
            if !behind.get(typing..).is_some_and(|rest| rest.starts_with('=')) {
                continue;
            }
            let before = slice.get(..at).unwrap_or_default();
            // A CMake list follows `-D`.
            let name = before.strip_suffix("-D").unwrap_or(before);
            if name.ends_with(|c: char| c.is_alphanumeric() || c == '_') {
                continue;
            }
            let start = at + variable.len() + typing + 1;
            let rest = slice.get(start..).unwrap_or_default();
            let quote = rest.chars().next().filter(|c| matches!(c, '"' | '\''));
            // Inside of a longer value in quotes the list has none of its own; in a command such a one is a command again.
            let within = ['"', '\''].into_iter().find(|quote| before.matches(*quote).count() % 2 == 1);
            if within.is_some()
                && (quote.is_some() || !matches!(instruction.kind, InstructionKind::Arg | InstructionKind::Env))
            {
                continue;
            }
            let inner = match quote {
                Some(quote) => rest.get(1..).and_then(|rest| rest.split(quote).next()),
                None => rest.split(|c: char| c.is_whitespace() || Some(c) == within).next(),
            };
            let inner = inner.unwrap_or_default();
            let length = inner.len() + 2 * usize::from(quote.is_some());
            others.extend(referenced_variable(inner));
            let named = inner.split([' ', ';', ',']).next().is_some_and(is_name);
            if inner.contains('$') || inner.is_empty() || !(named || inner.starts_with(|c: char| c.is_ascii_digit())) {
                continue;
            }
            let separator = [" ", ","].into_iter().find(|one| inner.contains(one)).unwrap_or(";");
            // Some lists write 8.6, others 86.
            let dotted = named || inner.contains('.');
            // A number without a dot stands for PTX as well.
            let plain = |one: &String| one.trim_end_matches(PTX_SUFFIX).replace('.', "");
            let entries = add.iter().filter_map(|one| match (one.as_str(), dotted) {
                (PTX_SUFFIX, _) => newest_gpu_ptx(inner, dotted),
                (_, true) => Some(one.clone()),
                (_, false) => Some(plain(one)),
            });
            let more: Vec<String> = entries.filter(|one| !list_contains(inner, one)).collect();
            if more.is_empty() {
                continue;
            }
            if within.is_some() {
                let from = instruction.span.start + start;
                found.push((Span::new(from, from + length), format!("{inner}{separator}{}", more.join(separator))));
                continue;
            }
            let quote = quote.unwrap_or('"');
            let new = format!("{quote}{inner}{separator}{}{quote}", more.join(separator));
            let from = instruction.span.start + start;
            found.push((Span::new(from, from + length), new));
        }
    }
    (found, others)
}

/// Returns the PTX entry for the newest GPU of a list, in the notation of the list.
fn newest_gpu_ptx(list: &str, dotted: bool) -> Option<String> {
    let words = list.split([' ', ';', ',']).map(|word| word.split(['-', '+']).next().unwrap_or(word));
    let newest = words.filter_map(|word| word.parse::<CudaVersion>().ok()).max()?;
    Some(if dotted { format!("{newest}{PTX_SUFFIX}") } else { format!("{newest}-virtual") })
}

/// Returns the variable of a value that is a single reference: `$ARCHS`, `${ARCHS}`.
fn referenced_variable(value: &str) -> Option<String> {
    let name = value.strip_prefix('$')?;
    let name = name.strip_prefix('{').map_or(Some(name), |name| name.strip_suffix('}'))?;
    let plain = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    (plain && name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')).then(|| name.to_owned())
}

/// Whether a list contains an entry.
fn list_contains(list: &str, one: &str) -> bool {
    list.split([' ', ';', ',']).any(|word| word == one)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_lose_pieces_and_keep_their_quotes() {
        for (written, expected) in [
            ("/a:/usr/local/cuda/compat:$X", "/a:$X"),
            ("\"/usr/local/cuda/compat:/a\"", "\"/a\""),
            ("'/compat'", "''"),
            ("/compat", "\"\""),
            ("/a:/b", "/a:/b"),
            ("\"", "\""),
        ] {
            assert_eq!(remove_pieces(written, &["/compat"]), expected, "{written}");
        }
    }

    #[test]
    fn lists_that_name_variables_keep_them_where_pieces_are_added() {
        for (written, now, value, expected) in [
            ("/a:${X}", "/a:/b", "/a:/b:/d", Some("/a:${X}:/d")),
            ("\"/a:$X\"", "/a:/b", "/a:/b:/d", Some("\"/a:$X:/d\"")),
            ("/a:${X}", "/a:", "/a:/d", Some("/a:${X}:/d")),
            ("${X}:/a/", "/b:/a/", "/b:/a:/d", Some("${X}:/a/:/d")),
            ("${X}", "/b", "/d:/e:/b", Some("/d:/e:${X}")),
            ("/a:$X", "/a:/b", "/b:/d:/a", Some("/b:/d:/a:$X")),
            ("${X:-/a b}", "/a b", "/a b:/d", None),
            ("/a:/b", "/a:/b", "/a:/b:/d", None),
            ("/a:$X", "/a:/b", "/a", None),
            ("/a:$X", "/a:/b", "/a:/c:/d", None),
            ("$X", "all", "compute,utility", None),
            ("\\$X", "/b", "/b:/d", None),
            ("$X", "", "", None),
        ] {
            assert_eq!(extend_path_list(written, now, value).as_deref(), expected, "{written} {now} {value}");
        }
    }

    #[test]
    fn brackets_are_quoted_as_the_command_around_them_takes_it() {
        for (before, word, expected) in [
            ("RUN pip install ", "a[b]==1", "'a[b]==1'"),
            ("RUN pip install ", "a[b]==$V", "\"a[b]==$V\""),
            ("RUN bash -c \"pip install ", "a[b]==$V", "'a[b]==$V'"),
            ("RUN bash -c 'pip install ", "a[b]", "\"a[b]\""),
            ("RUN echo \"it's\" && pip install ", "a[b]", "'a[b]'"),
            ("RUN echo it\\'s && pip install ", "a[b]", "'a[b]'"),
            ("RUN a && \\\n  # don't\n  pip install ", "a[b]", "'a[b]'"),
            ("", "a[b]", "'a[b]'"),
        ] {
            assert_eq!(quote_shell_word(before, word), expected, "{before}{word}");
        }
    }

    #[test]
    fn index_url_is_located_after_its_option() {
        for (text, expected) in [
            ("pip install a --index-url https://h/whl/cu130", &["https://h/whl/cu130"][..]),
            (
                "--extra-index-url=https://h/a\n-f 'https://h/b' && -i\t\"https://h/$X\"; x",
                &["https://h/a", "https://h/b", "https://h/$X"],
            ),
            ("RUN (pip install -i https://h/a)", &["https://h/a"]),
            ("# --index-url https://h/a\n", &[]),
            ("a @ https://h/a.whl", &[]),
            ("curl -o x https://h/a", &[]),
            ("--index-url", &[]),
            ("://", &[]),
        ] {
            let found: Vec<&str> = index_url_spans(text)
                .into_iter()
                .map(|span| text.get(span.start..span.end).expect("a place"))
                .collect();
            assert_eq!(found, expected, "{text}");
        }
    }

    #[test]
    fn quoted_word_ends_at_its_matching_quote() {
        for (text, expected) in [
            ("pip install a b", "pip install a| b"),
            ("pip install 'a' b", "pip install 'a'| b"),
            ("bash -c \"pip install a\"", "bash -c \"pip install a|\""),
            ("(pip install a)", "(pip install a|)"),
            ("pip install a", "pip install a|"),
        ] {
            let at = text.rfind('a').expect("there");
            let mut new = text.to_owned();
            new.insert(word_end(text, Span::new(at, at + 1)), '|');
            assert_eq!(new, expected);
        }
    }

    #[test]
    fn requoted_value_keeps_valid_quotes() {
        for (written, value, expected) in [
            ("\"cuda>=12.8\"", "cuda>=12.0", "\"cuda>=12.0\""),
            ("'a'", "b c", "'b c'"),
            ("a", "b", "b"),
            ("a", "b c", "\"b c\""),
            ("\"", "b", "b"),
            ("\"a'", "b", "b"),
            ("'a'", "$X", "\"$X\""),
        ] {
            assert_eq!(requote_value(written, value), expected, "{written} {value}");
        }
    }

    #[test]
    fn removed_word_takes_its_blanks_or_its_line() {
        for (text, word, expected) in [
            ("RUN apt-get install -y a bad c\n", "bad", "RUN apt-get install -y a c\n"),
            ("RUN apt-get install -y \\\n  a \\\n  bad \\\n  c\n", "bad", "RUN apt-get install -y \\\n  a \\\n  c\n"),
            (
                "RUN apt-get install -y \\\n  a \\\n  bad\nRUN x\n",
                "bad",
                "RUN apt-get install -y \\\n  a \\\n\nRUN x\n",
            ),
        ] {
            let start = text.find(word).expect("there");
            let span = word_removal_span(text, Span::new(start, start + word.len()));
            let mut new = text.to_owned();
            new.replace_range(span.start..span.end, "");
            assert_eq!(new, expected, "{text}");
        }
    }

    #[test]
    fn gpus_are_added_to_lists_that_are_written_out() {
        for (text, expected) in [
            ("ENV L=\"8.0 8.6\"", vec!["\"8.0 8.6 9.0\""]),
            ("ENV L=8.0", vec!["\"8.0;9.0\""]),
            ("RUN L='7.5;8.0+PTX' pip install .", vec!["'7.5;8.0+PTX;9.0'"]),
            ("RUN cmake -DL=\"80;86-real\" .", vec!["\"80;86-real;90\""]),
            ("RUN cmake -DL=80 .", vec!["\"80;90\""]),
            ("RUN cmake -D L:STRING='80;86' .", vec!["'80;86;90'"]),
            ("RUN cmake -D L:string=80 .", vec![]),
            ("RUN echo L:80=90", vec![]),
            ("ENV L=80", vec!["\"80;90\""]),
            ("RUN cmake -DL=8.0,8.6 .", vec!["\"8.0,8.6,9.0\""]),
            ("ENV A=\"-DL=80;86\"", vec!["80;86;90"]),
            ("ENV A=\"-DL=80 -DX=1\"", vec!["80;90"]),
            ("RUN sh -c \"cmake -DL=80 .\"", vec![]),
            ("RUN cmake -DL=90-real .", vec!["\"90-real;90\""]),
            ("ENV L=\"9.0\"", vec![]),
            ("ENV XL=8.0", vec![]),
            ("RUN cmake -DXL=80 .", vec![]),
            ("RUN cmake -DL=native .", vec![]),
            ("ARG A=80\nRUN cmake -DL=\"${A}\" .", vec!["\"80;90\""]),
            ("ARG A=80\nENV B=${A}\nRUN cmake -DL=$B .", vec!["\"80;90\""]),
            ("ARG A=\"8.0 8.6\"\nENV L=$A", vec!["\"8.0 8.6 9.0\""]),
            ("ARG A=80\nRUN cmake -DL=\"${A};86\" .", vec![]),
            ("ARG A=80\nRUN cmake -DL=\"${A:-86}\" .", vec![]),
            ("ARG A\nENV L=$A", vec![]),
            ("ENV L=$L", vec![]),
            ("ENV A=$L\nENV L=$A", vec![]),
            ("ARG A=80\nENV L=$(A)", vec![]),
            ("ENV L=$OTHER", vec![]),
            ("ENV L=", vec![]),
            ("ENV L=all", vec![]),
        ] {
            let text = format!("FROM a\n{text}\n");
            let found =
                extend_arch_list(&text, &Dockerfile::parse(&text), "L", &["9.0".to_owned()], &|word| word == "Ampere");
            assert_eq!(found.into_iter().map(|(_, new)| new).collect::<Vec<_>>(), expected, "{text}");
        }
    }
}
