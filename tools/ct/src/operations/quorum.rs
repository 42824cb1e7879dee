//! Trustees: shares of the opening key, from the DKG to a match.

use super::{Draws, Operation, fixed, followed, nothing, random};
use clew_group::bbs04;
use clew_group::curve::{G1, Scalar};
use clew_group::quorum::{
    Blind, Broadcast, DEALT_SHARE_BYTES, DealtShare, Founding, Match, Part, Quorum, Resharing,
    Revealed, SecretShare, Sharing, Trustee,
};

const CONTEXT: [u8; 32] = [9; 32];

pub struct Fixture {
    quorum: Quorum,
    sharing: Sharing,
    /// The share of trustee 1.
    share: [u8; 32],
    founding: Founding,
    founded: Dealt,
    /// A dealt key, and what was dealt when it was handed on.
    old: Sharing,
    reshared: Dealt,
    point: G1,
    matched: Matched,
    of_bbs04: (bbs04::PublicKey, [u8; 64]),
}

/// What dealers published, and what they gave to trustee 1 in secret.
struct Dealt {
    broadcasts: Vec<Broadcast>,
    secrets: Vec<[u8; 32]>,
}

/// What trustee 1 has of a match before its third step.
struct Matched {
    kept: Vec<u8>,
    blinds: Vec<Blind>,
}

impl Dealt {
    fn of(dealt: Vec<(Broadcast, Vec<DealtShare>)>) -> Self {
        let (broadcasts, shares): (Vec<_>, Vec<_>) = dealt.into_iter().unzip();
        let secret = |shares: Vec<DealtShare>| {
            let mut secret = [0; 32];
            secret.copy_from_slice(&shares[0].to_bytes()[2..]);
            secret
        };
        Self {
            broadcasts,
            secrets: shares.into_iter().map(secret).collect(),
        }
    }

    /// The shares that trustee 1 got, its secrets being `secrets`.
    fn shares(&self, secrets: &[[u8; 32]; 2]) -> Vec<DealtShare> {
        let both = self.broadcasts.iter().zip(secrets);
        let share = both.map(|(broadcast, secret)| {
            let head = [broadcast.dealer().index(), 1];
            DealtShare::from_bytes(&[&head[..], secret].concat()).expect("a scalar")
        });
        share.collect()
    }

    fn secrets(&self, _: &mut Draws) -> [[u8; 32]; 2] {
        [self.secrets[0], self.secrets[1]]
    }
}

impl Fixture {
    pub fn new() -> Self {
        let mut rng = random(1);
        let quorum = Quorum::new(2, 2).expect("a quorum");
        let base = G1::hash(b"clew-ct", b"u");
        let founding = Founding::new(CONTEXT, &base, quorum);
        let dealt = quorum.all().iter().map(|i| founding.deal(i, &mut rng));
        let dealt: Result<Vec<_>, _> = dealt.collect();
        let founded = Dealt::of(dealt.expect("trustees"));
        let secrets = founded.secrets(&mut Draws::random(0));
        let received = founding.receive(first(), &founded.broadcasts, &founded.shares(&secrets));
        let (sharing, share) = received.expect("honest dealers");
        let point = G1::hash(b"clew-ct", b"T1");
        let (old, reshared) = handed_on(&base, quorum);
        let (opener, opening) = bbs04::OpenerKey::generate(&[7; 32], &mut rng);
        let (_, issuing) = bbs04::IssuerKey::generate(&mut rng);
        let of_bbs04 = bbs04::PublicKey::genesis(&[7; 32], &opening, &issuing);
        Self {
            matched: Matched::new(&question(&sharing, &point)),
            reshared,
            old,
            share: fixed(&share.to_bytes()),
            of_bbs04: (of_bbs04, fixed(&opener.to_bytes())),
            quorum,
            sharing,
            founding,
            founded,
            point,
        }
    }

    fn part(&self) -> Part<'_> {
        Part {
            number: 1,
            sharing: &self.sharing,
            point: &self.point,
            context: &CONTEXT,
        }
    }
}

/// A dealt key that both trustees hand on.
fn handed_on(base: &G1, quorum: Quorum) -> (Sharing, Dealt) {
    let mut rng = random(3);
    let secret = Scalar::random(&mut rng);
    let (old, shares) = Sharing::deal(base, &secret, quorum, &mut rng).expect("not zero");
    let dealt = {
        let resharing = resharing(&old, quorum);
        let dealt = shares.iter().map(|share| resharing.deal(share, &mut rng));
        dealt.collect::<Result<Vec<_>, _>>()
    };
    (old, Dealt::of(dealt.expect("old trustees")))
}

fn resharing(old: &Sharing, quorum: Quorum) -> Resharing<'_> {
    Resharing::new(CONTEXT, old, quorum.all(), quorum).expect("all of them")
}

