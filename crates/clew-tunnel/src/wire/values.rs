//! Values, and the RPCs that are made of them: `spec/tunnel.md` section 5.
//!
//! A value is checked once, from its first byte to its last, and then read where it stands: nothing is
//! copied, and nothing is kept for each of its parts.

use alloc::vec::Vec;

use crate::limits::{ITEMS_MAX, LIST_DEPTH, NAME_MAX, STRING_MAX};
use crate::reason::Reason;
use clew_wire::Reader;

const NUMBER: u8 = b'd';
const LONG: u8 = b'q';
const TEXT: u8 = b's';
const BYTES: u8 = b'b';
const LIST: u8 = b'l';
const END: u8 = b'e';

/// One value, where it stands in a plaintext.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value<'a> {
    /// `d`.
    Number(u32),
    /// `q`: 8 bytes.
    Long([u8; 8]),
    /// `s`: at most [`STRING_MAX`] bytes.
    Text(&'a str),
    /// `b`.
    Bytes(&'a [u8]),
    /// `l`.
    List(Values<'a>),
}

/// Values one after the other: what is in a list, or left of it. Their bytes are known to be good.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Values<'a>(&'a [u8]);

impl<'a> Iterator for Values<'a> {
    type Item = Value<'a>;

    fn next(&mut self) -> Option<Value<'a>> {
        let mut at = Reader(self.0);
        let value = match at.u8()? {
            LIST => {
                let whole = self.0;
                // The budget was kept when the values were checked.
                let mut budget = usize::MAX;
                items(&mut at, 0, &mut budget).ok()?;
                let inside = whole.len() - at.0.len() - 1;
                Value::List(Values(whole.get(1..inside)?))
            }
            kind => single(kind, &mut at).ok()?,
        };
        self.0 = at.0;
        Some(value)
    }
}

/// One RPC: a connection, a name and arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Call<'a> {
    /// The connection; 0 is the tunnel's own.
    pub connection: u32,
    /// 1 to 64 bytes.
    pub name: &'a str,
    /// The rest of its list.
    pub arguments: Values<'a>,
    /// Length of its value: what counts against the receive window (section 7.5).
    pub length: usize,
    /// Its value.
    pub bytes: &'a [u8],
}

impl<'a> Call<'a> {
    /// Reads one RPC with nothing behind it.
    ///
    /// # Errors
    /// Those of section 5; `not-a-call` if there is something behind it.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, Reason> {
        let mut at = Reader(bytes);
        let call = Self::read(&mut at)?;
        at.0.is_empty().then_some(call).ok_or(Reason::NotACall)
    }

    /// Reads the RPC at the start of `at`, which moves behind it.
    ///
    /// # Errors
    /// `truncated`, `unknown-type`, `too-long`, `bad-utf8`, `too-deep`, `too-many-values`, `not-a-call`:
    /// the first that applies, from its first byte to its last.
    pub(crate) fn read(at: &mut Reader<'a>) -> Result<Self, Reason> {
        let connection = at.u32().ok_or(Reason::Truncated)?;
        let value = at.0;
        match at.u8().ok_or(Reason::Truncated)? {
            LIST => {}
            NUMBER | LONG | TEXT | BYTES => return Err(Reason::NotACall),
            _ => return Err(Reason::UnknownType),
        }
        let name = match at.u8().ok_or(Reason::Truncated)? {
            TEXT => single(TEXT, at)?,
            NUMBER | LONG | BYTES | LIST | END => return Err(Reason::NotACall),
            _ => return Err(Reason::UnknownType),
        };
        let Value::Text(name) = name else {
            return Err(Reason::NotACall);
        };
        if name.is_empty() || name.len() > NAME_MAX {
            return Err(Reason::NotACall);
        }
        let arguments = at.0;
        // The name is the first item.
        let mut budget = ITEMS_MAX - 1;
        items(at, 1, &mut budget)?;
        let end = arguments.len() - at.0.len() - 1;
        Ok(Self {
            connection,
            name,
            arguments: Values(&arguments[..end]),
            length: value.len() - at.0.len(),
            bytes: &value[..value.len() - at.0.len()],
        })
    }
}

