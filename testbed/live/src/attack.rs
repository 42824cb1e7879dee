//! The attacker: datagrams at a given rate, with any source address and any contents. IPv4.

use clap::{Args, ValueEnum};
use line::{SplitMix, units};
use serde_json::{Value, json};
use socket2::{Domain, Protocol, SockAddr, Socket, Type};
use std::fs;
use std::io::{self, Read};
use std::net::{Ipv4Addr, SocketAddrV4, UdpSocket};
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

/// What a datagram holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Kind {
    /// Random bytes
    Random,
    /// A datagram that was captured, or is in the file
    Replay,
    /// One of these with random bytes after the first ones (--keep)
    Altered,
    /// One of these with a single bit changed
    Bit,
    /// IP fragments of these that are never complete
    Fragments,
    /// Those of --templates, whose signatures cost a verification each
    Forged,
    /// Those that are heard just now, with other bytes in their last ones: another share of the signature
    Polluted,
}

/// A run of the attacker.
#[derive(Args, Clone, Debug)]
pub struct Attack {
    /// Where to
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub to: SocketAddrV4,
    /// Where from; the port 0 is a random one for each packet
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub from: SocketAddrV4,
    /// Replace so many last bits of the source address by random ones
    #[arg(long, value_name = "BITS", default_value = "0", value_parser = clap::value_parser!(u32).range(..=32))]
    pub spoof: u32,
    /// What to send
    #[arg(long, value_enum)]
    pub kind: Kind,
    /// Packets a second
    #[arg(long, value_name = "N")]
    pub rate: u64,
    /// How long
    #[arg(long, value_name = "TIME", value_parser = units::time)]
    pub time: Duration,
    /// Bytes of a random datagram
    #[arg(long, value_name = "BYTES", default_value = "400", value_parser = clap::value_parser!(u16).range(1..=1472))]
    pub length: u16,
    /// So many first bytes of an altered datagram stay
    #[arg(long, value_name = "BYTES", default_value = "64")]
    pub keep: usize,
    /// Datagrams to send, each a line of hex digits [default: those that are heard first]
    #[arg(long, value_name = "FILE")]
    pub templates: Option<PathBuf>,
    /// How many datagrams to hear before it begins
    #[arg(long, value_name = "N", default_value = "256")]
    pub hear: usize,
    /// Which random bytes
    #[arg(long, value_name = "N", default_value = "1")]
    pub seed: u64,
}

const HEADERS: usize = 28;
/// Of clew's datagrams.
const MAGIC: &[u8] = b"\xc1\x6c\x65\x77";
const SHIM: usize = 6;
const COOKIE: usize = 16;
const COOKIE_DATAGRAM: usize = SHIM + 2 * COOKIE;
/// Shares and tags of a signature are among so many last bytes.
const POLLUTED: usize = 80;
/// Datagrams that were heard last: their blocks are not verified yet.
const FRESH: usize = 16;
/// Packets between two looks at the clock.
const BURST: u64 = 32;
const LISTEN_MAX: Duration = Duration::from_secs(5);

impl Attack {
    /// Sends until the time is over. The result says how much.
    pub fn run(&self) -> io::Result<Value> {
        let mut templates = match (&self.templates, self.kind) {
            (_, Kind::Random) => Vec::new(),
            (Some(path), _) => read(path)?,
            (None, _) => self.listen()?,
        };
        let mut ears = Ears::open(self)?;
        // IPPROTO_RAW: the IP header is ours.
        let socket =
            Socket::new(Domain::IPV4, Type::RAW, Some(Protocol::from(255))).map_err(hint)?;
        let to = SockAddr::from(self.to);
        let mut random = Random(SplitMix(self.seed));
        let (start, mut sent, mut failed) = (Instant::now(), 0, 0);
        while start.elapsed() < self.time {
            ears.hear(self, &mut templates);
            let due = (start.elapsed().as_secs_f64() * self.rate as f64) as u64;
            if sent >= due {
                thread::sleep(Duration::from_micros(200));
            }
            let count = due.saturating_sub(sent).min(BURST);
            for _ in 0..count {
                let payload = self.payload(&templates, &mut random);
                let payload = with_cookie(payload, ears.cookie.as_ref());
                let packet = self.packet(&payload, &mut random);
                failed += u64::from(socket.send_to(&packet, &to).is_err());
            }
            sent += count;
        }
        let seconds = start.elapsed().as_secs_f64();
        Ok(json!({ "sent": sent - failed, "failed": failed, "seconds": seconds }))
    }

