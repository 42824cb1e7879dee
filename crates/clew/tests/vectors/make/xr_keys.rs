//! Vectors of xr: generators, public keys, the checks when one is loaded, secret keys.

use clew_group::DecodeError;
use clew_group::xr::Generators;

use super::damage::{
    R, TWO_RULES, bad_points, bad_proofs, doubled, flipped, near, of_proof, sentence, two_rules,
    unreduced,
};
use super::records::NONCE;
use super::xr_group::{NEWEST, XR};
use super::{hash, replaced, rng};
use crate::case::Case;

/// Where an encoded public key has its points.
const POINTS: [(&str, usize, usize); 7] = [
    ("g1", 0, 48),
    ("h0", 48, 48),
    ("u", 96, 48),
    ("h", 144, 48),
    ("h-w", 192, 48),
    ("w", 240, 96),
    ("lift", 336, 96),
];

pub fn all() -> Vec<Case> {
    let groups = [
        keys(),
        bad_public_keys(),
        genesis_checks(),
        descents(),
        secret_keys(),
    ];
    groups.into_iter().flatten().collect()
}

/// A case that asks for `check`; the name begins with that of the scheme.
pub fn case(check: &str, name: &str, expect: &str, comment: &str) -> Case {
    let name = format!("xr-{name}");
    Case::new("group-signature", &name, expect, comment).text("check", &format!("xr-{check}"))
}

pub fn genesis() -> [u8; 432] {
    XR.public[0].to_bytes()
}

/// The key that most cases break.
fn later() -> [u8; 432] {
    XR.public[NEWEST].to_bytes()
}

fn keys() -> Vec<Case> {
    let Generators { u, g1, h0 } = Generators::of(&NONCE);
    let comment = "The generators of the group's nonce.";
    let mut cases = vec![
        case("generators", "generators", "valid", comment)
            .hex("nonce", NONCE)
            .hex("u", u.to_bytes())
            .hex("g1", g1.to_bytes())
            .hex("h0", h0.to_bytes()),
    ];
    for (epoch, key) in XR.public.iter().enumerate() {
        let (name, comment) = (
            format!("public-key-{epoch}"),
            format!("The public key of epoch {epoch}."),
        );
        cases.push(case("public-key", &name, "valid", &comment).hex("public-key", key.to_bytes()));
    }
    cases
}

fn bad_public_keys() -> Vec<Case> {
    let good = later();
    let refused = |name: &str, rule: &str, comment: &str, key: &[u8]| {
        case("public-key", &format!("public-key-{name}"), rule, comment).hex("public-key", key)
    };
    let longer = [&good[..], &[0]].concat();
    let mut cases = vec![
        refused("short", "length", "A byte is missing.", &good[..431]),
        refused("long", "length", "A byte too many.", &longer),
    ];
    for (point, at, length) in POINTS {
        for (what, rule, bytes) in bad_points(&good[at..at + length]) {
            let name = format!("{point}-{what}");
            let key = replaced(&good, at, &bytes);
            cases.push(refused(&name, rule, &sentence(point, what), &key));
        }
    }
    cases
}

fn genesis_case(name: &str, expect: &str, comment: &str, key: &[u8], proof: &[u8]) -> Case {
    case("genesis", &format!("genesis{name}"), expect, comment)
        .hex("nonce", NONCE)
        .hex("public-key", key)
        .hex("proof", proof)
}

/// The proof of gamma that the issuer makes for another nonce.
fn proof_of_other_nonce() -> [u8; 64] {
    let h = XR.public[0].h();
    let (_, proof) = XR
        .issuer
        .found(&hash(b"other"), h, &mut rng("proof of other nonce"));
    proof.to_bytes()
}

/// Section 3.1, epoch 0.
fn genesis_checks() -> Vec<Case> {
    let (key, proof) = (genesis(), XR.issuer_proof.to_bytes());
    let good = "The first key passes the checks of epoch 0.";
    let mut cases = vec![genesis_case("", "valid", good, &key, &proof)];
    for (point, at, length) in POINTS {
        let (name, comment) = (
            format!("-other-{point}"),
            format!("{point} is another point."),
        );
        let key = doubled(&key, at, length);
        cases.push(genesis_case(&name, "invalid", &comment, &key, &proof));
    }
    let later = XR.public[1].to_bytes();
    let comment =
        "The key of epoch 1: g1, h0 and lift fit together, and are not those of the nonce.";
    cases.push(genesis_case("-epoch-1", "invalid", comment, &later, &proof));
    for (what, rule, proof) in bad_proofs(&proof, 0) {
        let name = format!("-proof-{what}");
        cases.push(genesis_case(&name, rule, of_proof(what), &key, &proof));
    }
    let (other, comment) = (
        proof_of_other_nonce(),
        "A proof of the same gamma for another nonce.",
    );
    cases.push(genesis_case(
        "-proof-other-nonce",
        "invalid",
        comment,
        &key,
        &other,
    ));
    let (short, comment) = (&proof[..63], "A byte of the proof is missing.");
    cases.push(genesis_case("-proof-short", "length", comment, &key, short));
    cases
}

