//! Vectors of distributed key generation and resharing: a key that never exists anywhere, and its handing on.

use clew_group::curve::Scalar;
use clew_group::quorum::{Broadcast, DealtShare, Founding, Quorum, Resharing, SecretShare, Set, Sharing};

use crate::case::Case;
use crate::make::damage::{Damage, TWO_RULES, bad_points, bad_proofs, two_rules};
use crate::make::group_signature::quorum::case;
use crate::make::groups::xr_group::{XR, context, trustee, u};
use crate::make::{flat, hash, rng, scalar};

pub fn all() -> Vec<Case> {
    flat([deals(), foundings(), bad_broadcasts(), bad_dealt_shares(), resharings(), bad_resharings()])
}

const QUORUM: (u8, u8) = (2, 3);

fn quorum() -> Quorum {
    Quorum::new(QUORUM.0, QUORUM.1).unwrap()
}

/// What a dealer draws: coefficients, the first of which is its part, and the nonce of its proof.
fn drawn(label: &str) -> [Scalar; 3] {
    let mut rng = rng(label);
    [(); 3].map(|()| Scalar::random(&mut rng))
}

fn with_dkg(case: Case) -> Case {
    case.hex("context", context()).hex("base", u().to_bytes()).hex("threshold", [QUORUM.0]).hex("trustees", [QUORUM.1])
}

/// Of each dealer: all that it publishes and gives.
fn deals() -> Vec<Case> {
    let founding = Founding::new(context(), &u(), quorum());
    [1, 2, 3]
        .map(|dealer: u8| {
            let label = format!("dealer {dealer}");
            let (broadcast, dealt) = founding.deal(trustee(dealer), &mut rng(&label)).unwrap();
            let [a0, a1, k] = drawn(&label).map(|s| s.to_bytes());
            let comment = format!("Trustee {dealer} deals.");
            let case = case("deal", &format!("deal-{dealer}"), "valid", &comment);
            with_dkg(case)
                .hex("dealer", [dealer])
                .hex("coefficient", a0)
                .hex("coefficient", a1)
                .hex("k", k)
                .hex("broadcast", broadcast.to_bytes())
                .each("dealt", dealt.iter().map(|d| d.to_bytes().to_vec()))
        })
        .into()
}

/// What trustee 2 receives.
fn dkg(name: &str, expect: &str, comment: &str, broadcasts: &[Vec<u8>], dealt: &[Vec<u8>]) -> Case {
    let case = case("ceremony", &format!("ceremony{name}"), expect, comment);
    with_dkg(case).each("broadcast", broadcasts).hex("index", [2]).each("dealt", dealt)
}

fn broadcasts() -> Vec<Vec<u8>> {
    XR.broadcasts.iter().map(Broadcast::to_bytes).collect()
}

fn dealt_to(index: usize) -> Vec<Vec<u8>> {
    let all = XR.dealt[index - 1].iter();
    all.map(|dealt| dealt.to_bytes().to_vec()).collect()
}

fn with_result(case: Case, sharing: &Sharing, share: &SecretShare) -> Case {
    let commitments = [sharing.public().to_bytes().to_vec(), sharing.to_bytes()].concat();
    case.each("commitment", commitments.chunks(48)).hex("share", share.to_bytes().as_slice())
}

fn foundings() -> Vec<Case> {
    let (sharing, shares) = XR.sharing(0);
    let good = |name: &str, comment: &str, broadcasts: &[Vec<u8>]| {
        let case = dkg(name, "valid", comment, broadcasts, &dealt_to(2));
        with_result(case, sharing, &shares[1])
    };
    let mut reversed = broadcasts();
    reversed.reverse();
    let comment = "What trustee 2 receives, its share, and h with the other commitment.";
    vec![good("", comment, &broadcasts()), good("-order", "The broadcasts come in another order.", &reversed)]
}

/// The broadcast of a dealer with a polynomial of its choice, under a context of its choice.
fn made(dealer: u8, label: &str, context: [u8; 32], (t, n): (u8, u8)) -> Vec<u8> {
    let founding = Founding::new(context, &u(), Quorum::new(t, n).unwrap());
    let (broadcast, _) = founding.deal(trustee(dealer), &mut rng(label)).unwrap();
    broadcast.to_bytes()
}

/// What a dealer publishes in a DKG for a new key, of whatever it likes. `head` is i, n, t.
fn broadcast_of(context: [u8; 32], head: [u8; 3], [a0, a1, k]: [Scalar; 3]) -> Vec<u8> {
    let points = [u().mul(&a0).to_bytes(), u().mul(&a1).to_bytes()];
    let mut domain = [0; 32];
    domain[..11].copy_from_slice(b"clew-deal-1");
    let parts = [&domain, &context[..], &head, &u().to_bytes(), points.as_flattened(), &u().mul(&k).to_bytes()];
    let c = Scalar::from_254_bits(hash(&parts.concat()));
    let s = k + c * a0;
    [&head, points.as_flattened(), &c.to_bytes(), &s.to_bytes()].concat()
}

