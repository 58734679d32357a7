//! What sound layers look like in all their packings and spellings.

use std::io;
use std::io::{Read, Write as _};
use std::ops::ControlFlow;

use imagelint::layer::installed::FileEvidence;
use imagelint::layer::{
    EntryKind, LayerDigestKind, LayerError, LayerLimits, LayerReadProgress, LayerSummary, read_layer,
};

use crate::layers::build::{Archive, described, gzip, header, read, read_with, zstd};

const CONF: &str = "/etc/ld.so.conf.d/x.conf";

/// The text of a file that was read.
fn text(seen: &LayerSummary, path: &str) -> String {
    match seen.entries.get(path).map(|entry| &entry.kind) {
        Some(EntryKind::Read(evidence)) => match evidence.as_slice() {
            [FileEvidence::Text(text)] => text.clone(),
            other => format!("{other:?}"),
        },
        other => format!("{other:?}"),
    }
}

fn sample() -> Vec<u8> {
    let archive = Archive::default().directory("./").directory("./etc/").file("./etc/ld.so.conf.d/x.conf", "/opt/x\n");
    let archive = archive.file("usr/share/doc/readme.txt", "nothing").link("usr/local/cuda", "cuda-12.4");
    let mut elf = b"\x7fELF\x02\x01\x01".to_vec();
    elf.resize(3000, 0);
    (elf[16], elf[18]) = (3, 62);
    archive.entry("/usr/lib/libx.so.1", b'0', &elf, "").file("usr/lib/liby.so", "INPUT(libx.so.1)").end()
}

fn skippable_frame() -> Vec<u8> {
    [[0x50, 0x2a, 0x4d, 0x18, 3, 0, 0, 0].as_slice(), b"abc"].concat()
}

/// One frame of an unknown size, with a window of this power of two.
fn windowed(bytes: &[u8], window_log: u32) -> Vec<u8> {
    let mut encoder = zstd::Encoder::new(Vec::new(), 3).expect("an encoder");
    encoder.window_log(window_log).expect("a window");
    encoder.write_all(bytes).expect("a frame");
    encoder.finish().expect("a frame")
}

#[test]
fn every_packing_gives_the_same() {
    let plain = sample();
    let whole = read(&plain).expect("a plain archive");
    assert!(whole.is_complete() && whole.missed.is_empty(), "{:?}", whole.missed);
    let (one, two) = plain.split_at(1000);
    let members = [gzip(one), gzip(b""), gzip(two)].concat();
    let skippable = skippable_frame();
    let frames = [zstd(one), skippable.clone(), zstd(two), skippable.clone()].concat();
    let behind = [skippable, zstd(&plain)].concat();
    // As zstd:chunked has it: small pieces in frames of their own size, larger ones in frames with a window of 32 MiB.
    let piece = zstd::bulk::compress(one, 3).expect("a frame");
    let pieces = [piece.clone(), windowed(two, 25), skippable_frame()].concat();
    let too_wide = read(&[piece, windowed(two, 27)].concat());
    assert!(matches!(too_wide, Err(LayerError::Packing { .. })), "{too_wide:?}");
    for (name, packed) in [
        ("gzip", gzip(&plain)),
        ("members", members),
        ("zstd", zstd(&plain)),
        ("frames", frames),
        ("skip", behind),
        ("pieces", pieces),
    ] {
        let seen = read(&packed).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(seen.entries, whole.entries, "{name}");
        assert_eq!((seen.size, seen.unpacked), (packed.len() as u64, plain.len() as u64), "{name}");
        assert_eq!(seen.digest, described(packed.as_slice()).digest, "{name}");
    }
    let paths: Vec<&str> = whole.entries.keys().map(String::as_str).collect();
    assert_eq!(paths, [CONF, "/usr/lib/libx.so.1", "/usr/lib/liby.so", "/usr/local/cuda"]);
    assert_eq!(text(&whole, CONF), "/opt/x\n");
    assert_eq!(whole.entries[CONF].written.as_deref(), Some("./etc/ld.so.conf.d/x.conf"));
    assert!(matches!(&whole.entries["/usr/lib/libx.so.1"].kind, EntryKind::Elf(elf) if elf.machine == 62));
    assert_eq!(whole.entries["/usr/lib/liby.so"].kind, EntryKind::Present);
}

#[test]
fn a_reader_with_single_bytes_gives_the_same_result() {
    struct Drip<'a>(&'a [u8], bool);
    impl Read for Drip<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            self.1 = !self.1;
            if self.1 {
                return Err(io::ErrorKind::Interrupted.into());
            }
            let count = buffer.len().min(1);
            self.0.read(&mut buffer[..count])
        }
    }
    for packed in [sample(), gzip(&sample()), zstd(&sample())] {
        let whole = read(&packed).expect("at once");
        let dripped = read_with(Drip(&packed, false), &described(packed.as_slice()), &LayerLimits::default());
        assert_eq!(dripped.expect("in drops"), whole);
    }
}

#[test]
fn empty_layers_are_layers() {
    let empty: [&[u8]; 5] = [b"", &gzip(b""), &zstd(b""), &[0; 1024], &gzip(&[0; 10_240])];
    for bytes in empty {
        let seen = read(bytes).expect("an empty layer");
        assert!(seen.entries.is_empty() && seen.is_complete() && seen.missed.is_empty(), "{:?}", seen.missed);
    }
}

