//! What entries say, kind by kind.

use super::domain;
use crate::{Hash, signed};
use alloc::vec::Vec;
use clew_wire::{Name, Reader, WallTime};
use core::fmt;
use sha2::{Digest, Sha256};

/// Most rows that one entry enrols.
pub const LEAVES_MAX: usize = 1_000;

/// What an entry says. Its kind is a number of `spec/log.md` section 3.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Body {
    /// The group whose log this is.
    Group {
        /// SHA-256 of record 0 of its group file.
        record: Hash,
    },
    /// A key may write entries from now on, or may not any more.
    Author {
        /// As what.
        role: Role,
        /// The Ed25519 key.
        key: [u8; 32],
        /// How many such entries about this key are before: one that comes back is a new statement.
        change: u32,
        /// Whose it is.
        name: Name,
    },
    /// Machines were enrolled.
    Enrolled {
        /// The first row.
        first: u32,
        /// The rows' leaf hashes, 1 to [`LEAVES_MAX`].
        leaves: Vec<Hash>,
    },
    /// An epoch was made.
    Epoch {
        /// Its number, at least 1.
        epoch: u32,
        /// Its id.
        id: Hash,
        /// When it starts.
        start: WallTime,
    },
    /// Somebody asks the trustees.
    Request(Filed),
    /// A trustee's answer to a request.
    Decision {
        /// The request's place in the log.
        place: u64,
        /// As which trustee, of which opening key: the one of the packet's epoch.
        by: Trusteeship,
        /// Its answer.
        answer: Answer,
    },
    /// What came of a request.
    Result {
        /// The request's place.
        place: u64,
        /// SHA-256 of the evidence.
        evidence: Hash,
    },
    /// A sealed request becomes public.
    Unsealed {
        /// The request's place.
        place: u64,
        /// Its warrant.
        warrant: Warrant,
    },
    /// A capture existed.
    Anchor {
        /// SHA-256 of the file.
        segment: Hash,
        /// Time of its first packet.
        first: WallTime,
        /// Time of its last packet.
        last: WallTime,
        /// How many packets it has.
        packets: u64,
    },
}

/// As what a key may write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// As nothing any more.
    None,
    /// As this trustee, about packets of this opening key's epochs.
    Trustee(Trusteeship),
    /// As an observer of packets.
    Observer,
    /// As somebody who asks trustees.
    Requester,
}

/// Which share of which opening key a trustee holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Trusteeship {
    /// The first epoch of the opening key.
    pub since: u32,
    /// The trustee's index among its trustees, from 1.
    pub index: u8,
}

/// What a request asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Asks {
    /// Which machine signed.
    Opening = 1,
    /// Whether one named machine signed.
    Match = 2,
}

/// A request in the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Filed {
    /// What it asks for.
    pub asks: Asks,
    /// The request's id, made with 0 in place of its place in the log.
    pub request: Hash,
    /// How many signatures its warrant covers.
    pub signatures: u32,
    /// The warrant's hash, see [`warrant_hash`].
    pub warrant: Hash,
    /// Whether the warrant is public.
    pub seal: Seal,
}

/// Whether a request's warrant is public.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Seal {
    /// It is.
    Open(Warrant),
    /// Not before this time, at which it has to become so.
    Until(WallTime),
}

/// A warrant with the salt of its hash.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warrant {
    /// Random, so that nobody guesses a sealed warrant.
    pub salt: Hash,
    /// The file.
    pub file: Vec<u8>,
}

impl Warrant {
    /// Returns its hash.
    pub fn hash(&self) -> Hash {
        warrant_hash(&self.salt, &Sha256::digest(&self.file).into())
    }

    fn write(&self, out: &mut Vec<u8>) {
        out.extend(self.salt);
        out.extend(&self.file);
    }

    /// Reads a salt, and a warrant of all that is left.
    fn read(fields: &mut Reader<'_>) -> Option<Self> {
        let salt = fields.array()?;
        let file = fields.take(fields.0.len())?.to_vec();
        (!file.is_empty()).then_some(Self { salt, file })
    }
}

