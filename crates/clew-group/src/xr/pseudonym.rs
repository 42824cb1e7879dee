//! Pseudonyms (spec 3.10): within a scope one machine has one name, and names of two scopes cannot
//! be linked. Made from y, which nobody but the machine knows.

use super::challenge::{Challenge, state_in_scope};
use super::verifier::{encoded, transcript};
use super::{Nonces, Precursor, SIGNATURE_BYTES, Signature, SigningKey, VerifyingKey};
use crate::curve::multiexp::{OddMultiples, WIDTH_ONCE, multiexp_vartime};
use crate::curve::{G1, G1_BYTES};
use crate::secret::{Secret, shielded};
use crate::{DecodeError, Invalid};
use clew_wire::opaque;
use rand_core::CryptoRng;

/// Size of a signature with a pseudonym: the signature (288 bytes), nym (48).
pub const PSEUDONYMOUS_BYTES: usize = SIGNATURE_BYTES + G1_BYTES;

const NYM_DOMAIN: &[u8] = b"clew-xr-nym-1:BLS12381G1_XMD:SHA-256_SSWU_RO_";

/// nym = B^y, encoded: the one name of a machine in a scope.
pub type Pseudonym = [u8; G1_BYTES];

/// B of a scope.
fn base(scope: &[u8]) -> G1 {
    G1::hash(NYM_DOMAIN, scope)
}

impl SigningKey {
    /// Returns this machine's pseudonym in a scope (bytes that name domain, service and period).
    pub fn pseudonym(&self, scope: &[u8]) -> Pseudonym {
        shielded(|| base(scope).mul(self.key.y()).to_bytes())
    }

    /// Returns a precursor of a signature that shows this machine's name in a scope.
    pub fn precursor_in(&self, scope: &[u8], rng: &mut impl CryptoRng) -> PseudonymousPrecursor {
        self.precursor_in_from(scope, &Secret::new(|| Nonces::random(rng)))
    }

    /// Makes the precursor of a signature with a pseudonym from given nonces, for vectors. Whoever
    /// signs two messages with the same nonces publishes the key.
    ///
    /// ```text
    /// nym = B^y    R4 = B^ry
    /// ```
    pub fn precursor_in_from(&self, scope: &[u8], n: &Nonces) -> PseudonymousPrecursor {
        let base = base(scope);
        shielded(|| {
            let commitments = self.commitments(n);
            let nym = base.mul(self.key.y());
            let in_scope = G1::to_bytes_many(&[base, nym, base.mul(&n.ry)]);
            let state = state_in_scope(&self.id, &commitments.encoded, &in_scope);
            PseudonymousPrecursor {
                precursor: Precursor::new(state, commitments, self.secrets(n)),
                nym,
            }
        })
    }
}

/// One signature with a pseudonym but for the message. Signing consumes it:
///
/// ```compile_fail,E0382
/// # fn f(precursor: clew_group::xr::PseudonymousPrecursor) {
/// precursor.sign(&[b"one"]);
/// precursor.sign(&[b"two"]); // use of moved value
/// # }
/// ```
pub struct PseudonymousPrecursor {
    precursor: Precursor,
    nym: G1,
}

impl PseudonymousPrecursor {
    /// Signs the concatenation of `message`.
    pub fn sign(self, message: &[&[u8]]) -> PseudonymousSignature {
        PseudonymousSignature {
            signature: self.precursor.sign(message),
            nym: self.nym,
            encoded_nym: self.nym.to_bytes(),
        }
    }
}

opaque!(PseudonymousPrecursor);

/// A signature and the signer's name in a scope. What is within is not a signature by itself: its
/// challenge binds the name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PseudonymousSignature {
    signature: Signature,
    nym: G1,
    encoded_nym: Pseudonym,
}

impl PseudonymousSignature {
    /// Decodes 336 bytes, with the checks of every value.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, DecodeError> {
        let (signature, encoded_nym) = bytes.split_last_chunk().ok_or(DecodeError::Length)?;
        Ok(Self {
            signature: Signature::from_bytes(signature)?,
            nym: G1::from_bytes(encoded_nym)?,
            encoded_nym: *encoded_nym,
        })
    }

    /// Encodes as the signature || nym.
    pub fn to_bytes(&self) -> [u8; PSEUDONYMOUS_BYTES] {
        crate::wire::concat(&[&self.signature.to_bytes(), &self.encoded_nym])
    }

    /// Returns nym. It is only meaningful once the signature is verified.
    pub fn pseudonym(&self) -> Pseudonym {
        self.encoded_nym
    }

    /// Returns T1, for those who open.
    pub fn t1(&self) -> &G1 {
        self.signature.t1()
    }

    /// Returns T2, for those who open.
    pub fn t2(&self) -> &G1 {
        self.signature.t2()
    }
}

impl VerifyingKey {
    /// Verifies a signature with a pseudonym in a scope (spec 3.10): R4' = B^sy nym^(-c) enters the
    /// hash, the rest is as in [`Self::verify`].
    pub fn verify_pseudonymous(
        &self,
        scope: &[u8],
        message: &[&[u8]],
        signature: &PseudonymousSignature,
    ) -> Result<(), Invalid> {
        let PseudonymousSignature { signature, nym, .. } = signature;
        let encoded_r1 = encoded(&self.r1(signature))?;
        let base = base(scope);
        let [b] = OddMultiples::of([&base], WIDTH_ONCE);
        let [nym_table] = OddMultiples::of_short([nym], WIDTH_ONCE);
        let r4 = multiexp_vartime([(&b, signature.s.y), (&nym_table, -signature.c.scalar())]);
        let in_scope = G1::to_bytes_many(&[base, *nym, r4]);
        let state = state_in_scope(&self.id, &transcript(signature, &encoded_r1), &in_scope);
        if Challenge::of(state, message) != signature.c {
            return Err(Invalid);
        }
        self.check_pairing(signature)
    }
}
