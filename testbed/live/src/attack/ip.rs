//! IPv4 packets as an attacker writes them. The kernel writes length, header checksum and, if it is zero,
//! the identification.

use super::contents::Random;
use std::net::SocketAddrV4;

const IP: usize = 20;
const UDP_PROTOCOL: u8 = 17;
const TCP_PROTOCOL: u8 = 6;
/// Of the line.
const MTU: usize = 1_500;
/// The identification of what the attacker sends, so that it does not take it for the peer's.
pub const OWN: [u8; 2] = [0xc1, 0xa7];

/// A packet with UDP.
pub fn udp(source: SocketAddrV4, to: SocketAddrV4, payload: &[u8]) -> Vec<u8> {
    let mut packet = vec![0x45, 0, 0, 0, OWN[0], OWN[1], 0, 0, 64, UDP_PROTOCOL, 0, 0];
    packet.extend(source.ip().octets());
    packet.extend(to.ip().octets());
    packet.extend(source.port().to_be_bytes());
    packet.extend(to.port().to_be_bytes());
    packet.extend((8 + payload.len() as u16).to_be_bytes());
    packet.extend([0; 2]);
    packet.extend(payload);
    write_checksum(&mut packet);
    packet
}

/// That packet, from the address of `source`.
pub fn from(source: SocketAddrV4, mut packet: Vec<u8>, is_altered: bool) -> Vec<u8> {
    if packet.len() < IP {
        packet.resize(IP, 0);
        packet[0] = 0x45;
    }
    packet[4..6].copy_from_slice(&OWN);
    packet[12..16].copy_from_slice(&source.ip().octets());
    if is_altered {
        write_checksum(&mut packet);
    }
    packet
}

/// A packet with the upper layer's checksum, where there is room for one.
fn write_checksum(packet: &mut [u8]) {
    let at = match packet[9] {
        UDP_PROTOCOL => IP + 6,
        TCP_PROTOCOL => IP + 16,
        _ => return,
    };
    if packet.len() < at + 2 {
        return;
    }
    packet[at..at + 2].fill(0);
    let checksum = checksum(packet);
    packet[at..at + 2].copy_from_slice(&checksum.to_be_bytes());
}

/// Of the upper layer, with the pseudo-header.
pub fn checksum(packet: &[u8]) -> u16 {
    let length = (packet.len() - IP) as u32;
    let words = packet[12..].chunks(2);
    let words = words.map(|two| u32::from(two[0]) << 8 | u32::from(*two.get(1).unwrap_or(&0)));
    let mut sum = words.sum::<u32>() + u32::from(packet[9]) + length;
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    match !(sum as u16) {
        0 => 0xffff,
        checksum => checksum,
    }
}

/// Makes a first fragment of it, or one from the middle.
pub fn make_fragment(packet: &mut Vec<u8>, random: &mut Random) {
    packet[4..6].copy_from_slice(&identification(random));
    // Eight bytes each: somewhere below 1400. More fragments follow, which never come.
    let offset = random.below(2) * random.below(175);
    packet[6..8].copy_from_slice(&(0x2000 | offset as u16).to_be_bytes());
    let body = (packet.len() - IP) / 8 * 8;
    packet.truncate(IP + body);
}

/// The packet, or all of its fragments if it is too long for the line.
pub fn fit(packet: Vec<u8>, random: &mut Random) -> Vec<Vec<u8>> {
    if packet.len() <= MTU.max(usize::from(u16::from_be_bytes([packet[2], packet[3]]))) {
        return vec![packet];
    }
    let (head, body) = packet.split_at(IP);
    let (step, identification) = ((MTU - IP) / 8 * 8, identification(random));
    let last = body.len().div_ceil(step) - 1;
    let parts = body.chunks(step).enumerate();
    let fragment = |(number, part): (usize, &[u8])| {
        let mut fragment = [head, part].concat();
        let more = if number < last { 0x2000 } else { 0 };
        let offset = (number * step / 8) as u16 | more;
        fragment[4..6].copy_from_slice(&identification);
        fragment[6..8].copy_from_slice(&offset.to_be_bytes());
        fragment
    };
    parts.map(fragment).collect()
}

fn identification(random: &mut Random) -> [u8; 2] {
    (1 + random.below(65_535) as u16).to_be_bytes()
}
