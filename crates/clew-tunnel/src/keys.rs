//! Keys and nonces: `spec/tunnel.md` sections 1, 2 and 4.1.

use clew_wire::WallTime;
use core::fmt;

use sha2::{Digest as _, Sha256};
use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

use crate::boxes::{self, Key, Stream};
use crate::limits::ACCEPTANCE_WINDOW;
use crate::reason::Reason;
use crate::wire::packet::{Side, Tid};
use crate::x25519::{self, BYTES, Public, Secret, Shared};

const START: &[u8; 8] = b"minimaLT";
const BINDER: &[u8; 16] = b"clew-mlt-binder0";

/// 2^255 - 19, the last byte first.
const P: [u8; BYTES] = {
    let mut p = [0xff; BYTES];
    p[0] = 0x7f;
    p[BYTES - 1] = 0xed;
    p
};

/// The public key of these bytes.
///
/// # Errors
/// `bad-key`: not below 2^255 - 19 as a little-endian number.
pub fn canonical(bytes: [u8; BYTES]) -> Result<Public, Reason> {
    let below = bytes.iter().rev().lt(P.iter());
    below.then_some(Public(bytes)).ok_or(Reason::BadKey)
}

/// DH(a, B).
///
/// # Errors
/// `bad-key`: what is shared is zero.
pub fn dh(secret: &Secret, public: &Public) -> Result<Shared, Reason> {
    let mut out = [None];
    x25519::shared(&[(secret, public)], &mut out);
    let [shared] = out;
    shared.ok_or(Reason::BadKey)
}

/// shared(a, B), the key of two sides: K_0 of a tunnel, with the secret of C' and S' or the other way
/// round. Of many at once it is [`Key::between`] of each of [`x25519::shared`].
///
/// # Errors
/// `bad-key`: what is shared is zero.
pub fn shared(secret: &Secret, public: &Public) -> Result<Key, Reason> {
    dh(secret, public).map(|shared| Key::between(&shared))
}

/// The public key of a secret.
pub fn public(secret: &Secret) -> Public {
    let mut out = [Public([0; BYTES])];
    x25519::public_keys(&[secret], &mut out);
    out[0]
}

/// The C' of a rekey: the public key of a secret that nobody has any more. Random bytes would not do:
/// most of them are no public key, and each rekey would show.
pub fn decoy(random: [u8; BYTES]) -> Public {
    public(&Secret::from_bytes(random))
}

/// K_(i+1) of K_i.
pub fn next(key: &Key) -> Key {
    hashed(&[&*Zeroizing::new(key.to_bytes())])
}

/// SHA-256 of the parts, as a key.
pub(crate) fn hashed(parts: &[&[u8]]) -> Key {
    Key::from_bytes(*Zeroizing::new(sha256(parts)))
}

fn sha256(parts: &[&[u8]]) -> [u8; 32] {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update(part);
    }
    hash.finalize().into()
}

/// B of a tunnel: what ties authenticators to it.
#[derive(Clone, Zeroize, ZeroizeOnDrop)]
pub struct Binder([u8; 32]);

impl Binder {
    /// The binder of a tunnel by K_0 and by TID, C' and S' of its first packet.
    pub fn new(first: &Key, tid: Tid, client: &Public, server: &Public) -> Self {
        let key = Zeroizing::new(first.to_bytes());
        let parts: [&[u8]; 5] = [BINDER, &*key, tid.as_bytes(), &client.0, &server.0];
        Self(sha256(&parts))
    }

    /// The binder of these bytes, from [`Self::as_bytes`].
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// Its bytes.
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Debug for Binder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Binder(..)")
    }
}

/// The key for all packets with this TID.
pub fn stream(key: &Key, tid: Tid) -> Stream {
    key.stream(&start(tid))
}

/// The first 16 bytes of a packet's nonce for NaCl.
fn start(tid: Tid) -> [u8; 16] {
    let mut start = [0; 16];
    start[..8].copy_from_slice(START);
    start[8..].copy_from_slice(tid.as_bytes());
    start
}

/// A packet's nonce for NaCl.
pub fn full_nonce(tid: Tid, nonce: Nonce) -> [u8; boxes::NONCE] {
    let mut full = [0; boxes::NONCE];
    full[..16].copy_from_slice(&start(tid));
    full[16..].copy_from_slice(&nonce.to_bytes());
    full
}

/// The nonce in a packet: 2 t + 1 of a client, 2 t of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Nonce(u64);

impl Nonce {
    /// The nonce of t, whose highest bit does not count: as a time in nanoseconds it has none until 2262.
    pub const fn new(t: u64, side: Side) -> Self {
        let role = match side {
            Side::Client => 1,
            Side::Server => 0,
        };
        Self((t << 1) | role)
    }

    /// The nonce of these bytes.
    pub const fn from_bytes(bytes: [u8; 8]) -> Self {
        Self(u64::from_be_bytes(bytes))
    }

    /// Its bytes.
    pub const fn to_bytes(self) -> [u8; 8] {
        self.0.to_be_bytes()
    }

    /// Its t.
    pub const fn t(self) -> u64 {
        self.0 >> 1
    }

    /// Who sends it.
    pub const fn side(self) -> Side {
        match self.0 & 1 {
            1 => Side::Client,
            _ => Side::Server,
        }
    }

    /// The next one of the same side. None at the end of the numbers.
    pub fn following(self) -> Option<Self> {
        self.0.checked_add(2).map(Self)
    }

    /// The server's first one under a key, by that of the initiation packet: its nonce plus 1. None at the
    /// end of the numbers.
    pub fn answer(self) -> Option<Self> {
        self.0.checked_add(1).map(Self)
    }

    /// The one of a stale-key answer: bit 0 clear.
    pub const fn stale(self) -> Self {
        Self(self.0 & !1)
    }

    /// The acceptance window of initiation packets, at the server's time.
    ///
    /// # Errors
    /// `bad-time`.
    pub fn check_time(self, now: WallTime) -> Result<(), Reason> {
        let is_near = self.t().abs_diff(now.as_nanos()) <= ACCEPTANCE_WINDOW.as_nanos() as u64;
        is_near.then_some(()).ok_or(Reason::BadTime)
    }
}
