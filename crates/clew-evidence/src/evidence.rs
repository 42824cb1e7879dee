//! Openings and matches, as anybody can check them (`spec/opening.md` sections 6 and 7). Reading
//! needs the group file, which says how many shares an opening has.

use crate::armor::{self, TextError};
use crate::group_file::GroupFile;
use crate::judge::{Fault, JudgeRule};
use crate::proof::Row;
use crate::request::{Question, Request};
use crate::share::{
    decryptions_per_share, read_blinds, read_decryptions, read_set, write_blinds, write_decryptions,
};
use crate::wire::Fields;
use clew_group::quorum::{Blind, Decryption, Set, Trustee};
use std::fmt;

const OPENING_LABEL: &str = "clew-opening-1";
const MATCH_LABEL: &str = "clew-match-1";

/// Which machine signed a packet, with the proof.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Opening {
    /// What was asked.
    pub request: Request,
    /// The shares of t trustees, by ascending index: one decryption each with `xr`, two with
    /// `bbs04`.
    pub shares: Vec<(Trustee, Vec<Decryption>)>,
    /// Of the machine.
    pub row: Row,
}

/// Whether one machine signed a packet, with the proof (`xr`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Match {
    /// What was asked.
    pub request: Request,
    /// Who answered.
    pub set: Set,
    /// The machine's credential in the packet's epoch, encoded.
    pub credential: [u8; 48],
    /// The blinds of all of the set, in the order of indices.
    pub blinds: Vec<Blind>,
    /// Their decryptions, likewise.
    pub decryptions: Vec<Decryption>,
    /// Of the machine.
    pub row: Row,
}

impl Opening {
    /// The text of the file.
    pub fn encode(&self) -> String {
        let mut out = self.request.to_bytes().to_vec();
        for (trustee, decryptions) in &self.shares {
            out.push(trustee.index());
            write_decryptions(decryptions, &mut out);
        }
        out.extend_from_slice(&self.row.encode());
        armor::encode(&comment("opening", &self.request), OPENING_LABEL, &out).to_string()
    }

    /// Reads the text of a file about this group. What it says is checked by
    /// [`crate::judge_opening`].
    pub fn decode(text: &str, group: &GroupFile) -> Result<Self, ReadError> {
        let payload = armor::decode(text, OPENING_LABEL)?;
        let mut fields = Fields(&payload);
        let request = read_request(&mut fields, group)?;
        let is_opening = request.question == Question::Opening;
        let read = is_opening.then(|| Self::read_rest(request, fields, group));
        read.flatten().ok_or(ReadError::from(JudgeRule::Layout))
    }

    fn read_rest(request: Request, mut fields: Fields<'_>, group: &GroupFile) -> Option<Self> {
        let (_, sharing) = group.sharing_record(request.epoch)?;
        let each = decryptions_per_share(request.scheme);
        let mut shares = Vec::new();
        for _ in 0..sharing.quorum.threshold() {
            let trustee = Trustee::new(fields.u8()?).ok()?;
            shares.push((trustee, read_decryptions(each, &mut fields)?));
        }
        Some(Self {
            row: Row::decode(request.scheme, fields.0)?,
            request,
            shares,
        })
    }
}

impl Match {
    /// The text of the file.
    pub fn encode(&self) -> String {
        let mut out = self.request.to_bytes().to_vec();
        out.extend_from_slice(&self.set.to_bytes());
        out.extend_from_slice(&self.credential);
        write_blinds(&self.blinds, &mut out);
        write_decryptions(&self.decryptions, &mut out);
        out.extend_from_slice(&self.row.encode());
        armor::encode(&comment("match", &self.request), MATCH_LABEL, &out).to_string()
    }

    /// Reads the text of a file about this group. What it says is checked by
    /// [`crate::judge_match`].
    pub fn decode(text: &str, group: &GroupFile) -> Result<Self, ReadError> {
        let payload = armor::decode(text, MATCH_LABEL)?;
        let mut fields = Fields(&payload);
        let request = read_request(&mut fields, group)?;
        let is_match = request.question != Question::Opening;
        let read = is_match.then(|| Self::read_rest(request, fields));
        read.flatten().ok_or(ReadError::from(JudgeRule::Layout))
    }

    fn read_rest(request: Request, mut fields: Fields<'_>) -> Option<Self> {
        let set = read_set(&mut fields)?;
        Some(Self {
            set,
            credential: fields.array()?,
            blinds: read_blinds(set, &mut fields)?,
            decryptions: read_decryptions(set.count().into(), &mut fields)?,
            row: Row::decode(request.scheme, fields.0)?,
            request,
        })
    }
}

fn comment(what: &str, request: &Request) -> String {
    format!(
        "clew {what}, group {}, epoch {}. Believe it after `clew judge` only.",
        request.group, request.epoch
    )
}

/// The request in front, which has to be about this group before the rest can be read.
fn read_request(fields: &mut Fields<'_>, group: &GroupFile) -> Result<Request, ReadError> {
    let request = Request::read(fields).ok_or(ReadError::from(JudgeRule::Layout))?;
    if request.is_of(group) {
        Ok(request)
    } else {
        Err(ReadError::from(JudgeRule::Group))
    }
}

/// Why an opening or a match was not read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReadError {
    /// The text is none.
    Text(TextError),
    /// What it holds broke a rule: `layout` or `group`.
    Fault(Fault),
}

impl ReadError {
    /// The name that the specification gives the rule.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Text(error) => error.as_str(),
            Self::Fault(fault) => fault.rule.as_str(),
        }
    }
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(error) => error.fmt(f),
            Self::Fault(fault) => fault.fmt(f),
        }
    }
}

impl std::error::Error for ReadError {}

impl From<TextError> for ReadError {
    fn from(error: TextError) -> Self {
        Self::Text(error)
    }
}

impl From<JudgeRule> for ReadError {
    fn from(rule: JudgeRule) -> Self {
        Self::Fault(rule.into())
    }
}
