//! Capture files through the whole pipeline, as an auditor or a binding calls it.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail the test")]

use clew_capture::{Input, ReadAhead, Reader, Record};
use clew_engine::captures::{self, Error, Oversize, SignReport, VerifyReport};
use clew_engine::{Arrival, AsFrame, Cover, Keyring, Options, Rules, SignError, Signer, Signers};
use clew_engine::{TimeSource, Verifier, WindowSize};
use clew_evidence::GroupFile;
use clew_keys::{MemberKeyFile, TextFile};
use clew_packet::{Conclusion, LinkType, Policy, Reason, SignOutcome, Timestamp, Verdict};
use getrandom::SysRng;
use getrandom::rand_core::UnwrapErr;
use std::io::Cursor;
use std::sync::Arc;

const CAPTURE: &[u8] = include_bytes!("../../clew/tests/captures/tcpdump--quic_handshake.pcap");
/// Where the first record of a pcap has its packet's length on the wire.
const WIRE_LEN: std::ops::Range<usize> = 24 + 12..24 + 16;
const NOW: Timestamp = Timestamp(1_795_000_000_000_000_000);

fn os() -> UnwrapErr<SysRng> {
    UnwrapErr(SysRng)
}

fn read(bytes: &[u8]) -> ReadAhead {
    let reader = Reader::new(Cursor::new(bytes.to_vec())).unwrap();
    ReadAhead::new(reader, Input::File, Arc::default(), drop)
}

fn signers(cover: Cover, policy: Policy) -> Signers {
    let key = MemberKeyFile::decode(include_str!("example/sensor-1.key")).unwrap();
    let machine = Signer::new(key, Vec::new(), policy, NOW).unwrap();
    let time = TimeSource::Frame;
    Signers::new(vec![machine], Options { cover, time })
}

fn keyring() -> Keyring {
    let group = GroupFile::from_bytes(include_bytes!("example/group.clew"));
    Keyring::from(group.unwrap())
}

fn sign(cover: Cover, policy: Policy) -> Result<(SignReport, Vec<u8>), Error> {
    let (signers, pass) = (signers(cover, policy), Oversize::Pass);
    captures::sign(&mut read(CAPTURE), Vec::new(), &signers, pass, || NOW, &os)
}

fn verify(capture: &[u8], rules: Rules) -> (VerifyReport, Vec<(Record, Option<Conclusion>)>) {
    let (keyring, mut all) = (keyring(), Vec::new());
    let verifier = Verifier::new(&keyring, rules);
    let each = |record, conclusion| {
        all.push((record, conclusion));
        Ok(())
    };
    let verified = captures::verify(&mut read(capture), verifier, || NOW, &os, each);
    (verified.unwrap(), all)
}

#[test]
fn what_is_signed_is_valid_and_can_be_stripped() {
    let coded = Policy {
        coded: true,
        ..Policy::default()
    };
    for (cover, policy) in [
        (Cover::Each, Policy::default()),
        (Cover::Window(WindowSize::Adaptive), Policy::default()),
        (Cover::Tree(0), Policy::default()),
        (Cover::Tree(64), coded),
    ] {
        let (signed, bytes) = sign(cover, policy).unwrap();
        let count = signed.of(SignOutcome::Signed);
        assert!(count > 10 && signed.damage.is_none(), "{cover:?}");
        let (verified, all) = verify(&bytes, Rules::capture());
        assert_eq!(verified.totals.of(Verdict::Valid), count, "{cover:?}");
        assert_eq!(verified.totals.packets, signed.packets);
        assert_eq!(verified.totals.signed_by.len(), 1);
        let written: Vec<u8> = all.iter().flat_map(|(r, _)| r.bytes()).copied().collect();
        assert!(written == bytes, "every record, in order");
        let restored = captures::strip(&mut read(&bytes), Vec::new());
        assert!(restored.unwrap().1 == CAPTURE);
    }
}

/// A record whose wire length cannot shrink by the trailer, as no signer writes it.
#[test]
fn a_packet_that_cannot_be_stripped_is_counted_and_kept() {
    let (signed, mut bytes) = sign(Cover::Each, Policy::default()).unwrap();
    let count = signed.of(SignOutcome::Signed);
    bytes[WIRE_LEN].fill(0);
    let (report, stripped) = captures::strip(&mut read(&bytes), Vec::new()).unwrap();
    assert_eq!((report.stripped, report.kept), (count - 1, 1));
    let kept = read(&bytes).next_batch().unwrap().unwrap();
    let first = stripped.get(WIRE_LEN.end..).unwrap();
    assert!(first.starts_with(kept[0].data()));
}

