//! Openings and matches that hold, and one that breaks each rule of `spec/opening.md` sections 6 and 7
//! but `layout` (`evidence_layout.rs`). What they cannot say is in `caveats.rs`; what an attacker
//! tries, in `attacks.rs`.

use crate::common::evidence::{blamed, device_of, fault, match_fault, opening_fault, set, trustee};
use crate::common::issuer::device_key;
use crate::common::{BBS04, EPOCH, MACHINES, XR, checked, fixtures};
use clew_evidence::{
    DeviceFingerprint, JudgeRule, Match, Opening, Packet, Question, RegisterEntry, Request, Step,
    judge_match, judge_opening,
};
use clew_group::curve::G1;

#[test]
fn an_opening_names_the_machine() {
    for fixture in fixtures() {
        for machine in 0..MACHINES {
            let opening = fixture.opening(machine);
            let text = opening.encode();
            assert!(text.len() <= 16 * 1024 && text.contains("\nclew-opening-1 "));
            assert_eq!(Opening::decode(&text, &fixture.group), Ok(opening.clone()));
            let judged = judge_opening(&fixture.group, &opening, &fixture.packet(machine)).unwrap();
            let entry = &fixture.entries[machine];
            assert_eq!(judged.machine, entry.name);
            assert_eq!((judged.index, judged.how), (entry.index, entry.how));
            assert_eq!(
                (judged.joined, judged.device),
                (entry.joined, entry.fingerprint())
            );
            assert_eq!((judged.epoch, judged.signed), (EPOCH, true));
            assert_eq!(Some(judged.epoch_id), fixture.group.epoch_id(EPOCH));
            let sharing = fixture.group.sharing_record(EPOCH).unwrap().1;
            assert_eq!(judged.opening_key, sharing.origin);
            assert_eq!(judged.asked, fixture.packet(machine).asked());
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
        }
    }
}

/// Later enrolments void nothing: the row's size is a checkpoint.
#[test]
fn rows_of_a_checkpoint_stay_good() {
    for fixture in fixtures() {
        for machine in [0, 1] {
            let mut opening = fixture.opening(machine);
            opening.row = fixture.row_at(machine, crate::common::CHECKPOINT);
            let judged = judge_opening(&fixture.group, &opening, &fixture.packet(machine));
            assert_eq!(judged.unwrap().machine, fixture.entries[machine].name);
        }
    }
}

