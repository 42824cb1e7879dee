//! Jobs in lanes, eight at a time; where there are fewer, the rest of the vector has something to do as well.

use super::{BASE, BYTES, Job, LANES, Public, Secret, Shared, ifma};

/// What a lane without a job multiplies by.
const IDLE: &[u8; BYTES] = &[0; BYTES];

pub fn shared(jobs: &[Job<'_>], out: &mut [Option<Shared>]) {
    for (jobs, out) in jobs.chunks(LANES).zip(out.chunks_mut(LANES)) {
        let (mut secrets, mut publics) = ([IDLE; LANES], [BASE.0; LANES]);
        for (lane, (secret, public)) in jobs.iter().enumerate() {
            secrets[lane] = &secret.0;
            publics[lane] = public.0;
        }
        let mut products = ifma::eight::products(&secrets, &publics);
        for (out, product) in out.iter_mut().zip(&mut products) {
            *out = Shared::unless_zero(product);
        }
    }
}

pub fn public_keys(secrets: &[&Secret], out: &mut [Public]) {
    for (secrets, out) in secrets.chunks(LANES).zip(out.chunks_mut(LANES)) {
        let mut lanes = [IDLE; LANES];
        for (lane, secret) in lanes.iter_mut().zip(secrets) {
            *lane = &secret.0;
        }
        let products = ifma::eight::products(&lanes, &[BASE.0; LANES]);
        for (out, product) in out.iter_mut().zip(products) {
            *out = Public(product);
        }
    }
}
