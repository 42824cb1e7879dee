//! Decryptions: a point to the power of a share, with the proof that it is (section 5.3).

use super::sharing::interpolate;
use super::trustee::check_count;
use super::{QuorumError, SecretShare, Set, Sharing, Trustee};
use crate::curve::{G1, G1_BYTES};
use crate::secret::shielded;
use crate::transcript::{domain_separator, with_points};
use crate::wire::{Values, concat};
use crate::{DecodeError, PROOF_BYTES, Proof};
use alloc::vec::Vec;
use rand_core::CryptoRng;
use sha2::{Digest, Sha256};

/// Size of a decryption: D (48 bytes), c, s (32 each).
pub const DECRYPTION_BYTES: usize = G1_BYTES + PROOF_BYTES;

const DOMAIN: [u8; 32] = domain_separator("clew-share-1");

/// One point to decrypt, in one request. `xr` asks for one part of each packet, `bbs04` for two; of
/// all of a signature's parts the context is the same.
#[derive(Clone, Copy, Debug)]
pub struct Part<'a> {
    /// Its number, from 1.
    pub number: u8,
    /// Of the secret whose power is asked for.
    pub sharing: &'a Sharing,
    /// P; not the identity.
    pub point: &'a G1,
    /// The id of the request (`spec/opening.md` section 2), which every proof binds.
    pub context: &'a [u8; 32],
}

/// D = P^share, and a proof that the exponent is that of the trustee's share key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decryption {
    d: G1,
    proof: Proof,
}

impl Part<'_> {
    /// Decrypts, in constant time, with a share of this sharing.
    pub fn decrypt(
        &self,
        share: &SecretShare,
        rng: &mut impl CryptoRng,
    ) -> Result<Decryption, QuorumError> {
        let key = share.check(self.sharing)?;
        if self.point.is_identity() {
            return Err(DecodeError::Identity.into());
        }
        Ok(shielded(|| {
            let d = self.point.mul(&share.scalar);
            let bases = [self.sharing.base(), self.point];
            let statement = self.statement(share.trustee(), &key, &d);
            let proof = Proof::new(bases, &share.scalar, statement, rng);
            Decryption { d, proof }
        }))
    }

    /// Checks what `trustee` gave; [`QuorumError::Decryption`] names it if it does not hold.
    pub fn verify(&self, trustee: Trustee, given: &Decryption) -> Result<(), QuorumError> {
        self.sharing.quorum().check(trustee)?;
        let key = self.sharing.share_key(trustee);
        let pairs = [[self.sharing.base(), &key], [self.point, &given.d]];
        let statement = self.statement(trustee, &key, &given.d);
        let nothing = key.is_identity() || self.point.is_identity() || given.d.is_identity();
        if !nothing && given.proof.holds(pairs, statement) {
            Ok(())
        } else {
            Err(QuorumError::Decryption { trustee })
        }
    }

    /// Checks every decryption, of at least t distinct trustees, and combines them: the product of
    /// D_i^lambda_i, which is the point to the power of the shared secret.
    pub fn combine(&self, given: &[(Trustee, Decryption)]) -> Result<G1, QuorumError> {
        let set = Set::of(given.iter().map(|(trustee, _)| *trustee))?;
        set.check(self.sharing.quorum())?;
        self.combine_of(set, &set.gather(given.iter().copied())?)
    }

    /// The same for decryptions of all of a set, in the order of indices.
    pub(super) fn combine_of(&self, set: Set, given: &[Decryption]) -> Result<G1, QuorumError> {
        check_count(set, given)?;
        let mut pairs = set.iter().zip(given);
        pairs.try_for_each(|(trustee, given)| self.verify(trustee, given))?;
        let points: Vec<G1> = given.iter().map(|given| given.d).collect();
        Ok(interpolate(set, &points))
    }

    /// Everything of the challenge but R and Q.
    fn statement(&self, trustee: Trustee, key: &G1, d: &G1) -> Sha256 {
        let hash = Sha256::new()
            .chain_update(DOMAIN)
            .chain_update(self.context)
            .chain_update([trustee.index(), self.number]);
        with_points(hash, &[*self.sharing.base(), *key, *self.point, *d])
    }
}

impl Decryption {
    /// Decodes, with the checks of every value.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut values = Values::exactly(DECRYPTION_BYTES, bytes)?;
        let d = values.take(G1_BYTES)?;
        let proof = Proof::from_bytes(values.take(PROOF_BYTES)?)?;
        let d = G1::from_bytes(d)?;
        Ok(Self { d, proof })
    }

    /// Encodes as D || c || s.
    pub fn to_bytes(&self) -> [u8; DECRYPTION_BYTES] {
        concat(&[&self.d.to_bytes(), &self.proof.to_bytes()])
    }
}
