//! Captures made packet by packet.

use crate::beginning::{CAPTURES, first};
use crate::folder::Folder;
use clew_capture::Reader;
use std::fs::{self, File};
use std::path::Path;

/// Packets of each capture that are used.
pub const PACKETS: usize = 24;

/// TCP over IPv4 on Ethernet.
pub const IPV4: &str = "zeek--ssh-ssh.pcap";
/// TCP, UDP and ICMPv6 over IPv6 on Ethernet.
pub const IPV6: &str = "arkime--v6.pcap";

#[derive(Clone, Debug)]
pub struct Packet {
    pub link: u16,
    pub time_ns: u64,
    pub wire_len: usize,
    pub bytes: Vec<u8>,
}

impl Packet {
    /// The same packet with other bytes, all of them captured.
    pub fn with(&self, bytes: Vec<u8>) -> Self {
        let wire_len = bytes.len();
        Self {
            bytes,
            wire_len,
            ..*self
        }
    }
}

/// The first packets of one of the project's captures as `in`.
pub fn begin(folder: &Folder, capture: &str) {
    first(
        &Path::new(CAPTURES).join(capture),
        PACKETS,
        &folder.path("in"),
    );
}

/// Packets of one flow and second as `in`: one of TCP over IPv4, so many times.
pub fn begin_flow(folder: &Folder, count: usize) {
    begin(folder, IPV4);
    let packet = packets(&folder.path("in")).remove(0);
    write(&folder.path("in"), vec![plain(&packet); count]);
}

pub fn packets(file: &Path) -> Vec<Packet> {
    let reader = Reader::new(File::open(file).unwrap()).unwrap();
    let packets = reader.map(Result::unwrap).filter_map(|record| {
        let info = record.packet()?;
        Some(Packet {
            link: info.link,
            time_ns: info.time_ns.unwrap(),
            wire_len: info.wire_len as usize,
            bytes: record.data().to_vec(),
        })
    });
    packets.collect()
}

/// Writes pcapng with an interface for each link type, and a comment for each packet that has one.
pub fn write<'a>(file: &Path, packets: impl IntoIterator<Item = (&'a Packet, Option<&'a str>)>) {
    let mut out = Vec::new();
    let section = [0x1a2b_3c4d, 0x0000_0001, u32::MAX, u32::MAX];
    block(&mut out, 0x0a0d_0d0a, &words(&section));
    let mut links = Vec::new();
    for (packet, comment) in packets {
        if !links.contains(&packet.link) {
            links.push(packet.link);
            block(&mut out, 1, &words(&[packet.link.into(), 0]));
        }
        let interface = links.iter().position(|link| *link == packet.link).unwrap();
        block(&mut out, 6, &enhanced(packet, interface as u32, comment));
    }
    fs::write(file, out).unwrap();
}

pub fn plain(packet: &Packet) -> (&Packet, Option<&str>) {
    (packet, None)
}

fn enhanced(packet: &Packet, interface: u32, comment: Option<&str>) -> Vec<u8> {
    let micros = packet.time_ns / 1000;
    let (captured, wire) = (packet.bytes.len() as u32, packet.wire_len as u32);
    let mut content = words(&[
        interface,
        (micros >> 32) as u32,
        micros as u32,
        captured,
        wire,
    ]);
    content.extend(padded(&packet.bytes));
    if let Some(comment) = comment {
        content.extend(words(&[1 | (comment.len() as u32) << 16]));
        content.extend(padded(comment.as_bytes()));
        content.extend(words(&[0]));
    }
    content
}

fn block(out: &mut Vec<u8>, kind: u32, content: &[u8]) {
    let length = content.len() as u32 + 12;
    out.extend(words(&[kind, length]));
    out.extend(content);
    out.extend(words(&[length]));
}

fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

fn padded(bytes: &[u8]) -> Vec<u8> {
    let mut padded = bytes.to_vec();
    padded.resize(bytes.len().next_multiple_of(4), 0);
    padded
}
