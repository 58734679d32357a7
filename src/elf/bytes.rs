//! Little-endian numbers out of bytes that may end too early.

/// The `N` bytes at an offset.
fn array<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..)?.first_chunk().copied()
}

/// Two bytes.
pub(super) fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    array(bytes, at).map(u16::from_le_bytes)
}

/// Four bytes.
pub(super) fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    array(bytes, at).map(u32::from_le_bytes)
}

/// Eight bytes.
pub(super) fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    array(bytes, at).map(u64::from_le_bytes)
}

/// A length in memory as an offset in a file.
pub(super) fn offset(length: usize) -> u64 {
    u64::try_from(length).unwrap_or(u64::MAX)
}

/// An offset in a file as a length in memory; the longest where it is beyond all.
pub(super) fn length(offset: u64) -> usize {
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
