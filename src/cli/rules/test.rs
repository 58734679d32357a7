//! The examples of pages, judged and told.

use std::io;
use std::path::PathBuf;

use serde_json::Value;
use serde_json::json;

use crate::cli::Failure;
use crate::cli::args::Format;
use crate::cli::exit::Exit;
use crate::cli::output::read_rules;
use crate::examples::Tried;
use crate::examples::Verdict;
use crate::examples::of_page;
use crate::knowledge::Knowledge;
use crate::report::escape::clean;
use crate::report::words;
use crate::rules::Page;
use crate::rules::RuleBook;
use crate::source::SourceText;

/// A page with its examples.
struct Tested<'a> {
    page: &'a Page,
    examples: Vec<Tried>,
}

/// Judges the examples of the pages in the folders, or of the built-in ones where none is given.
pub(super) fn run(
    out: &mut impl io::Write,
    folders: &[PathBuf],
    verbose: bool,
    format: Format,
    knowledge: Knowledge,
) -> Result<Exit, Failure> {
    let book = read_rules(folders)?.with_preview();
    let own = |page: &&Page| folders.is_empty() || RuleBook::built_in().get(&page.name).is_none();
    let test = |page| Tested { page, examples: of_page(page, &book, knowledge) };
    let tested: Vec<Tested<'_>> = book.pages().filter(own).map(test).collect();
    if tested.is_empty() {
        return Err(Failure::Said("error: there is no rule page (*.md) in the folders".to_owned()));
    }
    match format {
        Format::Json => writeln!(out, "{:#}", in_json(&tested))?,
        Format::Human => print(out, &tested, verbose)?,
    }
    let any = |verdicts: &[Verdict]| {
        tested.iter().flat_map(|page| &page.examples).any(|example| verdicts.contains(&example.verdict))
    };
    Ok(match () {
        () if any(&[Verdict::Unreadable]) => Exit::Broken,
        () if any(&[Verdict::Noisy, Verdict::Missing]) => Exit::Found,
        () => Exit::Clean,
    })
}

/// The place of an example's input: `ours/x.md:40`.
fn place(page: &Page, example: &Tried) -> (String, usize) {
    let position = SourceText::new(page.path.clone(), page.text.clone()).position(example.at.start);
    (page.path.clone(), position.line)
}

fn print(out: &mut impl io::Write, tested: &[Tested<'_>], verbose: bool) -> io::Result<()> {
    for Tested { page, examples } in tested {
        let lacks: Vec<&str> = page.sections_missing().collect();
        if !lacks.is_empty() {
            writeln!(out, "note       {}: no `## {}`", clean(&page.path), lacks.join("`, `## "))?;
        }
        let whole = examples.iter().all(|example| example.verdict == Verdict::Validated);
        if whole && !verbose {
            writeln!(out, "validated  {} ({} examples)", page.name, examples.len())?;
            continue;
        }
        if verbose {
            writeln!(out, "{}", page.name)?;
        }
        for example in examples.iter().filter(|example| verbose || example.verdict != Verdict::Validated) {
            tell(out, page, example)?;
        }
    }
    let count = |verdict| tested.iter().flat_map(|page| &page.examples).filter(|one| one.verdict == verdict).count();
    let all: usize = tested.iter().map(|page| page.examples.len()).sum();
    writeln!(
        out,
        "\n{} of {}: {} validated, {} noisy, {} missing, {} unreadable",
        words::count(all, "example"),
        words::count(tested.len(), "page"),
        count(Verdict::Validated),
        count(Verdict::Noisy),
        count(Verdict::Missing),
        count(Verdict::Unreadable),
    )
}

fn tell(out: &mut impl io::Write, page: &Page, example: &Tried) -> io::Result<()> {
    let (path, line) = place(page, example);
    let title = clean(&example.title);
    writeln!(out, "{:<10} {}:{line}: {title}", example.verdict.word(), clean(&path))?;
    for said in &example.noisy {
        writeln!(out, "    said and not expected: {said}")?;
    }
    for wanted in &example.missing {
        writeln!(out, "    expected and not said: {wanted}")?;
    }
    if example.verdict != Verdict::Validated && !example.note.is_empty() {
        writeln!(out, "    {}", clean(&example.note))?;
    }
    Ok(())
}

fn in_json(tested: &[Tested<'_>]) -> Value {
    let of_example = |page: &Page, example: &Tried| {
        let (path, line) = place(page, example);
        json!({
            "title": example.title, "path": path, "line": line, "verdict": example.verdict.word(),
            "noisy": example.noisy, "missing": example.missing, "note": example.note,
        })
    };
    let pages = tested.iter().map(|Tested { page, examples }| {
        let examples: Vec<Value> = examples.iter().map(|example| of_example(page, example)).collect();
        let lacks: Vec<&str> = page.sections_missing().collect();
        json!({ "rule": page.name, "lacks": lacks, "examples": examples })
    });
    json!({ "pages": pages.collect::<Vec<_>>() })
}
