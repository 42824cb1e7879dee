//! How many packets of a TCP connection are in flight. A host whose connection is limited by its
//! congestion window has that many, and a gateway sees them as well as the host.

use crate::mss::tcp_at;
use clew_packet::Flow;

/// Offsets and values of TCP headers.
mod tcp {
    use std::ops::Range;

    pub(super) const SEQUENCE: Range<usize> = 4..8;
    pub(super) const ACKNOWLEDGEMENT: Range<usize> = 8..12;
    pub(super) const OFFSET: usize = 12;
    pub(super) const FLAGS: usize = 13;
    pub(super) const ACK: u8 = 0x10;
}

/// One direction of a connection: which bytes left, and which arrived. All numbers wrap.
#[derive(Debug, Default)]
pub(super) struct Flight {
    /// The first byte in flight, and the first one that has not left. `None` before the first byte.
    bytes: Option<(u32, u32)>,
    /// The longest segment's bytes.
    segment: u32,
}

impl Flight {
    /// Takes note of a packet that leaves. Segments without data, and other packets, bring nothing.
    pub fn sends(&mut self, packet: &[u8]) {
        let Some((begin, length)) = data(packet).filter(|(_, length)| *length > 0) else {
            return;
        };
        self.segment = self.segment.max(length);
        let (first, next) = self.bytes.unwrap_or((begin, begin));
        let end = begin.wrapping_add(length);
        // What is sent again has been counted.
        let next = if is_behind(next, end) { end } else { next };
        self.bytes = Some((first, next));
    }

    /// Takes note of an acknowledgement: all bytes before it have arrived.
    pub fn hears(&mut self, acknowledged: u32) {
        if let Some((first, next)) = &mut self.bytes
            && is_behind(*first, acknowledged)
            && !is_behind(*next, acknowledged)
        {
            *first = acknowledged;
        }
    }

    /// Returns how many segments are in flight, at the longest one's length.
    pub fn packets(&self) -> u16 {
        let bytes = self
            .bytes
            .map_or(0, |(first, next)| next.wrapping_sub(first));
        u16::try_from(bytes.div_ceil(self.segment.max(1))).unwrap_or(u16::MAX)
    }
}

/// Returns the number that a TCP packet acknowledges, if it does.
pub(super) fn acknowledged(packet: &[u8]) -> Option<u32> {
    let tcp = &packet[tcp_at(packet)?..];
    let has_ack = tcp[tcp::FLAGS] & tcp::ACK != 0;
    has_ack.then(|| number(&tcp[tcp::ACKNOWLEDGEMENT]))
}

/// Returns the key of the packets that go the other way.
pub(super) fn reversed(flow: Flow) -> Flow {
    Flow {
        source: flow.destination,
        destination: flow.source,
        source_port: flow.destination_port,
        destination_port: flow.source_port,
        ..flow
    }
}

/// Returns the number of a TCP packet's first byte of data, and how many it has.
fn data(packet: &[u8]) -> Option<(u32, u32)> {
    let tcp = &packet[tcp_at(packet)?..];
    let header = usize::from(tcp[tcp::OFFSET] >> 4) * 4;
    let length = u32::try_from(tcp.len().checked_sub(header)?).ok()?;
    Some((number(&tcp[tcp::SEQUENCE]), length))
}

fn number(bytes: &[u8]) -> u32 {
    bytes
        .iter()
        .fold(0, |number, byte| number << 8 | u32::from(*byte))
}

/// Whether `one` comes before `other` (RFC 9293, 3.4).
const fn is_behind(one: u32, other: u32) -> bool {
    other.wrapping_sub(one).cast_signed() > 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn segment(sequence: u32, acknowledged: u32, length: usize) -> Vec<u8> {
        let mut packet = vec![
            0x45, 0, 0, 0, 0, 0, 0, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2,
        ];
        packet.extend([0x13, 0x88, 0, 80]);
        packet.extend([sequence.to_be_bytes(), acknowledged.to_be_bytes()].concat());
        packet.extend([0x50, tcp::ACK, 0, 1, 0, 0, 0, 0]);
        packet.resize(packet.len() + length, 7);
        packet
    }

    /// Numbers wrap, a retransmission brings nothing, and an acknowledgement of what never left, or
    /// of what was acknowledged already, takes nothing away.
    #[test]
    fn what_is_acknowledged_is_no_longer_in_flight() {
        let mut flight = Flight::default();
        let first = u32::MAX - 1_500;
        let at = |place: u32| first.wrapping_add(place * 1_000);
        for place in 0..5 {
            flight.sends(&segment(at(place), 0, 1_000));
        }
        assert_eq!(flight.packets(), 5);
        flight.sends(&segment(at(1), 0, 1_000));
        flight.sends(&segment(at(5), 0, 0));
        assert_eq!(flight.packets(), 5);
        let hear = |flight: &mut Flight, number| {
            let packet = segment(77, number, 0);
            flight.hears(acknowledged(&packet).unwrap());
            flight.packets()
        };
        assert_eq!(hear(&mut flight, at(3)), 2);
        assert_eq!(hear(&mut flight, at(2)), 2);
        assert_eq!(hear(&mut flight, at(6)), 2);
        flight.sends(&segment(at(5), 0, 300));
        assert_eq!(flight.packets(), 3, "a short segment is a packet");
        assert_eq!(hear(&mut flight, at(5) + 300), 0);
    }

    #[test]
    fn other_packets_say_nothing() {
        let mut udp = segment(1, 2, 100);
        udp[9] = 17;
        let mut flight = Flight::default();
        flight.sends(&udp);
        assert_eq!((flight.packets(), acknowledged(&udp)), (0, None));
        let mut cut = segment(1, 2, 0);
        cut[20 + tcp::OFFSET] = 0xf0;
        flight.sends(&cut);
        assert_eq!(flight.packets(), 0);
        let mut syn = segment(1, 2, 0);
        syn[20 + tcp::FLAGS] = 2;
        assert_eq!(acknowledged(&syn), None);
    }
}