#[test]
fn long_names_are_read_from_both_tar_extensions() {
    let long = format!("{}/etc/torch/version.py", "d/".repeat(100));
    let key = format!("/{}/etc/torch/version.py", ["d"; 100].join("/"));
    let by_name =
        Archive::default().entry("././@LongLink", b'L', format!("{long}\0").as_bytes(), "").file("cut", "a = 1");
    let by_pax = Archive::default().pax(&[("mtime", "1.5"), ("path", &long)]).file("cut", "a = 1");
    for archive in [by_name, by_pax] {
        let seen = read(&archive.end()).expect("a long name");
        assert_eq!(seen.entries.keys().collect::<Vec<_>>(), [&key]);
    }
    let target = "t/".repeat(200);
    let by_name = Archive::default().entry("././@LongLink", b'K', target.as_bytes(), "").link("l", "cut");
    let by_pax = Archive::default().pax(&[("linkpath", &target)]).link("l", "cut");
    for archive in [by_name, by_pax] {
        let seen = read(&archive.end()).expect("a long target");
        assert_eq!(seen.entries["/l"].kind, EntryKind::Link(target.clone()));
    }
    // The extension is for one entry alone.
    let both = Archive::default().pax(&[("path", "a.so")]).file("b.so", "").file("c.so", "").end();
    assert_eq!(read(&both).expect("two").entries.keys().collect::<Vec<_>>(), ["/a.so", "/c.so"]);
}

#[test]
fn a_global_header_and_unknown_kinds_do_no_harm() {
    let archive = Archive::default().entry("pax_global_header", b'g', b"16 path=else.so\n", "");
    let archive = archive.file("a.so", "").entry("b.so", b'Z', b"payload", "").entry("c.so", b'3', b"", "");
    let seen = read(&archive.end()).expect("odd kinds");
    assert_eq!(seen.entries.keys().collect::<Vec<_>>(), ["/a.so", "/b.so"]);
}

#[test]
fn links_and_folders_have_no_payload_for_any_size_field() {
    for flag in [b'1', b'2', b'3', b'5', b'6'] {
        let archive = Archive::default().block(&header(b"x", flag, 512, b"y")).file("after.so", "").end();
        let seen = read(&archive).expect("an archive");
        assert!(seen.entries.contains_key("/after.so"), "{flag}");
    }
}

#[test]
fn the_digest_may_be_of_the_unpacked_bytes() {
    let plain = sample();
    let mut descriptor = described(plain.as_slice());
    (descriptor.digested, descriptor.size) = (LayerDigestKind::Unpacked, None);
    for packed in [plain.clone(), gzip(&plain), zstd(&plain)] {
        let seen = read_with(packed.as_slice(), &descriptor, &LayerLimits::default()).expect("a layer");
        assert_eq!(seen.size, packed.len() as u64);
    }
    let other = Archive::default().file("a.so", "").end();
    let found = read_with(gzip(&other).as_slice(), &descriptor, &LayerLimits::default());
    assert!(matches!(found, Err(LayerError::WrongDigest { .. })), "{found:?}");
    // Where the limit ends the walk the digest stays unchecked, which is an error here.
    let limits = LayerLimits { unpacked: 1000, ratio: 0, ..LayerLimits::default() };
    let found =
        read_with(Archive::default().entry("x", b'0', &vec![1; 1 << 20], "").0.as_slice(), &descriptor, &limits);
    assert!(matches!(found, Err(LayerError::TooLarge { .. })), "{found:?}");
}

#[test]
fn the_watcher_sees_progress_and_ends_the_reading_at_once() {
    let packed = gzip(&sample());
    let descriptor = described(packed.as_slice());
    let mut last = LayerReadProgress::default();
    let watch = &mut |progress: LayerReadProgress| {
        assert!(progress.packed >= last.packed && progress.unpacked >= last.unpacked);
        last = progress;
        ControlFlow::Continue(())
    };
    read_layer(packed.as_slice(), &descriptor, &LayerLimits::default(), watch).expect("a layer");
    assert_eq!(last.packed, packed.len() as u64);
    // A source without end.
    let mut calls = 0;
    let watch = &mut |_: LayerReadProgress| {
        calls += 1;
        if calls > 3 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let mut descriptor = descriptor;
    descriptor.size = None;
    let endless = io::Cursor::new(header(b"x", b'0', 1 << 60, b"")).chain(io::repeat(0));
    let found = read_layer(endless, &descriptor, &LayerLimits::default(), watch);
    assert_eq!(found, Err(LayerError::Stopped));
    assert!(calls < 10, "{calls}");
}

#[test]
fn archive_without_end_marker_is_read_to_its_last_byte() {
    let whole = Archive::default().file("etc/ld.so.conf.d/x.conf", "/opt/x").0;
    // One header, the text, and nothing behind it: umoci leaves such layers.
    for end in [518, 519, 700, 1023, 1024] {
        let seen = read(&whole[..end]).unwrap_or_else(|error| panic!("{end}: {error}"));
        assert_eq!((text(&seen, CONF).as_str(), seen.missed.len()), ("/opt/x", 0), "{end}");
    }
    for end in [1, 511, 512, 513, 517] {
        assert!(matches!(read(&whole[..end]), Err(LayerError::Tar { .. })), "{end}");
    }
}