impl Matched {
    fn new(question: &Match<'_>) -> Self {
        let mut rng = random(2);
        let both = [1, 2].map(|i| Trustee::new(i).expect("an index"));
        let begun = both.map(|i| question.begin(i, &mut rng).expect("one of the set"));
        let commitments = [begun[0].1, begun[1].1];
        let blinds = begun.map(|(blinding, _)| {
            let revealed = blinding.reveal(question, &commitments);
            revealed.expect("its own commitment").1
        });
        Self {
            kept: commitments.iter().flat_map(|c| c.0).collect(),
            blinds: blinds.to_vec(),
        }
    }
}

fn question<'a>(sharing: &'a Sharing, t1: &G1) -> Match<'a> {
    let t2 = G1::hash(b"clew-ct", b"T2");
    let set = sharing.quorum().all();
    let question = Match::new(&CONTEXT, set, sharing, [t1, &t2], &G1::generator());
    question.expect("T2 is no credential")
}

fn first() -> Trustee {
    Trustee::new(1).expect("an index")
}

/// The share of trustee 1, whose index is public.
fn own(secret: &[u8; 32]) -> SecretShare {
    SecretShare::from_bytes(first(), secret).expect("a scalar")
}

pub fn all(f: &Fixture) -> Vec<Operation<'_>> {
    [key_generation(f), opening(f)]
        .into_iter()
        .flatten()
        .collect()
}

fn key_generation(f: &Fixture) -> Vec<Operation<'_>> {
    let share = |_: &mut Draws| f.share;
    vec![
        Operation::new("quorum deal", Draws::scalar, |xi| {
            let dealt = Sharing::deal(f.sharing.base(), &xi, f.quorum, &mut followed(5));
            let (_, shares) = dealt.expect("not zero");
            fixed::<32>(&shares[0].to_bytes())
        }),
        Operation::new(
            "quorum deal, bbs04",
            |_| f.of_bbs04.1,
            |key| {
                let key = bbs04::OpenerKey::from_bytes(&key).expect("two scalars");
                let dealt = key.deal(&f.of_bbs04.0, f.quorum, &mut followed(6));
                let (_, [of_xi1, of_xi2]) = dealt.expect("the group's own key");
                [of_xi1, of_xi2].map(|shares| fixed::<32>(&shares[0].to_bytes()))
            },
        ),
        Operation::new("ceremony deal", nothing, |()| {
            let dealt = f.founding.deal(first(), &mut followed(7));
            let (_, shares) = dealt.expect("a trustee");
            fixed::<DEALT_SHARE_BYTES>(&shares[0].to_bytes())
        }),
        Operation::new(
            "ceremony receive",
            |d| f.founded.secrets(d),
            |secrets| {
                let dealt = f.founded.shares(&secrets);
                let received = f.founding.receive(first(), &f.founded.broadcasts, &dealt);
                fixed::<32>(&received.expect("honest dealers").1.to_bytes())
            },
        ),
        Operation::new("resharing deal", share, |secret| {
            let resharing = resharing(&f.sharing, f.quorum);
            let dealt = resharing.deal(&own(&secret), &mut followed(8));
            fixed::<DEALT_SHARE_BYTES>(&dealt.expect("an old trustee").1[0].to_bytes())
        }),
        Operation::new(
            "resharing receive",
            |d| f.reshared.secrets(d),
            |secrets| {
                let resharing = resharing(&f.old, f.quorum);
                let dealt = f.reshared.shares(&secrets);
                let received = resharing.receive(first(), &f.reshared.broadcasts, &dealt);
                fixed::<32>(&received.expect("honest dealers").1.to_bytes())
            },
        ),
    ]
}

fn opening(f: &Fixture) -> Vec<Operation<'_>> {
    let share = |_: &mut Draws| f.share;
    vec![
        Operation::new("share decrypts", share, |secret| {
            let given = f.part().decrypt(&own(&secret), &mut followed(9));
            given.expect("a share of this sharing").to_bytes()
        })
        .timed(),
        Operation::new("match begin", nothing, |()| {
            let begun = question(&f.sharing, &f.point).begin(first(), &mut followed(10));
            let (blinding, commitment) = begun.expect("one of the set");
            (blinding.into_bytes(), commitment)
        }),
        Operation::new("match share", share, |secret| {
            let mine = Revealed::from_bytes(first(), &f.matched.kept).expect("32 bytes each");
            let question = question(&f.sharing, &f.point);
            let given = mine.share(
                &question,
                &f.matched.blinds,
                &own(&secret),
                &mut followed(11),
            );
            given.expect("honest blinds").to_bytes()
        }),
    ]
}
