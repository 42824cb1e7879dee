//! A trustee's files: the ledger of what it was asked, what it saw of the group's log, and the
//! states of matches under way.

pub mod ledger;
pub mod match_state;
pub mod seen;
