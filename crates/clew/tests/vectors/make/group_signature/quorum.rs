//! Vectors of the quorum: sharings, decryptions, and what is put together of them.

use clew_group::curve::{G1, Scalar};
use clew_group::quorum::{Decryption, Part, Quorum, SecretShare, Set, Sharing, Trustee};
use clew_group::{bbs04, xr};

use crate::case::Case;
use crate::make::damage::{Damage, TWO_RULES, bad_points, bad_proofs, two_rules};
use crate::make::group_signature::bbs04_signatures;
use crate::make::group_signature::xr_signatures;
use crate::make::groups::bbs04_group::BBS04;
use crate::make::groups::xr_group::{XR, trustee, u};
use crate::make::{flat, hash, rng, scalar, with_key};

pub fn all() -> Vec<Case> {
    flat([lagrange(), sharings(), bad_shares(), decryptions(), bad_decryptions(), combinations(), bad_combinations(), openings()])
}

/// A case that asks for `check`.
pub fn case(check: &str, name: &str, expect: &str, comment: &str) -> Case {
    Case::new("group-signature", name, expect, comment).text("check", check)
}

/// The public side of a sharing.
pub fn with_sharing(case: Case, sharing: &Sharing) -> Case {
    let commitments = [sharing.public().to_bytes().to_vec(), sharing.to_bytes()].concat();
    case.hex("base", sharing.base().to_bytes())
        .each("commitment", commitments.chunks(48))
        .hex("trustees", [sharing.quorum().trustees()])
}

fn lagrange() -> Vec<Case> {
    [&[1][..], &[1, 2], &[2, 3], &[1, 3, 4], &[1, 2, 31, 32]]
        .into_iter()
        .map(|indices| {
            let set = Set::of(indices.iter().map(|i| trustee(*i))).unwrap();
            let named: Vec<String> = indices.iter().map(u8::to_string).collect();
            let comment = format!("The coefficients of trustees {}.", named.join(", "));
            let name = format!("lagrange-{}", named.join("-"));
            let lambdas = set.iter().map(|i| set.lagrange_at_zero(i).to_bytes());
            case("lagrange", &name, "valid", &comment).hex("set", set.to_bytes()).each("lambda", lambdas)
        })
        .collect()
}

/// What a dealer draws: the coefficients of its polynomial.
fn coefficients(label: &str, constant: Scalar, threshold: u8) -> Vec<Scalar> {
    let mut rng = rng(label);
    let drawn = (1..threshold).map(|_| Scalar::random(&mut rng));
    [constant].into_iter().chain(drawn).collect()
}

/// A sharing of its own: t of n, of xi in base u.
fn dealt(t: u8, n: u8) -> (Sharing, Vec<SecretShare>) {
    let label = format!("sharing {t} of {n}");
    let quorum = Quorum::new(t, n).unwrap();
    Sharing::deal(&u(), &scalar("a shared xi"), quorum, &mut rng(&label)).unwrap()
}

fn sharings() -> Vec<Case> {
    let cases = [(1, 1), (2, 3), (3, 5)].map(|(t, n)| {
        let (name, comment) =
            (format!("sharing-{t}-of-{n}"), format!("A polynomial with {t} coefficients, and the shares of {n} trustees."));
        let all = coefficients(&format!("sharing {t} of {n}"), scalar("a shared xi"), t);
        let (sharing, shares) = dealt(t, n);
        let keys = shares.iter().map(|s| sharing.share_key(s.trustee()).to_bytes());
        let case = case("sharing", &name, "valid", &comment).each("coefficient", all.iter().map(Scalar::to_bytes));
        with_sharing(case, &sharing).each("share", shares.iter().map(|s| s.to_bytes().to_vec())).each("share-key", keys)
    });
    cases.into()
}

fn bad_shares() -> Vec<Case> {
    let (sharing, shares) = dealt(2, 3);
    let good = shares[1].to_bytes().to_vec();
    let share = |name: &str, rule: &str, comment: &str, index: u8, share: &[u8]| {
        let case = case("share", &format!("share{name}"), rule, comment);
        with_sharing(case, &sharing).hex("index", [index]).hex("share", share)
    };
    let key = sharing.share_key(trustee(2)).to_bytes();
    vec![
        share("", "valid", "A share fits its share key.", 2, &good).hex("share-key", key),
        share("-other", "invalid", "The share of another trustee.", 1, &good),
        share("-one-bit", "invalid", "The share is one bit off.", 2, &good.flip(31)),
        share("-zero", "scalar", "A share of zero.", 2, &[0; 32]),
        share("-not-reduced", "scalar", "share + r in its place.", 2, &good.unreduced(0)),
        share("-short", "length", "A byte is missing.", 2, &good[..31]),
        share("-index-0", "index", "Index 0.", 0, &good),
        share("-index-4", "index", "Trustee 4 of 3.", 4, &good),
        share("-index-33", "index", "Index 33.", 33, &good),
    ]
}

