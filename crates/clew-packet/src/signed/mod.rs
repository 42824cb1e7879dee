//! A packet that is signed: read, in whichever carrier. No key is needed for any of it.

pub(crate) mod in_udp;
pub(crate) mod trailed;

use alloc::vec::Vec;
use clew_group::Scheme;
use core::net::IpAddr;

use crate::{
    carrier::{
        Carrier, OuterAddresses,
        datagram::{self, Rest},
        fragment::Fragment,
    },
    net::flow::Flow,
    net::frame::Frame,
    net::ip::ipv6,
    net::original::Original,
    reason::Reason,
    receiver::replay::message_hash,
    sender::window,
    signed::in_udp::{InUdp, found},
    signed::trailed::Trailed,
    time::Timestamp,
    wire::block::{Block, Mode},
    wire::carriage::Carriage,
    wire::fields::{leaf, write_message},
    wire::signable,
    wire::trailer::{GroupTag, Trailer},
};

/// Reads the signed packet of a frame: steps 1 to 3 of section 6. That is the packet with its trailer,
/// through a mark if there is one, or the packet in a carrier's UDP datagram.
///
/// # Errors
/// The reason why there is no well-formed one; `missing-fragment` for a fragment of one.
pub fn read<'a>(frame: &Frame<'a>) -> Result<SignedPacket<'a>, Reason> {
    let datagram = signable::locate(frame)?;
    match found(&datagram) {
        None => Trailed::of(datagram).map(SignedPacket::trailed),
        Some(found) => {
            let (payload, outer) = found?;
            InUdp::read(payload, &outer, Some(*frame)).map(SignedPacket::in_udp)
        }
    }
}

/// Reads the signed packet of a datagram that was put together. `frame` is that of its last fragment:
/// the addresses count, and [`SignedPacket::in_full`] writes the whole datagram in its place.
///
/// # Errors
/// As [`read`].
pub fn read_whole<'a>(frame: &Frame<'a>, datagram: &'a [u8]) -> Result<SignedPacket<'a>, Reason> {
    let located = signable::locate(frame)?;
    let (_, outer) = found(&located).ok_or(Reason::BadCarrier)??;
    InUdp::read(datagram, &outer, Some(*frame)).map(SignedPacket::in_udp)
}

/// Returns the fragment that a frame holds. `None` if it holds none that is well-formed.
pub fn read_fragment<'a>(frame: &Frame<'a>) -> Option<Fragment<'a>> {
    let located = signable::locate(frame).ok()?;
    let (payload, _) = found(&located)?.ok()?;
    match datagram::parse(payload).ok()?.rest {
        Rest::Fragment(fragment) => Some(fragment),
        Rest::Packet { .. } | Rest::Cookie { .. } => None,
    }
}

/// A signed packet, well-formed. What it says is not verified.
#[derive(Clone, Copy, Debug)]
pub struct SignedPacket<'a> {
    original: Original<'a>,
    trailer: Trailer<'a>,
    form: Form<'a>,
}

