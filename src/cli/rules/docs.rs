//! The pages as the source of a web book.

use std::fs;
use std::io;
use std::path::Path;

use crate::cli::Failure;
use crate::cli::exit::Exit;
use crate::rules::RuleBook;
use crate::rules::web_book;

/// Writes it.
pub(super) fn run(out: &mut impl io::Write, folder: &Path, book: &RuleBook) -> Result<Exit, Failure> {
    let files = web_book(book);
    for (path, text) in &files {
        let path = folder.join(path);
        let fail = |error: io::Error| Failure::Said(format!("error: cannot write {}: {error}", path.display()));
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).map_err(fail)?;
        }
        fs::write(&path, text).map_err(fail)?;
    }
    writeln!(out, "{} files; build the book with: mdbook build {}", files.len(), folder.display())?;
    Ok(Exit::Clean)
}
