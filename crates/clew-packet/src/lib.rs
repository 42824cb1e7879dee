//! Packet attribution: a group signature over the fields of an IP packet that do not change on the
//! way, in a trailer at the packet's end. Anybody with the group's public key can tell that some
//! machine of the group sent the packet, and nobody learns which. `spec/packet-trailer.md` is the
//! format, and section numbers in this crate are those of that text.
//!
//! # How to sign
//!
//! A [`Sender`] makes one [`Frame`] of another; [`strip`] leads back, byte for byte. A packet that
//! carries a trailer already gets a mark instead ([`mark`]), so that one strip undoes one run.
//!
//! ```
//! use clew_group::Scheme;
//! use clew_packet::{Frame, GroupId, LinkType, Policy, Sender, SignOutcome, Stripped, Timestamp, strip};
//!
//! let packet = [0x60, 0, 0, 0, 0, 4, 132, 64].into_iter().chain([1; 32]).chain(*b"data");
//! let packet: Vec<u8> = packet.collect();
//! let sender = Sender::new(Scheme::Xr, GroupId([7; 16]), 0, Policy::default());
//! let (mut signed, mut original) = (Vec::new(), Vec::new());
//!
//! // `Sender::sign` takes a precursor; here the signature is a stand-in.
//! let body = |_message: &[u8], body: &mut [u8]| body.fill(0x5a);
//! let frame = Frame::whole(LinkType::RAW, &packet);
//! let outcome = sender.sign_with(&frame, Some(Timestamp(1)), body, &mut signed);
//! assert_eq!(outcome, SignOutcome::Signed);
//!
//! let frame = Frame::whole(LinkType::RAW, &signed);
//! assert_eq!(strip(&frame, &mut original), Stripped::Trailer);
//! assert_eq!(original, packet);
//! ```
//!
//! # How to verify
//!
//! A [`Receiver`] holds what has to stay in one place: what was accepted, and the counters. The
//! group signature, which is nearly all of the work, is checked between its two steps on any thread.
//!
//! ```
//! use clew_packet::{Conclusion, Frame, KeySource, Received, Receiver, Timestamp};
//! use rand_core::CryptoRng;
//!
//! fn verify<K: KeySource>(
//!     receiver: &mut Receiver<K>,
//!     frame: &Frame<'_>,
//!     time: Option<Timestamp>,
//!     rng: &mut impl CryptoRng,
//! ) -> Option<Conclusion> {
//!     match receiver.receive(frame, time) {
//!         Received::Done(conclusion) => Some(conclusion),
//!         Received::Pending(pending) => {
//!             let checked = pending.check(rng); // on any thread
//!             Some(receiver.conclude(checked))
//!         }
//!         Received::Waiting(_ticket) => None, // later, in `receiver.settled()`
//!     }
//! }
//! ```
//!
//! In coded carriage ([`Policy::coded`]) a packet has only a share of its block's signature. It waits
//! until enough packets of the block came. [`SignedPacket::in_full`] makes one verifiable alone again, with what a
//! [`Restorer`] puts together.
//!
//! Evidence names the packet that was asked about by [`SignedPacket::asked`], and finds all packets
//! that its signature covers with [`SignedPacket::is_covered_by`].
//!
//! Blocks, a receiver's keys and a machine's: `examples/own_packets.rs` is a whole program. Windows:
//! [`Sender::sign_in_window`]. Many packets at once: [`Receiver::look`], [`Pending::check_all`].
//!
//! # Other carriers
//!
//! Live packets also travel in UDP datagrams (`spec/carriers.md`). [`Sender::with_carrier`] writes their
//! payloads, [`fragment::split`] cuts those that are too long, and [`datagram::write`] adds a cookie.
//! On the other side [`datagram::parse`] reads the shim, and [`fragment::Reassembler`] puts
//! fragments together. [`SignedPacket::of_datagram`] reads the rest, [`Receiver::look_packet`]
//! takes the place of `look`, and [`SignedPacket::write_packet`] delivers. In captures
//! [`read`] and [`Receiver::look`] find such datagrams by themselves.
//!
//! ```
//! use clew_group::Scheme;
//! use clew_packet::{
//!     Carrier, Frame, GroupId, LinkType, OuterAddresses, Policy, Sender, SignedPacket,
//! };
//!
//! let packet = [0x60, 0, 0, 0, 0, 4, 132, 64].into_iter().chain([1; 32]).chain(*b"data");
//! let packet: Vec<u8> = packet.collect();
//! let sender = Sender::new(Scheme::Xr, GroupId([7; 16]), 0, Policy::default());
//! let sender = sender.with_carrier(Carrier::UdpTunnel);
//! let (mut payload, mut delivered) = (Vec::new(), Vec::new());
//!
//! // A stand-in for the signature, as above.
//! let body = |_message: &[u8], body: &mut [u8]| body.fill(0x5a);
//! sender.sign_with(&Frame::whole(LinkType::RAW, &packet), None, body, &mut payload);
//!
//! let outer = OuterAddresses {
//!     source: [192, 0, 2, 1].into(),
//!     destination: [192, 0, 2, 2].into(),
//! };
//! let signed = SignedPacket::of_datagram(&payload, &outer)?;
//! signed.write_packet(&mut delivered);
//! assert_eq!(delivered, packet);
//! # Ok::<(), clew_packet::Reason>(())
//! ```
//!
//! # What holds
//!
//! - The crate has no IO, no clock and no source of randomness: all three are arguments.
//! - Whatever the bytes are, nothing panics, and nothing loops or allocates beyond a small multiple
//!   of them.
//! - Every frame that is to be signed has one [`SignOutcome`], and every verdict one [`Reason`].
#![no_std]

extern crate alloc;
#[cfg(test)]
extern crate std;

mod carrier;
mod net;
mod reason;
mod receiver;
mod restorer;
mod sender;
mod signed;
mod time;
mod wire;

pub use carrier::{COOKIE_BYTES, Carrier, DATAGRAM_MAX, OuterAddresses, datagram, fragment};
pub use net::flow::{Flow, flow, flow_and_upper, source};
pub use net::frame::Frame;
pub use net::ip::{EXTENSION_HEADERS_MAX, protocol};
pub use net::link::{LinkType, VLAN_TAGS_MAX};
pub use net::udp::Udp;
pub use reason::{Counters, Reason, SignOutcome, Verdict};
pub use receiver::live::Screened;
pub use receiver::pending::{Affinity, Checked, Pending, Windows};
pub use receiver::replay::{BadMemory, Replay};
pub use receiver::seconds::{AcceptedSeconds, Interval};
pub use receiver::waiting::{Ticket, WAITING_MAX};
pub use receiver::{Acceptance, Conclusion, KeySource, Looked, Received, Receiver, Unknown};
pub use restorer::{Restored, Restorer};
pub use sender::window::{Window, window_hash};
pub use sender::{Candidate, Policy, Sender, UnsignableBlock};
pub use signed::in_udp::write_whole;
pub use signed::trailed::{Stripped, mark, strip};
pub use signed::{SignedPacket, Summary, read, read_fragment, read_whole};
pub use time::{SECOND_NS, Timestamp};
pub use wire::block::{Block, Mode, WINDOW_MAX};
pub use wire::carriage::{CODED_BUDGET, CODED_MAX, CODED_MIN, Carriage, Coded};
pub use wire::fields::MessageKind;
pub use wire::mark::Mark;
pub use wire::saved::Saved;
pub use wire::trailer::{FOOT_BYTES, GroupId, GroupTag, HEAD_BYTES, MAGIC, Trailer, VERSION};
