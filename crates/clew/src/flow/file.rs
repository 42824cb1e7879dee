//! Files signed in packets, so that every part of them is verifiable alone
//! (`spec/flow-signature.md` section 9).
//!
//! A signed file is the magic, then for each packet its length (4) and the signed packet. A packet's
//! content is its place in the file (8) and the bytes from there on; the last one has no bytes, and
//! its place is the file's size. All have one tag, so that parts of two files are never mixed.

use super::keys::FlowKey;
use super::schemes::{Flows, Signer, sign_block};
use crate::clock;
use crate::failure::{Failure, Status};
use crate::go_on;
use clew_flow::{
    Acceptance, Distribution, Fixed, FlowReceiver, FlowSender, Reason, Verdict, WallTime,
};
use std::io::{self, Read, Write};
use std::time::Duration;

/// What a signed file begins with.
pub const MAGIC: [u8; 16] = *b"clew-flow-file1\n";

/// Longest signed packet of a file.
pub const PACKET_BYTES_MAX: u32 = 1 << 17;

/// Most bytes of a file in one packet.
pub const CONTENT_BYTES_MAX: u16 = 32_768;

const PLACE_BYTES: usize = 8;

/// Signs what is read, in packets of `content` bytes. Returns its size.
pub fn sign(
    mut from: impl Read,
    mut to: impl Write,
    key: &FlowKey,
    content: u16,
) -> Result<u64, Failure> {
    to.write_all(&MAGIC).map_err(Failure::write)?;
    let most = usize::from(key.descriptor().chaining().most);
    let mut sender = key.sender()?;
    let mut size = 0;
    loop {
        let mut block = Vec::new();
        let mut ended = false;
        while block.len() < most && !ended {
            let mut packet = u64::to_be_bytes(size).to_vec();
            let wanted = from.by_ref().take(content.into());
            let read = { wanted }.read_to_end(&mut packet);
            let read = read.map_err(|e| Failure::new(format!("cannot read: {e}")))?;
            size += read as u64;
            ended = read == 0;
            block.push(packet);
        }
        write_block(&mut sender, &block, &mut to)?;
        if ended {
            return Ok(size);
        }
        go_on()?;
    }
}

/// One signature for each block is enough where nothing gets lost: its first packet has it.
fn write_block(
    sender: &mut FlowSender<Signer>,
    block: &[Vec<u8>],
    to: &mut impl Write,
) -> Result<(), Failure> {
    let packets: Vec<&[u8]> = block.iter().map(|packet| &packet[..]).collect();
    let distribution = Distribution::OneIn(packets.len() as u16);
    for signed in sign_block(sender, &packets, distribution, clock::wall_time())? {
        write_record(to, &signed).map_err(Failure::write)?;
    }
    Ok(())
}

/// What was found in a signed file.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Verified {
    /// Packets.
    pub packets: u64,
    /// Packets that are not valid, with the reason of the first.
    pub refused: Option<(u64, Reason)>,
    /// Bytes from the beginning on that are there, in their order, and valid.
    pub bytes: u64,
    /// Where the first bytes are missing.
    pub gap: Option<u64>,
    /// The last packet came: nothing is missing at the end.
    pub ended: bool,
    /// What is wrong with the form, in a sentence.
    pub damage: Option<&'static str>,
}

impl Verified {
    /// The answer: no if a packet is not valid; could not tell if anything is missing; else yes.
    pub fn status(&self) -> Status {
        let is_open = self.gap.is_some() || !self.ended || self.damage.is_some();
        Status::of(self.refused.is_some(), is_open)
    }
}

