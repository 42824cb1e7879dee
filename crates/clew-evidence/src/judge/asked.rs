//! A request beside the packet that it is about: what a trustee checks before it uses its secret, and
//! everybody else before they believe what came of it.

use super::{Fault, JudgeRule, decoded_credential};
use crate::group_file::{EpochSharing, GroupFile};
use crate::proof::Row;
use crate::request::{Packet, Question, Request};
use clew_group::curve::{G1, G2, PreparedG2, pairing_product};
use clew_group::quorum::{Match, Part, QuorumError, Set};
use clew_group::{PublicKey, bbs04, xr};

/// A request about a packet whose signature verified.
#[derive(Debug)]
pub struct Asked {
    id: [u8; 32],
    key: PublicKey,
    sharing: EpochSharing,
    /// What was encrypted under the opening key: T1 with `xr`, T1 and T2 with `bbs04`.
    encrypted: Vec<G1>,
    /// The signer's credential, hidden: T2 or T3.
    hidden: G1,
}

/// The keys of the epoch that a request is about.
pub(super) struct Keys {
    pub key: PublicKey,
    pub sharing: EpochSharing,
}

impl Keys {
    /// Rule `group`.
    pub(super) fn of(group: &GroupFile, request: &Request) -> Result<Self, Fault> {
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
}

impl Asked {
    /// Checks the rules `group`, `packet` and `signature`. A trustee does so before it answers; that
    /// the packet is fresh is not asked here.
    pub fn new(group: &GroupFile, request: &Request, packet: &Packet<'_>) -> Result<Self, Fault> {
        Self::with_keys(Keys::of(group, request)?, request, packet)
    }

    /// Rules `packet` and `signature`.
    pub(super) fn with_keys(
        keys: Keys,
        request: &Request,
        packet: &Packet<'_>,
    ) -> Result<Self, Fault> {
        if packet.digest() != request.packet || packet.epoch != request.epoch {
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

    /// How the opening key of the packet's epoch is shared.
    pub fn sharing(&self) -> &EpochSharing {
        &self.sharing
    }

    /// What each trustee decrypts for an opening, in the order of a share's decryptions.
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

    /// What a set of trustees answers together about the machine with this credential in the
    /// packet's epoch (`xr`).
    pub fn question(&self, set: Set, credential: &G1) -> Result<Match<'_>, QuorumError> {
        let [sharing] = &self.sharing.parts[..] else {
            return Err(QuorumError::NoAnswer);
        };
        let points = [&self.encrypted[0], &self.hidden];
        Match::new(&self.id, set, sharing, points, credential)
    }

    /// Rules `layout`, `register`, `device` and `credential` for the machine of a match, which a
    /// trustee checks before it answers: `credential` is the row's, in the packet's epoch.
    pub fn check_candidate(
        &self,
        group: &GroupFile,
        request: &Request,
        row: &Row,
        credential: &G1,
    ) -> Result<(), Fault> {
        let a_0 = decoded_credential(&row.entry).ok_or(JudgeRule::Layout)?;
        Self::check_row(group, request, row)?;
        match self.names(credential, &a_0) {
            true => Ok(()),
            false => Err(JudgeRule::Credential.into()),
        }
    }

    /// Whether `a`, of the packet's epoch, is the credential that was `a_0` in epoch 0:
    /// e(A, lift) = e(A_0, G2).
    pub fn names(&self, a: &G1, a_0: &G1) -> bool {
        let encoded = self.key.to_bytes();
        let lift = encoded.last_chunk::<96>().map(|lift| G2::from_bytes(lift));
        let Some(Ok(lift)) = lift else {
            return false;
        };
        let [lift, standard] = [lift, G2::generator()].map(|q| PreparedG2::new(&q));
        pairing_product([(a, &lift), (&-*a_0, &standard)]).is_identity()
    }

    /// The tag of a credential of the packet's epoch.
    pub fn tag(&self, a: &G1) -> [u8; 32] {
        match &self.key {
            PublicKey::Bbs04(key) => key.tag(a),
            PublicKey::Xr(key) => key.tag(a),
        }
    }

    /// The signer's credential, once the powers of [`Asked::parts`] are known.
    pub(super) fn opened(&self, powers: &[G1]) -> G1 {
        powers.iter().fold(self.hidden, |a, power| a - *power)
    }

    /// Rules `register` and `device` for a row that must be there at the packet's epoch; the row's
    /// credential.
    pub(super) fn check_row(group: &GroupFile, request: &Request, row: &Row) -> Result<(), Fault> {
        let asked_for = match request.question {
            Question::Opening => true,
            Question::Match { machine } => machine == row.entry.leaf_hash(),
        };
        let was_there = row.entry.joined <= request.epoch;
        if !(asked_for && was_there && row.is_in_register_of(group)) {
            return Err(JudgeRule::Register.into());
        }
        match row.entry.check_device(group.id()) {
            Ok(()) => Ok(()),
            Err(_) => Err(JudgeRule::Device.into()),
        }
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
