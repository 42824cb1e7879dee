//! The fuzz functions over seeded mutations of frames that are signable or signed.
//!
//! `FUZZ_SEED` repeats a run, `FUZZ_ROUNDS` makes it longer.

mod common;
#[path = "../../../fuzz/src/packet.rs"]
mod fuzz;

use std::env;

use clew_packet::{LinkType, MAGIC, Policy};
use common::packets::*;
use rand_chacha::{
    ChaCha20Rng,
    rand_core::{Rng, SeedableRng},
};

#[test]
fn mutated_frames() {
    let corpus = corpus();
    rounds(|rng| {
        let mut data = corpus[below(rng, corpus.len())].clone();
        mutate(rng, &mut data);
        fuzz::frame(&data);
    });
}

#[test]
fn mutated_trailers() {
    let corpus: Vec<Vec<u8>> = corpus()
        .into_iter()
        .filter(|data| data.ends_with(&MAGIC))
        .collect();
    rounds(|rng| {
        let mut data = corpus[below(rng, corpus.len())].clone();
        fuzz::trailer(&data);
        mutate(rng, &mut data);
        fuzz::trailer(&data);
    });
}

/// Plain, signed and marked frames under every link type, without padding.
fn corpus() -> Vec<Vec<u8>> {
    let routed = [
        routing(4, 1, &[FINAL_6, DESTINATION_6]),
        options(DESTINATION, &[0xc9, 1, 7]),
    ];
    let ips = [
        ipv4(&[], TCP, &tcp(2, &[2, 4, 5, 0xb4], b"payload")),
        ipv4(&[148, 4, 0, 0], UDP, &udp(b"payload")),
        ipv6(&[], ICMPV6, &icmp(128, b"payload")),
        ipv6_to(FINAL_6, &routed, UDP, &udp(b"payload")),
    ];
    let mut corpus = Vec::new();
    for ip in ips {
        for wrap in wraps() {
            let original = wrap.around(&ip, &[]);
            let signed = original.signed(Policy::default());
            let marked = signed.sign(Policy::default()).0.expect("it was marked");
            for frame in [original, signed, marked] {
                corpus.push([&[selector(frame.link), 0, 0][..], &frame.bytes].concat());
            }
        }
    }
    corpus
}

/// The byte by which `fuzz::frame` chooses a link type.
fn selector(link: LinkType) -> u8 {
    let links = [1, 0, 9, 12, 14, 101, 108, 113, 228, 229, 276];
    links
        .iter()
        .position(|number| LinkType(*number) == link)
        .expect("it is one of them") as u8
}

fn rounds(mut round: impl FnMut(&mut ChaCha20Rng)) {
    let number = |name: &str, default| {
        env::var(name).map_or(default, |text| text.parse().expect("FUZZ_... are numbers"))
    };
    let (seed, count) = (number("FUZZ_SEED", 1), number("FUZZ_ROUNDS", 50_000));
    println!("FUZZ_SEED={seed} FUZZ_ROUNDS={count}");
    let mut rng = ChaCha20Rng::seed_from_u64(seed);
    (0..count).for_each(|_| round(&mut rng));
}

/// Up to four edits; half of them in the last bytes, where the trailer says what it is.
fn mutate(rng: &mut ChaCha20Rng, data: &mut Vec<u8>) {
    for _ in 0..below(rng, 5) {
        let near = if rng.next_u32() & 1 == 0 {
            data.len()
        } else {
            data.len().min(50)
        };
        let at = data.len() - 1 - below(rng, near);
        match below(rng, 8) {
            0 => data.truncate(at + 1),
            1 => data.insert(at, rng.next_u32() as u8),
            2 => data[at] = [0, 1, 0x7f, 0x80, 0xff][below(rng, 5)],
            3 => data[at] = rng.next_u32() as u8,
            _ => data[at] ^= 1 << below(rng, 8),
        }
    }
}

fn below(rng: &mut ChaCha20Rng, limit: usize) -> usize {
    rng.next_u32() as usize % limit
}
