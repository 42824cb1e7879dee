//! Lines, decimal numbers and base64, each in the one form that C2SP's formats allow.

use crate::Hash;
use alloc::string::String;
use alloc::vec::Vec;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;

/// Splits the first line off a text. Returns `None` if no line ends in it.
pub(crate) fn line(text: &str) -> Option<(&str, &str)> {
    text.split_once('\n')
}

/// Reads a decimal number without leading zeros or signs.
pub(crate) fn number(text: &str) -> Option<u64> {
    let is_canonical = text == "0" || !text.starts_with(['0', '+']);
    text.parse().ok().filter(|_| is_canonical)
}

/// Reads base64 with padding, in its one form.
pub(crate) fn from_base64(text: &str) -> Option<Vec<u8>> {
    STANDARD.decode(text).ok()
}

/// Reads a hash in base64.
pub(crate) fn hash(text: &str) -> Option<[u8; 32]> {
    from_base64(text)?.try_into().ok()
}

/// Writes base64 with padding.
pub(crate) fn to_base64(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}

/// Reads hashes, a line each, up to an empty line, and returns what follows it. Returns `None` if there
/// are more than `most`.
pub(crate) fn hashes(mut rest: &str, most: usize) -> Option<(Vec<Hash>, &str)> {
    let mut hashes = Vec::new();
    loop {
        let (next, after) = line(rest)?;
        rest = after;
        if next.is_empty() {
            return Some((hashes, rest));
        }
        if hashes.len() == most {
            return None;
        }
        hashes.push(hash(next)?);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_one_form() {
        assert_eq!(number("0"), Some(0));
        assert_eq!(number("18446744073709551615"), Some(u64::MAX));
        for bad in [
            "",
            "00",
            "01",
            "+1",
            "-1",
            " 1",
            "1 ",
            "18446744073709551616",
            "0x1",
            "١",
        ] {
            assert_eq!(number(bad), None, "{bad}");
        }
    }

    #[test]
    fn base64_has_one_form() {
        assert_eq!(from_base64("AQ=="), Some(vec![1]));
        for bad in ["AQ", "AQ=", "AR==", "AQ==\n", "AQ-_", " AQ=="] {
            assert_eq!(from_base64(bad), None, "{bad}");
        }
        assert_eq!(hash(&to_base64(&[7; 32])), Some([7; 32]));
        assert_eq!(hash(&to_base64(&[7; 33])), None);
    }
}
