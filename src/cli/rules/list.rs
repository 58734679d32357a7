//! `imagelint rules list` and `imagelint rules vocabulary`.

use std::io;

use serde_json::{Value, json};

use crate::cli::args::OutputFormat;
use crate::cli::error::CommandError;
use crate::cli::exit::Exit;
use crate::report::escape::escape_one_line;
use crate::rules::{MessageTemplate, PageKind, RuleBook, RulePage, Status, Vocabulary};

/// Prints all rules.
pub(super) fn list_rules(
    out: &mut impl io::Write,
    book: &RuleBook,
    format: OutputFormat,
) -> Result<Exit, CommandError> {
    if format == OutputFormat::Json {
        writeln!(out, "{:#}", json!({ "rules": book.pages().map(page_json).collect::<Vec<_>>() }))?;
        return Ok(Exit::Clean);
    }
    let width = book.pages().map(|page| page.name.len()).max().unwrap_or_default();
    for page in book.pages() {
        let preview = if page.status == Status::Preview { " (preview)" } else { "" };
        let summary = escape_one_line(&page.summary()).into_owned();
        writeln!(
            out,
            "{:<width$}  {:<7}  {:<8}  {summary}{preview}",
            page.name,
            page.severity.name(),
            page.persona.name(),
        )?;
    }
    Ok(Exit::Clean)
}

/// Returns a rule page as JSON, without its prose and examples.
pub(in crate::cli) fn page_json(page: &RulePage) -> Value {
    let (kind, occasion) = match &page.kind {
        PageKind::Startup(outcome) => ("start-up", outcome.name()),
        PageKind::Practice(condition) => ("practice", condition.text()),
        PageKind::Reader(notice) => ("notice", notice.name()),
    };
    let own = page.help_for.iter().map(|(cause, help)| (cause.name().to_owned(), Value::String(help.text())));
    let help_for: serde_json::Map<String, Value> = own.collect();
    json!({
        "rule": page.name, "kind": kind, "when": occasion, "severity": page.severity.name(),
        "persona": page.persona.name(), "status": page.status.name(), "fix": page.fix.name(), "since": page.since,
        "blame": page.blame, "message": page.message.text(), "help": page.help.text(),
        "cause": page.cause.as_ref().map(MessageTemplate::text),
        "help_for": help_for, "summary": page.summary(),
        "examples": page.examples.len(), "path": page.path,
    })
}

/// Prints all names, functions and operators that rule conditions can use.
pub(super) fn list_vocabulary(out: &mut impl io::Write, format: OutputFormat) -> Result<Exit, CommandError> {
    let words = Vocabulary::built_in();
    if format == OutputFormat::Json {
        let names = words.entries.iter().map(|entry| {
            json!({
                "name": entry.name, "type": entry.kind.name(), "unit": entry.unit, "meaning": entry.doc,
                "origin": entry.origin,
            })
        });
        let functions = words.functions.iter().map(|function| {
            json!({
                "name": function.name, "takes": function.takes, "gives": function.gives.name(),
                "signature": function.signature(), "meaning": function.doc, "example": function.example,
            })
        });
        let signs = words
            .signs
            .iter()
            .map(|sign| json!({ "operator": sign.sign, "signature": sign.form, "meaning": sign.doc }));
        let all = json!({
            "names": names.collect::<Vec<_>>(), "functions": functions.collect::<Vec<_>>(),
            "operators": signs.collect::<Vec<_>>(),
        });
        writeln!(out, "{all:#}")?;
        return Ok(Exit::Clean);
    }
    writeln!(out, "operators")?;
    for sign in words.signs {
        writeln!(out, "  {:<24}  {}", sign.form, sign.doc)?;
    }
    writeln!(out, "\nfunctions")?;
    for function in words.functions {
        writeln!(out, "  {}\n      {}\n      {}", function.signature(), function.doc, function.example)?;
    }
    writeln!(out, "\nnames")?;
    for entry in words.entries {
        let unit = if entry.unit.is_empty() { String::new() } else { format!("; {}", entry.unit) };
        writeln!(out, "  {}: {}{unit}", entry.name, entry.kind)?;
        writeln!(out, "      {}; from {}", entry.doc, entry.origin.join(", "))?;
    }
    Ok(Exit::Clean)
}
