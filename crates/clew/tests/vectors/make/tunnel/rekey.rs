//! Rekeys and replays.

use clew_tunnel::keys::{self, Nonce};
use clew_tunnel::puzzle::Solution;
use clew_tunnel::wire::packet::Tid;
use clew_tunnel::x25519::Public;

use crate::case::Case;
use crate::make::damage::Damage;
use crate::make::flat;
use crate::make::tunnel::bytes::{NANOS, public, secret};
use crate::make::tunnel::node::config;
use crate::make::tunnel::rogue::{Rogue, create, say};
use crate::make::tunnel::run::{MS, Run, SECOND, rogue_address};
use crate::make::tunnel::script::{script, script_of};

pub fn all() -> Vec<Case> {
    flat([rekeys(), bad_rekeys(), replays()])
}

/// Rekeys as they should be, and what comes under old keys.
fn rekeys() -> Vec<Case> {
    vec![
        script("rekey-twice", "Two rekeys in a row: each has a C' that nobody has the secret of.", |run| {
            let (tunnel, connection) = run.open();
            run.wait(SECOND);
            run.rekey(tunnel);
            run.say(connection, b"with the first rekey");
            run.wait(SECOND);
            run.rekey(tunnel);
            run.wait(SECOND);
            run.say(connection, b"under the third key");
            run.wait(4 * SECOND);
        }),
        script("rekey-again", "The packet of a rekey is lost and sent again; what follows it has no tunnel before.", |run| {
            let (tunnel, connection) = run.open();
            run.wait(SECOND);
            run.rekey(tunnel);
            run.lose = 1;
            run.wait(500 * MS);
            run.say(connection, b"under a key that the server has not");
            run.wait(3 * SECOND);
        }),
        script("rekey-elsewhere", "A rekey from another address; a packet under the key before does not bring it back.", |run| {
            let mut rogue = opened(run, 3);
            run.wait(SECOND);
            let mut old = run.rekeyed(&mut rogue);
            run.hand_from("198.51.100.77:7000".parse().unwrap(), &rogue.first((257, 0), &say(1, b"here")));
            // From where it was: the old key moves nothing.
            run.hand(&old.packet((0, 0), &[]));
        }),
        script("rekey-draining", "What comes under the key before: within DRAIN, with a key flag, and too late.", |run| {
            let mut rogue = opened(run, 3);
            let mut old = run.rekeyed(&mut rogue);
            let first = rogue.first((0, 0), &[]);
            run.hand(&first);
            run.wait(2_900 * MS);
            run.hand(&old.packet((257, 0), &say(1, b"on its way")));
            old.at(NANOS + run.now).client = Public([9; 32]);
            run.hand(&old.first((0, 0), &[]));
            run.wait(200 * MS);
            run.hand(&old.packet((258, 0), &say(1, b"too late")));
        }),
        script(
            "rekey-dormant",
            "rekeyNow is not followed: the old key is erased, and the announced TID brings the tunnel back.",
            |run| {
                let mut rogue = opened(run, 3);
                run.wait(601 * SECOND);
                run.wait(32 * SECOND);
                run.hand(&rogue.packet((257, 0), &say(1, b"too late")));
                run.rekeyed(&mut rogue);
                run.hand(&rogue.first((257, 0), &say(1, b"back")));
            },
        ),
    ]
}

/// Rekeys that are refused.
fn bad_rekeys() -> Vec<Case> {
    vec![
        script("rekey-tid", "An announced TID that is in use, by a rekey and by a new tunnel.", |run| {
            let mut rogue = opened(run, 3);
            let other = opened(run, 5);
            run.rekeyed(&mut rogue);
            let own = rogue.announced;
            for tid in [other.tid, other.announced, rogue.tid, own] {
                rogue.announced = tid;
                run.hand(&rogue.first((0, 0), &[]));
            }
            let mut new = run.rogue(7);
            let own = new.announced;
            for tid in [other.announced, new.tid, Tid::from_random([0; 8]), own] {
                new.announced = tid;
                run.hand(&new.first((0, 0), &[]));
            }
        }),
        script("rekey-fast", "The fifth rekey at once; a second later it is taken.", |run| {
            let mut rogue = opened(run, 3);
            for _ in 0..5 {
                run.rekeyed(&mut rogue);
                run.hand(&rogue.first((0, 0), &[]));
            }
            run.wait(1_100 * MS);
            run.hand(&rogue.first((0, 0), &[]));
        }),
        // What step 8 finds in a rekey and in a new tunnel, before anything is changed.
        script(
            "rekey-refused",
            "Acks of what was never sent, RPCs without a place and places without RPCs, in a rekey and in a \
             new tunnel: the tunnel goes on.",
            |run| {
                let mut rogue = opened(run, 3);
                run.rekeyed(&mut rogue);
                let nothing = Vec::new;
                for (numbers, rpcs) in
                    [((0, 0x7fff_ffff), nothing()), ((0, 0), say(1, b"without a place")), ((257, 0), nothing())]
                {
                    run.hand(&rogue.first(numbers, &rpcs));
                }
                run.hand(&rogue.first((257, 0), &say(1, b"as it should be")));
                let mut new = run.rogue(5);
                for (numbers, rpcs) in [((256, 1), create(1)), ((257, 0), create(1)), ((0, 0), create(1)), ((256, 0), nothing())]
                {
                    run.hand(&new.first(numbers, &rpcs));
                }
            },
        ),
        changed("rekey-changed"),
        changed("replay-changed"),
    ]
}

