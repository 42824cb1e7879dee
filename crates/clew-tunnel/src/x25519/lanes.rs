//! Jobs in lanes: up to eight of them, and the rest of the vector has something to do as well.

use super::{BASE, BYTES, Job, LANES, Public, Secret, Shared, ifma};

/// What a lane without a job multiplies by.
const IDLE: &[u8; BYTES] = &[0; BYTES];

pub fn shared(jobs: &[Job<'_>], out: &mut [Option<Shared>]) {
    let (mut secrets, mut publics) = ([IDLE; LANES], [BASE.0; LANES]);
    for (lane, (secret, public)) in jobs.iter().take(LANES).enumerate() {
        secrets[lane] = &secret.0;
        publics[lane] = public.0;
    }
    let mut products = ifma::products(&secrets, &publics);
    for (out, product) in out.iter_mut().zip(&mut products) {
        *out = Shared::unless_zero(product);
    }
}

pub fn public_keys(secrets: &[&Secret], out: &mut [Public]) {
    let mut lanes = [IDLE; LANES];
    for (lane, secret) in lanes.iter_mut().zip(secrets) {
        *lane = &secret.0;
    }
    let products = ifma::products(&lanes, &[BASE.0; LANES]);
    for (out, product) in out.iter_mut().zip(products) {
        *out = Public(product);
    }
}
