//! Openings and matches that hold, and one that breaks each rule of `spec/opening.md` sections 6 and 7.
//! What they cannot say is in `caveats.rs`; what an attacker tries, in `attacks.rs`.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail the test")]

mod common;

use clew_evidence::{
    DeviceFingerprint, EntryKey, Fault, JudgeRule, Match, Opening, Packet, Question, RegisterEntry,
    Request, Share, Step, judge_match, judge_opening,
};
use clew_group::curve::{G1, Scalar};
use clew_group::quorum::Trustee;
use common::evidence::{set, trustee};
use common::issuer::device_key;
use common::{BBS04, EPOCH, MACHINES, World, XR, checked, worlds};

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
fn an_opening_names_the_machine() {
    for world in worlds() {
        for machine in 0..MACHINES {
            let opening = world.opening(machine);
            let text = opening.encode();
            assert!(text.len() <= 16 * 1024 && text.contains("\nclew-opening-1 "));
            assert_eq!(Opening::decode(&text, &world.group), Ok(opening.clone()));
            let judged = judge_opening(&world.group, &opening, &world.packet(machine)).unwrap();
            let entry = &world.entries[machine];
            assert_eq!(judged.machine, entry.name);
            assert_eq!((judged.index, judged.how), (entry.index, entry.how));
            assert_eq!(
                (judged.joined, judged.device),
                (entry.joined, entry.fingerprint())
            );
            assert_eq!((judged.epoch, judged.signed), (EPOCH, true));
            assert_eq!(Some(judged.epoch_id), world.group.epoch_id(EPOCH));
            let sharing = world.group.sharing_record(EPOCH).unwrap().1;
            assert_eq!(judged.opening_key, sharing.origin);
            assert_eq!(judged.asked, world.packet(machine).asked());
        }
    }
}

#[test]
fn openings_have_the_fields_of_the_specification() {
    for world in worlds() {
        let opening = world.opening(0);
        let text = opening.encode();
        let payload = clew_evidence::armor::decode(&text, "clew-opening-1").unwrap();
        let shares = opening.shares.iter().map(|(trustee, given)| {
            let given: Vec<u8> = given.iter().flat_map(|d| d.to_bytes()).collect();
            [&[trustee.index()][..], &given].concat()
        });
        let shares: Vec<u8> = shares.flatten().collect();
        let x: Vec<u8> = opening.x.iter().flat_map(Scalar::to_bytes).collect();
        let (request, row) = (opening.request.to_bytes(), opening.row.encode());
        let expected = [&request[..], &shares, &x, &[0, 0], &row].concat();
        assert_eq!(payload[..], expected);
    }
    let matched = XR.matched(0, 1, &[1, 2]).evidence;
    let text = matched.encode();
    let payload = clew_evidence::armor::decode(&text, "clew-match-1").unwrap();
    let blinds: Vec<u8> = matched.blinds.iter().flat_map(|b| b.to_bytes()).collect();
    let given: Vec<u8> = matched
        .decryptions
        .iter()
        .flat_map(|d| d.to_bytes())
        .collect();
    let (request, row) = (matched.request.to_bytes(), matched.row.encode());
    let parts = [
        &request[..],
        &matched.set.to_bytes(),
        &matched.base,
        &matched.x.to_bytes(),
    ];
    let expected = [&parts.concat()[..], &blinds, &given, &[0, 0], &row].concat();
    assert_eq!(payload[..], expected);
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
    for world in worlds() {
        for machine in [0, 1] {
            let mut opening = world.opening(machine);
            opening.row = world.row_at(machine, common::CHECKPOINT);
            let judged = judge_opening(&world.group, &opening, &world.packet(machine));
            assert_eq!(judged.unwrap().machine, world.entries[machine].name);
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
        let other_x = opening_fault(world, |o| match o.x {
            Some(_) => o.x = None,
            None => o.x = XR.x(0),
        });
        assert_eq!(other_x, layout);
    }
    let a_match = opening_fault(&XR, |o| o.request = XR.match_request(0, 0));
    assert_eq!(a_match, layout);
    let commitment = opening_fault(&XR, |o| device_of(&mut o.row.entry).commitment = [1; 48]);
    assert_eq!(commitment, layout);
    let x = opening_fault(&BBS04, |o| {
        o.row.entry.key = EntryKey::Bbs04(Box::new([1; 96]))
    });
    assert_eq!(x, layout);
}

fn device_of(entry: &mut RegisterEntry) -> &mut clew_evidence::DeviceEntry {
    match &mut entry.key {
        EntryKey::Xr(device) => device,
        EntryKey::Bbs04(_) => unreachable!("an entry of xr"),
    }
}

/// How a changed payload of an opening is refused.
fn read_fault(world: &World, change: impl FnOnce(&mut Vec<u8>)) -> &'static str {
    let text = world.opening(0).encode();
    let mut payload = clew_evidence::armor::decode(&text, "clew-opening-1")
        .unwrap()
        .to_vec();
    change(&mut payload);
    let text = clew_evidence::armor::encode("", "clew-opening-1", &payload);
    Opening::decode(&text, &world.group).unwrap_err().as_str()
}

#[test]
fn layout_of_bytes() {
    for (world, x) in [(&*BBS04, 0), (&*XR, 32)] {
        assert_eq!(read_fault(world, |p| p.push(0)), "layout");
        let end = |p: &Vec<u8>| p.len() - world.row(0).encode().len();
        for byte in [1, 2] {
            let anchor = read_fault(world, |p| {
                let at = end(p) - byte;
                p[at] = 1;
            });
            assert_eq!(anchor, "layout", "no log, so no anchor");
        }
        for value in [0, 0xff] {
            if x > 0 {
                let bad_x = read_fault(world, |p| {
                    let at = end(p) - 2 - x;
                    p[at..at + x].fill(value);
                });
                assert_eq!(bad_x, "layout");
            }
        }
    }
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
    let find = |search| XR.find(&search);
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
                leaf: None,
            };
            let mut opening = world.opening(0);
            opening.request.packet = packet.digest();
            opening.request.asked = packet.asked();
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
        let changes: [fn(&mut Opening); 4] = [
            |o| o.row.hashes[0][0] ^= 1,
            |o| o.row.machines = 4,
            |o| o.row.entry.index += 1,
            |o| o.row.entry.joined = 9,
        ];
        for change in changes {
            assert_eq!(opening_fault(world, change), rule);
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
        |e| e.how = clew_evidence::How::Attested,
        |e| e.replaces = Some(0),
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
    for world in worlds() {
        let other_row = opening_fault(world, |o| (o.row, o.x) = (world.row(1), world.x(1)));
        assert_eq!(other_row, fault(JudgeRule::Signer));
    }
    let other = match_fault(|m| m.base = XR.bases[1].to_bytes());
    assert_eq!(other, fault(JudgeRule::Signer));
}

#[test]
fn match_layout() {
    let layout = fault(JudgeRule::Layout);
    assert_eq!(match_fault(|m| m.set = set(&[2])), layout);
    assert_eq!(match_fault(|m| m.set = set(&[2, 5])), layout);
    assert_eq!(match_fault(|m| m.blinds.truncate(1)), layout);
    assert_eq!(match_fault(|m| m.decryptions.truncate(1)), layout);
    assert_eq!(match_fault(|m| m.base = [1; 48]), layout);
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
    matched.row.hashes = vec![[7; 32]; 32];
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
    for (at, value) in [(0, 5), (207, 0), (207, 3), (0, 1), (1, 0)] {
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
