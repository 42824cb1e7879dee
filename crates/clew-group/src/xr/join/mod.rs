//! How a machine joins (spec 3.2):
//!
//! ```text
//! device                                            issuer
//! Device::new                -- JoinRequest -->     IssuerKey::offer
//! Device::accept             <----- Offer ------
//! signs S (outside),
//! MemberKey::prove_y         ----- S, Proof --->    checks both, enters the row
//! SigningKey::new            <---- Witness -----    EpochIssuer::witness
//! ```
//! A and x sign nothing without a witness, so the issuer gives none before the row is entered. Any
//! number of joins may run at once.

mod device;
mod error;
mod messages;

pub use device::{DEVICE_BYTES, Device};
pub use error::JoinError;
pub use messages::{JoinRequest, OFFER_BYTES, Offer, REQUEST_BYTES};
