//! What a server is, and how much it takes on: `spec/tunnel.md` section 14.

use alloc::vec::Vec;
use core::net::SocketAddr;
use core::time::Duration;

use super::Shard;
use crate::engine::rate::Rate;
use crate::limits::{self, M_MIN};
use crate::record::Authenticators;

/// What a server is, besides its secret.
#[derive(Clone, Debug)]
pub struct Config {
    /// Where it is reached, the preferred address first: 1 to 8.
    pub addresses: Vec<SocketAddr>,
    /// Which user authenticators it accepts.
    pub authenticators: Authenticators,
    /// How hard its puzzles are, in bits.
    pub w: u8,
    /// M: length of initiation packets.
    pub m: u16,
    /// Longest packet that it sends.
    pub packet: usize,
    /// Time between two S'.
    pub rotation: Duration,
    /// It answers for other hosts.
    pub is_directory: bool,
    /// It takes records of other hosts.
    pub is_name_service: bool,
    /// How much it takes on.
    pub limits: Limits,
    /// Which shard of the server this is.
    pub shard: Shard,
}

/// The limits that a server may choose: `spec/tunnel.md` section 14.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// TUNNELS_MAX.
    pub tunnels: usize,
    /// UNPROVEN_MAX, of all shards together.
    pub unproven: usize,
    /// UNPROVEN_LIFE.
    pub unproven_life: Duration,
    /// PROBE_IDLE.
    pub probe_idle: Duration,
    /// IDLE_MAX.
    pub idle: Duration,
    /// KEY_QUEUE, in packets.
    pub key_queue: usize,
    /// REPLAY_MAX.
    pub replay: usize,
    /// FIRST_RATE of a prefix.
    pub first: Rate,
    /// AUTH_RATE of a prefix.
    pub auth: Rate,
    /// STALE_RATE of a prefix.
    pub stale: Rate,
    /// STALE_RATE in all.
    pub stale_all: Rate,
    /// CREATE_RATE of a tunnel.
    pub creates: Rate,
    /// REKEY_RATE of a tunnel.
    pub rekeys: Rate,
    /// MOVE_RATE of a tunnel.
    pub moves: Rate,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            tunnels: limits::TUNNELS_MAX,
            unproven: limits::UNPROVEN_MAX,
            unproven_life: limits::UNPROVEN_LIFE,
            probe_idle: limits::PROBE_IDLE,
            idle: limits::IDLE_MAX,
            key_queue: limits::KEY_QUEUE,
            replay: limits::REPLAY_MAX,
            first: Rate::per_second(1_000),
            auth: Rate::per_second(1_000),
            stale: Rate::per_second(1_000),
            stale_all: Rate::per_second(10_000),
            creates: Rate::new(1_000, 256),
            rekeys: Rate::new(1, 4),
            moves: Rate::new(1, 4),
        }
    }
}

impl Config {
    /// The specification's defaults, for a server at these addresses.
    pub fn new(addresses: Vec<SocketAddr>) -> Self {
        Self {
            addresses,
            authenticators: Authenticators::BOUND,
            w: 16,
            m: M_MIN,
            packet: limits::PACKET,
            rotation: limits::ROTATION,
            is_directory: false,
            is_name_service: false,
            limits: Limits::default(),
            shard: Shard::WHOLE,
        }
    }
}
