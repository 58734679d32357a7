//! Values of flags, checked as they are read.

use crate::oci::Platform;
use crate::rules::Persona;

pub(super) fn build_arg(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err("expected NAME=VALUE".to_owned()),
    }
}

pub(super) fn platform(text: &str) -> Result<String, String> {
    match text.parse::<Platform>() {
        Ok(platform) => Ok(platform.to_string()),
        Err(_) => Err("expected os/architecture, such as linux/arm64".to_owned()),
    }
}

/// A number of bytes, with or without a unit: `500MB`, `2GiB`.
pub(super) fn bytes(text: &str) -> Result<u64, String> {
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

pub(super) fn persona(text: &str) -> Result<Persona, String> {
    text.parse().map_err(|()| format!("expected one of {}", Persona::WORDS.join(", ")))
}
