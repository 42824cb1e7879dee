//! Vectors of `clew-group`, xr, by what they ask for in `check`.

use clew_group::curve::G1;
use clew_group::xr::{
    Form, Generators, IncrementalSignature, IssuerKey, Item, MemberKey, Nonces, PseudonymousSignature, PublicKey, Signature,
    SigningKey, VerifyingKey,
};
use clew_group::{DecodeError, EpochId, Invalid, Proof, Step, Witness, check_steps};
use clew_simd::Backend;
use rand_chacha::{ChaCha20Rng, rand_core::SeedableRng};

use super::bbs04::scalar;
use super::{Check, Stop, holds};
use crate::case::Case;

pub const CHECKS: [(&str, Check); 18] = [
    ("xr-generators", generators),
    ("xr-rebased-v", rebased_v),
    ("xr-public-key", public_key),
    ("xr-genesis", genesis),
    ("xr-issuer-key", issuer_key),
    ("xr-member-key", member_key),
    ("xr-row", row),
    ("xr-sign", sign),
    ("xr-pseudonym", pseudonym),
    ("xr-verify", verify),
    ("xr-verify-incremental", verify_incremental),
    ("xr-verify-pseudonym", verify_pseudonym),
    ("xr-verify-batch", verify_batch),
    ("xr-open", open),
    ("xr-step", step),
    ("xr-chain", chain),
    ("xr-witness-update", witness_update),
    ("xr-new-opening", new_opening),
];

pub fn g1(case: &Case, name: &str) -> Result<G1, Stop> {
    Ok(G1::from_bytes(case.bytes(name)?)?)
}

/// The public key of an epoch: what founds it, and V.
pub fn group(case: &Case) -> Result<PublicKey, Stop> {
    let founded = PublicKey::founded(&case.array("nonce")?, case.bytes("founding-key")?)?;
    Ok(founded.in_epoch(&g1(case, "v")?)?)
}

fn verifier(case: &Case) -> Result<VerifyingKey, Stop> {
    let id = case.array("epoch-id").map(EpochId)?;
    Ok(VerifyingKey::new(&group(case)?, id))
}

/// One for each way to compute.
fn verifiers(case: &Case) -> Result<Vec<VerifyingKey>, Stop> {
    let (group, id) = (group(case)?, case.array("epoch-id").map(EpochId)?);
    Ok(Backend::multipliers().map(|backend| VerifyingKey::with_backend(&group, id, backend)).collect())
}

/// Decodes on every backend, and says what all of them say.
fn decoded<T: PartialEq>(decode: impl Fn(Backend) -> Vec<Result<T, DecodeError>>) -> Result<T, Stop> {
    let mut all = Backend::multipliers().flat_map(decode);
    let first = all.next().ok_or(Stop::Wrong("no backend".to_owned()))?;
    holds(all.all(|other| other == first), "backends decode alike")?;
    Ok(first?)
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
    case.check("h0", h0.to_bytes())?;
    case.check("v", PublicKey::first_v(&case.array("nonce")?).to_bytes())
}

fn rebased_v(case: &Case) -> Result<(), Stop> {
    let id = case.array("epoch-id").map(EpochId)?;
    let v = PublicKey::rebased_v(&case.array("nonce")?, case.u32("epoch")?, &id);
    case.check("v", v.to_bytes())
}

fn public_key(case: &Case) -> Result<(), Stop> {
    let key = group(case)?;
    case.check("v", key.v().to_bytes())?;
    case.check("founding-key", key.founding_bytes())
}

fn genesis(case: &Case) -> Result<(), Stop> {
    let proof = Proof::from_bytes(case.bytes("proof")?)?;
    case.check("proof", proof.to_bytes())?;
    let nonce = case.array("nonce")?;
    let key = PublicKey::founded(&nonce, case.bytes("founding-key")?)?;
    Ok(key.check_genesis(&nonce, &proof)?)
}

fn issuer_key(case: &Case) -> Result<(), Stop> {
    let issuer = IssuerKey::from_bytes(case.bytes("gamma")?)?;
    let mut rng = ChaCha20Rng::seed_from_u64(1);
    let nonce = case.array("nonce")?;
    let (public, proof) = issuer.found(&nonce, &g1(case, "h")?, &mut rng);
    case.check("founding-key", public.founding_bytes())?;
    Ok(public.check_genesis(&nonce, &proof)?)
}

fn member(case: &Case) -> Result<MemberKey, Stop> {
    Ok(MemberKey::from_bytes(case.bytes("member-key")?)?)
}

fn witness(case: &Case) -> Result<Witness, Stop> {
    let witness = Witness::from_bytes(case.bytes("witness")?)?;
    case.check("witness", witness.to_bytes())?;
    Ok(witness)
}

/// The member's check.
fn member_key(case: &Case) -> Result<(), Stop> {
    Ok(member(case)?.check(&group(case)?, &witness(case)?)?)
}

/// The judge's two equations; and Q, by which an auditor finds the row without gamma.
fn row(case: &Case) -> Result<(), Stop> {
    let (group, x) = (group(case)?, scalar(case, "x")?);
    let [a, c, b] = [g1(case, "a")?, g1(case, "c")?, g1(case, "b")?];
    if !(group.certifies(&a, &c, &x) && group.names(&b, &c, &x)) {
        return Err(Stop::Rule("invalid"));
    }
    let issuer = IssuerKey::from_bytes(case.bytes("gamma")?)?;
    let q = issuer.locator(&b);
    case.check("q", q.to_bytes())?;
    let search = group.search(&q, &b)?;
    holds(search.row_fits(&c, &x), "Q finds the row")
}

