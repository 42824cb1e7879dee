//! Vectors of xr: the messages of a join, each with what is wrong with it.

use clew_group::curve::Scalar;
use clew_group::xr::JoinRequest;

use super::damage::{
    TWO_RULES, bad_points, bad_proofs, doubled, flipped, of_proof, sentence, two_rules, unreduced,
};
use super::records::NONCE;
use super::xr_group::{Machine, XR, join_nonce, x, y_and_k};
use super::xr_keys::{case, genesis};
use super::{hash, replaced, rng};
use crate::case::Case;

pub fn all() -> Vec<Case> {
    let groups = [sessions(), requests(), offers(), credentials()];
    groups.into_iter().flatten().collect()
}

/// The machine whose join the cases follow: it joined in epoch 2.
const NAME: &str = "web-4";

fn machine() -> &'static Machine {
    XR.machine(NAME)
}

fn sessions() -> Vec<Case> {
    let comment = "What names a join.";
    vec![
        case("session", "join-session", "valid", comment)
            .hex("group", XR.records.id().0)
            .hex("nonce", join_nonce(NAME))
            .hex("device-key", machine().device.verifying_key().to_bytes())
            .text("machine", NAME)
            .hex("session", machine().session),
    ]
}

fn request(name: &str, expect: &str, comment: &str, session: &[u8], request: &[u8]) -> Case {
    case(
        "join-request",
        &format!("join-request{name}"),
        expect,
        comment,
    )
    .hex("public-key", genesis())
    .hex("session", session)
    .hex("request", request)
}

/// Step 1.
fn requests() -> Vec<Case> {
    let (session, good) = (machine().session, machine().request.to_bytes());
    let [y, k] = y_and_k(NAME);
    let comment = "A device asks to join, with these y and k.";
    let mut cases = vec![
        request("", "valid", comment, &session, &good)
            .hex("y", y.to_bytes())
            .hex("k", k.to_bytes())
            .hex("commitment", &good[..48]),
        request(
            "-short",
            "length",
            "A byte is missing.",
            &session,
            &good[..111],
        ),
        request(
            "-other-c0",
            "invalid",
            "C is another point.",
            &session,
            &doubled(&good, 0, 48),
        ),
        request(
            "-other-session",
            "invalid",
            "A proof of another session.",
            &hash(b"another session"),
            &good,
        ),
    ];
    let both = two_rules(&good, 0, 80);
    cases.push(request("-two-rules", "scalar", TWO_RULES, &session, &both));
    for (what, rule, bytes) in bad_points(&good[..48]) {
        let bytes = replaced(&good, 0, &bytes);
        let (name, comment) = (format!("-c0-{what}"), sentence("C", what));
        cases.push(request(&name, rule, &comment, &session, &bytes));
    }
    for (what, rule, bytes) in bad_proofs(&good, 48) {
        let name = format!("-proof-{what}");
        cases.push(request(&name, rule, of_proof(what), &session, &bytes));
    }
    cases
}

fn offer(name: &str, expect: &str, comment: &str, session: &[u8], offer: &[u8]) -> Case {
    let [y, _] = y_and_k(NAME);
    case("join-offer", &format!("join-offer{name}"), expect, comment)
        .hex("public-key", genesis())
        .hex("session", session)
        .hex("y", y.to_bytes())
        .hex("offer", offer)
}

/// The offer of an issuer that uses another x in its A than it proves.
fn offer_of_another_key() -> Vec<u8> {
    let other = clew_group::xr::IssuerKey::generate(&mut rng("another issuer"));
    let (key, session) = (&XR.public[0], machine().session);
    let request: &JoinRequest = &machine().request;
    let offer = other.offer(key, &session, request, &x(NAME), &mut rng("another offer"));
    offer.unwrap().to_bytes().to_vec()
}

