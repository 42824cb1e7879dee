//! One trustee at its responder: what it gives, what it refuses, and what it writes down before.

use crate::common::court::*;
use crate::common::*;
use clew_evidence::{
    CombineError, EntryKey, JudgeRule, OpenedBase, ShareFault, combine_match, combine_opening,
    judge_match, judge_opening,
};
use clew_group::Scheme;
use clew_group::quorum::QuorumError;
use clew_trustee::LedgerError;
use clew_trustee::approval::Shown;
use clew_trustee::rules::Case;
use clew_trustee::rules::{Limit, MATCHES_PER_PACKET, REQUESTS_PER_DAY};
use clew_trustee::{Responder, TrusteeError};
use std::fs;
use std::path::PathBuf;

fn fault(error: &TrusteeError) -> Option<JudgeRule> {
    match error {
        TrusteeError::Fault(fault) => Some(fault.rule),
        _ => None,
    }
}

fn ledger_path(acme: &TestGroup, index: u8) -> PathBuf {
    let (key, path) = (acme.trustee(index), acme.trustee_path(index));
    Responder::new(&key, &path).unwrap().ledger()
}

/// Lines of a trustee's ledger, without the header.
fn ledger(acme: &TestGroup, index: u8) -> Vec<String> {
    let text = fs::read_to_string(ledger_path(acme, index)).unwrap_or_default();
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines.map(str::to_owned).collect()
}

fn state_files(acme: &TestGroup, index: u8) -> usize {
    states(acme, index).len()
}

/// The files of matches under way.
fn states(acme: &TestGroup, index: u8) -> Vec<PathBuf> {
    let start = format!("trustee-{index}-");
    let files = fs::read_dir(acme.dir.join("trustees")).unwrap();
    let paths = files.map(|f| f.unwrap().path());
    let of_match = |path: &PathBuf| {
        let name = path.file_name().unwrap().to_str().unwrap();
        name.starts_with(&start) && name.contains(".match-")
    };
    paths.filter(of_match).collect()
}

#[test]
fn any_two_of_three_open_and_the_ledger_has_it() {
    for scheme in BOTH {
        let mut acme = TestGroup::new(scheme);
        let keys = ["a", "b"].map(|name| acme.enrol(name));
        let group = acme.checked();
        for (seed, pair) in [[1, 2], [3, 1], [2, 3]].into_iter().enumerate() {
            let key = &keys[seed % 2];
            let sent = Sent::by(key, b"m", seed as u64);
            let request = sent.opening(&group);
            let shares = pair.map(|i| share(&acme, i, &sent, &request).unwrap());
            let find = |opened: OpenedBase| acme.find(0, opened.search());
            let opened = combine_opening(&group, &request, &shares, &sent.packet(), find).unwrap();
            assert_eq!(opened.judgement.machine, key.machine);
            let judged = judge_opening(&group, &opened.evidence, &sent.packet()).unwrap();
            assert_eq!(judged, opened.judgement);
        }
        assert_eq!([1, 2, 3].map(|i| ledger(&acme, i).len()), [2, 2, 2]);
    }
}

#[test]
fn a_trustee_looks_at_the_packet_itself() {
    for scheme in BOTH {
        let mut acme = TestGroup::new(scheme);
        let key = acme.enrol("a");
        let (group, good) = (acme.checked(), Sent::by(&key, b"m", 1));
        let forged = Sent {
            message: b"n".to_vec(),
            ..Sent::by(&key, b"m", 1)
        };
        let request = forged.opening(&group);
        let refused = share(&acme, 1, &forged, &request).unwrap_err();
        assert_eq!(fault(&refused), Some(JudgeRule::Signature));
        let other = Sent::by(&key, b"other", 2);
        let refused = share(&acme, 1, &other, &good.opening(&group)).unwrap_err();
        assert_eq!(fault(&refused), Some(JudgeRule::Packet));
        // A packet of another group, with that group's request and with ours.
        let mut stranger = TestGroup::of(scheme, quorum(2, 3), 9);
        let foreign = Sent::by(&stranger.enrol("x"), b"m", 1);
        let request = foreign.opening(&stranger.group());
        let refused = share(&acme, 1, &foreign, &request).unwrap_err();
        assert_eq!(fault(&refused), Some(JudgeRule::Group));
        let refused = share(&acme, 1, &foreign, &foreign.opening(&group)).unwrap_err();
        assert_eq!(fault(&refused), Some(JudgeRule::Signature));
        assert_eq!(ledger(&acme, 1).len(), 0, "what is refused is not written");
    }
}

