//! The group manager: creates groups, issues member keys, revokes them, and keeps the store.
//!
//! - [`Store`] is the directory of one group: `public/group.clew`, `issuer/` (database and issuer
//!   key), `trustees/N.key`. Every change is committed to the database before anything is published.
//! - [`keys`] has the key files and [`sealed`] their encryption; `spec/key-file.md` is the format.
//! - [`update`] brings a member key to the current epoch with nothing but the group file.
//! - [`dkg`] is how trustees make an opening key that nobody ever has, or hand one on.
//! - [`trustee`] is what one trustee does with its share, and the ledger that it keeps.
//!
//! The clock and the randomness are arguments; files and the database are this crate's business.

pub mod dkg;
mod error;
pub mod files;
pub mod keys;
pub mod sealed;
pub mod store;
pub mod trustee;
pub mod update;

pub use error::StoreError;
pub use store::{Created, Machine, PendingEnrolment, RegisterLines, Store};
