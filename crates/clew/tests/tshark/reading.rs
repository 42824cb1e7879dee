//! The fields of packets by clew's own reading, and how they compare with what is shown.

use crate::files::{Packet, packets};
use crate::folder::Folder;
use crate::shark::Shown;
use clew_packet::{
    Block, FOOT_BYTES, Frame, LinkType, MAGIC, Reason, Replay, SignedPacket, Trailer, read,
};
use jiff::Timestamp;

/// Compares every field of every packet of a file; returns how many have a well-formed trailer.
pub fn compare(folder: &Folder, name: &str, what: &str) -> usize {
    let (packets, shown) = (packets(&folder.path(name)), folder.fields(name));
    assert_eq!(packets.len(), shown.len(), "{what}");
    let mut well_formed = 0;
    for (number, (packet, mut shown)) in (1..).zip(packets.iter().zip(shown)) {
        let what = format!("{what}, packet {number}: {shown:?}");
        match reading(packet) {
            Ok(signed) => {
                well_formed += 1;
                let mut expected = expected(&signed);
                expected.extend(of_mark(&signed, &packet.bytes));
                normalise(&mut shown, &signed);
                assert_eq!(shown, expected, "{what}");
            }
            Err(reason) => {
                assert_eq!(judgement(&shown), of_layout(reason), "{what}");
                assert_eq!(speaks(&shown), judgement(&shown).is_some(), "{what}");
            }
        }
    }
    well_formed
}

pub fn reading(packet: &Packet) -> Result<SignedPacket<'_>, Reason> {
    read(&Frame {
        link: LinkType(packet.link.into()),
        bytes: &packet.bytes,
        wire_len: packet.wire_len,
    })
}

/// Verdict and reason that are shown.
pub fn judgement(shown: &Shown) -> Option<(String, String)> {
    let of = |field| shown.get(field).cloned();
    of("clew.verdict").zip(of("clew.reason"))
}

/// Whether anything of clew is shown.
pub fn speaks(shown: &Shown) -> bool {
    shown.keys().any(|name| name.starts_with("clew."))
}

/// What is to be shown of a packet that ends in the magic and is not well-formed, and of no other.
fn of_layout(reason: Reason) -> Option<(String, String)> {
    let verdict = reason.verdict(Replay::Flag).to_string();
    let shows = verdict == "invalid" || reason == Reason::TooBig;
    shows.then(|| (verdict, reason.to_string()))
}

/// Leaves what [`expected`] says, in its words, of what is shown without a comment.
fn normalise(shown: &mut Shown, signed: &SignedPacket<'_>) {
    let at = instant(&shown["clew.timestamp"]);
    assert_eq!(at, i128::from(signed.trailer().timestamp.0), "{shown:?}");
    shown.retain(|name, _| name.starts_with("clew.") && *name != "clew.timestamp");
    for (name, value) in shown {
        if name.starts_with("clew.flags.") {
            // Wireshark 4.4 and later write words.
            *value = value.replace("True", "1").replace("False", "0");
        }
    }
}

/// "Dec 16, 2011 21:35:33.000000000 UTC", or as in RFC 3339, in nanoseconds since 1970.
fn instant(shown: &str) -> i128 {
    let words: Vec<&str> = shown.split_whitespace().collect();
    let words = words.join(" ");
    let of_old = jiff::fmt::strtime::parse("%b %d, %Y %H:%M:%S%.f UTC", &words)
        .and_then(|time| time.to_datetime())
        .and_then(|time| time.to_zoned(jiff::tz::TimeZone::UTC));
    let instant = of_old.map(|zoned| zoned.timestamp());
    let instant: Timestamp = instant.or_else(|_| words.parse()).unwrap();
    instant.as_nanosecond()
}

fn expected(packet: &SignedPacket<'_>) -> Shown {
    let trailer = packet.trailer();
    let mut all = of_block(trailer);
    all.extend(of_foot(trailer));
    all.extend(of_body(trailer));
    all.insert("clew.group", trailer.group.to_string());
    all.insert("clew.epoch", trailer.epoch.to_string());
    all.insert("clew.scheme", trailer.scheme.code().to_string());
    all.insert("clew.carriage", trailer.carriage.code().to_string());
    let saved = trailer.saved;
    for (name, value) in [
        ("clew.saved.ipv4_checksum", checksum(saved.ipv4_checksum)),
        (
            "clew.saved.udp_length",
            saved.udp_length.map(|v| v.to_string()),
        ),
        ("clew.saved.l4_checksum", checksum(saved.l4_checksum)),
    ] {
        all.extend(value.map(|value| (name, value)));
    }
    all
}

