//! Vectors of packets: a receiver that starts new, and a sender where all secrets are given.

use std::sync::Arc;

use clew_evidence::GroupFile;
use clew_group::{Precursor, Scheme, SigningKey, VerifyingKey};
use clew_keys::{HeldEpoch, MemberKeyFile, TextFile};
use clew_packet::{
    Acceptance, Conclusion, Frame, GroupTag, KeySource, LinkType, Policy, Reason, Received, Receiver, Restorer, Sender,
    SignOutcome, Stripped, Ticket, Timestamp, Unknown, mark, read, strip,
};
use rand_chacha::{ChaCha20Rng, rand_core::SeedableRng};

use super::{Stop, holds, other};
use crate::case::Case;

pub fn judge(case: &Case) -> Result<(), Stop> {
    let conclusion = verify(case)?;
    case.check("verdict", conclusion.verdict.as_str())?;
    if conclusion.reason != Reason::Ok {
        return Err(Stop::Rule(conclusion.reason.as_str()));
    }
    message(case)?;
    if case.has("full") {
        full(case)?;
    }
    if case.has("original") {
        undo(case)?;
        redo(case)?;
    }
    Ok(())
}

fn time(case: &Case) -> Result<Option<Timestamp>, Stop> {
    match case.has("time") {
        true => case.u64("time").map(Timestamp).map(Some),
        false => Ok(None),
    }
}

pub(super) fn frame<'a>(case: &'a Case, bytes: &'a [u8]) -> Result<Frame<'a>, Stop> {
    // What the capture lacks of the frame, it lacks of the original too.
    let missing = case.u32("wire-length")? as usize - case.bytes("frame")?.len();
    Ok(Frame { link: LinkType(case.u32("link-type")?), bytes, wire_len: bytes.len() + missing })
}

/// What a new receiver says about the frame, after the earlier ones if there are any.
fn verify(case: &Case) -> Result<Conclusion, Stop> {
    let keys = keys(case)?;
    let acceptance =
        if case.has("receiver-start") { Acceptance::live(Timestamp(case.u64("receiver-start")?)) } else { Acceptance::capture() };
    let mut receiver = Receiver::new(keys, acceptance);
    for bytes in case.all("earlier-frame") {
        let earlier = frame(case, bytes)?;
        let before = receive(&mut receiver, &earlier, time(case)?);
        let valid = before.is_ok_and(|before| before.reason == Reason::Ok);
        holds(valid || before.is_err(), "the earlier frame is valid, or waits")?;
    }
    let frame = frame(case, case.bytes("frame")?)?;
    let last = receive(&mut receiver, &frame, time(case)?);
    Ok(last.unwrap_or_else(|ticket| receiver.give_up(ticket)))
}

/// The keys of the group that the case names.
pub(super) fn keys(case: &Case) -> Result<Keys, Stop> {
    let file = other("group-file", case.word("group-file")?)?;
    Ok(Keys(GroupFile::from_bytes(file.bytes("file")?)?))
}

fn receive(receiver: &mut Receiver<Keys>, frame: &Frame<'_>, time: Option<Timestamp>) -> Result<Conclusion, Ticket> {
    Ok(match receiver.receive(frame, time) {
        Received::Done(conclusion) => conclusion,
        Received::Pending(pending) => {
            let checked = pending.check(&mut ChaCha20Rng::seed_from_u64(1));
            receiver.conclude(checked)
        }
        Received::Waiting(ticket) => return Err(ticket),
    })
}

/// The packet in full carriage, by the earlier ones of its block.
fn full(case: &Case) -> Result<(), Stop> {
    let mut restorer = Restorer::new();
    for bytes in case.all("earlier-frame") {
        let earlier = frame(case, bytes)?;
        let packet = read(&earlier).map_err(|reason| Stop::Rule(reason.as_str()))?;
        holds(restorer.take(&packet, ()).is_none(), "the last one restores")?;
    }
    let frame = frame(case, case.bytes("frame")?)?;
    let packet = read(&frame).map_err(|reason| Stop::Rule(reason.as_str()))?;
    let restored = restorer.take(&packet, ());
    let restored = restored.ok_or_else(|| Stop::Wrong("too few shares".to_owned()))?;
    let mut out = Vec::new();
    let written = packet.in_full(&restored.signature, &mut out);
    holds(written.is_ok(), "there is room for the full form")?;
    case.check("full", out)
}

