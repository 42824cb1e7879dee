//! The group manager: creates groups, issues member keys, revokes them, and keeps the store.
//!
//! - [`Store`] is the directory of one group: `public/`, `issuer/` (database and issuer key),
//!   `trustees/`. Every change is committed to the database before anything is published.
//! - [`dkg`] is how trustees make an opening key that nobody ever has, or hand one on.
//! - [`trustee`] is what one trustee does with its share, and the ledger that it keeps.
//!
//! The clock and the randomness are arguments; files and the database are this crate's business.

pub mod dkg;
mod error;
mod index;
pub mod store;
pub mod trustee;

pub use error::StoreError;
pub use index::{INDEXES_MAX, Progress};
pub use store::{Created, Invitation, Machine, NewGroup, Opening, PendingEnrolment, Store, When};
