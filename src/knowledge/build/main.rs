//! Build script: converts `rules/knowledge/*.toml` into Rust statics, so that no TOML is parsed at start-up.

#![expect(clippy::print_stdout, reason = "how a build script talks to cargo")]

#[macro_use]
mod package_tables;
#[macro_use]
mod tables;
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

/// Returns the source of `tables.rs`, or an error that names the file and the row.
fn generate(folder: &Path) -> Result<String, String> {
    refuse_unknown_files(folder)?;
    let mut code = String::from(emit::HEAD);
    for table in schema::TABLES {
        let path = folder.join(emit::file_name(table));
        let text = fs::read_to_string(&path).map_err(|error| format!("{}: {error}", emit::file_name(table)))?;
        let parsed: emit::File =
            toml::from_str(&text).map_err(|error| format!("{}: {error}", emit::file_name(table)))?;
        code.push_str(&emit::table(table, &parsed)?);
    }
    code.push_str(&emit::set());
    Ok(code)
}

/// Returns an error if the directory contains a file that is not a known table.
fn refuse_unknown_files(folder: &Path) -> Result<(), String> {
    let entries = fs::read_dir(folder).map_err(|error| format!("rules/knowledge: {error}"))?;
    for entry in entries {
        let name = entry.map_err(|error| format!("rules/knowledge: {error}"))?.file_name();
        if !schema::TABLES.iter().any(|table| name == *emit::file_name(table)) {
            return Err(format!("rules/knowledge/{}: unknown table", name.display()));
        }
    }
    Ok(())
}
