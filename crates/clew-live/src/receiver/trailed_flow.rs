//! Who pays for a packet with a trailer: its flow, by what only those know who see the flow's packets.
//!
//! Anybody can write a peer's address, and guess ports that everybody uses. So a flow of TCP is known where
//! its last packets were in the sequence, and one of ICMP by the identifier of its echoes. Of UDP nothing
//! but the ports is known.

use super::queue::Source;
use clew_packet::protocol::{ESP, ICMP, ICMPV6, SCTP, TCP, UDP};
use clew_packet::{Flow, Frame, LinkType, flow_and_upper};

/// Types of echoes, requests and replies.
const ECHOES: [u8; 2] = [8, 0];
const ECHOES_V6: [u8; 2] = [128, 129];

/// The sequence numbers of TCP are known in ranges of 4 MiB. A connection has up to two more in flight than
/// are verified, as kernels set their windows. So who guesses hits three or four of 1,024.
const RANGE_BITS: u32 = 22;
const RANGES: u32 = 1 << (u32::BITS - RANGE_BITS);

/// The bits of TCP's flags that say who opens a connection.
const SYN_ACK: u8 = 0x12;
const SYN: u8 = 0x02;

/// A flow where addresses prove nothing.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TrailedFlow {
    flow: Flow,
    detail: Detail,
}

impl TrailedFlow {
    /// Returns the flow of a packet that came. Returns `None` if a packet of that kind is in no flow.
    pub fn of(packet: &[u8]) -> Option<Self> {
        let (flow, upper) = flow_and_upper(&Frame::whole(LinkType::RAW, packet)).ok()?;
        let flow = flow.key();
        let detail = Detail::of(&flow, upper)?;
        Some(Self { flow, detail })
    }

    /// Returns what is known of the packet itself.
    pub fn own(&self) -> Source {
        self.detail.source(&self.flow)
    }

    /// Returns the flow as somebody knows it who opened it, and has seen nothing of the other side's yet.
    pub fn opened(&self) -> Source {
        self.detail.range(None).source(&self.flow)
    }

    /// TCP: returns the next two ranges of its sequence, and the one before the last.
    pub fn ranges(&self) -> Option<[Source; 3]> {
        let range = self.detail.range?;
        let of = |ahead: u32| {
            let range = Some((range + ahead) % RANGES);
            self.detail.range(range).source(&self.flow)
        };
        Some([of(1), of(2), of(RANGES - 2)])
    }

    /// Returns the flow that answers to a packet of this host belong to, if the packet opens it, or if there
    /// is nothing in such flows that tells who opened it.
    pub fn answers(packet: &[u8]) -> Option<Source> {
        let (flow, upper) = flow_and_upper(&Frame::whole(LinkType::RAW, packet)).ok()?;
        let opens = match flow.protocol {
            TCP => upper.get(13).is_some_and(|flags| flags & SYN_ACK == SYN),
            UDP | ICMP | ICMPV6 => true,
            // The other side's answers have numbers of their own.
            _ => false,
        };
        let flow = flow.key();
        let answer = Flow {
            source: flow.destination,
            destination: flow.source,
            source_port: flow.destination_port,
            destination_port: flow.source_port,
            ..flow
        };
        let detail = Detail::of(&flow, upper).filter(|_| opens)?;
        Some(detail.range(None).source(&answer))
    }
}

/// What a flow has besides addresses and ports.
#[derive(Clone, Copy, Debug)]
struct Detail {
    bytes: [u8; 8],
    /// TCP: where in its sequence.
    range: Option<u32>,
}

impl Detail {
    fn of(flow: &Flow, upper: &[u8]) -> Option<Self> {
        let is_echo = |types: [u8; 2]| upper.first().is_some_and(|of| types.contains(of));
        let of = match flow.protocol {
            TCP | ICMP if upper.len() < 8 => return None,
            ICMP if !is_echo(ECHOES) => return None,
            ICMPV6 if !is_echo(ECHOES_V6) => return None,
            ICMP | ICMPV6 => upper.get(4..6)?,
            // The tag that the receiver chose.
            SCTP => upper.get(..8)?,
            // The number that the receiver chose.
            ESP => upper.get(..4)?,
            _ => &[],
        };
        let mut bytes = [0; 8];
        bytes[..of.len()].copy_from_slice(of);
        let sequence = upper.get(4..8).and_then(|bytes| bytes.try_into().ok());
        let range = sequence.map(|bytes| u32::from_be_bytes(bytes) >> RANGE_BITS);
        Some(Self {
            bytes,
            range: range.filter(|_| flow.protocol == TCP),
        })
    }

    const fn range(self, range: Option<u32>) -> Self {
        Self { range, ..self }
    }

