//! Progress of reading images, shown on standard error.

use std::io::{IsTerminal as _, Write as _};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::time::{Duration, Instant};
use std::{env, io};

use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::cli::args::ProgressMode;
use crate::cli::{parallel, streams};
use crate::report::escape::{escape_one_line, shorten};
use crate::report::phrases::pluralize;

/// Shortest time between two plain progress lines.
const LINE_INTERVAL: Duration = Duration::from_secs(3);
/// Time without a plain line after which a line names the image that is waited for.
const SILENCE_LIMIT: Duration = Duration::from_secs(10);
/// Largest number of characters of an image name in a progress bar.
const MAX_NAME_CHARS: usize = 48;
/// Template of the line for all images.
const TOTAL_TEMPLATE: &str = "{pos}/{len} images, {msg}";
/// Template of the progress bar of a layer.
const LAYER_TEMPLATE: &str = "  {prefix} {bar:20} {bytes}/{total_bytes} {bytes_per_sec}";

/// The progress bars on the screen, so that an interrupt can clear them.
static DRAWN_BARS: OnceLock<MultiProgress> = OnceLock::new();

/// Removes the progress bars from the screen, even while images are still being read.
pub(crate) fn clear_bars() {
    if let Some(all) = DRAWN_BARS.get() {
        let _ = all.clear();
        all.set_draw_target(ProgressDrawTarget::hidden());
    }
}

/// Progress of reading all images of a scan.
pub(crate) struct ScanProgress(Arc<ProgressState>);

/// State of the progress, shared with the thread that reports silence.
struct ProgressState {
    style: ProgressDisplay,
    started: Instant,
    images: usize,
    done: AtomicUsize,
    bytes: AtomicU64,
    /// Images that are being read.
    open: Mutex<Vec<String>>,
}

/// How progress is displayed.
enum ProgressDisplay {
    Silent,
    /// Plain lines, with the time when the last one was written.
    Plain(Mutex<Instant>),
    Bars {
        all: MultiProgress,
        total: ProgressBar,
    },
}

/// Progress of reading one layer.
pub(crate) struct LayerProgress<'a> {
    progress: &'a ScanProgress,
    bar: Option<ProgressBar>,
    label: String,
    size: u64,
    packed: u64,
}

impl ScanProgress {
    /// Starts the progress display for a number of images.
    pub(crate) fn new(tell: ProgressMode, images: usize) -> Self {
        let style =
            match resolve_style(tell, io::stderr().is_terminal(), env::var("TERM").is_ok_and(|term| term == "dumb")) {
                ProgressMode::Plain => ProgressDisplay::Plain(Mutex::new(Instant::now())),
                ProgressMode::Bar => create_bars(images),
                ProgressMode::None | ProgressMode::Auto => ProgressDisplay::Silent,
            };
        let (done, bytes, open) = (AtomicUsize::new(0), AtomicU64::new(0), Mutex::default());
        let state = Arc::new(ProgressState { style, started: Instant::now(), images, done, bytes, open });
        if matches!(state.style, ProgressDisplay::Plain(_)) {
            let state = Arc::downgrade(&state);
            parallel::repeat_in_background(LINE_INTERVAL, move || ProgressState::report_silence(&state));
        }
        Self(state)
    }

    /// Records that reading an image begins.
    pub(crate) fn begin_image(&self, image: &str) {
        self.0.open_images().push(escape_one_line(image).into_owned());
    }

