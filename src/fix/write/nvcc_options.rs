//! Parses nvcc options in shell commands, exec-form lists and values of variables.

use crate::text::source::Span;

/// The nvcc option that selects one code target.
pub(super) const GENCODE_OPTION: &str = "-gencode";
/// Separator between the strings of a JSON list.
const JSON_SEPARATOR: &str = "\", \"";

/// An nvcc option and its spans in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NvccOption {
    /// Kind of the option.
    pub(super) of: NvccOptionKind,
    /// Span of the option with its value.
    pub(super) span: Span,
    /// Span of the value without quotes.
    pub(super) value: Span,
}

/// The kinds of nvcc options that select GPU code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NvccOptionKind {
    /// `-gencode`: one code target and its virtual architecture.
    Gencode,
    /// `-arch`: the virtual architecture.
    Arch,
    /// `-code`: the code targets.
    Code,
}

/// The separator between the words of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WordSeparator {
    /// Blanks.
    Blanks,
    /// The quotes and comma between the strings of a JSON list.
    Strings,
}

impl WordSeparator {
    /// Returns the separator as text.
    pub(super) fn text(self) -> &'static str {
        match self {
            Self::Blanks => " ",
            Self::Strings => JSON_SEPARATOR,
        }
    }

    /// Returns the length of the separator at the start of a text, with continued lines; `None` where no word
    /// follows.
    fn prefix_length(self, text: &str) -> Option<usize> {
        match self {
            Self::Blanks => Some(blank_length(text)),
            Self::Strings => {
                let comma = text.strip_prefix('"')?;
                let behind = comma.get(blank_length(comma)..)?.strip_prefix(',')?;
                let next = behind.get(blank_length(behind)..)?.strip_prefix('"')?;
                Some(text.len() - next.len())
            }
        }
    }
}

/// Returns the ranges of quoted variable values within a span.
pub(super) fn quoted_value_ranges(text: &str, part: Span) -> Vec<(usize, usize)> {
    let slice = text.get(part.start..part.end).unwrap_or_default();
    let mut found = Vec::new();
    for quote in ['"', '\''] {
        for (at, begins) in slice.match_indices(&format!("={quote}")) {
            let named =
                slice.get(..at).is_some_and(|before| before.ends_with(|c: char| c.is_alphanumeric() || c == '_'));
            let start = part.start + at + begins.len();
            let length = text.get(start..part.end).and_then(|rest| rest.find(quote)).filter(|_| named);
            found.extend(length.map(|length| (start, start + length)));
        }
    }
    found
}

/// Returns the nvcc options in the value or the assignment of a variable.
pub(super) fn options_in_value(text: &str, part: Span) -> Vec<NvccOption> {
    let slice = text.get(part.start..part.end).unwrap_or_default();
    let begins = |at: usize| {
        let before = slice.get(..at).and_then(|before| before.chars().next_back());
        before.is_none_or(|c| c.is_whitespace() || matches!(c, '"' | '\'' | '='))
    };
    let starts = slice.match_indices('-').map(|(at, _)| at).filter(|at| begins(*at));
    let word = |at: usize| {
        let rest = slice.get(at..).unwrap_or_default();
        let length = rest.find(|c: char| c.is_whitespace() || matches!(c, '"' | '\'')).unwrap_or(rest.len());
        Span::new(part.start + at, part.start + at + length)
    };
    let read =
        |at: usize| parse_option(text, word(at), WordSeparator::Blanks).filter(|option| option.span.end <= part.end);
    starts.filter_map(read).collect()
}

/// Extends an edit of a variable value to add quotes, where the value has none.
pub(super) fn quote_edit(text: &str, part: Span, (span, new): (Span, String)) -> (Span, String) {
    let slice = text.get(part.start..part.end).unwrap_or_default();
    let named = |name: &str| !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    let name = slice.split_once('=').map_or("", |(name, _)| name);
    let value = Span::new(part.start + if named(name) { name.len() + 1 } else { 0 }, part.end);
    let is_value = text.get(..value.start).is_some_and(|before| before.ends_with('='));
    let own = text.get(value.start..value.end).unwrap_or_default();
    let pieces = (text.get(value.start..span.start), text.get(span.end..value.end));
    match pieces {
        (Some(front), Some(behind)) if is_value && !own.contains(['"', '\'', '\\']) => {
            (value, format!("\"{front}{new}{behind}\""))
        }
        _ => (span, new),
    }
}

