//! Group signatures: a member of a group signs, anybody checks that *some* member signed, and only
//! the trustees can say which. Two schemes: [`xr`], the default, where nobody but a machine signs as
//! that machine; and [`bbs04`], where the issuer knows every key.
//!
//! # Who asks whom for what
//!
//! In `bbs04`, which is the simpler one (for `xr` see there):
//!
//! 1. The **opener** makes the opening key and publishes `h`, `u`, `v` ([`bbs04::OpenerKey`]).
//! 2. The **issuer** makes the issuing key and publishes `w` ([`bbs04::IssuerKey`]). Both halves
//!    together are the [`bbs04::PublicKey`] of epoch 0.
//! 3. The issuer gives each **member** a [`bbs04::MemberKey`].
//! 4. A member prepares [`bbs04::Precursor`]s ahead of time; each signs one message.
//! 5. A **verifier** holds a [`bbs04::VerifyingKey`] and answers yes or no.
//! 6. The opener finds the member's credential in a signature ([`bbs04::OpenerKey::open`]).
//!    Its key can be shared among trustees, any t of whom open together ([`quorum`]).
//! 7. The issuer revokes a member: everybody moves to the next epoch ([`bbs04::Revocation`]).
//!
//! ```
//! # use rand_core::SeedableRng;
//! use clew_group::EpochId;
//! use clew_group::bbs04::{IssuerKey, OpenerKey, PublicKey, SigningKey, VerifyingKey};
//! # let mut rng = rand_chacha::ChaCha20Rng::seed_from_u64(1);
//! let nonce = [7; 32];
//! let (opener, opening) = OpenerKey::generate(&nonce, &mut rng);
//! let (issuer, issuing) = IssuerKey::generate(&mut rng);
//! let group = PublicKey::genesis(&opening, &issuing);
//! let epoch = EpochId([1; 32]); // of the record that publishes this key
//!
//! let member = issuer.issue_random(&group, &mut rng);
//! let signer = SigningKey::new(&group, epoch, member.clone()).expect("the issuer gave a good key");
//! let signature = signer.precursor(&mut rng).sign(&[b"a packet"]);
//!
//! assert!(VerifyingKey::new(&group, epoch).verify(&[b"a packet"], &signature).is_ok());
//! assert_eq!(opener.open(&signature), member.credential());
//! ```
//!
//! Randomness is an argument everywhere; the crate has no clock, no IO and no global state. Functions
//! whose name has `vartime` take time that depends on their inputs and see public values only.
#![no_std]
extern crate alloc;
#[cfg(test)]
extern crate std;

mod any;
pub mod bbs04;
pub mod curve;
mod error;
mod pairings;
mod proof;
pub mod quorum;
mod scheme;
mod transcript;
mod wire;
pub mod xr;

pub use any::{Fault, MemberKey, Precursor, PublicKey, Signed, SigningKey, VerifyingKey};
pub use error::{DecodeError, Invalid, Revoked};
pub use pairings::Tag;
pub use proof::{PROOF_BYTES, Proof};
pub use scheme::{EpochId, Scheme};
pub use transcript::domain_separator;
