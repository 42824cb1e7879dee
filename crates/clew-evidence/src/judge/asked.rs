//! A request beside the packet that it is about: what a trustee checks before it uses its secret, and
//! everybody else before they believe what came of it.

use super::{Fault, JudgeRule};
use crate::credential::Credential;
use crate::group_file::{CheckedGroup, EpochSharing};
use crate::request::{Packet, Question, Request};
use crate::row::Row;
use crate::search::{FoundRow, Search};
use alloc::vec;
use alloc::vec::Vec;
use clew_group::curve::G1;
use clew_group::quorum::{Match, Part, Quorum, QuorumError, Set};
use clew_group::{PublicKey, bbs04, xr};

/// A request about a packet whose signature verified.
#[derive(Debug)]
pub struct Asked {
    id: [u8; 32],
    key: PublicKey,
    sharing: EpochSharing,
    /// What was encrypted under the opening key: T1 with `xr`, T1 and T2 with `bbs04`.
    encrypted: Vec<G1>,
    /// The base that the signer used, hidden: T2 or T3.
    hidden: G1,
}

/// The keys of the epoch that a request is about.
pub(super) struct Keys {
    pub key: PublicKey,
    pub sharing: EpochSharing,
}

impl Keys {
    /// Rule `group`.
    pub(super) fn of(group: &CheckedGroup, request: &Request) -> Result<Self, Fault> {
        if !request.is_of(group) {
            return Err(JudgeRule::Group.into());
        }
        let key = group.public_key(request.epoch).and_then(Result::ok);
        let sharing = group.sharing(request.epoch).and_then(Result::ok);
        match (key, sharing) {
            (Some(key), Some(sharing)) => Ok(Self { key, sharing }),
            _ => Err(JudgeRule::Group.into()),
        }
    }

    pub(super) fn quorum(&self) -> Quorum {
        self.sharing.quorum
    }
}

impl Asked {
    /// Checks the rules `group`, `packet` and `signature`, and that this very packet was asked about.
    ///
    /// A trustee does so before it answers; that the packet is fresh is not asked here.
    ///
    /// # Errors
    /// The first rule that is broken.
    pub fn new(
        group: &CheckedGroup,
        request: &Request,
        packet: &Packet<'_>,
    ) -> Result<Self, Fault> {
        let keys = Keys::of(group, request)?;
        if packet.asked() != request.asked_packet {
            return Err(JudgeRule::Packet.into());
        }
        Self::with_keys(keys, request, packet)
    }

    /// Rules `packet` and `signature`.
    pub(super) fn with_keys(
        keys: Keys,
        request: &Request,
        packet: &Packet<'_>,
    ) -> Result<Self, Fault> {
        let same = packet.digest() == request.signature_digest && packet.epoch == request.epoch;
        if !(same && packet.stands_for(&request.asked_packet)) {
            return Err(JudgeRule::Packet.into());
        }
        let Keys { key, sharing } = keys;
        let points = verified_points(&key, request, packet);
        let (encrypted, hidden) = points.ok_or(JudgeRule::Signature)?;
        Ok(Self {
            id: request.id(),
            key,
            sharing,
            encrypted,
            hidden,
        })
    }

    /// Returns how the opening key of the packet's epoch is shared.
    pub fn sharing(&self) -> &EpochSharing {
        &self.sharing
    }

    /// Returns the parts that each trustee decrypts for an opening, in the order of a share's
    /// decryptions.
    pub fn parts(&self) -> Vec<Part<'_>> {
        let pairs = self.sharing.parts.iter().zip(&self.encrypted);
        let part = |(number, (sharing, point))| Part {
            number,
            sharing,
            point,
            context: &self.id,
        };
        (1..).zip(pairs).map(part).collect()
    }

    /// Returns the match that a set of trustees answers together: whether the machine that signs
    /// with `base` in the packet's epoch sent it (`xr`).
    ///
    /// # Errors
    /// As [`Match::new`]; [`QuorumError::NoAnswer`] with `bbs04`.
    pub fn question(&self, set: Set, base: &G1) -> Result<Match<'_>, QuorumError> {
        let [sharing] = &self.sharing.parts[..] else {
            return Err(QuorumError::NoAnswer);
        };
        let points = [&self.encrypted[0], &self.hidden];
        Match::new(&self.id, set, sharing, points, base)
    }

    /// Checks the rules `layout`, `register`, `device`, `credential` and `signer` for a machine and
    /// its base in the packet's epoch. A trustee does so before it answers a match.
    ///
    /// # Errors
    /// The first rule that is broken.
    pub fn check_candidate(
        &self,
        group: &CheckedGroup,
        request: &Request,
        found: &FoundRow,
        base: &G1,
    ) -> Result<(), Fault> {
        let FoundRow { row, x } = found;
        let candidate = Credential::of(&row.entry, x.as_ref()).ok_or(JudgeRule::Layout)?;
        check_row(group, request, row)?;
        if !candidate.is_certified(&self.key) {
            return Err(JudgeRule::Credential.into());
        }
        match candidate.has_base(&self.key, base) {
            true => Ok(()),
            false => Err(JudgeRule::Signer.into()),
        }
    }

    /// The search for the row of an opened base.
    pub(super) fn search(&self, base: &G1) -> Search {
        Search::with_key(self.key.clone(), base)
    }

    /// The signer's base, once the powers of [`Asked::parts`] are known.
    pub(super) fn opened(&self, powers: &[G1]) -> G1 {
        powers.iter().fold(self.hidden, |base, power| base - *power)
    }
}

/// Rules `register` and `device`.
fn check_row(group: &CheckedGroup, request: &Request, row: &Row) -> Result<(), Fault> {
    let asked_for = match request.question {
        Question::Opening => true,
        Question::Match { machine } => machine == row.entry.leaf_hash(),
    };
    if !(asked_for && row.is_in_register_of(group)) {
        return Err(JudgeRule::Register.into());
    }
    match row.entry.check_device(group) {
        Ok(()) => Ok(()),
        Err(_) => Err(JudgeRule::Device.into()),
    }
}

/// What the packet's signature encrypts and hides, if it verifies: T1 and T2 of `xr`, T1 and T2, and
/// T3 of `bbs04`.
fn verified_points(
    key: &PublicKey,
    request: &Request,
    packet: &Packet<'_>,
) -> Option<(Vec<G1>, G1)> {
    let (id, message) = (request.epoch_id, [packet.message]);
    match key {
        PublicKey::Bbs04(key) => {
            let signature = bbs04::Signature::from_bytes(packet.body).ok()?;
            let key = bbs04::VerifyingKey::new(key, id);
            key.verify(&message, &signature).ok()?;
            let encrypted = vec![*signature.t1(), *signature.t2()];
            Some((encrypted, *signature.t3()))
        }
        PublicKey::Xr(key) => {
            let signature = xr::Signature::from_bytes(packet.body).ok()?;
            let key = xr::VerifyingKey::new(key, id);
            key.verify(&message, &signature).ok()?;
            Some((vec![*signature.t1()], *signature.t2()))
        }
    }
}
