//! Rekeys and replays.

use clew_tunnel::keys::{self, Nonce};
use clew_tunnel::puzzle::Solution;
use clew_tunnel::wire::packet::Tid;
use clew_tunnel::x25519::Public;

use super::rogue::{Rogue, create, say};
use super::tunnel::NANOS;
use super::tunnel_node::config;
use super::tunnel_run::{MS, Run, SECOND};
use crate::case::Case;

pub fn all() -> Vec<Case> {
    vec![
        twice(),
        again(),
        elsewhere(),
        draining(),
        dormant(),
        used_tid(),
        fast(),
        refused(),
        changed("rekey-changed"),
        changed("replay-changed"),
        copied(),
        after_close(),
        of_rekey(),
        late(),
        at_once(),
        floor(),
    ]
}

fn twice() -> Case {
    let mut run = Run::new("rekey-twice");
    let (tunnel, connection) = run.open();
    run.wait(SECOND);
    run.rekey(tunnel);
    run.say(connection, b"with the first rekey");
    run.wait(SECOND);
    run.rekey(tunnel);
    run.wait(SECOND);
    run.say(connection, b"under the third key");
    run.wait(4 * SECOND);
    run.case("Two rekeys in a row: each has a C' that nobody has the secret of.")
}

fn again() -> Case {
    let mut run = Run::new("rekey-again");
    let (tunnel, connection) = run.open();
    run.wait(SECOND);
    run.rekey(tunnel);
    run.lose = 1;
    run.wait(500 * MS);
    run.say(connection, b"under a key that the server has not");
    run.wait(3 * SECOND);
    run.case("The packet of a rekey is lost and sent again; what follows it has no tunnel before.")
}

/// A tunnel of a rogue with a connection, at an address that it has shown by an ack.
fn opened(run: &mut Run, n: u8) -> Rogue {
    run.echoes = false;
    let mut rogue = run.rogue(n);
    let first = rogue.first((256, 0), &create(1));
    let said = run.hand(&first);
    let ack = rogue.open(&said[0]).unwrap().seq;
    let packet = rogue.packet((0, ack), &[]);
    let _ = run.hand(&packet);
    rogue
}

fn elsewhere() -> Case {
    let mut run = Run::new("rekey-elsewhere");
    let mut rogue = opened(&mut run, 3);
    run.wait(SECOND);
    let mut old = run.rekeyed(&mut rogue);
    let first = rogue.first((257, 0), &say(1, b"here"));
    let _ = run.hand_from("198.51.100.77:7000".parse().unwrap(), &first);
    // From where it was: the old key moves nothing.
    let packet = old.packet((0, 0), &[]);
    let _ = run.hand(&packet);
    run.case("A rekey from another address; a packet under the key before does not bring it back.")
}

fn draining() -> Case {
    let mut run = Run::new("rekey-draining");
    let mut rogue = opened(&mut run, 3);
    let mut old = run.rekeyed(&mut rogue);
    let first = rogue.first((0, 0), &[]);
    let _ = run.hand(&first);
    run.wait(2_900 * MS);
    let packet = old.packet((257, 0), &say(1, b"on its way"));
    let _ = run.hand(&packet);
    old.at(NANOS + run.now).client = Public([9; 32]);
    let _ = run.hand(&old.first((0, 0), &[]));
    run.wait(200 * MS);
    let packet = old.packet((258, 0), &say(1, b"too late"));
    let _ = run.hand(&packet);
    run.case("What comes under the key before: within DRAIN, with a key flag, and too late.")
}

fn dormant() -> Case {
    let mut run = Run::new("rekey-dormant");
    let mut rogue = opened(&mut run, 3);
    run.wait(601 * SECOND);
    run.wait(32 * SECOND);
    let packet = rogue.packet((257, 0), &say(1, b"too late"));
    let _ = run.hand(&packet);
    let _ = run.rekeyed(&mut rogue);
    let first = rogue.first((257, 0), &say(1, b"back"));
    let _ = run.hand(&first);
    run.case("rekeyNow is not followed: the old key is erased, and the announced TID brings the tunnel back.")
}