/// Reads a list up to and with its end. `depth` is the list's own; `budget` is how many values may still
/// come. It calls itself for lists in lists, [`LIST_DEPTH`] times at most where `depth` is counted from 1.
fn items(at: &mut Reader<'_>, depth: usize, budget: &mut usize) -> Result<(), Reason> {
    loop {
        let kind = at.u8().ok_or(Reason::Truncated)?;
        if kind == END {
            return Ok(());
        }
        if !matches!(kind, NUMBER | LONG | TEXT | BYTES | LIST) {
            return Err(Reason::UnknownType);
        }
        *budget = budget.checked_sub(1).ok_or(Reason::TooManyValues)?;
        if kind != LIST {
            single(kind, at)?;
        } else if depth == LIST_DEPTH {
            return Err(Reason::TooDeep);
        } else {
            items(at, depth + 1, budget)?;
        }
    }
}

/// Reads what stands behind the type of a value that is no list.
fn single<'a>(kind: u8, at: &mut Reader<'a>) -> Result<Value<'a>, Reason> {
    let value = match kind {
        NUMBER => at.u32().map(Value::Number),
        LONG => at.array().map(Value::Long),
        BYTES => {
            let length = at.u16().ok_or(Reason::Truncated)?;
            at.take(length.into()).map(Value::Bytes)
        }
        TEXT => {
            let length = usize::from(at.u16().ok_or(Reason::Truncated)?);
            if length > STRING_MAX {
                return Err(Reason::TooLong);
            }
            let bytes = at.take(length).ok_or(Reason::Truncated)?;
            let text = core::str::from_utf8(bytes).map_err(|_| Reason::BadUtf8)?;
            Some(Value::Text(text))
        }
        _ => return Err(Reason::UnknownType),
    };
    value.ok_or(Reason::Truncated)
}

/// Writes one RPC behind other bytes. What a reader would refuse is not written: [`Self::end`] says so.
#[derive(Debug)]
pub struct CallWriter<'a> {
    out: &'a mut Vec<u8>,
    begin: usize,
    fits: bool,
}

impl<'a> CallWriter<'a> {
    /// Begins an RPC with its name.
    pub fn new(out: &'a mut Vec<u8>, connection: u32, name: &str) -> Self {
        let begin = out.len();
        out.extend_from_slice(&connection.to_be_bytes());
        out.push(LIST);
        let writer = Self {
            out,
            begin,
            fits: true,
        };
        writer.text(name)
    }

    /// Writes a number.
    #[must_use]
    pub fn number(self, number: u32) -> Self {
        self.out.push(NUMBER);
        self.out.extend_from_slice(&number.to_be_bytes());
        self
    }

    /// Writes 8 bytes.
    #[must_use]
    pub fn long(self, long: [u8; 8]) -> Self {
        self.out.push(LONG);
        self.out.extend_from_slice(&long);
        self
    }

    /// Writes a text.
    #[must_use]
    pub fn text(self, text: &str) -> Self {
        self.measured(TEXT, text.as_bytes())
    }

    /// Writes bytes.
    #[must_use]
    pub fn bytes(self, bytes: &[u8]) -> Self {
        self.measured(BYTES, bytes)
    }

    /// Begins a list.
    #[must_use]
    pub fn list(self) -> Self {
        self.out.push(LIST);
        self
    }

    /// Ends a list.
    #[must_use]
    pub fn end_list(self) -> Self {
        self.out.push(END);
        self
    }

    fn measured(mut self, kind: u8, bytes: &[u8]) -> Self {
        match u16::try_from(bytes.len()) {
            Ok(length) => {
                self.out.push(kind);
                self.out.extend_from_slice(&length.to_be_bytes());
                self.out.extend_from_slice(bytes);
            }
            Err(_) => self.fits = false,
        }
        self
    }

    /// Ends the RPC.
    ///
    /// # Errors
    /// What a reader would refuse it for, those of section 5; nothing of it is written then. `too-long`
    /// for bytes beyond 65,535, too.
    pub fn end(self) -> Result<(), Reason> {
        self.out.push(END);
        let mut at = Reader(&self.out[self.begin..]);
        let read = if self.fits {
            Call::read(&mut at).map(|_| at.0.is_empty())
        } else {
            Err(Reason::TooLong)
        };
        let refused = match read {
            Ok(true) => return Ok(()),
            // A list ended that was not begun: there are bytes behind the RPC.
            Ok(false) => Reason::NotACall,
            Err(reason) => reason,
        };
        self.out.truncate(self.begin);
        Err(refused)
    }
}
