//! A match answers yes or no, proves it, and is never an opening.

use crate::common::quorum::{
    CONTEXT, Dealt, blind, blind_statement, combined, holds, no_points, number, padded, session,
    set, sha256, trustee,
};
use crate::common::rng;
use clew_group::DecodeError;
use clew_group::curve::{G1, Scalar};
use clew_group::quorum::{
    BLIND_BYTES, Blind, BlindCommitment, Blinding, Decryption, Match, QuorumError, Revealed, Set,
    Trustee,
};

/// A signature's T1 and T2 = A h^alpha, and a quorum of 3 of 5 that has h.
struct Case {
    dealt: Dealt,
    a: G1,
    t1: G1,
    t2: G1,
}

impl Case {
    fn new(seed: u64) -> Self {
        let dealt = Dealt::new(seed, 3, 5);
        let alpha = Scalar::random(&mut rng(seed + 1));
        let a = G1::hash(b"test", b"a machine");
        let (t1, t2) = (dealt.u.mul(&alpha), a + dealt.sharing.public().mul(&alpha));
        Self { dealt, a, t1, t2 }
    }

    fn asked(&self, of: Set, credential: &G1) -> Match<'_> {
        let sharing = &self.dealt.sharing;
        Match::new(&CONTEXT, of, sharing, [&self.t1, &self.t2], credential).unwrap()
    }

    /// T1 and Delta for a machine that did not sign.
    fn bases(&self) -> [G1; 2] {
        [self.t1, self.t2 - other()]
    }
}

fn other() -> G1 {
    G1::hash(b"test", b"another machine")
}

struct Trustees {
    mine: Vec<Revealed>,
    commitments: Vec<BlindCommitment>,
    blinds: Vec<Blind>,
}

/// Steps 1 and 2 by all of the set.
fn revealed(asked: &Match<'_>, of: Set, seed: u64) -> Trustees {
    let mut rng = rng(seed);
    let begun = of.iter().map(|i| asked.begin(i, &mut rng).unwrap());
    let (blindings, commitments): (Vec<_>, Vec<_>) = begun.unzip();
    let revealed = blindings
        .into_iter()
        .map(|b| b.reveal(asked, &commitments).unwrap());
    let (mine, blinds) = revealed.unzip();
    Trustees {
        mine,
        commitments,
        blinds,
    }
}

/// Step 3.
fn decrypted(case: &Case, asked: &Match<'_>, of: Set, t: Trustees) -> Vec<Decryption> {
    let shares = t.mine.into_iter().zip(of.iter());
    let shares = shares.map(|(mine, i)| {
        let share = case.dealt.share(i.index());
        mine.share(asked, &t.blinds, share, &mut rng(9)).unwrap()
    });
    shares.collect()
}

#[test]
fn the_answer_is_yes_for_one_machine_only() {
    let case = Case::new(1);
    for of in [set(&[1, 2, 3]), set(&[2, 4, 5]), set(&[1, 2, 3, 4, 5])] {
        for (credential, answer) in [(case.a, true), (other(), false)] {
            let asked = case.asked(of, &credential);
            let trustees = revealed(&asked, of, 1);
            let blinds = trustees.blinds.clone();
            let decryptions = decrypted(&case, &asked, of, trustees);
            assert_eq!(asked.judge(&blinds, &decryptions), Ok(answer));
            // What travels decodes to the same.
            let read = |b: &Blind| Blind::from_bytes(&b.to_bytes()).unwrap();
            let blinds: Vec<Blind> = blinds.iter().map(read).collect();
            assert_eq!(asked.judge(&blinds, &decryptions), Ok(answer));
        }
    }
}

