//! What the attacker hears: honest datagrams to send again, and the cookies that it gets.

use super::{Attack, Kind, hint, ip};
use socket2::{Domain, Protocol, Socket, Type};
use std::io::{self, Read};
use std::net::UdpSocket;
use std::time::{Duration, Instant};

/// Of clew's datagrams.
pub const MAGIC: &[u8] = b"\xc1\x6c\x65\x77";
pub const SHIM: usize = 6;
const COOKIE: usize = 16;
const COOKIE_DATAGRAM: usize = SHIM + 2 * COOKIE;
/// Datagrams that were heard last: their blocks are not verified yet.
const FRESH: usize = 16;
const LISTEN_MAX: Duration = Duration::from_secs(5);

/// Payloads of honest datagrams to the same port, of any device here.
pub fn listen(attack: &Attack) -> io::Result<Vec<Vec<u8>>> {
    let mut socket = tap()?;
    socket.set_read_timeout(Some(Duration::from_millis(200)))?;
    let (mut heard, start) = (Vec::new(), Instant::now());
    let mut frame = [0; 2048];
    while heard.len() < attack.hear && start.elapsed() < LISTEN_MAX {
        let Ok(length) = socket.read(&mut frame) else {
            continue;
        };
        heard.extend(heard_in(attack, &frame[..length]));
    }
    match heard.is_empty() {
        true => Err(io::Error::other(format!(
            "heard nothing to {} to send again",
            attack.to
        ))),
        false => Ok(heard),
    }
}

/// What a frame has of an honest packet: its payload to the same port, or the packet itself.
fn heard_in(attack: &Attack, frame: &[u8]) -> Option<Vec<u8>> {
    let ip = frame
        .strip_prefix(frame.get(..12)?)?
        .strip_prefix(&[8, 0])?;
    let length = usize::from(u16::from_be_bytes([*ip.get(2)?, *ip.get(3)?]));
    let ip = ip.get(..length)?;
    let is_there = *ip.first()? == 0x45
        && ip.get(4..6)? != ip::OWN
        && ip.get(16..20)? == attack.to.ip().octets();
    if !is_there || attack.packets {
        return is_there.then(|| ip.to_vec());
    }
    let udp = ip.get(20..)?;
    let is_there = ip[9] == 17 && udp.get(2..4)? == attack.to.port().to_be_bytes();
    let length = usize::from(u16::from_be_bytes([*udp.get(4)?, *udp.get(5)?]));
    let payload = udp.get(8..length)?;
    (is_there && !payload.is_empty()).then(|| payload.to_vec())
}

/// What the attacker hears while it sends.
pub struct Ears {
    tap: Option<Socket>,
    answers: Option<UdpSocket>,
    /// The last one that it was given.
    cookie: Option<[u8; COOKIE]>,
}

impl Ears {
    /// Listens to what the kind needs, and to answers if the source is an address of this host.
    pub fn open(attack: &Attack) -> io::Result<Self> {
        let is_live = attack.kind == Kind::Polluted && attack.templates.is_none();
        let tap = is_live.then(tap).transpose()?;
        if let Some(tap) = &tap {
            tap.set_nonblocking(true)?;
        }
        let is_fixed = attack.from.port() != 0 && attack.spoof == 0;
        let answers = is_fixed
            .then(|| UdpSocket::bind(attack.from).ok())
            .flatten();
        if let Some(answers) = &answers {
            answers.set_nonblocking(true)?;
        }
        Ok(Self {
            tap,
            answers,
            cookie: None,
        })
    }

    /// The last cookie that came.
    pub fn cookie(&self) -> Option<&[u8; COOKIE]> {
        self.cookie.as_ref()
    }

    /// Takes what came; what was heard last takes the place of what was heard first.
    pub fn hear(&mut self, attack: &Attack, templates: &mut Vec<Vec<u8>>) {
        let mut frame = [0; 2048];
        while let Some(Ok(length)) = self.tap.as_mut().map(|tap| tap.read(&mut frame)) {
            templates.extend(heard_in(attack, &frame[..length]));
        }
        let old = templates.len().saturating_sub(FRESH);
        if self.tap.is_some() {
            templates.drain(..old);
        }
        while let Some(Ok(length)) = self.answers.as_ref().map(|socket| socket.recv(&mut frame)) {
            if length == COOKIE_DATAGRAM && frame.starts_with(MAGIC) {
                self.cookie = frame[..length].last_chunk().copied();
            }
        }
    }
}

/// A socket that hears all devices.
fn tap() -> io::Result<Socket> {
    // ETH_P_ALL, in network order.
    let all = Protocol::from(i32::from(3u16.to_be()));
    Socket::new(Domain::PACKET, Type::RAW, Some(all)).map_err(hint)
}

/// Shows a cookie, as `spec/carriers.md` 2 has it.
pub fn with_cookie(payload: Vec<u8>, cookie: Option<&[u8; COOKIE]>) -> Vec<u8> {
    let is_carrier = payload.len() >= SHIM && payload.starts_with(MAGIC) && payload[5] & 0x80 == 0;
    let Some(cookie) = cookie.filter(|_| is_carrier) else {
        return payload;
    };
    let (shim, rest) = payload.split_at(SHIM);
    [&shim[..5], &[shim[5] | 0x80], cookie, rest].concat()
}

#[cfg(test)]
mod tests {
    use super::super::tests::attack;
    use super::*;

    #[test]
    fn a_listener_reads_what_a_peer_writes_and_not_what_the_attacker_does() {
        let attack = attack(Kind::Random);
        let payload = [7; 33].to_vec();
        let mut packet = ip::udp(attack.from, attack.to, &payload);
        packet[2..4].copy_from_slice(&61u16.to_be_bytes());
        let frame = |packet: &[u8]| [&[2; 12][..], &[8, 0], packet].concat();
        assert_eq!(heard_in(&attack, &frame(&packet)), None);
        packet[4..6].fill(0);
        assert_eq!(heard_in(&attack, &frame(&packet)), Some(payload));
        // A checksum over all with itself has all bits set.
        let mut zero = packet.clone();
        zero[26..28].fill(0);
        assert_eq!(ip::checksum(&zero).to_be_bytes(), packet[26..28]);
        let whole = Attack {
            packets: true,
            ..attack.clone()
        };
        assert_eq!(heard_in(&whole, &frame(&packet)), Some(packet.clone()));
        let other = Attack {
            to: "198.18.0.2:53".parse().unwrap(),
            ..attack
        };
        assert_eq!(heard_in(&other, &frame(&packet)), None);
    }

    #[test]
    fn a_cookie_stands_behind_the_type() {
        let datagram = [MAGIC, &[1, 2, 9, 9]].concat();
        let shown = with_cookie(datagram.clone(), Some(&[7; COOKIE]));
        assert_eq!(shown, [MAGIC, &[1, 0x82], &[7; COOKIE], &[9, 9]].concat());
        assert_eq!(with_cookie(shown.clone(), Some(&[8; COOKIE])), shown);
        assert_eq!(with_cookie(datagram.clone(), None), datagram);
    }
}
