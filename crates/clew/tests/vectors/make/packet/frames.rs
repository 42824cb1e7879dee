//! What the vectors of packets are made of: senders, and frames that a receiver judges. A file whose
//! name begins with `xr-` is about the group of scheme xr, each other one about that of bbs04; so with
//! labels of nonces.

use clew_group::{Precursor, Scheme};
use clew_packet::{LinkType, Policy, Reason, SECOND_NS, Sender, SignOutcome, Timestamp, Trailer, Verdict, read};

use crate::case::Case;
use crate::common::Owned;
use crate::common::packets::*;
use crate::make::damage::Damage;
use crate::make::groups::bbs04_group::{self, BBS04};
use crate::make::groups::records::{NOW, Records};
use crate::make::groups::xr_group::{self, NEWEST, XR};
use crate::make::key_file::keys::member_file;
use crate::make::{with_nonces, with_xr_nonces};

/// The epoch of [`NOW`], in the group of bbs04.
pub const EPOCH: usize = 2;

fn scheme_of(name: &str) -> Scheme {
    if name.starts_with("xr-") { Scheme::Xr } else { Scheme::Bbs04 }
}

fn newest(name: &str) -> usize {
    match scheme_of(name) {
        Scheme::Bbs04 => EPOCH,
        Scheme::Xr => NEWEST,
    }
}

/// The records of the scheme's group.
pub fn records(scheme: Scheme) -> &'static Records {
    match scheme {
        Scheme::Bbs04 => &BBS04.records,
        Scheme::Xr => &XR.records,
    }
}

pub fn group_file(scheme: Scheme) -> &'static str {
    match scheme {
        Scheme::Bbs04 => bbs04_group::FILE,
        Scheme::Xr => xr_group::FILE,
    }
}

pub const PLAIN: Policy = Policy {
    nat: false,
    tolerant: false,
    incremental: false,
    resolution_ns: SECOND_NS,
    mtu: None,
    digest: clew_tree::DigestSize::D16,
    coded: false,
};
pub const NAT: Policy = Policy { nat: true, ..PLAIN };
pub const TOLERANT: Policy = Policy { tolerant: true, ..PLAIN };
pub const INCREMENTAL: Policy = Policy { incremental: true, ..PLAIN };

pub fn raw(bytes: Vec<u8>) -> Owned {
    Owned::new(LinkType::RAW, bytes)
}

/// The packet that most cases break.
pub fn packet() -> Vec<u8> {
    ipv4(&[], UDP, &udp(b"payload"))
}

pub fn syn() -> Vec<u8> {
    // MSS 1460, no operation, window scale, in a SYN with ECE and CWR.
    tcp(0xc2, &[2, 4, 5, 0xb4, 1, 3, 3, 7], b"payload")
}

/// Signs for `web-1` with the nonces of `label`.
pub fn signed_at(frame: &Owned, label: &str, policy: Policy, epoch: usize, time: Option<Timestamp>) -> Owned {
    signed_by(frame, "web-1", label, policy, epoch, time)
}

/// Signs for a machine of the group of xr, or for `web-1` of bbs04.
pub fn signed_by(frame: &Owned, machine: &str, label: &str, policy: Policy, epoch: usize, time: Option<Timestamp>) -> Owned {
    let scheme = scheme_of(label);
    let precursor = || match scheme {
        Scheme::Bbs04 => BBS04.precursor(epoch, label),
        Scheme::Xr => XR.precursor_of(machine, epoch, label),
    };
    signed_with(frame, scheme, policy, epoch, time, precursor)
}

pub fn signed_with(
    frame: &Owned,
    scheme: Scheme,
    policy: Policy,
    epoch: usize,
    time: Option<Timestamp>,
    precursor: impl FnOnce() -> Precursor,
) -> Owned {
    let sender = Sender::new(scheme, records(scheme).id(), epoch as u32, policy);
    let mut out = Vec::new();
    let reason = sender.sign(&frame.frame(), time, precursor, &mut out);
    assert_eq!(reason, SignOutcome::Signed);
    frame.with(out)
}

pub fn signed(frame: &Owned, label: &str) -> Owned {
    signed_at(frame, label, PLAIN, newest(label), Some(NOW))
}

