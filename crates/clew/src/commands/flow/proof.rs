//! `clew flow extract` and `check`

use super::verify::{explain, not_signed};
use super::{Kind, descriptors, peek};
use crate::batch::Capture;
use crate::cli::{FlowCheck, FlowExtract};
use crate::clock;
use crate::failure::{Failure, Status};
use crate::flow::capture::{datagram, signed};
use crate::flow::file;
use crate::flow::keys::{self, title};
use crate::flow::proof::{PROOF_BYTES_MAX, Proof};
use crate::flow::verify::{Judged, verify_capture};
use crate::output::{Output, open_input};
use crate::report::hex;
use clew_flow::{Descriptor, Fixed, FlowReceiver, Reason};
use std::io::{Read, Write};

pub fn extract(arguments: &FlowExtract) -> Result<Status, Failure> {
    let flows = descriptors(&arguments.known.flow)?;
    let (kind, input) = peek(&arguments.input)?;
    let full = match kind {
        Kind::Capture => from_capture(arguments, &flows, input)?,
        Kind::SignedFile => file::full_packet(input, &flows, arguments.packet)?,
        Kind::Other => return Err(not_signed(&arguments.input)),
    };
    let proof = proof(full, &flows)?;
    let mut output = Output::create(&arguments.output, &arguments.input, arguments.force)?;
    output
        .write_all(&proof.to_bytes())
        .map_err(Failure::write)?;
    output.commit()?;
    let path = arguments.output.display();
    eprintln!("packet {}, which is valid: {path}", arguments.packet);
    if !proof.descriptor.chaining().salted {
        eprintln!(
            "  its proof has digests of other packets of the block: who can guess one of them whole \
             can confirm the guess (clew flow keygen --salted prevents it)"
        );
    }
    Ok(Status::Yes)
}

fn proof(signed: Vec<u8>, flows: &[Descriptor]) -> Result<Proof, Failure> {
    let key = Fixed::of(&signed).map(|fixed| fixed.key).ok();
    let descriptor = flows.iter().find(|flow| Some(flow.key_id()) == key);
    let descriptor = descriptor.ok_or_else(|| Failure::new("the packet's flow is not known"))?;
    Ok(Proof {
        descriptor: descriptor.clone(),
        signed,
    })
}

fn from_capture(
    arguments: &FlowExtract,
    flows: &[Descriptor],
    input: Box<dyn Read + Send>,
) -> Result<Vec<u8>, Failure> {
    let capture = Capture::of(&arguments.input, input, "reading")?;
    let (mut found, mut last) = (None, 0);
    verify_capture(capture, flows, arguments.known.freshness(), |judged, receiver| {
        let number = judged.record.packet().map_or(last, |info| info.frame);
        if number == arguments.packet && last != number {
            found = Some(full_form(&judged, receiver)?);
        }
        last = number;
        Ok(())
    })?;
    found.ok_or_else(|| {
        let missing = format!("there is no packet {}: the capture has {last}", arguments.packet);
        Failure::file(&arguments.input, missing)
    })
}

fn full_form(judged: &Judged, receiver: &FlowReceiver) -> Result<Vec<u8>, Failure> {
    let number = judged.record.packet().map_or(0, |info| info.frame);
    let not_valid = |reason: Reason| {
        let failure = Failure::new(format!("packet {number} is {}: {}", reason.verdict(), explain(reason)));
        match reason.verdict() {
            clew_flow::Verdict::Invalid => failure.no(),
            _ => failure,
        }
    };
    match (judged.reason, datagram(&judged.record)) {
        (Some(Reason::Ok), Some(udp)) => receiver
            .full_form(&signed(udp.payload()))
            .ok_or_else(|| Failure::new(format!("packet {number}: its block is forgotten"))),
        (Some(reason), _) => Err(not_valid(reason)),
        (None, _) => Err(Failure::new(format!("packet {number} is no whole UDP datagram"))),
    }
}

pub fn check(arguments: &FlowCheck) -> Result<Status, Failure> {
    let path = &arguments.proof;
    let trusted = arguments.flow.as_deref().map(keys::read).transpose()?;
    let mut bytes = Vec::new();
    open_input(path)
        .and_then(|input| input.take(PROOF_BYTES_MAX as u64 + 1).read_to_end(&mut bytes))
        .map_err(|e| Failure::file(path, e))?;
    let proof = Proof::from_bytes(&bytes).map_err(|e| Failure::file(path, e))?;
    let reason = proof.verify();
    if reason != Reason::Ok {
        say!("the proof does not hold: {} ({reason})", explain(reason));
        return Ok(Status::No);
    }
    if trusted.as_ref().is_some_and(|flow| *flow != proof.descriptor) {
        say!(
            "the proof holds, but for another flow: {}",
            title(&proof.descriptor)
        );
        return Ok(Status::No);
    }
    let packet = proof.packet();
    let packet = packet.map_err(|reason| Failure::new(format!("cannot read it: {reason}")))?;
    tell(&proof, &packet, trusted.is_some());
    if let Some(output) = &arguments.output {
        let mut output = Output::create(output, path, arguments.force)?;
        output.write_all(packet.packet).map_err(Failure::write)?;
        output.commit()?;
    }
    Ok(Status::Yes)
}

fn tell(proof: &Proof, packet: &clew_flow::SignedPacket<'_>, trusted: bool) {
    let descriptor = &proof.descriptor;
    let whose = match trusted {
        true => "the flow that was given",
        false => "by the proof's own word: compare the key, or give --flow",
    };
    eprintln!("the proof holds: {} bytes were signed", packet.packet.len());
    eprintln!("  flow      {}, {whose}", title(descriptor));
    eprintln!("  ed25519   {}", hex(descriptor.public_key()));
    if let Some(ns) = packet.carried.timestamp() {
        eprintln!("  signed at {}", clock::to_the_second(ns));
    }
    let (number, count) = (u32::from(packet.fixed.index) + 1, packet.fixed.count);
    eprintln!("  packet    {number} of {count} of block {}", hex(&packet.fixed.id));
}
