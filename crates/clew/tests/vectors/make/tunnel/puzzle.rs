//! Puzzles and stale-key answers.

use clew_tunnel::engine::WallTime;
use clew_tunnel::engine::rate::Rate;
use clew_tunnel::keys::Nonce;
use clew_tunnel::puzzle::{Interrogation, Progress, PuzzleSecret, Search, Solution};
use clew_tunnel::record::{Ecert, EcertBody, SigningSecret};
use clew_tunnel::wire::packet::{Packet, Side, StaleKey, Tid};
use clew_tunnel::wire::rpc::Rpc;

use crate::case::Case;
use crate::make::damage::Damage;
use crate::make::tunnel::bytes::{NANOS, public, secret};
use crate::make::tunnel::node::{config, server_secret};
use crate::make::tunnel::rogue::{Rogue, create, rpcs, say};
use crate::make::tunnel::run::{MS, Run, SECOND};
use crate::make::tunnel::script::{script, script_of};
use crate::make::{flat, hash};

pub fn all() -> Vec<Case> {
    flat([solutions(), puzzles(), stale_keys()])
}

/// Solutions that clients send.
fn solutions() -> Vec<Case> {
    let asked = |w: u8| {
        let comment = format!("A server under load asks for {w} bits, and the client's solution opens the tunnel.");
        loaded(&format!("puzzle-asked-{w}"), &comment, w, |run| {
            run.open();
            run.wait(SECOND);
        })
    };
    vec![
        asked(0),
        asked(8),
        solved(
            "puzzle-elsewhere",
            "A solution from another port and address, with another TID and C', without its zeros, and as it is.",
            |run, rogue| {
                let first = rogue.first((0, 0), &[]);
                for address in ["198.51.100.9:7001", "198.51.100.8:7000"] {
                    run.hand_from(address.parse().unwrap(), &first);
                }
                let mut other = rogue.clone();
                other.tid = Tid::from_random([9; 8]);
                run.hand(&other.first((0, 0), &[]));
                other = rogue.clone();
                other.client = public("other");
                run.hand(&other.first((0, 0), &[]));
                // The zeros behind it.
                run.hand(&first.set(48 + 147, [1]));
                run.hand(&first);
            },
        ),
        solved("puzzle-spent", "A solution counts once, even if the box does not open.", |run, rogue| {
            let first = rogue.first((0, 0), &[]);
            run.hand(&first.flip(1_000));
            run.hand(&first);
        }),
        solved("puzzle-expired", "A solution within PUZZLE_LIFE and beyond it.", |run, rogue| {
            run.wait(59 * SECOND);
            try_now(run, rogue);
            run.wait(2 * SECOND);
            try_now(run, rogue);
        }),
        loaded("puzzle-secrets", "Under the k before the newest a solution counts, under an older one not.", 4, |run| {
            run.wait(149 * SECOND);
            let mut rogue = asked_rogue(run);
            run.wait(2 * SECOND);
            try_now(run, &mut rogue);
            run.wait(150 * SECOND);
            try_now(run, &mut rogue);
        }),
    ]
}

