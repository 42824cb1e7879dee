//! IP packets with correct checksums.

/// RFC 1071.
fn sum(parts: &[&[u8]]) -> u16 {
    let bytes = parts.concat();
    let words = bytes.chunks(2);
    let words = words.map(|w| u32::from(w[0]) << 8 | u32::from(*w.get(1).unwrap_or(&0)));
    let mut sum: u32 = words.sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

/// The inner hosts: of the sender's network, and of the receiver's.
pub const FROM: [u8; 4] = [10, 1, 0, 1];
pub const TO: [u8; 4] = [10, 2, 0, 1];

/// An IPv4 packet between these hosts.
pub fn ipv4(from: [u8; 4], protocol: u8, upper: &[u8]) -> Vec<u8> {
    let length = (20 + upper.len()) as u16;
    let mut header = vec![0x45, 0, 0, 0, 0, 0, 0x40, 0, 64, protocol, 0, 0];
    header[2..4].copy_from_slice(&length.to_be_bytes());
    header.extend(from);
    header.extend(TO);
    let checksum = sum(&[&header]);
    header[10..12].copy_from_slice(&checksum.to_be_bytes());
    [header, upper.to_vec()].concat()
}

fn pseudo(from: [u8; 4], protocol: u8, length: usize) -> Vec<u8> {
    let length = (length as u16).to_be_bytes();
    [&from[..], &TO, &[0, protocol], &length].concat()
}

/// Packet `number` of a flow: UDP, `length` bytes in all, at least 36.
pub fn udp_from(from: [u8; 4], flow: u16, number: u32, length: usize) -> Vec<u8> {
    let mut upper = Vec::new();
    upper.extend((5_000 + flow).to_be_bytes());
    upper.extend(7_u16.to_be_bytes());
    upper.extend(((length - 20) as u16).to_be_bytes());
    upper.extend([0, 0]);
    upper.extend(number.to_be_bytes());
    upper.extend(std::iter::repeat_n(number as u8, length - 20 - upper.len()));
    let checksum = match sum(&[&pseudo(from, 17, upper.len()), &upper]) {
        0 => 0xffff,
        checksum => checksum,
    };
    upper[6..8].copy_from_slice(&u16::to_be_bytes(checksum));
    ipv4(from, 17, &upper)
}

pub fn udp(flow: u16, number: u32, length: usize) -> Vec<u8> {
    udp_from(FROM, flow, number, length)
}

/// A TCP SYN that announces a segment size.
pub fn syn(mss: u16) -> Vec<u8> {
    let mut upper = vec![
        0x13, 0x88, 0, 80, 0, 0, 0, 1, 0, 0, 0, 0, 0x60, 2, 0xff, 0xff, 0, 0, 0, 0,
    ];
    upper.extend([2, 4]);
    upper.extend(mss.to_be_bytes());
    let checksum = sum(&[&pseudo(FROM, 6, upper.len()), &upper]);
    upper[16..18].copy_from_slice(&checksum.to_be_bytes());
    ipv4(FROM, 6, &upper)
}

/// A TCP segment with an acknowledgement, from one end of a connection or the other.
pub fn tcp(is_back: bool, sequence: u32, acknowledged: u32, data: usize) -> Vec<u8> {
    let (from, to, ports) = match is_back {
        false => (FROM, TO, [5_001, 80]),
        true => (TO, FROM, [80, 5_001]),
    };
    let mut upper = ports.map(u16::to_be_bytes).concat();
    upper.extend([sequence.to_be_bytes(), acknowledged.to_be_bytes()].concat());
    upper.extend([0x50, 0x10, 0xff, 0xff, 0, 0, 0, 0]);
    upper.resize(upper.len() + data, 7);
    let length = (upper.len() as u16).to_be_bytes();
    let pseudo = [&from[..], &to, &[0, 6], &length].concat();
    let checksum = sum(&[&pseudo, &upper]);
    upper[16..18].copy_from_slice(&checksum.to_be_bytes());
    let mut header = ipv4(from, 6, &upper);
    header.truncate(20);
    header[16..20].copy_from_slice(&to);
    header[10..12].fill(0);
    let checksum = sum(&[&header]);
    header[10..12].copy_from_slice(&checksum.to_be_bytes());
    [header, upper].concat()
}

/// An echo's reply with an identifier from the sender's host, or the request that asked for it.
pub fn echo(is_request: bool, identifier: u16, number: u16) -> Vec<u8> {
    let mut upper = vec![if is_request { 8 } else { 0 }, 0, 0, 0];
    upper.extend([identifier, number].map(u16::to_be_bytes).concat());
    let checksum = sum(&[&upper]);
    upper[2..4].copy_from_slice(&checksum.to_be_bytes());
    let mut packet = ipv4(FROM, 1, &upper);
    if is_request {
        // The checksum of the header is the same: addresses change places.
        packet[12..16].copy_from_slice(&TO);
        packet[16..20].copy_from_slice(&FROM);
    }
    packet
}

/// Whether both checksums of a TCP or UDP packet hold.
pub fn checksums_hold(packet: &[u8]) -> bool {
    let (header, upper) = packet.split_at(20);
    let from = [packet[12], packet[13], packet[14], packet[15]];
    sum(&[header]) == 0 && sum(&[&pseudo(from, packet[9], upper.len()), upper]) == 0
}

/// Flow and number of a packet of [`udp`].
pub fn name(packet: &[u8]) -> (u16, u32) {
    let flow = u16::from_be_bytes([packet[20], packet[21]]) - 5_000;
    let number = [packet[28], packet[29], packet[30], packet[31]];
    (flow, u32::from_be_bytes(number))
}
