//! What is left of secrets in this process's memory after each use: nothing on the stack, and on
//! the heap no more than the keys that are alive.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "helpers of tests fail the test")]

#[path = "../all/common/mod.rs"]
mod common;
mod scan;

use clew_group::curve::{G1, Scalar};
use clew_group::quorum::{
    DealtShare, Founding, Quorum, Resharing, SecretShare, Set, Sharing, Trustee,
};
use clew_group::xr::{Device, Generators, IssuerKey, Nonces, PublicKey, SigningKey};
use clew_group::{Step, Witness, bbs04};
use common::{EPOCH, NONCE, rng};
use rand_chacha::ChaCha20Rng;
use scan::{Secret, Watch, apart, overwritten};
use std::hint::black_box;
use zeroize::Zeroizing;

const S: u128 = 0x1234_5678_9abc_def0_1234_5678_9abc;

/// The group, some of its steps, and the x of the device that will join.
struct Fixture {
    issuer: IssuerKey,
    group: PublicKey,
    steps: Vec<Step>,
    x: Scalar,
}

fn fixture() -> Fixture {
    let mut rng = rng(1);
    let issuer = IssuerKey::generate(&mut rng);
    let h = Generators::of(&NONCE).u.mul(&Scalar::random(&mut rng));
    let (group, _) = issuer.found(&NONCE, &h, &mut rng);
    let x = Scalar::random(&mut rng);
    let mut next = group.clone();
    let steps = (0..3u128).map(|i| {
        let step = issuer.revoke(&next, &Scalar::from_u128(i + 1)).unwrap();
        next = next.after(&step).unwrap();
        step
    });
    let steps = steps.collect();
    Fixture {
        issuer,
        group,
        steps,
        x,
    }
}

/// One test only, so that no other thread has secrets like these.
#[test]
fn secrets_do_not_stay_behind() {
    the_scanner_finds_what_is_left();
    of_xr();
    of_bbs04();
    of_the_quorum();
}

/// A value that a function left in its frame, and one on the heap.
fn the_scanner_finds_what_is_left() {
    let watch = Watch::new(|| vec![Secret::of("control", &control())]);
    watch.expect(&[0], "nothing");
    left_behind();
    let found = watch.look();
    assert!(found[0].stack > 0, "{found:?}");
    overwritten();
    let kept = boxed();
    overwritten();
    watch.expect(&[1], "boxing");
    drop(kept);
}

/// A value whose forms nobody else in this process has.
#[inline(never)]
fn control() -> Scalar {
    let s = Scalar::from_u128(S);
    s * s * s
}

#[inline(never)]
fn boxed() -> Box<Scalar> {
    Box::new(control())
}

#[inline(never)]
fn left_behind() {
    let mut padding = [0u64; 512];
    black_box(&mut padding);
    let mut secret = [control(); 4];
    black_box(&mut secret);
}

