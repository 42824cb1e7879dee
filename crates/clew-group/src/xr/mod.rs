//! XR, the default scheme (`spec/group-signature.md` section 3): the first ElGamal half of XSGS
//! (Delerablee and Pointcheval, VIETCRYPT 2006), with the commitment of its proof carried as a point
//! of G1 and a base of its own for the member's secret. Written additively here: `u^alpha` of the
//! specification is `u.mul(&alpha)`.
//!
//! **Nobody signs as a machine but the machine**, the issuer included: its secret y never leaves it
//! ([`Device`]). Trustees hold the opening key together; nobody opens alone.
//!
//! ```
//! # use rand_core::SeedableRng;
//! use clew_group::EpochId;
//! use clew_group::curve::Scalar;
//! use clew_group::xr::{Device, Generators, IssuerKey, SigningKey, VerifyingKey};
//! # let mut rng = rand_chacha::ChaCha20Rng::seed_from_u64(1);
//! let nonce = [7; 32];
//! let xi = Scalar::random_secret(&mut rng); // shared among trustees, and never in one place
//! let h = Generators::of(&nonce).u.mul(&xi);
//! let issuer = IssuerKey::generate(&mut rng);
//! let (group, proof) = issuer.found(&nonce, &h, &mut rng);
//! group.check_genesis(&nonce, &proof)?; // everybody who loads it
//!
//! // A machine joins, in four messages.
//! let session = [8; 32];
//! let (device, request) = Device::new(&group, &session, &mut rng);
//! let x = Scalar::random_secret(&mut rng);
//! let offer = issuer.offer(&group, &session, &request, &x, &mut rng)?;
//! let accepted = device.accept(&group, &offer)?; // and signs for it with its device key
//! let revoked: [Scalar; 0] = [];
//! let scale = issuer.scale(&revoked).expect("nobody is revoked");
//! let member = accepted.finish(&group, &scale.credential(&offer.credential(), &x))?;
//!
//! let epoch = EpochId([1; 32]); // of the record that publishes this key
//! let signer = SigningKey::new(&group, epoch, member)?;
//! let signature = signer.precursor(&mut rng).sign(&[b"a packet"]);
//! VerifyingKey::new(&group, epoch).verify(&[b"a packet"], &signature)?;
//!
//! let a = *signature.t2() - signature.t1().mul(&xi);
//! assert!(group.names(&a, &offer.credential()));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Who checks what
//!
//! A [`PublicKey`] made from bytes is well-formed and nothing more. Before it is used, whoever loads
//! it calls [`PublicKey::check_genesis`] for epoch 0 and [`PublicKey::check_descends_from`] for a
//! later one (or has it from [`PublicKey::after`] and [`PublicKey::with_opening`], which check one
//! step). No signature of a manager replaces that: with a key of the issuer's own making it could
//! sign as a machine, or mark the signatures of one.
//!
//! Functions take time that depends on their inputs only where they see public values: decoding,
//! verifying and the checks of public keys. Joining, updating and signing take constant time.

mod batch;
mod challenge;
mod generators;
mod issuer;
mod join;
mod member;
mod pseudonym;
mod public_key;
mod revocation;
mod signature;
mod signer;
#[cfg(test)]
mod torsion;
mod verifier;

pub use batch::{Form, Item};
pub use generators::Generators;
pub use issuer::{IssuerKey, Scale};
pub use join::{
    Accepted, CREDENTIAL_BYTES, Credential, DEVICE_BYTES, Device, JoinError, JoinRequest,
    OFFER_BYTES, Offer, REQUEST_BYTES,
};
pub use member::{MEMBER_KEY_BYTES, MemberKey};
pub use pseudonym::{PSEUDONYMOUS_BYTES, Pseudonym, PseudonymousPrecursor, PseudonymousSignature};
pub use public_key::{PUBLIC_KEY_BYTES, PublicKey};
pub use revocation::{REVOCATION_BYTES, Revocation};
pub use signature::{INCREMENTAL_BYTES, IncrementalSignature, SIGNATURE_BYTES, Signature};
pub use signer::{Nonces, Precursor, SigningKey};
pub use verifier::VerifyingKey;
