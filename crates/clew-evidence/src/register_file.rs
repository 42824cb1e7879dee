//! Register files: rows for those who open or match away from the store (`spec/opening.md` section
//! 4). Written and read row by row, so that no register is too large.

use crate::proof::{MAX_ROW_BYTES, Row};
use crate::wire::Fields;
use clew_group::Scheme;
use clew_packet::GroupId;
use std::fmt;

const MAGIC: &[u8; 16] = b"clew-register-1\n";
const HEADER_BYTES: usize = MAGIC.len() + 16 + 4;
const LENGTH_BYTES: usize = 4;
const NOT_A_MEMBER: [u8; 48] = [0; 48];

/// The first bytes of a register file, before its lines.
pub fn register_file_header(group: GroupId, epoch: u32) -> Vec<u8> {
    [&MAGIC[..], &group.0, &epoch.to_be_bytes()].concat()
}

/// A row with what finds it. Nothing in a line is believed: the row has a proof, the tag only helps
/// to find, and the credential is checked against the entry's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegisterLine {
    /// The row.
    pub row: Row,
    /// Tag of its credential of epoch 0.
    pub tag: [u8; 32],
    /// A in the file's epoch, encoded; nothing if the machine is not a member then.
    pub credential: Option<[u8; 48]>,
}

impl RegisterLine {
    /// Encodes the line, with its length in front.
    pub fn encode(&self) -> Vec<u8> {
        let row = self.row.encode();
        let mut out = (row.len() as u32).to_be_bytes().to_vec();
        out.extend_from_slice(&row);
        out.extend_from_slice(&self.tag);
        out.extend_from_slice(&self.credential.unwrap_or(NOT_A_MEMBER));
        out
    }
}

/// Reads a register file as its bytes come in: give it some with [`RegisterReader::push`], take
/// lines until there is none, and say [`RegisterReader::finish`] at the end. Holds what was pushed
/// and not yet taken.
#[derive(Debug)]
pub struct RegisterReader {
    scheme: Scheme,
    header: Option<(GroupId, u32)>,
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

    /// The group and the epoch of the file; nothing until that much was read.
    pub fn header(&mut self) -> Result<Option<(GroupId, u32)>, RegisterFileError> {
        if self.header.is_none() && self.rest().len() >= HEADER_BYTES {
            let mut fields = Fields(self.rest());
            let header = read_header(&mut fields).ok_or(RegisterFileError::Header)?;
            self.header = Some(header);
            self.taken += HEADER_BYTES;
        }
        Ok(self.header)
    }

    /// The next line; nothing if more of the file is needed.
    pub fn line(&mut self) -> Result<Option<RegisterLine>, RegisterFileError> {
        if self.header()?.is_none() {
            return Ok(None);
        }
        let line = self.lines;
        let mut fields = Fields(self.rest());
        let Some(length) = fields.u32() else {
            return Ok(None);
        };
        let length = length as usize;
        if length > MAX_ROW_BYTES {
            return Err(RegisterFileError::TooLong { line });
        }
        let whole = length + 32 + 48;
        let Some(bytes) = fields.take(whole) else {
            return Ok(None);
        };
        let read = read_line(self.scheme, bytes, length);
        let read = read.ok_or(RegisterFileError::Layout { line })?;
        self.taken += LENGTH_BYTES + whole;
        self.lines += 1;
        Ok(Some(read))
    }

    /// Checks that the file ended where a line did.
    pub fn finish(&self) -> Result<(), RegisterFileError> {
        match self.header {
            None => Err(RegisterFileError::Header),
            Some(_) if self.rest().is_empty() => Ok(()),
            Some(_) => Err(RegisterFileError::Truncated { line: self.lines }),
        }
    }

    fn rest(&self) -> &[u8] {
        &self.buffer[self.taken..]
    }
}

fn read_header(fields: &mut Fields<'_>) -> Option<(GroupId, u32)> {
    fields.array().filter(|magic| magic == MAGIC)?;
    Some((GroupId(fields.array()?), fields.u32()?))
}

fn read_line(scheme: Scheme, bytes: &[u8], row: usize) -> Option<RegisterLine> {
    let mut fields = Fields(bytes);
    Some(RegisterLine {
        row: Row::decode(scheme, fields.take(row)?)?,
        tag: fields.array()?,
        credential: fields.array().map(|a| (a != NOT_A_MEMBER).then_some(a))?,
    })
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
    /// The name of the rule.
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
            Self::Header => f.write_str("this is not a register file (rule header)"),
            Self::TooLong { line } => {
                write!(f, "row {line} is longer than any may be (rule too-long)")
            }
            Self::Layout { line } => write!(
                f,
                "the fields of row {line} do not have the right lengths or values (rule layout)"
            ),
            Self::Truncated { line } => write!(f, "it ends within row {line} (rule truncated)"),
        }
    }
}

impl std::error::Error for RegisterFileError {}
