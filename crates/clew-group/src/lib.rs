//! Group signatures on BLS12-381: a member of a group signs, anybody checks that *some* member
//! signed, and only a quorum of trustees can say which. There are two schemes: with [`xr`], the
//! default, nobody else can sign as a member that joined by itself; with [`bbs04`] the issuer knows
//! every key.
//!
//! # Who asks whom for what
//!
//! In `bbs04`, which is the simpler one (for `xr` see there):
//!
//! 1. The **opener** makes the opening key and publishes `h`, `u`, `v` ([`bbs04::OpenerKey`]).
//! 2. The **issuer** makes the issuing key and publishes `w` ([`bbs04::IssuerKey`]). Both halves
//!    together are the [`bbs04::PublicKey`] of epoch 0.
//! 3. The issuer gives each **member** a [`bbs04::MemberKey`], and in each epoch a [`Witness`]
//!    ([`bbs04::IssuerKey::in_epoch`]).
//! 4. A member prepares [`bbs04::Precursor`]s ahead of time; each signs one message.
//! 5. A **verifier** holds a [`bbs04::VerifyingKey`] and answers yes or no.
//! 6. The opener finds the signer's base in a signature ([`bbs04::OpenerKey::open`]).
//!    Its key can be shared among trustees, any t of whom open together ([`quorum`]).
//! 7. A judge compares the base with a row of the register ([`bbs04::PublicKey::names`]).
//! 8. The issuer revokes a member: in the next epoch it gives witnesses to all others only
//!    ([`EpochIssuer`]). With `xr` it may publish a [`Step`] instead, from which the others compute
//!    their witnesses ([`Witness::after`]).
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
//!
//! # Secrets in memory
//!
//! Member keys, issuing keys, nonces and what a precursor knows live on the heap, are never moved
//! by value, and are wiped when dropped. Each function that computes with them overwrites the stack
//! that it used. What the caller's random number generator keeps is the caller's.
//!
//! Randomness is an argument everywhere; the crate has no clock, no IO and no global state.
//! Functions whose name has `vartime` take time that depends on their inputs and see public values
//! only.
#![no_std]
extern crate alloc;
#[cfg(test)]
extern crate std;

mod any;
pub mod bbs04;
pub mod curve;
mod epoch_issuer;
mod error;
mod pairings;
mod proof;
pub mod quorum;
mod scheme;
mod secret;
mod step;
mod transcript;
mod wire;
mod witness;
pub mod xr;

pub use any::{Fault, MemberKey, Precursor, PublicKey, Signed, SigningKey, VerifyingKey};
pub use epoch_issuer::EpochIssuer;
pub use error::{DecodeError, Invalid, Revoked};
pub use proof::{PROOF_BYTES, Proof};
pub use scheme::{EpochId, FOUNDING_BYTES, Scheme};
pub use step::{STEP_BYTES, Step, check_steps};
pub use transcript::domain_separator;
pub use witness::{WITNESS_BYTES, Witness};
