//! The program: hands the process over to [`imagelint::cli`] and gives its exit code back.

use std::process::ExitCode;

use mimalloc::MiMalloc;

#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

fn main() -> ExitCode {
    imagelint::cli::run()
}
