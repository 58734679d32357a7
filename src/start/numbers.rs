//! Numbers: a quick hash for keys of a few small numbers that nobody outside chooses.

use std::hash::Hasher;

/// Multiplies and turns; see the `FxHash` of the Rust compiler.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Quick(u64);

const FACTOR: u64 = 0x517c_c1b7_2722_0a95;

impl Hasher for Quick {
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u64(u64::from(*byte));
        }
    }

    fn write_u8(&mut self, number: u8) {
        self.write_u64(u64::from(number));
    }

    fn write_u32(&mut self, number: u32) {
        self.write_u64(u64::from(number));
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = (self.0.rotate_left(5) ^ number).wrapping_mul(FACTOR);
    }

    fn write_usize(&mut self, number: usize) {
        self.write_u64(number as u64);
    }

    fn finish(&self) -> u64 {
        // The low bits choose the place, and a product leaves them the poorest.
        self.0 ^ self.0 >> 32
    }
}
