//! Names of groups and machines.

use crate::Reader;
use alloc::borrow::ToOwned;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use core::ops::RangeInclusive;
use core::str::FromStr;

/// Longest name, in bytes of UTF-8.
pub const MAX_NAME_BYTES: usize = 64;

/// The code points that no name has (`group-file.md` 1): control characters, invisible ones, and
/// blanks other than the space.
///
/// They are part of the format: a library's table would change it with Unicode.
const REFUSED: [RangeInclusive<u32>; 33] = [
    0x0..=0x1f,
    0x7f..=0xa0,
    0xad..=0xad,
    0x34f..=0x34f,
    0x600..=0x605,
    0x61c..=0x61c,
    0x6dd..=0x6dd,
    0x70f..=0x70f,
    0x890..=0x891,
    0x8e2..=0x8e2,
    0x115f..=0x1160,
    0x1680..=0x1680,
    0x17b4..=0x17b5,
    0x180b..=0x180f,
    0x2000..=0x200f,
    0x2028..=0x202f,
    0x205f..=0x206f,
    0x2800..=0x2800,
    0x3000..=0x3000,
    0x3164..=0x3164,
    0xfe00..=0xfe0f,
    0xfeff..=0xfeff,
    0xffa0..=0xffa0,
    0xfff0..=0xfffb,
    0x110bd..=0x110bd,
    0x110cd..=0x110cd,
    0x13430..=0x1343f,
    0x13441..=0x13442,
    0x16fe4..=0x16fe4,
    0x1bca0..=0x1bca3,
    0x1d159..=0x1d159,
    0x1d173..=0x1d17a,
    0xe0000..=0xe0fff,
];

/// A name: 1 to 64 bytes of UTF-8, no control, invisible or blank characters except inner spaces.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Name(String);

/// Why a text is not a [`Name`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BadName {
    /// It is empty or too long: its length in bytes.
    Length(usize),
    /// It has a control character, an invisible one, or a blank that is not U+0020.
    Character {
        /// The position of the character, from 1.
        position: usize,
        /// The character.
        character: char,
    },
    /// It starts or ends with a space.
    Space,
}

impl fmt::Display for BadName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Length(bytes) => {
                write!(f, "need 1 to {MAX_NAME_BYTES} bytes of UTF-8, have {bytes}")
            }
            Self::Character {
                position,
                character,
            } => write!(
                f,
                "character {position} is U+{:04X}: control, invisible and blank characters except \
                 the space are not allowed (emoji often contain some)",
                u32::from(character)
            ),
            Self::Space => f.write_str("must not start or end with a space"),
        }
    }
}

impl core::error::Error for BadName {}

impl Name {
    /// Returns the name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Appends the encoding: length (1), UTF-8.
    pub fn write(&self, out: &mut Vec<u8>) {
        out.push(self.0.len() as u8);
        out.extend_from_slice(self.0.as_bytes());
    }

    /// Reads an encoded name. Returns `None` if it breaks a rule of names.
    pub fn read(fields: &mut Reader<'_>) -> Option<Self> {
        let length = usize::from(fields.u8()?);
        core::str::from_utf8(fields.take(length)?)
            .ok()?
            .parse()
            .ok()
    }
}

impl FromStr for Name {
    type Err = BadName;

    fn from_str(text: &str) -> Result<Self, BadName> {
        if !(1..=MAX_NAME_BYTES).contains(&text.len()) {
            return Err(BadName::Length(text.len()));
        }
        if let Some((before, character)) = text.chars().enumerate().find(|(_, c)| is_refused(*c)) {
            let position = before + 1;
            return Err(BadName::Character {
                position,
                character,
            });
        }
        if text.starts_with(' ') || text.ends_with(' ') {
            return Err(BadName::Space);
        }
        Ok(Self(text.to_owned()))
    }
}

/// Whether no name has this character.
pub(crate) fn is_refused(c: char) -> bool {
    REFUSED.iter().any(|range| range.contains(&c.into()))
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0) // a width counts, as in tables
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::string::ToString;

    const SPECIFICATION: &str = include_str!("../../../spec/group-file.md");

    #[test]
    fn names_are_bounded() {
        for good in ["a", "web-1", "Büro 7", "klein ☘", &"x".repeat(64)] {
            assert_eq!(good.parse::<Name>().unwrap().as_str(), good);
        }
        for (bad, length) in [("", 0), (&*"x".repeat(65), 65), (&"ü".repeat(33), 66)] {
            assert_eq!(bad.parse::<Name>(), Err(BadName::Length(length)));
        }
        for bad in [" ", " a", "a "] {
            assert_eq!(bad.parse::<Name>(), Err(BadName::Space), "{bad:?}");
        }
    }

    #[test]
    fn names_are_visible() {
        for (bad, position) in [
            ("a\nb", 2),
            ("\u{85}x", 1),
            ("web\u{200b}-1", 4),
            ("\u{202e}1-bew", 1),
            ("web-1\u{fe0f}", 6),
            ("web\u{2028}1", 4),
            ("web\u{a0}1", 4),
            ("\u{3000}web", 1),
            ("web\u{2800}", 4),
            ("Büro\u{3164}\u{3164}", 5),
            ("👩\u{200d}🚀", 2),
        ] {
            let character = bad.chars().nth(position - 1).unwrap();
            let reason = BadName::Character {
                position,
                character,
            };
            assert_eq!(bad.parse::<Name>(), Err(reason), "{bad:?}");
        }
    }

    /// Nobody sees the character in the message, but everybody its code point.
    #[test]
    fn reasons_name_the_code_point() {
        let reason = |name: &str| name.parse::<Name>().unwrap_err().to_string();
        assert!(reason("web\u{a0}1").starts_with("character 4 is U+00A0: "));
        assert!(reason("\u{e0041}").starts_with("character 1 is U+E0041: "));
        assert!(reason("").ends_with("have 0"));
    }

    /// Each range is refused from its first to its last code point, and its neighbours are not.
    #[test]
    fn refused_characters_are_those_of_the_table() {
        assert!(REFUSED.is_sorted_by(|a, b| a.end() + 1 < *b.start()));
        let all = ('\0'..=char::MAX).filter(|c| is_refused(*c));
        assert_eq!(all.count(), 4_294);
        for range in &REFUSED {
            for edge in [range.start(), range.end()].map(|c| char::from_u32(*c).unwrap()) {
                assert!(format!("a{edge}b").parse::<Name>().is_err(), "{edge:?}");
            }
            for edge in [range.start().checked_sub(1), Some(range.end() + 1)] {
                let Some(edge) = edge.and_then(char::from_u32) else {
                    continue;
                };
                assert!(format!("a{edge}b").parse::<Name>().is_ok(), "{edge:?}");
            }
        }
    }

    #[test]
    fn the_table_is_that_of_the_specification() {
        let number = |text| u32::from_str_radix(text, 16).unwrap();
        let table = SPECIFICATION.split("```").nth(1).unwrap();
        let ranges = table.split_whitespace().map(|range| {
            let (first, last) = range.split_once('-').unwrap_or((range, range));
            number(first)..=number(last)
        });
        assert!(ranges.eq(REFUSED));
    }
}