    /// Records that reading a layer begins; `number` counts from 1.
    pub(crate) fn begin_layer(&self, image: &str, number: usize, of: usize, bytes: u64) -> LayerProgress<'_> {
        let label = format!("{}: layer {number} of {of}", shorten(&escape_one_line(image), MAX_NAME_CHARS));
        let bar = match &self.0.style {
            ProgressDisplay::Bars { all, .. } => {
                let style =
                    ProgressStyle::with_template(LAYER_TEMPLATE).unwrap_or_else(|_| ProgressStyle::default_bar());
                Some(all.add(ProgressBar::new(bytes).with_style(style).with_prefix(label.clone())))
            }
            ProgressDisplay::Silent | ProgressDisplay::Plain(_) => None,
        };
        LayerProgress { progress: self, bar, label, size: bytes, packed: 0 }
    }

    /// Records that an image is read.
    pub(crate) fn finish_image(&self, image: &str) {
        self.0.done.fetch_add(1, Ordering::Relaxed);
        if let ProgressDisplay::Bars { total, .. } = &self.0.style {
            total.inc(1);
        }
        let mut open = self.0.open_images();
        if let Some(at) = open.iter().position(|one| *one == escape_one_line(image)) {
            open.remove(at);
        }
        drop(open);
        self.0.write_plain_line(false, || format!("{}: done", escape_one_line(image)));
    }

    /// Calls `write`, which prints to the terminal, with the progress bars hidden.
    pub(crate) fn suspend_bars<R>(&self, write: impl FnOnce() -> R) -> R {
        match &self.0.style {
            ProgressDisplay::Bars { all, .. } => all.suspend(write),
            ProgressDisplay::Silent | ProgressDisplay::Plain(_) => write(),
        }
    }

    /// Ends the display: removes the bars, or writes a last plain line with the totals.
    pub(crate) fn finish(&self) {
        if let ProgressDisplay::Bars { all, total } = &self.0.style {
            total.finish_and_clear();
            let _ = all.clear();
        }
        self.0.open_images().clear();
        self.0.write_plain_line(true, String::new);
    }
}

impl ProgressState {
    /// Returns the images that are being read.
    fn open_images(&self) -> MutexGuard<'_, Vec<String>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes which image is waited for after a long silence; returns whether to continue checking.
    fn report_silence(state: &Weak<Self>) -> bool {
        let Some(state) = state.upgrade() else { return false };
        let ProgressDisplay::Plain(last) = &state.style else { return false };
        let silent = last.lock().unwrap_or_else(PoisonError::into_inner).elapsed() >= SILENCE_LIMIT;
        let waited = state.open_images().first().cloned();
        if let Some(image) = waited.filter(|_| silent) {
            state.write_plain_line(false, || format!("waiting for {image}"));
        }
        true
    }

    /// Adds to the number of bytes read.
    fn add_bytes(&self, bytes: u64) {
        let sum = self.bytes.fetch_add(bytes, Ordering::Relaxed).saturating_add(bytes);
        if let ProgressDisplay::Bars { total, .. } = &self.style {
            total.set_message(format!("{} read", format_size(sum)));
        }
    }

    /// Writes a plain line, unless the last one was written only a moment ago.
    fn write_plain_line(&self, always: bool, what: impl FnOnce() -> String) {
        let ProgressDisplay::Plain(last) = &self.style else { return };
        let mut last = last.lock().unwrap_or_else(PoisonError::into_inner);
        if !always && last.elapsed() < LINE_INTERVAL {
            return;
        }
        *last = Instant::now();
        let line = self.format_line(&what(), self.started.elapsed());
        // Standard error may be closed.
        let _ = writeln!(streams::stderr(), "{line}");
    }

    /// Formats a plain line: images, bytes, rate and the latest step.
    fn format_line(&self, what: &str, time: Duration) -> String {
        let bytes = self.bytes.load(Ordering::Relaxed);
        let millis = u64::try_from(time.as_millis()).unwrap_or(u64::MAX).max(1);
        let rate = format_size(bytes.saturating_mul(1_000) / millis);
        let done = self.done.load(Ordering::Relaxed);
        let (images, separator) = (pluralize(self.images, "image"), if what.is_empty() { "" } else { "; " });
        format!("progress: {done} of {images}, {} read, {rate}/s{separator}{what}", format_size(bytes))
    }
}

impl LayerProgress<'_> {
    /// Records how many packed bytes of the layer are read.
    pub(crate) fn set_position(&mut self, packed: u64) {
        let more = packed.saturating_sub(self.packed);
        if more == 0 {
            return;
        }
        self.packed = packed;
        self.progress.0.add_bytes(more);
        if let Some(bar) = &self.bar {
            bar.set_position(packed);
        }
        let line = || format!("{}, {} of {}", self.label, format_size(packed), format_size(self.size));
        self.progress.0.write_plain_line(false, line);
    }
}

impl Drop for LayerProgress<'_> {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

