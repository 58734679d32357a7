//! The program that the tests run.

use std::env;
use std::path::PathBuf;

/// Path of the program: the one built with the tests, or the one that `IMAGELINT_TEST_PROGRAM` names, such as a release
/// build, with which the tests take less than half the time.
pub(crate) fn imagelint_program() -> PathBuf {
    env::var_os("IMAGELINT_TEST_PROGRAM").map_or_else(|| env!("CARGO_BIN_EXE_imagelint").into(), PathBuf::from)
}
