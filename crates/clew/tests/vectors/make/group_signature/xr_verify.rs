//! Vectors of xr: verification, each field damaged one by one; batches.

use clew_group::EpochId;
use clew_group::curve::{G1, Scalar};
use clew_group::xr::{IssuerKey, Nonces, PublicKey};

use crate::case::Case;
use crate::make::damage::{Damage, TWO_RULES, another, bad_points, not_canonical, two_rules, unreduced_x};
use crate::make::group_signature::xr_keys::case;
use crate::make::group_signature::xr_signatures::{MESSAGE, sign};
use crate::make::groups::records::NONCE;
use crate::make::groups::xr_group::{NEWEST, XR, u};
use crate::make::{flat, hash, rng, scalar, with_key, xr_nonces};

/// Where a signature has its points and scalars.
const POINTS: [(&str, usize); 3] = [("t1", 0), ("t2", 48), ("r3", 96)];
const C: usize = 144;
const SCALARS: [(&str, usize); 4] = [("sa", 160), ("sx", 192), ("sd", 224), ("sy", 256)];

pub fn all() -> Vec<Case> {
    flat([wrong_places(), bad_fields(), bad_encodings(), incremental(), batches()])
}

/// The incremental form that most cases break.
fn good() -> [u8; 336] {
    sign(0, "xr good", MESSAGE)
}

fn first() -> (&'static PublicKey, EpochId) {
    (&XR.public[0], XR.records.epoch_id(0))
}

fn case_of(check: &str, name: &str, expect: &str, comment: &str, signature: &[u8]) -> Case {
    under(check, name, expect, comment, first(), MESSAGE, signature)
}

fn under(
    check: &str,
    name: &str,
    expect: &str,
    comment: &str,
    (key, id): (&PublicKey, EpochId),
    message: &[u8],
    signature: &[u8],
) -> Case {
    with_key(case(check, name, expect, comment), key).hex("epoch-id", id).hex("message", message).hex("signature", signature)
}

fn verify(name: &str, expect: &str, comment: &str, signature: &[u8]) -> Case {
    case_of("verify", name, expect, comment, signature)
}

fn wrong_places() -> Vec<Case> {
    let (good, id) = (good(), first().1);
    let other = IssuerKey::generate(&mut rng("other xr issuer"));
    let (other, _) = other.found(&NONCE, XR.public[0].h(), &mut rng("other xr proof"));
    let wrong =
        |name: &str, comment: &str, place, message| under("verify", name, "invalid", comment, place, message, &good[..288]);
    let mut cases = vec![
        verify("verify", "valid", "The signature that the next files break.", &good[..288]),
        wrong("wrong-message", "Another message.", first(), b"a massage"),
        wrong("wrong-epoch", "The public key of epoch 1.", (&XR.public[1], id), MESSAGE),
        wrong("wrong-epoch-id", "The id of epoch 1.", (&XR.public[0], XR.records.epoch_id(1)), MESSAGE),
        wrong("wrong-group", "The key of another issuer.", (&other, id), MESSAGE),
    ];
    for (name, signature) in [
        ("signature-empty", &[][..]),
        ("signature-short", &good[..287]),
        ("signature-long", &good[..289]),
        ("signature-incremental-as-plain", &good),
    ] {
        let comment = format!("{} bytes.", signature.len());
        cases.push(verify(name, "length", &comment, signature));
    }
    cases
}

fn bad_fields() -> Vec<Case> {
    let good = &good()[..288];
    let mut cases = Vec::new();
    for (name, at) in POINTS {
        let (file, comment) = (format!("signature-other-{name}"), format!("{name} is another point."));
        cases.push(verify(&file, "invalid", &comment, &good.doubled(at, 48)));
    }
    let scalars = SCALARS.into_iter().map(|(name, at)| (name, at + 32));
    for (name, end) in [("c", C + 16), ("c1", C + 8)].into_iter().chain(scalars) {
        let (file, comment) = (format!("signature-other-{name}"), format!("{name} is one bit off."));
        cases.push(verify(&file, "invalid", &comment, &good.flip(end - 1)));
    }
    for (name, at) in SCALARS {
        let (file, comment) =
            (format!("signature-{name}-not-reduced"), format!("{name} + r in the place of {name}: who reduces would accept."));
        cases.push(verify(&file, "scalar", &comment, &good.unreduced(at)));
    }
    let both = two_rules(good, 0, 256);
    cases.push(verify("signature-two-rules", "scalar", TWO_RULES, &both));
    let comment = "R1' is the identity: ra was zero. All else holds.";
    cases.push(verify("signature-r1-identity", "invalid", comment, &without_r1()[..288]));
    let comment = "c fits, and no credential is known: only the pairing says no.";
    cases.push(verify("signature-forged", "invalid", comment, &forged()[..288]));
    cases
}

/// A signature whose ra is zero.
fn without_r1() -> Vec<u8> {
    let n = xr_nonces("xr without r1");
    let nonces = Nonces { alpha: n.alpha, ra: Scalar::default(), rx: n.rx, rd: n.rd, ry: n.ry };
    let precursor = XR.signer_of("web-1", 0).precursor_from(&nonces);
    precursor.sign_incremental(&[MESSAGE]).to_bytes().to_vec()
}

/// The incremental form of what somebody makes without a credential, and with a c that fits.
fn forged() -> Vec<u8> {
    let n = xr_nonces("xr forged");
    let [t2, r3] = ["t2 forged", "r3 forged"].map(|l| G1::generator().mul(&scalar(l)).to_bytes());
    let (t1, r1) = (u().mul(&n.alpha).to_bytes(), u().mul(&n.ra).to_bytes());
    let body = [&t1, &t2, &r3, &[0; 48][..]].concat();
    let rest = [n.rx, n.rd, n.ry].map(|s| s.to_bytes());
    let mut signature = [&body[..144], &[0; 48], rest.as_flattened(), &r1].concat();
    let c = refit(&mut signature);
    signature.set(160, (n.ra + c * n.alpha).to_bytes())
}

