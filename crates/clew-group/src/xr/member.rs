//! A member's key.

use super::PublicKey;
use crate::curve::{G1, G1_BYTES, SCALAR_BYTES, Scalar};
use crate::wire::{Reader, fill};
use crate::{DecodeError, Invalid};
use core::fmt;
use zeroize::{Zeroize, Zeroizing};

/// Size of an encoded member key: A (48 bytes), x, y (32 each).
pub const MEMBER_KEY_BYTES: usize = G1_BYTES + 2 * SCALAR_BYTES;

/// A member's key (A, x, y) with A^(gamma+x) = g1 h0^y, for one epoch. The issuer knows A and x;
/// nobody but the machine knows y. Secret; wiped when dropped.
#[derive(Clone)]
pub struct MemberKey {
    pub(super) a: G1,
    pub(super) x: Scalar,
    pub(super) y: Scalar,
}

impl MemberKey {
    /// Decodes; x or y of zero is [`DecodeError::Scalar`]. That the key is of some group is checked
    /// by [`Self::check`].
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::exactly(MEMBER_KEY_BYTES, bytes)?;
        let a = reader.take::<G1_BYTES>()?;
        let (x, y) = (reader.secret()?, reader.secret()?);
        let a = G1::from_bytes(a)?;
        Ok(Self { a, x, y })
    }

    /// Encodes as A || x || y. Secret.
    pub fn to_bytes(&self) -> Zeroizing<[u8; MEMBER_KEY_BYTES]> {
        let mut out = Zeroizing::new([0; MEMBER_KEY_BYTES]);
        let [x, y] = [self.x, self.y].map(|s| Zeroizing::new(s.to_bytes()));
        fill(&mut out, &[&self.a.to_bytes(), x.as_slice(), y.as_slice()]);
        out
    }

    /// A, by which an opened signature names this member.
    pub fn credential(&self) -> G1 {
        self.a
    }

    /// The member's check (spec 3.7) of this key in the epoch of `group`: that
    /// e(A, w G2^x) = e(g1 h0^y, G2), and that h_w is good. Together with the checks of `group` when
    /// it was loaded, they keep a bad update from marking every signature made with it.
    pub fn check(&self, group: &PublicKey) -> Result<(), Invalid> {
        let c = group.commitment(&self.y);
        if group.certifies(&self.a, &self.a.mul(&self.x), &c) && group.has_good_h_w() {
            Ok(())
        } else {
            Err(Invalid)
        }
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
        self.y.zeroize();
    }
}
