//! What an opening or a match proves: every rule of `spec/opening.md` sections 6 and 7, in its order.

mod anchor;
mod asked;
mod caveat;
mod combine;
mod fault;
mod gather;
mod requested;

pub use anchor::{AnchorFault, Anchored};
pub use asked::Asked;
pub use caveat::Caveat;
pub use combine::{CombineError, Combined, combine_match, combine_opening};
pub use fault::{Fault, JudgeRule};
pub use gather::{Refused, ShareFault, gather_blinds, gather_commitments};
pub use requested::{RequestFault, Requested};

use crate::credential::Credential;
use crate::evidence::{Match, Opening};
use crate::fingerprint::DeviceFingerprint;
use crate::group_file::CheckedGroup;
use crate::parts::Origin;
use crate::register::KeyOrigin;
use crate::request::{Packet, Question, Request};
use crate::search::FoundRow;
use crate::share::decryptions_per_share;
use alloc::vec::Vec;
use asked::Keys;
use clew_group::EpochId;
use clew_group::curve::G1;
use clew_group::quorum::{Decryption, Quorum, QuorumError, Set, Trustee};
use clew_wire::Name;

/// What evidence that holds proves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Judgement {
    /// Name of the machine it is about: the manager's word.
    pub machine: Name,
    /// The machine's place in the register.
    pub index: u32,
    /// Fingerprint of the machine's device key, which signed the register entry (`xr`).
    pub device: Option<DeviceFingerprint>,
    /// Where the machine's key was made: the register's word, which the device signed (`xr`).
    pub how: KeyOrigin,
    /// Epoch in which the machine joined.
    pub joined: u32,
    /// Epoch of the packet's signature.
    pub epoch: u32,
    /// The id of that epoch ([`crate::short_epoch_id`]).
    pub epoch_id: EpochId,
    /// How the opening key of that epoch was made.
    pub opening_key: Origin,
    /// Which packet was asked for ([`Packet::asked`]).
    pub asked: [u8; 32],
    /// Whether this machine's credential made the signature. Only a match can say no.
    pub signed: bool,
    /// What an anchor shows, once [`Self::anchor`] checked one.
    pub anchored: Option<Anchored>,
    /// Where the log has the request, once [`Self::requested`] checked it.
    pub requested: Option<Requested>,
    /// What it does not prove.
    pub caveats: Vec<Caveat>,
}

impl Judgement {
    /// Checks the device key against one that is known from elsewhere.
    ///
    /// # Errors
    /// Rule `device-pin` if it is another key, or there is none (`bbs04`).
    pub fn check_device(&self, known: &DeviceFingerprint) -> Result<(), Fault> {
        match self.device.as_ref() == Some(known) {
            true => Ok(()),
            false => Err(JudgeRule::DevicePin.into()),
        }
    }

    fn new(
        group: &CheckedGroup,
        request: &Request,
        found: &FoundRow,
        sharing: Origin,
        signed: bool,
    ) -> Self {
        let entry = &found.row.entry;
        Self {
            machine: entry.name.clone(),
            index: entry.index,
            device: entry.fingerprint(),
            how: entry.how,
            joined: entry.joined,
            epoch: request.epoch,
            epoch_id: request.epoch_id,
            opening_key: sharing,
            asked: request.asked_packet,
            signed,
            anchored: None,
            requested: None,
            caveats: Caveat::of(group, request, found, signed),
        }
    }
}

/// Judges an opening with the packet that the caller found by its digest.
///
/// # Errors
/// The first rule that is broken, and by which trustee's share.
pub fn judge_opening(
    group: &CheckedGroup,
    opening: &Opening,
    packet: &Packet<'_>,
) -> Result<Judgement, Fault> {
    let request = &opening.request;
    let keys = Keys::of(group, request)?;
    let found = opening.found();
    let fits = request.question == Question::Opening && has_shares_of(opening, keys.quorum());
    check_layout(fits, &found)?;
    let asked = Asked::with_keys(keys, request, packet)?;
    let base = open(&asked, &opening.shares)?;
    asked.check_candidate(group, request, &found, &base)?;
    let origin = asked.sharing().origin;
    Ok(Judgement::new(group, request, &found, origin, true))
}

/// Judges a match with the packet that the caller found by its digest. The answer, yes or no, is in
/// the judgement.
///
/// # Errors
/// The first rule that is broken, and by which trustee's share or blind.
pub fn judge_match(
    group: &CheckedGroup,
    matched: &Match,
    packet: &Packet<'_>,
) -> Result<Judgement, Fault> {
    let request = &matched.request;
    let keys = Keys::of(group, request)?;
    let found = matched.found();
    let fits = request.question != Question::Opening && has_set_of(matched, keys.quorum());
    check_layout(fits, &found)?;
    let base = G1::from_bytes(&matched.base).map_err(|_| JudgeRule::Layout)?;
    let asked = Asked::with_keys(keys, request, packet)?;
    asked.check_candidate(group, request, &found, &base)?;
    let question = asked.question(matched.set, &base);
    let question = question.map_err(blamed(JudgeRule::Blind))?;
    let product = question.product(&matched.blinds);
    let product = product.map_err(blamed(JudgeRule::Blind))?;
    let signed = product.conclude(&matched.decryptions);
    let signed = signed.map_err(blamed(JudgeRule::Share))?;
    let origin = asked.sharing().origin;
    Ok(Judgement::new(group, request, &found, origin, signed))
}

fn blamed(rule: JudgeRule) -> impl Fn(QuorumError) -> Fault {
    move |error| Fault {
        rule,
        trustee: error.culprit(),
    }
}

/// Rule `layout`, but for what the request decides before rule `group`.
fn check_layout(fits: bool, found: &FoundRow) -> Result<(), Fault> {
    let decodes = || Credential::of(&found.row.entry, found.x.as_ref()).is_some();
    match fits && decodes() {
        true => Ok(()),
        false => Err(JudgeRule::Layout.into()),
    }
}

fn has_shares_of(opening: &Opening, quorum: Quorum) -> bool {
    let shares = &opening.shares;
    let each = decryptions_per_share(opening.request.scheme);
    shares.len() == usize::from(quorum.threshold())
        && shares.is_sorted_by(|(a, _), (b, _)| a < b)
        && shares.iter().all(|(trustee, decryptions)| {
            quorum.check(*trustee).is_ok() && decryptions.len() == each
        })
}

fn has_set_of(matched: &Match, quorum: Quorum) -> bool {
    let Match {
        set,
        blinds,
        decryptions,
        ..
    } = matched;
    let count = usize::from(Set::count(*set));
    set.check(quorum).is_ok() && blinds.len() == count && decryptions.len() == count
}

/// Rule `share`: the base that the shares lead to.
fn open(asked: &Asked, shares: &[(Trustee, Vec<Decryption>)]) -> Result<G1, Fault> {
    let parts = asked.parts();
    let mut powers = Vec::new();
    for (i, part) in parts.iter().enumerate() {
        let of_part = shares.iter().map(|(who, all)| (*who, all[i]));
        let given: Vec<_> = of_part.collect();
        powers.push(part.combine(&given).map_err(blamed(JudgeRule::Share))?);
    }
    Ok(asked.opened(&powers))
}
