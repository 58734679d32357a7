//! How far the reading of images is, told on standard error.

use std::env;
use std::io;
use std::io::IsTerminal as _;
use std::io::Write as _;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::MutexGuard;
use std::sync::OnceLock;
use std::sync::PoisonError;
use std::sync::Weak;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering;
use std::time::Duration;
use std::time::Instant;

use indicatif::MultiProgress;
use indicatif::ProgressBar;
use indicatif::ProgressDrawTarget;
use indicatif::ProgressStyle;

use crate::cli::args::Tell;
use crate::cli::layers::size;
use crate::cli::parallel;
use crate::cli::streams;
use crate::report::escape::clean;
use crate::report::escape::shorten;
use crate::report::words::count;

/// Between two plain lines.
const PAUSE: Duration = Duration::from_secs(3);
/// After such a silence a plain line tells what is waited for.
const SILENCE: Duration = Duration::from_secs(10);
/// Characters of a name in a bar.
const NAME: usize = 48;
/// The line of everything, and that of a layer.
const TOTAL: &str = "{pos}/{len} images, {msg}";
const LAYER: &str = "  {prefix} {bar:20} {bytes}/{total_bytes} {bytes_per_sec}";

/// The bars that are drawn, for the one who has to take them away in a hurry.
static DRAWN: OnceLock<MultiProgress> = OnceLock::new();

/// Takes the bars away, whatever is still being read.
pub(crate) fn vanish() {
    if let Some(all) = DRAWN.get() {
        let _ = all.clear();
        all.set_draw_target(ProgressDrawTarget::hidden());
    }
}

/// How far all images are.
pub(crate) struct Progress(Arc<State>);

struct State {
    style: Style,
    started: Instant,
    images: usize,
    done: AtomicUsize,
    bytes: AtomicU64,
    /// Images that are being read.
    open: Mutex<Vec<String>>,
}

enum Style {
    Silent,
    /// When the last line was written.
    Plain(Mutex<Instant>),
    Bars {
        all: MultiProgress,
        total: ProgressBar,
    },
}

/// How far a layer is.
pub(crate) struct Layer<'a> {
    progress: &'a Progress,
    bar: Option<ProgressBar>,
    label: String,
    size: u64,
    packed: u64,
}

impl Progress {
    /// Of so many images.
    pub(crate) fn new(tell: Tell, images: usize) -> Self {
        let style = match style(tell, io::stderr().is_terminal(), env::var("TERM").is_ok_and(|term| term == "dumb")) {
            Tell::Plain => Style::Plain(Mutex::new(Instant::now())),
            Tell::Bar => bars(images),
            Tell::None | Tell::Auto => Style::Silent,
        };
        let (done, bytes, open) = (AtomicUsize::new(0), AtomicU64::new(0), Mutex::default());
        let state = Arc::new(State { style, started: Instant::now(), images, done, bytes, open });
        if matches!(state.style, Style::Plain(_)) {
            let state = Arc::downgrade(&state);
            parallel::every(PAUSE, move || State::tell_of_silence(&state));
        }
        Self(state)
    }

    /// An image is begun.
    pub(crate) fn begin(&self, image: &str) {
        self.0.open().push(clean(image).into_owned());
    }

    /// A layer of an image is begun; `number` counts from 1.
    pub(crate) fn layer(&self, image: &str, number: usize, of: usize, bytes: u64) -> Layer<'_> {
        let label = format!("{}: layer {number} of {of}", shorten(&clean(image), NAME));
        let bar = match &self.0.style {
            Style::Bars { all, .. } => {
                let style = ProgressStyle::with_template(LAYER).unwrap_or_else(|_| ProgressStyle::default_bar());
                Some(all.add(ProgressBar::new(bytes).with_style(style).with_prefix(label.clone())))
            }
            Style::Silent | Style::Plain(_) => None,
        };
        Layer { progress: self, bar, label, size: bytes, packed: 0 }
    }

    /// An image is done.
    pub(crate) fn image(&self, image: &str) {
        self.0.done.fetch_add(1, Ordering::Relaxed);
        if let Style::Bars { total, .. } = &self.0.style {
            total.inc(1);
        }
        let mut open = self.0.open();
        if let Some(at) = open.iter().position(|one| *one == clean(image)) {
            open.remove(at);
        }
        drop(open);
        self.0.plain(false, || format!("{}: done", clean(image)));
    }

    /// Writes to standard output without disturbing the bars.
    pub(crate) fn beside<R>(&self, write: impl FnOnce() -> R) -> R {
        match &self.0.style {
            Style::Bars { all, .. } => all.suspend(write),
            Style::Silent | Style::Plain(_) => write(),
        }
    }

    /// Everything is done: bars vanish, and the last plain line tells it all.
    pub(crate) fn finish(&self) {
        if let Style::Bars { all, total } = &self.0.style {
            total.finish_and_clear();
            let _ = all.clear();
        }
        self.0.open().clear();
        self.0.plain(true, String::new);
    }
}

impl State {
    fn open(&self) -> MutexGuard<'_, Vec<String>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Says what is waited for where nothing else was told for a while; whether there is more to wait for.
    fn tell_of_silence(state: &Weak<Self>) -> bool {
        let Some(state) = state.upgrade() else { return false };
        let Style::Plain(last) = &state.style else { return false };
        let silent = last.lock().unwrap_or_else(PoisonError::into_inner).elapsed() >= SILENCE;
        let waited = state.open().first().cloned();
        if let Some(image) = waited.filter(|_| silent) {
            state.plain(false, || format!("waiting for {image}"));
        }
        true
    }