fn context() -> [u8; 32] {
    hash(b"a request")
}

/// P of the cases.
fn point() -> G1 {
    G1::generator().mul(&scalar("a point to decrypt"))
}

fn part<'a>(sharing: &'a Sharing, point: &'a G1, context: &'a [u8; 32]) -> Part<'a> {
    Part { number: 1, sharing, point, context }
}

/// What a trustee gives for the point.
fn decrypt((sharing, shares): &(Sharing, Vec<SecretShare>), index: u8) -> Decryption {
    let share = &shares[usize::from(index) - 1];
    let given = part(sharing, &point(), &context()).decrypt(share, &mut rng("a decryption"));
    given.unwrap()
}

/// Whose decryption, of what, and under which context.
fn decryption(name: &str, expect: &str, comment: &str, at: &Place<'_>, given: &[u8]) -> Case {
    let case = case("decryption", &format!("decryption{name}"), expect, comment);
    with_sharing(case, at.sharing)
        .hex("context", at.context)
        .hex("index", [at.index])
        .hex("part", [at.part])
        .hex("point", &at.point)
        .hex("decryption", given)
}

struct Place<'a> {
    sharing: &'a Sharing,
    context: [u8; 32],
    index: u8,
    part: u8,
    point: Vec<u8>,
}

fn place(sharing: &Sharing) -> Place<'_> {
    Place { sharing, context: context(), index: 2, part: 1, point: point().to_bytes().to_vec() }
}

fn decryptions() -> Vec<Case> {
    let ours = dealt(2, 3);
    let (sharing, shares) = &ours;
    let k = Scalar::random(&mut rng("a decryption")).to_bytes();
    let (point, context) = (point(), context());
    let of_part_2 = Part { number: 2, ..part(sharing, &point, &context) };
    let second = of_part_2.decrypt(&shares[1], &mut rng("a decryption"));
    let in_part_2 = Place { part: 2, ..place(sharing) };
    let good = decrypt(&ours, 2).to_bytes();
    let second = second.unwrap().to_bytes();
    vec![
        decryption("", "valid", "Trustee 2 decrypts.", &place(sharing), &good)
            .hex("share", shares[1].to_bytes().as_slice())
            .hex("k", k),
        decryption("-part-2", "valid", "As the second of two.", &in_part_2, &second)
            .hex("share", shares[1].to_bytes().as_slice())
            .hex("k", k),
    ]
}

fn bad_decryptions() -> Vec<Case> {
    let ours = dealt(2, 3);
    let (good, here) = (decrypt(&ours, 2).to_bytes(), place(&ours.0));
    let bad = |name: &str, rule: &str, comment: &str, bytes: &[u8]| {
        let case = decryption(name, rule, comment, &here, bytes);
        if rule == "invalid" { case.blames(2) } else { case }
    };
    let elsewhere = |name: &str, comment: &str, place: Place<'_>| {
        decryption(name, "invalid", comment, &place, &good).hex("culprit", [place.index])
    };
    let mut cases = vec![
        bad("-short", "length", "A byte is missing.", &good[..111]),
        bad("-other-d", "invalid", "D is another point.", &good.doubled(0, 48)),
        elsewhere("-other-context", "Of another request.", Place { context: hash(b"another request"), ..place(&ours.0) }),
        elsewhere("-other-trustee", "In the name of trustee 3.", Place { index: 3, ..place(&ours.0) }),
        elsewhere("-other-part", "As the second of two.", Place { part: 2, ..place(&ours.0) }),
        elsewhere("-other-point", "Of another point.", Place { point: here.point.doubled(0, 48), ..place(&ours.0) }),
        elsewhere("-other-sharing", "Under other share keys.", place(&dealt(3, 5).0)),
        decryption("-index", "index", "Trustee 4 of 3.", &Place { index: 4, ..place(&ours.0) }, &good),
    ];
    cases.push(bad("-two-rules", "scalar", TWO_RULES, &two_rules(&good, 0, 80)));
    for (what, rule, comment, bytes) in bad_points(&good, "D", 0..48) {
        cases.push(bad(&format!("-d-{what}"), rule, &comment, &bytes));
    }
    for (what, rule, comment, bytes) in bad_proofs(&good, 48) {
        cases.push(bad(&format!("-{what}"), rule, &comment, &bytes));
    }
    cases
}

