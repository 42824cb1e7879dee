//! `clew judge`: what an opening or a match proves, to anybody with public files.

use super::bundle::{self, Reports};
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
use clew_log::{KeyKind, VerifierKey};
use serde_json::json;
use std::collections::BTreeSet;
use std::fmt::Display;
use std::path::{Path, PathBuf};

/// The rule of `--warrant`.
const WARRANT_PIN: &str = "warrant-pin";

/// `clew judge`
pub fn run(arguments: &Judge) -> Result<Status, Failure> {
    let Judge {
        group,
        evidence,
        input,
        warrant,
        device,
        json,
        anchor,
        request,
        decision,
        ..
    } = arguments;
    let (Some(group), Some(input)) = (group, input) else {
        return bundle::judge(arguments);
    };
    if arguments.report.is_some() || arguments.ignore_reports {
        return Err(Failure::new(
            "--report and --ignore-reports require a bundle",
        ));
    }
    if anchor.is_none() && request.is_none() && !arguments.witness.is_empty() {
        return Err(Failure::new("--witness requires --anchor or --request"));
    }
    let case = Case {
        named: evidence,
        group,
        evidence,
        input,
        warrant: warrant.as_deref(),
        device: device.as_ref(),
        anchor: anchor.as_deref(),
        request: request.as_deref(),
        decisions: decision,
        believed: Believed::of(arguments),
        json: *json,
    };
    case.judge()?.tell(*json);
    Ok(Status::Yes)
}

/// Evidence, and what it is judged by.
#[derive(Clone, Copy)]
pub struct Case<'a> {
    /// The file that a no is said of.
    pub named: &'a Path,
    /// The group file.
    pub group: &'a Path,
    /// An opening or a match.
    pub evidence: &'a Path,
    /// A capture that contains the packet.
    pub input: &'a Path,
    /// The warrant that the trustees have to have been shown.
    pub warrant: Option<&'a Path>,
    /// The device key that the machine has to have.
    pub device: Option<&'a DeviceFingerprint>,
    /// The log's proof of the capture.
    pub anchor: Option<&'a Path>,
    /// The log's proof of the request.
    pub request: Option<&'a Path>,
    /// The log's proofs of trustees' decisions.
    pub decisions: &'a [PathBuf],
    /// Who has to have seen the log's checkpoints.
    pub believed: Believed<'a>,
    /// Whether a no is said as JSON.
    pub json: bool,
}

/// Whose word about the log counts.
#[derive(Clone, Copy, Default)]
pub struct Believed<'a> {
    /// Keys of witnesses. Without any, the log's own word counts.
    pub witnesses: &'a [VerifierKey],
    /// How many of them; by default more than half.
    pub threshold: Option<u8>,
}

impl<'a> Believed<'a> {
    /// Whom the arguments name.
    pub fn of(arguments: &'a Judge) -> Self {
        Self {
            witnesses: &arguments.witness,
            threshold: arguments.threshold,
        }
    }
}

/// Evidence that holds.
pub struct Judged {
    /// The group.
    pub group: CheckedGroup,
    /// The evidence.
    pub file: EvidenceFile,
    /// The packet, and which others its signature covers.
    pub matter: Matter,
    /// What it proves.
    pub judgement: Judgement,
    /// The warrant that was given, if it has clew's own form.
    pub allowed: Option<Warrant>,
    /// Of a bundle: whether its reports say the same.
    pub reports: Option<Reports>,
}

