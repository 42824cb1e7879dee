//! Vectors of the join of xr: each message read and checked by who receives it, and made again from
//! the randomness that the vector gives.

use clew_evidence::{GroupId, join_session};
use clew_group::curve::Scalar;
use clew_group::xr::{Accepted, Credential, Device, IssuerKey, JoinRequest, Offer};
use rand_chacha::{ChaCha20Rng, rand_core::SeedableRng};

use super::bbs04::scalar;
use super::fixed::Fixed;
use super::xr::key;
use super::{Check, Stop, holds};
use crate::case::Case;

pub const CHECKS: [(&str, Check); 4] = [
    ("xr-session", session),
    ("xr-join-request", request),
    ("xr-join-offer", offer),
    ("xr-join-credential", credential),
];

fn session(case: &Case) -> Result<(), Stop> {
    let group = GroupId(case.array("group")?);
    let (nonce, device) = (case.array("nonce")?, case.array("device-key")?);
    let name = case.word("machine")?.parse();
    let name = name.map_err(|_| Stop::Wrong("no name".to_owned()))?;
    case.check("session", join_session(group, &nonce, &device, &name))
}

/// What the issuer checks.
fn request(case: &Case) -> Result<(), Stop> {
    let (genesis, session) = (key(case, "public-key")?, case.array("session")?);
    let request = JoinRequest::from_bytes(case.bytes("request")?)?;
    case.check("request", request.to_bytes())?;
    let mut rng = ChaCha20Rng::seed_from_u64(1);
    let issuer = IssuerKey::generate(&mut rng);
    issuer.offer(
        &genesis,
        &session,
        &request,
        &Scalar::from_u128(7),
        &mut rng,
    )?;
    case.check("commitment", request.commitment().to_bytes())?;
    let mut rng = Fixed::new([scalar(case, "y")?, scalar(case, "k")?]);
    let (_, again) = Device::new(&genesis, &session, &mut rng);
    case.check("request", again.to_bytes())
}

/// A device that has this session and this y.
fn device(case: &Case, genesis: &str) -> Result<Device, Stop> {
    let kept = [case.bytes("session")?, case.bytes("y")?].concat();
    Ok(Device::from_bytes(&key(case, genesis)?, &kept)?)
}

fn accepted(case: &Case, genesis: &str) -> Result<Accepted, Stop> {
    let offer = Offer::from_bytes(case.bytes("offer")?)?;
    case.check("offer", offer.to_bytes())?;
    Ok(device(case, genesis)?.accept(&key(case, genesis)?, &offer)?)
}

/// What the device checks.
fn offer(case: &Case) -> Result<(), Stop> {
    let accepted = accepted(case, "public-key")?;
    let (genesis, session) = (key(case, "public-key")?, case.array("session")?);
    let request = JoinRequest::from_bytes(case.bytes("request")?)?;
    let same = accepted.commitment() == request.commitment();
    holds(same, "the offer is for that request")?;
    let issuer = IssuerKey::from_bytes(case.bytes("gamma")?)?;
    let nonce = case.array("nonce")?;
    let mut rng = ChaCha20Rng::seed_from_u64(1);
    let (founded, _) = issuer.found(&nonce, genesis.h(), &mut rng);
    holds(founded == genesis, "gamma is that of the group")?;
    let mut rng = Fixed::new([scalar(case, "k")?]);
    let again = issuer.offer(&genesis, &session, &request, &scalar(case, "x")?, &mut rng)?;
    case.check("offer", again.to_bytes())
}

/// What the device checks last.
fn credential(case: &Case) -> Result<(), Stop> {
    let credential = Credential::from_bytes(case.bytes("credential")?)?;
    case.check("credential", credential.to_bytes().as_slice())?;
    let (accepted, now) = (accepted(case, "genesis")?, key(case, "public-key")?);
    let a_0 = accepted.credential();
    let member = accepted.finish(&now, &credential)?;
    case.check("member-key", member.to_bytes().as_slice())?;
    let issuer = IssuerKey::from_bytes(case.bytes("gamma")?)?;
    let revoked = case.all("revoked").into_iter().map(Scalar::from_bytes);
    let revoked: Vec<Scalar> = revoked.collect::<Result<_, _>>()?;
    let x = Scalar::from_bytes(&case.bytes("credential")?[48..])?;
    let scale = issuer.scale(&revoked);
    let again = scale.map(|scale| scale.credential(&a_0, &x).to_bytes());
    holds(
        again.is_some_and(|bytes| *bytes == *credential.to_bytes()),
        "the issuer's credential",
    )
}
