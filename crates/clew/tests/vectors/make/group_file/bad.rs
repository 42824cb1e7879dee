//! Vectors of the group file: one file for each rule broken, of both schemes.

use std::time::Duration;

use clew_evidence::{Change, End, EpochRecord, Genesis, MAX_PART_BYTES};
use ed25519_dalek::SigningKey;

use crate::case::Case;
use crate::make::damage::{Damage, identity, order_3};
use crate::make::group_file::good::with_logs;
use crate::make::groups::bbs04_group::BBS04;
use crate::make::groups::records::{HEADER, Records, file_by};
use crate::make::groups::xr_group::XR;
use crate::make::{flat, hash};

pub fn all() -> Vec<Case> {
    flat([
        frames(),
        lengths("", bbs04(), "genesis epoch epoch-2 checkpoint register"),
        lengths("xr-", xr(), "genesis epoch sharing epoch-3 rebase checkpoint-2 checkpoint-3 checkpoint-5 register"),
        values(),
        layouts(),
        logs(),
        ends(),
        names(),
        signatures(),
        chains(),
        revocations(),
        checkpoints(),
        bindings(),
        first_bad_parts(),
        keys(),
        xr_keys(),
        sharings(),
    ])
}

fn bbs04() -> &'static Records {
    &BBS04.records
}

fn xr() -> &'static Records {
    &XR.records
}

/// `part` is the number of the one that breaks the rule.
fn bad(name: &str, rule: &str, part: u32, comment: &str, file: impl AsRef<[u8]>) -> Case {
    Case::new("group-file", name, rule, comment).hex("file", file).hex("part", part.to_be_bytes())
}

/// The good file with some bodies changed: all else is not made to fit.
fn bodies(of: &Records, change: impl FnOnce(&mut Vec<Vec<u8>>)) -> Vec<u8> {
    let mut bodies = of.bodies();
    change(&mut bodies);
    file_by(&bodies, &of.manager)
}

/// The good file with one body changed.
fn body(of: &Records, part: usize, change: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    bodies(of, |b| change(&mut b[part]))
}

/// The good file with some records changed, and the chain made to fit.
fn records(of: &Records, change: impl FnOnce(&mut Genesis, &mut Vec<EpochRecord>)) -> Vec<u8> {
    let mut records = of.clone();
    let mut epochs = std::mem::take(&mut records.epochs);
    change(&mut records.genesis, &mut epochs);
    for epoch in epochs {
        records.epochs.push(EpochRecord { previous: records.last_id(), ..epoch });
    }
    records.file()
}

/// The good file with another record 0.
fn genesis(of: &Records, change: impl FnOnce(&mut Genesis)) -> Vec<u8> {
    records(of, |genesis, _| change(genesis))
}

/// The good file with another record of an epoch from 1.
fn epoch(of: &Records, epoch: usize, change: impl FnOnce(&mut EpochRecord)) -> Vec<u8> {
    records(of, |_, epochs| change(&mut epochs[epoch - 1]))
}

/// Rules 1 to 3: what is read before any body.
fn frames() -> Vec<Case> {
    let manager = &bbs04().manager;
    let (good, all) = (bbs04().file(), bbs04().bodies());
    let file = |bodies: &[Vec<u8>]| file_by(bodies, manager);
    let early = {
        let mut records = bbs04().clone();
        let last = records.epochs.pop().unwrap().encode();
        file(&[records.bodies(), vec![last]].concat())
    };
    let of = |part: usize, change: fn(&mut Vec<u8>)| body(bbs04(), part, change);
    let twice = bodies(bbs04(), |b| b[1] = b[0].clone());
    vec![
        bad("empty", "header", 0, "No byte.", b""),
        bad("header", "header", 0, "Another line end in the header.", good.set(15, b"\r")),
        bad("truncated-after-header", "truncated", 0, "Nothing follows the header.", &good[..16]),
        bad("truncated-length", "truncated", 0, "The file ends within a length.", &good[..19]),
        bad("truncated-body", "truncated", 0, "The file ends within a body.", &good[..200]),
        bad("truncated-signature", "truncated", 4, "The last byte is missing.", good.cut(1)),
        bad("truncated-register", "truncated", 4, "The register is missing.", file(&all[..4])),
        bad("too-long", "too-long", 0, "A body of 4,097 bytes.", file(&[vec![0; MAX_PART_BYTES + 1]])),
        bad("kind-epoch-first", "kind", 0, "Record 0 is missing.", file(&all[1..])),
        bad("kind-genesis-twice", "kind", 1, "Record 0 again in the place of epoch 1.", twice),
        bad("kind-unknown", "kind", 1, "A part of kind 4.", of(1, |b| b[0] = 4)),
        bad("kind-empty", "kind", 1, "A part without a byte.", of(1, Vec::clear)),
        bad("trailing-register", "trailing-bytes", 5, "The register twice.", bodies(bbs04(), |b| b.push(b[4].clone()))),
        bad("trailing-epoch", "trailing-bytes", 4, "An epoch behind the register of the epochs before.", early),
        bad("trailing-byte", "trailing-bytes", 5, "A byte behind the register, which begins no part.", good.plus([0])),
    ]
}

