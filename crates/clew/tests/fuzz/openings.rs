//! The payloads of an opening key in the making.

use clew_evidence::armor;
use clew_group::quorum::{Quorum, Trustee};
use clew_keys::TextFile;
use clew_trustee::dkg::{Hello, Plan, State};
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::SeedableRng;

/// A plan, and what its first trustee says, deals and keeps.
pub fn seeds() -> Vec<Vec<u8>> {
    let mut rng = ChaCha20Rng::seed_from_u64(16);
    let quorum = Quorum::new(2, 2).unwrap();
    let plan = Plan::founding("acme".parse().unwrap(), quorum, &mut rng);
    let begin = |i| State::begin(&plan, Trustee::new(i).ok(), None, &mut rng).unwrap();
    let mut states = [1, 2].map(begin);
    let hellos: Vec<Hello> = states.iter().map(State::hello).collect();
    let deal = states[0].deal(&plan, None, &hellos, &mut rng).unwrap();
    let deal = payload(&deal.encode(), "clew-dkg-deal-1");
    vec![
        payload(&plan.encode(), "clew-dkg-plan-1"),
        payload(&hellos[0].encode(), "clew-dkg-hello-1"),
        deal,
        payload(&states[0].encode(), "clew-dkg-state-1"),
    ]
}

fn payload(text: &str, label: &'static str) -> Vec<u8> {
    armor::decode(text, label).unwrap().to_vec()
}
