//! Ctrl-C: the program ends at once, with nothing left half drawn or half written.

use std::process;
use std::sync::Once;
use std::thread;

use tokio::runtime::Builder;

use crate::cli::cache;
use crate::cli::progress;
use crate::oci;

/// What shells give a program that Ctrl-C ended.
const INTERRUPTED: i32 = 130;
/// The thread does next to nothing.
const STACK: usize = 256 << 10;

static WATCH: Once = Once::new();

/// Ends the program at Ctrl-C from now on. Where that cannot be, the system ends it.
pub(crate) fn watch() {
    WATCH.call_once(|| {
        // Without the thread all is as it was.
        let _ = thread::Builder::new().name("interrupt".to_owned()).stack_size(STACK).spawn(wait);
    });
}

fn wait() {
    let Ok(runtime) = Builder::new_current_thread().enable_io().build() else { return };
    if runtime.block_on(tokio::signal::ctrl_c()).is_ok() {
        progress::vanish();
        cache::abandon();
        oci::end_helpers();
        end();
    }
}

#[expect(clippy::exit, reason = "threads that wait for a registry cannot be stopped at once")]
fn end() {
    process::exit(INTERRUPTED);
}
