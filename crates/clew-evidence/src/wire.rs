//! Reading fixed fields from the front of a slice.

/// In the place of a row's index: none.
const NO_ROW: u32 = u32::MAX;

/// Encodes the index of a row or none, as [`Fields::row`] reads it: four bytes, big-endian.
pub fn row_bytes(row: Option<u32>) -> [u8; 4] {
    row.unwrap_or(NO_ROW).to_be_bytes()
}

/// The bytes not read yet.
#[derive(Clone, Debug)]
pub struct Fields<'a>(pub &'a [u8]);

impl<'a> Fields<'a> {
    /// The next `n` bytes. Returns `None`, and takes none, if there are fewer; so do all that follow.
    pub fn take(&mut self, n: usize) -> Option<&'a [u8]> {
        let (head, tail) = self.0.split_at_checked(n)?;
        self.0 = tail;
        Some(head)
    }

    /// The next `N` bytes.
    pub fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (head, tail) = self.0.split_first_chunk()?;
        self.0 = tail;
        Some(*head)
    }

    /// The next byte.
    pub fn u8(&mut self) -> Option<u8> {
        self.array().map(|[byte]| byte)
    }

    /// The next four bytes, big-endian.
    pub fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_be_bytes)
    }

    /// The index of a row in the next four bytes. Returns `Some(None)` for ffffffff: none.
    pub fn row(&mut self) -> Option<Option<u32>> {
        self.u32().map(|row| (row != NO_ROW).then_some(row))
    }

    /// The next eight bytes, big-endian.
    pub fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_be_bytes)
    }
}
