//! The signing side.

use alloc::vec::Vec;

use clew_group::{Precursor, Scheme};

use crate::{
    block::Block,
    datagram::Datagram,
    fields::write_message,
    frame::Frame,
    mark::MARK_BYTES_MAX,
    reason::Reason,
    saved::Saved,
    signable,
    signed::{SignedPacket, append},
    time::{SECOND_NS, Timestamp},
    trailer::{Carriage, GroupId, Trailer},
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
}

impl Default for Policy {
    /// Everything is signed, with a resolution of one second and no MTU.
    fn default() -> Self {
        let (nat, tolerant, incremental) = (false, false, false);
        Self {
            nat,
            tolerant,
            incremental,
            resolution_ns: SECOND_NS,
            mtu: None,
        }
    }
}

/// Signs packets in mode `each` for one member of one group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sender {
    scheme: Scheme,
    group: GroupId,
    epoch: u32,
    policy: Policy,
}

impl Sender {
    /// Returns a sender for the member key's group and epoch.
    pub const fn new(scheme: Scheme, group: GroupId, epoch: u32, policy: Policy) -> Self {
        Self {
            scheme,
            group,
            epoch,
            policy,
        }
    }

    /// Signs a packet, or marks one that carries a trailer already.
    ///
    /// The new frame is written to `out` with `signed` and `already-signed`; with every other reason
    /// `out` is left empty and the packet passes as it is. [`Frame::with`] tells the new frame's
    /// length on the wire. `time` is that of the packet. `precursor` is called only if it is used.
    pub fn sign(
        &self,
        frame: &Frame<'_>,
        time: Option<Timestamp>,
        precursor: impl FnOnce() -> Precursor,
        out: &mut Vec<u8>,
    ) -> Reason {
        let incremental = self.policy.incremental;
        let sign = |message: &[u8], body: &mut [u8]| {
            precursor().sign(&[message], incremental, body);
        };
        self.sign_with(frame, time, sign, out)
    }

    /// As [`sign`](Self::sign), with a signature from elsewhere: `sign` reads the message `M` and
    /// fills the body, as long as the scheme's signature in the policy's form.
    pub fn sign_with(
        &self,
        frame: &Frame<'_>,
        time: Option<Timestamp>,
        sign: impl FnOnce(&[u8], &mut [u8]),
        out: &mut Vec<u8>,
    ) -> Reason {
        out.clear();
        let datagram = match signable::locate(frame) {
            Ok(datagram) => datagram,
            Err(reason) => return reason,
        };
        if let Ok(packet) = SignedPacket::of(datagram) {
            return packet.add_mark(out);
        }
        let trailer = self.trailer(&datagram, time);
        let mut body = [0; Scheme::SIGNATURE_BYTES_MAX];
        let body = &mut body[..trailer.scheme.signature_bytes(trailer.incremental)];
        if let Err(reason) = self.check_size(&datagram, body.len() + trailer.length()) {
            return reason;
        }
        // The message is needed only until it is signed: `out` holds it meanwhile.
        write_message(out, &datagram, &trailer);
        sign(out, body);
        out.clear();
        let trailer = Trailer { body, ..trailer };
        let emit = |buffer: &mut [u8]| trailer.emit(buffer);
        append(out, &datagram, datagram.kind(0), trailer.length(), emit);
        Reason::Signed
    }

    /// Returns the trailer but for its body.
    fn trailer(&self, datagram: &Datagram<'_>, time: Option<Timestamp>) -> Trailer<'static> {
        let floor = |time: Timestamp| time.floor(self.policy.resolution_ns);
        Trailer {
            body: &[],
            block: Block::Each,
            saved: Saved::of(datagram, datagram.kind(0)),
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

    /// Checks that there is room for a trailer of `length` bytes, and for a mark besides.
    fn check_size(&self, datagram: &Datagram<'_>, length: usize) -> Result<(), Reason> {
        let mtu = self.policy.mtu.unwrap_or(usize::MAX);
        let size = datagram.place.end - datagram.place.start;
        if size > mtu {
            return Err(Reason::Offload);
        }
        if length + MARK_BYTES_MAX > datagram.room() || length > mtu - size {
            return Err(Reason::TooBig);
        }
        Ok(())
    }
}
