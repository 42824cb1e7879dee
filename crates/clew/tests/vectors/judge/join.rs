//! Vectors of the join of xr: each message read and checked by who receives it, and made again from
//! the randomness that the vector gives.

use clew_evidence::{GroupId, join_session};
use clew_group::curve::{G1, Scalar};
use clew_group::xr::{Device, IssuerKey, JoinRequest, MemberKey, Offer};
use clew_group::{Invalid, Proof};

use super::bbs04::scalar;
use super::fixed::Fixed;
use super::xr::group;
use super::{Check, Stop};
use crate::case::Case;

pub const CHECKS: [(&str, Check); 4] =
    [("xr-session", session), ("xr-join-request", request), ("xr-join-offer", offer), ("xr-row-proof", row_proof)];

fn session(case: &Case) -> Result<(), Stop> {
    let group = GroupId(case.array("group")?);
    let (nonce, device) = (case.array("nonce")?, case.array("device-key")?);
    let name = case.word("machine")?.parse();
    let name = name.map_err(|_| Stop::Wrong("no name".to_owned()))?;
    case.check("session", join_session(group, &nonce, &device, &name))
}

/// What the issuer checks.
fn request(case: &Case) -> Result<(), Stop> {
    let (genesis, session) = (group(case)?, case.array("session")?);
    let request = JoinRequest::from_bytes(case.bytes("request")?)?;
    case.check("request", request.to_bytes())?;
    let [seven, x, s] = [7, 8, 9].map(Scalar::from_u128);
    let issuer = IssuerKey::from_bytes(&seven.to_bytes())?;
    issuer.offer(&genesis, &session, &request, &x, &s)?;
    let mut rng = Fixed::new([scalar(case, "y")?, scalar(case, "k")?]);
    let (_, again) = Device::new(&genesis, &session, &mut rng);
    case.check("request", again.to_bytes())
}

/// What the device checks.
fn offer(case: &Case) -> Result<(), Stop> {
    let (genesis, offer) = (group(case)?, Offer::from_bytes(case.bytes("offer")?)?);
    case.check("offer", offer.to_bytes())?;
    let key = Device::from_bytes(case.bytes("y")?)?.accept(&genesis, &offer)?;
    case.check("member-key", key.to_bytes().as_slice())?;
    case.check("commitment", key.commitment(&genesis).to_bytes())?;
    let request = JoinRequest::from_bytes(case.bytes("request")?)?;
    case.check("commitment", offer.commitment(&genesis, &request).to_bytes())?;
    let issuer = IssuerKey::from_bytes(case.bytes("gamma")?)?;
    let (x, s) = (scalar(case, "x")?, scalar(case, "s")?);
    let again = issuer.offer(&genesis, &case.array("session")?, &request, &x, &s)?;
    case.check("offer", again.to_bytes())
}

/// What the issuer and every reader of a row checks.
fn row_proof(case: &Case) -> Result<(), Stop> {
    let (genesis, statement) = (group(case)?, case.bytes("statement")?);
    let proof = Proof::from_bytes(case.bytes("proof")?)?;
    let c = G1::from_bytes(case.bytes("commitment")?)?;
    case.check("proof", proof.to_bytes())?;
    if !genesis.proof_of_y_holds(&c, statement, &proof) {
        return Err(Invalid.into());
    }
    let key = MemberKey::from_bytes(case.bytes("member-key")?)?;
    case.check("commitment", key.commitment(&genesis).to_bytes())?;
    let again = key.prove_y(&genesis, statement, &mut Fixed::new([scalar(case, "k")?]));
    case.check("proof", again.to_bytes())
}
