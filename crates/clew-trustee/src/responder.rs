//! A trustee answers requests (`spec/opening.md` section 3): it looks at the packet itself, keeps its
//! ledger, and gives a share that counts for one request only.

use crate::TrusteeError;
use crate::approval::{self, Step as Stage};
use crate::rules::{Candidate, Case};
use crate::storage::ledger;
use crate::storage::match_state::{MatchState, Stage as MatchStage};
use crate::storage::seen::Memory;
use clew_evidence::{
    Asked, CheckedGroup, Share, Step, WallTime, gather_blinds, gather_commitments,
};
use clew_group::quorum::{Blinding, Revealed, SecretShare, Set};
use clew_keys::{OpeningShare, TrusteeKeyFile, files};
use clew_log::entry::{Answer, Body, Entry, Trusteeship};
use clew_wire::Hex;
use ed25519_dalek::SigningKey;
use rand_core::CryptoRng;
use std::io;
use std::path::{Path, PathBuf};

/// A trustee that answers requests: its key, and the files beside it.
#[derive(Debug)]
pub struct Responder<'a> {
    key: &'a TrusteeKeyFile,
    /// The beginning of the names of those files.
    stem: PathBuf,
}

impl<'a> Responder<'a> {
    /// The trustee whose key is in that file. What the trustee keeps stands in the folder
    /// of the file itself, behind all links, and is named after the key: another name of the file, or a
    /// copy beside it, has the same ledger.
    ///
    /// # Errors
    /// The path is a link, and what it leads to cannot be found: a ledger beside the link would be
    /// another one.
    pub fn new(key: &'a TrusteeKeyFile, key_path: &Path) -> io::Result<Self> {
        let file = match key_path.is_symlink() {
            true => std::fs::canonicalize(key_path)?,
            false => key_path.to_owned(),
        };
        let (trustee, id) = (key.trustee().index(), Hex(&key.id()).to_string());
        Ok(Self {
            key,
            stem: file.with_file_name(format!("trustee-{trustee}-{id}")),
        })
    }

    /// Which share of which opening key the trustee holds.
    pub fn trusteeship(&self) -> Trusteeship {
        Trusteeship {
            since: self.key.since,
            index: self.key.trustee().index(),
        }
    }

    /// Where the ledger is.
    pub fn ledger(&self) -> PathBuf {
        self.stem.with_extension("ledger")
    }

    /// What the trustee remembers of the group and its log: a proof of consistency leads from there.
    ///
    /// # Errors
    /// [`TrusteeError::Io`].
    pub fn seen(&self, group: &CheckedGroup) -> Result<Option<approval::Seen>, TrusteeError> {
        match Memory::is_kept(&self.stem) {
            true => Memory::lock(&self.stem)?.read(),
            false => self.of_earlier_keys(group),
        }
    }

    /// What the trustee saw when it worked with another key that lies beside this one: a new opening key
    /// makes nobody forget. Whoever has its own memory does not ask others, so nobody waits for each other.
    fn of_earlier_keys(
        &self,
        group: &CheckedGroup,
    ) -> Result<Option<approval::Seen>, TrusteeError> {
        let folder = files::directory(&self.stem);
        let failed = |error| TrusteeError::Io {
            path: folder.to_owned(),
            error,
        };
        let own = format!("trustee-{}-", self.key.trustee().index());
        let mut newest: Option<approval::Seen> = None;
        for entry in std::fs::read_dir(folder).map_err(failed)? {
            let path = entry.map_err(failed)?.path();
            let name = path.file_name().and_then(|name| name.to_str());
            let is_memory = path.extension().is_some_and(|ending| ending == "log");
            if !is_memory || !name.is_some_and(|name| name.starts_with(&own)) {
                continue;
            }
            let seen = Memory::lock(&path.with_extension(""))?.read()?;
            let of_group = |seen: &approval::Seen| {
                let id = group.epoch_id(seen.epoch);
                id.is_some_and(|id| id.0 == seen.epoch_id)
            };
            let is_newer = |seen: &approval::Seen| {
                newest
                    .as_ref()
                    .is_none_or(|newest| (seen.epoch, seen.size) > (newest.epoch, newest.size))
            };
            if let Some(seen) = seen.filter(|seen| of_group(seen) && is_newer(seen)) {
                newest = Some(seen);
            }
        }
        Ok(newest)
    }

