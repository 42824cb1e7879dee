//! What one trustee does with its share of the opening key (`spec/opening.md` section 3): it looks at
//! the packet itself, keeps its ledger, and gives a share that counts for one request only.

mod error;
pub mod ledger;
mod pending;

pub use error::TrusteeError;

use clew_evidence::{
    Asked, CheckedGroup, Found, JudgeRule, Packet, Question, Request, Share, Step, gather_blinds,
    gather_commitments,
};
use clew_group::curve::G1;
use clew_group::quorum::{Blinding, Match, Revealed, SecretShare, Set};
use clew_keys::{OpeningShare, TrusteeKeyFile};
use ledger::Entry;
use pending::Pending;
use rand_core::CryptoRng;
use std::io;
use std::path::{Path, PathBuf};

const BEGUN: u8 = 1;
const REVEALED: u8 = 2;

/// A trustee at its desk: its key, and the files beside it.
#[derive(Debug)]
pub struct Desk<'a> {
    key: &'a TrusteeKeyFile,
    /// The beginning of the names of those files.
    stem: PathBuf,
}

/// What a trustee is asked: the request, and what it sees of it with its own eyes.
#[derive(Clone, Copy, Debug)]
pub struct Case<'a> {
    /// The group, with its whole chain of epochs checked.
    pub group: &'a CheckedGroup,
    /// The request.
    pub request: &'a Request,
    /// The packet that it asks about.
    pub packet: &'a Packet<'a>,
}

/// The machine of a match.
#[derive(Clone, Copy, Debug)]
pub struct Candidate<'a> {
    /// Its row, and its x.
    pub found: &'a Found,
    /// The base that it signs with in the packet's epoch.
    pub base: &'a G1,
}

impl<'a> Desk<'a> {
    /// The desk of the trustee whose key is in that file. What the trustee keeps stands in the folder
    /// of the file itself, behind all links, and is named after the key: another name of the file, or a
    /// copy beside it, has the same ledger.
    pub fn new(key: &'a TrusteeKeyFile, key_path: &Path) -> Self {
        let file = match key_path.is_symlink() {
            true => std::fs::canonicalize(key_path).unwrap_or_else(|_| key_path.to_owned()),
            false => key_path.to_owned(),
        };
        let (trustee, id) = (key.trustee().index(), key.id());
        let id: String = id.iter().map(|byte| format!("{byte:02x}")).collect();
        Self {
            key,
            stem: file.with_file_name(format!("trustee-{trustee}-{id}")),
        }
    }

    /// Where the ledger is.
    pub fn ledger(&self) -> PathBuf {
        self.stem.with_extension("ledger")
    }

