//! Shares: what a trustee answers, in one step for openings and in three for matches
//! (`spec/opening.md` section 3).

use crate::armor::{self, TextError};
use crate::request::{Question, Request};
use alloc::format;
use alloc::string::String;
use alloc::string::ToString;
use alloc::vec;
use alloc::vec::Vec;
use clew_group::Scheme;
use clew_group::quorum::{
    BLIND_BYTES, Blind, BlindCommitment, DECRYPTION_BYTES, Decryption, Set, Trustee,
};
use clew_wire::Reader;

const LABEL: &str = "clew-share-1";
const STEP_OPENING: u8 = 1;
const STEP_COMMITMENT: u8 = 2;
const STEP_BLIND: u8 = 3;
const STEP_MATCH: u8 = 4;

/// What one trustee answers to a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Share {
    /// What was asked.
    pub request: Request,
    /// Who answers.
    pub trustee: Trustee,
    /// The answer.
    pub step: Step,
}

/// A trustee's answer. The sets have the trustee in them; whether they fit the group's quorum, the
/// format cannot say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// To a request for an opening: one decryption with `xr`, two with `bbs04`.
    Opening(Vec<Decryption>),
    /// To a request for a match, first: the commitment to a blind.
    Commitment {
        /// All who answer this request together.
        set: Set,
        /// The commitment.
        commitment: BlindCommitment,
    },
    /// Second, when all commitments are there: the blind.
    Blind {
        /// All who answer this request together.
        set: Set,
        /// The blind.
        blind: Blind,
    },
    /// Third, when all blinds are there: a decryption of their product.
    Match {
        /// All who answer this request together.
        set: Set,
        /// The blinds of all of the set, in the order of indices.
        blinds: Vec<Blind>,
        /// The decryption.
        decryption: Decryption,
    },
}

/// How many points a trustee decrypts for an opening.
pub(crate) fn decryptions_per_share(scheme: Scheme) -> usize {
    match scheme {
        Scheme::Bbs04 => 2,
        Scheme::Xr => 1,
    }
}

impl Share {
    /// Returns the text of the file. Not secret.
    pub fn encode(&self) -> String {
        let mut out = vec![self.step.code()];
        out.extend_from_slice(&self.request.to_bytes());
        out.push(self.trustee.index());
        self.step.write(&mut out);
        armor::encode(&self.comment(), LABEL, &out).to_string()
    }

    /// Reads the text of a file.
    pub fn decode(text: &str) -> Result<Self, TextError> {
        let payload = armor::decode(text, LABEL)?;
        Self::from_payload(&payload).ok_or(TextError::Damaged)
    }

    /// Returns the trustees who answer a request for a match together. Returns `None` for an
    /// opening.
    pub fn set(&self) -> Option<Set> {
        match self.step {
            Step::Opening(_) => None,
            Step::Commitment { set, .. } | Step::Blind { set, .. } | Step::Match { set, .. } => {
                Some(set)
            }
        }
    }

    fn from_payload(payload: &[u8]) -> Option<Self> {
        let mut fields = Reader(payload);
        let step = fields.u8()?;
        let request = Request::read(&mut fields)?;
        let trustee = Trustee::new(fields.u8()?).ok()?;
        let step = match request.question {
            Question::Opening => Step::read_opening(step, request.scheme, &mut fields)?,
            Question::Match { .. } => Step::read_match(step, trustee, &mut fields)?,
        };
        fields.0.is_empty().then_some(Self {
            request,
            trustee,
            step,
        })
    }

    fn comment(&self) -> String {
        format!(
            "clew {} of {}, group {}, epoch {}. Not secret.",
            self.step.as_str(),
            self.trustee,
            self.request.group,
            self.request.epoch
        )
    }
}

impl Step {
    /// Returns the name of the content, for people.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Opening(_) => "opening share",
            Self::Commitment { .. } => "commitment to a blind",
            Self::Blind { .. } => "blind",
            Self::Match { .. } => "match share",
        }
    }

    fn code(&self) -> u8 {
        match self {
            Self::Opening(_) => STEP_OPENING,
            Self::Commitment { .. } => STEP_COMMITMENT,
            Self::Blind { .. } => STEP_BLIND,
            Self::Match { .. } => STEP_MATCH,
        }
    }

    fn write(&self, out: &mut Vec<u8>) {
        match self {
            Self::Opening(decryptions) => write_decryptions(decryptions, out),
            Self::Commitment { set, commitment } => {
                out.extend_from_slice(&set.to_bytes());
                out.extend_from_slice(&commitment.0);
            }
            Self::Blind { set, blind } => {
                out.extend_from_slice(&set.to_bytes());
                out.extend_from_slice(&blind.to_bytes());
            }
            Self::Match {
                set,
                blinds,
                decryption,
            } => {
                out.extend_from_slice(&set.to_bytes());
                write_blinds(blinds, out);
                out.extend_from_slice(&decryption.to_bytes());
            }
        }
    }

    fn read_opening(step: u8, scheme: Scheme, fields: &mut Reader<'_>) -> Option<Self> {
        let of_opening = step == STEP_OPENING;
        let decryptions = read_decryptions(decryptions_per_share(scheme), fields)?;
        of_opening.then_some(Self::Opening(decryptions))
    }

    fn read_match(step: u8, trustee: Trustee, fields: &mut Reader<'_>) -> Option<Self> {
        let set = read_set(fields)?;
        if !set.contains(trustee) {
            return None;
        }
        Some(match step {
            STEP_COMMITMENT => {
                let commitment = BlindCommitment(fields.array()?);
                Self::Commitment { set, commitment }
            }
            STEP_BLIND => {
                let blind = Blind::from_bytes(fields.take(BLIND_BYTES)?).ok()?;
                Self::Blind { set, blind }
            }
            STEP_MATCH => Self::Match {
                set,
                blinds: read_blinds(set, fields)?,
                decryption: read_decryption(fields)?,
            },
            _ => return None,
        })
    }
}

pub(crate) fn write_decryptions(decryptions: &[Decryption], out: &mut Vec<u8>) {
    out.extend(decryptions.iter().flat_map(Decryption::to_bytes));
}

pub(crate) fn write_blinds(blinds: &[Blind], out: &mut Vec<u8>) {
    out.extend(blinds.iter().flat_map(Blind::to_bytes));
}

pub(crate) fn read_set(fields: &mut Reader<'_>) -> Option<Set> {
    Set::from_bytes(fields.take(4)?).ok()
}

pub(crate) fn read_decryptions(count: usize, fields: &mut Reader<'_>) -> Option<Vec<Decryption>> {
    (0..count).map(|_| read_decryption(fields)).collect()
}

pub(crate) fn read_blinds(set: Set, fields: &mut Reader<'_>) -> Option<Vec<Blind>> {
    let one = |_| Blind::from_bytes(fields.take(BLIND_BYTES)?).ok();
    set.iter().map(one).collect()
}

fn read_decryption(fields: &mut Reader<'_>) -> Option<Decryption> {
    Decryption::from_bytes(fields.take(DECRYPTION_BYTES)?).ok()
}