/// The equations of section 5.4, over bytes.
#[test]
fn a_match_is_as_specified() {
    let case = Case::new(2);
    let of = set(&[1, 3, 5]);
    let asked = case.asked(of, &other());
    let trustees = revealed(&asked, of, 2);
    let [t1, delta] = case.bases();
    let session = session(&CONTEXT, 0b10101);
    let mut points = Vec::new();
    for ((i, given), committed) in of.iter().zip(&trustees.blinds).zip(&trustees.commitments) {
        let (i, bytes) = (i.index(), given.to_bytes());
        let [e, f] = [0, 48].map(|at| G1::from_bytes(&bytes[at..at + 48]).unwrap());
        let statement = blind_statement(&session, i, [t1, delta, e, f]);
        assert!(holds(&statement, &[(t1, e), (delta, f)], &bytes[96..]));
        let domain = padded("clew-blind-commit-1");
        assert_eq!(committed.0, sha256(&[&domain, &session, &[i], &bytes]));
        points.extend(&bytes[..96]);
        let mine = blind(&session, i, [t1, delta], &number(7), &number(7));
        let mine = Blind::from_bytes(&mine).unwrap();
        assert_eq!(mine.to_bytes().len(), BLIND_BYTES);
    }
    let product = asked.product(&trustees.blinds).unwrap();
    let context = sha256(&[&padded("clew-product-1"), &session, &points]);
    assert_eq!(product.part().context, &context);
    assert_eq!(product.part().number, 1);
    let e = points.chunks(96).map(|b| G1::from_bytes(&b[..48]).unwrap());
    assert_eq!(
        product.part().point,
        &e.fold(G1::default(), |sum, e| sum + e)
    );
}

#[test]
fn what_is_kept_between_steps_is_read_again() {
    let case = Case::new(3);
    let of = set(&[1, 2, 3]);
    let asked = case.asked(of, &case.a);
    let mut rng = rng(3);
    let (first, commitment) = asked.begin(trustee(1), &mut rng).unwrap();
    let (second, c2) = asked.begin(trustee(2), &mut rng).unwrap();
    let (third, c3) = asked.begin(trustee(3), &mut rng).unwrap();
    assert_eq!(format!("{first:?}"), "Blinding(..)");
    let bytes = first.into_bytes(); // consumed: what is on the disk is all there is
    let first = Blinding::from_bytes(trustee(1), &bytes).unwrap();
    let commitments = [commitment, c2, c3];
    let (first, blind_1) = first.reveal(&asked, &commitments).unwrap();
    assert_eq!(blind_1.to_bytes(), bytes);
    assert_eq!(format!("{first:?}"), "Revealed(..)");
    let bytes = first.into_bytes();
    let first = Revealed::from_bytes(trustee(1), &bytes).unwrap();
    let blinds = [
        blind_1,
        second.reveal(&asked, &commitments).unwrap().1,
        third.reveal(&asked, &commitments).unwrap().1,
    ];
    let given = first.share(&asked, &blinds, case.dealt.share(1), &mut rng);
    let product = asked.product(&blinds).unwrap();
    assert_eq!(product.part().verify(trustee(1), &given.unwrap()), Ok(()));
    let length = DecodeError::Length;
    assert_eq!(
        Revealed::from_bytes(trustee(1), &bytes[1..]).unwrap_err(),
        length
    );
    assert_eq!(
        Blinding::from_bytes(trustee(1), &[0; 159]).unwrap_err(),
        length
    );
}

#[test]
fn a_blind_that_was_not_committed_to_is_named() {
    let case = Case::new(4);
    let of = set(&[1, 2, 3]);
    let asked = case.asked(of, &other());
    let t = revealed(&asked, of, 4);
    let late = revealed(&asked, of, 5).blinds[1]; // right in itself
    let blinds = [t.blinds[0], late, t.blinds[2]];
    assert!(asked.product(&blinds).is_ok());
    let mut errors = t.mine.into_iter().zip(of.iter()).map(|(mine, i)| {
        let share = case.dealt.share(i.index());
        mine.share(&asked, &blinds, share, &mut rng(1)).unwrap_err()
    });
    let named = QuorumError::Revealed {
        trustee: trustee(2),
    };
    assert_eq!(errors.next(), Some(named));
    assert_eq!(errors.next(), Some(QuorumError::OwnBlind));
    assert_eq!(named.culprit(), Some(trustee(2)));
}

