//! Key generation on a board that doubles, reorders and withholds posts, with participants that are
//! killed at every step, and cheats that all honest ones name alike.

use crate::forge::{Parts, Secrets};
use crate::groups::Manager;
use crate::run::{plan, rng, who};
use clew_evidence::GroupFile;
use clew_keys::post::{BoardId, Post};
use clew_keys::{AuthorKeyFile, TextFile};
use clew_trustee::dkg::round::{
    POST_CHECKED, POST_COMPLAINT, POST_DEAL, POST_FINISHED, POST_HELLO, Round, Standing, Stop,
};
use clew_trustee::dkg::{Deal, DkgError, Own, Plan, Proposal, Role, Seat, State, Step};
use rand_chacha::rand_core::Rng;
use zeroize::Zeroizing;

const BOARD: BoardId = BoardId([5; 32]);
/// A group file of any other group: until its manager makes the epoch, nobody finds a record.
const GROUP: &[u8] = include_bytes!("../../../clew/tests/cmd/readme.in/fleet.clew");

fn author(index: u8) -> AuthorKeyFile {
    let name = format!("t{index}").parse().unwrap();
    AuthorKeyFile::new(Zeroizing::new([index; 32]), name)
}

fn proposal(plan: Plan) -> Proposal {
    let seat = |index| Seat {
        role: Role::Both {
            trustee: who(index),
            dealer: who(index),
        },
        author: author(index).public(),
    };
    let seats = (1..=plan.quorum.trustees()).rev().map(seat).collect();
    Proposal::new(plan, seats).unwrap()
}

fn signed(proposal: &Proposal, index: u8, kind: u8, body: Vec<u8>) -> Post {
    let key = author(index).signing_key();
    Post::sign(BOARD, proposal.topic(), kind, body, &key).unwrap()
}

/// One participant: what is on its disk.
struct Machine {
    index: u8,
    state: Vec<u8>,
}

impl Machine {
    fn new(proposal: &Proposal, index: u8) -> Self {
        let mut rng = rng(u64::from(index));
        let state = State::begin(proposal.plan(), Some(who(index)), None, &mut rng).unwrap();
        let state = state.payload().to_vec();
        Self { index, state }
    }

    /// One step from the disk, given these posts. The process may be killed before its post leaves.
    fn step(&mut self, proposal: &Proposal, posts: &[Post], seed: u64) -> Option<Post> {
        let group = GroupFile::from_bytes(GROUP).unwrap();
        let own = Own {
            author: author(self.index).public().signs.to_bytes(),
            old: None,
            kept: None,
            group: &group,
        };
        let mut state = State::from_payload(&self.state).unwrap();
        let round = Round::read(proposal, posts);
        let step = state.step(proposal, &round, &own, &mut rng(seed));
        match step.unwrap_or_else(|error| {
            // The group file is of another group; a cheat finds another deal than its own.
            let expected = [DkgError::OtherGroup, DkgError::OwnDeal];
            assert!(expected.contains(&error), "{error}");
            Step::Wait
        }) {
            Step::Say(kind, body) => {
                self.state = state.payload().to_vec();
                Some(signed(proposal, self.index, kind, body))
            }
            _ => None,
        }
    }
}

/// A fault that comes when the key is in force takes nobody's share of it, and the states go at the end.
#[test]
fn a_late_fault_takes_no_share_of_a_key_in_force() {
    let proposal = proposal(plan(2, 3, 1));
    let mut machines: Vec<_> = (1..=3).map(|i| Machine::new(&proposal, i)).collect();
    let mut posts = Vec::new();
    for _ in 0..3 {
        let said: Vec<_> = machines
            .iter_mut()
            .filter_map(|machine| machine.step(&proposal, &posts, 7))
            .collect();
        posts.extend(said);
    }
    let dealing = Round::read(&proposal, &posts).ready().unwrap();
    let before = posts.clone();
    let group = Manager::found(&dealing).group();
    let other = State::begin(proposal.plan(), Some(who(1)), None, &mut rng(99)).unwrap();
    let hello = other.hello().payload().to_vec();
    posts.push(signed(&proposal, 1, POST_HELLO, hello));
    let complaint = [&[2][..], b"dealt-share"].concat();
    posts.push(signed(&proposal, 1, POST_COMPLAINT, complaint));
    assert!(matches!(
        Round::read(&proposal, &posts).standing(),
        Standing::Stopped(_)
    ));
    let step = |index: u8, posts: &[Post], kept, group: &GroupFile| {
        let mut state = State::from_payload(&machines[usize::from(index) - 1].state).unwrap();
        let own = Own {
            author: author(index).public().signs.to_bytes(),
            old: None,
            kept,
            group,
        };
        let round = Round::read(&proposal, posts);
        state.step(&proposal, &round, &own, &mut rng(1)).unwrap()
    };
    let other_group = GroupFile::from_bytes(GROUP).unwrap();
    assert!(matches!(step(3, &posts, None, &other_group), Step::Stopped));
    for index in 1..=3 {
        let Step::Keep(key) = step(index, &posts, None, &group) else {
            unreachable!("trustee {index} has no key")
        };
        let Step::Say(kind, body) = step(index, &posts, Some(key.since), &group) else {
            unreachable!("trustee {index} does not say it")
        };
        assert!(!matches!(step(index, &posts, None, &group), Step::Over));
        posts.push(signed(&proposal, index, kind, body));
    }
    assert!(matches!(step(3, &posts, None, &group), Step::Over));
    // Without a record in the group file, the fault stops the run as ever.
    assert!(Round::read(&proposal, &before).ready().is_some());
}