/// Puzzles that clients get.
fn puzzles() -> Vec<Case> {
    vec![
        script("puzzle-many", "Three puzzles in one attempt, and a fourth.", |run| {
            run.open();
            run.lose = 9;
            run.settle();
            for n in 0..4 {
                // The fourth would be too hard besides.
                let asked = interrogation(run, n, if n < 3 { 1 } else { 17 });
                run.hand_client(&asked.to_bytes());
            }
        }),
        script("puzzle-odd", "For another TID, too hard for the record, without a solution, and one in an open tunnel.", |run| {
            run.open();
            run.lose = 1;
            run.settle();
            let good = interrogation(run, 1, 4);
            let mut all = [good; 3];
            all[0].tid = Tid::from_random([9; 8]);
            all[1].w = 17;
            all[2].hash[0] ^= 1;
            for asked in &all {
                run.hand_client(&asked.to_bytes());
            }
            run.wait(2 * SECOND);
            run.hand_client(&good.to_bytes());
        }),
        script("puzzle-tunnel", "puzz to a new address: a wrong answer, the right one, and one to no puzzle.", |run| {
            let mut rogue = run.rogue(3);
            run.hand(&rogue.first((256, 0), &create(1)));
            let other = "198.51.100.77:7000".parse().unwrap();
            let packet = rogue.packet((0, 0), &[]);
            run.hand_from(other, &packet);
            // As much as one unproven address may get needs more than one packet from there.
            let packet = rogue.packet((257, 0), &say(1, &[7; 900]));
            let said = run.hand_from(other, &packet);
            let heard = said.iter().filter_map(|packet| rogue.open(packet));
            let posed = heard.filter_map(|heard| posed(&heard.text)).next_back().unwrap();
            let answer = |r: &[u8; 80]| rpcs(&[Rpc::PuzzSoln { r, nonce: posed.1 }]);
            let wrong = answer(&[1; 80]);
            let right = answer(&posed.0);
            for rpcs in [&wrong, &right, &right] {
                run.hand_from(other, &rogue.packet((0, 0), rpcs));
            }
        }),
    ]
}

/// Answers with a newer ecert.
fn stale_keys() -> Vec<Case> {
    vec![
        script(
            "stale-followed",
            "A client with an ecert whose S' is erased: the same TID and C' under the newest, another authenticator.",
            |run| {
                let old = run.record();
                run.wait(301 * SECOND);
                let user = secret("run user");
                let user = run.client.add_user(clew_tunnel::record::UserSecret(user));
                let tunnel = run.open_to(old);
                let connection = run.connect(tunnel, Some(user));
                run.say(connection, b"first");
                run.wait(SECOND);
            },
        ),
        script(
            "stale-refused",
            "Answers of another TID, another nonce, cut, with another signature, not newer, of another S, too \
             early, too late; and one to who is open.",
            |run| {
                run.open();
                run.settle();
                let good = ecert(1_000, |_| {});
                let other = SigningSecret::from_seed(&[7; 32]);
                let signed = |signing: [u8; 32]| {
                    let parsed = Ecert::parse(&ecert(1_000, |_| {})).unwrap().body;
                    Ecert::sign(EcertBody { signing, ..parsed }, &other).unwrap().to_bytes()
                };
                let own = run.server.record().cert.body.signing;
                let answer = stale(run, &good);
                let flip = |at: usize| [&answer[..at], &[answer[at] ^ 2], &answer[at + 1..]].concat();
                let mut all = vec![
                    flip(7),
                    flip(15),
                    answer[..205].to_vec(),
                    stale(run, &signed(own)),
                    stale(run, &ecert(0, |_| {})),
                    stale(run, &ecert(1_000, |body| body.boxing = public("other"))),
                    stale(run, &ecert(60_000, |_| {})),
                    stale(
                        run,
                        &ecert(1_000, |body| {
                            (body.start, body.end) = (body.start - 2_000, body.start - 1_000);
                        }),
                    ),
                ];
                for packet in &all {
                    run.hand_client(packet);
                }
                run.wait(SECOND);
                all.truncate(0);
                run.hand_client(&answer);
            },
        ),
        script("stale-many", "Two newer ecerts are followed, a third is not.", |run| {
            run.open();
            run.lose = 9;
            run.settle();
            for later in 1..=3 {
                let mut answer = stale(run, &ecert(later * 1_000, |_| {}));
                if later == 3 {
                    // Its signature is not looked at.
                    answer[20] ^= 1;
                }
                run.hand_client(&answer);
            }
        }),
        script("stale-rekey", "A client that rekeys keeps a newer ecert, and goes on as it did.", |run| {
            let (tunnel, _) = run.open();
            run.wait(SECOND);
            run.rekey(tunnel);
            run.lose = 1;
            run.settle();
            let answer = stale(run, &ecert(1_000, |_| {}));
            run.hand_client(&answer);
            run.hand_client(&answer);
            run.wait(2 * SECOND);
        }),
    ]
}

