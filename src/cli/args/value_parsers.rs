//! Parsers that validate the values of flags.

use std::ffi::OsStr;

use clap::builder::{PossibleValue, StringValueParser, TypedValueParser};
use clap::{Arg, ValueEnum as _};
use jiff::civil::Date;

use crate::cli::args::formats::{ReportFormat, ReportOutput};
use crate::knowledge::Knowledge;
use crate::registry::Platform;
use crate::rules::Persona;

/// Parses a build argument, `NAME=VALUE`.
pub(super) fn parse_build_argument(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err("expected NAME=VALUE".to_owned()),
    }
}

/// Parses a date, `YYYY-MM-DD`.
pub(super) fn parse_date(text: &str) -> Result<Date, String> {
    text.parse().map_err(|_| "expected a date as YYYY-MM-DD, such as 2026-11-01".to_owned())
}

/// Parses a platform, such as `linux/arm64`.
pub(super) fn parse_platform(text: &str) -> Result<String, String> {
    const USUAL: &[&str] = &["linux/amd64", "linux/arm64", "linux/ppc64le"];
    text.parse::<Platform>().map(|platform| platform.to_string()).map_err(|_| {
        let suggestion =
            Knowledge::built_in().did_you_mean(text, USUAL).map(|suggestion| suggestion + " ").unwrap_or_default();
        format!("{suggestion}expected os/architecture, such as linux/arm64")
    })
}

/// Parses the host of a registry, with or without its port, and without the rest of an address.
pub(super) fn parse_registry_host(text: &str) -> Result<String, String> {
    let plain = |sign: char| sign.is_ascii_alphanumeric() || ".-:[]".contains(sign);
    if text.is_empty() || !text.chars().all(plain) {
        return Err("expected the host of a registry and its port if any, such as registry.example.com:5000".to_owned());
    }
    Ok(text.to_owned())
}

/// Parses the name of a run, and removes slashes at its ends.
pub(super) fn parse_category(text: &str) -> Result<String, String> {
    match text.trim_matches('/').trim() {
        "" => Err("expected a name, such as training-fleet".to_owned()),
        name => Ok(name.to_owned()),
    }
}

/// Parses a number of bytes, with or without a unit: `500MB`, `2GiB`.
pub(super) fn parse_byte_size(text: &str) -> Result<u64, String> {
    let wrong = || "expected a number of bytes, such as 500000000, 500MB or 2GiB".to_owned();
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let factor: u64 = match unit.trim().to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "k" | "kb" => 1_000,
        "m" | "mb" => 1_000_000,
        "g" | "gb" => 1_000_000_000,
        "kib" => 1 << 10,
        "mib" => 1 << 20,
        "gib" => 1 << 30,
        _ => return Err(wrong()),
    };
    number.parse::<u64>().ok().and_then(|number| number.checked_mul(factor)).ok_or_else(wrong)
}

/// A value that a function reads, with the words that shells complete.
#[derive(Clone)]
pub(super) struct CompletedValueParser<P> {
    reads: P,
    words: Vec<PossibleValue>,
}

impl<P: TypedValueParser> TypedValueParser for CompletedValueParser<P> {
    type Value = P::Value;

    fn parse_ref(&self, command: &clap::Command, arg: Option<&Arg>, value: &OsStr) -> Result<P::Value, clap::Error> {
        self.reads.parse_ref(command, arg, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(self.words.iter().cloned()))
    }
}

/// Returns the value parser of `--format`.
pub(super) fn report_output_parser() -> impl TypedValueParser<Value = ReportOutput> {
    let words = ReportFormat::value_variants().iter().filter_map(ReportFormat::to_possible_value).collect();
    CompletedValueParser { reads: StringValueParser::new().try_map(|text| parse_report_output(&text)), words }
}

/// Returns the value parser of `--persona`.
pub(super) fn persona_parser() -> impl TypedValueParser<Value = Persona> {
    let words = Persona::WORDS.iter().map(PossibleValue::new).collect();
    CompletedValueParser { reads: StringValueParser::new().try_map(|text| parse_persona(&text)), words }
}

/// Parses the name of a persona.
fn parse_persona(text: &str) -> Result<Persona, String> {
    let suggestion = || {
        Knowledge::built_in().did_you_mean(text, Persona::WORDS).map(|suggestion| suggestion + " ").unwrap_or_default()
    };
    text.parse().map_err(|()| format!("{}expected one of {}", suggestion(), Persona::WORDS.join(", ")))
}

/// Parses `NAME` or `NAME=FILE`; the file `-` is standard output.
fn parse_report_output(text: &str) -> Result<ReportOutput, String> {
    let (name, file) = match text.split_once('=') {
        Some((_, "")) => return Err("expected a file after `=`".to_owned()),
        Some((name, file)) => (name, Some(file)),
        None => (text, None),
    };
    let format = ReportFormat::from_str(name, false).map_err(|_| {
        let names: Vec<String> = ReportFormat::value_variants()
            .iter()
            .filter_map(|format| Some(format.to_possible_value()?.get_name().to_owned()))
            .collect();
        let known: Vec<&str> = names.iter().map(String::as_str).collect();
        let suggestion =
            Knowledge::built_in().did_you_mean(name, &known).map(|suggestion| suggestion + " ").unwrap_or_default();
        format!("{suggestion}the formats are {}", names.join(", "))
    })?;
    Ok(ReportOutput { format, file: file.filter(|file| *file != "-").map(Into::into) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_format_is_a_name_with_or_without_a_file() {
        let parse = |text: &str| parse_report_output(text).map(|output| (output.format, output.file));
        assert_eq!(parse("sarif"), Ok((ReportFormat::Sarif, None)));
        assert_eq!(parse("json=-"), Ok((ReportFormat::Json, None)));
        assert_eq!(parse("html=a=b.html"), Ok((ReportFormat::Html, Some("a=b.html".into()))));
        assert_eq!(parse("json="), Err("expected a file after `=`".to_owned()));
        let wrong = parse("sariff=x").expect_err("no such format");
        assert!(wrong.starts_with("did you mean `sarif`? the formats are human, concise, "), "{wrong}");
        assert!(parse("yaml").expect_err("no such format").starts_with("the formats are "));
    }
}