fn combine(name: &str, expect: &str, comment: &str, sharing: &Sharing, given: &[(u8, Vec<u8>)]) -> Case {
    let case = case("combine", &format!("combine-{name}"), expect, comment);
    with_sharing(case, sharing)
        .hex("context", context())
        .hex("part", [1])
        .hex("point", point().to_bytes())
        .each("index", given.iter().map(|(index, _)| [*index]))
        .each("decryption", given.iter().map(|(_, given)| given))
}

fn given(of: &(Sharing, Vec<SecretShare>), indices: &[u8]) -> Vec<(u8, Vec<u8>)> {
    let one = |i: &u8| (*i, decrypt(of, *i).to_bytes().to_vec());
    indices.iter().map(one).collect()
}

fn combinations() -> Vec<Case> {
    let power = point().mul(&scalar("a shared xi")).to_bytes();
    [
        (1, 1, &[1][..], "One of one."),
        (2, 3, &[1, 2], "Two of three."),
        (2, 3, &[3, 1], "Two others, in another order: the same power."),
        (2, 3, &[1, 2, 3], "More than it takes."),
        (3, 5, &[1, 3, 5], "Three of five."),
    ]
    .map(|(t, n, indices, comment)| {
        let of = dealt(t, n);
        let name: Vec<String> = indices.iter().map(u8::to_string).collect();
        let name = format!("{t}-of-{n}-by-{}", name.join("-"));
        combine(&name, "valid", comment, &of.0, &given(&of, indices)).hex("power", power)
    })
    .into()
}

fn bad_combinations() -> Vec<Case> {
    let of = dealt(2, 3);
    let good = given(&of, &[1, 3]);
    let bad = |name: &str, rule: &str, comment: &str, given: &[(u8, Vec<u8>)]| combine(name, rule, comment, &of.0, given);
    let mut broken = good.clone();
    broken[1].1 = broken[1].1.flip(111);
    let mut swapped = good.clone();
    (swapped[0].0, swapped[1].0) = (3, 1);
    let (twice, mut beyond) = ([good[0].clone(), good[0].clone()], good.clone());
    beyond[1].0 = 4;
    vec![
        bad("too-few", "too-few", "One of two.", &good[..1]),
        bad("twice", "index", "One trustee twice.", &twice),
        bad("beyond", "index", "Trustee 4 of 3.", &beyond),
        bad("broken", "invalid", "s of the second is one bit off.", &broken).blames(3),
        bad("swapped", "invalid", "Each in the other's name.", &swapped).blames(1),
    ]
}

/// Whole signatures, opened by trustees 1 and 3.
fn openings() -> Vec<Case> {
    let [first, third] = [trustee(1), trustee(3)];
    let comment = "Trustees 1 and 3 open: the base.";
    let context = context();
    let opening = |name: &str, signature: &[u8]| {
        case("open-shares", name, "valid", comment).hex("signature", signature).hex("context", context)
    };

    let bytes = &xr_signatures::sign(0, "xr open-shares", b"a message")[..288];
    let signature = xr::Signature::from_bytes(bytes).unwrap();
    let (sharing, shares) = XR.sharing(0);
    let of_t1 = part(sharing, signature.t1(), &context);
    let by = |i: Trustee| of_t1.decrypt(&shares[usize::from(i.index()) - 1], &mut rng("xr open"));
    let given = [first, third].map(|i| (i, by(i).unwrap()));
    let a = *signature.t2() - of_t1.combine(&given).unwrap();
    let case = with_sharing(with_key(opening("xr-open-shares", bytes), &XR.public[0]), sharing);
    let of_xr = case
        .hex("index", [1])
        .hex("index", [3])
        .each("decryption", given.iter().map(|(_, given)| given.to_bytes()))
        .hex("b", a.to_bytes());

    let bytes = &bbs04_signatures::sign(0, "open-shares", b"a message")[..336];
    let signature = bbs04::Signature::from_bytes(bytes).unwrap();
    let parts = signature.parts(&BBS04.sharings, &context);
    let by = |i: Trustee, part: usize| {
        let share = &BBS04.shares[part][usize::from(i.index()) - 1];
        parts[part].decrypt(share, &mut rng("bbs04 open")).unwrap()
    };
    let given = [first, third].map(|i| (i, [by(i, 0), by(i, 1)]));
    let a = signature.open_by_trustees(&BBS04.sharings, &context, &given).unwrap();
    let case = with_sharing(with_key(opening("open-shares", bytes), &BBS04.public[0]), &BBS04.sharings[0]);
    let in_v = BBS04.sharings[1].to_bytes();
    let case = case.each("commitment-in-v", in_v.chunks(48)).hex("index", [1]).hex("index", [3]);
    let all = given.iter().flat_map(|(_, both)| both.iter().map(Decryption::to_bytes));
    let of_bbs04 = case.each("decryption", all).hex("b", a.to_bytes());
    vec![of_xr, of_bbs04]
}
