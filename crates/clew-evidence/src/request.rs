//! Requests: what is asked of the trustees (`spec/opening.md` section 2), and the packet that it is
//! about.

use crate::group_file::GroupFile;
use clew_group::{EpochId, Scheme, domain_separator};
use clew_packet::GroupId;
use clew_wire::Reader;
use core::num::NonZeroU64;
use sha2::{Digest, Sha256};

/// Size of an encoded request.
pub const REQUEST_BYTES: usize = 206;

const DOMAIN: &[u8; 16] = b"clew-request-1\0\0";
const KIND_OPENING: u8 = 1;
const KIND_MATCH: u8 = 2;
const NONE: [u8; 32] = [0; 32];

/// What is asked of the trustees. Each computes it from what it sees itself; equal ids mean that
/// they were asked the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// What they are to answer.
    pub question: Question,
    /// Scheme of the group.
    pub scheme: Scheme,
    /// The group.
    pub group: GroupId,
    /// Epoch of the packet's signature.
    pub epoch: u32,
    /// The id of that epoch.
    pub epoch_id: EpochId,
    /// Digest of the signature and its message ([`Packet::digest`]): of a block, one for all of its packets.
    pub signature_digest: [u8; 32],
    /// Which packet was asked about ([`Packet::asked`]): of a block, one of them.
    pub asked_packet: [u8; 32],
    /// SHA-256 of the warrant's file, if there is one.
    pub warrant: Option<[u8; 32]>,
    /// Its place in the group's log, if it stands there. Place 0 is never a request's.
    pub log: Option<NonZeroU64>,
}

/// What trustees are to answer about a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Question {
    /// Which machine sent it?
    Opening,
    /// Did this machine send it? (`xr`)
    Match {
        /// Leaf hash of the machine's entry in the register.
        machine: [u8; 32],
    },
}

impl Request {
    /// Asks a question about a packet of one of the group's epochs.
    ///
    /// Returns `None` if the group has no such epoch, or no matches (`bbs04`).
    pub fn new(
        group: &GroupFile,
        question: Question,
        packet: &Packet<'_>,
        warrant: Option<[u8; 32]>,
    ) -> Option<Self> {
        let request = Self {
            question,
            scheme: group.scheme(),
            group: group.id(),
            epoch: packet.epoch,
            epoch_id: group.epoch_id(packet.epoch)?,
            signature_digest: packet.digest(),
            asked_packet: packet.asked(),
            warrant,
            log: None,
        };
        request.is_possible().then_some(request)
    }

    /// Returns the request with its place in the group's log.
    pub fn at_place(self, place: NonZeroU64) -> Self {
        Self {
            log: Some(place),
            ..self
        }
    }

    /// Returns the id that stands in the log: that of the request without its place, which nobody knew
    /// before.
    pub fn logged_id(&self) -> [u8; 32] {
        let before = Self {
            log: None,
            ..self.clone()
        };
        before.id()
    }

    /// Returns the request id.
    pub fn id(&self) -> [u8; 32] {
        Sha256::digest(self.to_bytes()).into()
    }

    /// Returns whether it names this group, its scheme, an epoch of it, and that epoch's id.
    pub fn is_of(&self, group: &GroupFile) -> bool {
        self.group == group.id()
            && self.scheme == group.scheme()
            && group.epoch_id(self.epoch) == Some(self.epoch_id)
    }

    /// Encodes as 206 bytes.
    pub fn to_bytes(&self) -> [u8; REQUEST_BYTES] {
        let (kind, machine) = match self.question {
            Question::Opening => (KIND_OPENING, NONE),
            Question::Match { machine } => (KIND_MATCH, machine),
        };
        let parts: [&[u8]; 10] = [
            DOMAIN,
            &[kind, self.scheme.code()],
            &self.group.0,
            &self.epoch.to_be_bytes(),
            &self.epoch_id.0,
            &self.signature_digest,
            &self.asked_packet,
            &self.warrant.unwrap_or(NONE),
            &machine,
            &self.log.map_or(0, NonZeroU64::get).to_be_bytes(),
        ];
        let mut out = [0; REQUEST_BYTES];
        let bytes = parts.into_iter().flatten();
        out.iter_mut().zip(bytes).for_each(|(place, b)| *place = *b);
        out
    }

    pub(crate) fn read(fields: &mut Reader<'_>) -> Option<Self> {
        fields.array().filter(|domain| domain == DOMAIN)?;
        let [kind, scheme] = fields.array()?;
        let scheme = Scheme::from_code(scheme)?;
        let (group, epoch) = (GroupId(fields.array()?), fields.u32()?);
        let (epoch_id, signature_digest) = (EpochId(fields.array()?), fields.array()?);
        let asked_packet = fields.array()?;
        let warrant = fields.array().map(|w| (w != NONE).then_some(w))?;
        let question = match (kind, fields.array()?) {
            (KIND_OPENING, NONE) => Question::Opening,
            (KIND_MATCH, machine) => Question::Match { machine },
            _ => return None,
        };
        let log = NonZeroU64::new(fields.u64()?);
        let request = Self {
            question,
            scheme,
            group,
            epoch,
            epoch_id,
            signature_digest,
            asked_packet,
            warrant,
            log,
        };
        request.is_possible().then_some(request)
    }

