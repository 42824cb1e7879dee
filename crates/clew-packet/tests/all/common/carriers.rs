//! Datagrams of carriers over UDP, and frames around them.

use clew_packet::{
    Candidate, Carrier, Frame, LinkType, Mode, OuterAddresses, Policy, Sender, Window,
};

use super::{NOW, Owned, packets::*, precursor, sender, trailers::raw};

pub const BOTH: [Carrier; 2] = [Carrier::UdpTunnel, Carrier::UdpTransport];

/// The addresses of the packets that [`ipv4`] and [`ipv6`] make.
pub fn outer(packet: &[u8]) -> OuterAddresses {
    let (source, destination) = match packet[0] >> 4 {
        4 => (SOURCE_4.into(), DESTINATION_4.into()),
        _ => (SOURCE_6.into(), DESTINATION_6.into()),
    };
    OuterAddresses {
        source,
        destination,
    }
}

/// A packet with that UDP payload, of the version of `like`, between the same addresses.
pub fn around(like: &[u8], payload: &[u8]) -> Owned {
    let mut upper = udp(payload);
    upper[..4].copy_from_slice(&[0x13, 0x2d, 0x13, 0x2d]);
    raw(match like[0] >> 4 {
        4 => ipv4(&[], UDP, &upper),
        _ => ipv6(&[], UDP, &upper),
    })
}

/// UDP packets of one flow over one version, each with its own content.
pub fn flow(version: u8, count: usize) -> Vec<Vec<u8>> {
    let packet = |i: usize| {
        let upper = udp(&vec![i as u8; 20 + i % 7]);
        match version {
            4 => ipv4(&[], UDP, &upper),
            _ => ipv6(&[], UDP, &upper),
        }
    };
    (0..count).map(packet).collect()
}

/// The payloads of packets that are signed together.
pub fn signed(
    packets: &[impl AsRef<[u8]>],
    carrier: Carrier,
    mode: Mode,
    policy: Policy,
) -> Vec<Vec<u8>> {
    let sender = sender(policy).with_carrier(carrier);
    let most = packets.len() as u16;
    let packets: Vec<&[u8]> = packets.iter().map(AsRef::as_ref).collect();
    let admit = |packet| admitted(&sender, packet, mode, most);
    let candidates: Vec<Candidate<'_>> = packets.iter().copied().map(admit).collect();
    let mut outs = vec![Vec::new(); packets.len()];
    match mode {
        Mode::Tree => {
            let id = [9; 16];
            let signed = sender.sign_block(&candidates, Some(NOW), id, precursor, &mut outs);
            signed.unwrap();
        }
        Mode::Window => {
            let mut window = Window::new(8);
            for (packet, out) in candidates.iter().zip(&mut outs) {
                sender.sign_in_window(packet, Some(NOW), &mut window, precursor, out);
            }
        }
        Mode::Each => {
            for (packet, out) in packets.iter().zip(&mut outs) {
                let frame = Frame::whole(LinkType::RAW, packet);
                let outcome = sender.sign(&frame, Some(NOW), precursor, out);
                assert_eq!(outcome, clew_packet::SignOutcome::Signed);
            }
        }
    }
    outs
}

fn admitted<'a>(sender: &Sender, packet: &'a [u8], mode: Mode, most: u16) -> Candidate<'a> {
    let frame = Frame::whole(LinkType::RAW, packet);
    sender.admit(&frame, mode, most, &mut Vec::new()).unwrap()
}