#[test]
fn a_wrong_blind_is_named() {
    let case = Case::new(5);
    let of = set(&[1, 2, 3]);
    let asked = case.asked(of, &other());
    let good = revealed(&asked, of, 6).blinds;
    let named = QuorumError::Blind {
        trustee: trustee(2),
    };
    let refused = |bytes: &[u8]| {
        let forged = Blind::from_bytes(bytes).unwrap();
        let product = asked.product(&[good[0], forged, good[2]]).map(drop);
        assert_eq!(product, Err(named));
    };
    let (request, bases) = (session(&CONTEXT, 0b111), case.bases());
    let (rho, rho_f) = (number(17), number(18));
    refused(&blind(&request, 2, bases, &rho, &rho_f)); // two exponents
    refused(&blind(&request, 1, bases, &rho, &rho)); // of another trustee
    refused(&blind(&session(&[1; 32], 0b111), 2, bases, &rho, &rho)); // another request
    refused(&blind(&session(&CONTEXT, 0b1011), 2, bases, &rho, &rho)); // another set
    refused(&blind(&request, 2, [bases[0], case.t2], &rho, &rho)); // another question
    refused(&good[0].to_bytes());
    for range in [0..48, 48..96, 96..128, 128..160] {
        let mut bytes = good[1].to_bytes();
        bytes[range.clone()].copy_from_slice(&good[0].to_bytes()[range]);
        refused(&bytes);
    }
    let right = blind(&request, 2, bases, &rho, &rho);
    let right = Blind::from_bytes(&right).unwrap();
    assert!(asked.product(&[good[0], right, good[2]]).is_ok());
    assert_eq!(named.culprit(), Some(trustee(2)));
}

#[test]
fn a_forged_decryption_is_named() {
    let case = Case::new(6);
    let of = set(&[1, 2, 4]);
    let asked = case.asked(of, &other());
    let (t, again) = (revealed(&asked, of, 7), revealed(&asked, of, 8));
    let blinds = t.blinds.clone();
    let good = decrypted(&case, &asked, of, t);
    let replayed = decrypted(&case, &asked, of, again);
    let named = Err(QuorumError::Decryption {
        trustee: trustee(4),
    });
    assert_eq!(asked.judge(&blinds, &[good[0], good[1], good[0]]), named);
    assert_eq!(
        asked.judge(&blinds, &[good[0], good[1], replayed[2]]),
        named
    );
    let mut bytes = good[2].to_bytes();
    bytes[111] ^= 1;
    let forged = Decryption::from_bytes(&bytes).unwrap();
    assert_eq!(asked.judge(&blinds, &[good[0], good[1], forged]), named);
    // A share that opens is no share of a match, and the other way round.
    let part = clew_group::quorum::Part {
        number: 1,
        sharing: &case.dealt.sharing,
        point: &case.t1,
        context: &CONTEXT,
    };
    let opening = part.decrypt(case.dealt.share(4), &mut rng(1)).unwrap();
    assert_eq!(asked.judge(&blinds, &[good[0], good[1], opening]), named);
    assert!(part.verify(trustee(4), &good[2]).is_err());
    let count = Err(QuorumError::Count {
        given: 2,
        needed: 3,
    });
    assert_eq!(asked.judge(&blinds, &good[..2]), count);
    assert_eq!(asked.judge(&blinds[..2], &good), count);
    assert_eq!(asked.judge(&blinds, &good), Ok(false));
}

/// The blinds of all, made by one who knows all exponents.
fn chosen(case: &Case, of: &[u8], rho: &[Scalar]) -> Vec<Blind> {
    let mask = of.iter().map(|i| 1 << (i - 1)).sum();
    let session = session(&CONTEXT, mask);
    let blinds = of.iter().zip(rho).map(|(i, rho)| {
        let bytes = blind(&session, *i, case.bases(), rho, rho);
        Blind::from_bytes(&bytes).unwrap()
    });
    blinds.collect()
}

