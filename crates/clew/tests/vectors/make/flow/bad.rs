//! Vectors of flow signatures that are refused, alone or after others.

use clew_flow::{Chaining, Distribution};
use clew_tree::carriage::{Code, ShareTree, TagSize, Tags};
use ed25519_dalek::SigningKey;
use sha2::{Digest, Sha512};

use crate::case::Case;
use crate::make::damage::Damage;
use crate::make::flat;
use crate::make::flow::signature::{FORMAT, Flow, Place, TIME, coded, contents};

/// Length of what full packets carry, and of the fixed fields.
const BLOB: usize = 72;
const FIXED: usize = 40;
const WINDOW: u64 = 30_000_000_000;

pub fn all() -> Vec<Case> {
    flat([lengths(), fields(), replays(), digests(), signatures(), shares(), times()])
}

fn flow() -> Flow {
    let chaining = Chaining { most: 300, ..Chaining::default() };
    Flow::new("a stage", chaining)
}

fn salted() -> Flow {
    let chaining = Chaining { salted: true, ..Chaining::default() };
    Flow::new("a salted stage", chaining)
}

/// A block of the stage.
fn sign(label: &str, count: u16, distribution: Distribution) -> Vec<Vec<u8>> {
    flow().sign(&Place::new(label), &contents(count), distribution)
}

fn five(distribution: Distribution) -> Vec<Vec<u8>> {
    sign("five", 5, distribution)
}

/// Twelve packets, of which any four are enough.
fn twelve() -> Vec<Vec<u8>> {
    sign("twelve", 12, coded(25, Some(TagSize::T8)))
}

