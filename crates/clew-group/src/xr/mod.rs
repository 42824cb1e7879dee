//! XR, the default scheme (`spec/group-signature.md` section 3): the first ElGamal half of XSGS
//! (Delerablee and Pointcheval, VIETCRYPT 2006), with the commitment of its proof carried as a point
//! of G1 and a base of its own for the member's secret. Written additively here: `u^alpha` of the
//! specification is `u.mul(&alpha)`.
//!
//! **Nobody signs as a machine but the machine**: its secret y never leaves it ([`Device`]), the
//! issuer included. Trustees hold the opening key together ([`crate::xr`] has only its public point
//! h); nobody opens alone.
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
