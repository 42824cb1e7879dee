//! Vectors of blocks in coded carriage, in the group of xr. Twelve packets of one flow, each with its own
//! payload, under one signature, of which any six restore it; and blocks of other sizes.

use clew_packet::{Carriage, Policy, Reason, Trailer, Verdict};
use clew_tree::carriage::{Code, ShareTree, TagSize, Tags};

use crate::case::Case;
use crate::common::Owned;
use crate::common::packets::*;
use crate::make::damage::Damage;
use crate::make::flat;
use crate::make::packet::frames::*;
use crate::make::packet::modes::{self, ID};

pub fn all() -> Vec<Case> {
    flat([restored(), helped(), too_few(), refused_bins(), bad_codes(), bad_lengths(), unknown()])
}

/// The packets of one block, signed.
fn block(count: usize, coded: bool, incremental: bool) -> Vec<Owned> {
    modes::block(count, Policy { coded, incremental, ..PLAIN }, &format!("xr-coded-{count}"))
}

fn twelve() -> Vec<Owned> {
    block(12, true, false)
}

/// Packet i with another trailer.
fn with(i: usize, frame: &Owned, change: impl FnOnce(&mut Trailer<'_>)) -> Owned {
    retrailed(UDP, format!("packet {i}").as_bytes(), frame, change)
}

/// k, a share and a tag.
fn body(needed: u16, share: &[u8], tag: &[u8]) -> Vec<u8> {
    [&needed.to_be_bytes(), share, tag].concat()
}

/// The twelve with shares of something else, k times as long as a share, whatever signature it is.
fn carrying(needed: u16, padded: &[u8]) -> Vec<Owned> {
    let code = Code::new(12, needed, 288).unwrap();
    let longer = Code::new(12, needed, padded.len() as u16).unwrap();
    let tags = Tags::new(*ID, code, TagSize::T8);
    let shares = longer.encode(padded).unwrap();
    let tree = ShareTree::new(tags, &shares).unwrap();
    let shares = shares.chunks(code.share_bytes());
    let packets = (0..).zip(twelve()).zip(shares);
    let distribution = |((i, frame), share): ((u16, Owned), &[u8])| {
        let body = body(needed, share, &tree.tag(i).unwrap());
        with(i.into(), &frame, |trailer| trailer.body = body.leak())
    };
    packets.map(distribution).collect()
}

fn after(case: Case, earlier: &[&Owned]) -> Case {
    case.each("earlier-frame", earlier.iter().map(|frame| &frame.bytes))
}

/// A valid frame, after others.
fn good(name: &str, comment: &str, earlier: &[&Owned], frame: &Owned) -> Case {
    let case = judged(name, "valid", comment, Verdict::Valid, frame);
    after(case, earlier).hex("message", message_of(frame))
}

/// Blocks of several sizes and forms; the packet whose share is the last one needed.
fn restored() -> Vec<Case> {
    let case = |count: usize, incremental: bool, places: &[usize], what: &str| {
        let packets = block(count, true, incremental);
        let full = block(count, false, incremental);
        let (last, earlier) = places.split_last().unwrap();
        let earlier: Vec<&Owned> = earlier.iter().map(|i| &packets[*i]).collect();
        let form = if incremental { "-incremental" } else { "" };
        let name = format!("xr-coded-{count}{form}");
        let comment = format!("Packets of a block of {count}, {what}.");
        good(&name, &comment, &earlier, &packets[*last]).hex("full", &full[*last].bytes)
    };
    let half = |count: usize| (0..count / 2).map(|i| 2 * i + 1).collect::<Vec<_>>();
    vec![
        case(12, false, &half(12), "six of which restore the signature; tags of 8 bytes"),
        case(9, false, &[0, 1, 2, 3, 8], "five of which restore it; tags of 4 bytes"),
        case(16, false, &[0, 1, 2, 3, 4, 5], "the first six: their shares are the signature"),
        case(16, true, &[0, 1, 5, 7, 8, 9, 14], "seven of which restore it in its incremental form"),
    ]
}

/// Packets that are valid with fewer shares, or among others.
fn helped() -> Vec<Case> {
    let (packets, full) = (twelve(), block(12, false, false));
    let earlier: Vec<&Owned> = packets[..5].iter().collect();
    let polluted = with(7, &packets[7], |trailer| trailer.body = flipped(trailer.body, 2));
    let changed = with(0, &packets[0], |_| {});
    let changed = changed.with(changed.bytes.set(30, b"?"));
    let known: Vec<&Owned> = packets[..6].iter().collect();
    let among = [&[&changed, &polluted], &earlier[..]].concat();
    vec![
        good("xr-coded-after-full", "Another packet of the block came in full carriage.", &[&full[0]], &packets[1]),
        good(
            "xr-coded-polluted",
            "Its share was altered, and the others of its block restored the signature.",
            &known,
            &polluted,
        ),
        good(
            "xr-coded-among-bogus",
            "A packet with another payload and one with an altered share do not hurt the others.",
            &among,
            &packets[8],
        ),
        good("xr-full-after-coded", "In full carriage, after those that restore its block's signature.", &known, &full[11]),
    ]
}

/// One bit of a body, flipped.
fn flipped(body: &[u8], at: usize) -> &'static [u8] {
    body.flip(at).leak()
}

