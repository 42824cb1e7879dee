//! Flow signatures.

use clew::flow::file;
use clew::flow::proof::Proof;
use clew_flow::carriage::{Rate, TagSize};
use clew_flow::{
    Acceptance, BadDescriptor, Carry, Descriptor, Ed25519Signer, Finding, Fixed, FlowReceiver,
    FlowSender, Reason, SignedPacket, rtp,
};
use ed25519_dalek::{Signature, VerifyingKey};

use super::{Stop, check_all, holds};
use crate::case::Case;
use crate::drawn::Drawn;

/// All but those that a receiver's bounds lead to.
pub fn rules() -> Vec<&'static str> {
    let bounds = [Reason::Ok, Reason::Busy, Reason::NoSignature];
    let of_packets = Reason::ALL.into_iter().filter(|r| !bounds.contains(r));
    let others = ["valid", "bad-descriptor", "bad-proof", "bad-file"];
    others
        .into_iter()
        .chain(of_packets.map(Reason::as_str))
        .collect()
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
fn descriptor(bytes: &[u8]) -> Result<Descriptor, Stop> {
    let found = Descriptor::from_bytes(bytes)?;
    found.verifier()?;
    Ok(found)
}

fn receiver(case: &Case) -> Result<FlowReceiver, Stop> {
    let acceptance = Acceptance {
        untagged: !case.all("untagged").is_empty(),
        ..Acceptance::default()
    };
    let own = descriptor(case.bytes("descriptor")?)?;
    Ok(FlowReceiver::new([own], acceptance)?)
}

/// Reasons by ticket, as findings tell them.
struct Told(Vec<Reason>);

impl Told {
    fn take(&mut self, findings: &[Finding<'_>]) {
        for finding in findings {
            self.0.push(finding.reason);
            for (ticket, reason) in &finding.resolved {
                self.0[*ticket as usize] = *reason;
            }
        }
    }
}

fn packets(case: &Case) -> Result<(), Stop> {
    let (mut receiver, mut told) = (receiver(case)?, Told(Vec::new()));
    let (packets, times) = (case.all("packet"), times(case)?);
    for ((packet, time), ticket) in packets.iter().zip(times.iter().cycle()).zip(0..) {
        told.take(&[receiver.receive(packet, *time, ticket)]);
    }
    check_all(case, "reason", told.0.iter().map(|r| r.as_str()))?;
    if let [time] = times[..] {
        let mut together = Told(Vec::new());
        together.take(&self::receiver(case)?.receive_many(&packets, time, 0));
        holds(told.0 == together.0, "the same reasons together")?;
    }
    if case.has("content") {
        signed_block(case, &packets)?;
        full_forms(case, &receiver, &packets, times[0])?;
    }
    let wrong = told.0.into_iter().find(|reason| *reason != Reason::Ok);
    wrong.map_or(Ok(()), |reason| Err(Stop::Rule(reason.as_str())))
}

fn times(case: &Case) -> Result<Vec<u64>, Stop> {
    let wrong = |_| Stop::Wrong("a time has 8 bytes".to_owned());
    let time = |bytes: &[u8]| bytes.try_into().map(u64::from_be_bytes).map_err(wrong);
    case.all("time").into_iter().map(time).collect()
}

/// The signer makes these packets of the contents, and signs that message.
fn signed_block(case: &Case, packets: &[&[u8]]) -> Result<(), Stop> {
    let own = descriptor(case.bytes("descriptor")?)?;
    let (contents, salts) = (case.all("content"), case.all("salt").concat());
    let drawn: [&[u8]; 4] = [
        &case.array::<4>("tag")?,
        &case.array::<4>("seq")?,
        &case.array::<16>("id")?,
        &salts,
    ];
    let mut drawn = Drawn::new(&drawn);
    let signer = Ed25519Signer::from_secret(&case.array("secret")?);
    let mut sender = FlowSender::new(own.clone(), signer, &mut drawn)?;
    let mut signed = vec![Vec::new(); contents.len()];
    let timestamp = case.u64("timestamp")?;
    let done = sender.sign_block(&contents, carry(case)?, timestamp, &mut drawn, &mut signed);
    holds(done.is_ok(), "the block can be signed")?;
    for packet in packets {
        let fixed = Fixed::of(packet).map_err(|r| Stop::Rule(r.as_str()))?;
        let parts = SignedPacket::of(packet, fixed, &own).map_err(|r| Stop::Rule(r.as_str()))?;
        let root = parts.block.root(fixed.index, &parts.leaf(), parts.path);
        case.check("root", root.unwrap_or_default())?;
        holds(
            signed[usize::from(fixed.index)] == *packet,
            "it is signed so",
        )?;
    }
    let wrong = |_| Stop::Wrong("the blob does not sign the message".to_owned());
    let key = VerifyingKey::from_bytes(&own.public_key().try_into().expect("32 bytes"));
    let blob = case.bytes("blob")?;
    let signature = Signature::from_slice(&blob[8..]).map_err(wrong)?;
    let key = key.map_err(wrong)?;
    key.verify_strict(case.bytes("message")?, &signature)
        .map_err(wrong)?;
    holds(
        blob[..8] == timestamp.to_be_bytes(),
        "the blob begins with the timestamp",
    )
}

fn carry(case: &Case) -> Result<Carry, Stop> {
    if case.has("one-in") {
        return Ok(match case.array("one-in").map(u16::from_be_bytes)? {
            1 => Carry::Every,
            one_in => Carry::OneIn(one_in),
        });
    }
    let ([percent], [size]) = (case.array("percent")?, case.array("tag-size")?);
    let rate = Rate::new(percent).ok_or(Stop::Rule("percent"))?;
    let tags = TagSize::from_bytes(size);
    Ok(Carry::Coded { rate, tags })
}

/// Each packet of a verified block has a full form, valid by itself.
fn full_forms(case: &Case, of: &FlowReceiver, packets: &[&[u8]], time: u64) -> Result<(), Stop> {
    for packet in packets {
        let full = of.full_form(packet).unwrap_or_default();
        let reason = receiver(case)?.receive(&full, time, 0).reason;
        holds(reason == Reason::Ok, "it has a full form")?;
    }
    Ok(())
}

fn proof(case: &Case) -> Result<(), Stop> {
    let bad = Stop::Rule("bad-proof");
    let Ok(proof) = Proof::from_bytes(case.bytes("proof")?) else {
        return Err(bad);
    };
    if proof.verify() != Reason::Ok {
        return Err(bad);
    }
    case.check("descriptor", proof.descriptor.to_bytes())?;
    let packet = proof.packet().map_err(|r| Stop::Rule(r.as_str()))?;
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
    let verified = file::verify(records, &mut content, &flows, None);
    let verified = verified.map_err(|_| Stop::Wrong("it can be read".to_owned()))?;
    if verified.status() != clew::failure::Status::Yes {
        return Err(bad);
    }
    case.check("content", content)
}
