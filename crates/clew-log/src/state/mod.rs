//! What a group's log says so far, and which entry may come next (`spec/log.md` sections 3 and 4).

mod counts;
mod kept;
mod rule;

pub use counts::{Counts, Month};
pub use kept::KeptState;
pub use rule::Rule;

use crate::Hash;
use crate::entry::{Answer, Asks, Body, Filed, Logged, Role, Seal, Trusteeship, Warrant};
use crate::tree::Frontier;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;
use clew_wire::{Name, WallTime};
use core::time::Duration;

/// How far an author's clock may differ from the log's.
pub const CLOCK_DIFFERENCE_MAX: Duration = Duration::from_secs(3_600);
/// How long a request may stay sealed, from the log's time on.
pub const SEAL_MAX: Duration = Duration::from_secs(366 * 86_400);

/// Which group a log is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Founder {
    /// SHA-256 of record 0 of the group file. Its first 16 bytes are the group's id.
    pub record: Hash,
    /// The manager's Ed25519 key.
    pub manager: [u8; 32],
}

impl Founder {
    /// Returns the group's id.
    pub fn group(&self) -> [u8; 16] {
        core::array::from_fn(|place| self.record[place])
    }

    /// Takes the founder from a log's first entry. Returns `None` if it is not a `group` entry.
    ///
    /// Whoever has the group file compares; without it, it is the log's word which group this is.
    pub fn of(first: &Logged) -> Option<Self> {
        let Body::Group { record } = first.entry.body else {
            return None;
        };
        let founder = Self {
            record,
            manager: first.entry.author,
        };
        (founder.group() == first.entry.group).then_some(founder)
    }
}

/// What a log's entries say, from the first one on. It grows with requests, epochs and authors, and by no
/// more than their entries.
#[derive(Clone, Debug)]
pub struct LogState {
    founder: Founder,
    size: u64,
    authors: BTreeMap<[u8; 32], Author>,
    /// Which key has which share of which opening key. A new opening key takes none of an earlier one: its
    /// trustees decide about the packets of its epochs as long as the log goes on.
    trustees: BTreeMap<Trusteeship, [u8; 32]>,
    rows: u32,
    register: Frontier,
    roots: BTreeMap<u32, Option<Hash>>,
    epochs: Vec<Hash>,
    requests: BTreeMap<u64, Request>,
    /// Which author filed which request id. Whoever learns of an id can file it as well, and must not keep its
    /// requester from doing so.
    filed: BTreeSet<([u8; 32], Hash)>,
}

/// Whose key it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Author {
    /// What it may write; of several trusteeships the newest.
    pub role: Role,
    /// Its name, in the manager's words.
    pub name: Name,
    /// How many entries said what it may write.
    pub changes: u32,
}

/// A request, and what came of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// What it asks for.
    pub asks: Asks,
    /// The request's id.
    pub id: Hash,
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

impl LogState {
    /// The state of a log without entries.
    pub const fn new(founder: Founder) -> Self {
        Self {
            founder,
            size: 0,
            authors: BTreeMap::new(),
            trustees: BTreeMap::new(),
            rows: 0,
            register: Frontier::EMPTY,
            roots: BTreeMap::new(),
            epochs: Vec::new(),
            requests: BTreeMap::new(),
            filed: BTreeSet::new(),
        }
    }

    /// Remembers the root of the register at these numbers of rows, when it comes to them.
    pub fn watch(&mut self, rows: impl IntoIterator<Item = u32>) {
        for rows in rows {
            self.roots.entry(rows).or_default();
        }
    }

    /// Returns whose log it is.
    pub const fn founder(&self) -> &Founder {
        &self.founder
    }

    /// Returns how many entries it has.
    pub const fn size(&self) -> u64 {
        self.size
    }

    /// Returns how many rows of the register are in it.
    pub const fn rows(&self) -> u32 {
        self.rows
    }

    /// Returns the root over all rows of the register that are in it.
    pub fn register(&self) -> Hash {
        self.register.root()
    }

    /// Returns the root over the first rows, if that number was [watched](Self::watch) and reached.
    pub fn register_root(&self, rows: u32) -> Option<Hash> {
        self.roots.get(&rows).copied().flatten()
    }

    /// Returns the ids of the epochs in it, from epoch 1 on.
    pub fn epochs(&self) -> &[Hash] {
        &self.epochs
    }

    /// Returns the keys that may write, or once could.
    pub fn authors(&self) -> impl Iterator<Item = (&[u8; 32], &Author)> {
        self.authors.iter()
    }

    /// Returns the requests by their places.
    pub fn requests(&self) -> impl Iterator<Item = (u64, &Request)> {
        self.requests
            .iter()
            .map(|(place, request)| (*place, request))
    }

