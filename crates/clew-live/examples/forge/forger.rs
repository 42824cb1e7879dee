//! Signs packets as a machine does, with a key and at a time of the attacker's choice.

use clew_evidence::GroupFile;
use clew_group::Precursor;
use clew_keys::MemberKeyFile;
use clew_live::identity::{EpochKey, Identity};
use clew_live::packet::{Clear, Moment, PeerIndex};
use clew_live::pool::PrecursorSource;
use clew_live::sender::{Cover, Outbound, OutboundOptions, Path, live_policy};
use clew_packet::{Carrier, Timestamp};
use clew_wire::Instant;
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::SeedableRng;
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};
use std::sync::Arc;
use std::time::Duration;

/// Who signs.
pub struct Forger {
    outbound: Outbound,
    rng: ChaCha20Rng,
}

/// Every signature is computed when it is needed.
struct Online;

impl PrecursorSource for Online {
    fn take(&mut self, _: &EpochKey) -> Option<Precursor> {
        None
    }

    fn is_low(&self) -> bool {
        false
    }
}

const PEER: PeerIndex = PeerIndex(0);

/// Nobody looks at it.
const NOWHERE: SocketAddr = SocketAddr::V4(SocketAddrV4::new(Ipv4Addr::new(192, 0, 2, 1), 4_909));

impl Forger {
    /// Takes the key as it is: each packet gets a signature of its own.
    pub fn new(key: MemberKeyFile) -> Self {
        let policy = live_policy(key.scheme());
        let identity = Identity::new(key, policy, None);
        let options = OutboundOptions {
            cover: Cover::Each,
            queue_bytes: 64 << 20,
            ..OutboundOptions::default()
        };
        let outbound = Outbound::new(Some(Arc::new(identity)), options);
        let rng = ChaCha20Rng::seed_from_u64(1);
        let mut forger = Self { outbound, rng };
        forger.set_carrier(Carrier::UdpTunnel);
        forger
    }

    /// How its packets travel: `udp-tunnel` unless this says something else.
    pub fn set_carrier(&mut self, carrier: Carrier) {
        let path = Path {
            remote: NOWHERE,
            local: None,
            mtu: 1_500,
            carrier,
        };
        self.outbound.set_path(PEER, path);
    }

    /// Claims to be of that group. Everything that a hash covers fits it; the credential does not.
    /// Returns `None` if the group has no epoch of the key's.
    pub fn of_group(mut key: MemberKeyFile, group: &GroupFile) -> Option<Self> {
        key.group = group.id();
        for held in &mut key.epochs {
            held.id = group.epoch_id(held.epoch)?;
        }
        Some(Self::new(key))
    }

    /// Signs packets at that time since 1970.
    pub fn datagrams(
        &mut self,
        packets: impl IntoIterator<Item = Vec<u8>>,
        wall: Duration,
    ) -> Vec<Vec<u8>> {
        let now = Moment {
            instant: Instant::from_nanos(0),
            wall: Timestamp(wall.as_nanos() as u64),
        };
        let mut bursts = Vec::new();
        for bytes in packets {
            let pushed = self.outbound.push(Clear { peer: PEER, bytes }, now);
            pushed.expect("a UDP packet can be signed");
        }
        self.outbound
            .flush(now, &mut Online, &mut self.rng, &mut bursts);
        let datagrams = bursts
            .iter()
            .flat_map(|burst| burst.bytes.chunks(burst.segment));
        datagrams.map(<[u8]>::to_vec).collect()
    }
}

/// An IPv4 packet with UDP.
pub fn udp(from: SocketAddrV4, to: SocketAddrV4, payload: &[u8]) -> Vec<u8> {
    let length = (8 + payload.len()) as u16;
    let mut packet = vec![0x45, 0, 0, 0, 0, 0, 0x40, 0, 64, 17, 0, 0];
    packet[2..4].copy_from_slice(&(20 + length).to_be_bytes());
    packet.extend(from.ip().octets());
    packet.extend(to.ip().octets());
    let checksum = sum(&packet);
    packet[10..12].copy_from_slice(&checksum.to_be_bytes());
    packet.extend(from.port().to_be_bytes());
    packet.extend(to.port().to_be_bytes());
    packet.extend(length.to_be_bytes());
    packet.extend([0, 0]);
    packet.extend(payload);
    let pseudo = [&[0, 17], &length.to_be_bytes()[..], &packet[12..]].concat();
    let checksum = match sum(&pseudo) {
        0 => 0xffff,
        checksum => checksum,
    };
    packet[26..28].copy_from_slice(&checksum.to_be_bytes());
    packet
}

/// RFC 1071.
fn sum(bytes: &[u8]) -> u16 {
    let words = bytes.chunks(2);
    let words = words.map(|two| u32::from(two[0]) << 8 | u32::from(*two.get(1).unwrap_or(&0)));
    let mut sum: u32 = words.sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}
