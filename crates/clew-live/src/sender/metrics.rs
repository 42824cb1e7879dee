//! What a sender counts.

use crate::histogram::Histogram;
use std::time::Duration;

clew_wire::reasons! {
    /// Why a packet did not leave signed.
    pub enum Unsent {
        NoPath = "no-path": "Its peer is not known, or has no address.",
        NotSignable = "not-signable": "No rule signs such a packet: an unknown header, or a wrong length.",
        BadIpFragment = "bad-ip-fragment": "An IP fragment that overlaps others, or cannot be part of a packet.",
        MissingIpFragment = "missing-ip-fragment": "An IP fragment whose others did not come in time, or had no room.",
        NoKey = "no-key": "The machine has no key for the epoch in force, or was revoked.",
        PoolEmpty = "pool-empty": "No precursor was ready, and the policy computes none at once.",
        QueueFull = "queue-full": "Too many bytes waited.",
        TooLate = "too-late": "It waited too long.",
        NoRoom = "no-room": "It has no room for its signature, or needs too many fragments.",
    }
}

/// What a sender has done since its start.
#[derive(Clone, Debug, Default)]
pub struct OutboundMetrics {
    /// Packets that did not leave, by their reason.
    pub unsent: Counters,
    /// Packets that left signed.
    pub packets: u64,
    /// Their bytes, before they were signed.
    pub bytes: u64,
    /// Signatures made.
    pub signatures: u64,
    /// Signatures whose precursor was computed at once.
    pub online: u64,
    /// Datagrams sent, each fragment counted.
    pub datagrams: u64,
    /// Their bytes.
    pub datagram_bytes: u64,
    /// Fragments among them.
    pub fragments: u64,
    /// Fragments among these that were sent a second time.
    pub fragments_again: u64,
    /// Packets a signature.
    pub k: Histogram,
    /// From arrival to departure, in microseconds.
    pub waits: Histogram,
    /// SYN packets whose MSS was lowered.
    pub clamped: u64,
    /// Cookies that were taken.
    pub cookies: u64,
    /// Cookies that nobody asked for.
    pub foreign_cookies: u64,
}

impl OutboundMetrics {
    /// Counts a packet that left, and how long it waited.
    pub(super) fn left(&mut self, bytes: usize, waited: Duration) {
        self.packets += 1;
        self.bytes += bytes as u64;
        self.waits.count(waited.as_micros() as u64);
    }
}
