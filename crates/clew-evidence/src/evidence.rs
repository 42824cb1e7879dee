//! Openings and matches, as anybody can check them (`spec/opening.md` sections 6 and 7). Reading
//! needs the group file, which says how many shares an opening has.

use crate::armor::{self, TextError};
use crate::group_file::GroupFile;
use crate::judge::{Fault, JudgeRule};
use crate::register_file::read_x;
use crate::request::{Question, Request};
use crate::row::Row;
use crate::search::FoundRow;
use crate::share::{
    decryptions_per_share, read_blinds, read_decryptions, read_set, write_blinds, write_decryptions,
};
use alloc::format;
use alloc::string::String;
use alloc::string::ToString;
use alloc::vec::Vec;
use clew_group::curve::Scalar;
use clew_group::quorum::{Blind, Decryption, Set, Trustee};
use clew_wire::Reader;
use core::fmt;

const OPENING_LABEL: &str = "clew-opening-1";
const MATCH_LABEL: &str = "clew-match-1";

/// Length (2) of the proof that a log saw the packet. Until groups have logs there is none.
const NO_ANCHOR: [u8; 2] = [0, 0];

/// Which machine signed a packet, with the proof.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Opening {
    /// What was asked.
    pub request: Request,
    /// The shares of t trustees, by ascending index: one decryption each with `xr`, two with
    /// `bbs04`.
    pub shares: Vec<(Trustee, Vec<Decryption>)>,
    /// x of the machine (`xr`). `None` with `bbs04`.
    pub x: Option<Scalar>,
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
    /// B_X: the base that the machine signs with in the packet's epoch, encoded.
    pub base: [u8; 48],
    /// x of the machine.
    pub x: Scalar,
    /// The blinds of all of the set, in the order of indices.
    pub blinds: Vec<Blind>,
    /// Their decryptions, likewise.
    pub decryptions: Vec<Decryption>,
    /// Of the machine.
    pub row: Row,
}

impl Opening {
    /// Returns the row with its x.
    pub fn found(&self) -> FoundRow {
        FoundRow {
            row: self.row.clone(),
            x: self.x,
        }
    }

    /// Returns the text of the file.
    pub fn encode(&self) -> String {
        let mut out = self.request.to_bytes().to_vec();
        for (trustee, decryptions) in &self.shares {
            out.push(trustee.index());
            write_decryptions(decryptions, &mut out);
        }
        out.extend(self.x.iter().flat_map(Scalar::to_bytes));
        out.extend_from_slice(&NO_ANCHOR);
        out.extend_from_slice(&self.row.encode());
        armor::encode(&comment("opening", &self.request), OPENING_LABEL, &out).to_string()
    }

    /// Reads the text of a file about this group. What it says is checked by
    /// [`crate::judge_opening`].
    pub fn decode(text: &str, group: &GroupFile) -> Result<Self, ReadError> {
        let payload = armor::decode(text, OPENING_LABEL)?;
        let mut fields = Reader(&payload);
        let request = read_request(&mut fields, group)?;
        let is_opening = request.question == Question::Opening;
        let read = is_opening.then(|| Self::read_rest(request, fields, group));
        read.flatten().ok_or(ReadError::from(JudgeRule::Layout))
    }

    fn read_rest(request: Request, mut fields: Reader<'_>, group: &GroupFile) -> Option<Self> {
        let (_, sharing) = group.sharing_record(request.epoch)?;
        let each = decryptions_per_share(request.scheme);
        let mut shares = Vec::new();
        for _ in 0..sharing.quorum.threshold() {
            let trustee = Trustee::new(fields.u8()?).ok()?;
            shares.push((trustee, read_decryptions(each, &mut fields)?));
        }
        let x = read_x(request.scheme, &mut fields)?;
        fields.array().filter(|anchor| *anchor == NO_ANCHOR)?;
        Some(Self {
            row: Row::decode(request.scheme, fields.0)?,
            request,
            shares,
            x,
        })
    }
}

impl Match {
    /// Returns the row with its x.
    pub fn found(&self) -> FoundRow {
        FoundRow {
            row: self.row.clone(),
            x: Some(self.x),
        }
    }

    /// Returns the text of the file.
    pub fn encode(&self) -> String {
        let mut out = self.request.to_bytes().to_vec();
        out.extend_from_slice(&self.set.to_bytes());
        out.extend_from_slice(&self.base);
        out.extend_from_slice(&self.x.to_bytes());
        write_blinds(&self.blinds, &mut out);
        write_decryptions(&self.decryptions, &mut out);
        out.extend_from_slice(&NO_ANCHOR);
        out.extend_from_slice(&self.row.encode());
        armor::encode(&comment("match", &self.request), MATCH_LABEL, &out).to_string()
    }

    /// Reads the text of a file about this group. What it says is checked by
    /// [`crate::judge_match`].
    pub fn decode(text: &str, group: &GroupFile) -> Result<Self, ReadError> {
        let payload = armor::decode(text, MATCH_LABEL)?;
        let mut fields = Reader(&payload);
        let request = read_request(&mut fields, group)?;
        let is_match = request.question != Question::Opening;
        let read = is_match.then(|| Self::read_rest(request, fields));
        read.flatten().ok_or(ReadError::from(JudgeRule::Layout))
    }

    fn read_rest(request: Request, mut fields: Reader<'_>) -> Option<Self> {
        let (set, base) = (read_set(&mut fields)?, fields.array()?);
        let x = read_x(request.scheme, &mut fields)??;
        let blinds = read_blinds(set, &mut fields)?;
        let decryptions = read_decryptions(set.count().into(), &mut fields)?;
        fields.array().filter(|anchor| *anchor == NO_ANCHOR)?;
        Some(Self {
            row: Row::decode(request.scheme, fields.0)?,
            request,
            set,
            base,
            x,
            blinds,
            decryptions,
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
fn read_request(fields: &mut Reader<'_>, group: &GroupFile) -> Result<Request, ReadError> {
    let request = Request::read(fields).ok_or(ReadError::from(JudgeRule::Layout))?;
    if request.is_of(group) {
        return Ok(request);
    }
    let (epoch, newest) = (request.epoch, group.newest_epoch());
    let same_group = request.group == group.id() && request.scheme == group.scheme();
    Err(match same_group && epoch > newest {
        true => ReadError::LaterEpoch { epoch, newest },
        false => ReadError::from(JudgeRule::Group),
    })
}

/// Why an opening or a match was not read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReadError {
    /// The text is none.
    Text(TextError),
    /// What it holds broke a rule: `layout` or `group`.
    Fault(Fault),
    /// It is about an epoch that this file of the group does not have yet: rule `group`, and no
    /// judgement. A newer file may say yes.
    LaterEpoch {
        /// The epoch that it is about.
        epoch: u32,
        /// The newest epoch of the file.
        newest: u32,
    },
}

impl ReadError {
    /// Returns the name that the specification gives the rule.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Text(error) => error.as_str(),
            Self::Fault(fault) => fault.rule.as_str(),
            Self::LaterEpoch { .. } => JudgeRule::Group.as_str(),
        }
    }
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(error) => error.fmt(f),
            Self::Fault(fault) => fault.fmt(f),
            Self::LaterEpoch { epoch, newest } => write!(
                f,
                "the evidence is about epoch {epoch}, but the group file ends at epoch {newest}"
            ),
        }
    }
}

impl core::error::Error for ReadError {}

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
