//! What a requester shows the manager to get the row of an opened signature (`spec/opening.md` 4.3).

use crate::request::{Packet, Request};
use crate::share::Share;
use alloc::vec::Vec;
use clew_wire::Reader;

/// Most bytes of a question.
pub const ROW_QUESTION_BYTES_MAX: usize = 1 << 18;

const DOMAIN: &[u8; 16] = b"clew-row-1\0\0\0\0\0\0";
const SHARES_MAX: usize = 32;

/// A packet, and the shares that open it. The manager verifies both before it looks for a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowQuestion {
    epoch: u32,
    leaf: Option<[u8; 32]>,
    body: Vec<u8>,
    message: Vec<u8>,
    /// 1 to 32 shares.
    shares: Vec<Share>,
}

impl RowQuestion {
    /// Asks for the row of a packet, with these shares, the first 32 of them. Returns `None` without any.
    pub fn new(packet: &Packet<'_>, shares: &[Share]) -> Option<Self> {
        let shares = shares.iter().take(SHARES_MAX).cloned().collect::<Vec<_>>();
        (!shares.is_empty()).then(|| Self {
            epoch: packet.epoch,
            leaf: packet.leaf,
            body: packet.body.to_vec(),
            message: packet.message.to_vec(),
            shares,
        })
    }

    /// Returns the packet.
    pub fn packet(&self) -> Packet<'_> {
        Packet {
            epoch: self.epoch,
            message: &self.message,
            body: &self.body,
            leaf: self.leaf,
        }
    }

    /// Returns the shares.
    pub fn shares(&self) -> &[Share] {
        &self.shares
    }

    /// Returns the request that the first share answers.
    pub fn request(&self) -> Option<&Request> {
        self.shares.first().map(|share| &share.request)
    }

    /// Encodes the question. Returns `None` if it would be longer than [`ROW_QUESTION_BYTES_MAX`].
    pub fn encode(&self) -> Option<Vec<u8>> {
        let mut out = DOMAIN.to_vec();
        out.extend(self.epoch.to_be_bytes());
        out.push(u8::from(self.leaf.is_some()));
        out.extend(self.leaf.unwrap_or_default());
        out.extend(u16::try_from(self.body.len()).ok()?.to_be_bytes());
        out.extend(&self.body);
        out.push(u8::try_from(self.shares.len()).ok()?);
        for share in &self.shares {
            let text = share.encode();
            out.extend(u16::try_from(text.len()).ok()?.to_be_bytes());
            out.extend(text.as_bytes());
        }
        out.extend(&self.message);
        (out.len() <= ROW_QUESTION_BYTES_MAX).then_some(out)
    }

    /// Decodes a question. Returns `None` if it has another form. Nothing is verified.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        if bytes.len() > ROW_QUESTION_BYTES_MAX {
            return None;
        }
        let mut fields = Reader(bytes);
        let is_question = fields.take(DOMAIN.len())? == DOMAIN;
        let epoch = fields.u32().filter(|_| is_question)?;
        let leaf = match (fields.u8()?, fields.array()?) {
            (0, leaf) if leaf == [0; 32] => None,
            (1, leaf) => Some(leaf),
            _ => return None,
        };
        let length = usize::from(fields.u16()?);
        let body = fields.take(length)?.to_vec();
        let count = usize::from(fields.u8()?);
        if !(1..=SHARES_MAX).contains(&count) {
            return None;
        }
        let mut shares = Vec::new();
        for _ in 0..count {
            let length = usize::from(fields.u16()?);
            let text = core::str::from_utf8(fields.take(length)?).ok()?;
            shares.push(Share::decode(text).ok()?);
        }
        Some(Self {
            epoch,
            leaf,
            body,
            message: fields.take(fields.0.len())?.to_vec(),
            shares,
        })
    }
}
