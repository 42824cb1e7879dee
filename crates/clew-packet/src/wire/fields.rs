//! What is signed: the nonvolatile fields and the message around them, specification section 4.

use alloc::vec::Vec;
use core::net::IpAddr;

use clew_tree::Content;

use crate::{
    carrier::Carrier,
    net::ip::{Extensions, Version, ipv4, ipv6, option, protocol},
    net::original::Original,
    net::upper::{Upper, icmp, tcp, udp},
    wire::block::Block,
    wire::bytes::{length_u16, put_u16},
    wire::trailer::Trailer,
};

/// Names the format and its version; the last two bytes are zero.
const DOMAIN: &[u8; 16] = b"clew-packet-v1\0\0";

/// What a signed message is about: its first byte behind the domain separator.
///
/// This crate makes and accepts messages of packets only. The other kinds are reserved for records
/// that are not packets: no command signs them yet, and a signature over one never verifies as that
/// of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum MessageKind {
    /// A packet, or a block of packets.
    Packet = 1,
    /// Reserved: who called whom, and when.
    CallRecord = 2,
    /// Reserved: a line of a log.
    LogLine = 3,
    /// Reserved: a file.
    File = 4,
}

/// Appends the message that the group signature covers: of `original`, or of its block. Of the
/// trailer, everything is used but the body.
pub(crate) fn write_message(out: &mut Vec<u8>, original: &Original<'_>, trailer: &Trailer<'_>) {
    if let Block::Tree { block, index, path } = trailer.block {
        let leaf = leaf(out, &block, index, original, trailer);
        let root = block.root(index, &leaf, path);
        let root = root.expect("parsing and signing give paths of the block's length");
        return write_block_message(out, &block, &root, trailer);
    }
    write_head(out, trailer);
    out.push(trailer.signed_flags());
    write_common(out, trailer);
    out.extend(length_u16(trailer.block.length()).to_be_bytes());
    append_zeroed(out, trailer.block.length(), |buffer| {
        trailer.block.emit(buffer)
    });
    write_values(out, original, trailer);
}

/// Appends the message of a block: what all of its packets have in common, and the root.
pub(crate) fn write_block_message(
    out: &mut Vec<u8>,
    block: &clew_tree::Block,
    root: &clew_tree::Digest,
    trailer: &Trailer<'_>,
) {
    write_head(out, trailer);
    out.push(0); // flags are each packet's own
    write_common(out, trailer);
    out.extend(length_u16(BLOCK_BYTES).to_be_bytes());
    out.extend_from_slice(block.id());
    out.extend(block.count().to_be_bytes());
    out.push(block.digest().bytes() as u8);
    out.extend_from_slice(root);
    out.extend([0; 5]); // no saved values, no fields
}

/// id, count, digest size, root.
const BLOCK_BYTES: usize = clew_tree::ID_BYTES + 2 + 1 + 32;

/// The leaf of `original` in its block. `scratch` is as it was afterwards.
pub(crate) fn leaf(
    scratch: &mut Vec<u8>,
    block: &clew_tree::Block,
    index: u16,
    original: &Original<'_>,
    trailer: &Trailer<'_>,
) -> clew_tree::Digest {
    let at = scratch.len();
    scratch.push(trailer.signed_flags());
    write_values(scratch, original, trailer);
    let leaf = block.leaf(index, &[&scratch[at..]]);
    scratch.truncate(at);
    leaf
}

/// The leaves of the packets of a block, in their order: as [`leaf`] of each, but hashed together.
/// `scratch` is empty afterwards.
pub(crate) fn leaves<'a>(
    scratch: &mut Vec<u8>,
    block: &clew_tree::Block,
    packets: impl Iterator<Item = (Original<'a>, &'a Trailer<'a>)>,
) -> Vec<clew_tree::Digest> {
    scratch.clear();
    let mut ends = Vec::with_capacity(block.count().into());
    for (original, trailer) in packets {
        scratch.push(trailer.signed_flags());
        write_values(scratch, &original, trailer);
        ends.push(scratch.len());
    }
    let starts = [0].into_iter().chain(ends.iter().copied());
    let contents = (0..).zip(starts.zip(&ends)).map(|(index, (start, end))| {
        let packet = &scratch[start..*end];
        let salt: &[u8] = &[];
        Content {
            index,
            salt,
            packet,
        }
    });
    let leaves = block.leaves(&contents.collect::<Vec<_>>());
    scratch.clear();
    leaves
}