/// A server that asks for w bits beyond one first packet a second, and has taken that one.
fn loaded(name: &str, comment: &str, w: u8, act: impl FnOnce(&mut Run)) -> Case {
    let mut config = config();
    config.w = w;
    config.limits.first = Rate::per_second(1);
    script_of(config, name, comment, |run| {
        let mut first = run.rogue(0x31);
        run.hand_from("10.0.0.9:9".parse().unwrap(), &first.first((0, 0), &[]));
        act(run);
    })
}

/// A rogue that was asked, with the solution.
fn solved(name: &str, comment: &str, act: impl FnOnce(&mut Run, &mut Rogue)) -> Case {
    loaded(name, comment, 4, |run| {
        let mut rogue = asked_rogue(run);
        act(run, &mut rogue);
    })
}

/// Another rogue uses up the rate of the prefix; this one is asked, and has the solution.
fn asked_rogue(run: &mut Run) -> Rogue {
    let mut other = run.rogue(0x33);
    run.hand(&other.first((0, 0), &[]));
    let mut rogue = run.rogue(3);
    let said = run.hand(&rogue.first((0, 0), &[]));
    rogue.solution = Some(solution(&said));
    rogue
}

fn solution(said: &[Vec<u8>]) -> Solution {
    let mut bytes = said[0].clone();
    let Ok(Packet::Interrogation(asked)) = Packet::parse(&mut bytes, 0) else {
        unreachable!("no interrogation");
    };
    let mut search = Search::new(&asked.q, &asked.hash, asked.w, 22).unwrap();
    let Ok(Progress::Found(r)) = search.step(1 << 22) else {
        unreachable!("a puzzle has a solution");
    };
    Solution { r, nonce: asked.nonce }
}

/// The rogue's first packet with a nonce of this time.
fn try_now(run: &mut Run, rogue: &mut Rogue) {
    run.hand(&rogue.at(NANOS + run.now).first((0, 0), &[]));
}

/// What a server would ask of the client's first packet.
fn interrogation(run: &Run, n: u64, w: u8) -> Interrogation {
    let mut bytes = run.last_sent();
    let Ok(Packet::Initiation(first)) = Packet::parse(&mut bytes, 0) else {
        unreachable!("the client's first packet");
    };
    let whom = (first.boxed.tid, &first.key, run.client_at);
    let k = PuzzleSecret::from_bytes(hash(b"tunnel run k"));
    k.interrogation(whom, &run.ephemeral(), WallTime::from_nanos(NANOS + n), w)
}

/// q and n' of a puzz of w = 0, whose q is r.
fn posed(text: &[u8]) -> Option<([u8; 80], [u8; 8])> {
    let plaintext = clew_tunnel::wire::plaintext::Plaintext::parse(text).ok()?;
    let call = plaintext.calls.into_iter().find(|call| call.name == "puzz")?;
    match Rpc::of(&call, Side::Server).ok()? {
        Rpc::Puzz { q, nonce, .. } => Some((*q, nonce)),
        _ => None,
    }
}

/// An ecert of S, a millisecond or more later than the server's first.
fn ecert(later: u64, change: impl Fn(&mut EcertBody)) -> Vec<u8> {
    let own = server_secret();
    let start = NANOS / MS + later;
    let mut body = EcertBody {
        authenticators: config().authenticators,
        w: 16,
        m: 1_024,
        signing: own.signing.public(),
        boxing: own.cert.body.boxing,
        ephemeral: public(&format!("run ephemeral {later}")),
        start,
        end: start + 270_000,
        addresses: config().addresses,
    };
    change(&mut body);
    Ecert::sign(body, &own.signing).unwrap().to_bytes()
}

/// A stale-key answer to the last packet that was sent.
fn stale(run: &Run, ecert: &[u8]) -> Vec<u8> {
    let packet = run.last_sent();
    let (tid, nonce) = (packet[..8].try_into().unwrap(), packet[8..16].try_into().unwrap());
    let mut out = Vec::new();
    StaleKey { tid: Tid::from_random(tid), nonce: Nonce::from_bytes(nonce).stale(), ecert }.write(&mut out);
    out
}
