//! Documentation generated from the rule pages: the table of rules, the vocabulary, and a web book.

use std::fmt::Write as _;

use crate::rules::page::RulePage;
use crate::rules::page_header::PageKind;
use crate::rules::rule_book::RuleBook;
use crate::rules::vocabulary::Vocabulary;

/// Returns the operators, functions and names of conditions as Markdown tables.
pub fn vocabulary_tables(words: &Vocabulary) -> String {
    let mut text = String::from("### Operators\n\n| Form | Meaning |\n|---|---|\n");
    for sign in words.signs {
        push_table_row(&mut text, &[&inline_code(sign.form), sign.doc]);
    }
    text.push_str("\n### Functions\n\n| Function | Result | Example |\n|---|---|---|\n");
    for function in words.functions {
        push_table_row(&mut text, &[&inline_code(&function.signature()), function.doc, &inline_code(function.example)]);
    }
    text.push_str("\n### Names\n\n| Name | Type | Unit or form | Meaning | Source |\n|---|---|---|---|---|\n");
    for entry in words.entries {
        let origin = entry.origin.join(", ");
        push_table_row(&mut text, &[&inline_code(entry.name), &entry.kind.to_string(), entry.unit, entry.doc, &origin]);
    }
    text
}

/// Returns the rules as a Markdown table; `link` returns the address of a page.
pub fn rule_table(book: &RuleBook, link: impl Fn(&RulePage) -> String) -> String {
    let mut text = String::from("| Rule | Severity | Persona | What it detects |\n|---|---|---|---|\n");
    for page in book.pages() {
        let name = format!("[{}]({})", inline_code(&page.name), link(page));
        push_table_row(&mut text, &[&name, page.severity.name(), page.persona.name(), &page.summary()]);
    }
    text
}

/// Returns the source files of a web book by path: settings, table of contents, rule chapters, vocabulary.
pub fn web_book(book: &RuleBook) -> Vec<(String, String)> {
    let mut contents = String::from("# Summary\n\n[Rules](README.md)\n");
    let mut files = vec![("book.toml".to_owned(), BOOK_SETTINGS.to_owned())];
    for part in ["Start-up", "Practice", "Notices"] {
        let _ = write!(contents, "\n# {part}\n\n");
        for page in book.pages().filter(|page| book_part(&page.kind) == part) {
            let _ = writeln!(contents, "- [{name}](rules/{name}.md)", name = page.name);
            files.push((format!("src/rules/{}.md", page.name), page_chapter(page)));
        }
    }
    contents.push_str("\n# Writing rules\n\n- [Vocabulary](vocabulary.md)\n");
    let table = rule_table(book, |page| format!("rules/{}.md", page.name));
    files.push(("src/SUMMARY.md".to_owned(), contents));
    files.push(("src/README.md".to_owned(), format!("# Rules\n\n{table}")));
    let words = vocabulary_tables(&Vocabulary::built_in());
    files.push(("src/vocabulary.md".to_owned(), format!("# Vocabulary\n\n{words}")));
    files.sort();
    files
}

/// Returns the part of the web book that a page belongs to.
fn book_part(kind: &PageKind) -> &'static str {
    match kind {
        PageKind::Startup(_) => "Start-up",
        PageKind::Practice(_) => "Practice",
        PageKind::Reader(_) => "Notices",
    }
}

/// The `book.toml` of the web book.
const BOOK_SETTINGS: &str = "[book]\ntitle = \"imagelint rules\"\nlanguage = \"en\"\nsrc = \"src\"\n";

/// Returns the chapter of a page: its header as a table, then its prose.
fn page_chapter(page: &RulePage) -> String {
    let mut text = format!("# {}\n\n| Key | Value |\n|---|---|\n", page.name);
    let occasion = match &page.kind {
        PageKind::Startup(outcome) => format!("the outcome is {}", inline_code(outcome.name())),
        PageKind::Practice(condition) => inline_code(condition.text()),
        PageKind::Reader(notice) => format!("the reader notes {}", inline_code(notice.name())),
    };
    for (key, value) in [
        ("reports when", occasion.as_str()),
        ("severity", page.severity.name()),
        ("persona", page.persona.name()),
        ("status", page.status.name()),
        ("fix", page.fix.name()),
        ("since", &page.since),
        ("message", &inline_code(&page.message.text())),
        ("help", &inline_code(&page.help.text())),
    ] {
        push_table_row(&mut text, &[key, value]);
    }
    if let Some(cause) = &page.cause {
        push_table_row(&mut text, &["cause", &inline_code(&cause.text())]);
    }
    for (cause, help) in &page.help_for {
        push_table_row(&mut text, &[&format!("help for {}", inline_code(cause.name())), &inline_code(&help.text())]);
    }
    text.push('\n');
    text.push_str(&page.prose());
    let _ = write!(text, "\n\n---\n\n{} examples: `imagelint rules show {}`\n", page.examples.len(), page.name);
    text
}

/// Returns a text as Markdown inline code.
fn inline_code(text: &str) -> String {
    if text.contains('`') { format!("`` {text} ``") } else { format!("`{text}`") }
}

/// Appends a row to a Markdown table, with vertical bars in cells escaped.
fn push_table_row(text: &mut String, cells: &[&str]) {
    for cell in cells {
        let _ = write!(text, "| {} ", cell.replace('|', "\\|"));
    }
    text.push_str("|\n");
}
