//! What an opening or a match proves: every rule of `spec/opening.md` sections 6 and 7, in its order.

mod asked;
mod combine;
mod fault;

pub use asked::Asked;
pub use combine::{
    CombineError, Combined, Refused, Why, combine_match, combine_opening, gather_blinds,
    gather_commitments,
};
pub use fault::{Fault, JudgeRule};

use crate::evidence::{Match, Opening};
use crate::group_file::GroupFile;
use crate::name::Name;
use crate::parts::Origin;
use crate::proof::Row;
use crate::register::RegisterEntry;
use crate::request::{Packet, Question, Request};
use crate::share::decryptions_per_share;
use asked::Keys;
use clew_group::Scheme;
use clew_group::curve::G1;
use clew_group::quorum::{Decryption, Quorum, QuorumError, Set, Trustee};

/// What evidence that holds proves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Judgement {
    /// The machine it is about.
    pub machine: Name,
    /// Epoch of the packet's signature.
    pub epoch: u32,
    /// Whether this machine's credential made the signature. Only a match can say no.
    pub signed: bool,
    /// What it does not prove.
    pub caveats: Vec<Caveat>,
}

/// What evidence cannot say, to be said beside what it says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Caveat {
    /// The issuer knows the machine's key and could have made the signature itself (`bbs04`).
    IssuerCouldSign,
    /// The opening key was dealt: the dealer could open alone.
    Dealt,
    /// The machine was revoked later. Whoever stole its key can date packets back.
    RevokedLater {
        /// The epoch that revoked it.
        epoch: u32,
    },
    /// The machine was revoked already when this epoch began: no member could sign so without the
    /// issuer's help.
    RevokedBefore {
        /// The epoch that locked it out.
        epoch: u32,
    },
}

/// Judges an opening with the packet that the caller found by its digest.
pub fn judge_opening(
    group: &GroupFile,
    opening: &Opening,
    packet: &Packet<'_>,
) -> Result<Judgement, Fault> {
    let (request, row) = (&opening.request, &opening.row);
    let keys = check_layout(group, request, row, |quorum| {
        request.question == Question::Opening && has_shares_of(opening, quorum)
    })?;
    let asked = Asked::with_keys(keys, request, packet)?;
    let a = open(&asked, &opening.shares)?;
    asked.check_candidate(group, request, row, &a)?;
    Ok(judgement(group, request, &row.entry, true))
}

/// Judges a match with the packet that the caller found by its digest. The answer, yes or no, is in
/// the judgement.
pub fn judge_match(
    group: &GroupFile,
    matched: &Match,
    packet: &Packet<'_>,
) -> Result<Judgement, Fault> {
    let (request, row) = (&matched.request, &matched.row);
    let a = G1::from_bytes(&matched.credential).map_err(|_| JudgeRule::Layout)?;
    let keys = check_layout(group, request, row, |quorum| {
        request.question != Question::Opening && has_set_of(matched, quorum)
    })?;
    let asked = Asked::with_keys(keys, request, packet)?;
    asked.check_candidate(group, request, row, &a)?;
    let question = asked.question(matched.set, &a);
    let question = question.map_err(blamed(JudgeRule::Blind))?;
    let product = question.product(&matched.blinds);
    let product = product.map_err(blamed(JudgeRule::Blind))?;
    let signed = product.conclude(&matched.decryptions);
    let signed = signed.map_err(blamed(JudgeRule::Share))?;
    Ok(judgement(group, request, &row.entry, signed))
}

fn blamed(rule: JudgeRule) -> impl Fn(QuorumError) -> Fault {
    move |error| Fault {
        rule,
        trustee: error.culprit(),
    }
}

/// Rules `layout`, but for what only a quorum can say, `group`, and that: the keys.
fn check_layout(
    group: &GroupFile,
    request: &Request,
    row: &Row,
    fits: impl FnOnce(Quorum) -> bool,
) -> Result<Keys, Fault> {
    decoded_credential(&row.entry).ok_or(JudgeRule::Layout)?;
    let keys = Keys::of(group, request)?;
    if fits(keys.sharing.quorum) {
        Ok(keys)
    } else {
        Err(JudgeRule::Layout.into())
    }
}

/// A_0, if all points of the entry decode.
fn decoded_credential(entry: &RegisterEntry) -> Option<G1> {
    if let Some(device) = &entry.device {
        G1::from_bytes(&device.commitment).ok()?;
    }
    G1::from_bytes(&entry.credential).ok()
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

/// Rule `share`: A of the shares.
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

fn judgement(
    group: &GroupFile,
    request: &Request,
    entry: &RegisterEntry,
    signed: bool,
) -> Judgement {
    let mut caveats = Vec::new();
    if signed && group.scheme() == Scheme::Bbs04 {
        caveats.push(Caveat::IssuerCouldSign);
    }
    let sharing = group.sharing_record(request.epoch);
    if sharing.is_some_and(|(_, sharing)| sharing.origin == Origin::Dealt) {
        caveats.push(Caveat::Dealt);
    }
    let revoked = signed.then(|| group.revoked_in(entry)).flatten();
    caveats.extend(revoked.map(|epoch| match epoch > request.epoch {
        true => Caveat::RevokedLater { epoch },
        false => Caveat::RevokedBefore { epoch },
    }));
    Judgement {
        machine: entry.name.clone(),
        epoch: request.epoch,
        signed,
        caveats,
    }
}
