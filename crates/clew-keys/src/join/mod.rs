//! A device joins from its own host (`spec/key-file.md` section 4), by files.
//!
//! ```text
//! issuer  invitation   ->  device     the group, a fresh nonce, the name; signed by the manager
//! device  request      ->  issuer     the device key, C' and the proof of y'
//! issuer  offer        ->  device     A, x, s, and what the register entry will say
//! device  acceptance   ->  issuer     S, the device's signature over its entry, and the proof of y
//! issuer  credential   ->  device     its row, and the witnesses of the epochs in force and announced
//! ```
//! The issuer's side is the store of `clew-manager`. The device's side is [`Joining`]: what it keeps
//! between the rounds. Both survive a crash between any two rounds, and each round that is repeated gives the
//! same file again. y' and the device's seed are in [`Joining`] and in the key file, and nowhere else.

mod applicant;
mod device;
mod factory;
mod fault;
mod files;

pub use applicant::Applicant;
pub use device::Joining;
pub use factory::{ClaimFile, FactoryFile, factory_nonce};
pub use fault::JoinFault;
pub use files::{
    AcceptanceFile, CredentialFile, InvitationFile, OfferFile, RequestFile, Round, round,
};
