//! Turns `rules/knowledge/*.toml` into ready-made statics, so that no TOML is parsed at start-up.

#![expect(clippy::print_stdout, reason = "how a build script talks to cargo")]

mod emit;
mod schema;

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=rules/knowledge");
    println!("cargo::rerun-if-changed=src/knowledge/build");
    let folder = PathBuf::from(std::env::var("CARGO_MANIFEST_DIR")?).join("rules/knowledge");
    let out = PathBuf::from(std::env::var("OUT_DIR")?).join("tables.rs");
    match generate(&folder) {
        Ok(code) => Ok(fs::write(out, code)?),
        Err(message) => {
            for line in message.lines() {
                println!("cargo::error={line}");
            }
            Err(message.into())
        }
    }
}

/// The text of `tables.rs`, or what is wrong with which row of which file.
fn generate(folder: &Path) -> Result<String, String> {
    refuse_unknown_files(folder)?;
    let mut code = String::from(emit::HEAD);
    for table in schema::TABLES {
        let path = folder.join(table.file_name());
        let text = fs::read_to_string(&path).map_err(|error| format!("{}: {error}", table.file_name()))?;
        let parsed: schema::File = toml::from_str(&text).map_err(|error| format!("{}: {error}", table.file_name()))?;
        code.push_str(&emit::table(table, &parsed)?);
    }
    Ok(code)
}

fn refuse_unknown_files(folder: &Path) -> Result<(), String> {
    let entries = fs::read_dir(folder).map_err(|error| format!("rules/knowledge: {error}"))?;
    for entry in entries {
        let name = entry.map_err(|error| format!("rules/knowledge: {error}"))?.file_name();
        if !schema::TABLES.iter().any(|table| name == *table.file_name()) {
            return Err(format!("rules/knowledge/{}: no such table is known to the build", name.display()));
        }
    }
    Ok(())
}