    fn source(&self, flow: &Flow) -> Source {
        let range = self.range.map_or(0, |range| range + 1);
        let detail = [&self.bytes[..], &range.to_be_bytes()].concat();
        Source::of_flow(flow, &detail)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_packets::ipv4;
    use std::iter::repeat_n;

    const HERE: [u8; 4] = [10, 2, 0, 1];
    const PEER: [u8; 4] = [10, 1, 0, 1];

    fn tcp(from: [u8; 4], ports: [u16; 2], sequence: u32, flags: u8) -> Vec<u8> {
        let to = if from == HERE { PEER } else { HERE };
        let mut upper = ports.map(u16::to_be_bytes).concat();
        upper.extend(sequence.to_be_bytes());
        upper.extend([0, 0, 0, 0, 0x50, flags, 0, 0, 0, 0, 0, 0]);
        ipv4(from, to, TCP, &upper)
    }

    fn echo(from: [u8; 4], of: u8, identifier: u16, number: u16) -> Vec<u8> {
        let to = if from == HERE { PEER } else { HERE };
        let mut upper = vec![of, 0, 0, 0];
        upper.extend([identifier, number].map(u16::to_be_bytes).concat());
        ipv4(from, to, ICMP, &upper)
    }

    fn own(packet: &[u8]) -> Source {
        TrailedFlow::of(packet).unwrap().own()
    }

    #[test]
    fn tcp_is_known_where_its_last_packets_were() {
        let at = |sequence| TrailedFlow::of(&tcp(PEER, [80, 5_000], sequence, 0x10)).unwrap();
        let range = 1 << RANGE_BITS;
        for begin in [0, 7 * range, u32::MAX - range + 1] {
            let first = at(begin);
            assert_eq!(at(begin + (range - 1)).own(), first.own());
            let [next, second, former] = first.ranges().unwrap();
            assert_eq!(at(begin.wrapping_add(range)).own(), next);
            assert_eq!(at(begin.wrapping_sub(2 * range)).own(), former);
            assert_eq!(at(begin.wrapping_add(2 * range)).own(), second);
            assert_ne!(at(begin.wrapping_add(3 * range)).own(), second);
        }
        let all = (0..RANGES).map(|number| at(number << RANGE_BITS).own());
        let all: std::collections::BTreeSet<Source> = all.collect();
        assert_eq!(all.len(), RANGES as usize, "no two are one");
    }

    #[test]
    fn echoes_have_identifiers_and_other_messages_no_flow() {
        assert_eq!(own(&echo(PEER, 0, 7, 1)), own(&echo(PEER, 8, 7, 2)));
        assert_ne!(own(&echo(PEER, 0, 7, 1)), own(&echo(PEER, 0, 8, 1)));
        assert!(TrailedFlow::of(&echo(PEER, 3, 7, 1)).is_none());
        assert!(TrailedFlow::of(&ipv4(PEER, HERE, ICMP, &[0; 7])).is_none());
        let esp = |number| own(&ipv4(PEER, HERE, ESP, &[0, 0, 0, number, 1, 2, 3, 4]));
        assert_ne!(esp(1), esp(2));
        let udp = |port| {
            let upper = [0, 53, 0, port, 0, 8, 0, 0];
            own(&ipv4(PEER, HERE, UDP, &upper))
        };
        assert_ne!(udp(1), udp(2));
    }

    #[test]
    fn answers_to_what_this_host_opens_are_known() {
        let answers = |packet: &[u8]| TrailedFlow::answers(packet);
        let opened = |packet: &[u8]| Some(TrailedFlow::of(packet).unwrap().opened());
        let syn = tcp(HERE, [5_000, 80], 9 << RANGE_BITS, SYN);
        assert_eq!(answers(&syn), opened(&tcp(PEER, [80, 5_000], 1, 0x12)));
        assert_ne!(answers(&syn), opened(&tcp(PEER, [80, 5_001], 1, 0x12)));
        for flags in [0x10, 0x12] {
            assert_eq!(answers(&tcp(HERE, [5_000, 80], 1, flags)), None);
        }
        let request = echo(HERE, 8, 7, 1);
        assert_eq!(answers(&request), opened(&echo(PEER, 0, 7, 1)));
        assert_eq!(answers(&request), Some(own(&echo(PEER, 0, 7, 1))));
        assert_ne!(answers(&request), opened(&echo(PEER, 0, 8, 1)));
        assert_eq!(answers(&ipv4(HERE, PEER, ESP, &[1; 8])), None);
    }

    #[test]
    fn whatever_the_bytes_are_nothing_panics() {
        for protocol in 0..=u8::MAX {
            for length in 0..24 {
                let upper: Vec<u8> = repeat_n(8, length).collect();
                let packet = ipv4(PEER, HERE, protocol, &upper);
                let _ = (TrailedFlow::of(&packet), TrailedFlow::answers(&packet));
            }
        }
    }
}
