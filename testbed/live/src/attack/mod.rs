//! The attacker: datagrams at a given rate, with any source address and any contents. IPv4.

mod contents;
mod ears;
mod ip;

use clap::{Args, ValueEnum};
use contents::{Contents, Random};
use ears::{Ears, with_cookie};
use line::units;
use serde_json::{Value, json};
use socket2::{Domain, Protocol, SockAddr, Socket, Type};
use std::fs;
use std::io;
use std::net::SocketAddrV4;
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
    /// Fragments of the carrier: many that are alone, and wholes whose last part is wrong, again and again
    CarrierFragments,
    /// One of these that is cut, has more bytes than it says, or another byte in a header; or a carrier's
    /// first bytes and no sense behind them
    Malformed,
    /// One of these and random bytes, 4,000 together: IP fragments that are complete
    Oversized,
    /// Those of --templates, whose signatures cost a verification each
    Forged,
    /// Those that are heard just now, with other bytes in their last ones: another share of the signature
    Polluted,
}

impl Kind {
    /// Whether its hash part is valid, so that only the signature tells.
    pub fn passes_hashes(self) -> bool {
        matches!(self, Self::Forged | Self::Polluted)
    }

    /// Whether there is such a packet where packets are themselves, without a datagram around them.
    pub fn is_for_packets(self) -> bool {
        self != Self::CarrierFragments
    }
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
    /// Packets themselves, as carrier `trailer` has them, in place of datagrams to that port
    #[arg(long)]
    pub packets: bool,
    /// How many datagrams to hear before it begins
    #[arg(long, value_name = "N", default_value = "256")]
    pub hear: usize,
    /// Which random bytes
    #[arg(long, value_name = "N", default_value = "1")]
    pub seed: u64,
}

/// Packets between two looks at the clock.
const BURST: u64 = 32;

impl Attack {
    /// Sends until the time is over. The result says how much.
    pub fn run(&self) -> io::Result<Value> {
        let templates = match (&self.templates, self.kind) {
            (_, Kind::Random | Kind::CarrierFragments) => Vec::new(),
            (Some(path), _) => read(path)?,
            (None, _) => ears::listen(self)?,
        };
        let mut ears = Ears::open(self)?;
        // IPPROTO_RAW: the IP header is ours.
        let socket =
            Socket::new(Domain::IPV4, Type::RAW, Some(Protocol::from(255))).map_err(hint)?;
        let to = SockAddr::from(self.to);
        let mut random = Random::new(self.seed);
        let mut contents = Contents::of(self, templates);
        let (start, mut sent, mut failed) = (Instant::now(), 0, 0);
        while start.elapsed() < self.time {
            ears.hear(self, contents.templates());
            let due = (start.elapsed().as_secs_f64() * self.rate as f64) as u64;
            if sent >= due {
                thread::sleep(Duration::from_micros(200));
            }
            let until = due.min(sent + BURST);
            while sent < until {
                let payload = contents.next(&mut random);
                let payload = with_cookie(payload, ears.cookie());
                for packet in self.wrapped(payload, &mut random) {
                    failed += u64::from(socket.send_to(&packet, &to).is_err());
                    sent += 1;
                }
            }
        }
        let seconds = start.elapsed().as_secs_f64();
        Ok(json!({ "sent": sent - failed, "failed": failed, "seconds": seconds }))
    }

    /// The IPv4 packets with a payload, or with that packet.
    fn wrapped(&self, payload: Vec<u8>, random: &mut Random) -> Vec<Vec<u8>> {
        let source = self.source(random);
        let is_packet = self.packets && self.kind != Kind::Random;
        let mut packet = match is_packet {
            true => ip::from(source, payload, self.kind != Kind::Replay),
            false => ip::udp(source, self.to, &payload),
        };
        if self.kind == Kind::Fragments {
            ip::make_fragment(&mut packet, random);
        }
        ip::fit(packet, random)
    }

    fn source(&self, random: &mut Random) -> SocketAddrV4 {
        let bits = random.next() as u32;
        let mask = 1u32.checked_shl(self.spoof).map_or(u32::MAX, |bit| bit - 1);
        let address = (self.from.ip().to_bits() & !mask) | (bits & mask);
        let port = match self.from.port() {
            0 => 1024 + random.below(60_000) as u16,
            port => port,
        };
        SocketAddrV4::new(std::net::Ipv4Addr::from_bits(address), port)
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

#[cfg(test)]
mod tests {
    use super::*;

    pub fn attack(kind: Kind) -> Attack {
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
            packets: false,
            hear: 1,
            seed: 1,
        }
    }

    #[test]
    fn sources_keep_the_bits_that_are_not_spoofed() {
        let mut random = Random::new(7);
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

    /// What is too long for the line leaves in fragments, each of which is counted.
    #[test]
    fn an_oversized_datagram_is_several_packets() {
        let packets = attack(Kind::Oversized).wrapped(vec![9; 4_000], &mut Random::new(7));
        let lengths: Vec<usize> = packets.iter().map(Vec::len).collect();
        assert_eq!(lengths, [1_500, 1_500, 20 + 4_008 - 2 * 1_480]);
        assert!(
            packets
                .iter()
                .all(|packet| packet[4..6] == packets[0][4..6])
        );
        let flags = packets.iter().map(|packet| packet[6..8].to_vec());
        assert_eq!(
            flags.collect::<Vec<_>>(),
            [[0x20, 0], [0x20, 185], [1, 114]].map(Vec::from)
        );
    }
}