    fn payload(&self, templates: &[Vec<u8>], random: &mut Random) -> Vec<u8> {
        if templates.is_empty() {
            return random.bytes(usize::from(self.length));
        }
        let mut payload = templates[random.below(templates.len())].clone();
        match self.kind {
            Kind::Altered => {
                let kept = self.keep.min(payload.len());
                let bytes = random.bytes(payload.len() - kept);
                payload[kept..].copy_from_slice(&bytes);
            }
            Kind::Bit => {
                let at = random.below(payload.len());
                payload[at] ^= 1 << random.below(8);
            }
            Kind::Polluted => {
                let last = POLLUTED.min(payload.len());
                let at = payload.len() - 1 - random.below(last);
                payload[at] ^= 1 + random.below(255) as u8;
            }
            Kind::Random | Kind::Replay | Kind::Fragments | Kind::Forged => {}
        }
        payload
    }

    /// An IPv4 packet with UDP. The kernel writes length, checksum and, if it is zero, identification.
    fn packet(&self, payload: &[u8], random: &mut Random) -> Vec<u8> {
        let source = self.source(random);
        let mut packet = vec![0; HEADERS];
        packet[0] = 0x45;
        packet[8..10].copy_from_slice(&[64, 17]);
        packet[12..16].copy_from_slice(&source.ip().octets());
        packet[16..20].copy_from_slice(&self.to.ip().octets());
        packet[20..22].copy_from_slice(&source.port().to_be_bytes());
        packet[22..24].copy_from_slice(&self.to.port().to_be_bytes());
        packet[24..26].copy_from_slice(&(8 + payload.len() as u16).to_be_bytes());
        packet.extend(payload);
        let checksum = checksum(&packet);
        packet[26..28].copy_from_slice(&checksum.to_be_bytes());
        if self.kind == Kind::Fragments {
            fragment(&mut packet, random);
        }
        packet
    }

    fn source(&self, random: &mut Random) -> SocketAddrV4 {
        let bits = random.next() as u32;
        let mask = 1u32.checked_shl(self.spoof).map_or(u32::MAX, |bit| bit - 1);
        let address = (self.from.ip().to_bits() & !mask) | (bits & mask);
        let port = match self.from.port() {
            0 => 1024 + random.below(60_000) as u16,
            port => port,
        };
        SocketAddrV4::new(Ipv4Addr::from_bits(address), port)
    }

    /// Payloads of honest datagrams to the same port, of any device here.
    fn listen(&self) -> io::Result<Vec<Vec<u8>>> {
        let mut socket = tap()?;
        socket.set_read_timeout(Some(Duration::from_millis(200)))?;
        let (mut heard, start) = (Vec::new(), Instant::now());
        let mut frame = [0; 2048];
        while heard.len() < self.hear && start.elapsed() < LISTEN_MAX {
            let Ok(length) = socket.read(&mut frame) else {
                continue;
            };
            heard.extend(self.payload_of(&frame[..length]));
        }
        match heard.is_empty() {
            true => Err(io::Error::other(format!(
                "heard nothing to {} to send again",
                self.to
            ))),
            false => Ok(heard),
        }
    }

