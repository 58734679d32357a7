//! The record of the program's reports on every case, rule example, public report and fixture, and on real Dockerfiles: one
//! JSON array per line.
//!
//! ```text
//! record write PROGRAM FILE [--real FOLDER]    runs PROGRAM on all cases and writes the record
//! record check PROGRAM FILE [--real FOLDER]    the same, compared with FILE; exit code 1 if they differ
//! record compare OLD NEW                       the differences between two records, by class
//! record list FOLDER                           the paths and digests of real files, for `tests/record/real.list`
//! ```
//!
//! A record whose name ends in `.gz` is packed. With `--real`, the cases are the Dockerfiles of that folder that `tests/record/real.list` names.

#![expect(clippy::print_stdout, reason = "it prints the differences")]

mod canonical;
#[expect(dead_code, reason = "the tests use the rest")]
#[path = "../support/case.rs"]
mod case;
mod cases;
mod compare;
mod real;
mod run;
mod truth;

use std::error::Error;
use std::io::{Read as _, Write as _};
use std::path::Path;
use std::process::ExitCode;
use std::{env, fs, io};

use flate2::read::MultiGzDecoder;
use flate2::{Compression, GzBuilder};

use crate::cases::Case;
use crate::compare::Record;

/// How the name of a packed record ends.
const PACKED: &str = ".gz";

const USAGE: &str = "record write|check PROGRAM FILE [--real FOLDER], record compare OLD NEW, record list FOLDER";

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    match run(&arguments) {
        Ok(code) => code,
        Err(error) => {
            println!("{error}");
            ExitCode::from(2)
        }
    }
}

fn run(arguments: &[String]) -> Result<ExitCode, Box<dyn Error>> {
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["write", program, file, rest @ ..] => {
            let record = run::record(&cases(rest)?, Path::new(program))?;
            write(file, &record.text())?;
            println!("{} cases in {file}", record.len());
            Ok(ExitCode::SUCCESS)
        }
        ["check", program, file, rest @ ..] => {
            let new = run::record(&cases(rest)?, Path::new(program))?;
            Ok(differences(&Record::read(&read(file)?)?, &new))
        }
        ["compare", old, new] => {
            let [old, new] = [old, new].map(|file| Record::read(&read(file)?));
            differences(&old?, &new?);
            Ok(ExitCode::SUCCESS)
        }
        ["list", folder] => {
            print!("{}", real::listed(Path::new(folder))?);
            Ok(ExitCode::SUCCESS)
        }
        _ => Err(USAGE.into()),
    }
}

/// The text of a file, which gzip may have packed.
fn read(file: &str) -> Result<String, Box<dyn Error>> {
    let bytes = fs::read(file).map_err(|error| format!("{file}: {error}"))?;
    let mut text = String::new();
    if file.ends_with(PACKED) {
        MultiGzDecoder::new(bytes.as_slice()).read_to_string(&mut text)?;
    } else {
        text = String::from_utf8(bytes)?;
    }
    Ok(text)
}

fn write(file: &str, text: &str) -> io::Result<()> {
    if !file.ends_with(PACKED) {
        return fs::write(file, text);
    }
    let mut packed = GzBuilder::new().write(Vec::new(), Compression::best());
    packed.write_all(text.as_bytes())?;
    fs::write(file, packed.finish()?)
}

fn cases(rest: &[&str]) -> Result<Vec<Case>, Box<dyn Error>> {
    match rest {
        [] => Ok(cases::committed()),
        ["--real", folder] => real::cases(Path::new(folder)),
        _ => Err(USAGE.into()),
    }
}

fn differences(old: &Record, new: &Record) -> ExitCode {
    let text = compare::differences(old, new);
    print!("{text}");
    if text.is_empty() {
        println!("{} cases, no difference", new.len());
        ExitCode::SUCCESS
    } else {
        ExitCode::from(1)
    }
}
