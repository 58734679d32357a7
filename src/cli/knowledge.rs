//! `imagelint knowledge`: prints entries of the compatibility tables with source and date, and loads additional
//! tables of the user.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::{fs, io};

use serde_json::{Map, Value, json};

use crate::cli::args::{KnowledgeArgs, OutputFormat};
use crate::cli::error::{CommandError, render_diagnostic};
use crate::cli::exit::Exit;
use crate::cli::streams;
use crate::cli::text_file::read_text;
use crate::knowledge::{FieldValue, Knowledge, KnowledgeAnswer, QUERY_SUBJECTS, ShownRow, overlay, row_heading};
use crate::report::escape::escape_one_line;
use crate::text::nearest::{nearest_word, unreadable_path_message};
use crate::text::source::SourceText;

/// Largest size of a table file in bytes.
const MAX_TABLE_BYTES: u64 = 8 * 1024 * 1024;

/// Loads the built-in compatibility tables, overlaid with the tables of a folder if one is passed.
pub(crate) fn load_knowledge(folder: Option<&Path>) -> Result<Knowledge, CommandError> {
    let Some(folder) = folder else { return Ok(Knowledge::built_in()) };
    let fail = |path: &Path, error: io::Error| {
        let why = match error.kind() {
            io::ErrorKind::NotADirectory => "not a directory; pass a directory of tables (*.toml)".to_owned(),
            _ => unreadable_path_message(path, &error, "a directory of tables (*.toml)"),
        };
        CommandError::Message(format!("error: cannot read the compatibility database in {}: {why}", path.display()))
    };
    let entries = fs::read_dir(folder).map_err(|error| fail(folder, error))?;
    let paths = entries.map(|entry| entry.map(|entry| entry.path())).collect::<Result<Vec<PathBuf>, _>>();
    let mut paths = paths.map_err(|error| fail(folder, error))?;
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "toml"));
    paths.sort();
    if paths.is_empty() {
        return Err(CommandError::Message(format!("error: {} contains no table (*.toml)", folder.display())));
    }
    let mut files = Vec::new();
    for path in &paths {
        let text = read_text(path, MAX_TABLE_BYTES).map_err(|error| {
            CommandError::Message(format!(
                "error: cannot read the compatibility database in {}: {error}",
                path.display()
            ))
        })?;
        files.push(SourceText::new(path.display().to_string(), text));
    }
    overlay::with_files(Knowledge::built_in(), &files).map_err(|all| {
        CommandError::Message(all.iter().map(|file| render_diagnostic(file.as_ref())).collect::<Vec<_>>().join("\n"))
    })
}

/// Runs `imagelint knowledge`.
pub(crate) fn run(options: &KnowledgeArgs, knowledge: Knowledge) -> Result<Exit, CommandError> {
    let mut out = streams::stdout();
    let Some(subject) = &options.subject else {
        print_overview(&mut out, knowledge, options.format)?;
        return Ok(Exit::Clean);
    };
    let key = options.key.join(" ");
    if key.trim().is_empty() {
        return Err(CommandError::Message(format!(
            "error: no {subject} given; for example: imagelint knowledge {}",
            example_query(subject)
        )));
    }
    let Some(answer) = knowledge.query(subject, &key) else {
        let hint = nearest_word(subject, QUERY_SUBJECTS.iter().copied()).map_or_else(
            || format!("expected one of {}", QUERY_SUBJECTS.join(", ")),
            |word| format!("did you mean `{word}`?"),
        );
        return Err(CommandError::Message(format!(
            "error: the compatibility database has no kind `{subject}`; {hint}"
        )));
    };
    match options.format {
        OutputFormat::Json => writeln!(out, "{:#}", answer_json(knowledge, subject, &key, &answer))?,
        OutputFormat::Human => print_answer(&mut out, knowledge, subject, &key, &answer)?,
    }
    Ok(if answer.rows.is_empty() { Exit::Nothing } else { Exit::Clean })
}

/// Returns an example query for a subject, used in error messages.
fn example_query(subject: &str) -> &'static str {
    match subject {
        "gpu" => "gpu A100",
        "driver" => "driver 535",
        "cuda" => "cuda 12.4",
        "torch" => "torch 2.6",
        "base" => "base nvidia/cuda:12.4.1-base-ubuntu22.04",
        "toolkit" => "toolkit 1.17.4",
        "error" => "error 804",
        "framework" => "framework tensorflow 2.15",
        "requirement" => "requirement 11.2.2",
        _ => "table gpus",
    }
}