fn used_tid() -> Case {
    let mut run = Run::new("rekey-tid");
    let mut rogue = opened(&mut run, 3);
    let other = opened(&mut run, 5);
    let _ = run.rekeyed(&mut rogue);
    let own = rogue.announced;
    for tid in [other.tid, other.announced, rogue.tid, own] {
        rogue.announced = tid;
        let first = rogue.first((0, 0), &[]);
        let _ = run.hand(&first);
    }
    let mut new = run.rogue(7);
    let own = new.announced;
    for tid in [other.announced, new.tid, Tid::from_random([0; 8]), own] {
        new.announced = tid;
        let first = new.first((0, 0), &[]);
        let _ = run.hand(&first);
    }
    run.case("An announced TID that is in use, by a rekey and by a new tunnel.")
}

fn fast() -> Case {
    let mut run = Run::new("rekey-fast");
    let mut rogue = opened(&mut run, 3);
    for _ in 0..5 {
        let _ = run.rekeyed(&mut rogue);
        let first = rogue.first((0, 0), &[]);
        let _ = run.hand(&first);
    }
    run.wait(1_100 * MS);
    let first = rogue.first((0, 0), &[]);
    let _ = run.hand(&first);
    run.case("The fifth rekey at once; a second later it is taken.")
}

/// What step 8 finds in a rekey and in a new tunnel, before anything is changed.
fn refused() -> Case {
    let mut run = Run::new("rekey-refused");
    let mut rogue = opened(&mut run, 3);
    let _ = run.rekeyed(&mut rogue);
    let nothing = Vec::new;
    for (numbers, rpcs) in [((0, 0x7fff_ffff), nothing()), ((0, 0), say(1, b"without a place")), ((257, 0), nothing())]
    {
        let first = rogue.first(numbers, &rpcs);
        let _ = run.hand(&first);
    }
    let first = rogue.first((257, 0), &say(1, b"as it should be"));
    let _ = run.hand(&first);
    let mut new = run.rogue(5);
    for (numbers, rpcs) in [((256, 1), create(1)), ((257, 0), create(1)), ((0, 0), create(1)), ((256, 0), nothing())] {
        let first = new.first(numbers, &rpcs);
        let _ = run.hand(&first);
    }
    run.case("Acks of what was never sent, RPCs without a place and places without RPCs, in a rekey and in a new tunnel: the tunnel goes on.")
}

/// An initiation packet whose header somebody changed, before and after it is taken.
fn changed(name: &str) -> Case {
    let mut run = Run::new(name);
    let is_rekey = name.starts_with("rekey");
    let mut rogue = if is_rekey {
        let mut rogue = opened(&mut run, 3);
        let _ = run.rekeyed(&mut rogue);
        rogue
    } else {
        run.rogue(3)
    };
    let twin = {
        let mut twin = rogue.clone();
        // C' in the box is not that of the header.
        let own = twin.next_tid();
        twin.client = super::tunnel::public("other");
        if !is_rekey {
            twin.client = self::twin(&rogue.client);
        }
        twin.initiation((0, 0), &own)
    };
    let first = rogue.first((0, 0), &[]);
    let mut all = vec![twin];
    // Flags taken off; a puzzle put on; C' of another length of the numbers.
    all.push([&[first[0] & 0x3f][..], &first[1..]].concat());
    let r = Solution { r: [1; 80], nonce: Nonce::from_bytes([0, 0, 0, 0, 0, 0, 0, 2]) };
    let with = [&[first[0] | 0xc0][..], &first[1..48], &r.to_bytes(), &first[48..]];
    all.push(with.concat());
    all.push([&first[..16], &[0xff; 32], &first[48..]].concat());
    all.push([&first[..16], &[0; 32], &first[48..]].concat());
    all.push([&first[..100], &[first[100] ^ 1], &first[101..]].concat());
    for packet in all.iter().chain([&first]).chain(&all) {
        let _ = run.hand(packet);
    }
    let what = if is_rekey { "a rekey" } else { "a new tunnel" };
    run.case(&format!(
        "The packet of {what} with another C', without key, with a puzzle, with a C' that is none, one of small order, with \
         another box; the same after it was taken."
    ))
}

