//! Documentation made from the pages: the table of rules, the vocabulary, and the source of a web book.

use std::fmt::Write as _;

use crate::rules::book::RuleBook;
use crate::rules::header::Kind;
use crate::rules::page::Page;
use crate::rules::vocabulary::Vocabulary;

/// Operators, functions and names as tables of Markdown, each line with an end.
pub fn vocabulary_tables(words: &Vocabulary) -> String {
    let mut text = String::from("### Operators\n\n| Form | Meaning |\n|---|---|\n");
    for sign in words.signs {
        row(&mut text, &[&code(sign.form), sign.doc]);
    }
    text.push_str("\n### Functions\n\n| Function | Result | Example |\n|---|---|---|\n");
    for function in words.functions {
        row(&mut text, &[&code(&function.signature()), function.doc, &code(function.example)]);
    }
    text.push_str("\n### Names\n\n| Name | Type | Unit or form | Meaning | Source |\n|---|---|---|---|---|\n");
    for entry in words.entries {
        let origin = entry.origin.join(", ");
        row(&mut text, &[&code(entry.name), &entry.kind.to_string(), entry.unit, entry.doc, &origin]);
    }
    text
}

/// The rules as a table of Markdown; `link` makes the address of a page.
pub fn rule_table(book: &RuleBook, link: impl Fn(&Page) -> String) -> String {
    let mut text = String::from("| Rule | Severity | Persona | What it detects |\n|---|---|---|---|\n");
    for page in book.pages() {
        let name = format!("[{}]({})", code(&page.name), link(page));
        row(&mut text, &[&name, page.severity.word(), page.persona.word(), &page.summary()]);
    }
    text
}

/// The files of a web book by path: its settings, its table of contents, a chapter for each rule, the vocabulary.
pub fn web_book(book: &RuleBook) -> Vec<(String, String)> {
    let mut contents = String::from("# Summary\n\n[Rules](README.md)\n");
    let mut files = vec![("book.toml".to_owned(), SETTINGS.to_owned())];
    for part in ["Start-up", "Practice", "Notices"] {
        let _ = write!(contents, "\n# {part}\n\n");
        for page in book.pages().filter(|page| part_of(&page.kind) == part) {
            let _ = writeln!(contents, "- [{name}](rules/{name}.md)", name = page.name);
            files.push((format!("src/rules/{}.md", page.name), chapter(page)));
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

/// The part of the book that a page belongs to.
fn part_of(kind: &Kind) -> &'static str {
    match kind {
        Kind::Startup(_) => "Start-up",
        Kind::Practice(_) => "Practice",
        Kind::Reader(_) => "Notices",
    }
}

/// The settings of the book.
const SETTINGS: &str = "[book]\ntitle = \"imagelint rules\"\nlanguage = \"en\"\nsrc = \"src\"\n";

/// A page with its header as a table.
fn chapter(page: &Page) -> String {
    let mut text = format!("# {}\n\n| Key | Value |\n|---|---|\n", page.name);
    let occasion = match &page.kind {
        Kind::Startup(outcome) => format!("the outcome is {}", code(outcome.name())),
        Kind::Practice(condition) => code(condition.text()),
        Kind::Reader(notice) => format!("the reader notes {}", code(notice.word())),
    };
    for (key, value) in [
        ("reports when", occasion.as_str()),
        ("severity", page.severity.word()),
        ("persona", page.persona.word()),
        ("status", page.status.word()),
        ("fix", page.fix.word()),
        ("since", &page.since),
        ("message", &code(&page.message.text())),
        ("help", &code(&page.help.text())),
    ] {
        row(&mut text, &[key, value]);
    }
    if let Some(cause) = &page.cause {
        row(&mut text, &["cause", &code(&cause.text())]);
    }
    for (cause, help) in &page.help_for {
        row(&mut text, &[&format!("help for {}", code(cause.name())), &code(&help.text())]);
    }
    text.push('\n');
    text.push_str(&page.prose());
    let _ = write!(text, "\n\n---\n\n{} examples: `imagelint rules show {}`\n", page.examples.len(), page.name);
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
