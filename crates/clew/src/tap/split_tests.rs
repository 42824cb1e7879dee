//! Super-packets are joined here as the kernel joins them, and cut again.

use super::*;
use crate::tap::frames::on_wire;
use crate::tap::sys::Datagram;
use etherparse::{PacketBuilder, SlicedPacket, TransportSlice};
use proptest::collection::vec;
use proptest::prelude::*;

const RAW_IP: u16 = 101;

/// What is joined.
#[derive(Clone, Debug)]
struct Super {
    is_v6: bool,
    is_tcp: bool,
    is_ethernet: bool,
    size: usize,
    payload: Vec<u8>,
    id: u16,
    sequence: u32,
}

impl Super {
    fn link(&self) -> u16 {
        if self.is_ethernet { ETHERNET } else { RAW_IP }
    }

    fn segmentation(&self) -> u8 {
        match (self.is_tcp, self.is_v6) {
            (true, false) => kind::TCP_V4,
            (true, true) => kind::TCP_V6,
            (false, _) => kind::UDP,
        }
    }

    /// A frame with this payload, as etherparse makes it.
    fn frame(&self, payload: &[u8], offset: u32, number: u16, is_last: bool) -> Vec<u8> {
        let mut out = Vec::new();
        let id = self.id.wrapping_add(number);
        let sequence = self.sequence.wrapping_add(offset);
        let ip = if self.is_v6 {
            etherparse::IpHeaders::Ipv6(
                etherparse::Ipv6Header {
                    source: [1; 16],
                    destination: [2; 16],
                    hop_limit: 7,
                    ..Default::default()
                },
                Default::default(),
            )
        } else {
            let header = etherparse::Ipv4Header {
                identification: id,
                dont_fragment: true,
                time_to_live: 7,
                source: [10, 0, 0, 1],
                destination: [10, 0, 0, 2],
                ..Default::default()
            };
            etherparse::IpHeaders::Ipv4(header, Default::default())
        };
        // The link header is put in front by the caller.
        let builder = PacketBuilder::ip(ip);
        if self.is_tcp {
            let mut tcp = builder.tcp(1000, 2000, sequence, 512).ack(77);
            if is_last {
                tcp = tcp.psh().fin();
            }
            if number == 0 {
                tcp = tcp.cwr();
            }
            tcp.write(&mut out, payload).unwrap();
        } else {
            builder.udp(1000, 2000).write(&mut out, payload).unwrap();
        }
        match (self.is_ethernet, self.is_v6) {
            (false, _) => out,
            (true, true) => [&[9; 12][..], &[0x81, 0, 0, 5, 0x86, 0xdd], &out].concat(),
            (true, false) => [&[9; 12][..], &[0x08, 0x00], &out].concat(),
        }
    }

    /// The packets of the wire.
    fn packets(&self) -> Vec<Vec<u8>> {
        let count = self.payload.len().div_ceil(self.size);
        let pieces = self.payload.chunks(self.size).enumerate();
        let packet = |(n, piece): (usize, &[u8])| {
            self.frame(piece, (n * self.size) as u32, n as u16, n + 1 == count)
        };
        pieces.map(packet).collect()
    }

    /// All of them in one frame. The kernel leaves the checksum to the card.
    fn joined(&self) -> Vec<u8> {
        self.frame(&self.payload, 0, 0, true)
    }

    fn upper(&self) -> usize {
        let ethernet = match (self.is_ethernet, self.is_v6) {
            (false, _) => 0,
            (true, true) => 18,
            (true, false) => 14,
        };
        ethernet + if self.is_v6 { 40 } else { 20 }
    }

    fn virtio(&self) -> Vec<u8> {
        let mut header = vec![1, self.segmentation(), 0, 0];
        header.extend((self.size as u16).to_ne_bytes());
        header.extend((self.upper() as u16).to_ne_bytes());
        header.extend(if self.is_tcp { 16_u16 } else { 6 }.to_ne_bytes());
        header
    }
}

fn cut(virtio: &[u8], frame: &[u8], link: u16) -> Result<Vec<Vec<u8>>, NotOnWire> {
    let (bytes, mut out) = ([virtio, frame].concat(), Vec::new());
    let datagram = Datagram {
        bytes: &bytes,
        length: bytes.len(),
        interface: 1,
        direction: 0,
        time_ns: None,
        tag: None,
    };
    let each = |packet: &[u8]| out.push(packet.to_vec());
    on_wire(&datagram, link, &mut Vec::new(), each)?;
    Ok(out)
}

prop_compose! {
    fn any_super()(
        flags in any::<[bool; 3]>(),
        size in 1..1500_usize,
        payload in vec(any::<u8>(), 1..20_000),
        id in any::<u16>(),
        sequence in any::<u32>(),
    ) -> Super {
        let [is_v6, is_tcp, is_ethernet] = flags;
        let size = size.max(payload.len().div_ceil(PIECES_MAX));
        Super { is_v6, is_tcp, is_ethernet, size, payload, id, sequence }
    }
}

