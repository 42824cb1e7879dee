//! One index on disk: a sorted table that is searched where it lies, never loaded to look something up.
//!
//! ```text
//! "clew-index-1" 00*4 (16) | group id 16 | epoch 4 | epoch id 32 | machines 4 | root 32 | entries 4
//! entries x ( hash 8 | row 4 )          ascending
//! checksum 32                           SHA-256 of all before
//! ```
//! A hash is the first 8 bytes of SHA-256(B_e). Rows whose hashes are equal stand side by side, and
//! all of them are tried: whoever grinds for equal hashes wins nothing.

use clew_evidence::GroupId;
use clew_group::EpochId;
use clew_keys::files::{IfExists, MODE_SECRET, write_atomically};
use sha2::{Digest, Sha256};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

const MAGIC: &[u8; 16] = b"clew-index-1\0\0\0\0";
const HEAD_BYTES: usize = 16 + 16 + 4 + 32 + 4 + 32 + 4;
const ENTRY_BYTES: usize = 8 + 4;
const CHECKSUM_BYTES: usize = 32;

/// Which register, and how much of it, an index is of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Head {
    /// The group.
    pub group: GroupId,
    /// The epoch whose bases B_e it has.
    pub epoch: u32,
    /// The id of that epoch: a forked copy of the store has another.
    pub epoch_id: EpochId,
    /// It covers the rows below this one.
    pub machines: u32,
    /// Root of the register over these rows.
    pub root: [u8; 32],
}

/// A place in the table: the start of SHA-256(B_e), and the row.
pub(super) type Entry = (u64, u32);

/// The place of B_e, in its encoding, for a row.
pub(super) fn entry(base: &[u8; 48], row: u32) -> Entry {
    (short_hash(base), row)
}

fn short_hash(base: &[u8; 48]) -> u64 {
    let hash = Sha256::digest(base);
    u64::from_be_bytes(std::array::from_fn(|i| hash[i]))
}

/// An index on disk, open.
#[derive(Debug)]
pub(super) struct Table {
    file: File,
    head: Head,
    entries: u32,
}

impl Table {
    /// Opens a table. Returns `None` if there is no file, or none of this layout and length; the
    /// checksum is for [`Table::read`].
    pub fn open(path: &Path) -> io::Result<Option<Self>> {
        let file = match File::open(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            file => file?,
        };
        let length = file.metadata()?.len();
        let mut bytes = [0; HEAD_BYTES];
        match file.read_exact_at(&mut bytes, 0) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
            read => read?,
        }
        let Some((head, entries)) = read_head(&bytes) else {
            return Ok(None);
        };
        let whole = HEAD_BYTES as u64 + u64::from(entries) * ENTRY_BYTES as u64;
        let table = Self {
            file,
            head,
            entries,
        };
        Ok((length == whole + CHECKSUM_BYTES as u64).then_some(table))
    }

    /// Which register it is of.
    pub fn head(&self) -> &Head {
        &self.head
    }

    /// The rows whose B_e may be this one: a binary search, some 20 short reads at 10^6 rows.
    pub fn find(&self, base: &[u8; 48]) -> io::Result<Vec<u32>> {
        let hash = short_hash(base);
        let (mut low, mut high) = (0, self.entries);
        while low < high {
            let middle = low + (high - low) / 2;
            match self.at(middle)?.0 < hash {
                true => low = middle + 1,
                false => high = middle,
            }
        }
        let mut rows = Vec::new();
        while low < self.entries {
            let (found, row) = self.at(low)?;
            if found != hash {
                break;
            }
            rows.push(row);
            low += 1;
        }
        Ok(rows)
    }

    fn at(&self, place: u32) -> io::Result<Entry> {
        let mut bytes = [0; ENTRY_BYTES];
        let offset = HEAD_BYTES as u64 + u64::from(place) * ENTRY_BYTES as u64;
        self.file.read_exact_at(&mut bytes, offset)?;
        Ok(read_entry(&bytes))
    }

    /// Reads all entries. Returns `None` if the checksum says that the file was damaged.
    pub fn read(&self) -> io::Result<Option<Vec<Entry>>> {
        let mut bytes = vec![0; HEAD_BYTES + self.entries as usize * ENTRY_BYTES];
        let mut checksum = [0; CHECKSUM_BYTES];
        self.file.read_exact_at(&mut bytes, 0)?;
        self.file.read_exact_at(&mut checksum, bytes.len() as u64)?;
        let is_whole = Sha256::digest(&bytes)[..] == checksum;
        let (entries, _) = bytes[HEAD_BYTES..].as_chunks();
        Ok(is_whole.then(|| entries.iter().map(read_entry).collect()))
    }
}

/// Writes a table, whole or not at all, readable by its owner only. Sorts the entries.
pub(super) fn write(path: &Path, head: &Head, entries: &mut [Entry]) -> io::Result<()> {
    entries.sort_unstable();
    let count = u32::try_from(entries.len()).map_err(|_| io::ErrorKind::FileTooLarge)?;
    let mut bytes = head_bytes(head, count);
    for (hash, row) in entries {
        bytes.extend(hash.to_be_bytes());
        bytes.extend(row.to_be_bytes());
    }
    let checksum = Sha256::digest(&bytes);
    bytes.extend(checksum);
    write_atomically(path, &bytes, MODE_SECRET, IfExists::Replace)
}

fn head_bytes(head: &Head, entries: u32) -> Vec<u8> {
    [
        &MAGIC[..],
        &head.group.0,
        &head.epoch.to_be_bytes(),
        &head.epoch_id.0,
        &head.machines.to_be_bytes(),
        &head.root,
        &entries.to_be_bytes(),
    ]
    .concat()
}

fn read_head(bytes: &[u8; HEAD_BYTES]) -> Option<(Head, u32)> {
    let mut rest = &bytes[..];
    if take::<16>(&mut rest)? != *MAGIC {
        return None;
    }
    let head = Head {
        group: GroupId(take(&mut rest)?),
        epoch: u32::from_be_bytes(take(&mut rest)?),
        epoch_id: EpochId(take(&mut rest)?),
        machines: u32::from_be_bytes(take(&mut rest)?),
        root: take(&mut rest)?,
    };
    Some((head, u32::from_be_bytes(take(&mut rest)?)))
}

fn take<const N: usize>(rest: &mut &[u8]) -> Option<[u8; N]> {
    let (first, behind) = rest.split_first_chunk()?;
    *rest = behind;
    Some(*first)
}

fn read_entry(bytes: &[u8; ENTRY_BYTES]) -> Entry {
    let (mut hash, mut row) = ([0; 8], [0; 4]);
    hash.copy_from_slice(&bytes[..8]);
    row.copy_from_slice(&bytes[8..]);
    (u64::from_be_bytes(hash), u32::from_be_bytes(row))
}
