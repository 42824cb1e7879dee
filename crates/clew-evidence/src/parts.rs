//! The parts of a group file: record 0, the records of later epochs, the register (spec section 2).

use crate::name::Name;
use crate::wire::Fields;
use clew_group::bbs04::{PUBLIC_KEY_BYTES, REVOCATION_BYTES};
use clew_packet::GroupId;
use ed25519_dalek::{Signer, SigningKey};
use sha2::{Digest, Sha256};

const SIGNATURE_DOMAIN: &[u8] = b"clew-group-part-1";
const KIND_GENESIS: u8 = 0;
const KIND_EPOCH: u8 = 1;
const KIND_REGISTER: u8 = 2;
const SCHEME_BBS04: u8 = 1;
const OPENING_DEALT: u8 = 1;
const ONE_OF_ONE: [u8; 2] = [1, 1];

/// Offsets within an encoded revocation, whose points make the epoch's public key.
const REVOCATION_G1: std::ops::Range<usize> = 32..80;
const REVOCATION_G2: std::ops::Range<usize> = 80..176;
const REVOCATION_LIFT: std::ops::Range<usize> = 176..272;

/// SHA-256 of a body, by which the next record names it.
pub(crate) fn body_hash(body: &[u8]) -> [u8; 32] {
    Sha256::digest(body).into()
}

pub(crate) fn signed_message(body: &[u8]) -> Vec<u8> {
    [SIGNATURE_DOMAIN, body].concat()
}

/// Wraps a body as a part of the file: length, body, the manager's signature.
pub fn seal(body: &[u8], manager: &SigningKey) -> Vec<u8> {
    let mut part = (body.len() as u32).to_be_bytes().to_vec();
    part.extend_from_slice(body);
    part.extend_from_slice(&manager.sign(&signed_message(body)).to_bytes());
    part
}

/// Record 0: the group (spec 2.1).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Genesis {
    /// Nanoseconds since 1970.
    pub created: u64,
    /// From which h is derived.
    pub nonce: [u8; 32],
    /// Ed25519 public key of the manager.
    pub manager: [u8; 32],
    /// Name of the group.
    pub name: Name,
    /// Public key of epoch 0, encoded.
    pub public_key: [u8; PUBLIC_KEY_BYTES],
}

impl Genesis {
    /// Encodes the body.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = vec![KIND_GENESIS, SCHEME_BBS04];
        out.extend_from_slice(&self.created.to_be_bytes());
        out.extend_from_slice(&self.nonce);
        out.extend_from_slice(&self.manager);
        out.push(OPENING_DEALT);
        out.extend_from_slice(&ONE_OF_ONE);
        self.name.write(&mut out);
        out.extend_from_slice(&self.public_key);
        out
    }

    pub(crate) fn decode(body: &[u8]) -> Option<Self> {
        let mut fields = Fields(body.strip_prefix(&[KIND_GENESIS, SCHEME_BBS04])?);
        let (created, nonce, manager) = (fields.u64()?, fields.array()?, fields.array()?);
        let opening = fields.array::<3>()? == [OPENING_DEALT, ONE_OF_ONE[0], ONE_OF_ONE[1]];
        let (name, public_key) = (Name::read(&mut fields)?, fields.array()?);
        let whole = opening && fields.0.is_empty();
        whole.then_some(Self {
            created,
            nonce,
            manager,
            name,
            public_key,
        })
    }

    /// The id of the group that this record founds.
    pub fn group_id(&self) -> GroupId {
        let hash = body_hash(&self.encode());
        let mut id = [0; 16];
        id.copy_from_slice(&hash[..16]);
        GroupId(id)
    }
}

/// Record e: a later epoch (spec 2.2).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EpochRecord {
    /// Its number, from 1.
    pub epoch: u32,
    /// SHA-256 of the body before.
    pub previous: [u8; 32],
    /// Nanoseconds since 1970 from which signers use this epoch.
    pub start: u64,
    /// The revocation that made this epoch, encoded.
    pub revocation: [u8; REVOCATION_BYTES],
    /// w of this epoch, encoded.
    pub w: [u8; 96],
}

impl EpochRecord {
    /// Encodes the body.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = vec![KIND_EPOCH];
        out.extend_from_slice(&self.epoch.to_be_bytes());
        out.extend_from_slice(&self.previous);
        out.extend_from_slice(&self.start.to_be_bytes());
        out.extend_from_slice(&self.revocation);
        out.extend_from_slice(&self.w);
        out
    }

    pub(crate) fn decode(body: &[u8]) -> Option<Self> {
        let mut fields = Fields(body.strip_prefix(&[KIND_EPOCH])?);
        let (epoch, previous, start) = (fields.u32()?, fields.array()?, fields.u64()?);
        let (revocation, w) = (fields.array()?, fields.array()?);
        fields.0.is_empty().then_some(Self {
            epoch,
            previous,
            start,
            revocation,
            w,
        })
    }

    /// The public key of this epoch, encoded: h, u, v of record 0 and the points of this record.
    pub(crate) fn public_key(&self, genesis: &[u8; PUBLIC_KEY_BYTES]) -> Vec<u8> {
        let r = &self.revocation;
        let h_u_v = &genesis[48..192];
        [
            &r[REVOCATION_G1],
            h_u_v,
            &r[REVOCATION_G2],
            &self.w,
            &r[REVOCATION_LIFT],
        ]
        .concat()
    }
}

/// The register's head (spec 2.3).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegisterHead {
    /// SHA-256 of the last record's body.
    pub last: [u8; 32],
    /// Nanoseconds since 1970 at which it was made.
    pub time: u64,
    /// Number of entries, revoked ones included.
    pub machines: u32,
    /// Merkle tree hash over the entries.
    pub root: [u8; 32],
}

impl RegisterHead {
    /// Encodes the body.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = vec![KIND_REGISTER];
        out.extend_from_slice(&self.last);
        out.extend_from_slice(&self.time.to_be_bytes());
        out.extend_from_slice(&self.machines.to_be_bytes());
        out.extend_from_slice(&self.root);
        out
    }

    pub(crate) fn decode(body: &[u8]) -> Option<Self> {
        let mut fields = Fields(body.strip_prefix(&[KIND_REGISTER])?);
        let (last, time, machines) = (fields.array()?, fields.u64()?, fields.u32()?);
        let root = fields.array()?;
        fields.0.is_empty().then_some(Self {
            last,
            time,
            machines,
            root,
        })
    }
}

/// Which of the three kinds a body claims to be.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Genesis,
    Epoch,
    Register,
}

pub(crate) fn kind(body: &[u8]) -> Option<Kind> {
    match *body.first()? {
        KIND_GENESIS => Some(Kind::Genesis),
        KIND_EPOCH => Some(Kind::Epoch),
        KIND_REGISTER => Some(Kind::Register),
        _ => None,
    }
}

/// One line of the register: a machine and the credential by which opening finds it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegisterEntry {
    /// Its place, from 0.
    pub index: u32,
    /// Epoch in which it was enrolled.
    pub joined: u32,
    /// A of epoch 0, encoded.
    pub credential: [u8; 48],
    /// Name of the machine.
    pub name: Name,
}

impl RegisterEntry {
    /// Encodes the entry, as the root covers it.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = self.index.to_be_bytes().to_vec();
        out.extend_from_slice(&self.joined.to_be_bytes());
        out.extend_from_slice(&self.credential);
        self.name.write(&mut out);
        out
    }
}
