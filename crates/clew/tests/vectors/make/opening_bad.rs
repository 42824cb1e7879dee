//! Vectors of openings: each rule of `judge` broken.

use clew_evidence::{Question, RegisterEntry, RegisterHead, Row};
use clew_group::Scheme;
use ed25519_dalek::{Signer, SigningKey};

use super::damage::{another, doubled, flipped, identity};
use super::key_file::armored;
use super::opening::{OPENING, Sent, payload};
use super::packet_trailer::*;
use super::xr_group::{XR, place};
use super::{hash, patched, replaced};
use crate::case::Case;

pub fn all() -> Vec<Case> {
    let groups = [
        texts(),
        requests(),
        packets(),
        layouts(),
        rows_that_do_not_decode(),
        shares(),
        shares_of_bbs04(),
        registers(),
        devices(),
    ];
    groups.into_iter().flatten().collect()
}

/// The packet that the cases are about: of epoch 0 of xr, where two of three open.
fn sent() -> Sent {
    Sent::new(Scheme::Xr, "web-1", 0, PLAIN)
}

/// The payload of the opening that the cases break.
fn good() -> Vec<u8> {
    payload(&sent().open(&[1, 3], None).encode(), OPENING)
}

/// Where the fields are: two shares of 113 bytes, then the row.
const SHARES: usize = 174;
const ROW: usize = SHARES + 2 * 113;

fn bad_of(sent: &Sent, name: &str, rule: &str, comment: &str, payload: &[u8]) -> Case {
    sent.case("judge", &format!("opening-{name}"), rule, comment)
        .lines("line", &armored(OPENING, payload))
}

fn bad(name: &str, rule: &str, comment: &str, payload: &[u8]) -> Case {
    bad_of(&sent(), name, rule, comment, payload)
}

/// What is wrong before the payload is looked at.
fn texts() -> Vec<Case> {
    let (line, good) = (armored(OPENING, &good()), good());
    let text = |name: &str, rule: &str, comment: &str, text: &str| {
        sent()
            .case("judge", &format!("opening-{name}"), rule, comment)
            .lines("line", text)
    };
    let padded = line.trim_end_matches('=');
    assert_ne!(line, padded, "it has padding");
    vec![
        text(
            "not-a-key",
            "not-a-key",
            "Two lines.",
            &format!("{line}\n{line}"),
        ),
        text(
            "label",
            "label",
            "A label that nobody knows.",
            &armored("clew-opening-2", &good),
        ),
        text("damaged", "damaged", "The padding is missing.", padded),
        text(
            "checksum",
            "damaged",
            "The checksum is of another label.",
            &armored("clew-share-1", &good).replace("clew-share-1", OPENING),
        ),
    ]
}

/// The request: `layout`, then `group`.
fn requests() -> Vec<Case> {
    let good = good();
    let set = |at: usize, value: &[u8]| replaced(&good, at, value);
    let one = |at: usize, value: u8| patched(&good, at as isize, value);
    let id = |epoch| XR.records.epoch_id(epoch);
    let epoch_1 = replaced(&set(34, &[0, 0, 0, 1]), 38, &id(0).0);
    let beyond = set(34, &[0, 0, 0, 4]);
    let layout = |name: &str, comment: &str, payload: &[u8]| bad(name, "layout", comment, payload);
    let group = |name: &str, comment: &str, payload: &[u8]| {
        bad(&format!("group-{name}"), "group", comment, payload)
    };
    let in_file = |name: &str, comment: &str, file: &str, payload: &[u8]| {
        let other = Case::new(
            "opening",
            &format!("opening-group-{name}"),
            "group",
            comment,
        );
        let frame = sent().frame;
        other
            .text("check", "judge")
            .text("group-file", file)
            .hex("link-type", frame.link.0.to_be_bytes())
            .hex("wire-length", (frame.bytes.len() as u32).to_be_bytes())
            .hex("frame", &frame.bytes)
            .lines("line", &armored(OPENING, payload))
    };
    vec![
        layout("domain", "The request has another domain.", &one(14, 1)),
        layout("kind-0", "The request has kind 0.", &one(16, 0)),
        layout("kind-match", "The request asks for a match.", &one(16, 2)),
        layout("scheme-3", "The request has scheme 3.", &one(17, 3)),
        layout("machine", "The request names a machine.", &one(134, 1)),
        layout("log", "The request has a place in a log.", &one(173, 1)),
        layout("empty", "No byte.", b""),
        layout(
            "request-cut",
            "The request lacks its last byte.",
            &good[..173],
        ),
        group(
            "id",
            "The request names another group.",
            &one(18, good[18] ^ 1),
        ),
        group("scheme", "The request names the other scheme.", &one(17, 1)),
        group("epoch", "An epoch that the file does not have.", &beyond),
        group("epoch-id", "The id of another epoch.", &set(38, &id(1).0)),
        group("epoch-number", "Epoch 1 with the id of epoch 0.", &epoch_1),
        in_file("file", "The file of the other group.", "bbs04.txt", &good),
        bad_key(&in_file),
    ]
}

