//! Reads the rows of a knowledge file, and merges them into their table.

use jiff::civil::Date;
use toml::de::DeTable;

use crate::knowledge::overlay::field::{Field, leak_text};
use crate::knowledge::schema::{HOW, Kind, PROVENANCE, TABLES};
use crate::knowledge::toml_reader::{Problems, Reader, Value, entries, span_of};
use crate::knowledge::{How, Row, RowInfo, Tables, compare_natural};
use crate::text::source::{SourceText, Span};

/// The default provenance of the rows of a file.
#[derive(Clone, Copy)]
struct Head {
    source: &'static str,
    checked: Option<Date>,
    how: How,
}

/// A TOML table from which a row is read.
struct RawRow<'r, 't, 'i> {
    reader: &'r mut Reader,
    table: &'t DeTable<'i>,
    span: Span,
}

impl RawRow<'_, '_, '_> {
    /// Reads a field, and reports it if it is missing but required.
    fn field<T: Field>(&mut self, key: &str, kind: Kind) -> Option<T> {
        if let Some(value) = self.table.get(key) {
            return T::read(self.reader, key, kind, value);
        }
        let absent = T::value_if_missing(kind);
        if absent.is_none() {
            self.reader.report(self.span, format!("the entry has no `{key}`"), None);
        }
        absent
    }

    /// Reads a field with the kind that the schema of the table defines.
    fn own_field<T: Field>(&mut self, table: &str, key: &str) -> Option<T> {
        let own = TABLES.iter().filter(|known| known.name == table).flat_map(|known| known.fields);
        let (_, kind) = own.copied().find(|(field, _)| *field == key)?;
        self.field(key, kind)
    }

    /// Reads the provenance of the row.
    fn info(&mut self, table: &'static str, head: Head) -> Option<RowInfo> {
        let key = TABLES.iter().find(|known| known.name == table).map_or(&[][..], |known| known.key);
        let source: Option<&str> = self.field("source", Kind::OptStr)?;
        let checked: Option<Date> = self.field("checked", Kind::OptDay)?;
        let how: Option<How> = self.field("how", Kind::Variant("How", HOW))?;
        if checked.or(head.checked).is_none() {
            let help = "set the date of the last check in the entry or in the header of the file: checked = 2026-11-21";
            self.reader.report(self.span, "the entry has no `checked`", Some(help.to_owned()));
        }
        Some(RowInfo {
            table,
            row: leak_text(self.key(key)),
            source: source.unwrap_or(head.source),
            checked: checked.or(head.checked)?,
            how: how.unwrap_or(head.how),
        })
    }

    /// Returns the key of the row: the text of the fields that identify it.
    fn key(&self, fields: &[&str]) -> String {
        let words = |value: &Value<'_>| match value.get_ref() {
            toml::de::DeValue::String(text) => text.to_string(),
            toml::de::DeValue::Integer(number) => number.as_str().to_owned(),
            toml::de::DeValue::Boolean(flag) => flag.to_string(),
            toml::de::DeValue::Datetime(day) => day.to_string(),
            toml::de::DeValue::Array(items) => {
                items.iter().filter_map(|item| item.get_ref().as_str()).collect::<Vec<_>>().join(" ")
            }
            _ => String::new(),
        };
        fields.iter().filter_map(|field| self.table.get(*field)).map(words).collect::<Vec<_>>().join(" ")
    }
}

