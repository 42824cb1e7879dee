//! Coded carriage: what arrives, and what somebody makes of it who sends too.

mod arrivals;
mod rules;

use crate::engine::setup::{Flow, NOW, receiver};
use clew_flow::{Acceptance, Chaining, Distribution, FIXED_BYTES, FlowReceiver, Reason};
use clew_tree::carriage::{Rate, TagSize};
use rand_chacha::rand_core::Rng;

pub const UNTAGGED: Distribution = Distribution::Coded {
    rate: Rate::QUARTER,
    tags: None,
};
pub const SHORT: Distribution = Distribution::Coded {
    rate: Rate::QUARTER,
    tags: Some(TagSize::T4),
};

/// With a flow whose receiver takes all carriages.
pub fn flow(seed: u64) -> Flow {
    let mut flow = Flow::new(Chaining::default(), seed);
    flow.receiver = trusting(Acceptance::default());
    flow
}

pub fn trusting(acceptance: Acceptance) -> FlowReceiver {
    let untagged = true;
    receiver(
        Chaining::default(),
        Acceptance {
            untagged,
            ..acceptance
        },
    )
}

/// Receives packets with their places as tickets: the last that was said of each.
pub fn receive<'a>(
    receiver: &mut FlowReceiver,
    sent: impl IntoIterator<Item = &'a Vec<u8>>,
) -> Vec<Reason> {
    let mut found = Vec::new();
    for (ticket, signed) in sent.into_iter().enumerate() {
        let finding = receiver.receive(signed, NOW, ticket as u64);
        found.push(finding.reason);
        for (ticket, reason) in finding.resolved {
            let waited = std::mem::replace(&mut found[ticket as usize], reason);
            assert_eq!(waited, Reason::Pending);
        }
    }
    found
}

pub fn shuffle(flow: &mut Flow, packets: &mut [Vec<u8>]) {
    for i in (1..packets.len()).rev() {
        packets.swap(i, flow.rng.next_u32() as usize % (i + 1));
    }
}

/// Where a packet of a block of 16 that has T = 8 carries what.
pub struct Places {
    pub path: usize,
    pub needed: usize,
    pub share: usize,
    pub tag: usize,
    pub fixed: usize,
}

pub fn places(signed: &[u8], tag: usize) -> Places {
    let fixed = signed.len() - FIXED_BYTES;
    let tag = fixed - tag;
    let share = tag - 18;
    let path = share - 2 - 64;
    Places {
        path,
        needed: share - 2,
        share,
        tag,
        fixed,
    }
}