#[test]
fn a_key_of_another_group_gives_nothing() {
    for (ours, theirs) in [
        (Scheme::Xr, Scheme::Xr),
        (Scheme::Bbs04, Scheme::Bbs04),
        (Scheme::Xr, Scheme::Bbs04),
    ] {
        let mut acme = TestGroup::new(ours);
        let sent = Sent::by(&acme.enrol("a"), b"m", 1);
        let stranger = TestGroup::of(theirs, quorum(2, 3), 9);
        let (key, path, group) = (
            stranger.trustee(1),
            stranger.trustee_path(1),
            acme.checked(),
        );
        let (request, packet) = (sent.opening(&group), sent.packet());
        let case = Case {
            group: &group,
            request: &request,
            packet: &packet,
            shown: Shown::default(),
        };
        let refused = Responder::new(&key, &path)
            .unwrap()
            .open(case, NOW, &mut rng(1))
            .unwrap_err();
        assert!(matches!(refused, TrusteeError::OtherGroup), "{refused}");
    }
}

/// The share that a key file holds must be the group's: a file that was mixed up decrypts nothing.
#[test]
fn a_share_that_is_not_the_groups_is_not_used() {
    for scheme in BOTH {
        let mut acme = TestGroup::new(scheme);
        let sent = Sent::by(&acme.enrol("a"), b"m", 1);
        let group = acme.checked();
        let mut key = TestGroup::of(scheme, quorum(2, 3), 9).trustee(1);
        key.group = group.id();
        let (request, packet) = (sent.opening(&group), sent.packet());
        let case = Case {
            group: &group,
            request: &request,
            packet: &packet,
            shown: Shown::default(),
        };
        let path = acme.trustee_path(1);
        let refused = Responder::new(&key, &path)
            .unwrap()
            .open(case, NOW, &mut rng(1))
            .unwrap_err();
        assert!(matches!(refused, TrusteeError::Quorum(_)), "{refused}");
    }
}

/// Two good signatures of one alpha, as a signer makes them who wants one packet opened as another:
/// the ledger remembers the first.
#[test]
fn one_t1_is_opened_for_one_packet() {
    for scheme in BOTH {
        let mut acme = TestGroup::new(scheme);
        let key = acme.enrol("a");
        let group = acme.checked();
        let [sent, other] = [b"m", b"n"].map(|message| Sent::by(&key, message, 1));
        assert_eq!(sent.body[..48], other.body[..48]);
        assert!(other.verify(&group).is_ok());
        let request = sent.opening(&group);
        share(&acme, 1, &sent, &request).unwrap();
        share(&acme, 1, &sent, &request).unwrap();
        assert_eq!(ledger(&acme, 1).len(), 1, "asking again tells nothing new");
        let refused = share(&acme, 1, &other, &other.opening(&group)).unwrap_err();
        let TrusteeError::Ledger { error, path } = &refused else {
            unreachable!("{refused}")
        };
        assert!(matches!(error, LedgerError::Limit(Limit::OtherPacket)));
        assert_eq!(*path, ledger_path(&acme, 1));
        assert!(
            share(&acme, 2, &other, &other.opening(&group)).is_ok(),
            "each has its own"
        );
    }
}