    fn is_possible(&self) -> bool {
        self.question == Question::Opening || self.scheme == Scheme::Xr
    }
}

/// A signed packet, as it was found in a capture.
#[derive(Clone, Copy, Debug)]
pub struct Packet<'a> {
    /// Epoch in its trailer.
    pub epoch: u32,
    /// The message M that the signature covers (`spec/packet-trailer.md` section 4).
    pub message: &'a [u8],
    /// The signature in its plain form, whatever form travels.
    pub body: &'a [u8],
    /// The packet's leaf in its block (mode `tree`, `spec/tree.md` section 2). `None` in other modes.
    pub leaf: Option<[u8; 32]>,
}

impl Packet<'_> {
    /// Returns the packet's digest.
    pub fn digest(&self) -> [u8; 32] {
        packet_digest(self.message, self.body)
    }

    /// Returns the digest that names this packet among all that its signature covers: its leaf,
    /// else SHA-256(M).
    pub fn asked(&self) -> [u8; 32] {
        let whole = || Sha256::digest(self.message).into();
        self.leaf.unwrap_or_else(whole)
    }

    /// Whether this packet may stand for the one that was asked about: it is the one, or it is
    /// another packet of a block.
    pub(crate) fn stands_for(&self, asked: &[u8; 32]) -> bool {
        self.leaf.is_some() || self.asked() == *asked
    }
}

/// The digest of a packet: of the message that the signature covers, and the signature in its plain
/// form (`body`).
fn packet_digest(message: &[u8], body: &[u8]) -> [u8; 32] {
    Sha256::new_with_prefix(domain_separator("clew-packet-digest-1"))
        .chain_update(Sha256::digest(message))
        .chain_update(body)
        .finalize()
        .into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matching() -> Request {
        Request {
            question: Question::Match { machine: [4; 32] },
            scheme: Scheme::Xr,
            group: GroupId([1; 16]),
            epoch: 258,
            epoch_id: EpochId([2; 32]),
            signature_digest: [3; 32],
            asked_packet: [6; 32],
            warrant: Some([5; 32]),
            log: None,
        }
    }

    fn read(bytes: &[u8]) -> Option<Request> {
        let mut fields = Reader(bytes);
        Request::read(&mut fields).filter(|_| fields.0.is_empty())
    }

    #[test]
    fn requests_have_the_fields_of_the_specification() {
        let opening = Request {
            question: Question::Opening,
            warrant: None,
            scheme: Scheme::Bbs04,
            ..matching()
        };
        let head = [&b"clew-request-1\0\0\x02\x02"[..], &[1; 16], &[0, 0, 1, 2]].concat();
        let tail = [[2; 32], [3; 32], [6; 32], [5; 32], [4; 32]].concat();
        assert_eq!(
            matching().to_bytes()[..],
            [&head[..], &tail, &[0; 8]].concat()
        );
        for request in [matching(), opening] {
            assert_eq!(read(&request.to_bytes()), Some(request));
        }
    }

    #[test]
    fn every_byte_counts() {
        let good = matching().to_bytes();
        for at in 0..REQUEST_BYTES {
            let mut bytes = good;
            bytes[at] ^= 0x80;
            assert_ne!(read(&bytes), Some(matching()), "byte {at}");
        }
        assert_eq!(read(&good[..205]), None);
    }

    #[test]
    fn fields_have_their_values() {
        // Domain; kind; scheme; a match with bbs04; an opening of one machine.
        for (at, value) in [(0, b'C'), (16, 3), (17, 3), (17, 1), (16, 1)] {
            let mut bytes = matching().to_bytes();
            bytes[at] = value;
            assert_eq!(read(&bytes), None, "byte {at}");
        }
    }

    #[test]
    fn a_place_in_the_log_is_no_part_of_the_id_there() {
        let place = NonZeroU64::new(258).unwrap();
        let placed = matching().at_place(place);
        assert_eq!(placed.to_bytes()[198..], [0, 0, 0, 0, 0, 0, 1, 2]);
        assert_eq!(read(&placed.to_bytes()), Some(placed.clone()));
        assert_eq!(placed.logged_id(), matching().id());
        assert_ne!(placed.id(), matching().id());
    }

    #[test]
    fn digests_name_message_and_body_apart() {
        assert_ne!(packet_digest(b"ab", b"c"), packet_digest(b"a", b"bc"));
        let packet = Packet {
            epoch: 0,
            message: b"ab",
            body: b"c",
            leaf: None,
        };
        assert_eq!(packet.digest(), packet_digest(b"ab", b"c"));
    }

    #[test]
    fn a_packet_of_a_block_is_named_by_its_leaf() {
        let alone = Packet {
            epoch: 0,
            message: b"ab",
            body: b"c",
            leaf: None,
        };
        let of_block = Packet {
            leaf: Some([1; 32]),
            ..alone
        };
        let whole: [u8; 32] = Sha256::digest(b"ab").into();
        assert_eq!((alone.asked(), of_block.asked()), (whole, [1; 32]));
        assert!(alone.stands_for(&whole) && !alone.stands_for(&[1; 32]));
        assert!(of_block.stands_for(&[2; 32]), "another packet of the block");
    }
}
