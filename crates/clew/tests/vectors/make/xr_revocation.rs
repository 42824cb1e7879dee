//! Vectors of xr: revocations, new opening keys, and how members follow.

use super::damage::{bad_points, doubled, flipped, sentence, unreduced};
use super::xr_group::XR;
use super::xr_keys::case;
use super::{replaced, scalar};
use crate::case::Case;

/// Where a revocation has its points.
const POINTS: [(&str, usize, usize); 3] = [("g1", 32, 48), ("h0", 80, 48), ("lift", 128, 96)];

/// The epochs before revocations, and who was revoked.
const BEFORE: [(usize, &str); 2] = [(0, "web-2"), (2, "web-3")];

pub fn all() -> Vec<Case> {
    let groups = [revocations(), bad_revocations(), updates(), openings()];
    groups.into_iter().flatten().collect()
}

fn revocation(name: &str, expect: &str, comment: &str, epoch: usize, bytes: &[u8]) -> Case {
    case("revocation", &format!("revoke-{name}"), expect, comment)
        .hex("public-key", XR.public[epoch].to_bytes())
        .hex("revocation", bytes)
}

fn revocations() -> Vec<Case> {
    let all = BEFORE.iter().zip(&XR.revocations);
    all.map(|((epoch, _), step)| {
        let next = epoch + 1;
        let comment = format!("The revocation that leads from epoch {epoch} to the next.");
        revocation(
            &next.to_string(),
            "valid",
            &comment,
            *epoch,
            &step.to_bytes(),
        )
        .hex("gamma", XR.issuer.to_bytes().as_slice())
        .hex("x", step.x().to_bytes())
        .hex("next-public-key", XR.public[next].to_bytes())
    })
    .collect()
}

/// The revocation that most cases break.
fn good() -> [u8; 224] {
    XR.revocations[0].to_bytes()
}

fn bad_revocations() -> Vec<Case> {
    let good = good();
    let bad = |name: &str, rule: &str, comment: &str, bytes: &[u8]| {
        revocation(name, rule, comment, 0, bytes)
    };
    let mut cases = vec![
        bad("short", "length", "A byte is missing.", &good[..223]),
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
            &unreduced(&good, 0),
        ),
        bad(
            "other-x",
            "invalid",
            "x is of nobody.",
            &replaced(&good, 0, &scalar("another x").to_bytes()),
        ),
        revocation("again", "invalid", "The same step a second time.", 1, &good),
    ];
    for (point, at, length) in POINTS {
        let (name, comment) = (
            format!("other-{point}"),
            format!("{point} is another point."),
        );
        cases.push(bad(&name, "invalid", &comment, &doubled(&good, at, length)));
        for (what, rule, bytes) in bad_points(&good[at..at + length]) {
            let bytes = replaced(&good, at, &bytes);
            let name = format!("{point}-{what}");
            cases.push(bad(&name, rule, &sentence(point, what), &bytes));
        }
    }
    cases
}

fn update(name: &str, expect: &str, comment: &str, epoch: usize, parts: [&[u8]; 2]) -> Case {
    let [step, member] = parts;
    case(
        "member-update",
        &format!("member-update-{name}"),
        expect,
        comment,
    )
    .hex("public-key", XR.public[epoch].to_bytes())
    .hex("revocation", step)
    .hex("member-key", member)
}

fn updates() -> Vec<Case> {
    let mut cases = Vec::new();
    for ((epoch, revoked), step) in BEFORE.into_iter().zip(&XR.revocations) {
        let step = step.to_bytes();
        let key = |name: &str, epoch: usize| XR.machine(name).key(epoch).to_bytes();
        let (before, after) = (key("web-1", epoch), key("web-1", epoch + 1));
        let name = (epoch + 1).to_string();
        cases.push(
            update(
                &name,
                "valid",
                "A member follows.",
                epoch,
                [&step, &before[..]],
            )
            .hex("next-member-key", &after[..]),
        );
        let (name, comment) = (
            format!("{name}-revoked"),
            "The revoked member cannot follow.",
        );
        let parts = [&step, &key(revoked, epoch)[..]];
        cases.push(update(&name, "revoked", comment, epoch, parts));
    }
    let (good, member) = (good(), XR.machine("web-1").key(0).to_bytes());
    let wrong: [(&str, &str, Vec<u8>, Vec<u8>); 4] = [
        (
            "other-g1",
            "g1 is another point.",
            doubled(&good, 32, 48),
            member.to_vec(),
        ),
        (
            "other-h0",
            "h0 is another point.",
            doubled(&good, 80, 48),
            member.to_vec(),
        ),
        (
            "other-x",
            "x of the step is one bit off.",
            flipped(&good, 32),
            member.to_vec(),
        ),
        (
            "other-y",
            "y of the member is one bit off.",
            good.to_vec(),
            flipped(&member[..], 112),
        ),
    ];
    for (name, comment, step, member) in wrong {
        cases.push(update(name, "invalid", comment, 0, [&step, &member]));
    }
    cases
}

/// A new opening key (section 3.8), which the issuer makes of h.
fn openings() -> Vec<Case> {
    let before = XR.public[1].to_bytes();
    let after = XR.public[2].to_bytes();
    let opening = |name: &str, expect: &str, comment: &str, h: &[u8], h_w: &[u8]| {
        case("new-opening", name, expect, comment)
            .hex("public-key", before)
            .hex("h", h)
            .hex("h-w", h_w)
    };
    let (h, h_w) = (&after[144..192], &after[192..240]);
    let comment = "Other h and h_w; all else stays.";
    vec![
        opening("new-opening", "valid", comment, h, h_w)
            .hex("gamma", XR.issuer.to_bytes().as_slice())
            .hex("next-public-key", after),
        opening(
            "new-opening-old-h-w",
            "invalid",
            "h_w is still the old one.",
            h,
            &before[192..240],
        ),
    ]
}
