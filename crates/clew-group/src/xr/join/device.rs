//! The device's side: its secret y, from the request to the member key.

use super::JoinError;
use super::messages::{Credential, JoinRequest, Offer};
use crate::DecodeError;
use crate::curve::{G1, SCALAR_BYTES, Scalar};
use crate::wire::{Reader, fill};
use crate::xr::{MemberKey, PublicKey};
use core::fmt;
use rand_core::CryptoRng;
use zeroize::Zeroizing;

/// Size of an encoded device: session, y (32 bytes each).
pub const DEVICE_BYTES: usize = 32 + SCALAR_BYTES;

/// A device that has asked to join. Holds y, which never leaves it; wiped when dropped.
pub struct Device {
    session: [u8; 32],
    y: Zeroizing<Scalar>,
    c: G1,
}

impl Device {
    /// Draws y and asks to join (step 1). `session` names this join and no other.
    pub fn new(
        genesis: &PublicKey,
        session: &[u8; 32],
        rng: &mut impl CryptoRng,
    ) -> (Self, JoinRequest) {
        let y = Zeroizing::new(Scalar::random_secret(rng));
        let request = JoinRequest::of(genesis, session, &y, rng);
        let c = request.commitment();
        let session = *session;
        (Self { session, y, c }, request)
    }

    /// Decodes what [`Self::to_bytes`] kept, for a join that takes longer than a process lives.
    pub fn from_bytes(genesis: &PublicKey, bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::exactly(DEVICE_BYTES, bytes)?;
        let session = *reader.take()?;
        let y = Zeroizing::new(reader.secret()?);
        let c = genesis.commitment(&y);
        Ok(Self { session, y, c })
    }

    /// Encodes as session || y. Secret.
    pub fn to_bytes(&self) -> Zeroizing<[u8; DEVICE_BYTES]> {
        let mut out = Zeroizing::new([0; DEVICE_BYTES]);
        let y = Zeroizing::new(self.y.to_bytes());
        fill(&mut out, &[&self.session, y.as_slice()]);
        out
    }

    /// Checks the issuer's offer (step 3): its proof of x, and
    /// e(A, w) e(D, G2) = e(g1_0 C, G2). Only what comes out of this may be signed with the
    /// device key.
    pub fn accept(self, genesis: &PublicKey, offer: &Offer) -> Result<Accepted, JoinError> {
        offer.check(genesis, &self.session, &self.c)?;
        Ok(Accepted {
            y: self.y,
            c: self.c,
            a: offer.a,
            d: offer.d,
        })
    }
}

impl fmt::Debug for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Device(..)")
    }
}

/// A device that has a good offer: it signs S over [`Self::commitment`] and [`Self::credential`]
/// with its device key, outside this crate, and waits for x.
pub struct Accepted {
    y: Zeroizing<Scalar>,
    c: G1,
    a: G1,
    d: G1,
}

impl Accepted {
    /// C_0, for S.
    pub fn commitment(&self) -> G1 {
        self.c
    }

    /// A_0, for S.
    pub fn credential(&self) -> G1 {
        self.a
    }

    /// Makes the member key for the epoch of `now` (step 5): checks D = A^x,
    /// e(A_e, lift) = e(A, G2), and the key itself ([`MemberKey::check`]). `now` is one of the
    /// group's: loading it checked that.
    pub fn finish(self, now: &PublicKey, credential: &Credential) -> Result<MemberKey, JoinError> {
        if self.a.mul(&credential.x) != self.d {
            return Err(JoinError::IssuerChangedX);
        }
        if !now.names(&credential.a, &self.a) {
            return Err(JoinError::IssuerChangedCredential);
        }
        let key = MemberKey {
            a: credential.a,
            x: credential.x,
            y: *self.y,
        };
        let fits = key.check(now);
        fits.map_err(|_| JoinError::IssuerChangedPublicKey)?;
        Ok(key)
    }
}

impl fmt::Debug for Accepted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Accepted(..)")
    }
}