/// A packet with its reason, in the end.
type Judged = (Vec<u8>, &'static str);

fn is(packet: impl AsRef<[u8]>, reason: &'static str) -> Judged {
    (packet.as_ref().to_vec(), reason)
}

fn ok(packet: impl AsRef<[u8]>) -> Judged {
    is(packet, "ok")
}

/// Packets at one time.
fn case(name: &str, comment: &str, flow: &Flow, packets: &[Judged]) -> Case {
    judged(name, comment, flow, packets).hex("time", TIME.to_be_bytes())
}

/// Packets with the time of each.
fn timed(name: &str, comment: &str, packets: &[(u64, Judged)]) -> Case {
    let (times, packets): (Vec<_>, Vec<_>) = packets.iter().cloned().unzip();
    judged(name, comment, &flow(), &packets).each("time", times.iter().map(|time| time.to_be_bytes()))
}

fn judged(name: &str, comment: &str, flow: &Flow, packets: &[Judged]) -> Case {
    let wrong = packets.iter().find(|(_, reason)| *reason != "ok");
    let case = Case::new(FORMAT, name, wrong.map_or("valid", |w| w.1), comment)
        .text("check", "packets")
        .hex("descriptor", flow.descriptor.to_bytes());
    packets.iter().fold(case, |case, (packet, reason)| case.hex("packet", packet).text("reason", reason))
}

/// One packet alone.
fn alone(name: &str, reason: &'static str, comment: &str, packet: impl AsRef<[u8]>) -> Case {
    case(name, comment, &flow(), &[is(packet, reason)])
}

/// The packet with `value` at `at` from its end.
fn from_end(packet: &[u8], at: usize, value: &[u8]) -> Vec<u8> {
    let changed = packet.set(packet.len() - at, value);
    assert_ne!(changed, packet, "nothing changes");
    changed
}

fn index(packet: &[u8], index: u16) -> Vec<u8> {
    from_end(packet, 12, &index.to_be_bytes())
}

fn count(packet: &[u8], count: u16) -> Vec<u8> {
    from_end(packet, 10, &count.to_be_bytes())
}

fn carriage(packet: &[u8], carriage: u8) -> Vec<u8> {
    from_end(packet, 8, &[carriage])
}

/// The packet with other bytes from `from` to `to`, both counted from its end, and a length that fits.
fn respelt(packet: &[u8], from: usize, to: usize, bytes: &[u8]) -> Vec<u8> {
    let (head, tail) = (&packet[..packet.len() - from], &packet[packet.len() - to..]);
    let length = &packet[packet.len() - 6..packet.len() - 4];
    let length = u16::from_be_bytes(length.try_into().unwrap());
    let length = length + bytes.len() as u16 + to as u16 - from as u16;
    with_length(&[head, bytes, tail].concat(), length)
}

fn with_length(packet: &[u8], length: u16) -> Vec<u8> {
    let at = packet.len() - 6;
    packet.replace(at..at + 2, length.to_be_bytes())
}

/// Steps 1, 2, and lengths of step 5.
fn lengths() -> Vec<Case> {
    let (full, sparse, shares) = (five(Distribution::Every), five(Distribution::OneIn(8)), twelve());
    let (full, sparse, share) = (&full[3], &sparse[3], &shares[11]);
    let end = &full[full.len() - 39..];
    let long = |bytes: &[u8], more: &[u8]| respelt(bytes, FIXED, FIXED, more);
    let short = |bytes: &[u8]| respelt(bytes, FIXED + 1, FIXED, &[]);
    let bad = |name: &str, comment: &str, packet: Vec<u8>| alone(name, "bad-length", comment, packet);
    // k, a share of 18 bytes, a tag of three digests: the path before it has three as well.
    let without_k = respelt(share, FIXED + 2 + 18 + 24, FIXED, &[0]);
    let path = respelt(full, FIXED + BLOB + 16, FIXED + BLOB, &[]);
    let of_salted = from_end(full, 16, &salted().descriptor.key_id().0);
    let bare = respelt(full, FIXED + BLOB + 48, FIXED, &[]);
    vec![
        alone("unsigned", "unsigned", "No packet signature.", &contents(1)[0]),
        alone("unsigned-empty", "unsigned", "An empty packet.", Vec::new()),
        alone("unsigned-39", "unsigned", "39 bytes with the magic.", end),
        alone("unsigned-magic", "unsigned", "Another magic.", full.set(-1, [0x4d])),
        alone("version-0", "unknown-version", "Version 0.", full.set(-7, [0])),
        alone("version-2", "unknown-version", "Version 2.", full.set(-7, [2])),
        bad("length-39", "Less than the fixed fields.", with_length(full, 39)),
        bad("length-beyond", "One byte more than the packet has.", with_length(full, full.len() as u16 + 1)),
        bad("length-bare", "Nothing but fixed fields.", bare.clone()),
        bad("length-bare-coded", "The path comes before the count of shares.", carriage(&bare, 3)),
        bad("length-path", "A digest of the path is missing.", path),
        bad("length-full-short", "A byte of the blob is missing.", short(full)),
        bad("length-full-long", "A byte behind the blob.", long(full, &[0])),
        bad("length-sparse", "A byte in sparse carriage.", long(sparse, &[0])),
        bad("length-k", "One byte of k.", without_k),
        bad("length-coded-short", "A byte of the tag is missing.", short(share)),
        bad("length-coded-long", "A byte behind the tag.", long(share, &[0])),
        bad("length-t4", "A tag of 8-byte digests where 4 are stated.", carriage(share, 4)),
        case("length-salt", "No salt in a salted flow.", &salted(), &[(of_salted, "bad-length")]),
    ]
}

/// Steps 3 to 5 but for lengths.
fn fields() -> Vec<Case> {
    let (full, shares) = (five(Distribution::Every), twelve());
    let (full, share) = (&full[3], &shares[11]);
    let block = |name: &str, comment: &str, packet: Vec<u8>| alone(name, "bad-block", comment, packet);
    let k = |k: u16| from_end(share, FIXED + 24 + 18 + 2, &k.to_be_bytes());
    let plain = sign("plain", 12, coded(25, None));
    let (eight, many) = (sign("eight", 8, Distribution::Every), sign("many", 257, Distribution::Every));
    let last = full.flip(-13);
    vec![
        alone("unknown-flow", "unknown-flow", "Another key id.", last),
        block("block-count-0", "A block of no packets.", count(full, 0)),
        block("block-most", "More packets than the flow's blocks have.", count(full, 301)),
        block("block-index", "The index is the count.", index(full, 5)),
        block("block-last", "Index 65,535.", index(full, 0xffff)),
        alone("carriage-0", "unknown-carriage", "Carriage 0.", carriage(full, 0)),
        alone("carriage-7", "unknown-carriage", "Carriage 7.", carriage(full, 7)),
        alone("coded-8", "coded-count", "A coded block of 8.", carriage(&eight[0], 3)),
        alone("coded-257", "coded-count", "A coded block of 257.", carriage(&many[0], 3)),
        alone("needed-0", "needed", "k is 0.", k(0)),
        alone("needed-3", "needed", "k is 3.", k(3)),
        alone("needed-13", "needed", "k is 13, of 12 packets.", k(13)),
        alone("untagged", "untagged", "A share without a tag, unasked.", &plain[0]),
    ]
}

/// Step 6.
fn replays() -> Vec<Case> {
    let (full, sparse) = (five(Distribution::Every), five(Distribution::OneIn(8)));
    let at = |seq: u32, id: &str, number: u16| {
        let place = Place { seq, id: Place::new(id).id, ..Place::new("five") };
        flow().sign(&place, &contents(number), Distribution::Every)
    };
    let of = |name: &str, comment: &str, packets: &[Judged]| case(name, comment, &flow(), packets);
    let (seq, last) = (7000, at(7063, "last", 3));
    let (first, later) = (at(seq, "five", 5), at(7064, "later", 3));
    let (other, fewer) = (at(seq, "other", 5), at(seq, "five", 4));
    vec![
        of("duplicate", "A packet twice.", &[ok(&full[3]), is(&full[3], "duplicate"), ok(&full[2])]),
        of("duplicate-sparse", "The same packet in another carriage.", &[ok(&full[3]), is(&sparse[3], "duplicate")]),
        of(
            "duplicate-waiting",
            "It waited, and came in full before it was decided.",
            &[is(&sparse[3], "duplicate"), ok(&full[3])],
        ),
        of("old", "64 blocks behind the latest.", &[ok(&later[0]), is(&first[0], "old")]),
        of("old-63", "63 blocks behind.", &[ok(&last[0]), ok(&first[0])]),
        of(
            "conflict-id",
            "Another block of the same seq, signed by the same key.",
            &[ok(&first[0]), is(&other[1], "conflict"), ok(&first[1])],
        ),
        of("conflict-count", "Another count.", &[ok(&first[0]), is(&fewer[1], "conflict")]),
        of("conflict-index", "Another block, and an index that was accepted.", &[ok(&first[0]), is(&other[0], "conflict")]),
        of("conflict-tag", "Another tag is another sequence.", &[ok(&first[0]), ok(&sign("else", 5, Distribution::Every)[0])]),
    ]
}

/// Step 7, and packets that waited.
fn digests() -> Vec<Case> {
    let (full, sparse) = (five(Distribution::Every), five(Distribution::OneIn(8)));
    let salted = salted();
    let salty = salted.sign(&Place::new("salty"), &contents(5), Distribution::Every);
    let after = |name: &str, reason: &'static str, comment: &str, packet: Vec<u8>| {
        let first = ok(&full[0]);
        case(name, comment, &flow(), &[first, (packet, reason)])
    };
    let path = sparse[3].len() - FIXED - 48;
    let changed = |at: usize| sparse[3].flip(at);
    let blob = full[3].len() - FIXED - BLOB;
    let other_blob = full[3].flip(blob + 70);
    let other_time = full[3].flip(blob);
    let place = Place { id: Place::new("other").id, ..Place::new("five") };
    let of_other = flow().sign(&place, &contents(5), Distribution::OneIn(8));
    let waiting = |name: &str, comment: &str, packet: Vec<u8>| {
        let packets = [(packet, "bad-digest"), ok(&full[0])];
        case(name, comment, &flow(), &packets)
    };
    let bad = "bad-digest";
    vec![
        after("digest-content", bad, "A bit of the content.", changed(0)),
        after("digest-path", bad, "A bit of the sibling.", changed(path)),
        after("digest-path-top", bad, "A bit of the last digest.", changed(path + 47)),
        after("digest-index", bad, "In its neighbour's place.", index(&sparse[3], 2)),
        after("digest-length", bad, "Its first byte is missing.", sparse[3][1..].to_vec()),
        after("blob-signature", "bad-signature", "In full, with another signature.", other_blob.clone()),
        after("blob-time", "bad-signature", "In full, with another timestamp.", other_time),
        after(
            "blob-first",
            "bad-signature",
            "Another signature and another content: the first is looked at first.",
            other_blob.flip(0),
        ),
        case("digest-salt", "A bit of the salt.", &salted, &[ok(&salty[0]), (salty[1].flip(16), "bad-digest")]),
        waiting("digest-waiting", "It waited for the block's signature.", changed(0)),
        waiting("digest-waiting-other", "It waited, of another block of the seq that is verified.", of_other[3].clone()),
    ]
}

