//! `imagelint rules new`: creates a rule page from a skeleton.

use std::path::Path;
use std::{fs, io};

use crate::cli::error::{CommandError, render_diagnostic};
use crate::cli::exit::Exit;
use crate::judge::examples::page_template;
use crate::rules::{RuleBook, RulePage, Vocabulary};

/// Runs `imagelint rules new`; an existing file is not overwritten.
pub(super) fn run(out: &mut impl io::Write, name: &str, folder: &Path) -> Result<Exit, CommandError> {
    let path = folder.join(format!("{name}.md"));
    let text = page_template(name);
    // An invalid name is reported for the page.
    let page = RulePage::read(&format!("{name}.md"), &text, &Vocabulary::built_in());
    let page = page.map_err(|error| CommandError::Message(render_diagnostic(error.as_ref())))?;
    if let Some(other) = RuleBook::built_in().get(&page.name) {
        return Err(CommandError::Message(format!("error: the rule `{name}` already exists, in {}", other.path)));
    }
    let fail = |error: io::Error| CommandError::Message(format!("error: cannot write {}: {error}", path.display()));
    fs::create_dir_all(folder).map_err(fail)?;
    let mut file = fs::File::create_new(&path).map_err(fail)?;
    io::Write::write_all(&mut file, text.as_bytes()).map_err(fail)?;
    writeln!(out, "{}", path.display())?;
    writeln!(out, "edit it, then run: imagelint rules test {}", folder.display())?;
    Ok(Exit::Clean)
}
