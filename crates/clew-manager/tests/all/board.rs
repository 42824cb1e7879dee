//! Authors and the board: who may post what, and that nothing is lost or doubled.

use crate::common::*;
use clew_group::Scheme;
use clew_keys::post::{BoardId, POST_BODY_MAX, Post};
use clew_keys::{Author, AuthorKeyFile};
use clew_log::entry::{Role, Trusteeship};
use clew_manager::{Board, BoardError, POST_PLAN, Store, StoreError};
use clew_trustee::dkg::{self, Plan, Proposal, Seat};
use ed25519_dalek::SigningKey;
use std::path::{Path, PathBuf};
use tempfile::TempDir;
use zeroize::Zeroizing;

const DAY: u64 = 86_400_000_000_000;

fn key(seed: u8, name: &str) -> AuthorKeyFile {
    AuthorKeyFile::new(Zeroizing::new([seed; 32]), name.parse().unwrap())
}

fn holding(since: u32, index: u8) -> Role {
    Role::Trustee(Trusteeship { since, index })
}

fn group() -> (TempDir, PathBuf, Store) {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().join("acme");
    let store = create(&dir, Scheme::Xr, quorum(2, 3), 1).unwrap();
    (folder, dir, store)
}

fn post(store: &Store, key: &AuthorKeyFile, topic: u8, kind: u8, body: Vec<u8>) -> Post {
    let board = BoardId::of_group(store.group().id());
    Post::sign(board, [topic; 32], kind, body, &key.signing_key()).unwrap()
}

fn rule<T: std::fmt::Debug>(result: Result<T, BoardError>) -> &'static str {
    result.unwrap_err().as_str()
}

fn board(dir: &Path) -> Board {
    Board::open(dir).unwrap()
}

#[test]
fn authors_are_admitted_once_and_the_outbox_tells_it() {
    let (_folder, _dir, mut store) = group();
    let before = store.outbox(100).unwrap().len();
    let [alice, bob, eve] =
        [(1, "alice"), (2, "bob"), (3, "alice")].map(|(s, n)| key(s, n).public());
    assert!(store.admit_author(&alice, holding(0, 1), 5).unwrap());
    assert!(!store.admit_author(&alice, holding(0, 1), 6).unwrap());
    let other = store.admit_author(&alice, Role::Requester, 6);
    assert!(matches!(other, Err(StoreError::AuthorAdmitted(_))));
    let taken = store.admit_author(&eve, Role::Requester, 6);
    assert!(matches!(taken, Err(StoreError::AuthorNameTaken(_))));
    // Another key takes the index, and with it the role.
    assert!(store.admit_author(&bob, holding(0, 1), 7).unwrap());
    store.dismiss_author(&bob.name).unwrap();
    let none = store.dismiss_author(&bob.name);
    assert!(matches!(none, Err(StoreError::NoAuthor(_))));
    let roles: Vec<_> = store.authors().unwrap().iter().map(|a| a.role).collect();
    assert_eq!(roles, [Role::None, Role::None]);
    let manager = Author {
        signs: issuer(&_dir).manager.verifying_key(),
        ..eve
    };
    let manager = store.admit_author(&manager, Role::Requester, 9);
    assert!(matches!(manager, Err(StoreError::AuthorIsManager)));

    let sent = store.outbox(100).unwrap().split_off(before);
    let heads: Vec<_> = sent
        .iter()
        .map(|e| (e.kind, e.body[0], e.body[5]))
        .collect();
    assert_eq!(heads, [(2, 1, 1), (2, 1, 1), (2, 0, 0)]);
    assert_eq!(sent[0].body[6..38], *alice.signs.as_bytes());
    // Alice comes back, and each entry about her is another statement.
    assert!(store.admit_author(&alice, holding(0, 1), 10).unwrap());
    store.dismiss_author(&alice.name).unwrap();
    assert!(store.admit_author(&alice, holding(0, 1), 11).unwrap());
    let sent = store.outbox(100).unwrap().split_off(before);
    let of_alice = sent
        .iter()
        .filter(|e| e.body[6..38] == *alice.signs.as_bytes());
    let changes: Vec<_> = of_alice.map(|e| e.body[41]).collect();
    assert_eq!(changes, [0, 1, 2, 3]);
    assert_eq!(store.authors().unwrap()[0].role, holding(0, 1));
    assert!(sent[0].body.ends_with(b"alice"));
}

