//! How a machine joins (spec 3.2), one type for each thing that is said:
//!
//! ```text
//! device                                        issuer
//! Device::new            -- JoinRequest -->     IssuerKey::offer
//! Device::accept         <----- Offer ------
//! Accepted: signs S      ---- S (outside) -->   checks S, writes the register
//! Accepted::finish       <-- Credential ----    Scale::credential
//! ```
//! All points are of epoch 0, whatever the present epoch, but for A in the [`Credential`].

mod device;
mod error;
mod messages;

pub use device::{Accepted, DEVICE_BYTES, Device};
pub use error::JoinError;
pub use messages::{CREDENTIAL_BYTES, Credential, JoinRequest, OFFER_BYTES, Offer, REQUEST_BYTES};