/// Steps 8 and 10.
fn signatures() -> Vec<Case> {
    let (full, sparse) = (five(Distribution::Every), five(Distribution::OneIn(8)));
    let one = &full[3];
    let blob = one.len() - FIXED - BLOB;
    let bad = |name: &str, comment: &str, packet: Vec<u8>| alone(name, "bad-signature", comment, packet);
    let at = |at: usize| one.flip(at);
    let end = |back: usize| at(one.len() - back);
    let stranger = flow().with_other_key();
    let stranger = stranger.blob(&Place::new("five"), &contents(5));
    let stranger = one.set(blob, &stranger);
    let renamed = flow().renamed("another stage");
    let of_renamed = from_end(one, 16, &renamed.descriptor.key_id().0);
    let large_s = one.set(blob + 40, plus_order(&one[blob + 40..blob + 72]));
    let mut neutral = [0; 32];
    neutral[0] = 1;
    let zero_s = one.set(blob + 8, [&neutral[..], &[0; 32]].concat());
    vec![
        bad("signature-content", "A bit of the content.", at(0)),
        bad("signature-path", "A bit of the path.", at(blob - 1)),
        bad("signature-time", "A bit of the timestamp.", at(blob + 7)),
        bad("signature-r", "A bit of R.", at(blob + 8)),
        bad("signature-s", "A bit of S.", at(blob + 40)),
        bad("signature-id", "A bit of the block id.", end(40)),
        bad("signature-tag", "A bit of the tag.", end(24)),
        bad("signature-seq", "A bit of the seq.", end(17)),
        bad("signature-count", "6 packets, and a path as long.", count(one, 6)),
        bad("signature-key", "Another key signed it.", stranger),
        bad("signature-s-order", "S, and the order of the group added.", large_s),
        bad("signature-neutral", "R is the neutral point, S is 0.", zero_s),
        bad("signature-small-r", "R is the neutral point, and the equation holds.", small_r()),
        case("signature-descriptor", "The same key, and another descriptor.", &renamed, &[(of_renamed, "bad-signature")]),
        case(
            "signature-again",
            "Refused, and refused again; then the block comes.",
            &flow(),
            &[(at(0), "bad-signature"), (at(0), "bad-signature"), ok(one)],
        ),
        case("pending", "Nothing has the signature.", &flow(), &[is(&sparse[3], "pending"), is(&sparse[4], "pending")]),
    ]
}

