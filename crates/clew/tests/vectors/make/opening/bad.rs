//! Vectors of openings: each rule of `judge` broken.

use clew_evidence::{Question, RegisterEntry, Row};
use clew_group::Scheme;

use crate::case::Case;
use crate::make::damage::{Damage, identity};
use crate::make::group_file;
use crate::make::groups::bbs04_group::BBS04;
use crate::make::groups::records::row_of;
use crate::make::groups::strange::{self, STRANGE};
use crate::make::groups::xr_group::{XR, place, x};
use crate::make::key_file::keys::armored;
use crate::make::opening::good::{OPENING, Sent, payload};
use crate::make::packet::frames::*;
use crate::make::{flat, hash};

pub fn all() -> Vec<Case> {
    flat([
        texts(),
        requests(),
        packets(),
        layouts(),
        rows_that_do_not_decode(),
        shares(),
        shares_of_bbs04(),
        registers(),
        devices(),
        credentials(),
        pins(),
    ])
}

/// The packet that the cases are about: of epoch 0 of xr, where two of three open.
fn sent() -> Sent {
    Sent::new(Scheme::Xr, "web-1", 0, PLAIN)
}

/// The payload of the opening that the cases break.
fn good() -> Vec<u8> {
    payload(&sent().open(&[1, 3], None).encode(), OPENING)
}

/// Where the fields are: two shares of 113 bytes, x, the anchor, then the row.
const SHARES: usize = 206;
const X: usize = SHARES + 2 * 113;
const ANCHOR: usize = X + 32;
const ROW: usize = ANCHOR + 2;

fn bad_of(sent: &Sent, name: &str, rule: &str, comment: &str, payload: &[u8]) -> Case {
    sent.case("judge", &format!("opening-{name}"), rule, comment).lines("line", &armored(OPENING, payload))
}

fn bad(name: &str, rule: &str, comment: &str, payload: &[u8]) -> Case {
    bad_of(&sent(), name, rule, comment, payload)
}

/// A case in which the group file is older than the evidence: no judgement.
pub fn later(case: Case) -> Case {
    case.text("needs", "newer-file")
}