/// Returns how a request names its warrant, from the SHA-256 of the warrant's file.
pub fn warrant_hash(salt: &Hash, warrant: &Hash) -> Hash {
    Sha256::new_with_prefix(domain(b"clew-log-warrant-1"))
        .chain_update(salt)
        .chain_update(warrant)
        .finalize()
        .into()
}

/// What a trustee answers: yes, or by which rule of `spec/opening.md` section 3 it refuses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// It gives its share.
    Yes,
    /// It does not: the rule's number, from 2.
    No(u8),
}

impl Body {
    /// Returns the number of the kind.
    pub const fn kind(&self) -> u8 {
        match self {
            Self::Group { .. } => 1,
            Self::Author { .. } => 2,
            Self::Enrolled { .. } => 3,
            Self::Epoch { .. } => 4,
            Self::Request(_) => 5,
            Self::Decision { .. } => 6,
            Self::Result { .. } => 7,
            Self::Unsealed { .. } => 8,
            Self::Anchor { .. } => 9,
        }
    }

    /// Returns the kind's name.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Group { .. } => "group",
            Self::Author { .. } => "author",
            Self::Enrolled { .. } => "enrolled",
            Self::Epoch { .. } => "epoch",
            Self::Request(_) => "request",
            Self::Decision { .. } => "decision",
            Self::Result { .. } => "result",
            Self::Unsealed { .. } => "unsealed",
            Self::Anchor { .. } => "anchor",
        }
    }

    /// Reads the body of an entry of that kind. Returns `None` if it breaks the layout.
    pub fn decode(kind: u8, bytes: &[u8]) -> Option<Self> {
        let mut fields = Reader(bytes);
        Self::read(kind, &mut fields).filter(|_| fields.0.is_empty())
    }

    /// Encodes the body.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        self.write(&mut out);
        out
    }

    pub(super) fn write(&self, out: &mut Vec<u8>) {
        match self {
            Self::Group { record } => out.extend(record),
            Self::Author {
                role,
                key,
                change,
                name,
            } => {
                out.extend(role.code());
                out.extend(key);
                out.extend(change.to_be_bytes());
                name.write(out);
            }
            Self::Enrolled { first, leaves } => {
                out.extend(first.to_be_bytes());
                out.extend((leaves.len() as u16).to_be_bytes());
                out.extend_from_slice(leaves.as_flattened());
            }
            Self::Epoch { epoch, id, start } => {
                out.extend(epoch.to_be_bytes());
                out.extend(id);
                out.extend(start.as_nanos().to_be_bytes());
            }
            Self::Request(filed) => filed.write(out),
            Self::Decision { place, by, answer } => {
                out.extend(place.to_be_bytes());
                by.write(out);
                out.push(answer.code());
            }
            Self::Result { place, evidence } => {
                out.extend(place.to_be_bytes());
                out.extend(evidence);
            }
            Self::Unsealed { place, warrant } => {
                out.extend(place.to_be_bytes());
                warrant.write(out);
            }
            Self::Anchor {
                segment,
                first,
                last,
                packets,
            } => {
                out.extend(segment);
                for number in [first.as_nanos(), last.as_nanos(), *packets] {
                    out.extend(number.to_be_bytes());
                }
            }
        }
    }

    pub(super) fn read(kind: u8, fields: &mut Reader<'_>) -> Option<Self> {
        let body = match kind {
            1 => Self::Group {
                record: fields.array()?,
            },
            2 => Self::Author {
                role: Role::from_code(fields.array()?)?,
                key: fields
                    .array()
                    .filter(|key| signed::strict_key(key).is_some())?,
                change: fields.u32()?,
                name: Name::read(fields)?,
            },
            3 => Self::Enrolled {
                first: fields.u32()?,
                leaves: leaves(fields)?,
            },
            4 => Self::Epoch {
                epoch: fields.u32().filter(|epoch| *epoch > 0)?,
                id: fields.array()?,
                start: WallTime::from_nanos(fields.u64()?),
            },
            5 => Self::Request(Filed::read(fields)?),
            6 => Self::Decision {
                place: fields.u64()?,
                by: Trusteeship::read(fields)?,
                answer: Answer::from_code(fields.u8()?)?,
            },
            7 => Self::Result {
                place: fields.u64()?,
                evidence: fields.array()?,
            },
            8 => Self::Unsealed {
                place: fields.u64()?,
                warrant: Warrant::read(fields)?,
            },
            9 => Self::Anchor {
                segment: fields.array()?,
                first: WallTime::from_nanos(fields.u64()?),
                last: WallTime::from_nanos(fields.u64()?),
                packets: fields.u64()?,
            },
            _ => return None,
        };
        Some(body)
    }
}

