//! From datagrams to bursts: what is too long is cut, cookies are shown, equal lengths go together.
//!
//! Packets of blocks of few packets carry a whole signature each, and so a full-size one has two
//! fragments, of which the second is short. If it were sent once, such a packet would be lost twice
//! as often as others. So it is sent twice, apart from its copy and before the long one: whichever
//! copy is lost, the packet is whole when its long fragment comes, in the order of its block.

use super::flows::Queued;
use super::options::Path;
use super::{OutboundMetrics, Unsent, cookies::Cookies};
use crate::buffers::Buffers;
use crate::ecn;
use crate::packet::{Burst, PeerIndex};
use clew_packet::{Carrier, datagram, fragment};
use clew_wire::Instant;

/// Most datagrams of a burst: Linux segments no more.
pub const BURST_SEGMENTS_MAX: usize = 64;
/// Most bytes of a burst, so that one IP datagram has room for all of it.
pub const BURST_BYTES_MAX: usize = 65_000;

/// The second of two fragments is short if it has at most this part of what the path takes. A longer
/// copy would cost more than it is worth.
const SHORT_SHARE: usize = 2;

/// Packs the datagrams of a block to one peer.
pub(super) struct Packer<'a> {
    pub peer: PeerIndex,
    pub path: Path,
    pub cookies: &'a mut Cookies,
    pub buffers: &'a mut Buffers,
    pub metrics: &'a mut OutboundMetrics,
    pub now: Instant,
    pub out: &'a mut Vec<Burst>,
    /// The place in `out` of the burst that may still grow.
    pub open: Option<usize>,
    /// How long `out` was before this block.
    pub start: usize,
    /// Short last fragments, with their congestion bits: they are sent twice.
    pub short: Vec<(Vec<u8>, u8)>,
}

impl Packer<'_> {
    /// Packs the datagram of a packet that was signed, and counts the packet.
    pub fn take(&mut self, packet: Queued, datagram: &[u8]) {
        let Queued { bytes, at } = packet;
        match self.push(datagram, ecn::of(&bytes)) {
            Ok(()) => self.metrics.left(bytes.len(), self.now - at),
            Err(reason) => self.metrics.unsent.count(reason),
        }
        self.buffers.recycle_packet(bytes);
    }

    /// Packs the datagram of a packet, whole or in fragments.
    ///
    /// # Errors
    /// `no-room` if it needs too many.
    fn push(&mut self, payload: &[u8], ecn: u8) -> Result<(), Unsent> {
        if self.path.carrier == Carrier::Trailer {
            return self.push_packet(payload, ecn);
        }
        let cookie = self.cookies.next(self.now);
        let longest = self.path.payload_max();
        let length = payload.len() + cookie.map_or(0, |cookie| cookie.len());
        if length <= longest {
            self.remember(payload);
            let segment = self.segment(length, ecn);
            datagram::write(payload, cookie.as_ref(), segment);
            self.close_if_short(length);
            return Ok(());
        }
        let mut fragments = self.buffers.take();
        let each = fragment::split(payload, longest, cookie.as_ref(), &mut fragments);
        let each = each.map_err(|_| Unsent::NoRoom)?;
        self.remember(&fragments[..each]);
        for one in fragments.chunks(each) {
            let is_second = fragments.len() <= 2 * each && one.len() < each;
            if is_second && one.len() <= longest / SHORT_SHARE {
                let mut short = self.buffers.take();
                short.extend_from_slice(one);
                self.short.push((short, ecn));
                continue;
            }
            self.push_fragment(one, ecn);
        }
        self.buffers.recycle(fragments);
        Ok(())
    }

    /// Packs the short fragments, twice each. Called once, after the packets of the block.
    ///
    /// They lead, all of them and then all again. A lone one has its packet between the two.
    pub fn finish(mut self) {
        let short = std::mem::take(&mut self.short);
        if short.is_empty() {
            return;
        }
        self.metrics.fragments_again += short.len() as u64;
        let long = self.out.split_off(self.start);
        let open = self.open.take().map(|place| place - self.start);
        let leading = if short.len() == 1 { 1 } else { 2 };
        for _ in 0..leading {
            short
                .iter()
                .for_each(|(one, ecn)| self.push_fragment(one, *ecn));
        }
        self.open = open.map(|place| place + self.out.len());
        self.out.extend(long);
        for _ in leading..2 {
            short
                .iter()
                .for_each(|(one, ecn)| self.push_fragment(one, *ecn));
        }
        short
            .into_iter()
            .for_each(|(one, _)| self.buffers.recycle(one));
    }

    fn push_fragment(&mut self, fragment: &[u8], ecn: u8) {
        self.segment(fragment.len(), ecn)
            .extend_from_slice(fragment);
        self.close_if_short(fragment.len());
        self.metrics.fragments += 1;
    }

    /// Packs an IP packet with its trailer, which nobody cuts and no cookie is shown with.
    fn push_packet(&mut self, packet: &[u8], ecn: u8) -> Result<(), Unsent> {
        if packet.len() > usize::from(self.path.mtu) {
            return Err(Unsent::NoRoom);
        }
        self.segment(packet.len(), ecn).extend_from_slice(packet);
        self.close_if_short(packet.len());
        Ok(())
    }

    /// Remembers what a cookie that answers the datagram echoes.
    fn remember(&mut self, payload: &[u8]) {
        if let Some(echo) = datagram::echo(payload) {
            self.cookies.sent(echo, self.now);
        }
    }

    /// Returns where a datagram of that length is appended: to the open burst if it fits.
    fn segment(&mut self, length: usize, ecn: u8) -> &mut Vec<u8> {
        self.metrics.datagrams += 1;
        self.metrics.datagram_bytes += length as u64;
        let fits = |burst: &Burst| {
            let has_room = burst.bytes.len() + length <= BURST_BYTES_MAX
                && burst.bytes.len() < burst.segment * BURST_SEGMENTS_MAX;
            burst.ecn == ecn && length <= burst.segment && has_room
        };
        let place = match self
            .open
            .filter(|place| self.out.get(*place).is_some_and(fits))
        {
            Some(place) => place,
            None => {
                self.out.push(Burst {
                    peer: self.peer,
                    ecn,
                    bytes: self.buffers.take(),
                    segment: length,
                });
                self.out.len() - 1
            }
        };
        self.open = Some(place);
        &mut self.out[place].bytes
    }

    /// A shorter datagram is the last one of its burst.
    fn close_if_short(&mut self, length: usize) {
        let burst = self.open.and_then(|place| self.out.get(place));
        if burst.is_some_and(|burst| length < burst.segment) {
            self.open = None;
        }
    }
}
