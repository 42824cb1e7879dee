//! eFFS, the signature scheme of Wong and Lam (1998, section 3): Feige-Fiat-Shamir with small verification
//! keys, CRT and precomputation, verified in levels. `spec/effs.md` is its definition, and says what is
//! repaired.
//!
//! ```
//! use clew_flow::effs::{Instance, Parameters, SecretKey, Signer, Verifier};
//! # use rand_chacha::{ChaCha20Rng, rand_core::SeedableRng};
//! # let rng = &mut ChaCha20Rng::seed_from_u64(1);
//!
//! let parameters: Parameters = "effs-2048(128,1)".parse().expect("there are such");
//! let secret = SecretKey::generate(parameters, rng);
//! let mut signer = Signer::new(&secret, || Instance([0; 32]));
//! let signature = signer.sign(b"message", rng).expect("this machine computes right");
//!
//! let verifier = Verifier::new(secret.public());
//! let assurance = verifier.verify(b"message", &signature, 1).expect("it holds");
//! assert_eq!(assurance.bits(), 128);
//! ```

mod challenge;
mod nonce;
mod parameters;
mod public;
mod root;
mod secret;
mod signer;
mod small;
#[cfg(test)]
mod tests;
mod verifier;

pub use nonce::{Instance, POOL_MAX};
pub use parameters::{Form, Parameters, Rule, Size};
pub use public::{BadKey, PublicKey};
pub use secret::SecretKey;
pub use signer::{Fault, Signer};
pub use verifier::{Assurance, Progress, Refusal, Verifier};