/// Writes the c of the points that an incremental form carries, and gives its value.
fn refit(incremental: &mut [u8]) -> Scalar {
    let mut domain = [0; 32];
    domain[..19].copy_from_slice(b"clew-xr-signature-1");
    let (id, signature) = (first().1, &incremental[..]);
    let (t, r3, r1) = (&signature[..96], &signature[96..144], &signature[288..]);
    let digest = hash(&[&domain, &id.0[..], t, r1, r3, MESSAGE].concat());
    let c: [u8; 16] = digest[..16].try_into().unwrap();
    incremental[C..C + 16].copy_from_slice(&c);
    Scalar::from_halves(&c)
}

fn bad_encodings() -> Vec<Case> {
    let good = &good()[..288];
    let mut cases = Vec::new();
    for (point, at) in POINTS {
        let (of, name) = (at..at + 48, |what| format!("signature-{point}-{what}"));
        for (what, rule, comment, bytes) in flat([bad_points(good, point, of.clone()), not_canonical(good, point, of)]) {
            cases.push(verify(&name(what), rule, &comment, &bytes));
        }
        let comment = format!("{point} with x + p in the place of x: who reduces would accept.");
        let unreduced = with_unreduced_x(at);
        cases.push(verify(&name("x-not-reduced"), "point", &comment, &unreduced));
    }
    cases
}

/// A signature whose point at that place is written with x + p, which has room for few x only.
fn with_unreduced_x(at: usize) -> Vec<u8> {
    let mut all = (0..).map(|n| sign(0, &format!("small x {n}"), MESSAGE)[..288].to_vec());
    all.find_map(|signature| unreduced_x(&signature, at)).unwrap()
}

fn incremental() -> Vec<Case> {
    let good = good();
    let bad = |name: &str, expect: &str, comment: &str, signature: &[u8]| {
        let name = format!("incremental{name}");
        case_of("verify-incremental", &name, expect, comment, signature)
    };
    let other_r1 = another(&good[288..]);
    let mut refitted = good.set(288, &other_r1);
    let c = refit(&mut refitted);
    let (n, key) = (xr_nonces("xr good"), XR.machine("web-1").key.to_bytes());
    let [x, y] = [48, 80].map(|at| Scalar::from_bytes(&key[at..at + 32]).unwrap());
    let responses = [n.ra + c * n.alpha, n.rx + c * x, n.rd + c * n.alpha * x, n.ry + c * y].map(|s| s.to_bytes());
    let refitted = refitted.set(160, responses.as_flattened());
    let mut cases = vec![
        bad("", "valid", "The form that carries R1.", &good),
        under(
            "verify-incremental",
            "incremental-wrong-message",
            "invalid",
            "Another message: the hash alone says no.",
            first(),
            b"a massage",
            &good,
        ),
        bad("-short", "length", "A byte is missing.", &good[..335]),
        bad("-long", "length", "A byte too many.", &good.plus([0])),
        bad("-plain", "length", "The plain form in its place.", &good[..288]),
        bad("-other-r1", "invalid", "R1 is another point.", &good.doubled(288, 48)),
        bad("-fitting-r1", "invalid", "c and all responses fit an R1 that is not the derived one.", &refitted),
        bad("-forged", "invalid", "c and R1 fit, and no credential is known: only the pairing says no.", &forged()),
        bad("-r1-is-identity", "identity", "R1 is the identity, c fits, and all else holds.", &without_r1()),
    ];
    for (what, rule, comment, mut damaged) in bad_points(&good, "R1", 288..336) {
        refit(&mut damaged);
        let comment = format!("{comment} c is the hash of it.");
        cases.push(bad(&format!("-r1-{what}"), rule, &comment, &damaged));
    }
    cases
}

/// Several signatures of one epoch, plain and incremental, and which are good.
fn batches() -> Vec<Case> {
    let signed = |i: usize| sign(NEWEST, &format!("xr batch {i}"), MESSAGE);
    let form = |i: usize| match i % 2 {
        0 => signed(i)[..288].to_vec(),
        _ => signed(i).to_vec(),
    };
    let batch = |name: &str, comment: &str, all: Vec<Vec<u8>>, bad: &[usize]| {
        let verdicts: Vec<&str> = (0..all.len()).map(|i| if bad.contains(&i) { "invalid" } else { "valid" }).collect();
        with_key(case("verify-batch", name, "valid", comment), &XR.public[NEWEST])
            .hex("epoch-id", XR.records.epoch_id(NEWEST))
            .hex("message", MESSAGE)
            .each("signature", all)
            .text("verdicts", &verdicts.join(" "))
    };
    let good: Vec<Vec<u8>> = (0..4).map(form).collect();
    let mut mixed: Vec<Vec<u8>> = (0..7).map(form).collect();
    // T2 of the first: the pairing. R1 of the fourth: the hash. sx of the last: the pairing.
    mixed[0] = mixed[0].flip(255);
    mixed[3] = mixed[3].doubled(288, 48);
    mixed[6] = mixed[6].flip(223);
    let comment = "Of seven, the first and the last fail in the pairing, the fourth by its hash.";
    vec![
        batch("batch", "Four good ones, of both forms.", good, &[]),
        batch("batch-bad", comment, mixed, &[0, 3, 6]),
        batch("batch-all-bad", "Two, both bad.", vec![form(0).flip(287), form(1).doubled(0, 48)], &[0, 1]),
    ]
}
