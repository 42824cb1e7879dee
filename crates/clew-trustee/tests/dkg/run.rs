//! All trustees of a plan in one place, each with its own state.

use clew_evidence::{GroupFile, Name};
use clew_group::quorum::{Quorum, Set, Trustee};
use clew_keys::TrusteeKeyFile;
use clew_trustee::dkg::{Deal, Dealing, DkgError, Hello, OldKey, Place, Plan, Purpose, State};
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::SeedableRng;

pub fn rng(seed: u64) -> ChaCha20Rng {
    ChaCha20Rng::seed_from_u64(seed)
}

pub fn quorum(threshold: u8, trustees: u8) -> Quorum {
    Quorum::new(threshold, trustees).unwrap()
}

pub fn who(index: u8) -> Trustee {
    Trustee::new(index).unwrap()
}

pub fn set<const N: usize>(indices: [u8; N]) -> Set {
    Set::of(indices.map(who)).unwrap()
}

pub fn plan(threshold: u8, trustees: u8, seed: u64) -> Plan {
    let name: Name = "acme".parse().unwrap();
    Plan::founding(name, quorum(threshold, trustees), &mut rng(seed))
}

/// A plan to hand on an opening key, without a group file.
pub fn handing_on(plan: &Plan, place: Place, dealers: Set, old: OldKey) -> Plan {
    let purpose = Purpose::Resharing {
        place,
        dealers,
        old,
    };
    let mut handing_on = plan.clone();
    handing_on.purpose = purpose;
    handing_on
}

/// One run of a plan, with everybody honest: trustees of the new key first.
pub struct Run {
    pub plan: Plan,
    pub states: Vec<State>,
    pub hellos: Vec<Hello>,
    pub deals: Vec<Deal>,
}

impl Run {
    /// Up to the deals.
    pub fn new(plan: Plan, seed: u64) -> Self {
        let trustees = (1..=plan.quorum.trustees()).map(|i| (Some(who(i)), None));
        let all: Vec<_> = trustees.collect();
        Self::of(plan, &all, seed)
    }

    /// The same, for participants who may have an old key.
    pub fn of(plan: Plan, all: &[(Option<Trustee>, Option<&TrusteeKeyFile>)], seed: u64) -> Self {
        let mut rng = rng(seed);
        let begin =
            |(index, old): &(_, Option<&_>)| State::begin(&plan, *index, *old, &mut rng).unwrap();
        let mut states: Vec<State> = all.iter().map(begin).collect();
        let hellos: Vec<Hello> = states.iter().map(State::hello).collect();
        let deals = states.iter_mut().zip(all);
        let deals = deals.filter(|(state, _)| state.dealer().is_some());
        let deals = deals.map(|(state, (_, old))| {
            let deal = state.deal(&plan, *old, &hellos, &mut rng);
            deal.unwrap().clone()
        });
        Self {
            deals: deals.collect(),
            plan,
            states,
            hellos,
        }
    }

    pub fn dealing(&self) -> Dealing {
        Dealing::gather(&self.plan, self.deals.clone()).unwrap()
    }

    /// What a trustee makes of these deals.
    pub fn receive(&self, index: u8, deals: &[Deal]) -> Result<(), DkgError> {
        let state = &self.states[usize::from(index) - 1];
        state.receive(&self.plan, deals.to_vec()).map(|_| ())
    }

    pub fn keys(&self, group: &GroupFile) -> Vec<TrusteeKeyFile> {
        let trustees = self.states.iter().filter(|s| s.trustee().is_some());
        let key = |state: &State| {
            let received = state.receive(&self.plan, self.deals.clone()).unwrap();
            received.key(group).unwrap()
        };
        trustees.map(key).collect()
    }
}
