//! Vectors of `clew-group`, bbs04, by what they ask for in `check`.

use clew_group::EpochId;
use clew_group::bbs04::{
    IncrementalSignature, IssuerKey, MemberKey, Nonces, OpenerKey, Opening, PublicKey, Revocation,
    Signature, SigningKey, VerifyingKey,
};
use clew_group::curve::Scalar;
use rand_chacha::{ChaCha20Rng, rand_core::SeedableRng};

use super::{Check, Stop, holds};
use crate::case::Case;

pub const CHECKS: [(&str, Check); 12] = [
    ("hash-h", hash_h),
    ("public-key", public_key),
    ("descent", descent),
    ("issuer-key", issuer_key),
    ("member-key", member_key),
    ("opener-key", opener_key),
    ("sign", sign),
    ("verify", verify),
    ("verify-incremental", verify_incremental),
    ("open", open),
    ("revocation", revocation),
    ("member-update", member_update),
];

fn epoch_id(case: &Case) -> Result<EpochId, Stop> {
    case.array("epoch-id").map(EpochId)
}

pub fn scalar(case: &Case, name: &str) -> Result<Scalar, Stop> {
    Ok(Scalar::from_bytes(case.bytes(name)?)?)
}

fn group(case: &Case) -> Result<PublicKey, Stop> {
    Ok(PublicKey::from_bytes(case.bytes("public-key")?)?)
}

fn member(case: &Case) -> Result<MemberKey, Stop> {
    Ok(MemberKey::from_bytes(case.bytes("member-key")?)?)
}

pub fn nonces(case: &Case) -> Result<Nonces, Stop> {
    Ok(Nonces {
        alpha: scalar(case, "alpha")?,
        beta: scalar(case, "beta")?,
        r_alpha: scalar(case, "r-alpha")?,
        r_beta: scalar(case, "r-beta")?,
        r_x: scalar(case, "r-x")?,
        r_delta1: scalar(case, "r-delta1")?,
        r_delta2: scalar(case, "r-delta2")?,
    })
}

fn hash_h(case: &Case) -> Result<(), Stop> {
    let h = Opening::hash_h(&case.array("nonce")?);
    case.check("h", h.to_bytes())
}

fn public_key(case: &Case) -> Result<(), Stop> {
    let key = group(case)?;
    case.check("public-key", key.to_bytes())
}

fn descent(case: &Case) -> Result<(), Stop> {
    let genesis = PublicKey::from_bytes(case.bytes("genesis")?)?;
    Ok(group(case)?.check_descends_from(&genesis)?)
}

fn issuer_key(case: &Case) -> Result<(), Stop> {
    let (issuer, group) = (IssuerKey::from_bytes(case.bytes("gamma")?)?, group(case)?);
    let key = issuer.issue(&group, scalar(case, "x")?);
    let key = key.ok_or(Stop::Wrong("x is -gamma".to_owned()))?;
    case.check("member-key", key.to_bytes().as_slice())
}

fn member_key(case: &Case) -> Result<(), Stop> {
    Ok(member(case)?.check(&group(case)?)?)
}

fn opener_key(case: &Case) -> Result<(), Stop> {
    let opener = OpenerKey::from_bytes(case.bytes("opener-key")?)?;
    let opens = opener.opens(&group(case)?);
    opens.then_some(()).ok_or(Stop::Rule("invalid"))
}

/// Makes the signature from all secrets, and compares every value on the way.
fn sign(case: &Case) -> Result<(), Stop> {
    let (group, message) = (group(case)?, case.bytes("message")?);
    let (a, x) = (case.bytes("a")?, case.bytes("x")?);
    let member = MemberKey::from_bytes(&[a, x].concat())?;
    let signer = SigningKey::new(&group, epoch_id(case)?, member)?;
    let signature = signer
        .precursor_from(nonces(case)?)
        .sign_incremental(&[message]);
    let bytes = signature.to_bytes();
    let parts = [
        ("t1", 48),
        ("t2", 48),
        ("t3", 48),
        ("c", 32),
        ("s-alpha", 32),
        ("s-beta", 32),
        ("s-x", 32),
        ("s-delta1", 32),
        ("s-delta2", 32),
        ("r1", 48),
        ("r2", 48),
        ("r3", 576),
        ("r4", 48),
        ("r5", 48),
    ];
    let mut rest = &bytes[..];
    for (name, length) in parts {
        let (part, after) = rest.split_at(length);
        case.check(name, part)?;
        rest = after;
    }
    case.check("signature", signature.signature().to_bytes())?;
    case.check("incremental", bytes)?;
    let verifier = VerifyingKey::new(&group, epoch_id(case)?);
    verifier.verify(&[message], signature.signature())?;
    in_every_order(&verifier, message, &signature)
}

fn verify(case: &Case) -> Result<(), Stop> {
    let signature = Signature::from_bytes(case.bytes("signature")?)?;
    case.check("signature", signature.to_bytes())?;
    let verifier = VerifyingKey::new(&group(case)?, epoch_id(case)?);
    Ok(verifier.verify(&[case.bytes("message")?], &signature)?)
}

fn verify_incremental(case: &Case) -> Result<(), Stop> {
    let signature = IncrementalSignature::from_bytes(case.bytes("signature")?)?;
    case.check("signature", signature.to_bytes())?;
    let verifier = VerifyingKey::new(&group(case)?, epoch_id(case)?);
    in_every_order(&verifier, case.bytes("message")?, &signature)
}

/// The order of the five equations is random, and must not matter.
fn in_every_order(
    verifier: &VerifyingKey,
    message: &[u8],
    signature: &IncrementalSignature,
) -> Result<(), Stop> {
    let verdict = |seed| {
        let mut rng = ChaCha20Rng::seed_from_u64(seed);
        verifier.verify_incremental(&[message], signature, &mut rng)
    };
    let first = verdict(0);
    holds((1..8).all(|seed| verdict(seed) == first), "any order")?;
    Ok(first?)
}

fn open(case: &Case) -> Result<(), Stop> {
    let opener = OpenerKey::from_bytes(case.bytes("opener-key")?)?;
    let signature = Signature::from_bytes(case.bytes("signature")?)?;
    let credential = opener.open(&signature);
    case.check("credential", credential.to_bytes())?;
    case.check("tag", group(case)?.tag(&credential))
}

/// What anybody does with a revocation, and what the issuer did to make it.
fn revocation(case: &Case) -> Result<(), Stop> {
    let revocation = Revocation::from_bytes(case.bytes("revocation")?)?;
    case.check("revocation", revocation.to_bytes())?;
    let group = group(case)?;
    let next = group.after(&revocation)?;
    case.check("next-public-key", next.to_bytes())?;
    let issuer = IssuerKey::from_bytes(case.bytes("gamma")?)?;
    let again = issuer.revoke(&group, scalar(case, "x")?);
    holds(
        again.as_ref() == Some(&revocation),
        "the issuer's revocation",
    )
}

fn member_update(case: &Case) -> Result<(), Stop> {
    let revocation = Revocation::from_bytes(case.bytes("revocation")?)?;
    let next = member(case)?.after(&revocation)?;
    case.check("next-member-key", next.to_bytes().as_slice())?;
    Ok(next.check(&group(case)?.after(&revocation)?)?)
}
