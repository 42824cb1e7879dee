//! Distributed key generation (DKG) as files: trustees make an opening key that nobody ever has, or
//! hand one on to other trustees (`spec/opening-key.md`).
//!
//! 1. The manager writes a [`Plan`].
//! 2. Each trustee begins: a [`State`] that stays secret, and a [`Hello`] with its public keys.
//! 3. Each dealer deals: a [`Deal`] has its broadcast and a share for each trustee, each encrypted to
//!    its trustee's key. It names all hellos, so that a swapped one is noticed.
//! 4. The manager adds the deals up ([`Dealing`]) and writes the sum into the group's record.
//! 5. Each trustee opens what was dealt to it ([`State::receive`]), finds the same sum in the group
//!    file ([`Received::key`]), and has its key.
//!
//! What a file says is checked before it is used, and what fails names its trustee
//! ([`DkgError::culprit`]). Every step can be repeated and gives the same bytes.

mod deal;
mod error;
mod hello;
mod plan;
mod proposal;
mod receive;
mod record;
mod seal;
mod state;

pub use deal::{Deal, Dealing};
pub use error::DkgError;
pub use hello::{Hello, Participant, Participants, Role};
pub use plan::{OldKey, Place, Plan, Purpose};
pub use proposal::{Proposal, Seat};
pub use receive::Received;
pub use state::State;

use clew_group::curve::G1;
use clew_group::{domain_separator, xr};
use sha2::{Digest, Sha256};

/// SHA-256 of a label, filled to 32 bytes, and what follows it.
fn hash(label: &str, parts: &[&[u8]]) -> [u8; 32] {
    let hash = Sha256::new_with_prefix(domain_separator(label));
    let hash = parts
        .iter()
        .fold(hash, |hash, part| hash.chain_update(part));
    hash.finalize().into()
}

/// u, the base in which opening keys are shared.
fn base(nonce: &[u8; 32]) -> G1 {
    xr::Generators::of(nonce).u
}
