//! Vectors of distributed key generation and resharing.

use clew_group::quorum::{Broadcast, DealtShare, Founding, Quorum, QuorumError, Resharing, SecretShare, Set, Sharing};

use super::bbs04::scalar;
use super::fixed::Fixed;
use super::quorum::{byte, scalars, sharing_of, trustee};
use super::xr::g1;
use super::{Check, Stop, check_all, holds};
use crate::case::Case;

pub const CHECKS: [(&str, Check); 4] =
    [("deal", deal), ("ceremony", dkg), ("reshare-deal", reshare_deal), ("resharing", resharing)];

fn quorum(case: &Case) -> Result<Quorum, Stop> {
    Ok(Quorum::new(byte(case, "threshold")?, byte(case, "trustees")?)?)
}

fn founding(case: &Case) -> Result<Founding, Stop> {
    let context = case.array("context")?;
    Ok(Founding::new(context, &g1(case, "base")?, quorum(case)?))
}

fn deal(case: &Case) -> Result<(), Stop> {
    let coefficients = scalars(case, "coefficient")?;
    let mut rng = Fixed::new(coefficients.into_iter().chain([scalar(case, "k")?]));
    let (broadcast, dealt) = founding(case)?.deal(trustee(case, "dealer")?, &mut rng)?;
    case.check("broadcast", broadcast.to_bytes())?;
    check_all(case, "dealt", dealt.iter().map(|d| d.to_bytes().to_vec()))
}

fn broadcasts(case: &Case) -> Result<Vec<Broadcast>, Stop> {
    let all = case.all("broadcast").into_iter().map(|bytes| {
        let broadcast = Broadcast::from_bytes(bytes)?;
        Ok((broadcast.to_bytes() == bytes, broadcast))
    });
    let all: Vec<_> = all.collect::<Result<_, QuorumError>>()?;
    holds(all.iter().all(|(same, _)| *same), "the same bytes again")?;
    Ok(all.into_iter().map(|(_, broadcast)| broadcast).collect())
}

fn dealt(case: &Case) -> Result<Vec<DealtShare>, Stop> {
    let all = case.all("dealt").into_iter().map(DealtShare::from_bytes);
    Ok(all.collect::<Result<_, _>>()?)
}

fn received(case: &Case, (sharing, share): (Sharing, SecretShare)) -> Result<(), Stop> {
    let first = sharing.public().to_bytes().to_vec();
    let all = [first, sharing.to_bytes()].concat();
    check_all(case, "commitment", all.chunks(48))?;
    share.check(&sharing)?;
    case.check("share", share.to_bytes().as_slice())
}

fn dkg(case: &Case) -> Result<(), Stop> {
    let (founding, trustee) = (founding(case)?, trustee(case, "index")?);
    let (broadcasts, dealt) = (broadcasts(case)?, dealt(case)?);
    received(case, founding.receive(trustee, &broadcasts, &dealt)?)
}

/// The sharing whose shares are handed on.
fn old(case: &Case) -> Result<Sharing, Stop> {
    sharing_of(case, &g1(case, "base")?, "old-commitment", "old-trustees")
}

fn round<'a>(case: &Case, old: &'a Sharing) -> Result<Resharing<'a>, Stop> {
    let dealers = Set::from_bytes(case.bytes("dealers")?)?;
    Ok(Resharing::new(case.array("context")?, old, dealers, quorum(case)?)?)
}

fn reshare_deal(case: &Case) -> Result<(), Stop> {
    let old = old(case)?;
    let coefficients = scalars(case, "coefficient")?;
    let mut rng = Fixed::new(coefficients.into_iter().chain([scalar(case, "k")?]));
    let share = SecretShare::from_bytes(trustee(case, "dealer")?, case.bytes("share")?)?;
    let (broadcast, _) = round(case, &old)?.deal(&share, &mut rng)?;
    case.check("broadcast", broadcast.to_bytes())
}

fn resharing(case: &Case) -> Result<(), Stop> {
    let (old, trustee) = (old(case)?, trustee(case, "index")?);
    let round = round(case, &old)?;
    let (broadcasts, dealt) = (broadcasts(case)?, dealt(case)?);
    let received_now = round.receive(trustee, &broadcasts, &dealt)?;
    holds(received_now.0.public() == old.public(), "h stays")?;
    received(case, received_now)
}
