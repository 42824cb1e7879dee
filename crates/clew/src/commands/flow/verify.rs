//! `clew flow verify` and `inspect`

use super::listing::{Json, Listing, Quiet, Table, tell};
use super::{Kind, peek};
use crate::capture::Capture;
use crate::cli::{FlowInspect, FlowVerify, KnownFlows};
use crate::failure::{Failure, Status};
use crate::flow::capture::{datagram, signed};
use crate::flow::file;
use crate::flow::keys::title;
use crate::flow::policy::Gate;
use crate::flow::schemes::Flows;
use crate::flow::sidecar::{self, Sidecar};
use crate::flow::verify::{Freshness, Judged, Verified, verify_capture};
use crate::output::{Output, STANDARD_STREAM};
use crate::report;
use clew_capture::{PacketLengths, Writer};
use clew_flow::{Descriptor, Fixed, Reason, Verdict};
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::path::Path;

pub fn run(arguments: &FlowVerify) -> Result<Status, Failure> {
    let flows = arguments.known.flows()?;
    let (kind, input) = peek(&arguments.input)?;
    say_assurance(&flows);
    match kind {
        Kind::Capture => capture(arguments, &flows, input),
        Kind::SignedFile => signed_file(arguments, &flows, input),
        Kind::Other => Err(not_signed(&arguments.input)),
    }
}

/// Says what verification gives, of flows whose signatures have levels.
pub fn say_assurance(flows: &Flows) {
    for (flow, parameters, found) in flows.assurances().filter(|(_, p, _)| p.t() > 1) {
        let (name, bits, all) = (
            title(flow),
            found.bits(),
            parameters.assurance(parameters.t()),
        );
        let all = all.bits();
        let worth = match found.is_enough() {
            true => "",
            false => ": can reject packets, but not accept them",
        };
        mention!("{name}: {parameters}, verified to {bits} of {all} bits{worth}");
    }
}

/// The failure of an input that is neither capture nor signed file.
pub fn not_signed(path: &Path) -> Failure {
    Failure::file(path, "neither a capture nor a file from clew flow sign")
}

pub fn inspect(arguments: &FlowInspect) -> Result<Status, Failure> {
    let flows = arguments.known.flows()?;
    let flows = &flows;
    say_assurance(flows);
    let capture = Capture::open(&arguments.input, "inspecting")?;
    let mut out = BufWriter::new(io::stdout().lock());
    let mut listing: Box<dyn Listing> = match arguments.json {
        true => Box::new(Json::new(flows)),
        false => Box::new(Table::new(&mut out).map_err(Failure::write)?),
    };
    let verified = judge(capture, flows, &arguments.known, |judged| {
        tell(listing.as_mut(), &judged, flows, &mut out).map_err(Failure::write)
    })?;
    listing.end(&verified, &mut out).map_err(Failure::write)?;
    out.flush().map_err(Failure::write)?;
    Ok(verified.status(false))
}

impl KnownFlows {
    /// What timestamps are compared with.
    pub fn freshness(&self) -> Freshness {
        self.max_age
            .map_or(Freshness::AtCaptureTime, Freshness::MaxAge)
    }
}

/// Verifies a capture, by the signatures in it or by manifests beside it.
fn judge(
    capture: Capture,
    flows: &Flows,
    known: &KnownFlows,
    each: impl FnMut(Judged) -> Result<(), Failure>,
) -> Result<Verified, Failure> {
    let freshness = known.freshness();
    match &known.manifest {
        None => verify_capture(capture, flows, freshness, each),
        Some(path) => {
            let sidecar = Sidecar::read(path, flows)?;
            sidecar::verify_capture(capture, sidecar, freshness, each)
        }
    }
}

