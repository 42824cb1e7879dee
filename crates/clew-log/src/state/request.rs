//! A request, and what came of it.

use crate::Hash;
use crate::entry::{Asks, Trusteeship};
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use clew_wire::WallTime;

/// A request, and what came of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// What it asks for.
    pub asks: Asks,
    /// The request's id.
    pub id: Hash,
    /// The statement of its entry.
    pub entry: Hash,
    /// The requester's key.
    pub author: [u8; 32],
    /// How many signatures its warrant covers.
    pub signatures: u32,
    /// The warrant's hash.
    pub warrant: Hash,
    /// When the log added it.
    pub logged: WallTime,
    /// Until when it is sealed; `None` if its warrant is public.
    pub sealed: Option<WallTime>,
    /// The trustees that said yes, in the log's order, and when the log added their answers.
    pub yes: Vec<(Trusteeship, WallTime)>,
    /// Trustees that refused, and did not say yes later: each with the rule's number.
    pub no: BTreeMap<Trusteeship, u8>,
    /// How many results the requester logged.
    pub results: u64,
}

impl Request {
    /// Returns when the log added the decision that completed a quorum of `threshold` trustees of one
    /// opening key. Returns `None` if there is no quorum.
    pub fn approved(&self, threshold: u8) -> Option<WallTime> {
        let mut said: BTreeMap<u32, u8> = BTreeMap::new();
        let completes = |(by, _): &&(Trusteeship, WallTime)| {
            let said = said.entry(by.since).or_default();
            *said = said.saturating_add(1);
            *said >= threshold
        };
        self.yes.iter().find(completes).map(|(_, time)| *time)
    }

    /// Returns whether the request had to be unsealed by `now`, and was not.
    pub fn is_overdue(&self, now: WallTime) -> bool {
        self.sealed.is_some_and(|end| end <= now)
    }
}
