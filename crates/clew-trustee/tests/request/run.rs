//! Three trustees, two of which are needed, answer one request.

use super::log::{GROUP, Log, policy, secret};
use clew_evidence::{GroupId, Question, Request, Share, Step, WallTime};
use clew_group::curve::G1;
use clew_group::quorum::{Blind, BlindCommitment, Set, Trustee};
use clew_group::{EpochId, Scheme};
use clew_log::entry::{Answer, Asks, Body, Filed, Seal, Trusteeship};
use clew_trustee::request::{
    Done, Filing, Message, Posted, Progress, RequestState, RequestView, Todo, decided,
};
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use std::num::NonZeroU64;

pub const REQUESTER: u8 = 50;
const EXPIRES: u64 = 1_000_000;

pub fn trustee(index: u8) -> Trustee {
    Trustee::new(index).unwrap()
}

/// As trustee of the group's first opening key.
pub fn held(index: u8) -> Trusteeship {
    Trusteeship { since: 0, index }
}

pub fn at(second: u64) -> WallTime {
    WallTime::from_nanos(second * 1_000_000_000)
}

/// A request, its log and its board.
pub struct World {
    pub log: Log,
    pub posts: Vec<Posted>,
    pub filing: Filing,
    request: Request,
    clock: u64,
}

impl World {
    pub fn new(is_match: bool) -> Self {
        let (question, asks) = match is_match {
            true => (Question::Match { machine: [1; 32] }, Asks::Match),
            false => (Question::Opening, Asks::Opening),
        };
        let request = Request {
            question,
            scheme: Scheme::Xr,
            group: GroupId(GROUP),
            epoch: 1,
            epoch_id: EpochId([2; 32]),
            signature_digest: [3; 32],
            asked_packet: [4; 32],
            warrant: Some([5; 32]),
            log: None,
        };
        let mut log = Log::default();
        log.add(Body::Group { record: [0; 32] }, &secret(100), 1);
        let filed = Filed {
            asks,
            request: request.logged_id(),
            signatures: 1,
            warrant: [6; 32],
            seal: Seal::Until(at(99)),
        };
        let place = log.add(Body::Request(filed), &secret(REQUESTER), 2);
        Self {
            log,
            posts: Vec::new(),
            filing: Filing {
                group: GROUP,
                place,
                logged: at(2),
                requester: author(REQUESTER),
                is_match,
                expires: at(EXPIRES),
                since: 0,
                threshold: 2,
                trustees: 3,
            },
            request: request.at_place(NonZeroU64::new(place).unwrap()),
            clock: 10,
        }
    }

    pub fn say(&mut self, by: u8, message: Message) {
        let author = author(by);
        self.posts.push(Posted { author, message });
    }

    pub fn decide(&mut self, by: u8, as_trustee: u8, answer: Answer) {
        self.decide_as(by, held(as_trustee), answer);
    }

    pub fn decide_as(&mut self, key: u8, by: Trusteeship, answer: Answer) {
        self.clock += 1;
        let body = Body::Decision {
            place: self.filing.place,
            by,
            answer,
        };
        let place = self.log.add(body, &secret(key), self.clock);
        let proof = self.log.proof(place);
        self.say(key, Message::Decision(proof));
    }

    pub fn share(&mut self, by: u8, as_trustee: u8, attempt: u8) {
        let message = Message::Share {
            time: at(self.clock),
            trustee: trustee(as_trustee),
            attempt,
            sealed: vec![by; 100],
        };
        self.say(by, message);
    }

    pub fn state(&self) -> RequestState {
        self.progress(100).state
    }

    pub fn progress(&self, now: u64) -> Progress {
        Progress::of(&self.filing, &self.posts, &policy(), now)
    }

    pub fn step(&self, by: u8, step: Step) -> Box<Share> {
        Box::new(Share {
            request: self.request.clone(),
            trustee: trustee(by),
            step,
        })
    }

    /// What a trustee sees now: some of the posts, in some order, some of them twice.
    fn seen(&self, rng: &mut ChaCha20Rng) -> Vec<Posted> {
        let mut seen: Vec<Posted> = Vec::new();
        for post in &self.posts {
            for _ in 0..rng.next_u32() % 3 {
                let place = rng.next_u32() as usize % (seen.len() + 1);
                seen.insert(place, post.clone());
            }
        }
        seen
    }