type InFile<'a> = dyn Fn(&str, &str, &str, &[u8]) -> Case + 'a;

/// A request for epoch 1 of a file that has a bad public key there.
fn bad_key(in_file: &InFile<'_>) -> Case {
    let made = super::group_file_bad::all();
    let file = "xr-public-key-other-g1.txt";
    let path = format!("group-file/{file}");
    let case = made.iter().find(|case| case.path == path).unwrap();
    let group = case.bytes("file").unwrap();
    // The body of record 1 is behind the header, part 0 and its own length.
    let first = u32::from_be_bytes(group[16..20].try_into().unwrap()) as usize;
    let at = 20 + first + 64;
    let length = u32::from_be_bytes(group[at..at + 4].try_into().unwrap()) as usize;
    let id = hash(&group[at + 4..][..length]);
    let request = replaced(&replaced(&good(), 34, &[0, 0, 0, 1]), 38, &id);
    in_file(
        "public-key",
        "The public key of the epoch is bad.",
        file,
        &request,
    )
}

/// Which packet it is, and whether it is signed.
fn packets() -> Vec<Case> {
    let (sent, good) = (sent(), good());
    let other = signed(&raw(packet()), "xr-ipv4-udp");
    let unsigned = raw(packet());
    let line = armored(OPENING, &good);
    let on = |name: &str, comment: &str, frame| {
        sent.case_with(
            "judge",
            &format!("opening-packet-{name}"),
            "packet",
            comment,
            frame,
        )
        .lines("line", &line)
    };
    // A packet whose sd is one bit off, with a request for that packet.
    let mut forged = sent.clone();
    let at = sent.frame.bytes.len() - 31 - 288;
    forged.frame.bytes = flipped(&sent.frame.bytes, at + 256);
    let request = forged.request(Question::Opening, None).to_bytes();
    let payload = replaced(&good, 0, &request);
    let comment = "The packet's signature is not good, and the request is about that packet.";
    vec![
        on("other", "Another packet.", &other),
        on("unsigned", "A packet that is not signed.", &unsigned),
        bad_of(&forged, "signature", "signature", comment, &payload),
    ]
}

/// The fields behind the request.
fn layouts() -> Vec<Case> {
    let good = good();
    let set = |at: usize, value: &[u8]| replaced(&good, at, value);
    let layout = |name: &str, comment: &str, payload: &[u8]| {
        bad(&format!("layout-{name}"), "layout", comment, payload)
    };
    let second = SHARES + 113;
    let swapped = [
        &good[..SHARES],
        &good[second..ROW],
        &good[SHARES..second],
        &good[ROW..],
    ];
    let missing = [&good[..second], &good[ROW..]].concat();
    let third = {
        let opening = sent().open(&[1, 2, 3], None);
        payload(&opening.encode(), OPENING)
    };
    vec![
        layout("index-0", "A share of index 0.", &set(SHARES, &[0])),
        layout("index-4", "A share of trustee 4 of 3.", &set(second, &[4])),
        layout(
            "twice",
            "Trustee 1 twice.",
            &set(second, &good[SHARES..second]),
        ),
        layout("order", "Trustee 3 before trustee 1.", &swapped.concat()),
        layout("one-share", "One share, where two open.", &missing),
        layout("three-shares", "Three shares, where two open.", &third),
        layout(
            "d-identity",
            "D is the identity.",
            &set(second + 1, &identity(48)),
        ),
        layout("c", "c of a proof has bit 254 set.", &{
            let at = second + 49;
            set(at, &[good[at] & 0x1f | 0x40])
        }),
        layout(
            "s",
            "s of a proof is not reduced.",
            &set(second + 81, &[0xff; 32]),
        ),
        layout(
            "long",
            "A byte behind the row.",
            &[&good[..], &[0]].concat(),
        ),
        layout("cut", "The last byte is missing.", &good[..good.len() - 1]),
        layout("no-row", "No row.", &good[..ROW]),
    ]
}

