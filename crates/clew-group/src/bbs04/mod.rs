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
//!
//! ```
//! # use rand_core::SeedableRng;
//! use clew_group::EpochId;
//! use clew_group::bbs04::{IssuerKey, OpenerKey, PublicKey, SigningKey, VerifyingKey};
//! # let mut rng = rand_chacha::ChaCha20Rng::seed_from_u64(1);
//! let nonce = [7; 32];
//! let (opener, opening) = OpenerKey::generate(&nonce, &mut rng);
//! let (issuer, issuing) = IssuerKey::generate(&mut rng);
//! let group = PublicKey::genesis(&nonce, &opening, &issuing);
//! let epoch = EpochId([1; 32]); // of the record that founds this group
//!
//! let member = issuer.issue_random(&mut rng);
//! let witness = issuer.in_epoch(&group, []).witness(member.x())?;
//! let signer = SigningKey::new(&group, epoch, member.clone(), &witness)?;
//! let signature = signer.precursor(&mut rng).sign(&[b"a packet"]);
//!
//! assert!(VerifyingKey::new(&group, epoch).verify(&[b"a packet"], &signature).is_ok());
//! let (base, row) = (opener.open(&signature), member.public_x());
//! assert!(group.certifies(&member.credential(), &row) && group.names(&base, &row));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

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