/// A scalar, little-endian, with the order of the group added.
fn plus_order(scalar: &[u8]) -> Vec<u8> {
    let order = "edd3f55c1a631258d69cf7a2def9de1400000000000000000000000000000010";
    let mut distribution = 0;
    let add = |(a, b): (&u8, u8)| {
        distribution += u16::from(*a) + u16::from(b);
        let digit = distribution as u8;
        distribution >>= 8;
        digit
    };
    let digits = hex::decode(order).unwrap();
    scalar.iter().zip(digits).map(add).collect()
}

/// A packet alone in its block whose R is the neutral point and S is H(R, A, M) a: the equation holds.
fn small_r() -> Vec<u8> {
    let (flow, place, one) = (flow(), Place::new("small"), contents(1));
    let key = SigningKey::from_bytes(flow.secret());
    let mut neutral = [0; 32];
    neutral[0] = 1;
    let hash = Sha512::new_with_prefix(neutral).chain_update(key.verifying_key()).chain_update(flow.message(&place, &one));
    let a = key.to_scalar();
    let number = |n: u64| from_number(&a, n);
    let digits = hash.finalize();
    let digits = digits.iter().rev();
    let k = digits.fold(number(0), |k, digit| k * number(256) + number((*digit).into()));
    let signature = [neutral, (k * a).to_bytes()].concat();
    let packet = &flow.sign(&place, &one, Distribution::Every)[0];
    packet.set(packet.len() - FIXED - 64, &signature)
}

/// A number as whatever scalars are.
fn from_number<T: From<u64>>(_: &T, number: u64) -> T {
    number.into()
}

/// Coded packets with other shares, under tags that fit them.
fn reshared(packets: &[Vec<u8>], place: &Place, blob: &[u8]) -> Vec<Vec<u8>> {
    let count = packets.len() as u16;
    let stated = Code::new(count, 5, BLOB as u16).unwrap();
    let shares = Code::new(count, 5, blob.len() as u16).unwrap().encode(blob).unwrap();
    let tree = ShareTree::new(Tags::new(place.id, stated, TagSize::T8), &shares).unwrap();
    let share = |(index, packet): (usize, &Vec<u8>)| {
        let tag = tree.tag(index as u16).unwrap();
        let share = &shares[index * stated.share_bytes()..][..stated.share_bytes()];
        let bytes = [&5u16.to_be_bytes(), share, &tag].concat();
        respelt(packet, FIXED + bytes.len(), FIXED, &bytes)
    };
    packets.iter().enumerate().map(share).collect()
}