/// 1/C' modulo 2^255 - 19 of the rogue's C': a plain X25519 shares the same secret with it.
fn twin(public: &Public) -> Public {
    const TWIN: &str = "3becf47ffed92a05a5664864531296fa9b2a432f0699e90ddf220eb1d79dd65f";
    let twin = Public(hex::decode(TWIN).unwrap().try_into().unwrap());
    let anybody = super::tunnel::secret("anybody");
    let shared = [public, &twin].map(|key| keys::shared(&anybody, key).unwrap().to_bytes());
    assert_eq!(shared[0], shared[1]);
    twin
}

fn copied() -> Case {
    let mut run = Run::new("replay-copied");
    let mut rogue = run.rogue(3);
    let first = rogue.first((256, 0), &create(1));
    for _ in 0..2 {
        let _ = run.hand(&first);
    }
    let newer = rogue.first((256, 0), &create(1));
    for packet in [&newer, &newer] {
        let _ = run.hand(packet);
    }
    run.case("A first packet twice; sent again with a newer nonce, and that twice.")
}

fn after_close() -> Case {
    let mut run = Run::new("replay-closed");
    let mut rogue = run.rogue(3);
    let first = rogue.first((256, 0), &create(1));
    let _ = run.hand(&first);
    run.server_closes();
    let _ = run.hand(&first);
    let newer = rogue.first((256, 0), &create(1));
    let _ = run.hand(&newer);
    let mut other = rogue.clone();
    other.tid = Tid::from_random([0x11; 8]);
    let _ = run.hand(&other.first((256, 0), &create(1)));
    run.case("The tunnel is closed, and its first packet comes again, with its C' under another TID too.")
}

fn of_rekey() -> Case {
    let mut run = Run::new("replay-rekey");
    let mut rogue = opened(&mut run, 3);
    let _ = run.rekeyed(&mut rogue);
    let first = rogue.first((257, 0), &say(1, b"once"));
    let _ = run.hand(&first);
    let _ = run.hand(&first);
    let _ = run.rekeyed(&mut rogue);
    let second = rogue.first((0, 0), &[]);
    let _ = run.hand(&second);
    let _ = run.hand(&first);
    run.wait(4 * SECOND);
    let _ = run.hand(&first);
    run.case("The packet of a rekey again: under the current key, while it drains, and after that.")
}

fn late() -> Case {
    let mut run = Run::new("replay-late");
    let mut rogue = run.rogue(3);
    let first = rogue.first((256, 0), &create(1));
    let _ = run.hand(&first);
    run.server_closes();
    run.wait(29 * SECOND);
    let _ = run.hand(&first);
    run.wait(2 * SECOND);
    let _ = run.hand(&first);
    run.case("A first packet within the acceptance window and beyond it.")
}

fn at_once() -> Case {
    let mut run = Run::new("replay-at-once");
    let mut rogue = run.rogue(3);
    let first = rogue.first((256, 0), &create(1));
    let _ = run.hand_all(super::tunnel_run::rogue_address(), &[&first, &first]);
    run.case("Two copies of a first packet whose keys are computed at once.")
}

fn floor() -> Case {
    let mut config = config();
    config.limits.replay = 2;
    let mut run = Run::with("replay-floor", config);
    let mut first = Vec::new();
    for n in [3, 5, 7] {
        run.wait(SECOND);
        let mut rogue = run.rogue(n);
        first.push(rogue.first((0, 0), &[]));
    }
    for packet in first {
        let _ = run.hand(&packet);
    }
    // As old as the one that was forgotten, and younger.
    let mut rogue = run.rogue(9);
    let at = NANOS + MS + SECOND;
    let old = rogue.exactly(at).first((0, 0), &[]);
    let _ = run.hand(&old);
    let young = rogue.exactly(at + SECOND / 2).first((0, 0), &[]);
    let _ = run.hand(&young);
    run.case("A replay set of two is full: at or below the nonce that it forgot nothing is taken.")
}
