//! Encodings of `clew-group`: each value has one, so that what decodes encodes to the same bytes.

use clew_group::bbs04::{IncrementalSignature, Signature};
use clew_group::{
    EpochId, FOUNDING_BYTES, Invalid, MemberKey, PublicKey, Revoked, STEP_BYTES, Scheme, Signed,
    SigningKey, Step, VerifyingKey, WITNESS_BYTES, Witness, check_steps, xr,
};
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::SeedableRng;

/// Both forms of a signature, of both schemes.
pub fn signature(data: &[u8]) {
    xr_signature(data);
    if let Ok(signature) = Signature::from_bytes(data) {
        assert_eq!(signature.to_bytes(), data);
    }
    if let Ok(signature) = IncrementalSignature::from_bytes(data) {
        assert_eq!(signature.to_bytes(), data);
        let plain = signature.signature().to_bytes();
        assert!(data.starts_with(&plain));
        assert_eq!(
            Signature::from_bytes(&plain),
            Ok(signature.signature().clone())
        );
    }
}

fn xr_signature(data: &[u8]) {
    if let Ok(signature) = xr::Signature::from_bytes(data) {
        assert_eq!(signature.to_bytes(), data);
    }
    if let Ok(signature) = xr::IncrementalSignature::from_bytes(data) {
        assert_eq!(signature.to_bytes(), data);
        let plain = signature.signature().to_bytes();
        assert!(data.starts_with(&plain));
        let read = xr::Signature::from_bytes(&plain);
        assert_eq!(read.as_ref(), Ok(signature.signature()));
    }
}

/// A nonce and a founding key, of both schemes: what is read has one encoding, and one key in each epoch.
pub fn public_key(data: &[u8]) {
    let Some((nonce, founding)) = data.split_first_chunk() else {
        return;
    };
    for scheme in [Scheme::Bbs04, Scheme::Xr] {
        let Ok(key) = PublicKey::founded(scheme, nonce, founding) else {
            continue;
        };
        assert_eq!(key.founding_bytes()[..], *founding);
        let first = PublicKey::first_v(scheme, nonce);
        assert_eq!(*key.v(), first);
        let rebased = PublicKey::rebased_v(scheme, nonce, 1, &EpochId([1; 32]));
        let next = key.in_epoch(&rebased).expect("a hash is no identity");
        assert_eq!(next.in_epoch(&first), Ok(key));
    }
}

/// Byte 0 chooses the scheme; the rest is a nonce, a founding key, a witness and a member key: what the
/// member's check lets pass signs, and what it signs is valid.
pub fn member_key(data: &[u8]) {
    let [choice, rest @ ..] = data else {
        return;
    };
    let scheme = [Scheme::Xr, Scheme::Bbs04][usize::from(*choice % 2)];
    let Some((nonce, rest)) = rest.split_first_chunk() else {
        return;
    };
    let parts = rest.split_at_checked(FOUNDING_BYTES);
    let Some((founding, (witness, key))) =
        parts.and_then(|(founding, rest)| Some((founding, rest.split_at_checked(WITNESS_BYTES)?)))
    else {
        return;
    };
    let key =
        MemberKey::from_bytes(scheme, key).inspect(|k| assert!(key == k.to_bytes().as_slice()));
    let witness = Witness::from_bytes(witness).inspect(|w| assert_eq!(witness, w.to_bytes()));
    let group = PublicKey::founded(scheme, nonce, founding);
    let (Ok(key), Ok(witness), Ok(group)) = (key, witness, group) else {
        return;
    };
    let (id, mut body) = (EpochId([1; 32]), vec![0; scheme.signature_bytes(false)]);
    if let Ok(signer) = SigningKey::new(&group, id, key, &witness) {
        signer.precursor(&mut rng()).sign(&[b"m"], false, &mut body);
        let signed = Signed {
            message: b"m",
            body: &body,
            incremental: false,
        };
        let verified = VerifyingKey::new(&group, id).verify(signed, &mut rng());
        assert_eq!(verified, Ok(()));
    }
}

/// A nonce and a founding key of xr, a witness, a member key, and a chain of steps: where the chain
/// holds, a member follows it unless it is revoked, and finds back.
pub fn steps(data: &[u8]) {
    let Some((nonce, rest)) = data.split_first_chunk() else {
        return;
    };
    let lengths = [FOUNDING_BYTES, WITNESS_BYTES, xr::MEMBER_KEY_BYTES];
    if rest.len() < lengths.iter().sum() {
        return;
    }
    let (founding, rest) = rest.split_at(lengths[0]);
    let (witness, rest) = rest.split_at(lengths[1]);
    let (key, chain) = rest.split_at(lengths[2]);
    let steps: Result<Vec<Step>, _> = chain.chunks(STEP_BYTES).map(Step::from_bytes).collect();
    let Ok(steps) = steps else {
        return;
    };
    let encoded: Vec<_> = steps.iter().flat_map(Step::to_bytes).collect();
    assert_eq!(encoded, chain);
    let (group, key) = (
        xr::PublicKey::founded(nonce, founding),
        xr::MemberKey::from_bytes(key),
    );
    let (Ok(group), Ok(key), Ok(witness)) = (group, key, Witness::from_bytes(witness)) else {
        return;
    };
    if let Ok(last) = after(&group, &steps)
        && key.check(&group, &witness).is_ok()
    {
        check_member(&key, &witness, &steps, &last);
    }
}

/// The key after a chain, whose steps hold together if each holds alone.
fn after(group: &xr::PublicKey, steps: &[Step]) -> Result<xr::PublicKey, Invalid> {
    let together = check_steps(group.w(), &[(*group.v(), steps)], &mut rng());
    let one_by_one = steps
        .iter()
        .try_fold(group.clone(), |key, step| key.after(step));
    // Of one that leads to g1 V = 1 only the second says so, and nobody finds that.
    assert_eq!(together.is_ok(), one_by_one.is_ok());
    one_by_one
}

fn check_member(key: &xr::MemberKey, before: &Witness, steps: &[Step], last: &xr::PublicKey) {
    match before.after(key.x(), steps) {
        Ok(witness) => {
            assert!(key.check(last, &witness).is_ok());
            assert!(witness.before(key.x(), steps) == *before);
        }
        Err(Revoked) => assert!(steps.iter().any(|step| step.x() == key.x())),
    }
}

fn rng() -> ChaCha20Rng {
    ChaCha20Rng::seed_from_u64(1)
}
