//! Every backend that the machine has, against the crates and against what was published.

use alloc::vec::Vec;

use proptest::prelude::*;

use super::{Digest, Input, backends};

const KEY: &[u8; 32] = b"whats the Elvish word for friend";

/// Lengths at which blocks, chunks and trees begin and end.
const BOUNDARIES: [usize; 24] = [
    0, 1, 31, 32, 54, 55, 56, 63, 64, 65, 118, 119, 120, 127, 128, 129, 1023, 1024, 1025, 1472,
    2047, 2048, 2049, 3072,
];

/// What the crates say, or published vectors.
type Expected<'a> = &'a dyn Fn(&Input<'_>) -> Digest;

fn blake3_alone(input: &Input<'_>) -> Digest {
    blake3::keyed_hash(KEY, &input.parts().concat()).into()
}

fn sha256_alone(input: &Input<'_>) -> Digest {
    use sha2::Digest as _;
    sha2::Sha256::digest(input.parts().concat()).into()
}

/// All ways to hash the inputs, as a caller takes them and each backend by force.
fn check(inputs: &[Input<'_>], blake3: Expected<'_>, sha256: Expected<'_>) {
    let (keyed, plain): (Vec<Digest>, Vec<Digest>) = inputs
        .iter()
        .map(|input| (blake3(input), sha256(input)))
        .unzip();
    let mut out = Vec::new();
    let mut same = |expected: &[Digest], name: &str, hash: &dyn Fn(&mut [Digest])| {
        out.clear();
        out.resize(inputs.len(), [0xee; 32]);
        hash(&mut out);
        let lens: Vec<_> = inputs.iter().map(Input::len).collect();
        assert_eq!(out, expected, "{name} of {lens:?}");
    };
    same(&keyed, "blake3", &|out| {
        super::blake3_keyed(KEY, inputs, out)
    });
    same(&plain, "sha256", &|out| super::sha256(inputs, out));
    for backend in backends() {
        let name = backend.name();
        same(&keyed, name, &|out| backend.blake3_keyed(KEY, inputs, out));
        same(&plain, name, &|out| backend.sha256(inputs, out));
    }
}

/// The pattern of the test vectors of BLAKE3.
fn pattern(len: usize) -> Vec<u8> {
    (0..251).cycle().take(len).collect()
}

/// Three parts of some bytes, whose blocks do not start where memory's do.
fn cut(bytes: &[u8], head: usize, tail: usize) -> Input<'_> {
    let (head, rest) = bytes.split_at(head.min(bytes.len()));
    let (body, tail) = rest.split_at(rest.len().saturating_sub(tail));
    Input { head, body, tail }
}

#[test]
fn blake3_gives_its_published_digests() {
    let vectors = include_str!("blake3-keyed.txt").lines();
    let vectors: Vec<(usize, &str)> = vectors
        .map(|line| line.split_once(' ').expect("a length and a digest"))
        .map(|(len, digest)| (len.parse().expect("a length"), digest))
        .collect();
    assert_eq!(vectors.len(), 35);
    let messages: Vec<_> = vectors.iter().map(|(len, _)| pattern(*len)).collect();
    let published = |input: &Input<'_>| {
        let digest = vectors.iter().find(|(len, _)| *len == input.len());
        hex(digest.expect("a vector").1)
    };
    for (head, tail) in [(0, 0), (22, 0), (64, 64), (1, 63)] {
        let inputs: Vec<_> = messages.iter().map(|m| cut(m, head, tail)).collect();
        check(&inputs, &published, &sha256_alone);
    }
}

#[test]
fn sha256_gives_its_published_digests() {
    // FIPS 180-4's examples, with a million letters of the last as one more.
    let million = [b'a'; 1_000_000];
    let published: [(&[u8], &str); 4] = [
        (
            b"abc",
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
        ),
        (
            b"",
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        ),
        (
            b"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1",
        ),
        (
            &million,
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0",
        ),
    ];
    let inputs = published.map(|(message, _)| cut(message, 22, 0));
    let digest = |input: &Input<'_>| {
        let message = input.parts().concat();
        let found = published.iter().find(|(m, _)| *m == message);
        hex(found.expect("a vector").1)
    };
    check(&inputs, &blake3_alone, &digest);
}

