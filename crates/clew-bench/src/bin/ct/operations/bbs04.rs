//! BBS04.

use super::super::valgrind;
use super::{Draws, EPOCH, Operation, followed, nothing, random};
use clew_group::bbs04::{
    IssuerKey, MemberKey, Nonces, OpenerKey, PublicKey, Revocation, Signature, SigningKey,
};
use clew_group::curve::Scalar;

pub struct Fixture {
    group: PublicKey,
    issuer: IssuerKey,
    signature: Signature,
    signer: SigningKey,
    revocation: Revocation,
}

impl Fixture {
    pub fn new() -> Self {
        let mut rng = random(1);
        let (_, opening) = OpenerKey::generate(&[7; 32], &mut rng);
        let (issuer, issuing) = IssuerKey::generate(&mut rng);
        let group = PublicKey::genesis(&opening, &issuing);
        let mut member = issuer.issue_random(&group, &mut rng);
        valgrind::mark_secret(&mut member);
        let signer = SigningKey::new(&group, EPOCH, member).expect("the issuer's own key");
        // What others see is of a member whose secrets are not followed.
        let public = issuer.issue_random(&group, &mut rng);
        let other = SigningKey::new(&group, EPOCH, public).expect("the issuer's own key");
        let revocation = issuer.revoke(&group, Scalar::random(&mut rng));
        Self {
            signature: other.precursor(&mut rng).sign(&[b"opened"]),
            revocation: revocation.expect("a random x is not -gamma"),
            group,
            issuer,
            signer,
        }
    }
}

pub fn all(f: &Fixture) -> Vec<Operation<'_>> {
    vec![
        Operation::new("bbs04 sign", Nonces::random, |nonces| {
            f.signer.precursor_from(nonces).sign(&[b"a packet"])
        })
        .timed(),
        Operation::new("bbs04 new signing key", member(f), |(key, nonces)| {
            let signer = SigningKey::new(&f.group, EPOCH, key).expect("the issuer's own key");
            signer.precursor_from(nonces).sign(&[b"a packet"])
        }),
        Operation::new("bbs04 open", opener, |key| key.open(&f.signature)).timed(),
        Operation::new("bbs04 issue", issuer, |(key, x)| key.issue(&f.group, x)).timed(),
        Operation::new("bbs04 revoke", issuer, |(key, x)| key.revoke(&f.group, x)),
        Operation::new("bbs04 member update", member(f), |(key, _)| {
            key.after(&f.revocation)
        }),
        Operation::new("bbs04 precursor", nothing, |()| {
            f.signer.precursor(&mut followed(5))
        }),
        Operation::new("bbs04 new issuing key", nothing, |()| {
            let (key, issuing) = IssuerKey::generate(&mut followed(6));
            (key.to_bytes(), issuing)
        }),
        Operation::new("bbs04 keys to bytes", member_and_opener(f), |(a, b)| {
            (a.to_bytes(), b.to_bytes())
        }),
    ]
}

fn member(f: &Fixture) -> impl Fn(&mut Draws) -> (MemberKey, Nonces) + '_ {
    |draws| {
        (
            f.issuer.issue_random(&f.group, draws),
            Nonces::random(draws),
        )
    }
}

fn member_and_opener(f: &Fixture) -> impl Fn(&mut Draws) -> (MemberKey, OpenerKey) + '_ {
    |draws| (f.issuer.issue_random(&f.group, draws), opener(draws))
}

fn opener(draws: &mut Draws) -> OpenerKey {
    let bytes = [draws.scalar(), draws.scalar()].map(|xi| xi.to_bytes());
    OpenerKey::from_bytes(bytes.as_flattened()).expect("two scalars")
}

fn issuer(draws: &mut Draws) -> (IssuerKey, Scalar) {
    let key = IssuerKey::from_bytes(&draws.scalar().to_bytes()).expect("a scalar");
    (key, draws.scalar())
}