/// What is wrong before the payload is looked at.
fn texts() -> Vec<Case> {
    let (line, good) = (armored(OPENING, &good()), good());
    let text = |name: &str, rule: &str, comment: &str, text: &str| {
        sent().case("judge", &format!("opening-{name}"), rule, comment).lines("line", text)
    };
    // A byte behind the row would be `layout`; this text is not base64.
    let padded = armored(OPENING, &good.plus([0]));
    let unpadded = padded.trim_end_matches('=');
    assert_ne!(padded, unpadded, "it has padding");
    vec![
        text("not-a-key", "not-a-key", "Two lines.", &format!("{line}\n{line}")),
        text("label", "label", "A label that nobody knows.", &armored("clew-opening-2", &good)),
        text("damaged", "damaged", "The padding is missing.", unpadded),
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
    let set = |at: usize, value: &[u8]| good.set(at, value);
    let one = |at: usize, value: u8| good.set(at, [value]);
    let id = |epoch| XR.records.epoch_id(epoch);
    let epoch_1 = set(34, &[0, 0, 0, 1]);
    let beyond = set(34, &[0, 0, 0, 5]);
    let layout = |name: &str, comment: &str, payload: &[u8]| bad(name, "layout", comment, payload);
    let group = |name: &str, comment: &str, payload: &[u8]| bad(&format!("group-{name}"), "group", comment, payload);
    let in_file = |name: &str, comment: &str, file: &str, payload: &[u8]| {
        let other = Case::new("opening", &format!("opening-group-{name}"), "group", comment);
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
        layout("machine", "The request names a machine.", &one(166, 1)),
        layout("empty", "No byte.", b""),
        layout("request-cut", "The request lacks its last byte.", &good[..205]),
        group("id", "The request names another group.", &one(18, good[18] ^ 1)),
        group("scheme", "The request names the other scheme.", &one(17, 1)),
        later(group("epoch", "An epoch that the file does not have yet.", &beyond)),
        group("epoch-of-another", "Such an epoch, and another group.", &beyond.flip(33)),
        group("epoch-id", "The id of another epoch.", &set(38, &id(1).0)),
        group("epoch-number", "Epoch 1 with the id of epoch 0.", &epoch_1),
        in_file("file", "The file of the other group.", "bbs04", &good),
        in_file("chain", "A later epoch does not descend from epoch 0.", "xr-public-key-step-v", &good),
        of_epoch(&in_file, "public-key", 1, "xr-public-key-step-v"),
        of_epoch(&in_file, "sharing", 2, "xr-sharing-epoch-2"),
    ]
}

type InFile<'a> = dyn Fn(&str, &str, &str, &[u8]) -> Case + 'a;

/// A request for an epoch of a file that is bad there.
fn of_epoch(in_file: &InFile<'_>, name: &str, epoch: usize, file: &str) -> Case {
    let made = group_file::bad::all();
    let case = made.iter().find(|case| case.name == file).unwrap();
    let bodies = bodies(case.bytes("file").unwrap());
    let sent = Sent::new(Scheme::Xr, "web-1", epoch, PLAIN);
    let indices = if epoch < 2 { &[1, 3][..] } else { &[1, 2, 3] };
    let opening = payload(&sent.open(indices, None).encode(), OPENING);
    let opening = opening.set(38, hash(&bodies[epoch]));
    let comment = format!("What the file has for epoch {epoch} is bad.");
    in_file(name, &comment, file, &opening)
}

/// The bodies of a group file.
fn bodies(file: &[u8]) -> Vec<Vec<u8>> {
    let (mut rest, mut bodies) = (&file[16..], vec![]);
    while let Some((length, after)) = rest.split_first_chunk() {
        let length = u32::from_be_bytes(*length) as usize;
        bodies.push(after[..length].to_vec());
        rest = &after[length + 64..];
    }
    bodies
}

/// Which packet it is, and whether it is signed.
fn packets() -> Vec<Case> {
    let (sent, good) = (sent(), good());
    let other = signed(&raw(packet()), "xr-ipv4-udp");
    let unsigned = raw(packet());
    let line = armored(OPENING, &good);
    let on = |name: &str, comment: &str, frame| {
        sent.case_with("judge", &format!("opening-packet-{name}"), "packet", comment, frame).lines("line", &line)
    };
    // A packet whose sd is one bit off, with a request for that packet.
    let mut forged = sent.clone();
    let at = sent.frame.bytes.len() - 31 - 288;
    forged.frame.bytes = sent.frame.bytes.flip(at + 255);
    let request = forged.request(Question::Opening, None).to_bytes();
    let payload = good.set(0, request);
    let comment = "The packet's signature is not good, and the request is about that packet.";
    vec![
        on("other", "Another packet.", &other),
        on("unsigned", "A packet that is not signed.", &unsigned),
        bad("packet-asked", "packet", "The one asked about is another.", &good.flip(133)),
        bad_of(&forged, "signature", "signature", comment, &payload),
    ]
}

/// The fields behind the request.
fn layouts() -> Vec<Case> {
    let good = good();
    let set = |at: usize, value: &[u8]| good.set(at, value);
    let layout = |name: &str, comment: &str, payload: &[u8]| bad(&format!("layout-{name}"), "layout", comment, payload);
    let second = SHARES + 113;
    let swapped = [&good[..SHARES], &good[second..X], &good[SHARES..second], &good[X..]];
    let missing = good.replace(second..X, []);
    let third = {
        let opening = sent().open(&[1, 2, 3], None);
        payload(&opening.encode(), OPENING)
    };
    vec![
        layout("index-0", "A share of index 0.", &set(SHARES, &[0])),
        layout("index-4", "A share of trustee 4 of 3.", &set(second, &[4])),
        layout("twice", "Trustee 1 twice.", &set(second, &good[SHARES..second])),
        layout("order", "Trustee 3 before trustee 1.", &swapped.concat()),
        layout("one-share", "One share, where two open.", &missing),
        layout("three-shares", "Three shares, where two open.", &third),
        layout("d-identity", "D is the identity.", &set(second + 1, &identity(48))),
        layout("c", "c of a proof has bit 254 set.", &{
            let at = second + 49;
            set(at, &[good[at] & 0x1f | 0x40])
        }),
        layout("s", "s of a proof is not reduced.", &set(second + 81, &[0xff; 32])),
        layout("x-not-reduced", "x + r in the place of x.", &good.unreduced(X)),
        layout("x-zero", "x is zero.", &set(X, &[0; 32])),
        layout("anchor", "An anchor of one byte.", &good.replace(ANCHOR..ROW, [0, 1, 7])),
        layout("anchor-length", "The anchor is said to have the row.", &set(ANCHOR, &((good.len() - ROW) as u16).to_be_bytes())),
        layout("no-anchor", "No anchor.", &good.replace(ANCHOR..ROW, [])),
        layout("long", "A byte behind the row.", &good.plus([0])),
        layout("cut", "The last byte is missing.", &good.cut(1)),
        layout("no-row", "No row.", &good[..ROW]),
    ]
}

fn rows_that_do_not_decode() -> Vec<Case> {
    let good = good();
    let set = |at: usize, value: &[u8]| good.set(at, value);
    let row = |name: &str, comment: &str, payload: &[u8]| bad(&format!("row-{name}"), "layout", comment, payload);
    let length = u16::from_be_bytes([good[ROW], good[ROW + 1]]);
    let (entry, length) = (ROW + 2, usize::from(length));
    // index, joined, how, replaces, credential, name, then the commitment.
    let (how, credential) = (entry + 8, entry + 13);
    let (name, commitment) = (credential + 48, credential + 48 + 6);
    let hashes = entry + length + 4;
    // C, device key, S, then the proof of y.
    let proof = commitment + 48 + 32 + 64;
    let cut = |missing: usize| {
        let length = (length - missing) as u16;
        let end = entry + usize::from(length);
        [&good[..ROW], &length.to_be_bytes(), &good[entry..end], &good[hashes - 4..]].concat()
    };
    let bit_254 = set(proof, &[good[proof] & 0x1f | 0x40]);
    let of_bbs04 = [&good[..ROW], &BBS04.records.row(0).encode()].concat();
    vec![
        row("length", "The entry is said to be a byte longer.", &set(ROW + 1, &[good[ROW + 1] + 1])),
        row("how-0", "How is 0.", &set(how, &[0])),
        row("how-4", "How is 4.", &set(how, &[4])),
        row("credential", "A is the identity.", &set(credential, &identity(48))),
        row("name", "The name is empty.", &set(name, &[0])),
        row("commitment", "C is the identity.", &set(commitment, &identity(48))),
        row("no-proof", "The entry ends with S.", &cut(64)),
        row("proof-cut", "The last byte of the proof is missing.", &cut(1)),
        row("proof-c", "c of the proof has bit 254 set.", &bit_254),
        row("proof-s", "s of the proof is not reduced.", &good.unreduced(proof + 32)),
        row("bbs04", "A row of the group of bbs04.", &of_bbs04),
        row("hashes", "More than 32 hashes.", &set(hashes, &[33])),
        row("fewer", "A hash is missing.", &good.cut(32)),
    ]
}

fn shares() -> Vec<Case> {
    let good = good();
    let second = SHARES + 113;
    let share = |name: &str, culprit: u8, comment: &str, payload: &[u8]| {
        let name = format!("share-{name}");
        bad(&name, "share", comment, payload).blames(culprit)
    };
    let relabelled = good.set(SHARES, [2]);
    let asked_otherwise = payload(&sent().open(&[1, 3], Some(hash(b"w"))).encode(), OPENING);
    let of_other = good.set(SHARES, &asked_otherwise[SHARES..X]);
    vec![
        share("d", 3, "D of trustee 3 is another point.", &good.doubled(second + 1, 48)),
        share("c", 3, "c of trustee 3 is one bit off.", &good.flip(second + 80)),
        share("s", 1, "s of trustee 1 is one bit off.", &good.flip(SHARES + 112)),
        share("relabelled", 2, "The share of trustee 1 as that of 2.", &relabelled),
        share("other-request", 1, "Shares for the same packet under a warrant.", &of_other),
    ]
}

fn shares_of_bbs04() -> Vec<Case> {
    let sent = Sent::new(Scheme::Bbs04, "web-1", 0, PLAIN);
    let good = payload(&sent.open(&[1, 2], None).encode(), OPENING);
    let second = SHARES + 225;
    let case =
        |name: &str, rule: &str, comment: &str, payload: &[u8]| bad_of(&sent, &format!("bbs04-{name}"), rule, comment, payload);
    let parts = [&good[..second + 1], &good[second + 113..second + 225], &good[second + 1..second + 113], &good[second + 225..]];
    let mut row = sent.row();
    row.hashes[0][0] ^= 1;
    let end = SHARES + 2 * 225;
    let with_row = |row: &Row| [&good[..end + 2], &row.encode()].concat();
    let machine = sent.records().row(place("web-3"));
    let how = good.set(end + 2 + 2 + 8, [2]);
    let with_x = [&good[..end], &x("web-1").to_bytes(), &good[end..]].concat();
    let strange = with_row(&strange::bbs04().row(0));
    vec![
        case("share-first", "share", "The first decryption of trustee 2 is damaged.", &good.flip(second + 112)).blames(2),
        case("share-second", "share", "The second of trustee 1 is damaged.", &good.flip(SHARES + 224)).blames(1),
        case("share-parts", "share", "Both of trustee 2, exchanged.", &parts.concat()).blames(2),
        case("register", "register", "A hash of the proof is another.", &with_row(&row)),
        in_strange(case("credential", "credential", "A of web-1 with X of web-2.", &strange), strange::BBS04_FILE),
        case("signer", "signer", "The row of another machine.", &with_row(&machine)),
        case("how", "layout", "It joined from its own host.", &how),
        case("x", "layout", "An x, as in xr.", &with_x),
        case("layout", "layout", "A byte behind the row.", &good.plus([0])),
    ]
}

/// The case with another group file, whose register has strange entries.
fn in_strange(case: Case, file: &str) -> Case {
    case.in_file(file)
}

/// The opening with another row.
fn with_row(name: &str, rule: &str, comment: &str, row: &Row) -> Case {
    let payload = [&good()[..ROW], &row.encode()].concat();
    bad(name, rule, comment, &payload)
}

/// The opening with a row of the strange register.
fn strange(name: &str, rule: &str, comment: &str, index: usize) -> Case {
    let row = strange::xr().row(index);
    in_strange(with_row(name, rule, comment, &row), STRANGE)
}

fn registers() -> Vec<Case> {
    let (records, at) = (&XR.records, place("web-1"));
    let row = |name: &str, comment: &str, row: Row| with_row(&format!("register-{name}"), "register", comment, &row);
    let changed = |change: &dyn Fn(&mut Row)| {
        let mut row = records.row(at);
        change(&mut row);
        row
    };
    // Another history of the register after the last checkpoint, and one before the first.
    let forked = |from: usize| {
        let mut entries: Vec<RegisterEntry> = records.entries.clone();
        entries[from].name = "web-9".parse().unwrap();
        row_of(&entries, at)
    };
    let longer = {
        let mut entries = records.entries.clone();
        entries.push(records.entries[4].clone());
        row_of(&entries, at)
    };
    vec![
        row("hash", "A hash of the proof is another.", changed(&|r| r.hashes[0][0] ^= 1)),
        row("fewer", "A hash is missing.", changed(&|r| _ = r.hashes.pop())),
        row("more", "A hash too many.", changed(&|r| r.hashes.push([0; 32]))),
        row("index", "The entry has another index.", changed(&|r| r.entry.index = 1)),
        row("beyond", "The index is not below the number of machines.", changed(&|r| r.entry.index = 5)),
        row("no-checkpoint", "A register of four machines, of which there is no checkpoint.", row_of(&records.entries[..4], at)),
        row("other-size", "The proof of four machines as one of five.", Row { machines: 5, ..row_of(&records.entries[..4], at) }),
        later(row("longer", "A register that the manager may sign later.", longer)),
        row("fork", "A register of the same size with another last machine.", forked(4)),
        row("fork-early", "A register of the same size with another second machine.", forked(1)),
        strange("register-joined", "register", "It joined in an epoch that the file does not have.", strange::JOINED),
        strange("register-replaces", "register", "It replaces itself.", strange::REPLACES),
    ]
}

/// Rows that are in the register, for which the device did not vouch.
fn devices() -> Vec<Case> {
    let case = |(at, (name, comment)): (usize, &(&str, &str))| {
        let mut payload = good();
        if at == strange::ACCOMPLICE {
            payload = payload.set(X, strange::accomplice_x().to_bytes());
        }
        let payload = [&payload[..ROW], &strange::xr().row(at).encode()].concat();
        let case = bad(&format!("device-{name}"), "device", comment, &payload);
        in_strange(case, STRANGE)
    };
    strange::DEVICES.iter().enumerate().map(case).collect()
}

/// Rows that hold, of which the base or x is another.
fn credentials() -> Vec<Case> {
    let good = good();
    let set = |at: usize, value: &[u8]| good.set(at, value);
    let of = |machine: &str, row: &Row| [&good[..X], &x(machine).to_bytes(), &[0, 0], &row.encode()].concat();
    let other = XR.records.row(place("web-3"));
    let own = XR.records.row(place("web-1"));
    let twice = Sent::twice("web-1", 0);
    let free = payload(&twice.open(&[1, 3], None).encode(), OPENING);
    let free_x = free.set(X, Sent::other_x().to_bytes());
    vec![
        bad("credential-x", "credential", "x is one bit off.", &good.flip(X + 31)),
        bad("credential-other-x", "credential", "The x of another machine.", &of("web-3", &own)),
        bad("credential-other-row", "credential", "The row of another machine.", &set(ROW, &other.encode())),
        strange("credential-a", "credential", "The device signed for another A.", strange::CREDENTIAL),
        bad_of(
            &twice,
            "credential-free-x",
            "credential",
            "Signed with a second credential on the same C: its x fits B, and not A of the row.",
            &free_x,
        ),
        bad_of(&twice, "signer-second-credential", "signer", "The same with x of the row, which does not fit B.", &free),
        bad("signer", "signer", "Row and x of another machine.", &of("web-3", &other)),
    ]
}

/// The fingerprint that is expected is another.
fn pins() -> Vec<Case> {
    let pinned = |case: Case, machine: &str| {
        let entry = &XR.records.entries[place(machine)];
        let known = entry.fingerprint().unwrap().to_string();
        case.text("device", &known)
    };
    let of_bbs04 = Sent::new(Scheme::Bbs04, "web-1", 0, PLAIN);
    let opened = payload(&of_bbs04.open(&[1, 2], None).encode(), OPENING);
    vec![
        pinned(bad("pin", "device-pin", "Another device is expected.", &good()), "web-2"),
        pinned(bad_of(&of_bbs04, "bbs04-pin", "device-pin", "A device is expected, and bbs04 has none.", &opened), "web-1"),
    ]
}
