//! Every fault tried on a layer, with what comes of it. Nothing panics, and memory stays within bounds.

use std::io;
use std::io::Read;

use imagelint::layer::{LayerDescriptor, LayerError, LayerLimits, LayerSummary, SkipReason};

use crate::layers::build::{Archive, described, gzip, header, read, read_with, record, summed, zstd};

/// What comes of a fault.
type Comes = fn(&Result<LayerSummary, LayerError>) -> bool;

fn tar(found: &Result<LayerSummary, LayerError>) -> bool {
    matches!(found, Err(LayerError::Tar { .. }))
}

fn packing(found: &Result<LayerSummary, LayerError>) -> bool {
    matches!(found, Err(LayerError::Packing { .. }))
}

fn missed(found: &Result<LayerSummary, LayerError>, mark: SkipReason) -> bool {
    found.as_ref().is_ok_and(|seen| seen.missed.iter().any(|missed| missed.mark == mark))
}

/// The mark is there, and so is the entry behind it.
fn passed(found: &Result<LayerSummary, LayerError>, mark: SkipReason) -> bool {
    missed(found, mark) && found.as_ref().is_ok_and(|seen| seen.entries.contains_key("/after.so"))
}

fn small() -> Archive {
    Archive::default().file("a.so", "x")
}

fn after(archive: Archive) -> Vec<u8> {
    archive.file("after.so", "x").end()
}

