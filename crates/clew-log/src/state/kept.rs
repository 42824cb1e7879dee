//! A log's state as bytes, so that a log does not read all of its entries when it starts.

use super::{Author, Founder, LogState, Request};
use crate::entry::{Asks, Role, Trusteeship};
use crate::tree::Frontier;
use crate::{Hash, signed};
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use clew_wire::{Name, Reader, WallTime};
use ed25519_dalek::{Signer, SigningKey, VerifyingKey};

/// How a kept state begins, and the domain of its signature. No signed note has it: a note is text.
const LABEL: &[u8; 17] = b"clew-log-state-2\0";

/// The state after some entries of a log, and the edge of their tree.
#[derive(Clone, Debug)]
pub struct KeptState {
    /// What the entries say.
    pub state: LogState,
    /// The edge of the tree over them.
    pub edge: Frontier,
}

impl KeptState {
    /// Encodes the state, signed with the log's key: whoever could write other bytes could sign another log.
    /// Roots that the state watches are not kept.
    pub fn sign(&self, key: &SigningKey) -> Vec<u8> {
        let mut bytes = LABEL.to_vec();
        bytes.extend(self.state.founder.record);
        bytes.extend(self.state.size.to_be_bytes());
        self.edge.write(&mut bytes);
        self.state.write(&mut bytes);
        let signature = key.sign(&bytes).to_bytes();
        bytes.extend(signature);
        bytes
    }

    /// Reads a state that a log kept. Returns `None` if the signature does not hold, a field does not decode,
    /// or it is another group's.
    pub fn read(bytes: &[u8], key: &VerifyingKey, founder: Founder) -> Option<Self> {
        let (body, signature) = bytes.split_last_chunk()?;
        if !signed::holds(key, body, signature) {
            return None;
        }
        let mut fields = Reader(body.strip_prefix(LABEL)?);
        if fields.array()? != founder.record {
            return None;
        }
        let size = fields.u64()?;
        let edge = Frontier::read(&mut fields).filter(|edge| edge.entries() == size)?;
        let state = LogState::read(founder, size, &mut fields)?;
        fields.0.is_empty().then_some(Self { state, edge })
    }
}

impl LogState {
    /// How many parts it has that grow with the log: what keeping it costs.
    pub fn parts(&self) -> usize {
        self.authors.len() + self.trustees.len() + self.epochs.len() + self.requests.len()
    }

    fn write(&self, out: &mut Vec<u8>) {
        self.register.write(out);
        write_count(out, self.authors.len());
        for (key, author) in &self.authors {
            out.extend(key);
            out.extend(author.role.code());
            out.extend(author.changes.to_be_bytes());
            author.name.write(out);
        }
        write_count(out, self.trustees.len());
        for (held, key) in &self.trustees {
            held.write(out);
            out.extend(key);
        }
        write_count(out, self.epochs.len());
        out.extend_from_slice(self.epochs.as_flattened());
        write_count(out, self.requests.len());
        for (place, request) in &self.requests {
            out.extend(place.to_be_bytes());
            request.write(out);
        }
    }

    fn read(founder: Founder, size: u64, fields: &mut Reader<'_>) -> Option<Self> {
        let mut state = Self::new(founder);
        state.size = size;
        state.register = Frontier::read(fields)?;
        state.rows = u32::try_from(state.register.entries()).ok()?;
        for _ in 0..fields.u64()? {
            let key = fields.array()?;
            let author = Author {
                role: Role::from_code(fields.array()?)?,
                changes: fields.u32()?,
                name: Name::read(fields)?,
            };
            state.authors.insert(key, author);
        }
        for _ in 0..fields.u64()? {
            let held = Trusteeship::read(fields)?;
            state.trustees.insert(held, fields.array()?);
        }
        for _ in 0..fields.u64()? {
            state.epochs.push(fields.array()?);
        }
        for _ in 0..fields.u64()? {
            let (place, request) = (fields.u64()?, Request::read(fields)?);
            state.filed.insert((request.author, request.id));
            state.requests.insert(place, request);
        }
        Some(state)
    }
}

impl Request {
    fn write(&self, out: &mut Vec<u8>) {
        out.push(self.asks as u8);
        out.extend(self.id);
        out.extend(self.author);
        out.extend(self.signatures.to_be_bytes());
        out.extend(self.warrant);
        out.extend(self.logged.as_nanos().to_be_bytes());
        out.extend(self.sealed.map_or(0, WallTime::as_nanos).to_be_bytes());
        write_count(out, self.yes.len());
        for (trustee, time) in &self.yes {
            trustee.write(out);
            out.extend(time.as_nanos().to_be_bytes());
        }
        write_count(out, self.no.len());
        for (trustee, rule) in &self.no {
            trustee.write(out);
            out.push(*rule);
        }
        out.extend(self.results.to_be_bytes());
    }

    fn read(fields: &mut Reader<'_>) -> Option<Self> {
        let mut request = Self {
            asks: match fields.u8()? {
                1 => Asks::Opening,
                2 => Asks::Match,
                _ => return None,
            },
            id: fields.array()?,
            author: fields.array()?,
            signatures: fields.u32()?,
            warrant: fields.array()?,
            logged: WallTime::from_nanos(fields.u64()?),
            sealed: match fields.u64()? {
                0 => None,
                end => Some(WallTime::from_nanos(end)),
            },
            yes: Vec::new(),
            no: BTreeMap::new(),
            results: 0,
        };
        for _ in 0..fields.u64()? {
            let (trustee, time) = (Trusteeship::read(fields)?, fields.u64()?);
            request.yes.push((trustee, WallTime::from_nanos(time)));
        }
        for _ in 0..fields.u64()? {
            let trustee = Trusteeship::read(fields)?;
            request.no.insert(trustee, fields.u8()?);
        }
        request.results = fields.u64()?;
        Some(request)
    }
}

fn write_count(out: &mut Vec<u8>, count: usize) {
    out.extend((count as u64).to_be_bytes());
}

impl Frontier {
    fn write(&self, out: &mut Vec<u8>) {
        out.extend(self.entries().to_be_bytes());
        out.extend_from_slice(self.peaks().as_flattened());
    }

    fn read(fields: &mut Reader<'_>) -> Option<Self> {
        let entries = fields.u64()?;
        let peaks = (0..entries.count_ones()).map(|_| fields.array::<32>());
        Self::of(entries, peaks.collect::<Option<Vec<Hash>>>()?)
    }
}
