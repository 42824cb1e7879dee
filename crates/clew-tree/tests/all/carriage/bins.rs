//! Every answer of the bins, and every limit.

use clew_tree::carriage::{Answer, Bins, Code, Error, Inserted, Key, Limits, NoRoom, TagSize};

use super::{LIMITS, Sent, quarter};

const ROOT: [u8; 32] = [9; 32];

fn bins(limits: Limits) -> Bins<u16> {
    Bins::new(limits).unwrap()
}

fn put(bins: &mut Bins<u16>, key: Key, index: u16, token: u16) -> Inserted<u16> {
    let code = quarter(16);
    bins.insert(key, &code, index, &vec![1; code.share_bytes()], token)
}

fn key(block: u8, bin: u8) -> Key {
    Key {
        block: [block; 32],
        packets: ROOT,
        shares: [bin; 32],
    }
}

fn kept(inserted: &Inserted<u16>) -> bool {
    inserted.answer == Answer::Pending
}

#[test]
fn the_last_share_restores_and_answers_last() {
    let sent = Sent::new(4, quarter(16), TagSize::T8);
    let mut bins = bins(LIMITS);
    let send = |bins: &mut Bins<u16>, index: u16| {
        let share = &sent.shares[usize::from(index)];
        let key = sent.key([1; 32], ROOT, index, share);
        (
            bins.insert(key, sent.tags.code(), index, share, index)
                .answer,
            key,
        )
    };
    for index in [11, 2, 14] {
        assert_eq!(send(&mut bins, index).0, Answer::Pending);
    }
    assert_eq!(bins.held(), 3);
    let (answer, key) = send(&mut bins, 7);
    let (blob, tokens) = (sent.blob.clone(), vec![11, 2, 14, 7]);
    assert_eq!(answer, Answer::Restored { blob, tokens });
    assert_eq!((bins.held(), bins.blob(&key)), (0, Some(&sent.blob[..])));

    assert_eq!(send(&mut bins, 3).0, Answer::Awaited(3));
    bins.verified(&key);
    assert_eq!(send(&mut bins, 4).0, Answer::Verified(4));
    assert_eq!(send(&mut bins, 2).0, Answer::Verified(2));
    assert_eq!(bins.blob(&key), Some(&sent.blob[..]));
    bins.refused(&key);
    assert_eq!(send(&mut bins, 5).0, Answer::Refused(5));
    bins.verified(&key);
    assert_eq!(send(&mut bins, 5).0, Answer::Refused(5), "a refusal stays");
    assert_eq!(bins.blob(&key), None);
}

#[test]
fn the_same_index_is_not_counted_again() {
    let mut bins = bins(LIMITS);
    put(&mut bins, key(1, 1), 3, 10);
    let again = put(&mut bins, key(1, 1), 3, 11).answer;
    let (token, same) = (11, true);
    assert_eq!(again, Answer::Again { token, same });
    let code = quarter(16);
    let other = bins.insert(key(1, 1), &code, 3, &vec![2; code.share_bytes()], 12);
    let (token, same) = (12, false);
    assert_eq!(other.answer, Answer::Again { token, same });
    assert_eq!(bins.held(), 1);
}

#[test]
fn what_breaks_a_rule_is_not_kept() {
    let limits = Limits {
        needed: 4,
        ..LIMITS
    };
    let mut bins = bins(limits);
    let mut wrong = |code: Code, index, length| match bins
        .insert(key(1, 1), &code, index, &vec![0; length], 5)
        .answer
    {
        Answer::Wrong { tokens, error } => (tokens == [5]).then_some(error),
        _ => None,
    };
    let code = quarter(16);
    assert_eq!(wrong(code, 16, code.share_bytes()), Some(Error::Index));
    assert_eq!(wrong(code, 0, 1), Some(Error::ShareLength));
    let three = quarter(12);
    assert_eq!(wrong(three, 0, three.share_bytes()), Some(Error::Needed));
    assert_eq!(bins.held(), 0);
}

/// Shares that no blob has: the bin is refused without a verification.
#[test]
fn padding_refuses_the_bin() {
    let mut bins = bins(LIMITS);
    let code = Code::new(16, 4, 287).unwrap();
    let mut put = |index| bins.insert(key(1, 1), &code, index, &[7; 72], index).answer;
    for index in 0..3 {
        assert_eq!(put(index), Answer::Pending);
    }
    let (tokens, error) = (vec![0, 1, 2, 3], Error::Padding);
    assert_eq!(put(3), Answer::Wrong { tokens, error });
    assert_eq!(put(4), Answer::Refused(4));
}

