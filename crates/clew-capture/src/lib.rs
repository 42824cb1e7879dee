//! Packet captures (pcap and pcapng), spliced rather than re-serialised.
//!
//! `clew sign` and `clew strip` replace the bytes of some packets and must keep everything else
//! of a file byte for byte, so that strip undoes sign on the *file*: byte order, padding, unknown
//! blocks and options, and whatever a damaged file holds after its damage. Libraries such as
//! `pcap-file` parse a record into values and print it again, which loses such details; that is
//! why this is our own small code. `pcap-parser` and `pcap-file` are independent oracles of the tests.
//!
//! [`Reader`] cuts the input into [`Record`]s that own their raw bytes; joined again they are the
//! input, always. A record that holds a packet shows it ([`Record::packet`], [`Record::data`]) and
//! can have its bytes exchanged ([`Record::replace`]). [`Writer`] writes records out and corrects
//! the few fields that depend on them; [`Annotated`] writes pcapng with a note on each packet.
//! Records are `Send`: a batch of them can be worked on by threads in between, and [`ReadAhead`] has
//! a thread that reads the next batches meanwhile.
//!
//! ```
//! use clew_capture::{PacketLengths, Reader, Writer};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let input: &[u8] = include_bytes!("../../clew/tests/captures/tcpdump--quic_handshake.pcap");
//! let mut reader = Reader::new(input)?;
//! let mut writer = Writer::new(Vec::new(), PacketLengths::MayGrow);
//! for record in reader.by_ref() {
//!     let mut record = record?;
//!     if record.packet().is_some() {
//!         let longer = [record.data(), b"trailer"].concat();
//!         if record.replace(&longer).is_err() {
//!             // Stays as it was: the container cannot say it and be restored exactly.
//!         }
//!     }
//!     writer.write(&record)?;
//! }
//! if let Some(damage) = reader.damage() {
//!     eprintln!("{damage}");
//! }
//! let output = writer.finish()?;
//! # assert_eq!(output.len(), input.len() + 18 * b"trailer".len());
//! # Ok(())
//! # }
//! ```
//!
//! # What is damage
//!
//! Damage is what makes it impossible to say where the next record begins, or what a packet is: a
//! cut or oversized record, lengths that contradict each other, an interface that was never
//! described. From there on the input is passed through as opaque records. A captured length above
//! the wire length, an absurd time or malformed options are kept and are not damage.
//!
//! # What a pipe costs
//!
//! Two fields in front depend on what follows: the snap length, and the section length of pcapng.
//! A file is corrected at the end; see [`Writer`] for what is written where that is impossible.
//! One ambiguity remains even there: a section length that was wrong in the input, and that the
//! longer packets happen to make right, will be taken for a true one when they are shortened again.

mod ahead;
mod annotate;
mod bytes;
mod clock;
mod error;
mod live;
mod pcap;
mod pcapng;
mod reader;
mod record;
mod writer;

pub use ahead::{BATCH_RECORDS, Input, ReadAhead};
pub use annotate::{Annotated, COMMENT_START, Note};
pub use error::{CaptureError, Damage, Fault, NotExact, ReadError};
pub use live::begin as begin_live;
pub use reader::{Reader, is_capture};
pub use record::{PacketInfo, Record};
pub use writer::{PacketLengths, Sink, Writer};

/// Largest record or block that is held in memory, 16 MiB; Wireshark has the same limit.
pub const RECORD_LEN_MAX: usize = 16 << 20;

/// Longest packet that is held in memory: each packet of a pcap file fits into a block of pcapng.
pub const PACKET_LEN_MAX: usize = RECORD_LEN_MAX - pcapng::enhanced::LEN_MIN;

/// Most interfaces that one section may describe.
pub const INTERFACES_MAX: usize = 1 << 16;

/// Size of the opaque records that carry what follows after damage.
pub const OPAQUE_LEN_MAX: usize = 64 << 10;

/// Snap length announced up front on a pipe, where it cannot be corrected later: libpcap's maximum.
pub const PIPE_SNAPLEN: u32 = 262_144;

/// Private enterprise number of our custom options: the one for documentation, until clew has its own.
pub const ENTERPRISE_NUMBER: u32 = 32_473;
