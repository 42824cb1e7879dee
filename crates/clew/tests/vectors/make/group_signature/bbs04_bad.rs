//! Vectors of bbs04: signatures with a field that does not decode, and damaged incremental ones.

use clew_group::curve::Scalar;

use crate::case::Case;
use crate::make::damage::{Damage, TWO_RULES, another, bad_points, not_canonical, two_rules, unreduced_x};
use crate::make::group_signature::bbs04_signatures::{
    COMMITMENTS, MESSAGE, SCALARS, SCALARS_AT, first, good, sign, verify, verify_under,
};
use crate::make::groups::bbs04_group::x;
use crate::make::{flat, hash, nonces};

pub fn all() -> Vec<Case> {
    flat([bad_scalars(), bad_points_of_t(), bad_incremental()])
}

fn bad_scalars() -> Vec<Case> {
    let good = good();
    let mut cases = Vec::new();
    for (i, name) in SCALARS.into_iter().enumerate() {
        let at = SCALARS_AT + 32 * i;
        let (file, comment) =
            (format!("signature-{name}-not-reduced"), format!("{name} + r in the place of {name}: who reduces would accept."));
        let signature = good.unreduced(at);
        cases.push(verify(&file, "scalar", &comment, &signature));
    }
    let both = two_rules(&good, 0, SCALARS_AT + 160);
    cases.push(verify("signature-two-rules", "scalar", TWO_RULES, &both));
    let bit = good.set(SCALARS_AT, [0x40 | good[SCALARS_AT] & 0x1f]);
    let comment = "c is below r, and has bit 254 set.";
    cases.push(verify("signature-c-bit-254", "scalar", comment, &bit));
    cases
}

fn bad_points_of_t() -> Vec<Case> {
    let good = good();
    let mut cases = Vec::new();
    for (i, t) in ["t1", "t2", "t3"].into_iter().enumerate() {
        let point = 48 * i..48 * i + 48;
        let mut add = |what: &str, rule: &str, comment: &str, signature: &[u8]| {
            cases.push(verify(&format!("signature-{t}-{what}"), rule, comment, signature));
        };
        for (what, rule, comment, bytes) in flat([bad_points(&good, t, point.clone()), not_canonical(&good, t, point)]) {
            add(what, rule, &comment, &bytes);
        }
        let comment = format!("{t} with x + p in the place of x: who reduces would accept.");
        add("x-not-reduced", "point", &comment, &with_unreduced_x(48 * i));
    }
    cases
}

fn bad_incremental() -> Vec<Case> {
    let good = sign(0, "good", MESSAGE);
    let verify = |name: &str, expect: &str, comment: &str, message: &[u8], signature: &[u8]| {
        verify_under("verify-incremental", name, expect, comment, first(), message, signature)
    };
    let mut cases = vec![
        verify("incremental", "valid", "The form that carries R1 to R5.", MESSAGE, &good),
        verify("incremental-wrong-message", "invalid", "Another message: the hash alone says no.", b"a massage", &good),
        verify("incremental-short", "length", "A byte is missing.", MESSAGE, &good[..1103]),
        verify("incremental-long", "length", "A byte too many.", MESSAGE, &good.plus([0])),
        verify("incremental-plain", "length", "The plain form in the place of the incremental one.", MESSAGE, &good[..336]),
    ];
    for (i, (at, length)) in COMMITMENTS.into_iter().enumerate() {
        let (name, comment) = (
            format!("incremental-wrong-r{}", i + 1),
            format!("c and all responses fit an R{} that is not the derived one; the other R hold.", i + 1),
        );
        let wrong = match length {
            48 => another(&good[at..at + 48]),
            _ => good[at..at + length].iter().rev().copied().collect(),
        };
        let signature = refitted(&good.set(at, &wrong));
        cases.push(verify(&name, "invalid", &comment, MESSAGE, &signature));
    }
    cases
}

/// Hashes what the R's are now, and answers that challenge with the secrets of label `good`.
fn refitted(signature: &[u8]) -> Vec<u8> {
    let parts = [b"clew-bbs04-sig-1", &first().1.0[..], &signature[..144], &signature[336..], MESSAGE];
    let mut c = hash(&parts.concat());
    c[0] &= 0x3f;
    let c = Scalar::from_bytes(&c).unwrap();
    let (n, x) = (nonces("good"), x("web-1"));
    let responses = [
        c,
        n.r_alpha + c * n.alpha,
        n.r_beta + c * n.beta,
        n.r_x + c * x,
        n.r_delta1 + c * x * n.alpha,
        n.r_delta2 + c * x * n.beta,
    ];
    let scalars: Vec<u8> = responses.iter().flat_map(Scalar::to_bytes).collect();
    signature.set(SCALARS_AT, &scalars)
}

/// A signature whose point at that place is written with x + p, which has room for few x only.
fn with_unreduced_x(at: usize) -> Vec<u8> {
    let mut signatures = (0..).map(|n| sign(0, &format!("small x {n}"), MESSAGE)[..336].to_vec());
    signatures.find_map(|signature| unreduced_x(&signature, at)).unwrap()
}