/// A row type that can be read from TOML.
trait ReadRow: Row {
    /// Reads a row.
    fn read(row: &mut RawRow<'_, '_, '_>, head: Head) -> Option<Self>;
}

macro_rules! read_rows {
    ($(
        $(#[$meta:meta])*
        $name:ident: $row:ident by [$($key:ident),*] {
            $($(#[$field_meta:meta])* $field:ident: $kind:ident $(($enum:ident))?,)*
        }
    )*) => {
        $(impl ReadRow for crate::knowledge::$row {
            fn read(row: &mut RawRow<'_, '_, '_>, head: Head) -> Option<Self> {
                let info = row.info(stringify!($name), head);
                $(let $field = row.own_field(stringify!($name), stringify!($field));)*
                Some(Self { info: info?, $($field: $field?),* })
            }
        })*

        /// Puts the rows of a file into their table.
        pub(super) fn merge(tables: &mut Tables, file: &SourceText) -> Result<(), Box<Problems>> {
            let mut reader = Reader::default();
            let name = file.name().rsplit(['/', '\\']).next().unwrap_or_default();
            let parsed = reader.parse(file);
            if reader.is_clean() {
                let (head, rows) = outline(&mut reader, file, parsed.get_ref());
                let table = TABLES.iter().map(|table| table.name).find(|table| name == format!("{table}.toml"));
                match table {
                    $(Some(stringify!($name)) => {
                        let known = fields(stringify!($name));
                        let rows = read_all(&mut reader, &rows, head, &known);
                        tables.$name = merged(tables.$name, rows);
                    })*
                    _ => {
                        let names: Vec<&str> = TABLES.iter().map(|table| table.name).collect();
                        reader.unknown_word("table", name.trim_end_matches(".toml"), Span::default(), &names);
                    }
                }
            }
            reader.finish("knowledge file", file, ())
        }
    };
}

every_table!(read_rows);

/// Returns the names of all fields that a row of the table can have.
fn fields(table: &str) -> Vec<&'static str> {
    let own = TABLES.iter().filter(|known| known.name == table).flat_map(|known| known.fields);
    own.map(|(field, _)| *field).chain(PROVENANCE.iter().copied()).collect()
}

/// Returns the provenance at the start of a file, and its rows.
fn outline<'t, 'i>(reader: &mut Reader, file: &SourceText, table: &'t DeTable<'i>) -> (Head, Vec<&'t Value<'i>>) {
    let mut head = Head { source: leak_text(file.name().to_owned()), checked: None, how: How::Memory };
    let mut rows = Vec::new();
    for (key, span, value) in entries(table) {
        match key {
            "source" => head.source = Field::read(reader, key, Kind::Str, value).unwrap_or(head.source),
            "checked" => head.checked = Field::read(reader, key, Kind::Day, value),
            "how" => head.how = Field::read(reader, key, Kind::Variant("How", HOW), value).unwrap_or(head.how),
            "row" => rows = Reader::one_or_more(value),
            _ => reader.unknown_key(key, span, &["source", "checked", "how", "row"]),
        }
    }
    (head, rows)
}

/// Reads all rows, and reports unknown fields and duplicate keys.
fn read_all<R: ReadRow>(reader: &mut Reader, rows: &[&Value<'_>], head: Head, known: &[&str]) -> Vec<R> {
    let mut read: Vec<R> = Vec::new();
    for value in rows {
        let Some(table) = reader.table("row", value) else { continue };
        for (key, span, _) in entries(table) {
            if !known.contains(&key) {
                reader.unknown_key(key, span, known);
            }
        }
        // The header of the row alone: a label over the whole row hides the rest.
        let start = span_of(value).start;
        let mut raw = RawRow { reader, table, span: Span::new(start, start + "[[row]]".len()) };
        let Some(row) = R::read(&mut raw, head) else { continue };
        if read.iter().any(|other| compare_natural(other.info().row, row.info().row).is_eq()) {
            reader.report(span_of(value), format!("duplicate entry `{}`", row.info().row), None);
        }
        read.push(row);
    }
    read
}

/// Returns old and new rows, sorted by key; a new row replaces an old one with its key.
fn merged<R: Row>(old: &'static [R], new: Vec<R>) -> &'static [R] {
    let kept =
        old.iter().filter(|row| !new.iter().any(|other| compare_natural(other.info().row, row.info().row).is_eq()));
    let mut all: Vec<R> = kept.copied().collect();
    all.extend(new);
    all.sort_by(|one, other| compare_natural(one.info().row, other.info().row));
    all.leak()
}