    /// Checks everything that has to hold before a decision, but keeps no ledger: for the operator to
    /// see. What was seen of the log is on disk before this returns.
    ///
    /// # Errors
    /// As [`Self::open`], without the limits of the ledger.
    pub fn review(&self, case: Case<'_>, now: u64) -> Result<(), TrusteeError> {
        self.approve(case, Stage::Decide, now).map(drop)
    }

    /// Gives a share towards opening. `now` is in nanoseconds since 1970.
    ///
    /// # Errors
    /// [`TrusteeError::OtherGroup`] or [`TrusteeError::OtherSharing`] if this key does not open the
    /// packet; [`TrusteeError::Fault`] if the packet does not verify or is not the one of the request;
    /// [`TrusteeError::Unapproved`] if the warrant or the log is not as it has to be;
    /// [`TrusteeError::Ledger`] if a limit is reached or the ledger cannot be written. An error after
    /// that leaves the request in the ledger; asked again, it does not count twice.
    pub fn open(
        &self,
        case: Case<'_>,
        now: u64,
        rng: &mut impl CryptoRng,
    ) -> Result<Share, TrusteeError> {
        let asked = self.approve(case, Stage::Give, now)?;
        self.record(case, now)?;
        let parts = asked.parts();
        let decryptions = parts.iter().zip(self.key.share.shares());
        let decryptions = decryptions.map(|(part, share)| part.decrypt(share, rng));
        let step = Step::Opening(decryptions.collect::<Result<_, _>>()?);
        Ok(self.share(case, step))
    }

    /// Gives step 1 of a match by all of `set`: the commitment to a blind. The state of the match is
    /// on disk before this returns, in the place of one that was abandoned. `now` is in nanoseconds
    /// since 1970.
    ///
    /// # Errors
    /// As [`Self::open`]. Also [`TrusteeError::Fault`] if the row or the base is not good,
    /// [`TrusteeError::Quorum`] if the set is not, and [`TrusteeError::Io`] for the state.
    pub fn commit(
        &self,
        case: Case<'_>,
        with: Candidate<'_>,
        set: Set,
        now: u64,
        rng: &mut impl CryptoRng,
    ) -> Result<Share, TrusteeError> {
        let asked = self.approve(case, Stage::Give, now)?;
        let question = case.question(&asked, with, set)?;
        let (blinding, commitment) = question.begin(self.key.trustee(), rng)?;
        self.record(case, now)?;
        let state = MatchState::of(&self.stem, question.session());
        state.put(MatchStage::Committed, &blinding.into_bytes())?;
        Ok(self.share(case, Step::Commitment { set, commitment }))
    }

    /// Gives step 2, with the commitments of all: the blind.
    ///
    /// # Errors
    /// As [`Self::commit`], without the ledger: these leave the state as it is. So do
    /// [`TrusteeError::Combine`], which names who gave no good commitment, and
    /// [`TrusteeError::NotUnderWay`] if step 1 was not done. [`TrusteeError::Quorum`] if the own
    /// commitment is not among them, and [`TrusteeError::Io`], may have consumed the state: all begin
    /// again.
    pub fn reveal(
        &self,
        case: Case<'_>,
        with: Candidate<'_>,
        commitments: &[Share],
        now: u64,
    ) -> Result<Share, TrusteeError> {
        let asked = self.approve(case, Stage::Give, now)?;
        let (set, commitments) = gather_commitments(case.request, commitments)?;
        let question = case.question(&asked, with, set)?;
        let state = MatchState::of(&self.stem, question.session());
        let kept = state.take(MatchStage::Committed)?;
        let blinding = Blinding::from_bytes(self.key.trustee(), &kept);
        let blinding = blinding.map_err(|_| TrusteeError::NotUnderWay)?;
        let (revealed, blind) = blinding.reveal(&question, &commitments)?;
        state.put(MatchStage::Revealed, &revealed.into_bytes())?;
        Ok(self.share(case, Step::Blind { set, blind }))
    }

