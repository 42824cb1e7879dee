//! Warrants: who may ask trustees about which signatures, and until when (`spec/warrant.md`).

mod rule;

pub use rule::{WarrantError, WarrantRule};

use crate::armor;
use crate::request::{Question, Request};
use crate::signed::{SIGNATURE_BYTES, holds, strict_key};
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use clew_group::domain_separator;
use clew_packet::GroupId;
use clew_wire::{Name, Reader, WallTime};
use core::time::Duration;
use ed25519_dalek::{Signer, SigningKey};

const LABEL: &str = "clew-warrant-1";
const DRAFT_LABEL: &str = "clew-warrant-draft-1";
const ASKS_OPENING: u8 = 1;
const ASKS_MATCH: u8 = 2;
const NO_MACHINE: [u8; 32] = [0; 32];

/// Most signatures that one warrant covers.
pub const WARRANT_DIGESTS_MAX: usize = 256;

/// Longest time that a warrant is in force.
pub const WARRANT_TIME_MAX: Duration = Duration::from_secs(366 * 86_400);

/// What a court is asked to sign.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WarrantDraft {
    /// The group.
    pub group: GroupId,
    /// From when on trustees may answer.
    pub issued: WallTime,
    /// Until when: at this time they may not any more. At most [`WARRANT_TIME_MAX`] after `issued`.
    pub expires: WallTime,
    /// Random, so that two warrants are never the same.
    pub nonce: [u8; 16],
    /// Case number, or whatever else the court's files have.
    pub reference: Name,
    /// Who may ask.
    pub requester: Requester,
    /// What may be asked.
    pub scope: Scope,
}

/// Who may ask trustees.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Requester {
    /// The Ed25519 key that signs requests, strict.
    pub key: [u8; 32],
    /// The X25519 key to which results are encrypted.
    pub encryption: [u8; 32],
    /// Whose keys these are: the word of the draft's author.
    pub name: Name,
}

/// What trustees may be asked. A digest names a signature ([`crate::Packet::digest`]), and so the whole
/// block or window of packets under it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scope {
    /// The question: openings, or matches with one machine.
    pub question: Question,
    /// Digests of the signatures, 1 to [`WARRANT_DIGESTS_MAX`], strictly increasing.
    pub digests: Vec<[u8; 32]>,
}

/// A warrant whose signature holds. Whether its issuer may issue warrants, every trustee's policy says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warrant {
    draft: WarrantDraft,
    issuer: [u8; 32],
    issuer_name: Name,
    signature: [u8; SIGNATURE_BYTES],
}

impl Scope {
    /// Asks a question about these signatures, whatever their order. Repeated digests count once.
    ///
    /// # Errors
    /// [`WarrantRule::Scope`] if there are none, or more than [`WARRANT_DIGESTS_MAX`].
    pub fn new(question: Question, mut digests: Vec<[u8; 32]>) -> Result<Self, WarrantRule> {
        digests.sort_unstable();
        digests.dedup();
        let scope = Self { question, digests };
        scope.check().map(|()| scope)
    }

    fn check(&self) -> Result<(), WarrantRule> {
        let count = (1..=WARRANT_DIGESTS_MAX).contains(&self.digests.len());
        let is_sorted = self.digests.is_sorted_by(|a, b| a < b);
        let named = match self.question {
            Question::Opening => true,
            Question::Match { machine } => machine != NO_MACHINE,
        };
        (count && is_sorted && named)
            .then_some(())
            .ok_or(WarrantRule::Scope)
    }
}

impl WarrantDraft {
    /// Checks what the fields have to say.
    ///
    /// # Errors
    /// [`WarrantRule::Time`] and [`WarrantRule::Scope`]; [`WarrantRule::Layout`] if the requester's key
    /// is not strict.
    pub fn check(&self) -> Result<(), WarrantRule> {
        strict_key(&self.requester.key).ok_or(WarrantRule::Layout)?;
        let most = WARRANT_TIME_MAX.as_nanos() as u64;
        let length = self.expires.as_nanos().checked_sub(self.issued.as_nanos());
        if !length.is_some_and(|length| (1..=most).contains(&length)) {
            return Err(WarrantRule::Time);
        }
        self.scope.check()
    }

    /// Returns the text of the file. Not secret, as far as the case is not.
    pub fn encode(&self) -> String {
        let comment = format!(
            "clew warrant, a draft: {}. Nobody signed it yet.",
            self.reference
        );
        armor::encode(&comment, DRAFT_LABEL, &self.payload()).to_string()
    }

    /// Reads the text of a draft.
    ///
    /// # Errors
    /// [`WarrantError`], as [`Warrant::decode`] without the signature.
    pub fn decode(text: &str) -> Result<Self, WarrantError> {
        let payload = armor::decode(text, DRAFT_LABEL)?;
        let mut fields = Reader(&payload);
        let draft = Self::read(&mut fields).filter(|_| fields.0.is_empty());
        let draft = draft.ok_or(WarrantRule::Layout)?;
        draft.check()?;
        Ok(draft)
    }

    /// Signs the draft as the issuer of that name.
    ///
    /// # Errors
    /// As [`Self::check`].
    pub fn sign(self, name: Name, issuer: &SigningKey) -> Result<Warrant, WarrantRule> {
        self.check()?;
        let mut warrant = Warrant {
            draft: self,
            issuer: issuer.verifying_key().to_bytes(),
            issuer_name: name,
            signature: [0; SIGNATURE_BYTES],
        };
        warrant.signature = issuer.sign(&message(&warrant.statement())).to_bytes();
        Ok(warrant)
    }

