//! Group signatures on BLS12-381: a member of a group signs, anybody checks that *some* member
//! signed, and only a quorum of trustees can say which. There are two schemes: with [`xr`], the
//! default, nobody else can sign as a member that joined by itself; with [`bbs04`] the issuer knows
//! every key.
//!
//! # Who asks whom for what
//!
//! In `xr` (in [`bbs04`], the simpler one, the issuer hands out whole keys):
//!
//! 1. The **trustees** generate the opening key xi as a quorum ([`quorum`]) and publish
//!    `h = u^xi`. No party ever has xi as a whole.
//! 2. The **issuer** makes the issuing key and founds the group on `h` ([`xr::IssuerKey::found`]).
//!    The result is the [`xr::PublicKey`] of epoch 0, with a proof that everybody checks.
//! 3. A **member** draws its own secret and asks to join ([`xr::Device`]). The issuer's offer makes
//!    the [`xr::MemberKey`]. In each epoch a member has a [`Witness`] ([`xr::IssuerKey::in_epoch`]).
//! 4. A member prepares [`xr::Precursor`]s ahead of time; each signs one message.
//! 5. A **verifier** holds an [`xr::VerifyingKey`] and answers yes or no.
//! 6. Any t trustees find the signer's base in a signature together.
//! 7. A judge compares the base with a row of the register ([`xr::PublicKey::names`]).
//! 8. The issuer revokes a member: it publishes a [`Step`], from which all others compute their
//!    next witness ([`Witness::after`]), or gives new witnesses to all others ([`EpochIssuer`]).
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
//! // A machine joins. x is drawn afresh for every offer.
//! let session = [8; 32];
//! let (device, request) = Device::new(&group, &session, &mut rng);
//! let (x, s) = (Scalar::random_secret(&mut rng), Scalar::random(&mut rng));
//! let offer = issuer.offer(&group, &session, &request, &x, &s)?;
//! let member = device.accept(&group, &offer)?;
//! // The device vouches for its row, with its device key and with y.
//! let proof = member.prove_y(&group, b"what the row says", &mut rng);
//! // The issuer checks both and enters the row, and only then:
//! let c = offer.commitment(&group, &request);
//! assert!(group.proof_of_y_holds(&c, b"what the row says", &proof));
//! let witness = issuer.in_epoch(&group, []).witness(&x)?;
//!
//! let epoch = EpochId([1; 32]); // of the record that made this epoch
//! let signer = SigningKey::new(&group, epoch, member, &witness)?;
//! let signature = signer.precursor(&mut rng).sign(&[b"a packet"]);
//! VerifyingKey::new(&group, epoch).verify(&[b"a packet"], &signature)?;
//!
//! // Trustees open it, and the row that fits is found.
//! let b = *signature.t2() - signature.t1().mul(&xi);
//! assert!(group.certifies(offer.a(), &c, &x) && group.names(&b, &c, &x));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Secrets in memory
//!
//! Member keys, issuing keys, nonces and what a precursor knows live on the heap, are never moved
//! by value, and are wiped when dropped. Each function that computes with them overwrites the stack
//! that it used. What the caller's random number generator keeps is the caller's.
//!
//! Randomness is an argument everywhere; the crate has no clock and no IO. Memory that batches use again is
//! kept by `clew-simd`: public numbers only.
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
