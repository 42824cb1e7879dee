//! Reading a group file: every rule of spec section 3, in its order.

use crate::parts::{EpochRecord, Genesis, Kind, RegisterHead, body_hash, kind, signed_message};
use crate::wire::Fields;
use clew_group::bbs04::{Opening, PublicKey, Revocation};
use clew_packet::GroupId;
use ed25519_dalek::{Signature, VerifyingKey};
use std::fmt;

/// The first bytes of every group file.
pub const HEADER: &[u8; 16] = b"clew-group-file\n";

/// Longest body of a part.
pub const MAX_PART_BYTES: usize = 4096;

/// Most epochs after the first that one group may have.
pub const MAX_EPOCHS: usize = 1 << 20;

const SIGNATURE_BYTES: usize = 64;

/// A group file whose layout, chain, signatures and first key were checked. Keys of later epochs
/// are checked when [`GroupFile::public_key`] makes them.
#[derive(Clone, Debug)]
pub struct GroupFile {
    id: GroupId,
    genesis: Genesis,
    first_key: PublicKey,
    epochs: Vec<EpochRecord>,
    register: RegisterHead,
}

impl GroupFile {
    /// Reads and checks a file.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, GroupFileError> {
        let parts = split(bytes)?;
        let (records, register) = by_kind(&parts)?;
        let genesis = Genesis::decode(records[0].body).ok_or(at(0, Rule::Layout))?;
        check_signatures(&genesis, &parts)?;
        let epochs = read_epochs(records)?;
        let last = body_hash(records[records.len() - 1].body);
        let register = read_register(register, records.len(), &last)?;
        let first_key = first_key(&genesis).ok_or(at(0, Rule::PublicKey))?;
        Ok(Self {
            id: genesis.group_id(),
            genesis,
            first_key,
            epochs,
            register,
        })
    }

    /// The group id.
    pub fn id(&self) -> GroupId {
        self.id
    }

    /// Record 0.
    pub fn genesis(&self) -> &Genesis {
        &self.genesis
    }

    /// The records of epochs 1 and later.
    pub fn epochs(&self) -> &[EpochRecord] {
        &self.epochs
    }

    /// The register's head.
    pub fn register(&self) -> &RegisterHead {
        &self.register
    }

    /// Number of the newest epoch.
    pub fn newest_epoch(&self) -> u32 {
        self.epochs.len() as u32
    }

    /// When `epoch` starts, in nanoseconds since 1970; nothing for epoch 0 and for epochs that are
    /// not in the file.
    pub fn start(&self, epoch: u32) -> Option<u64> {
        self.record(epoch).map(|record| record.start)
    }

    /// The public key of an epoch, checked to descend from epoch 0 (about 2 ms). Nothing if the
    /// file has no such epoch.
    pub fn public_key(&self, epoch: u32) -> Option<Result<PublicKey, GroupFileError>> {
        if epoch == 0 {
            return Some(Ok(self.first_key.clone()));
        }
        let record = self.record(epoch)?;
        let key = PublicKey::from_bytes(&record.public_key(&self.genesis.public_key))
            .ok()
            .filter(|key| key.check_descends_from(&self.first_key).is_ok());
        Some(key.ok_or(at(epoch as usize, Rule::PublicKey)))
    }

    /// The revocations that a member key of `epoch` has yet to follow, oldest first.
    pub fn revocations_after(
        &self,
        epoch: u32,
    ) -> impl Iterator<Item = Result<Revocation, GroupFileError>> {
        self.epochs.iter().skip(epoch as usize).map(|record| {
            Revocation::from_bytes(&record.revocation)
                .map_err(|_| at(record.epoch as usize, Rule::PublicKey))
        })
    }

    fn record(&self, epoch: u32) -> Option<&EpochRecord> {
        self.epochs.get((epoch as usize).checked_sub(1)?)
    }
}

/// One part as it stands in the file.
struct Part<'a> {
    body: &'a [u8],
    signature: [u8; SIGNATURE_BYTES],
}

fn split(bytes: &[u8]) -> Result<Vec<Part<'_>>, GroupFileError> {
    let mut fields = Fields(bytes.strip_prefix(HEADER).ok_or(at(0, Rule::Header))?);
    let mut parts = Vec::new();
    while !fields.0.is_empty() {
        let part = read_part(&mut fields).map_err(|rule| at(parts.len(), rule))?;
        parts.push(part);
        if parts.len() > MAX_EPOCHS + 2 {
            return Err(at(parts.len() - 1, Rule::TooManyEpochs));
        }
    }
    Ok(parts)
}

fn read_part<'a>(fields: &mut Fields<'a>) -> Result<Part<'a>, Rule> {
    let length = fields.u32().ok_or(Rule::Truncated)? as usize;
    if length > MAX_PART_BYTES {
        return Err(Rule::TooLong);
    }
    let body = fields.take(length).ok_or(Rule::Truncated)?;
    let signature = fields.array().ok_or(Rule::Truncated)?;
    Ok(Part { body, signature })
}

