//! XR, the default scheme (`spec/group-signature.md` section 3): the first ElGamal half of XSGS
//! (Delerablee and Pointcheval, VIETCRYPT 2006), with the commitment of its proof carried as a
//! point of G1 and a base of its own for the member's secret. Written additively here: `u^alpha` of
//! the specification is `u.mul(&alpha)`.
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
