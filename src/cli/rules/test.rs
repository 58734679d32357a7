//! `imagelint rules test`: judges the examples of rule pages and compares the findings with the expected ones.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::{fs, io};

use serde_json::{Value, json};

use crate::cli::args::OutputFormat;
use crate::cli::error::CommandError;
use crate::cli::exit::Exit;
use crate::cli::judging::{MAX_PAGE_BYTES, MAX_PAGES, page_errors};
use crate::cli::text_file::read_text;
use crate::judge::examples::{ExampleResult, ExpectedVerdict, check_page};
use crate::knowledge::Knowledge;
use crate::report::escape::escape_one_line;
use crate::report::phrases;
use crate::rules::{RuleBook, RulePage, is_rule_page};
use crate::text::source::SourceText;

/// A rule page with the results of its examples.
struct TestedPage<'a> {
    page: &'a RulePage,
    examples: Vec<ExampleResult>,
}

/// Reads the pages of files and folders, each file once; folders are searched recursively, without hidden ones.
fn read_pages(paths: &[PathBuf]) -> Result<Vec<(String, String)>, CommandError> {
    let mut found = BTreeSet::new();
    for path in paths {
        collect_page_paths(path, &mut found).map_err(|error| {
            let help = "help: imagelint rules new NAME DIR creates a page in a directory";
            CommandError::Message(format!("error: cannot read rules in {}: {error}\n{help}", path.display()))
        })?;
    }
    if found.len() > MAX_PAGES {
        return Err(CommandError::Message(format!("error: there are more than {MAX_PAGES} pages")));
    }
    let mut seen = BTreeSet::new();
    let once = found.into_iter().filter(|path| path.canonicalize().is_ok_and(|path| seen.insert(path)));
    once.map(|path| {
        let text = read_text(&path, MAX_PAGE_BYTES);
        let text = text.map_err(|error| {
            CommandError::Message(format!("error: cannot read the rule {}: {error}", path.display()))
        })?;
        Ok((path.display().to_string(), text))
    })
    .collect()
}

/// Adds the path of a page, or the paths of all pages in a folder; symbolic links to folders are not followed.
fn collect_page_paths(path: &Path, found: &mut BTreeSet<PathBuf>) -> io::Result<()> {
    if !fs::metadata(path)?.is_dir() {
        found.insert(path.to_path_buf());
        return Ok(());
    }
    for entry in fs::read_dir(path)? {
        let (entry, hidden) =
            entry.map(|entry| (entry.path(), entry.file_name().to_string_lossy().starts_with('.')))?;
        let is_folder = fs::symlink_metadata(&entry)?.is_dir();
        if is_folder && !hidden && found.len() <= MAX_PAGES {
            collect_page_paths(&entry, found)?;
        } else if !is_folder && is_rule_page(&entry.to_string_lossy()) {
            found.insert(entry);
        }
    }
    Ok(())
}

/// Runs `imagelint rules test` on the pages in files and folders, or on the built-in pages if none is passed.
pub(super) fn run(
    out: &mut impl io::Write,
    folders: &[PathBuf],
    verbose: bool,
    format: OutputFormat,
    knowledge: Knowledge,
) -> Result<Exit, CommandError> {
    let files = read_pages(folders)?;
    let given: BTreeSet<String> = files.iter().map(|(path, _)| path.clone()).collect();
    let book = RuleBook::with_replaced_pages(files).map_err(|errors| page_errors(&errors))?.with_preview();
    let own = |page: &&RulePage| folders.is_empty() || given.contains(&page.path);
    let test = |page| TestedPage { page, examples: check_page(page, &book, knowledge) };
    let tested: Vec<TestedPage<'_>> = book.pages().filter(own).map(test).collect();
    if tested.is_empty() {
        return Err(CommandError::Message("error: no rule page (*.md) found in the directory or below it".to_owned()));
    }
    match format {
        OutputFormat::Json => writeln!(out, "{:#}", results_json(&tested))?,
        OutputFormat::Human => print_results(out, &tested, verbose)?,
    }
    let any = |verdicts: &[ExpectedVerdict]| {
        tested.iter().flat_map(|page| &page.examples).any(|example| verdicts.contains(&example.verdict))
    };
    Ok(match () {
        () if any(&[ExpectedVerdict::Unreadable]) => Exit::Broken,
        () if any(&[ExpectedVerdict::Noisy, ExpectedVerdict::Missing]) => Exit::Found,
        () => Exit::Clean,
    })
}