fn rows_that_do_not_decode() -> Vec<Case> {
    let good = good();
    let set = |at: usize, value: &[u8]| replaced(&good, at, value);
    let row = |name: &str, comment: &str, payload: &[u8]| {
        bad(&format!("row-{name}"), "layout", comment, payload)
    };
    let (entry, length) = (ROW + 2, usize::from(good[ROW + 1]));
    // index, joined, credential, name, then the commitment.
    let (name, commitment) = (entry + 56, entry + 56 + 6);
    let hashes = entry + length;
    let without_device = [
        &good[..ROW],
        &[0, 62],
        &good[entry..commitment],
        &good[hashes..],
    ];
    let head = hashes + 1 + 32 * usize::from(good[hashes]);
    vec![
        row(
            "length",
            "The entry is said to be a byte longer.",
            &set(ROW + 1, &[good[ROW + 1] + 1]),
        ),
        row(
            "credential",
            "A_0 is the identity.",
            &set(entry + 8, &identity(48)),
        ),
        row("name", "The name is empty.", &set(name, &[0])),
        row(
            "commitment",
            "C_0 is the identity.",
            &set(commitment, &identity(48)),
        ),
        row(
            "no-device",
            "An entry as in bbs04.",
            &without_device.concat(),
        ),
        row("hashes", "More than 32 hashes.", &set(hashes, &[33])),
        row(
            "head-length",
            "The register part is a byte longer.",
            &set(head + 3, &[78]),
        ),
        row("head-kind", "Not a register part.", &set(head + 4, &[1])),
    ]
}

fn shares() -> Vec<Case> {
    let good = good();
    let second = SHARES + 113;
    let share = |name: &str, culprit: u8, comment: &str, payload: &[u8]| {
        let name = format!("share-{name}");
        bad(&name, "share", comment, payload).hex("culprit", [culprit])
    };
    let relabelled = replaced(&replaced(&good, SHARES, &[2]), second, &[3]);
    let asked_otherwise = payload(&sent().open(&[1, 3], Some(hash(b"w"))).encode(), OPENING);
    let of_other = replaced(&good, SHARES, &asked_otherwise[SHARES..ROW]);
    vec![
        share(
            "d",
            3,
            "D of trustee 3 is another point.",
            &doubled(&good, second + 1, 48),
        ),
        share(
            "c",
            3,
            "c of trustee 3 is one bit off.",
            &flipped(&good, second + 81),
        ),
        share(
            "s",
            1,
            "s of trustee 1 is one bit off.",
            &flipped(&good, SHARES + 113),
        ),
        share(
            "relabelled",
            2,
            "The share of trustee 1 as that of 2.",
            &relabelled,
        ),
        share(
            "other-request",
            1,
            "Shares for the same packet under a warrant.",
            &of_other,
        ),
    ]
}

fn shares_of_bbs04() -> Vec<Case> {
    let sent = Sent::new(Scheme::Bbs04, "web-1", 0, PLAIN);
    let good = payload(&sent.open(&[1, 2], None).encode(), OPENING);
    let second = SHARES + 225;
    let case = |name: &str, rule: &str, comment: &str, payload: &[u8]| {
        bad_of(&sent, &format!("bbs04-{name}"), rule, comment, payload)
    };
    let parts = [
        &good[..second + 1],
        &good[second + 113..second + 225],
        &good[second + 1..second + 113],
        &good[second + 225..],
    ];
    let mut row = sent.row();
    row.proof.hashes[0][0] ^= 1;
    let end = SHARES + 2 * 225;
    let with_row = |row: &Row| [&good[..end], &row.encode()].concat();
    let machine = sent.records().row(place("web-3"));
    vec![
        case(
            "share-first",
            "share",
            "The first decryption of trustee 2 is damaged.",
            &flipped(&good, second + 113),
        )
        .hex("culprit", [2]),
        case(
            "share-second",
            "share",
            "The second of trustee 1 is damaged.",
            &flipped(&good, SHARES + 225),
        )
        .hex("culprit", [1]),
        case(
            "share-parts",
            "share",
            "Both of trustee 2, exchanged.",
            &parts.concat(),
        )
        .hex("culprit", [2]),
        case(
            "register",
            "register",
            "A hash of the proof is another.",
            &with_row(&row),
        ),
        case(
            "credential",
            "credential",
            "The row of another machine.",
            &with_row(&machine),
        ),
        case(
            "layout",
            "layout",
            "A byte behind the row.",
            &[&good[..], &[0]].concat(),
        ),
    ]
}

/// The opening with another row.
fn with_row(name: &str, rule: &str, comment: &str, row: &Row) -> Case {
    bad(
        name,
        rule,
        comment,
        &[&good()[..ROW], &row.encode()].concat(),
    )
}