/// If a link leads nowhere, there is no ledger: one beside the link would be another.
#[test]
fn a_link_that_leads_nowhere_has_no_ledger() {
    let acme = TestGroup::new(Scheme::Xr);
    let link = acme.folder.path().join("link");
    std::os::unix::fs::symlink("nothing", &link).unwrap();
    assert!(Responder::new(&acme.trustee(1), &link).is_err());
}

/// A link to the key from elsewhere, or another name of the file, has the ledger of the key itself.
#[test]
fn a_key_has_one_ledger_whatever_it_is_called() {
    let mut acme = TestGroup::new(Scheme::Xr);
    let key = acme.enrol("a");
    let group = acme.checked();
    let [sent, other] = [b"m", b"n"].map(|message| Sent::by(&key, message, 1));
    share(&acme, 1, &sent, &sent.opening(&group)).unwrap();
    let (trustee, path) = (acme.trustee(1), acme.trustee_path(1));
    let names = [
        acme.folder.path().join("link"),
        path.with_file_name("hard"),
        path.with_file_name("copy"),
    ];
    std::os::unix::fs::symlink(&path, &names[0]).unwrap();
    fs::hard_link(&path, &names[1]).unwrap();
    fs::copy(&path, &names[2]).unwrap();
    let (request, packet) = (other.opening(&group), other.packet());
    let case = Case {
        group: &group,
        request: &request,
        packet: &packet,
        shown: Shown::default(),
    };
    for name in names {
        let refused = Responder::new(&trustee, &name)
            .unwrap()
            .open(case, NOW, &mut rng(1));
        let Err(TrusteeError::Ledger { error, path }) = refused else {
            unreachable!("{refused:?}")
        };
        assert!(matches!(error, LedgerError::Limit(Limit::OtherPacket)));
        assert_eq!(path, ledger_path(&acme, 1));
    }
    assert_ne!(ledger_path(&acme, 1), ledger_path(&acme, 2));
}

#[test]
fn a_day_and_a_packet_have_their_limits() {
    let mut acme = TestGroup::new(Scheme::Xr);
    let key = acme.enrol("a");
    let others = ["b", "c", "d"];
    others.into_iter().for_each(|name| drop(acme.enrol(name)));
    for (i, name) in ["a", "b", "c", "d"].into_iter().enumerate() {
        let comparison = Comparison::new(&acme, Sent::by(&key, b"m", 1), name);
        let committed = comparison.commit(1, set([1, 2]), 1);
        match committed {
            Ok(_) => assert!(i < MATCHES_PER_PACKET),
            Err(TrusteeError::Ledger { error, .. }) => {
                assert!(matches!(error, LedgerError::Limit(Limit::TooManyMatches)));
                assert_eq!(i, MATCHES_PER_PACKET);
            }
            Err(error) => unreachable!("{error}"),
        }
    }
    let line = ledger(&acme, 1).remove(0);
    let request = line.rsplit(' ').next().unwrap().to_owned();
    let t1 = line.split(' ').nth(2).unwrap().to_owned();
    let lines: String = (0..REQUESTS_PER_DAY)
        .map(|i| {
            let line = line.replace(&request, &format!("{i:064x}"));
            line.replace(&t1, &format!("{i:096x}")) + "\n"
        })
        .collect();
    fs::write(ledger_path(&acme, 1), lines).unwrap();
    let sent = Sent::by(&key, b"one more", 2);
    let refused = share(&acme, 1, &sent, &sent.opening(&acme.group())).unwrap_err();
    assert!(matches!(
        refused,
        TrusteeError::Ledger {
            error: LedgerError::Limit(Limit::TooMany),
            ..
        }
    ));
}

/// If the ledger cannot be written, no share leaves.
#[test]
fn no_share_without_its_line_in_the_ledger() {
    let mut acme = TestGroup::new(Scheme::Xr);
    let sent = Sent::by(&acme.enrol("a"), b"m", 1);
    fs::create_dir(ledger_path(&acme, 1)).unwrap();
    let refused = share(&acme, 1, &sent, &sent.opening(&acme.group())).unwrap_err();
    assert!(matches!(
        refused,
        TrusteeError::Ledger {
            error: LedgerError::Io(_),
            ..
        }
    ));
}

