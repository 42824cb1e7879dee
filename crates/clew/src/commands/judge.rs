//! `clew judge`: what an opening or a match proves, to anybody with public files.

use super::evidence::Evidence;
use super::share::read_text;
use crate::cli::Judge;
use crate::clock;
use crate::failure::{Failure, Status};
use crate::keyring::read_group_file;
use clew_evidence::{
    Caveat, Fault, GroupFile, Judgement, Match, Opening, ReadError, Request, TextError,
    judge_match, judge_opening,
};
use serde_json::json;
use std::path::Path;

/// `clew judge`
pub fn run(arguments: &Judge) -> Result<Status, Failure> {
    let group = read_group_file(&arguments.group)?;
    let file = EvidenceFile::read(&arguments.evidence, &group)?;
    let found = Evidence::find(&arguments.input, file.request(), &group)?;
    let Some(evidence) = found else {
        return Err(Failure::file(
            &arguments.input,
            "the packet that this is about is not in the capture",
        ));
    };
    match file.judge(&group, &evidence) {
        Ok(judgement) => {
            tell(&group, &evidence, &judgement, arguments.json);
            Ok(Status::Yes)
        }
        Err(fault) => {
            if arguments.json {
                let (rule, trustee) = (fault.rule.as_str(), fault.trustee.map(|t| t.index()));
                say!(
                    "{}",
                    json!({"holds": false, "rule": rule, "trustee": trustee})
                );
            }
            Err(Failure::file(&arguments.evidence, format!("it does not hold: {fault}")).no())
        }
    }
}

/// An opening or a match.
pub enum EvidenceFile {
    Opening(Box<Opening>),
    Match(Box<Match>),
}

impl EvidenceFile {
    /// Reads either; what it holds is not judged.
    pub fn read(path: &Path, group: &GroupFile) -> Result<Self, Failure> {
        let text = read_text(path)?;
        match Opening::decode(&text, group) {
            Ok(opening) => return Ok(Self::Opening(Box::new(opening))),
            Err(ReadError::Text(TextError::Label { .. })) => {}
            Err(error) => return Err(unread(path, &error)),
        }
        let matched = Match::decode(&text, group).map_err(|error| unread(path, &error))?;
        Ok(Self::Match(Box::new(matched)))
    }

    /// What it answers.
    pub fn request(&self) -> &Request {
        match self {
            Self::Opening(opening) => &opening.request,
            Self::Match(matched) => &matched.request,
        }
    }

    /// Judges it, for the packet that it is about.
    pub fn judge(&self, group: &GroupFile, evidence: &Evidence) -> Result<Judgement, Fault> {
        match self {
            Self::Opening(opening) => judge_opening(group, opening, &evidence.packet()),
            Self::Match(matched) => judge_match(group, matched, &evidence.packet()),
        }
    }
}

/// A text that is no evidence is no answer; a rule that is broken is a no.
fn unread(path: &Path, error: &ReadError) -> Failure {
    match error {
        ReadError::Text(TextError::Label { found, .. }) => Failure::file(
            path,
            format!("this is a {found}, neither an opening nor a match"),
        ),
        ReadError::Text(error) => Failure::file(path, error),
        ReadError::Fault(fault) => Failure::file(path, format!("it does not hold: {fault}")).no(),
    }
}

/// Says what evidence proves, and what it does not.
pub fn tell(group: &GroupFile, evidence: &Evidence, judgement: &Judgement, as_json: bool) {
    let caveats = &judgement.caveats;
    let (number, machine) = (evidence.number, &judgement.machine);
    let signed_at = evidence.summary.timestamp.0;
    if as_json {
        let object = json!({
            "holds": true,
            "packet": number,
            "machine": machine.as_str(),
            "sent": judgement.signed,
            "group": group.id().to_string(),
            "epoch": judgement.epoch,
            "signed_at": clock::rfc3339(signed_at),
            "caveats": caveats.iter().map(caveat_word).collect::<Vec<_>>(),
        });
        say!("{object}");
        return;
    }
    let was = if judgement.signed { "was" } else { "was not" };
    say!("packet {number} {was} sent by {machine}");
    let name = &group.genesis().name;
    say!(
        "  group     {name} ({}), epoch {}",
        group.id(),
        judgement.epoch
    );
    say!("  signed    {}", clock::to_the_second(signed_at));
    for caveat in caveats {
        say!("  But: {}", caveat_sentence(caveat, group));
    }
}

fn caveat_word(caveat: &Caveat) -> &'static str {
    match caveat {
        Caveat::IssuerCouldSign => "issuer-could-sign",
        Caveat::Dealt => "dealt",
        Caveat::RevokedLater { .. } => "revoked-later",
        Caveat::RevokedBefore { .. } => "revoked-before",
    }
}

fn caveat_sentence(caveat: &Caveat, group: &GroupFile) -> String {
    match caveat {
        Caveat::IssuerCouldSign => {
            "with bbs04 the issuer could have made this signature itself".to_owned()
        }
        Caveat::Dealt => {
            "the opening key was dealt: whoever dealt it could open packets alone".to_owned()
        }
        Caveat::RevokedBefore { epoch } => format!(
            "the machine was revoked before, in epoch {epoch}: it could not sign in this epoch \
             without the issuer's help"
        ),
        Caveat::RevokedLater { epoch } => {
            let when = group.start(*epoch).map_or(String::new(), |start| {
                format!(", from {}", clock::to_the_second(start))
            });
            format!(
                "the machine was revoked in epoch {epoch}{when}; nothing shows that the packet \
                 existed before: whoever has a stolen key can date packets back"
            )
        }
    }
}
