//! Vectors of packets in UDP datagrams, in the group of xr.

mod bad;
mod fragments;
mod good;

use clew_group::Scheme;
use clew_packet::{
    Candidate, Carrier, Frame, LinkType, Mode, OuterAddresses, Policy, Sender, SignOutcome, SignedPacket, Verdict, Window,
};

use crate::case::Case;
use crate::common::Owned;
use crate::common::packets::*;
use crate::make::flat;
use crate::make::groups::records::NOW;
use crate::make::groups::xr_group::{self, NEWEST, XR};
use crate::make::packet::frames::raw;

pub fn all() -> Vec<Case> {
    flat([good::all(), fragments::all(), bad::all()])
}

const BOTH: [Carrier; 2] = [Carrier::UdpTunnel, Carrier::UdpTransport];

/// Packets of one flow over that version, each with its own payload.
fn flow(version: u8, count: usize) -> Vec<Vec<u8>> {
    let packet = |i: usize| match version {
        4 => ipv4(&[], UDP, &udp(format!("packet {i}").as_bytes())),
        _ => ipv6(&[], UDP, &udp(format!("packet {i}").as_bytes())),
    };
    (0..count).map(packet).collect()
}

/// A frame with that UDP payload, of the version of a packet and between its addresses.
fn around(packet: &[u8], payload: &[u8]) -> Owned {
    let mut upper = udp(payload);
    upper[..4].copy_from_slice(&[0x13, 0x2d, 0x13, 0x2d]);
    raw(match packet[0] >> 4 {
        4 => ipv4(&[], UDP, &upper),
        _ => ipv6(&[], UDP, &upper),
    })
}

fn outer(packet: &[u8]) -> OuterAddresses {
    let (source, destination) = match packet[0] >> 4 {
        4 => (SOURCE_4.into(), DESTINATION_4.into()),
        _ => (SOURCE_6.into(), DESTINATION_6.into()),
    };
    OuterAddresses { source, destination }
}

fn sender(carrier: Carrier, policy: Policy) -> Sender {
    let epoch = NEWEST as u32;
    Sender::new(Scheme::Xr, XR.records.id(), epoch, policy).with_carrier(carrier)
}

/// Datagrams of packets that are signed together; alone, each has nonces of its own.
fn signed(packets: &[Vec<u8>], carrier: Carrier, mode: Mode, policy: Policy, label: &str) -> Vec<Vec<u8>> {
    let (sender, most) = (sender(carrier, policy), packets.len() as u16);
    let precursor = |i: usize| XR.precursor_of("web-1", NEWEST, &format!("{label}-{i}"));
    let admit = |packet| admitted(&sender, packet, mode, most);
    let candidates: Vec<Candidate<'_>> = packets.iter().map(Vec::as_slice).map(admit).collect();
    let mut outs = vec![Vec::new(); packets.len()];
    let mut window = Window::new(3);
    match mode {
        Mode::Tree => {
            let id = *b"the carrier's id";
            let signed = sender.sign_block(&candidates, Some(NOW), id, || precursor(0), &mut outs);
            signed.expect(label);
        }
        Mode::Window => {
            for (i, (packet, out)) in candidates.iter().zip(&mut outs).enumerate() {
                sender.sign_in_window(packet, Some(NOW), &mut window, || precursor(i), out);
            }
        }
        Mode::Each => {
            for (i, (packet, out)) in packets.iter().zip(&mut outs).enumerate() {
                let frame = Frame::whole(LinkType::RAW, packet);
                let outcome = sender.sign(&frame, Some(NOW), || precursor(i), out);
                assert_eq!(outcome, SignOutcome::Signed);
            }
        }
    }
    outs
}

fn admitted<'a>(sender: &Sender, packet: &'a [u8], mode: Mode, most: u16) -> Candidate<'a> {
    let frame = Frame::whole(LinkType::RAW, packet);
    sender.admit(&frame, mode, most, &mut Vec::new()).unwrap()
}

/// Frames that a receiver for captures judges at [`NOW`]; the case is about the last.
fn judged(name: &str, expect: &str, comment: &str, verdict: Verdict, frames: &[Owned]) -> Case {
    let (frame, earlier) = frames.split_last().unwrap();
    let wire = (frame.bytes.len() + frame.missing) as u32;
    Case::new("carriers", name, expect, comment)
        .text("verdict", verdict.as_str())
        .text("group-file", xr_group::FILE)
        .hex("time", NOW.0.to_be_bytes())
        .each("earlier-frame", earlier.iter().map(|frame| &frame.bytes))
        .hex("link-type", frame.link.0.to_be_bytes())
        .hex("wire-length", wire.to_be_bytes())
        .hex("frame", &frame.bytes)
}

/// Frames of which the last makes this datagram valid.
fn valid(name: &str, comment: &str, frames: &[Owned], datagram: &[u8], packet: &[u8]) -> Case {
    let read = SignedPacket::of_datagram(datagram, &outer(packet)).unwrap();
    let (mut message, mut delivered) = (Vec::new(), Vec::new());
    read.write_message(&mut message);
    read.write_packet(&mut delivered);
    judged(name, "valid", comment, Verdict::Valid, frames).hex("message", message).hex("packet", delivered)
}
