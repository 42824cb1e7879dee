//! Packets that end in a trailer made by hand.

use clew_group::Scheme;
use clew_packet::{Block, Carriage, Carrier, LinkType, Saved, Trailer};

use super::{EPOCH, GROUP, NOW, Owned, packets::*};

pub fn raw(bytes: Vec<u8>) -> Owned {
    Owned::new(LinkType::RAW, bytes)
}

pub fn packet() -> Vec<u8> {
    ipv4(&[], UDP, &udp(b"payload"))
}

/// A well-formed trailer with a body of zeros.
pub fn trailer() -> Trailer<'static> {
    Trailer {
        carrier: Carrier::Trailer,
        body: &[0; 336],
        block: Block::Each,
        saved: Saved::default(),
        group: GROUP.tag(),
        epoch: EPOCH,
        timestamp: NOW,
        scheme: Scheme::Bbs04,
        carriage: Carriage::Full,
        nat: false,
        tolerant: false,
        incremental: false,
    }
}

pub fn emitted(trailer: &Trailer<'_>) -> Vec<u8> {
    let mut bytes = vec![0; trailer.length()];
    trailer.emit(&mut bytes);
    bytes
}

/// A packet of 11 payload bytes with this upper protocol that ends in `trailer`.
pub fn carrying(protocol: u8, trailer: &[u8]) -> Owned {
    raw(ipv4(&[], protocol, &[b"eleven byte", trailer].concat()))
}

/// The trailer with one byte changed, counted from the end.
pub fn patched(from_end: usize, value: u8) -> Vec<u8> {
    let mut bytes = emitted(&trailer());
    let at = bytes.len() - from_end;
    bytes[at] = value;
    bytes
}
