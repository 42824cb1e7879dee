//! What `clew status` and metrics show of a running daemon.

use crate::carrier::Offloads;
use crate::histogram::Histogram;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::net::SocketAddr;

/// Everything that a daemon tells of itself.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Status {
    /// Its name.
    pub name: String,
    /// The version of the program.
    pub version: String,
    /// The process that runs the data plane.
    pub process: u32,
    /// Seconds since it started.
    pub seconds: u64,
    /// The carrier.
    pub carrier: String,
    /// The interface.
    pub interface: String,
    /// The policy for packets that arrive.
    pub inbound_mode: String,
    /// The policy for packets that leave.
    pub outbound_mode: String,
    /// What the kernel does for the carrier.
    pub offloads: Offloads,
    /// What signs.
    pub signer: Signer,
    /// Precursors.
    pub pool: PoolStatus,
    /// The peers, in the order of the configuration.
    pub peers: Vec<PeerStatus>,
    /// Packets that left.
    pub outbound: OutboundStatus,
    /// Packets that arrived.
    pub inbound: InboundStatus,
    /// Packets beside the carrier. The daemon is told by whoever supervises it.
    #[serde(default)]
    pub filtered: Filtered,
    /// The clocks.
    #[serde(default)]
    pub clock: ClockStatus,
    /// What an administrator should know now.
    pub notices: Vec<Notice>,
}

/// A sentence for the administrator.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Notice {
    /// Since when it is so, in seconds since 1970.
    pub time: u64,
    /// The sentence.
    pub text: String,
}

/// Packets that the host's filter counted. `None` if the policy counts none, or nobody told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Filtered {
    /// From peers' prefixes, beside the carrier.
    pub unsigned_in: Option<u64>,
    /// To peers' prefixes, beside the carrier.
    pub unsigned_out: Option<u64>,
    /// From addresses of no peer.
    pub others_in: Option<u64>,
    /// To addresses of no peer: they did not leave.
    pub others_out: Option<u64>,
    /// Verified, but for another peer's prefix.
    #[serde(default)]
    pub not_relayed: Option<u64>,
    /// Forwarded to peers, but from a source that does not lie where they came from.
    #[serde(default)]
    pub spoofed: Option<u64>,
}

impl Filtered {
    /// Returns what was counted, by reason.
    pub fn named(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let all = [
            ("unsigned-in", self.unsigned_in),
            ("unsigned-out", self.unsigned_out),
            ("others-in", self.others_in),
            ("others-out", self.others_out),
            ("not-relayed", self.not_relayed),
            ("spoofed", self.spoofed),
        ];
        all.into_iter()
            .filter_map(|(name, count)| Some((name, count?)))
    }
}

/// What the system knows of its clock's error.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClockStatus {
    /// Whether something keeps the clock right: NTP, PTP or the like. `None` if the system does not
    /// tell.
    pub is_synchronised: Option<bool>,
    /// The largest error, in microseconds, as the system estimates it. `None` if nothing keeps the
    /// clock right.
    pub error_us: Option<u64>,
}

/// What signs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Signer {
    /// The machine.
    pub machine: String,
    /// The epoch that it signs in.
    pub epoch: Option<u32>,
    /// Why it does not sign.
    pub trouble: Option<String>,
}

/// The pool of precursors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct PoolStatus {
    /// Precursors that are ready.
    pub ready: usize,
    /// Precursors prepared since the start.
    pub prepared: u64,
    /// Precursors taken.
    pub taken: u64,
    /// How often none was there.
    pub starved: u64,
    /// Precursors wiped without use: of another epoch, key or process.
    pub discarded: u64,
}

/// A peer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PeerStatus {
    /// Its prefixes.
    pub prefixes: Vec<String>,
    /// Where it is. `None` until that is learned.
    pub endpoint: Option<SocketAddr>,
    /// Whether the end point was learned.
    pub is_learned: bool,
    /// The path MTU to it, in bytes.
    pub path_mtu: u16,
    /// Packets that it sent and that were delivered.
    pub packets: u64,
    /// Seconds since the last one.
    pub seconds_ago: Option<u64>,
}

/// Packets that left.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct OutboundStatus {
    /// Packets that left signed.
    pub packets: u64,
    /// Their bytes, before they were signed.
    pub bytes: u64,
    /// Signatures made.
    pub signatures: u64,
    /// Signatures without a precursor that was ready.
    pub online: u64,
    /// Datagrams sent.
    pub datagrams: u64,
    /// Their bytes.
    pub datagram_bytes: u64,
    /// Fragments among them.
    pub fragments: u64,
    /// Fragments among these that were sent a second time.
    pub fragments_again: u64,
    /// SYN packets whose segment size was lowered.
    pub clamped: u64,
    /// Packets that were not sent, by reason.
    pub unsent: BTreeMap<String, u64>,
    /// Packets that did not reach the sender, and datagrams that did not reach the network, by reason.
    pub dropped: BTreeMap<String, u64>,
    /// Packets a signature.
    pub k: Distribution,
    /// From arrival to departure, in microseconds.
    pub waits: Distribution,
}

