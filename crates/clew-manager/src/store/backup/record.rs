//! The records of a backup.

use super::damaged;
use crate::error::StoreError;
use crate::storage::{Row, Value};
use sha2::{Digest, Sha256};
use std::ffi::OsStr;
use std::io::{self, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

const HEADER: &[u8] = b"clew-backup-1\n";
/// Longest content of a record: more than any row, and than a bucket of witnesses.
const CONTENT_MAX: usize = 1 << 26;

const NULL: u8 = 0;
const INTEGER: u8 = 1;
const TEXT: u8 = 2;
const BLOB: u8 = 3;

/// Kinds of records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    About = 1,
    Table = 2,
    Row = 3,
    File = 4,
    End = 5,
    More = 6,
}

impl Kind {
    fn of(byte: u8) -> Option<Self> {
        use Kind::{About, End, File, More, Row, Table};
        let all = [About, Table, Row, File, End, More];
        all.into_iter().find(|kind| *kind as u8 == byte)
    }
}

fn unwritten(error: io::Error) -> StoreError {
    StoreError::Backup(format!("cannot write: {error}"))
}

fn unread(error: io::Error) -> StoreError {
    match error.kind() {
        io::ErrorKind::UnexpectedEof => damaged("it is cut off"),
        _ => StoreError::Backup(error.to_string()),
    }
}

/// Writes records, and hashes them.
pub(super) struct Writer<'w> {
    to: &'w mut (dyn Write + Send),
    hash: Sha256,
}

impl<'w> Writer<'w> {
    pub(super) fn new(to: &'w mut (dyn Write + Send)) -> Result<Self, StoreError> {
        let hash = Sha256::new();
        let mut writer = Self { to, hash };
        writer.write(HEADER)?;
        Ok(writer)
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), StoreError> {
        self.hash.update(bytes);
        self.to.write_all(bytes).map_err(unwritten)
    }

    pub(super) fn record(&mut self, kind: Kind, content: &[u8]) -> Result<(), StoreError> {
        if content.len() > CONTENT_MAX {
            return Err(StoreError::Backup("a row or file is too large".to_owned()));
        }
        let length = u32::try_from(content.len()).unwrap_or(u32::MAX);
        self.write(&[kind as u8])?;
        self.write(&length.to_be_bytes())?;
        self.write(content)
    }

    pub(super) fn end(mut self) -> Result<(), StoreError> {
        let hash = self.hash.clone().finalize();
        self.record(Kind::End, &hash)
    }
}

/// Reads records, and checks the hash at their end.
pub(super) struct Reader<'r> {
    from: &'r mut dyn Read,
    hash: Sha256,
}

impl<'r> Reader<'r> {
    pub(super) fn new(from: &'r mut dyn Read) -> Result<Self, StoreError> {
        let hash = Sha256::new();
        let mut reader = Self { from, hash };
        let header = reader.read(HEADER.len())?;
        match header == HEADER {
            true => Ok(reader),
            false => Err(damaged("it is not a backup of a store")),
        }
    }

    fn read(&mut self, length: usize) -> Result<Vec<u8>, StoreError> {
        let mut bytes = Vec::new();
        let from = &mut *self.from;
        let read = from.take(length as u64).read_to_end(&mut bytes);
        match read.map_err(unread)? == length {
            true => {
                self.hash.update(&bytes);
                Ok(bytes)
            }
            false => Err(damaged("it is cut off")),
        }
    }

    /// The next record. The last one is checked, and nothing may follow it.
    pub(super) fn record(&mut self) -> Result<(Kind, Vec<u8>), StoreError> {
        let before = self.hash.clone();
        let head = self.read(5)?;
        let (kind, length) = match head[..] {
            [kind, a, b, c, d] => (Kind::of(kind), u32::from_be_bytes([a, b, c, d]) as usize),
            _ => (None, 0),
        };
        let kind = kind.ok_or_else(|| damaged("it has an unknown record"))?;
        if length > CONTENT_MAX {
            return Err(damaged("it has too large a record"));
        }
        let content = self.read(length)?;
        if kind == Kind::End {
            let is_same = before.finalize()[..] == content[..];
            let is_over = self.from.read(&mut [0]).map_err(unread)? == 0;
            if !is_same || !is_over {
                return Err(damaged("its bytes are not those that were written"));
            }
        }
        Ok((kind, content))
    }
}

/// A row's values: type (1), and for numbers (8), for others length (4) and bytes.
pub(super) fn row(row: Row) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut long = |kind, content: &[u8]| {
        let length = u32::try_from(content.len()).unwrap_or(u32::MAX);
        bytes.push(kind);
        match kind {
            NULL => {}
            INTEGER => bytes.extend_from_slice(content),
            _ => {
                bytes.extend_from_slice(&length.to_be_bytes());
                bytes.extend_from_slice(content);
            }
        }
    };
    for value in row.into_values() {
        match value {
            Value::Null => long(NULL, &[]),
            Value::Integer(number) => long(INTEGER, &number.to_be_bytes()),
            Value::Text(text) => long(TEXT, text.as_bytes()),
            Value::Blob(content) => long(BLOB, &content),
        }
    }
    bytes
}

pub(super) fn read_row(mut bytes: &[u8]) -> Result<Row, StoreError> {
    let mut values = Vec::new();
    while let Some((kind, rest)) = bytes.split_first() {
        let (value, rest) = read_value(*kind, rest).ok_or_else(|| damaged("a row is damaged"))?;
        values.push(value);
        bytes = rest;
    }
    Ok(Row::new(values))
}

fn read_value(kind: u8, bytes: &[u8]) -> Option<(Value<'static>, &[u8])> {
    match kind {
        NULL => Some((Value::Null, bytes)),
        INTEGER => {
            let (number, rest) = bytes.split_first_chunk()?;
            Some((Value::Integer(i64::from_be_bytes(*number)), rest))
        }
        TEXT | BLOB => {
            let (length, rest) = bytes.split_first_chunk()?;
            let (content, rest) = rest.split_at_checked(u32::from_be_bytes(*length) as usize)?;
            let content = content.to_vec();
            let value = match kind {
                TEXT => Value::Text(String::from_utf8(content).ok()?.into()),
                _ => Value::Blob(content.into()),
            };
            Some((value, rest))
        }
        _ => None,
    }
}

/// A file: the length of its path (2), the path, the content.
pub(super) fn file(path: &Path, content: &[u8]) -> Result<Vec<u8>, StoreError> {
    let path = path.as_os_str().as_bytes();
    let length = u16::try_from(path.len());
    let length = length.map_err(|_| StoreError::Backup("a path is too long".to_owned()))?;
    Ok([&length.to_be_bytes()[..], path, content].concat())
}

pub(super) fn read_file(bytes: &[u8]) -> Result<(&Path, &[u8]), StoreError> {
    let cut = bytes.split_first_chunk();
    let cut =
        cut.and_then(|(length, rest)| rest.split_at_checked(u16::from_be_bytes(*length).into()));
    let (path, content) = cut.ok_or_else(|| damaged("a file is damaged"))?;
    Ok((Path::new(OsStr::from_bytes(path)), content))
}
