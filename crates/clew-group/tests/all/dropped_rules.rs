//! Each rule of split revocation dropped once, and the attack that then works; and what keeps the
//! rule.

use crate::common::points::replaced;
use crate::common::xr::{Group, Member, NONCE, SESSION};
use crate::common::xr_textbook::{Gpk, Key, g1, scalar, sign};
use crate::common::{EPOCH, rng, textbook as book};
use clew_group::bbs04;
use clew_group::curve::{G1, Scalar};
use clew_group::xr::{Device, Generators, MemberKey, PublicKey, Signature, VerifyingKey};
use clew_group::{Invalid, Revoked, Step, check_steps};

/// Signs without any check of the key: what the signature opens to, if the product accepts it.
fn opened(group: &Group, public: &PublicKey, key: &Key) -> Option<G1> {
    let gpk = Gpk::of(&NONCE, public, EPOCH);
    let nonces = clew_group::xr::Nonces::random(&mut rng(3));
    let bytes = sign(&gpk, key, &nonces, b"m");
    let signature = Signature::from_bytes(&bytes[..288]).ok()?;
    let verifier = VerifyingKey::new(public, EPOCH);
    verifier.verify(&[b"m"], &signature).ok()?;
    Some(group.open(&signature))
}

fn names(public: &PublicKey, b: &G1, members: &[&Member]) -> bool {
    let fits = |m: &&Member| public.certifies(&m.a, &m.c, &m.x) && public.names(b, &m.c, &m.x);
    members.iter().any(fits)
}

fn gamma(group: &Group) -> Scalar {
    scalar(group.issuer.to_bytes().as_slice())
}

fn y(member: &Member) -> Scalar {
    scalar(&member.key.to_bytes()[80..])
}

/// Rule 1: an x in two offers gives a credential for any y, which opens to nobody. The caller draws
/// x afresh for every offer.
#[test]
fn two_offers_with_one_x_are_a_credential_for_any_y() {
    let group = Group::new(1);
    let x = Scalar::from_u128(77);
    let joined = [10, 20].map(|s| {
        let (device, request) = Device::new(&group.genesis, &SESSION, &mut rng(s));
        let s = Scalar::from_u128(s.into());
        let offer = group
            .issuer
            .offer(&group.genesis, &SESSION, &request, &x, &s);
        let key = device.accept(&group.genesis, &offer.unwrap()).unwrap();
        (key.credential(), scalar(&key.to_bytes()[80..]))
    });
    let [(a1, y1), (a2, y2)] = joined;
    let witness = group.in_epoch().witness(&x).unwrap();
    let power_of_h0 = (a1 - a2).mul(&(y1 - y2).invert().unwrap());
    let y = Scalar::from_u128(4711);
    let a = a1 + power_of_h0.mul(&(y - y1));
    let b = a + g1(&witness.to_bytes());
    let opened = opened(&group, &group.public, &Key { b, x, y });
    assert_eq!(opened, Some(b), "the attack works");
    let gpk = Gpk::of(&NONCE, &group.public, EPOCH);
    let rows = [y1, y2].map(|y| gpk.h0.mul(&y));
    assert!(rows.iter().all(|c| !group.public.names(&b, c, &x)));
}

/// Rule 1: the step of an offer that was aborted completes it, for a key that no register has.
#[test]
fn revoking_an_aborted_offer_completes_it() {
    let mut group = Group::new(2);
    let before = group.public.clone();
    let aborted = group.join(); // has A, x and y; of W it makes no use here
    let witness = *group.revoke(&aborted.x).v();
    let key = Key {
        b: aborted.a + witness,
        x: aborted.x,
        y: y(&aborted),
    };
    let opened = opened(&group, &before, &key);
    assert_eq!(opened, Some(key.b), "the attack works");
    assert!(!names(&before, &key.b, &[&group.member]));
}

/// Rule 1: a step that revokes an x again revives it, and every step holds. Readers refuse a
/// repeated x*; the issuer gives no witness for it.
#[test]
fn a_machine_revoked_twice_is_revived() {
    let mut group = Group::new(3);
    let (b, c) = (group.join(), group.join());
    let start = *group.public.v();
    group.revoke(&b.x);
    group.revoke(&c.x);
    let ended = group.public.clone();
    let revived = *group.revoke(&b.x).v();
    let segment = [(start, group.steps.as_slice())];
    assert_eq!(check_steps(ended.w(), &segment, &mut rng(1)), Ok(()));
    let key = Key {
        b: b.a + revived,
        x: b.x,
        y: y(&b),
    };
    assert_eq!(
        opened(&group, &ended, &key),
        Some(key.b),
        "the attack works"
    );
    assert_eq!(group.in_epoch().witness(&b.x), Err(Revoked));
    assert_eq!(b.witness.after(&b.x, &group.steps), Err(Revoked));
}

