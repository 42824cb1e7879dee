//! The quorum: n trustees hold the opening key in parts, and any t of them open together
//! (`spec/group-signature.md` section 5).
//!
//! # Who does what
//!
//! 1. The key comes to be: a dealer shares it out ([`Sharing::deal`], marked wherever people look,
//!    because the dealer could open alone), or the trustees make it so that it never exists anywhere
//!    ([`Founding`]). Later, [`Resharing`] hands it to other trustees or another t.
//! 2. For a packet, each trustee decrypts with its [`SecretShare`] ([`Part::decrypt`]) and proves
//!    that it did; t such [`Decryption`]s make the opening ([`Part::combine`]).
//! 3. Or a fixed set of trustees answers only whether one machine sent the packet ([`Match`]).
//!
//! Everything is checked with public values, and what fails names its trustee
//! ([`QuorumError::culprit`]).
//!
//! ```
//! # use rand_core::SeedableRng;
//! use clew_group::curve::{G1, Scalar};
//! use clew_group::quorum::{Part, Quorum, Sharing};
//! # let mut rng = rand_chacha::ChaCha20Rng::seed_from_u64(1);
//! let (base, xi) = (G1::generator(), Scalar::random(&mut rng));
//! let (sharing, shares) = Sharing::deal(&base, &xi, Quorum::new(2, 3)?, &mut rng)?;
//!
//! let point = G1::hash(b"example", b"T1 of a signature");
//! let part = Part { number: 1, sharing: &sharing, point: &point, context: &[7; 32] };
//! let mut given = Vec::new();
//! for share in &shares[1..] {
//!     given.push((share.trustee(), part.decrypt(share, &mut rng)?));
//! }
//! assert_eq!(part.combine(&given)?, point.mul(&xi));
//! # Ok::<(), clew_group::quorum::QuorumError>(())
//! ```
//!
//! A trustee's rules before it decrypts (verify the packet, keep a ledger, limit the rate) are the
//! caller's: `spec/opening.md` section 3.

mod decryption;
mod dkg;
mod error;
mod matching;
mod sharing;
mod trustee;

pub use decryption::{DECRYPTION_BYTES, Decryption, Part};
pub use dkg::{Broadcast, DEALT_SHARE_BYTES, DealtShare, Founding, Resharing};
pub use error::QuorumError;
pub use matching::{BLIND_BYTES, Blind, BlindCommitment, Blinding, Match, Product, Revealed};
pub use sharing::{SecretShare, Sharing};
pub use trustee::{Quorum, Set, Trustee};
