//! Reads little-endian integers from byte slices that may be too short.

/// Returns the `N` bytes at an offset.
fn array_at<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..)?.first_chunk().copied()
}

/// Reads a `u16` at an offset.
pub(super) fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    array_at(bytes, at).map(u16::from_le_bytes)
}

/// Reads a `u32` at an offset.
pub(super) fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    array_at(bytes, at).map(u32::from_le_bytes)
}

/// Reads a `u64` at an offset.
pub(super) fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    array_at(bytes, at).map(u64::from_le_bytes)
}

/// Converts a length in memory to an offset in a file.
pub(super) fn to_file_offset(length: usize) -> u64 {
    u64::try_from(length).unwrap_or(u64::MAX)
}

/// Converts an offset in a file to a length in memory, or to `usize::MAX` if it does not fit.
pub(super) fn to_memory_length(offset: u64) -> usize {
    usize::try_from(offset).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_end_with_the_bytes() {
        let bytes = [1, 2, 0, 0, 0, 0, 0, 0, 3];
        assert_eq!(u16_at(&bytes, 0), Some(0x201));
        assert_eq!(u32_at(&bytes, 5), Some(0x0300_0000));
        assert_eq!(u64_at(&bytes, 1), Some(0x0300_0000_0000_0002));
        assert_eq!(u64_at(&bytes, 2), None);
        assert_eq!(u16_at(&bytes, usize::MAX), None);
    }
}
