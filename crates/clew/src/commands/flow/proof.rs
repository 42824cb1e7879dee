//! `clew flow extract` and `check`

use super::verify::{explain, not_signed};
use super::{Kind, peek};
use crate::capture::Capture;
use crate::cli::{FlowCheck, FlowExtract};
use crate::clock;
use crate::commands::packet;
use crate::failure::{Failure, Status};
use crate::flow::capture::{datagram, signed};
use crate::flow::file;
use crate::flow::keys::{self, fingerprint, scheme, title};
use crate::flow::proof::{PROOF_BYTES_MAX, Proof, Proven};
use crate::flow::schemes::Flows;
use crate::flow::sidecar;
use crate::output::{Output, STANDARD_STREAM, open_input};
use clew_capture::Record;
use clew_flow::{Descriptor, Fixed, Reason, Verdict};
use clew_wire::Hex;
use std::io::{Read, Write};
use std::path::Path;

pub fn extract(arguments: &FlowExtract) -> Result<Status, Failure> {
    let flows = arguments.known.flows()?;
    let (kind, input) = peek(&arguments.input)?;
    let full = match kind {
        Kind::Capture => match &arguments.known.manifest {
            Some(manifests) => by_manifest(arguments, manifests, &flows)?,
            None => from_capture(arguments, &flows)?,
        },
        Kind::SignedFile => file::full_packet(input, &flows, arguments.packet)?,
        Kind::Other => return Err(not_signed(&arguments.input)),
    };
    let proof = proof(full, &flows)?;
    let mut output = Output::create(&arguments.out.output, &arguments.input, arguments.out.force)?;
    output
        .write_all(&proof.to_bytes())
        .map_err(Failure::write)?;
    output.commit()?;
    let path = arguments.out.output.display();
    mention!(
        "packet {}: valid, proof written to {path}",
        arguments.packet
    );
    if !proof.descriptor.chaining().salted {
        mention!(
            "  the proof has digests of other packets of the block, which confirm a correct guess \
             of a whole packet (clew flow keygen --salted prevents that)"
        );
    }
    Ok(Status::Yes)
}

fn proof(signed: Vec<u8>, flows: &[Descriptor]) -> Result<Proof, Failure> {
    let key = Fixed::of(&signed).map(|fixed| fixed.key).ok();
    let descriptor = flows.iter().find(|flow| Some(flow.key_id()) == key);
    let descriptor = descriptor.ok_or_else(|| Failure::new("the packet's flow is unknown"))?;
    Ok(Proof {
        descriptor: descriptor.clone(),
        signed,
    })
}

/// The packet is looked at first and then, until its block is verified, the others of its block.
fn from_capture(arguments: &FlowExtract, flows: &Flows) -> Result<Vec<u8>, Failure> {
    let (path, number) = (&arguments.input, arguments.packet);
    if path == Path::new(STANDARD_STREAM) {
        let failure = Failure::new("standard input: the capture must be read twice");
        return Err(failure.hint("save it to a file first"));
    }
    let record = packet::find(path, number)?.record;
    let wanted = signed(payload(&record, number)?);
    let freshness = arguments.known.freshness();
    let mut receiver = freshness.receiver(flows, std::slice::from_ref(&record))?;
    let mut reason = receiver
        .receive(&wanted, freshness.now(&record), number)
        .reason;
    let block = block(&wanted);
    let mut capture = Capture::open(path, "reading")?;
    while reason == Reason::Pending
        && let Some(batch) = capture.next_batch()?
    {
        for record in &batch {
            let Some(udp) = datagram(record) else {
                continue;
            };
            let other = signed(udp.payload());
            if reason == Reason::Pending && self::block(&other) == block && *other != *wanted {
                // Another ticket than the packet's own.
                let finding = receiver.receive(&other, freshness.now(record), 0);
                let found = finding
                    .resolved
                    .iter()
                    .find(|(ticket, _)| *ticket == number);
                reason = found.map_or(reason, |(_, reason)| *reason);
            }
        }
    }
    let reason = match reason {
        Reason::Pending => Reason::NoSignature,
        other => other,
    };
    let full = receiver.full_form(&wanted).filter(|_| reason == Reason::Ok);
    full.ok_or_else(|| not_valid(number, reason))
}

