//! Vectors of openings and matches.

use clew_evidence::{Caveat, GroupFile, Match, Opening, Packet, armor, judge_match, judge_opening};
use clew_packet::{Frame, LinkType, Mode, read};

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

pub fn group_file(case: &Case) -> Result<GroupFile, Stop> {
    let file = other("group-file", case.word("group-file")?)?;
    Ok(GroupFile::from_bytes(file.bytes("file")?)?)
}

/// The signed packet of a case: its epoch, message and signature in its plain form.
pub struct Found {
    epoch: u32,
    message: Vec<u8>,
    body: Vec<u8>,
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
        if !ours || trailer.block.mode() != Mode::Each {
            return Ok(None);
        }
        let mut message = Vec::new();
        packet.write_message(&mut message);
        let plain = trailer.scheme.signature_bytes(false);
        Ok(Some(Self {
            epoch: trailer.epoch,
            message,
            body: trailer.body[..plain].to_vec(),
        }))
    }

    pub fn packet(&self) -> Packet<'_> {
        Packet {
            epoch: self.epoch,
            message: &self.message,
            body: &self.body,
        }
    }
}

/// A packet that nobody asked about.
pub const NO_PACKET: Packet<'static> = Packet {
    epoch: 0,
    message: &[],
    body: &[],
};

fn evidence(case: &Case) -> Result<(), Stop> {
    let (text, group) = (case.joined("line")?, group_file(case)?);
    let found = Found::of(case, &group)?;
    let packet = found.as_ref().map_or(NO_PACKET, Found::packet);
    let (answer, again) = if armor::label(&text)? == "clew-match-1" {
        let evidence = Match::decode(&text, &group)?;
        let judgement = judge_match(&group, &evidence, &packet)?;
        case.check("machine", judgement.machine.as_str())?;
        let answer = match judgement.signed {
            true => "it was this machine",
            false => "it was not this machine",
        };
        (answer.to_owned(), evidence.encode())
    } else {
        let evidence = Opening::decode(&text, &group)?;
        let judgement = judge_opening(&group, &evidence, &packet)?;
        let revoked = judgement.caveats.iter().filter_map(revoked_in);
        check_all(case, "revoked", revoked)?;
        (judgement.machine.as_str().to_owned(), evidence.encode())
    };
    holds(again == text, "the same text again")?;
    holds(case.word("answer")? == answer, &answer)
}

/// The epoch that revoked the machine, earlier or later than the packet's.
fn revoked_in(caveat: &Caveat) -> Option<[u8; 4]> {
    match caveat {
        Caveat::RevokedLater { epoch } | Caveat::RevokedBefore { epoch } => {
            Some(epoch.to_be_bytes())
        }
        _ => None,
    }
}
