//! One trustee and its share of the opening key: it answers requests, keeps a ledger, and takes part in
//! distributed key generation (DKG). No database, no network.
//!
//! - [`rules`] says what a trustee checks before it gives a share: arguments in, a decision out.
//! - [`Responder`] answers requests by these rules, and keeps the trustee's files beside its key: the
//!   ledger of requests, and the state of a match under way.
//! - [`policy`] is whose warrants a trustee accepts and which witnesses it believes; [`approval`] has the
//!   rules of warrants and of the group's log.
//! - [`dkg`] is how trustees generate an opening key that nobody ever has, or hand one on.
//!
//! The clock and the randomness are arguments.

pub mod approval;
pub mod dkg;
mod error;
pub mod policy;
pub mod request;
mod responder;
pub mod rules;
pub mod sealed;
mod storage;

pub use error::{LedgerError, TrusteeError};
pub use responder::Responder;
