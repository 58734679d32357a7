//! A fast hasher for small numeric keys that are not controlled from outside.

use std::hash::Hasher;

/// Hasher that rotates and multiplies; see the `FxHash` of the Rust compiler.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct FastHasher(u64);

/// Factor by which each step of the hash multiplies.
const HASH_MULTIPLIER: u64 = 0x517c_c1b7_2722_0a95;

impl Hasher for FastHasher {
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
        self.0 = (self.0.rotate_left(5) ^ number).wrapping_mul(HASH_MULTIPLIER);
    }

    fn write_usize(&mut self, number: usize) {
        self.write_u64(number as u64);
    }

    fn finish(&self) -> u64 {
        // The low bits choose the place, and a product leaves them the poorest.
        self.0 ^ self.0 >> 32
    }
}
