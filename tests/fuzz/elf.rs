//! ELF files with fat binaries: never more memory than allowed, and the same result however the file is cut.

use std::io::Write as _;
use std::time::{Duration, Instant};
use std::{env, io, panic};

use imagelint::layer::elf::{ElfReader, ElfSummary, MAX_READER_MEMORY};

use crate::make::{Elf, Programs, container, group, note, ptx, sass};
use crate::mutate::Random;

/// What offsets, lengths and counts are turned into.
const NUMBERS: &[u64] =
    &[0, 1, 7, 8, 16, 63, 64, 65, 255, 256, 0xffff, 0x7fff_ffff, 0xffff_ffff, u64::MAX >> 1, u64::MAX];

fn seeds() -> Vec<Vec<u8>> {
    let small = |mut entries: Vec<crate::make::Entry>| {
        for entry in &mut entries {
            entry.payload = 40;
        }
        entries
    };
    let code = [
        container(&small(vec![sass(80, ' '), sass(90, 'a'), ptx(90, (8, 4))])),
        container(&small(vec![sass(80, ' ')])),
        group(&[sass(80, ' '), ptx(120, (9, 5)), sass(100, 'f')]),
    ];
    let file = Elf {
        needed: vec!["libcudart.so.12", "dart.so.12", "libc.so.6"],
        soname: Some("libx.so.1"),
        runpath: Some("$ORIGIN/../lib"),
        ..Elf::default()
    };
    let file = file.noted(note("NVIDIA Corporation", r#"{"CUDA version":"12.9","driver":[535]}"#, 4), 4);
    let file = file.relocatable(&code[..1]).registered(&code).with(".rodata", 1, 8, code.concat());
    let shapes = [
        file.clone(),
        Elf { dynamic_first: true, ..file.clone() },
        Elf { programs: Programs::Late, dynamic_first: true, ..file.clone() },
        Elf { sections: false, ..file },
    ];
    shapes.iter().map(Elf::bytes).collect()
}

/// A seed with numbers changed, pieces moved, and an end that may come early.
fn mutated(random: &mut Random, seeds: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = seeds[random.below(seeds.len())].clone();
    for _ in 0..=random.below(8) {
        let at = random.below(bytes.len());
        match random.below(6) {
            0 => bytes[at] = u8::try_from(random.below(256)).expect("a byte"),
            1 | 2 => {
                // Fields are at multiples of their length, most of them in the tables at both ends.
                let width = [2, 4, 8][random.below(3)];
                let at = [at, random.below(200), bytes.len() - 1 - random.below(bytes.len().min(600))][random.below(3)];
                let at = at - at % width;
                let value = NUMBERS[random.below(NUMBERS.len())].to_le_bytes();
                bytes.iter_mut().skip(at).zip(value).take(width).for_each(|(byte, new)| *byte = new);
            }
            3 => {
                let piece = bytes[at..(at + random.below(300)).min(bytes.len())].to_vec();
                let to = random.below(bytes.len());
                bytes.splice(to..to, piece);
            }
            4 => drop(bytes.drain(at..(at + random.below(64)).min(bytes.len()))),
            _ => bytes.truncate(at.max(64)),
        }
        if bytes.is_empty() {
            bytes.push(0x7f);
        }
    }
    bytes
}

fn read(size: u64, bytes: &[u8], mut piece: impl FnMut() -> usize) -> ElfSummary {
    let mut reader = ElfReader::new(size);
    let mut rest = bytes;
    while !rest.is_empty() {
        let (now, later) = rest.split_at(piece().clamp(1, rest.len()));
        reader.feed(now);
        assert!(reader.memory_usage() <= MAX_READER_MEMORY, "holds {}", reader.memory_usage());
        rest = later;
    }
    reader.finish()
}

/// Reads mutations until the time is over.
pub(crate) fn run(seconds: u64, mut random: Random) {
    let seeds = seeds();
    let end = Instant::now() + Duration::from_secs(seconds);
    let mut tried = 0_u64;
    while tried < 50 || Instant::now() < end {
        let bytes = mutated(&mut random, &seeds);
        let length = u64::try_from(bytes.len()).expect("a length");
        let size = [length, length + 100, length / 2, u64::MAX][random.below(4)];
        let result = panic::catch_unwind(|| {
            let whole = read(size, &bytes, || usize::MAX);
            let mut cuts = Random::new(length);
            assert_eq!(read(size, &bytes, || 1 + cuts.below(300)), whole, "cut at random");
            if length < 2_000 {
                assert_eq!(read(size, &bytes, || 1), whole, "byte by byte");
            }
            let text = serde_json::to_string(&whole).expect("JSON");
            assert_eq!(serde_json::from_str::<ElfSummary>(&text).expect("what was written"), whole);
        });
        if let Err(cause) = result {
            let place = env::temp_dir().join("elf-fuzz");
            let _ = std::fs::write(&place, &bytes);
            let _ = writeln!(io::stderr(), "elf: stopped by {} of size {size}", place.display());
            panic::resume_unwind(cause);
        }
        tried += 1;
    }
    let _ = writeln!(io::stderr(), "elf: {tried} inputs");
}
