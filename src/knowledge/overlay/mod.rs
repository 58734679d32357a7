//! Knowledge tables of the user: rows that extend or replace the built-in ones, in the same form.
//!
//! A file has the name of a table, such as `gpus.toml`. A row with the key of a built-in row takes its place.
//! A row that does not say how it is known counts as from memory, and so never decides an error.

mod field;
mod rows;

#[cfg(test)]
mod tests;

use crate::knowledge::Knowledge;
use crate::knowledge::overlay::rows::merge;
use crate::knowledge::toml_reader::Problems;
use crate::text::source::SourceText;

/// Returns the knowledge with the rows of `files` in addition to or instead of those of `base`.
///
/// Its tables live as long as the process: read them once.
pub fn with_files(base: Knowledge, files: &[SourceText]) -> Result<Knowledge, Vec<Box<Problems>>> {
    let mut tables = *base.tables();
    let problems: Vec<_> = files.iter().filter_map(|file| merge(&mut tables, file).err()).collect();
    if problems.is_empty() { Ok(Knowledge::from_tables(Box::leak(Box::new(tables)))) } else { Err(problems) }
}
