//! Openings and matches that hold, and one that breaks each rule of `spec/opening.md` sections 6 and 7.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail the test")]

mod common;

use clew_evidence::{
    Caveat, Fault, GroupFile, JudgeRule, Match, Opening, Packet, Request, Share, Step, judge_match,
    judge_opening,
};
use clew_group::curve::G1;
use clew_group::quorum::Trustee;
use common::evidence::{set, trustee};
use common::{BBS04, EPOCH, REVOKED, World, XR};

fn worlds() -> [&'static World; 2] {
    [&BBS04, &XR]
}

fn fault(rule: JudgeRule) -> Fault {
    Fault::from(rule)
}

fn blamed(rule: JudgeRule, trustee: Trustee) -> Fault {
    Fault {
        rule,
        trustee: Some(trustee),
    }
}

/// Judges an opening of machine 0 after a change.
fn opening_fault(world: &World, change: impl FnOnce(&mut Opening)) -> Fault {
    let mut opening = world.opening(0);
    change(&mut opening);
    judge_opening(&world.group, &opening, &world.packet(0)).unwrap_err()
}

/// Judges a match that says yes about machine 0 after a change.
fn match_fault(change: impl FnOnce(&mut Match)) -> Fault {
    let mut matched = XR.matched(0, 0, &[2, 4]).evidence;
    change(&mut matched);
    judge_match(&XR.group, &matched, &XR.packet(0)).unwrap_err()
}

#[test]
fn an_opening_names_the_machine_and_what_it_cannot_say() {
    for (world, caveats) in [
        (&*BBS04, &[Caveat::IssuerCouldSign, Caveat::Dealt][..]),
        (&*XR, &[]),
    ] {
        for machine in 0..common::MACHINES {
            let opening = world.opening(machine);
            let text = opening.encode();
            assert!(text.len() <= 16 * 1024 && text.contains("\nclew-opening-1 "));
            assert_eq!(Opening::decode(&text, &world.group), Ok(opening.clone()));
            let judged = judge_opening(&world.group, &opening, &world.packet(machine)).unwrap();
            assert_eq!(judged.machine, world.entries[machine].name);
            assert_eq!((judged.epoch, judged.signed), (EPOCH, true));
            let later = Caveat::RevokedLater { epoch: 3 };
            let revoked = (machine == REVOKED).then_some(later);
            let expected: Vec<Caveat> = caveats.iter().copied().chain(revoked).collect();
            assert_eq!(judged.caveats, expected);
        }
    }
}

#[test]
fn a_match_says_yes_or_no() {
    for (sender, asked_for) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
        for who in [&[1, 2][..], &[2, 3, 4]] {
            let matched = XR.matched(sender, asked_for, who).evidence;
            let text = matched.encode();
            assert_eq!(Match::decode(&text, &XR.group), Ok(matched.clone()));
            let judged = judge_match(&XR.group, &matched, &XR.packet(sender)).unwrap();
            assert_eq!(judged.signed, sender == asked_for);
            assert_eq!(judged.machine, XR.entries[asked_for].name);
            let revoked = judged.signed && asked_for == REVOKED;
            assert_eq!(judged.caveats.len(), usize::from(revoked));
        }
    }
}

#[test]
fn opening_layout() {
    let layout = fault(JudgeRule::Layout);
    for world in worlds() {
        assert_eq!(opening_fault(world, |o| o.shares.truncate(1)), layout);
        assert_eq!(opening_fault(world, |o| o.shares.swap(0, 1)), layout);
        let twice = opening_fault(world, |o| o.shares[1].0 = o.shares[0].0);
        assert_eq!(twice, layout);
        let above_n = opening_fault(world, |o| o.shares[1].0 = trustee(5));
        assert_eq!(above_n, layout);
        assert_eq!(opening_fault(world, |o| o.shares[0].1.clear()), layout);
        let no_point = opening_fault(world, |o| o.row.entry.credential = [1; 48]);
        assert_eq!(no_point, layout);
        let a_match = opening_fault(world, |o| o.request = XR.match_request(0, 0));
        assert_eq!(
            a_match.rule == JudgeRule::Layout,
            world.group.id() == XR.group.id()
        );
        let longer = o_with_trailing_byte(world);
        assert_eq!(longer, "layout");
    }
    let commitment = opening_fault(&XR, |o| {
        o.row.entry.device.as_mut().unwrap().commitment = [1; 48];
    });
    assert_eq!(commitment, layout);
}

