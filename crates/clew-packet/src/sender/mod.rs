//! The signing side.

pub(crate) mod window;

use alloc::vec::Vec;
use core::fmt;

use clew_group::{Precursor, Scheme};
use clew_tree::{DigestSize, Tree};

use crate::{
    carrier::{
        Carrier, DATAGRAM_MAX, HEAD_BYTES as CARRIER_HEAD_BYTES, SHIM_BYTES,
        packet::{self, Content, is_routed, may_be_transported},
    },
    net::datagram::Datagram,
    net::frame::Frame,
    reason::{Reason, SignOutcome},
    sender::window::Window,
    signed::trailed::{append, mark_datagram},
    time::{SECOND_NS, Timestamp},
    wire::block::{Block, Mode},
    wire::bytes::u16_at,
    wire::carriage::{Carriage, Coding},
    wire::fields::{leaves, write_block_message, write_message},
    wire::mark::MARK_BYTES_MAX,
    wire::saved::Saved,
    wire::signable,
    wire::trailer::{FOOT_BYTES, GroupId, HEAD_BYTES, Trailer},
};

/// What a sender signs, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Policy {
    /// Leaves out what address translation rewrites: source address, source port, ICMP identifier.
    pub nat: bool,
    /// Leaves out what routers rewrite in TCP: ECN flags, the MSS option's value.
    pub tolerant: bool,
    /// Sends the signature in its incremental form, which is longer and lets verifiers reject early.
    pub incremental: bool,
    /// Timestamps are rounded down to a multiple of this many nanoseconds.
    pub resolution_ns: u64,
    /// The largest IP datagram in bytes that the network carries, if that counts.
    pub mtu: Option<usize>,
    /// Size of digests in trees.
    pub digest: DigestSize,
    /// Lets each packet of a block of [`CODED_MIN`](crate::CODED_MIN) to
    /// [`CODED_MAX`](crate::CODED_MAX) carry a share of the signature instead of all of it: shorter
    /// trailers, none of which is verifiable without some others of its block.
    pub coded: bool,
}

impl Default for Policy {
    /// Everything is signed and carried in full, with a resolution of one second and no MTU.
    fn default() -> Self {
        let (nat, tolerant, incremental, coded) = (false, false, false, false);
        Self {
            nat,
            tolerant,
            incremental,
            resolution_ns: SECOND_NS,
            mtu: None,
            digest: DigestSize::D16,
            coded,
        }
    }
}

/// Signs packets for one member of one group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sender {
    carrier: Carrier,
    scheme: Scheme,
    group: GroupId,
    epoch: u32,
    policy: Policy,
}

/// A packet that a signature will cover: it can be signed, and there is room for its trailer.
#[derive(Clone, Copy, Debug)]
pub struct Candidate<'a> {
    datagram: Datagram<'a>,
    saved: Saved,
}

/// Why packets are not signed as one block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnsignableBlock {
    /// There are no packets.
    Empty,
    /// There are more packets than a block may have.
    TooMany,
    /// There are more buffers than packets, or fewer.
    Buffers,
    /// A packet has no room for the trailer: it was admitted to a block of another size.
    NoRoom,
}

impl fmt::Display for UnsignableBlock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Empty => "a block needs at least 1 packet",
            Self::TooMany => "a block has at most 1024 packets",
            Self::Buffers => "a block needs as many buffers as packets",
            Self::NoRoom => "a packet has no room for the trailer: admit it for this block's size",
        })
    }
}

impl core::error::Error for UnsignableBlock {}

impl Sender {
    /// Returns a sender for the member key's group and epoch, in the carrier [`Carrier::Trailer`].
    pub const fn new(scheme: Scheme, group: GroupId, epoch: u32, policy: Policy) -> Self {
        Self {
            carrier: Carrier::Trailer,
            scheme,
            group,
            epoch,
            policy,
        }
    }

