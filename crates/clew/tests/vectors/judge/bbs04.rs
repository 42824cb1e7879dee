//! Vectors of `clew-group`, bbs04, by what they ask for in `check`.

use clew_group::EpochId;
use clew_group::Witness;
use clew_group::bbs04::{
    IncrementalSignature, IssuerKey, MemberKey, Nonces, OpenerKey, Opening, PublicKey, Signature, SigningKey, VerifyingKey,
};
use clew_group::curve::{G1, G2, Scalar};
use rand_chacha::{ChaCha20Rng, rand_core::SeedableRng};

use super::{Check, Stop, holds};
use crate::case::Case;

pub const CHECKS: [(&str, Check); 11] = [
    ("hash-h", hash_h),
    ("rebased-v", rebased_v),
    ("public-key", public_key),
    ("issuer-key", issuer_key),
    ("member-key", member_key),
    ("row", row),
    ("opener-key", opener_key),
    ("sign", sign),
    ("verify", verify),
    ("verify-incremental", verify_incremental),
    ("open", open),
];

fn epoch_id(case: &Case) -> Result<EpochId, Stop> {
    case.array("epoch-id").map(EpochId)
}

pub fn scalar(case: &Case, name: &str) -> Result<Scalar, Stop> {
    Ok(Scalar::from_bytes(case.bytes(name)?)?)
}

/// The public key of an epoch: what founds it, and V.
pub fn group(case: &Case) -> Result<PublicKey, Stop> {
    let founded = PublicKey::founded(&case.array("nonce")?, case.bytes("founding-key")?)?;
    Ok(founded.in_epoch(&g1(case, "v")?)?)
}

fn g1(case: &Case, name: &str) -> Result<G1, Stop> {
    Ok(G1::from_bytes(case.bytes(name)?)?)
}

fn witness(case: &Case) -> Result<Witness, Stop> {
    let witness = Witness::from_bytes(case.bytes("witness")?)?;
    case.check("witness", witness.to_bytes())?;
    Ok(witness)
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
    case.check("h", h.to_bytes())?;
    case.check("first-v", PublicKey::first_v(&case.array("nonce")?).to_bytes())
}

fn rebased_v(case: &Case) -> Result<(), Stop> {
    let v = PublicKey::rebased_v(&case.array("nonce")?, case.u32("epoch")?, &epoch_id(case)?);
    case.check("rebased-v", v.to_bytes())
}

fn public_key(case: &Case) -> Result<(), Stop> {
    let key = group(case)?;
    case.check("v", key.v().to_bytes())?;
    case.check("founding-key", key.founding_bytes())
}

fn issuer_key(case: &Case) -> Result<(), Stop> {
    let issuer = IssuerKey::from_bytes(case.bytes("gamma")?)?;
    let key = issuer.issue(&scalar(case, "x")?);
    let key = key.ok_or(Stop::Wrong("x is -gamma".to_owned()))?;
    case.check("member-key", key.to_bytes().as_slice())
}

fn member_key(case: &Case) -> Result<(), Stop> {
    Ok(member(case)?.check(&group(case)?, &witness(case)?)?)
}

/// The judge's two equations.
fn row(case: &Case) -> Result<(), Stop> {
    let (group, x) = (group(case)?, G2::from_bytes(case.bytes("public-x")?)?);
    let holds = group.certifies(&g1(case, "a")?, &x) && group.names(&g1(case, "b")?, &x);
    holds.then_some(()).ok_or(Stop::Rule("invalid"))
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
    let signer = SigningKey::new(&group, epoch_id(case)?, member, &witness(case)?)?;
    let signature = signer.precursor_from(&nonces(case)?).sign_incremental(&[message]);
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
fn in_every_order(verifier: &VerifyingKey, message: &[u8], signature: &IncrementalSignature) -> Result<(), Stop> {
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
    let opens = opener.opens(&group(case)?);
    holds(opens, "the opener's key is that of the group")?;
    case.check("b", opener.open(&signature).to_bytes())
}
