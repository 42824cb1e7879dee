//! Datagrams to sign.

use rand_core::Rng;

/// UDP over IPv4 from one address to another, checksums right, with random content.
pub fn udp(addresses: [u8; 8], id: u16, length: usize, rng: &mut impl Rng) -> Vec<u8> {
    let mut bytes = vec![0; length];
    let total = (length as u16).to_be_bytes();
    bytes[..4].copy_from_slice(&[0x45, 0, total[0], total[1]]);
    bytes[4..6].copy_from_slice(&id.to_be_bytes());
    bytes[8..12].copy_from_slice(&[64, 17, 0, 0]);
    bytes[12..20].copy_from_slice(&addresses);
    bytes[20..24].copy_from_slice(&[0x13, 0x88, 0x13, 0x89]);
    let upper = length as u16 - 20;
    bytes[24..26].copy_from_slice(&upper.to_be_bytes());
    rng.fill_bytes(&mut bytes[28..]);
    let header = checksum(0, &bytes[..20]);
    bytes[10..12].copy_from_slice(&header.to_be_bytes());
    let pseudo = 17 + u64::from(upper) + words(&bytes[12..20]);
    let udp = match checksum(pseudo, &bytes[20..]) {
        0 => u16::MAX,
        sum => sum,
    };
    bytes[26..28].copy_from_slice(&udp.to_be_bytes());
    bytes
}

/// The sum of the 16-bit words, an odd byte filled up with zero.
fn words(bytes: &[u8]) -> u64 {
    let word = |pair: &[u8]| u64::from(pair[0]) << 8 | u64::from(*pair.get(1).unwrap_or(&0));
    bytes.chunks(2).map(word).sum()
}

fn checksum(start: u64, bytes: &[u8]) -> u16 {
    let mut sum = start + words(bytes);
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}
