//! Bytes as text.

use core::fmt;

/// Writes bytes as lower-case hexadecimal digits.
#[derive(Clone, Copy, Debug)]
pub struct Hex<'a>(pub &'a [u8]);

impl fmt::Display for Hex<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// Reads hexadecimal digits of either case. Returns `None` if they are not exactly `N` bytes.
pub fn unhex<const N: usize>(text: &str) -> Option<[u8; N]> {
    let (pairs, rest) = text.as_bytes().as_chunks::<2>();
    if pairs.len() != N || !rest.is_empty() {
        return None;
    }
    let digit = |byte: u8| char::from(byte).to_digit(16);
    let mut bytes = [0; N];
    for (byte, [high, low]) in bytes.iter_mut().zip(pairs) {
        *byte = (16 * digit(*high)? + digit(*low)?) as u8;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::string::ToString;

    #[test]
    fn digits_are_read_as_they_are_written() {
        assert_eq!(unhex(&Hex(&[0, 0xaf, 9]).to_string()), Some([0, 0xaf, 9]));
        assert_eq!(unhex("AF"), Some([0xaf]));
        for bad in ["", "a", "abc", "0g", "+1", "a\u{e9}", "aabb"] {
            assert_eq!(unhex::<1>(bad), None, "{bad}");
        }
    }
}