#[test]
fn blinds_that_cancel_are_refused() {
    let case = Case::new(7);
    let asked = case.asked(set(&[1, 2, 3]), &other());
    let blinds = chosen(&case, &[1, 2, 3], &[number(5), number(6), -number(11)]);
    let refused = asked.product(&blinds).map(drop);
    assert_eq!(refused, Err(QuorumError::Product));
    assert_eq!(asked.judge(&blinds, &[]), Err(QuorumError::Product));
}

/// Why a trustee looks for its own blind. Exponents that add up to one make E = T1, and a decryption
/// of E a share of the opening; with a random one of its own in the sum, E is a random power.
#[test]
fn a_product_without_ones_own_blind_would_be_an_opening() {
    let case = Case::new(8);
    let of = set(&[1, 2, 3]);
    let asked = case.asked(of, &other());
    let blinds = chosen(&case, &[1, 2, 3], &[number(5), number(6), -number(10)]);
    let product = asked.product(&blinds).unwrap(); // nothing to be seen from outside
    assert_eq!(product.part().point, &case.t1);
    let careless = of.iter().map(|i| {
        let share = case.dealt.share(i.index());
        let given = product.part().decrypt(share, &mut rng(1)).unwrap();
        (i.index(), G1::from_bytes(&given.to_bytes()[..48]).unwrap())
    });
    let opened = case.t2 - combined(&careless.collect::<Vec<_>>());
    assert_eq!(opened, case.a, "the machine is known");

    for (mine, i) in revealed(&asked, of, 9).mine.into_iter().zip(of.iter()) {
        let share = case.dealt.share(i.index());
        let refused = mine.share(&asked, &blinds, share, &mut rng(1));
        assert_eq!(refused.unwrap_err(), QuorumError::OwnBlind);
    }
}

/// All others commit to, and reveal, exponents that make E = T1 if trustee 3 lets its own be replaced.
#[test]
fn the_own_blind_is_looked_for_in_both_steps() {
    let case = Case::new(9);
    let of = set(&[1, 2, 3]);
    let asked = case.asked(of, &other());
    let blinds = chosen(&case, &[1, 2, 3], &[number(5), number(6), -number(10)]);
    let session = session(&CONTEXT, 0b111);
    let commit = |i: u8, blind: &Blind| {
        let parts: [&[u8]; 4] = [
            &padded("clew-blind-commit-1"),
            &session,
            &[i],
            &blind.to_bytes(),
        ];
        BlindCommitment(sha256(&parts))
    };
    let replaced = [1, 2, 3].map(|i| commit(i, &blinds[usize::from(i) - 1]));
    let begin = || asked.begin(trustee(3), &mut rng(10)).unwrap();
    let refused = begin().0.reveal(&asked, &replaced).unwrap_err();
    assert_eq!(refused, QuorumError::OwnBlind);

    let (mine, own) = begin();
    let (mine, _) = mine
        .reveal(&asked, &[replaced[0], replaced[1], own])
        .unwrap();
    let refused = mine.share(&asked, &blinds, case.dealt.share(3), &mut rng(1));
    assert_eq!(refused.unwrap_err(), QuorumError::OwnBlind);
}

/// Why a blind serves once. Two products with one honest blind differ by a known power of T1, and so
/// do their decryptions: that one opens.
#[test]
fn a_blind_used_twice_would_be_an_opening() {
    let case = Case::new(10);
    let of = set(&[1, 2, 3]);
    let asked = case.asked(of, &other());
    let session = session(&CONTEXT, 0b111);
    let mine = blind(&session, 3, case.bases(), &number(999), &number(999));
    let mine = Blind::from_bytes(&mine).unwrap();
    let given = [number(20), number(21)].map(|rho| {
        let theirs = chosen(&case, &[1, 2, 3], &[number(5), rho, number(1)]);
        let blinds = [theirs[0], theirs[1], mine];
        let product = asked.product(&blinds).unwrap();
        let share = case.dealt.share(3);
        let given = product.part().decrypt(share, &mut rng(1)).unwrap();
        G1::from_bytes(&given.to_bytes()[..48]).unwrap()
    });
    let secret = Scalar::from_bytes(case.dealt.share(3).to_bytes().as_slice()).unwrap();
    assert_eq!(given[1] - given[0], case.t1.mul(&secret));
}

