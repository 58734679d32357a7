//! `imagelint knowledge`: what the tables say, with source and date; and tables of a user's own.

use std::fs;
use std::io;
use std::io::Write as _;
use std::path::Path;
use std::path::PathBuf;

use serde_json::Map;
use serde_json::Value;
use serde_json::json;

use crate::cli::Failure;
use crate::cli::args::Format;
use crate::cli::args::KnowledgeArgs;
use crate::cli::exit::Exit;
use crate::cli::render;
use crate::cli::streams;
use crate::cli::texts::read_text;
use crate::knowledge::Answer;
use crate::knowledge::Knowledge;
use crate::knowledge::SUBJECTS;
use crate::knowledge::Shown;
use crate::knowledge::ShownRow;
use crate::knowledge::heading;
use crate::nearest::nearest;
use crate::nearest::unread;
use crate::overlay;
use crate::report::escape::clean;
use crate::source::SourceText;

/// A table file is read no further than this.
const LARGEST: u64 = 8 * 1024 * 1024;

/// The built-in tables, with those of a folder where one is named.
pub(crate) fn load(folder: Option<&Path>) -> Result<Knowledge, Failure> {
    let Some(folder) = folder else { return Ok(Knowledge::built_in()) };
    let fail = |path: &Path, error: io::Error| {
        let why = match error.kind() {
            io::ErrorKind::NotADirectory => "not a directory; pass a directory of tables (*.toml)".to_owned(),
            _ => unread(path, &error, "a directory of tables (*.toml)"),
        };
        Failure::Said(format!("error: cannot read the compatibility database in {}: {why}", path.display()))
    };
    let entries = fs::read_dir(folder).map_err(|error| fail(folder, error))?;
    let paths = entries.map(|entry| entry.map(|entry| entry.path())).collect::<Result<Vec<PathBuf>, _>>();
    let mut paths = paths.map_err(|error| fail(folder, error))?;
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "toml"));
    paths.sort();
    if paths.is_empty() {
        return Err(Failure::Said(format!("error: {} contains no table (*.toml)", folder.display())));
    }
    let mut files = Vec::new();
    for path in &paths {
        let text = read_text(path, LARGEST).map_err(|error| {
            Failure::Said(format!("error: cannot read the compatibility database in {}: {error}", path.display()))
        })?;
        files.push(SourceText::new(path.display().to_string(), text));
    }
    overlay::with_files(Knowledge::built_in(), &files)
        .map_err(|all| Failure::Said(all.iter().map(|file| render(file.as_ref())).collect::<Vec<_>>().join("\n")))
}

/// Runs it.
pub(crate) fn run(options: &KnowledgeArgs, knowledge: Knowledge) -> Result<Exit, Failure> {
    let mut out = streams::out();
    let Some(subject) = &options.subject else {
        overview(&mut out, knowledge, options.format)?;
        return Ok(Exit::Clean);
    };
    let key = options.key.join(" ");
    if key.trim().is_empty() {
        return Err(Failure::Said(format!(
            "error: no {subject} given; for example: imagelint knowledge {}",
            example(subject)
        )));
    }
    let Some(answer) = knowledge.ask(subject, &key) else {
        let hint = nearest(subject, SUBJECTS.iter().copied()).map_or_else(
            || format!("expected one of {}", SUBJECTS.join(", ")),
            |word| format!("did you mean `{word}`?"),
        );
        return Err(Failure::Said(format!("error: the compatibility database has no kind `{subject}`; {hint}")));
    };
    match options.format {
        Format::Json => writeln!(out, "{:#}", of_answer(knowledge, subject, &key, &answer))?,
        Format::Human => print(&mut out, knowledge, subject, &key, &answer)?,
    }
    Ok(if answer.rows.is_empty() { Exit::Nothing } else { Exit::Clean })
}

fn example(subject: &str) -> &'static str {
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

fn overview(out: &mut impl io::Write, knowledge: Knowledge, format: Format) -> io::Result<()> {
    let tables = knowledge.summary();
    if format == Format::Json {
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
        return writeln!(out, "{:#}", json!({ "date": knowledge.newest_date().to_string(), "tables": tables }));
    }
    writeln!(out, "compatibility database of {}\n", knowledge.newest_date())?;
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
    writeln!(out, "\nquery: imagelint knowledge {} KEY", SUBJECTS.join("|"))
}

fn print(out: &mut impl io::Write, knowledge: Knowledge, subject: &str, key: &str, answer: &Answer) -> io::Result<()> {
    for (at, row) in answer.rows.iter().enumerate() {
        if at > 0 {
            writeln!(out)?;
        }
        print_row(out, row)?;
    }
    if answer.rows.is_empty() {
        writeln!(out, "no {subject} `{}` in the compatibility database of {}", clean(key), knowledge.newest_date())?;
        if answer.near.is_empty() {
            writeln!(
                out,
                "`imagelint knowledge` lists the tables, `imagelint knowledge table NAME` the entries of one"
            )?;
        }
    }
    if let Some(note) = &answer.note {
        writeln!(out, "{}{}", if answer.rows.is_empty() { "" } else { "\n" }, clean(note))?;
    }
    if !answer.near.is_empty() {
        writeln!(out, "nearest: {}", answer.near.join(", "))?;
    }
    Ok(())
}

fn print_row(out: &mut impl io::Write, row: &ShownRow) -> io::Result<()> {
    writeln!(out, "{}", clean(&heading(row.info)))?;
    let said = row.fields.iter().filter_map(|(name, value)| Some((*name, words(value)?)));
    for (name, value) in said {
        writeln!(out, "  {name:<20} {}", clean(&value))?;
    }
    let info = row.info;
    writeln!(out, "  {:<20} {}, {}: {}", "known", info.how.word(), info.checked, clean(info.source))
}

fn words(value: &Shown) -> Option<String> {
    Some(match value {
        Shown::Nothing => return None,
        Shown::Text(text) => text.clone(),
        Shown::Number(number) => number.to_string(),
        Shown::Flag(flag) => if *flag { "yes" } else { "no" }.to_owned(),
        Shown::List(items) if items.is_empty() => return None,
        Shown::List(items) => items.iter().filter_map(words).collect::<Vec<_>>().join(", "),
        Shown::Map(entries) => {
            let said = entries.iter().filter_map(|(name, value)| Some(format!("{name} = {}", words(value)?)));
            said.collect::<Vec<_>>().join(" ")
        }
    })
}

fn of_answer(knowledge: Knowledge, subject: &str, key: &str, answer: &Answer) -> Value {
    json!({
        "date": knowledge.newest_date().to_string(),
        "subject": subject,
        "key": key,
        "rows": answer.rows.iter().map(of_row).collect::<Vec<_>>(),
        "nearest": answer.near,
        "note": answer.note,
    })
}

fn of_row(row: &ShownRow) -> Value {
    let fields: Map<String, Value> =
        row.fields.iter().map(|(name, value)| ((*name).to_owned(), of_value(value))).collect();
    json!({
        "table": row.info.table, "row": row.info.row, "fields": fields,
        "source": row.info.source, "checked": row.info.checked.to_string(), "how": row.info.how.word(),
    })
}

fn of_value(value: &Shown) -> Value {
    match value {
        Shown::Nothing => Value::Null,
        Shown::Text(text) => Value::from(text.as_str()),
        Shown::Number(number) => Value::from(*number),
        Shown::Flag(flag) => Value::from(*flag),
        Shown::List(items) => items.iter().map(of_value).collect(),
        Shown::Map(entries) => {
            Value::Object(entries.iter().map(|(name, value)| (name.clone(), of_value(value))).collect())
        }
    }
}
