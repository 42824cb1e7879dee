//! What a receiver counts.

use crate::histogram::Histogram;

clew_wire::reasons! {
    /// Why a datagram was dropped, if it was not the packet's signature or form.
    pub enum Refused {
        Off = "off": "The policy is off.",
        NoCookie = "no-cookie": "The receiver is under load, and the datagram shows no good cookie.",
        NotPeer = "not-peer": "The group's machines do not have that inner source.",
        Busy = "busy": "Too many signatures waited for a verifier, or this one too long.",
        HoldFull = "hold-full": "Too many packets waited for their verdicts.",
        NoVerdict = "no-verdict": "The verdict did not come in time.",
        BadEcn = "bad-ecn": "A router marked a packet whose sender does not know congestion marks.",
    }
}

/// What a receiver has done since its start.
///
/// Each datagram is counted once: `datagrams` is the sum of `verdicts`, `refused`, `fragments_joined`,
/// `fragments_again` and `cookies`, and of what still waits.
#[derive(Clone, Debug, Default)]
pub struct InboundMetrics {
    /// Packets by their verdict's reason.
    pub verdicts: clew_packet::Counters,
    /// Datagrams that were dropped for other reasons.
    pub refused: Counters,
    /// Datagrams that came.
    pub datagrams: u64,
    /// Their bytes.
    pub datagram_bytes: u64,
    /// Fragments that waited for the one which made their packet whole: that one has its verdict.
    pub fragments_joined: u64,
    /// Cookies.
    pub cookies: u64,
    /// Last fragments that came a second time behind their packet, as senders send them.
    pub fragments_again: u64,
    /// Packets delivered.
    pub packets: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Packets that left behind later ones of their flow.
    pub late: u64,
    /// Signatures verified.
    pub signatures: u64,
    /// Those that held.
    pub good_signatures: u64,
    /// Signatures that were refused for the cost of a hash.
    pub screened: u64,
    /// CPU time that verification took, in nanoseconds.
    pub verification_ns: u64,
    /// Signatures a batch.
    pub batches: Histogram,
    /// Packets of the blocks whose signatures held.
    pub k: Histogram,
    /// From arrival to departure, in microseconds.
    pub waits: Histogram,
    /// SYN packets whose MSS was lowered.
    pub clamped: u64,
    /// Cookies that were given.
    pub replies: u64,
    /// Signatures that were accepted and forgotten for want of room.
    pub forgotten: u64,
    /// Packets that are held now.
    pub held: usize,
    /// Their bytes.
    pub held_bytes: usize,
    /// Signatures that wait now.
    pub waiting_signatures: usize,
    /// Packets that wait for the signature of another one of their block now.
    pub followers: usize,
}