fn signer(case: &Case) -> Result<SigningKey, Stop> {
    let parts = [case.bytes("a")?, case.bytes("x")?, case.bytes("y")?];
    let member = MemberKey::from_bytes(&parts.concat())?;
    let id = case.array("epoch-id").map(EpochId)?;
    Ok(SigningKey::new(&group(case)?, id, member, &witness(case)?)?)
}

/// Makes the signature from all secrets, and compares every value on the way.
fn sign(case: &Case) -> Result<(), Stop> {
    let message = case.bytes("message")?;
    let precursor = signer(case)?.precursor_from(&nonces(case)?);
    let signature = precursor.sign_incremental(&[message]);
    let bytes = signature.to_bytes();
    let parts = [("t1", 48), ("t2", 48), ("r3", 48), ("c", 16), ("sa", 32), ("sx", 32), ("sd", 32), ("sy", 32), ("r1", 48)];
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
    let precursor = signer.precursor_in_from(scope, &nonces(case)?);
    let signature = precursor.sign(&message);
    case.check("signature", signature.to_bytes())?;
    case.check("nym", signature.pseudonym())?;
    Ok(verifier(case)?.verify_pseudonymous(scope, &message, &signature)?)
}

fn verify(case: &Case) -> Result<(), Stop> {
    let bytes = case.bytes("signature")?;
    let signature = decoded(|backend| Signature::from_bytes_all(backend, &[bytes]))?;
    case.check("signature", signature.to_bytes())?;
    let message = [case.bytes("message")?];
    let verdict = verifier(case)?.verify(&message, &signature);
    let item = Item { message: &message, form: Form::Plain(&signature) };
    for verifier in verifiers(case)? {
        for items in [&[item][..], &[item; 9]] {
            let batch = verifier.verify_batch(items, &mut ChaCha20Rng::seed_from_u64(1));
            holds(batch.iter().all(|one| *one == verdict), "a batch says the same on every backend")?;
        }
    }
    Ok(verdict?)
}

fn verify_incremental(case: &Case) -> Result<(), Stop> {
    let bytes = case.bytes("signature")?;
    let signature = decoded(|backend| IncrementalSignature::from_bytes_all(backend, &[bytes]))?;
    case.check("signature", signature.to_bytes())?;
    in_every_order(&verifier(case)?, case.bytes("message")?, &signature)
}

/// The order of the equations is random, and must not matter.
fn in_every_order(verifier: &VerifyingKey, message: &[u8], signature: &IncrementalSignature) -> Result<(), Stop> {
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
    let wanted: Vec<Result<(), Invalid>> =
        case.word("verdicts")?.split(' ').map(|verdict| if verdict == "valid" { Ok(()) } else { Err(Invalid) }).collect();
    for verifier in verifiers(case)? {
        for seed in 0..4 {
            let verdicts = verifier.verify_batch(&items, &mut ChaCha20Rng::seed_from_u64(seed));
            holds(verdicts == wanted, "the verdicts on every backend")?;
        }
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
    let base = *signature.t2() - signature.t1().mul(&xi);
    case.check("b", base.to_bytes())
}

fn steps(case: &Case) -> Result<Vec<Step>, Stop> {
    let read = |bytes| Ok(Step::from_bytes(bytes)?);
    case.all("step").into_iter().map(read).collect()
}

/// What anybody does with a step, and what the issuer did to make it.
fn step(case: &Case) -> Result<(), Stop> {
    let step = Step::from_bytes(case.bytes("step")?)?;
    case.check("step", step.to_bytes())?;
    let group = group(case)?;
    let next = group.after(&step)?;
    case.check("next-v", next.v().to_bytes())?;
    let issuer = IssuerKey::from_bytes(case.bytes("gamma")?)?;
    let again = issuer.revoke(&group, &scalar(case, "x")?);
    holds(again.as_ref() == Some(&step), "the issuer's step")
}

/// All at once says what one by one says.
fn chain(case: &Case) -> Result<(), Stop> {
    let (group, steps) = (group(case)?, steps(case)?);
    let verdict = |seed| {
        let mut rng = ChaCha20Rng::seed_from_u64(seed);
        check_steps(group.w(), &[(*group.v(), &steps[..])], &mut rng)
    };
    let one_by_one = steps.iter().try_fold(group.clone(), |key, step| key.after(step));
    let same = (0..4).all(|seed| verdict(seed) == one_by_one.clone().map(|_| ()));
    holds(same, "the same one by one")?;
    Ok(verdict(5)?)
}

fn witness_update(case: &Case) -> Result<(), Stop> {
    let (x, steps) = (scalar(case, "x")?, steps(case)?);
    let next = witness(case)?.after(&x, &steps)?;
    case.check("next-witness", next.to_bytes())?;
    let again = steps.iter().try_fold(witness(case)?, |w, step| w.after(&x, std::slice::from_ref(step)))?;
    holds(again == next, "the same one by one")?;
    holds(next.before(&x, &steps) == witness(case)?, "and back")
}

/// A new opening key, which the issuer makes of h.
fn new_opening(case: &Case) -> Result<(), Stop> {
    let (h, h_w) = (g1(case, "h")?, g1(case, "h-w")?);
    let group = group(case)?;
    let next = group.with_opening(&h, &h_w)?;
    case.check("next-founding-key", next.founding_bytes())?;
    let issuer = IssuerKey::from_bytes(case.bytes("gamma")?)?;
    holds(issuer.reopened(&group, &h) == next, "the issuer's h_w")
}
