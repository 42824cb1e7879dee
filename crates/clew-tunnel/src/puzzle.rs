//! Puzzles: `spec/tunnel.md` section 10.
//!
//! A server that is asked too much sends back a box r without its last w bits, and forgets it. The answer
//! has the whole r: that it came shows that the address is real, and that 2^(w-1) hashes were computed.

use clew_wire::WallTime;
use core::fmt;
use core::net::{IpAddr, SocketAddr};

use sha2::{Digest as _, Sha512};
use subtle::ConstantTimeEq as _;
use zeroize::{Zeroize, ZeroizeOnDrop};

use crate::boxes::{Key, TAG};
use crate::keys::{self, Nonce, full_nonce};
use crate::limits::{PUZZLE_LIFE, W_MAX};
use crate::reason::Reason;
use crate::wire::packet::{Side, Tid};
use crate::x25519::{BYTES, Public};

/// Bytes of r and of q.
pub const R_BYTES: usize = TAG + 2 * BYTES;

/// Bytes of SHA-512 of r.
pub const HASH_BYTES: usize = 64;

/// Bytes of a solution, and of the puzzle in an interrogation.
pub const SOLUTION_BYTES: usize = 148;

const LABEL: &[u8; 16] = b"clew-mlt-puzzle0";

/// k: the secret of a server's puzzles.
#[derive(Clone, Zeroize, ZeroizeOnDrop)]
pub struct PuzzleSecret([u8; 32]);

impl PuzzleSecret {
    /// The secret of these bytes, drawn at random.
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// ka: the key for one address and port.
    fn key(&self, source: SocketAddr) -> Key {
        let address = match source.ip() {
            IpAddr::V4(address) => address.to_ipv6_mapped(),
            IpAddr::V6(address) => address,
        };
        let port = source.port().to_be_bytes();
        keys::hashed(&[LABEL, &self.0, &address.octets(), &port])
    }

    /// The interrogation for an initiation packet with this TID, C' and source. `ephemeral` is the newest
    /// S'; `time` the server's, above all that it used with this secret before.
    pub fn interrogation(
        &self,
        (tid, client, source): (Tid, &Public, SocketAddr),
        ephemeral: &Public,
        time: WallTime,
        w: u8,
    ) -> Interrogation {
        let nonce = Nonce::new(time.as_nanos(), Side::Server);
        let mut r = [0; R_BYTES];
        r[TAG..TAG + BYTES].copy_from_slice(&client.0);
        r[TAG + BYTES..].copy_from_slice(&ephemeral.0);
        let sealed = self.key(source).seal(&full_nonce(tid, nonce), &mut r);
        debug_assert!(sealed, "there is room for the tag");
        let (q, hash) = pose(&r, w);
        let w = w.min(W_MAX).into();
        Interrogation {
            tid,
            nonce,
            q,
            hash,
            w,
        }
    }

    /// Whether r is what this secret makes for the source: then the S' that it was made with.
    fn decrypted(&self, asked: &Asked<'_>, solution: &Solution) -> Option<Public> {
        let mut r = solution.r;
        let nonce = full_nonce(asked.tid, solution.nonce);
        if !self.key(asked.source).decrypt(&nonce, &mut r) {
            return None;
        }
        let (client, ephemeral) = r[TAG..].split_first_chunk::<BYTES>()?;
        let ephemeral = *ephemeral.first_chunk()?;
        (*client == asked.client.0).then_some(Public(ephemeral))
    }
}

impl fmt::Debug for PuzzleSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PuzzleSecret(..)")
    }
}

/// r without its last w bits; those of one number of 640 bits, the least.
fn blanked(mut r: [u8; R_BYTES], w: u8) -> [u8; R_BYTES] {
    with_end(&mut r, w, 0);
    r
}

/// Puts `end` into the last w bits, w being 32 at most.
fn with_end(r: &mut [u8; R_BYTES], w: u8, end: u32) {
    if let Some(last) = r.last_chunk_mut() {
        let mask = u32::MAX.checked_shl(w.into()).unwrap_or(0);
        *last = (u32::from_be_bytes(*last) & mask | end).to_be_bytes();
    }
}

/// An interrogation, as it stands in its packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interrogation {
    /// TID of the packet that it answers.
    pub tid: Tid,
    /// n'.
    pub nonce: Nonce,
    /// r without its last w bits.
    pub q: [u8; R_BYTES],
    /// SHA-512 of r.
    pub hash: [u8; HASH_BYTES],
    /// How many bits are missing.
    pub w: u32,
}

/// The solution of an interrogation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Solution {
    /// The whole r.
    pub r: [u8; R_BYTES],
    /// n' of the interrogation.
    pub nonce: Nonce,
}

