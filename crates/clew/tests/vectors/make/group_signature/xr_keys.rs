//! Vectors of xr: generators, public keys, the checks when one is loaded, secret keys, rows.

use clew_group::DecodeError;
use clew_group::curve::{G1, Scalar};
use clew_group::xr::Generators;

use crate::case::Case;
use crate::make::damage::{Damage, R, TWO_RULES, bad_points, bad_proofs, near, two_rules};
use crate::make::groups::records::NONCE;
use crate::make::groups::xr_group::{NEWEST, XR, x};
use crate::make::{Key, flat, hash, rng, scalar, with_key};

/// Where a founding key has its points.
const POINTS: [(&str, usize, usize); 3] = [("h", 0, 48), ("h-w", 48, 48), ("w", 96, 96)];

pub fn all() -> Vec<Case> {
    flat([keys(), bad_public_keys(), genesis_checks(), secret_keys(), witnesses(), rows()])
}

/// A case that asks for `check`; the name begins with that of the scheme.
pub fn case(check: &str, name: &str, expect: &str, comment: &str) -> Case {
    let name = format!("xr-{name}");
    Case::new("group-signature", &name, expect, comment).text("check", &format!("xr-{check}"))
}

pub fn genesis() -> [u8; 192] {
    XR.public[0].founding_bytes()
}

fn keys() -> Vec<Case> {
    let Generators { u, g1, h0 } = Generators::of(&NONCE);
    let comment = "The generators of the group's nonce, and the V of epoch 0.";
    let rebase = &XR.records.epochs[NEWEST - 1];
    let mut cases = vec![
        case("generators", "generators", "valid", comment)
            .hex("nonce", NONCE)
            .hex("u", u.to_bytes())
            .hex("g1", g1.to_bytes())
            .hex("h0", h0.to_bytes())
            .hex("v", XR.public[0].v().to_bytes()),
        case("rebased-v", "rebased-v", "valid", "The V of a rebase.")
            .hex("nonce", NONCE)
            .hex("epoch", rebase.epoch.to_be_bytes())
            .hex("epoch-id", rebase.epoch_id())
            .hex("v", XR.public[NEWEST].v().to_bytes()),
    ];
    for (epoch, key) in XR.public.iter().enumerate() {
        let (name, comment) = (format!("public-key-{epoch}"), format!("The public key of epoch {epoch}."));
        cases.push(with_key(case("public-key", &name, "valid", &comment), key));
    }
    cases
}

fn bad_public_keys() -> Vec<Case> {
    let (good, v) = XR.public[NEWEST].parts();
    let refused = |name: &str, rule: &str, comment: &str, key: &[u8], v: &[u8]| {
        case("public-key", &format!("public-key-{name}"), rule, comment).hex("nonce", NONCE).hex("founding-key", key).hex("v", v)
    };
    let longer = good.plus([0]);
    let minus_g1 = (-Generators::of(&NONCE).g1).to_bytes();
    let mut cases = vec![
        refused("short", "length", "A byte is missing.", &good[..191], &v),
        refused("long", "length", "A byte too many.", &longer, &v),
        refused("v-short", "length", "A byte of V is missing.", &good, &v[..47]),
        refused("no-base", "invalid", "V is 1/g1: the base is the identity.", &good, &minus_g1),
    ];
    for (point, at, length) in POINTS {
        for (what, rule, comment, bytes) in bad_points(&good, point, at..at + length) {
            cases.push(refused(&format!("{point}-{what}"), rule, &comment, &bytes, &v));
        }
    }
    for (what, rule, comment, bytes) in bad_points(&v, "V", 0..48) {
        cases.push(refused(&format!("v-{what}"), rule, &comment, &good, &bytes));
    }
    cases
}

fn genesis_case(name: &str, expect: &str, comment: &str, key: &[u8], proof: &[u8]) -> Case {
    case("genesis", &format!("genesis{name}"), expect, comment).hex("nonce", NONCE).hex("founding-key", key).hex("proof", proof)
}

