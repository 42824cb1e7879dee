//! Who allowed a request, and who can see it: the warrant's rules, and those of the group's log
//! (`spec/opening.md` section 3). Pure: what was shown, what was kept and the time are arguments.

mod rule;

pub(crate) use rule::BEFORE;
pub use rule::{Unapproved, may_pass, rule_name, rule_number};

use crate::policy::{Policy, Waivable};
use crate::rules::Case;
use clew_evidence::{GroupLog, Question, Request, WallTime, Warrant, WarrantError, WarrantRule};
use clew_log::entry::{Answer, Asks, Body, Filed, Logged, Seal, Trusteeship, warrant_hash};
use clew_log::{AddCheckpoint, Checkpoint, Proof, tree};
use sha2::{Digest, Sha256};

const SECOND_NS: u64 = 1_000_000_000;

/// What a trustee is shown beside the packet. By default nothing, which is enough for a group without a
/// log and a trustee without a policy.
#[derive(Clone, Copy, Debug, Default)]
pub struct Shown<'a> {
    /// The trustee's own policy.
    pub policy: Option<&'a Policy>,
    /// The text of the warrant's file.
    pub warrant: Option<&'a str>,
    /// What the log says of the request.
    pub log: Option<ShownLog<'a>>,
}

/// What the log says of a request. Each proof has its entry, as the log keeps it, as `extra`.
#[derive(Clone, Copy, Debug)]
pub struct ShownLog<'a> {
    /// The proof of the request's entry.
    pub request: &'a Proof,
    /// The salt of a sealed request's warrant.
    pub salt: Option<[u8; 32]>,
    /// The proof of the trustee's own decision.
    pub decision: Option<&'a Proof>,
    /// Proofs that later checkpoints continue the one that the trustee kept.
    pub consistency: &'a [AddCheckpoint],
}

/// What a trustee remembers of the group and its log, and never goes back from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen {
    /// The epoch that was in force.
    pub epoch: u32,
    /// The id of that epoch.
    pub epoch_id: [u8; 32],
    /// SHA-256 of the log's verifier key.
    pub log: [u8; 32],
    /// Entries of the log.
    pub size: u64,
    /// The root over them.
    pub root: [u8; 32],
}

/// What a trustee is about to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// To write its decision into the log.
    Decide,
    /// To give a share.
    Give,
}

/// Checks who allowed a request and whether the log has it. Returns what the trustee has to keep, synced,
/// before it answers; `None` if that is what it kept.
///
/// # Errors
/// The first rule that is broken.
pub fn check(
    case: Case<'_>,
    by: Trusteeship,
    step: Step,
    kept: Option<Seen>,
    now: WallTime,
) -> Result<Option<Seen>, Unapproved> {
    let group = case.group;
    let epoch = group.epoch_at(now);
    if let Some(kept) = kept {
        if kept.epoch > epoch {
            return Err(Unapproved::GroupOlder);
        }
        if group.epoch_id(kept.epoch).map(|id| id.0) != Some(kept.epoch_id) {
            return Err(Unapproved::GroupFork);
        }
    }
    let log = group.log_at(epoch);
    if log.is_some() && case.shown.policy.is_none() {
        return Err(Unapproved::NoPolicy);
    }
    // What is kept has a log: a trustee that never saw one keeps nothing.
    let had_log = group.had_log(epoch) || kept.is_some();
    if log.is_none() && had_log && !waives(case, Waivable::LogGivenUp) {
        return Err(Unapproved::LogGivenUp);
    }
    let Some(policy) = case.shown.policy else {
        return unlogged(case.request);
    };
    let warrant = check_warrant(case, policy, now)?;
    let Some(log) = log else {
        return unlogged(case.request);
    };
    let id = Sha256::digest(log.key().to_string()).into();
    let shown = case.shown.log.ok_or(Unapproved::LogMissing)?;
    let mut reading = Reading {
        policy: policy.of_log(log),
        now: now.as_nanos() / SECOND_NS,
        consistency: shown.consistency,
        last: kept
            .filter(|kept| kept.log == id)
            .map(|kept| (kept.size, kept.root)),
    };
    let (Some(author), false) = (&policy.author, policy.witnesses.is_empty()) else {
        return Err(Unapproved::LogPolicy);
    };
    let requester = reading.request(case, &shown, &warrant, log)?;
    let waived = policy.waived.contains(&Waivable::WarrantRequester);
    if requester != warrant.draft().requester.key && !waived {
        return Err(Unapproved::WarrantRequester);
    }
    if step == Step::Give {
        let proof = shown.decision.ok_or(Unapproved::LogDecision)?;
        reading.decision(case, proof, author.signs.as_bytes(), by)?;
    }
    let (size, root) = reading.last.ok_or(Unapproved::LogMissing)?;
    let seen = Seen {
        epoch,
        epoch_id: group.epoch_id(epoch).ok_or(Unapproved::GroupOlder)?.0,
        log: id,
        size,
        root,
    };
    Ok((kept != Some(seen)).then_some(seen))
}

fn waives(case: Case<'_>, rule: Waivable) -> bool {
    let policy = case.shown.policy;
    policy.is_some_and(|policy| policy.waived.contains(&rule))
}

fn unlogged(request: &Request) -> Result<Option<Seen>, Unapproved> {
    match request.log {
        None => Ok(None),
        Some(_) => Err(Unapproved::LogUnexpected),
    }
}