/// A frame that a receiver for captures judges at [`NOW`].
pub fn judged(name: &str, expect: &str, comment: &str, verdict: Verdict, frame: &Owned) -> Case {
    judged_at(name, expect, comment, verdict, frame, Some(NOW))
}

pub fn judged_at(name: &str, expect: &str, comment: &str, verdict: Verdict, frame: &Owned, time: Option<Timestamp>) -> Case {
    let case = Case::new("packet-trailer", name, expect, comment)
        .text("verdict", verdict.as_str())
        .text("group-file", group_file(scheme_of(name)))
        .hex("link-type", frame.link.0.to_be_bytes());
    let case = match time {
        Some(time) => case.hex("time", time.0.to_be_bytes()),
        None => case,
    };
    let wire = (frame.bytes.len() + frame.missing) as u32;
    case.hex("wire-length", wire.to_be_bytes()).hex("frame", &frame.bytes)
}

/// What the signature of a frame covers.
pub fn message_of(frame: &Owned) -> Vec<u8> {
    let mut message = Vec::new();
    read(&frame.frame()).unwrap().write_message(&mut message);
    message
}

/// A packet with this upper protocol and payload, behind it the trailer of the frame, changed.
pub fn retrailed(protocol: u8, payload: &[u8], frame: &Owned, change: impl FnOnce(&mut Trailer<'_>)) -> Owned {
    let mut trailer = trailer_of(frame);
    change(&mut trailer);
    let mut bytes = vec![0; trailer.length()];
    trailer.emit(&mut bytes);
    let upper = udp(payload).plus(bytes);
    let length = (upper.len() as u16).to_be_bytes();
    raw(ipv4(&[], protocol, &if protocol == UDP { upper.set(4, length) } else { upper }))
}

/// A valid frame, with what its signature covers.
pub fn valid(name: &str, comment: &str, frame: &Owned, time: Option<Timestamp>) -> Case {
    let case = judged_at(name, "valid", comment, Verdict::Valid, frame, time);
    let (message, saved) = (message_of(frame), trailer_of(frame).saved);
    let saved = [saved.ipv4_checksum, saved.udp_length, saved.l4_checksum];
    let fixed = 16 + 5 + 8 + 4 + 8 + 2 + 1 + 4 + 2 * saved.iter().flatten().count();
    case.hex("message", &message).hex("fields", &message[fixed..])
}

/// A packet of a block: what its signature covers is the block's.
pub fn valid_in_block(name: &str, comment: &str, frame: &Owned) -> Case {
    judged(name, "valid", comment, Verdict::Valid, frame).hex("message", message_of(frame))
}

/// A frame before and after signing, with all that signing needs.
pub fn before_and_after(name: &str, comment: &str, original: &Owned, policy: Policy) -> Case {
    made(name, comment, original, policy, newest(name), Some(NOW))
}

pub fn made(name: &str, comment: &str, original: &Owned, policy: Policy, epoch: usize, time: Option<Timestamp>) -> Case {
    let frame = signed_at(original, name, policy, epoch, time);
    let flags = [(policy.nat, "nat"), (policy.tolerant, "tolerant"), (policy.incremental, "incremental")];
    let flags: Vec<_> = flags.iter().filter(|(set, _)| *set).map(|(_, f)| *f).collect();
    let case = valid(name, comment, &frame, time)
        .hex("original", &original.bytes)
        .text("policy", &flags.join(" "))
        .text("member-key", &member_file(scheme_of(name), epoch));
    match scheme_of(name) {
        Scheme::Bbs04 => with_nonces(case, name),
        Scheme::Xr => with_xr_nonces(case, name),
    }
}

pub fn plain(name: &str, comment: &str, original: Owned) -> Case {
    before_and_after(name, comment, &original, PLAIN)
}

pub fn trailer_of(frame: &Owned) -> Trailer<'_> {
    let frame: clew_packet::Frame<'_> = frame.frame();
    *read(&frame).unwrap().trailer()
}

/// The case of an invalid frame; a file has the name of its reason and perhaps more.
pub fn invalid(reason: Reason, more: &str, comment: &str, frame: &Owned) -> Case {
    let name = format!("{reason}{more}");
    judged(&name, reason.as_str(), comment, Verdict::Invalid, frame)
}
