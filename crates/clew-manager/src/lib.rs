//! The group manager: creates groups, issues member keys, revokes them, and keeps the store.
//!
//! [`Store`] is the directory of one group: `public/`, `issuer/` (database and issuer key),
//! `trustees/`. Every change is committed to the database before anything is published.
//!
//! The clock and the randomness are arguments; files and the database are this crate's business.

mod board;
mod error;
mod index;
mod storage;
mod store;

pub use board::{BOARD_BYTES_MAX, Board, BoardError, POST_PLAN};
pub use error::StoreError;
pub use index::Progress;
pub use store::{
    AHEAD_NS, AdmittedAuthor, Backup, Beside, CaughtUp, Created, EpochStart, FAR_NS, Factory,
    GROUP_FILE, IDLE_NS, INDEXES, ISSUER_KEY, Invitation, JoinAnswer, JoinRound, LISTED_MAX, LOG,
    LOG_URL, LoggedBody, Machine, NewGroup, Opening, OutboxEntry, PendingEnrolment, Pruned,
    ROUNDS_MAX, Retention, SERVICE_TLS, STEP_NS, ServiceLock, Store, Uptime, WITNESSES,
    judge_clocks_by, keys_of,
};
