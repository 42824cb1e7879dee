//! Vectors of bbs04: keys, witnesses, rows, opening.

use clew_group::DecodeError;
use clew_group::bbs04::{Opening, Signature};
use clew_group::curve::{G1, G2};

use crate::case::Case;
use crate::make::damage::{Damage, R, TWO_RULES, add, another, bad_encodings, near, two_rules};
use crate::make::group_signature::bbs04_signatures::{MESSAGE, sign};
use crate::make::groups::bbs04_group::{BBS04, x};
use crate::make::groups::records::NONCE;
use crate::make::{Key, flat, with_key};

/// Where a founding key has its points.
const POINTS: [(&str, usize, usize); 3] = [("u", 0, 48), ("v", 48, 48), ("w", 96, 96)];

/// The newest epoch.
const NEWEST: usize = 2;

pub fn all() -> Vec<Case> {
    flat([keys(), bad_public_keys(), bad_secret_keys(), witnesses(), rows(), opening()])
}

/// A case that asks for `check`.
pub fn case(check: &str, name: &str, expect: &str, comment: &str) -> Case {
    Case::new("group-signature", name, expect, comment).text("check", check)
}

fn keys() -> Vec<Case> {
    let h = Opening::hash_h(&NONCE).to_bytes();
    let comment = "h of the group's nonce, and the V of epoch 0.";
    let rebase = &BBS04.records.epochs[0];
    let mut cases = vec![
        case("hash-h", "h", "valid", comment).hex("nonce", NONCE).hex("h", h).hex("first-v", BBS04.public[0].v().to_bytes()),
        case("rebased-v", "rebased-v", "valid", "The V of a rebase.")
            .hex("nonce", NONCE)
            .hex("epoch", rebase.epoch.to_be_bytes())
            .hex("epoch-id", rebase.epoch_id())
            .hex("rebased-v", BBS04.public[1].v().to_bytes()),
    ];
    for (epoch, key) in BBS04.public.iter().enumerate() {
        let (name, comment) = (format!("public-key-{epoch}"), format!("The public key of epoch {epoch}."));
        cases.push(with_key(case("public-key", &name, "valid", &comment), key));
    }
    let comment = "The issuer makes the member key of an x.";
    cases.push(
        case("issuer-key", "issue", "valid", comment)
            .hex("gamma", BBS04.issuer.to_bytes().as_slice())
            .hex("x", x("web-1").to_bytes())
            .hex("member-key", BBS04.member("web-1").to_bytes().as_slice()),
    );
    for epoch in [0, NEWEST] {
        let (name, comment) = (format!("member-key-{epoch}"), format!("A member key with its witness of epoch {epoch}."));
        let witness = BBS04.witness("web-1", epoch).to_bytes();
        let key = BBS04.member("web-1").to_bytes();
        cases.push(member(&name, "valid", &comment, epoch, [&key, &witness]));
    }
    let comment = "The opener key fits u, v and h.";
    let case = with_key(case("opener-key", "opener-key", "valid", comment), &BBS04.public[0]);
    cases.push(case.hex("opener-key", BBS04.opener.to_bytes().as_slice()));
    cases
}

fn bad_public_keys() -> Vec<Case> {
    let (good, v) = BBS04.public[NEWEST].parts();
    let refused = |name: &str, rule: &str, comment: &str, key: &[u8], v: &[u8]| {
        case("public-key", &format!("public-key-{name}"), rule, comment).hex("nonce", NONCE).hex("founding-key", key).hex("v", v)
    };
    let longer = good.plus([0]);
    let minus_g1 = (-G1::generator()).to_bytes();
    let mut cases = vec![
        refused("short", "length", "A byte is missing.", &good[..191], &v),
        refused("long", "length", "A byte too many.", &longer, &v),
        refused("no-base", "invalid", "V is 1/g1: the base is the identity.", &good, &minus_g1),
    ];
    for (point, at, length) in POINTS {
        for (what, rule, comment, bytes) in bad_encodings(&good, point, at..at + length) {
            cases.push(refused(&format!("{point}-{what}"), rule, &comment, &bytes, &v));
        }
    }
    for (what, rule, comment, bytes) in bad_encodings(&v, "V", 0..48) {
        cases.push(refused(&format!("base-{what}"), rule, &comment, &good, &bytes));
    }
    cases
}

fn member(name: &str, expect: &str, comment: &str, epoch: usize, parts: [&[u8]; 2]) -> Case {
    let [key, witness] = parts;
    with_key(case("member-key", name, expect, comment), &BBS04.public[epoch]).hex("member-key", key).hex("witness", witness)
}

