//! The real sender and receiver on the same lines: their counts must be those of the model.

use super::schemes::{CODED, FULL, SPARSE, Scheme};
use crate::flow::{NOW, payloads, receiver, sender, slices};
use crate::groups::rng;
use crate::loss::Loss;
use clew_flow::{Chaining, Distribution, FlowReceiver, Reason};
use std::time::Instant;

/// What is run, and how its packets carry the signature.
pub const RUN: [(Scheme, Distribution); 3] = [
    (FULL, Distribution::Every),
    (SPARSE, Distribution::OneIn(16)),
    (CODED, Distribution::CODED),
];

/// A line, and which packets arrive on it.
pub struct Line {
    pub loss: Loss,
    pub arrived: Vec<bool>,
}

/// What a receiver did.
pub struct Outcome {
    pub valid: u64,
    pub verifications: u64,
    /// The median over blocks of what a received packet takes, in microseconds.
    pub us: f64,
}

/// A receiver and its times.
struct Receiving<'a> {
    line: &'a Line,
    receiver: FlowReceiver,
    us: Vec<f64>,
}

/// Signs one flow in whole blocks, and receives it on all lines at the same time.
pub fn run(
    scheme: Scheme,
    distribution: Distribution,
    lines: &[Line],
    bytes: usize,
) -> Vec<Outcome> {
    let (block, mut rng) = (scheme.block(), rng(7));
    let chaining = Chaining {
        most: block as u16,
        ..Chaining::default()
    };
    let mut sender = sender(chaining);
    let payloads = payloads(block, bytes);
    let mut outs = vec![Vec::new(); block];
    let packets = lines.first().map_or(0, |line| line.arrived.len());
    let receiving = lines.iter().map(|line| Receiving {
        line,
        receiver: receiver(chaining),
        us: Vec::new(),
    });
    let mut receiving: Vec<_> = receiving.collect();
    for (number, begin) in (0..packets).step_by(block).enumerate() {
        let signed = sender.sign_block(&slices(&payloads), distribution, NOW, &mut rng, &mut outs);
        signed.expect("a block that the flow may have");
        // Each line in turn is the first to see a block.
        for turn in 0..receiving.len() {
            let at = (number + turn) % receiving.len();
            receiving[at].block(&outs, begin);
        }
    }
    receiving.into_iter().map(Receiving::end).collect()
}

impl Receiving<'_> {
    fn block(&mut self, outs: &[Vec<u8>], begin: usize) {
        let arrived = &self.line.arrived[begin..][..outs.len()];
        let here = outs.iter().zip(arrived).filter(|(_, arrives)| **arrives);
        let here: Vec<&[u8]> = here.map(|(signed, _)| signed.as_slice()).collect();
        let start = Instant::now();
        self.receiver.receive_many(&here, NOW, begin as u64);
        if !here.is_empty() {
            self.us
                .push(start.elapsed().as_secs_f64() * 1e6 / here.len() as f64);
        }
    }

    fn end(mut self) -> Outcome {
        self.us.sort_by(f64::total_cmp);
        Outcome {
            valid: self.receiver.counters().of(Reason::Ok),
            verifications: self.receiver.verifications(),
            us: self.us.get(self.us.len() / 2).copied().unwrap_or(f64::NAN),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flow::loss::schemes::OURS;
    use crate::loss;

    /// The model's counts are the engine's, on every line and whatever is lost.
    #[test]
    fn the_engine_does_what_the_model_says() {
        let small = Scheme::Full(8);
        for (scheme, distribution) in RUN.into_iter().chain([(small, Distribution::Every)]) {
            let heavy = Loss {
                percent: 60.0,
                bursty: true,
            };
            let line = |loss: Loss| Line {
                loss,
                arrived: loss.arrived(9, 4096),
            };
            let lines: Vec<Line> = loss::ALL.into_iter().chain([heavy]).map(line).collect();
            for (line, outcome) in lines.iter().zip(run(scheme, distribution, &lines, 40)) {
                let tally = scheme.tally(&line.arrived);
                let engine = (outcome.verifications, outcome.valid);
                let (name, loss) = (scheme.name(), line.loss.name());
                assert_eq!(
                    engine,
                    (tally.verifications, tally.verified),
                    "{name} on {loss}"
                );
            }
        }
    }

    #[test]
    fn packets_are_as_long_as_the_model_says() {
        for (scheme, distribution) in RUN {
            let (block, mut rng) = (scheme.block(), rng(8));
            let (packets, mut outs) = (payloads(block, 40), vec![Vec::new(); block]);
            let mut sender = sender(Chaining::default());
            sender
                .sign_block(&slices(&packets), distribution, NOW, &mut rng, &mut outs)
                .unwrap();
            let added: usize = outs.iter().map(|signed| signed.len() - 40).sum();
            assert_eq!(
                added as f64 / block as f64,
                scheme.bytes(&OURS, 64),
                "{}",
                scheme.name()
            );
        }
    }
}
