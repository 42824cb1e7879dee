//! Opening by trustees (`spec/group-signature.md` section 5): xi1 is shared in base u and xi2 in
//! base v, each by a polynomial of its own. h is C_0 of both.

use super::{OpenerKey, PublicKey, Signature};
use crate::curve::G1;
use crate::quorum::{Decryption, Part, Quorum, QuorumError, SecretShare, Sharing, Trustee};
use crate::{DecodeError, Invalid};
use alloc::vec::Vec;
use rand_core::CryptoRng;

impl OpenerKey {
    /// Shares out xi1 and xi2. Returns both sharings, and the shares of each by ascending index.
    /// The caller forgets this key. Returns [`Invalid`] if it is not that of `group`.
    pub fn deal(
        &self,
        group: &PublicKey,
        quorum: Quorum,
        rng: &mut impl CryptoRng,
    ) -> Result<([Sharing; 2], [Vec<SecretShare>; 2]), Invalid> {
        if !self.opens(group) {
            return Err(Invalid);
        }
        let mut deal = |base, secret| Sharing::deal(base, secret, quorum, rng).map_err(|_| Invalid);
        let (in_u, of_xi1) = deal(&group.u, &self.xi1)?;
        let (in_v, of_xi2) = deal(&group.opener_v, &self.xi2)?;
        Ok(([in_u, in_v], [of_xi1, of_xi2]))
    }
}

impl PublicKey {
    /// Returns both sharings of the opening key, from what a group file says beside this key:
    /// C_1..C_t-1 in base u and in base v (48 (t-1) bytes each).
    pub fn sharings(&self, rest: [&[u8]; 2], quorum: Quorum) -> Result<[Sharing; 2], DecodeError> {
        let [in_u, in_v] = rest;
        Ok([
            Sharing::from_parts(&self.u, &self.h, in_u, quorum)?,
            Sharing::from_parts(&self.opener_v, &self.h, in_v, quorum)?,
        ])
    }
}

impl Signature {
    /// Returns T1 = u^alpha.
    pub fn t1(&self) -> &G1 {
        &self.t1
    }

    /// Returns T2 = v^beta.
    pub fn t2(&self) -> &G1 {
        &self.t2
    }

    /// Returns T3 = B h^(alpha+beta), for the base B = A W that the signer has in this epoch.
    pub fn t3(&self) -> &G1 {
        &self.t3
    }

    /// Returns the parts that trustees decrypt to open this signature: T1 for xi1, T2 for xi2. The
    /// signature must have been verified.
    pub fn parts<'a>(&'a self, sharings: &'a [Sharing; 2], context: &'a [u8; 32]) -> [Part<'a>; 2] {
        let part = |number, sharing, point| Part {
            number,
            sharing,
            point,
            context,
        };
        let [in_u, in_v] = sharings;
        [part(1, in_u, &self.t1), part(2, in_v, &self.t2)]
    }

    /// Returns B = T3 / prod (D_i,1 D_i,2)^lambda_i, from both decryptions of at least t trustees,
    /// all of which are checked.
    pub fn open_by_trustees(
        &self,
        sharings: &[Sharing; 2],
        context: &[u8; 32],
        given: &[(Trustee, [Decryption; 2])],
    ) -> Result<G1, QuorumError> {
        let [first, second] = self.parts(sharings, context);
        let (d1, d2): (Vec<_>, Vec<_>) = given
            .iter()
            .map(|(trustee, [d1, d2])| ((*trustee, *d1), (*trustee, *d2)))
            .unzip();
        Ok(self.t3 - first.combine(&d1)? - second.combine(&d2)?)
    }
}