/// The packet with its manifest behind it.
fn by_manifest(
    arguments: &FlowExtract,
    manifests: &Path,
    flows: &Flows,
) -> Result<Vec<u8>, Failure> {
    let number = arguments.packet;
    let record = packet::find(&arguments.input, number)?.record;
    let full = sidecar::full_form(manifests, flows, payload(&record, number)?)?;
    full.ok_or_else(|| not_valid(number, Reason::NoSignature))
}

/// What the packet's datagram carries.
fn payload(record: &Record, number: u64) -> Result<&[u8], Failure> {
    let udp = datagram(record);
    let none = || Failure::new(format!("packet {number}: not a UDP datagram"));
    udp.map(|udp| udp.payload()).ok_or_else(none)
}

/// What names the block of a signed packet.
fn block(signed: &[u8]) -> Option<([u8; 4], u32, [u8; 16])> {
    let fixed = Fixed::of(signed).ok()?;
    Some((fixed.tag, fixed.seq, fixed.id))
}

fn not_valid(number: u64, reason: Reason) -> Failure {
    let verdict = reason.verdict();
    let failure = Failure::new(format!("packet {number}: {verdict}: {}", explain(reason)));
    match verdict {
        Verdict::Invalid => failure.no(),
        _ => failure,
    }
}

pub fn check(arguments: &FlowCheck) -> Result<Status, Failure> {
    let path = &arguments.proof;
    let trusted = arguments.flow.as_deref().map(keys::read).transpose()?;
    let mut bytes = Vec::new();
    open_input(path)
        .and_then(|input| {
            input
                .take(PROOF_BYTES_MAX as u64 + 1)
                .read_to_end(&mut bytes)
        })
        .map_err(|e| Failure::io(path, &e))?;
    let proof = Proof::from_bytes(&bytes).map_err(|e| Failure::file(path, e))?;
    let reason = proof.verify();
    if reason != Reason::Ok {
        say!("the proof is invalid: {} ({reason})", explain(reason));
        return Ok(Status::No);
    }
    if trusted
        .as_ref()
        .is_some_and(|flow| *flow != proof.descriptor)
    {
        say!(
            "the proof is valid, but for another flow: {}",
            title(&proof.descriptor)
        );
        return Ok(Status::No);
    }
    let packet = proof.packet();
    let packet = packet.ok_or_else(|| Failure::file(path, "cannot read the proof's packet"))?;
    tell(&proof, &packet, trusted.is_some());
    if let Some(output) = &arguments.output {
        let mut output = Output::create(output, path, arguments.force)?;
        output.write_all(packet.packet).map_err(Failure::write)?;
        output.commit()?;
    }
    Ok(Status::Yes)
}

fn tell(proof: &Proof, packet: &Proven<'_>, trusted: bool) {
    let descriptor = &proof.descriptor;
    let whose = match trusted {
        true => "as given with --flow",
        false => "as named by the proof: compare the key, or use --flow",
    };
    mention!(
        "the proof is valid: {} bytes were signed",
        packet.packet.len()
    );
    mention!("  flow      {}, {whose}", title(descriptor));
    mention!(
        "  key       {}, {}",
        scheme(descriptor),
        fingerprint(descriptor)
    );
    mention!(
        "  signed at {}",
        clock::to_the_second(packet.timestamp.as_nanos())
    );
    let (number, count) = (u32::from(packet.fixed.index) + 1, packet.fixed.count);
    mention!(
        "  packet    {number} of {count} of block {}",
        Hex(&packet.fixed.id)
    );
}