fn registers() -> Vec<Case> {
    let (records, at) = (&XR.records, place("web-1"));
    let row = |name: &str, comment: &str, row: Row| {
        with_row(&format!("register-{name}"), "register", comment, &row)
    };
    let changed = |change: &dyn Fn(&mut Row)| {
        let mut row = records.row(at);
        change(&mut row);
        row
    };
    let headed = |change: &dyn Fn(&mut RegisterHead)| {
        let mut head = records.head();
        change(&mut head);
        records.row_of(&records.entries, at, head)
    };
    let stranger = records
        .head()
        .seal(&SigningKey::from_bytes(&hash(b"stranger")));
    let stranger = records.row_under(&records.entries, at, stranger);
    let first_epoch = records.epoch_id(0);
    let mut joined: Vec<RegisterEntry> = records.entries.clone();
    joined[at].joined = 1;
    let mut late = records.head_of(&joined);
    late.last = first_epoch;
    let beyond = {
        let mut alone = vec![records.entries[at].clone()];
        alone[0].index = 1;
        records.row_of(&alone, 0, records.head_of(&alone))
    };
    vec![
        row(
            "hash",
            "A hash of the proof is another.",
            changed(&|r| r.proof.hashes[0][0] ^= 1),
        ),
        row(
            "fewer",
            "A hash is missing.",
            changed(&|r| _ = r.proof.hashes.pop()),
        ),
        row(
            "more",
            "A hash too many.",
            changed(&|r| r.proof.hashes.push([0; 32])),
        ),
        row(
            "index",
            "The entry has another index.",
            changed(&|r| r.entry.index = 1),
        ),
        row(
            "signature",
            "The register part is changed.",
            changed(&|r| r.proof.head.head.time ^= 1),
        ),
        row(
            "stranger",
            "Another key signed the register part.",
            stranger,
        ),
        row(
            "last",
            "It belongs to no epoch.",
            headed(&|head| head.last.0[0] ^= 1),
        ),
        row(
            "root",
            "It has another root.",
            headed(&|head| head.root[0] ^= 1),
        ),
        row(
            "before-joined",
            "It is older than the entry.",
            records.row_of(&joined, at, late),
        ),
        row(
            "beyond",
            "The index is not below the number of machines.",
            beyond,
        ),
        row(
            "joined-after",
            "The machine joined after the packet's epoch.",
            records.row(place("web-4")),
        ),
    ]
}

/// Rows that are in a register of the manager's, whose device did not sign.
fn devices() -> Vec<Case> {
    let (records, at) = (&XR.records, place("web-1"));
    let changed = |change: &dyn Fn(&mut RegisterEntry)| {
        let mut entries = records.entries.clone();
        change(&mut entries[at]);
        records.row_of(&entries, at, records.head_of(&entries))
    };
    let device = |name: &str, comment: &str, row: Row| {
        with_row(&format!("device-{name}"), "device", comment, &row)
    };
    let other_key = SigningKey::from_bytes(&hash(b"another device"));
    let signed_by = |key: &SigningKey, entry: &mut RegisterEntry| {
        let message = entry.statement(records.id());
        entry.device.as_mut().unwrap().signature = key.sign(&message).to_bytes();
    };
    let other_group = changed(&|entry| {
        let statement = entry.statement(clew_packet::GroupId([9; 16]));
        let signature = XR.machine("web-1").device.sign(&statement).to_bytes();
        entry.device.as_mut().unwrap().signature = signature;
    });
    // The neutral point: with R the same and s = 0, verification that is not strict says yes.
    let weak = changed(&|entry| {
        let device = entry.device.as_mut().unwrap();
        device.key = replaced(&[0; 32], 0, &[1]).try_into().unwrap();
        device.signature = replaced(&[0; 64], 0, &[1]).try_into().unwrap();
    });
    let other_row = records.row(place("web-3"));
    let named = |entry: &mut RegisterEntry| entry.name = "web-9".parse().unwrap();
    vec![
        device("signature", "S is one bit off.", {
            changed(&|e| e.device.as_mut().unwrap().signature[40] ^= 1)
        }),
        device(
            "stranger",
            "Another key signed.",
            changed(&|e| signed_by(&other_key, e)),
        ),
        device("name", "The name is not the one signed.", changed(&named)),
        device("commitment", "C_0 is not the one signed.", {
            changed(&|e| {
                e.device.as_mut().unwrap().commitment = {
                    another(&e.device.as_ref().unwrap().commitment)
                        .try_into()
                        .unwrap()
                }
            })
        }),
        device(
            "other-group",
            "The device signed for another group.",
            other_group,
        ),
        device("weak-key", "The device key is the neutral point.", weak),
        with_row(
            "credential",
            "credential",
            "The row of another machine.",
            &other_row,
        ),
    ]
}
