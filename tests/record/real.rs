//! Real Dockerfiles with their contexts, in a folder outside the repository.

use std::error::Error;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use sha2::{Digest as _, Sha256};

use crate::case::files_below;
use crate::cases::{Case, FLEET, Folder, is_input};

/// The files that the record covers: a digest and a path on each line, as `sha256sum` prints them; `#` begins a
/// comment, such as the commit of a repository.
const LIST: &str = "tests/record/real.list";

/// The list of a folder: every file in it.
pub(crate) fn listed(folder: &Path) -> Result<String, Box<dyn Error>> {
    let mut text = String::new();
    for path in files_below(folder) {
        let name = path.strip_prefix(folder)?.to_string_lossy().into_owned();
        writeln!(text, "{}  {name}", digest(&fs::read(&path)?))?;
    }
    Ok(text)
}

fn digest(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// A case for each Dockerfile of the list. Every file of the list has to be in the folder, as it was.
pub(crate) fn cases(folder: &Path) -> Result<Vec<Case>, Box<dyn Error>> {
    let mut found = Vec::new();
    let list = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(LIST))?;
    for line in list.lines().filter(|line| !line.starts_with('#')) {
        let (expected, name) = line.split_once("  ").ok_or_else(|| format!("not a digest and a path: {line}"))?;
        let bytes = fs::read(folder.join(name)).map_err(|error| format!("{name}: {error}"))?;
        if digest(&bytes) != expected {
            return Err(format!("{name} is not the file of the list").into());
        }
        if is_input(name) {
            // The first folder is the repository, which is the context.
            let (repository, input) = name.split_once('/').ok_or_else(|| format!("{name} is in no folder"))?;
            found.push(Case {
                name: format!("real/{name}"),
                input: input.to_owned(),
                folder: Folder::Existing(folder.join(repository)),
                fleet: FLEET.to_owned(),
                arguments: Vec::new(),
                strangers: true,
            });
        }
    }
    Ok(found)
}
