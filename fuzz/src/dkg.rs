//! The files by which trustees make an opening key, behind their checksum: each has one encoding.

use clew_evidence::{Name, armor};
use clew_group::quorum::Quorum;
use clew_keys::TextFile;
use clew_trustee::dkg::{Deal, Dealing, Hello, Participants, Plan, State};
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::SeedableRng;

/// A plan, a hello, a deal and a state; what decodes is also checked against a plan.
pub fn dkg(data: &[u8]) {
    if let Ok(plan) = Plan::decode(&armor::encode("", "clew-dkg-plan-1", data)) {
        same(&plan.encode(), "clew-dkg-plan-1", data);
    }
    let plan = plan();
    if let Ok(hello) = Hello::decode(&armor::encode("", "clew-dkg-hello-1", data)) {
        same(&hello.encode(), "clew-dkg-hello-1", data);
        let _ = Participants::gather(&plan, &[hello.clone(), hello]);
    }
    if let Ok(deal) = Deal::decode(&armor::encode("", "clew-dkg-deal-1", data)) {
        same(&deal.encode(), "clew-dkg-deal-1", data);
        assert!(deal.check(&plan).is_err(), "this plan was never dealt");
        assert!(Dealing::gather(&plan, vec![deal]).is_err());
    }
    if let Ok(state) = State::decode(&armor::encode("", "clew-dkg-state-1", data)) {
        same(&state.encode(), "clew-dkg-state-1", data);
        assert!(state.receive(&plan, Vec::new()).is_err());
    }
}

fn same(written: &str, label: &'static str, data: &[u8]) {
    let payload = armor::decode(written, label).expect("it was written");
    assert_eq!(payload[..], *data);
}

/// A plan of nobody's.
fn plan() -> Plan {
    let name: Name = "nobody".parse().expect("a name");
    let quorum = Quorum::new(2, 2).expect("a quorum");
    Plan::founding(name, quorum, &mut ChaCha20Rng::seed_from_u64(0))
}
