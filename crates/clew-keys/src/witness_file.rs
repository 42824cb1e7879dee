//! Witness buckets: what the manager publishes of a rebase (`spec/key-file.md` section 6).
//!
//! After a rebase each machine needs a new witness from the manager. The files hold those of 1,024
//! rows each, so that whoever watches the download learns no more than the bucket.

use clew_evidence::GroupId;
use clew_evidence::wire::Reader;
use clew_group::Witness;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Rows of one bucket.
pub const BUCKET_ROWS: u32 = 1024;

/// Largest bucket in bytes.
pub const BUCKET_BYTES_MAX: usize = HEADER_BYTES + BUCKET_ROWS as usize * WITNESS_BYTES;

const MAGIC: &[u8; 16] = b"clew-witness-1\n\0";
const HEADER_BYTES: usize = 16 + 16 + 4 + 4 + 2;
const WITNESS_BYTES: usize = 48;
/// In place of the witness of a row that has none.
const NO_WITNESS: [u8; WITNESS_BYTES] = [0; WITNESS_BYTES];

/// The witness that an update needs: that of one row in the epoch of a rebase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Need {
    /// The group.
    pub group: GroupId,
    /// The epoch of the rebase.
    pub epoch: u32,
    /// The row.
    pub index: u32,
}

impl Need {
    /// The number of the bucket that has it.
    pub fn bucket(&self) -> u32 {
        self.index / BUCKET_ROWS
    }

    /// Where the bucket is, under a folder of witnesses.
    pub fn path_under(&self, folder: &Path) -> PathBuf {
        folder
            .join(self.epoch.to_string())
            .join(self.bucket().to_string())
    }
}

/// Why a bucket does not give the witness that is needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum BucketFault {
    /// It is not a witness file, or not whole.
    #[error("not a witness file, or damaged")]
    Layout,
    /// It is of another group.
    #[error("belongs to group {0}")]
    OtherGroup(GroupId),
    /// It is of another epoch.
    #[error("is for epoch {0}")]
    OtherEpoch(u32),
    /// It has other rows; the first of them is this.
    #[error("starts at row {0}")]
    OtherRows(u32),
    /// The row has no witness: it was revoked, or is younger than the rebase.
    #[error("does not have a witness of this row: the machine was revoked, or enrolled later")]
    NoWitness,
    /// The row's witness does not decode.
    #[error("the witness of this row does not decode")]
    Point,
}

impl BucketFault {
    /// The name of the rule.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Layout => "layout",
            Self::OtherGroup(_) => "other-group",
            Self::OtherEpoch(_) => "other-epoch",
            Self::OtherRows(_) => "other-rows",
            Self::NoWitness => "no-witness",
            Self::Point => "point",
        }
    }
}

/// Encodes a bucket: the witnesses of consecutive rows from `first` on.
///
/// # Panics
/// If there are no rows, or more than [`BUCKET_ROWS`].
pub fn encode(
    group: GroupId,
    epoch: u32,
    first: u32,
    witnesses: &[Option<[u8; WITNESS_BYTES]>],
) -> Vec<u8> {
    let count = u16::try_from(witnesses.len()).ok();
    let count = count.filter(|count| (1..=BUCKET_ROWS).contains(&u32::from(*count)));
    let count = count.expect("a bucket has 1 to 1,024 rows");
    let mut out = MAGIC.to_vec();
    out.extend_from_slice(&group.0);
    out.extend_from_slice(&epoch.to_be_bytes());
    out.extend_from_slice(&first.to_be_bytes());
    out.extend_from_slice(&count.to_be_bytes());
    for witness in witnesses {
        out.extend_from_slice(&witness.unwrap_or(NO_WITNESS));
    }
    out
}

/// Finds a witness in the bytes of a bucket. That it is the machine's is checked by
/// [`clew_group::SigningKey::new`].
///
/// # Errors
/// [`BucketFault`], one for each rule.
pub fn find(bytes: &[u8], need: &Need) -> Result<Witness, BucketFault> {
    let Header {
        group,
        epoch,
        first,
        rows,
    } = Header::read(bytes).ok_or(BucketFault::Layout)?;
    if group != need.group {
        return Err(BucketFault::OtherGroup(group));
    }
    if epoch != need.epoch {
        return Err(BucketFault::OtherEpoch(epoch));
    }
    if first != need.bucket() * BUCKET_ROWS {
        return Err(BucketFault::OtherRows(first));
    }
    let (witnesses, _) = rows.as_chunks::<WITNESS_BYTES>();
    match witnesses.get((need.index - first) as usize) {
        None | Some(&NO_WITNESS) => Err(BucketFault::NoWitness),
        Some(witness) => Witness::from_bytes(witness).map_err(|_| BucketFault::Point),
    }
}

struct Header<'a> {
    group: GroupId,
    epoch: u32,
    first: u32,
    rows: &'a [u8],
}

impl<'a> Header<'a> {
    fn read(bytes: &'a [u8]) -> Option<Self> {
        let mut fields = Reader(bytes);
        fields.array().filter(|magic| magic == MAGIC)?;
        let (group, epoch, first) = (GroupId(fields.array()?), fields.u32()?, fields.u32()?);
        let count = u16::from_be_bytes(fields.array()?);
        let rows = fields.take(usize::from(count) * WITNESS_BYTES)?;
        let whole = fields.0.is_empty() && (1..=BUCKET_ROWS).contains(&u32::from(count));
        whole.then_some(Self {
            group,
            epoch,
            first,
            rows,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 65,537 rows would be said to be one.
    #[test]
    #[should_panic(expected = "a bucket has 1 to 1,024 rows")]
    fn a_bucket_has_no_more_rows_than_it_says() {
        encode(GroupId([1; 16]), 1, 0, &[None; 65_537]);
    }
}
