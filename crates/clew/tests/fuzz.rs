//! Every fuzz function on stable: over its seeds, and over mutations of them.
//!
//! `CLEW_SEED` repeats a run, `CLEW_ROUNDS` makes it so many times longer. Seeds are the vectors and
//! the captures; `cargo test -p clew --test fuzz -- --ignored` writes them to `fuzz/corpus`.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail the test")]

#[path = "fuzz/flows.rs"]
mod flows;
#[path = "fuzz/logs.rs"]
mod logs;
#[path = "fuzz/made.rs"]
mod made;
#[path = "fuzz/openings.rs"]
mod openings;
#[path = "fuzz/seeds.rs"]
mod seeds;
#[path = "../../clew-capture/tests/capture/support.rs"]
#[allow(dead_code, reason = "the capture tests use the rest")]
mod support;
#[path = "fuzz/tunnels.rs"]
mod tunnels;

#[path = "../../../fuzz/src/lib.rs"]
mod targets;

use clew_keys::TextFile;
use std::collections::BTreeSet;
use std::hash::{BuildHasher, RandomState};
use std::path::PathBuf;
use std::{env, fs};

use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use targets::TARGETS;

#[test]
fn batch() {
    run("batch", 60);
}

#[test]
fn carriers() {
    run("carriers", 10_000);
}

#[test]
fn coded_packets() {
    run("coded_packets", 3_000);
}

#[test]
fn container() {
    run("container", 4_000);
}

#[test]
fn effs() {
    run("effs", 2_000);
}

#[test]
fn flow_descriptor() {
    run("flow_descriptor", 20_000);
}

#[test]
fn flow_file() {
    run("flow_file", 2_000);
}

#[test]
fn flow_manifests() {
    run("flow_manifests", 2_000);
}

#[test]
fn flow_proof() {
    run("flow_proof", 2_000);
}

#[test]
fn flow_rtp() {
    run("flow_rtp", 50_000);
}

#[test]
fn flow_packets() {
    run("flow_packets", 300);
}

#[test]
fn frame() {
    run("frame", 50_000);
}

#[test]
fn group_file() {
    run("group_file", 3_000);
}

#[test]
fn key_file() {
    run("key_file", 10_000);
}

#[test]
fn public_key() {
    run("public_key", 1_000);
}

#[test]
fn member_key() {
    run("member_key", 1_000);
}

#[test]
fn signature() {
    run("signature", 3_000);
}

#[test]
fn trailer() {
    run("trailer", 50_000);
}

#[test]
fn tunnel_engine() {
    run("tunnel_engine", 1_500);
}

#[test]
fn tunnel_packet() {
    run("tunnel_packet", 20_000);
}

#[test]
fn tunnel_puzzle() {
    run("tunnel_puzzle", 10_000);
}

#[test]
fn tunnel_record() {
    run("tunnel_record", 10_000);
}

#[test]
fn tunnel_rpc() {
    run("tunnel_rpc", 50_000);
}

#[test]
fn join() {
    run("join", 3_000);
}

#[test]
fn join_file() {
    run("join_file", 3_000);
}

#[test]
fn locator() {
    run("locator", 3_000);
}

#[test]
fn log_entry() {
    run("log_entry", 5_000);
}

#[test]
fn request_post() {
    run("request_post", 10_000);
}

#[test]
fn log_note() {
    run("log_note", 5_000);
}

#[test]
fn log_tile() {
    run("log_tile", 10_000);
}

#[test]
fn witness_file() {
    run("witness_file", 3_000);
}

#[test]
fn key_payload() {
    run("key_payload", 3_000);
}

#[test]
fn matching() {
    run("matching", 600);
}

#[test]
fn opening() {
    run("opening", 600);
}

#[test]
fn quorum() {
    run("quorum", 3_000);
}

#[test]
fn register_file() {
    run("register_file", 2_000);
}

#[test]
fn steps() {
    run("steps", 1_000);
}

#[test]
fn row() {
    run("row", 5_000);
}

#[test]
fn share() {
    run("share", 3_000);
}

#[test]
fn every_target_is_a_program() {
    let read = fs::read_dir(fuzz_folder().join("fuzz_targets")).unwrap();
    let files = read.map(|entry| entry.unwrap().path());
    let programs: BTreeSet<_> = files
        .map(|path| path.file_stem().unwrap().to_string_lossy().into_owned())
        .collect();
    let targets: BTreeSet<_> = TARGETS.iter().map(|(name, _)| (*name).to_owned()).collect();
    assert_eq!(programs, targets);
}