/// A fault that is small as bytes, whose digest and size are as announced.
type Row = (&'static str, Vec<u8>, Comes);

/// Faults of packing: what comes is less, more or other than what a packer wrote.
fn packings() -> Vec<Row> {
    let whole = small().file("b.so", &"x".repeat(5000)).end();
    let cut = |bytes: Vec<u8>, at: usize| bytes.get(..at).expect("shorter").to_vec();
    let half = |bytes: Vec<u8>| bytes.get(..bytes.len() / 2).expect("shorter").to_vec();
    let mut flipped = gzip(&whole);
    let middle = flipped.len() / 2;
    flipped[middle] ^= 0xff;
    let mut sum = gzip(&whole);
    let end = sum.len() - 6;
    sum[end] ^= 1;
    let mut window = zstd(b"");
    window.splice(4.., [0x00, 0x88]);
    vec![
        ("a tar archive cut inside of a header", cut(whole.clone(), 1200), tar),
        ("a tar archive cut inside of a file", cut(whole.clone(), 3000), tar),
        ("a file without the rest of its block", cut(whole.clone(), 600), |found| found.is_ok()),
        ("no blocks of zeros at the end", cut(whole.clone(), 1024), |found| {
            found.as_ref().is_ok_and(LayerSummary::is_complete)
        }),
        ("one block of zeros at the end", cut(whole.clone(), whole.len() - 512), |found| found.is_ok()),
        ("a block of zeros between entries", after(small().block(&[0; 512])), tar),
        ("gzip cut in the middle", half(gzip(&whole)), packing),
        ("gzip cut in its header", cut(gzip(&whole), 7), packing),
        ("gzip without its checksum", cut(gzip(&whole), gzip(&whole).len() - 8), packing),
        ("gzip with a flipped byte", flipped, |found| packing(found) || tar(found)),
        ("gzip with a wrong checksum", sum, packing),
        ("gzip with garbage behind", [gzip(&whole), b"garbage garbage garbage".to_vec()].concat(), packing),
        ("zstd cut in the middle", half(zstd(&whole)), packing),
        ("zstd with garbage behind", [zstd(&whole), b"garbage".to_vec()].concat(), packing),
        ("zstd with a window of 128 MiB", window, |found| {
            matches!(found, Err(LayerError::Window { needed: 0x800_0000, limit: 0x200_0000 }))
        }),
        ("a web page", b"<!DOCTYPE html><html><body>Log in</body></html>".repeat(20), tar),
        ("random bytes", (0..5000_u32).map(|n| n.wrapping_mul(2_654_435_761).to_le_bytes()[3]).collect(), tar),
        ("bzip2", b"BZh91AY&SY".repeat(100), |found| matches!(found, Err(LayerError::Format { format: "bzip2" }))),
        ("xz", b"\xfd7zXZ\0abcd".repeat(99), |found| matches!(found, Err(LayerError::Format { format: "xz" }))),
    ]
}

/// Faults of headers.
fn headers() -> Vec<Row> {
    let whole = small().file("b.so", &"x".repeat(5000)).end();
    let mut bad = header(b"a.so", b'0', 0, b"");
    bad[0] = b'b';
    let sized = |size: &[u8; 12]| {
        let mut block = header(b"a.so", b'0', 0, b"");
        block[124..136].copy_from_slice(size);
        small().block(&summed(block)).0
    };
    vec![
        ("a wrong checksum in the first header", Archive::default().block(&bad).end(), tar),
        ("a wrong checksum in a later header", small().block(&bad).end(), tar),
        ("a size that is no number", sized(b"0000000009z\0"), tar),
        ("a negative size", sized(&[0xff; 12]), tar),
        ("a size of eight exbibytes", sized(&[0x80, 0, 0, 0, 0x7f, 255, 255, 255, 255, 255, 255, 255]), tar),
        ("a size beyond that", sized(&[0x80, 0, 0, 0, 0x80, 0, 0, 0, 0, 0, 0, 0]), tar),
        ("two archives, one behind the other", [whole.clone(), small().end()].concat(), |found| {
            missed(found, SkipReason::Behind) && found.as_ref().is_ok_and(|seen| seen.entries.len() == 2)
        }),
        ("garbage behind the end", [whole, b"garbage".to_vec()].concat(), |found| missed(found, SkipReason::Behind)),
    ]
}

/// Faults of names, links and extension headers.
fn names() -> Vec<Row> {
    let sparse = {
        let mut block = header(b"s.so", b'S', 512, b"");
        block[482] = 1;
        block[483..495].fill(0xff);
        let mut more = [0; 512];
        more[504] = 1;
        Archive::default().block(&summed(block)).block(&more).block(&[0; 512]).payload(&[b'x'; 512])
    };
    let named = |name: &str| after(Archive::default().file(name, "x"));
    let records = |text: &str| after(Archive::default().entry("x", b'x', text.as_bytes(), "").file("a.so", ""));
    let smuggled = |stored: u64, told: &str| {
        let inner = header(b"hidden.so", b'0', 0, b"");
        let archive = Archive::default().pax(&[("size", told)]).block(&header(b"a.txt", b'0', stored, b""));
        after(archive.block(&inner))
    };
    vec![
        ("a name that leads out", named("../../etc/ld.so.conf.d/a.conf"), |found| passed(found, SkipReason::OddName)),
        ("a name that leads out later", named("a/../../b.so"), |found| passed(found, SkipReason::OddName)),
        ("no name", named(""), |found| passed(found, SkipReason::OddName)),
        ("a whiteout of nothing", named("d/.wh."), |found| passed(found, SkipReason::OddName)),
        ("a whiteout of the directory above", named("d/.wh..."), |found| passed(found, SkipReason::OddName)),
        ("a hard link that leads out", after(Archive::default().hard("a.so", "../../x.so")), |found| {
            passed(found, SkipReason::OddName)
        }),
        ("a hard link to itself", after(Archive::default().hard("a.so", "a.so")), |found| {
            found.as_ref().is_ok_and(|seen| seen.entries.len() == 1)
        }),
        ("a zero inside of a name", after(Archive::default().pax(&[("path", "a\0b.so")]).file("x", "")), |found| {
            passed(found, SkipReason::OddName)
        }),
        (
            "a name longer than the kernel takes",
            {
                let long = "d/".repeat(3000);
                after(Archive::default().entry("L", b'L', long.as_bytes(), "").file("x", ""))
            },
            |found| passed(found, SkipReason::LongName),
        ),
        ("an old sparse file", after(sparse), |found| passed(found, SkipReason::Sparse)),
        (
            "a sparse file cut in its map",
            after(Archive::default())
                .get(..0)
                .map(|_| {
                    let mut block = header(b"s.so", b'S', 0, b"");
                    block[482] = 1;
                    summed(block).to_vec()
                })
                .expect("a header"),
            tar,
        ),
        (
            "a sparse file by records",
            after(
                Archive::default()
                    .pax(&[
                        ("GNU.sparse.major", "1"),
                        ("GNU.sparse.minor", "0"),
                        ("GNU.sparse.name", "lib/s.so"),
                        ("GNU.sparse.realsize", "9223372036854775807"),
                    ])
                    .file("GNUSparseFile.0/s.txt", "1\n0\n1\n"),
            ),
            |found| {
                passed(found, SkipReason::Sparse)
                    && found.as_ref().is_ok_and(|seen| seen.entries.contains_key("/lib/s.so"))
            },
        ),
        ("a record without its length", records("path=a.so\n"), tar),
        ("a record longer than its header", records("99 path=a.so\n"), tar),
        ("a record of no length", records("0 path=a.so\n"), tar),
        ("a record with the length of eight exbibytes", records("9223372036854775807 path=a.so\n"), tar),
        ("a negative size in a record", records(&record("size", "-1")), tar),
        ("a size of eight exbibytes in a record", records(&record("size", "9223372036854775807")), tar),
        // The size of the record counts, as in the runtimes: a header inside of a payload is none.
        ("an entry hidden behind a larger size", smuggled(0, "512"), |found| {
            found.as_ref().is_ok_and(|seen| seen.entries.keys().eq(["/after.so"]))
        }),
        ("an entry brought out by a smaller size", smuggled(512, "0"), |found| {
            found.as_ref().is_ok_and(|seen| seen.entries.keys().eq(["/after.so", "/hidden.so"]))
        }),
    ]
}

#[test]
fn each_small_fault_has_its_expected_result() {
    let mut wrong = Vec::new();
    for (name, bytes, comes) in packings().into_iter().chain(headers()).chain(names()) {
        let found = read(&bytes);
        if !comes(&found) {
            wrong.push(format!("{name}: {found:?}"));
        }
        if let Err(error) = &found {
            assert!(error.to_string().len() < 300, "{name}: {error}");
        }
        // Every one of them as a broken download.
        let mut descriptor = described(bytes.as_slice());
        descriptor.size = descriptor.size.map(|size| size + 1);
        let short = read_with(bytes.as_slice(), &descriptor, &LayerLimits::default());
        let early = matches!(short, Err(LayerError::Window { .. }));
        if !early && !matches!(short, Err(LayerError::WrongSize { .. })) {
            wrong.push(format!("{name}, one byte short: {short:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn layer_not_matching_its_descriptor_is_an_error_in_every_packing() {
    let plain = small().end();
    for packed in [plain.clone(), gzip(&plain), zstd(&plain), b"garbage".to_vec(), Vec::new()] {
        let sound = described(packed.as_slice());
        let expected = described(b"other".as_slice()).digest;
        let found = read_with(
            packed.as_slice(),
            &LayerDescriptor { digest: expected.clone(), ..sound.clone() },
            &LayerLimits::default(),
        );
        assert_eq!(found, Err(LayerError::WrongDigest { expected, found: sound.digest.clone() }));
        for (size, came) in [(sound.size.map(|size| size + 7), 0), (sound.size.and_then(|size| size.checked_sub(1)), 1)]
        {
            let Some(expected) = size else { continue };
            let found =
                read_with(packed.as_slice(), &LayerDescriptor { size, ..sound.clone() }, &LayerLimits::default());
            let actual = if came == 0 { packed.len() as u64 } else { expected + 1 };
            assert_eq!(found, Err(LayerError::WrongSize { expected, found: actual }));
        }
        for digest in ["", "sha256:zz", "md5:00"] {
            let found = read_with(
                packed.as_slice(),
                &LayerDescriptor { digest: digest.into(), ..sound.clone() },
                &LayerLimits::default(),
            );
            assert!(matches!(found, Err(LayerError::UnknownDigest { .. })));
        }
    }
}

#[test]
fn a_broken_download_reports_its_position() {
    struct Breaks<'a>(&'a [u8]);
    impl Read for Breaks<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let count = self.0.read(buffer)?;
            if count == 0 { Err(io::Error::new(io::ErrorKind::ConnectionReset, "reset by peer")) } else { Ok(count) }
        }
    }
    let plain = small().end();
    for packed in [plain.clone(), gzip(&plain), zstd(&plain)] {
        for length in [0, 1, 5, 20, packed.len()] {
            let part = packed.get(..length).expect("a part");
            let found = read_with(Breaks(part), &described(packed.as_slice()), &LayerLimits::default());
            let expected = LayerError::Source { at: length as u64, error: "reset by peer".into() };
            assert_eq!(found, Err(expected));
        }
    }
}
