//! Big-endian integers at an offset. Offsets are checked by whoever found them.

/// Returns the two bytes at `at` as an integer.
pub(crate) fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([bytes[at], bytes[at + 1]])
}

/// Writes `value` to the two bytes at `at`.
pub(crate) fn put_u16(bytes: &mut [u8], at: usize, value: u16) {
    bytes[at..at + 2].copy_from_slice(&value.to_be_bytes());
}

/// Returns a length that was checked to fit two bytes.
pub(crate) fn length_u16(length: usize) -> u16 {
    debug_assert!(
        length <= usize::from(u16::MAX),
        "lengths are checked where they are found"
    );
    length as u16
}
