//! The group manager: creates groups, issues member keys, revokes them, and keeps the store.
//!
//! - [`Store`] is the directory of one group: `public/`, `issuer/` (database and issuer key),
//!   `trustees/`. Every change is committed to the database before anything is published.
//! - [`join`] has the files by which a device joins from its own host, and the device's side.
//! - [`keys`] has the key files and [`sealed`] their encryption; `spec/key-file.md` is the format.
//! - [`update`] brings a member key to the epochs in force and announced, with the group file alone;
//!   after a rebase also with a [`witness_file`].
//! - [`dkg`] is how trustees make an opening key that nobody ever has, or hand one on.
//! - [`trustee`] is what one trustee does with its share, and the ledger that it keeps.
//!
//! The clock and the randomness are arguments; files and the database are this crate's business.

pub mod dkg;
mod error;
pub mod files;
mod index;
pub mod join;
pub mod keys;
pub mod sealed;
pub mod store;
pub mod trustee;
pub mod update;
pub mod witness_file;

pub use error::StoreError;
pub use index::{INDEXES_MAX, Progress};
pub use store::{Created, Invitation, Machine, NewGroup, Opening, PendingEnrolment, Store, When};
