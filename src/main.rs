//! The executable: calls `imagelint::cli` and returns its exit code.

use std::process::ExitCode;

use mimalloc::MiMalloc;

/// The memory allocator of the program.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

fn main() -> ExitCode {
    imagelint::cli::run()
}
