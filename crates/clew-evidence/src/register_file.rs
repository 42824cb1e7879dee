//! Register files: rows for those who open or match away from the store (`spec/opening.md` section
//! 4). Written and read row by row, so that no register is too large.

use crate::row::{MAX_ROW_BYTES, Row};
use crate::search::base_hash;
use alloc::vec::Vec;
use clew_group::Scheme;
use clew_group::curve::Scalar;
use clew_packet::GroupId;
use clew_wire::Reader;
use core::fmt;

const MAGIC: &[u8; 16] = b"clew-register-1\n";
const FIXED_HEADER_BYTES: usize = MAGIC.len() + 16 + 1 + 1;
const LENGTH_BYTES: usize = 4;
const HASH_BYTES: usize = 32;
const POINT_BYTES: usize = 48;

/// Most epochs that one register file has values for.
pub const MAX_REGISTER_EPOCHS: usize = 16;

/// What a register file says before its lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegisterFileHeader {
    /// The group.
    pub group: GroupId,
    /// Whether lines have points (B_e, for matches) or their hashes (to find a row).
    pub points: bool,
    /// The epochs that lines have a value for: 1 to 16, strictly ascending.
    pub epochs: Vec<u32>,
}

impl RegisterFileHeader {
    /// Encodes the header, 34 bytes and 4 for each epoch.
    pub fn encode(&self) -> Vec<u8> {
        let values = if self.points { 2 } else { 1 };
        let count = self.epochs.len() as u8;
        let mut out = [&MAGIC[..], &self.group.0, &[values, count]].concat();
        out.extend(self.epochs.iter().flat_map(|epoch| epoch.to_be_bytes()));
        out
    }

    /// Returns whether these are the first bytes of a register file.
    pub fn begins(bytes: &[u8]) -> bool {
        bytes.starts_with(MAGIC)
    }

    /// Returns the index of that epoch's value in a line.
    pub fn place(&self, epoch: u32) -> Option<usize> {
        self.epochs.binary_search(&epoch).ok()
    }

    /// Returns `Ok(None)` if there are too few bytes yet.
    fn read(fields: &mut Reader<'_>) -> Result<Option<Self>, RegisterFileError> {
        if fields.0.len() < FIXED_HEADER_BYTES {
            return Ok(None);
        }
        let magic = fields.array().filter(|magic| magic == MAGIC);
        let group = magic.and_then(|_| fields.array()).map(GroupId);
        let (group, [values, count]) =
            group.zip(fields.array()).ok_or(RegisterFileError::Header)?;
        let count = usize::from(count);
        if !(1..=2).contains(&values) || !(1..=MAX_REGISTER_EPOCHS).contains(&count) {
            return Err(RegisterFileError::Header);
        }
        let Some(epochs) = fields.take(4 * count) else {
            return Ok(None);
        };
        let epochs: Vec<u32> = epochs
            .as_chunks()
            .0
            .iter()
            .copied()
            .map(u32::from_be_bytes)
            .collect();
        if !epochs.is_sorted_by(|a, b| a < b) {
            return Err(RegisterFileError::Header);
        }
        let points = values == 2;
        Ok(Some(Self {
            group,
            points,
            epochs,
        }))
    }

    fn value_bytes(&self) -> usize {
        if self.points { POINT_BYTES } else { HASH_BYTES }
    }
}

/// What a line says about the base B_e of its machine in one epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineValue {
    /// Zeros: the row is revoked at or before that epoch.
    Revoked,
    /// SHA-256 of the encoded B_e.
    Hash([u8; HASH_BYTES]),
    /// B_e, encoded.
    Point([u8; POINT_BYTES]),
}

impl LineValue {
    /// Returns the hash of B_e. Returns `None` if the row is revoked.
    pub fn hash(&self) -> Option<[u8; HASH_BYTES]> {
        match self {
            Self::Revoked => None,
            Self::Hash(hash) => Some(*hash),
            Self::Point(point) => Some(base_hash(point)),
        }
    }

    fn read(points: bool, fields: &mut Reader<'_>) -> Option<Self> {
        Some(match points {
            true => match fields.array()? {
                zeros if zeros == [0; POINT_BYTES] => Self::Revoked,
                point => Self::Point(point),
            },
            false => match fields.array()? {
                zeros if zeros == [0; HASH_BYTES] => Self::Revoked,
                hash => Self::Hash(hash),
            },
        })
    }
}

/// A row with what finds it. Nothing in a line is believed: the row has a proof, x is checked by a
/// pairing, a hash only helps to find, and a point is checked as an opened one is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegisterLine {
    /// The row.
    pub row: Row,
    /// x of the machine (`xr`). `None` with `bbs04`.
    pub x: Option<Scalar>,
    /// One value for each epoch of the header, of the header's kind.
    pub values: Vec<LineValue>,
}

impl RegisterLine {
    /// Encodes the line of a file with that header, with its length in front.
    ///
    /// A value of the other kind, or one that is missing, is written as revoked.
    pub fn encode(&self, header: &RegisterFileHeader) -> Vec<u8> {
        let row = self.row.encode();
        let mut out = (row.len() as u32).to_be_bytes().to_vec();
        out.extend_from_slice(&row);
        out.extend(self.x.iter().flat_map(Scalar::to_bytes));
        for place in 0..header.epochs.len() {
            match (self.values.get(place), header.points) {
                (Some(LineValue::Hash(hash)), false) => out.extend_from_slice(hash),
                (Some(LineValue::Point(point)), true) => out.extend_from_slice(point),
                _ => out.resize(out.len() + header.value_bytes(), 0),
            }
        }
        out
    }
}

