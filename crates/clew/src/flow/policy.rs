//! What a receiver lets pass.

use clew_flow::{Descriptor, Reason, Verdict};

/// What a receiver lets pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Policy {
    /// All packets; verdicts are only counted
    Observe,
    /// All but invalid and replayed packets. Unsigned packets pass unless a flow declares that all
    /// its packets are signed
    Balanced,
    /// Valid packets only
    Strict,
}

/// The policy, for flows some of which may have all packets signed.
#[derive(Clone, Copy, Debug)]
pub struct Gate {
    policy: Policy,
    every: bool,
}

impl Gate {
    /// The policy for these flows.
    pub fn new<'a>(policy: Policy, flows: impl IntoIterator<Item = &'a Descriptor>) -> Self {
        let every = flows.into_iter().any(|flow| flow.chaining().every);
        Self { policy, every }
    }

    /// Whether a packet passes that was judged so. One that is `pending` is not judged yet.
    pub fn passes(&self, reason: Reason) -> bool {
        match (self.policy, reason.verdict()) {
            (Policy::Observe, _) | (_, Verdict::Valid) => true,
            (Policy::Strict, _) => false,
            (Policy::Balanced, Verdict::Undecided) => true,
            (Policy::Balanced, Verdict::Unsigned) => !self.every,
            (Policy::Balanced, Verdict::Replayed | Verdict::Invalid) => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flow::keys::{FlowKey, Scheme};
    use clew_flow::Chaining;

    #[test]
    fn who_passes() {
        use Policy::{Balanced, Observe, Strict};
        let flow = |every| {
            let chaining = Chaining {
                every,
                ..Chaining::default()
            };
            let key = FlowKey::generate(Scheme::Ed25519, chaining, "").unwrap();
            key.descriptor().clone()
        };
        let reasons = [
            Reason::Ok,
            Reason::NoSignature,
            Reason::Unsigned,
            Reason::Duplicate,
            Reason::BadDigest,
        ];
        for (policy, every, passing) in [
            (Observe, true, [true; 5]),
            (Balanced, false, [true, true, true, false, false]),
            (Balanced, true, [true, true, false, false, false]),
            (Strict, false, [true, false, false, false, false]),
        ] {
            let gate = Gate::new(policy, &[flow(false), flow(every)]);
            let passes = reasons.map(|reason| gate.passes(reason));
            assert_eq!(passes, passing, "{policy:?} {every}");
        }
    }
}