#[test]
fn a_match_says_yes_for_the_sender_and_no_for_others() {
    let mut acme = TestGroup::new(Scheme::Xr);
    let keys = ["a", "b"].map(|name| acme.enrol(name));
    for (name, signed) in [("a", true), ("b", false)] {
        let sent = Sent::by(&keys[0], b"m", 1);
        let comparison = Comparison::new(&acme, sent, name);
        let blinds = comparison.blinds([1, 3]);
        let shares = [1, 3].map(|i| comparison.compare(i, &blinds).unwrap());
        let Comparison {
            group,
            request,
            sent,
            base,
            found,
            ..
        } = comparison;
        let packet = sent.packet();
        let matched = combine_match(&group, &request, &shares, &packet, &base, found).unwrap();
        assert_eq!(matched.judgement.signed, signed);
        let judged = judge_match(&group, &matched.evidence, &packet).unwrap();
        assert_eq!(judged, matched.judgement);
        assert_eq!([1, 3].map(|i| state_files(&acme, i)), [0, 0]);
    }
    assert_eq!(
        ledger(&acme, 1).len(),
        2,
        "a match is written once, at its first step"
    );
}

#[test]
fn a_blind_serves_once() {
    let mut acme = TestGroup::new(Scheme::Xr);
    let key = acme.enrol("a");
    let comparison = Comparison::new(&acme, Sent::by(&key, b"m", 1), "a");
    let commitments = [1, 2].map(|i| comparison.commit(i, set([1, 2]), 5).unwrap());
    assert_eq!(state_files(&acme, 1), 1);
    let blinds = [1, 2].map(|i| comparison.reveal(i, &commitments).unwrap());
    let again = comparison.reveal(1, &commitments).unwrap_err();
    assert!(matches!(again, TrusteeError::NotUnderWay), "{again}");
    comparison.compare(1, &blinds).unwrap();
    assert_eq!(state_files(&acme, 1), 0);
    let again = comparison.compare(1, &blinds).unwrap_err();
    assert!(matches!(again, TrusteeError::NotUnderWay), "{again}");
    // Trustee 2 still has its state; its blind serves with the same blinds only.
    assert_eq!(state_files(&acme, 2), 1);
}

/// Trustee 2 commits to one blind and shows another: trustee 1 gives nothing, and its own blind is
/// spent with that.
#[test]
fn other_blinds_than_those_committed_to_get_no_share() {
    let mut acme = TestGroup::new(Scheme::Xr);
    let key = acme.enrol("a");
    let comparison = Comparison::new(&acme, Sent::by(&key, b"m", 1), "a");
    let [first, second] = comparison.blinds([1, 2]);
    let other = {
        // The same trustee, another draw.
        let again = [1, 2].map(|i| {
            comparison
                .commit(i, set([1, 2]), 40 + u64::from(i))
                .unwrap()
        });
        comparison.reveal(2, &again).unwrap()
    };
    assert_ne!(other, second);
    let commitments = [1, 2].map(|i| comparison.commit(i, set([1, 2]), i.into()).unwrap());
    comparison.reveal(1, &commitments).unwrap();
    let refused = comparison.compare(1, &[first.clone(), other]).unwrap_err();
    let TrusteeError::Quorum(error) = &refused else {
        unreachable!("{refused}")
    };
    assert_eq!(error.culprit(), Some(who(2)));
    assert_eq!(
        state_files(&acme, 1),
        0,
        "the state went before the share was computed"
    );
    let late = comparison.compare(1, &[first, second]).unwrap_err();
    assert!(matches!(late, TrusteeError::NotUnderWay));
}

