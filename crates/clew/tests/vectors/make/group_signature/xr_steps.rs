//! Vectors of xr: steps of the revocation chain, whole chains, how witnesses follow, new opening keys.

use clew_group::Step;

use crate::case::Case;
use crate::make::damage::{Damage, bad_points};
use crate::make::group_signature::xr_keys::case;
use crate::make::groups::xr_group::{XR, x};
use crate::make::{Key, flat, scalar, with_key};

pub fn all() -> Vec<Case> {
    flat([steps(), bad_steps(), chains(), updates(), openings()])
}

/// All steps, which are those of one segment.
fn chain() -> Vec<[u8; 80]> {
    XR.steps.iter().flatten().map(Step::to_bytes).collect()
}

fn step(name: &str, expect: &str, comment: &str, epoch: usize, bytes: &[u8]) -> Case {
    let case = case("step", &format!("step-{name}"), expect, comment);
    with_key(case, &XR.public[epoch]).hex("step", bytes)
}

fn steps() -> Vec<Case> {
    let first = &XR.steps[0][0];
    let comment = "The step that leads from epoch 0 to epoch 1.";
    vec![
        step("1", "valid", comment, 0, &first.to_bytes())
            .hex("gamma", XR.issuer.to_bytes().as_slice())
            .hex("x", first.x().to_bytes())
            .hex("next-v", XR.public[1].v().to_bytes()),
    ]
}

fn bad_steps() -> Vec<Case> {
    let good = chain()[0];
    let bad = |name: &str, rule: &str, comment: &str, bytes: &[u8]| step(name, rule, comment, 0, bytes);
    let longer = good.plus([0]);
    let other_x = good.set(0, scalar("another x").to_bytes());
    let mut cases = vec![
        bad("short", "length", "A byte is missing.", &good[..79]),
        bad("long", "length", "A byte too many.", &longer),
        bad("x-not-reduced", "scalar", "x + r in the place of x.", &good.unreduced(0)),
        bad("x-zero", "scalar", "x is zero.", &good.set(0, [0; 32])),
        bad("other-x", "invalid", "x is of nobody.", &other_x),
        bad("other-v", "invalid", "V is another point.", &good.doubled(32, 48)),
        step("again", "invalid", "The same step a second time.", 1, &good),
    ];
    for (what, rule, comment, bytes) in bad_points(&good, "V", 32..80) {
        cases.push(bad(&format!("v-{what}"), rule, &comment, &bytes));
    }
    cases
}

fn checked(name: &str, expect: &str, comment: &str, steps: &[[u8; 80]]) -> Case {
    let case = case("chain", &format!("chain{name}"), expect, comment);
    with_key(case, &XR.public[0]).each("step", steps)
}

/// Chains are checked as a whole (3.7).
fn chains() -> Vec<Case> {
    let good = chain();
    let mut swapped = good.clone();
    swapped.swap(1, 2);
    let without_second = [good[0], good[2]];
    let mut wrong_x = good.clone();
    wrong_x[1] = good[1].flip(31).try_into().unwrap();
    let mut wrong_v = good.clone();
    wrong_v[1] = good[1].doubled(32, 48).try_into().unwrap();
    vec![
        checked("", "valid", "Three steps from epoch 0 on.", &good),
        checked("-swapped", "invalid", "Two steps in the other order.", &swapped),
        checked("-gap", "invalid", "A step is missing.", &without_second),
        checked("-late", "invalid", "The first step is missing.", &good[1..]),
        checked("-other-x", "invalid", "x of the second step is one bit off.", &wrong_x),
        checked("-other-v", "invalid", "V of the second step is another point.", &wrong_v),
    ]
}

fn update(name: &str, expect: &str, comment: &str, member: &str, steps: &[[u8; 80]]) -> Case {
    let case = case("witness-update", &format!("witness-update-{name}"), expect, comment)
        .hex("x", x(member).to_bytes())
        .hex("witness", XR.witness(member, 0).to_bytes());
    case.each("step", steps)
}

/// A member's witness of epoch 0 follows the steps.
fn updates() -> Vec<Case> {
    let steps = chain();
    let followed = |epoch: usize| XR.witness("web-1", epoch).to_bytes();
    let one = "A member follows one step.";
    let all = "A member follows three steps at once.";
    let revoked = "The revoked machine cannot follow.";
    let later = "A machine that a later step revokes cannot follow it.";
    vec![
        update("1", "valid", one, "web-1", &steps[..1]).hex("next-witness", followed(1)),
        update("3", "valid", all, "web-1", &steps).hex("next-witness", followed(3)),
        update("until", "valid", "Until its own step it follows.", "web-3", &steps[..1])
            .hex("next-witness", XR.witness("web-3", 1).to_bytes()),
        update("revoked", "revoked", revoked, "web-2", &steps[..1]),
        update("revoked-later", "revoked", later, "web-3", &steps),
    ]
}

/// A new opening key (section 3.8), which the issuer makes of h.
fn openings() -> Vec<Case> {
    let (before, _) = XR.public[1].parts();
    let (after, _) = XR.public[2].parts();
    let opening = |name: &str, expect: &str, comment: &str, h: &[u8], h_w: &[u8]| {
        with_key(case("new-opening", name, expect, comment), &XR.public[1]).hex("h", h).hex("h-w", h_w)
    };
    let (h, h_w) = (&after[..48], &after[48..96]);
    let comment = "Other h and h_w; all else stays.";
    vec![
        opening("new-opening", "valid", comment, h, h_w)
            .hex("gamma", XR.issuer.to_bytes().as_slice())
            .hex("next-founding-key", after),
        opening("new-opening-old-h-w", "invalid", "h_w is still the old one.", h, &before[48..96]),
    ]
}
