//! Flow signatures.

use clew::flow::file;
use clew::flow::proof::Proof;
use clew::flow::schemes::{self, Flows};
use clew_flow::{
    Acceptance, BadDescriptor, BlockVerifier, Descriptor, Distribution, Ed25519Signer, Finding, Fixed, FlowReceiver, FlowSender,
    Reason, SignedPacket, WallTime, rtp,
};
use clew_tree::carriage::{Rate, TagSize};
use ed25519_dalek::{Signature, VerifyingKey};

use super::{Stop, check_all, holds};
use crate::case::Case;
use crate::drawn::Drawn;

/// All but those that a receiver's bounds lead to.
pub fn rules() -> Vec<&'static str> {
    let bounds = [Reason::Ok, Reason::Busy, Reason::NoSignature];
    let of_packets = Reason::ALL.into_iter().filter(|r| !bounds.contains(r));
    let others = ["valid", "bad-descriptor", "bad-proof", "bad-file"];
    others.into_iter().chain(of_packets.map(Reason::as_str)).collect()
}

impl From<BadDescriptor> for Stop {
    fn from(_: BadDescriptor) -> Self {
        Self::Rule("bad-descriptor")
    }
}

pub fn judge(case: &Case) -> Result<(), Stop> {
    match case.word("check")? {
        "descriptor" => {
            let found = descriptor(case.bytes("descriptor")?)?;
            case.check("digest", found.digest())?;
            case.check("key-id", found.key_id().0)
        }
        "packets" => packets(case),
        "rtp" => {
            let received = case.bytes("received")?;
            let signed = rtp::unpadded(received).unwrap_or_else(|| received.to_vec());
            case.check("signed", signed)
        }
        "proof" => proof(case),
        "file" => signed_file(case),
        _ => Err(Stop::Wrong("no such check".to_owned())),
    }
}

/// A descriptor with a key that verifies.
pub fn descriptor(bytes: &[u8]) -> Result<Descriptor, Stop> {
    let found = Descriptor::from_bytes(bytes)?;
    found.verifier()?;
    Ok(found)
}

type Verifier = fn(&Descriptor, u16) -> Result<Box<dyn BlockVerifier>, BadDescriptor>;

fn receiver(case: &Case, verifier: Verifier) -> Result<FlowReceiver, Stop> {
    let acceptance = Acceptance { untagged: !case.all("untagged").is_empty(), ..Acceptance::default() };
    let own = descriptor(case.bytes("descriptor")?)?;
    let bits = match case.has("assurance") {
        true => u16::from_be_bytes(case.array("assurance")?),
        false => u16::MAX,
    };
    let verifier = verifier(&own, bits)?;
    Ok(FlowReceiver::with_verifiers([(own, verifier)], acceptance))
}

/// Reasons by ticket, as findings tell them.
#[derive(Default)]
pub struct Told(pub Vec<Reason>);