/// A seed that nothing reads would make mutations of it worth little.
#[test]
fn made_seeds_are_read() {
    use clew_evidence::{Share, armor};
    use clew_group::Witness;
    use clew_group::quorum::{
        Blind, Blinding, Broadcast, DealtShare, Decryption, SecretShare, Trustee,
    };
    use clew_group::xr::{Device, JoinRequest, Offer};
    let join = made::seeds("join");
    assert!(JoinRequest::from_bytes(&join[0]).is_ok());
    assert!(Offer::from_bytes(&join[1]).is_ok());
    assert!(Device::from_bytes(&join[2]).is_ok());
    assert!(Witness::from_bytes(&join[3]).is_ok());
    let (quorum, one) = (made::seeds("quorum"), Trustee::new(1).unwrap());
    assert!(Broadcast::from_bytes(&quorum[0]).is_ok());
    assert!(DealtShare::from_bytes(&quorum[1]).is_ok());
    assert!(Decryption::from_bytes(&quorum[2]).is_ok());
    assert!(SecretShare::from_bytes(one, &quorum[3]).is_ok());
    assert!(Blind::from_bytes(&quorum[5]).is_ok());
    assert!(Blinding::from_bytes(one, &quorum[5]).is_ok());
    let shares = made::seeds("share");
    assert_eq!(shares.len(), 2 + 6 + 2);
    for seed in shares {
        assert!(Share::decode(&armor::encode("", "clew-share-1", &seed)).is_ok());
    }
    assert_eq!(seeds::of("coded_packets").len(), 4 + 11);
    for seed in flows::seeds() {
        let (descriptor, acceptance) = (targets::flow::descriptor(), Default::default());
        let mut receiver = clew_flow::FlowReceiver::new([descriptor], acceptance).unwrap();
        let first = usize::from(u16::from_be_bytes([seed[0], seed[1]]));
        let finding = receiver.receive(&seed[2..2 + first], targets::flow::NOW, 0);
        assert_eq!(finding.packet, b"a packet");
    }
    for seed in flows::proofs() {
        let proof = clew::flow::proof::Proof::from_bytes(&seed).unwrap();
        assert_eq!(proof.verify(), clew_flow::Reason::Ok);
    }
    for seed in flows::files() {
        let flows = clew::flow::schemes::Flows::new(vec![targets::flow::descriptor()]);
        let verified = clew::flow::file::verify(&seed[..], Vec::new(), &flows, None).unwrap();
        assert!(verified.ended && verified.bytes == 6);
    }
    assert!(clew_flow::rtp::unpadded(&flows::padded()).is_some());
    tunnels::seeds_are_read();
    for seed in made::seeds("key_payload").chunks(3) {
        let text = |i: usize, label| armor::encode("", label, &seed[i]);
        let (member, issuer) = (text(0, "clew-member-key-1"), text(1, "clew-issuer-key-1"));
        assert!(clew_keys::MemberKeyFile::decode(&member).is_ok());
        assert!(clew_keys::IssuerKeyFile::decode(&issuer).is_ok());
    }
}

#[test]
#[ignore = "writes fuzz/corpus, for cargo fuzz"]
fn corpus() {
    for (name, _) in TARGETS {
        let folder = fuzz_folder().join("corpus").join(name);
        fs::create_dir_all(&folder).unwrap();
        for (number, seed) in seeds::of(name).into_iter().enumerate() {
            fs::write(folder.join(format!("seed-{number}")), seed).unwrap();
        }
    }
}

fn fuzz_folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fuzz")
}

/// Runs a target over its seeds, then over mutations.
fn run(name: &str, rounds: u64) {
    let (_, target) = TARGETS.iter().find(|(n, _)| *n == name).unwrap();
    let seeds = seeds::of(name);
    assert!(!seeds.is_empty(), "{name} has no seeds");
    seeds.iter().for_each(|seed| target(seed));
    let seed = number("CLEW_SEED").unwrap_or_else(|| RandomState::new().hash_one(0));
    println!("CLEW_SEED={seed} repeats this run");
    let mut rng = ChaCha20Rng::seed_from_u64(seed);
    for _ in 0..rounds * number("CLEW_ROUNDS").unwrap_or(1) {
        let mut data = seeds[below(&mut rng, seeds.len())].clone();
        mutate(&mut rng, &mut data);
        target(&data);
    }
}

fn number(variable: &str) -> Option<u64> {
    let text = env::var(variable).ok()?;
    Some(text.parse().expect("it is a number"))
}

/// One to four edits; half of them in the last bytes, where a trailer says what it is.
fn mutate(rng: &mut ChaCha20Rng, data: &mut Vec<u8>) {
    for _ in 0..=below(rng, 4) {
        if data.is_empty() {
            return;
        }
        let reach = [data.len(), data.len().min(50)][below(rng, 2)];
        let at = data.len() - 1 - below(rng, reach);
        let end = (at + below(rng, 64)).min(data.len());
        match below(rng, 12) {
            0 => data.truncate(at),
            1 => data.insert(at, rng.next_u32() as u8),
            2 => drop(data.drain(at..end)),
            3 => data.extend_from_within(at..end),
            4 => data[at..end].fill(0xff),
            5 => data[at] = [0, 1, 0x7f, 0x80, 0xff][below(rng, 5)],
            6 | 7 => data[at] = rng.next_u32() as u8,
            _ => data[at] ^= 1 << below(rng, 8),
        }
    }
}

fn below(rng: &mut ChaCha20Rng, limit: usize) -> usize {
    rng.next_u32() as usize % limit
}
