//! Both schemes behind one set of types, for those who carry signatures and do not look into them.

mod forms;

use crate::curve::{G1, G2, Scalar};
use crate::{DecodeError, EpochId, FOUNDING_BYTES, Invalid, Scheme, Witness, bbs04, xr};
use alloc::boxed::Box;
use alloc::vec::Vec;
use clew_wire::opaque;
use forms::Xr;
use rand_core::CryptoRng;
use zeroize::Zeroizing;

/// What the expression gives for the value of either scheme.
macro_rules! either {
    ($self:expr, $value:ident => $expression:expr) => {
        match $self {
            Self::Bbs04($value) => $expression,
            Self::Xr($value) => $expression,
        }
    };
}

impl Scheme {
    /// Length of the longest signature in any form of any scheme, in bytes.
    pub const SIGNATURE_BYTES_MAX: usize = bbs04::INCREMENTAL_BYTES;

    /// Returns the length of a signature in bytes.
    pub const fn signature_bytes(self, incremental: bool) -> usize {
        match (self, incremental) {
            (Self::Bbs04, false) => bbs04::SIGNATURE_BYTES,
            (Self::Bbs04, true) => bbs04::INCREMENTAL_BYTES,
            (Self::Xr, false) => xr::SIGNATURE_BYTES,
            (Self::Xr, true) => xr::INCREMENTAL_BYTES,
        }
    }

    /// Returns the length of a member key in bytes.
    pub const fn member_key_bytes(self) -> usize {
        match self {
            Self::Bbs04 => bbs04::MEMBER_KEY_BYTES,
            Self::Xr => xr::MEMBER_KEY_BYTES,
        }
    }
}

/// The group public key of one epoch.
#[allow(
    clippy::large_enum_variant,
    reason = "few are held, and neither is small"
)]
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum PublicKey {
    /// Of BBS04.
    Bbs04(bbs04::PublicKey),
    /// Of XR.
    Xr(xr::PublicKey),
}

impl PublicKey {
    /// Decodes a founding key, and returns the key of epoch 0 of the group with that nonce.
    pub fn founded(scheme: Scheme, nonce: &[u8; 32], founding: &[u8]) -> Result<Self, DecodeError> {
        match scheme {
            Scheme::Bbs04 => bbs04::PublicKey::founded(nonce, founding).map(Self::Bbs04),
            Scheme::Xr => xr::PublicKey::founded(nonce, founding).map(Self::Xr),
        }
    }

    /// Encodes the founding key.
    pub fn founding_bytes(&self) -> [u8; FOUNDING_BYTES] {
        either!(self, key => key.founding_bytes())
    }

    /// Returns the V of epoch 0.
    pub fn first_v(scheme: Scheme, nonce: &[u8; 32]) -> G1 {
        match scheme {
            Scheme::Bbs04 => bbs04::PublicKey::first_v(nonce),
            Scheme::Xr => xr::PublicKey::first_v(nonce),
        }
    }

    /// Returns the V of the rebase that began this epoch, whose record has this id.
    pub fn rebased_v(scheme: Scheme, nonce: &[u8; 32], epoch: u32, id: &EpochId) -> G1 {
        match scheme {
            Scheme::Bbs04 => bbs04::PublicKey::rebased_v(nonce, epoch, id),
            Scheme::Xr => xr::PublicKey::rebased_v(nonce, epoch, id),
        }
    }

    /// Returns the key of the epoch with that V, which the caller knows to be the group's.
    ///
    /// # Errors
    /// [`Invalid`] if V or g1 V is the identity.
    pub fn in_epoch(&self, v: &G1) -> Result<Self, Invalid> {
        match self {
            Self::Bbs04(key) => key.in_epoch(v).map(Self::Bbs04),
            Self::Xr(key) => key.in_epoch(v).map(Self::Xr),
        }
    }

    /// Returns the V of this epoch.
    pub fn v(&self) -> &G1 {
        either!(self, key => key.v())
    }

    /// Returns w = G2^gamma.
    pub fn w(&self) -> &G2 {
        either!(self, key => key.w())
    }

    /// Returns the scheme.
    pub fn scheme(&self) -> Scheme {
        match self {
            Self::Bbs04(_) => Scheme::Bbs04,
            Self::Xr(_) => Scheme::Xr,
        }
    }
}

