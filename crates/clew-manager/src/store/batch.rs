//! Rounds of joins of many devices in one commit.
//!
//! Each round is looked up, then its public-key work is done without a lock and on all cores, and only
//! then the database is locked and written. One that is refused does not touch the others.

mod writer;

use super::enrol::{check_entry, fresh_salt, offer_values};
use super::epochs::RevokedRows;
use super::join::{credential_with, find, gamma};
use super::search::by_threads;
use super::{Locked, Machine, Store};
use crate::error::StoreError;
use crate::storage::Offered;
use clew_evidence::{GroupFile, KeyOrigin, Name, RegisterEntry, WallTime};
use clew_group::xr;
use clew_keys::join::{
    AcceptanceFile, ClaimFile, CredentialFile, InvitationFile, OfferFile, RequestFile,
};
use clew_keys::{IssuerKeyFile, TextFile};
use rand_core::CryptoRng;
use std::collections::HashSet;
use writer::Writer;

/// Most rounds in one batch.
pub const ROUNDS_MAX: usize = 256;

/// What a device, or its factory, sends in a join.
#[derive(Clone, Debug)]
pub enum JoinRound {
    /// A factory claims an invitation.
    Claim(ClaimFile),
    /// The device asks to join.
    Request(RequestFile),
    /// The device accepts its offer.
    Acceptance(AcceptanceFile),
}

/// What it gets.
#[derive(Clone, Debug)]
pub enum JoinAnswer {
    /// The invitation.
    Invitation(InvitationFile),
    /// The offer.
    Offer(OfferFile),
    /// Its row and witnesses.
    Credential(CredentialFile),
}

/// The answer to one round. The refusal is that of this round alone.
type Answered = Result<JoinAnswer, StoreError>;

/// Draws the salt of each new offer.
pub(super) type Salts<'s> = &'s mut dyn FnMut() -> [u8; 16];

/// A round with what it needs, and what came of its public-key work.
enum Work {
    Claim(ClaimFile),
    Request {
        request: RequestFile,
        name: Name,
        /// The salt, epoch and replaced row of an offer that was made before, or a fresh salt.
        offered: Result<Offered, [u8; 16]>,
    },
    Acceptance {
        acceptance: AcceptanceFile,
        name: Name,
        request: RequestFile,
        offered: Offered,
    },
}

/// What is left to do once the database is locked.
enum Checked {
    Claim(ClaimFile),
    /// An offer that was made before.
    Repeated(Box<OfferFile>),
    Offer {
        request: Box<RequestFile>,
        name: Name,
        salt: [u8; 16],
        offer: Box<xr::Offer>,
    },
    Entry {
        nonce: [u8; 32],
        offered: Offered,
        entry: Box<RegisterEntry>,
    },
}

/// The place of a round, and what it came to within the transaction.
type Written = (usize, Result<Done, StoreError>);

/// What a round came to within the transaction.
enum Done {
    Answer(Box<JoinAnswer>),
    /// The machine's row: its credential follows the commit.
    Row {
        nonce: [u8; 32],
        index: u32,
    },
}

impl Store {
    /// Answers rounds of joins, at most [`ROUNDS_MAX`], in one commit: when this returns, everything
    /// that an answer tells is on disk. Each round may be repeated, and gets the same answer; an
    /// acceptance gets the witnesses of today. `now` is in nanoseconds since 1970.
    ///
    /// Nothing is published: that is for [`Store::refresh`].
    ///
    /// # Errors
    /// [`StoreError::OtherGroupsKey`], [`StoreError::NoJoin`], and what concerns all rounds; then
    /// nothing was changed. The reasons of single rounds are those of [`Store::offer`] and
    /// [`Store::admit`], and for claims [`StoreError::NoFactory`], [`StoreError::FactoryPrefix`],
    /// [`StoreError::FactoryUsed`], [`StoreError::FactoryOver`].
    pub fn answer(
        &mut self,
        issuer: &IssuerKeyFile,
        rounds: Vec<JoinRound>,
        now: u64,
        rng: &mut impl CryptoRng,
    ) -> Result<Vec<Answered>, StoreError> {
        self.answer_all(issuer, rounds, now, &mut || fresh_salt(rng))
    }

    fn answer_all(
        &mut self,
        issuer: &IssuerKeyFile,
        rounds: Vec<JoinRound>,
        now: u64,
        salt: Salts<'_>,
    ) -> Result<Vec<Answered>, StoreError> {
        self.check_key(issuer)?;
        self.check_not_halted()?;
        gamma(issuer)?;
        self.follow()?;
        let mut answers: Vec<Option<Answered>> = rounds.iter().map(|_| None).collect();
        let mut left: Vec<(usize, JoinRound)> = rounds.into_iter().enumerate().collect();
        // A second request of the same invitation waits for the first one.
        while !left.is_empty() {
            let mut nonces = HashSet::new();
            let (batch, later) = left
                .into_iter()
                .partition(|(_, round)| nonces.insert(*nonce_of(round)));
            left = later;
            self.answer_batch(issuer, batch, now, &mut answers, salt)?;
        }
        let lost = || Err(StoreError::Damaged("a round has no answer".to_owned()));
        Ok(answers
            .into_iter()
            .map(|a| a.unwrap_or_else(lost))
            .collect())
    }