fn capture(
    arguments: &FlowVerify,
    flows: &Flows,
    input: Box<dyn Read + Send>,
) -> Result<Status, Failure> {
    let capture = Capture::of(&arguments.input, input, "verifying")?;
    let create = |path| Output::create(path, &arguments.input, arguments.force);
    let output = arguments.output.as_deref().map(create).transpose()?;
    let mut writer = output.map(|output| Writer::new(output, PacketLengths::NeverGrow));
    let gate = Gate::new(arguments.policy, flows.iter());
    // What manifests list is as it was sent.
    let strip = arguments.known.manifest.is_none();
    let taken = arguments.output.as_deref() == Some(Path::new(STANDARD_STREAM));
    let mut out: Box<dyn Write> = match taken {
        true => Box::new(io::stderr()),
        false => Box::new(BufWriter::new(io::stdout())),
    };
    let mut listing: Box<dyn Listing> = match arguments.json {
        true => Box::new(Json::new(flows)),
        false => Box::new(Quiet::new(arguments.strict)),
    };
    let mut with_signature = 0_u64;
    let verified = judge(capture, flows, &arguments.known, |judged| {
        tell(listing.as_mut(), &judged, flows, &mut out).map_err(Failure::write)?;
        match &mut writer {
            Some(writer) => {
                let bare = pass(judged, gate, strip, writer).map_err(Failure::write)?;
                with_signature += u64::from(!bare);
                Ok(())
            }
            None => Ok(()),
        }
    })?;
    if let Some(writer) = writer {
        writer.finish().map_err(Failure::write)?.commit()?;
    }
    if with_signature > 0 {
        mention!(
            "clew: warning: {with_signature} packets of the output keep their signature: it \
             cannot be removed exactly"
        );
    }
    listing.end(&verified, &mut out).map_err(Failure::write)?;
    out.flush().map_err(Failure::write)?;
    Ok(verified.status(arguments.strict))
}

/// Writes a record, if the policy lets it pass; without its packet signature, if it is to be stripped.
/// Returns false if the signature could not be removed.
fn pass(
    mut judged: Judged,
    gate: Gate,
    strip: bool,
    writer: &mut Writer<Output>,
) -> io::Result<bool> {
    let mut bare = true;
    if let Some(reason) = judged.reason {
        if !gate.passes(reason) {
            return Ok(true);
        }
        if strip && reason.verdict() != Verdict::Unsigned {
            let bytes = without_signature(&judged);
            // A capture of live traffic may have records that cannot be exchanged exactly.
            bare = bytes.is_some_and(|bytes| judged.record.replace(&bytes).is_ok());
        }
    }
    writer.write(&judged.record)?;
    Ok(bare)
}

/// The frame with what the application sent.
fn without_signature(judged: &Judged) -> Option<Vec<u8>> {
    let udp = datagram(&judged.record)?;
    let payload = signed(udp.payload());
    let fixed = Fixed::of(&payload).ok()?;
    let content = payload.len().checked_sub(fixed.length.into())?;
    let mut frame = Vec::new();
    udp.with_payload(&payload[..content], &mut frame)
        .then_some(frame)
}

fn signed_file(
    arguments: &FlowVerify,
    flows: &Flows,
    input: Box<dyn Read + Send>,
) -> Result<Status, Failure> {
    let mut input = BufReader::new(input);
    // It is known to be there.
    let mut magic = [0; file::MAGIC.len()];
    input
        .read_exact(&mut magic)
        .map_err(|e| Failure::file(&arguments.input, e))?;
    let create = |path| Output::create(path, &arguments.input, arguments.force);
    let mut output = arguments.output.as_deref().map(create).transpose()?;
    let sink: &mut dyn Write = match &mut output {
        Some(output) => output,
        None => &mut io::sink(),
    };
    let verified = file::verify(input, sink, flows, arguments.known.max_age)?;
    let status = verified.status();
    tell_file(&verified, flows, arguments.json);
    match output {
        Some(output) if status == Status::Yes => output.commit()?,
        Some(_) => mention!("clew: nothing was written: the file is incomplete or invalid"),
        None => {}
    }
    Ok(status)
}

