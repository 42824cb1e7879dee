//! Packet attribution: a group signature over the fields of an IP packet that do not change on the
//! way, in a trailer at the packet's end. The format is `spec/packet-trailer.md`.
#![no_std]

extern crate alloc;
#[cfg(test)]
extern crate std;

mod block;
mod bytes;
mod checksum;
mod datagram;
mod fields;
mod flow;
mod frame;
mod ip;
mod link;
mod mark;
mod reason;
mod receiver;
mod replay;
mod saved;
mod sender;
mod signable;
mod signed;
mod time;
mod trailer;
mod upper;

pub use block::{Block, Mode};
pub use flow::{Flow, flow, source};
pub use frame::Frame;
pub use ip::EXTENSION_HEADERS_MAX;
pub use link::{LinkType, VLAN_TAGS_MAX};
pub use mark::{MARK_BYTES_MAX, Mark};
pub use reason::{Counters, Reason, Verdict};
pub use receiver::{
    Acceptance, Checked, Conclusion, KeySource, Pending, Received, Receiver, Unknown,
};
pub use replay::{REMEMBERED_MAX, Replay};
pub use saved::Saved;
pub use sender::{Policy, Sender};
pub use signed::{SignedPacket, Stripped, Summary, mark, read, strip};
pub use time::{SECOND_NS, Timestamp};
pub use trailer::{
    Carriage, FOOT_BYTES, GroupId, GroupTag, HEAD_BYTES, MAGIC, Scheme, Trailer, VERSION,
};
