//! BBS04: *Short Group Signatures*, Boneh, Boyen and Shacham, CRYPTO 2004, on BLS12-381, with Clue's
//! two refinements: signatures prepared before the message is known ([`Precursor`]), and signatures
//! that carry R1..R5 so that a verifier rejects early ([`IncrementalSignature`]).
//!
//! The letters are the paper's, section numbers too. Three things differ, each written out in
//! `spec/group-signature.md`: the pairing is of type 3, so `g1` and `g2` are the standard generators
//! and revocation publishes its values in both groups; the challenge hash reads the message last, so
//! that a precursor holds a hash state; and each epoch has a *lift*, by which an opener finds a
//! member's row in constant time.
//!
//! **The issuer knows every member's key and could sign in a member's name.** Choose this scheme
//! only where the issuer is trusted not to.

mod challenge;
mod issuer;
mod keys;
mod member;
mod opener;
mod quorum;
mod revocation;
mod signature;
mod verifier;

pub use challenge::Commitments;
pub use issuer::{IssuerKey, Issuing};
pub use keys::{MEMBER_KEY_BYTES, MemberKey, PUBLIC_KEY_BYTES, PublicKey};
pub use member::{Nonces, Precursor, SigningKey};
pub use opener::{OPENER_KEY_BYTES, OpenerKey, Opening};
pub use revocation::{REVOCATION_BYTES, Revocation};
pub use signature::{INCREMENTAL_BYTES, IncrementalSignature, SIGNATURE_BYTES, Signature};
pub use verifier::VerifyingKey;