/// The broadcast that makes the sum of all constants the identity, by one who knows all of them, and
/// what it deals to trustee 2.
fn cancelling() -> (Vec<u8>, Vec<u8>) {
    let of = |dealer: u8| drawn(&format!("dealer {dealer}"));
    let ([a0, _, _], [b0, _, _], [_, a1, k]) = (of(1), of(2), of(3));
    let a0 = -(a0 + b0);
    let broadcast = broadcast_of(context(), [3, 3, 2], [a0, a1, k]);
    let share = a0 + a1 * Scalar::from_u128(2);
    (broadcast, [&[3, 2][..], &share.to_bytes()].concat())
}

fn bad_broadcasts() -> Vec<Case> {
    let (good, dealt) = (broadcasts(), dealt_to(2));
    let with = |name: &str, rule: &str, comment: &str, third: Vec<u8>| {
        let all = [good[0].clone(), good[1].clone(), third];
        dkg(&format!("-{name}"), rule, comment, &all, &dealt)
    };
    let bad = |name: &str, comment: &str, third: Vec<u8>| with(name, "invalid", comment, third).blames(3);
    let third = &good[2];
    let twice = [good[0].clone(), good[1].clone(), good[1].clone(), third.clone()];
    let other = hash(b"another ceremony");
    let (cancelling, dealt_by_it) = cancelling();
    let cancelled = [good[0].clone(), good[1].clone(), cancelling];
    let mut cases = vec![
        bad("other-context", "Dealt in another ceremony.", made(3, "dealer 3", other, QUORUM)),
        bad("other-threshold", "Dealt for one of three.", made(3, "dealer 3", context(), (1, 3))),
        bad("other-trustees", "Dealt for two of four.", made(3, "dealer 3", context(), (2, 4))),
        bad("copied", "The broadcast of dealer 2 in its own name.", good[1].set(0, [3])),
        bad("other-c0", "Its constant is another point.", third.doubled(3, 48)),
        bad("other-c1", "Its second commitment is another point.", third.doubled(51, 48)),
        with("short", "length", "A byte is missing.", third.cut(1)),
        with("index-0", "index", "A dealer of index 0.", third.set(0, [0])),
        with("index-4", "index", "A dealer 4 of 3, and none 3.", made(4, "dealer 3", context(), (2, 4))),
        with("threshold-0", "quorum", "A broadcast for none of three.", third.set(1, [3, 0])),
        with("trustees-33", "quorum", "A broadcast for two of 33.", third.set(1, [33])),
        dkg("-missing", "missing", "Nothing of dealer 3.", &good[..2], &dealt),
        dkg("-twice", "index", "Dealer 2 twice.", &twice, &dealt),
        dkg(
            "-cancelled",
            "cancelled",
            "All parts hold, and their sum is the identity.",
            &cancelled,
            &[dealt[0].clone(), dealt[1].clone(), dealt_by_it],
        ),
    ];
    for (what, rule, comment, bytes) in bad_proofs(third, 99) {
        let case = with(&format!("proof-{what}"), rule, &comment, bytes);
        cases.push(if rule == "invalid" { case.blames(3) } else { case });
    }
    cases.push(with("two-rules", "scalar", TWO_RULES, two_rules(third, 3, 131)));
    for (i, at) in [3, 51].into_iter().enumerate() {
        for (what, rule, comment, bytes) in bad_points(third, &format!("Commitment {i}"), at..at + 48) {
            cases.push(with(&format!("c{i}-{what}"), rule, &comment, bytes));
        }
    }
    cases
}

fn bad_dealt_shares() -> Vec<Case> {
    let (all, good) = (broadcasts(), dealt_to(2));
    let with = |name: &str, rule: &str, comment: &str, third: Vec<u8>| {
        let dealt = [good[0].clone(), good[1].clone(), third];
        dkg(&format!("-dealt-{name}"), rule, comment, &all, &dealt)
    };
    let third = &good[2];
    let of_other = dealt_to(1)[2].clone();
    vec![
        with("wrong", "invalid", "The share of dealer 3 is one bit off.", third.flip(33)).blames(3),
        with("to-other", "invalid", "The share of dealer 3 for another.", of_other.clone()).blames(3),
        with("of-other", "invalid", "The same, with this trustee's index.", of_other.set(1, [2])).blames(3),
        with("not-reduced", "scalar", "A share of r and more.", third.set(2, [0xff; 32])),
        with("short", "length", "A byte is missing.", third[..33].to_vec()),
        with("index-0", "index", "Of a dealer with index 0.", third.set(0, [0])),
        dkg("-dealt-missing", "missing", "Nothing dealt by 3.", &all, &good[..2]),
    ]
}

/// The trustees 1 and 3 hand on to two of two.
struct Handing {
    broadcasts: Vec<Vec<u8>>,
    /// What is dealt to the new trustee 1.
    dealt: Vec<Vec<u8>>,
}