fn leaves(fields: &mut Reader<'_>) -> Option<Vec<Hash>> {
    let count = usize::from(fields.u16()?);
    if !(1..=LEAVES_MAX).contains(&count) {
        return None;
    }
    let (leaves, _) = fields.take(32 * count)?.as_chunks();
    Some(leaves.to_vec())
}

impl Filed {
    fn write(&self, out: &mut Vec<u8>) {
        out.push(self.asks as u8);
        out.extend(self.request);
        out.extend(self.signatures.to_be_bytes());
        out.extend(self.warrant);
        match &self.seal {
            Seal::Open(warrant) => {
                out.extend([0; 8]);
                warrant.write(out);
            }
            Seal::Until(end) => out.extend(end.as_nanos().to_be_bytes()),
        }
    }

    fn read(fields: &mut Reader<'_>) -> Option<Self> {
        Some(Self {
            asks: match fields.u8()? {
                1 => Asks::Opening,
                2 => Asks::Match,
                _ => return None,
            },
            request: fields.array()?,
            signatures: fields.u32()?,
            warrant: fields.array()?,
            seal: match fields.u64()? {
                0 => Seal::Open(Warrant::read(fields)?),
                end => Seal::Until(WallTime::from_nanos(end)),
            },
        })
    }
}

impl Role {
    /// Returns the role with its trusteeship, as an entry has them.
    pub const fn code(self) -> [u8; 6] {
        let (role, held) = match self {
            Self::None => (0, None),
            Self::Trustee(held) => (1, Some(held)),
            Self::Observer => (2, None),
            Self::Requester => (3, None),
        };
        match held {
            None => [role, 0, 0, 0, 0, 0],
            Some(held) => {
                let [a, b, c, d] = held.since.to_be_bytes();
                [role, a, b, c, d, held.index]
            }
        }
    }

    /// Returns the role with these bytes. Returns `None` if there is none.
    pub fn from_code(code: [u8; 6]) -> Option<Self> {
        let held = Trusteeship::read(&mut Reader(&code[1..]));
        match (code[0], held) {
            (1, held) => held.map(Self::Trustee),
            _ if code[1..] != [0; 5] => None,
            (0, _) => Some(Self::None),
            (2, _) => Some(Self::Observer),
            (3, _) => Some(Self::Requester),
            _ => None,
        }
    }
}

/// The trustee's index, and the opening key unless it is the group's first.
impl fmt::Display for Trusteeship {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "trustee {}", self.index)?;
        match self.since {
            0 => Ok(()),
            since => write!(f, " of the opening key since epoch {since}"),
        }
    }
}

impl Trusteeship {
    /// A trustee of a group's first opening key.
    pub const fn of_first_key(index: u8) -> Self {
        Self { since: 0, index }
    }

    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        out.extend(self.since.to_be_bytes());
        out.push(self.index);
    }

    pub(crate) fn read(fields: &mut Reader<'_>) -> Option<Self> {
        Some(Self {
            since: fields.u32()?,
            index: fields.u8().filter(|index| *index > 0)?,
        })
    }
}

impl Answer {
    const fn code(self) -> u8 {
        match self {
            Self::Yes => 1,
            Self::No(rule) => rule,
        }
    }

    const fn from_code(code: u8) -> Option<Self> {
        match code {
            0 => None,
            1 => Some(Self::Yes),
            rule => Some(Self::No(rule)),
        }
    }
}