#[test]
fn a_post_is_added_once_and_survives() {
    let (_folder, dir, mut store) = group();
    let (court, trustee) = (key(1, "court"), key(2, "t"));
    store
        .admit_author(&court.public(), Role::Requester, 5)
        .unwrap();
    store
        .admit_author(&trustee.public(), holding(0, 1), 5)
        .unwrap();
    let first = post(&store, &court, 1, 9, b"case".to_vec());
    let answer = post(&store, &trustee, 1, 10, b"yes".to_vec());
    assert_eq!(board(&dir).post(&first, 1).unwrap(), 1);
    let mut again = board(&dir);
    assert_eq!(again.post(&answer, 2).unwrap(), 2);
    assert_eq!(again.post(&first, 3).unwrap(), 1);
    let me = trustee.public().signs.to_bytes();
    let all = again.read(&me, &[1; 32], 0).unwrap();
    assert_eq!(all, [(1, first.encode()), (2, answer.encode())]);
    assert_eq!(again.read(&me, &[1; 32], 2).unwrap(), []);
    assert_eq!(again.news(&me, 1).unwrap(), [(2, [1; 32])]);
    assert_eq!(again.last().unwrap(), 2);
}

#[test]
fn each_refusal_has_its_rule() {
    let (_folder, dir, mut store) = group();
    let (court, trustee, stranger, observer) =
        (key(1, "court"), key(2, "t"), key(3, "x"), key(4, "o"));
    store
        .admit_author(&court.public(), Role::Requester, 5)
        .unwrap();
    store
        .admit_author(&trustee.public(), holding(0, 1), 5)
        .unwrap();
    store
        .admit_author(&observer.public(), Role::Observer, 5)
        .unwrap();
    let mut board = board(&dir);
    let say = |key, topic, body: usize| post(&store, key, topic, 9, vec![7; body]);
    assert_eq!(rule(board.post(&say(&stranger, 1, 1), 1)), "author");
    assert_eq!(rule(board.post(&say(&observer, 1, 1), 1)), "author");
    assert_eq!(rule(board.post(&say(&trustee, 1, 1), 1)), "too-many");
    assert_eq!(
        rule(board.post(&say(&trustee, 1, (64 << 10) + 1), 1)),
        "too-long"
    );
    let other = Post::sign(BoardId([9; 32]), [1; 32], 9, vec![], &court.signing_key()).unwrap();
    assert_eq!(rule(board.post(&other, 1)), "board");
    let mut bytes = say(&court, 1, 3).encode();
    *bytes.last_mut().unwrap() ^= 1;
    assert_eq!(
        rule(board.post(&Post::decode(&bytes).unwrap(), 1)),
        "signature"
    );
    let plan = post(&store, &court, 1, POST_PLAN, b"not one".to_vec());
    assert_eq!(rule(board.post(&plan, 1)), "topic");

    board.post(&say(&court, 1, 1), 1).unwrap();
    for length in 1..=64 {
        board.post(&say(&trustee, 1, length), 1).unwrap();
    }
    assert_eq!(rule(board.post(&say(&trustee, 1, 65), 1)), "too-many");
    // A requester begins 256 topics a day; the next day has its own.
    for topic in 0..255_u8 {
        let begun = Post::sign(
            say(&court, 1, 1).board,
            [topic, 7].repeat(16).try_into().unwrap(),
            9,
            vec![],
            &court.signing_key(),
        );
        board.post(&begun.unwrap(), 1).unwrap();
    }
    assert_eq!(rule(board.post(&say(&court, 3, 1), 1)), "too-many");
    board.post(&say(&court, 3, 1), DAY).unwrap();
    board.post(&say(&court, 1, 2), DAY + 1).unwrap();

    let unread = [stranger, observer].map(|key| key.public().signs.to_bytes());
    for reader in unread {
        assert_eq!(rule(board.read(&reader, &[1; 32], 0)), "author");
        assert_eq!(rule(board.news(&reader, 0)), "author");
    }
    drop(board);
    store.dismiss_author(&court.public().name).unwrap();
    let mut board = self::board(&dir);
    let late = post(&store, &court, 1, 9, b"late".to_vec());
    assert_eq!(rule(board.post(&late, 1)), "author");
    let reader = court.public().signs.to_bytes();
    assert_eq!(rule(board.read(&reader, &[1; 32], 0)), "author");
}

