//! Vectors of bbs04: keys, opening, revocation.

use clew_group::DecodeError;
use clew_group::bbs04::{Opening, Signature};
use clew_group::curve::{G1, G2};

use super::bbs04_group::{BBS04, x};
use super::bbs04_signatures::{MESSAGE, sign};
use super::damage::{R, TWO_RULES, add, another, bad_encodings, near, sentence, two_rules};
use super::records::NONCE;
use super::{replaced, scalar};
use crate::case::Case;

/// Where an encoded public key has its points.
const POINTS: [(&str, usize, usize); 7] = [
    ("g1", 0, 48),
    ("h", 48, 48),
    ("u", 96, 48),
    ("v", 144, 48),
    ("g2", 192, 96),
    ("w", 288, 96),
    ("lift", 384, 96),
];

pub fn all() -> Vec<Case> {
    let groups = [
        keys(),
        bad_public_keys(),
        bad_descents(),
        bad_secret_keys(),
        opening(),
        revocations(),
        bad_revocations(),
    ];
    groups.into_iter().flatten().collect()
}

/// A case that asks for `check`.
pub fn case(check: &str, name: &str, expect: &str, comment: &str) -> Case {
    Case::new("group-signature", name, expect, comment).text("check", check)
}

fn genesis() -> [u8; 480] {
    BBS04.public[0].to_bytes()
}

fn keys() -> Vec<Case> {
    let h = Opening::hash_h(&NONCE).to_bytes();
    let hashed = case("hash-h", "h", "valid", "h of the group's nonce.");
    let mut cases = vec![hashed.hex("nonce", NONCE).hex("h", h)];
    for (epoch, key) in BBS04.public.iter().enumerate() {
        let (name, comment) = (
            format!("public-key-{epoch}"),
            format!("The public key of epoch {epoch}."),
        );
        let case = case("public-key", &name, "valid", &comment);
        cases.push(case.hex("public-key", key.to_bytes()));
    }
    cases.push(descent(
        "descent",
        "valid",
        "Epoch 2 descends from epoch 0.",
        &genesis(),
        &later(),
    ));
    cases.push(
        case(
            "issuer-key",
            "issue",
            "valid",
            "The issuer makes the member key of an x.",
        )
        .hex("gamma", BBS04.issuer.to_bytes().as_slice())
        .hex("public-key", genesis())
        .hex("x", x("web-1").to_bytes())
        .hex("member-key", BBS04.member[0].to_bytes().as_slice()),
    );
    cases.push(
        case(
            "member-key",
            "member-key",
            "valid",
            "A member key fits the key of its epoch.",
        )
        .hex("public-key", later())
        .hex("member-key", BBS04.member[2].to_bytes().as_slice()),
    );
    cases.push(
        case(
            "opener-key",
            "opener-key",
            "valid",
            "The opener key fits u, v and h.",
        )
        .hex("public-key", genesis())
        .hex("opener-key", BBS04.opener.to_bytes().as_slice()),
    );
    cases
}

fn later() -> [u8; 480] {
    BBS04.public[2].to_bytes()
}

fn bad_public_keys() -> Vec<Case> {
    let good = later();
    let refused = |name: &str, rule: &str, comment: &str, key: &[u8]| {
        case("public-key", name, rule, comment).hex("public-key", key)
    };
    let mut cases = vec![
        refused(
            "public-key-short",
            "length",
            "A byte is missing.",
            &good[..479],
        ),
        refused(
            "public-key-long",
            "length",
            "A byte too many.",
            &[&good[..], &[0]].concat(),
        ),
    ];
    for (point, at, length) in POINTS {
        for (what, rule, bytes) in bad_encodings(&good[at..at + length]) {
            let (name, comment) = (format!("public-key-{point}-{what}"), sentence(point, what));
            cases.push(refused(&name, rule, &comment, &replaced(&good, at, &bytes)));
        }
    }
    cases
}

fn descent(name: &str, expect: &str, comment: &str, genesis: &[u8], key: &[u8]) -> Case {
    case("descent", name, expect, comment)
        .hex("genesis", genesis)
        .hex("public-key", key)
}

