//! Layers made to use up memory or time. The process that reads them stays within the bound of the whole program,
//! with the streams, which are made as they are read, and with the other tests of this file.

use std::io::{Read, Write as _};
use std::process::Command;
use std::time::{Duration, Instant};
use std::{env, fs, io};

use imagelint::layer::{LayerError, LayerLimits, LayerSummary, SkipReason};

use crate::layers::build::{Archive, Pieces, described, gzip, header, read_with, zstd};

/// Memory of the whole process.
const MOST_MEMORY: u64 = 60 << 20;
/// On a slow machine, without optimisation.
const MOST_TIME: Duration = Duration::from_mins(1);

const GIB: u64 = 1 << 30;
/// Entries of archives that have many: more than are kept under an eighth of the limits.
const MANY: u64 = 125_000;

/// What comes of a fault.
type Comes = fn(&Result<LayerSummary, LayerError>) -> bool;
/// Begins a stream anew.
type Make = Box<dyn Fn() -> Box<dyn Read>>;

fn missed(found: &Result<LayerSummary, LayerError>, mark: SkipReason) -> bool {
    found.as_ref().is_ok_and(|seen| seen.missed.iter().any(|missed| missed.mark == mark))
}

/// The mark is there, and so is the entry behind it.
fn passed(found: &Result<LayerSummary, LayerError>, mark: SkipReason) -> bool {
    missed(found, mark) && found.as_ref().is_ok_and(|seen| seen.entries.contains_key("/after.so"))
}

fn tar(found: &Result<LayerSummary, LayerError>) -> bool {
    matches!(found, Err(LayerError::Tar { .. }))
}

fn after(archive: Archive) -> Vec<u8> {
    archive.file("after.so", "x").end()
}