/// Whoever posts into another's topic gets nothing of it: neither case nor result, whatever he posted.
#[test]
fn a_requester_reads_no_other_requesters_posts() {
    let (_folder, dir, mut store) = group();
    let (police, evil, trustee) = (key(1, "police"), key(2, "evil"), key(3, "t"));
    for requester in [&police, &evil] {
        store
            .admit_author(&requester.public(), Role::Requester, 5)
            .unwrap();
    }
    store
        .admit_author(&trustee.public(), holding(0, 1), 5)
        .unwrap();
    let mut board = board(&dir);
    let mut say = |board: &mut Board, key: &AuthorKeyFile, kind, body: &[u8]| {
        let post = post(&store, key, 1, kind, body.to_vec());
        board.post(&post, 1).map(|_| post)
    };
    let case = say(&mut board, &police, 32, b"salt, warrant, packets").unwrap();
    let review = say(&mut board, &trustee, 33, b"reviewed").unwrap();
    let set = say(&mut board, &police, 37, b"set").unwrap();
    let read = |board: &Board, key: &AuthorKeyFile| {
        let key = key.public().signs.to_bytes();
        let posts = board.read(&key, &[1; 32], 0).unwrap().into_iter();
        posts
            .map(|(_, bytes)| Post::decode(&bytes).unwrap())
            .collect::<Vec<_>>()
    };
    assert_eq!(read(&board, &evil), []);
    let junk = say(&mut board, &evil, 200, b"x").unwrap();
    assert_eq!(read(&board, &evil), [junk]);
    // With a case of his own he reads what trustees say, and still nothing of the other's.
    say(&mut board, &evil, 32, b"mine").unwrap();
    let his = read(&board, &evil);
    assert!(his.contains(&review) && !his.contains(&case) && !his.contains(&set));
    assert_eq!(read(&board, &police), [case, review, set]);
    assert_eq!(read(&board, &trustee).len(), 5);
    // What only trustees say, no requester posts, nor the other way round.
    for kind in 33..=36 {
        assert_eq!(rule(say(&mut board, &evil, kind, b"x")), "kind");
    }
    for kind in [32, 37, 38] {
        assert_eq!(rule(say(&mut board, &trustee, kind, b"x")), "kind");
    }
    // Trustees look at 8 cases of an author: there are no more, and nothing else is long.
    for number in 0..7 {
        say(&mut board, &evil, 32, &[number; 9]).unwrap();
    }
    assert_eq!(rule(say(&mut board, &evil, 32, b"ninth")), "too-many");
    assert_eq!(
        rule(say(&mut board, &evil, 200, &[0; (64 << 10) + 1])),
        "too-long"
    );
    let long = vec![0; POST_BODY_MAX];
    assert_eq!(
        say(&mut board, &police, 32, &long).unwrap().body.len(),
        long.len()
    );
}

/// A plan's topic is for the manager and for those whom the plan names, whatever their role.
#[test]
fn a_plan_seats_its_participants() {
    let (_folder, dir, mut store) = group();
    let (newcomer, trustee, court) = (key(1, "new"), key(2, "t"), key(3, "court"));
    store
        .admit_author(&trustee.public(), holding(0, 1), 5)
        .unwrap();
    store
        .admit_author(&court.public(), Role::Requester, 5)
        .unwrap();
    let plan = Plan::new_key(store.group(), quorum(1, 1), &mut rng(1)).unwrap();
    let seat = Seat {
        role: dkg::Role::new(Some(who(1)), Some(who(1))).unwrap(),
        author: newcomer.public(),
    };
    let plan = Proposal::new(plan, vec![seat]).unwrap();
    let (id, topic) = (BoardId::of_group(store.group().id()), plan.topic());
    let manager = issuer(&dir).manager;
    let sign = |topic, kind, body: Vec<u8>, key: &SigningKey| {
        Post::sign(id, topic, kind, body, key).unwrap()
    };
    let mut board = board(&dir);
    let hello = sign(topic, 2, vec![1], &newcomer.signing_key());
    assert_eq!(rule(board.post(&hello, 1)), "author");
    // The plan of another author, or in another topic, is none.
    let forged = sign(topic, POST_PLAN, plan.encode(), &court.signing_key());
    assert_eq!(rule(board.post(&forged, 1)), "topic");
    let elsewhere = sign([1; 32], POST_PLAN, plan.encode(), &manager);
    assert_eq!(rule(board.post(&elsewhere, 1)), "topic");
    let real = sign(topic, POST_PLAN, plan.encode(), &manager);
    assert_eq!(board.post(&real, 1).unwrap(), 1);
    assert_eq!(board.post(&hello, 1).unwrap(), 2);
    for other in [&trustee, &court] {
        let other = sign(topic, 2, vec![2], &other.signing_key());
        assert_eq!(rule(board.post(&other, 1)), "author");
    }
    assert_eq!(board.plans().unwrap(), [topic]);
    // A seat alone reads its own topic, and hears of no other.
    let filed = sign([7; 32], 40, vec![], &court.signing_key());
    board.post(&filed, 1).unwrap();
    let reader = newcomer.public().signs.to_bytes();
    assert_eq!(board.read(&reader, &topic, 0).unwrap().len(), 2);
    assert_eq!(rule(board.read(&reader, &[7; 32], 0)), "author");
    assert_eq!(board.news(&reader, 0).unwrap(), [(1, topic), (2, topic)]);
    assert_eq!(rule(board.news(&reader, 99)), "after");
}

