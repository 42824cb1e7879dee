//! What people and programs are told about packets.

use crate::failure::Status;
use clew_engine::captures::Verified;
use clew_packet::{Flow, Mode, Reason, Summary, Verdict};
use std::fmt::Display;
use std::net::{IpAddr, SocketAddr};

/// What damage means to a verifier.
pub const NOT_VERIFIED: &str = "what follows could not be verified";

/// Prints counts by reason, indented, on standard error.
pub fn reasons(counts: impl Iterator<Item = (Reason, u64)>) {
    for (reason, count) in counts {
        eprintln!("  {count:>9}  {reason:<18} {}", explain(reason));
    }
}

/// Prints what is wrong with a file, if anything is.
pub fn damage(damage: Option<impl Display>, consequence: &str) {
    if let Some(damage) = damage {
        eprintln!("clew: warning: {damage}; {consequence}");
    }
}

/// The answer: no if any packet is invalid (strict: or an IP packet unsigned); could not tell if any
/// is undecided, the file is damaged, or nothing was signed; else yes.
pub fn status(verified: &Verified, strict: bool) -> Status {
    let totals = &verified.totals;
    if totals.of(Verdict::Invalid) > 0 || strict && totals.unsigned_ip > 0 {
        return Status::No;
    }
    let is_open = totals.of(Verdict::Undecided) > 0 || verified.damage.is_some();
    match is_open || totals.of(Verdict::Valid) == 0 {
        true => Status::CouldNotTell,
        false => Status::Yes,
    }
}

/// What it means that signatures were forgotten, if any were.
pub fn forgotten(count: u64) -> Option<String> {
    let what = "signatures were forgotten for want of room: duplicates of them go unnoticed";
    (count > 0).then(|| format!("{count} {what}"))
}

/// The mode's name on the command line.
pub fn mode(mode: Mode) -> &'static str {
    match mode {
        Mode::Each => "each",
        Mode::Window => "window",
        Mode::Tree => "tree",
    }
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

/// Bytes in hexadecimal.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A reason in a few words for people.
pub fn explain(reason: Reason) -> &'static str {
    match reason {
        Reason::Ok => "the signature holds",
        Reason::Vouched => "the signature of its window holds; its own was not verified",
        Reason::Reordered => "the signature holds; a later packet of its block came before it",
        Reason::LinkType => "a link type that clew does not descend",
        Reason::NotIp => "not an IP packet",
        Reason::BadVersion => "the IP version is not what the link layer says",
        Reason::ZeroLength => "IP length 0: captured before segmentation",
        Reason::Jumbo => "a jumbogram",
        Reason::BadLength => "header lengths contradict each other",
        Reason::Truncated => "cut short by the capture",
        Reason::Fragment => "a fragment",
        Reason::ExtensionHeaders => "IPv6 extension headers that do not fit",
        Reason::RoutingHeader => "an IPv6 routing header of another kind",
        Reason::TooBig => "too big for a trailer",
        Reason::NoTrailer => "no trailer",
        Reason::UnknownVersion => "a trailer version that is not known",
        Reason::BadTrailerLength => "a trailer of the wrong length",
        Reason::UnknownMode => "a mode that is not known",
        Reason::ReservedBits => "trailer flags that make no sense",
        Reason::BadMark => "a mark that makes no sense",
        Reason::BadBlock => "a window or block that makes no sense",
        Reason::BadCode => "a share of a signature that its block cannot have",
        Reason::UnknownCarriage => "a carriage that is not known",
        Reason::UnknownScheme => "a signature scheme that is not known",
        Reason::UnknownGroup => "signed in a group that was not given",
        Reason::UnknownEpoch => "signed in an epoch that the group file does not have",
        Reason::EpochOver => "signed in an epoch that was over",
        Reason::Stale => "its timestamp is too old",
        Reason::Future => "its timestamp lies in the future",
        Reason::TooFewShares => "too little of its block came to restore the signature",
        Reason::BadEncoding => "a signature that does not decode",
        Reason::BadSignature => "the signature does not hold: something was changed",
        Reason::Duplicate => "the same signed packet again",
        Reason::Signed => "signed",
        Reason::AlreadySigned => "signed already; marked and passed",
        Reason::MarkFull => "signed already; its mark is full",
        Reason::NotSelected => "not from a source that was given",
        Reason::Offload => "larger than the MTU as it is",
        Reason::Container => "the file format could not be restored exactly",
    }
}