impl Solution {
    /// The 148 bytes of an initiation packet.
    pub fn to_bytes(&self) -> [u8; SOLUTION_BYTES] {
        let mut out = [0; SOLUTION_BYTES];
        out[..R_BYTES].copy_from_slice(&self.r);
        out[R_BYTES..R_BYTES + 8].copy_from_slice(&self.nonce.to_bytes());
        out
    }

    /// Reads them.
    ///
    /// # Errors
    /// `bad-solution`: the zeros are not zero, or n' is not even.
    pub fn parse(bytes: &[u8; SOLUTION_BYTES]) -> Result<Self, Reason> {
        let (r, rest) = bytes.split_first_chunk().ok_or(Reason::BadSolution)?;
        let (nonce, zeros) = rest.split_first_chunk().ok_or(Reason::BadSolution)?;
        let nonce = Nonce::from_bytes(*nonce);
        if zeros.iter().any(|byte| *byte != 0) || nonce.side() != Side::Server {
            return Err(Reason::BadSolution);
        }
        Ok(Self { r: *r, nonce })
    }
}

/// The packet that a solution came in, and the time.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    /// Its TID.
    pub tid: Tid,
    /// Its C'.
    pub client: &'a Public,
    /// Where it came from.
    pub source: SocketAddr,
    /// The S' that are alive.
    pub live: &'a [Public],
    /// The server's time.
    pub now: WallTime,
}

impl Asked<'_> {
    /// Checks the solution with each of the server's secrets: the one it has, and the one before.
    ///
    /// # Errors
    /// `bad-solution`: none of them made it for this packet, this source and a live S'. `old-solution`: n' is
    /// later than now, or older than PUZZLE_LIFE.
    pub fn verify(
        &self,
        solution: &[u8; SOLUTION_BYTES],
        secrets: &[&PuzzleSecret],
    ) -> Result<(), Reason> {
        let solution = Solution::parse(solution)?;
        let mut made = secrets.iter().filter_map(|k| k.decrypted(self, &solution));
        if !made.any(|ephemeral| self.live.contains(&ephemeral)) {
            return Err(Reason::BadSolution);
        }
        let asked = WallTime::from_nanos(solution.nonce.t());
        match asked <= self.now && self.now - asked <= PUZZLE_LIFE {
            true => Ok(()),
            false => Err(Reason::OldSolution),
        }
    }
}

/// Whether r is the answer to a puzzle in the tunnel: `bad-solution` if not. `expected` is the whole r that
/// the server keeps.
#[must_use]
pub fn is_answer(expected: &[u8; R_BYTES], r: &[u8; R_BYTES]) -> bool {
    expected.ct_eq(r).into()
}

/// The puzzle of the tunnel for r, which the server alone knows: q and SHA-512(r). A w beyond [`W_MAX`]
/// counts as that.
pub fn pose(r: &[u8; R_BYTES], w: u8) -> ([u8; R_BYTES], [u8; HASH_BYTES]) {
    (blanked(*r, w.min(W_MAX)), Sha512::digest(r).into())
}

/// The search for an r, in steps, so that whoever searches remains free for other work.
#[derive(Clone, Debug)]
pub struct Search {
    r: [u8; R_BYTES],
    hash: [u8; HASH_BYTES],
    w: u8,
    next: u32,
}

/// Where a search stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// There are more ends to be tried.
    Searching,
    /// The whole r.
    Found([u8; R_BYTES]),
}

impl Search {
    /// A search of at most 2^w hashes. `bound` is the client's own, and in a header the record's too;
    /// beyond [`W_MAX`] nobody goes.
    ///
    /// # Errors
    /// `too-hard`.
    pub fn new(
        q: &[u8; R_BYTES],
        hash: &[u8; HASH_BYTES],
        w: u32,
        bound: u8,
    ) -> Result<Self, Reason> {
        let w = u8::try_from(w).map_err(|_| Reason::TooHard)?;
        if w > bound.min(W_MAX) {
            return Err(Reason::TooHard);
        }
        Ok(Self {
            r: *q,
            hash: *hash,
            w,
            next: 0,
        })
    }

    /// Tries so many ends more.
    ///
    /// # Errors
    /// `unsolvable`: none of all ends fits.
    pub fn step(&mut self, tries: u32) -> Result<Progress, Reason> {
        let all = 1 << self.w;
        let until = self.next.saturating_add(tries).min(all);
        for end in self.next..until {
            with_end(&mut self.r, self.w, end);
            if Sha512::digest(self.r)[..] == self.hash {
                return Ok(Progress::Found(self.r));
            }
        }
        self.next = until;
        if until == all {
            return Err(Reason::Unsolvable);
        }
        Ok(Progress::Searching)
    }
}