/// Rule 4, logs: of record 0 of the small group, and of its epochs 1 and 2.
fn logs() -> Vec<Case> {
    let good = with_logs();
    let bad = |name: &str, part: usize, comment: &str, change: &dyn Fn(&mut Vec<u8>)| {
        bad(&format!("xr-layout-log-{name}"), "layout", part as u32, comment, body(&good, part, change))
    };
    let byte = |at: usize, value: u8| move |body: &mut Vec<u8>| body[at] = value;
    // Of record 0: 0 or 1, origin, key. Of an epoch the same behind the change.
    let (of_genesis, of_epoch) = (74, CHANGE + 1);
    let key = of_genesis + 2 + "example.com/first".len();
    vec![
        bad("value", 0, "The byte in front of the log is 2.", &byte(of_genesis, 2)),
        bad("origin-empty", 0, "The origin has no byte.", &byte(of_genesis + 1, 0)),
        bad("origin-plus", 0, "The origin has a plus sign.", &byte(of_genesis + 5, b'+')),
        bad("origin-space", 0, "The origin has a space.", &byte(of_genesis + 5, b' ')),
        bad("origin-control", 0, "The origin has a line end.", &byte(of_genesis + 5, b'\n')),
        bad("key-weak", 0, "The key has small order.", &|body| body[key..key + 32].fill(0)),
        bad("epoch-value", 1, "The byte in front of the log of epoch 1 is 2.", &byte(of_epoch, 2)),
        bad("epoch-long", 1, "A byte too many behind the log of epoch 1.", &|body| body.push(0)),
        bad("epoch-short", 1, "The last byte of the key is missing.", &|body| _ = body.pop()),
        bad("none-long", 2, "A byte behind no log.", &|body| body.push(0)),
        bad("none-short", 2, "The byte in front of the log is missing.", &|body| _ = body.pop()),
    ]
}

/// Rule 4: a byte more or less in each of the first parts.
fn lengths(prefix: &str, of: &Records, parts: &str) -> Vec<Case> {
    let of_part = |(part, name): (usize, &str)| {
        let long = body(of, part, |b| b.push(0));
        let short = body(of, part, |b| _ = b.pop());
        let [longer, shorter] = ["long", "short"].map(|what| format!("{prefix}layout-{name}-{what}"));
        [
            bad(&longer, "layout", part as u32, "A byte too many, and signed.", long),
            bad(&shorter, "layout", part as u32, "A byte is missing, and signed.", short),
        ]
    };
    parts.split(' ').enumerate().flat_map(of_part).collect()
}

/// Where the change of a record is, behind the register that it binds.
const CHANGE: usize = 89;