#[test]
fn device_pin() {
    let judged = judge_opening(&XR.group, &XR.opening(0), &XR.packet(0)).unwrap();
    let key = |machine| DeviceFingerprint::of(&device_key(machine).verifying_key().to_bytes());
    assert_eq!(judged.check_device(&key(0)), Ok(()));
    let other = judged.check_device(&key(1));
    assert_eq!(other, Err(fault(JudgeRule::DevicePin)));
    let judged = judge_opening(&BBS04.group, &BBS04.opening(0), &BBS04.packet(0)).unwrap();
    let none = judged.check_device(&key(0));
    assert_eq!(
        none,
        Err(fault(JudgeRule::DevicePin)),
        "bbs04 has no device keys"
    );
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
        for fixture in fixtures() {
            let found = opening_fault(fixture, |o| change(&mut o.request));
            assert_eq!(found, fault(JudgeRule::Group));
            let mut opening = fixture.opening(0);
            change(&mut opening.request);
            let read = Opening::decode(&opening.encode(), &fixture.group);
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
    let broken = checked(&broken).unwrap();
    let mut opening = XR.opening(0);
    opening.request.epoch_id = broken.epoch_id(EPOCH).unwrap();
    let found = judge_opening(&broken, &opening, &XR.packet(0));
    assert_eq!(found, Err(fault(JudgeRule::Group)));
}

/// Any packet of the block will do, and which was asked for is reported.
#[test]
fn packets_of_a_block() {
    let of_block = |leaf| Packet {
        leaf: Some([leaf; 32]),
        ..XR.packet(0)
    };
    let request = Request::new(&XR.group, Question::Opening, &of_block(1), None).unwrap();
    let shares = XR.answers(&request, &of_block(1), &[1, 2]);
    let find = |opened: clew_evidence::OpenedBase| XR.find(&opened.search());
    let opened = clew_evidence::combine_opening(&XR.group, &request, &shares, &of_block(1), find);
    let opening = opened.unwrap().evidence;
    for leaf in [1, 2] {
        let judged = judge_opening(&XR.group, &opening, &of_block(leaf)).unwrap();
        assert_eq!(judged.asked, [1; 32]);
    }
    let alone = judge_opening(&XR.group, &opening, &XR.packet(0));
    assert_eq!(alone, Err(fault(JudgeRule::Packet)), "a packet of no block");
}

#[test]
fn packet() {
    for fixture in fixtures() {
        let opening = fixture.opening(0);
        let wrong = [
            fixture.packet(1),
            Packet {
                message: b"another message",
                ..fixture.packet(0)
            },
            Packet {
                epoch: EPOCH + 1,
                ..fixture.packet(0)
            },
        ];
        for packet in wrong {
            let found = judge_opening(&fixture.group, &opening, &packet);
            assert_eq!(found, Err(fault(JudgeRule::Packet)));
        }
    }
    let matched = XR.matched(0, 0, &[1, 2]).evidence;
    let found = judge_match(&XR.group, &matched, &XR.packet(1));
    assert_eq!(found, Err(fault(JudgeRule::Packet)));
}

#[test]
fn signature() {
    for fixture in fixtures() {
        for (message, flip) in [
            (&b"not what was signed"[..], 0),
            (crate::common::MESSAGE, 1),
        ] {
            let mut body = fixture.bodies[0].clone();
            *body.last_mut().unwrap() ^= flip;
            let packet = Packet {
                epoch: EPOCH,
                message,
                body: &body,
                leaf: None,
            };
            let mut opening = fixture.opening(0);
            opening.request.signature_digest = packet.digest();
            opening.request.asked_packet = packet.asked();
            let found = judge_opening(&fixture.group, &opening, &packet);
            assert_eq!(found, Err(fault(JudgeRule::Signature)));
        }
    }
    let short = Packet {
        body: &XR.bodies[0][..100],
        ..XR.packet(0)
    };
    let mut matched = XR.matched(0, 0, &[1, 2]).evidence;
    matched.request.signature_digest = short.digest();
    let found = judge_match(&XR.group, &matched, &short);
    assert_eq!(found, Err(fault(JudgeRule::Signature)));
}

#[test]
fn opening_share() {
    let rule = JudgeRule::Share;
    for fixture in fixtures() {
        let swapped = opening_fault(fixture, |o| {
            let first = o.shares[0].1.clone();
            o.shares[1].1 = first;
        });
        assert_eq!(swapped, blamed(rule, trustee(3)));
        // Proofs bind the request: another warrant is another request.
        let other = opening_fault(fixture, |o| o.request.warrant = None);
        assert_eq!(other, blamed(rule, trustee(1)));
    }
    let parts = opening_fault(&BBS04, |o| o.shares[1].1.swap(0, 1));
    assert_eq!(parts, blamed(rule, trustee(3)));
}

#[test]
fn register() {
    let rule = fault(JudgeRule::Register);
    for fixture in fixtures() {
        let changes: [fn(&mut Opening); 4] = [
            |o| o.row.hashes[0][0] ^= 1,
            |o| o.row.machines = 4,
            |o| o.row.entry.index += 1,
            |o| o.row.entry.joined = 9,
        ];
        for change in changes {
            assert_eq!(opening_fault(fixture, change), rule);
        }
    }
    let hashes = match_fault(|m| m.row.hashes[0][0] ^= 1);
    assert_eq!(hashes, rule);
    let other_machine = match_fault(|m| (m.row, m.x) = (XR.row(1), XR.x(1).unwrap()));
    assert_eq!(other_machine, rule);
}

#[test]
fn device() {
    let changes: [fn(&mut RegisterEntry); 7] = [
        |e| device_of(e).signature[0] ^= 1,
        |e| device_of(e).key = device_key(1).verifying_key().to_bytes(),
        |e| device_of(e).commitment = XR.issuer.commitment(1).to_bytes(),
        |e| e.credential = XR.entries[1].credential,
        |e| e.name = "web-9".parse().unwrap(),
        |e| e.how = clew_evidence::KeyOrigin::Attested,
        |e| e.joined = 1,
    ];
    for change in changes {
        let mut entry = XR.entries[0].clone();
        change(&mut entry);
        let (group, row) = XR.with_entry(entry);
        let mut opening = XR.opening(0);
        opening.row = row.clone();
        let found = judge_opening(&group, &opening, &XR.packet(0));
        assert_eq!(found, Err(fault(JudgeRule::Device)));
        let mut matched = XR.matched(0, 0, &[1, 2]).evidence;
        let machine = row.entry.leaf_hash();
        (matched.row, matched.request.question) = (row, Question::Match { machine });
        let found = judge_match(&group, &matched, &XR.packet(0));
        assert_eq!(found, Err(fault(JudgeRule::Device)));
    }
}

#[test]
fn credential() {
    let forged_x = opening_fault(&XR, |o| o.x = XR.x(1));
    assert_eq!(forged_x, fault(JudgeRule::Credential));
    let forged_x = match_fault(|m| m.x = XR.x(1).unwrap());
    assert_eq!(forged_x, fault(JudgeRule::Credential));
    // With bbs04 the manager can enter any X: A does not fit it.
    let mut entry = BBS04.entries[0].clone();
    entry.key = BBS04.entries[1].key.clone();
    let (group, row) = BBS04.with_entry(entry);
    let mut opening = BBS04.opening(0);
    opening.row = row;
    let found = judge_opening(&group, &opening, &BBS04.packet(0));
    assert_eq!(found, Err(fault(JudgeRule::Credential)));
}

#[test]
fn signer() {
    for fixture in fixtures() {
        let other_row = opening_fault(fixture, |o| (o.row, o.x) = (fixture.row(1), fixture.x(1)));
        assert_eq!(other_row, fault(JudgeRule::Signer));
    }
    let other = match_fault(|m| m.base = XR.bases[1].to_bytes());
    assert_eq!(other, fault(JudgeRule::Signer));
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
fn faults_name_rule_and_trustee() {
    let text = blamed(JudgeRule::Share, trustee(3)).to_string();
    assert_eq!(text, "trustee 3: invalid share (rule share)");
    let text = fault(JudgeRule::Device).to_string();
    assert!(text.ends_with("(rule device)"), "{text}");
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