/// A member's key, the same in every epoch. Secret; on the heap, and wiped when dropped.
#[derive(Clone, Debug)]
pub enum MemberKey {
    /// (A, x).
    Bbs04(bbs04::MemberKey),
    /// (A, x, y).
    Xr(xr::MemberKey),
}

impl MemberKey {
    /// Decodes; that the key is of some group is checked by [`SigningKey::new`].
    pub fn from_bytes(scheme: Scheme, bytes: &[u8]) -> Result<Self, DecodeError> {
        match scheme {
            Scheme::Bbs04 => bbs04::MemberKey::from_bytes(bytes).map(Self::Bbs04),
            Scheme::Xr => xr::MemberKey::from_bytes(bytes).map(Self::Xr),
        }
    }

    /// Encodes as [`Scheme::member_key_bytes`] bytes. Secret.
    pub fn to_bytes(&self) -> Zeroizing<Vec<u8>> {
        either!(self, key => key.to_bytes())
    }

    /// Returns the scheme.
    pub fn scheme(&self) -> Scheme {
        match self {
            Self::Bbs04(_) => Scheme::Bbs04,
            Self::Xr(_) => Scheme::Xr,
        }
    }

    /// Returns A, which the register has in this member's row.
    pub fn credential(&self) -> G1 {
        either!(self, key => key.credential())
    }

    /// Returns x, which the member update needs ([`Witness::after`]). Secret.
    pub fn x(&self) -> &Scalar {
        either!(self, key => key.x())
    }
}

/// A member key with its tables for one epoch.
pub enum SigningKey {
    /// Of BBS04.
    Bbs04(Box<bbs04::SigningKey>),
    /// Of XR.
    Xr(Box<xr::SigningKey>),
}

impl SigningKey {
    /// Prepares a key and its witness for the epoch of `group`, with the member's check.
    pub fn new(
        group: &PublicKey,
        id: EpochId,
        key: MemberKey,
        witness: &Witness,
    ) -> Result<Self, Invalid> {
        match (group, key) {
            (PublicKey::Bbs04(group), MemberKey::Bbs04(key)) => {
                bbs04::SigningKey::new(group, id, key, witness)
                    .map(|key| Self::Bbs04(Box::new(key)))
            }
            (PublicKey::Xr(group), MemberKey::Xr(key)) => {
                xr::SigningKey::new(group, id, key, witness).map(|key| Self::Xr(Box::new(key)))
            }
            _ => Err(Invalid),
        }
    }

    /// Returns the scheme.
    pub fn scheme(&self) -> Scheme {
        match self {
            Self::Bbs04(_) => Scheme::Bbs04,
            Self::Xr(_) => Scheme::Xr,
        }
    }

    /// Computes everything of one signature that does not depend on the message.
    pub fn precursor(&self, rng: &mut impl CryptoRng) -> Precursor {
        match self {
            Self::Bbs04(key) => Precursor::Bbs04(Box::new(key.precursor(rng))),
            Self::Xr(key) => Precursor::Xr(Box::new(key.precursor(rng))),
        }
    }

    /// Computes many precursors, of XR eight at once where the machine can.
    pub fn precursors(&self, count: usize, rng: &mut impl CryptoRng) -> Vec<Precursor> {
        match self {
            Self::Bbs04(_) => (0..count).map(|_| self.precursor(rng)).collect(),
            Self::Xr(key) => {
                let precursors = key.precursors(count, rng).into_iter();
                precursors
                    .map(|precursor| Precursor::Xr(Box::new(precursor)))
                    .collect()
            }
        }
    }
}

opaque!(SigningKey);

/// One signature but for the message. Signing consumes it.
#[derive(Debug)]
pub enum Precursor {
    /// Of BBS04.
    Bbs04(Box<bbs04::Precursor>),
    /// Of XR.
    Xr(Box<xr::Precursor>),
}

impl Precursor {
    /// Signs the concatenation of `message` into `body`.
    ///
    /// # Panics
    /// If `body` is not [`Scheme::signature_bytes`] long.
    pub fn sign(self, message: &[&[u8]], incremental: bool, body: &mut [u8]) {
        match (self, incremental) {
            (Self::Bbs04(p), false) => body.copy_from_slice(&p.sign(message).to_bytes()),
            (Self::Bbs04(p), true) => body.copy_from_slice(&p.sign_incremental(message).to_bytes()),
            (Self::Xr(p), false) => body.copy_from_slice(&p.sign(message).to_bytes()),
            (Self::Xr(p), true) => body.copy_from_slice(&p.sign_incremental(message).to_bytes()),
        }
    }
}

