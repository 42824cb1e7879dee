//! Vectors of sharings and decryptions.

use clew_group::curve::{G1, Scalar};
use clew_group::quorum::{Decryption, Part, Quorum, SecretShare, Set, Sharing, Trustee};
use clew_group::{bbs04, xr};

use super::bbs04::scalar;
use super::fixed::Fixed;
use super::xr::g1;
use super::{Check, Stop, check_all, holds};
use crate::case::Case;

pub const CHECKS: [(&str, Check); 6] = [
    ("lagrange", lagrange),
    ("sharing", sharing),
    ("share", share),
    ("decryption", decryption),
    ("combine", combine),
    ("open-shares", open_shares),
];

pub fn byte(case: &Case, name: &str) -> Result<u8, Stop> {
    let [byte] = case.array(name)?;
    Ok(byte)
}

pub fn trustee(case: &Case, name: &str) -> Result<Trustee, Stop> {
    Ok(Trustee::new(byte(case, name)?)?)
}

pub fn scalars(case: &Case, name: &str) -> Result<Vec<Scalar>, Stop> {
    let all = case.all(name).into_iter().map(Scalar::from_bytes);
    Ok(all.collect::<Result<_, _>>()?)
}

/// A sharing of which a case has base, n and all commitments.
pub fn sharing_of(case: &Case, base: &G1, commitments: &str, trustees: &str) -> Result<Sharing, Stop> {
    let all = case.all(commitments);
    let quorum = Quorum::new(all.len() as u8, byte(case, trustees)?)?;
    Ok(Sharing::from_parts(base, &G1::from_bytes(all[0])?, &all[1..].concat(), quorum)?)
}

pub fn the_sharing(case: &Case) -> Result<Sharing, Stop> {
    sharing_of(case, &g1(case, "base")?, "commitment", "trustees")
}

fn lagrange(case: &Case) -> Result<(), Stop> {
    let set = Set::from_bytes(case.bytes("set")?)?;
    let lambdas = set.iter().map(|i| set.lagrange_at_zero(i).to_bytes());
    check_all(case, "lambda", lambdas)
}

/// A dealer with these coefficients.
fn sharing(case: &Case) -> Result<(), Stop> {
    let coefficients = scalars(case, "coefficient")?;
    let quorum = Quorum::new(coefficients.len() as u8, byte(case, "trustees")?)?;
    let mut rng = Fixed::new(coefficients[1..].iter().copied());
    let dealt = Sharing::deal(&g1(case, "base")?, &coefficients[0], quorum, &mut rng);
    let (sharing, shares) = dealt?;
    holds(sharing == the_sharing(case)?, "the commitments")?;
    check_all(case, "share", shares.iter().map(|s| s.to_bytes().to_vec()))?;
    let keys = shares.iter().map(|s| s.check(&sharing).map(|key| key.to_bytes()));
    let keys: Vec<_> = keys.collect::<Result<_, _>>()?;
    check_all(case, "share-key", keys)
}

fn share(case: &Case) -> Result<(), Stop> {
    let (sharing, trustee) = (the_sharing(case)?, trustee(case, "index")?);
    let share = SecretShare::from_bytes(trustee, case.bytes("share")?)?;
    let key = share.check(&sharing)?;
    case.check("share-key", key.to_bytes())
}

/// Of one point, in one request.
struct Place {
    sharing: Sharing,
    point: G1,
    context: [u8; 32],
    number: u8,
}

impl Place {
    fn of(case: &Case) -> Result<Self, Stop> {
        Ok(Self {
            sharing: the_sharing(case)?,
            point: g1(case, "point")?,
            context: case.array("context")?,
            number: byte(case, "part")?,
        })
    }

    fn part(&self) -> Part<'_> {
        Part { number: self.number, sharing: &self.sharing, point: &self.point, context: &self.context }
    }
}

fn decryption(case: &Case) -> Result<(), Stop> {
    let (place, trustee) = (Place::of(case)?, trustee(case, "index")?);
    let given = Decryption::from_bytes(case.bytes("decryption")?)?;
    case.check("decryption", given.to_bytes())?;
    place.part().verify(trustee, &given)?;
    let share = SecretShare::from_bytes(trustee, case.bytes("share")?)?;
    let mut rng = Fixed::new([scalar(case, "k")?]);
    let again = place.part().decrypt(&share, &mut rng)?;
    case.check("decryption", again.to_bytes())
}

fn trustees(case: &Case) -> Result<Vec<Trustee>, Stop> {
    let all = case.all("index").into_iter();
    let all = all.map(|index| Trustee::new(index.first().copied().unwrap_or_default()));
    Ok(all.collect::<Result<_, _>>()?)
}

fn decryptions(case: &Case) -> Result<Vec<Decryption>, Stop> {
    let all = case.all("decryption").into_iter();
    Ok(all.map(Decryption::from_bytes).collect::<Result<_, _>>()?)
}

fn combine(case: &Case) -> Result<(), Stop> {
    let given: Vec<_> = trustees(case)?.into_iter().zip(decryptions(case)?).collect();
    let power = Place::of(case)?.part().combine(&given)?;
    case.check("power", power.to_bytes())
}

/// A whole signature; bbs04 has a second list of commitments.
fn open_shares(case: &Case) -> Result<(), Stop> {
    let (who, given) = (trustees(case)?, decryptions(case)?);
    let (signature, context) = (case.bytes("signature")?, case.array("context")?);
    let b = if case.has("commitment-in-v") {
        let key = super::bbs04::group(case)?;
        let signature = bbs04::Signature::from_bytes(signature)?;
        let in_u = the_sharing(case)?;
        let in_v = case.all("commitment-in-v").concat();
        let sharings = key.sharings([&in_u.to_bytes(), &in_v], in_u.quorum())?;
        holds(sharings[0] == in_u, "u and h")?;
        let (pairs, _) = given.as_chunks();
        let given: Vec<(Trustee, [Decryption; 2])> = who.into_iter().zip(pairs.to_vec()).collect();
        signature.open_by_trustees(&sharings, &context, &given)?
    } else {
        let key = super::xr::group(case)?;
        let signature = xr::Signature::from_bytes(signature)?;
        let sharing = the_sharing(case)?;
        let same = (sharing.base(), sharing.public()) == (key.u(), key.h());
        holds(same, "u and h")?;
        let part = Part { number: 1, sharing: &sharing, point: signature.t1(), context: &context };
        let given: Vec<_> = who.into_iter().zip(given).collect();
        *signature.t2() - part.combine(&given)?
    };
    case.check("b", b.to_bytes())
}