/// A good member key with a witness that is none.
fn witnesses() -> Vec<Case> {
    let key = BBS04.member("web-1").to_bytes();
    let good = BBS04.witness("web-1", NEWEST).to_bytes();
    let bad = |name: &str, rule: &str, comment: &str, witness: &[u8]| {
        let name = format!("witness-{name}");
        member(&name, rule, comment, NEWEST, [&key, witness])
    };
    let of = |name: &str, epoch| BBS04.witness(name, epoch).to_bytes();
    let mut cases = vec![
        bad("short", "length", "A byte is missing.", &good[..47]),
        bad("old", "invalid", "The witness of the epoch before.", &of("web-1", 1)),
        bad("other-machine", "invalid", "That of another machine.", &of("web-2", NEWEST)),
        bad("other", "invalid", "Another point.", &another(&good)),
    ];
    for (what, rule, comment, bytes) in bad_encodings(&good, "W", 0..48) {
        cases.push(bad(what, rule, &comment, &bytes));
    }
    cases
}

fn row(name: &str, expect: &str, comment: &str, epoch: usize, [a, x, b]: [&[u8]; 3]) -> Case {
    with_key(case("row", &format!("row{name}"), expect, comment), &BBS04.public[epoch]).hex("a", a).hex("public-x", x).hex("b", b)
}

/// What a judge checks of a row.
fn rows() -> Vec<Case> {
    let parts = |name: &str, epoch| {
        let key = BBS04.member(name);
        let x: G2 = key.public_x();
        let b = BBS04.base(name, epoch).to_bytes();
        (key.credential().to_bytes(), x.to_bytes(), b)
    };
    let (a, of_x, b) = parts("web-1", NEWEST);
    let (other_a, other_x, other_b) = parts("web-2", NEWEST);
    let bad = |name: &str, comment: &str, parts: [&[u8]; 3]| row(name, "invalid", comment, NEWEST, parts);
    vec![
        row("", "valid", "The row of a machine.", NEWEST, [&a, &of_x, &b]),
        bad("-other-a", "A of another row.", [&other_a, &of_x, &b]),
        bad("-other-x", "X of another row.", [&a, &other_x, &b]),
        bad("-other-b", "B of another machine.", [&a, &of_x, &other_b]),
        row("-other-epoch", "invalid", "B of another epoch.", 0, [&a, &of_x, &b]),
    ]
}

fn bad_secret_keys() -> Vec<Case> {
    let key = BBS04.member("web-1").to_bytes();
    let witness = BBS04.witness("web-1", NEWEST).to_bytes();
    let bad_member = |name: &str, rule: &str, comment: &str, key: &[u8]| member(name, rule, comment, NEWEST, [key, &witness]);
    let a_off = near(&key[..48], DecodeError::Point);
    let opener = BBS04.opener.to_bytes();
    let bad_opener = |name: &str, rule: &str, comment: &str, key: &[u8]| {
        with_key(case("opener-key", name, rule, comment), &BBS04.public[0]).hex("opener-key", key)
    };
    let swapped = [&opener[32..], &opener[..32]].concat();
    let bad_issuer =
        |name: &str, rule: &str, comment: &str, gamma: &[u8]| case("issuer-key", name, rule, comment).hex("gamma", gamma);
    vec![
        bad_member("member-key-short", "length", "A byte is missing.", &key[..79]),
        bad_member("member-key-a-off-curve", "point", "A is no point of the curve.", &key.set(0, &a_off)),
        bad_member("member-key-x-not-reduced", "scalar", "x + r in the place of x.", &key.set(48, add(&key[48..], R))),
        bad_member("member-key-x-zero", "scalar", "x is zero.", &key.set(48, [0; 32])),
        bad_member("member-key-two-rules", "scalar", TWO_RULES, &two_rules(&key[..], 0, 48)),
        bad_member("member-key-other-x", "invalid", "x is of another machine.", &key.set(48, x("web-2").to_bytes())),
        bad_opener("opener-key-short", "length", "A byte is missing.", &opener[..63]),
        bad_opener("opener-key-zero", "scalar", "xi2 is zero.", &opener.set(32, [0; 32])),
        bad_opener("opener-key-swapped", "invalid", "xi1 and xi2 are exchanged.", &swapped),
        bad_issuer("issuer-key-zero", "scalar", "gamma is zero.", &[0; 32]),
        bad_issuer("issuer-key-not-reduced", "scalar", "gamma is r.", &hex::decode(R).unwrap()),
    ]
}

fn opening() -> Vec<Case> {
    [0, NEWEST]
        .map(|epoch: usize| {
            let name = format!("open-epoch-{epoch}");
            let bytes = &sign(epoch, &name, MESSAGE)[..336];
            let base = BBS04.opener.open(&Signature::from_bytes(bytes).unwrap());
            assert_eq!(base, BBS04.base("web-1", epoch));
            let case = case("open", &name, "valid", "The base in a signature.");
            with_key(case, &BBS04.public[epoch])
                .hex("opener-key", BBS04.opener.to_bytes().as_slice())
                .hex("signature", bytes)
                .hex("b", base.to_bytes())
        })
        .into()
}