/// Verifies a signed file, behind its magic; what is valid from the beginning on is written. A
/// timestamp may be `max_age_ns` old.
pub fn verify(
    mut from: impl Read,
    mut to: impl Write,
    flows: &Flows,
    max_age_ns: Option<u64>,
) -> Result<Verified, Failure> {
    let mut receiver = receiver(flows, max_age_ns)?;
    let mut verified = Verified::default();
    let mut of = None;
    loop {
        let signed = match record(&mut from) {
            Ok(Some(signed)) => signed,
            Ok(None) => return Ok(verified),
            Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                verified.damage =
                    Some("a packet of the file is truncated or has an invalid length");
                return Ok(verified);
            }
            Err(error) => return Err(Failure::new(format!("cannot read: {error}"))),
        };
        let finding = receiver.receive(&signed, clock::wall_time(), verified.packets);
        let fixed = Fixed::of(&signed).ok();
        let one = *of.get_or_insert(fixed.map(|fixed| (fixed.key, fixed.tag)));
        let reason = match fixed.map(|fixed| (fixed.key, fixed.tag)) == one {
            true => finding.reason,
            false => Reason::Conflict,
        };
        let bytes = verified.take(reason, finding.packet);
        to.write_all(bytes).map_err(Failure::write)?;
        go_on()?;
    }
}

/// One packet of a signed file in full form, once it is verified; behind the magic or with it.
///
/// # Errors
/// There is no such packet, or it is not valid.
pub fn full_packet(mut from: impl Read, flows: &Flows, number: u64) -> Result<Vec<u8>, Failure> {
    let mut magic = [0; MAGIC.len()];
    let cannot_read = |e| Failure::new(format!("cannot read: {e}"));
    from.read_exact(&mut magic).map_err(cannot_read)?;
    let mut receiver = receiver(flows, None)?;
    let mut packets = 0;
    while let Some(signed) = record(&mut from).map_err(cannot_read)? {
        packets += 1;
        let reason = receiver
            .receive(&signed, WallTime::default(), packets)
            .reason;
        if packets < number {
            continue;
        }
        let full = receiver.full_form(&signed).filter(|_| reason == Reason::Ok);
        let refused = || Failure::new(format!("packet {number}: {}: {reason}", reason.verdict()));
        return full.ok_or_else(refused);
    }
    Err(Failure::new(format!(
        "packet {number}: not found, the file has {packets} packets"
    )))
}

fn receiver(flows: &Flows, max_age_ns: Option<u64>) -> Result<FlowReceiver, Failure> {
    let acceptance = Acceptance {
        tolerance: max_age_ns.map_or(Duration::MAX, Duration::from_nanos),
        ..Acceptance::default()
    };
    flows.receiver(acceptance)
}

impl Verified {
    /// Takes in a packet; the bytes that go on where the file was.
    fn take<'a>(&mut self, reason: Reason, content: &'a [u8]) -> &'a [u8] {
        self.packets += 1;
        let parts = content.split_first_chunk::<PLACE_BYTES>();
        let reason = match parts {
            None if reason == Reason::Ok => Reason::BadLength,
            _ => reason,
        };
        let (place, bytes) = match (parts, reason.verdict()) {
            (Some((place, bytes)), Verdict::Valid) => (u64::from_be_bytes(*place), bytes),
            (_, Verdict::Undecided) => {
                self.gap.get_or_insert(self.bytes);
                return &[];
            }
            _ => {
                self.refused.get_or_insert((self.packets, reason));
                return &[];
            }
        };
        if place != self.bytes || self.gap.is_some() || self.ended {
            self.gap.get_or_insert(self.bytes);
            return &[];
        }
        self.ended = bytes.is_empty();
        self.bytes += bytes.len() as u64;
        bytes
    }
}

/// Writes a signed packet, or a manifest, behind its length.
pub(super) fn write_record(to: &mut impl Write, signed: &[u8]) -> io::Result<()> {
    to.write_all(&(signed.len() as u32).to_be_bytes())?;
    to.write_all(signed)
}