fn o_with_trailing_byte(world: &World) -> &'static str {
    let text = world.opening(0).encode();
    let payload = clew_evidence::armor::decode(&text, "clew-opening-1").unwrap();
    let longer = [&payload[..], &[0]].concat();
    let text = clew_evidence::armor::encode("", "clew-opening-1", &longer);
    Opening::decode(&text, &world.group).unwrap_err().as_str()
}

#[test]
fn group() {
    let changes: [fn(&mut Request); 4] = [
        |r| r.group.0[0] ^= 1,
        |r| r.epoch = 1,
        |r| r.epoch = 9,
        |r| r.epoch_id.0[0] ^= 1,
    ];
    for change in changes {
        for world in worlds() {
            let found = opening_fault(world, |o| change(&mut o.request));
            assert_eq!(found, fault(JudgeRule::Group));
            let mut opening = world.opening(0);
            change(&mut opening.request);
            let read = Opening::decode(&opening.encode(), &world.group);
            assert_eq!(read.unwrap_err().as_str(), "group");
        }
        let found = match_fault(|m| change(&mut m.request));
        assert_eq!(found, fault(JudgeRule::Group));
    }
    let other_scheme = opening_fault(&XR, |o| o.request.scheme = clew_group::Scheme::Bbs04);
    assert_eq!(other_scheme, fault(JudgeRule::Group));
    let other = judge_opening(&BBS04.group, &XR.opening(0), &XR.packet(0));
    assert_eq!(other, Err(fault(JudgeRule::Group)));
    // A sharing of the epoch that does not decode is the group file's fault.
    let broken = XR.with(|_, e| {
        if let clew_evidence::Change::Sharing(new) = &mut e[1].change {
            new.sharing.commitments[47] ^= 1;
        }
    });
    let broken = GroupFile::from_bytes(&broken).unwrap();
    let mut opening = XR.opening(0);
    opening.request.epoch_id = broken.epoch_id(EPOCH).unwrap();
    let found = judge_opening(&broken, &opening, &XR.packet(0));
    assert_eq!(found, Err(fault(JudgeRule::Group)));
}

#[test]
fn packet() {
    for world in worlds() {
        let opening = world.opening(0);
        let wrong = [
            world.packet(1),
            Packet {
                message: b"another message",
                ..world.packet(0)
            },
            Packet {
                epoch: EPOCH + 1,
                ..world.packet(0)
            },
        ];
        for packet in wrong {
            let found = judge_opening(&world.group, &opening, &packet);
            assert_eq!(found, Err(fault(JudgeRule::Packet)));
        }
    }
    let matched = XR.matched(0, 0, &[1, 2]).evidence;
    let found = judge_match(&XR.group, &matched, &XR.packet(1));
    assert_eq!(found, Err(fault(JudgeRule::Packet)));
}

#[test]
fn signature() {
    for world in worlds() {
        for (message, flip) in [(&b"not what was signed"[..], 0), (common::MESSAGE, 1)] {
            let mut body = world.bodies[0].clone();
            *body.last_mut().unwrap() ^= flip;
            let packet = Packet {
                epoch: EPOCH,
                message,
                body: &body,
            };
            let mut opening = world.opening(0);
            opening.request.packet = packet.digest();
            let found = judge_opening(&world.group, &opening, &packet);
            assert_eq!(found, Err(fault(JudgeRule::Signature)));
        }
    }
    let short = Packet {
        body: &XR.bodies[0][..100],
        ..XR.packet(0)
    };
    let mut matched = XR.matched(0, 0, &[1, 2]).evidence;
    matched.request.packet = short.digest();
    let found = judge_match(&XR.group, &matched, &short);
    assert_eq!(found, Err(fault(JudgeRule::Signature)));
}