/// What a reader is shown: all posts, some twice, in any order, some not yet.
fn shown(posts: &[Post], seed: u64) -> Vec<Post> {
    let mut rng = rng(seed);
    let mut shown: Vec<Post> = posts
        .iter()
        .flat_map(|post| vec![post.clone(); (rng.next_u32() % 3) as usize])
        .collect();
    for at in (1..shown.len()).rev() {
        shown.swap(at, rng.next_u32() as usize % (at + 1));
    }
    shown
}

/// Runs until nobody has anything to say, and `twist` may change what is posted.
fn run(proposal: &Proposal, seed: u64, twist: impl Fn(Post) -> Vec<Post>) -> Vec<Post> {
    let n = proposal.plan().quorum.trustees();
    let mut machines: Vec<_> = (1..=n).map(|i| Machine::new(proposal, i)).collect();
    let (mut posts, mut random) = (Vec::<Post>::new(), rng(seed));
    for turn in 0..28 {
        for machine in &mut machines {
            let view = match turn {
                20.. => posts.clone(), // in the end everything arrives
                _ => shown(&posts, random.next_u64()),
            };
            let is_killed = turn < 20 && random.next_u32().is_multiple_of(3);
            let said = { machine.step(proposal, &view, random.next_u64()) }.filter(|_| !is_killed);
            for post in said.into_iter().flat_map(&twist) {
                if !posts.contains(&post) {
                    posts.push(post);
                }
            }
        }
    }
    posts
}

fn stops(proposal: &Proposal, posts: &[Post]) -> Vec<Stop> {
    match Round::read(proposal, posts).standing() {
        Standing::Stopped(stops) => stops,
        other => unreachable!("{other:?}"),
    }
}

#[test]
fn honest_trustees_get_there_however_posts_come() {
    let proposal = proposal(plan(2, 3, 1));
    for seed in 0..4 {
        let posts = run(&proposal, seed, |post| vec![post]);
        let round = Round::read(&proposal, &posts);
        assert!(matches!(round.standing(), Standing::Ready(_)), "{seed}");
        // Killed and begun again, nobody said two things.
        assert_eq!(posts.len(), 9, "{seed}");
        let context = *round.ready().unwrap().context();
        let other = shown(&[posts.clone(), posts].concat(), seed);
        let other = Round::read(&proposal, &other);
        let ready = other.ready();
        assert!(ready.is_none_or(|dealing| *dealing.context() == context));
    }
}

#[test]
fn a_proposal_is_read_as_it_was_written() {
    let proposal = proposal(plan(2, 3, 1));
    let bytes = proposal.encode();
    assert_eq!(Proposal::decode(&bytes).as_ref(), Some(&proposal));
    for length in 0..bytes.len() {
        assert_eq!(Proposal::decode(&bytes[..length]), None);
    }
    let seats = proposal.seats().to_vec();
    let missing = Proposal::new(proposal.plan().clone(), seats[1..].to_vec());
    assert_eq!(missing.unwrap_err().as_str(), "no-hello");
    let mut twice = seats.clone();
    twice[2].author = twice[0].author.clone();
    let twice = Proposal::new(proposal.plan().clone(), twice);
    assert_eq!(twice.unwrap_err().as_str(), "same-key");
}

