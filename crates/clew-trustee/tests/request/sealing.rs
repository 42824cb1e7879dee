//! Shares encrypted to the requester (`spec/request.md` section 4).

use super::run::{World, author, trustee};
use clew_evidence::{Request, Share, Step};
use clew_group::quorum::{BlindCommitment, Set};
use clew_trustee::request::{open_share, sealed_share};
use clew_trustee::sealed::SealKey;
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::SeedableRng;
use zeroize::Zeroizing;

/// One request's share is no other's: whatever differs, it does not decrypt, and never to another reader.
#[test]
fn a_sealed_share_is_for_one_reader_request_author_and_attempt() {
    let world = World::new(true);
    let set = Set::of([trustee(2), trustee(3)]).unwrap();
    let commitment = BlindCommitment([2; 32]);
    let share = *world.step(2, Step::Commitment { set, commitment });
    let key = |seed: u8| SealKey::from_bytes(Zeroizing::new([seed; 32]));
    let reader = key(9);
    let mut rng = ChaCha20Rng::from_seed([3; 32]);
    let own = author(2);
    let sealed = sealed_share(&share, &reader.public(), &own, 0, &mut rng).unwrap();
    let request = &share.request;
    assert!(open(&sealed, &reader, request, (&own, 2, 0)));
    let other = Request {
        asked_packet: [8; 32],
        ..request.clone()
    };
    assert!(!open(&sealed, &key(8), request, (&own, 2, 0)));
    assert!(!open(&sealed, &reader, &other, (&own, 2, 0)));
    assert!(!open(&sealed, &reader, request, (&author(3), 2, 0)));
    assert!(!open(&sealed, &reader, request, (&own, 3, 0)));
    assert!(!open(&sealed, &reader, request, (&own, 2, 1)));
    for at in 0..sealed.len() {
        let mut changed = sealed.clone();
        changed[at] ^= 1;
        assert!(!open(&changed, &reader, request, (&own, 2, 0)), "byte {at}");
        assert!(
            !open(&sealed[..at], &reader, request, (&own, 2, 0)),
            "{at} bytes"
        );
    }
    // A share within that names another trustee than its post.
    let lie = Share {
        trustee: trustee(3),
        ..share.clone()
    };
    let sealed = sealed_share(&lie, &reader.public(), &own, 0, &mut rng).unwrap();
    assert!(!open(&sealed, &reader, request, (&own, 2, 0)));
}

fn open(sealed: &[u8], key: &SealKey, request: &Request, of: (&[u8; 32], u8, u8)) -> bool {
    open_share(sealed, key, request, of).is_some()
}