/// Kinds in their order: the genesis, epochs, one register, nothing more.
fn by_kind<'p, 'a>(
    parts: &'p [Part<'a>],
) -> Result<(&'p [Part<'a>], &'p Part<'a>), GroupFileError> {
    let is = |i: usize, wanted: Kind| parts.get(i).and_then(|p| kind(p.body)) == Some(wanted);
    if parts.is_empty() {
        return Err(at(0, Rule::Truncated));
    }
    if !is(0, Kind::Genesis) {
        return Err(at(0, Rule::Kind));
    }
    let records = 1 + (1..parts.len()).take_while(|i| is(*i, Kind::Epoch)).count();
    match parts.get(records) {
        None => Err(at(records, Rule::Truncated)),
        Some(_) if !is(records, Kind::Register) => Err(at(records, Rule::Kind)),
        Some(_) if parts.len() > records + 1 => Err(at(records + 1, Rule::TrailingBytes)),
        Some(register) => Ok((&parts[..records], register)),
    }
}

fn check_signatures(genesis: &Genesis, parts: &[Part<'_>]) -> Result<(), GroupFileError> {
    let manager = VerifyingKey::from_bytes(&genesis.manager).map_err(|_| at(0, Rule::Signature))?;
    for (i, part) in parts.iter().enumerate() {
        let signature = Signature::from_bytes(&part.signature);
        manager
            .verify_strict(&signed_message(part.body), &signature)
            .map_err(|_| at(i, Rule::Signature))?;
    }
    Ok(())
}

fn read_epochs(records: &[Part<'_>]) -> Result<Vec<EpochRecord>, GroupFileError> {
    let mut epochs: Vec<EpochRecord> = Vec::with_capacity(records.len() - 1);
    for (i, pair) in records.windows(2).enumerate() {
        let (number, previous) = (i + 1, &pair[0]);
        let epoch = EpochRecord::decode(pair[1].body).ok_or(at(number, Rule::Layout))?;
        let start_before = epochs.last().map_or(0, |e| e.start);
        if epoch.epoch as usize != number {
            return Err(at(number, Rule::Epoch));
        }
        if epoch.previous != body_hash(previous.body) {
            return Err(at(number, Rule::Chain));
        }
        if epoch.start <= start_before {
            return Err(at(number, Rule::Start));
        }
        epochs.push(epoch);
    }
    Ok(epochs)
}

fn read_register(
    part: &Part<'_>,
    number: usize,
    last: &[u8; 32],
) -> Result<RegisterHead, GroupFileError> {
    let register = RegisterHead::decode(part.body).ok_or(at(number, Rule::Layout))?;
    if register.last == *last {
        Ok(register)
    } else {
        Err(at(number, Rule::Chain))
    }
}

fn first_key(genesis: &Genesis) -> Option<PublicKey> {
    let key = PublicKey::from_bytes(&genesis.public_key).ok()?;
    let derived_h = Opening::hash_h(&genesis.nonce).to_bytes();
    let fits = key.is_genesis() && genesis.public_key[48..96] == derived_h;
    fits.then_some(key)
}

/// A rule of spec section 3, and the part (from 0) that broke it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupFileError {
    /// The part, counted from 0.
    pub part: usize,
    /// The rule.
    pub rule: Rule,
}

fn at(part: usize, rule: Rule) -> GroupFileError {
    GroupFileError { part, rule }
}

/// The rules that a group file can break.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// It does not start as a group file does.
    Header,
    /// It ends within a part, or before the register.
    Truncated,
    /// A part is longer than any may be.
    TooLong,
    /// A part is of another kind than its place asks.
    Kind,
    /// Something follows the register.
    TrailingBytes,
    /// A body does not have the length or the values of its fields.
    Layout,
    /// The manager's signature does not hold.
    Signature,
    /// Epochs do not count up by one.
    Epoch,
    /// A record does not name the one before it.
    Chain,
    /// An epoch does not start later than the one before.
    Start,
    /// More epochs than a group may have.
    TooManyEpochs,
    /// A public key does not decode, or does not belong to this group.
    PublicKey,
}

impl Rule {
    /// The name that the specification gives it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Header => "header",
            Self::Truncated => "truncated",
            Self::TooLong => "too-long",
            Self::Kind => "kind",
            Self::TrailingBytes => "trailing-bytes",
            Self::Layout => "layout",
            Self::Signature => "signature",
            Self::Epoch => "epoch",
            Self::Chain => "chain",
            Self::Start => "start",
            Self::TooManyEpochs => "too-many-epochs",
            Self::PublicKey => "public-key",
        }
    }

    fn sentence(self) -> &'static str {
        match self {
            Self::Header => "this is not a group file",
            Self::Truncated => "it ends too early",
            Self::TooLong => "a part is longer than any may be",
            Self::Kind => "a part of another kind was expected",
            Self::TrailingBytes => "something follows the register",
            Self::Layout => "its fields do not have the right lengths or values",
            Self::Signature => "the manager's signature does not hold",
            Self::Epoch => "epochs do not count up by one",
            Self::Chain => "it does not name the record before it",
            Self::Start => "the epoch does not start later than the one before",
            Self::TooManyEpochs => "it has more epochs than a group may have",
            Self::PublicKey => "its public key is not one of this group",
        }
    }
}

impl fmt::Display for GroupFileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} (part {}, rule {})",
            self.rule.sentence(),
            self.part,
            self.rule.as_str()
        )
    }
}

impl std::error::Error for GroupFileError {}