/// Whoever alters shares on the way does not make the packets unverifiable.
#[test]
fn a_verified_root_is_that_of_altered_shares_too() {
    let mut bins = bins(LIMITS);
    put(&mut bins, key(1, 7), 5, 50);
    put(&mut bins, key(1, 8), 5, 51);
    let packets = [1; 32];
    put(
        &mut bins,
        Key {
            packets,
            ..key(1, 7)
        },
        5,
        52,
    );
    put(&mut bins, key(2, 7), 5, 53);
    for index in 0..4 {
        put(&mut bins, key(1, 1), index, index);
    }
    assert_eq!(bins.held(), 4);
    assert_eq!(bins.verified(&key(1, 1)), [50, 51]);
    assert_eq!(bins.drain(), [53, 52]);
}

#[test]
fn the_block_without_news_makes_room() {
    let mut bins = bins(Limits {
        blocks: 2,
        ..LIMITS
    });
    assert!(kept(&put(&mut bins, key(1, 1), 0, 10)));
    assert!(kept(&put(&mut bins, key(1, 2), 0, 11)));
    put(&mut bins, key(2, 1), 0, 20);
    put(&mut bins, key(1, 1), 1, 12);
    let third = put(&mut bins, key(3, 1), 0, 30);
    assert!(kept(&third));
    assert_eq!(third.dropped, [(20, NoRoom::Blocks)]);
    let fourth = put(&mut bins, key(4, 1), 0, 40);
    let mut dropped: Vec<u16> = fourth.dropped.iter().map(|(token, _)| *token).collect();
    dropped.sort_unstable();
    assert_eq!(dropped, [10, 11, 12]);
    assert_eq!(bins.held(), 2);
}

#[test]
fn the_bin_without_news_makes_room() {
    let mut bins = bins(Limits { bins: 2, ..LIMITS });
    put(&mut bins, key(1, 1), 0, 11);
    put(&mut bins, key(1, 2), 0, 12);
    put(&mut bins, key(1, 1), 1, 13);
    put(&mut bins, key(2, 1), 0, 20);
    let third = put(&mut bins, key(1, 3), 0, 14);
    assert!(kept(&third));
    assert_eq!(third.dropped, [(12, NoRoom::Bins)]);
    assert_eq!(bins.held(), 4);
    // A share for a bin that is there needs no room.
    assert!(put(&mut bins, key(1, 3), 1, 15).dropped.is_empty());
}

#[test]
fn shares_make_room_bin_by_bin() {
    let limits = Limits {
        blocks: 1000,
        bins: 1000,
        ..LIMITS
    };
    let mut bins = bins(limits);
    put(&mut bins, key(1, 1), 0, 1);
    put(&mut bins, key(1, 1), 1, 2);
    (0..254).for_each(|bin| assert!(put(&mut bins, key(2, bin), 0, 3).dropped.is_empty()));
    assert_eq!(bins.held(), limits.shares);
    let more = put(&mut bins, key(2, 254), 0, 4);
    assert_eq!(more.dropped, [(1, NoRoom::Shares), (2, NoRoom::Shares)]);
    put(&mut bins, key(2, 255), 0, 5);
    // The block by itself: its oldest bin, and not the one that gets the share.
    let more = put(&mut bins, key(2, 0), 1, 6);
    assert_eq!(more.dropped, [(3, NoRoom::Shares)]);
    assert_eq!(bins.held(), limits.shares);
    let bytes = quarter(16).share_bytes();
    let again = bins
        .insert(key(2, 0), &quarter(16), 0, &vec![1; bytes], 9)
        .answer;
    assert!(matches!(again, Answer::Again { .. }));
}

#[test]
fn answers_are_bounded_and_the_oldest_goes() {
    let mut bins = bins(Limits {
        answers: 2,
        ..LIMITS
    });
    for block in [1, 2, 3] {
        bins.refused(&key(block, 1));
    }
    assert!(kept(&put(&mut bins, key(1, 1), 0, 1)));
    for block in [2, 3] {
        assert_eq!(
            put(&mut bins, key(block, 1), 0, 1).answer,
            Answer::Refused(1)
        );
    }
    bins.verified(&key(7, 1));
    assert!(
        kept(&put(&mut bins, key(7, 1), 0, 1)),
        "nothing was restored"
    );
}

#[test]
fn what_is_left_comes_back() {
    let mut bins = bins(LIMITS);
    put(&mut bins, key(2, 1), 0, 20);
    put(&mut bins, key(1, 1), 0, 10);
    put(&mut bins, key(3, 1), 0, 30);
    put(&mut bins, key(2, 2), 0, 21);
    assert_eq!(bins.forget(&[3; 32]), [30]);
    assert_eq!(bins.forget(&[3; 32]), []);
    assert_eq!(bins.drain(), [10, 20, 21]);
    assert_eq!((bins.held(), bins.drain()), (0, vec![]));
}

#[test]
fn limits_have_bounds() {
    let with = |change: fn(&mut Limits)| {
        let mut limits = LIMITS;
        change(&mut limits);
        Bins::<u16>::new(limits).is_none()
    };
    assert!(!with(|_| ()));
    assert!(with(|limits| limits.blocks = 0));
    assert!(with(|limits| limits.bins = 0));
    assert!(with(|limits| limits.shares = 255));
    assert!(with(|limits| limits.answers = 0));
}