fn checksum(value: Option<u16>) -> Option<String> {
    value.map(|value| format!("0x{value:04x}"))
}

fn of_body(trailer: &Trailer<'_>) -> Shown {
    match trailer.coded() {
        None => Shown::from([("clew.signature", hex::encode(trailer.body))]),
        Some(coded) => Shown::from([
            ("clew.code.k", coded.needed().to_string()),
            ("clew.code.share", hex::encode(coded.share)),
            ("clew.code.tag", hex::encode(coded.tag)),
        ]),
    }
}

fn of_block(trailer: &Trailer<'_>) -> Shown {
    match trailer.block {
        Block::Each => Shown::new(),
        Block::Window { k, h } => Shown::from([
            ("clew.window.k", k.to_string()),
            ("clew.window.h", hex::encode(h)),
        ]),
        Block::Tree { block, index, path } => {
            let digest = block.digest().bytes();
            let mut all = Shown::from([
                ("clew.block.id", hex::encode(block.id())),
                ("clew.block.index", index.to_string()),
                ("clew.block.count", block.count().to_string()),
                ("clew.block.digest", digest.to_string()),
                ("clew.block.depth", (path.len() / digest).to_string()),
            ]);
            // A block of one packet has none.
            let path = (!path.is_empty()).then(|| ("clew.block.path", hex::encode(path)));
            all.extend(path);
            all
        }
    }
}

fn of_foot(trailer: &Trailer<'_>) -> Shown {
    let (flags, mode) = (trailer.flags(), trailer.block.mode() as u8);
    let mut all = Shown::from([
        ("clew.flags", format!("0x{flags:02x}")),
        ("clew.mode", mode.to_string()),
        ("clew.length", trailer.length().to_string()),
        ("clew.version", "1".into()),
        ("clew.magic", "0xc14c4557".into()),
        ("clew.flags.reserved", "0x00".into()),
    ]);
    for (name, set) in [
        ("clew.flags.nat", trailer.nat),
        ("clew.flags.tolerant", trailer.tolerant),
        ("clew.flags.incremental", trailer.incremental),
        (
            "clew.flags.ipv4_checksum",
            trailer.saved.ipv4_checksum.is_some(),
        ),
        ("clew.flags.udp_length", trailer.saved.udp_length.is_some()),
        (
            "clew.flags.l4_checksum",
            trailer.saved.l4_checksum.is_some(),
        ),
    ] {
        all.insert(name, u8::from(set).to_string());
    }
    all
}

/// The mark's fields, read here from the bytes before the magic: the library tells its count only.
fn of_mark(signed: &SignedPacket<'_>, bytes: &[u8]) -> Shown {
    if signed.marks() == 0 {
        return Shown::new();
    }
    let end = 4 + bytes.windows(4).rposition(|four| four == MAGIC).unwrap();
    let (flags, length) = (bytes[end - FOOT_BYTES], usize::from(bytes[end - 6]));
    let mut saved = bytes[end - length..]
        .chunks(2)
        .map(|v| u16::from_be_bytes([v[0], v[1]]));
    let mut all = Shown::from([
        ("clew.mark.count", signed.marks().to_string()),
        ("clew.mark.length", length.to_string()),
        ("clew.mark.flags", format!("0x{flags:02x}")),
    ]);
    for (bit, name) in [
        (4, "clew.mark.saved.ipv4_checksum"),
        (8, "clew.mark.saved.udp_length"),
        (16, "clew.mark.saved.l4_checksum"),
    ] {
        if flags & bit != 0 {
            let value = saved.next().unwrap();
            let decimal = name.ends_with("length");
            all.insert(
                name,
                if decimal {
                    value.to_string()
                } else {
                    format!("0x{value:04x}")
                },
            );
        }
    }
    all
}
