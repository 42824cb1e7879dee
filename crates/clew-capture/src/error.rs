//! Errors of captures, in words for people.

use std::{error, fmt, io};

use crate::{INTERFACES_MAX, RECORD_LEN_MAX};

/// Why an input is not a capture that clew reads.
#[derive(Debug)]
pub enum CaptureError {
    /// The input could not be read.
    Io(io::Error),
    /// The input has no bytes.
    Empty,
    /// The input is compressed.
    Compressed {
        /// What it is compressed with.
        with: &'static str,
        /// The command that unpacks a file to standard output.
        command: &'static str,
    },
    /// The input is a capture in a format that clew does not read.
    Unsupported(&'static str),
    /// The input is not a capture; these are its first bytes.
    Unknown(Vec<u8>),
}

impl CaptureError {
    /// Returns a command that helps, if one does.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Compressed { command, .. } => {
                Some(format!("run {command} CAPTURE | clew COMMAND ... -"))
            }
            Self::Unsupported(_) => Some("run editcap -F pcapng CAPTURE CAPTURE.pcapng".to_owned()),
            Self::Io(_) | Self::Empty | Self::Unknown(_) => None,
        }
    }
}

impl fmt::Display for CaptureError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(error) => write!(f, "cannot read the capture: {error}"),
            Self::Empty => f.write_str("the capture is empty"),
            Self::Compressed { with, .. } => write!(f, "the capture is compressed with {with}"),
            Self::Unsupported(kind) => write!(f, "the capture is {kind}, which clew does not read"),
            Self::Unknown(start) => {
                write!(f, "neither pcap nor pcapng: the file begins with")?;
                start.iter().try_for_each(|byte| write!(f, " {byte:02x}"))
            }
        }
    }
}

impl error::Error for CaptureError {
    fn source(&self) -> Option<&(dyn error::Error + 'static)> {
        match self {
            Self::Io(error) => Some(error),
            _ => None,
        }
    }
}

impl From<io::Error> for CaptureError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// Why [`crate::ReadAhead`] has no next batch.
#[derive(Debug)]
pub enum ReadError {
    /// The input could not be read.
    Io(io::Error),
    /// The caller asked to stop.
    Stopped,
}

impl ReadError {
    /// Returns the error of a reading thread that ended before the input did.
    pub(crate) fn ended_early() -> Self {
        Self::Io(io::Error::other("the reading thread ended early"))
    }
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(error) => error.fmt(f),
            Self::Stopped => f.write_str("interrupted"),
        }
    }
}

impl error::Error for ReadError {}

/// Where a capture stops making sense, and why. Records before are not affected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    /// Offset in the input of the first byte that could not be read as a record.
    pub offset: u64,
    /// The rule that is broken there.
    pub fault: Fault,
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { offset, fault } = self;
        write!(f, "the capture is damaged from byte {offset}: {fault}")
    }
}

/// The rules whose breach is [`Damage`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The input ends inside a record.
    Cut {
        /// Bytes of the record in the input.
        found: usize,
        /// Bytes the record should have.
        expected: usize,
    },
    /// A block is larger than [`RECORD_LEN_MAX`], or a packet than [`crate::PACKET_LEN_MAX`].
    TooLong(u32),
    /// A block is shorter than its fixed fields.
    TooShort {
        /// The length it states.
        stated: u32,
        /// Minimum length of a block of its type.
        least: usize,
    },
    /// The length of a block is not a multiple of four.
    Unaligned(u32),
    /// The lengths at the two ends of a block differ.
    LengthsDiffer {
        /// The length in front.
        first: u32,
        /// The length at the end.
        last: u32,
    },
    /// A section header has an unknown byte-order magic.
    ByteOrder([u8; 4]),
    /// A section is of a major version other than 1.
    Version(u16),
    /// A packet claims more captured bytes than its block has room for.
    CapturedTooLong {
        /// Bytes claimed.
        captured: u32,
        /// Bytes available.
        room: usize,
    },
    /// A packet names an interface that its section has not described.
    UnknownInterface(u32),
    /// A section describes more than [`INTERFACES_MAX`] interfaces.
    TooManyInterfaces,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cut { found, expected } => {
                write!(f, "truncated record: need {expected} bytes, have {found}")
            }
            Self::TooLong(len) => {
                let most = RECORD_LEN_MAX >> 20;
                write!(f, "record length {len} exceeds {most} MiB")
            }
            Self::TooShort { stated, least } => {
                write!(
                    f,
                    "block length {stated} is below its type's minimum of {least}"
                )
            }
            Self::Unaligned(stated) => {
                write!(f, "block length {stated} is not a multiple of 4")
            }
            Self::LengthsDiffer { first, last } => {
                write!(
                    f,
                    "block lengths differ: {first} at its start, {last} at its end"
                )
            }
            Self::ByteOrder(magic) => {
                write!(
                    f,
                    "section header has unknown byte-order magic {magic:02x?}"
                )
            }
            Self::Version(major) => write!(f, "section has unknown version {major}"),
            Self::CapturedTooLong { captured, room } => {
                write!(
                    f,
                    "captured length {captured} exceeds the block's {room} bytes"
                )
            }
            Self::UnknownInterface(interface) => {
                write!(
                    f,
                    "packet names interface {interface}, which is not described"
                )
            }
            Self::TooManyInterfaces => {
                write!(f, "section describes more than {INTERFACES_MAX} interfaces")
            }
        }
    }
}

/// Why exchanging a packet's bytes, and exchanging them back, would not restore the record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotExact {
    /// The record does not hold a packet.
    NotAPacket,
    /// The padding behind the packet is not zero; writing it again would make it zero.
    Padding,
    /// The new length does not fit: the wire length would leave its 32 bits, or the record
    /// would become larger than [`RECORD_LEN_MAX`].
    Length,
    /// The block states no captured length of its own (it follows from the interface's snap
    /// length), and the packet was cut to the snap length or would now be.
    SnapLength,
}

impl fmt::Display for NotExact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotAPacket => "the record does not hold a packet",
            Self::Padding => "the padding behind the packet is not zero",
            Self::Length => "the new length does not fit into the record",
            Self::SnapLength => "the interface's snap length determines the block's length",
        })
    }
}

impl error::Error for NotExact {}

/// Why reading a record stopped.
pub(crate) enum Stop {
    Io(io::Error),
    Fault(Fault),
}

impl From<io::Error> for Stop {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl From<Fault> for Stop {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}
