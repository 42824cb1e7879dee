//! What a group's log says so far, and which entry may come next (`spec/log.md` sections 3 and 4).

mod counts;
mod kept;
mod rule;

pub use counts::{Counts, Month};
pub use kept::KeptState;
pub use rule::Rule;

use crate::Hash;
use crate::entry::{Answer, Asks, Body, Filed, Logged, Role, Seal, Warrant};
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
    /// What it may write.
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
    pub yes: Vec<(u8, WallTime)>,
    /// Trustees that refused, and did not say yes later: each with the rule's number.
    pub no: BTreeMap<u8, u8>,
    /// How many results the requester logged.
    pub results: u64,
}

impl Request {
    /// Returns when the log added the decision that completed a quorum of `threshold` trustees. Returns
    /// `None` if there is no quorum.
    pub fn approved(&self, threshold: u8) -> Option<WallTime> {
        let last = usize::from(threshold).saturating_sub(1);
        self.yes.get(last).map(|(_, time)| *time)
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
            Body::Decision {
                place,
                trustee,
                answer,
            } => self.decide(*place, *trustee, *answer, logged.logged),
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
            Body::Decision { trustee, .. } => role == Role::Trustee(*trustee),
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
            Body::Author { key, change, .. } => {
                let changes = self.authors.get(key).map_or(0, |own| own.changes);
                next(u64::from(*change), u64::from(changes))
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
        if let Role::Trustee(_) = role {
            // One key a trustee: the earlier one is replaced.
            for own in self.authors.values_mut().filter(|own| own.role == role) {
                own.role = Role::None;
            }
        }
        let before = self.authors.get(key).map_or(0, |own| own.changes);
        let author = Author {
            role,
            name: name.clone(),
            changes: before.saturating_add(1),
        };
        self.authors.insert(*key, author);
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

    fn decide(&mut self, place: u64, trustee: u8, answer: Answer, now: WallTime) {
        let Some(request) = self.requests.get_mut(&place) else {
            return;
        };
        let said_yes = request.yes.iter().any(|(index, _)| *index == trustee);
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