#[test]
fn opening_share() {
    let rule = JudgeRule::Share;
    for world in worlds() {
        let swapped = opening_fault(world, |o| {
            let first = o.shares[0].1.clone();
            o.shares[1].1 = first;
        });
        assert_eq!(swapped, blamed(rule, trustee(3)));
        // Proofs bind the request: another warrant is another request.
        let other = opening_fault(world, |o| o.request.warrant = None);
        assert_eq!(other, blamed(rule, trustee(1)));
    }
    let parts = opening_fault(&BBS04, |o| o.shares[1].1.swap(0, 1));
    assert_eq!(parts, blamed(rule, trustee(3)));
}

#[test]
fn register() {
    let rule = fault(JudgeRule::Register);
    for world in worlds() {
        let hashes = opening_fault(world, |o| o.row.proof.hashes[0][0] ^= 1);
        assert_eq!(hashes, rule);
        let late = opening_fault(world, |o| {
            let mut entry = o.row.entry.clone();
            entry.joined = EPOCH + 1;
            common::resign(&mut entry, world.group.id(), &world.device_key(0));
            o.row = world.lone_row(entry, world.group.last_id());
            assert!(o.row.is_in_register_of(&world.group));
        });
        assert_eq!(late, rule);
    }
    let hashes = match_fault(|m| m.row.proof.hashes[0][0] ^= 1);
    assert_eq!(hashes, rule);
    let other_machine = match_fault(|m| m.row = XR.row(1));
    assert_eq!(other_machine, rule);
}

#[test]
fn device() {
    let unsigned = opening_fault(&XR, |o| {
        let mut entry = o.row.entry.clone();
        entry.device.as_mut().unwrap().signature[0] ^= 1;
        o.row = XR.lone_row(entry, XR.group.last_id());
    });
    assert_eq!(unsigned, fault(JudgeRule::Device));
    let another = match_fault(|m| {
        let mut entry = m.row.entry.clone();
        entry.device.as_mut().unwrap().key = XR.device_key(1).verifying_key().to_bytes();
        m.row = XR.lone_row(entry, XR.group.last_id());
        let machine = m.row.entry.leaf_hash();
        m.request.question = clew_evidence::Question::Match { machine };
    });
    assert_eq!(another, fault(JudgeRule::Device));
}

#[test]
fn credential() {
    for world in worlds() {
        let other_row = opening_fault(world, |o| o.row = world.row(1));
        assert_eq!(other_row, fault(JudgeRule::Credential));
    }
    let other = match_fault(|m| m.credential = XR.credentials[1].to_bytes());
    assert_eq!(other, fault(JudgeRule::Credential));
}

#[test]
fn match_layout() {
    let layout = fault(JudgeRule::Layout);
    assert_eq!(match_fault(|m| m.set = set(&[2])), layout);
    assert_eq!(match_fault(|m| m.set = set(&[2, 5])), layout);
    assert_eq!(match_fault(|m| m.blinds.truncate(1)), layout);
    assert_eq!(match_fault(|m| m.decryptions.truncate(1)), layout);
    assert_eq!(match_fault(|m| m.credential = [1; 48]), layout);
    assert_eq!(match_fault(|m| m.request = XR.request(0)), layout);
    let a_match = XR.matched(0, 0, &[1, 2]).evidence;
    let mut as_opening = a_match.clone();
    as_opening.request = XR.request(0);
    let read = Match::decode(&as_opening.encode(), &XR.group);
    assert_eq!(read.unwrap_err().as_str(), "layout");
    let read = Opening::decode(&a_match.encode(), &XR.group);
    assert_eq!(read.unwrap_err().as_str(), "label");
}

#[test]
fn blind() {
    let swapped = match_fault(|m| m.blinds.swap(0, 1));
    assert_eq!(swapped, blamed(JudgeRule::Blind, trustee(2)));
    let other_set = match_fault(|m| m.set = set(&[2, 3]));
    assert_eq!(other_set, blamed(JudgeRule::Blind, trustee(2)));
    let other_request = match_fault(|m| m.request.warrant = Some([1; 32]));
    assert_eq!(other_request, blamed(JudgeRule::Blind, trustee(2)));
}