fn descent(name: &str, expect: &str, comment: &str, key: &[u8]) -> Case {
    case("descent", name, expect, comment)
        .hex("genesis", genesis())
        .hex("public-key", key)
}

/// Section 3.1, later epochs.
fn descents() -> Vec<Case> {
    let comments = [
        "Epoch 1, after a revocation.",
        "Epoch 2, with a new opening key.",
        "Epoch 3, after both.",
    ];
    let mut cases: Vec<Case> = (1..)
        .zip(comments)
        .map(|(epoch, comment)| {
            let key = XR.public[epoch].to_bytes();
            descent(&format!("descent-{epoch}"), "valid", comment, &key)
        })
        .collect();
    for (point, at, length) in POINTS {
        let (name, comment) = (
            format!("descent-other-{point}"),
            format!("The later key has another {point}."),
        );
        let key = doubled(&later(), at, length);
        cases.push(descent(&name, "invalid", &comment, &key));
    }
    let mixed = replaced(&later(), 0, &XR.public[1].to_bytes()[..48]);
    let comment = "g1 is of epoch 1, all else of epoch 3.";
    cases.push(descent("descent-mixed", "invalid", comment, &mixed));
    cases
}

fn member(name: &str, expect: &str, comment: &str, public: &[u8], key: &[u8]) -> Case {
    case("member-key", name, expect, comment)
        .hex("genesis", genesis())
        .hex("public-key", public)
        .hex("member-key", key)
}

/// The member key that most cases break.
fn member_key() -> Vec<u8> {
    XR.machine("web-1").key(NEWEST).to_bytes().to_vec()
}

fn secret_keys() -> Vec<Case> {
    let (gamma, key) = (XR.issuer.to_bytes(), member_key());
    let issuer = |name: &str, rule: &str, comment: &str, gamma: &[u8]| {
        case("issuer-key", name, rule, comment).hex("gamma", gamma)
    };
    let good_issuer = issuer(
        "issuer-key",
        "valid",
        "gamma gives the first key.",
        &gamma[..],
    )
    .hex("nonce", NONCE)
    .hex("h", XR.public[0].h().to_bytes())
    .hex("public-key", genesis());
    let mut cases = vec![
        good_issuer,
        issuer("issuer-key-zero", "scalar", "gamma is zero.", &[0; 32]),
        issuer(
            "issuer-key-not-reduced",
            "scalar",
            "gamma is r.",
            &hex::decode(R).unwrap(),
        ),
        issuer(
            "issuer-key-short",
            "length",
            "A byte is missing.",
            &gamma[..31],
        ),
    ];
    let good = member(
        "member-key",
        "valid",
        "A member key fits its epoch.",
        &later(),
        &key,
    );
    cases.push(good);
    let off_curve = near(&key[..48], DecodeError::Point);
    let old = XR.machine("web-1").key(0).to_bytes();
    let both = two_rules(&key, 0, 80);
    cases.push(member(
        "member-key-two-rules",
        "scalar",
        TWO_RULES,
        &later(),
        &both,
    ));
    let damaged: [(&str, &str, &str, Vec<u8>); 9] = [
        ("short", "length", "A byte is missing.", key[..111].to_vec()),
        (
            "a-off-curve",
            "point",
            "A is no point of the curve.",
            replaced(&key, 0, &off_curve),
        ),
        (
            "other-a",
            "invalid",
            "A is another point.",
            doubled(&key, 0, 48),
        ),
        ("other-x", "invalid", "x is one bit off.", flipped(&key, 80)),
        (
            "other-y",
            "invalid",
            "y is one bit off.",
            flipped(&key, 112),
        ),
        (
            "x-not-reduced",
            "scalar",
            "x + r in the place of x.",
            unreduced(&key, 48),
        ),
        (
            "x-zero",
            "scalar",
            "x is zero.",
            replaced(&key, 48, &[0; 32]),
        ),
        (
            "y-zero",
            "scalar",
            "y is zero.",
            replaced(&key, 80, &[0; 32]),
        ),
        (
            "old-epoch",
            "invalid",
            "A key of epoch 0 does not sign in epoch 3.",
            old.to_vec(),
        ),
    ];
    for (name, rule, comment, key) in damaged {
        cases.push(member(
            &format!("member-key-{name}"),
            rule,
            comment,
            &later(),
            &key,
        ));
    }
    let bad_h_w = doubled(&later(), 192, 48);
    let comment = "h_w of the public key is another point: its signatures would not verify.";
    cases.push(member(
        "member-key-public-h-w",
        "invalid",
        comment,
        &bad_h_w,
        &key,
    ));
    cases
}
