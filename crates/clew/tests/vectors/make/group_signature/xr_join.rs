//! Vectors of xr: the messages of a join, each with what is wrong with it.

use clew_group::curve::Scalar;

use crate::case::Case;
use crate::make::damage::{Damage, TWO_RULES, bad_points, bad_proofs, two_rules};
use crate::make::group_signature::xr_keys::case;
use crate::make::groups::xr_group::{Machine, XR, join_nonce, place, row_rng, s, x, y_and_k};
use crate::make::{flat, hash, rng, with_key};

pub fn all() -> Vec<Case> {
    flat([sessions(), requests(), offers(), row_proofs()])
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
    let case = case("join-request", &format!("join-request{name}"), expect, comment);
    with_key(case, &XR.public[0]).hex("session", session).hex("request", request)
}

/// Step 1.
fn requests() -> Vec<Case> {
    let (session, good) = (machine().session, machine().request.to_bytes());
    let [y, k] = y_and_k(NAME);
    let comment = "A device asks to join, with these y and k.";
    let mut cases = vec![
        request("", "valid", comment, &session, &good).hex("y", y.to_bytes()).hex("k", k.to_bytes()),
        request("-short", "length", "A byte is missing.", &session, &good[..111]),
        request("-other-c0", "invalid", "C is another point.", &session, &good.doubled(0, 48)),
        request("-other-session", "invalid", "A proof of another session.", &hash(b"another session"), &good),
    ];
    let both = two_rules(&good, 0, 80);
    cases.push(request("-two-rules", "scalar", TWO_RULES, &session, &both));
    for (what, rule, comment, bytes) in bad_points(&good, "C", 0..48) {
        cases.push(request(&format!("-c0-{what}"), rule, &comment, &session, &bytes));
    }
    for (what, rule, comment, bytes) in bad_proofs(&good, 48) {
        cases.push(request(&format!("-proof-{what}"), rule, &comment, &session, &bytes));
    }
    cases
}

fn offer(name: &str, expect: &str, comment: &str, offer: &[u8]) -> Case {
    let [y, _] = y_and_k(NAME);
    let case = case("join-offer", &format!("join-offer{name}"), expect, comment);
    with_key(case, &XR.public[0]).hex("y", y.to_bytes()).hex("offer", offer)
}

/// The offer of another issuer.
fn offer_of_another_key() -> [u8; 112] {
    let other = clew_group::xr::IssuerKey::generate(&mut rng("another issuer"));
    let Machine { session, request, .. } = machine();
    let offer = other.offer(&XR.public[0], session, request, &x(NAME), &s(NAME));
    offer.unwrap().to_bytes()
}

/// Steps 2 and 3.
fn offers() -> Vec<Case> {
    let good = machine().offer.to_bytes();
    let [y, _] = y_and_k(NAME);
    let cancels = good.set(80, (-y).to_bytes());
    let valid = offer("", "valid", "The issuer's offer, with these x and s.", &good)
        .hex("session", machine().session)
        .hex("request", machine().request.to_bytes())
        .hex("gamma", XR.issuer.to_bytes().as_slice())
        .hex("x", x(NAME).to_bytes())
        .hex("s", s(NAME).to_bytes())
        .hex("member-key", machine().key.to_bytes().as_slice())
        .hex("commitment", machine().key.commitment(&XR.public[0]).to_bytes());
    let other = XR.machine("web-1").offer.to_bytes();
    let mut cases = vec![
        valid,
        offer("-short", "length", "A byte is missing.", &good[..111]),
        offer("-other-a", "invalid", "A is another point.", &good.doubled(0, 48)),
        offer("-other-x", "invalid", "x is one bit off.", &good.flip(79)),
        offer("-other-s", "invalid", "s is one bit off.", &good.flip(111)),
        offer("-other-gamma", "invalid", "A is of another gamma.", &offer_of_another_key()),
        offer("-other-machine", "invalid", "The offer to another machine.", &other),
        offer("-cancels", "invalid", "s is -y': y would be zero.", &cancels),
        offer("-x-zero", "scalar", "x is zero.", &good.set(48, [0; 32])),
        offer("-x-not-reduced", "scalar", "x + r in the place of x.", &good.unreduced(48)),
        offer("-s-not-reduced", "scalar", "s + r in the place of s.", &good.unreduced(80)),
        offer("-two-rules", "scalar", TWO_RULES, &two_rules(&good, 0, 48)),
    ];
    for (what, rule, comment, bytes) in bad_points(&good, "A", 0..48) {
        cases.push(offer(&format!("-a-{what}"), rule, &comment, &bytes));
    }
    cases
}

fn row_proof(name: &str, expect: &str, comment: &str, of: [&[u8]; 3]) -> Case {
    let [statement, commitment, proof] = of;
    let case = case("row-proof", &format!("row-proof{name}"), expect, comment);
    with_key(case, &XR.public[0]).hex("statement", statement).hex("commitment", commitment).hex("proof", proof)
}

/// Step 3: what the device says of its row, beside S.
fn row_proofs() -> Vec<Case> {
    let entry = |name: &str| &XR.records.entries[place(name)];
    let statement = entry(NAME).statement(XR.records.id());
    let [own, other] = [NAME, "web-1"].map(|name| entry(name).device().unwrap());
    let others = entry("web-1").statement(XR.records.id());
    let k = Scalar::random(&mut row_rng(&statement));
    let (c, good) = (&own.commitment[..], &own.proof[..]);
    let comment = "A device proves y for the statement of its row, with this k.";
    let of_another = "The proof of another machine, for its statement.";
    let of_request = &machine().request.to_bytes()[48..];
    let mut cases = vec![
        row_proof("", "valid", comment, [&statement, c, good])
            .hex("member-key", machine().key.to_bytes().as_slice())
            .hex("k", k.to_bytes()),
        row_proof("-other-statement", "invalid", "The statement of another row.", [&others, c, good]),
        row_proof("-other-c0", "invalid", "C is another point.", [&statement, &c.doubled(0, 48), good]),
        row_proof("-copied-c0", "invalid", "C of another machine.", [&statement, &other.commitment, good]),
        row_proof("-other-machine", "invalid", of_another, [&statement, c, &other.proof]),
        row_proof("-request", "invalid", "The proof of the request.", [&statement, c, of_request]),
        row_proof("-short", "length", "A byte is missing.", [&statement, c, &good[..63]]),
    ];
    for (what, rule, comment, bytes) in bad_proofs(good, 0) {
        cases.push(row_proof(&format!("-{what}"), rule, &comment, [&statement, c, &bytes]));
    }
    cases
}
