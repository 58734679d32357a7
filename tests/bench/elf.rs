//! Reads ELF files and prints what was seen of each, as JSON: one line a file.
//!
//! `cargo run --release --example elf-seen -- FILE...`; `-` is standard input, which needs its size: `-:SIZE:NAME`.
//! With `--time` first it prints bytes a second instead, read from memory, the fastest of five rounds.

#![expect(clippy::print_stdout, reason = "it prints its figures")]

use std::error::Error;
use std::fs::File;
use std::hint::black_box;
use std::io::Read;
use std::time::{Duration, Instant};
use std::{env, fs, io};

use imagelint::layer::elf::{ElfReader, ElfSummary};

/// The size of the blocks that a tar reader passes on.
const PIECE: usize = 64 * 1024;
/// The fastest of so many rounds counts.
const ROUNDS: usize = 5;

fn main() -> Result<(), Box<dyn Error>> {
    let mut words = env::args().skip(1).peekable();
    let time = words.next_if(|word| word == "--time").is_some();
    // Cargo says so to benchmarks.
    for word in words.filter(|word| word != "--bench") {
        if time {
            let bytes = fs::read(&word)?;
            let fastest = (0..ROUNDS).map(|_| timed(&bytes)).min().unwrap_or_default();
            let megabytes = f64::from(u32::try_from(bytes.len() / 1_000)?) / 1e3;
            println!("{:>8.0} MB/s  {megabytes:>7.1} MB  {word}", megabytes / fastest.as_secs_f64());
        } else {
            let (name, seen) = match word.strip_prefix("-:").and_then(|word| word.split_once(':')) {
                Some((size, name)) => (name, read(size.parse()?, io::stdin().lock())?),
                None => (word.as_str(), read(fs::metadata(&word)?.len(), File::open(&word)?)?),
            };
            println!("{}", serde_json::json!({ "file": name, "held": seen.1, "seen": seen.0 }));
        }
    }
    Ok(())
}

fn timed(bytes: &[u8]) -> Duration {
    let begun = Instant::now();
    let mut reader = ElfReader::new(u64::try_from(bytes.len()).unwrap_or(u64::MAX));
    for piece in bytes.chunks(PIECE) {
        reader.feed(piece);
    }
    black_box(reader.finish());
    begun.elapsed()
}

/// What was seen, and the most that was held on the way.
fn read(size: u64, mut from: impl Read) -> io::Result<(ElfSummary, usize)> {
    let mut reader = ElfReader::new(size);
    let mut piece = vec![0; PIECE];
    let mut held = 0;
    loop {
        let count = from.read(&mut piece)?;
        if count == 0 {
            return Ok((reader.finish(), held));
        }
        reader.feed(piece.get(..count).unwrap_or_default());
        held = held.max(reader.memory_usage());
    }
}