/// Steps 8 and 10 of coded packets.
fn shares() -> Vec<Case> {
    let (place, all) = (Place::new("twenty"), contents(20));
    let sign = |distribution: Distribution| flow().sign(&place, &all, distribution);
    let honest = sign(coded(25, Some(TagSize::T8)));
    let short = sign(coded(25, Some(TagSize::T4)));
    let (full, sparse) = (sign(Distribution::Every), sign(Distribution::OneIn(30)));
    // 5 shares of 15 bytes: the blob has 72, three are filled with zeros.
    let mut blob = flow().blob(&place, &all);
    let padded = reshared(&honest, &place, &[&blob[..], &[0, 0, 1]].concat());
    blob[70] ^= 1;
    let forged = reshared(&honest, &place, &blob);
    let share = honest[2].len() - FIXED - 40 - 15;
    let altered = honest[2].flip(share);
    let some = |from: &[Vec<u8>], indices: &[usize], reason: &'static str| -> Vec<Judged> {
        indices.iter().map(|i| (from[*i].clone(), reason)).collect()
    };
    let mixed = [some(&honest, &[1, 2], "ok"), some(&short, &[3], "ok"), some(&sparse, &[4], "ok"), some(&full, &[5], "ok")];
    let apart = [some(&honest, &[1, 2, 3], "pending"), some(&short, &[4, 5, 6], "pending")];
    let spoiled = [
        some(&padded, &[1, 2, 3, 4, 5], "padding"),
        some(&padded, &[6], "bad-signature"),
        some(&honest, &[7, 8, 9, 10, 11], "ok"),
    ];
    let refused = [some(&forged, &[1, 2, 3, 4, 5, 6], "bad-signature"), some(&honest, &[7, 8, 9, 10, 11], "ok")];
    let changed = honest[0].flip(0);
    let before =
        |packet: &Vec<u8>, reason: &'static str, indices: &[usize]| [vec![is(packet, reason)], some(&honest, indices, "ok")];
    let twice = [some(&honest, &[2], "ok"), some(&honest, &[2], "duplicate"), some(&honest, &[3, 4, 5, 6], "ok")];
    let of = |name: &str, comment: &str, packets: &[Vec<Judged>]| case(name, comment, &flow(), &packets.concat());
    vec![
        of("coded-mixed", "Two shares, one of another bin, a sparse packet, a full one.", &mixed),
        of("coded-apart", "Shares with tags of 8 and of 4 bytes are in two bins.", &apart),
        of(
            "coded-altered",
            "A share is altered on the way, and the packet is not.",
            &before(&altered, "ok", &[3, 4, 19, 18, 17]),
        ),
        of("coded-duplicate", "A share twice.", &twice),
        of(
            "coded-content",
            "A changed packet leads to another root, where it waits.",
            &before(&changed, "bad-digest", &[2, 3, 4, 5, 6]),
        ),
        of("padding", "The blob is filled with other bytes than zeros.", &spoiled),
        of("coded-signature", "The blob's signature is another.", &refused),
    ]
}

/// Step 9.
fn times() -> Vec<Case> {
    let (full, shares) = (five(Distribution::Every), twelve());
    let at = |time: u64, packet: &[u8], reason: &'static str| (time, (packet.to_vec(), reason));
    let (late, early) = (TIME + WINDOW, TIME - WINDOW);
    let coded = |time: u64, reason: &'static str| {
        let wrong = [1, 2, 3, 4, 6, 6].map(|i| at(time, &shares[i], reason));
        let kept = [7, 1].map(|i| at(TIME, &shares[i], "ok"));
        [&wrong[..], &kept].concat()
    };
    let changed = full[0].set(0, [1]);
    vec![
        timed("fresh-late", "30 s old.", &[at(late, &full[0], "ok")]),
        timed("fresh-early", "30 s ahead.", &[at(early, &full[0], "ok")]),
        timed(
            "stale",
            "A nanosecond older; once the block is verified, time is no matter.",
            &[at(late + 1, &full[0], "stale"), at(late, &full[0], "ok"), at(late + 1, &full[1], "ok")],
        ),
        timed("future", "A nanosecond more than 30 s ahead.", &[at(early - 1, &full[0], "future"), at(early, &full[0], "ok")]),
        timed("stale-first", "The time is looked at before the signature.", &[at(late + 1, &changed, "stale")]),
        timed("stale-coded", "A restored blob is kept, and its shares are spent.", &coded(late + 1, "stale")),
        timed("future-coded", "The same ahead of its time.", &coded(early - 1, "future")),
    ]
}
