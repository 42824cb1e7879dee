//! Vectors of `clew-group`.

use clew_group::DecodeError;
use clew_group::bbs04::{INCREMENTAL_BYTES, Opening, PublicKey, Signature};
use clew_group::curve::{G1, G2, Scalar};

use super::group::{GROUP, NONCE, x};
use super::{hash, nonces, patched, replaced, rng, scalar, with_nonces};
use crate::case::Case;

/// p and r of BLS12-381, big-endian.
const P: &str = "1a0111ea397fe69a4b1ba7b6434bacd764774b84f38512bf6730d2a0f6b0f6241eabfffeb153ffffb9feffffffffaaab";
const R: &str = "73eda753299d7d483339d80809a1d80553bda402fffe5bfeffffffff00000001";

const MESSAGE: &[u8] = b"a message";

/// Where a signature has its scalars.
const SCALARS: [&str; 6] = ["c", "s-alpha", "s-beta", "s-x", "s-delta1", "s-delta2"];
const SCALARS_AT: usize = 144;

/// Where the incremental form has R1..R5, and how long they are.
const COMMITMENTS: [(usize, usize); 5] = [(336, 48), (384, 48), (432, 576), (1008, 48), (1056, 48)];

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
        signatures(),
        bad_signatures(),
        bad_scalars(),
        bad_points(),
        bad_incremental(),
        opening(),
        revocations(),
        bad_revocations(),
    ];
    groups.into_iter().flatten().collect()
}

/// A case that asks for `check`.
fn case(check: &str, name: &str, expect: &str, comment: &str) -> Case {
    Case::new("group-signature", name, expect, comment).text("check", check)
}

fn genesis() -> [u8; 480] {
    GROUP.public[0].to_bytes()
}

fn keys() -> Vec<Case> {
    let h = Opening::hash_h(&NONCE).to_bytes();
    let hashed = case("hash-h", "h", "valid", "h of the group's nonce.");
    let mut cases = vec![hashed.hex("nonce", NONCE).hex("h", h)];
    for (epoch, key) in GROUP.public.iter().enumerate() {
        let (name, comment) = (
            format!("public-key-{epoch}"),
            format!("The public key of epoch {epoch} and its id."),
        );
        let case = case("public-key", &name, "valid", &comment);
        cases.push(case.hex("public-key", key.to_bytes()).hex("id", key.id()));
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
        .hex("gamma", GROUP.issuer.to_bytes().as_slice())
        .hex("public-key", genesis())
        .hex("x", x("web-1").to_bytes())
        .hex("member-key", GROUP.member[0].to_bytes().as_slice()),
    );
    cases.push(
        case(
            "member-key",
            "member-key",
            "valid",
            "A member key fits the key of its epoch.",
        )
        .hex("public-key", later())
        .hex("member-key", GROUP.member[2].to_bytes().as_slice()),
    );
    cases.push(
        case(
            "opener-key",
            "opener-key",
            "valid",
            "The opener key fits u, v and h.",
        )
        .hex("public-key", genesis())
        .hex("opener-key", GROUP.opener.to_bytes().as_slice()),
    );
    cases
}

fn later() -> [u8; 480] {
    GROUP.public[2].to_bytes()
}

/// Three encodings of a point that break one rule each. The sizes are those of G1 and G2.
fn bad_encodings(point: &[u8]) -> [(&'static str, &'static str, Vec<u8>); 3] {
    [
        ("off-curve", "point", near(point, DecodeError::Point)),
        (
            "outside-subgroup",
            "subgroup",
            near(point, DecodeError::Subgroup),
        ),
        ("identity", "identity", identity(point.len())),
    ]
}

fn identity(length: usize) -> Vec<u8> {
    replaced(&vec![0; length], 0, &[0xc0])
}