    /// Returns this sender for another carrier.
    ///
    /// In the carriers over UDP it writes the payload of a UDP datagram instead of a frame, without a
    /// cookie. It takes clear packets, and signs those that have a trailer like all others. An MTU does
    /// not count: [`fragment::split`](crate::fragment::split) cuts what is too long.
    pub const fn with_carrier(self, carrier: Carrier) -> Self {
        Self { carrier, ..self }
    }

    /// Signs a packet for itself, in mode `each`, or marks one that carries a trailer already.
    ///
    /// The new frame is written to `out` with `signed` and `already-signed`; with every other outcome
    /// `out` is left empty and the packet passes as it is. [`Frame::with`] tells the new frame's
    /// length on the wire. `time` is that of the packet. `precursor` is called only if it is used.
    pub fn sign(
        &self,
        frame: &Frame<'_>,
        time: Option<Timestamp>,
        precursor: impl FnOnce() -> Precursor,
        out: &mut Vec<u8>,
    ) -> SignOutcome {
        let incremental = self.policy.incremental;
        let sign = |message: &[u8], body: &mut [u8]| {
            precursor().sign(&[message], incremental, body);
        };
        self.sign_with(frame, time, sign, out)
    }

    /// Signs as [`sign`](Self::sign), with a signature from elsewhere: `sign` reads the message `M`
    /// and fills the body, as long as the scheme's signature in the policy's form.
    pub fn sign_with(
        &self,
        frame: &Frame<'_>,
        time: Option<Timestamp>,
        sign: impl FnOnce(&[u8], &mut [u8]),
        out: &mut Vec<u8>,
    ) -> SignOutcome {
        match self.admit(frame, Mode::Each, 1, out) {
            Ok(packet) => {
                self.sign_alone(&packet, Block::Each, time, sign, out);
                SignOutcome::Signed
            }
            Err(outcome) => outcome,
        }
    }