fn tell_file(verified: &file::Verified, flows: &[Descriptor], json: bool) {
    let file::Verified { packets, bytes, .. } = verified;
    if json {
        let refused = verified.refused.map(
            |(packet, reason)| serde_json::json!({ "packet": packet, "reason": reason.as_str() }),
        );
        say!(
            "{}",
            serde_json::json!({ "summary": {
                "packets": packets, "bytes": bytes, "refused": refused, "gap": verified.gap,
                "ended": verified.ended, "damage": verified.damage,
            }})
        );
        return;
    }
    if let Some((packet, reason)) = verified.refused {
        say!(
            "packet {packet} is {}: {}",
            reason.verdict(),
            explain(reason)
        );
    }
    if let Some(damage) = verified.damage {
        say!("{damage}");
    }
    match (verified.status(), verified.gap) {
        (Status::Yes, _) => {
            let names: Vec<String> = flows.iter().map(title).collect();
            say!("valid: all {bytes} bytes, signed by {}", names.join(" or "));
        }
        (_, Some(gap)) => say!("bytes are missing at {gap}; all before are valid"),
        (_, None) if !verified.ended => {
            say!("the end is missing; the first {bytes} bytes are valid")
        }
        (_, None) => say!("the first {bytes} bytes are valid"),
    }
}

/// A reason in a few words for people.
pub fn explain(reason: Reason) -> &'static str {
    match reason {
        Reason::Ok => "the block's signature is valid",
        Reason::Unsigned => "no packet signature",
        Reason::UnknownVersion => "unknown version of packet signatures",
        Reason::BadLength => "packet signature has the wrong length",
        Reason::UnknownFlow => "flow's public file not given",
        Reason::BadBlock => "invalid place in its block",
        Reason::UnknownCarriage => "unknown carriage",
        Reason::CodedCount => "block has too few or too many packets for coded carriage",
        Reason::Needed => "invalid number of shares for its block",
        Reason::Untagged => "share without a tag, not accepted here",
        Reason::Padding => "shares do not form a signature",
        Reason::Old => "block is too far behind the newest one",
        Reason::Duplicate => "packet was received before",
        Reason::Conflict => "another block was verified in its place",
        Reason::BadDigest => "differs from the signed packet",
        Reason::Stale => "timestamp too old",
        Reason::Future => "timestamp in the future",
        Reason::BadSignature => "invalid signature: packet or signature was changed",
        Reason::Weak => "signature verified to fewer than 128 bits: not refuted, but not accepted",
        Reason::Busy => "too many signatures for the receiver",
        Reason::Pending => "block's signature not received yet",
        Reason::NoSignature => "block's signature never received",
    }
}

/// Totals for people, and the answer.
pub fn totals(verified: &Verified, strict: bool, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "{} datagrams", verified.datagrams)?;
    for verdict in Verdict::ALL {
        let count = verified.of(verdict);
        if count > 0 {
            writeln!(out, "{count:>9}  {verdict}")?;
        }
        let of = |(reason, _): &(&Reason, &u64)| reason.verdict() == verdict;
        let named = |(reason, _): &(&Reason, &u64)| reason.as_str() != verdict.as_str();
        let reasons = verified.reasons.iter().filter(of).filter(named);
        for (reason, count) in reasons.filter(|(reason, _)| **reason != Reason::Ok) {
            writeln!(out, "{count:>20}  {reason}: {}", explain(*reason))?;
        }
    }
    let lost = verified.lost;
    if lost.packets > 0 || lost.blocks > 0 {
        let (packets, blocks) = (lost.packets, lost.blocks);
        writeln!(out, "{packets:>9}  lost, and {blocks} whole blocks")?;
    }
    let other = verified.packets - verified.datagrams;
    if other > 0 {
        writeln!(
            out,
            "{other:>9}  packets are not whole UDP datagrams and were not judged"
        )?;
    }
    let signatures = verified.verifications;
    writeln!(out, "{signatures:>9}  signatures were verified")?;
    out.flush()?;
    report::damage(verified.damage.as_deref(), report::NOT_VERIFIED);
    writeln!(out, "{}", answer(verified, strict))
}

fn answer(verified: &Verified, strict: bool) -> &'static str {
    match verified.status(strict) {
        Status::Yes => "yes: every signed packet is valid",
        Status::No if verified.of(Verdict::Invalid) > 0 => "no: there are invalid packets",
        Status::No => "no: there are unsigned packets",
        Status::CouldNotTell if verified.damage.is_some() => "could not tell: the file is damaged",
        Status::CouldNotTell if verified.of(Verdict::Undecided) > 0 => {
            "could not tell: some signatures are missing, or not verified far enough"
        }
        Status::CouldNotTell => "could not tell: nothing was signed",
    }
}