/// The proof of gamma that the issuer makes for another nonce.
fn proof_of_other_nonce() -> [u8; 64] {
    let h = XR.public[0].h();
    let (_, proof) = XR.issuer.found(&hash(b"other"), h, &mut rng("proof of other nonce"));
    proof.to_bytes()
}

/// Section 3.1, epoch 0.
fn genesis_checks() -> Vec<Case> {
    let (key, proof) = (genesis(), XR.issuer_proof.to_bytes());
    let good = "The first key passes the checks of epoch 0.";
    let mut cases = vec![genesis_case("", "valid", good, &key, &proof)];
    for (point, at, length) in POINTS {
        let (name, comment) = (format!("-other-{point}"), format!("{point} is another point."));
        let key = key.doubled(at, length);
        cases.push(genesis_case(&name, "invalid", &comment, &key, &proof));
    }
    for (what, rule, comment, proof) in bad_proofs(&proof, 0) {
        cases.push(genesis_case(&format!("-proof-{what}"), rule, &comment, &key, &proof));
    }
    let (other, comment) = (proof_of_other_nonce(), "A proof of the same gamma for another nonce.");
    cases.push(genesis_case("-proof-other-nonce", "invalid", comment, &key, &other));
    let (short, comment) = (&proof[..63], "A byte of the proof is missing.");
    cases.push(genesis_case("-proof-short", "length", comment, &key, short));
    cases
}

fn member(name: &str, expect: &str, comment: &str, epoch: usize, parts: [&[u8]; 2]) -> Case {
    let [key, witness] = parts;
    with_key(case("member-key", name, expect, comment), &XR.public[epoch]).hex("member-key", key).hex("witness", witness)
}

/// The member key and the witness that most cases break.
fn member_key() -> (Vec<u8>, [u8; 48]) {
    let key = XR.machine("web-1").key.to_bytes().to_vec();
    (key, XR.witness("web-1", NEWEST).to_bytes())
}

fn secret_keys() -> Vec<Case> {
    let (gamma, (key, witness)) = (XR.issuer.to_bytes(), member_key());
    let issuer =
        |name: &str, rule: &str, comment: &str, gamma: &[u8]| case("issuer-key", name, rule, comment).hex("gamma", gamma);
    let good_issuer = issuer("issuer-key", "valid", "gamma gives the first key.", &gamma[..])
        .hex("nonce", NONCE)
        .hex("h", XR.public[0].h().to_bytes())
        .hex("founding-key", genesis());
    let mut cases = vec![
        good_issuer,
        issuer("issuer-key-zero", "scalar", "gamma is zero.", &[0; 32]),
        issuer("issuer-key-not-reduced", "scalar", "gamma is r.", &hex::decode(R).unwrap()),
        issuer("issuer-key-short", "length", "A byte is missing.", &gamma[..31]),
    ];
    for epoch in [0, 1, NEWEST] {
        let (name, comment) = (format!("member-key-{epoch}"), format!("A member key with its witness of epoch {epoch}."));
        let witness = XR.witness("web-1", epoch).to_bytes();
        cases.push(member(&name, "valid", &comment, epoch, [&key, &witness]));
    }
    let off_curve = near(&key[..48], DecodeError::Point);
    let damaged: [(&str, &str, &str, Vec<u8>); 9] = [
        ("two-rules", "scalar", TWO_RULES, two_rules(&key, 0, 80)),
        ("short", "length", "A byte is missing.", key[..111].to_vec()),
        ("a-off-curve", "point", "A is no point of the curve.", key.set(0, &off_curve)),
        ("other-a", "invalid", "A is another point.", key.doubled(0, 48)),
        ("other-x", "invalid", "x is one bit off.", key.flip(79)),
        ("other-y", "invalid", "y is one bit off.", key.flip(111)),
        ("x-not-reduced", "scalar", "x + r in the place of x.", key.unreduced(48)),
        ("x-zero", "scalar", "x is zero.", key.set(48, [0; 32])),
        ("y-zero", "scalar", "y is zero.", key.set(80, [0; 32])),
    ];
    for (name, rule, comment, key) in damaged {
        let name = format!("member-key-{name}");
        cases.push(member(&name, rule, comment, NEWEST, [&key, &witness]));
    }
    cases
}