    /// Gives step 3, with the blinds of all: the share of their product. The state is removed, and its
    /// removal synced, before the share is computed: a blind serves once.
    ///
    /// # Errors
    /// As [`Self::reveal`]. [`TrusteeError::Quorum`], if a blind is not the one committed to or does
    /// not hold, has consumed the state, and so has [`TrusteeError::NoMatches`] and may have
    /// [`TrusteeError::Io`]: all begin again.
    pub fn compare(
        &self,
        case: Case<'_>,
        with: Candidate<'_>,
        blinds: &[Share],
        now: u64,
        rng: &mut impl CryptoRng,
    ) -> Result<Share, TrusteeError> {
        let asked = self.approve(case, Stage::Give, now)?;
        let (set, blinds) = gather_blinds(case.request, blinds)?;
        let question = case.question(&asked, with, set)?;
        let state = MatchState::of(&self.stem, question.session());
        let kept = state.take(MatchStage::Revealed)?;
        let revealed = Revealed::from_bytes(self.key.trustee(), &kept);
        let revealed = revealed.map_err(|_| TrusteeError::NotUnderWay)?;
        let decryption = revealed.share(&question, &blinds, self.secret()?, rng)?;
        let step = Step::Match {
            set,
            blinds,
            decryption,
        };
        Ok(self.share(case, step))
    }

    /// Decides to answer a request of a group with a log: checks all rules but the one that the decision
    /// is logged, writes the ledger, and returns the entry for the log. `now` is in nanoseconds since 1970.
    ///
    /// # Errors
    /// As [`Self::open`]. [`TrusteeError::Author`] if `author` is not the key of the policy.
    pub fn decide(
        &self,
        case: Case<'_>,
        author: &SigningKey,
        now: u64,
    ) -> Result<Entry, TrusteeError> {
        self.approve(case, Stage::Decide, now)?;
        let own = case.shown.policy.and_then(|policy| policy.author.as_ref());
        let is_own = own.is_some_and(|own| own.signs == author.verifying_key());
        let place = case.request.log.filter(|_| is_own);
        let place = place.ok_or(TrusteeError::Author)?.get();
        self.record(case, now)?;
        let yes = Body::Decision {
            place,
            by: self.trusteeship(),
            answer: Answer::Yes,
        };
        let time = WallTime::from_nanos(now);
        Entry::sign(case.group.id().0, time, yes, author).ok_or(TrusteeError::Author)
    }

    /// Verifies the packet, then who allowed the request and that the log has it. What was seen of the log
    /// is on disk before this returns.
    fn approve(&self, case: Case<'_>, stage: Stage, now: u64) -> Result<Asked, TrusteeError> {
        let asked = case.check(self.key)?;
        let (by, now) = (self.trusteeship(), WallTime::from_nanos(now));
        // Of a group that never had a log nothing is remembered, unless another file said that it has.
        if case.group.logs().next().is_none() && !Memory::is_kept(&self.stem) {
            approval::check(case, by, stage, None, now)?;
            return Ok(asked);
        }
        let memory = Memory::lock(&self.stem)?;
        let last = match memory.read()? {
            None => self.of_earlier_keys(case.group)?,
            last => last,
        };
        let seen = approval::check(case, by, stage, last, now)?;
        seen.map_or(Ok(()), |seen| memory.write(&seen))?;
        Ok(asked)
    }

    fn secret(&self) -> Result<&SecretShare, TrusteeError> {
        match &self.key.share {
            OpeningShare::Xr(share) => Ok(share),
            OpeningShare::Bbs04(_) => Err(TrusteeError::NoMatches),
        }
    }

    fn record(&self, case: Case<'_>, now: u64) -> Result<(), TrusteeError> {
        let (path, entry) = (self.ledger(), case.entry(now)?);
        let limits = case.shown.policy.map(|policy| policy.limits);
        ledger::record(&path, &entry, limits.unwrap_or_default())
            .map_err(|error| TrusteeError::Ledger { path, error })
    }

    fn share(&self, case: Case<'_>, step: Step) -> Share {
        Share {
            request: case.request.clone(),
            trustee: self.key.trustee(),
            step,
        }
    }
}
