//! Names of groups and machines.

use crate::wire::Fields;
use std::fmt;
use std::ops::RangeInclusive;
use std::str::FromStr;

/// Longest name, in bytes of UTF-8.
pub const MAX_NAME_BYTES: usize = 64;

/// Characters that nobody sees, and that change how others look: general category Cf of Unicode 16.
///
/// They are part of the format: a library's table would change it with Unicode.
const INVISIBLE: [RangeInclusive<u32>; 21] = [
    0xad..=0xad,
    0x600..=0x605,
    0x61c..=0x61c,
    0x6dd..=0x6dd,
    0x70f..=0x70f,
    0x890..=0x891,
    0x8e2..=0x8e2,
    0x180e..=0x180e,
    0x200b..=0x200f,
    0x202a..=0x202e,
    0x2060..=0x2064,
    0x2066..=0x206f,
    0xfeff..=0xfeff,
    0xfff9..=0xfffb,
    0x110bd..=0x110bd,
    0x110cd..=0x110cd,
    0x13430..=0x1343f,
    0x1bca0..=0x1bca3,
    0x1d173..=0x1d17a,
    0xe0001..=0xe0001,
    0xe0020..=0xe007f,
];

/// A name: 1 to 64 bytes of UTF-8, no control or invisible characters, no space at either end.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Name(String);

/// Not a [`Name`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BadName;

impl fmt::Display for BadName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "a name has 1 to {MAX_NAME_BYTES} bytes, no control or invisible characters (emoji that \
             are joined have some), and no space at its ends"
        )
    }
}

impl std::error::Error for BadName {}

impl Name {
    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Appends the encoding: length (1), UTF-8.
    pub fn write(&self, out: &mut Vec<u8>) {
        out.push(self.0.len() as u8);
        out.extend_from_slice(self.0.as_bytes());
    }

    /// Reads an encoded name. Returns `None` if it breaks a rule of names.
    pub fn read(fields: &mut Fields<'_>) -> Option<Self> {
        let length = usize::from(fields.u8()?);
        std::str::from_utf8(fields.take(length)?).ok()?.parse().ok()
    }
}

impl FromStr for Name {
    type Err = BadName;

    fn from_str(text: &str) -> Result<Self, BadName> {
        let long_enough = (1..=MAX_NAME_BYTES).contains(&text.len());
        let visible = !text.chars().any(|c| c.is_control() || is_invisible(c));
        if long_enough && visible && text.trim() == text {
            Ok(Self(text.to_owned()))
        } else {
            Err(BadName)
        }
    }
}

fn is_invisible(c: char) -> bool {
    INVISIBLE.iter().any(|range| range.contains(&c.into()))
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0) // a width counts, as in tables
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_bounded_and_visible() {
        for good in ["a", "web-1", "Büro 7", "klein ☘", &"x".repeat(64)] {
            assert_eq!(good.parse::<Name>().unwrap().as_str(), good);
        }
        for bad in [
            "",
            " a",
            "a ",
            "a\nb",
            "a\u{7f}",
            "\u{85}x",
            "web\u{200b}-1",
            "web-1\u{ad}",
            "\u{202e}1-bew",
            "\u{2066}web-1\u{2069}",
            "a\u{e0041}",
            "👩\u{200d}🚀",
            &"x".repeat(65),
        ] {
            assert_eq!(bad.parse::<Name>(), Err(BadName), "{bad:?}");
        }
    }

    /// The whole of general category Cf, and its neighbours.
    #[test]
    fn invisible_characters_are_those_of_the_specification() {
        let all = ('\0'..=char::MAX).filter(|c| is_invisible(*c));
        assert_eq!(all.count(), 170);
        assert!(INVISIBLE.is_sorted_by(|a, b| a.end() + 1 < *b.start()));
        for range in &INVISIBLE {
            for edge in [range.start() - 1, range.end() + 1] {
                let edge = char::from_u32(edge).unwrap();
                assert!(!is_invisible(edge), "{edge:?}");
            }
        }
    }
}