/// Step 2.
fn offers() -> Vec<Case> {
    let (session, good) = (machine().session, machine().offer.to_bytes());
    let k = Scalar::random(&mut rng(&format!("offer of {NAME}")));
    let comment = "The issuer's offer, with these x and k.";
    let bad = |name: &str, rule: &str, comment: &str, bytes: &[u8]| {
        offer(name, rule, comment, &session, bytes)
    };
    let mut cases = vec![
        bad("", "valid", comment, &good)
            .hex("request", machine().request.to_bytes())
            .hex("nonce", NONCE)
            .hex("gamma", XR.issuer.to_bytes().as_slice())
            .hex("x", x(NAME).to_bytes())
            .hex("k", k.to_bytes()),
        bad("-short", "length", "A byte is missing.", &good[..159]),
        bad(
            "-other-a",
            "invalid",
            "A is another point.",
            &doubled(&good, 0, 48),
        ),
        bad(
            "-other-d",
            "invalid",
            "D is another point.",
            &doubled(&good, 48, 48),
        ),
        bad(
            "-other-gamma",
            "invalid",
            "The proof of x holds, and A is of another gamma.",
            &offer_of_another_key(),
        ),
        bad(
            "-other-machine",
            "invalid",
            "The offer to another machine.",
            &XR.machine("web-1").offer.to_bytes(),
        ),
        offer(
            "-other-session",
            "invalid",
            "A proof of another session.",
            &hash(b"another session"),
            &good,
        ),
    ];
    cases.push(bad(
        "-two-rules",
        "scalar",
        TWO_RULES,
        &two_rules(&good, 48, 128),
    ));
    for (point, at) in [("a", 0), ("d", 48)] {
        for (what, rule, bytes) in bad_points(&good[at..at + 48]) {
            let bytes = replaced(&good, at, &bytes);
            let (name, comment) = (
                format!("-{point}-{what}"),
                sentence(&point.to_uppercase(), what),
            );
            cases.push(bad(&name, rule, &comment, &bytes));
        }
    }
    for (what, rule, bytes) in bad_proofs(&good, 96) {
        cases.push(bad(&format!("-proof-{what}"), rule, of_proof(what), &bytes));
    }
    cases
}

fn credential(name: &str, expect: &str, comment: &str, key: &[u8], credential: &[u8]) -> Case {
    let [y, _] = y_and_k(NAME);
    case(
        "join-credential",
        &format!("join-credential{name}"),
        expect,
        comment,
    )
    .hex("genesis", genesis())
    .hex("session", machine().session)
    .hex("y", y.to_bytes())
    .hex("offer", machine().offer.to_bytes())
    .hex("public-key", key)
    .hex("credential", credential)
}

/// Steps 4 and 5.
fn credentials() -> Vec<Case> {
    let (joined, good) = (machine().joined, machine().credential.to_bytes());
    let now = XR.public[joined].to_bytes();
    let bad = |name: &str, rule: &str, comment: &str, bytes: &[u8]| {
        credential(name, rule, comment, &now, bytes)
    };
    let comment = "The credential in epoch 2, with what the issuer makes it of.";
    let valid = bad("", "valid", comment, &good[..])
        .hex("gamma", XR.issuer.to_bytes().as_slice())
        .hex("revoked", XR.revocations[0].x().to_bytes())
        .hex("member-key", machine().key(joined).to_bytes().as_slice());
    let mut cases = vec![
        valid,
        bad("-short", "length", "A byte is missing.", &good[..79]),
        bad(
            "-other-x",
            "invalid",
            "x is not the one proved.",
            &flipped(&good[..], 80),
        ),
        bad(
            "-x-zero",
            "scalar",
            "x is zero.",
            &replaced(&good[..], 48, &[0; 32]),
        ),
        bad(
            "-x-not-reduced",
            "scalar",
            "x + r in the place of x.",
            &unreduced(&good[..], 48),
        ),
        bad(
            "-other-a",
            "invalid",
            "A is another point.",
            &doubled(&good[..], 0, 48),
        ),
        bad(
            "-old-a",
            "invalid",
            "A of epoch 0, which is not the present one.",
            &replaced(&good[..], 0, &machine().offer.to_bytes()[..48]),
        ),
        credential(
            "-public-h-w",
            "invalid",
            "h_w of the present public key is another point.",
            &doubled(&now, 192, 48),
            &good[..],
        ),
    ];
    let both = two_rules(&good[..], 0, 48);
    cases.push(bad("-two-rules", "scalar", TWO_RULES, &both));
    for (what, rule, bytes) in bad_points(&good[..48]) {
        let bytes = replaced(&good[..], 0, &bytes);
        cases.push(bad(
            &format!("-a-{what}"),
            rule,
            &sentence("A", what),
            &bytes,
        ));
    }
    cases
}
