//! XR: signing, joining from both sides, revoking.

use super::super::valgrind;
use super::{Draws, EPOCH, Operation, fixed, followed, nothing, random};
use clew_group::curve::{G1, Scalar};
use clew_group::xr::{
    Device, Generators, IssuerKey, JoinRequest, MemberKey, Nonces, Offer, PublicKey, SigningKey,
};
use clew_group::{EpochIssuer, Step, Witness};

const NONCE: [u8; 32] = [7; 32];
const SESSION: [u8; 32] = [8; 32];
const SCOPE: &[u8] = b"a service and a period";

pub struct Fixture {
    group: PublicKey,
    issuer: IssuerKey,
    /// Its key is followed.
    signer: SigningKey,
    join: Join,
    steps: [Step; 3],
}

/// A join whose secrets are not followed: what is known of it before the operations.
struct Join {
    before: [u8; 32],
    request: JoinRequest,
    offer: Offer,
    secrets: Secrets,
    witness: Witness,
}

/// x and y, encoded.
type Secrets = [[u8; 32]; 2];

impl Join {
    fn new(issuer: &IssuerKey, group: &PublicKey) -> Self {
        let mut rng = random(2);
        let [x, s] = [(); 2].map(|()| Scalar::random(&mut rng));
        let (device, request) = Device::new(group, &SESSION, &mut rng);
        let offer = issuer.offer(group, &SESSION, &request, &x, &s);
        let offer = offer.expect("the device knows y'");
        let member = device.accept(group, &offer).expect("an honest issuer");
        let bytes = member.to_bytes();
        let witness = issuer.in_epoch(group, []).witness(&x);
        Self {
            before: fixed(&device.to_bytes()),
            request,
            offer,
            secrets: [fixed(&bytes[48..80]), fixed(&bytes[80..])],
            witness: witness.expect("nobody is revoked"),
        }
    }

    /// A is in the register: x and y are followed.
    fn key(&self, secrets: &Secrets) -> MemberKey {
        let a = self.offer.a().to_bytes();
        let bytes = [&a, secrets.as_flattened()].concat();
        MemberKey::from_bytes(&bytes).expect("a point and two scalars")
    }

    fn signing_key(&self, group: &PublicKey, secrets: &Secrets, witness: &Witness) -> SigningKey {
        let signer = SigningKey::new(group, EPOCH, self.key(secrets), witness);
        signer.expect("the issuer's own key")
    }
}

impl Fixture {
    pub fn new() -> Self {
        let mut rng = random(1);
        let h = Generators::of(&NONCE).u.mul(&Scalar::random(&mut rng));
        let issuer = IssuerKey::generate(&mut rng);
        let (group, _) = issuer.found(&NONCE, &h, &mut rng);
        let join = Join::new(&issuer, &group);
        let (mut secrets, mut witness) = (join.secrets, join.witness.clone());
        valgrind::mark_secret(&mut secrets);
        valgrind::mark_secret(&mut witness);
        let mut next = group.clone();
        let steps = others().map(|x| {
            let step = issuer.revoke(&next, &x).expect("not -gamma");
            next = next.after(&step).expect("the issuer's own");
            step
        });
        Self {
            signer: join.signing_key(&group, &secrets, &witness),
            group,
            issuer,
            join,
            steps,
        }
    }

    fn device(&self, before: &[u8; 32]) -> Device {
        Device::from_bytes(before).expect("its own bytes")
    }
}

/// x of machines that are revoked.
fn others() -> [Scalar; 3] {
    [1, 2, 3].map(Scalar::from_u128)
}

pub fn all(f: &Fixture) -> Vec<Operation<'_>> {
    [signing(f), updating(f), device(f), issuer(f), in_epoch(f)]
        .into_iter()
        .flatten()
        .collect()
}

fn signing(f: &Fixture) -> Vec<Operation<'_>> {
    let member = |draws: &mut Draws| {
        let witness = f.join.witness.clone();
        (f.join.secrets, witness, Nonces::random(draws))
    };
    vec![
        Operation::new("xr sign", Nonces::random, |nonces| {
            f.signer.precursor_from(&nonces).sign(&[b"a packet"])
        })
        .timed(),
        // In vector lanes, where the machine has them: valgrind has none, so only times see them.
        Operation::new("xr eight precursors", eight_nonces, |nonces| {
            let mut precursors = f.signer.precursors_from(&nonces);
            precursors.remove(7).sign(&[b"a packet"])
        })
        .timed(),
        Operation::new("xr sign, R1 carried", Nonces::random, |nonces| {
            let precursor = f.signer.precursor_from(&nonces);
            precursor.sign_incremental(&[b"a packet"])
        }),
        Operation::new("xr sign, pseudonym", Nonces::random, |nonces| {
            let precursor = f.signer.precursor_in_from(SCOPE, &nonces);
            precursor.sign(&[b"a packet"])
        })
        .timed(),
        Operation::new("xr precursor", nothing, |()| {
            let precursor = f.signer.precursor(&mut followed(5));
            precursor.sign(&[b"a packet"])
        }),
        Operation::new("xr pseudonym", nothing, |()| f.signer.pseudonym(SCOPE)),
        Operation::new(
            "xr new signing key",
            member,
            |(secrets, witness, nonces)| {
                let signer = f.join.signing_key(&f.group, &secrets, &witness);
                signer.precursor_from(&nonces).sign(&[b"a packet"])
            },
        ),
    ]
}