fn write_head(out: &mut Vec<u8>, trailer: &Trailer<'_>) {
    out.extend_from_slice(DOMAIN);
    out.extend([MessageKind::Packet as u8, trailer.carrier.code()]);
    out.extend([trailer.block.mode() as u8, trailer.scheme.code()]);
}

fn write_common(out: &mut Vec<u8>, trailer: &Trailer<'_>) {
    out.extend(trailer.group.0);
    out.extend(trailer.epoch.to_be_bytes());
    out.extend(trailer.timestamp.0.to_be_bytes());
}

/// Appends what is one packet's own: saved values and nonvolatile fields, each with its length.
fn write_values(out: &mut Vec<u8>, original: &Original<'_>, trailer: &Trailer<'_>) {
    out.push(trailer.saved.length() as u8);
    append_zeroed(out, trailer.saved.length(), |buffer| {
        trailer.saved.emit(buffer)
    });
    let length_at = out.len();
    out.extend([0; 4]);
    write_fields(out, original, trailer);
    let length = out.len() - length_at - 4;
    out[length_at..length_at + 4].copy_from_slice(&(length as u32).to_be_bytes());
}

/// Appends `length` zeros and lets `write` fill them.
pub(crate) fn append_zeroed(out: &mut Vec<u8>, length: usize, write: impl FnOnce(&mut [u8])) {
    let at = out.len();
    out.resize(at + length, 0);
    write(&mut out[at..]);
}

fn write_fields(out: &mut Vec<u8>, original: &Original<'_>, trailer: &Trailer<'_>) {
    match (trailer.carrier, original.version()) {
        (Carrier::UdpTunnel, _) => write_whole_headers(out, original, trailer.nat),
        (_, Version::V4) => write_ipv4(out, original, trailer.nat),
        (_, Version::V6) => write_ipv6(out, original, trailer.nat),
    }
    write_upper(out, original, trailer);
}

/// Appends all headers of a packet in a tunnel: nothing on the way has a reason to change them
/// (`spec/carriers.md` 3).
fn write_whole_headers(out: &mut Vec<u8>, original: &Original<'_>, nat: bool) {
    let at = out.len();
    out.extend_from_slice(original.header);
    let header = &mut out[at..];
    let source = match original.version() {
        Version::V4 => {
            header[ipv4::CHECKSUM..][..2].fill(0);
            ipv4::SOURCE
        }
        Version::V6 => ipv6::SOURCE,
    };
    if nat {
        header[source].fill(0);
    }
    out.extend_from_slice(original.headers);
}

fn write_ipv4(out: &mut Vec<u8>, original: &Original<'_>, nat: bool) {
    let header_length = ipv4::HEADER_MIN + original.headers.len();
    out.extend([4, header_length as u8]);
    out.extend(length_u16(original.upper.len()).to_be_bytes());
    out.push(original.protocol);
    write_addresses(out, original, nat);
    let options_at = out.len();
    out.extend_from_slice(original.headers);
    zero_mutable_options(&mut out[options_at..]);
}

fn write_ipv6(out: &mut Vec<u8>, original: &Original<'_>, nat: bool) {
    out.push(6);
    out.extend(length_u16(original.upper.len()).to_be_bytes());
    out.push(original.protocol);
    write_addresses(out, original, nat);
    let length_at = out.len();
    out.extend([0; 2]);
    write_destination_options(out, original);
    let length = length_u16(out.len() - length_at - 2);
    put_u16(out, length_at, length);
}

fn write_addresses(out: &mut Vec<u8>, original: &Original<'_>, nat: bool) {
    let source_at = out.len();
    write_address(out, original.source);
    if nat {
        out[source_at..].fill(0);
    }
    write_address(out, original.destination);
}

fn write_address(out: &mut Vec<u8>, address: IpAddr) {
    match address {
        IpAddr::V4(address) => out.extend(address.octets()),
        IpAddr::V6(address) => out.extend(address.octets()),
    }
}

/// The IPv4 options that RFC 4302 calls immutable, besides the two of one byte: security, extended
/// security, commercial security, router alert, sender directed delivery.
const IMMUTABLE_OPTIONS: [u8; 5] = [130, 133, 134, 148, 149];