fn bad_descents() -> Vec<Case> {
    let mut cases: Vec<Case> = POINTS
        .iter()
        .map(|&(point, at, length)| {
            let (name, comment) = (
                format!("descent-other-{point}"),
                format!("The later key has another {point}."),
            );
            let key = replaced(&later(), at, &another(&later()[at..at + length]));
            descent(&name, "invalid", &comment, &genesis(), &key)
        })
        .collect();
    let (first, second) = (BBS04.public[1].to_bytes(), later());
    let comment = "The first key is not of epoch 0, though the later one follows it.";
    cases.push(descent(
        "descent-not-from-epoch-0",
        "invalid",
        comment,
        &first,
        &second,
    ));
    cases
}

fn bad_secret_keys() -> Vec<Case> {
    let member = BBS04.member[2].to_bytes();
    let x = &member[48..];
    let bad_member = |name: &str, rule: &str, comment: &str, key: &[u8]| {
        case("member-key", name, rule, comment)
            .hex("public-key", later())
            .hex("member-key", key)
    };
    let (a_off, old) = (
        near(&member[..48], DecodeError::Point),
        BBS04.member[1].to_bytes(),
    );
    let opener = BBS04.opener.to_bytes();
    let bad_opener = |name: &str, rule: &str, comment: &str, key: &[u8]| {
        case("opener-key", name, rule, comment)
            .hex("opener-key", key)
            .hex("public-key", genesis())
    };
    let swapped = [&opener[32..], &opener[..32]].concat();
    let bad_issuer = |name: &str, rule: &str, comment: &str, gamma: &[u8]| {
        case("issuer-key", name, rule, comment).hex("gamma", gamma)
    };
    vec![
        bad_member(
            "member-key-short",
            "length",
            "A byte is missing.",
            &member[..79],
        ),
        bad_member(
            "member-key-a-off-curve",
            "point",
            "A is no point of the curve.",
            &replaced(&*member, 0, &a_off),
        ),
        bad_member(
            "member-key-x-not-reduced",
            "scalar",
            "x + r in the place of x.",
            &replaced(&*member, 48, &add(x, R)),
        ),
        bad_member(
            "member-key-x-zero",
            "scalar",
            "x is zero.",
            &replaced(&*member, 48, &[0; 32]),
        ),
        bad_member(
            "member-key-two-rules",
            "scalar",
            TWO_RULES,
            &two_rules(&*member, 0, 48),
        ),
        bad_member(
            "member-key-old-epoch",
            "invalid",
            "A key of epoch 1 does not sign in epoch 2.",
            &*old,
        ),
        bad_opener(
            "opener-key-short",
            "length",
            "A byte is missing.",
            &opener[..63],
        ),
        bad_opener(
            "opener-key-zero",
            "scalar",
            "xi2 is zero.",
            &replaced(&*opener, 32, &[0; 32]),
        ),
        bad_opener(
            "opener-key-swapped",
            "invalid",
            "xi1 and xi2 are exchanged.",
            &swapped,
        ),
        bad_issuer("issuer-key-zero", "scalar", "gamma is zero.", &[0; 32]),
        bad_issuer(
            "issuer-key-not-reduced",
            "scalar",
            "gamma is r.",
            &hex::decode(R).unwrap(),
        ),
    ]
}

fn opening() -> Vec<Case> {
    [0, 2]
        .map(|epoch: usize| {
            let name = format!("open-epoch-{epoch}");
            let comment =
                "The credential in a signature, and the tag, which is the same in every epoch.";
            let bytes = &sign(epoch, &name, MESSAGE)[..336];
            let credential = BBS04.opener.open(&Signature::from_bytes(bytes).unwrap());
            let tag = BBS04.public[epoch].tag(&credential);
            case("open", &name, "valid", comment)
                .hex("public-key", BBS04.public[epoch].to_bytes())
                .hex("opener-key", BBS04.opener.to_bytes().as_slice())
                .hex("signature", bytes)
                .hex("credential", credential.to_bytes())
                .hex("tag", tag)
        })
        .into()
}

