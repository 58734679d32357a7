//! A page to start from.

use std::fs;
use std::io;
use std::path::Path;

use crate::cli::Failure;
use crate::cli::exit::Exit;
use crate::cli::render;
use crate::examples::skeleton;
use crate::rules::Page;
use crate::rules::RuleBook;
use crate::rules::Vocabulary;

/// Writes it; a file that is there is left alone.
pub(super) fn run(out: &mut impl io::Write, name: &str, folder: &Path) -> Result<Exit, Failure> {
    let path = folder.join(format!("{name}.md"));
    let text = skeleton(name);
    // The page itself says where the name is none.
    let page = Page::read(&format!("{name}.md"), &text, &Vocabulary::built_in());
    let page = page.map_err(|error| Failure::Said(render(error.as_ref())))?;
    if let Some(other) = RuleBook::built_in().get(&page.name) {
        return Err(Failure::Said(format!("error: the rule `{name}` already exists, in {}", other.path)));
    }
    let fail = |error: io::Error| Failure::Said(format!("error: cannot write {}: {error}", path.display()));
    fs::create_dir_all(folder).map_err(fail)?;
    let mut file = fs::File::create_new(&path).map_err(fail)?;
    io::Write::write_all(&mut file, text.as_bytes()).map_err(fail)?;
    writeln!(out, "{}", path.display())?;
    writeln!(out, "edit it, then run: imagelint rules test {}", folder.display())?;
    Ok(Exit::Clean)
}