impl Told {
    pub fn take(&mut self, findings: &[Finding<'_>]) {
        for finding in findings {
            self.0.push(finding.reason);
            self.resolve(finding);
        }
    }

    pub fn resolve(&mut self, finding: &Finding<'_>) {
        for (ticket, reason) in &finding.resolved {
            self.0[*ticket as usize] = *reason;
        }
    }
}

fn packets(case: &Case) -> Result<(), Stop> {
    let (receiver, told) = received(case, Descriptor::verifier_for)?;
    check_all(case, "reason", told.iter().map(|reason| reason.as_str()))?;
    let (_, again) = received(case, schemes::verifier)?;
    holds(told == again, "the same by the program's Ed25519")?;
    holds(together(case)?.is_none_or(|all| all == told), "the same together")?;
    if case.has("content") {
        signed_block(case)?;
        full_forms(case, &receiver)?;
    }
    let wrong = told.into_iter().find(|reason| *reason != Reason::Ok);
    wrong.map_or(Ok(()), |reason| Err(Stop::Rule(reason.as_str())))
}

/// The reasons of packets that come one after the other, and who says so.
fn received(case: &Case, verifier: Verifier) -> Result<(FlowReceiver, Vec<Reason>), Stop> {
    let (mut receiver, mut told) = (receiver(case, verifier)?, Told::default());
    let times = times(case)?;
    let came = case.all("packet").into_iter().zip(times.iter().cycle());
    for ((packet, time), ticket) in came.zip(0..) {
        told.take(&[receiver.receive(packet, *time, ticket)]);
    }
    Ok((receiver, told.0))
}

/// Those of packets that are looked at together, if all come at one time.
fn together(case: &Case) -> Result<Option<Vec<Reason>>, Stop> {
    let [time] = times(case)?[..] else {
        return Ok(None);
    };
    let mut told = Told::default();
    let mut receiver = receiver(case, Descriptor::verifier_for)?;
    told.take(&receiver.receive_many(&case.all("packet"), time, 0));
    Ok(Some(told.0))
}

pub fn times(case: &Case) -> Result<Vec<WallTime>, Stop> {
    let wrong = |_| Stop::Wrong("a time has 8 bytes".to_owned());
    let time = |bytes: &[u8]| {
        let nanos = bytes.try_into().map(u64::from_be_bytes).map_err(wrong);
        nanos.map(WallTime::from_nanos)
    };
    case.all("time").into_iter().map(time).collect()
}

/// The signer makes these packets of the contents, and signs that message.
fn signed_block(case: &Case) -> Result<(), Stop> {
    let own = descriptor(case.bytes("descriptor")?)?;
    let (contents, salts) = (case.all("content"), case.all("salt").concat());
    let [tag, seq, id] = ["tag", "seq", "id"].map(|name| case.bytes(name));
    let drawn = [tag?, seq?, id?, &salts];
    let mut drawn = Drawn::new(&drawn);
    let signer = Ed25519Signer::from_secret(&case.array("secret")?);
    let mut sender = FlowSender::new(own.clone(), signer, &mut drawn)?;
    let mut signed = vec![Vec::new(); contents.len()];
    let timestamp = WallTime::from_nanos(case.u64("timestamp")?);
    let done = sender.sign_block(&contents, distribution(case)?, timestamp, &mut drawn, &mut signed);
    holds(done.is_ok(), "the block can be signed")?;
    for packet in case.all("packet") {
        let fixed = Fixed::of(packet).map_err(|r| Stop::Rule(r.as_str()))?;
        let parts = SignedPacket::of(packet, fixed, &own).map_err(|r| Stop::Rule(r.as_str()))?;
        let root = parts.block.root(fixed.index, &parts.leaf(), parts.path);
        case.check("root", root.unwrap_or_default())?;
        holds(signed[usize::from(fixed.index)] == packet, "it is signed so")?;
    }
    signs(case, &own)
}

/// The blob is timestamp and signature, which holds for the message.
pub fn signs(case: &Case, of: &Descriptor) -> Result<(), Stop> {
    let wrong = |_| Stop::Wrong("the blob does not sign the message".to_owned());
    let key = of.public_key().try_into().expect("it has 32 bytes");
    let key = VerifyingKey::from_bytes(key).map_err(wrong)?;
    let (timestamp, signature) = case.bytes("blob")?.split_at(8);
    let signature = Signature::from_slice(signature).map_err(wrong)?;
    let message = case.bytes("message")?;
    key.verify_strict(message, &signature).map_err(wrong)?;
    case.check("timestamp", timestamp)
}

fn distribution(case: &Case) -> Result<Distribution, Stop> {
    if case.has("one-in") {
        return Ok(match case.array("one-in").map(u16::from_be_bytes)? {
            1 => Distribution::Every,
            one_in => Distribution::OneIn(one_in),
        });
    }
    let ([percent], [size]) = (case.array("percent")?, case.array("tag-size")?);
    let rate = Rate::new(percent).ok_or(Stop::Rule("percent"))?;
    let tags = TagSize::from_bytes(size);
    Ok(Distribution::Coded { rate, tags })
}

/// Each packet of a verified block has a full form, valid by itself.
fn full_forms(case: &Case, of: &FlowReceiver) -> Result<(), Stop> {
    for packet in case.all("packet") {
        let full = of.full_form(packet).unwrap_or_default();
        let mut empty = receiver(case, Descriptor::verifier_for)?;
        let reason = empty.receive(&full, times(case)?[0], 0).reason;
        holds(reason == Reason::Ok, "it has a full form")?;
    }
    Ok(())
}

pub fn proof(case: &Case) -> Result<(), Stop> {
    let bad = Stop::Rule("bad-proof");
    let Ok(proof) = Proof::from_bytes(case.bytes("proof")?) else {
        return Err(bad);
    };
    if proof.verify() != Reason::Ok {
        return Err(bad);
    }
    case.check("descriptor", proof.descriptor.to_bytes())?;
    let packet = proof.packet().ok_or(bad)?;
    case.check("content", packet.packet)
}

fn signed_file(case: &Case) -> Result<(), Stop> {
    let flows = case.all("descriptor").into_iter().map(descriptor);
    let flows: Vec<Descriptor> = flows.collect::<Result<_, _>>()?;
    let mut content = Vec::new();
    let bad = Stop::Rule("bad-file");
    let Some(records) = case.bytes("file")?.strip_prefix(&file::MAGIC) else {
        return Err(bad);
    };
    let verified = file::verify(records, &mut content, &Flows::new(flows), None);
    let verified = verified.map_err(|_| Stop::Wrong("it can be read".to_owned()))?;
    if verified.status() != clew::failure::Status::Yes {
        return Err(bad);
    }
    case.check("content", content)
}