/// Rule 4: one byte of a body has a value that the field does not have. The last places of record 0
/// are those of the sharing, before its commitments.
fn values() -> Vec<Case> {
    let (bbs04, xr) = (bbs04(), xr());
    let of_bbs04 = bbs04.genesis.encode().len() - 96 - 3;
    let of_xr = xr.genesis.encode().len() - 48 - 3;
    // Of epoch 2 of xr: h, h_w, then origin, t, n.
    let of_epoch = CHANGE + 1 + 96;
    [
        ("scheme", bbs04, 0, 1, 9),
        ("scheme-other", bbs04, 0, 1, 2),
        ("log", bbs04, 0, 74, 2),
        ("name-empty", bbs04, 0, 75, 0),
        ("name-control", bbs04, 0, 76, b'\n'),
        ("name-space", bbs04, 0, 76, b' '),
        ("name-space-end", bbs04, 0, 82, b' '),
        ("name-utf8", bbs04, 0, 76, 0xff),
        ("origin", bbs04, 0, of_bbs04, 0),
        ("origin-distributed", bbs04, 0, of_bbs04, 2),
        ("threshold-zero", bbs04, 0, of_bbs04 + 1, 0),
        ("threshold-above", bbs04, 0, of_bbs04 + 1, 4),
        ("trustees-below", bbs04, 0, of_bbs04 + 2, 1),
        ("trustees-33", bbs04, 0, of_bbs04 + 2, 33),
        ("change", bbs04, 1, CHANGE, 0),
        ("change-steps", bbs04, 1, CHANGE, 1),
        ("change-sharing", bbs04, 1, CHANGE, 2),
        ("rows", bbs04, 1, CHANGE + 2, 2),
        ("xr-log", xr, 0, 74, 2),
        ("xr-origin", xr, 0, of_xr, 3),
        ("xr-threshold", xr, 0, of_xr + 1, 4),
        ("xr-trustees", xr, 0, of_xr + 2, 33),
        ("xr-change", xr, 1, CHANGE, 5),
        ("xr-change-sharing", xr, 1, CHANGE, 2),
        ("xr-steps-none", xr, 1, CHANGE + 1, 0),
        ("xr-steps-two", xr, 1, CHANGE + 1, 2),
        ("xr-checkpoint-none", xr, 5, 4, 0),
        ("xr-checkpoint-hashes", xr, 6, 37, 65),
        ("xr-sharing-origin", xr, 2, of_epoch, 0),
        ("xr-sharing-threshold", xr, 2, of_epoch + 1, 2),
        ("xr-sharing-trustees", xr, 2, of_epoch + 2, 2),
    ]
    .map(|(name, of, part, at, value)| {
        let name = match name.strip_prefix("xr-") {
            Some(name) => format!("xr-layout-{name}"),
            None => format!("layout-{name}"),
        };
        let comment = format!("Byte {at} of record {part} is {value}.");
        bad(&name, "layout", part as u32, &comment, body(of, part, |b| *b = b.set(at, [value])))
    })
    .into()
}

/// Rule 4, several bytes.
fn layouts() -> Vec<Case> {
    let first = |of: &Records, change: Change| epoch(of, 1, |e| e.change = change);
    let rows = |revoked| first(bbs04(), Change::Rebase { revoked });
    let steps = Change::Steps(vec![XR.steps[0][0].to_bytes(); 49]);
    let no_machine = epoch(bbs04(), 1, |e| e.machines = 0);
    let no_register = body(bbs04(), 4, |b| b[41..45].fill(0));
    vec![
        bad("layout-rows-equal", "layout", 1, "A rebase names a row twice.", rows(vec![1, 1])),
        bad("layout-rows-falling", "layout", 1, "Rows of a rebase in falling order.", rows(vec![2, 1])),
        bad("layout-rows-many", "layout", 1, "A rebase of 901 rows.", rows((0..901).collect())),
        bad("layout-steps-many", "layout", 1, "A record of 49 steps.", first(xr(), steps)),
        bad("layout-root", "layout", 1, "Epoch 1 binds no machine, and a root.", no_machine),
        bad("layout-register-root", "layout", 4, "A register of no machine with a root.", no_register),
    ]
}

/// Rule 6: nothing follows an end, and an end starts when it is made.
fn ends() -> Vec<Case> {
    let end = || {
        let (stolen_since, successor) = (None, None);
        Change::End(End { stolen_since, successor })
    };
    let follows = epoch(bbs04(), 1, |e| {
        (e.change, e.start) = (end(), e.made);
    });
    let planned = epoch(bbs04(), 1, |e| {
        e.change = end();
        e.start = e.made + Duration::from_secs(1);
    });
    vec![
        bad("ended-record", "ended", 2, "A record follows the end of the group.", follows),
        bad("ended-planned", "ended", 1, "An end that starts a second after it was made.", planned),
    ]
}