/// Why a signature in bytes was not accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The bytes are no signature.
    Encoding(DecodeError),
    /// Verification said no.
    Invalid,
}

impl From<DecodeError> for Fault {
    fn from(error: DecodeError) -> Self {
        Self::Encoding(error)
    }
}

impl From<Invalid> for Fault {
    fn from(_: Invalid) -> Self {
        Self::Invalid
    }
}

/// A message, the encoded signature over it, and the form of that.
#[derive(Clone, Copy, Debug)]
pub struct Signed<'a> {
    /// What was signed.
    pub message: &'a [u8],
    /// The encoded signature.
    pub body: &'a [u8],
    /// Whether it is in incremental form.
    pub incremental: bool,
}

/// The public key of one epoch with its tables.
#[derive(Debug)]
pub enum VerifyingKey {
    /// Of BBS04.
    Bbs04(Box<bbs04::VerifyingKey>),
    /// Of XR.
    Xr(Box<xr::VerifyingKey>),
}

impl VerifyingKey {
    /// Prepares a public key.
    pub fn new(group: &PublicKey, id: EpochId) -> Self {
        match group {
            PublicKey::Bbs04(key) => Self::Bbs04(Box::new(bbs04::VerifyingKey::new(key, id))),
            PublicKey::Xr(key) => Self::Xr(Box::new(xr::VerifyingKey::new(key, id))),
        }
    }

    /// Returns the scheme.
    pub fn scheme(&self) -> Scheme {
        match self {
            Self::Bbs04(_) => Scheme::Bbs04,
            Self::Xr(_) => Scheme::Xr,
        }
    }

    /// Decodes and verifies; of an incremental form the hash comes first, over its bytes, so that a
    /// packet that was changed costs no more than that. `rng` chooses the order of the equations of
    /// an incremental form.
    pub fn verify(&self, signed: Signed<'_>, rng: &mut impl CryptoRng) -> Result<(), Fault> {
        let Signed {
            message,
            body,
            incremental,
        } = signed;
        match (self, incremental) {
            (Self::Bbs04(key), false) => {
                key.verify(&[message], &bbs04::Signature::from_bytes(body)?)?;
            }
            (Self::Bbs04(key), true) => {
                self.check_hash(signed)?;
                let signature = bbs04::IncrementalSignature::from_bytes(body)?;
                key.verify_incremental(&[message], &signature, rng)?;
            }
            (Self::Xr(key), _) => match Xr::decode(key, &signed)? {
                Xr::Plain(signature) => key.verify(&[message], &signature)?,
                Xr::Incremental(signature) => {
                    key.verify_incremental(&[message], &signature, rng)?;
                }
            },
        }
        Ok(())
    }

    /// Checks what costs no more than a hash: that c of an incremental form is the hash of what the form
    /// carries. A plain form passes; its hash takes the whole computation.
    ///
    /// # Errors
    /// It is not, or the length is wrong: the signature does not hold.
    pub fn check_hash(&self, signed: Signed<'_>) -> Result<(), Fault> {
        let Signed {
            message,
            body,
            incremental,
        } = signed;
        if !incremental {
            return Ok(());
        }
        match self {
            Self::Bbs04(key) => {
                let body = body.try_into().map_err(|_| DecodeError::Length)?;
                Ok(key.check_hash(&[message], body)?)
            }
            Self::Xr(key) => {
                let body = body.try_into().map_err(|_| DecodeError::Length)?;
                Ok(key.check_hash(&[message], body)?)
            }
        }
    }

    /// Verifies many signatures and returns an answer for each, in batches where the scheme has
    /// them.
    pub fn verify_batch(
        &self,
        signed: &[Signed<'_>],
        rng: &mut impl CryptoRng,
    ) -> Vec<Result<(), Fault>> {
        match self {
            Self::Bbs04(_) => signed.iter().map(|s| self.verify(*s, rng)).collect(),
            Self::Xr(key) => forms::verify_batch(key, signed, rng),
        }
    }
}
