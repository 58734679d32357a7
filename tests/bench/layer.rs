//! Time and memory of one pass over layers: `cargo bench --bench layer -- FILE...`.

use std::fs::File;
use std::io::Write as _;
use std::ops::ControlFlow;
use std::time::Instant;
use std::{env, fs, io};

use imagelint::layer::{LayerDescriptor, LayerDigestKind, LayerError, LayerLimits, read_layer};

/// Seconds of processor time that this process used.
fn used() -> f64 {
    let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
    // User and system time in hundredths of a second.
    fields.skip(11).take(2).filter_map(|field| field.parse::<f64>().ok()).sum::<f64>() / 100.0
}

fn main() -> io::Result<()> {
    let mut out = io::stdout();
    for path in env::args().skip(1).filter(|argument| !argument.starts_with("--")) {
        let size = fs::metadata(&path)?.len();
        let digest = format!("sha256:{}", "0".repeat(64));
        let descriptor =
            LayerDescriptor { digest, digested: LayerDigestKind::Packed, size: Some(size), media_type: String::new() };
        let (started, before) = (Instant::now(), used());
        let read = |descriptor: &LayerDescriptor| {
            read_layer(File::open(&path)?, descriptor, &LayerLimits::default(), &mut |_| ControlFlow::Continue(()))
                .map_err(io::Error::other)
        };
        let found = read(&descriptor);
        let (wall, cpu) = (started.elapsed().as_secs_f64(), used() - before);
        // The digest is not known before; the error tells it.
        let digest = match found.map_err(|error| error.into_inner().and_then(|error| error.downcast().ok())) {
            Err(Some(error)) => match *error {
                LayerError::WrongDigest { found, .. } => found,
                other => return Err(io::Error::other(other)),
            },
            _ => return Err(io::Error::other("no digest")),
        };
        let seen = read(&LayerDescriptor { digest, ..descriptor })?;
        let status = fs::read_to_string("/proc/self/status")?;
        let peak = status.lines().find(|line| line.starts_with("VmHWM")).unwrap_or_default();
        writeln!(
            out,
            "{path}: {size} packed, {} unpacked, {cpu:.2} s of processor, {wall:.2} s of wall, {} entries, {peak}",
            seen.unpacked,
            seen.entries.len(),
        )?;
    }
    Ok(())
}
