//! Random mutations of known inputs against every reader of a text: no panic, no endless run, no lost source location.
//!
//! Runs briefly with the other tests; longer by `IMAGELINT_FUZZ_SECONDS=600 cargo test --release --test fuzz`.

mod builds;
mod context;
mod dockerfile;
mod elf;
mod installed;
mod layer;
#[path = "../support/elf.rs"]
mod make;
mod manifest;
mod mutate;
#[path = "../support/oci_layout.rs"]
mod oci_layout;

use std::io::Write as _;
use std::time::{Duration, Instant};
use std::{env, io, panic};

use mutate::{Random, mutated};

/// A brief run, in seconds.
const BRIEF: u64 = 3;
/// No input of a few kilobytes may take longer.
const SLOWEST: Duration = Duration::from_secs(5);

/// How long to run, and where the numbers begin.
fn settings() -> (u64, Random) {
    let number = |name: &str| env::var(name).ok().and_then(|text| text.parse().ok());
    let seed = number("IMAGELINT_FUZZ_SEED").unwrap_or(0x2545_f491_4f6c_dd1d);
    (number("IMAGELINT_FUZZ_SECONDS").unwrap_or(BRIEF), Random::new(seed))
}

/// Feeds mutations of the seeds to a reader until the time is over.
fn run(name: &str, seeds: &[String], words: &[&str], read: fn(&str)) {
    let (seconds, mut random) = settings();
    let end = Instant::now() + Duration::from_secs(seconds);
    let mut tried = 0_u64;
    while tried < 50 || Instant::now() < end {
        let text = mutated(&mut random, seeds, words);
        let started = Instant::now();
        if let Err(cause) = panic::catch_unwind(|| read(&text)) {
            let _ = writeln!(io::stderr(), "{name}: stopped by {text:?}");
            panic::resume_unwind(cause);
        }
        assert!(started.elapsed() < SLOWEST, "{name}: {:?} for {text:?}", started.elapsed());
        tried += 1;
    }
    let _ = writeln!(io::stderr(), "{name}: {tried} inputs");
}

#[test]
fn dockerfiles() {
    run("dockerfile", &dockerfile::seeds(), dockerfile::WORDS, dockerfile::read);
}

#[test]
fn scripts() {
    run("script", &context::script_seeds(), context::SCRIPT_WORDS, context::read_script);
}

#[test]
fn lists_and_locks() {
    run("list", &context::list_seeds(), context::LIST_WORDS, context::read_list);
}

#[test]
fn bake_files() {
    run("bake", &builds::bake_seeds(), builds::BAKE_WORDS, builds::read_bake);
}

#[test]
fn compose_files() {
    run("compose", &builds::compose_seeds(), builds::COMPOSE_WORDS, builds::read_compose);
}

#[test]
fn package_records() {
    run("records", &installed::seeds(), installed::WORDS, installed::read_text);
}

#[test]
fn package_databases() {
    run("databases", &installed::seeds(), installed::WORDS, installed::read_database);
}

#[test]
fn manifests() {
    run("manifest", &manifest::seeds(), manifest::WORDS, manifest::read);
}

#[test]
fn elf_files() {
    let (seconds, random) = settings();
    elf::run(seconds, random);
}

#[test]
fn layers() {
    let (seconds, random) = settings();
    layer::run(seconds, random);
}