/// Zeroes the IPv4 options that may change on the way.
fn zero_mutable_options(options: &mut [u8]) {
    let misfit = change_options(options, |option| {
        if !IMMUTABLE_OPTIONS.contains(&option[0]) {
            option.fill(0);
        }
    });
    misfit.fill(0);
}

/// What IPv4 and TCP options have in common.
mod short_option {
    pub(super) const END: u8 = 0;
    pub(super) const NO_OPERATION: u8 = 1;
    /// Kind and length.
    pub(super) const BYTES_MIN: usize = 2;
}

/// Changes each option that has a length, in IPv4 or TCP. Returns everything from the first that does
/// not fit.
fn change_options(mut options: &mut [u8], mut change: impl FnMut(&mut [u8])) -> &mut [u8] {
    loop {
        let length = match *options {
            [] | [short_option::END, ..] => return &mut [],
            [short_option::NO_OPERATION, ..] => 1,
            [_, length, ..] if usize::from(length) >= short_option::BYTES_MIN => length,
            _ => return options,
        };
        if usize::from(length) > options.len() {
            return options;
        }
        let (option, rest) = options.split_at_mut(usize::from(length));
        if option.len() >= short_option::BYTES_MIN {
            change(option);
        }
        options = rest;
    }
}

fn write_destination_options(out: &mut Vec<u8>, original: &Original<'_>) {
    let mut extensions = Extensions::new(original.headers, original.next_header);
    while let Ok(Some(extension)) = extensions.advance() {
        if extension.protocol == protocol::DESTINATION {
            extension
                .options()
                .filter(|option| is_signed(option))
                .for_each(|option| {
                    out.extend_from_slice(option);
                });
        }
    }
}

fn is_signed(destination_option: &[u8]) -> bool {
    let kind = destination_option[0];
    kind & option::CHANGES == 0 && kind != option::PAD_1 && kind != option::PAD_N
}

/// Appends the upper layer with the table's changes, and with the UDP length that strip restores.
fn write_upper(out: &mut Vec<u8>, original: &Original<'_>, trailer: &Trailer<'_>) {
    let at = out.len();
    out.extend_from_slice(original.upper);
    let upper = &mut out[at..];
    let kind = original.kind();
    if let Some(checksum) = kind.checksum_at() {
        put_u16(upper, checksum, 0);
    }
    if kind == Upper::Udp {
        let length = trailer
            .saved
            .udp_length
            .unwrap_or(length_u16(original.upper.len()));
        put_u16(upper, udp::LENGTH, length);
    }
    if trailer.nat {
        zero_translated(upper, kind);
    }
    if trailer.tolerant && kind == Upper::Tcp {
        zero_tolerated(upper);
    }
}

/// Zeroes what address translation rewrites.
fn zero_translated(upper: &mut [u8], kind: Upper) {
    let has_identifier = |types: &[u8], upper: &[u8]| types.contains(&upper[icmp::TYPE]);
    match kind {
        Upper::Tcp => upper[tcp::SOURCE_PORT].fill(0),
        Upper::Udp => upper[udp::SOURCE_PORT].fill(0),
        Upper::Icmp if has_identifier(&[0, 8, 13, 14, 15, 16, 17, 18], upper) => {
            upper[icmp::IDENTIFIER].fill(0);
        }
        Upper::Icmpv6 if has_identifier(&[128, 129], upper) => upper[icmp::IDENTIFIER].fill(0),
        Upper::Icmp | Upper::Icmpv6 | Upper::Opaque => {}
    }
}

/// Kind of the TCP option that states the maximum segment size.
const MSS: u8 = 2;

/// Zeroes what clamping and ECN bleaching rewrite in a TCP segment.
fn zero_tolerated(segment: &mut [u8]) {
    segment[tcp::OFFSET] &= !tcp::AE;
    segment[tcp::FLAGS] &= !tcp::CWR_ECE;
    if segment[tcp::FLAGS] & tcp::SYN == 0 {
        return;
    }
    let header = usize::from(segment[tcp::OFFSET] >> 4) * 4;
    let header = header.clamp(tcp::HEADER_MIN, segment.len().max(tcp::HEADER_MIN));
    change_options(&mut segment[tcp::HEADER_MIN..header], |option| {
        if option[0] == MSS {
            option[short_option::BYTES_MIN..].fill(0);
        }
    });
}
