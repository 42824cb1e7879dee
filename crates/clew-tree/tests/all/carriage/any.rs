//! Whatever arrives: no panic, bounded memory, and no token is lost or doubled.

use std::collections::BTreeSet;

use clew_tree::carriage::{Answer, Bins, Code, Inserted, Key, Limits, TagSize, Tags};
use proptest::collection::vec;
use proptest::prelude::*;

use super::{ID, LIMITS};

#[derive(Clone, Debug)]
enum Step {
    Insert {
        block: u8,
        bin: u8,
        code: usize,
        index: u16,
        share: u8,
        cut: bool,
    },
    Verified {
        block: u8,
        bin: u8,
    },
    Refused {
        block: u8,
        bin: u8,
    },
    Forget {
        block: u8,
    },
}

fn step() -> impl Strategy<Value = Step> {
    let insert = (
        0u8..12,
        0u8..6,
        0usize..4,
        0u16..20,
        0u8..3,
        prop::bool::weighted(0.05),
    )
        .prop_map(|(block, bin, code, index, share, cut)| Step::Insert {
            block,
            bin,
            code,
            index,
            share,
            cut,
        });
    prop_oneof![
        20 => insert,
        1 => (0u8..12, 0u8..6).prop_map(|(block, bin)| Step::Verified { block, bin }),
        1 => (0u8..12, 0u8..6).prop_map(|(block, bin)| Step::Refused { block, bin }),
        1 => (0u8..12).prop_map(|block| Step::Forget { block }),
    ]
}

fn key(block: u8, bin: u8) -> Key {
    Key {
        block: [block; 32],
        packets: [0; 32],
        shares: [bin; 32],
    }
}

/// The tokens that come back with an answer.
fn given_back(inserted: Inserted<usize>) -> Vec<usize> {
    let mut tokens = match inserted.answer {
        Answer::Pending => vec![],
        Answer::Restored { tokens, .. } | Answer::Wrong { tokens, .. } => tokens,
        Answer::Awaited(token) | Answer::Verified(token) | Answer::Refused(token) => vec![token],
        Answer::Again { token, .. } => vec![token],
    };
    tokens.extend(inserted.dropped.into_iter().map(|(token, _)| token));
    tokens
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// Codes that differ under one key too, which no caller does.
    #[test]
    fn bins(steps in vec(step(), 1..700)) {
        let limits = Limits { blocks: 5, bins: 3, answers: 4, ..LIMITS };
        let mut bins = Bins::new(limits).unwrap();
        let codes = [(16, 4, 288), (20, 20, 100), (2, 1, 64), (16, 4, 287)]
            .map(|(count, needed, blob)| Code::new(count, needed, blob).unwrap());
        let mut inside = BTreeSet::new();
        for (token, step) in steps.into_iter().enumerate() {
            let out = match step {
                Step::Insert { block, bin, code, index, share, cut } => {
                    let length = codes[code].share_bytes() - usize::from(cut);
                    inside.insert(token);
                    given_back(bins.insert(key(block, bin), &codes[code], index, &vec![share; length], token))
                }
                Step::Verified { block, bin } => { bins.verified(&key(block, bin)) }
                Step::Refused { block, bin } => { bins.refused(&key(block, bin)); vec![] }
                Step::Forget { block } => bins.forget(&[block; 32]),
            };
            for token in out {
                prop_assert!(inside.remove(&token), "{} comes back once", token);
            }
            prop_assert_eq!(bins.held(), inside.len());
            prop_assert!(bins.held() <= limits.shares);
        }
        let left: BTreeSet<usize> = bins.drain().into_iter().collect();
        prop_assert_eq!(left, inside);
    }

    #[test]
    fn codes_and_tags(
        numbers in (any::<u16>(), any::<u16>(), any::<u16>()),
        small in (0u16..260, 0u16..260, 60u16..1210),
        shares in vec((0u16..300, vec(any::<u8>(), 0..40)), 0..40),
        tag in vec(any::<u8>(), 0..80),
    ) {
        for (count, needed, blob) in [numbers, small] {
            let Ok(code) = Code::new(count, needed, blob) else { continue };
            let _ = code.decode(&shares);
            let _ = code.encode(&tag);
            // Of the right length, so that they are decoded.
            let filled = shares.iter().map(|(index, share)| {
                let mut share = share.clone();
                share.resize(code.share_bytes(), 1);
                (*index, share)
            });
            let filled: Vec<_> = filled.collect();
            if let Ok(restored) = code.decode(&filled) {
                let again = code.encode(&restored).unwrap();
                let used = filled.iter().take(needed.into());
                for (index, share) in used {
                    let at = usize::from(*index) * code.share_bytes();
                    prop_assert_eq!(&again[at..at + code.share_bytes()], &share[..]);
                }
            }
            for size in [TagSize::T4, TagSize::T8] {
                let tags = Tags::new(ID, code, size);
                for (index, share) in shares.iter().chain(&filled) {
                    let _ = tags.root(*index, share, &tag);
                }
            }
        }
    }
}
