//! Names of groups and machines.

use crate::wire::Fields;
use std::fmt;
use std::str::FromStr;

/// Longest name, in bytes of UTF-8.
pub const MAX_NAME_BYTES: usize = 64;

/// A name: 1 to 64 bytes of UTF-8, no control characters, no space at either end.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Name(String);

/// Not a [`Name`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BadName;

impl fmt::Display for BadName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "a name has 1 to {MAX_NAME_BYTES} bytes, no control characters and no space at its ends"
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
        let printable = !text.chars().any(char::is_control) && text.trim() == text;
        if long_enough && printable {
            Ok(Self(text.to_owned()))
        } else {
            Err(BadName)
        }
    }
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
    fn names_are_bounded_and_printable() {
        for good in ["a", "web-1", "Büro 7", &"x".repeat(64)] {
            assert_eq!(good.parse::<Name>().unwrap().as_str(), good);
        }
        for bad in [
            "",
            " a",
            "a ",
            "a\nb",
            "a\u{7f}",
            "\u{85}x",
            &"x".repeat(65),
        ] {
            assert_eq!(bad.parse::<Name>(), Err(BadName), "{bad:?}");
        }
    }
}