impl Case<'_> {
    /// Judges.
    ///
    /// # Errors
    /// It does not hold (status 1), or nobody can tell (status 2).
    pub fn judge(&self) -> Result<Judged, Failure> {
        check_rereadable(self.input)?;
        let group = read_checked(self.group)?;
        let text = secrets::read_text(self.evidence)?;
        let file = match EvidenceFile::decode(&text, &group) {
            Err(ReadError::Fault(fault)) => return Err(self.refuted(&fault)),
            Err(error @ ReadError::LaterEpoch { .. }) => return Err(older(self.group, error)),
            read => read.map_err(|error| unread(self.evidence, &error))?,
        };
        file.check_age(&group, self.group)?;
        let found = Evidence::find(self.input, file.request(), &group)?;
        let evidence = found.ok_or_else(|| not_there(self.input, 0))?;
        let judged = file.judge(&group, &evidence).and_then(|judgement| {
            self.device
                .map_or(Ok(()), |known| judgement.check_device(known))?;
            Ok(judgement)
        });
        let mut judgement = judged.map_err(|fault| self.refuted(&fault))?;
        self.anchor(&group, &mut judgement)?;
        self.requested(&group, file.request(), &mut judgement)?;
        self.check_warrant(file.request())?;
        let allowed = self.check_allowed(file.request())?;
        let matter = Matter::of(self.input, evidence)?;
        Ok(Judged {
            group,
            file,
            matter,
            judgement,
            allowed,
            reports: None,
        })
    }

    /// The evidence breaks a rule: a no.
    fn refuted(&self, fault: &Fault) -> Failure {
        let trustee = fault.trustee.map(|trustee| trustee.index());
        self.no(fault.rule.as_str(), trustee, fault)
    }

    /// Rule `warrant-pin`: the trustees were shown the warrant that was given, if one was.
    fn check_warrant(&self, request: &Request) -> Result<(), Failure> {
        let Some(path) = self.warrant else {
            return Ok(());
        };
        let shown = match request.warrant {
            Some(shown) if shown == hash_of(path)? => return Ok(()),
            Some(_) => "another warrant",
            None => "no warrant",
        };
        let why = format!("the trustees were shown {shown} (rule {WARRANT_PIN})");
        Err(self.no(WARRANT_PIN, None, why))
    }

    /// Adds what the log says of the capture, if that was asked for.
    fn anchor(&self, group: &CheckedGroup, judgement: &mut Judgement) -> Result<(), Failure> {
        let Some(anchor) = self.anchor else {
            return Ok(());
        };
        let (threshold, proof) = (self.believed.threshold()?, read_proof(anchor)?);
        let (capture, witnesses) = (file_hash(self.input, None)?, self.believed.witnesses);
        let anchored = judgement.anchor(group, &proof, &capture, witnesses, threshold);
        let anchored = anchored.map_err(|fault| self.no(fault.as_str(), None, fault));
        anchored.map(drop)
    }

    /// Adds where the log has the request, if that was asked for.
    fn requested(
        &self,
        group: &CheckedGroup,
        request: &Request,
        judgement: &mut Judgement,
    ) -> Result<(), Failure> {
        let Some(path) = self.request else {
            return Ok(());
        };
        let (threshold, filed) = (self.believed.threshold()?, read_proof(path)?);
        let decisions = self.decisions.iter().map(|path| read_proof(path));
        let decisions = decisions.collect::<Result<Vec<_>, _>>()?;
        let (proofs, witnesses) = ((&filed, &decisions[..]), self.believed.witnesses);
        let requested = judgement.requested(group, request, proofs, witnesses, threshold);
        let requested = requested.map_err(|fault| self.no(fault.as_str(), None, fault));
        requested.map(drop)
    }

    /// If the warrant that was given has clew's own form: that it holds and allows the request.
    fn check_allowed(&self, request: &Request) -> Result<Option<Warrant>, Failure> {
        let Some(path) = self.warrant else {
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
        let warrant = warrant.map_err(|rule| self.no(rule.as_str(), None, rule))?;
        Ok(Some(warrant))
    }

    /// A no by a rule.
    pub fn no(&self, rule: &str, trustee: Option<u8>, why: impl Display) -> Failure {
        if self.json {
            let no = json!({"holds": false, "rule": rule, "trustee": trustee});
            say!("{no}");
        }
        Failure::file(self.named, format!("invalid: {why}")).no()
    }
}

impl Believed<'_> {
    /// How many of the witnesses are needed.
    fn threshold(&self) -> Result<usize, Failure> {
        let witnesses = self.witnesses;
        if let Some(log) = witnesses.iter().find(|key| key.kind() == KeyKind::Log) {
            let failure = Failure::new(format!("--witness: {} is the key of a log", log.name()));
            return Err(failure.hint("use the verifier keys of witnesses"));
        }
        let distinct: BTreeSet<_> = witnesses.iter().map(|key| key.key().to_bytes()).collect();
        if distinct.len() < witnesses.len() {
            return Err(Failure::new("--witness: one key is there twice"));
        }
        match (self.threshold, witnesses.len()) {
            (Some(asked), most) if usize::from(asked) > most => {
                let why = "is larger than the number of witnesses";
                Err(Failure::new(format!("--threshold {asked} {why}, {most}")))
            }
            (Some(asked), _) => Ok(asked.into()),
            (None, 0) => Ok(0),
            (None, count) => Ok(count / 2 + 1),
        }
    }
}

impl Judged {
    /// Says what it proves.
    pub fn tell(&self, as_json: bool) {
        let warrant = self.file.request().warrant.as_ref();
        if as_json {
            let mut object = verdict::object(&self.group, &self.matter, warrant, &self.judgement);
            if let Some(reports) = &self.reports {
                object["reports"] = reports.as_str().into();
            }
            return say!("{object}");
        }
        verdict::tell(&self.group, &self.matter, warrant, &self.judgement, false);
        if let Some(Reports::NotCompared { version }) = &self.reports {
            say!("  reports    NOT compared, clew {version} wrote them: do not read them");
        }
        if let Some(warrant) = &self.allowed {
            say!("  warrant by {}", warrant.issuer_name());
            say!("             {}", DeviceFingerprint::of(warrant.issuer()));
            say!("             (compare the key with one that you have from the court)");
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
    pub fn decode(text: &str, group: &CheckedGroup) -> Result<Self, ReadError> {
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