    /// What the trustee does next, as it sees the board.
    pub fn todo(&self, own: u8, done: &Done, posts: &[Posted]) -> Todo {
        let decided = decided(posts, &policy(), &GROUP, (self.filing.place, 0), 100);
        let view = RequestView {
            own: trustee(own),
            requester: self.filing.requester,
            is_match: self.filing.is_match,
            threshold: self.filing.threshold,
            posts,
            decided: &decided,
        };
        view.next(done)
    }

    /// One turn of a trustee. If it is killed it forgets what it did last.
    fn turn(&mut self, own: u8, done: &mut Done, is_killed: bool, seen: &[Posted]) {
        let mut after = *done;
        match self.todo(own, done, seen) {
            Todo::Review => {
                after.is_reviewed = true;
                let message = Message::Reviewed {
                    time: at(self.clock),
                    trustee: trustee(own),
                    answer: Answer::Yes,
                };
                self.say(own, message);
            }
            Todo::Operator => after.order = Some(Answer::Yes),
            Todo::Decide(answer) => {
                after.decision = Some(answer);
                self.decide(own, own, answer);
            }
            Todo::Give => {
                assert_eq!(done.decision, Some(Answer::Yes));
                after.gave = true;
                self.share(own, own, 0);
            }
            Todo::Commit { attempt, set } => {
                assert_eq!(done.decision, Some(Answer::Yes));
                after.committed = attempt;
                let commitment = BlindCommitment([own; 32]);
                let share = self.step(own, Step::Commitment { set, commitment });
                self.say(own, Message::Step { attempt, share });
            }
            Todo::Reveal {
                attempt,
                commitments,
            } => {
                assert_eq!(commitments.len(), 2);
                let set = commitments[0].set().unwrap();
                after.revealed = attempt;
                let blind = blind();
                let share = self.step(own, Step::Blind { set, blind });
                self.say(own, Message::Step { attempt, share });
            }
            Todo::Compare { attempt, blinds } => {
                assert_eq!(blinds.len(), 2);
                after.compared = attempt;
                self.share(own, own, attempt);
            }
            Todo::Wait => {}
        }
        if !is_killed {
            *done = after;
        }
    }
}

pub fn author(number: u8) -> [u8; 32] {
    secret(number).verifying_key().to_bytes()
}

fn blind() -> Blind {
    let point = G1::hash(b"test", b"point").to_bytes();
    Blind::from_bytes(&[&point[..], &point, &[0; 64]].concat()).unwrap()
}

/// Runs three trustees until nobody does anything any more.
fn run(is_match: bool, seed: u64) -> World {
    let mut rng = ChaCha20Rng::seed_from_u64(seed);
    let (mut world, mut done) = (World::new(is_match), [Done::default(); 3]);
    for turn in 0..400 {
        let own = rng.next_u32() % 3;
        let is_killed = rng.next_u32().is_multiple_of(4) && turn < 300;
        let seen = match turn < 300 {
            true => world.seen(&mut rng),
            false => world.posts.clone(),
        };
        let index = own as u8 + 1;
        world.turn(index, &mut done[own as usize], is_killed, &seen);
        let is_unset = !world.posts.iter().any(|post| post.message.kind() == 37);
        let yes = decided(
            &world.posts,
            &policy(),
            &GROUP,
            (world.filing.place, 0),
            100,
        );
        if is_match && is_unset && yes.len() >= 2 {
            let two = yes[..2].iter().map(|one| trustee(one.trustee));
            let set = Set::of(two).unwrap();
            world.say(REQUESTER, Message::Set { attempt: 1, set });
        }
    }
    world
}

#[test]
fn openings_end_however_the_board_behaves() {
    for seed in 0..20 {
        assert_eq!(run(false, seed).state(), RequestState::Computed, "{seed}");
    }
}

#[test]
fn matches_end_however_the_board_behaves() {
    for seed in 0..20 {
        assert_eq!(run(true, seed).state(), RequestState::Computed, "{seed}");
    }
}