    /// Returns the requests before a place, the newest first.
    pub fn requests_before(&self, place: u64) -> impl Iterator<Item = (u64, &Request)> {
        let earlier = self.requests.range(..place).rev();
        earlier.map(|(place, request)| (*place, request))
    }

    /// Returns the author with a key, if it ever was one.
    pub fn author(&self, key: &[u8; 32]) -> Option<&Author> {
        self.authors.get(key)
    }

    /// Returns the keys of trustees that decide, by their trusteeships.
    pub fn trustees(&self) -> impl Iterator<Item = (Trusteeship, &[u8; 32])> {
        self.trustees.iter().map(|(held, key)| (*held, key))
    }

    /// Returns the request at a place.
    pub fn request(&self, place: u64) -> Option<&Request> {
        self.requests.get(&place)
    }

    /// Checks whether an entry may come next, by all rules but `layout` and `signature`, which its
    /// reader checked.
    ///
    /// # Errors
    /// The first [`Rule`] that it breaks.
    pub fn check(&self, logged: &Logged) -> Result<(), Rule> {
        let entry = &logged.entry;
        if entry.group != self.founder.group() {
            return Err(Rule::Group);
        }
        self.check_author(&entry.author, &entry.body)?;
        let difference = (logged.logged - entry.time).max(entry.time - logged.logged);
        if difference > CLOCK_DIFFERENCE_MAX {
            return Err(Rule::Time);
        }
        let is_first = matches!(entry.body, Body::Group { .. });
        if is_first != (self.size == 0) {
            return Err(Rule::Order);
        }
        self.check_body(logged)
    }

    /// Appends an entry.
    ///
    /// # Errors
    /// As [`check`](Self::check): the state is as before.
    pub fn add(&mut self, logged: &Logged) -> Result<(), Rule> {
        self.check(logged)?;
        let (place, entry) = (self.size, &logged.entry);
        match &entry.body {
            Body::Author {
                role, key, name, ..
            } => self.add_author(*role, key, name),
            Body::Enrolled { leaves, .. } => self.add_rows(leaves),
            Body::Epoch { id, .. } => self.epochs.push(*id),
            Body::Request(filed) => self.file(place, filed, logged),
            Body::Decision { place, by, answer } => {
                self.decide(*place, *by, *answer, logged.logged);
            }
            Body::Result { place, .. } => {
                if let Some(request) = self.requests.get_mut(place) {
                    request.results += 1;
                }
            }
            Body::Unsealed { place, .. } => {
                if let Some(request) = self.requests.get_mut(place) {
                    request.sealed = None;
                }
            }
            Body::Group { .. } | Body::Anchor { .. } => {}
        }
        self.size += 1;
        Ok(())
    }

    fn role(&self, key: &[u8; 32]) -> Role {
        self.authors.get(key).map_or(Role::None, |own| own.role)
    }

    fn check_author(&self, author: &[u8; 32], body: &Body) -> Result<(), Rule> {
        let is_manager = *author == self.founder.manager;
        let role = self.role(author);
        let may = match body {
            Body::Group { .. }
            | Body::Author { .. }
            | Body::Enrolled { .. }
            | Body::Epoch { .. } => is_manager,
            Body::Request(_) | Body::Result { .. } => role == Role::Requester,
            Body::Decision { by, .. } => self.trustees.get(by) == Some(author),
            Body::Unsealed { .. } => {
                is_manager || matches!(role, Role::Trustee(_) | Role::Requester)
            }
            Body::Anchor { .. } => role == Role::Observer,
        };
        may.then_some(()).ok_or(Rule::Author)
    }

    fn check_body(&self, logged: &Logged) -> Result<(), Rule> {
        let entry = &logged.entry;
        match &entry.body {
            Body::Group { record } if *record == self.founder.record => Ok(()),
            Body::Group { .. } => Err(Rule::Group),
            Body::Author { key, .. } if *key == self.founder.manager => Err(Rule::Order),
            Body::Author {
                role, key, change, ..
            } => {
                let changes = self.authors.get(key).map_or(0, |own| own.changes);
                next(u64::from(*change), u64::from(changes))?;
                match role {
                    Role::Trustee(held) if held.since as usize > self.epochs.len() => {
                        Err(Rule::Order)
                    }
                    _ => Ok(()),
                }
            }
            Body::Enrolled { first, leaves } => {
                next(u64::from(*first), u64::from(self.rows))?;
                let end = u32::try_from(leaves.len()).ok();
                let end = end.and_then(|count| first.checked_add(count));
                end.map(drop).ok_or(Rule::Order)
            }
            Body::Epoch { epoch, .. } => next(u64::from(*epoch), self.epochs.len() as u64 + 1),
            Body::Request(filed) => self.check_filed(filed, logged),
            Body::Decision { place, .. } => self.asked(*place).map(drop),
            Body::Result { place, .. } => {
                let is_own = self.asked(*place)?.author == entry.author;
                is_own.then_some(()).ok_or(Rule::Author)
            }
            Body::Unsealed { place, warrant } => self.check_unsealed(*place, warrant, logged),
            Body::Anchor { first, last, .. } => {
                let is_past = *last <= logged.logged + CLOCK_DIFFERENCE_MAX;
                (first <= last && is_past).then_some(()).ok_or(Rule::Order)
            }
        }
    }

