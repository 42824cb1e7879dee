//! XR, the default scheme (`spec/group-signature.md` section 3): the first ElGamal half of XSGS
//! (Delerablee and Pointcheval, VIETCRYPT 2006), with the commitment of its proof carried as a
//! point of G1 and a base of its own for the member's secret. Written additively here: `u^alpha` of
//! the specification is `u.mul(&alpha)`.
//!
//! **Nobody signs as a machine but the machine**, the issuer included: its secret y never leaves it
//! ([`Device`]). Trustees hold the opening key together; nobody opens alone.
//!
//! The crate's page has an example.
//!
//! # Credential and witness
//!
//! A machine's credential A = (g1 h0^y)^(1/(gamma+x)) never changes. Its witness
//! W = V^(1/(gamma+x)) does, with the V of the epoch. It signs with the base B = A W. A revocation
//! publishes x* and V' = V^(1/(gamma+x*)) ([`crate::Step`]), which is nobody's credential, and from
//! which everybody else computes its next witness ([`crate::Witness::after`]). After many steps the
//! group *rebases*: V is hashed anew, and the issuer publishes the witnesses of all who are not
//! revoked.
//!
//! # Who checks what
//!
//! A [`PublicKey`] from [`PublicKey::founded`] is well-formed and nothing more. Before it is used,
//! whoever loads it calls [`PublicKey::check_genesis`]. The V of a later epoch is hashed
//! ([`PublicKey::first_v`], [`PublicKey::rebased_v`]) or the last of a chain that [`crate::check_steps`] checked; then
//! [`PublicKey::in_epoch`] has the key. No signature of a manager replaces that for those who open,
//! judge, match or sign: with a V of its own making the issuer could sign as a machine, or mark the
//! signatures of one.
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
mod search;
mod signature;
mod signer;
#[cfg(test)]
mod torsion;
mod verifier;

pub use batch::{Form, Item};
pub use generators::Generators;
pub use issuer::IssuerKey;
pub use join::{DEVICE_BYTES, Device, JoinError, JoinRequest, OFFER_BYTES, Offer, REQUEST_BYTES};
pub use member::{MEMBER_KEY_BYTES, MemberKey};
pub use pseudonym::{PSEUDONYMOUS_BYTES, Pseudonym, PseudonymousPrecursor, PseudonymousSignature};
pub use public_key::PublicKey;
pub use search::Search;
pub use signature::{INCREMENTAL_BYTES, IncrementalSignature, SIGNATURE_BYTES, Signature};
pub use signer::{Nonces, Precursor, SigningKey};
pub use verifier::VerifyingKey;