/// The next signed packet; `InvalidData` if it is cut short or too long.
pub(super) fn record(from: &mut impl Read) -> io::Result<Option<Vec<u8>>> {
    let mut head = Vec::new();
    from.take(4).read_to_end(&mut head)?;
    if head.is_empty() {
        return Ok(None);
    }
    let length = <[u8; 4]>::try_from(&head[..]).map(u32::from_be_bytes);
    let length = length.unwrap_or(u32::MAX);
    if length > PACKET_BYTES_MAX {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let mut signed = Vec::new();
    from.take(length.into()).read_to_end(&mut signed)?;
    if signed.len() < length as usize {
        return Err(io::ErrorKind::InvalidData.into());
    }
    Ok(Some(signed))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flow::keys::Scheme;
    use clew_flow::Chaining;

    fn signed(size: usize) -> (FlowKey, Vec<u8>, Vec<u8>) {
        let key = FlowKey::generate(Scheme::Ed25519, Chaining::default(), "files").unwrap();
        let file: Vec<u8> = (0..size).map(|i| (i * 7 % 251) as u8).collect();
        let mut out = Vec::new();
        assert_eq!(sign(&file[..], &mut out, &key, 1024).unwrap(), size as u64);
        (key, file, out)
    }

    fn verified(key: &FlowKey, signed: &[u8]) -> (Verified, Vec<u8>) {
        let mut out = Vec::new();
        let flows = Flows::new(vec![key.descriptor().clone()]);
        (
            verify(&signed[MAGIC.len()..], &mut out, &flows, None).unwrap(),
            out,
        )
    }

    /// The records of a signed file.
    fn records(signed: &[u8]) -> Vec<Vec<u8>> {
        let mut from = &signed[MAGIC.len()..];
        std::iter::from_fn(|| record(&mut from).unwrap()).collect()
    }

    fn joined(records: &[Vec<u8>]) -> Vec<u8> {
        let mut out = MAGIC.to_vec();
        for record in records {
            out.extend((record.len() as u32).to_be_bytes());
            out.extend(record);
        }
        out
    }

    #[test]
    fn whole_files_come_back() {
        for size in [0, 1, 1024, 200_000] {
            let (key, file, signed) = signed(size);
            assert_eq!(joined(&records(&signed)), signed);
            let (verified, out) = verified(&key, &signed);
            assert_eq!((verified.status(), verified.ended), (Status::Yes, true));
            assert_eq!(out, file);
        }
    }

    #[test]
    fn what_is_missing_or_changed_is_told() {
        let (key, file, signed) = signed(200_000);
        let all = records(&signed);
        let status = |records: &[Vec<u8>]| verified(&key, &joined(records)).0.status();
        assert_eq!(
            status(&all[..all.len() - 1]),
            Status::CouldNotTell,
            "no end"
        );
        assert_eq!(status(&all[64..]), Status::CouldNotTell, "no beginning");
        let without = [&all[..70], &all[71..]].concat();
        let (verified, out) = verified(&key, &joined(&without));
        assert_eq!(
            (verified.gap, verified.status()),
            (Some(70 * 1024), Status::CouldNotTell)
        );
        assert_eq!(out, file[..70 * 1024], "what is before the gap");
        let mut changed = all.clone();
        changed[80][100] ^= 1;
        let twice = [&all[..5], &all[4..]].concat();
        let mut swapped = all.clone();
        swapped.swap(3, 4);
        for (name, records) in [("changed", changed), ("twice", twice)] {
            assert_eq!(status(&records), Status::No, "{name}");
        }
        assert_eq!(status(&swapped), Status::CouldNotTell);
    }

    #[test]
    fn parts_of_two_files_are_never_one() {
        let (key, _, one) = signed(100_000);
        let mut other = Vec::new();
        sign(&[9; 100_000][..], &mut other, &key, 1024).unwrap();
        let mixed = [&records(&one)[..64], &records(&other)[64..]].concat();
        let (verified, _) = verified(&key, &joined(&mixed));
        assert_eq!(verified.refused, Some((65, Reason::Conflict)));
    }

    #[test]
    fn damage_is_no_panic() {
        let (key, _, signed) = signed(5000);
        for cut in MAGIC.len()..signed.len() {
            let (verified, _) = verified(&key, &signed[..cut]);
            assert_ne!(verified.status(), Status::Yes, "{cut}");
        }
        let absurd = [&MAGIC[..], &[0xff; 40]].concat();
        let (verified, _) = verified(&key, &absurd);
        assert!(verified.damage.is_some());
    }
}
