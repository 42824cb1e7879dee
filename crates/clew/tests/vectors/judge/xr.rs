//! Vectors of `clew-group`, xr, by what they ask for in `check`.

use clew_group::curve::G1;
use clew_group::xr::{
    Form, Generators, IncrementalSignature, IssuerKey, Item, MemberKey, Nonces,
    PseudonymousSignature, PublicKey, Revocation, Signature, SigningKey, VerifyingKey,
};
use clew_group::{EpochId, Invalid, Proof};
use rand_chacha::{ChaCha20Rng, rand_core::SeedableRng};

use super::bbs04::scalar;
use super::{Check, Stop, holds};
use crate::case::Case;

pub const CHECKS: [(&str, Check); 16] = [
    ("xr-generators", generators),
    ("xr-public-key", public_key),
    ("xr-genesis", genesis),
    ("xr-descent", descent),
    ("xr-issuer-key", issuer_key),
    ("xr-member-key", member_key),
    ("xr-sign", sign),
    ("xr-pseudonym", pseudonym),
    ("xr-verify", verify),
    ("xr-verify-incremental", verify_incremental),
    ("xr-verify-pseudonym", verify_pseudonym),
    ("xr-verify-batch", verify_batch),
    ("xr-open", open),
    ("xr-revocation", revocation),
    ("xr-member-update", member_update),
    ("xr-new-opening", new_opening),
];

pub fn g1(case: &Case, name: &str) -> Result<G1, Stop> {
    Ok(G1::from_bytes(case.bytes(name)?)?)
}

pub fn key(case: &Case, name: &str) -> Result<PublicKey, Stop> {
    Ok(PublicKey::from_bytes(case.bytes(name)?)?)
}

fn group(case: &Case) -> Result<PublicKey, Stop> {
    key(case, "public-key")
}

fn verifier(case: &Case) -> Result<VerifyingKey, Stop> {
    let id = case.array("epoch-id").map(EpochId)?;
    Ok(VerifyingKey::new(&group(case)?, id))
}

pub fn nonces(case: &Case) -> Result<Nonces, Stop> {
    Ok(Nonces {
        alpha: scalar(case, "alpha")?,
        ra: scalar(case, "ra")?,
        rx: scalar(case, "rx")?,
        rd: scalar(case, "rd")?,
        ry: scalar(case, "ry")?,
    })
}

fn generators(case: &Case) -> Result<(), Stop> {
    let Generators { u, g1, h0 } = Generators::of(&case.array("nonce")?);
    case.check("u", u.to_bytes())?;
    case.check("g1", g1.to_bytes())?;
    case.check("h0", h0.to_bytes())
}

fn public_key(case: &Case) -> Result<(), Stop> {
    case.check("public-key", group(case)?.to_bytes())
}

fn genesis(case: &Case) -> Result<(), Stop> {
    let proof = Proof::from_bytes(case.bytes("proof")?)?;
    case.check("proof", proof.to_bytes())?;
    Ok(group(case)?.check_genesis(&case.array("nonce")?, &proof)?)
}

fn descent(case: &Case) -> Result<(), Stop> {
    Ok(group(case)?.check_descends_from(&key(case, "genesis")?)?)
}

fn issuer_key(case: &Case) -> Result<(), Stop> {
    let issuer = IssuerKey::from_bytes(case.bytes("gamma")?)?;
    let mut rng = ChaCha20Rng::seed_from_u64(1);
    let nonce = case.array("nonce")?;
    let (public, proof) = issuer.found(&nonce, &g1(case, "h")?, &mut rng);
    case.check("public-key", public.to_bytes())?;
    Ok(public.check_genesis(&nonce, &proof)?)
}

fn member(case: &Case) -> Result<MemberKey, Stop> {
    Ok(MemberKey::from_bytes(case.bytes("member-key")?)?)
}

/// The checks of the public key, which who loads it makes, and the member's.
fn member_key(case: &Case) -> Result<(), Stop> {
    let (member, group) = (member(case)?, group(case)?);
    group.check_descends_from(&key(case, "genesis")?)?;
    Ok(member.check(&group)?)
}

fn signer(case: &Case) -> Result<SigningKey, Stop> {
    let parts = [case.bytes("a")?, case.bytes("x")?, case.bytes("y")?];
    let member = MemberKey::from_bytes(&parts.concat())?;
    let id = case.array("epoch-id").map(EpochId)?;
    Ok(SigningKey::new(&group(case)?, id, member)?)
}

/// Makes the signature from all secrets, and compares every value on the way.
fn sign(case: &Case) -> Result<(), Stop> {
    let message = case.bytes("message")?;
    let precursor = signer(case)?.precursor_from(nonces(case)?);
    let signature = precursor.sign_incremental(&[message]);
    let bytes = signature.to_bytes();
    let parts = [
        ("t1", 48),
        ("t2", 48),
        ("r3", 48),
        ("c", 16),
        ("sa", 32),
        ("sx", 32),
        ("sd", 32),
        ("sy", 32),
        ("r1", 48),
    ];
    let mut rest = &bytes[..];
    for (name, length) in parts {
        let (part, after) = rest.split_at(length);
        case.check(name, part)?;
        rest = after;
    }
    case.check("signature", signature.signature().to_bytes())?;
    case.check("incremental", bytes)?;
    let mut hashed = clew_group::domain_separator("clew-xr-signature-1").to_vec();
    for part in ["epoch-id", "t1", "t2", "r1", "r3"] {
        hashed.extend_from_slice(case.bytes(part)?);
    }
    case.check("before-message", hashed)?;
    let verifier = verifier(case)?;
    verifier.verify(&[message], signature.signature())?;
    in_every_order(&verifier, message, &signature)
}

