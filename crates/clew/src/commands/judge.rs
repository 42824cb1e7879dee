//! `clew judge`: what an opening or a match proves, to anybody with public files.

use super::coverage::{Matter, check_rereadable, not_there};
use super::evidence::Evidence;
use super::share::{file_hash, hash_of};
use super::shown::proof as read_proof;
use super::verdict;
use crate::cli::Judge;
use crate::failure::{Failure, Status};
use crate::groups::read_checked;
use crate::secrets;
use clew_evidence::{
    CheckedGroup, DeviceFingerprint, Fault, Judgement, Match, Opening, ReadError, Request, Row,
    TextError, Warrant, WarrantError, judge_match, judge_opening,
};
use clew_log::KeyKind;
use serde_json::json;
use std::collections::BTreeSet;
use std::fmt::Display;
use std::path::Path;

/// The rule of `--warrant`.
const WARRANT_PIN: &str = "warrant-pin";

/// `clew judge`
pub fn run(arguments: &Judge) -> Result<Status, Failure> {
    check_rereadable(&arguments.input)?;
    let group = read_checked(&arguments.group)?;
    let text = secrets::read_text(&arguments.evidence)?;
    let file = match EvidenceFile::decode(&text, &group) {
        Err(ReadError::Fault(fault)) => return Err(refuted(arguments, &fault)),
        Err(error @ ReadError::LaterEpoch { .. }) => return Err(older(&arguments.group, error)),
        read => read.map_err(|error| unread(&arguments.evidence, &error))?,
    };
    file.check_age(&group, &arguments.group)?;
    let found = Evidence::find(&arguments.input, file.request(), &group)?;
    let evidence = found.ok_or_else(|| not_there(&arguments.input, 0))?;
    let judged = file.judge(&group, &evidence).and_then(|judgement| {
        let pinned = arguments.device.as_ref();
        pinned.map_or(Ok(()), |known| judgement.check_device(known))?;
        Ok(judgement)
    });
    let mut judgement = judged.map_err(|fault| refuted(arguments, &fault))?;
    anchor(arguments, &group, &mut judgement)?;
    check_warrant(arguments, file.request())?;
    let allowed = check_allowed(arguments, file.request())?;
    let matter = Matter::of(&arguments.input, evidence)?;
    let warrant = file.request().warrant.as_ref();
    verdict::tell(&group, &matter, warrant, &judgement, arguments.json);
    if let (Some(warrant), false) = (allowed, arguments.json) {
        say!("  warrant by {}", warrant.issuer_name());
        say!("             {}", DeviceFingerprint::of(warrant.issuer()));
        say!("             (compare the key with one that you have from the court)");
    }
    Ok(Status::Yes)
}

/// Adds what the log says of the capture, if that was asked for.
fn anchor(
    arguments: &Judge,
    group: &CheckedGroup,
    judgement: &mut Judgement,
) -> Result<(), Failure> {
    let Some(path) = &arguments.anchor else {
        return Ok(());
    };
    let (witnesses, proof) = (&arguments.witness, read_proof(path)?);
    if let Some(log) = witnesses.iter().find(|key| key.kind() == KeyKind::Log) {
        let failure = Failure::new(format!("--witness: {} is the key of a log", log.name()));
        return Err(failure.hint("use the verifier keys of witnesses"));
    }
    let distinct: BTreeSet<_> = witnesses.iter().map(|key| key.key().to_bytes()).collect();
    if distinct.len() < witnesses.len() {
        return Err(Failure::new("--witness: one key is there twice"));
    }
    let threshold = match (arguments.threshold, witnesses.len()) {
        (Some(asked), most) if usize::from(asked) > most => {
            let why = format!("--threshold {asked} is larger than the number of witnesses, {most}");
            return Err(Failure::new(why));
        }
        (Some(asked), _) => usize::from(asked),
        (None, 0) => 0,
        (None, count) => count / 2 + 1,
    };
    let capture = file_hash(&arguments.input, None)?;
    let anchored = judgement.anchor(group, &proof, &capture, witnesses, threshold);
    let anchored = anchored.map_err(|fault| no(arguments, fault.as_str(), None, fault));
    anchored.map(drop)
}

/// The evidence breaks a rule: a no.
fn refuted(arguments: &Judge, fault: &Fault) -> Failure {
    let trustee = fault.trustee.map(|trustee| trustee.index());
    no(arguments, fault.rule.as_str(), trustee, fault)
}

