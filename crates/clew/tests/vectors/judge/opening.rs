//! Vectors of openings and matches.

use clew_evidence::{
    Caveat, CheckedGroup, GroupFile, Judgement, Match, Opening, Packet, ReadError, Row, armor, judge_match, judge_opening,
};
use clew_group::curve::Scalar;
use clew_packet::{Block, Frame, LinkType, read};
use rand_chacha::{ChaCha20Rng, rand_core::SeedableRng};

use super::{Stop, check_all, holds, other, register_file, share};
use crate::case::Case;

pub fn judge(case: &Case) -> Result<(), Stop> {
    match case.word("check")? {
        "judge" => evidence(case),
        "share" => share::judge(case),
        "register-file" => register_file::judge(case),
        _ => Err(Stop::Wrong("no such check".to_owned())),
    }
}

/// The group file of a case. One that does not hold as a whole is of rule `group`.
pub fn group_file(case: &Case) -> Result<CheckedGroup, Stop> {
    let file = other("group-file", case.word("group-file")?)?;
    let group = GroupFile::from_bytes(file.bytes("file")?)?;
    let checked = group.check_epochs(&mut ChaCha20Rng::seed_from_u64(1));
    checked.map_err(|_| Stop::Rule("group"))
}

/// The signed packet of a case: its epoch, message and signature in its plain form.
pub struct Found {
    epoch: u32,
    message: Vec<u8>,
    body: Vec<u8>,
    leaf: Option<[u8; 32]>,
}

impl Found {
    /// None if there is no packet of that group in the case.
    pub fn of(case: &Case, group: &GroupFile) -> Result<Option<Self>, Stop> {
        let frame = Frame {
            link: LinkType(case.u32("link-type")?),
            bytes: case.bytes("frame")?,
            wire_len: case.u32("wire-length")? as usize,
        };
        let Ok(packet) = read(&frame) else {
            return Ok(None);
        };
        let trailer = packet.trailer();
        let ours = trailer.group == group.id().tag() && trailer.scheme == group.scheme();
        if !ours {
            return Ok(None);
        }
        let mut message = Vec::new();
        packet.write_message(&mut message);
        let plain = trailer.scheme.signature_bytes(false);
        Ok(Some(Self {
            epoch: trailer.epoch,
            message,
            body: trailer.body[..plain].to_vec(),
            leaf: matches!(trailer.block, Block::Tree { .. }).then(|| packet.asked()),
        }))
    }

    pub fn packet(&self) -> Packet<'_> {
        Packet { epoch: self.epoch, message: &self.message, body: &self.body, leaf: self.leaf }
    }
}

/// A packet that nobody asked about.
pub const NO_PACKET: Packet<'static> = Packet { epoch: 0, message: &[], body: &[], leaf: None };

fn evidence(case: &Case) -> Result<(), Stop> {
    let (text, group) = (case.joined("line")?, group_file(case)?);
    let found = Found::of(case, &group)?;
    let packet = found.as_ref().map_or(NO_PACKET, Found::packet);
    if armor::label(&text)? == "clew-match-1" {
        let evidence = Match::decode(&text, &group);
        check_age(case, &group, evidence.as_ref().map(|read| &read.row))?;
        let evidence = evidence?;
        let judgement = judge_match(&group, &evidence, &packet)?;
        check(case, &judgement)?;
        case.check("b", evidence.base)?;
        case.check("x", evidence.x.to_bytes())?;
        case.check("machine", judgement.machine.as_str())?;
        let answer = match judgement.signed {
            true => "it was this machine",
            false => "it was not this machine",
        };
        case.check("answer", answer)?;
        holds(evidence.encode() == text, "the same text again")
    } else {
        let evidence = Opening::decode(&text, &group);
        check_age(case, &group, evidence.as_ref().map(|read| &read.row))?;
        let evidence = evidence?;
        let judgement = judge_opening(&group, &evidence, &packet)?;
        check(case, &judgement)?;
        check_all(case, "x", evidence.x.iter().map(Scalar::to_bytes))?;
        case.check("answer", judgement.machine.as_str())?;
        holds(evidence.encode() == text, "the same text again")
    }
}

/// Whether the group file is older than the evidence, as the case says.
fn check_age(case: &Case, group: &GroupFile, row: Result<&Row, &ReadError>) -> Result<(), Stop> {
    let older = match row {
        Ok(row) => row.machines > group.register().machines,
        Err(error) => matches!(error, ReadError::LaterEpoch { .. }),
    };
    holds(older == case.has("needs"), "a newer file is needed")
}

/// All that a judgement says but the answer.
fn check(case: &Case, judgement: &Judgement) -> Result<(), Stop> {
    if case.has("device") {
        let known = case.word("device")?.parse();
        let known = known.map_err(|_| Stop::Wrong("no fingerprint".to_owned()))?;
        judgement.check_device(&known)?;
    }
    case.check("asked", judgement.asked)?;
    case.check("index", judgement.index.to_be_bytes())?;
    case.check("joined", judgement.joined.to_be_bytes())?;
    case.check("how", [judgement.how.code()])?;
    let fingerprint = judgement.device.iter().map(ToString::to_string);
    check_all(case, "fingerprint", fingerprint)?;
    check_all(case, "caveat", judgement.caveats.iter().map(caveat))
}

fn caveat(caveat: &Caveat) -> String {
    match caveat.epoch() {
        Some(epoch) => format!("{} {epoch}", caveat.as_str()),
        None => caveat.as_str().to_owned(),
    }
}
