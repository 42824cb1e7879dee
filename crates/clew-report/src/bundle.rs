//! Files for a court in one file (`spec/bundle.md`): a zip file of one form, so that every program that
//! reads it reads the same.

use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fmt::Write;
use thiserror::Error;

/// Most bytes of a bundle.
pub const BUNDLE_MAX: usize = 64 << 20;

/// Most files of a bundle, its sums included.
pub const FILES_MAX: usize = 64;

/// The file with the SHA-256 of all others, for `sha256sum -c`.
pub const SUMS: &str = "SHA256SUMS";

/// Longest name of a file, in bytes.
const NAME_MAX: usize = 64;

const LOCAL: [u8; 4] = *b"PK\x03\x04";
const CENTRAL: [u8; 4] = *b"PK\x01\x02";
const END: [u8; 4] = *b"PK\x05\x06";
/// Version 2.0, no flags, stored, midnight of 1980-01-01.
const FORM: [u8; 10] = [20, 0, 0, 0, 0, 0, 0, 0, 0x21, 0];

/// The files of a bundle by name.
pub type Files = BTreeMap<String, Vec<u8>>;

/// Why a file is not a bundle.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum BundleError {
    /// It has more bytes or files than a bundle may have.
    #[error("a bundle has at most 64 files and 64 MiB (rule too-long)")]
    TooLong,
    /// A name is not one.
    #[error("{0:?}: a file's name has 1 to 64 of a-z, 0-9, A-Z, '-', '_' and '.' (rule name)")]
    Name(String),
    /// It is not a zip file of the one form.
    #[error("not a bundle: not a zip file in the form of spec/bundle.md (rule form)")]
    Form,
    /// The sums are missing, or are not those of its files.
    #[error("{SUMS} does not fit the files (rule sums)")]
    Sums,
}

/// Writes files with their sums as one bundle: the same files give the same bytes.
///
/// # Errors
/// [`BundleError::TooLong`], [`BundleError::Name`].
pub fn write_bundle(mut files: Files) -> Result<Vec<u8>, BundleError> {
    let sums = sums(&files).into_bytes();
    if files.insert(SUMS.to_owned(), sums).is_some() {
        return Err(BundleError::Name(SUMS.to_owned()));
    }
    zip(&files)
}

/// Reads a bundle, and returns its files without the sums, which fit.
///
/// # Errors
/// [`BundleError`].
pub fn read_bundle(bytes: &[u8]) -> Result<Files, BundleError> {
    if bytes.len() > BUNDLE_MAX {
        return Err(BundleError::TooLong);
    }
    let mut files = unzip(bytes).ok_or(BundleError::Form)?;
    if zip(&files)? != bytes {
        return Err(BundleError::Form);
    }
    let given = files.remove(SUMS).ok_or(BundleError::Sums)?;
    match given == sums(&files).into_bytes() {
        true => Ok(files),
        false => Err(BundleError::Sums),
    }
}

fn sums(files: &Files) -> String {
    let mut sums = String::new();
    for (name, bytes) in files {
        for byte in Sha256::digest(bytes) {
            let _ = write!(sums, "{byte:02x}"); // a String takes all
        }
        let _ = writeln!(sums, "  {name}");
    }
    sums
}

fn zip(files: &Files) -> Result<Vec<u8>, BundleError> {
    let (mut bytes, mut central) = (Vec::new(), Vec::new());
    let too_long = |_| BundleError::TooLong;
    let count = u16::try_from(files.len()).map_err(too_long)?;
    for (name, file) in files {
        if !is_name(name) {
            return Err(BundleError::Name(name.clone()));
        }
        let size = u32::try_from(file.len()).map_err(too_long)?;
        let at = u32::try_from(bytes.len()).map_err(too_long)?;
        let length = name.len() as u16;
        // What both headers have.
        let mut entry = FORM.to_vec();
        entry.extend(crc32fast::hash(file).to_le_bytes());
        entry.extend([size.to_le_bytes(), size.to_le_bytes()].as_flattened());
        entry.extend([length.to_le_bytes(), [0; 2]].as_flattened());
        bytes.extend(LOCAL);
        bytes.extend(&entry);
        bytes.extend(name.as_bytes());
        bytes.extend(file);
        central.extend(CENTRAL);
        central.extend([20, 0]);
        central.extend(&entry);
        // Length of the comment, disk, attributes of two kinds.
        central.extend([0; 10]);
        central.extend(at.to_le_bytes());
        central.extend(name.as_bytes());
        if bytes.len() + central.len() > BUNDLE_MAX {
            return Err(BundleError::TooLong);
        }
    }
    let at = u32::try_from(bytes.len()).map_err(too_long)?;
    bytes.extend(&central);
    bytes.extend(END);
    bytes.extend([[0; 2], [0; 2], count.to_le_bytes(), count.to_le_bytes()].as_flattened());
    bytes.extend([(central.len() as u32).to_le_bytes(), at.to_le_bytes()].as_flattened());
    bytes.extend([0; 2]);
    match bytes.len() <= BUNDLE_MAX && files.len() <= FILES_MAX {
        true => Ok(bytes),
        false => Err(BundleError::TooLong),
    }
}

