//! The examples of pages, judged and told.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::Path;
use std::path::PathBuf;

use serde_json::Value;
use serde_json::json;

use crate::cli::Failure;
use crate::cli::args::Format;
use crate::cli::exit::Exit;
use crate::cli::output::LONGEST_PAGE;
use crate::cli::output::MOST_PAGES;
use crate::cli::output::unreadable;
use crate::cli::texts::read_text;
use crate::examples::Tried;
use crate::examples::Verdict;
use crate::examples::of_page;
use crate::knowledge::Knowledge;
use crate::report::escape::clean;
use crate::report::words;
use crate::rules::Page;
use crate::rules::RuleBook;
use crate::rules::is_page;
use crate::source::SourceText;

/// A page with its examples.
struct Tested<'a> {
    page: &'a Page,
    examples: Vec<Tried>,
}

/// The pages of files and folders, each file once. Folders are searched with all that is below them, but for hidden ones.
fn files(paths: &[PathBuf]) -> Result<Vec<(String, String)>, Failure> {
    let mut found = BTreeSet::new();
    for path in paths {
        search(path, &mut found).map_err(|error| {
            let help = "help: imagelint rules new NAME DIR creates a page in a directory";
            Failure::Said(format!("error: cannot read rules in {}: {error}\n{help}", path.display()))
        })?;
    }
    if found.len() > MOST_PAGES {
        return Err(Failure::Said(format!("error: there are more than {MOST_PAGES} pages")));
    }
    let mut seen = BTreeSet::new();
    let once = found.into_iter().filter(|path| path.canonicalize().is_ok_and(|path| seen.insert(path)));
    once.map(|path| {
        let text = read_text(&path, LONGEST_PAGE);
        let text =
            text.map_err(|error| Failure::Said(format!("error: cannot read the rule {}: {error}", path.display())))?;
        Ok((path.display().to_string(), text))
    })
    .collect()
}

/// Adds a page, or the pages of a folder; a link to a folder below is not followed.
fn search(path: &Path, found: &mut BTreeSet<PathBuf>) -> io::Result<()> {
    if !fs::metadata(path)?.is_dir() {
        found.insert(path.to_path_buf());
        return Ok(());
    }
    for entry in fs::read_dir(path)? {
        let (entry, hidden) =
            entry.map(|entry| (entry.path(), entry.file_name().to_string_lossy().starts_with('.')))?;
        let is_folder = fs::symlink_metadata(&entry)?.is_dir();
        if is_folder && !hidden && found.len() <= MOST_PAGES {
            search(&entry, found)?;
        } else if !is_folder && is_page(&entry.to_string_lossy()) {
            found.insert(entry);
        }
    }
    Ok(())
}

/// Judges the examples of the pages in files and folders, or of the built-in ones if none is given. A given page replaces
/// the built-in one of its name.
pub(super) fn run(
    out: &mut impl io::Write,
    folders: &[PathBuf],
    verbose: bool,
    format: Format,
    knowledge: Knowledge,
) -> Result<Exit, Failure> {
    let files = files(folders)?;
    let given: BTreeSet<String> = files.iter().map(|(path, _)| path.clone()).collect();
    let book = RuleBook::replaced_by(files).map_err(|errors| unreadable(&errors))?.with_preview();
    let own = |page: &&Page| folders.is_empty() || given.contains(&page.path);
    let test = |page| Tested { page, examples: of_page(page, &book, knowledge) };
    let tested: Vec<Tested<'_>> = book.pages().filter(own).map(test).collect();
    if tested.is_empty() {
        return Err(Failure::Said("error: no rule page (*.md) found in the directory or below it".to_owned()));
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
        writeln!(out, "    unexpected: {said}")?;
    }
    for wanted in &example.missing {
        writeln!(out, "    expected but missing: {wanted}")?;
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
