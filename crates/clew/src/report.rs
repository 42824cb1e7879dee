//! What people and programs are told about packets.

use crate::failure::Status;
use crate::records::Missed;
use clew_engine::captures::VerifyReport;
use clew_packet::{Flow, Reason, SignOutcome, Summary, Verdict};
use std::fmt::Display;
use std::net::{IpAddr, SocketAddr};

/// What damage means to a verifier.
pub const NOT_VERIFIED: &str = "the rest could not be verified";

/// Prints counts by outcome, indented, on standard error.
pub fn outcomes(counts: impl Iterator<Item = (SignOutcome, u64)>) {
    for (outcome, count) in counts {
        let what = explain_outcome(outcome);
        mention!("  {count:>9}  {outcome:<18} {what}");
    }
}

/// Prints what is wrong with a file, if anything is.
pub fn damage(damage: Option<impl Display>, consequence: &str) {
    if let Some(damage) = damage {
        mention!("clew: warning: {damage}; {consequence}");
    }
}

/// The answer: no if any packet is invalid (strict: or an IP packet unsigned); could not tell if any
/// is undecided, the file is damaged, or nothing was signed; else yes.
pub fn status(verified: &VerifyReport, strict: bool) -> Status {
    let totals = &verified.totals;
    let is_no = totals.of(Verdict::Invalid) > 0 || strict && totals.unsigned_ip > 0;
    let is_open = totals.of(Verdict::Undecided) > 0 || verified.damage.is_some();
    Status::of(is_no, is_open || totals.of(Verdict::Valid) == 0)
}

/// Says what is wrong with a capture that was copied, and returns the answer.
pub fn copied(found: Option<impl Display>) -> Status {
    let status = Status::of(false, found.is_some());
    damage(found, "the rest was copied unchanged");
    status
}

/// Warns if none of the packets of a capture was signed.
pub fn warn_if_none(signed: u64, packets: u64) {
    if signed == 0 && packets > 0 {
        mention!("clew: warning: no packet was signed");
    }
}

/// What it means that signatures were forgotten, if any were.
pub fn forgotten(count: u64) -> Option<String> {
    let what = "signatures were forgotten to limit memory: their duplicates are not detected";
    (count > 0).then(|| format!("{count} {what}"))
}

/// What a tap has no verdict for, and what was not written, if there is any.
pub fn missed(missed: &Missed) -> Option<String> {
    let counts = missed.counts();
    let counts: Vec<String> = counts
        .map(|(_, what, count)| format!("{count} {what}"))
        .collect();
    (!counts.is_empty()).then(|| counts.join(", "))
}

/// The scheme's name on the command line, with its form.
pub fn scheme(summary: &Summary) -> String {
    let name = format!("{:?}", summary.scheme).to_lowercase();
    if summary.incremental {
        format!("{name} incremental")
    } else {
        name
    }
}

/// Source and destination of a flow, for a line on a terminal.
pub fn endpoints(flow: &Flow) -> String {
    let from = endpoint(flow.source, flow.source_port);
    let to = endpoint(flow.destination, flow.destination_port);
    format!("{from} > {to}")
}

/// An address, with its port if there is one.
pub fn endpoint(address: IpAddr, port: Option<u16>) -> String {
    match port {
        Some(port) => SocketAddr::new(address, port).to_string(),
        None => address.to_string(),
    }
}

/// A reason in a few words for people.
pub fn explain(reason: Reason) -> &'static str {
    match reason {
        Reason::Ok => "valid signature",
        Reason::Vouched => "the window's signature is valid; its own was not verified",
        Reason::Reordered => "valid signature; arrived after a later packet of its block",
        Reason::LinkType => "unsupported link type",
        Reason::NotIp => "not an IP packet",
        Reason::BadVersion => "IP version differs from the link layer",
        Reason::ZeroLength => "IP length 0: captured before segmentation",
        Reason::Jumbo => "jumbogram",
        Reason::BadLength => "header lengths contradict each other",
        Reason::Truncated => "truncated by the capture",
        Reason::Fragment => "IP fragment",
        Reason::ExtensionHeaders => "malformed IPv6 extension headers",
        Reason::RoutingHeader => "unsupported IPv6 routing header",
        Reason::TooBig => "too big for a trailer",
        Reason::NoTrailer => "the packet is not signed",
        Reason::UnknownVersion => "unknown trailer version",
        Reason::UnknownCarrier => "unknown type of datagram",
        Reason::BadCarrier => "the datagram holds no packet that could be signed",
        Reason::BadCarrierLength => "datagram has the wrong length",
        Reason::BadFragment => "fragment of another or a malformed datagram",
        Reason::MissingFragment => "other fragments of the packet are not in the capture",
        Reason::Cookie => "message between daemons without a packet",
        Reason::BadTrailerLength => "trailer has the wrong length",
        Reason::UnknownMode => "unknown mode",
        Reason::ReservedBits => "invalid trailer flags",
        Reason::BadMark => "invalid mark",
        Reason::BadBlock => "invalid window or block",
        Reason::BadCode => "signature share does not belong to its block",
        Reason::UnknownCarriage => "unknown carriage",
        Reason::UnknownScheme => "unknown signature scheme",
        Reason::UnknownGroup => "group file not given",
        Reason::UnknownEpoch => "epoch is not in the group file",
        Reason::EpochOver => "epoch had ended",
        Reason::Stale => "timestamp too old",
        Reason::Future => "timestamp in the future",
        Reason::TooFewShares => "too few packets of its block to restore the signature",
        Reason::BadEncoding => "signature does not decode",
        Reason::BadSignature => "invalid signature: packet or signature was changed",
        Reason::Duplicate => "signed packet was seen before",
    }
}

/// What became of a packet that was to be signed, in a few words for people.
fn explain_outcome(outcome: SignOutcome) -> &'static str {
    match outcome {
        SignOutcome::Unsignable(reason) => explain(reason),
        SignOutcome::Signed => "signed",
        SignOutcome::AlreadySigned => "already signed; marked and copied",
        SignOutcome::MarkFull => "already signed; its mark is full",
        SignOutcome::Carrier => "already signed, in a UDP datagram",
        SignOutcome::NeedsTunnel => "needs the carrier udp-tunnel",
        SignOutcome::NotSelected => "source not selected",
        SignOutcome::Offload => "larger than the MTU before signing",
        SignOutcome::Container => "the file format could not be restored exactly",
    }
}
