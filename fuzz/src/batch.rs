//! Batches of signatures: what is computed in vector lanes and what is not says the same.

use clew_group::xr::{Form, Item, PublicKey, Signature, VerifyingKey};
use clew_group::{EpochId, FOUNDING_BYTES};
use clew_simd::Backend;
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::SeedableRng;

/// As many as fill two vectors and begin a third.
const MOST: usize = 17;

/// A nonce and a founding key of xr, the id of its epoch, and signatures over "m", one behind the other.
pub fn batch(data: &[u8]) {
    let Some((nonce, rest)) = data.split_first_chunk() else {
        return;
    };
    let Some((founding, rest)) = rest.split_at_checked(FOUNDING_BYTES) else {
        return;
    };
    let Some((id, rest)) = rest.split_first_chunk() else {
        return;
    };
    let Ok(group) = PublicKey::founded(nonce, founding) else {
        return;
    };
    let encoded: Vec<&[u8]> = rest.chunks(288).take(MOST).collect();
    let on = |backend| {
        let decoded = Signature::from_bytes_all(backend, &encoded);
        let good: Vec<&Signature> = decoded.iter().flatten().collect();
        let items = good.iter().map(|signature| Item {
            message: &[b"m"],
            form: Form::Plain(signature),
        });
        let key = VerifyingKey::with_backend(&group, EpochId(*id), backend);
        let mut rng = ChaCha20Rng::seed_from_u64(1);
        let verdicts = key.verify_batch(&items.collect::<Vec<_>>(), &mut rng);
        (decoded, verdicts)
    };
    let portable = on(Backend::Portable);
    for backend in Backend::multipliers() {
        assert_eq!(on(backend), portable, "{}", backend.name());
    }
}