/// Rule 4: names with characters that nobody sees, or that are blank.
fn names() -> Vec<Case> {
    let named = |name: &str, comment: &str, hidden: char| {
        let file = body(bbs04(), 0, |b| *b = b.set(77, hidden.to_string()));
        bad(&format!("layout-name-{name}"), "layout", 0, comment, file)
    };
    vec![
        named("space-none", "A zero width space in the name.", '\u{200b}'),
        named("joiner", "A zero width joiner, as in emoji.", '\u{200d}'),
        named("override", "The name is shown from right to left.", '\u{202e}'),
        named("hyphen", "A soft hyphen in the name.", '\u{ad}'),
        named("tag", "A tag, beyond the first plane.", '\u{e0061}'),
        named("glyphs", "A sign of Unicode 15 that joins hieroglyphs.", '\u{1343f}'),
        named("selector", "A variation selector, as in emoji.", '\u{fe0f}'),
        named("filler", "A letter that is blank.", '\u{3164}'),
        named("space-no-break", "A no-break space.", '\u{a0}'),
        named("space-wide", "An ideographic space.", '\u{3000}'),
        named("line", "A line separator.", '\u{2028}'),
        named("braille", "A Braille pattern without dots.", '\u{2800}'),
        named("reserved", "The last of those that Unicode has reserved for invisible characters.", '\u{e0fff}'),
    ]
}

/// Rule 5.
fn signatures() -> Vec<Case> {
    let (all, good, mut end) = (bbs04().bodies(), bbs04().file(), HEADER.len());
    let flipped = |(part, body): (usize, &Vec<u8>)| {
        end += 4 + body.len() + 64;
        let comment = format!("One bit of the signature of part {part} is flipped.");
        bad(&format!("signature-{part}"), "signature", part as u32, &comment, good.flip(end - 40))
    };
    let mut cases: Vec<Case> = all.iter().enumerate().map(flipped).collect();
    let stranger = file_by(&all, &SigningKey::from_bytes(&hash(b"stranger")));
    // The neutral point: with R the same and s = 0, verification that is not strict says yes.
    let neutral = [0; 32].set(0, [1]);
    let small = genesis(bbs04(), |g| g.manager.copy_from_slice(&neutral));
    let forged = small.set(16 + 4 + all[0].len(), neutral.plus([0; 32]));
    let comment = "The manager key is the neutral point, and the signature fits any message.";
    cases.extend([
        bad("signature-stranger", "signature", 0, "Another key signed all parts.", stranger),
        bad("signature-small-order", "signature", 0, comment, forged),
    ]);
    cases
}

/// Rule 6.
fn chains() -> Vec<Case> {
    let (start, made, created) = (bbs04().epochs[0].start, bbs04().epochs[0].made, bbs04().genesis.created);
    let tick = Duration::from_nanos(1);
    let times = |number, made, start| epoch(bbs04(), number, |e| (e.made, e.start) = (made, start));
    let numbered = |number, other| epoch(bbs04(), number, |e| e.epoch = other);
    let previous = body(bbs04(), 2, |b| b[5] ^= 1);
    let cut = |of, part| bodies(of, |b| drop(b.remove(part)));
    vec![
        bad("epoch-skipped", "epoch", 2, "Epoch 3 follows epoch 1.", numbered(2, 3)),
        bad("epoch-zero", "epoch", 1, "The first epoch record has number 0.", numbered(1, 0)),
        bad("chain-previous", "chain", 2, "Epoch 2 names another record before it.", previous),
        bad("chain-register", "chain", 3, "The newest epoch was cut away.", cut(bbs04(), 2)),
        bad("xr-chain-register", "chain", 7, "The newest epoch was cut away.", cut(xr(), 4)),
        bad("start-before-made", "start", 1, "Epoch 1 starts before its record was made.", times(1, start + tick, start)),
        bad("start-made-earlier", "start", 2, "Record 2 was made before record 1.", times(2, made - tick, start + tick)),
        bad("start-made-before-group", "start", 1, "Record 1 was made before the group.", times(1, created - tick, start)),
    ]
}

/// Rule 6, revocations.
fn revocations() -> Vec<Case> {
    let rows = records(bbs04(), |_, epochs| epochs[1].change = epochs[0].change.clone());
    let again = records(xr(), |_, epochs| epochs[2].change = epochs[0].change.clone());
    let both = epoch(xr(), 1, |e| e.change = Change::Steps(vec![XR.steps[0][0].to_bytes(); 2]));
    vec![
        bad("revoked-twice-rows", "revoked-twice", 2, "Two rebases revoke one row.", rows),
        bad("revoked-twice-x", "revoked-twice", 3, "Two records revoke one x.", again),
        bad("revoked-twice-x-at-once", "revoked-twice", 1, "One record revokes one x twice.", both),
    ]
}