fn eight_nonces(draws: &mut Draws) -> [Nonces; 8] {
    std::array::from_fn(|_| Nonces::random(draws))
}

/// What a member does with its key from epoch to epoch.
fn updating(f: &Fixture) -> Vec<Operation<'_>> {
    let x = |draws: &mut Draws| (draws.scalar(), f.join.witness.clone());
    let secrets = |_: &mut Draws| f.join.secrets;
    vec![
        Operation::new("xr witness after steps", x, |(x, witness)| {
            witness.after(&x, &f.steps).expect("not revoked")
        })
        .timed(),
        Operation::new("xr witness before", x, |(x, witness)| {
            witness.before(&x, &f.steps)
        }),
        Operation::new("xr member key to bytes", secrets, |secrets| {
            fixed::<112>(&f.join.key(&secrets).to_bytes())
        }),
        Operation::new("xr commitment", secrets, |secrets| {
            f.join.key(&secrets).commitment(&f.group)
        }),
    ]
}

fn device(f: &Fixture) -> Vec<Operation<'_>> {
    let before = |_: &mut Draws| f.join.before;
    vec![
        Operation::new("xr device asks", nothing, |()| {
            let (device, request) = Device::new(&f.group, &SESSION, &mut followed(6));
            (fixed::<32>(&device.to_bytes()), request.to_bytes())
        }),
        Operation::new("xr device accepts", before, |before| {
            let key = f.device(&before).accept(&f.group, &f.join.offer);
            fixed::<112>(&key.expect("an honest issuer").to_bytes())
        }),
        Operation::new(
            "xr proof of y",
            |_| f.join.secrets,
            |secrets| {
                let key = f.join.key(&secrets);
                let proof = key.prove_y(&f.group, b"a row", &mut followed(9));
                proof.to_bytes()
            },
        ),
    ]
}

fn issuer(f: &Fixture) -> Vec<Operation<'_>> {
    let own = gamma(f);
    let other = move |draws: &mut Draws| [own(draws), draws.scalar(), draws.scalar()];
    vec![
        Operation::new("xr found", own, |gamma| {
            key(&gamma).found(&NONCE, &G1::generator(), &mut followed(7))
        }),
        Operation::new("xr new issuing key", nothing, |()| {
            fixed::<32>(&IssuerKey::generate(&mut followed(8)).to_bytes())
        }),
        Operation::new("xr offer", other, |[gamma, x, s]| {
            let offer = key(&gamma).offer(&f.group, &SESSION, &f.join.request, &x, &s);
            offer.expect("the device knows y'").to_bytes()
        }),
        Operation::new("xr revoke", other, |[gamma, x, _]| {
            key(&gamma).revoke(&f.group, &x).expect("not -gamma")
        }),
        Operation::new("xr reopen", own, |gamma| {
            key(&gamma).reopened(&f.group, &G1::generator())
        }),
        Operation::new("xr locator", own, |gamma| {
            key(&gamma).locator(&G1::generator())
        })
        .timed(),
    ]
}

/// The issuer in an epoch in which others are revoked.
fn in_epoch(f: &Fixture) -> Vec<Operation<'_>> {
    let own = gamma(f);
    let rows = move |draws: &mut Draws| [own(draws), draws.scalar(), draws.scalar()];
    let epoch = |gamma: &Scalar| -> EpochIssuer { key(gamma).in_epoch(&f.group, others()) };
    let a = *f.join.offer.a();
    vec![
        Operation::new("xr witness", rows, move |[gamma, x, _]| {
            epoch(&gamma).witness(&x).expect("not revoked")
        })
        .timed(),
        Operation::new("xr witnesses", rows, move |[gamma, x1, x2]| {
            let witnesses = epoch(&gamma).witnesses(&[x1, x2]);
            <[_; 2]>::try_from(witnesses).expect("two")
        })
        .timed(),
        Operation::new("xr witness bytes", rows, move |[gamma, x1, x2]| {
            let witnesses = epoch(&gamma).witness_bytes(&[x1, x2]);
            <[_; 2]>::try_from(witnesses).expect("two")
        }),
        Operation::new("xr bases", rows, move |[gamma, x1, x2]| {
            let bases = epoch(&gamma).bases(&[(a, x1), (a, x2)]);
            <[_; 2]>::try_from(bases).expect("two")
        }),
        Operation::new("xr base", rows, move |[gamma, x, _]| {
            epoch(&gamma).base(&a, &x).expect("not revoked")
        }),
    ]
}

/// gamma of the fixture: what it makes is checked.
fn gamma(f: &Fixture) -> impl Fn(&mut Draws) -> Scalar + Copy {
    let bytes: [u8; 32] = fixed(&f.issuer.to_bytes());
    move |_| Scalar::from_bytes(&bytes).expect("a scalar")
}

fn key(gamma: &Scalar) -> IssuerKey {
    IssuerKey::from_bytes(&gamma.to_bytes()).expect("a scalar")
}
