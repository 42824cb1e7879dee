//! Somebody who injects packets to make the receiver work or forget.

use crate::engine::setup::{Flow, NOW, receiver};
use clew_flow::{Acceptance, Chaining, Distribution, Effort, FIXED_BYTES, FLOWS_MAX, Reason};
use core::time::Duration;
use rand_chacha::rand_core::Rng;

#[test]
fn forged_blocks_cost_what_was_allowed() {
    let effort = Effort {
        reserve: 20,
        per_second: 100,
    };
    let acceptance = Acceptance {
        effort,
        ..Acceptance::default()
    };
    let mut flow = Flow::new(Chaining::default(), 6);
    flow.receiver = receiver(Chaining::default(), acceptance);
    let forged = flow.block(4, Distribution::Every).remove(0);
    let mut honest = 0;
    for round in 0..200u32 {
        let now = NOW + round * Duration::from_millis(10);
        for _ in 0..50 {
            let mut forged = forged.clone();
            let at = forged.len() - FIXED_BYTES - 1;
            forged[at] = flow.rng.next_u32() as u8;
            let id = forged.len() - FIXED_BYTES + flow.rng.next_u32() as usize % 16;
            forged[id] = flow.rng.next_u32() as u8;
            let reason = flow.receiver.receive(&forged, now, 0).reason;
            assert!(
                matches!(reason, Reason::BadSignature | Reason::Busy | Reason::Ok),
                "{reason}"
            );
        }
        for signed in flow.block(4, Distribution::Every) {
            let reason = flow.receiver.receive(&signed, now, 0).reason;
            honest += u64::from(reason == Reason::Ok);
        }
    }
    let allowed = 20 + 2 * 100 + honest + 2;
    assert!(
        flow.receiver.verifications() <= allowed,
        "{}",
        flow.receiver.verifications()
    );
}

#[test]
fn the_same_forgery_is_looked_at_once() {
    let mut flow = Flow::new(Chaining::default(), 7);
    let mut forged = flow.block(4, Distribution::Every).remove(0);
    let at = forged.len() - FIXED_BYTES - 1;
    forged[at] ^= 1;
    for _ in 0..1000 {
        assert_eq!(flow.receive(&forged), Reason::BadSignature);
    }
    assert_eq!(flow.receiver.verifications(), 1);
}

/// Blocks that the signer made under many tags: what is remembered is bounded, and what was used
/// last stays.
#[test]
fn sequences_are_forgotten_in_the_order_of_their_use() {
    let mut flow = Flow::new(Chaining::default(), 8);
    let ours = flow.block(3, Distribution::Every);
    assert_eq!(flow.receive(&ours[0]), Reason::Ok);
    for number in 0..=FLOWS_MAX {
        flow.sender.renew(&mut flow.rng);
        let other = flow.block(1, Distribution::Every);
        assert_eq!(flow.receive(&other[0]), Reason::Ok);
        if number == 500 {
            assert_eq!(flow.receive(&ours[1]), Reason::Ok);
        }
    }
    assert_eq!(
        flow.receive(&ours[0]),
        Reason::Duplicate,
        "still remembered"
    );
}