    /// Looks at a packet before it is signed in a mode, in a window or block of up to `most`
    /// packets; in a block with [`Policy::coded`] of just so many: with fewer, trailers may be longer,
    /// and what is left is to be looked at anew.
    ///
    /// # Errors
    /// Why it is not to be signed. With `already-signed` the marked frame is in `out`; otherwise
    /// `out` is empty and the packet passes as it is.
    pub fn admit<'a>(
        &self,
        frame: &Frame<'a>,
        mode: Mode,
        most: u16,
        out: &mut Vec<u8>,
    ) -> Result<Candidate<'a>, SignOutcome> {
        out.clear();
        let datagram = signable::locate(frame)?;
        let saved = match self.carrier {
            Carrier::Trailer => match mark_datagram(&datagram, out) {
                Some(outcome) => return Err(outcome),
                None => Saved::of(&datagram, datagram.kind(0)),
            },
            Carrier::UdpTunnel => check_inner(&datagram)?,
            Carrier::UdpTransport => check_transported(&datagram)?,
        };
        let packet = Candidate { datagram, saved };
        self.check_size(&packet, self.tail_max(mode, most))?;
        Ok(packet)
    }

    /// Signs a packet in mode `window`: over it and those that `window` has seen before it, which
    /// are of its flow. The frame is written to `out`.
    pub fn sign_in_window(
        &self,
        packet: &Candidate<'_>,
        time: Option<Timestamp>,
        window: &mut Window,
        precursor: impl FnOnce() -> Precursor,
        out: &mut Vec<u8>,
    ) {
        let (k, h) = (window.k(), window.hash());
        let (incremental, mut seen) = (self.policy.incremental, [0; 32]);
        let sign = |message: &[u8], body: &mut [u8]| {
            precursor().sign(&[message], incremental, body);
            seen = window::digest(message, body);
        };
        self.sign_alone(packet, Block::Window { k, h: &h }, time, sign, out);
        window.push(seen);
    }

    fn sign_alone(
        &self,
        packet: &Candidate<'_>,
        block: Block<'_>,
        time: Option<Timestamp>,
        sign: impl FnOnce(&[u8], &mut [u8]),
        out: &mut Vec<u8>,
    ) {
        let trailer = self.trailer(packet, block, time);
        let mut body = [0; Scheme::SIGNATURE_BYTES_MAX];
        let body = &mut body[..self.signature_bytes()];
        // The message is needed only until it is signed: `out` holds it meanwhile.
        out.clear();
        write_message(out, &packet.datagram.original(), &trailer);
        sign(out, body);
        write_frame(packet, &Trailer { body, ..trailer }, out);
    }

    /// Signs packets of one flow as one block, in mode `tree`, each into its own buffer. `time` is
    /// that of the first, `id` random and drawn after the packets were fixed.
    ///
    /// # Errors
    /// Why the packets are not a block. Nothing is written then.
    pub fn sign_block(
        &self,
        packets: &[Candidate<'_>],
        time: Option<Timestamp>,
        id: [u8; clew_tree::ID_BYTES],
        precursor: impl FnOnce() -> Precursor,
        outs: &mut [Vec<u8>],
    ) -> Result<(), UnsignableBlock> {
        let block = self.block_of(packets, id, outs.len())?;
        let count = block.count();
        let trailers = packets.iter().map(|p| self.trailer(p, Block::Each, time));
        let trailers: Vec<Trailer<'_>> = trailers.collect();
        let mut scratch = Vec::new();
        let originals = packets.iter().map(|packet| packet.datagram.original());
        let leaves = leaves(&mut scratch, &block, originals.zip(&trailers));
        let tree = Tree::new(block, &leaves).expect("there is a leaf for each packet");
        let path = |index: u16| tree.path(index).expect("the block has this packet");
        let first = path(0);
        let head = Trailer {
            block: Block::Tree {
                block,
                index: 0,
                path: &first,
            },
            ..trailers[0]
        };
        write_block_message(&mut scratch, &block, &tree.root(), &head);
        let mut signature = [0; Scheme::SIGNATURE_BYTES_MAX];
        let signature = &mut signature[..self.signature_bytes()];
        precursor().sign(&[&scratch], self.policy.incremental, signature);
        let coding = self.coding(count);
        let shares = coding.map(|coding| coding.bodies(id, signature));
        for (index, ((packet, trailer), out)) in (0..).zip(packets.iter().zip(&trailers).zip(outs))
        {
            let path = &path(index);
            let trailer = Trailer {
                body: shares
                    .as_ref()
                    .map_or(&*signature, |s| &s[usize::from(index)]),
                block: Block::Tree { block, index, path },
                carriage: coding.map_or(Carriage::Full, |coding| coding.carriage()),
                ..*trailer
            };
            write_frame(packet, &trailer, out);
        }
        Ok(())
    }

    /// The block of these packets, if they can be signed as one.
    fn block_of(
        &self,
        packets: &[Candidate<'_>],
        id: [u8; clew_tree::ID_BYTES],
        buffers: usize,
    ) -> Result<clew_tree::Block, UnsignableBlock> {
        if packets.is_empty() {
            return Err(UnsignableBlock::Empty);
        }
        let count = u16::try_from(packets.len()).ok();
        let block = count.and_then(|count| clew_tree::Block::new(id, count, self.policy.digest));
        let block = block.ok_or(UnsignableBlock::TooMany)?;
        if buffers != packets.len() {
            return Err(UnsignableBlock::Buffers);
        }
        let tail = self.tail_max(Mode::Tree, block.count());
        let has_room = |packet| self.check_size(packet, tail).is_ok();
        match packets.iter().all(has_room) {
            true => Ok(block),
            false => Err(UnsignableBlock::NoRoom),
        }
    }

    /// How a block of so many packets carries its signature; none for in full.
    fn coding(&self, count: u16) -> Option<Coding> {
        let coding = || Coding::of(count, self.policy.digest, self.signature_bytes());
        self.policy.coded.then(coding).flatten()
    }

    fn signature_bytes(&self) -> usize {
        self.scheme.signature_bytes(self.policy.incremental)
    }

    /// Returns the trailer but for its body.
    fn trailer<'b>(
        &self,
        packet: &Candidate<'_>,
        block: Block<'b>,
        time: Option<Timestamp>,
    ) -> Trailer<'b> {
        let floor = |time: Timestamp| time.floor(self.policy.resolution_ns);
        Trailer {
            carrier: self.carrier,
            body: &[],
            block,
            saved: packet.saved,
            group: self.group.tag(),
            epoch: self.epoch,
            timestamp: time.map_or(Timestamp::NONE, floor),
            scheme: self.scheme,
            carriage: Carriage::Full,
            nat: self.policy.nat,
            tolerant: self.policy.tolerant,
            incremental: self.policy.incremental,
        }
    }

    /// Returns the length of the longest block section and body in a window or block of up to `most`
    /// packets.
    fn tail_max(&self, mode: Mode, most: u16) -> usize {
        let body = match (mode, self.coding(most)) {
            (Mode::Tree, Some(coding)) => coding.body_max(),
            _ => self.signature_bytes(),
        };
        Block::length_max(mode, self.policy.digest, most) + body
    }

    /// Checks that there is room for a trailer with block section and body of that length, and for a
    /// mark besides; or for such a datagram.
    fn check_size(&self, packet: &Candidate<'_>, tail: usize) -> Result<(), SignOutcome> {
        let Candidate { datagram, saved } = packet;
        if self.carrier != Carrier::Trailer {
            let content = Content::of(self.carrier, datagram).length();
            let length = SHIM_BYTES + CARRIER_HEAD_BYTES + content + tail;
            let fits = length <= DATAGRAM_MAX;
            return fits.then_some(()).ok_or(Reason::TooBig.into());
        }
        let length = tail + saved.length() + HEAD_BYTES + FOOT_BYTES;
        let mtu = self.policy.mtu.unwrap_or(usize::MAX);
        let size = datagram.place.end - datagram.place.start;
        if size > mtu {
            return Err(SignOutcome::Offload);
        }
        if length + MARK_BYTES_MAX > datagram.room() || length > mtu - size {
            return Err(Reason::TooBig.into());
        }
        Ok(())
    }
}

