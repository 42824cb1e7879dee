//! The Internet checksum (RFC 1071).

/// A sum of 16-bit words in ones' complement.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sum(u64);

impl Sum {
    /// Adds bytes as big-endian words; an odd last byte is the upper half of a word.
    pub fn bytes(self, bytes: &[u8]) -> Self {
        let (words, last) = bytes.as_chunks::<2>();
        let sum: u64 = words
            .iter()
            .map(|word| u64::from(u16::from_be_bytes(*word)))
            .sum();
        let last = last.first().map_or(0, |byte| u64::from(*byte) << 8);
        Self(self.0 + sum + last)
    }

    /// Adds bytes with the word at the even offset `at` taken as zero.
    pub fn bytes_without(self, bytes: &[u8], at: usize) -> Self {
        self.bytes(&bytes[..at]).bytes(&bytes[at + 2..])
    }

    /// Adds a number of one word.
    pub fn number(self, number: u16) -> Self {
        Self(self.0 + u64::from(number))
    }

    /// Returns the checksum: the complement of the sum.
    pub fn checksum(self) -> u16 {
        let mut sum = self.0;
        while sum > 0xffff {
            sum = (sum & 0xffff) + (sum >> 16);
        }
        !(sum as u16)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rfc_1071_example() {
        let sum = Sum::default().bytes(&[0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7]);
        assert_eq!(sum.checksum(), !0xddf2);
    }

    #[test]
    fn odd_byte_is_the_upper_half() {
        assert_eq!(
            Sum::default().bytes(&[0x12, 0x34, 0x56]).checksum(),
            !(0x1234 + 0x5600)
        );
    }

    #[test]
    fn a_word_can_be_left_out() {
        let sum = Sum::default().bytes_without(&[0, 1, 0xff, 0xff, 0, 2], 2);
        assert_eq!(sum.checksum(), !3);
    }

    #[test]
    fn carries_fold_until_none_is_left() {
        // 32,767 words ffff, which count as none; ff00; and ffff, ffff, 1.
        let sum = Sum::default()
            .bytes(&[0xff; 65_535])
            .number(0xffff)
            .number(0xffff)
            .number(1);
        assert_eq!(sum.checksum(), !0xff01);
    }
}
