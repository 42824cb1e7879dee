//! Cuts an input into records.

use std::io::{self, BufReader, Chain, Cursor, Read};

use crate::error::{CaptureError, Damage, Fault, Stop};
use crate::record::{Kind, Record};
use crate::{OPAQUE_LEN_MAX, pcap, pcapng};

const MAGIC_LEN: usize = 4;
const BUFFER_LEN: usize = 256 << 10;

/// Reads a capture as an iterator of [`Record`]s: the file header first, opaque records after damage.
///
/// Holds one buffer and the interfaces of the current section, whatever the file claims. After an
/// error of the input itself the iterator ends.
pub struct Reader<R: Read> {
    source: Source<R>,
    state: State,
    damage: Option<Damage>,
    frames: u64,
}

enum State {
    Pcap(pcap::Pcap),
    Pcapng(pcapng::Section),
    Damaged,
    Failed,
}

impl<R: Read> Reader<R> {
    /// Recognises the format by the first four bytes of `input`.
    pub fn new(mut read: R) -> Result<Self, CaptureError> {
        let mut start = Vec::new();
        read.by_ref()
            .take(MAGIC_LEN as u64)
            .read_to_end(&mut start)?;
        let state = recognise(&start)?;
        let input = BufReader::with_capacity(BUFFER_LEN, Cursor::new(start).chain(read));
        Ok(Self {
            source: Source { input, offset: 0 },
            state,
            damage: None,
            frames: 0,
        })
    }

    /// Returns where the capture is damaged, if the damage was reached.
    pub fn damage(&self) -> Option<&Damage> {
        self.damage.as_ref()
    }

    /// Returns the number of input bytes in all records so far.
    pub fn bytes_read(&self) -> u64 {
        self.source.offset
    }

    fn read_kind(&mut self, raw: &mut Vec<u8>) -> Result<Option<Kind>, Stop> {
        match &mut self.state {
            State::Pcap(file) => file.read(&mut self.source, raw),
            State::Pcapng(section) => section.read(&mut self.source, raw),
            State::Damaged => {
                self.source.read_up_to(raw, OPAQUE_LEN_MAX)?;
                Ok((!raw.is_empty()).then_some(Kind::Opaque))
            }
            State::Failed => Ok(None),
        }
    }

    fn number(&mut self, mut kind: Kind) -> Kind {
        if let Kind::Packet(packet) = &mut kind {
            self.frames += 1;
            packet.info.frame = self.frames;
        }
        kind
    }
}

impl<R: Read> Iterator for Reader<R> {
    type Item = io::Result<Record>;

    fn next(&mut self) -> Option<Self::Item> {
        let offset = self.source.offset;
        let mut raw = Vec::new();
        let kind = match self.read_kind(&mut raw) {
            Ok(kind) => self.number(kind?),
            Err(Stop::Fault(fault)) => {
                self.damage = Some(Damage { offset, fault });
                self.state = State::Damaged;
                Kind::Opaque
            }
            Err(Stop::Io(error)) => {
                self.state = State::Failed;
                return Some(Err(error));
            }
        };
        Some(Ok(Record::new(raw, kind)))
    }
}

/// Returns whether an input is a capture, from its first four bytes.
pub fn is_capture(start: &[u8]) -> bool {
    start
        .get(..MAGIC_LEN)
        .is_some_and(|magic| recognise(magic).is_ok())
}

fn recognise(start: &[u8]) -> Result<State, CaptureError> {
    if start.is_empty() {
        return Err(CaptureError::Empty);
    }
    if let Ok(magic) = <[u8; MAGIC_LEN]>::try_from(start) {
        if let Some(file) = pcap::Pcap::with_magic(magic) {
            return Ok(State::Pcap(file));
        }
        if let Some(section) = pcapng::Section::with_magic(magic) {
            return Ok(State::Pcapng(section));
        }
    }
    Err(explain(start))
}

/// Explains an unknown input by its first bytes.
fn explain(start: &[u8]) -> CaptureError {
    let compressed = |with, command| CaptureError::Compressed { with, command };
    match start {
        [0x1f, 0x8b, ..] => compressed("gzip", "gunzip -c"),
        [0x28, 0xb5, 0x2f, 0xfd] => compressed("zstd", "zstd -dc"),
        [0xfd, b'7', b'z', b'X'] => compressed("xz", "xz -dc"),
        [0x04, 0x22, 0x4d, 0x18] => compressed("lz4", "lz4 -dc"),
        [b'B', b'Z', b'h', _] => compressed("bzip2", "bzip2 -dc"),
        [0xa1, 0xb2, 0xcd, 0x34] | [0x34, 0xcd, 0xb2, 0xa1] => {
            CaptureError::Unsupported("a modified pcap (Kuznetzov's)")
        }
        b"snoo" => CaptureError::Unsupported("a snoop file"),
        _ => CaptureError::Unknown(start.to_vec()),
    }
}

/// The input with its position. Memory grows with received bytes, not with announced ones.
pub(crate) struct Source<R: Read> {
    input: BufReader<Chain<Cursor<Vec<u8>>, R>>,
    offset: u64,
}

impl<R: Read> Source<R> {
    /// Reads the first `len` bytes of a record; returns whether there is one.
    pub(crate) fn begin(&mut self, raw: &mut Vec<u8>, len: usize) -> Result<bool, Stop> {
        match self.read_up_to(raw, len)? {
            0 => Ok(false),
            _ => self.fill(raw, len).map(|()| true),
        }
    }

    /// Reads on until the record has `len` bytes.
    pub(crate) fn fill(&mut self, raw: &mut Vec<u8>, len: usize) -> Result<(), Stop> {
        self.read_up_to(raw, len - raw.len())?;
        if raw.len() < len {
            return Err(Fault::Cut {
                found: raw.len(),
                expected: len,
            }
            .into());
        }
        Ok(())
    }

    fn read_up_to(&mut self, raw: &mut Vec<u8>, len: usize) -> io::Result<usize> {
        raw.reserve_exact(len.min(OPAQUE_LEN_MAX));
        let read = self.input.by_ref().take(len as u64).read_to_end(raw)?;
        self.offset += read as u64;
        Ok(read)
    }
}