/// Returns path and line of an example's input: `ours/x.md`, 40.
fn input_position(page: &RulePage, example: &ExampleResult) -> (String, usize) {
    let position = SourceText::new(page.path.clone(), page.text.clone()).position(example.at.start);
    (page.path.clone(), position.line)
}

/// Prints the results of all pages as text, with a summary.
fn print_results(out: &mut impl io::Write, tested: &[TestedPage<'_>], verbose: bool) -> io::Result<()> {
    for TestedPage { page, examples } in tested {
        let lacks: Vec<&str> = page.missing_sections().collect();
        if !lacks.is_empty() {
            writeln!(out, "note       {}: no `## {}`", escape_one_line(&page.path), lacks.join("`, `## "))?;
        }
        let whole = examples.iter().all(|example| example.verdict == ExpectedVerdict::Validated);
        if whole && !verbose {
            writeln!(out, "validated  {} ({} examples)", page.name, examples.len())?;
            continue;
        }
        if verbose {
            writeln!(out, "{}", page.name)?;
        }
        for example in examples.iter().filter(|example| verbose || example.verdict != ExpectedVerdict::Validated) {
            print_example(out, page, example)?;
        }
    }
    let count = |verdict| tested.iter().flat_map(|page| &page.examples).filter(|one| one.verdict == verdict).count();
    let all: usize = tested.iter().map(|page| page.examples.len()).sum();
    writeln!(
        out,
        "\n{} of {}: {} validated, {} noisy, {} missing, {} unreadable",
        phrases::pluralize(all, "example"),
        phrases::pluralize(tested.len(), "page"),
        count(ExpectedVerdict::Validated),
        count(ExpectedVerdict::Noisy),
        count(ExpectedVerdict::Missing),
        count(ExpectedVerdict::Unreadable),
    )
}

/// Prints the result of one example.
fn print_example(out: &mut impl io::Write, page: &RulePage, example: &ExampleResult) -> io::Result<()> {
    let (path, line) = input_position(page, example);
    let title = escape_one_line(&example.title);
    writeln!(out, "{:<10} {}:{line}: {title}", example.verdict.name(), escape_one_line(&path))?;
    for unexpected in &example.noisy {
        writeln!(out, "    unexpected: {unexpected}")?;
    }
    for expected in &example.missing {
        writeln!(out, "    expected but missing: {expected}")?;
    }
    if example.verdict != ExpectedVerdict::Validated && !example.note.is_empty() {
        writeln!(out, "    {}", escape_one_line(&example.note))?;
    }
    Ok(())
}

/// Returns the results of all pages as JSON.
fn results_json(tested: &[TestedPage<'_>]) -> Value {
    let of_example = |page: &RulePage, example: &ExampleResult| {
        let (path, line) = input_position(page, example);
        json!({
            "title": example.title, "path": path, "line": line, "verdict": example.verdict.name(),
            "noisy": example.noisy, "missing": example.missing, "note": example.note,
        })
    };
    let pages = tested.iter().map(|TestedPage { page, examples }| {
        let examples: Vec<Value> = examples.iter().map(|example| of_example(page, example)).collect();
        let lacks: Vec<&str> = page.missing_sections().collect();
        json!({ "rule": page.name, "lacks": lacks, "examples": examples })
    });
    json!({ "pages": pages.collect::<Vec<_>>() })
}
