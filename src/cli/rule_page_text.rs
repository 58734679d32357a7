//! A rule page as text for a terminal: paragraphs wrapped to the width, links as titles with addresses.

use std::io;

use crate::report::documentation_urls;
use crate::report::escape::escape_one_line;
use crate::report::wrap::{display_width, wrap};
use crate::rules::RulePage;

/// Writes a rule page without its header and its examples.
pub(crate) fn print_rule_page(out: &mut impl io::Write, page: &RulePage, width: usize) -> io::Result<()> {
    let about = page.summary();
    let title = format!("{} ({}, {}): ", page.name, page.severity.name(), page.persona.name());
    writeln!(out, "{title}{}", wrap(&escape_one_line(&about), display_width(&title), 2, width))?;
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
        for line in wrap_prose(text, width) {
            writeln!(out, "{line}")?;
        }
    }
    if !sections.references.is_empty() {
        writeln!(out, "\nReferences")?;
    }
    for line in reference_lines(&sections.references, width) {
        writeln!(out, "{line}")?;
    }
    writeln!(out, "\nexamples: imagelint rules show {}", page.name)?;
    match documentation_urls::rule_page_url(&page.name) {
        Some(address) => writeln!(out, "docs: {address}"),
        None => Ok(()),
    }
}

/// Wraps paragraphs and list items to the width; code blocks and tables stay unchanged.
fn wrap_prose(text: &str, width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut open = String::new();
    let mut quoting = false;
    for line in text.lines() {
        let line = line.trim_end();
        let fence = line.trim_start().starts_with("```");
        let item = line.trim_start().starts_with("- ");
        if fence || quoting || item || line.is_empty() || line.starts_with('|') {
            flush_paragraph(&mut lines, &mut open, width);
        }
        if fence {
            quoting = !quoting;
        } else if quoting || line.starts_with('|') {
            lines.push(format!("    {}", escape_one_line(line)).trim_end().to_owned());
        } else if line.is_empty() {
            lines.push(String::new());
        } else {
            if !open.is_empty() {
                open.push(' ');
            }
            open.push_str(line.trim_start());
        }
    }
    flush_paragraph(&mut lines, &mut open, width);
    lines
}

/// Ends the current paragraph or list item and appends it to the lines.
fn flush_paragraph(lines: &mut Vec<String>, open: &mut String, width: usize) {
    let text = std::mem::take(open);
    if text.is_empty() {
        return;
    }
    let text = markdown_parts(&text).into_iter().map(|part| match part {
        MarkdownPart::Text(text) => text.to_owned(),
        MarkdownPart::Link(title, address) => format!("{title} ({address})"),
    });
    let text: String = text.collect();
    let hang = if text.starts_with("- ") { 4 } else { 2 };
    lines.push(format!("  {}", wrap(&escape_one_line(&text), 2, hang, width)));
}

/// Formats each link as `- title: address`, on two lines if it is too long, and other references as list items.
fn reference_lines(text: &str, width: usize) -> Vec<String> {
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
    for part in items.iter().flat_map(|item| markdown_parts(item)) {
        match part {
            MarkdownPart::Link(title, address) => {
                let one = format!("  - {}: {}", escape_one_line(title), escape_one_line(address));
                if display_width(&one) <= width {
                    lines.push(one);
                } else {
                    lines.push(format!(
                        "  - {}:\n    {}",
                        wrap(&escape_one_line(title), 4, 4, width),
                        escape_one_line(address)
                    ));
                }
            }
            MarkdownPart::Text(text) => {
                let text = text.trim_matches([',', ';', ' ', '.']);
                if text.chars().any(char::is_alphanumeric) && text != "and" {
                    lines.push(format!("  - {}", wrap(&escape_one_line(text), 4, 4, width)));
                }
            }
        }
    }
    lines
}

/// A piece of Markdown: plain text or a link.
#[derive(Debug, PartialEq, Eq)]
enum MarkdownPart<'t> {
    Text(&'t str),
    Link(&'t str, &'t str),
}

/// Splits a text into its links and the text between them.
fn markdown_parts(text: &str) -> Vec<MarkdownPart<'_>> {
    let mut found = Vec::new();
    let mut rest = text;
    let mut from = 0;
    while let Some(at) = rest.get(from..).and_then(|text| text.find('[')).map(|at| from + at) {
        let link = rest.get(at + 1..).and_then(|text| text.split_once("](")).and_then(|(label, behind)| {
            let (address, behind) = behind.split_once(')')?;
            (!label.contains(['[', ']'])).then_some((label, address, behind))
        });
        match link {
            Some((title, address, behind)) => {
                if let Some(before) = rest.get(..at).filter(|text| !text.is_empty()) {
                    found.push(MarkdownPart::Text(before));
                }
                found.push(MarkdownPart::Link(title, address));
                (rest, from) = (behind, 0);
            }
            None => from = at + 1,
        }
    }
    if !rest.is_empty() {
        found.push(MarkdownPart::Text(rest));
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
        assert_eq!(reference_lines(text, 80), expected);
        let long = reference_lines("- [a title](https://x.example/a/long/path)", 30);
        assert_eq!(long, ["  - a title:\n    https://x.example/a/long/path"]);
        for plain in ["no link", "[x]", "[x] (y)", "a[0](", ""] {
            assert!(!markdown_parts(plain).iter().any(|part| matches!(part, MarkdownPart::Link(..))), "{plain}");
        }
    }

    #[test]
    fn paragraphs_fill_the_width_and_quoted_lines_stay() {
        let text = "One two three\nfour five six.\n\n```text\na   line  that stays as it is, however long it may be\n```\n\n- item one\n  goes on";
        let lines = wrap_prose(text, 24);
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