/// Reads a register file as its bytes come in: give it some with [`RegisterReader::push`], take
/// lines until there is none, and say [`RegisterReader::finish`] at the end. Holds what was pushed
/// and not yet taken.
#[derive(Debug)]
pub struct RegisterReader {
    scheme: Scheme,
    header: Option<RegisterFileHeader>,
    buffer: Vec<u8>,
    taken: usize,
    lines: u64,
}

impl RegisterReader {
    /// Reads a file of a group with that scheme.
    pub fn new(scheme: Scheme) -> Self {
        Self {
            scheme,
            header: None,
            buffer: Vec::new(),
            taken: 0,
            lines: 0,
        }
    }

    /// Takes in some more of the file.
    pub fn push(&mut self, bytes: &[u8]) {
        self.buffer.drain(..self.taken);
        self.taken = 0;
        self.buffer.extend_from_slice(bytes);
    }

    /// Returns the header. Returns `None` until that much was read.
    ///
    /// # Errors
    /// [`RegisterFileError::Header`].
    pub fn header(&mut self) -> Result<Option<&RegisterFileHeader>, RegisterFileError> {
        if self.header.is_none() {
            let mut fields = Reader(self.rest());
            let before = fields.0.len();
            if let Some(header) = RegisterFileHeader::read(&mut fields)? {
                self.taken += before - fields.0.len();
                self.header = Some(header);
            }
        }
        Ok(self.header.as_ref())
    }

    /// Returns the next line. Returns `None` if more of the file is needed.
    ///
    /// # Errors
    /// The first rule that the header or this line breaks.
    pub fn line(&mut self) -> Result<Option<RegisterLine>, RegisterFileError> {
        let Some((points, values)) = self.header()?.map(|h| (h.points, h.epochs.len())) else {
            return Ok(None);
        };
        let (scheme, line) = (self.scheme, self.lines);
        let mut fields = Reader(self.rest());
        let Some(length) = fields.u32() else {
            return Ok(None);
        };
        let length = length as usize;
        if length > MAX_ROW_BYTES {
            return Err(RegisterFileError::TooLong { line });
        }
        let whole = length + rest_bytes(scheme, points, values);
        let Some(bytes) = fields.take(whole) else {
            return Ok(None);
        };
        let read = read_line(scheme, bytes, length, points, values);
        let read = read.ok_or(RegisterFileError::Layout { line })?;
        self.taken += LENGTH_BYTES + whole;
        self.lines += 1;
        Ok(Some(read))
    }

    /// Checks that the file ended where a line did.
    pub fn finish(&self) -> Result<(), RegisterFileError> {
        match &self.header {
            None => Err(RegisterFileError::Header),
            Some(_) if self.rest().is_empty() => Ok(()),
            Some(_) => Err(RegisterFileError::Truncated { line: self.lines }),
        }
    }

    fn rest(&self) -> &[u8] {
        &self.buffer[self.taken..]
    }
}

/// Size of a line behind its row.
fn rest_bytes(scheme: Scheme, points: bool, values: usize) -> usize {
    let x = if scheme == Scheme::Xr { 32 } else { 0 };
    x + values * if points { POINT_BYTES } else { HASH_BYTES }
}

fn read_line(
    scheme: Scheme,
    bytes: &[u8],
    row: usize,
    points: bool,
    values: usize,
) -> Option<RegisterLine> {
    let mut fields = Reader(bytes);
    let row = Row::decode(scheme, fields.take(row)?)?;
    let x = read_x(scheme, &mut fields)?;
    let values = (0..values).map(|_| LineValue::read(points, &mut fields));
    let values = values.collect::<Option<_>>()?;
    Some(RegisterLine { row, x, values })
}

/// The x of a machine, which is there with `xr` only: reduced and not zero.
pub(crate) fn read_x(scheme: Scheme, fields: &mut Reader<'_>) -> Option<Option<Scalar>> {
    if scheme == Scheme::Bbs04 {
        return Some(None);
    }
    let x = Scalar::from_bytes(fields.take(32)?).ok()?;
    (!x.is_zero()).then_some(Some(x))
}

/// Why a register file was not read. Lines count from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RegisterFileError {
    /// It does not start as a register file does.
    Header,
    /// A row is longer than any may be.
    TooLong {
        /// The line.
        line: u64,
    },
    /// A row's fields do not have the right lengths or values.
    Layout {
        /// The line.
        line: u64,
    },
    /// It ends within a line.
    Truncated {
        /// The line.
        line: u64,
    },
}

impl RegisterFileError {
    /// Returns the name of the rule.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Header => "header",
            Self::TooLong { .. } => "too-long",
            Self::Layout { .. } => "layout",
            Self::Truncated { .. } => "truncated",
        }
    }
}

impl fmt::Display for RegisterFileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Header => f.write_str("not a register file (rule header)"),
            Self::TooLong { line } => {
                write!(f, "row {line} is too long (rule too-long)")
            }
            Self::Layout { line } => write!(f, "row {line} has invalid fields (rule layout)"),
            Self::Truncated { line } => write!(f, "truncated in row {line} (rule truncated)"),
        }
    }
}

impl core::error::Error for RegisterFileError {}
