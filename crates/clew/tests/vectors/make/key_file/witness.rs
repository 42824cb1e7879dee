//! Vectors of witness buckets.

use clew_group::DecodeError;
use clew_keys::witness_file::encode;

use crate::case::Case;
use crate::make::damage::{Damage, identity, near};
use crate::make::groups::records::NONCE;
use crate::make::groups::xr_group::{NEWEST, XR};

/// Where the witnesses are: magic, group, epoch, first row, count.
const ROWS: usize = 16 + 16 + 4 + 4 + 2;

/// The bucket of the rebase: of five machines three are revoked, and `web-4` follows.
fn bucket() -> Vec<u8> {
    let of = |at: usize| {
        let revoked = [false, true, true, false, true][at];
        let witness = XR.witness(&format!("web-{}", at + 1), NEWEST).to_bytes();
        (!revoked).then(|| witness.as_slice().try_into().unwrap())
    };
    let witnesses: Vec<_> = (0..5).map(of).collect();
    encode(XR.records.id(), NEWEST as u32, 0, &witnesses)
}

fn case(name: &str, expect: &str, comment: &str, file: &[u8], index: u32) -> Case {
    let name = format!("witness{name}");
    Case::new("key-file", &name, expect, comment)
        .text("wanted", "clew-witness-1")
        .hex("file", file)
        .hex("group", XR.records.id().0)
        .hex("epoch", (NEWEST as u32).to_be_bytes())
        .hex("index", index.to_be_bytes())
}

pub fn all() -> Vec<Case> {
    let good = bucket();
    let valid = |name: &str, comment: &str, index: u32| {
        let witness = XR.witness(&format!("web-{}", index + 1), NEWEST);
        case(name, "valid", comment, &good, index).each("witness", [witness.to_bytes().to_vec()])
    };
    let set = |at: usize, value: &[u8]| good.set(at, value);
    let bad = |name: &str, rule: &str, comment: &str, file: &[u8]| case(&format!("-{name}"), rule, comment, file, 0);
    let none = [&good[..ROWS - 2], &[0, 0]].concat();
    let many = [&good[..ROWS - 2], &1025u16.to_be_bytes(), &[7; 48 * 1025]].concat();
    let next = set(36, &1024u32.to_be_bytes());
    vec![
        valid("", "The witness of the first machine.", 0),
        valid("-4", "The witness of the fourth.", 3),
        bad("header", "layout", "Another header.", &set(15, &[1])),
        bad("header-cut", "layout", "It ends within the header.", &good[..ROWS - 1]),
        bad("none", "layout", "No row.", &none),
        bad("many", "layout", "1,025 rows.", &many),
        bad("cut", "layout", "The last byte is missing.", &good.cut(1)),
        bad("long", "layout", "A byte too many.", &good.plus([0])),
        bad("group", "other-group", "Of another group.", &set(16, &NONCE[..16])),
        bad("epoch", "other-epoch", "Of epoch 3.", &set(32, &3u32.to_be_bytes())),
        bad("rows", "other-rows", "Of rows 1,024 and on.", &next),
        case("-revoked", "no-witness", "Zeros: the second machine was revoked.", &good, 1),
        case("-younger", "no-witness", "A machine that enrolled later.", &good, 5),
        bad("identity", "point", "The witness is the identity.", &set(ROWS, &identity(48))),
        bad("off-curve", "point", "The witness is no point.", &set(ROWS, &near(&good[ROWS..ROWS + 48], DecodeError::Point))),
    ]
}