    /// Answers one round, and publishes.
    pub(super) fn answer_one(
        &mut self,
        issuer: &IssuerKeyFile,
        round: JoinRound,
        now: u64,
        salt: Salts<'_>,
    ) -> Answered {
        let mut answers = self.answer_all(issuer, vec![round], now, salt)?;
        let answer = answers.pop();
        self.refresh()?;
        answer.unwrap_or_else(|| Err(StoreError::Damaged("a round has no answer".to_owned())))
    }

    /// Rounds of different joins.
    fn answer_batch(
        &mut self,
        issuer: &IssuerKeyFile,
        batch: Vec<(usize, JoinRound)>,
        now: u64,
        answers: &mut [Option<Answered>],
        salt: Salts<'_>,
    ) -> Result<(), StoreError> {
        let mut work = Vec::new();
        for (at, round) in batch {
            match self.look_up(round, salt) {
                Ok(found) => work.push((at, found)),
                Err(error) => answers[at] = Some(Err(single(error)?)),
            }
        }
        let group = &self.group;
        let mut checked = Vec::new();
        let each = by_threads(&work, 1, |part: &[(usize, Work)]| {
            let each = part.iter();
            Ok(each
                .map(|(at, work)| (*at, check(group, issuer, work)))
                .collect())
        })?;
        for (at, result) in each {
            match result {
                Ok(result) => checked.push((at, result)),
                Err(error) => answers[at] = Some(Err(error)),
            }
        }
        let mut rows = Vec::new();
        for (at, done) in self.write(issuer, checked, now)? {
            match done {
                Ok(Done::Answer(answer)) => answers[at] = Some(Ok(*answer)),
                Ok(Done::Row { nonce, index }) => rows.push((at, nonce, index)),
                Err(error) => answers[at] = Some(Err(error)),
            }
        }
        self.prepare_epochs(issuer, now)?;
        for (at, nonce, index) in rows {
            let machine = super::register::at(&*self.db, index)?;
            let credential = self.prepared_credential(issuer, nonce, &machine, now);
            answers[at] = Some(credential.map(JoinAnswer::Credential));
        }
        Ok(())
    }

    /// Finds what a round needs. Nothing is locked, and no public-key work is done.
    fn look_up(&self, round: JoinRound, salt: Salts<'_>) -> Result<Work, StoreError> {
        match round {
            JoinRound::Claim(claim) => Ok(Work::Claim(claim)),
            JoinRound::Request(request) => {
                let join = find(&*self.db, &request.nonce)?;
                let offered = match join.offered {
                    Some(offered) if offered.request != *request.payload() => {
                        return Err(StoreError::OtherRequest);
                    }
                    Some(offered) => Ok(offered),
                    None => Err(salt()),
                };
                Ok(Work::Request {
                    request,
                    name: join.name,
                    offered,
                })
            }
            JoinRound::Acceptance(acceptance) => {
                let join = find(&*self.db, &acceptance.nonce)?;
                let offered = join.offered.ok_or(StoreError::NotOffered)?;
                let damaged = || StoreError::Damaged("a join's request does not decode".to_owned());
                let request = RequestFile::from_payload(&offered.request).ok_or_else(damaged)?;
                Ok(Work::Acceptance {
                    acceptance,
                    name: join.name,
                    request,
                    offered,
                })
            }
        }
    }

    /// Writes what was checked, in one transaction.
    fn write(
        &mut self,
        issuer: &IssuerKeyFile,
        checked: Vec<(usize, Checked)>,
        now: u64,
    ) -> Result<Vec<Written>, StoreError> {
        if checked
            .iter()
            .all(|(_, one)| matches!(one, Checked::Repeated(_)))
        {
            let done = checked.into_iter().filter_map(|(at, one)| match one {
                Checked::Repeated(offer) => {
                    Some((at, Ok(Done::Answer(Box::new(JoinAnswer::Offer(*offer))))))
                }
                _ => None,
            });
            return Ok(done.collect());
        }
        let Locked {
            transaction,
            group,
            version,
            clock,
        } = self.lock()?;
        let time = clock.time(group, now)?;
        let mut writer = Writer {
            transaction: &*transaction,
            group,
            issuer,
            now,
            joined: group.epoch_at(WallTime::from_nanos(time)),
            machines: group.register().machines,
            leaves: Vec::new(),
        };
        let mut done = Vec::new();
        for (at, one) in checked {
            let result = match writer.write(one) {
                Err(error) => Err(single(error)?),
                result => result,
            };
            done.push((at, result));
        }
        let head = writer.finish(time)?;
        let after = transaction.version()?;
        transaction.commit()?;
        if let Some(head) = head {
            let set = group.set_head(&head);
            set.map_err(|error| StoreError::Damaged(error.to_string()))?;
            *version = after;
        }
        Ok(done)
    }

