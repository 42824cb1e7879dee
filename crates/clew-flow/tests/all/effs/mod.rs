//! eFFS from outside: `spec/effs.md`.

mod defects;
mod keys;
mod naive;
mod signatures;

use clew_flow::effs::{Form, Instance, Parameters, Rule, SecretKey, Signer};
use clew_simd::Backend;
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::SeedableRng;

fn rng(seed: u64) -> ChaCha20Rng {
    ChaCha20Rng::seed_from_u64(seed)
}

fn here() -> Instance {
    Instance([7; 32])
}

/// A key of its own for each seed.
fn key(name: &str, rule: Rule, form: Form, seed: u64) -> SecretKey {
    let parameters: Parameters = name.parse().unwrap();
    let parameters = match form {
        Form::Paper => parameters.with_rule(rule).in_papers_form(),
        Form::Compact => parameters.with_rule(rule),
    };
    SecretKey::generate(parameters, &mut rng(seed))
}

fn signer(key: &SecretKey, backend: Backend) -> Signer {
    Signer::on(key, backend, here)
}