/// First packets that come again.
fn replays() -> Vec<Case> {
    vec![
        script("replay-copied", "A first packet twice; sent again with a newer nonce, and that twice.", |run| {
            let mut rogue = run.rogue(3);
            let first = rogue.first((256, 0), &create(1));
            for _ in 0..2 {
                run.hand(&first);
            }
            let newer = rogue.first((256, 0), &create(1));
            for packet in [&newer, &newer] {
                run.hand(packet);
            }
        }),
        script(
            "replay-closed",
            "The tunnel is closed, and its first packet comes again, with its C' under another TID too.",
            |run| {
                let mut rogue = run.rogue(3);
                let first = rogue.first((256, 0), &create(1));
                run.hand(&first);
                run.server_closes();
                run.hand(&first);
                run.hand(&rogue.first((256, 0), &create(1)));
                let mut other = rogue.clone();
                other.tid = Tid::from_random([0x11; 8]);
                run.hand(&other.first((256, 0), &create(1)));
            },
        ),
        script("replay-rekey", "The packet of a rekey again: under the current key, while it drains, and after that.", |run| {
            let mut rogue = opened(run, 3);
            run.rekeyed(&mut rogue);
            let first = rogue.first((257, 0), &say(1, b"once"));
            run.hand(&first);
            run.hand(&first);
            run.rekeyed(&mut rogue);
            run.hand(&rogue.first((0, 0), &[]));
            run.hand(&first);
            run.wait(4 * SECOND);
            run.hand(&first);
        }),
        script("replay-late", "A first packet within the acceptance window and beyond it.", |run| {
            let mut rogue = run.rogue(3);
            let first = rogue.first((256, 0), &create(1));
            run.hand(&first);
            run.server_closes();
            run.wait(29 * SECOND);
            run.hand(&first);
            run.wait(2 * SECOND);
            run.hand(&first);
        }),
        script("replay-at-once", "Two copies of a first packet whose keys are computed at once.", |run| {
            let mut rogue = run.rogue(3);
            let first = rogue.first((256, 0), &create(1));
            run.hand_all(rogue_address(), &[&first, &first]);
        }),
        floor(),
    ]
}

/// A tunnel of a rogue with a connection, at an address that it has shown by an ack.
fn opened(run: &mut Run, n: u8) -> Rogue {
    run.echoes = false;
    let mut rogue = run.rogue(n);
    let first = rogue.first((256, 0), &create(1));
    let said = run.hand(&first);
    let ack = rogue.open(&said[0]).unwrap().seq;
    run.hand(&rogue.packet((0, ack), &[]));
    rogue
}

/// An initiation packet whose header somebody changed, before and after it is taken.
fn changed(name: &str) -> Case {
    let is_rekey = name.starts_with("rekey");
    let what = if is_rekey { "a rekey" } else { "a new tunnel" };
    let comment = format!(
        "The packet of {what} with another C', without key, with a puzzle, with a C' that is none, one of small order, \
         with another box; the same after it was taken."
    );
    script(name, &comment, |run| {
        let mut rogue = if is_rekey { opened(run, 3) } else { run.rogue(3) };
        if is_rekey {
            run.rekeyed(&mut rogue);
        }
        // C' in the box is not that of the header.
        let mut other = rogue.clone();
        other.client = if is_rekey { public("other") } else { twin(&rogue.client) };
        let other = other.initiation((0, 0), &rogue.next_tid());
        let first = rogue.first((0, 0), &[]);
        let r = Solution { r: [1; 80], nonce: Nonce::from_bytes([0, 0, 0, 0, 0, 0, 0, 2]) };
        let changed = [
            other,
            first.set(0, [first[0] & 0x3f]),
            first.set(0, [first[0] | 0xc0]).replace(48..48, r.to_bytes()),
            first.set(16, [0xff; 32]),
            first.set(16, [0; 32]),
            first.flip(100),
        ];
        for packet in changed.iter().chain([&first]).chain(&changed) {
            run.hand(packet);
        }
    })
}

/// 1/C' modulo 2^255 - 19 of the rogue's C': a plain X25519 shares the same secret with it.
fn twin(public: &Public) -> Public {
    const TWIN: &str = "3becf47ffed92a05a5664864531296fa9b2a432f0699e90ddf220eb1d79dd65f";
    let twin = Public(hex::decode(TWIN).unwrap().try_into().unwrap());
    let anybody = secret("anybody");
    let shared = [public, &twin].map(|key| keys::shared(&anybody, key).unwrap().to_bytes());
    assert_eq!(shared[0], shared[1]);
    twin
}

/// A replay set that forgets.
fn floor() -> Case {
    let mut config = config();
    config.limits.replay = 2;
    let comment = "A replay set of two is full: at or below the nonce that it forgot nothing is taken.";
    script_of(config, "replay-floor", comment, |run| {
        let mut first = Vec::new();
        for n in [3, 5, 7] {
            run.wait(SECOND);
            let mut rogue = run.rogue(n);
            first.push(rogue.first((0, 0), &[]));
        }
        for packet in first {
            run.hand(&packet);
        }
        // As old as the one that was forgotten, and younger.
        let mut rogue = run.rogue(9);
        let at = NANOS + MS + SECOND;
        run.hand(&rogue.exactly(at).first((0, 0), &[]));
        run.hand(&rogue.exactly(at + SECOND / 2).first((0, 0), &[]));
    })
}