    /// Gives a share towards opening. `now` is in nanoseconds since 1970.
    ///
    /// # Errors
    /// [`TrusteeError::OtherGroup`] or [`TrusteeError::OtherSharing`] if this key does not open the
    /// packet; [`TrusteeError::Fault`] if the packet does not verify or is not the one of the request;
    /// [`TrusteeError::Ledger`] if a limit is reached or the ledger cannot be written. An error after
    /// that leaves the request in the ledger; asked again, it does not count twice.
    pub fn open(
        &self,
        case: Case<'_>,
        now: u64,
        rng: &mut impl CryptoRng,
    ) -> Result<Share, TrusteeError> {
        let asked = self.look(case)?;
        self.record(case, now)?;
        let shares = match &self.key.share {
            OpeningShare::Bbs04(both) => &both[..],
            OpeningShare::Xr(one) => std::slice::from_ref(one),
        };
        let parts = asked.parts();
        let decryptions = parts.iter().zip(shares);
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
        let asked = self.look(case)?;
        let question = self.question(case, &asked, with, set)?;
        let (blinding, commitment) = question.begin(self.key.trustee(), rng)?;
        self.record(case, now)?;
        let pending = Pending::of(&self.stem, question.session());
        let put = pending.put(BEGUN, &blinding.into_bytes());
        put.map_err(|error| io_at(&pending, error))?;
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
    ) -> Result<Share, TrusteeError> {
        let asked = self.look(case)?;
        let (set, commitments) = gather_commitments(case.request, commitments)?;
        let question = self.question(case, &asked, with, set)?;
        let pending = Pending::of(&self.stem, question.session());
        let state = take(&pending, BEGUN)?;
        let blinding = Blinding::from_bytes(self.key.trustee(), &state);
        let blinding = blinding.map_err(|_| TrusteeError::NotUnderWay)?;
        let (revealed, blind) = blinding.reveal(&question, &commitments)?;
        let put = pending.put(REVEALED, &revealed.into_bytes());
        put.map_err(|error| io_at(&pending, error))?;
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
        rng: &mut impl CryptoRng,
    ) -> Result<Share, TrusteeError> {
        let asked = self.look(case)?;
        let (set, blinds) = gather_blinds(case.request, blinds)?;
        let question = self.question(case, &asked, with, set)?;
        let pending = Pending::of(&self.stem, question.session());
        let state = take(&pending, REVEALED)?;
        let revealed = Revealed::from_bytes(self.key.trustee(), &state);
        let revealed = revealed.map_err(|_| TrusteeError::NotUnderWay)?;
        let decryption = revealed.share(&question, &blinds, self.secret()?, rng)?;
        let step = Step::Match {
            set,
            blinds,
            decryption,
        };
        Ok(self.share(case, step))
    }

    /// The trustee verifies the packet itself, and that its share is one of the packet's epoch.
    fn look(&self, case: Case<'_>) -> Result<Asked, TrusteeError> {
        if self.key.group != case.group.id() || self.key.share.scheme() != case.group.scheme() {
            return Err(TrusteeError::OtherGroup);
        }
        let asked = Asked::new(case.group, case.request, case.packet)?;
        let (key, packet) = (self.key.since, asked.sharing().since);
        if key == packet {
            Ok(asked)
        } else {
            Err(TrusteeError::OtherSharing { key, packet })
        }
    }

    fn question<'q>(
        &self,
        case: Case<'_>,
        asked: &'q Asked,
        with: Candidate<'_>,
        set: Set,
    ) -> Result<Match<'q>, TrusteeError> {
        asked.check_candidate(case.group, case.request, with.found, with.base)?;
        Ok(asked.question(set, with.base)?)
    }

    fn secret(&self) -> Result<&SecretShare, TrusteeError> {
        match &self.key.share {
            OpeningShare::Xr(share) => Ok(share),
            OpeningShare::Bbs04(_) => Err(TrusteeError::NoMatches),
        }
    }

    fn record(&self, case: Case<'_>, now: u64) -> Result<(), TrusteeError> {
        let signature = || TrusteeError::Fault(JudgeRule::Signature.into());
        let t1 = case.packet.body.first_chunk().ok_or_else(signature)?;
        let entry = Entry {
            time: now,
            t1: *t1,
            packet: case.request.packet,
            asked: case.request.asked,
            machine: match case.request.question {
                Question::Opening => None,
                Question::Match { machine } => Some(machine),
            },
            request: case.request.id(),
        };
        let path = self.ledger();
        ledger::record(&path, &entry).map_err(|error| TrusteeError::Ledger { path, error })
    }

    fn share(&self, case: Case<'_>, step: Step) -> Share {
        Share {
            request: case.request.clone(),
            trustee: self.key.trustee(),
            step,
        }
    }
}

fn take(pending: &Pending, step: u8) -> Result<zeroize::Zeroizing<Vec<u8>>, TrusteeError> {
    let state = pending.take(step).map_err(|error| io_at(pending, error))?;
    state.ok_or(TrusteeError::NotUnderWay)
}

fn io_at(pending: &Pending, error: io::Error) -> TrusteeError {
    let path = pending.path().to_owned();
    TrusteeError::Io { path, error }
}
