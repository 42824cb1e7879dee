//! IP packets for the tests of modules, without checksums.

/// An IPv4 packet.
pub fn ipv4(from: [u8; 4], to: [u8; 4], protocol: u8, upper: &[u8]) -> Vec<u8> {
    let length = (20 + upper.len()) as u16;
    let mut packet = vec![0x45, 0, 0, 0, 0, 0, 0x40, 0, 64, protocol, 0, 0];
    packet[2..4].copy_from_slice(&length.to_be_bytes());
    [&packet[..], &from, &to, upper].concat()
}