    fn check_filed(&self, filed: &Filed, logged: &Logged) -> Result<(), Rule> {
        let now = logged.logged;
        if self.filed.contains(&(logged.entry.author, filed.request)) {
            return Err(Rule::Fork);
        }
        match &filed.seal {
            Seal::Open(warrant) if warrant.hash() != filed.warrant => Err(Rule::Warrant),
            Seal::Until(end) if *end <= now || *end > now + SEAL_MAX => Err(Rule::Seal),
            Seal::Open(_) | Seal::Until(_) => Ok(()),
        }
    }

    fn check_unsealed(&self, place: u64, warrant: &Warrant, logged: &Logged) -> Result<(), Rule> {
        let request = self.asked(place)?;
        let end = request.sealed.ok_or(Rule::Order)?;
        if warrant.hash() != request.warrant {
            return Err(Rule::Warrant);
        }
        let author = &logged.entry.author;
        if *author == request.author {
            return Ok(());
        }
        if self.role(author) == Role::Requester {
            return Err(Rule::Author);
        }
        match end <= logged.logged {
            true => Ok(()),
            false => Err(Rule::Seal),
        }
    }

    fn asked(&self, place: u64) -> Result<&Request, Rule> {
        self.requests.get(&place).ok_or(Rule::Order)
    }

    fn add_author(&mut self, role: Role, key: &[u8; 32], name: &Name) {
        match role {
            Role::Trustee(held) => {
                // One key a share: the earlier one loses it, and keeps those of other opening keys.
                if let Some(earlier) = self.trustees.insert(held, *key) {
                    self.set_role(&earlier, Role::None);
                }
            }
            _ => self.trustees.retain(|_, own| own != key),
        }
        let before = self.authors.get(key).map_or(0, |own| own.changes);
        let author = Author {
            role,
            name: name.clone(),
            changes: before.saturating_add(1),
        };
        self.authors.insert(*key, author);
        self.set_role(key, role);
    }

    /// Gives a key its newest trusteeship as its role, or another role if it has none.
    fn set_role(&mut self, key: &[u8; 32], other: Role) {
        let mut held = self.trustees.iter().rev();
        let newest = held.find(|(_, own)| *own == key).map(|(held, _)| *held);
        if let Some(author) = self.authors.get_mut(key) {
            author.role = newest.map_or(other, Role::Trustee);
        }
    }

    fn add_rows(&mut self, leaves: &[Hash]) {
        for leaf in leaves {
            // A register has fewer rows than a list can have.
            let _ = self.register.push(*leaf);
            self.rows += 1;
            if let Some(root) = self.roots.get_mut(&self.rows) {
                *root = Some(self.register.root());
            }
        }
    }

    fn file(&mut self, place: u64, filed: &Filed, logged: &Logged) {
        let request = Request {
            asks: filed.asks,
            id: filed.request,
            author: logged.entry.author,
            signatures: filed.signatures,
            warrant: filed.warrant,
            logged: logged.logged,
            sealed: match filed.seal {
                Seal::Open(_) => None,
                Seal::Until(end) => Some(end),
            },
            yes: Vec::new(),
            no: BTreeMap::new(),
            results: 0,
        };
        self.filed.insert((logged.entry.author, filed.request));
        self.requests.insert(place, request);
    }

    fn decide(&mut self, place: u64, trustee: Trusteeship, answer: Answer, now: WallTime) {
        let Some(request) = self.requests.get_mut(&place) else {
            return;
        };
        let said_yes = request.yes.iter().any(|(said, _)| *said == trustee);
        match answer {
            _ if said_yes => {}
            Answer::Yes => {
                request.no.remove(&trustee);
                request.yes.push((trustee, now));
            }
            Answer::No(rule) => {
                request.no.insert(trustee, rule);
            }
        }
    }
}

/// Below the next number the log has another entry: the manager, or a copy of it, shows two histories.
fn next(number: u64, expected: u64) -> Result<(), Rule> {
    match number.cmp(&expected) {
        core::cmp::Ordering::Less => Err(Rule::Fork),
        core::cmp::Ordering::Equal => Ok(()),
        core::cmp::Ordering::Greater => Err(Rule::Order),
    }
}

#[cfg(test)]
mod tests;