#[test]
fn match_share() {
    let swapped = match_fault(|m| m.decryptions.swap(0, 1));
    assert_eq!(swapped, blamed(JudgeRule::Share, trustee(2)));
    let one = match_fault(|m| m.decryptions[1] = m.decryptions[0]);
    assert_eq!(one, blamed(JudgeRule::Share, trustee(4)));
    // A decryption of T1 itself, as an opening has it, is none of the product.
    let [share] = &XR.opening_shares(0, &[4])[..] else {
        panic!("one share");
    };
    let Step::Opening(of_t1) = &share.step else {
        panic!("an opening share");
    };
    let found = match_fault(|m| m.decryptions[1] = of_t1[0]);
    assert_eq!(found, blamed(JudgeRule::Share, trustee(4)));
}

#[test]
fn the_largest_match_fits_its_text() {
    let mut matched = XR.matched(0, 0, &[1, 2]).evidence;
    matched.set = set(&(1..=32).collect::<Vec<u8>>());
    matched.blinds = vec![matched.blinds[0]; 32];
    matched.decryptions = vec![matched.decryptions[0]; 32];
    matched.row.proof.hashes = vec![[7; 32]; 32];
    matched.row.entry.name = "x".repeat(64).parse().unwrap();
    let read = Match::decode(&matched.encode(), &XR.group);
    assert_eq!(read, Ok(matched));
}

#[test]
fn faults_name_rule_and_trustee() {
    let text = blamed(JudgeRule::Share, trustee(3)).to_string();
    assert_eq!(
        text,
        "a trustee's share does not hold: trustee 3 (rule share)"
    );
    let text = fault(JudgeRule::Device).to_string();
    assert!(text.ends_with("(rule device)"), "{text}");
}

#[test]
fn shares_round_trip() {
    let mut shares: Vec<Share> = BBS04.opening_shares(0, &[1, 2]);
    shares.extend(XR.opening_shares(1, &[3]));
    shares.extend(XR.match_shares(0, 1, &[1, 3]).into_iter().flatten());
    for share in shares {
        let text = share.encode();
        assert!(text.contains("\nclew-share-1 "));
        assert_eq!(Share::decode(&text), Ok(share));
    }
}

#[test]
fn share_rules() {
    let [_, _, shares] = XR.match_shares(0, 0, &[1, 2]);
    let payload = clew_evidence::armor::decode(&shares[0].encode(), "clew-share-1").unwrap();
    // Step; trustee 0; trustee outside its set; a step of an opening; the domain.
    for (at, value) in [(0, 5), (175, 0), (175, 3), (0, 1), (1, 0)] {
        let mut bytes = payload.to_vec();
        bytes[at] = value;
        let text = clew_evidence::armor::encode("", "clew-share-1", &bytes);
        assert_eq!(
            Share::decode(&text).unwrap_err().as_str(),
            "damaged",
            "byte {at}"
        );
    }
    let longer = [&payload[..], &[0]].concat();
    let text = clew_evidence::armor::encode("", "clew-share-1", &longer);
    assert_eq!(Share::decode(&text).unwrap_err().as_str(), "damaged");
    assert_eq!(Share::decode("").unwrap_err().as_str(), "not-a-key");
    let other = clew_evidence::armor::encode("", "clew-opening-1", &payload);
    assert_eq!(Share::decode(&other).unwrap_err().as_str(), "label");
}

/// T2 = A would hide nothing: no answer.
#[test]
fn a_match_with_the_identity_has_no_answer() {
    let request = XR.match_request(0, 0);
    let asked = clew_evidence::Asked::new(&XR.group, &request, &XR.packet(0)).unwrap();
    let t2 = G1::from_bytes(&XR.bodies[0][48..96]).unwrap();
    assert!(asked.question(set(&[1, 2]), &t2).is_err());
    let request = BBS04.request(0);
    let asked = clew_evidence::Asked::new(&BBS04.group, &request, &BBS04.packet(0)).unwrap();
    assert!(asked.question(set(&[1, 2]), &t2).is_err());
}