fn too_few() -> Vec<Case> {
    let packets = twelve();
    let case = |more: &str, comment: &str, earlier: &[&Owned], frame: &Owned| {
        let (name, reason) = (format!("xr-too-few-shares{more}"), "too-few-shares");
        let case = judged(&name, reason, comment, Verdict::Undecided, frame);
        after(case, earlier)
    };
    let four: Vec<&Owned> = packets[..4].iter().collect();
    let twice = [&four[..], &four[2..]].concat();
    let changed = with(7, &packets[7], |trailer| trailer.body = flipped(trailer.body, 2));
    let tagged = with(7, &packets[7], |trailer| {
        trailer.body = flipped(trailer.body, trailer.body.len() - 1);
    });
    let five = [&four[..], &[&packets[4]]].concat();
    vec![
        case("", "Five of the six packets needed.", &four, &packets[5]),
        case("-alone", "One of the six packets needed.", &[], &packets[0]),
        case("-twice", "Two of five packets came twice.", &twice, &packets[4]),
        case("-share", "The share of the sixth was altered.", &five, &changed),
        case("-tag", "The tag of the sixth was altered.", &five, &tagged),
    ]
}

/// Bins whose blob is refused; all their packets are `bad-signature`.
fn refused_bins() -> Vec<Case> {
    let signature = trailer_of(&block(12, false, false)[0]).body.to_vec();
    let wrong = signature.flip(287);
    let padded = [&signature[..], &[0, 1]].concat();
    let case = |more: &str, comment: &str, packets: &[Owned], sixth: usize| {
        let earlier: Vec<&Owned> = packets[..sixth].iter().collect();
        let name = format!("xr-bad-signature-coded-{more}");
        let (expect, verdict) = ("bad-signature", Verdict::Invalid);
        let case = judged(&name, expect, comment, verdict, &packets[sixth]);
        after(case, &earlier)
    };
    let zeros = carrying(6, &[0; 288]);
    let padded = carrying(5, &padded);
    let wrong = carrying(6, &wrong);
    let bad = "The sixth packet restores a signature that";
    vec![
        case("blob", &format!("{bad} does not hold."), &wrong, 5),
        case("encoding", &format!("{bad} does not decode."), &zeros, 5),
        case("padding", "The fifth packet restores a last share that is not filled with zeros.", &padded, 4),
    ]
}

fn refused(reason: Reason, more: &str, comment: &str, frame: &Owned) -> Case {
    let name = format!("xr-{reason}-coded{more}");
    judged(&name, reason.as_str(), comment, Verdict::Invalid, frame)
}

fn bad_codes() -> Vec<Case> {
    let packets = twelve();
    let with_k = |needed: u16, share: usize| {
        let tag = trailer_of(&packets[0]).coded().unwrap().tag.to_vec();
        let body = body(needed, &vec![7; share], &tag);
        with(0, &packets[0], |trailer| trailer.body = body.leak())
    };
    let of = |count: usize, needed: u16, share: usize, depth: usize| {
        let frame = block(count, false, false).remove(0);
        let body = body(needed, &vec![7; share], &vec![7; 8 * depth]);
        with(0, &frame, |trailer| {
            trailer.carriage = Carriage::Coded(TagSize::T8);
            trailer.body = body.leak();
        })
    };
    let case = |more: &str, comment: &str, frame: &Owned| refused(Reason::BadCode, more, comment, frame);
    vec![
        case("-k-zero", "No packet of twelve restores the signature.", &with_k(0, 0)),
        case("-k-small", "Two packets of twelve, less than a quarter, restore it.", &with_k(2, 144)),
        case("-k-large", "Thirteen packets of twelve restore it.", &with_k(13, 23)),
        case("-small", "A block of eight packets.", &of(8, 4, 72, 3)),
        case("-large", "A block of 129 packets.", &of(129, 64, 5, 8)),
    ]
}

fn bad_lengths() -> Vec<Case> {
    let packets = twelve();
    let trailer = trailer_of(&packets[0]);
    let coded = trailer.coded().unwrap();
    let (share, tag) = (coded.share, coded.tag);
    let longer = [share, &[0]].concat();
    let with_body = |share: &[u8], tag: &[u8]| {
        let body = body(6, share, tag);
        with(0, &packets[0], |trailer| trailer.body = body.leak())
    };
    let index = with(0, &packets[0], |_| {});
    let at = index.bytes.len() - 31 - trailer.body.len() - 4 * 16 - 6;
    let index = index.with(index.bytes.set(at, [0, 12]));
    let short = with(0, &packets[0], |trailer| trailer.body = &[]);
    let length = Reason::BadTrailerLength;
    vec![
        refused(length, "-share", "A share of one byte too many.", &with_body(&longer, tag)),
        refused(length, "-share-short", "A share of one byte too few.", &with_body(&share[1..], tag)),
        refused(length, "-tag", "A tag of three digests, where the path has four.", &with_body(share, &tag[8..])),
        refused(length, "-nothing", "No k.", &short),
        refused(Reason::BadBlock, "", "Packet 12 of 12.", &index),
    ]
}

fn unknown() -> Vec<Case> {
    let packets = twelve();
    let patched = |from_end: usize, value: u8| {
        let at = packets[0].bytes.len() - from_end;
        raw(packets[0].bytes.set(at, [value]))
    };
    let carriage = Reason::UnknownCarriage;
    vec![
        refused(carriage, "", "Carriage 4, which there is not.", &patched(10, 4)),
        refused(carriage, "-zero", "Carriage 0.", &patched(10, 0)),
        refused(carriage, "-window", "A window in carriage 2.", &patched(8, 2)),
    ]
}
