//! A trustee's files: the ledger of what it was asked, and the states of matches under way.

pub mod ledger;
pub mod match_state;