fn of_xr() {
    let fixture = fixture();
    let x = fixture.x;
    let watch = Watch::new(move || {
        // The same draws as below.
        let (device, _) = Device::new(&self::fixture().group, &[8; 32], &mut rng(2));
        let before = Scalar::from_bytes(device.to_bytes().as_slice()).unwrap();
        let y = before + Scalar::from_u128(S);
        let n = Nonces::random(&mut rng(3));
        vec![
            Secret::of("y'", &before),
            Secret::of("y", &y),
            Secret::of("k", &Scalar::random(&mut rng(9))),
            Secret::of("alpha", &n.alpha),
            Secret::of("ra", &n.ra),
            Secret::of("rx", &n.rx),
            Secret::of("rd", &n.rd),
            Secret::of("ry", &n.ry),
            Secret::of("alpha x", &(n.alpha * x)),
        ]
    });
    let expect = |alive: [usize; 9], when| watch.expect(&alive, when);
    let Fixture {
        issuer,
        group,
        steps,
        ..
    } = &fixture;
    expect([0; 9], "nothing");

    let (device, request) = Device::new(group, &[8; 32], &mut rng(2));
    expect([1, 0, 0, 0, 0, 0, 0, 0, 0], "a device asked");
    let offer = issuer.offer(group, &[8; 32], &request, &x, &Scalar::from_u128(S));
    let key = device.accept(group, &offer.unwrap()).unwrap();
    black_box(key.prove_y(group, b"a row", &mut rng(9)));
    expect([1, 1, 0, 0, 0, 0, 0, 0, 0], "a device accepted");
    drop(device);
    let bytes = key.to_bytes();
    let again = clew_group::xr::MemberKey::from_bytes(bytes.as_slice()).unwrap();
    drop(bytes);
    drop((key.clone(), again));
    expect(
        [0, 1, 0, 0, 0, 0, 0, 0, 0],
        "encoding, decoding and cloning",
    );

    let witness = issuer.in_epoch(group, []).witness(&x).unwrap();
    let updated: Witness = witness.after(key.x(), steps).unwrap();
    assert_eq!(updated.before(key.x(), steps), witness);
    black_box(key.commitment(group));
    expect([0, 1, 0, 0, 0, 0, 0, 0, 0], "an update");

    let signer = SigningKey::new(group, EPOCH, key, &witness).unwrap();
    expect([0, 1, 0, 0, 0, 0, 0, 0, 0], "making a signing key");
    let precursor = signer.precursor(&mut rng(3));
    expect([0, 2, 0, 1, 1, 1, 1, 1, 1], "making a precursor");
    let moved = black_box(vec![precursor]).pop().unwrap();
    black_box(moved.sign(&[b"m"]));
    expect([0, 1, 0, 0, 0, 0, 0, 0, 0], "signing");
    black_box(signer.precursor(&mut rng(3)).sign_incremental(&[b"m"]));
    black_box(signer.precursor_in(b"scope", &mut rng(3)).sign(&[b"m"]));
    black_box(signer.pseudonym(b"scope"));
    expect(
        [0, 1, 0, 0, 0, 0, 0, 0, 0],
        "signing with R1 and with a pseudonym",
    );
    drop(signer);
    expect([0; 9], "all");
}

/// Many rows, all with the x that is looked for.
fn rows_of(key: &bbs04::MemberKey) -> Zeroizing<Vec<(G1, Scalar)>> {
    let mut rows = Zeroizing::new(Vec::with_capacity(300));
    rows.extend((0..300).map(|_| (key.credential(), *key.x())));
    rows
}

fn of_bbs04() {
    let watch = Watch::new(|| {
        let (issuer, _) = bbs04::IssuerKey::generate(&mut rng(5));
        let gamma = Scalar::from_bytes(issuer.to_bytes().as_slice()).unwrap();
        let key = issuer.issue_random(&mut rng(6));
        let n = bbs04::Nonces::random(&mut rng(7));
        vec![
            Secret::of("gamma", &gamma),
            Secret::of("x", key.x()),
            Secret::of("alpha", &n.alpha),
            Secret::of("r_alpha", &n.r_alpha),
            Secret::of("r_delta2", &n.r_delta2),
            Secret::of("x beta", &(*key.x() * n.beta)),
            Secret::of("gamma + x", &(gamma + *key.x())),
        ]
    });
    let expect = |alive: [usize; 7], when| watch.expect(&alive, when);
    expect([0; 7], "nothing");
    let (_, opening) = bbs04::OpenerKey::generate(&NONCE, &mut rng(4));
    let (issuer, issuing) = bbs04::IssuerKey::generate(&mut rng(5));
    let group = bbs04::PublicKey::genesis(&NONCE, &opening, &issuing);
    let key = issuer.issue_random(&mut rng(6));
    expect([1, 1, 0, 0, 0, 0, 0], "issuing");
    let epoch = issuer.in_epoch(&group, []);
    let witness = epoch.witness(key.x()).unwrap();
    apart(|| black_box(epoch.bases(&rows_of(&key))));
    overwritten();
    expect([2, 1, 0, 0, 0, 0, 0], "witnesses and bases");
    drop(epoch);
    black_box(key.public_x());
    let signer = bbs04::SigningKey::new(&group, EPOCH, key, &witness).unwrap();
    let precursor = signer.precursor(&mut rng(7));
    expect([1, 2, 1, 1, 1, 1, 0], "making a precursor");
    black_box(precursor.sign(&[b"m"]));
    black_box(signer.precursor(&mut rng(7)).sign_incremental(&[b"m"]));
    expect([1, 1, 0, 0, 0, 0, 0], "signing");
    drop((signer, issuer));
    expect([0; 7], "all");
}