/// Prints the list of tables with their number of entries and newest source.
fn print_overview(out: &mut impl io::Write, knowledge: Knowledge, format: OutputFormat) -> io::Result<()> {
    let tables = knowledge.table_summaries();
    if format == OutputFormat::Json {
        let tables: Vec<Value> = tables
            .iter()
            .map(|table| {
                let [measured, documented, inferred, memory] = table.by_how;
                json!({
                    "table": table.name, "rows": table.rows, "newest": table.newest.to_string(),
                    "measured": measured, "documented": documented, "inferred": inferred, "memory": memory,
                })
            })
            .collect();
        return writeln!(out, "{:#}", json!({ "date": knowledge.newest_source_date().to_string(), "tables": tables }));
    }
    writeln!(out, "compatibility database of {}\n", knowledge.newest_source_date())?;
    writeln!(
        out,
        "{:<20} {:>7}  {:>8} {:>10} {:>8} {:>6}  newest source",
        "table", "entries", "measured", "documented", "inferred", "memory"
    )?;
    for table in &tables {
        let [measured, documented, inferred, memory] = table.by_how;
        writeln!(
            out,
            "{:<20} {:>7}  {measured:>8} {documented:>10} {inferred:>8} {memory:>6}  {}",
            table.name, table.rows, table.newest
        )?;
    }
    writeln!(out, "\nquery: imagelint knowledge {} KEY", QUERY_SUBJECTS.join("|"))
}

/// Prints the answer to a query as text.
fn print_answer(
    out: &mut impl io::Write,
    knowledge: Knowledge,
    subject: &str,
    key: &str,
    answer: &KnowledgeAnswer,
) -> io::Result<()> {
    for (at, row) in answer.rows.iter().enumerate() {
        if at > 0 {
            writeln!(out)?;
        }
        print_row(out, row)?;
    }
    if answer.rows.is_empty() {
        writeln!(
            out,
            "no {subject} `{}` in the compatibility database of {}",
            escape_one_line(key),
            knowledge.newest_source_date()
        )?;
        if answer.near.is_empty() {
            writeln!(
                out,
                "`imagelint knowledge` lists the tables, `imagelint knowledge table NAME` the entries of one"
            )?;
        }
    }
    if let Some(note) = &answer.note {
        writeln!(out, "{}{}", if answer.rows.is_empty() { "" } else { "\n" }, escape_one_line(note))?;
    }
    if !answer.near.is_empty() {
        writeln!(out, "nearest: {}", answer.near.join(", "))?;
    }
    Ok(())
}

/// Prints one table entry with its fields and its source.
fn print_row(out: &mut impl io::Write, row: &ShownRow) -> io::Result<()> {
    writeln!(out, "{}", escape_one_line(&row_heading(row.info)))?;
    let field_texts = row.fields.iter().filter_map(|(name, value)| Some((*name, value_text(value)?)));
    for (name, value) in field_texts {
        writeln!(out, "  {name:<20} {}", escape_one_line(&value))?;
    }
    let info = row.info;
    writeln!(out, "  {:<20} {}, {}: {}", "known", info.how.name(), info.checked, escape_one_line(info.source))
}

/// Returns a field value as text, `None` if it is empty.
fn value_text(value: &FieldValue) -> Option<String> {
    Some(match value {
        FieldValue::Nothing => return None,
        FieldValue::Text(text) => text.clone(),
        FieldValue::Number(number) => number.to_string(),
        FieldValue::Flag(flag) => if *flag { "yes" } else { "no" }.to_owned(),
        FieldValue::List(items) if items.is_empty() => return None,
        FieldValue::List(items) => items.iter().filter_map(value_text).collect::<Vec<_>>().join(", "),
        FieldValue::Map(entries) => {
            let pairs = entries.iter().filter_map(|(name, value)| Some(format!("{name} = {}", value_text(value)?)));
            pairs.collect::<Vec<_>>().join(" ")
        }
    })
}

/// Returns the answer to a query as JSON.
fn answer_json(knowledge: Knowledge, subject: &str, key: &str, answer: &KnowledgeAnswer) -> Value {
    json!({
        "date": knowledge.newest_source_date().to_string(),
        "subject": subject,
        "key": key,
        "rows": answer.rows.iter().map(row_json).collect::<Vec<_>>(),
        "nearest": answer.near,
        "note": answer.note,
    })
}

/// Returns one table entry as JSON.
fn row_json(row: &ShownRow) -> Value {
    let fields: Map<String, Value> =
        row.fields.iter().map(|(name, value)| ((*name).to_owned(), value_json(value))).collect();
    json!({
        "table": row.info.table, "row": row.info.row, "fields": fields,
        "source": row.info.source, "checked": row.info.checked.to_string(), "how": row.info.how.name(),
    })
}

/// Returns a field value as JSON.
fn value_json(value: &FieldValue) -> Value {
    match value {
        FieldValue::Nothing => Value::Null,
        FieldValue::Text(text) => Value::from(text.as_str()),
        FieldValue::Number(number) => Value::from(*number),
        FieldValue::Flag(flag) => Value::from(*flag),
        FieldValue::List(items) => items.iter().map(value_json).collect(),
        FieldValue::Map(entries) => {
            Value::Object(entries.iter().map(|(name, value)| (name.clone(), value_json(value))).collect())
        }
    }
}