fn pseudonym(case: &Case) -> Result<(), Stop> {
    let (scope, message) = (case.bytes("scope")?, [case.bytes("message")?]);
    let signer = signer(case)?;
    case.check("nym", signer.pseudonym(scope))?;
    let precursor = signer.precursor_in_from(scope, nonces(case)?);
    let signature = precursor.sign(&message);
    case.check("signature", signature.to_bytes())?;
    case.check("nym", signature.pseudonym())?;
    Ok(verifier(case)?.verify_pseudonymous(scope, &message, &signature)?)
}

fn verify(case: &Case) -> Result<(), Stop> {
    let signature = Signature::from_bytes(case.bytes("signature")?)?;
    case.check("signature", signature.to_bytes())?;
    let (verifier, message) = (verifier(case)?, [case.bytes("message")?]);
    let verdict = verifier.verify(&message, &signature);
    let item = Item {
        message: &message,
        form: Form::Plain(&signature),
    };
    let batch = verifier.verify_batch(&[item], &mut ChaCha20Rng::seed_from_u64(1));
    holds(batch == [verdict], "a batch of one says the same")?;
    Ok(verdict?)
}

fn verify_incremental(case: &Case) -> Result<(), Stop> {
    let signature = IncrementalSignature::from_bytes(case.bytes("signature")?)?;
    case.check("signature", signature.to_bytes())?;
    in_every_order(&verifier(case)?, case.bytes("message")?, &signature)
}

/// The order of the equations is random, and must not matter.
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

fn verify_pseudonym(case: &Case) -> Result<(), Stop> {
    let signature = PseudonymousSignature::from_bytes(case.bytes("signature")?)?;
    case.check("signature", signature.to_bytes())?;
    let (scope, message) = (case.bytes("scope")?, [case.bytes("message")?]);
    Ok(verifier(case)?.verify_pseudonymous(scope, &message, &signature)?)
}

/// A signature of a batch, in the form that its length says.
enum Either {
    Plain(Signature),
    Incremental(IncrementalSignature),
}

fn verify_batch(case: &Case) -> Result<(), Stop> {
    let (verifier, message) = (verifier(case)?, [case.bytes("message")?]);
    let read = |bytes: &[u8]| match bytes.len() {
        288 => Signature::from_bytes(bytes).map(Either::Plain),
        _ => IncrementalSignature::from_bytes(bytes).map(Either::Incremental),
    };
    let all = case.all("signature");
    let all: Vec<Either> = all.into_iter().map(read).collect::<Result<_, _>>()?;
    let items: Vec<Item<'_>> = all
        .iter()
        .map(|either| Item {
            message: &message,
            form: match either {
                Either::Plain(signature) => Form::Plain(signature),
                Either::Incremental(signature) => Form::Incremental(signature),
            },
        })
        .collect();
    let wanted: Vec<Result<(), Invalid>> = case
        .word("verdicts")?
        .split(' ')
        .map(|verdict| {
            if verdict == "valid" {
                Ok(())
            } else {
                Err(Invalid)
            }
        })
        .collect();
    for seed in 0..4 {
        let verdicts = verifier.verify_batch(&items, &mut ChaCha20Rng::seed_from_u64(seed));
        holds(verdicts == wanted, "the verdicts")?;
    }
    let mut rng = ChaCha20Rng::seed_from_u64(1);
    let one = |either: &Either| match either {
        Either::Plain(signature) => verifier.verify(&message, signature),
        Either::Incremental(s) => verifier.verify_incremental(&message, s, &mut rng),
    };
    holds(all.iter().map(one).eq(wanted), "the same one by one")
}

/// With xi, which only a vector has in one place.
fn open(case: &Case) -> Result<(), Stop> {
    let signature = Signature::from_bytes(case.bytes("signature")?)?;
    let (group, xi) = (group(case)?, scalar(case, "opener-key")?);
    holds(group.u().mul(&xi) == *group.h(), "xi is that of the group")?;
    let credential = *signature.t2() - signature.t1().mul(&xi);
    case.check("credential", credential.to_bytes())?;
    case.check("tag", group.tag(&credential))
}

/// What anybody does with a revocation, and what the issuer did to make it.
fn revocation(case: &Case) -> Result<(), Stop> {
    let revocation = Revocation::from_bytes(case.bytes("revocation")?)?;
    case.check("revocation", revocation.to_bytes())?;
    let group = group(case)?;
    let next = group.after(&revocation)?;
    case.check("next-public-key", next.to_bytes())?;
    let issuer = IssuerKey::from_bytes(case.bytes("gamma")?)?;
    let again = issuer.revoke(&group, &scalar(case, "x")?);
    holds(
        again.as_ref() == Some(&revocation),
        "the issuer's revocation",
    )
}

fn member_update(case: &Case) -> Result<(), Stop> {
    let revocation = Revocation::from_bytes(case.bytes("revocation")?)?;
    let next = member(case)?.after(&revocation)?;
    next.check(&group(case)?.after(&revocation)?)?;
    case.check("next-member-key", next.to_bytes().as_slice())
}

/// A new opening key, which the issuer makes of h.
fn new_opening(case: &Case) -> Result<(), Stop> {
    let (h, h_w) = (g1(case, "h")?, g1(case, "h-w")?);
    let group = group(case)?;
    let next = group.with_opening(&h, &h_w)?;
    case.check("next-public-key", next.to_bytes())?;
    let issuer = IssuerKey::from_bytes(case.bytes("gamma")?)?;
    holds(issuer.reopened(&group, &h) == next, "the issuer's h_w")
}
