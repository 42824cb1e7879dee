//! From datagrams to bursts: what is too long is cut, cookies are shown, equal lengths go together.

use super::options::Path;
use super::{OutboundMetrics, Unsent, cookies::Cookies};
use crate::buffers::Buffers;
use crate::packet::{Burst, PeerIndex};
use clew_packet::{Carrier, datagram, fragment};
use clew_wire::Instant;

/// Most datagrams of a burst: Linux segments no more.
pub const BURST_SEGMENTS_MAX: usize = 64;
/// Most bytes of a burst, so that one IP datagram has room for all of it.
pub const BURST_BYTES_MAX: usize = 65_000;

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
}

impl Packer<'_> {
    /// Packs the datagram of a packet, whole or in fragments.
    ///
    /// # Errors
    /// `too-big` if it needs too many.
    pub fn push(&mut self, payload: &[u8], ecn: u8) -> Result<(), Unsent> {
        if self.path.carrier == Carrier::Trailer {
            return self.push_packet(payload, ecn);
        }
        let cookie = self.cookies.current(self.now).copied();
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
        let each = each.map_err(|_| Unsent::TooBig)?;
        for (place, one) in fragments.chunks(each).enumerate() {
            if place == 0 {
                self.remember(one);
            }
            self.segment(one.len(), ecn).extend_from_slice(one);
            self.close_if_short(one.len());
            self.metrics.fragments += 1;
        }
        self.buffers.recycle(fragments);
        Ok(())
    }

    /// Packs an IP packet with its trailer, which nobody cuts and no cookie is shown with.
    fn push_packet(&mut self, packet: &[u8], ecn: u8) -> Result<(), Unsent> {
        if packet.len() > usize::from(self.path.mtu) {
            return Err(Unsent::TooBig);
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
