use super::*;
use clew_group::{EpochId, Scheme};

const DAY: Duration = Duration::from_secs(86_400);

fn key(number: u8) -> SigningKey {
    SigningKey::from_bytes(&[number; 32])
}

fn draft(question: Question) -> WarrantDraft {
    let issued = WallTime::from_nanos(1_800_000_000_000_000_000);
    WarrantDraft {
        group: GroupId([1; 16]),
        issued,
        expires: issued + 30 * DAY,
        nonce: [2; 16],
        reference: "4 KLs 17/26".parse().unwrap(),
        requester: Requester {
            key: key(3).verifying_key().to_bytes(),
            encryption: [4; 32],
            name: "police".parse().unwrap(),
        },
        scope: Scope::new(question, vec![[6; 32], [5; 32], [6; 32]]).unwrap(),
    }
}

fn opening() -> WarrantDraft {
    draft(Question::Opening)
}

fn matching() -> WarrantDraft {
    draft(Question::Match { machine: [9; 32] })
}

fn signed(draft: WarrantDraft) -> Warrant {
    draft.sign("court".parse().unwrap(), &key(8)).unwrap()
}

/// The rule that refuses these fields when somebody signs them all the same.
fn refused(draft: WarrantDraft) -> WarrantError {
    let mut warrant = signed(opening());
    warrant.draft = draft;
    refused_payload(warrant.statement())
}

/// The same for the bytes of a statement.
fn refused_payload(statement: Vec<u8>) -> WarrantError {
    let signature = key(8).sign(&message(&statement)).to_bytes();
    let payload = [&statement[..], &signature].concat();
    Warrant::decode(&armor::encode("", LABEL, &payload)).unwrap_err()
}

fn request(question: Question) -> Request {
    Request {
        question,
        scheme: Scheme::Xr,
        group: GroupId([1; 16]),
        epoch: 3,
        epoch_id: EpochId([7; 32]),
        signature_digest: [5; 32],
        asked_packet: [7; 32],
        warrant: None,
        log: None,
    }
}

#[test]
fn what_was_signed_is_read() {
    for draft in [opening(), matching()] {
        assert_eq!(WarrantDraft::decode(&draft.encode()), Ok(draft.clone()));
        let warrant = signed(draft.clone());
        let read = Warrant::decode(&warrant.encode()).unwrap();
        assert_eq!(read, warrant);
        assert_eq!(
            (read.draft(), read.issuer()),
            (&draft, &key(8).verifying_key().to_bytes())
        );
        assert_eq!(read.draft().scope.digests, [[5; 32], [6; 32]]);
    }
    let most =
        (0..WARRANT_DIGESTS_MAX as u16).map(|i| core::array::from_fn(|at| i.to_be_bytes()[at % 2]));
    let largest = WarrantDraft {
        reference: "x".repeat(64).parse().unwrap(),
        scope: Scope::new(Question::Opening, most.collect()).unwrap(),
        ..opening()
    };
    let text = signed(largest).encode();
    assert!(text.len() <= armor::MAX_TEXT_BYTES && Warrant::decode(&text).is_ok());
}

#[test]
fn every_byte_counts() {
    let warrant = signed(matching());
    let mut payload = warrant.statement();
    payload.extend(warrant.signature);
    for at in 0..payload.len() {
        let mut bytes = payload.clone();
        bytes[at] ^= 1;
        assert!(
            Warrant::decode(&armor::encode("", LABEL, &bytes)).is_err(),
            "byte {at}"
        );
    }
    for cut in 0..payload.len() {
        assert!(
            Warrant::decode(&armor::encode("", LABEL, &payload[..cut])).is_err(),
            "{cut} bytes"
        );
    }
}

#[test]
fn other_texts_are_refused() {
    let draft = opening().encode();
    let warrant = signed(opening()).encode();
    assert_eq!(Warrant::decode(&draft).unwrap_err().as_str(), "label");
    assert_eq!(
        WarrantDraft::decode(&warrant).unwrap_err().as_str(),
        "label"
    );
    assert_eq!(
        Warrant::decode("a letter").unwrap_err().as_str(),
        "not-a-key"
    );
    let damaged = warrant.replacen("clew-warrant-1 A", "clew-warrant-1 B", 1);
    assert_eq!(Warrant::decode(&damaged).unwrap_err().as_str(), "damaged");
}