    fn payload(&self) -> Vec<u8> {
        let (asks, machine) = match self.scope.question {
            Question::Opening => (ASKS_OPENING, NO_MACHINE),
            Question::Match { machine } => (ASKS_MATCH, machine),
        };
        let mut out = self.group.0.to_vec();
        out.push(asks);
        out.extend(self.issued.as_nanos().to_be_bytes());
        out.extend(self.expires.as_nanos().to_be_bytes());
        out.extend(self.nonce);
        self.reference.write(&mut out);
        out.extend(self.requester.key);
        out.extend(self.requester.encryption);
        self.requester.name.write(&mut out);
        out.extend(machine);
        out.extend((self.scope.digests.len() as u16).to_be_bytes());
        out.extend_from_slice(self.scope.digests.as_flattened());
        out
    }

    fn read(fields: &mut Reader<'_>) -> Option<Self> {
        let (group, asks) = (GroupId(fields.array()?), fields.u8()?);
        let (issued, expires) = (fields.u64()?, fields.u64()?);
        let (nonce, reference) = (fields.array()?, Name::read(fields)?);
        let requester = Requester {
            key: fields.array()?,
            encryption: fields.array()?,
            name: Name::read(fields)?,
        };
        let question = match (asks, fields.array()?) {
            (ASKS_OPENING, NO_MACHINE) => Question::Opening,
            (ASKS_MATCH, machine) => Question::Match { machine },
            _ => return None,
        };
        let count = usize::from(fields.u16()?);
        let (digests, _) = fields.take(32 * count)?.as_chunks();
        Some(Self {
            group,
            issued: WallTime::from_nanos(issued),
            expires: WallTime::from_nanos(expires),
            nonce,
            reference,
            requester,
            scope: Scope {
                question,
                digests: digests.to_vec(),
            },
        })
    }
}

impl Warrant {
    /// Returns what was signed.
    pub fn draft(&self) -> &WarrantDraft {
        &self.draft
    }

    /// Returns the Ed25519 key of the issuer.
    pub fn issuer(&self) -> &[u8; 32] {
        &self.issuer
    }

    /// Returns the issuer's name: the word of the issuer's key.
    pub fn issuer_name(&self) -> &Name {
        &self.issuer_name
    }

    /// Returns the text of the file.
    pub fn encode(&self) -> String {
        let mut payload = self.statement();
        payload.extend(self.signature);
        let comment = format!(
            "clew warrant: {}, issued by {}. Read it with clew warrant show.",
            self.draft.reference, self.issuer_name
        );
        armor::encode(&comment, LABEL, &payload).to_string()
    }

    /// Reads the text of a file.
    ///
    /// # Errors
    /// [`WarrantError`]: the text, or the first of the rules `layout`, `time`, `scope` and `signature` of
    /// `spec/warrant.md` that is broken.
    pub fn decode(text: &str) -> Result<Self, WarrantError> {
        let payload = armor::decode(text, LABEL)?;
        let (body, signature) = payload.split_last_chunk().ok_or(WarrantRule::Layout)?;
        let mut fields = Reader(body);
        let mut read = || {
            let draft = WarrantDraft::read(&mut fields)?;
            let (issuer, issuer_name) = (fields.array()?, Name::read(&mut fields)?);
            fields.0.is_empty().then_some(Self {
                draft,
                issuer,
                issuer_name,
                signature: *signature,
            })
        };
        let warrant = read().ok_or(WarrantRule::Layout)?;
        warrant.draft.check()?;
        let key = strict_key(&warrant.issuer).ok_or(WarrantRule::Signature)?;
        match holds(&key, &message(body), signature) {
            true => Ok(warrant),
            false => Err(WarrantRule::Signature.into()),
        }
    }

    /// Checks that a request asks what the warrant allows: rules `group`, `question`, `packet` and
    /// `machine`, in this order.
    ///
    /// # Errors
    /// The first rule that is broken.
    pub fn check_request(&self, request: &Request) -> Result<(), WarrantRule> {
        let scope = &self.draft.scope;
        if request.group != self.draft.group {
            return Err(WarrantRule::Group);
        }
        let machines = match (scope.question, request.question) {
            (Question::Opening, Question::Opening) => None,
            (Question::Match { machine }, Question::Match { machine: asked }) => {
                Some((machine, asked))
            }
            _ => return Err(WarrantRule::Question),
        };
        let digest = scope.digests.binary_search(&request.signature_digest);
        digest.map_err(|_| WarrantRule::Packet)?;
        match machines {
            Some((machine, asked)) if machine != asked => Err(WarrantRule::Machine),
            _ => Ok(()),
        }
    }

    /// Checks that the warrant is in force at a time: rules `early` and `expired`.
    ///
    /// # Errors
    /// The rule that is broken.
    pub fn check_time(&self, now: WallTime) -> Result<(), WarrantRule> {
        if now < self.draft.issued {
            return Err(WarrantRule::Early);
        }
        match now < self.draft.expires {
            true => Ok(()),
            false => Err(WarrantRule::Expired),
        }
    }

    /// What the signature covers.
    fn statement(&self) -> Vec<u8> {
        let mut out = self.draft.payload();
        out.extend(self.issuer);
        self.issuer_name.write(&mut out);
        out
    }
}

fn message(statement: &[u8]) -> Vec<u8> {
    [&domain_separator(LABEL)[..], statement].concat()
}

#[cfg(test)]
mod tests;
