//! What verifiers do, on any thread.

use super::order::Token;
use super::queue::Source;
use super::trailed_flow::TrailedFlow;
use clew_packet::{Affinity, Checked, Pending, Windows};
use rand_core::CryptoRng;
use std::time::Duration;

/// A signature that is to be verified.
#[derive(Debug)]
pub(crate) struct Task {
    pub pending: Pending,
    pub job: Job,
}

/// Whose signature it is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Job {
    pub token: Token,
    /// Who pays: the address or its prefix.
    pub source: Source,
    /// The address or flow that is judged by it.
    pub address: Source,
    /// The flow that becomes known if it holds, where addresses are not proved.
    pub flow: Option<TrailedFlow>,
    /// What other packets of its block have, too: they wait for this one.
    pub block: Option<Affinity>,
    /// Packets of its block.
    pub k: u16,
    /// If it is bad, that counts against its source.
    pub counts_against_source: bool,
}

/// Signatures for one verifier. What is not brought back costs no more than its packets.
#[derive(Debug)]
pub struct Work {
    pub(super) tasks: Vec<Task>,
    /// What each was charged in advance.
    pub(super) charged: Duration,
    pub(super) windows: Windows,
}

/// Signatures that were verified.
#[derive(Debug)]
pub struct Done {
    pub(super) checked: Vec<(Job, Checked)>,
    pub(super) charged: Duration,
}

impl Work {
    /// Verifies the signatures, together as far as that is cheaper. The caller measures the CPU time.
    pub fn run(self, rng: &mut impl CryptoRng) -> Done {
        let (jobs, pending): (Vec<Job>, Vec<Pending>) =
            self.tasks.into_iter().map(|t| (t.job, t.pending)).unzip();
        let checked = Pending::check_all(pending, self.windows, rng);
        Done {
            checked: jobs.into_iter().zip(checked).collect(),
            charged: self.charged,
        }
    }

    /// Returns how many signatures there are.
    pub const fn count(&self) -> usize {
        self.tasks.len()
    }
}