/// Dealer i draws from this.
fn of_dealer(i: u8) -> ChaCha20Rng {
    rng(10 + u64::from(i))
}

/// The polynomial of dealer i, by the same draws, and its value at trustee 1.
fn polynomial(i: u8) -> [Scalar; 3] {
    let mut rng = of_dealer(i);
    let [a0, a1] = [(); 2].map(|()| Scalar::random_secret(&mut rng));
    [a0, a1, a0 + a1]
}

/// Three trustees make a key, of which two open; the first two hand it on. A trusted dealer shares
/// out another.
fn of_the_quorum() {
    let watch = Watch::new(|| {
        let [a0, a1, at_1] = polynomial(1);
        let share = at_1 + polynomial(2)[2] + polynomial(3)[2];
        let mut rng = rng(20);
        let handed_on = share + Scalar::random_secret(&mut rng);
        let mut rng = self::rng(21);
        let dealt = Scalar::from_u128(S) + Scalar::random_secret(&mut rng);
        vec![
            Secret::of("constant of a dealer", &a0),
            Secret::of("coefficient of a dealer", &a1),
            Secret::of("dealt share", &at_1),
            Secret::of("share", &share),
            Secret::of("share of a share", &handed_on),
            Secret::of("share of a trusted dealer", &dealt),
        ]
    });
    let expect = |alive: [usize; 6], when| watch.expect(&alive, when);
    expect([0; 6], "nothing");
    let (u, quorum) = (Generators::of(&NONCE).u, Quorum::new(2, 3).unwrap());
    let founding = Founding::new([7; 32], &u, quorum);
    let deal = |i| founding.deal(Trustee::new(i).unwrap(), &mut of_dealer(i));
    let dealt = [1, 2, 3].map(|i| deal(i).unwrap());
    expect([0, 0, 1, 0, 0, 0], "dealing");
    let broadcasts = dealt.each_ref().map(|(broadcast, _)| broadcast.clone());
    let bytes = dealt.each_ref().map(|(_, dealt)| dealt[0].to_bytes());
    drop(dealt);
    let mine = bytes.map(|bytes| DealtShare::from_bytes(&bytes[..]).unwrap());
    drop(mine[0].clone());
    expect([0, 0, 1, 0, 0, 0], "encoding, decoding and cloning");

    let first = Trustee::new(1).unwrap();
    let (sharing, share) = founding.receive(first, &broadcasts, &mine).unwrap();
    expect([0, 0, 1, 1, 0, 0], "receiving");
    drop(mine);
    drop(SecretShare::from_bytes(first, &share.to_bytes()).unwrap());
    expect([0, 0, 0, 1, 0, 0], "encoding and decoding");
    let dealers = Set::from_bytes(&[0, 0, 0, 3]).unwrap();
    let resharing = Resharing::new([8; 32], &sharing, dealers, quorum).unwrap();
    let (_, handed_on) = resharing.deal(&share, &mut rng(20)).unwrap();
    expect([0, 0, 0, 1, 1, 0], "handing a share on");
    drop((share, handed_on));

    let (_, shares) = Sharing::deal(&u, &Scalar::from_u128(S), quorum, &mut rng(21)).unwrap();
    expect([0, 0, 0, 0, 0, 1], "a trusted dealer");
    drop(shares);
    expect([0; 6], "all");
}