/// Rule 1: with g1 V the identity, anybody signs.
#[test]
fn an_epoch_without_base_is_everybodys() {
    let group = Group::new(4);
    let v = -Generators::of(&NONCE).g1;
    let mut gpk = Gpk::of(&NONCE, &group.genesis, EPOCH);
    gpk.v = v;
    let [x, y] = [Scalar::from_u128(5), Scalar::default()];
    let b = G1::default();
    let nonces = clew_group::xr::Nonces::random(&mut rng(3));
    let bytes = sign(&gpk, &Key { b, x, y }, &nonces, b"m");
    assert!(
        crate::common::xr_textbook::verify(&gpk, &bytes[..288], b"m"),
        "the attack works"
    );
    assert_eq!(group.genesis.in_epoch(&v), Err(Invalid));
}

/// Rule 2: a witness of a revoked row, given on its own or within a base, revives the row. An
/// issuer that knows who is revoked gives neither.
#[test]
fn a_witness_of_a_revoked_row_revives_it() {
    let mut group = Group::new(5);
    let victim = group.join();
    group.revoke(&victim.x);
    group.rebase(&[]);
    let forgetful = group.issuer.in_epoch(&group.public, []);
    let witness = forgetful.witness(&victim.x).unwrap();
    let revived = Member {
        witness,
        ..victim.clone()
    };
    assert!(group.signer_of(&revived).is_ok(), "the attack works");
    let b = forgetful.base(&victim.a, &victim.x).unwrap();
    assert_eq!(b, revived.base());
    let issuer = group.in_epoch();
    assert_eq!(issuer.witness(&victim.x), Err(Revoked));
    assert_eq!(issuer.base(&victim.a, &victim.x), Err(Revoked));
}

/// Rule 2: a witness for a point that somebody sends, blinded or not: the issuer's power of any
/// point is enough. [`clew_group::EpochIssuer`] raises no point but V.
#[test]
fn a_power_of_a_blinded_point_revives_a_row() {
    let mut group = Group::new(6);
    let victim = group.join();
    let step = group.revoke(&victim.x);
    let r = Scalar::from_u128(99);
    let sent = step.v().mul(&r);
    let power = sent.mul(&(gamma(&group) + victim.x).invert().unwrap());
    let witness = power.mul(&r.invert().unwrap());
    let key = Key {
        b: victim.a + witness,
        x: victim.x,
        y: y(&victim),
    };
    let signed = opened(&group, &group.public, &key);
    assert_eq!(signed, Some(key.b), "the attack works");
}

/// Rule 2: a row revoked before a rebase and once more after it gets its witness from the new step.
#[test]
fn a_row_revoked_again_after_a_rebase_is_revived() {
    let mut group = Group::new(7);
    let victim = group.join();
    group.revoke(&victim.x);
    group.rebase(&[]);
    let rebased = group.public.clone();
    let witness = *group.revoke(&victim.x).v();
    let key = Key {
        b: victim.a + witness,
        x: victim.x,
        y: y(&victim),
    };
    assert_eq!(
        opened(&group, &rebased, &key),
        Some(key.b),
        "the attack works"
    );
}

/// Rule 3: with a V of its own choice the manager signs what opens to an honest machine, and both
/// equations of the judge hold. No step leads there.
#[test]
fn a_v_of_the_managers_choice_frames_anybody() {
    let group = Group::new(8);
    let victim = &group.member;
    let gpk = Gpk::of(&NONCE, &group.genesis, EPOCH);
    let k = Scalar::from_u128(4711);
    let v = gpk.h0.mul(&k) - gpk.g1;
    let doctored = group.genesis.in_epoch(&v).unwrap();
    let sum = gamma(&group) + victim.x;
    let b = (gpk.h0.mul(&k) + victim.c).mul(&sum.invert().unwrap());
    // B^(gamma - gamma) = g1 V h0^(-k)
    let framing = Key {
        b,
        x: -gamma(&group),
        y: -k,
    };
    assert_eq!(
        opened(&group, &doctored, &framing),
        Some(b),
        "the attack works"
    );
    assert!(names(&doctored, &b, &[victim]));

    let bytes = [victim.x.to_bytes().as_slice(), &v.to_bytes()].concat();
    let step = Step::from_bytes(&bytes).unwrap();
    assert_eq!(group.genesis.after(&step), Err(Invalid));
    let segment = [(*group.genesis.v(), core::slice::from_ref(&step))];
    assert_eq!(
        check_steps(group.genesis.w(), &segment, &mut rng(1)),
        Err(Invalid)
    );
    assert_eq!(doctored.check_genesis(&NONCE, &group.proof), Err(Invalid));
}