/// The trustees of a new key have their shares, in one transaction, and those of the earlier one keep theirs.
#[test]
fn trustees_of_a_new_key_are_seated() {
    let (_folder, dir, mut store) = group();
    let all = [(1, "a"), (2, "b"), (3, "c"), (4, "d")].map(|(s, n)| key(s, n).public());
    for (author, index) in all.iter().zip(1..=3) {
        store.admit_author(author, holding(0, index), 5).unwrap();
    }
    let [a, b, c, d] = all;
    // b leaves, c and a change places, d comes.
    let seats = [(1, c.clone()), (2, d.clone()), (3, a.clone())];
    let before = store.outbox(100).unwrap().len();
    store.seat_trustees(1, &seats, 6).unwrap();
    let role = |store: &Store, author: &Author| {
        let authors = store.authors().unwrap();
        let found = authors.into_iter().find(|known| known.author == *author);
        found.unwrap().role
    };
    assert_eq!(role(&store, &a), holding(1, 3));
    assert_eq!(role(&store, &b), holding(0, 2));
    assert_eq!(role(&store, &c), holding(1, 1));
    assert_eq!(role(&store, &d), holding(1, 2));
    let held: Vec<_> = store.trusteeships().unwrap();
    let keys = [&a, &b, &c, &c, &d, &a].map(|author| author.signs.to_bytes());
    let of = |since, index| Trusteeship { since, index };
    let expected = [of(0, 1), of(0, 2), of(0, 3), of(1, 1), of(1, 2), of(1, 3)];
    assert_eq!(held, expected.into_iter().zip(keys).collect::<Vec<_>>());
    let sent = store.outbox(100).unwrap();
    assert_eq!(sent.len(), before + 3);
    store.seat_trustees(1, &seats, 7).unwrap(); // again: nothing to do
    assert_eq!(store.outbox(100).unwrap().len(), before + 3);
    // b uses the board still: packets of the earlier key's epochs may be asked about.
    let board = board(&dir);
    board.check_user(b.signs.as_bytes()).unwrap();
    // b's share of the earlier key goes to another key: then b has none.
    let other = key(5, "b2").public();
    store.admit_author(&other, holding(0, 2), 8).unwrap();
    assert_eq!(role(&store, &b), Role::None);
    assert_eq!(rule(board.check_user(b.signs.as_bytes())), "author");
    // Dismissed on purpose, c has none of either.
    store.dismiss_author(&c.name).unwrap();
    assert_eq!(role(&store, &c), Role::None);
    let left = store.trusteeships().unwrap();
    assert!(left.iter().all(|(_, key)| *key != c.signs.to_bytes()));
    // One share of a key at most; no opening key begins with epoch 1 in this group file.
    let twice = store.admit_author(&d, holding(0, 1), 9);
    assert!(twice.unwrap(), "a share of another key");
    let twice = store.admit_author(&d, holding(0, 3), 9);
    assert!(matches!(twice, Err(StoreError::AuthorAdmitted(_))));
    let none = store.admit_author(&c, holding(1, 1), 9);
    assert!(matches!(none, Err(StoreError::NoOpeningKey(1))));
}
