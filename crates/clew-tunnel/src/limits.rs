//! The named numbers that the formats have: `spec/tunnel.md` section 14.

/// Shortest packet of a tunnel, in bytes.
pub const PACKET_MIN: usize = 40;
/// Longest packet, in bytes.
pub const PACKET_MAX: usize = 1_472;
/// Least length of initiation packets that a server may ask for.
pub const M_MIN: u16 = 1_024;
/// Greatest length of initiation packets that a server may ask for.
pub const M_MAX: u16 = 1_232;
/// Length of the server's first packet under each TID, if it needs no more.
pub const ANSWER: usize = 256;
/// Longest text, in bytes.
pub const STRING_MAX: usize = 512;
/// Depth of lists, the RPC itself being 1.
pub const LIST_DEPTH: usize = 4;
/// Values in one RPC at all depths, the RPC itself not being one.
pub const ITEMS_MAX: usize = 256;
/// RPCs in one packet.
pub const RPCS_MAX: usize = 64;
/// Longest name of an RPC and of a service, in bytes.
pub const NAME_MAX: usize = 64;
/// How far an initiation packet's time may be from the server's, in nanoseconds.
pub const WINDOW: u64 = 30_000_000_000;
/// How far the clocks of a record's reader and writer may be apart, in milliseconds.
pub const SKEW: u64 = 30_000;
/// Longest life of an ephemeral certificate, in milliseconds.
pub const LIFETIME_MAX: u64 = 86_400_000;
/// Most addresses in an ephemeral certificate.
pub const ADDRESSES_MAX: usize = 8;
/// The hardest puzzle, in bits.
pub const W_MAX: u8 = 22;
/// How long an interrogation can be answered, in nanoseconds.
pub const PUZZLE_LIFE: u64 = 60_000_000_000;
