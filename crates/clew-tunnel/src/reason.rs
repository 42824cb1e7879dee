//! Why a packet, an RPC or a record was refused: `spec/tunnel.md` section 15.

use core::fmt;

macro_rules! reasons {
    ($($name:ident = $text:literal: $doc:literal,)*) => {
        /// The one rule that decided about a packet, an RPC or a record, in the order of the specification.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Reason {
            $(#[doc = $doc] $name,)*
        }

        impl Reason {
            /// Every reason, in order.
            pub const ALL: [Self; [$($text),*].len()] = [$(Self::$name),*];

            /// What it is, in a sentence.
            pub const fn about(self) -> &'static str {
                match self {
                    $(Self::$name => $doc,)*
                }
            }

            /// The name in kebab case, as it stands in the specification.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$name => $text,)*
                }
            }
        }
    };
}

reasons! {
    BadLength = "bad-length": "A packet that is too short or too long for what it is.",
    BadFlags = "bad-flags": "Flags that no packet of this sender has.",
    UnknownTid = "unknown-tid": "The TID of no tunnel.",
    BadSize = "bad-size": "An initiation packet below M.",
    BadTime = "bad-time": "An initiation packet whose nonce is too far from the server's time.",
    Replayed = "replayed": "An initiation packet that was taken before, or may have been.",
    PuzzleAsked = "puzzle-asked": "An initiation packet that was answered with an interrogation.",
    OldSolution = "old-solution": "The solution of an interrogation that is too old, or later than now.",
    BadBox = "bad-box": "A box that no key opens.",
    BadFirst = "bad-first": "An initiation packet that does not begin as one.",
    KeyMismatch = "key-mismatch": "Another C' in the box than in the header.",
    BadTid = "bad-tid": "A next TID that has flags, or is in use.",
    TooManyRekeys = "too-many-rekeys": "Rekeys beyond REKEY_RATE.",
    Misplaced = "misplaced": "nextTid in a packet that is no initiation packet.",
    BadKey = "bad-key": "A public key that is not canonical, or has small order.",
    BadSolution = "bad-solution": "A solution that does not hold.",
    Busy = "busy": "More than this server takes on.",
    DuplicateNonce = "duplicate-nonce": "A nonce that was opened before.",
    OldNonce = "old-nonce": "A nonce too far behind the highest.",
    DuplicateSeq = "duplicate-seq": "A packet that was done or is held.",
    Ahead = "ahead": "A packet too far ahead to be held.",
    TooManyMoves = "too-many-moves": "A new address beyond MOVE_RATE.",
    OldWindow = "old-window": "A windowSize that is not ahead of the last.",
    Truncated = "truncated": "An end before the value's.",
    UnknownType = "unknown-type": "A value of no type that is known.",
    TooLong = "too-long": "A text beyond STRING_MAX.",
    BadUtf8 = "bad-utf8": "A text that is not UTF-8.",
    TooDeep = "too-deep": "Lists beyond LIST_DEPTH.",
    TooManyValues = "too-many-values": "Values of one RPC beyond ITEMS_MAX.",
    NotACall = "not-a-call": "An RPC that is no list, or has no name.",
    TooManyRpcs = "too-many-rpcs": "RPCs of one packet beyond RPCS_MAX.",
    BadPadding = "bad-padding": "Too few bytes for an RPC, and not all of them zero.",
    BadAck = "bad-ack": "An ack of what was not sent.",
    OverWindow = "over-window": "More than the receive window.",
    Order = "order": "An RPC out of sequence behind others, or a seq that does not go with the RPCs.",
    BadArguments = "bad-arguments": "Other arguments than the RPC's.",
    WrongSide = "wrong-side": "An RPC of the other side.",
    BadConnection = "bad-connection": "A connection id that is not above those before.",
    UnknownConnection = "unknown-connection": "A connection that is not there.",
    UnknownRpc = "unknown-rpc": "An unknown name on connection 0.",
    ClosedConnection = "closed-connection": "A connection that was refused or closed.",
    Unasked = "unasked": "An answer that was not asked for.",
    BadService = "bad-service": "A service name of no or too many bytes, or with control characters.",
    TooManyConnections = "too-many-connections": "Connections beyond CONNECTIONS_MAX.",
    TooFast = "too-fast": "Connections beyond CREATE_RATE.",
    NoRoom = "no-room": "No credit is left for a connection.",
    UnknownService = "unknown-service": "A service that is not here.",
    NotAuthorised = "not-authorised": "A service that is not for this user.",
    NotOffered = "not-offered": "An authenticator that the server does not offer.",
    StaleAuthenticator = "stale-authenticator": "An authenticator for a key that the server has no more.",
    Authenticator = "authenticator": "An authenticator that does not hold.",
    NotAllowed = "not-allowed": "A request that this server does not take, or not here.",
    BadIdentity = "bad-identity": "An identity that does not parse.",
    UnknownHost = "unknown-host": "No record of the host.",
    RecordLength = "record-length": "A record or a part of it that is too short or too long.",
    RecordVersion = "record-version": "A record of a version that is not known.",
    Untrusted = "untrusted": "A certificate of an issuer that is not trusted for the host.",
    RecordSignature = "record-signature": "A signature of a record that does not hold.",
    RecordKeys = "record-keys": "An ephemeral certificate of another S.",
    BadHostname = "bad-hostname": "A hostname that is none.",
    WrongHost = "wrong-host": "A record of another host.",
    ReservedBits = "reserved-bits": "Authenticators that nobody knows.",
    BadLimits = "bad-limits": "A w or an M beyond their bounds.",
    BadAddress = "bad-address": "An address that nobody has, or none, or too many.",
    BadLifetime = "bad-lifetime": "A record that ends before it starts, or lives too long.",
    NotYetValid = "not-yet-valid": "A record that starts later.",
    Expired = "expired": "A record that has ended.",
    NotNewer = "not-newer": "An ephemeral certificate that is not newer than the one that is held.",
    UnexpectedAnswer = "unexpected-answer": "An answer without a box that was not asked for.",
    TooManyAnswers = "too-many-answers": "Stale-key answers beyond STALE_MAX.",
    TooManyPuzzles = "too-many-puzzles": "Interrogations beyond PUZZLES.",
    Unsolvable = "unsolvable": "A puzzle that no end solves.",
    TooHard = "too-hard": "A puzzle beyond the bounds.",
    NoAnswer = "no-answer": "The other side is silent.",
    Idle = "idle": "Nothing has been said for too long.",
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl core::error::Error for Reason {}

/// How often each reason was met.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counters([u64; Reason::ALL.len()]);

impl Default for Counters {
    fn default() -> Self {
        Self([0; Reason::ALL.len()])
    }
}

impl Counters {
    /// Counts one packet, RPC or record.
    pub fn count(&mut self, reason: Reason) {
        let counter = &mut self.0[reason as usize];
        *counter = counter.saturating_add(1);
    }

    /// Adds what others counted.
    pub fn add(&mut self, others: &Self) {
        for (counter, other) in self.0.iter_mut().zip(others.0) {
            *counter = counter.saturating_add(other);
        }
    }

    /// How often `reason` was met.
    pub const fn of(&self, reason: Reason) -> u64 {
        self.0[reason as usize]
    }
}