#[test]
fn a_refusal_names_the_packet() {
    let small = Policy {
        mtu: Some(500),
        ..Policy::default()
    };
    let (signers, refuse) = (signers(Cover::Each, small), Oversize::Refuse);
    let signed = captures::sign(
        &mut read(CAPTURE),
        Vec::new(),
        &signers,
        refuse,
        || NOW,
        &os,
    );
    assert!(matches!(
        signed,
        Err(Error::Oversize(1, SignOutcome::Offload))
    ));
}

#[test]
fn what_cannot_be_signed_is_an_error_and_not_a_silence() {
    let packet = |i: u16| {
        let header = [0x60, 0, 0, 0, 0, 2, 132, 64];
        Arrival {
            link: LinkType::RAW,
            bytes: [&header[..], &[1; 32], &i.to_be_bytes()].concat(),
            time: NOW,
        }
    };
    let batch: Vec<Arrival> = (0..1025).map(packet).collect();
    let signers = signers(Cover::Tree(u16::MAX), Policy::default());
    let refused = signers.sign(&batch, NOW, &os);
    assert_eq!(refused, Err(SignError::NotABlock(1025)));
    assert!(signers.sign(&batch[1..], NOW, &os).is_ok());
}

#[test]
fn time_that_goes_on_ends_waiting() {
    let coded = Policy {
        coded: true,
        ..Policy::default()
    };
    let bytes = sign(Cover::Tree(64), coded).unwrap().1;
    let shares = Reader::new(&bytes[..]).unwrap().map(Result::unwrap);
    let is_coded = |record: &Record| {
        let frame = record.as_frame().map(|(frame, _)| frame);
        frame.is_some_and(|frame| {
            clew_packet::read(&frame).is_ok_and(|p| p.trailer().coded().is_some())
        })
    };
    let one: Vec<Record> = shares.filter(is_coded).take(1).collect();
    let time = one[0].as_frame().unwrap().1.unwrap();
    let keyring = Arc::new(keyring());
    let mut verifier = Verifier::new(Arc::clone(&keyring), Rules::live(Timestamp::NONE));
    assert!(verifier.push(one, time, &os).is_empty());
    let later = verifier.push(Vec::new(), time.after(60_000_000_000), &os);
    assert_eq!(later[0].1.unwrap().reason, Reason::TooFewShares);
    assert!(verifier.finish().is_empty() && keyring.defects().is_empty());
}

fn packets(bytes: &[u8]) -> Vec<Record> {
    let records = Reader::new(bytes).unwrap().map(Result::unwrap);
    records.filter(|record| record.packet().is_some()).collect()
}

fn reasons(judged: Vec<(Record, Option<Conclusion>)>) -> Vec<Reason> {
    let conclusions = judged.into_iter().filter_map(|(_, conclusion)| conclusion);
    conclusions.map(|conclusion| conclusion.reason).collect()
}

/// What a tap saw of a block is given up, and what comes of it later is judged all the same.
#[test]
fn an_observer_ends_waiting_when_it_wants() {
    let coded = Policy {
        coded: true,
        ..Policy::default()
    };
    let bytes = sign(Cover::Tree(64), coded).unwrap().1;
    let mut verifier = Verifier::new(keyring(), Rules::tap());
    let mut given_up = 0;
    let mut all = Vec::new();
    for packet in packets(&bytes) {
        all.extend(reasons(verifier.push(vec![packet], NOW, &os)));
        if verifier.held() > 0 && given_up == 0 {
            assert!(verifier.give_up(verifier.held()).is_empty());
            let late = reasons(verifier.give_up(0));
            assert_eq!((late, verifier.held()), (vec![Reason::TooFewShares], 0));
            given_up += 1;
        }
    }
    all.extend(reasons(verifier.finish()));
    assert_eq!(given_up, 1);
    assert_eq!(all.len() + given_up, packets(&bytes).len());
    assert!(all.contains(&Reason::Ok), "{all:?}");
}

#[test]
fn an_observer_remembers_what_is_fresh() {
    let bytes = sign(Cover::Each, Policy::default()).unwrap().1;
    let packets = || packets(&bytes);
    let mut verifier = Verifier::new(keyring(), Rules::tap());
    let last = packets().last().unwrap().as_frame().unwrap().1.unwrap();
    let mut seen = |stale: Option<Timestamp>| {
        stale.into_iter().for_each(|now| verifier.forget_stale(now));
        let judged = verifier.push(packets(), NOW, &os);
        let is_valid = |c: Option<Conclusion>| c.is_some_and(|c| c.verdict == Verdict::Valid);
        assert!(judged.iter().all(|(_, c)| is_valid(*c)));
        let reasons = reasons(judged);
        assert!(
            reasons.iter().all(|reason| *reason == reasons[0]),
            "{reasons:?}"
        );
        reasons[0]
    };
    assert_eq!(seen(None), Reason::Ok);
    assert_eq!(seen(None), Reason::Duplicate);
    assert_eq!(seen(Some(last)), Reason::Duplicate);
    assert_eq!(seen(Some(last.after(40_000_000_000))), Reason::Ok);
}
