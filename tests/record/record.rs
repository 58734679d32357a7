//! The record of what the program says: of every story, rule example, known mistake, public report and fixture, and of
//! real Dockerfiles, one JSON object per line.
//!
//! ```text
//! record write PROGRAM FILE [--real FOLDER]    runs PROGRAM on all cases and writes the record
//! record check PROGRAM FILE [--real FOLDER]    the same, compared with FILE; exit code 1 if they differ
//! record compare OLD NEW                       the differences between two records, by class
//! record list FOLDER                           the paths and digests of real files, for `tests/record/real.list`
//! ```
//!
//! With `--real`, the cases are the Dockerfiles of that folder that `tests/record/real.list` names.

#![expect(clippy::print_stdout, reason = "it prints the differences")]

mod canonical;
mod cases;
mod compare;
mod real;
mod run;
mod truth;

use std::env;
use std::error::Error;
use std::fs;
use std::path::Path;
use std::process::ExitCode;

use crate::cases::Case;
use crate::compare::Record;

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
            fs::write(file, record.text())?;
            println!("{} cases in {file}", record.len());
            Ok(ExitCode::SUCCESS)
        }
        ["check", program, file, rest @ ..] => {
            let new = run::record(&cases(rest)?, Path::new(program))?;
            Ok(differences(&Record::read(&fs::read_to_string(file)?)?, &new))
        }
        ["compare", old, new] => {
            let [old, new] = [old, new].map(|file| Record::read(&fs::read_to_string(file)?));
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