/// Packets that arrived.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct InboundStatus {
    /// Packets delivered.
    pub packets: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Datagrams that came.
    pub datagrams: u64,
    /// Their bytes.
    pub datagram_bytes: u64,
    /// Signatures verified.
    pub signatures: u64,
    /// Those that held.
    pub good_signatures: u64,
    /// CPU time that verification took, in nanoseconds.
    pub verification_ns: u64,
    /// Packets by the reason of their verdict.
    pub verdicts: BTreeMap<String, u64>,
    /// Datagrams that were refused for other reasons.
    pub refused: BTreeMap<String, u64>,
    /// Datagrams that nobody read, and verified packets that nobody took, by reason.
    pub dropped: BTreeMap<String, u64>,
    /// Packets that left behind later ones of their flow.
    pub late: u64,
    /// Signatures that were refused for the cost of a hash.
    pub screened: u64,
    /// Fragments that waited for the one which made their packet whole: that one has its verdict.
    #[serde(default)]
    pub fragments_joined: u64,
    /// Last fragments that came a second time, as senders send them.
    pub fragments_again: u64,
    /// SYN packets whose segment size was lowered.
    pub clamped: u64,
    /// Cookies of peers that were taken.
    pub cookies: u64,
    /// Cookies that nobody asked for.
    pub foreign_cookies: u64,
    /// Cookies that were given to senders.
    pub cookies_given: u64,
    /// Signatures that were accepted, and forgotten for want of room while they were fresh.
    pub forgotten: u64,
    /// Packets that are held now.
    pub held: u64,
    /// Their bytes.
    pub held_bytes: u64,
    /// Packets among them that wait for the signature of another one of their block.
    pub followers: u64,
    /// Signatures that wait now.
    pub waiting_signatures: u64,
    /// Whether senders have to show cookies: open, warning or shut.
    pub gate: String,
    /// Steps of the wall clock.
    pub clock_steps: u64,
    /// Packets a signature.
    pub k: Distribution,
    /// Signatures a batch.
    pub batches: Distribution,
    /// From arrival to delivery, in microseconds.
    pub waits: Distribution,
}

/// How often values of each size came.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Distribution {
    /// Each bucket's largest value, and how many values it has that the one before does not take.
    pub buckets: Vec<(u64, u64)>,
    /// Values above the last bucket's largest.
    pub above: u64,
    /// The sum of all values.
    pub sum: u64,
}

impl From<Histogram> for Distribution {
    fn from(histogram: Histogram) -> Self {
        Self {
            buckets: histogram.iter().collect(),
            above: histogram.above(),
            sum: histogram.sum(),
        }
    }
}

impl Distribution {
    /// Returns how many values there were.
    pub fn total(&self) -> u64 {
        self.buckets.iter().map(|(_, count)| count).sum::<u64>() + self.above
    }

    /// Returns a bucket's largest value that so many of a thousand values do not exceed:
    /// [`u64::MAX`] if they are above all buckets. Returns `None` if there were no values.
    pub fn quantile(&self, per_mille: u64) -> Option<u64> {
        let total = self.total();
        let wanted = (total * per_mille).div_ceil(1_000).max(1);
        let mut seen = 0;
        let mut buckets = self.buckets.iter();
        let found = buckets.find(|(_, count)| {
            seen += count;
            seen >= wanted
        });
        let above = (total > 0).then_some(u64::MAX);
        found.map(|(bound, _)| *bound).or(above)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_upper_bounds() {
        let distribution = Distribution {
            buckets: vec![(2, 50), (4, 0), (8, 49)],
            above: 1,
            sum: 0,
        };
        let of = |per_mille| distribution.quantile(per_mille);
        assert_eq!(
            [of(0), of(500), of(501), of(990), of(999)],
            [2, 2, 8, 8, u64::MAX].map(Some)
        );
        assert_eq!(Distribution::default().quantile(500), None);
    }

    #[test]
    fn all_buckets_are_there() {
        let mut histogram = Histogram::default();
        histogram.count(u64::MAX);
        let distribution = Distribution::from(histogram);
        assert_eq!(distribution.buckets.len(), Histogram::BUCKETS);
        assert_eq!((distribution.above, distribution.total()), (1, 1));
    }
}