fn hex(text: &str) -> Digest {
    core::array::from_fn(|i| u8::from_str_radix(&text[2 * i..][..2], 16).expect("hexadecimal"))
}

#[test]
fn lengths_at_boundaries() {
    let message = pattern(4096);
    for head in [0, 1, 22, 63, 64] {
        let mut inputs = Vec::new();
        for len in BOUNDARIES {
            inputs.push(cut(&message[..len], head, 0));
            inputs.push(cut(&message[len..2 * len.min(2048)], head, 7));
            // 16 of one length: vectors without ends before others'.
            check(
                &[cut(&message[1..=len], head, 64); 16],
                &blake3_alone,
                &sha256_alone,
            );
        }
        check(&inputs, &blake3_alone, &sha256_alone);
    }
}

#[test]
fn parts_may_be_of_any_length() {
    let message = pattern(9000);
    let cuts = [
        (300, 0),
        (0, 300),
        (8000, 0),
        (0, 9000),
        (4000, 4000),
        (9000, 0),
    ];
    let inputs = cuts.map(|(head, tail)| cut(&message, head, tail));
    check(&inputs, &blake3_alone, &sha256_alone);
}

#[test]
fn blocks_are_inputs_of_one_length() {
    let bytes = pattern(64);
    for len in 0..=64 {
        for n in [0, 1, 4, 5, 8, 9, 16, 17, 40] {
            let block = |i: usize| {
                let mut block = [0; 64];
                block[..len].copy_from_slice(&bytes[..len]);
                block[..len.min(1)].fill(i as u8);
                block
            };
            let blocks: Vec<[u8; 64]> = (0..n).map(block).collect();
            let alone = blocks
                .iter()
                .map(|block| blake3::keyed_hash(KEY, &block[..len]).into());
            let alone: Vec<Digest> = alone.collect();
            let mut out = alloc::vec![[0xee; 32]; n];
            super::blake3_blocks(KEY, &blocks, len, &mut out);
            assert_eq!(out, alone, "{n} of {len}");
            for backend in backends() {
                out.fill([0xee; 32]);
                backend.blake3_blocks(KEY, &blocks, len, &mut out);
                assert_eq!(out, alone, "{} {n} of {len}", backend.name());
            }
        }
    }
}

#[test]
fn more_chunks_than_stand_on_the_stack() {
    let long = pattern(100_000);
    let lens = [
        70_000, 3, 40_000, 40_000, 65_536, 65_537, 100_000, 1024, 64_000,
    ];
    let inputs = lens.map(|len| cut(&long[..len], 22, 0));
    check(&inputs, &blake3_alone, &sha256_alone);
}

#[test]
#[should_panic(expected = "a digest for each input")]
fn digests_are_as_many_as_inputs() {
    super::sha256(&[Input::default()], &mut []);
}

/// Inputs of a batch: places in a random message, and where they are cut.
fn batch(most: usize) -> impl Strategy<Value = Vec<(usize, usize, usize, usize)>> {
    let len = prop_oneof![
        0..130usize,
        0..3000usize,
        prop::sample::select(&BOUNDARIES[..])
    ];
    prop::collection::vec((len, 0..700usize, 0..=64usize, 0..=64usize), 0..=most)
}

proptest! {
    #[test]
    fn ragged_batches(cuts in batch(40), seed in any::<[u8; 32]>()) {
        let mut message = [0; 4096];
        blake3::Hasher::new_keyed(&seed).finalize_xof().fill(&mut message);
        let inputs: Vec<_> = cuts
            .iter()
            .map(|&(len, from, head, tail)| cut(&message[from..from + len], head, tail))
            .collect();
        check(&inputs, &blake3_alone, &sha256_alone);
    }

    #[test]
    fn large_ragged_batches(cuts in batch(600)) {
        let message = pattern(4096);
        let inputs: Vec<_> = cuts
            .iter()
            .map(|&(len, from, head, tail)| cut(&message[from..from + len], head, tail))
            .collect();
        check(&inputs, &blake3_alone, &sha256_alone);
    }
}
