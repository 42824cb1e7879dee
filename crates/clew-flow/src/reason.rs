//! Why a packet was judged as it was: `spec/flow-signature.md` section 5.

use core::fmt;

/// What a receiver may think of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Verdict {
    /// The flow's signer signed it.
    Valid,
    /// It carries no packet signature.
    Unsigned,
    /// Its block's signature has not come yet, or was not looked at.
    Undecided,
    /// It was received before, or is too old to know.
    Replayed,
    /// It MUST be refused.
    Invalid,
}

impl Verdict {
    /// Every verdict, in order.
    pub const ALL: [Self; 5] = [
        Self::Valid,
        Self::Unsigned,
        Self::Undecided,
        Self::Replayed,
        Self::Invalid,
    ];

    /// Returns the name as it stands in the specification.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Valid => "valid",
            Self::Unsigned => "unsigned",
            Self::Undecided => "undecided",
            Self::Replayed => "replayed",
            Self::Invalid => "invalid",
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

macro_rules! reasons {
    ($($name:ident = $text:literal, $verdict:ident: $doc:literal,)*) => {
        clew_wire::reasons! {
            /// The one rule that decided about a packet, in the order of the specification.
            pub enum Reason {
                $($name = $text: $doc,)*
            }
        }

        impl Reason {
            /// Returns the verdict that goes with it.
            pub const fn verdict(self) -> Verdict {
                match self {
                    $(Self::$name => Verdict::$verdict,)*
                }
            }
        }
    };
}

reasons! {
    Ok = "ok", Valid: "The block's signature holds, and the packet is of the block.",
    Unsigned = "unsigned", Unsigned: "No packet signature.",
    UnknownVersion = "unknown-version", Invalid: "A version other than 1.",
    BadLength = "bad-length", Invalid: "Lengths that contradict each other.",
    UnknownFlow = "unknown-flow", Invalid: "The key of no flow that is known here.",
    BadBlock = "bad-block", Invalid: "A place that no block of the flow has.",
    UnknownCarriage = "unknown-carriage", Invalid: "A carriage that is not known.",
    CodedCount = "coded-count", Invalid: "Coded carriage of a block that has too few or too many packets for it.",
    Needed = "needed", Invalid: "A number of shares that no code of the block may need.",
    Untagged = "untagged", Invalid: "A share without a tag, which is not accepted here.",
    Old = "old", Replayed: "Of a block that is too far behind.",
    Duplicate = "duplicate", Replayed: "The packet at this place was accepted before.",
    Conflict = "conflict", Invalid: "Another block than the verified one of this place in the sequence.",
    BadDigest = "bad-digest", Invalid: "Not the packet, or not the path, that the verified block has.",
    Padding = "padding", Invalid: "Shares of no blob: what fills the last one is not zero.",
    Stale = "stale", Invalid: "Signed too long ago.",
    Future = "future", Invalid: "Signed in the future.",
    BadSignature = "bad-signature", Invalid: "The block's signature does not hold for what the packet leads to.",
    Weak = "weak", Undecided: "Its block's signature was verified to less than 128 bits, as asked, and not refuted.",
    Busy = "busy", Undecided: "More signatures to verify than the receiver takes on.",
    Pending = "pending", Undecided: "The block's signature has not come yet.",
    NoSignature = "no-signature", Undecided: "The block's signature did not come while the packet was kept.",
}