    /// Makes the issuer of each epoch that a key holds now, unless it is made.
    fn prepare_epochs(&mut self, issuer: &IssuerKeyFile, now: u64) -> Result<(), StoreError> {
        let now = self.clock.time(&self.group, now)?;
        let wanted = clew_keys::update::held_epochs(&self.group, now);
        if self.epochs.0 != self.group.last_id() {
            self.epochs = (self.group.last_id(), Vec::new());
        }
        self.epochs.1.retain(|(epoch, _)| wanted.contains(epoch));
        let missing = |epoch: &u32| !self.epochs.1.iter().any(|(made, _)| made == epoch);
        let missing: Vec<u32> = wanted.filter(missing).collect();
        if missing.is_empty() {
            return Ok(());
        }
        let revoked = RevokedRows::read(&*self.db, issuer)?;
        for epoch in missing {
            let made = revoked.issuer_in(&self.group, issuer, epoch)?;
            self.epochs.1.push((epoch, made));
        }
        self.epochs.1.sort_unstable_by_key(|(epoch, _)| *epoch);
        Ok(())
    }

    /// A machine's witnesses of the epochs that were prepared, until it is revoked.
    pub(super) fn prepared_credential(
        &self,
        issuer: &IssuerKeyFile,
        nonce: [u8; 32],
        machine: &Machine,
        now: u64,
    ) -> Result<CredentialFile, StoreError> {
        let x = machine.x(issuer);
        let in_force = self.group.epoch_at(WallTime::from_nanos(now));
        let mut witnesses = Vec::new();
        for (epoch, made) in self.epochs.1.iter().filter(|(e, _)| *e >= in_force) {
            match made.witness(&x) {
                Ok(witness) => witnesses.push((*epoch, witness)),
                Err(_) => break,
            }
        }
        credential_with(nonce, machine, witnesses)
    }
}

fn nonce_of(round: &JoinRound) -> &[u8; 32] {
    match round {
        JoinRound::Claim(claim) => &claim.nonce,
        JoinRound::Request(request) => &request.nonce,
        JoinRound::Acceptance(acceptance) => &acceptance.nonce,
    }
}

/// The error of one round; one that concerns all rounds is the other one.
fn single(error: StoreError) -> Result<StoreError, StoreError> {
    match error.is_of_database() {
        true => Err(error),
        false => Ok(error),
    }
}

/// The public-key work of a round.
fn check(group: &GroupFile, issuer: &IssuerKeyFile, work: &Work) -> Result<Checked, StoreError> {
    match work {
        Work::Claim(claim) => Ok(Checked::Claim(claim.clone())),
        Work::Request {
            request,
            name,
            offered,
        } => {
            let salt = offered
                .as_ref()
                .map_or_else(|salt| salt, |offered| &offered.salt);
            let offer = offer_values(group, issuer, name, salt, request)?;
            match offered {
                Ok(offered) => Ok(Checked::Repeated(Box::new(offer_file(
                    group,
                    request.nonce,
                    [Some(offered.joined), offered.replaces],
                    offer,
                )?))),
                Err(salt) => Ok(Checked::Offer {
                    request: Box::new(request.clone()),
                    name: name.clone(),
                    salt: *salt,
                    offer: Box::new(offer),
                }),
            }
        }
        Work::Acceptance {
            acceptance,
            name,
            request,
            offered,
        } => {
            let offer = offer_values(group, issuer, name, &offered.salt, request)?;
            let epoch = [Some(offered.joined), offered.replaces];
            let offer = offer_file(group, acceptance.nonce, epoch, offer)?;
            let entry = check_entry(group, name, request, &offer, acceptance)?;
            Ok(Checked::Entry {
                nonce: acceptance.nonce,
                offered: Offered {
                    request: Vec::new(),
                    ..*offered
                },
                entry: Box::new(entry),
            })
        }
    }
}

/// An offer as a file: for the epoch `joined`, in the place of the row `replaces`.
fn offer_file(
    group: &GroupFile,
    nonce: [u8; 32],
    [joined, replaces]: [Option<u32>; 2],
    offer: xr::Offer,
) -> Result<OfferFile, StoreError> {
    let joined = joined.unwrap_or_default();
    let id = group.epoch_id(joined);
    Ok(OfferFile {
        nonce,
        joined,
        id: id.ok_or_else(|| StoreError::no_epoch(joined))?,
        how: KeyOrigin::OwnHost,
        replaces,
        offer,
    })
}
