//! XR: signing, joining from both sides, revoking.

use super::super::valgrind;
use super::{Draws, EPOCH, Operation, followed, nothing, random};
use clew_group::curve::{G1, Scalar};
use clew_group::xr::{
    Accepted, Credential, Device, Generators, IssuerKey, JoinRequest, MemberKey, Nonces, Offer,
    PublicKey, Revocation, SigningKey,
};

const NONCE: [u8; 32] = [7; 32];
const SESSION: [u8; 32] = [8; 32];
const SCOPE: &[u8] = b"a service and a period";

pub struct Fixture {
    group: PublicKey,
    issuer: IssuerKey,
    signer: SigningKey,
    revocation: Revocation,
    join: Join,
}

/// A join whose secrets are not followed: what is known of it before the operations.
struct Join {
    y: [u8; 32],
    x: Scalar,
    request: JoinRequest,
    offer: Offer,
    credential: Credential,
    member: MemberKey,
}

impl Join {
    fn new(issuer: &IssuerKey, group: &PublicKey) -> Self {
        let mut rng = random(2);
        let x = Scalar::random(&mut rng);
        let (device, request) = Device::new(group, &SESSION, &mut rng);
        let mut y = [0; 32];
        y.copy_from_slice(&device.to_bytes()[32..]);
        let offer = issuer.offer(group, &SESSION, &request, &x, &mut rng);
        let offer = offer.expect("the device knows y");
        let accepted = device.accept(group, &offer).expect("an honest issuer");
        let credential = issuer.scale(&[]).expect("nobody is revoked");
        let credential = credential.credential(&offer.credential(), &x);
        let member = accepted.finish(group, &credential);
        Self {
            member: member.expect("an honest issuer"),
            y,
            x,
            request,
            offer,
            credential,
        }
    }
}

impl Fixture {
    pub fn new() -> Self {
        let mut rng = random(1);
        let h = Generators::of(&NONCE).u.mul(&Scalar::random(&mut rng));
        let issuer = IssuerKey::generate(&mut rng);
        let (group, _) = issuer.found(&NONCE, &h, &mut rng);
        let join = Join::new(&issuer, &group);
        let mut member = join.member.clone();
        valgrind::mark_secret(&mut member);
        let revocation = issuer.revoke(&group, &Scalar::random(&mut rng));
        Self {
            signer: SigningKey::new(&group, EPOCH, member).expect("the issuer's own key"),
            revocation: revocation.expect("a random x is not -gamma"),
            group,
            issuer,
            join,
        }
    }

    /// The device after step 3, from the secret y that it kept.
    fn accepted(&self, y: &[u8; 32]) -> Accepted {
        let kept = [SESSION, *y];
        let device = Device::from_bytes(&self.group, kept.as_flattened()).expect("its own bytes");
        let accepted = device.accept(&self.group, &self.join.offer);
        accepted.expect("an honest issuer")
    }
}

pub fn all(f: &Fixture) -> Vec<Operation<'_>> {
    [signing(f), device(f), issuer(f)]
        .into_iter()
        .flatten()
        .collect()
}

fn signing(f: &Fixture) -> Vec<Operation<'_>> {
    let member = |draws: &mut Draws| (f.join.member.clone(), Nonces::random(draws));
    vec![
        Operation::new("xr sign", Nonces::random, |nonces| {
            f.signer.precursor_from(nonces).sign(&[b"a packet"])
        })
        .timed(),
        Operation::new("xr sign, R1 carried", Nonces::random, |nonces| {
            let precursor = f.signer.precursor_from(nonces);
            precursor.sign_incremental(&[b"a packet"])
        }),
        Operation::new("xr sign, pseudonym", Nonces::random, |nonces| {
            let precursor = f.signer.precursor_in_from(SCOPE, nonces);
            precursor.sign(&[b"a packet"])
        })
        .timed(),
        Operation::new("xr precursor", nothing, |()| {
            f.signer.precursor(&mut followed(5))
        }),
        Operation::new("xr pseudonym", nothing, |()| f.signer.pseudonym(SCOPE)),
        Operation::new("xr new signing key", member, |(key, nonces)| {
            let signer = SigningKey::new(&f.group, EPOCH, key).expect("the issuer's own key");
            signer.precursor_from(nonces).sign(&[b"a packet"])
        }),
        Operation::new("xr member update", member, |(key, _)| {
            key.after(&f.revocation)
        }),
        Operation::new("xr member key to bytes", member, |(key, _)| key.to_bytes()),
    ]
}

fn device(f: &Fixture) -> Vec<Operation<'_>> {
    let y = |_: &mut Draws| f.join.y;
    vec![
        Operation::new("xr device asks", nothing, |()| {
            let (device, request) = Device::new(&f.group, &SESSION, &mut followed(6));
            (device.to_bytes(), request.to_bytes())
        }),
        Operation::new("xr device accepts", y, |y| f.accepted(&y)),
        Operation::new("xr device finishes", y, |y| {
            let accepted = f.accepted(&y);
            let key = accepted.finish(&f.group, &f.join.credential);
            key.expect("an honest issuer")
        }),
    ]
}

fn issuer(f: &Fixture) -> Vec<Operation<'_>> {
    let gamma = f.issuer.to_bytes();
    let own = move |_: &mut Draws| {
        let key = IssuerKey::from_bytes(gamma.as_slice()).expect("a scalar");
        (key, f.join.x)
    };
    let a_0 = f.join.offer.credential();
    vec![
        Operation::new("xr found", own.clone(), |(key, _)| {
            key.found(&NONCE, &G1::generator(), &mut followed(7))
        }),
        Operation::new("xr new issuing key", nothing, |()| {
            IssuerKey::generate(&mut followed(8)).to_bytes()
        }),
        Operation::new("xr offer", own.clone(), |(key, x)| {
            let offer = key.offer(&f.group, &SESSION, &f.join.request, &x, &mut followed(9));
            offer.expect("the device knows y")
        }),
        Operation::new("xr credential", own.clone(), move |(key, x)| {
            let scale = key.scale(&[*f.revocation.x()]);
            scale.expect("x is not -gamma").credential(&a_0, &x)
        })
        .timed(),
        Operation::new("xr revoke", own.clone(), |(key, x)| {
            key.revoke(&f.group, &x)
        }),
        Operation::new("xr reopen", own, |(key, _)| {
            key.reopened(&f.group, &G1::generator())
        }),
    ]
}
