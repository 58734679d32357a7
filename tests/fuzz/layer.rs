//! Archives of layers, plain and packed: bytes changed, blocks moved, checksums mostly made good again.

use std::fmt::Write as _;
use std::io::Write as _;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::{Duration, Instant};

use flate2::Compression;
use flate2::write::GzEncoder;
use imagelint::layer::{
    LayerDescriptor, LayerDigestKind, LayerError, LayerLimits, LayerSummary, MergedLayers, read_layer,
};
use sha2::{Digest as _, Sha256};

use crate::mutate::Random;

/// No layer of a few kilobytes may take longer.
const SLOWEST: Duration = Duration::from_secs(5);
const BLOCK: usize = 512;

fn seed() -> Vec<u8> {
    let mut builder = tar::Builder::new(Vec::new());
    let mut add = |kind: tar::EntryType, path: &str, text: &[u8], link: &str| {
        let mut header = tar::Header::new_gnu();
        header.set_entry_type(kind);
        header.set_size(text.len() as u64);
        if link.is_empty() {
            builder.append_data(&mut header, path, text).expect("an entry");
        } else {
            builder.append_link(&mut header, path, link).expect("a link");
        }
    };
    let (file, link) = (tar::EntryType::Regular, tar::EntryType::Symlink);
    add(file, "etc/ld.so.conf.d/a.conf", b"/opt\n", "");
    add(file, "usr/lib/libx.so.1", b"\x7fELF\x02\x01\x01 and more", "");
    add(link, "lib", b"", "usr/lib");
    add(file, "lib/liby.so", b"x", "");
    add(tar::EntryType::Link, "usr/lib/libx.so", b"", "usr/lib/libx.so.1");
    add(file, "usr/.wh.lib", b"", "");
    add(file, &"long/".repeat(30), b"x", "");
    add(tar::EntryType::XHeader, "pax", b"9 size=1\n16 path=../x.so\n", "");
    add(file, "usr/.wh..wh..opq", b"", "");
    builder.into_inner().expect("an archive")
}

fn changed(random: &mut Random, seed: &[u8]) -> Vec<u8> {
    let mut bytes = seed.to_vec();
    for _ in 0..=random.below(6) {
        let at = random.below(bytes.len());
        let block = at / BLOCK * BLOCK;
        match random.below(6) {
            0 => bytes[at] = u8::try_from(random.below(256)).expect("a byte"),
            // A field of the header: its name, size, kind or target.
            1 => {
                let field = block + [0, 124, 130, 135, 156, 157, 345, 482][random.below(8)];
                if let Some(byte) = bytes.get_mut(field) {
                    *byte = b"01257LKxgS\0\x80./"[random.below(14)];
                }
            }
            2 => bytes.truncate(at.max(BLOCK)),
            3 => {
                let copy = bytes[block..(block + BLOCK).min(bytes.len())].to_vec();
                let to = random.below(bytes.len() / BLOCK + 1) * BLOCK;
                bytes.splice(to..to, copy);
            }
            4 => drop(bytes.drain(block..(block + BLOCK).min(bytes.len()))),
            _ => {
                let piece = [b"../".as_slice(), b".wh.", b"/", b"99 path=x\n", b"\0", b"lib"][random.below(6)];
                let end = (at + piece.len()).min(bytes.len());
                bytes.splice(at..end, piece.iter().copied());
            }
        }
        if bytes.len() < BLOCK {
            bytes.resize(BLOCK, 0);
        }
    }
    if random.below(8) > 0 {
        for block in bytes.chunks_exact_mut(BLOCK).filter(|block| block.iter().any(|byte| *byte != 0)) {
            block[148..156].fill(b' ');
            let sum: u32 = block.iter().map(|byte| u32::from(*byte)).sum();
            block[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
        }
    }
    bytes
}

fn packed(random: &mut Random, bytes: &[u8]) -> Vec<u8> {
    let mut packed = match random.below(4) {
        0 => {
            let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
            encoder.write_all(bytes).and_then(|()| encoder.finish()).expect("gzip")
        }
        1 => zstd::encode_all(bytes, 1).expect("zstd"),
        _ => return bytes.to_vec(),
    };
    if random.below(2) == 0 {
        let at = random.below(packed.len());
        packed[at] = packed[at].wrapping_add(1);
    }
    packed
}

fn read(bytes: &[u8]) -> Result<LayerSummary, LayerError> {
    let mut digest = "sha256:".to_owned();
    for byte in Sha256::digest(bytes) {
        write!(digest, "{byte:02x}").expect("a text");
    }
    let size = Some(bytes.len() as u64);
    let descriptor = LayerDescriptor { digest, digested: LayerDigestKind::Packed, size, media_type: String::new() };
    read_layer(bytes, &descriptor, &LayerLimits::default(), &mut |_| ControlFlow::Continue(()))
}

/// Feeds changed archives until the time is over.
pub(crate) fn run(seconds: u64, mut random: Random) {
    let seed = seed();
    let below = Arc::new(read(&seed).expect("the seed"));
    let end = Instant::now() + Duration::from_secs(seconds);
    let (mut tried, mut whole) = (0_u64, 0_u64);
    while tried < 50 || Instant::now() < end {
        let archive = changed(&mut random, &seed);
        let bytes = packed(&mut random, &archive);
        let started = Instant::now();
        let found = read(&bytes);
        assert!(started.elapsed() < SLOWEST, "{:?} for {bytes:?}", started.elapsed());
        assert!(!matches!(found, Err(LayerError::WrongDigest { .. } | LayerError::WrongSize { .. })), "{found:?}");
        if let Ok(seen) = found {
            whole += 1;
            for path in seen.entries.keys().chain(&seen.whiteouts) {
                assert!(path.starts_with('/') && !path.split('/').any(|part| part == ".."), "{path:?} of {bytes:?}");
            }
            let tree = MergedLayers::merge(vec![below.clone(), Arc::new(seen)]);
            assert!(tree.entries().all(|placed| placed.layer < 2));
        }
        tried += 1;
    }
    assert!(whole > 0, "no changed archive can be read: nothing is tried behind the first header");
}