/// A match that begins again replaces what the abandoned one left.
#[test]
fn a_match_starts_again() {
    let mut acme = TestGroup::new(Scheme::Xr);
    let key = acme.enrol("a");
    let comparison = Comparison::new(&acme, Sent::by(&key, b"m", 1), "a");
    let old = comparison.blinds([1, 2]);
    let new = {
        let again = [1, 2].map(|i| {
            comparison
                .commit(i, set([1, 2]), 40 + u64::from(i))
                .unwrap()
        });
        let early = comparison.compare(1, &old).unwrap_err();
        assert!(
            matches!(early, TrusteeError::NotUnderWay),
            "the old blind is gone"
        );
        [1, 2].map(|i| comparison.reveal(i, &again).unwrap())
    };
    comparison.compare(1, &new).unwrap();
    let mixed = [old[0].clone(), new[1].clone()];
    assert!(comparison.compare(2, &mixed).is_err());
}

#[test]
fn steps_take_what_all_of_the_set_gave() {
    let mut acme = TestGroup::new(Scheme::Xr);
    let key = acme.enrol("a");
    let comparison = Comparison::new(&acme, Sent::by(&key, b"m", 1), "a");
    let [one, two] = [1, 2].map(|i| comparison.commit(i, set([1, 2]), 5).unwrap());
    let missing = comparison
        .reveal(1, std::slice::from_ref(&one))
        .unwrap_err();
    let TrusteeError::Combine(CombineError::Refused(refused)) = &missing else {
        unreachable!("{missing}")
    };
    assert_eq!(
        (refused[0].trustee, refused[0].why),
        (who(2), ShareFault::Missing)
    );
    assert_eq!(state_files(&acme, 1), 1, "what is no step costs nothing");
    // Another set is another session.
    let three = [1, 2, 3].map(|i| comparison.commit(i, set([1, 2, 3]), 6).unwrap());
    assert_eq!(state_files(&acme, 1), 2);
    let mixed = [one.clone(), three[1].clone()];
    assert!(comparison.reveal(1, &mixed).is_err());
    assert!(comparison.reveal(1, &[one, two]).is_ok());
}

#[test]
fn a_set_that_cannot_answer_is_refused() {
    let mut acme = TestGroup::new(Scheme::Xr);
    let key = acme.enrol("a");
    let comparison = Comparison::new(&acme, Sent::by(&key, b"m", 1), "a");
    let too_few = comparison.commit(1, set([1]), 1).unwrap_err();
    assert!(matches!(
        too_few,
        TrusteeError::Quorum(QuorumError::TooFew { .. })
    ));
    let nobody = comparison.commit(1, set([1, 4]), 1).unwrap_err();
    assert!(matches!(
        nobody,
        TrusteeError::Quorum(QuorumError::Index { index: 4 })
    ));
    let without_me = comparison.commit(1, set([2, 3]), 1).unwrap_err();
    assert!(matches!(without_me, TrusteeError::Quorum(_)));
    assert_eq!(state_files(&acme, 1), 0);
}