/// Rules 7 and 8, the register's sizes.
fn checkpoints() -> Vec<Case> {
    let bad =
        |name: &str, part, comment: &str, file: Vec<u8>| bad(&format!("xr-checkpoint-{name}"), "checkpoint", part, comment, file);
    let of = |part: usize, change: fn(&mut Vec<u8>)| body(xr(), part, change);
    // The body has a proof of one hash, whose number is there.
    let proof = |part: usize, at: usize| body(xr(), part, |b| *b = b.set(at, [1]).plus([0; 32]));
    let fork = {
        let mut other = xr().clone();
        other.entries.truncate(2);
        other.entries[1].joined += 1;
        other.checkpoints = vec![2];
        body(xr(), 5, |b| *b = other.checkpoint_bodies().remove(0))
    };
    let of_register = body(&grown(), 8, |b| *b = b.flip(-1));
    vec![
        bad("root", 6, "The root of the second is one bit off.", of(6, |b| b[5] ^= 1)),
        bad("proof", 6, "A hash of its proof is one bit off.", of(6, |b| b[40] ^= 1)),
        bad("fork", 6, "The first is of another register.", fork),
        bad("not-growing", 6, "The second is not larger.", of(6, |b| b[4] = 2)),
        bad("first-proof", 5, "The first has a proof.", proof(5, 37)),
        bad("register", 8, "The register's proof is one bit off.", of_register),
        bad("register-smaller", 8, "The register is smaller.", of(8, |b| b[44] = 3)),
        bad("register-proof", 8, "The register is as large as the last, and has a proof.", proof(8, 77)),
    ]
}

/// The group of xr with a machine more than the last checkpoint.
fn grown() -> Records {
    let mut records = xr().clone();
    records.entries.push(records.entries[0].clone());
    records
}

/// Rule 8, the register that each record binds.
fn bindings() -> Vec<Case> {
    let bad = |name: &str, part, comment: &str, file: Vec<u8>| {
        bad(&format!("xr-checkpoint-record-{name}"), "checkpoint", part, comment, file)
    };
    let bound =
        |of: &Records, number: usize, size: (u32, [u8; 32])| epoch(of, number, |record| (record.machines, record.root) = size);
    let mut missing = xr().clone();
    missing.checkpoints.pop();
    let (five, root) = xr().size(5);
    let other = (five, root.flip(31).try_into().unwrap());
    let four = bound(xr(), 2, xr().size(4));
    vec![
        bad("fewer", 3, "Epoch 3 binds two machines, and epoch 2 three.", bound(xr(), 3, xr().size(2))),
        bad("none", 4, "Epoch 4 binds no machine, and epoch 3 five.", bound(xr(), 4, (0, [0; 32]))),
        bad("root", 4, "Epoch 4 binds another root than the checkpoint has.", bound(xr(), 4, other)),
        bad("missing", 3, "The checkpoint of epochs 3 and 4 is missing.", missing.file()),
        bad("between", 2, "Epoch 2 binds four machines, of which there is no checkpoint.", four),
        bad("register", 4, "Epoch 4 binds the register, which is no checkpoint.", bound(&grown(), 4, grown().size(6))),
    ]
}

/// Each part is checked before the next one is looked at.
fn first_bad_parts() -> Vec<Case> {
    let all = bbs04().bodies();
    let file = |bodies: &[Vec<u8>]| file_by(bodies, &bbs04().manager);
    let parts = |bodies: &[Vec<u8>]| file(bodies)[HEADER.len()..].to_vec();
    let begun = file(&all[..2]).flip(-1);
    let long = begun.plus([0xff; 8]);
    let swapped = begun.plus(parts(&all[4..])).plus(parts(&all[2..]));
    let chain = bodies(bbs04(), |b| {
        b[1][5] ^= 1;
        b[2].push(0);
    });
    let cut = "The signature of part 1 is one bit off, and the file ends there.";
    let both = "Epoch 1 names another record before it, and epoch 2 has a byte too many.";
    vec![
        bad("first-signature-cut", "signature", 1, cut, &begun),
        bad("first-signature-long", "signature", 1, "The same, and a part that is too long follows.", long),
        bad("first-signature-kind", "signature", 1, "The same, and the register stands before epoch 2.", swapped),
        bad("first-chain", "chain", 1, both, chain),
    ]
}