fn dealers() -> Set {
    Set::of([trustee(1), trustee(3)]).unwrap()
}

fn reshare_context() -> [u8; 32] {
    hash(b"context of the resharing")
}

fn reshared() -> (Handing, Sharing, SecretShare) {
    let (old, shares) = XR.sharing(0);
    let new = Quorum::new(2, 2).unwrap();
    let round = Resharing::new(reshare_context(), old, dealers(), new).unwrap();
    let deal = |i: usize| {
        let dealt = round.deal(&shares[i - 1], &mut rng(&format!("reshare {i}")));
        dealt.unwrap()
    };
    let (all, dealt): (Vec<Broadcast>, Vec<Vec<DealtShare>>) = [1, 3].map(deal).into_iter().unzip();
    let mine: Vec<DealtShare> = dealt.iter().map(|dealt| dealt[0].clone()).collect();
    let (sharing, share) = round.receive(trustee(1), &all, &mine).unwrap();
    let handing = Handing {
        broadcasts: all.iter().map(Broadcast::to_bytes).collect(),
        dealt: mine.iter().map(|d| d.to_bytes().to_vec()).collect(),
    };
    (handing, sharing, share)
}

fn with_old(case: Case, dealers: Set) -> Case {
    let old = &XR.sharing(0).0;
    let commitments = [old.public().to_bytes().to_vec(), old.to_bytes()].concat();
    case.hex("context", reshare_context())
        .hex("base", u().to_bytes())
        .hex("old-trustees", [3])
        .each("old-commitment", commitments.chunks(48))
        .hex("dealers", dealers.to_bytes())
        .hex("threshold", [2])
        .hex("trustees", [2])
}

fn resharing(name: &str, expect: &str, comment: &str, dealers: Set, handing: &Handing) -> Case {
    let case = case("resharing", &format!("reshare{name}"), expect, comment);
    with_old(case, dealers).each("broadcast", &handing.broadcasts).hex("index", [1]).each("dealt", &handing.dealt)
}

fn resharings() -> Vec<Case> {
    let (handing, sharing, share) = reshared();
    let (_, shares) = XR.sharing(0);
    let [a1, k, _] = drawn("reshare 3").map(|s| s.to_bytes());
    let comment = "Trustee 3 deals its share to two of two.";
    let deal = with_old(case("reshare-deal", "reshare-deal", "valid", comment), dealers())
        .hex("dealer", [3])
        .hex("share", shares[2].to_bytes().as_slice())
        .hex("coefficient", a1)
        .hex("k", k)
        .hex("broadcast", &handing.broadcasts[1]);
    assert_eq!(sharing.public(), XR.sharing(0).0.public());
    let comment = "Trustees 1 and 3 of three hand on to two of two: what the new trustee 1 gets.";
    vec![deal, with_result(resharing("", "valid", comment, dealers(), &handing), &sharing, &share)]
}

fn bad_resharings() -> Vec<Case> {
    let (good, _, _) = reshared();
    let with = |name: &str, rule: &str, comment: &str, third: Vec<u8>| {
        let handing = Handing { broadcasts: vec![good.broadcasts[0].clone(), third], dealt: good.dealt.clone() };
        resharing(&format!("-{name}"), rule, comment, dealers(), &handing)
    };
    let share = Scalar::from_bytes(XR.sharing(0).1[2].to_bytes().as_slice()).unwrap();
    let [a1, k, _] = drawn("reshare 3");
    let founding = broadcast_of(reshare_context(), [3, 2, 2], [share, a1, k]);
    // Another share of its own, in the right way: as one who holds another sharing's share 3.
    let other = {
        let quorum = Quorum::new(2, 3).unwrap();
        let dealt = Sharing::deal(&u(), &scalar("another xi"), quorum, &mut rng("another"));
        let (other, shares) = dealt.unwrap();
        let new = Quorum::new(2, 2).unwrap();
        let round = Resharing::new(reshare_context(), &other, dealers(), new).unwrap();
        let (broadcast, _) = round.deal(&shares[2], &mut rng("other reshare")).unwrap();
        broadcast.to_bytes()
    };
    let mut wrong = reshared().0;
    wrong.dealt[1] = wrong.dealt[1].flip(33);
    let one = Set::of([trustee(1)]).unwrap();
    let beyond = Set::of([trustee(1), trustee(4)]).unwrap();
    vec![
        with("other-share", "invalid", "Dealer 3 deals what is not its share.", other).blames(3),
        with("as-founding", "invalid", "Dealer 3 proves as in a ceremony for a new key.", founding).blames(3),
        resharing("-dealt-wrong", "invalid", "What 3 dealt is one bit off.", dealers(), &wrong).blames(3),
        resharing("-too-few", "too-few", "One dealer, where two open.", one, &good),
        resharing("-beyond", "index", "A dealer 4 of the 3.", beyond, &good),
    ]
}
