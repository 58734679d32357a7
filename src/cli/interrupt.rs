//! Handling of Ctrl-C: ends the process at once and removes progress bars and unfinished files.

use std::sync::Once;
use std::{process, thread};

use tokio::runtime::Builder;

use crate::cli::{cache, progress};
use crate::registry;

/// Exit code of a program that Ctrl-C ended, as shells report it.
const INTERRUPT_EXIT_CODE: i32 = 130;
/// Stack size of the thread that waits for Ctrl-C.
const STACK_BYTES: usize = 256 << 10;

/// Whether the thread that waits for Ctrl-C was started.
static HANDLER_STARTED: Once = Once::new();

/// Makes Ctrl-C end the process from now on; without a thread for it, the default signal handler applies.
pub(crate) fn exit_on_ctrl_c() {
    HANDLER_STARTED.call_once(|| {
        // Without the thread all is as it was.
        let _ = thread::Builder::new().name("interrupt".to_owned()).stack_size(STACK_BYTES).spawn(wait_for_ctrl_c);
    });
}

/// Waits for Ctrl-C, then cleans up and ends the process.
fn wait_for_ctrl_c() {
    let Ok(runtime) = Builder::new_current_thread().enable_io().build() else { return };
    if runtime.block_on(tokio::signal::ctrl_c()).is_ok() {
        progress::clear_bars();
        cache::remove_unfinished_files();
        registry::end_helpers();
        exit_process();
    }
}

/// Ends the process with the exit code of an interrupted program.
#[expect(clippy::exit, reason = "threads that wait for a registry cannot be stopped at once")]
fn exit_process() {
    process::exit(INTERRUPT_EXIT_CODE);
}