/// Parses the nvcc option that starts at a word.
pub(super) fn parse_option(text: &str, word: Span, between: WordSeparator) -> Option<NvccOption> {
    let written = text.get(word.start..word.end)?;
    let (name, inline) = written.split_once('=').map_or((written, false), |(name, _)| (name, true));
    let of = match name {
        GENCODE_OPTION | "--generate-code" => NvccOptionKind::Gencode,
        "-arch" | "--gpu-architecture" => NvccOptionKind::Arch,
        "-code" | "--gpu-code" => NvccOptionKind::Code,
        _ => return None,
    };
    let start =
        if inline { word.start + name.len() + 1 } else { word.end + between.prefix_length(text.get(word.end..)?)? };
    let rest = text.get(start..)?;
    let quote = rest.chars().next().filter(|c| matches!(c, '"' | '\'') && between == WordSeparator::Blanks);
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '=' | ',' | '[' | ']' | '$' | '{' | '}');
    let inner = rest.get(usize::from(quote.is_some())..)?;
    let length = inner.find(|c: char| !plain(c)).unwrap_or(inner.len());
    let behind = inner.get(length..)?.chars().next();
    let ends = match quote {
        Some(_) => behind == quote,
        None => behind.is_none_or(|c| c.is_whitespace() || matches!(c, '"' | '\'' | ';' | '&' | '|' | ')')),
    };
    if !ends || length == 0 {
        return None;
    }
    let quotes = usize::from(quote.is_some());
    let value = Span::new(start + quotes, start + quotes + length);
    Some(NvccOption { of, span: Span::new(word.start, value.end + quotes), value })
}

/// Returns the length of leading whitespace, with continued lines.
fn blank_length(text: &str) -> usize {
    let mut rest = text;
    loop {
        rest = rest.trim_start();
        match rest.strip_prefix("\\\n").or_else(|| rest.strip_prefix("\\\r\n")) {
            Some(more) => rest = more,
            None => return text.len() - rest.len(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quoted_values_of_variables_are_found() {
        for (text, expected) in [
            ("RUN A=\"-x y\" && B='z' nvcc $A", &["-x y", "z"][..]),
            ("ENV A=\"\"", &[""]),
            ("RUN echo =\"a\" -DX-=\"b\"", &[]),
            ("RUN A=\"open", &[]),
            ("RUN A=b", &[]),
        ] {
            let found = quoted_value_ranges(text, Span::new(0, text.len()));
            let values: Vec<&str> = found.into_iter().map(|(start, end)| &text[start..end]).collect();
            assert_eq!(values, expected, "{text}");
        }
    }

    #[test]
    fn nvcc_options_are_located_within_values() {
        for (text, expected) in [
            (
                "NVCC_APPEND_FLAGS=\"-O3 -gencode arch=compute_70,code=sm_70\"",
                &["-gencode arch=compute_70,code=sm_70"][..],
            ),
            (
                "-gencode=arch=compute_70,code=[sm_70,sm_75] -arch=sm_80",
                &["-gencode=arch=compute_70,code=[sm_70,sm_75]", "-arch=sm_80"],
            ),
            ("FLAGS=-arch=sm_80", &["-arch=sm_80"]),
            ("'-gencode'", &[]),
            ("x-arch=sm_80 --std=c++17", &[]),
            ("", &[]),
        ] {
            let found = options_in_value(text, Span::new(0, text.len()));
            let options: Vec<&str> = found.iter().map(|option| &text[option.span.start..option.span.end]).collect();
            assert_eq!(options, expected, "{text}");
        }
    }

    #[test]
    fn a_value_without_quotes_gets_them() {
        for (text, part, expected) in [
            ("ENV A=-arch=sm_80 B=1", "-arch=sm_80", "ENV A=\"-arch=sm_80 more\" B=1"),
            ("RUN make A=-arch=sm_80 x", "A=-arch=sm_80", "RUN make A=\"-arch=sm_80 more\" x"),
            ("ENV A=\"-arch=sm_80\"", "\"-arch=sm_80\"", "ENV A=\"-arch=sm_80 more\""),
            ("RUN make 'A=-arch=sm_80'", "'A=-arch=sm_80'", "RUN make 'A=-arch=sm_80 more'"),
            ("ENV A -arch=sm_80", "-arch=sm_80", "ENV A -arch=sm_80 more"),
        ] {
            let at = text.find(part).expect("a part");
            let end = text.find("sm_80").expect("a number") + 5;
            let edit = (Span::new(end, end), " more".to_owned());
            let (span, new) = quote_edit(text, Span::new(at, at + part.len()), edit);
            let mut written = text.to_owned();
            written.replace_range(span.start..span.end, &new);
            assert_eq!(written, expected);
        }
    }
}
