//! The program: hands the process over to [`imagelint::cli`] and gives its exit code back.

use std::process::ExitCode;

fn main() -> ExitCode {
    imagelint::cli::run()
}