/// The first encoding with another last byte that breaks this rule.
fn near(point: &[u8], rule: DecodeError) -> Vec<u8> {
    let read = |bytes: &[u8]| match bytes.len() {
        48 => G1::from_bytes(bytes).err(),
        _ => G2::from_bytes(bytes).err(),
    };
    let last = point[point.len() - 1];
    let mut others = (1..=255).map(|step| patched(point, -1, last.wrapping_add(step)));
    others.find(|bytes| read(bytes) == Some(rule)).unwrap()
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

fn sentence(point: &str, what: &str) -> String {
    match what {
        "off-curve" => format!("{point} is no point of the curve."),
        "outside-subgroup" => format!("{point} is on the curve, outside the subgroup."),
        _ => format!("{point} is the identity."),
    }
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
    let (first, second) = (GROUP.public[1].to_bytes(), later());
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

/// Another point of the subgroup: twice the one given.
fn another(point: &[u8]) -> Vec<u8> {
    let two = Scalar::from_u128(2);
    match point.len() {
        48 => G1::from_bytes(point).unwrap().mul(&two).to_bytes().to_vec(),
        _ => G2::from_bytes(point).unwrap().mul(&two).to_bytes().to_vec(),
    }
}

fn bad_secret_keys() -> Vec<Case> {
    let member = GROUP.member[2].to_bytes();
    let x = &member[48..];
    let bad_member = |name: &str, rule: &str, comment: &str, key: &[u8]| {
        case("member-key", name, rule, comment)
            .hex("public-key", later())
            .hex("member-key", key)
    };
    let (a_off, old) = (
        near(&member[..48], DecodeError::Point),
        GROUP.member[1].to_bytes(),
    );
    let opener = GROUP.opener.to_bytes();
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

/// The sum of two big-endian integers of one size.
fn add(a: &[u8], b: &str) -> Vec<u8> {
    let (mut sum, mut carry) = (a.to_vec(), 0);
    for (digit, other) in sum.iter_mut().zip(hex::decode(b).unwrap()).rev() {
        let all = u16::from(*digit) + u16::from(other) + carry;
        (*digit, carry) = (all as u8, all >> 8);
    }
    assert_eq!(carry, 0, "it has no room");
    sum
}

/// The incremental form of the signature that `web-1` makes with the nonces of `label`.
fn sign(epoch: usize, label: &str, message: &[u8]) -> [u8; INCREMENTAL_BYTES] {
    let precursor = GROUP.signer(epoch).precursor_from(nonces(label));
    precursor.sign_incremental(&[message]).to_bytes()
}

fn signatures() -> Vec<Case> {
    let long: Vec<u8> = (0..4096u32).map(|i| (i * i / 7) as u8).collect();
    vec![
        signed(
            "sign",
            "Every secret and every value on the way.",
            0,
            MESSAGE,
        ),
        signed(
            "sign-epoch-2",
            "The same member after two revocations.",
            2,
            MESSAGE,
        ),
        signed("sign-empty", "The empty message.", 0, b""),
        signed("sign-long", "A message of 4,096 bytes.", 0, &long),
    ]
}

fn signed(name: &str, comment: &str, epoch: usize, message: &[u8]) -> Case {
    let (key, member) = (&GROUP.public[epoch], GROUP.member[epoch].to_bytes());
    let bytes = sign(epoch, name, message);
    let mut case = case("sign", name, "valid", comment)
        .hex("public-key", key.to_bytes())
        .hex("id", key.id())
        .hex("a", &member[..48])
        .hex("x", &member[48..])
        .hex("message", message);
    case = with_nonces(case, name);
    for (t, bytes) in ["t1", "t2", "t3"].into_iter().zip(bytes.chunks(48)) {
        case = case.hex(t, bytes);
    }
    for (r, (at, length)) in ["r1", "r2", "r3", "r4", "r5"].into_iter().zip(COMMITMENTS) {
        case = case.hex(r, &bytes[at..at + length]);
    }
    for (s, bytes) in SCALARS.into_iter().zip(bytes[SCALARS_AT..].chunks(32)) {
        case = case.hex(s, bytes);
    }
    case.hex("signature", &bytes[..336])
        .hex("incremental", bytes)
}

/// The signature that most cases break.
fn good() -> Vec<u8> {
    sign(0, "good", MESSAGE)[..336].to_vec()
}

fn verify(name: &str, expect: &str, comment: &str, signature: &[u8]) -> Case {
    verify_under(
        "verify",
        name,
        expect,
        comment,
        &GROUP.public[0],
        MESSAGE,
        signature,
    )
}

fn verify_under(
    check: &str,
    name: &str,
    expect: &str,
    comment: &str,
    key: &PublicKey,
    message: &[u8],
    signature: &[u8],
) -> Case {
    case(check, name, expect, comment)
        .hex("public-key", key.to_bytes())
        .hex("message", message)
        .hex("signature", signature)
}

fn bad_signatures() -> Vec<Case> {
    let (good, longer) = (good(), sign(0, "good", MESSAGE));
    let other = other_group();
    let under = |name, comment, key, message| {
        verify_under("verify", name, "invalid", comment, key, message, &good)
    };
    let mut cases = vec![
        verify(
            "verify",
            "valid",
            "The signature that the next files break.",
            &good,
        ),
        under(
            "wrong-message",
            "A signature of another message.",
            &GROUP.public[0],
            b"a massage",
        ),
        under(
            "wrong-epoch",
            "A signature of epoch 0 under the key of epoch 1.",
            &GROUP.public[1],
            MESSAGE,
        ),
        under(
            "wrong-group",
            "A signature under the key of another group.",
            &other,
            MESSAGE,
        ),
    ];
    for (name, signature) in [
        ("signature-empty", &[][..]),
        ("signature-short", &good[..335]),
        ("signature-long", &longer[..337]),
        ("signature-incremental-as-plain", &longer),
    ] {
        let comment = format!("{} bytes.", signature.len());
        cases.push(verify(name, "length", &comment, signature));
    }
    for (name, at) in ["t1", "t2", "t3"].into_iter().zip([0, 48, 96]) {
        let (file, comment) = (
            format!("signature-other-{name}"),
            format!("{name} is another point."),
        );
        let signature = replaced(&good, at, &another(&good[at..at + 48]));
        cases.push(verify(&file, "invalid", &comment, &signature));
    }
    for (i, name) in SCALARS.into_iter().enumerate() {
        let (file, comment) = (
            format!("signature-other-{name}"),
            format!("{name} is one bit off."),
        );
        let at = SCALARS_AT + 32 * i + 31;
        let signature = patched(&good, at as isize, good[at] ^ 1);
        cases.push(verify(&file, "invalid", &comment, &signature));
    }
    cases
}

fn other_group() -> PublicKey {
    use clew_group::bbs04::{IssuerKey, OpenerKey};
    let (_, opening) = OpenerKey::generate(&hash(b"other"), &mut rng("other opener"));
    let (_, issuing) = IssuerKey::generate(&mut rng("other issuer"));
    PublicKey::genesis(&opening, &issuing)
}

fn bad_scalars() -> Vec<Case> {
    let good = good();
    let mut cases = Vec::new();
    for (i, name) in SCALARS.into_iter().enumerate() {
        let at = SCALARS_AT + 32 * i;
        let (file, comment) = (
            format!("signature-{name}-not-reduced"),
            format!("{name} + r in the place of {name}: who reduces would accept."),
        );
        let signature = replaced(&good, at, &add(&good[at..at + 32], R));
        cases.push(verify(&file, "scalar", &comment, &signature));
    }
    let bit = patched(&good, SCALARS_AT as isize, 0x40 | good[SCALARS_AT] & 0x1f);
    let comment = "c is below r, and has bit 254 set.";
    cases.push(verify("signature-c-bit-254", "scalar", comment, &bit));
    cases
}

fn bad_points() -> Vec<Case> {
    let good = good();
    let mut cases = Vec::new();
    for (i, t) in ["t1", "t2", "t3"].into_iter().enumerate() {
        let (at, point) = (48 * i, &good[48 * i..48 * i + 48]);
        let mut add = |what: &str, rule: &str, comment: &str, signature: &[u8]| {
            cases.push(verify(
                &format!("signature-{t}-{what}"),
                rule,
                comment,
                signature,
            ));
        };
        for (what, rule, bytes) in bad_encodings(point) {
            add(what, rule, &sentence(t, what), &replaced(&good, at, &bytes));
        }
        let comment = format!("{t} without the bit of the compressed form.");
        add(
            "not-compressed",
            "point",
            &comment,
            &patched(&good, at as isize, point[0] & 0x7f),
        );
        let comment = format!("{t} has the bit of the identity, and an x.");
        add(
            "identity-with-x",
            "point",
            &comment,
            &patched(&good, at as isize, point[0] | 0x40),
        );
        let comment = format!("{t} is the identity with the bit of the larger y.");
        let signed = patched(&identity(48), 0, 0xe0);
        add(
            "identity-with-sign",
            "point",
            &comment,
            &replaced(&good, at, &signed),
        );
        let comment = format!("{t} with x + p in the place of x: who reduces would accept.");
        add("x-not-reduced", "point", &comment, &with_unreduced_x(i));
    }
    cases
}

/// A signature whose T of that index is written with x + p, which has room for few x only.
fn with_unreduced_x(i: usize) -> Vec<u8> {
    let at = 48 * i;
    let encode = |signature: &[u8]| {
        let flags = signature[at] & 0xe0;
        let x = patched(&signature[at..at + 48], 0, signature[at] & 0x1f);
        let sum = add(&x, P);
        (sum[0] & 0xe0 == 0).then(|| {
            let point = patched(&sum, 0, sum[0] | flags);
            replaced(signature, at, &point)
        })
    };
    let mut signatures = (0..).map(|n| sign(0, &format!("small x {n}"), MESSAGE)[..336].to_vec());
    signatures.find_map(|signature| encode(&signature)).unwrap()
}

fn bad_incremental() -> Vec<Case> {
    let good = sign(0, "good", MESSAGE);
    let verify = |name: &str, expect: &str, comment: &str, message: &[u8], signature: &[u8]| {
        verify_under(
            "verify-incremental",
            name,
            expect,
            comment,
            &GROUP.public[0],
            message,
            signature,
        )
    };
    let mut cases = vec![
        verify(
            "incremental",
            "valid",
            "The form that carries R1 to R5.",
            MESSAGE,
            &good,
        ),
        verify(
            "incremental-wrong-message",
            "invalid",
            "Another message: the hash alone says no.",
            b"a massage",
            &good,
        ),
        verify(
            "incremental-short",
            "length",
            "A byte is missing.",
            MESSAGE,
            &good[..1103],
        ),
        verify(
            "incremental-long",
            "length",
            "A byte too many.",
            MESSAGE,
            &[&good[..], &[0]].concat(),
        ),
        verify(
            "incremental-plain",
            "length",
            "The plain form in the place of the incremental one.",
            MESSAGE,
            &good[..336],
        ),
    ];
    for (i, (at, length)) in COMMITMENTS.into_iter().enumerate() {
        let (name, comment) = (
            format!("incremental-wrong-r{}", i + 1),
            format!(
                "c and all responses fit an R{} that is not the derived one; the other R hold.",
                i + 1
            ),
        );
        let wrong = match length {
            48 => another(&good[at..at + 48]),
            _ => good[at..at + length].iter().rev().copied().collect(),
        };
        let signature = refitted(&replaced(&good, at, &wrong));
        cases.push(verify(&name, "invalid", &comment, MESSAGE, &signature));
    }
    cases
}

/// Hashes what the R's are now, and answers that challenge with the secrets of label `good`.
fn refitted(signature: &[u8]) -> Vec<u8> {
    let parts = [
        b"clew-bbs04-sig-1",
        &GROUP.public[0].id()[..],
        &signature[..144],
        &signature[336..],
        MESSAGE,
    ];
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
    replaced(signature, SCALARS_AT, &scalars)
}

fn opening() -> Vec<Case> {
    [0, 2]
        .map(|epoch: usize| {
            let name = format!("open-epoch-{epoch}");
            let comment =
                "The credential in a signature, and the tag, which is the same in every epoch.";
            let bytes = &sign(epoch, &name, MESSAGE)[..336];
            let credential = GROUP.opener.open(&Signature::from_bytes(bytes).unwrap());
            let tag = GROUP.public[epoch].tag(&credential);
            case("open", &name, "valid", comment)
                .hex("public-key", GROUP.public[epoch].to_bytes())
                .hex("opener-key", GROUP.opener.to_bytes().as_slice())
                .hex("signature", bytes)
                .hex("credential", credential.to_bytes())
                .hex("tag", tag)
        })
        .into()
}

fn revocations() -> Vec<Case> {
    let mut cases = Vec::new();
    for (epoch, (revocation, revoked)) in GROUP.revocations.iter().enumerate() {
        let (key, next) = (&GROUP.public[epoch], &GROUP.public[epoch + 1]);
        let (name, comment) = (
            format!("revoke-{}", epoch + 1),
            format!("The revocation that leads from epoch {epoch} to the next."),
        );
        cases.push(
            bad_revocation(&name, "valid", &comment, epoch, &revocation.to_bytes())
                .hex("gamma", GROUP.issuer.to_bytes().as_slice())
                .hex("x", &revoked.to_bytes()[48..])
                .hex("next-public-key", next.to_bytes())
                .hex("next-id", next.id()),
        );
        let update = |name: String, expect: &str, comment: &str, member: &[u8]| {
            case("member-update", &name, expect, comment)
                .hex("public-key", key.to_bytes())
                .hex("revocation", revocation.to_bytes())
                .hex("member-key", member)
        };
        let (before, after) = (
            GROUP.member[epoch].to_bytes(),
            GROUP.member[epoch + 1].to_bytes(),
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
        .hex("public-key", GROUP.public[epoch].to_bytes())
        .hex("revocation", bytes)
}

fn bad_revocations() -> Vec<Case> {
    let good = GROUP.revocations[0].0.to_bytes();
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