    fn payload_of(&self, frame: &[u8]) -> Option<Vec<u8>> {
        let ip = frame
            .strip_prefix(frame.get(..12)?)?
            .strip_prefix(&[8, 0])?;
        let udp = ip.get(usize::from(ip.first()? & 15) * 4..)?;
        let is_udp = ip[0] >> 4 == 4 && *ip.get(9)? == 17;
        let is_there = ip.get(16..20)? == self.to.ip().octets()
            && udp.get(2..4)? == self.to.port().to_be_bytes();
        let length = usize::from(u16::from_be_bytes([*udp.get(4)?, *udp.get(5)?]));
        let payload = udp.get(8..length)?;
        (is_udp && is_there && !payload.is_empty()).then(|| payload.to_vec())
    }
}

/// What the attacker hears while it sends.
struct Ears {
    tap: Option<Socket>,
    answers: Option<UdpSocket>,
    /// The last one that it was given.
    cookie: Option<[u8; COOKIE]>,
}

impl Ears {
    /// Listens to what the kind needs, and to answers if the source is an address of this host.
    fn open(attack: &Attack) -> io::Result<Self> {
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

    /// Takes what came; what was heard last takes the place of what was heard first.
    fn hear(&mut self, attack: &Attack, templates: &mut Vec<Vec<u8>>) {
        let mut frame = [0; 2048];
        while let Some(Ok(length)) = self.tap.as_mut().map(|tap| tap.read(&mut frame)) {
            templates.extend(attack.payload_of(&frame[..length]));
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
fn with_cookie(payload: Vec<u8>, cookie: Option<&[u8; COOKIE]>) -> Vec<u8> {
    let is_carrier = payload.len() >= SHIM && payload.starts_with(MAGIC) && payload[5] & 0x80 == 0;
    let Some(cookie) = cookie.filter(|_| is_carrier) else {
        return payload;
    };
    let (shim, rest) = payload.split_at(SHIM);
    [&shim[..5], &[shim[5] | 0x80], cookie, rest].concat()
}

/// Makes a first fragment of it, or one from the middle.
fn fragment(packet: &mut Vec<u8>, random: &mut Random) {
    packet[4..6].copy_from_slice(&(1 + random.below(65_535) as u16).to_be_bytes());
    // Eight bytes each: somewhere below 1400. More fragments follow, which never come.
    let offset = random.below(2) * random.below(175);
    packet[6..8].copy_from_slice(&(0x2000 | offset as u16).to_be_bytes());
    let body = (packet.len() - 20) / 8 * 8;
    packet.truncate(20 + body);
}

/// Of UDP, with the pseudo-header.
fn checksum(packet: &[u8]) -> u16 {
    let length = (packet.len() - 20) as u32;
    let words = packet[12..].chunks(2);
    let words = words.map(|two| u32::from(two[0]) << 8 | u32::from(*two.get(1).unwrap_or(&0)));
    let mut sum = words.sum::<u32>() + 17 + length;
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    match !(sum as u16) {
        0 => 0xffff,
        checksum => checksum,
    }
}

fn read(path: &PathBuf) -> io::Result<Vec<Vec<u8>>> {
    let text = fs::read_to_string(path)?;
    let bytes = |line: &str| -> Option<Vec<u8>> {
        let pairs = line.as_bytes().chunks(2);
        let byte = |pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
        pairs.map(byte).collect()
    };
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let templates: Option<Vec<_>> = lines.map(bytes).collect();
    let templates =
        templates.filter(|all| !all.is_empty() && all.iter().all(|one| one.len() < 1473));
    templates.ok_or_else(|| {
        let text = format!(
            "{}: not lines of hex digits, each of at most 1472 bytes",
            path.display()
        );
        io::Error::new(io::ErrorKind::InvalidData, text)
    })
}

fn hint(error: io::Error) -> io::Error {
    io::Error::new(
        error.kind(),
        format!("raw socket: {error}\nhint: run it as root"),
    )
}

struct Random(SplitMix);

impl Random {
    fn next(&mut self) -> u64 {
        (self.0.share() * (1u64 << 53) as f64) as u64
    }

    fn below(&mut self, end: usize) -> usize {
        (self.0.share() * end as f64) as usize
    }

    fn bytes(&mut self, count: usize) -> Vec<u8> {
        let words = (0..count.div_ceil(6)).map(|_| self.next().to_le_bytes());
        words
            .flat_map(|word| word.into_iter().take(6))
            .take(count)
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attack(kind: Kind) -> Attack {
        Attack {
            to: "198.18.0.2:4909".parse().unwrap(),
            from: "198.18.0.1:4909".parse().unwrap(),
            spoof: 0,
            kind,
            rate: 1,
            time: Duration::ZERO,
            length: 33,
            keep: 4,
            templates: None,
            hear: 1,
            seed: 1,
        }
    }

    #[test]
    fn a_listener_reads_what_an_attacker_writes() {
        let attack = attack(Kind::Random);
        let mut random = Random(SplitMix(7));
        let payload = attack.payload(&[], &mut random);
        assert_eq!(payload.len(), 33);
        let mut packet = attack.packet(&payload, &mut random);
        packet[2..4].copy_from_slice(&61u16.to_be_bytes());
        let frame = [&[2; 12][..], &[8, 0], &packet].concat();
        assert_eq!(attack.payload_of(&frame), Some(payload));
        let other = Attack {
            to: "198.18.0.2:53".parse().unwrap(),
            ..attack
        };
        assert_eq!(other.payload_of(&frame), None);
        // A checksum over all with itself has all bits set.
        let mut zero = packet.clone();
        zero[26..28].fill(0);
        assert_eq!(checksum(&zero).to_be_bytes(), packet[26..28]);
    }

    #[test]
    fn templates_are_altered_where_they_may_be() {
        let template = vec![vec![9; 40]];
        let mut random = Random(SplitMix(7));
        let altered = attack(Kind::Altered).payload(&template, &mut random);
        assert_eq!((altered.len(), &altered[..4]), (40, &[9; 4][..]));
        assert_ne!(altered, template[0]);
        let bit = attack(Kind::Bit).payload(&template, &mut random);
        let changed: u32 = bit.iter().map(|byte| (byte ^ 9).count_ones()).sum();
        assert_eq!(changed, 1);
        assert_eq!(
            attack(Kind::Replay).payload(&template, &mut random),
            template[0]
        );
    }

    #[test]
    fn a_cookie_stands_behind_the_type() {
        let datagram = [MAGIC, &[1, 2, 9, 9]].concat();
        let shown = with_cookie(datagram.clone(), Some(&[7; COOKIE]));
        assert_eq!(shown, [MAGIC, &[1, 0x82], &[7; COOKIE], &[9, 9]].concat());
        assert_eq!(with_cookie(shown.clone(), Some(&[8; COOKIE])), shown);
        assert_eq!(with_cookie(datagram.clone(), None), datagram);
    }

    #[test]
    fn polluted_datagrams_differ_in_one_byte_behind() {
        let template = vec![vec![9; 400]];
        let polluted = attack(Kind::Polluted).payload(&template, &mut Random(SplitMix(7)));
        let differ: Vec<usize> = (0..400).filter(|at| polluted[*at] != 9).collect();
        assert!(
            matches!(differ[..], [at] if at >= 400 - POLLUTED),
            "{differ:?}"
        );
    }

    #[test]
    fn sources_keep_the_bits_that_are_not_spoofed() {
        let mut random = Random(SplitMix(7));
        let spoofing = Attack {
            spoof: 8,
            ..attack(Kind::Random)
        };
        let sources: Vec<_> = (0..50)
            .map(|_| *spoofing.source(&mut random).ip())
            .collect();
        assert!(
            sources
                .iter()
                .all(|source| source.octets()[..3] == [198, 18, 0])
        );
        assert!(sources.iter().any(|source| source != &sources[0]));
        assert_eq!(
            attack(Kind::Random).source(&mut random).to_string(),
            "198.18.0.1:4909"
        );
    }
}
