//! The group public key of one epoch, and a member's key.

use super::{Issuing, Opening};
use crate::curve::{G1, G1_BYTES, G2, G2_BYTES, PreparedG2, SCALAR_BYTES, Scalar, pairing_product};
use crate::pairings::equal;
use crate::wire::Reader;
use crate::{DecodeError, Invalid};
use core::fmt;
use zeroize::{Zeroize, Zeroizing};

/// Size of an encoded public key: g1, h, u, v (48 bytes each), g2, w, lift (96 each).
pub const PUBLIC_KEY_BYTES: usize = 4 * G1_BYTES + 3 * G2_BYTES;

/// Size of an encoded member key: A (48 bytes), x (32).
pub const MEMBER_KEY_BYTES: usize = G1_BYTES + SCALAR_BYTES;

/// The group public key gpk of one epoch (section 4), and its lift.
///
/// With k the product of 1/(gamma + x) over all x revoked so far: g1 = k G1, g2 = k G2, w = gamma g2,
/// lift = (1/k) G2, for the standard generators G1 and G2; h, u, v never change.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PublicKey {
    pub(super) g1: G1,
    pub(super) h: G1,
    pub(super) u: G1,
    pub(super) v: G1,
    pub(super) g2: G2,
    pub(super) w: G2,
    pub(super) lift: G2,
}

impl PublicKey {
    /// The public key of epoch 0, from what opener and issuer published.
    pub fn genesis(opening: &Opening, issuing: &Issuing) -> Self {
        Self {
            g1: G1::generator(),
            h: opening.h,
            u: opening.u,
            v: opening.v,
            g2: G2::generator(),
            w: issuing.w,
            lift: G2::generator(),
        }
    }

    /// Decodes, with the checks of every point.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, DecodeError> {
        if bytes.len() != PUBLIC_KEY_BYTES {
            return Err(DecodeError::Length);
        }
        let (in_g1, in_g2) = bytes.split_at(4 * G1_BYTES);
        let p1 = |i: usize| G1::from_bytes(&in_g1[i * G1_BYTES..][..G1_BYTES]);
        let p2 = |i: usize| G2::from_bytes(&in_g2[i * G2_BYTES..][..G2_BYTES]);
        Ok(Self {
            g1: p1(0)?,
            h: p1(1)?,
            u: p1(2)?,
            v: p1(3)?,
            g2: p2(0)?,
            w: p2(1)?,
            lift: p2(2)?,
        })
    }

    /// Encodes as g1 || h || u || v || g2 || w || lift.
    pub fn to_bytes(&self) -> [u8; PUBLIC_KEY_BYTES] {
        let mut out = [0; PUBLIC_KEY_BYTES];
        let (in_g1, in_g2) = out.split_at_mut(4 * G1_BYTES);
        for (bytes, p) in in_g1
            .chunks_exact_mut(G1_BYTES)
            .zip([self.g1, self.h, self.u, self.v])
        {
            bytes.copy_from_slice(&p.to_bytes());
        }
        for (bytes, p) in in_g2
            .chunks_exact_mut(G2_BYTES)
            .zip([self.g2, self.w, self.lift])
        {
            bytes.copy_from_slice(&p.to_bytes());
        }
        out
    }

    /// w, encoded: what an epoch adds to its revocation.
    pub fn w_bytes(&self) -> [u8; G2_BYTES] {
        self.w.to_bytes()
    }

    /// Whether this key is of epoch 0: g1, g2 and lift are the standard generators.
    pub fn is_genesis(&self) -> bool {
        self.g1 == G1::generator() && self.g2 == G2::generator() && self.lift == G2::generator()
    }

    /// Checks that this is a later epoch of the group whose first key is `genesis`: the same h, u,
    /// v, and one k for all the rest. Nobody's signature replaces this check.
    pub fn check_descends_from(&self, genesis: &Self) -> Result<(), Invalid> {
        let same_opening = (self.h, self.u, self.v) == (genesis.h, genesis.u, genesis.v);
        let first = Standing::of(genesis);
        let now = Standing::of(self);
        // e(g1, G2) = e(G1, g2);  e(g1, w0) = e(G1, w);  e(g1, lift) = e(G1, G2).
        let scaled = equal((&self.g1, &first.g2), (&genesis.g1, &now.g2))
            && equal((&self.g1, &first.w), (&genesis.g1, &now.w))
            && equal((&self.g1, &now.lift), (&genesis.g1, &first.g2));
        if genesis.is_genesis() && same_opening && scaled {
            Ok(())
        } else {
            Err(Invalid)
        }
    }
}

/// The three points of G2, ready for pairings.
struct Standing {
    g2: PreparedG2,
    w: PreparedG2,
    lift: PreparedG2,
}

impl Standing {
    fn of(key: &PublicKey) -> Self {
        let [g2, w, lift] = [&key.g2, &key.w, &key.lift].map(PreparedG2::new);
        Self { g2, w, lift }
    }
}

/// A member's key gsk\[i\] = (A, x) with A = g1^(1/(gamma + x)), for one epoch. Secret; wiped when
/// dropped.
#[derive(Clone)]
pub struct MemberKey {
    pub(super) a: G1,
    pub(super) x: Scalar,
}

impl MemberKey {
    /// Decodes; that the key is of some group is checked by [`super::SigningKey::new`].
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::exactly(MEMBER_KEY_BYTES, bytes)?;
        let (a, x) = (reader.take::<G1_BYTES>()?, reader.secret()?);
        let a = G1::from_bytes(a)?;
        Ok(Self { a, x })
    }

    /// Encodes as A || x. Secret.
    pub fn to_bytes(&self) -> Zeroizing<[u8; MEMBER_KEY_BYTES]> {
        let mut out = Zeroizing::new([0; MEMBER_KEY_BYTES]);
        out[..G1_BYTES].copy_from_slice(&self.a.to_bytes());
        out[G1_BYTES..].copy_from_slice(&self.x.to_bytes());
        out
    }

    /// A, by which an opened signature names this member.
    pub fn credential(&self) -> G1 {
        self.a
    }

    /// Checks e(A, w + x g2) = e(g1, g2): the key signs in the epoch of `group`.
    pub fn check(&self, group: &PublicKey) -> Result<(), Invalid> {
        let left = self.a.mul(&self.x) - group.g1;
        let (g2, w) = (PreparedG2::new(&group.g2), PreparedG2::new(&group.w));
        let holds = pairing_product([(&left, &g2), (&self.a, &w)]).is_identity();
        if holds { Ok(()) } else { Err(Invalid) }
    }
}

impl fmt::Debug for MemberKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MemberKey(..)")
    }
}

impl Drop for MemberKey {
    fn drop(&mut self) {
        self.a.zeroize();
        self.x.zeroize();
    }
}
