//! Documentation made from the pages: the table of rules, the vocabulary, and the source of a web book.

use std::fmt::Write as _;

use crate::rules::book::RuleBook;
use crate::rules::page::Page;
use crate::rules::vocabulary::Vocabulary;

/// Operators, functions and names as tables of Markdown, each line with an end.
pub fn vocabulary_tables(words: &Vocabulary) -> String {
    let mut text = String::from("### Operators\n\n| Form | What it means |\n|---|---|\n");
    for sign in words.signs {
        row(&mut text, &[&code(sign.form), sign.doc]);
    }
    text.push_str("\n### Functions\n\n| Function | What it gives | Example |\n|---|---|---|\n");
    for function in words.functions {
        row(&mut text, &[&code(&function.signature()), function.doc, &code(function.example)]);
    }
    text.push_str("\n### Names\n\n| Name | Type | Unit or form | What it means | Given by |\n|---|---|---|---|---|\n");
    for entry in words.entries {
        let origin = entry.origin.join(", ");
        row(&mut text, &[&code(entry.name), &entry.kind.to_string(), entry.unit, entry.doc, &origin]);
    }
    text
}

/// The rules as a table of Markdown; `link` makes the address of a page.
pub fn rule_table(book: &RuleBook, link: impl Fn(&Page) -> String) -> String {
    let mut text = String::from("| Rule | Severity | Who hears it | What goes wrong |\n|---|---|---|---|\n");
    for page in book.pages() {
        let name = format!("[{}]({})", code(&page.name), link(page));
        row(&mut text, &[&name, page.severity.word(), page.persona.word(), &page.summary()]);
    }
    text
}

fn code(text: &str) -> String {
    if text.contains('`') { format!("`` {text} ``") } else { format!("`{text}`") }
}

/// A line of a table: a `|` inside is no border.
fn row(text: &mut String, cells: &[&str]) {
    for cell in cells {
        let _ = write!(text, "| {} ", cell.replace('|', "\\|"));
    }
    text.push_str("|\n");
}
