//! Live traffic in captures: packets in UDP datagrams, whole and in fragments.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail the test")]

use clew_engine::{Arrival, Keyring, Rules, Totals, Verifier};
use clew_evidence::GroupFile;
use clew_keys::{MemberKeyFile, TextFile};
use clew_packet::{
    Candidate, Carrier, Frame, LinkType, Mode, Policy, Reason, SECOND_NS, Sender, Timestamp,
    Verdict, fragment,
};
use getrandom::SysRng;
use getrandom::rand_core::UnwrapErr;

const NOW: Timestamp = Timestamp(1_795_000_000_000_000_000);

fn os() -> UnwrapErr<SysRng> {
    UnwrapErr(SysRng)
}

fn verifier(keyring: &Keyring, rules: Rules) -> Verifier<&Keyring, Arrival> {
    Verifier::new(keyring, rules)
}

fn keyring() -> Keyring {
    let group = GroupFile::from_bytes(include_bytes!("example/group.clew"));
    Keyring::from(group.unwrap())
}

/// A frame around an IPv4 packet of UDP.
fn udp(ports: [u16; 2], payload: &[u8]) -> Vec<u8> {
    let length = payload.len() as u16;
    let mut bytes = vec![0x45, 0];
    bytes.extend((length + 28).to_be_bytes());
    bytes.extend([0, 0, 0x40, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
    ports
        .iter()
        .for_each(|port| bytes.extend(port.to_be_bytes()));
    bytes.extend((length + 8).to_be_bytes());
    bytes.extend([0, 0]);
    bytes.extend(payload);
    bytes
}

/// The payloads of datagrams with one block of packets.
fn block(count: u8, policy: Policy) -> Vec<Vec<u8>> {
    let key = MemberKeyFile::decode(include_str!("example/sensor-1.key")).unwrap();
    let held = &key.epochs[0];
    let sender = Sender::new(key.scheme(), key.group, held.epoch, policy);
    let sender = sender.with_carrier(Carrier::UdpTunnel);
    let packets: Vec<Vec<u8>> = (0..count).map(|i| udp([7, 8], &[i; 900])).collect();
    let admit = |packet| -> Candidate<'_> {
        let frame = Frame::whole(LinkType::RAW, packet);
        sender
            .admit(&frame, Mode::Tree, count.into(), &mut Vec::new())
            .unwrap()
    };
    let candidates: Vec<Candidate<'_>> = packets.iter().map(|p| admit(p.as_slice())).collect();
    let mut outs = vec![Vec::new(); packets.len()];
    let signing = key.signing_key(held).unwrap();
    let precursor = || signing.precursor(&mut os());
    let id = std::array::from_fn(|i| i as u8 + count);
    let signed = sender.sign_block(&candidates, Some(NOW), id, precursor, &mut outs);
    signed.unwrap();
    outs
}

fn arrival(payload: &[u8], ns: u64) -> Arrival {
    Arrival {
        link: LinkType::RAW,
        bytes: udp([4909, 4909], payload),
        time: NOW.after(ns),
    }
}

/// The frames of a datagram's fragments.
fn cut(datagram: &[u8], most: usize) -> Vec<Arrival> {
    let mut out = Vec::new();
    let segment = fragment::split(datagram, most, Some(&[3; 16]), &mut out).unwrap();
    out.chunks(segment)
        .map(|payload| arrival(payload, 0))
        .collect()
}

/// What becomes of batches of frames.
fn verdicts_of(batches: Vec<Vec<Arrival>>, rules: Rules) -> (Vec<Reason>, Totals) {
    let keyring = keyring();
    let mut verifier = verifier(&keyring, rules);
    let mut judged = Vec::new();
    for batch in batches {
        judged.extend(verifier.push(batch, NOW, &os));
    }
    judged.extend(verifier.finish());
    let reasons = judged
        .iter()
        .map(|(_, conclusion)| conclusion.unwrap().reason);
    let (reasons, totals) = (reasons.collect::<Vec<_>>(), verifier.totals());
    assert_eq!(totals.packets, reasons.len() as u64);
    for reason in Reason::ALL {
        let count = reasons.iter().filter(|r| **r == reason).count();
        assert_eq!(totals.reasons.of(reason), count as u64, "{reason}");
    }
    (reasons, totals)
}

fn verdicts(batches: Vec<Vec<Arrival>>) -> Vec<Reason> {
    verdicts_of(batches, Rules::capture()).0
}

#[test]
fn fragments_have_the_verdict_of_their_packet() {
    let datagram = &block(1, Policy::default())[0];
    let frames = cut(datagram, 500);
    assert_eq!(frames.len(), 3);
    let all = |order: [usize; 3]| order.map(|i| frames[i].clone()).to_vec();
    for order in [[0, 1, 2], [2, 1, 0], [1, 2, 0]] {
        assert_eq!(verdicts(vec![all(order)]), [Reason::Ok; 3], "in one batch");
        let each = all(order).into_iter().map(|frame| vec![frame]).collect();
        assert_eq!(verdicts(each), [Reason::Ok; 3], "in three batches");
    }
    // A packet that was changed before it was cut.
    let mut changed = datagram.clone();
    changed[100] ^= 1;
    assert_eq!(
        verdicts(vec![cut(&changed, 500)]),
        [Reason::BadSignature; 3]
    );
}

#[test]
fn others_are_not_held_up_longer_than_fragments_are_kept() {
    let datagrams = block(2, Policy::default());
    let frames = cut(&datagrams[0], 500);
    let whole = |ns| arrival(&datagrams[1], ns);
    let keyring = keyring();
    let mut verifier = verifier(&keyring, Rules::capture());
    let first = verifier.push(vec![frames[0].clone(), whole(0)], NOW, &os);
    assert_eq!(first.len(), 0, "the fragment waits");
    let then = verifier.push(vec![whole(SECOND_NS)], NOW, &os);
    assert_eq!(then.len(), 0, "still");
    let then = verifier.push(vec![whole(SECOND_NS + 1)], NOW, &os);
    let reasons: Vec<Reason> = then.iter().map(|(_, c)| c.unwrap().reason).collect();
    let repeated = [Reason::Duplicate; 2];
    assert_eq!(
        reasons,
        [&[Reason::MissingFragment, Reason::Ok][..], &repeated].concat()
    );
    assert_eq!(then[0].1.unwrap().verdict, Verdict::Undecided);
}

#[test]
fn a_packet_without_all_fragments_is_undecided_at_the_end() {
    let datagram = &block(1, Policy::default())[0];
    let mut frames = cut(datagram, 500);
    frames.remove(1);
    assert_eq!(verdicts(vec![frames]), [Reason::MissingFragment; 2]);
}

#[test]
fn copies_of_fragments_have_the_packets_verdict_and_altered_ones_have_not() {
    let datagram = &block(1, Policy::default())[0];
    let [a, b, c]: [Arrival; 3] = cut(datagram, 500).try_into().unwrap();
    // From two places of the path, as a capture on all interfaces has it.
    let doubled = vec![
        a.clone(),
        a.clone(),
        b.clone(),
        b.clone(),
        c.clone(),
        c.clone(),
    ];
    assert_eq!(verdicts(vec![doubled.clone()]), [Reason::Ok; 6]);
    let each = doubled.iter().map(|frame| vec![frame.clone()]).collect();
    assert_eq!(
        verdicts(each),
        [Reason::Ok; 6],
        "the packet left before its last copy came"
    );
    let altered = |frame: &Arrival| {
        let mut frame = frame.clone();
        *frame.bytes.last_mut().unwrap() ^= 1;
        frame
    };
    let frames = vec![
        a.clone(),
        altered(&a),
        altered(&c),
        b.clone(),
        c.clone(),
        altered(&b),
    ];
    // The altered last part came first: the packet is lost, and nothing false is said.
    let (ok, bad, missing) = (Reason::Ok, Reason::BadFragment, Reason::MissingFragment);
    let expected = [missing, bad, missing, bad, bad, bad];
    assert_eq!(verdicts(vec![frames]), expected);
    let frames = vec![
        a.clone(),
        altered(&a),
        b.clone(),
        altered(&b),
        altered(&c),
        c.clone(),
    ];
    assert_eq!(verdicts(vec![frames]), [ok, bad, ok, bad, bad, ok]);
    let live = Rules::live(NOW.floor(SECOND_NS));
    let duplicate = Reason::Duplicate;
    // A sender may send the last part twice.
    let expected = [ok, duplicate, ok, duplicate, ok, ok];
    assert_eq!(verdicts_of(vec![doubled], live).0, expected);
}

#[test]
fn fragments_of_a_coded_block_wait_for_its_signature() {
    let policy = Policy {
        coded: true,
        ..Policy::default()
    };
    let frames: Vec<Arrival> = block(12, policy)
        .iter()
        .flat_map(|datagram| cut(datagram, 700))
        .collect();
    assert_eq!(frames.len(), 24);
    assert_eq!(verdicts(vec![frames.clone()]), [Reason::Ok; 24]);
    let batches = frames.chunks(5).map(<[Arrival]>::to_vec).collect();
    assert_eq!(verdicts(batches), [Reason::Ok; 24]);
    let reasons = verdicts(vec![frames[..6].to_vec()]);
    assert_eq!(reasons, [Reason::TooFewShares; 6]);
}

#[test]
fn a_cookie_and_garbage_are_no_packets() {
    let mut cookie = Vec::new();
    clew_packet::datagram::write_cookie(&[1; 16], &[2; 16], &mut cookie);
    let mut fragment = cookie.clone();
    fragment[5] = 3;
    let frames = vec![
        arrival(&cookie, 0),
        arrival(&fragment, 0),
        arrival(&cookie[..5], 0),
    ];
    let expected = [
        Reason::Cookie,
        Reason::BadFragment,
        Reason::BadCarrierLength,
    ];
    assert_eq!(verdicts(vec![frames]), expected);
}