fn message(case: &Case) -> Result<(), Stop> {
    let frame = frame(case, case.bytes("frame")?)?;
    let mut message = Vec::new();
    let packet = read(&frame).map_err(|reason| Stop::Rule(reason.as_str()))?;
    packet.write_message(&mut message);
    case.check("message", &message)?;
    if !case.has("fields") {
        return Ok(()); // a block's message has none
    }
    let fields = case.bytes("fields")?;
    let length = (fields.len() as u32).to_be_bytes();
    let ends = message.ends_with(&[&length, fields].concat());
    holds(ends, "the message ends with the fields and their length")
}

fn undo(case: &Case) -> Result<(), Stop> {
    let mut out = Vec::new();
    let stripped = strip(&frame(case, case.bytes("frame")?)?, &mut out);
    case.check("original", &out)?;
    let expected = match case.has("member-key") {
        true => Stripped::Trailer,
        false => Stripped::Mark,
    };
    holds(stripped == expected, "what strip undoes")
}

/// Signs again with the same nonces; a frame without a key in its file was marked.
fn redo(case: &Case) -> Result<(), Stop> {
    let original = frame(case, case.bytes("original")?)?;
    let mut out = Vec::new();
    if !case.has("member-key") {
        holds(mark(&original, &mut out) == Some(SignOutcome::AlreadySigned), "a mark")?;
        return case.check("frame", &out);
    }
    let key = other("key-file", case.word("member-key")?)?;
    let key = MemberKeyFile::decode(&key.joined("line")?)?;
    let precursor = precursor(case, &key)?;
    let sender = sender(case, &key, policy(case)?)?;
    let reason = sender.sign(&original, time(case)?, || precursor, &mut out);
    holds(reason == SignOutcome::Signed, "it is signed")?;
    case.check("frame", &out)
}

pub(super) fn policy(case: &Case) -> Result<Policy, Stop> {
    let flags = case.word("policy")?;
    Ok(Policy {
        nat: flags.contains("nat"),
        tolerant: flags.contains("tolerant"),
        incremental: flags.contains("incremental"),
        ..Policy::default()
    })
}

pub(super) fn sender(case: &Case, key: &MemberKeyFile, policy: Policy) -> Result<Sender, Stop> {
    let held = held(case, key)?;
    Ok(Sender::new(key.scheme(), key.group, held.epoch, policy))
}

/// The epoch that signs at the time of the case.
fn held<'a>(case: &Case, key: &'a MemberKeyFile) -> Result<&'a HeldEpoch, Stop> {
    let time = time(case)?.map_or(0, |time| time.0);
    let held = key.epoch_at(time);
    held.ok_or_else(|| Stop::Wrong("a key without an epoch".to_owned()))
}

/// With the nonces of the case.
pub(super) fn precursor(case: &Case, key: &MemberKeyFile) -> Result<Precursor, Stop> {
    let held = held(case, key)?;
    Ok(match key.signing_key(held)? {
        SigningKey::Bbs04(signer) => {
            let nonces = super::bbs04::nonces(case)?;
            Precursor::Bbs04(Box::new(signer.precursor_from(&nonces)))
        }
        SigningKey::Xr(signer) => {
            let nonces = super::xr::nonces(case)?;
            Precursor::Xr(Box::new(signer.precursor_from(&nonces)))
        }
    })
}

/// The keys of one group file.
pub(super) struct Keys(GroupFile);

impl KeySource for Keys {
    fn scheme(&self, group: GroupTag) -> Result<Scheme, Unknown> {
        if group == self.0.id().tag() { Ok(self.0.scheme()) } else { Err(Unknown::Group) }
    }

    fn successor_start(&self, group: GroupTag, epoch: u32) -> Result<Option<Timestamp>, Unknown> {
        if group != self.0.id().tag() {
            return Err(Unknown::Group);
        }
        if epoch > self.0.newest_epoch() {
            return Err(Unknown::Epoch);
        }
        Ok(self.0.start(epoch + 1).map(|start| Timestamp(start.as_nanos())))
    }

    fn key(&self, _: GroupTag, epoch: u32) -> Option<Arc<VerifyingKey>> {
        let key = self.0.public_key(epoch)?.ok()?;
        Some(Arc::new(VerifyingKey::new(&key, self.0.epoch_id(epoch)?)))
    }
}
