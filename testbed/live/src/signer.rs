//! clew's core in this process, with the keys that the daemons have.

use clew_engine::Keyring;
use clew_evidence::GroupFileReader;
use clew_keys::{MemberKeyFile, TextFile};
use clew_live::identity::Identity;
use clew_live::packet::{Moment, PeerIndex};
use clew_live::receiver::{Inbound, InboundOptions, PeerRule, VerificationBudget};
use clew_live::sender::{Cover, Outbound, OutboundOptions, Path as LinePath, live_policy};
use clew_packet::{Carrier, Timestamp};
use clew_wire::Instant;
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::SeedableRng;
use std::fs::{self, File};
use std::io::{self, Read};
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The only peer.
pub const PEER: PeerIndex = PeerIndex(0);
/// The longest datagram of the line.
const MTU: u16 = 1_500;

/// Packets may have waited in a file meanwhile.
const TOLERANCE_NS: u64 = 3_600_000_000_000;

/// Both clocks.
#[derive(Clone, Copy)]
pub struct Clock(std::time::Instant);

impl Clock {
    /// A clock that starts now.
    pub fn start() -> Self {
        Self(std::time::Instant::now())
    }

    /// What both say.
    pub fn now(&self) -> Moment {
        let nanos = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        let wall = SystemTime::now().duration_since(UNIX_EPOCH);
        Moment {
            instant: Instant::from_nanos(nanos(self.0.elapsed())),
            wall: Timestamp(nanos(wall.unwrap_or_default())),
        }
    }
}

/// Random numbers from the system's.
pub fn rng() -> io::Result<ChaCha20Rng> {
    let mut seed = [0; 32];
    File::open("/dev/urandom")?.read_exact(&mut seed)?;
    Ok(ChaCha20Rng::from_seed(seed))
}

/// The machine key of a side, as live machines sign.
pub fn identity(keys: &Path, side: &str) -> io::Result<Arc<Identity>> {
    let text = fs::read_to_string(keys.join(format!("{side}.key")))?;
    let key = MemberKeyFile::decode(&text).map_err(io::Error::other)?;
    let policy = live_policy(key.scheme());
    Ok(Arc::new(Identity::new(key, policy, None)))
}

/// A sender to one peer.
pub fn outbound(identity: Arc<Identity>, cover: Cover, remote: SocketAddr) -> Outbound {
    let options = OutboundOptions {
        cover,
        ..OutboundOptions::default()
    };
    let mut outbound = Outbound::new(Some(identity), options);
    let path = LinePath {
        remote,
        local: None,
        mtu: MTU,
        carrier: Carrier::UdpTunnel,
    };
    outbound.set_path(PEER, path);
    outbound
}

/// A receiver from one peer, whose verification nothing limits.
pub fn inbound(
    keys: &Path,
    networks: [&str; 2],
    mss: Option<u16>,
    start: Moment,
) -> io::Result<Inbound<Keyring>> {
    let mut reader = GroupFileReader::default();
    let pushed = reader.push(&fs::read(keys.join("group.clew"))?);
    let group = pushed.and_then(|()| reader.finish());
    let group = group.map_err(io::Error::other)?;
    let tag = group.id().tag();
    let prefixes = networks.iter().map(|network| network.parse());
    let prefixes: Result<Vec<_>, _> = prefixes.collect();
    let rule = PeerRule {
        group: tag,
        prefixes: prefixes.map_err(io::Error::other)?,
        address: None,
        mss,
    };
    let options = InboundOptions {
        budget: VerificationBudget {
            unknown_source: Duration::from_secs(64),
            ..VerificationBudget::default()
        },
        tolerance_ns: TOLERANCE_NS,
        ..InboundOptions::default()
    };
    // Timestamps are whole seconds: those of the first second would be before the start.
    let start = Moment {
        wall: Timestamp(start.wall.0.saturating_sub(TOLERANCE_NS)),
        ..start
    };
    let keyring = Keyring::from(group);
    Ok(Inbound::new(keyring, options, vec![rule], start, [7; 32]))
}

/// An IPv4 packet of UDP without a checksum, from the near network to the far one.
pub fn packet(flow: u16, length: usize) -> Vec<u8> {
    let mut packet = vec![
        0x45, 0, 0, 0, 0, 0, 0x40, 0, 64, 17, 0, 0, 10, 78, 1, 1, 10, 78, 2, 1,
    ];
    packet[2..4].copy_from_slice(&((HEADERS + length) as u16).to_be_bytes());
    let words = packet
        .chunks(2)
        .map(|word| u32::from(word[0]) << 8 | u32::from(word[1]));
    let sum: u32 = words.sum();
    let sum = (sum & 0xffff) + (sum >> 16);
    let checksum = !((sum & 0xffff) as u16 + (sum >> 16) as u16);
    packet[10..12].copy_from_slice(&checksum.to_be_bytes());
    packet.extend((1_024 + flow).to_be_bytes());
    packet.extend([0, 9]);
    packet.extend(((UDP_HEADER + length) as u16).to_be_bytes());
    packet.extend([0, 0]);
    packet.resize(HEADERS + length, 7);
    packet
}

const UDP_HEADER: usize = 8;
/// IPv4 and UDP.
const HEADERS: usize = 20 + UDP_HEADER;
