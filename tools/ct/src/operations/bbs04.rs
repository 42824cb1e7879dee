//! BBS04.

use super::super::valgrind;
use super::{Draws, EPOCH, Operation, fixed, followed, nothing, random};
use clew_group::bbs04::{
    IssuerKey, MemberKey, Nonces, OpenerKey, PublicKey, Signature, SigningKey,
};
use clew_group::curve::{G1, Scalar};
use clew_group::{EpochIssuer, Witness};

const NONCE: [u8; 32] = [7; 32];

pub struct Fixture {
    group: PublicKey,
    signature: Signature,
    /// Its key is followed.
    signer: SigningKey,
    member: Member,
}

/// A key and its witness. A is in the register: x is followed, and W.
struct Member {
    a: [u8; 48],
    x: Scalar,
    witness: Witness,
}

impl Member {
    fn new(issuer: &IssuerKey, group: &PublicKey, seed: u64) -> Self {
        let key = issuer.issue_random(&mut random(seed));
        let witness = issuer.in_epoch(group, []).witness(key.x());
        Self {
            a: key.credential().to_bytes(),
            x: *key.x(),
            witness: witness.expect("nobody is revoked"),
        }
    }

    fn key(&self, x: &Scalar) -> MemberKey {
        let bytes = [&self.a[..], &x.to_bytes()].concat();
        MemberKey::from_bytes(&bytes).expect("a point and a scalar")
    }

    fn signing_key(&self, group: &PublicKey, x: &Scalar, witness: &Witness) -> SigningKey {
        let signer = SigningKey::new(group, EPOCH, self.key(x), witness);
        signer.expect("the issuer's own key")
    }
}

impl Fixture {
    pub fn new() -> Self {
        let mut rng = random(1);
        let (_, opening) = OpenerKey::generate(&NONCE, &mut rng);
        let (issuer, issuing) = IssuerKey::generate(&mut rng);
        let group = PublicKey::genesis(&NONCE, &opening, &issuing);
        // What others see is of a member whose secrets are not followed.
        let other = Member::new(&issuer, &group, 2);
        let other = other.signing_key(&group, &other.x, &other.witness);
        let member = Member::new(&issuer, &group, 3);
        let (mut x, mut witness) = (member.x, member.witness.clone());
        valgrind::mark_secret(&mut x);
        valgrind::mark_secret(&mut witness);
        Self {
            signature: other.precursor(&mut rng).sign(&[b"opened"]),
            signer: member.signing_key(&group, &x, &witness),
            group,
            member,
        }
    }
}

pub fn all(f: &Fixture) -> Vec<Operation<'_>> {
    let member = |draws: &mut Draws| {
        let (x, witness) = (f.member.x, f.member.witness.clone());
        (x, witness, Nonces::random(draws))
    };
    vec![
        Operation::new("bbs04 sign", Nonces::random, |nonces| {
            f.signer.precursor_from(&nonces).sign(&[b"a packet"])
        })
        .timed(),
        Operation::new("bbs04 new signing key", member, |(x, witness, nonces)| {
            let signer = f.member.signing_key(&f.group, &x, &witness);
            signer.precursor_from(&nonces).sign(&[b"a packet"])
        }),
        Operation::new("bbs04 open", opener, |key| {
            opener_key(&key).open(&f.signature)
        })
        .timed(),
        Operation::new("bbs04 issue", issuer, |[gamma, x]| {
            let key = issuer_key(&gamma).issue(&x).expect("not zero");
            fixed::<80>(&key.to_bytes())
        })
        .timed(),
        Operation::new("bbs04 witness", issuer, |[gamma, x]| {
            epoch(&f.group, &gamma).witness(&x).expect("not revoked")
        }),
        Operation::new("bbs04 bases", issuer, |[gamma, x]| {
            epoch(&f.group, &gamma).bases(&[(G1::generator(), x)])[0]
        }),
        Operation::new("bbs04 precursor", nothing, |()| {
            let precursor = f.signer.precursor(&mut followed(5));
            precursor.sign(&[b"a packet"])
        }),
        Operation::new("bbs04 new issuing key", nothing, |()| {
            let (key, issuing) = IssuerKey::generate(&mut followed(6));
            (fixed::<32>(&key.to_bytes()), issuing)
        }),
        Operation::new("bbs04 new opener key", nothing, |()| {
            let (key, opening) = OpenerKey::generate(&NONCE, &mut followed(7));
            (fixed::<64>(&key.to_bytes()), opening)
        }),
        Operation::new("bbs04 keys to bytes", member, |(x, _, _)| {
            let key = f.member.key(&x);
            (fixed::<80>(&key.to_bytes()), key.public_x())
        }),
    ]
}

fn opener(draws: &mut Draws) -> [Scalar; 2] {
    [draws.scalar(), draws.scalar()]
}

fn opener_key(xi: &[Scalar; 2]) -> OpenerKey {
    let bytes = xi.map(|xi| xi.to_bytes());
    OpenerKey::from_bytes(bytes.as_flattened()).expect("two scalars")
}

/// gamma, and x of a machine.
fn issuer(draws: &mut Draws) -> [Scalar; 2] {
    [draws.scalar(), draws.scalar()]
}

fn issuer_key(gamma: &Scalar) -> IssuerKey {
    IssuerKey::from_bytes(&gamma.to_bytes()).expect("a scalar")
}

/// In an epoch in which others are revoked.
fn epoch(group: &PublicKey, gamma: &Scalar) -> EpochIssuer {
    let others = [1, 2, 3].map(Scalar::from_u128);
    issuer_key(gamma).in_epoch(group, others)
}