/// Reads the files from their own headers. What else there is, the caller checks by writing it again.
fn unzip(bytes: &[u8]) -> Option<Files> {
    let mut rest = bytes;
    let mut files = Files::new();
    while let Some(after) = rest.strip_prefix(&LOCAL) {
        let (header, after) = after.split_at_checked(26)?;
        let size = u32::from_le_bytes(header[14..18].try_into().ok()?);
        let length = u16::from_le_bytes(header[22..24].try_into().ok()?);
        let (name, after) = after.split_at_checked(length.into())?;
        let (file, after) = after.split_at_checked(size.try_into().ok()?)?;
        let name = String::from_utf8(name.to_vec()).ok()?;
        files.insert(name, file.to_vec());
        if files.len() > FILES_MAX {
            return None;
        }
        rest = after;
    }
    Some(files)
}

fn is_name(name: &str) -> bool {
    let is_good = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    (1..=NAME_MAX).contains(&name.len()) && !name.starts_with('.') && name.chars().all(is_good)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files() -> Files {
        let file = |name: &str, bytes: &[u8]| (name.to_owned(), bytes.to_vec());
        Files::from([
            file("b.txt", b"two\n"),
            file("a.txt", b"one\n"),
            file("empty", b""),
        ])
    }

    #[test]
    fn a_bundle_holds_its_files() {
        let bundle = write_bundle(files()).unwrap();
        assert_eq!(bundle, write_bundle(files()).unwrap());
        assert_eq!(read_bundle(&bundle), Ok(files()));
        assert_eq!(
            read_bundle(&write_bundle(Files::new()).unwrap()),
            Ok(Files::new())
        );
    }

    #[test]
    fn no_bit_can_be_changed_and_no_byte_added() {
        let bundle = write_bundle(files()).unwrap();
        for bit in 0..bundle.len() * 8 {
            let mut other = bundle.clone();
            other[bit / 8] ^= 1 << (bit % 8);
            assert!(read_bundle(&other).is_err(), "bit {bit}");
        }
        for length in 0..bundle.len() {
            assert!(read_bundle(&bundle[..length]).is_err(), "{length}");
        }
        assert_eq!(
            read_bundle(&[&bundle[..], b"x"].concat()),
            Err(BundleError::Form)
        );
        assert_eq!(
            read_bundle(&[b"x", &bundle[..]].concat()),
            Err(BundleError::Form)
        );
        assert_eq!(read_bundle(b""), Err(BundleError::Form));
    }

    #[test]
    fn other_sums_are_refused() {
        let mut files = files();
        files.insert(SUMS.to_owned(), sums(&files).replace('a', "b").into_bytes());
        assert_eq!(read_bundle(&zip(&files).unwrap()), Err(BundleError::Sums));
        files.remove(SUMS);
        assert_eq!(read_bundle(&zip(&files).unwrap()), Err(BundleError::Sums));
    }

    #[test]
    fn names_lead_nowhere_else() {
        for name in [
            "",
            "../a",
            "a/b",
            ".hidden",
            "a b",
            "\u{e4}",
            SUMS,
            &"a".repeat(65),
        ] {
            let files = Files::from([(name.to_owned(), Vec::new())]);
            assert!(
                matches!(write_bundle(files), Err(BundleError::Name(_))),
                "{name}"
            );
        }
        let many = (0..FILES_MAX)
            .map(|n| (format!("{n}"), Vec::new()))
            .collect();
        assert_eq!(write_bundle(many), Err(BundleError::TooLong));
    }
}