/// Checks that a packet can be in a datagram: nothing is saved then.
fn check_inner(datagram: &Datagram<'_>) -> Result<Saved, SignOutcome> {
    if is_routed(datagram) {
        return Err(Reason::RoutingHeader.into());
    }
    // The UDP length is not signed but computed: another one would not arrive.
    let place = &datagram.place;
    let stated = place.udp_length_at(datagram.kind(0));
    let stated = stated.map(|at| u16_at(datagram.frame, at));
    if stated.is_some_and(|stated| stated != place.upper_length()) {
        return Err(Reason::BadLength.into());
    }
    Ok(Saved::default())
}

/// Checks that the upper layer alone can be in a datagram.
fn check_transported(datagram: &Datagram<'_>) -> Result<Saved, SignOutcome> {
    let original = datagram.original();
    let fits = original.headers.is_empty() && may_be_transported(original.protocol);
    match fits {
        true => check_inner(datagram),
        false => Err(SignOutcome::NeedsTunnel),
    }
}

/// Writes the packet's frame with its trailer, or its datagram.
fn write_frame(packet: &Candidate<'_>, trailer: &Trailer<'_>, out: &mut Vec<u8>) {
    let datagram = &packet.datagram;
    out.clear();
    if trailer.carrier != Carrier::Trailer {
        let content = Content::of(trailer.carrier, datagram);
        return packet::write(out, trailer, content);
    }
    let emit = |buffer: &mut [u8]| trailer.emit(buffer);
    append(out, datagram, datagram.kind(0), trailer.length(), emit);
}