/// Rule 9 of bbs04.
fn keys() -> Vec<Case> {
    let founding = |at: usize, point: Vec<u8>| genesis(bbs04(), |g| *g.founding = g.founding.set(at, point).try_into().unwrap());
    vec![
        bad("public-key-identity", "public-key", 0, "u is the identity.", founding(0, identity(48))),
        bad("public-key-off-curve", "public-key", 0, "v is no point.", founding(48, vec![0xff; 48])),
        bad("public-key-w", "public-key", 0, "w is the identity.", founding(96, identity(96))),
    ]
}

/// Rules 9, 11 and 12 of xr.
fn xr_keys() -> Vec<Case> {
    let bad = |name: &str, part: u32, comment: &str, file: Vec<u8>| {
        bad(&format!("xr-public-key-{name}"), "public-key", part, comment, file)
    };
    let founding = |damage: fn(&[u8]) -> Vec<u8>| genesis(xr(), |g| *g.founding = damage(&g.founding[..]).try_into().unwrap());
    let proof = |at: usize| genesis(xr(), |g| g.issuer_proof.as_mut().unwrap()[at] ^= 1);
    let steps = |number: usize, change: &dyn Fn(&mut Vec<[u8; 80]>)| {
        epoch(xr(), number, |record| {
            if let Change::Steps(steps) = &mut record.change {
                change(steps);
            }
        })
    };
    // The step of epoch 1: x, then V.
    let step = |damage: fn(&[u8]) -> Vec<u8>| steps(1, &|steps| steps[0] = damage(&steps[0]).try_into().unwrap());
    let h_w = epoch(xr(), 2, |record| {
        if let Change::Sharing(new) = &mut record.change {
            new.h_w = new.h_w.doubled(0, 48).try_into().unwrap();
        }
    });
    vec![
        bad("nonce", 0, "The proof of gamma is for another nonce.", genesis(xr(), |g| g.nonce[0] ^= 1)),
        bad("identity", 0, "h is the identity.", founding(|key| key.set(0, identity(48)))),
        bad("order-3", 0, "h is (0, 2), which has order 3.", founding(|key| key.set(0, order_3()))),
        bad("h", 0, "h is another point than that of h_w.", founding(|key| key.doubled(0, 48))),
        bad("h-w", 0, "h_w is another point.", founding(|key| key.doubled(48, 48))),
        bad("proof-c", 0, "c of the proof of gamma is one bit off.", proof(31)),
        bad("proof-s", 0, "s of the proof of gamma is one bit off.", proof(63)),
        bad("other-h-w", 2, "The new h_w of epoch 2 is another point.", h_w),
        bad("step-v", 1, "V of epoch 1 is another point: no step leads there.", step(|s| s.doubled(32, 48))),
        bad("step-x", 1, "x of epoch 1 is another.", step(|s| s.flip(31))),
        bad("step-swapped", 3, "The two steps of epoch 3 in the other order.", steps(3, &|steps| steps.swap(0, 1))),
        bad("step-identity", 1, "V of epoch 1 is the identity.", step(|s| s.set(32, identity(48)))),
        bad("step-order-3", 1, "V of epoch 1 is (0, 2).", step(|s| s.set(32, order_3()))),
        bad("step-x-zero", 1, "x of epoch 1 is zero.", step(|s| s.set(0, [0; 32]))),
    ]
}

/// Rule 10.
fn sharings() -> Vec<Case> {
    let first =
        |of: &Records, at: usize, point: Vec<u8>| genesis(of, |g| g.sharing.commitments = g.sharing.commitments.set(at, point));
    let later = epoch(xr(), 2, |record| {
        if let Change::Sharing(new) = &mut record.change {
            new.sharing.commitments = new.sharing.commitments.set(48, identity(48));
        }
    });
    vec![
        bad("sharing-u", "sharing", 0, "C_1 in base u is the identity.", first(bbs04(), 0, identity(48))),
        bad("sharing-v", "sharing", 0, "C_1 in base v is the identity.", first(bbs04(), 48, identity(48))),
        bad("xr-sharing", "sharing", 0, "C_1 is the identity.", first(xr(), 0, identity(48))),
        bad("xr-sharing-off-curve", "sharing", 0, "C_1 is no point.", first(xr(), 0, vec![0xff; 48])),
        bad("xr-sharing-order-3", "sharing", 0, "C_1 is (0, 2).", first(xr(), 0, order_3())),
        bad("xr-sharing-epoch-2", "sharing", 2, "C_2 of epoch 2 is the identity.", later),
    ]
}