/// A good member key with a witness that is none.
fn witnesses() -> Vec<Case> {
    let (key, good) = member_key();
    let bad = |name: &str, rule: &str, comment: &str, witness: &[u8]| {
        let name = format!("witness-{name}");
        member(&name, rule, comment, NEWEST, [&key, witness])
    };
    let of = |name: &str, epoch| XR.witness(name, epoch).to_bytes();
    let v = XR.public[NEWEST].v().to_bytes();
    let mut cases = vec![
        bad("short", "length", "A byte is missing.", &good[..47]),
        bad("old", "invalid", "The witness of the epoch before.", &of("web-1", NEWEST - 1)),
        bad("other-machine", "invalid", "The witness of another machine.", &of("web-4", NEWEST)),
        bad("v", "invalid", "V in the place of the witness.", &v),
        bad("other", "invalid", "Another point.", &good.doubled(0, 48)),
    ];
    for (what, rule, comment, bytes) in bad_points(&good, "W", 0..48) {
        cases.push(bad(what, rule, &comment, &bytes));
    }
    cases
}

/// A row with an opened base: A, C, x, B.
fn row(name: &str, expect: &str, comment: &str, epoch: usize, [a, c, x, b]: [&[u8]; 4]) -> Case {
    with_key(case("row", &format!("row{name}"), expect, comment), &XR.public[epoch])
        .hex("a", a)
        .hex("c", c)
        .hex("x", x)
        .hex("b", b)
}

/// What a judge checks of a row (3.6), and Q, by which an auditor finds it.
fn rows() -> Vec<Case> {
    let parts = |name: &str, epoch| {
        let key = &XR.machine(name).key;
        let c = key.commitment(&XR.public[0]).to_bytes();
        let b = XR.base(name, epoch);
        (key.credential().to_bytes(), c, x(name).to_bytes(), b)
    };
    let (a, c, of_x, b) = parts("web-1", NEWEST);
    let (other_a, other_c, other_x, other_b) = parts("web-4", NEWEST);
    let bytes = b.to_bytes();
    let q = XR.issuer.locator(&b);
    let (chosen_x, chosen_b) = free_x(&c);
    let bad = |name: &str, comment: &str, parts: [&[u8]; 4]| row(name, "invalid", comment, NEWEST, parts);
    vec![
        row("", "valid", "The row of a machine, and Q.", NEWEST, [&a, &c, &of_x, &bytes])
            .hex("gamma", XR.issuer.to_bytes().as_slice())
            .hex("q", q.to_bytes()),
        bad("-other-a", "A of another row.", [&other_a, &c, &of_x, &bytes]),
        bad("-other-c", "C of another row.", [&a, &other_c, &of_x, &bytes]),
        bad("-other-x", "x of another row.", [&a, &c, &other_x, &bytes]),
        bad("-other-b", "B of another machine.", [&a, &c, &of_x, &other_b.to_bytes()]),
        row("-other-epoch", "invalid", "B of another epoch.", 0, [&a, &c, &of_x, &bytes]),
        bad("-free-x", "An x' of the manager's choice with the B' that fits it: only A says no.", [&a, &c, &chosen_x, &chosen_b]),
    ]
}

/// B' = (g1 V C)^(1/(gamma + x')) for an x' that is nobody's: it passes the second equation.
fn free_x(c: &[u8; 48]) -> (Vec<u8>, Vec<u8>) {
    let x = scalar("a free x");
    let gamma = Scalar::from_bytes(XR.issuer.to_bytes().as_slice()).unwrap();
    let base = Generators::of(&NONCE).g1 + *XR.public[NEWEST].v() + G1::from_bytes(c).unwrap();
    let b = base.mul(&(gamma + x).invert().unwrap());
    (x.to_bytes().to_vec(), b.to_bytes().to_vec())
}
