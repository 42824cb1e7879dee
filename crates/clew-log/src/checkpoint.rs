//! What a log states about itself: its name, its size, its root (`c2sp.org/tlog-checkpoint`).

use crate::Hash;
use crate::text::{hash, line, number, to_base64};
use crate::tree::EMPTY;
use alloc::borrow::ToOwned;
use alloc::string::String;
use core::fmt;

/// Most entries of a log.
pub const SIZE_MAX: u64 = 1 << 62;

/// The first three lines of a checkpoint. Further lines are extensions that nobody audits: they are
/// passed over, and signatures cover them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checkpoint {
    /// The log's name.
    pub origin: String,
    /// How many entries the log has.
    pub size: u64,
    /// The Merkle tree hash over them.
    pub root: Hash,
}

/// Why a text is not a checkpoint's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CheckpointError {
    /// A line is missing, empty, or has another form.
    Layout,
    /// An empty log has another root than the hash of nothing.
    EmptyRoot,
}

impl fmt::Display for CheckpointError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Layout => "not a checkpoint",
            Self::EmptyRoot => "the root of an empty log is not the hash of nothing",
        })
    }
}

impl core::error::Error for CheckpointError {}

impl Checkpoint {
    /// Reads the text of a note.
    ///
    /// # Errors
    /// [`CheckpointError`].
    pub fn parse(text: &str) -> Result<Self, CheckpointError> {
        let read = || {
            let (origin, rest) = line(text)?;
            let (size, rest) = line(rest)?;
            let (root, extensions) = line(rest)?;
            let size = number(size).filter(|size| *size <= SIZE_MAX)?;
            let is_whole = extensions.is_empty() || extensions.ends_with('\n');
            let has_empty = extensions.starts_with('\n') || extensions.contains("\n\n");
            (!origin.is_empty() && is_whole && !has_empty).then_some(Self {
                origin: origin.to_owned(),
                size,
                root: hash(root)?,
            })
        };
        let read = read().ok_or(CheckpointError::Layout)?;
        match read.size == 0 && read.root != EMPTY {
            true => Err(CheckpointError::EmptyRoot),
            false => Ok(read),
        }
    }
}

impl fmt::Display for Checkpoint {
    /// Writes the text to be signed, without extension lines.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let root = to_base64(&self.root);
        writeln!(f, "{}\n{}\n{root}", self.origin, self.size)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::string::ToString;

    const TEXT: &str =
        "example.com/behind-the-sofa\n20852163\nCsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=\n";

    #[test]
    fn the_published_example_is_read() {
        let read = Checkpoint::parse(TEXT).unwrap();
        assert_eq!(
            (&*read.origin, read.size),
            ("example.com/behind-the-sofa", 20_852_163)
        );
        assert_eq!(read.to_string(), TEXT);
        assert_eq!(Checkpoint::parse(&format!("{TEXT}extension\n")), Ok(read));
    }

    #[test]
    fn other_texts_are_refused() {
        let empty = "log\n0\n47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=\n";
        assert!(Checkpoint::parse(empty).is_ok());
        let root = empty.replace("47", "48");
        assert_eq!(Checkpoint::parse(&root), Err(CheckpointError::EmptyRoot));
        let bad = [
            String::new(),
            TEXT.trim_end().to_owned(),
            TEXT.replace("example.com/behind-the-sofa", ""),
            TEXT.replace("20852163", "020852163"),
            TEXT.replace("20852163", "4611686018427387905"),
            TEXT.replace("20852163", ""),
            TEXT.replace("q2I=", "q2I"),
            format!("{TEXT}\n"),
            format!("{TEXT}extension"),
            format!("{TEXT}a\n\nb\n"),
        ];
        for bad in bad {
            assert_eq!(
                Checkpoint::parse(&bad),
                Err(CheckpointError::Layout),
                "{bad}"
            );
        }
    }
}