fn example() -> Super {
    Super {
        is_v6: false,
        is_tcp: false,
        is_ethernet: true,
        size: 100,
        payload: vec![3; 950],
        id: 0xfffe,
        sequence: 0xffff_ff00,
    }
}

proptest! {
    /// What an independent library makes packet by packet.
    #[test]
    fn packets_are_those_of_the_wire(what in any_super()) {
        let cut = cut(&what.virtio(), &what.joined(), what.link()).unwrap();
        prop_assert_eq!(cut, what.packets());
    }

    /// Whatever a guest or a driver says.
    #[test]
    fn nothing_panics_and_all_is_bounded(
        virtio in vec(any::<u8>(), 10),
        kind in 0..6_u8,
        frame in vec(any::<u8>(), 0..200),
        link in prop_oneof![Just(ETHERNET), Just(RAW_IP)],
    ) {
        let virtio = [&[virtio[0], kind], &virtio[2..]].concat();
        if let Ok(packets) = cut(&virtio, &frame, link) {
            prop_assert!(packets.len() <= PIECES_MAX);
            prop_assert!(packets.iter().all(|packet| packet.len() <= frame.len()));
        }
    }

    #[test]
    fn a_damaged_header_is_cut_or_refused(what in any_super(), at in 0..80_usize, byte: u8) {
        let mut frame = what.joined();
        let at = at % frame.len();
        frame[at] = byte;
        if let Ok(packets) = cut(&what.virtio(), &frame, what.link()) {
            let payload: usize = packets.iter().map(Vec::len).sum();
            prop_assert!(payload >= frame.len() && packets.len() <= PIECES_MAX);
        }
    }
}

#[test]
fn identification_and_sequence_wrap() {
    let udp = example();
    let tcp = Super {
        is_tcp: true,
        ..udp.clone()
    };
    for what in [udp, tcp] {
        let packets = cut(&what.virtio(), &what.joined(), ETHERNET).unwrap();
        assert_eq!((packets.len(), &packets), (10, &what.packets()));
        let last = SlicedPacket::from_ethernet(&packets[9]).unwrap();
        if let Some(TransportSlice::Tcp(tcp)) = last.transport {
            assert_eq!(tcp.sequence_number(), 0xffff_ff00_u32.wrapping_add(900));
        }
    }
}

/// What only looks like packets of the outermost header.
#[test]
fn what_cannot_be_cut_is_refused() {
    let what = example();
    let (virtio, frame) = (what.virtio(), what.joined());
    let with = |at: usize, value: u8| {
        let mut virtio = virtio.clone();
        virtio[at] = value;
        cut(&virtio, &frame, ETHERNET)
    };
    assert!(with(1, kind::UDP | kind::ECN).is_ok());
    for (at, value, why) in [
        (
            1,
            kind::TCP_V4,
            "TCP in the virtio header, UDP in the frame",
        ),
        (1, 3, "fragments of a UDP datagram"),
        (1, 0x40 | kind::UDP, "in a tunnel"),
        (6, 84, "the checksum is that of an inner header"),
    ] {
        assert_eq!(with(at, value), Err(NotOnWire::Joined), "{why}");
    }
    let none = [&virtio[..4], &[0, 0], &virtio[6..]].concat();
    assert_eq!(cut(&none, &frame, ETHERNET), Err(NotOnWire::Joined));
    // One byte each.
    let small = [&virtio[..4], &1_u16.to_ne_bytes(), &virtio[6..]].concat();
    let many = Super {
        payload: vec![0; PIECES_MAX + 1],
        ..example()
    };
    assert_eq!(
        cut(&small, &many.joined(), ETHERNET),
        Err(NotOnWire::Joined)
    );
    let padded = [&frame[..], &[0]].concat();
    assert_eq!(cut(&virtio, &padded, ETHERNET), Err(NotOnWire::Joined));
    let mut fragment = frame.clone();
    fragment[20] |= 0x20;
    assert_eq!(cut(&virtio, &fragment, ETHERNET), Err(NotOnWire::Joined));
}

/// Options before the upper layer stay, and count.
#[test]
fn options_of_ipv6_are_kept() {
    let what = Super {
        is_v6: true,
        is_ethernet: false,
        ..example()
    };
    let mut joined = what.joined();
    joined.splice(40..40, [17, 0, 1, 4, 0, 0, 0, 0]);
    joined[6] = 60;
    let length = (joined.len() - 40) as u16;
    joined[4..6].copy_from_slice(&length.to_be_bytes());
    let mut virtio = what.virtio();
    virtio[6..8].copy_from_slice(&48_u16.to_ne_bytes());
    let packets = cut(&virtio, &joined, RAW_IP).unwrap();
    assert_eq!(packets.len(), 10);
    for (packet, plain) in packets.iter().zip(what.packets()) {
        let ip = SlicedPacket::from_ip(packet).unwrap();
        assert!(matches!(ip.transport, Some(TransportSlice::Udp(_))));
        assert_eq!(packet[48..], plain[40..], "the same datagram");
    }
    joined[6] = 43;
    assert_eq!(cut(&virtio, &joined, RAW_IP), Err(NotOnWire::Joined));
}
