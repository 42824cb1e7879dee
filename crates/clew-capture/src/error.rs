//! What can be wrong with a capture, in sentences for people.

use std::{error, fmt, io};

use crate::{INTERFACES_MAX, RECORD_LEN_MAX};

/// Why an input cannot be read as a capture at all.
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
    /// The input is a capture of a kind that clew does not read.
    Unsupported(&'static str),
    /// The input begins like no kind of capture; these are its first bytes.
    Unknown(Vec<u8>),
}

impl fmt::Display for CaptureError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(error) => write!(f, "cannot read the capture: {error}"),
            Self::Empty => write!(f, "the capture is empty: not even a file header"),
            Self::Compressed { with, command } => write!(
                f,
                "the capture is compressed with {with}: unpack it on the way in, \
                 {command} CAPTURE | clew COMMAND ... -"
            ),
            Self::Unsupported(kind) => write!(
                f,
                "the capture is {kind}, which clew does not read: convert it first, \
                 editcap -F pcapng CAPTURE CAPTURE.pcapng"
            ),
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

/// Why the next batch of a capture cannot be had.
#[derive(Debug)]
pub enum ReadError {
    /// The input could not be read.
    Io(io::Error),
    /// The caller asked to stop.
    Stopped,
}

impl ReadError {
    /// The thread that reads did not reach the end.
    pub(crate) fn ended_early() -> Self {
        Self::Io(io::Error::other("the thread that reads it ended early"))
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

/// Where a capture stops to make sense, and why. What came before is not affected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    /// Offset in the input of the first byte that was not understood.
    pub offset: u64,
    /// The rule that was broken there.
    pub fault: Fault,
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "the capture is damaged from byte {}: {}",
            self.offset, self.fault
        )
    }
}

/// The rules whose breach is [`Damage`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The input ends inside a record.
    Cut {
        /// Bytes of the record that are there.
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
        /// The least that a block of its type has.
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
        /// Bytes there are.
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
                write!(
                    f,
                    "the file ends after {found} of the {expected} bytes of a record"
                )
            }
            Self::TooLong(len) => write!(
                f,
                "a record claims {len} bytes, more than the {} MiB that any record may have",
                RECORD_LEN_MAX >> 20
            ),
            Self::TooShort { stated, least } => {
                write!(
                    f,
                    "a block claims {stated} bytes, but its kind has at least {least}"
                )
            }
            Self::Unaligned(stated) => {
                write!(
                    f,
                    "a block claims {stated} bytes, which is not a multiple of four"
                )
            }
            Self::LengthsDiffer { first, last } => {
                write!(
                    f,
                    "a block claims {first} bytes at its start and {last} at its end"
                )
            }
            Self::ByteOrder(magic) => {
                write!(
                    f,
                    "a section begins with the unknown byte-order mark {magic:02x?}"
                )
            }
            Self::Version(major) => write!(f, "a section is of the unknown version {major}"),
            Self::CapturedTooLong { captured, room } => {
                write!(
                    f,
                    "a packet claims {captured} bytes in a block with room for {room}"
                )
            }
            Self::UnknownInterface(interface) => {
                write!(
                    f,
                    "a packet names interface {interface}, which was never described"
                )
            }
            Self::TooManyInterfaces => {
                write!(
                    f,
                    "a section describes more than {INTERFACES_MAX} interfaces"
                )
            }
        }
    }
}

/// Why a packet's bytes cannot be exchanged such that exchanging them back restores the record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotExact {
    /// The record holds no packet.
    NotAPacket,
    /// The padding behind the packet is not zero, and would be when it is written again.
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
            Self::NotAPacket => "the record holds no packet",
            Self::Padding => "the padding behind the packet is not zero",
            Self::Length => "the new length does not fit into the record",
            Self::SnapLength => "the block's length is bound to the interface's snap length",
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