#[test]
fn who_is_asked_must_fit() {
    let case = Case::new(11);
    let asked = |of: Set, credential: &G1| {
        let points = [&case.t1, &case.t2];
        Match::new(&CONTEXT, of, &case.dealt.sharing, points, credential).map(drop)
    };
    assert_eq!(asked(set(&[1, 2, 3]), &case.t2), Err(QuorumError::NoAnswer));
    let too_few = QuorumError::TooFew {
        given: 2,
        needed: 3,
    };
    assert_eq!(asked(set(&[1, 2]), &case.a), Err(too_few));
    let nobody = QuorumError::Index { index: 6 };
    assert_eq!(asked(set(&[1, 2, 6]), &case.a), Err(nobody));

    let of = set(&[1, 2, 3]);
    let asked = case.asked(of, &case.a);
    let outside = asked.begin(trustee(4), &mut rng(1)).unwrap_err();
    assert_eq!(outside, QuorumError::Index { index: 4 });
    let t = revealed(&asked, of, 11);
    let share = |mine: Revealed, share| mine.share(&asked, &t.blinds, share, &mut rng(1));
    let mut mine = t.mine.into_iter();
    let wrong = share(mine.next().unwrap(), case.dealt.share(2));
    let refused = QuorumError::SecretShare {
        trustee: trustee(1),
    };
    assert_eq!(wrong.unwrap_err(), refused);
    let short = mine.next().unwrap();
    let short = short.share(&asked, &t.blinds[..2], case.dealt.share(2), &mut rng(1));
    assert!(matches!(short, Err(QuorumError::Count { .. })));
    let stranger = Revealed::from_bytes(trustee(4), &mine.next().unwrap().into_bytes());
    assert_eq!(
        share(stranger.unwrap(), case.dealt.share(4)).unwrap_err(),
        QuorumError::Index { index: 4 }
    );
}

#[test]
fn blinds_decode_strictly() {
    let case = Case::new(12);
    let of = set(&[1, 2, 3]);
    let asked = case.asked(of, &other());
    let good = revealed(&asked, of, 12).blinds[0].to_bytes();
    for (bad, rule) in no_points() {
        for at in [0, 48] {
            let mut bytes = good;
            bytes[at..at + 48].copy_from_slice(&bad);
            assert_eq!(Blind::from_bytes(&bytes), Err(rule));
        }
    }
    for at in [96, 128] {
        let mut bytes = good;
        bytes[at..at + 32].fill(0xff);
        assert_eq!(Blind::from_bytes(&bytes), Err(DecodeError::Scalar));
    }
    for n in [0, 48, BLIND_BYTES - 1] {
        assert_eq!(Blind::from_bytes(&good[..n]), Err(DecodeError::Length));
    }
    let long = [&good[..], &[0]].concat();
    assert_eq!(Blind::from_bytes(&long), Err(DecodeError::Length));
}

#[test]
fn every_trustee_is_named_as_itself() {
    let case = Case::new(13);
    let of = set(&[2, 3, 5]);
    let asked = case.asked(of, &other());
    let good = revealed(&asked, of, 13).blinds;
    let spoiled = |k: usize| {
        let mut blinds = good.clone();
        blinds[k] = revealed(&case.asked(of, &case.a), of, 14).blinds[k];
        asked.product(&blinds).unwrap_err().culprit()
    };
    let named: Vec<Option<Trustee>> = (0..3).map(spoiled).collect();
    assert_eq!(named, of.iter().map(Some).collect::<Vec<_>>());
}