#[derive(Clone, Copy, Debug)]
enum Form<'a> {
    Trailed(Trailed<'a>),
    InUdp(InUdp<'a>),
}

impl<'a> SignedPacket<'a> {
    /// Reads the payload of a UDP datagram between these addresses: a whole packet, in one piece or put
    /// together.
    ///
    /// # Errors
    /// As [`read`].
    pub fn of_datagram(payload: &'a [u8], outer: &OuterAddresses) -> Result<Self, Reason> {
        InUdp::read(payload, outer, None).map(Self::in_udp)
    }

    fn trailed((packet, trailer): (Trailed<'a>, Trailer<'a>)) -> Self {
        Self {
            original: packet.original().original(),
            trailer,
            form: Form::Trailed(packet),
        }
    }

    fn in_udp((packet, trailer): (InUdp<'a>, Trailer<'a>)) -> Self {
        Self {
            original: packet.original(),
            trailer,
            form: Form::InUdp(packet),
        }
    }

    /// Returns the trailer, or head and tail.
    pub const fn trailer(&self) -> &Trailer<'a> {
        &self.trailer
    }

    /// Returns how many runs of signing passed the packet after it had its trailer.
    pub fn marks(&self) -> u8 {
        match &self.form {
            Form::Trailed(packet) => packet.marks(),
            Form::InUdp(_) => 0,
        }
    }

    /// Returns addresses and ports of the packet that was signed.
    pub fn flow(&self) -> Flow {
        self.original.flow()
    }

    /// Returns the source address of the packet that was signed.
    pub const fn source(&self) -> IpAddr {
        self.original.source
    }

    /// Returns the IP header of the packet that was signed, without what follows it. `None` if it
    /// travels without (`udp-transport`).
    pub fn header(&self) -> Option<&'a [u8]> {
        (!self.original.header.is_empty()).then_some(self.original.header)
    }

    /// Returns the most bytes that the IP packet has which was signed.
    pub fn length_max(&self) -> usize {
        let header = self.original.header.len().max(ipv6::HEADER);
        header + self.original.headers.len() + self.original.upper.len()
    }

    /// Appends the IP packet that was signed. Lengths and checksums are those that it had in the
    /// carrier `trailer`. In the others they are computed, because they are not signed; in
    /// `udp-transport` the hop limit is 64, and an IPv4 packet has the flag that forbids fragments.
    pub fn write_packet(&self, out: &mut Vec<u8>) {
        match &self.form {
            Form::Trailed(packet) => packet.write_original(&self.trailer, out),
            Form::InUdp(packet) => packet.write_original(out),
        }
    }

    /// Appends the message that the group signature covers: `M` of section 4.
    pub fn write_message(&self, out: &mut Vec<u8>) {
        write_message(out, &self.original, &self.trailer);
    }

    /// Returns the digest, 32 bytes, that names this packet among those under its signature: in mode
    /// `tree` the packet's leaf, else SHA-256 of `M` (`spec/opening.md` section 2).
    ///
    /// Carriage, form and marks of a packet do not change it.
    pub fn asked(&self) -> [u8; 32] {
        let Block::Tree { block, index, .. } = self.trailer.block else {
            let mut message = Vec::new();
            self.write_message(&mut message);
            return message_hash(&message);
        };
        leaf(
            &mut Vec::new(),
            &block,
            index,
            &self.original,
            &self.trailer,
        )
    }

    /// Returns the digest of the packet with its signature, by which later packets of its window cover it.
    pub fn window_digest(&self) -> [u8; 32] {
        let mut message = Vec::new();
        self.write_message(&mut message);
        window::digest(&message, self.trailer.body)
    }

    /// Tells whether a verified signature covers this packet: `body` in either form over `message`,
    /// which is `M` of the packet that it was verified with.
    ///
    /// That packet's `M` has to be this one's. In full carriage the body has to be the same up to its
    /// form, because packets of two machines can have one `M`. In coded carriage `M` is enough, as it
    /// is for a [`Receiver`](crate::Receiver): it names the block, and a share that somebody altered on
    /// the way takes no packet out of it.
    pub fn is_covered_by(&self, message: &[u8], body: &[u8]) -> bool {
        let mut own = Vec::new();
        self.write_message(&mut own);
        let plain = self.trailer.scheme.signature_bytes(false);
        let carried = |body| self.trailer.body.starts_with(body);
        let is_of_body = match self.trailer.carriage {
            Carriage::Full => body.get(..plain).is_some_and(carried),
            Carriage::Coded(_) => true,
        };
        is_of_body && own == message
    }

    /// Writes the frame with the packet in full carriage, verifiable alone, and without a mark or a
    /// cookie. `signature` is that of its block, which is not verified here.
    ///
    /// # Errors
    /// `bad-trailer-length` if signatures have another length; `too-big` if there is no room for it, or
    /// the packet was read without its frame.
    pub fn in_full(&self, signature: &[u8], out: &mut Vec<u8>) -> Result<(), Reason> {
        let Trailer { scheme, .. } = self.trailer;
        if signature.len() != scheme.signature_bytes(self.trailer.incremental) {
            return Err(Reason::BadTrailerLength);
        }
        let full = Trailer {
            body: signature,
            carriage: Carriage::Full,
            ..self.trailer
        };
        match &self.form {
            Form::Trailed(packet) => packet.with(&full, out),
            Form::InUdp(packet) => packet.with(&full, out),
        }
    }

    /// Returns what to tell about the trailer.
    pub fn summary(&self) -> Summary {
        let Trailer {
            carrier,
            group,
            epoch,
            timestamp,
            scheme,
            nat,
            tolerant,
            incremental,
            ..
        } = self.trailer;
        let (mode, marks) = (self.trailer.block.mode(), self.marks());
        Summary {
            carrier,
            group,
            epoch,
            timestamp,
            scheme,
            mode,
            nat,
            tolerant,
            incremental,
            marks,
        }
    }

    /// Returns about how long message and body are together, in bytes.
    pub(crate) fn length(&self) -> usize {
        self.original.headers.len() + self.original.upper.len() + self.trailer.length()
    }
}

/// What a trailer says, without its signature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Summary {
    /// How the packet travelled.
    pub carrier: Carrier,
    /// Which group.
    pub group: GroupTag,
    /// Which epoch.
    pub epoch: u32,
    /// When it was signed; [`Timestamp::NONE`] if the packet had no time.
    pub timestamp: Timestamp,
    /// How it was signed.
    pub scheme: Scheme,
    /// What one signature covers.
    pub mode: Mode,
    /// Source address and port are not signed.
    pub nat: bool,
    /// ECN flags of TCP and the MSS option's value are not signed.
    pub tolerant: bool,
    /// The signature carries what makes verification incremental.
    pub incremental: bool,
    /// How many runs of signing passed the packet after it had its trailer.
    pub marks: u8,
}
