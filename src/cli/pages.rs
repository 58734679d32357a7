//! A rule page as text for a terminal: its prose in lines of the width, its links as titles with addresses.

use std::io;

use crate::report::docs;
use crate::report::escape::clean;
use crate::report::wrap::columns;
use crate::report::wrap::wrap;
use crate::rules::Page;

/// Writes a page without its header and its examples.
pub(crate) fn print(out: &mut impl io::Write, page: &Page, width: usize) -> io::Result<()> {
    let about = page.summary();
    let title = format!("{} ({}, {}): ", page.name, page.severity.word(), page.persona.word());
    writeln!(out, "{title}{}", wrap(&clean(&about), columns(&title), 2, width))?;
    let sections = &page.sections;
    for (title, text) in [
        ("What goes wrong", &sections.wrong),
        ("Why", &sections.why),
        ("What to do", &sections.remedy),
        ("When to ignore it", &sections.ignore),
    ] {
        if !text.is_empty() {
            writeln!(out, "\n{title}")?;
        }
        for line in prose(text, width) {
            writeln!(out, "{line}")?;
        }
    }
    if !sections.references.is_empty() {
        writeln!(out, "\nReferences")?;
    }
    for line in references(&sections.references, width) {
        writeln!(out, "{line}")?;
    }
    writeln!(out, "\nexamples: imagelint rules show {}", page.name)?;
    match docs::page(&page.name) {
        Some(address) => writeln!(out, "docs: {address}"),
        None => Ok(()),
    }
}

/// Paragraphs and items in lines of the width; quoted lines and tables as they are.
fn prose(text: &str, width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut open = String::new();
    let mut quoting = false;
    for line in text.lines() {
        let line = line.trim_end();
        let fence = line.trim_start().starts_with("```");
        let item = line.trim_start().starts_with("- ");
        if fence || quoting || item || line.is_empty() || line.starts_with('|') {
            flush(&mut lines, &mut open, width);
        }
        if fence {
            quoting = !quoting;
        } else if quoting || line.starts_with('|') {
            lines.push(format!("    {}", clean(line)).trim_end().to_owned());
        } else if line.is_empty() {
            lines.push(String::new());
        } else {
            if !open.is_empty() {
                open.push(' ');
            }
            open.push_str(line.trim_start());
        }
    }
    flush(&mut lines, &mut open, width);
    lines
}

/// Ends a paragraph or an item.
fn flush(lines: &mut Vec<String>, open: &mut String, width: usize) {
    let text = std::mem::take(open);
    if text.is_empty() {
        return;
    }
    let text = parts(&text).into_iter().map(|part| match part {
        Part::Text(text) => text.to_owned(),
        Part::Link(title, address) => format!("{title} ({address})"),
    });
    let text: String = text.collect();
    let hang = if text.starts_with("- ") { 4 } else { 2 };
    lines.push(format!("  {}", wrap(&clean(&text), 2, hang, width)));
}

/// Every link as `- title: address`, in a line of its own or, if it is too long, in two; the rest as items.
fn references(text: &str, width: usize) -> Vec<String> {
    let mut items: Vec<String> = Vec::new();
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
        match (line.strip_prefix("- "), items.last_mut()) {
            (None, Some(item)) => {
                item.push(' ');
                item.push_str(line);
            }
            (rest, _) => items.push(rest.unwrap_or(line).to_owned()),
        }
    }
    let mut lines = Vec::new();
    for part in items.iter().flat_map(|item| parts(item)) {
        match part {
            Part::Link(title, address) => {
                let one = format!("  - {}: {}", clean(title), clean(address));
                if columns(&one) <= width {
                    lines.push(one);
                } else {
                    lines.push(format!("  - {}:\n    {}", wrap(&clean(title), 4, 4, width), clean(address)));
                }
            }
            Part::Text(text) => {
                let text = text.trim_matches([',', ';', ' ', '.']);
                if text.chars().any(char::is_alphanumeric) && text != "and" {
                    lines.push(format!("  - {}", wrap(&clean(text), 4, 4, width)));
                }
            }
        }
    }
    lines
}

/// A piece of Markdown.
#[derive(Debug, PartialEq, Eq)]
enum Part<'t> {
    Text(&'t str),
    Link(&'t str, &'t str),
}

/// The links of a text, and what is between them.
fn parts(text: &str) -> Vec<Part<'_>> {
    let mut found = Vec::new();
    let mut rest = text;
    let mut from = 0;
    while let Some(at) = rest.get(from..).and_then(|text| text.find('[')).map(|at| from + at) {
        let link = rest.get(at + 1..).and_then(|text| text.split_once("](")).and_then(|(title, behind)| {
            let (address, behind) = behind.split_once(')')?;
            (!title.contains(['[', ']'])).then_some((title, address, behind))
        });
        match link {
            Some((title, address, behind)) => {
                if let Some(before) = rest.get(..at).filter(|text| !text.is_empty()) {
                    found.push(Part::Text(before));
                }
                found.push(Part::Link(title, address));
                (rest, from) = (behind, 0);
            }
            None => from = at + 1,
        }
    }
    if !rest.is_empty() {
        found.push(Part::Text(rest));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_titles_with_addresses() {
        let text = "- moby, `daemon/nvidia_linux.go`\n- [a/b issue 1](https://x.example/1), [c/d issue\n  2](https://y.example/2)";
        let expected = [
            "  - moby, `daemon/nvidia_linux.go`",
            "  - a/b issue 1: https://x.example/1",
            "  - c/d issue 2: https://y.example/2",
        ];
        assert_eq!(references(text, 80), expected);
        let long = references("- [a title](https://x.example/a/long/path)", 30);
        assert_eq!(long, ["  - a title:\n    https://x.example/a/long/path"]);
        for plain in ["no link", "[x]", "[x] (y)", "a[0](", ""] {
            assert!(!parts(plain).iter().any(|part| matches!(part, Part::Link(..))), "{plain}");
        }
    }

    #[test]
    fn paragraphs_fill_the_width_and_quoted_lines_stay() {
        let text = "One two three\nfour five six.\n\n```text\na   line  that stays as it is, however long it may be\n```\n\n- item one\n  goes on";
        let lines = prose(text, 24);
        assert_eq!(
            lines,
            [
                "  One two three four\n  five six.",
                "",
                "    a   line  that stays as it is, however long it may be",
                "",
                "  - item one goes on"
            ]
        );
    }
}