    fn read(&self, bytes: u64) {
        let sum = self.bytes.fetch_add(bytes, Ordering::Relaxed).saturating_add(bytes);
        if let Style::Bars { total, .. } = &self.style {
            total.set_message(format!("{} read", size(sum)));
        }
    }

    /// A plain line, unless the last one is so fresh that nobody has read it.
    fn plain(&self, always: bool, what: impl FnOnce() -> String) {
        let Style::Plain(last) = &self.style else { return };
        let mut last = last.lock().unwrap_or_else(PoisonError::into_inner);
        if !always && last.elapsed() < PAUSE {
            return;
        }
        *last = Instant::now();
        let line = self.line(&what(), self.started.elapsed());
        // Nobody may be there to read it.
        let _ = writeln!(streams::err(), "{line}");
    }

    fn line(&self, what: &str, time: Duration) -> String {
        let bytes = self.bytes.load(Ordering::Relaxed);
        let millis = u64::try_from(time.as_millis()).unwrap_or(u64::MAX).max(1);
        let rate = size(bytes.saturating_mul(1_000) / millis);
        let done = self.done.load(Ordering::Relaxed);
        let (images, separator) = (count(self.images, "image"), if what.is_empty() { "" } else { "; " });
        format!("progress: {done} of {images}, {} read, {rate}/s{separator}{what}", size(bytes))
    }
}

impl Layer<'_> {
    /// So many packed bytes have come.
    pub(crate) fn at(&mut self, packed: u64) {
        let more = packed.saturating_sub(self.packed);
        if more == 0 {
            return;
        }
        self.packed = packed;
        self.progress.0.read(more);
        if let Some(bar) = &self.bar {
            bar.set_position(packed);
        }
        let line = || format!("{}, {} of {}", self.label, size(packed), size(self.size));
        self.progress.0.plain(false, line);
    }
}

impl Drop for Layer<'_> {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

/// Bars are for terminals that can draw them.
fn style(tell: Tell, terminal: bool, dumb: bool) -> Tell {
    match tell {
        Tell::Auto if terminal && !dumb => Tell::Bar,
        Tell::Auto | Tell::None => Tell::None,
        Tell::Bar if !terminal || dumb => Tell::Plain,
        Tell::Bar | Tell::Plain => tell,
    }
}

fn bars(images: usize) -> Style {
    let all = MultiProgress::with_draw_target(ProgressDrawTarget::stderr());
    // A run draws once.
    let _ = DRAWN.set(all.clone());
    let style = ProgressStyle::with_template(TOTAL).unwrap_or_else(|_| ProgressStyle::default_bar());
    let length = u64::try_from(images).unwrap_or(u64::MAX);
    let total = all.add(ProgressBar::new(length).with_style(style).with_message("0 bytes read"));
    Style::Bars { all, total }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_are_for_terminals_alone() {
        for (tell, terminal, dumb, expected) in [
            (Tell::Auto, true, false, Tell::Bar),
            (Tell::Auto, false, false, Tell::None),
            (Tell::Auto, true, true, Tell::None),
            (Tell::Bar, false, false, Tell::Plain),
            (Tell::Bar, true, true, Tell::Plain),
            (Tell::Bar, true, false, Tell::Bar),
            (Tell::Plain, true, false, Tell::Plain),
            (Tell::None, true, false, Tell::None),
        ] {
            assert_eq!(style(tell, terminal, dumb), expected, "{tell:?} {terminal} {dumb}");
        }
    }

    #[test]
    fn what_is_waited_for_is_what_was_begun_and_is_not_done() {
        let progress = Progress::new(Tell::None, 2);
        for image in ["a", "b\u{1b}[2J", "a"] {
            progress.begin(image);
        }
        progress.image("a");
        progress.image("never begun");
        assert_eq!(progress.0.open().iter().map(|one| one.contains('\u{1b}')).collect::<Vec<_>>(), [false, false]);
        assert!(progress.0.open().first().is_some_and(|one| one.starts_with('b')));
        let state = Arc::downgrade(&progress.0);
        assert!(!State::tell_of_silence(&state), "nobody asked for plain lines");
        progress.finish();
        assert!(progress.0.open().is_empty());
        drop(progress);
        assert!(!State::tell_of_silence(&state), "there is nothing to wait for");
    }

    #[test]
    fn a_line_tells_bytes_and_rate() {
        let progress = Progress::new(Tell::None, 2);
        let mut layer = progress.layer("registry/x:1\u{1b}[2J", 3, 7, 5_000_000);
        assert!(!layer.label.contains('\u{1b}') && layer.label.ends_with(": layer 3 of 7"), "{}", layer.label);
        layer.at(1_000_000);
        layer.at(1_000_000);
        layer.at(3_000_000);
        layer.at(2_000_000);
        let line = progress.0.line("x", Duration::from_secs(2));
        assert_eq!(line, "progress: 0 of 2 images, 3.0 MB read, 1.5 MB/s; x");
        progress.image("x");
        assert_eq!(progress.0.line("", Duration::ZERO), "progress: 1 of 2 images, 3.0 MB read, 3.0 GB/s");
        assert_eq!(Progress::new(Tell::None, 1).beside(|| 7), 7);
    }
}