fn revocations() -> Vec<Case> {
    let mut cases = Vec::new();
    for (epoch, (revocation, revoked)) in BBS04.revocations.iter().enumerate() {
        let (key, next) = (&BBS04.public[epoch], &BBS04.public[epoch + 1]);
        let (name, comment) = (
            format!("revoke-{}", epoch + 1),
            format!("The revocation that leads from epoch {epoch} to the next."),
        );
        cases.push(
            bad_revocation(&name, "valid", &comment, epoch, &revocation.to_bytes())
                .hex("gamma", BBS04.issuer.to_bytes().as_slice())
                .hex("x", &revoked.to_bytes()[48..])
                .hex("next-public-key", next.to_bytes()),
        );
        let update = |name: String, expect: &str, comment: &str, member: &[u8]| {
            case("member-update", &name, expect, comment)
                .hex("public-key", key.to_bytes())
                .hex("revocation", revocation.to_bytes())
                .hex("member-key", member)
        };
        let (before, after) = (
            BBS04.member[epoch].to_bytes(),
            BBS04.member[epoch + 1].to_bytes(),
        );
        let name = format!("member-update-{}", epoch + 1);
        let comment = "A member follows a revocation.";
        cases.push(
            update(name, "valid", comment, &*before).hex("next-member-key", after.as_slice()),
        );
        let name = format!("member-update-{}-revoked", epoch + 1);
        let comment = "The revoked member cannot follow.";
        cases.push(update(
            name,
            "revoked",
            comment,
            revoked.to_bytes().as_slice(),
        ));
    }
    cases
}

fn bad_revocation(name: &str, expect: &str, comment: &str, epoch: usize, bytes: &[u8]) -> Case {
    case("revocation", name, expect, comment)
        .hex("public-key", BBS04.public[epoch].to_bytes())
        .hex("revocation", bytes)
}

fn bad_revocations() -> Vec<Case> {
    let good = BBS04.revocations[0].0.to_bytes();
    let bad = |name: &str, rule: &str, comment: &str, bytes: &[u8]| {
        bad_revocation(&format!("revoke-{name}"), rule, comment, 0, bytes)
    };
    let other_x = scalar("another x").to_bytes();
    let mut cases = vec![
        bad("short", "length", "A byte is missing.", &good[..271]),
        bad(
            "long",
            "length",
            "A byte too many.",
            &[&good[..], &[0]].concat(),
        ),
        bad(
            "x-not-reduced",
            "scalar",
            "x + r in the place of x.",
            &replaced(&good, 0, &add(&good[..32], R)),
        ),
        bad(
            "other-x",
            "invalid",
            "x is of another member.",
            &replaced(&good, 0, &other_x),
        ),
        bad(
            "w-identity",
            "invalid",
            "Values that all fit but for w, which would be the identity.",
            &without_w(),
        ),
    ];
    for (point, at, length) in [("g1", 32, 48), ("g2", 80, 96), ("lift", 176, 96)] {
        let (name, comment) = (
            format!("other-{point}"),
            format!("{point} is another point."),
        );
        let other = another(&good[at..at + length]);
        cases.push(bad(
            &name,
            "invalid",
            &comment,
            &replaced(&good, at, &other),
        ));
        for (what, rule, bytes) in bad_encodings(&good[at..at + length]) {
            let (name, comment) = (format!("{point}-{what}"), sentence(point, what));
            cases.push(bad(&name, rule, &comment, &replaced(&good, at, &bytes)));
        }
    }
    cases
}

/// g1 and g2 to the power 1/x, and lift to the power x: one exponent, and w = g2 - x g2' = 0.
fn without_w() -> Vec<u8> {
    let x = scalar("an x that cancels w");
    let inverse = x.invert().unwrap();
    [
        &x.to_bytes()[..],
        &G1::generator().mul(&inverse).to_bytes(),
        &G2::generator().mul(&inverse).to_bytes(),
        &G2::generator().mul(&x).to_bytes(),
    ]
    .concat()
}