/// Rule `warrant-pin`: the trustees were shown the warrant that was given, if one was.
fn check_warrant(arguments: &Judge, request: &Request) -> Result<(), Failure> {
    let Some(path) = &arguments.warrant else {
        return Ok(());
    };
    let shown = match request.warrant {
        Some(shown) if shown == hash_of(path)? => return Ok(()),
        Some(_) => "another warrant",
        None => "no warrant",
    };
    let why = format!("the trustees were shown {shown} (rule {WARRANT_PIN})");
    Err(no(arguments, WARRANT_PIN, None, why))
}

/// If the warrant that was given has clew's own form: that it holds and allows the request.
fn check_allowed(arguments: &Judge, request: &Request) -> Result<Option<Warrant>, Failure> {
    let Some(path) = &arguments.warrant else {
        return Ok(None);
    };
    let Ok(text) = secrets::read_text(path) else {
        return Ok(None); // some other document
    };
    let warrant = match Warrant::decode(&text) {
        Err(WarrantError::Text(_)) => return Ok(None),
        Err(WarrantError::Rule(rule)) => Err(rule),
        Ok(warrant) => warrant.check_request(request).map(|()| warrant),
    };
    let warrant = warrant.map_err(|rule| no(arguments, rule.as_str(), None, rule))?;
    Ok(Some(warrant))
}

fn no(arguments: &Judge, rule: &str, trustee: Option<u8>, why: impl Display) -> Failure {
    if arguments.json {
        say!(
            "{}",
            json!({"holds": false, "rule": rule, "trustee": trustee})
        );
    }
    Failure::file(&arguments.evidence, format!("invalid: {why}")).no()
}

/// An opening or a match.
pub enum EvidenceFile {
    Opening(Box<Opening>),
    Match(Box<Match>),
}

impl EvidenceFile {
    /// Reads either; what it holds is not judged.
    fn decode(text: &str, group: &CheckedGroup) -> Result<Self, ReadError> {
        match Opening::decode(text, group) {
            Err(ReadError::Text(TextError::Label { .. })) => {}
            opening => return Ok(Self::Opening(Box::new(opening?))),
        }
        Ok(Self::Match(Box::new(Match::decode(text, group)?)))
    }

    /// What it answers.
    pub fn request(&self) -> &Request {
        match self {
            Self::Opening(opening) => &opening.request,
            Self::Match(matched) => &matched.request,
        }
    }

    /// The row of its machine.
    pub fn row(&self) -> &Row {
        match self {
            Self::Opening(opening) => &opening.row,
            Self::Match(matched) => &matched.row,
        }
    }

    /// Its text.
    pub fn encode(&self) -> String {
        match self {
            Self::Opening(opening) => opening.encode(),
            Self::Match(matched) => matched.encode(),
        }
    }

    /// Whether the group file is as new as the evidence: an older one can't tell, which is no "no".
    fn check_age(&self, group: &CheckedGroup, path: &Path) -> Result<(), Failure> {
        let (needed, known) = (self.row().machines, group.register().machines);
        if needed <= known {
            return Ok(());
        }
        let why = format!("need a register of {needed} machines, have {known}");
        Err(older(path, why))
    }

    /// Judges it, for the packet that it is about.
    fn judge(&self, group: &CheckedGroup, evidence: &Evidence) -> Result<Judgement, Fault> {
        match self {
            Self::Opening(opening) => judge_opening(group, opening, &evidence.packet()),
            Self::Match(matched) => judge_match(group, matched, &evidence.packet()),
        }
    }
}

/// The group file is older than the evidence: a newer one may say yes.
fn older(path: &Path, why: impl std::fmt::Display) -> Failure {
    Failure::file(path, why).hint("use a newer group file")
}

/// A text that is no evidence is no answer; a rule that is broken is a no.
fn unread(path: &Path, error: &ReadError) -> Failure {
    match error {
        ReadError::Text(TextError::Label { found, .. }) => {
            Failure::file(path, format!("need an opening or a match, have a {found}"))
        }
        ReadError::Text(_) | ReadError::LaterEpoch { .. } => Failure::file(path, error),
        ReadError::Fault(fault) => Failure::file(path, format!("invalid: {fault}")).no(),
    }
}