/// The machine of a match must be in the register, with its own x and the base of the packet's epoch.
#[test]
fn candidates_are_checked() {
    let mut acme = TestGroup::new(Scheme::Xr);
    let key = acme.enrol("a");
    acme.enrol("b");
    type Change = fn(&mut Comparison<'_>);
    let cases: [(Change, JudgeRule); 5] = [
        (
            |wrong| wrong.base = wrong.acme.base("b", 0).unwrap(),
            JudgeRule::Signer,
        ),
        (
            |wrong| wrong.found.x = wrong.acme.found("b").x,
            JudgeRule::Credential,
        ),
        (|wrong| wrong.found.x = None, JudgeRule::Layout),
        (
            |wrong| wrong.found = wrong.acme.found("b"),
            JudgeRule::Register,
        ),
        (
            |wrong| {
                let EntryKey::Xr(device) = &mut wrong.found.row.entry.key else {
                    unreachable!("the group is of xr")
                };
                device.signature[3] ^= 1;
                wrong.request = wrong.sent.comparison(&wrong.group, &wrong.found.row);
            },
            JudgeRule::Register,
        ),
    ];
    for (change, rule) in cases {
        let mut wrong = Comparison::new(&acme, Sent::by(&key, b"m", 1), "a");
        change(&mut wrong);
        let refused = wrong.commit(1, set([1, 2]), 1).unwrap_err();
        assert_eq!(fault(&refused), Some(rule));
    }
    assert_eq!(state_files(&acme, 1), 0);
    assert_eq!(ledger(&acme, 1).len(), 0);
}

/// The share counts for the packet that was asked about, and the ledger says which that was.
#[test]
fn the_packet_that_was_asked_about_is_bound() {
    let mut acme = TestGroup::new(Scheme::Xr);
    let sent = Sent::by(&acme.enrol("a"), b"m", 1);
    let group = acme.checked();
    let request = sent.opening(&group);
    share(&acme, 1, &sent, &request).unwrap();
    let asked: String = request
        .asked_packet
        .iter()
        .map(|b| format!("{b:02x}"))
        .collect();
    assert_eq!(ledger(&acme, 1)[0].split(' ').nth(4), Some(&asked[..]));
    let mut other = request;
    other.asked_packet[7] ^= 1;
    let refused = share(&acme, 1, &sent, &other).unwrap_err();
    assert_eq!(fault(&refused), Some(JudgeRule::Packet));
    assert_eq!(ledger(&acme, 1).len(), 1);
}

#[test]
fn the_state_between_steps_is_secret_and_whole() {
    use std::os::unix::fs::PermissionsExt;
    let mut acme = TestGroup::new(Scheme::Xr);
    let key = acme.enrol("a");
    let comparison = Comparison::new(&acme, Sent::by(&key, b"m", 1), "a");
    let commitments = [1, 2].map(|i| comparison.commit(i, set([1, 2]), 5).unwrap());
    let state = states(&acme, 1).remove(0);
    assert_eq!(
        state.metadata().unwrap().permissions().mode() & 0o777,
        0o600
    );
    let good = fs::read_to_string(&state).unwrap();
    let at = good.rfind("-1 ").unwrap() + 20;
    let damaged = format!(
        "{}{}{}",
        &good[..at],
        if &good[at..=at] == "A" { "B" } else { "A" },
        &good[at + 1..]
    );
    fs::write(&state, damaged).unwrap();
    let refused = comparison.reveal(1, &commitments).unwrap_err();
    assert!(matches!(refused, TrusteeError::Io { .. }), "{refused}");
    fs::write(&state, good).unwrap();
    comparison.reveal(1, &commitments).unwrap();
}

/// A new key of a trustee begins with what its other keys saw of the group's log.
#[test]
fn a_new_key_does_not_forget_the_log() {
    let acme = TestGroup::new(Scheme::Xr);
    let (group, path) = (acme.checked(), acme.trustee_path(1));
    let memory = |name: &str, id: [u8; 32], size: u64| {
        let mut payload = 0_u32.to_be_bytes().to_vec();
        payload.extend(id);
        payload.extend([3; 32]);
        payload.extend(size.to_be_bytes());
        payload.extend([4; 32]);
        let text = clew_evidence::armor::encode("c", "clew-trustee-log-1", &payload);
        std::fs::write(path.with_file_name(name), text).unwrap();
    };
    let key = acme.trustee(1);
    let seen = || {
        let responder = Responder::new(&key, &path).unwrap();
        responder.seen(&group).unwrap().map(|seen| seen.size)
    };
    let own = group.epoch_id(0).unwrap().0;
    memory("trustee-1-aa.log", [9; 32], 20); // of another group
    memory("trustee-2-aa.log", own, 30); // of another trustee
    assert_eq!(seen(), None);
    memory("trustee-1-bb.log", own, 7);
    memory("trustee-1-cc.log", own, 9);
    assert_eq!(seen(), Some(9));
}
