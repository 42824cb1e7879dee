//! Any k shares restore a blob; fewer, others and what no blob has do not.

use clew_tree::carriage::{BLOB_MAX, BLOB_MIN, COUNT_MAX, COUNT_MIN, Code, Error, Rate};
use proptest::prelude::*;

use super::{BLOB, blob, code, quarter};

type Share = (u16, Vec<u8>);

fn shares(code: &Code, blob: &[u8]) -> Vec<Share> {
    let all = code.encode(blob).unwrap();
    let shares = all.chunks(code.share_bytes()).map(<[u8]>::to_vec);
    (0..).zip(shares).collect()
}

/// A product in GF(256), bit by bit.
fn times(mut a: u8, mut b: u8) -> u8 {
    let mut product = 0;
    while b > 0 {
        product ^= (b & 1) * a;
        (a, b) = ((a << 1) ^ ((a >> 7) * 0x1d), b >> 1);
    }
    product
}

/// Value at `x` of the polynomial through the points, by Lagrange.
fn interpolated(points: &[(u8, u8)], x: u8) -> u8 {
    let term = |(at, value): &(u8, u8)| {
        let others = points.iter().filter(|(other, _)| other != at);
        others.fold(*value, |product, (other, _)| {
            let inverse = (0..254).fold(1, |power, _| times(power, at ^ other));
            times(times(product, x ^ other), inverse)
        })
    };
    points.iter().map(term).fold(0, |sum, term| sum ^ term)
}

#[test]
fn shares_are_values_of_polynomials() {
    for (count, needed) in [(2, 1), (5, 2), (16, 4), (64, 16), (256, 64)] {
        let code = code(count, needed);
        let shares = shares(&code, &blob(3, BLOB.into()));
        for column in [0, code.share_bytes() - 1] {
            let point = |(index, share): &Share| (*index as u8, share[column]);
            let points: Vec<_> = shares.iter().take(needed.into()).map(point).collect();
            for (index, share) in shares.iter().skip(usize::from(count) - 2) {
                assert_eq!(share[column], interpolated(&points, *index as u8));
            }
        }
    }
}

/// The first k shares are the blob itself, padded with zeros.
#[test]
fn the_blob_stands_in_front() {
    let code = code(10, 7);
    let blob = blob(1, BLOB.into());
    let all = code.encode(&blob).unwrap();
    assert_eq!(code.share_bytes(), 42);
    assert_eq!(all.len(), 420);
    assert_eq!(all[..288], blob);
    assert_eq!(all[288..294], [0; 6]);
}

#[test]
fn rates_are_rounded_up() {
    let needed = |percent, count| Rate::new(percent).unwrap().needed(count);
    assert_eq!(
        [9, 12, 13, 64, 256].map(|m| needed(25, m)),
        [3, 3, 4, 16, 64]
    );
    assert_eq!(
        [needed(1, 2), needed(100, 256), needed(33, 10)],
        [1, 256, 4]
    );
    assert_eq!(Rate::new(25), Some(Rate::QUARTER));
    assert!(Rate::new(0).is_none() && Rate::new(101).is_none());
}

/// Every number of packets, several rates: sets of k shares restore, sets of fewer do not.
#[test]
fn every_size_goes_round() {
    for count in COUNT_MIN..=COUNT_MAX {
        for percent in [1, 25, 60, 100] {
            let needed = Rate::new(percent).unwrap().needed(count);
            let code = Code::new(count, needed, BLOB_MIN + count).unwrap();
            let blob = blob(count as u8, code.blob_bytes());
            let mut shares = shares(&code, &blob);
            shares.rotate_left(usize::from(count / 3));
            shares.truncate(needed.into());
            shares.reverse();
            assert_eq!(code.decode(&shares), Ok(blob), "{count} {percent}");
            assert_eq!(code.decode(&shares[1..]), Err(Error::TooFew));
        }
    }
}