/// One cheat for each rule: all who see the posts name it, in whatever order they see them.
#[test]
fn cheats_are_named_by_all_alike() {
    let proposal = proposal(plan(2, 3, 1));
    let honest = run(&proposal, 1, |post| vec![post]);
    let of = |index: u8, kind: u8| {
        let key = author(index).public().signs.to_bytes();
        let mut posts = honest.iter();
        let found = posts.find(|post| post.author == key && post.kind == kind);
        found.unwrap().clone()
    };
    let other_hello = {
        let state = State::begin(proposal.plan(), Some(who(2)), None, &mut rng(99)).unwrap();
        signed(&proposal, 2, POST_HELLO, state.hello().payload().to_vec())
    };
    let other_deal = {
        let mut body = of(2, POST_DEAL).body;
        let last = body.len() - 1;
        body[last] ^= 1;
        signed(&proposal, 2, POST_DEAL, body)
    };
    let say = |kind, body: &[u8]| signed(&proposal, 2, kind, body.to_vec());
    let stolen = {
        let hello = of(1, POST_HELLO).body;
        say(POST_HELLO, &hello)
    };
    let cases = [
        ("two-hellos", vec![other_hello]),
        ("deal-signature", vec![other_deal]),
        ("layout", vec![say(POST_HELLO, b"nothing")]),
        ("layout", vec![say(POST_CHECKED, b"short")]),
        ("layout", vec![say(POST_FINISHED, b"short")]),
        ("layout", vec![say(POST_COMPLAINT, b"\x01because")]),
        ("role", vec![stolen]),
    ];
    for (rule, bad) in cases {
        for seed in 0..3 {
            let mut posts = [honest.clone(), bad.clone()].concat();
            let turn = seed as usize % posts.len();
            posts.rotate_left(turn * 3);
            let named = stops(&proposal, &posts);
            let [stop] = &named[..] else {
                unreachable!("{rule}: {named:?}")
            };
            assert_eq!((stop.who, stop.rule), (2, rule));
            assert_eq!(stop.accuser, None);
        }
    }
    // Another context than that of the hellos.
    let mut posts = honest.clone();
    posts.retain(|post| *post != of(2, POST_CHECKED));
    posts.push(say(POST_CHECKED, &[7; 32]));
    let stop = stops(&proposal, &posts).remove(0);
    assert_eq!((stop.who, stop.rule), (2, "context"));
}

/// A share that does not decrypt: its trustee says so, and all name both. A broadcast that is not one:
/// all see it.
#[test]
fn a_dishonest_deal_is_named() {
    let proposal = proposal(plan(2, 3, 1));
    for (rule, accuser) in [
        ("sealed-share", Some("t1 (trustee 1)")),
        ("possession", None),
    ] {
        let posts = run(&proposal, 3, |post| {
            if post.kind != POST_DEAL || post.author != author(2).public().signs.to_bytes() {
                return vec![post];
            }
            let state = State::begin(proposal.plan(), Some(who(2)), None, &mut rng(2)).unwrap();
            let mut parts = Parts::of(&Deal::from_payload(&post.body).unwrap());
            match accuser {
                Some(_) => parts.sealed[40] ^= 1,
                None => *parts.broadcast.last_mut().unwrap() ^= 1,
            }
            let deal =
                { Secrets::of(&state) }.deal(&parts.participants, &parts.broadcast, &parts.sealed);
            vec![signed(&proposal, 2, POST_DEAL, deal.payload().to_vec())]
        });
        let named = stops(&proposal, &posts);
        assert_eq!(named.len(), 1, "{named:?}");
        assert_eq!((named[0].who, named[0].rule), (2, rule));
        assert_eq!(named[0].accuser.as_deref(), accuser);
    }
}

/// Who stays away is named by all, and nothing goes on without it.
#[test]
fn silence_is_named() {
    let proposal = proposal(plan(2, 3, 1));
    let silent = author(3).public().signs.to_bytes();
    for (kind, expected) in [
        (POST_HELLO, "Hellos"),
        (POST_DEAL, "Deals"),
        (POST_CHECKED, "Checks"),
    ] {
        let posts = run(&proposal, 4, |post| {
            let is_kept = post.author == silent && post.kind >= kind;
            if is_kept { vec![] } else { vec![post] }
        });
        let standing = Round::read(&proposal, &posts).standing();
        let told = format!("{standing:?}");
        assert_eq!(told, format!("{expected}([\"t3 (trustee 3)\"])"));
    }
}