/// Returns the display for the flag and the terminal; only terminals that can draw get bars.
fn resolve_style(tell: ProgressMode, terminal: bool, dumb: bool) -> ProgressMode {
    match tell {
        ProgressMode::Auto if terminal && !dumb => ProgressMode::Bar,
        ProgressMode::Auto | ProgressMode::None => ProgressMode::None,
        ProgressMode::Bar if !terminal || dumb => ProgressMode::Plain,
        ProgressMode::Bar | ProgressMode::Plain => tell,
    }
}

/// Creates the progress bars.
fn create_bars(images: usize) -> ProgressDisplay {
    let all = MultiProgress::with_draw_target(ProgressDrawTarget::stderr());
    // A run draws once.
    let _ = DRAWN_BARS.set(all.clone());
    let style = ProgressStyle::with_template(TOTAL_TEMPLATE).unwrap_or_else(|_| ProgressStyle::default_bar());
    let length = u64::try_from(images).unwrap_or(u64::MAX);
    let total = all.add(ProgressBar::new(length).with_style(style).with_message("0 bytes read"));
    ProgressDisplay::Bars { all, total }
}

/// Formats a number of bytes with a unit: `3.2 GB`.
pub(crate) fn format_size(bytes: u64) -> String {
    let (unit, name) = match bytes {
        0..1_000 => return format!("{bytes} bytes"),
        1_000..1_000_000 => (1_000, "kB"),
        1_000_000..1_000_000_000 => (1_000_000, "MB"),
        _ => (1_000_000_000, "GB"),
    };
    let tenths = bytes.saturating_mul(10) / unit;
    format!("{}.{} {name}", tenths / 10, tenths % 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_are_only_for_terminals() {
        for (tell, terminal, dumb, expected) in [
            (ProgressMode::Auto, true, false, ProgressMode::Bar),
            (ProgressMode::Auto, false, false, ProgressMode::None),
            (ProgressMode::Auto, true, true, ProgressMode::None),
            (ProgressMode::Bar, false, false, ProgressMode::Plain),
            (ProgressMode::Bar, true, true, ProgressMode::Plain),
            (ProgressMode::Bar, true, false, ProgressMode::Bar),
            (ProgressMode::Plain, true, false, ProgressMode::Plain),
            (ProgressMode::None, true, false, ProgressMode::None),
        ] {
            assert_eq!(resolve_style(tell, terminal, dumb), expected, "{tell:?} {terminal} {dumb}");
        }
    }

    #[test]
    fn open_images_are_those_begun_and_not_finished() {
        let progress = ScanProgress::new(ProgressMode::None, 2);
        for image in ["a", "b\u{1b}[2J", "a"] {
            progress.begin_image(image);
        }
        progress.finish_image("a");
        progress.finish_image("never begun");
        assert_eq!(
            progress.0.open_images().iter().map(|one| one.contains('\u{1b}')).collect::<Vec<_>>(),
            [false, false]
        );
        assert!(progress.0.open_images().first().is_some_and(|one| one.starts_with('b')));
        let state = Arc::downgrade(&progress.0);
        assert!(!ProgressState::report_silence(&state), "plain lines were not requested");
        progress.finish();
        assert!(progress.0.open_images().is_empty());
        drop(progress);
        assert!(!ProgressState::report_silence(&state), "there is nothing to wait for");
    }

    #[test]
    fn progress_line_shows_bytes_and_rate() {
        let progress = ScanProgress::new(ProgressMode::None, 2);
        let mut layer = progress.begin_layer("registry/x:1\u{1b}[2J", 3, 7, 5_000_000);
        assert!(!layer.label.contains('\u{1b}') && layer.label.ends_with(": layer 3 of 7"), "{}", layer.label);
        layer.set_position(1_000_000);
        layer.set_position(1_000_000);
        layer.set_position(3_000_000);
        layer.set_position(2_000_000);
        let line = progress.0.format_line("x", Duration::from_secs(2));
        assert_eq!(line, "progress: 0 of 2 images, 3.0 MB read, 1.5 MB/s; x");
        progress.finish_image("x");
        assert_eq!(progress.0.format_line("", Duration::ZERO), "progress: 1 of 2 images, 3.0 MB read, 3.0 GB/s");
        assert_eq!(ScanProgress::new(ProgressMode::None, 1).suspend_bars(|| 7), 7);
    }
}
