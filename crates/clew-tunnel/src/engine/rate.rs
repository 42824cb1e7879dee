//! How often something may happen: `spec/tunnel.md` section 14.

use alloc::boxed::Box;
use alloc::vec;
use clew_wire::Instant;
use core::net::{IpAddr, SocketAddr};

use super::hash::Hasher;
use core::time::Duration;

/// So many a second, and so many at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    /// In a second, in the long run.
    pub per_second: u32,
    /// At once, after a pause.
    pub at_once: u32,
}

impl Rate {
    /// So many a second, and so many at once.
    pub const fn new(per_second: u32, at_once: u32) -> Self {
        Self {
            per_second,
            at_once,
        }
    }

    /// As many at once as in a second.
    pub const fn per_second(per_second: u32) -> Self {
        Self::new(per_second, per_second)
    }

    fn interval(self) -> Duration {
        Duration::from_secs(1) / self.per_second.max(1)
    }
}

/// Counts for one [`Rate`]: the instant at which all that was taken would have been earned (GCRA).
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Bucket(Instant);

impl Bucket {
    /// Takes one, if there is one.
    pub(crate) fn take(&mut self, rate: Rate, now: Instant) -> bool {
        let interval = rate.interval();
        let earned = self.0.max(now);
        let ahead = interval * (rate.at_once.max(1) - 1);
        if earned - now > ahead {
            return false;
        }
        self.0 = earned + interval;
        true
    }
}

/// The network of an address: an IPv4 /24 or an IPv6 /56.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Prefix([u8; 8]);

impl Prefix {
    /// Returns the prefix of an address.
    pub fn of(address: SocketAddr) -> Self {
        let mut prefix = [0; 8];
        match address.ip() {
            IpAddr::V4(ip) => {
                prefix[0] = 4;
                prefix[1..4].copy_from_slice(&ip.octets()[..3]);
            }
            IpAddr::V6(ip) => {
                prefix[0] = 6;
                prefix[1..].copy_from_slice(&ip.octets()[..7]);
            }
        }
        Self(prefix)
    }
}

/// Counts of a [`Rate`] for each [`Prefix`], in a table of fixed size. Two prefixes may
/// share a place; which ones, nobody can know without the secret.
#[derive(Debug)]
pub(crate) struct Prefixes {
    hasher: Hasher,
    rate: Rate,
    buckets: Box<[Bucket]>,
}

/// Places in a table of prefixes.
const PLACES: usize = 1 << 14;

impl Prefixes {
    /// No prefix has taken anything.
    pub(crate) fn new(hasher: Hasher, rate: Rate) -> Self {
        let buckets = vec![Bucket::default(); PLACES].into_boxed_slice();
        Self {
            hasher,
            rate,
            buckets,
        }
    }

    /// Takes one for the prefix of an address, if there is one.
    pub(crate) fn take(&mut self, source: SocketAddr, now: Instant) -> bool {
        let hash = self.hasher.of(&Prefix::of(source).0);
        self.buckets[hash as usize % PLACES].take(self.rate, now)
    }
}
