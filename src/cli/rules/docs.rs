//! `imagelint rules docs`: writes the rule pages as the source of a web book (mdBook).

use std::path::Path;
use std::{fs, io};

use crate::cli::error::CommandError;
use crate::cli::exit::Exit;
use crate::rules::{RuleBook, web_book};

/// Runs `imagelint rules docs`.
pub(super) fn run(out: &mut impl io::Write, folder: &Path, book: &RuleBook) -> Result<Exit, CommandError> {
    let files = web_book(book);
    for (path, text) in &files {
        let path = folder.join(path);
        let fail = |error: io::Error| CommandError::Message(format!("error: cannot write {}: {error}", path.display()));
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).map_err(fail)?;
        }
        fs::write(&path, text).map_err(fail)?;
    }
    writeln!(out, "{} files; build the book with: mdbook build {}", files.len(), folder.display())?;
    Ok(Exit::Clean)
}
