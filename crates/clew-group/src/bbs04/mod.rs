//! BBS04: *Short Group Signatures*, Boneh, Boyen and Shacham, CRYPTO 2004, on BLS12-381, with
//! Clue's two refinements: signatures prepared before the message is known ([`Precursor`]), and
//! signatures that carry R1..R5 so that a verifier rejects early ([`IncrementalSignature`]).
//!
//! The letters are the paper's, section numbers too. Three things differ, each written out in
//! `spec/group-signature.md`: the pairing is of type 3, and `g1` and `g2` are the standard
//! generators; the challenge hash reads the message last, so that a precursor holds a hash state;
//! and revocation is not that of section 7, which publishes credentials of the epochs before. Here
//! a member keeps A = g1^(1/(gamma+x)) for ever and signs with B = A W, where W = V^(1/(gamma+x))
//! is its [`crate::Witness`] in the epoch. A revocation is a *rebase*: V is hashed anew, and the
//! issuer publishes the W of all who are not revoked. No x is ever published.
//!
//! **The issuer knows every member's key and could sign in a member's name.** Choose this scheme
//! only where the issuer is trusted not to.

mod challenge;
mod issuer;
mod member_key;
mod opener;
mod public_key;
mod quorum;
mod signature;
mod signer;
mod verifier;

pub use challenge::Commitments;
pub use issuer::{IssuerKey, Issuing};
pub use member_key::{MEMBER_KEY_BYTES, MemberKey};
pub use opener::{OpenerKey, Opening};
pub use public_key::PublicKey;
pub use signature::{INCREMENTAL_BYTES, IncrementalSignature, SIGNATURE_BYTES, Signature};
pub use signer::{Nonces, Precursor, SigningKey};
pub use verifier::VerifyingKey;