/// Rule 4: with an x' of its choice the manager has, for any C, a B' that fits the second equation:
/// a match with it says "not this machine", though it was. The first equation fixes x.
#[test]
fn a_free_x_gives_a_non_match() {
    let group = Group::new(9);
    let victim = &group.member;
    let signature = group.sign(b"m");
    let other_x = Scalar::from_u128(4711);
    let gpk = Gpk::of(&NONCE, &group.public, EPOCH);
    let inverse = (gamma(&group) + other_x).invert().unwrap();
    let b = (gpk.base() + victim.c).mul(&inverse);
    assert!(
        group.public.names(&b, &victim.c, &other_x),
        "the second equation"
    );
    assert_ne!(group.open(&signature), b, "the attack works: no match");
    assert_eq!(group.open(&signature), victim.base());
    assert!(!group.public.certifies(&victim.a, &victim.c, &other_x));
    // The first alone says nothing about the signature.
    assert!(group.public.certifies(&victim.a, &victim.c, &victim.x));
}

/// Rule 4, the other way: an A' that fits the first equation for x' is not the A under S.
#[test]
fn a_credential_of_another_x_is_another() {
    let group = Group::new(10);
    let victim = &group.member;
    let gpk = Gpk::of(&NONCE, &group.public, EPOCH);
    let x = Scalar::from_u128(4711);
    let a = (gpk.g1 + victim.c).mul(&(gamma(&group) + x).invert().unwrap());
    assert!(group.public.certifies(&a, &victim.c, &x));
    assert_ne!(a, victim.a);
}

/// Rule 16: whoever has B and gamma makes a row that fits it, and may copy the row that does. For
/// neither has it a y, and the honest machine's proof is for that machine's own statement.
#[test]
fn without_a_proof_of_y_a_second_row_fits() {
    let group = Group::new(13);
    let (honest, public) = (&group.member, &group.public);
    let b = group.open(&group.sign(b"m"));
    let gpk = Gpk::of(&NONCE, public, EPOCH);
    let x = Scalar::from_u128(4711);
    let sum = gamma(&group) + x;
    let c = b.mul(&sum) - gpk.base();
    let a = (gpk.g1 + c).mul(&sum.invert().unwrap());
    let proof = honest.key.prove_y(public, b"honest", &mut rng(1));
    assert!(public.proof_of_y_holds(&honest.c, b"honest", &proof));
    let mut made_up = honest.key.to_bytes();
    made_up[80..].copy_from_slice(&x.to_bytes());
    let made_up = MemberKey::from_bytes(&made_up).unwrap();
    for (a, c, x) in [(a, c, x), (honest.a, honest.c, honest.x)] {
        assert!(public.certifies(&a, &c, &x) && public.names(&b, &c, &x));
        let own = made_up.prove_y(public, b"accomplice", &mut rng(1));
        for proof in [own, proof] {
            assert!(!public.proof_of_y_holds(&c, b"accomplice", &proof));
        }
    }
}

/// `bbs04`: a row with x would make every opening a live key. So rows have X = G2^x.
#[test]
fn bbs04_with_x_in_the_row_makes_openings_keys() {
    let mut group = crate::common::Group::new(11);
    let opened = group.opener.open(&group.sign(b"m"));
    let x = *group.member.key.x();
    let sign = |public: &bbs04::PublicKey, b: G1| {
        let gpk = book::Gpk::of(&NONCE, public, EPOCH);
        let nonces = bbs04::Nonces::random(&mut rng(1));
        let bytes = book::sign(&gpk, &book::Key { b, x }, &nonces, b"evil");
        let signature = bbs04::Signature::from_bytes(&bytes).unwrap();
        let verifier = bbs04::VerifyingKey::new(public, EPOCH);
        verifier.verify(&[b"evil"], &signature).is_ok()
    };
    assert!(sign(&group.public, opened), "the attack works");
    let row = group.member.key.public_x();
    assert!(
        group.public.names(&opened, &row),
        "and X is enough to judge"
    );

    // A step instead of a rebase would publish x and the witness that completes A.
    let a = group.member.key.credential();
    let before = group.public.clone();
    let scalar = Scalar::from_bytes(group.issuer.to_bytes().as_slice()).unwrap();
    let published = before.v().mul(&(scalar + x).invert().unwrap());
    assert!(sign(&before, a + published), "the attack works");
    group.rebase(&[x]);
    assert!(!sign(&group.public, a + published));
    assert!(!sign(&group.public, opened));
}

/// A step of one epoch does not serve as a step of another: the same x with another V is refused.
#[test]
fn a_step_is_of_its_epoch() {
    let mut group = Group::new(12);
    let (first, second) = (group.join(), group.join());
    let genesis = group.public.clone();
    let step = group.revoke(&first.x);
    let later = group.revoke(&second.x);
    let moved = replaced(&step.to_bytes(), 32, &later.to_bytes()[32..]);
    let moved = Step::from_bytes(&moved).unwrap();
    assert_eq!(genesis.after(&moved), Err(Invalid));
    let segment = [(*genesis.v(), [moved])];
    let segments = segment.each_ref().map(|(v, steps)| (*v, steps.as_slice()));
    assert_eq!(
        check_steps(genesis.w(), &segments, &mut rng(1)),
        Err(Invalid)
    );
}