#[test]
fn layout() {
    let statement = signed(opening()).statement();
    // asks; the machine of an opening; an unknown length of the reference.
    let machine = 16 + 1 + 8 + 8 + 16 + 12 + 64 + 7;
    for (at, value) in [(16, 3), (16, 0), (machine, 1), (49, 0), (49, 65)] {
        let mut bytes = statement.clone();
        bytes[at] = value;
        assert_eq!(
            refused_payload(bytes),
            WarrantRule::Layout.into(),
            "byte {at}"
        );
    }
    assert_eq!(
        refused_payload([&statement[..], &[0]].concat()),
        WarrantRule::Layout.into()
    );
    let mut weak = opening();
    weak.requester.key = [0; 32];
    assert_eq!(refused(weak.clone()), WarrantRule::Layout.into());
    assert_eq!(
        weak.sign("court".parse().unwrap(), &key(8)),
        Err(WarrantRule::Layout)
    );
}

#[test]
fn time() {
    let lasting = |time: Duration| WarrantDraft {
        expires: opening().issued + time,
        ..opening()
    };
    let tick = Duration::from_nanos(1);
    for bad in [Duration::ZERO, WARRANT_TIME_MAX + tick] {
        assert_eq!(refused(lasting(bad)), WarrantRule::Time.into());
        assert_eq!(lasting(bad).check(), Err(WarrantRule::Time));
    }
    let backwards = WarrantDraft {
        expires: WallTime::from_nanos(5),
        ..opening()
    };
    assert_eq!(refused(backwards), WarrantRule::Time.into());
    for good in [tick, WARRANT_TIME_MAX] {
        assert_eq!(lasting(good).check(), Ok(()));
    }
}

#[test]
fn scope() {
    let with = |question, digests| WarrantDraft {
        scope: Scope { question, digests },
        ..opening()
    };
    let many = (0..=256_u16).map(|i| core::array::from_fn(|at| i.to_be_bytes()[at % 2]));
    let mut many: Vec<[u8; 32]> = many.collect();
    many.sort_unstable();
    for digests in [
        vec![],
        vec![[5; 32], [5; 32]],
        vec![[6; 32], [5; 32]],
        many.clone(),
    ] {
        let bad = with(Question::Opening, digests);
        assert_eq!(refused(bad.clone()), WarrantRule::Scope.into());
        assert_eq!(bad.check(), Err(WarrantRule::Scope));
    }
    let nobody = Question::Match {
        machine: NO_MACHINE,
    };
    assert_eq!(
        refused(with(nobody, vec![[5; 32]])),
        WarrantRule::Scope.into()
    );
    assert_eq!(Scope::new(Question::Opening, many), Err(WarrantRule::Scope));
}

#[test]
fn signature() {
    let mut other = signed(opening());
    other.issuer = key(7).verifying_key().to_bytes();
    assert_eq!(
        Warrant::decode(&other.encode()),
        Err(WarrantRule::Signature.into())
    );
    let mut weak = signed(opening());
    weak.issuer = [0; 32];
    assert_eq!(
        Warrant::decode(&weak.encode()),
        Err(WarrantRule::Signature.into())
    );
}

#[test]
fn a_request_asks_what_the_warrant_allows() {
    let machine = Question::Match { machine: [9; 32] };
    let (opening, matching) = (signed(opening()), signed(matching()));
    assert_eq!(opening.check_request(&request(Question::Opening)), Ok(()));
    assert_eq!(matching.check_request(&request(machine)), Ok(()));
    assert_eq!(
        opening.check_request(&request(machine)),
        Err(WarrantRule::Question)
    );
    let asked = request(Question::Opening);
    assert_eq!(matching.check_request(&asked), Err(WarrantRule::Question));
    let group = Request {
        group: GroupId([0; 16]),
        ..asked.clone()
    };
    assert_eq!(opening.check_request(&group), Err(WarrantRule::Group));
    let packet = Request {
        signature_digest: [7; 32],
        ..asked
    };
    assert_eq!(opening.check_request(&packet), Err(WarrantRule::Packet));
    let other = request(Question::Match { machine: [8; 32] });
    assert_eq!(matching.check_request(&other), Err(WarrantRule::Machine));
}

#[test]
fn a_warrant_has_its_time() {
    let (warrant, tick) = (signed(opening()), Duration::from_nanos(1));
    let WarrantDraft {
        issued, expires, ..
    } = *warrant.draft();
    let before = |time: WallTime| WallTime::from_nanos(time.as_nanos() - 1);
    assert_eq!(warrant.check_time(before(issued)), Err(WarrantRule::Early));
    assert_eq!(warrant.check_time(issued), Ok(()));
    assert_eq!(warrant.check_time(before(expires)), Ok(()));
    assert_eq!(warrant.check_time(expires), Err(WarrantRule::Expired));
    assert_eq!(
        warrant.check_time(expires + tick),
        Err(WarrantRule::Expired)
    );
}

#[test]
fn rules_have_names_of_their_own() {
    let names: alloc::collections::BTreeSet<_> = WarrantRule::ALL.map(WarrantRule::as_str).into();
    assert_eq!(names.len(), WarrantRule::ALL.len());
}
