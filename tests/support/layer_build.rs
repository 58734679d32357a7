//! Layer archives written byte by byte, valid and invalid.

use std::fmt::Write as _;
use std::io::{Cursor, Read, Write as _};
use std::ops::ControlFlow;

use flate2::Compression;
use flate2::write::GzEncoder;
use imagelint::layer::{LayerDescriptor, LayerDigestKind, LayerError, LayerLimits, LayerSummary, read_layer};
use sha2::{Digest as _, Sha256};

/// A tar header with the given size.
pub(crate) fn header(name: &[u8], flag: u8, size: u64, link: &[u8]) -> [u8; 512] {
    let mut block = [0; 512];
    block[..name.len().min(100)].copy_from_slice(&name[..name.len().min(100)]);
    block[100..108].copy_from_slice(b"0000755\0");
    if size < 0o100_000_000_000 {
        block[124..136].copy_from_slice(format!("{size:011o}\0").as_bytes());
    } else {
        block[124] = 0x80;
        block[128..136].copy_from_slice(&size.to_be_bytes());
    }
    block[156] = flag;
    block[157..157 + link.len()].copy_from_slice(link);
    block[257..265].copy_from_slice(b"ustar\x0000");
    summed(block)
}

/// The header with its checksum.
pub(crate) fn summed(mut block: [u8; 512]) -> [u8; 512] {
    block[148..156].fill(b' ');
    let sum: u32 = block.iter().map(|byte| u32::from(*byte)).sum();
    block[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    block
}

pub(crate) fn record(key: &str, value: &str) -> String {
    let rest = key.len() + value.len() + 3;
    let mut length = rest + 1;
    while length != rest + length.to_string().len() {
        length = rest + length.to_string().len();
    }
    format!("{length} {key}={value}\n")
}

/// An archive under way.
#[derive(Clone, Default)]
pub(crate) struct Archive(pub(crate) Vec<u8>);

impl Archive {
    pub(crate) fn entry(mut self, name: &str, flag: u8, payload: &[u8], link: &str) -> Self {
        self.0.extend(header(name.as_bytes(), flag, payload.len() as u64, link.as_bytes()));
        self.payload(payload)
    }

    pub(crate) fn payload(mut self, payload: &[u8]) -> Self {
        self.0.extend(payload);
        self.0.resize(self.0.len().next_multiple_of(512), 0);
        self
    }

    pub(crate) fn block(mut self, block: &[u8; 512]) -> Self {
        self.0.extend(block);
        self
    }

    pub(crate) fn file(self, name: &str, text: &str) -> Self {
        self.entry(name, b'0', text.as_bytes(), "")
    }

    pub(crate) fn directory(self, name: &str) -> Self {
        self.entry(name, b'5', b"", "")
    }

    pub(crate) fn link(self, name: &str, target: &str) -> Self {
        self.entry(name, b'2', b"", target)
    }

    pub(crate) fn hard(self, name: &str, target: &str) -> Self {
        self.entry(name, b'1', b"", target)
    }

    pub(crate) fn pax(self, records: &[(&str, &str)]) -> Self {
        let text: String = records.iter().map(|(key, value)| record(key, value)).collect();
        self.entry("PaxHeaders/x", b'x', text.as_bytes(), "")
    }

    pub(crate) fn end(mut self) -> Vec<u8> {
        self.0.extend([0; 1024]);
        self.0
    }
}

pub(crate) fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).expect("gzip");
    encoder.finish().expect("gzip")
}

pub(crate) fn zstd(bytes: &[u8]) -> Vec<u8> {
    zstd::encode_all(bytes, 3).expect("zstd")
}

pub(crate) fn digest(mut stream: impl Read) -> (String, u64) {
    let (mut state, mut size, mut buffer) = (Sha256::new(), 0, vec![0; 1 << 16]);
    loop {
        let count = stream.read(&mut buffer).expect("a stream");
        if count == 0 {
            break;
        }
        state.update(&buffer[..count]);
        size += count as u64;
    }
    let mut digest = "sha256:".to_owned();
    for byte in state.finalize() {
        write!(digest, "{byte:02x}").expect("a text");
    }
    (digest, size)
}

pub(crate) fn described(stream: impl Read) -> LayerDescriptor {
    let (digest, size) = digest(stream);
    LayerDescriptor { digest, digested: LayerDigestKind::Packed, size: Some(size), media_type: String::new() }
}

pub(crate) fn read_with(
    stream: impl Read,
    descriptor: &LayerDescriptor,
    limits: &LayerLimits,
) -> Result<LayerSummary, LayerError> {
    read_layer(stream, descriptor, limits, &mut |_| ControlFlow::Continue(()))
}

/// Reads bytes whose digest and size are as announced.
pub(crate) fn read(bytes: &[u8]) -> Result<LayerSummary, LayerError> {
    read_with(bytes, &described(bytes), &LayerLimits::default())
}

/// A stream of pieces that are made when they are asked for.
pub(crate) struct Pieces<F> {
    make: F,
    next: u64,
    now: Cursor<Vec<u8>>,
}

impl<F: FnMut(u64) -> Option<Vec<u8>>> Pieces<F> {
    pub(crate) fn new(make: F) -> Self {
        Self { make, next: 0, now: Cursor::new(Vec::new()) }
    }
}

impl<F: FnMut(u64) -> Option<Vec<u8>>> Read for Pieces<F> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        loop {
            let count = self.now.read(buffer)?;
            if count > 0 || buffer.is_empty() {
                return Ok(count);
            }
            let Some(piece) = (self.make)(self.next) else { return Ok(0) };
            self.next += 1;
            self.now = Cursor::new(piece);
        }
    }
}
