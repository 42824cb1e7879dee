//! Fields that several files and messages have.

use alloc::vec::Vec;

pub use clew_wire::Reader;

/// In the place of a row's index: none.
const NO_ROW: u32 = u32::MAX;

/// Encodes the index of a row or none, as [`read_row`] reads it: four bytes, big-endian.
pub fn row_bytes(row: Option<u32>) -> [u8; 4] {
    row.unwrap_or(NO_ROW).to_be_bytes()
}

/// Reads the index of a row. Returns `Some(None)` for ffffffff: none.
pub fn read_row(fields: &mut Reader<'_>) -> Option<Option<u32>> {
    fields.u32().map(|row| (row != NO_ROW).then_some(row))
}

/// Writes the number of hashes (1 byte) and the hashes.
pub(crate) fn write_hashes(out: &mut Vec<u8>, hashes: &[[u8; 32]]) {
    out.push(hashes.len() as u8);
    out.extend_from_slice(hashes.as_flattened());
}

/// Reads what [`write_hashes`] wrote. Returns `None` if there are more than `most`.
pub(crate) fn read_hashes(fields: &mut Reader<'_>, most: usize) -> Option<Vec<[u8; 32]>> {
    let count = usize::from(fields.u8()?);
    let (hashes, _) = fields.take(32 * count)?.as_chunks();
    (count <= most).then(|| hashes.to_vec())
}