/// The warrant's rules, but for the requester, whom only a log names.
fn check_warrant(case: Case<'_>, policy: &Policy, now: WallTime) -> Result<Warrant, Unapproved> {
    let text = case.shown.warrant.ok_or(Unapproved::WarrantMissing)?;
    let hash: [u8; 32] = Sha256::digest(text).into();
    if case.request.warrant != Some(hash) {
        return Err(Unapproved::WarrantMissing);
    }
    let warrant = Warrant::decode(text).map_err(|error| match error {
        WarrantError::Text(_) => Unapproved::WarrantText,
        WarrantError::Rule(rule) => rule.into(),
    })?;
    let mut issuers = policy.issuers.iter();
    if !issuers.any(|issuer| issuer.signs.as_bytes() == warrant.issuer()) {
        return Err(Unapproved::WarrantIssuer);
    }
    warrant.check_request(case.request)?;
    match warrant.check_time(now) {
        Err(WarrantRule::Expired) if policy.waived.contains(&Waivable::WarrantExpired) => {}
        other => other?,
    }
    Ok(warrant)
}

/// What a trustee reads of a log, one checkpoint after the other.
struct Reading<'a> {
    policy: clew_log::Policy,
    /// Seconds since 1970.
    now: u64,
    consistency: &'a [AddCheckpoint],
    /// Size and root of the last checkpoint.
    last: Option<(u64, [u8; 32])>,
}

impl Reading<'_> {
    /// The request's entry; returns who filed it.
    fn request(
        &mut self,
        case: Case<'_>,
        shown: &ShownLog<'_>,
        warrant: &Warrant,
        log: &GroupLog,
    ) -> Result<[u8; 32], Unapproved> {
        debug_assert_eq!(&self.policy.log, log.key());
        let logged = self.entry(case, shown.request)?;
        let Body::Request(filed) = &logged.entry.body else {
            return Err(Unapproved::LogEntry);
        };
        let is_place = case.request.log.map(|place| place.get()) == Some(shown.request.index);
        let covered = warrant.draft().scope.digests.len();
        let fits = is_place
            && filed.request == case.request.logged_id()
            && filed.signatures as usize == covered
            && asks(case.request) == filed.asks
            && is_of_warrant(filed, case.request, shown.salt);
        match fits {
            true => Ok(logged.entry.author),
            false => Err(Unapproved::LogEntry),
        }
    }

    /// The trustee's own yes to this request.
    fn decision(
        &mut self,
        case: Case<'_>,
        proof: &Proof,
        author: &[u8; 32],
        by: Trusteeship,
    ) -> Result<(), Unapproved> {
        let logged = self.entry(case, proof).map_err(|error| match error {
            Unapproved::LogEntry => Unapproved::LogDecision,
            error => error,
        })?;
        let place = case.request.log.map_or(0, |place| place.get());
        let yes = Body::Decision {
            place,
            by,
            answer: Answer::Yes,
        };
        match logged.entry.author == *author && logged.entry.body == yes {
            true => Ok(()),
            false => Err(Unapproved::LogDecision),
        }
    }

    /// The signed entry of this group that a proof is about, under a checkpoint that continues the last.
    fn entry(&mut self, case: Case<'_>, proof: &Proof) -> Result<Logged, Unapproved> {
        let extra = proof.extra.as_deref().ok_or(Unapproved::LogEntry)?;
        let logged = Logged::decode(extra).ok_or(Unapproved::LogEntry)?;
        let checkpoint = self.policy.check(proof, tree::leaf(extra), self.now);
        let checkpoint = checkpoint.map_err(Unapproved::LogProof)?;
        self.follow(&checkpoint)?;
        match logged.entry.is_signed() && logged.entry.group == case.group.id().0 {
            true => Ok(logged),
            false => Err(Unapproved::LogEntry),
        }
    }

    fn follow(&mut self, next: &Checkpoint) -> Result<(), Unapproved> {
        let new = (next.size, next.root);
        let Some(last) = self.last else {
            self.last = Some(new);
            return Ok(());
        };
        if new.0 < last.0 {
            return Err(Unapproved::LogOlder);
        }
        let leads = |proof: &AddCheckpoint| {
            proof.old_size == last.0 && tree::leads(last, new, &proof.hashes)
        };
        if new != last && !self.consistency.iter().any(leads) {
            return Err(Unapproved::LogConsistency);
        }
        self.last = Some(new);
        Ok(())
    }
}

fn asks(request: &Request) -> Asks {
    match request.question {
        Question::Opening => Asks::Opening,
        Question::Match { .. } => Asks::Match,
    }
}

/// Whether the entry binds the request's warrant, and has it if it is not sealed.
fn is_of_warrant(filed: &Filed, request: &Request, salt: Option<[u8; 32]>) -> bool {
    let Some(hash) = request.warrant else {
        return false;
    };
    let salt = match &filed.seal {
        Seal::Open(warrant) => Some(warrant.salt),
        Seal::Until(_) => salt,
    };
    let is_shown = match &filed.seal {
        Seal::Open(warrant) => warrant.hash() == filed.warrant,
        Seal::Until(_) => true,
    };
    is_shown && salt.is_some_and(|salt| warrant_hash(&salt, &hash) == filed.warrant)
}
