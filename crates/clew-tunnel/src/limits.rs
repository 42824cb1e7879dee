//! The named numbers that the formats have: `spec/tunnel.md` section 14.

use core::time::Duration;

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
pub(crate) const LIST_DEPTH: usize = 4;
/// Values in one RPC at all depths, the RPC itself not being one.
pub const ITEMS_MAX: usize = 256;
/// RPCs in one packet.
pub const RPCS_MAX: usize = 64;
/// Longest name of an RPC and of a service, in bytes.
pub const NAME_MAX: usize = 64;
/// How far an initiation packet's time may be from the server's.
pub const ACCEPTANCE_WINDOW: Duration = Duration::from_secs(30);
/// How far the clocks of a record's reader and writer may be apart.
pub(crate) const SKEW: Duration = Duration::from_secs(30);
/// Longest life of an ephemeral certificate.
pub const LIFETIME_MAX: Duration = Duration::from_secs(86_400);
/// Most addresses in an ephemeral certificate.
pub const ADDRESSES_MAX: usize = 8;
/// The hardest puzzle, in bits.
pub const W_MAX: u8 = 22;
/// How long an interrogation can be answered.
pub const PUZZLE_LIFE: Duration = Duration::from_secs(60);
/// How far ahead of the server's time at most a client's nonces are, and behind.
pub const NOISE: Duration = Duration::from_secs(10);
/// How many nonces of one key and direction are remembered.
pub(crate) const NONCES: usize = 1_024;
/// Initiation packets that are remembered, so that none is taken twice.
pub(crate) const REPLAY_MAX: usize = 6_000_000;
/// Solutions that are remembered, so that none counts twice.
pub(crate) const SOLUTIONS_MAX: usize = 1_000_000;
/// Time between two S'.
pub const ROTATION: Duration = Duration::from_secs(150);
/// Packets that are outstanding, in each direction of a tunnel.
pub(crate) const FLIGHT_MAX: usize = 4_096;
/// Packets of a tunnel before anything is acknowledged: more would not show the start of its sequence.
pub(crate) const FIRST_PACKETS_MAX: usize = 255;
/// Packets that are held ahead of their turn.
pub const AHEAD: usize = 4_096;
/// Their bytes in a tunnel.
pub(crate) const AHEAD_BYTES: usize = 6 << 20;
/// Their bytes in a program.
pub const AHEAD_TOTAL: usize = 64 << 20;
/// The receive window of a new connection, in bytes.
pub const CREDIT: u32 = 16_384;
/// Most that a connection's receive window grows to, in bytes.
pub(crate) const RECEIVE_WINDOW_MAX: u32 = 1 << 20;
/// Bytes that all connections of a tunnel are granted and have not read.
pub const GRANT: u32 = 4 << 20;
/// Unsent bytes of a connection from which on its program waits.
pub const SEND_BUFFER: usize = 64 << 10;
/// Unsent bytes of connection 0 from which on nothing more is taken from the other side.
pub const CONTROL_MAX: usize = 16 << 10;
/// Length of the retransmission timer before a round trip was measured.
pub(crate) const RTO_FIRST: Duration = Duration::from_secs(1);
/// Its least length.
pub(crate) const RTO_MIN: Duration = Duration::from_millis(200);
/// Its greatest, unless round trips are longer.
pub(crate) const RTO_MAX: Duration = Duration::from_secs(2);
/// How long an ack waits for a packet to go with.
pub(crate) const ACK_DELAY: Duration = Duration::from_millis(25);
/// The longest pause before an initiation packet is sent again.
pub(crate) const SEND_PAUSE: Duration = Duration::from_secs(2);
/// How often an initiation packet is sent to one address before the next is tried.
pub(crate) const SENDS_EACH: u32 = 3;
/// When an attempt to open a tunnel ends.
pub(crate) const CONNECT_MAX: Duration = Duration::from_secs(20);
/// How long outstanding packets may go without any answer.
pub(crate) const DEAD_AFTER: Duration = Duration::from_secs(300);
/// How long something may be unanswered, at least, before a client takes the server for silent.
pub(crate) const SILENT_AFTER: Duration = Duration::from_secs(3);
/// How long something may be unanswered before a client rekeys, which a server that began anew answers.
pub(crate) const PROBE_AFTER: Duration = Duration::from_millis(500);
/// How long a client that rekeys waits for another word after a stale-key answer.
pub const STALE_WAIT: Duration = Duration::from_millis(1_500);
/// How long a client with a connection hears nothing before it says that it is there: less than
/// NATs remember.
pub(crate) const KEEPALIVE: Duration = Duration::from_secs(25);
/// How long a client hears nothing before it pads its packets: a NAT may have forgotten it.
pub(crate) const PAD_AFTER: Duration = Duration::from_secs(1);
/// Least length of a client's packet then: what earns a puzz and an ack, should its address be another one.
pub(crate) const KEEPALIVE_BYTES: usize = 80;
/// How late a client's timer is when it must have slept.
pub const SLEPT: Duration = Duration::from_secs(10);
/// Time between two puzz of a tunnel at least: PUZZ_RATE.
pub(crate) const PUZZ_PAUSE: Duration = Duration::from_secs(1);
/// Tunnels of a server.
pub(crate) const TUNNELS_MAX: usize = 100_000;
/// Initiation packets that wait for their keys.
pub(crate) const KEY_QUEUE: usize = 4_096;
/// Tunnels whose clients have not shown yet that they receive at their addresses.
pub const UNPROVEN_MAX: usize = 256;
/// How long such a tunnel has time for that.
pub const UNPROVEN_LIFE: Duration = Duration::from_secs(8);
/// When the client of such a tunnel is asked, if nothing else has shown it.
pub(crate) const UNPROVEN_ASK: Duration = Duration::from_secs(1);
/// Bytes that such a tunnel may bring.
pub const UNPROVEN_BYTES: usize = 32 << 10;
/// Connections of a tunnel.
pub const CONNECTIONS_MAX: usize = 64;
/// Longest packet that is sent where nothing better is known of the path, in bytes.
pub const PACKET: usize = 1_232;
/// How many bytes a server sends for each byte from an address that is not proven.
pub(crate) const AMPLIFICATION: u64 = 3;
/// Time between two rekeys.
pub const REKEY: Duration = Duration::from_secs(600);
/// How long a server waits for a rekey that it asked for.
pub(crate) const REKEY_ANSWER: Duration = Duration::from_secs(30);
/// How long packets under the key before are decrypted.
pub const DRAIN: Duration = Duration::from_secs(3);
/// How long a new address has time to be proven.
pub(crate) const PATH_TIMEOUT: Duration = Duration::from_secs(3);
/// Stale-key answers that are followed in one attempt.
pub(crate) const STALE_MAX: usize = 2;
/// Interrogations that are answered in one attempt.
pub(crate) const PUZZLES: u8 = 3;
/// How long a program has to decide about a connection.
pub(crate) const AUTH_WAIT: Duration = Duration::from_secs(10);
/// Requests of a tunnel that wait for their answers.
pub const LOOKUPS: usize = 64;
/// How long a client keeps a tunnel without connections.
pub const CLIENT_IDLE: Duration = Duration::from_secs(300);
/// Life of a tunnel under the boxing key.
pub(crate) const T1_LIFE: Duration = Duration::from_secs(10);
/// How long a tunnel is silent before a server that is half full asks whether it is there.
pub const PROBE_IDLE: Duration = Duration::from_secs(120);
/// How long a server keeps a silent tunnel.
pub const IDLE_MAX: Duration = Duration::from_secs(86_400);