#[test]
fn codes_have_bounds() {
    for (code, rule) in [
        ((1, 1, BLOB), Error::Count),
        ((COUNT_MAX + 1, 64, BLOB), Error::Count),
        ((0, 0, 0), Error::Count),
        ((16, 0, BLOB), Error::Needed),
        ((16, 17, BLOB), Error::Needed),
        ((16, 4, BLOB_MIN - 1), Error::BlobLength),
        ((16, 4, BLOB_MAX + 1), Error::BlobLength),
    ] {
        assert_eq!(Code::new(code.0, code.1, code.2), Err(rule), "{code:?}");
    }
    assert!(Code::new(COUNT_MAX, COUNT_MAX, BLOB_MAX).is_ok());
    assert_eq!(code(16, 4).encode(&[0; 287]), Err(Error::BlobLength));
    assert_eq!(code(16, 4).encode(&[0; 289]), Err(Error::BlobLength));
}

#[test]
fn wrong_shares_are_named() {
    let code = quarter(16);
    let good = shares(&code, &blob(5, BLOB.into()));
    let with = |place: usize, share: Share| {
        let mut some = good[..6].to_vec();
        some[place] = share;
        code.decode(&some)
    };
    assert_eq!(with(2, (16, good[2].1.clone())), Err(Error::Index));
    assert_eq!(
        with(2, (2, good[2].1[1..].to_vec())),
        Err(Error::ShareLength)
    );
    assert_eq!(
        with(2, (2, [&good[2].1[..], &[0]].concat())),
        Err(Error::ShareLength)
    );
    assert_eq!(with(2, good[0].clone()), Err(Error::Repeated));
    // What is not needed is checked all the same.
    assert_eq!(with(5, good[0].clone()), Err(Error::Repeated));
    assert_eq!(with(5, (99, good[0].1.clone())), Err(Error::Index));
    assert_eq!(code.decode::<Vec<u8>>(&[]), Err(Error::TooFew));
}

/// One blob has one form: what fills its last share is zero.
#[test]
fn padding_is_zero() {
    let code = code(10, 7);
    let mut padded = blob(1, BLOB.into());
    padded.resize(294, 0);
    for at in 288..294 {
        padded[at] = 1;
        // The same shares under the code whose blob has all that length.
        let longer = Code::new(10, 7, 294).unwrap();
        let shares = shares(&longer, &padded);
        assert_eq!(code.decode(&shares[..7]), Err(Error::Padding), "{at}");
        assert_eq!(code.decode(&shares[3..]), Err(Error::Padding), "{at}");
        padded[at] = 0;
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn any_set_restores(
        count in COUNT_MIN..=COUNT_MAX,
        percent in 1u8..=100,
        length in BLOB_MIN..=BLOB_MAX,
        order in any::<prop::sample::Index>(),
        seed in any::<u64>(),
    ) {
        let needed = Rate::new(percent).unwrap().needed(count);
        let code = Code::new(count, needed, length).unwrap();
        let blob = blob(seed as u8, length.into());
        let mut shares = shuffled(shares(&code, &blob), seed);
        shares.rotate_left(order.index(count.into()));
        let fewer = code.decode(&shares[..usize::from(needed) - 1]);
        prop_assert_eq!(fewer, Err(Error::TooFew));
        prop_assert_eq!(code.decode(&shares[..needed.into()]), Ok(blob.clone()));
        prop_assert_eq!(code.decode(&shares), Ok(blob));
    }

    /// k - 1 shares do not fix the blob: another share in the place of the last gives another.
    #[test]
    fn one_share_less_leaves_it_open(count in 2u16..40, seed in any::<u64>(), other in 1u8..) {
        let code = Code::new(count, count.div_ceil(2), 64).unwrap();
        let blob = blob(seed as u8, 64);
        let mut some = shuffled(shares(&code, &blob), seed);
        some.truncate(code.needed().into());
        let last = some.len() - 1;
        some[last].1[0] ^= other;
        prop_assert_ne!(code.decode(&some), Ok(blob));
    }
}

fn shuffled(mut shares: Vec<Share>, seed: u64) -> Vec<Share> {
    let mut state = seed | 1;
    for end in (1..shares.len()).rev() {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        shares.swap(end, (state >> 33) as usize % (end + 1));
    }
    shares
}