/// Streams that are large, unpacked or packed, made as they are read.
fn streams() -> Vec<(&'static str, Make, LayerLimits, Comes)> {
    let once = |bytes: Vec<u8>| -> Make { Box::new(move || Box::new(io::Cursor::new(bytes.clone()))) };
    let bomb = LayerLimits { unpacked: GIB / 4, ratio: 1, ..LayerLimits::default() };
    let zeros = vec![0_u8; 4 << 20];
    let (gzipped, zstded) = (gzip(&zeros), zstd(&zeros));
    // 8 TiB in one file: the first member has its header, the others its zeros.
    let large = |pack: fn(&[u8]) -> Vec<u8>, zeros: Vec<u8>| -> Make {
        let first = pack(&[header(b"a.so", b'0', 1, b""), [0; 512], header(b"zeros", b'0', 8192 * GIB, b"")].concat());
        Box::new(move || {
            let (first, zeros) = (first.clone(), zeros.clone());
            Box::new(Pieces::new(move |at| (at < 400).then(|| if at == 0 { first.clone() } else { zeros.clone() })))
        })
    };
    let long = |flag: u8, start: &'static [u8], size: u64| -> Make {
        Box::new(move || {
            let chunk = 1 << 20;
            let front = [header(b"long", flag, size, b"").as_slice(), start].concat();
            let filled = size - start.len() as u64 - 1;
            let end = after(Archive::default().file("named.txt", ""));
            let pad = vec![0; usize::try_from(size.next_multiple_of(512) - size).expect("small")];
            let filling = Pieces::new(move |at| {
                let left = filled.checked_sub(at * chunk).filter(|left| *left > 0)?;
                Some(vec![b'x'; usize::try_from(left.min(chunk)).expect("small")])
            });
            Box::new(io::Cursor::new(front).chain(filling).chain(io::Cursor::new([b"\n".to_vec(), pad, end].concat())))
        })
    };
    let many = |flag: u8, name: fn(u64) -> String, count: u64| -> Make {
        Box::new(move || {
            Box::new(Pieces::new(move |at| match at {
                at if at < count => Some(header(name(at).as_bytes(), flag, 0, b"target").to_vec()),
                at if at == count => Some(after(Archive::default())),
                _ => None,
            }))
        })
    };
    let d = LayerLimits::default();
    let few = LayerLimits { names: d.names / 8, kept: d.kept / 8, ..d };
    let beyond: Comes = |found| {
        missed(found, SkipReason::Beyond)
            && found.as_ref().is_ok_and(|seen| !seen.is_complete() && seen.entries.len() == 1)
    };
    let full: Comes = |found| {
        missed(found, SkipReason::Full)
            && found.as_ref().is_ok_and(|seen| !seen.is_complete() && seen.memory_size() < 24 << 20)
    };
    let borne: Comes =
        |found| found.as_ref().is_ok_and(|seen| seen.is_complete() && seen.entries.contains_key("/after.so"));
    vec![
        ("a gzip bomb", large(gzip, gzipped.clone()), bomb, beyond),
        ("a zstd bomb", large(zstd, zstded.clone()), bomb, beyond),
        ("1.6 GB of zeros in gzip within the limit", large(gzip, gzipped), d, tar),
        ("1.6 GB of zeros in zstd within the limit", large(zstd, zstded), d, tar),
        (
            "a bomb behind the end of the archive",
            once([gzip(&after(Archive::default())), gzip(&zeros).repeat(400)].concat()),
            bomb,
            |found| missed(found, SkipReason::Beyond),
        ),
        (
            "a million empty gzip members",
            {
                let (first, empty) = (gzip(&after(Archive::default())), gzip(b""));
                Box::new(move || {
                    let (first, empty) = (first.clone(), empty.clone());
                    Box::new(Pieces::new(move |at| {
                        (at < 1000).then(|| if at == 0 { first.clone() } else { empty.repeat(1000) })
                    }))
                })
            },
            d,
            borne,
        ),
        ("a PAX record of 128 MiB that nobody needs", long(b'x', b"134217728 comment=", GIB / 8), d, borne),
        ("a PAX path of 1 GiB", long(b'x', b"1073741824 path=", GIB), d, |found| passed(found, SkipReason::LongName)),
        ("a PAX key of 1 GiB", long(b'x', b"1073741824 ", GIB), d, tar),
        ("a global header of 128 MiB", long(b'g', b"", GIB / 8), d, borne),
        ("a long name of 128 MiB", long(b'L', b"", GIB / 8), d, |found| passed(found, SkipReason::LongName)),
        ("a long link of 5 MiB", long(b'K', b"", 5 << 20), d, borne),
        ("a file of 1 GiB that is read as text", long(b'0', b"", GIB), d, borne),
        ("many files that are not wanted", many(b'0', |at| format!("d{}/f{at}.txt", at / 100), MANY), few, full),
        ("many libraries", many(b'0', |at| format!("d{}/f{at}.so", at / 100), MANY), few, full),
        ("many links", many(b'2', |at| format!("d{}/f{at}", at / 100), MANY), few, full),
        ("many hard links", many(b'1', |at| format!("d{}/f{at}.so", at / 100), MANY), few, full),
        ("many whiteouts", many(b'0', |at| format!("d/.wh.{at}"), MANY), few, full),
        ("one name many times", many(b'0', |_| "a.so".to_owned(), MANY), d, borne),
        (
            "files and directories in turns",
            many(b'0', |at| if at % 2 == 0 { "a".into() } else { "a/b/c.so".into() }, 300_000),
            d,
            borne,
        ),
        ("many long names", many(b'L', |_| "x".to_owned(), MANY), d, |found| found.is_ok()),
        (
            "more headers than are read",
            many(b'5', |at| format!("{at}"), 20_000),
            LayerLimits { headers: 10_000, ..d },
            |found| missed(found, SkipReason::Beyond),
        ),
    ]
}

/// The most memory that this process had, as the kernel counts it.
fn peak() -> u64 {
    let status = fs::read_to_string("/proc/self/status").expect("the kernel's count");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("the peak");
    line.trim().trim_end_matches(" kB").parse::<u64>().expect("kilobytes") * 1024
}

/// Set in the process that measures.
const ALONE: &str = "IMAGELINT_TEST_ALONE";

#[test]
fn each_large_fault_ends_in_time_and_within_memory() {
    // The memory is that of the process, so this test has one of its own.
    if env::var_os(ALONE).is_none() {
        let name = "layers::large::each_large_fault_ends_in_time_and_within_memory";
        let mut own = Command::new(env::current_exe().expect("this program"));
        let done = own.args(["--exact", name, "--nocapture"]).env(ALONE, "1").output().expect("it runs");
        let said = String::from_utf8_lossy(&done.stdout);
        assert!(done.status.success() && said.contains("1 passed"), "{said}{}", String::from_utf8_lossy(&done.stderr));
        return;
    }
    let mut wrong = Vec::new();
    for (name, make, limits, comes) in streams() {
        let descriptor = described(make());
        let started = Instant::now();
        let found = read_with(make(), &descriptor, &limits);
        let (took, peak) = (started.elapsed(), peak());
        let _ = writeln!(io::stderr(), "{name}: {took:.2?}, {} MB at most so far", peak >> 20);
        if !comes(&found) {
            let shown: String = format!("{found:?}").chars().take(500).collect();
            wrong.push(format!("{name}: {shown}"));
        }
        assert!(took < MOST_TIME, "{name}: {took:?}");
        assert!(peak < MOST_MEMORY, "{name}: {peak} bytes");
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
