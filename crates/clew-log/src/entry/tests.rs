use super::*;
use clew_wire::Name;

pub(crate) const NOW: WallTime = WallTime::from_nanos(1_800_000_000_000_000_000);

pub(crate) fn key(number: u8) -> SigningKey {
    SigningKey::from_bytes(&[number; 32])
}

fn name() -> Name {
    "court".parse().unwrap()
}

fn warrant() -> Warrant {
    Warrant {
        salt: [4; 32],
        file: b"a warrant".to_vec(),
    }
}

fn filed(seal: Seal) -> Body {
    Body::Request(Filed {
        asks: Asks::Match,
        request: [1; 32],
        signatures: 7,
        warrant: warrant().hash(),
        seal,
    })
}

fn one_of_each() -> Vec<Body> {
    let author = |role| Body::Author {
        role,
        key: key(9).verifying_key().to_bytes(),
        change: 0,
        name: name(),
    };
    let mut bodies = vec![
        Body::Group { record: [1; 32] },
        Body::Enrolled {
            first: 3,
            leaves: vec![[5; 32]; LEAVES_MAX],
        },
        Body::Epoch {
            epoch: 1,
            id: [6; 32],
            start: NOW,
        },
        filed(Seal::Open(warrant())),
        filed(Seal::Until(NOW)),
        Body::Result {
            place: 2,
            evidence: [3; 32],
        },
        Body::Unsealed {
            place: 2,
            warrant: warrant(),
        },
        Body::Anchor {
            segment: [8; 32],
            first: NOW,
            last: NOW,
            packets: 12,
        },
    ];
    let roles = [
        Role::None,
        Role::Trustee(held(7, 255)),
        Role::Observer,
        Role::Requester,
    ];
    bodies.extend(roles.map(author));
    bodies.extend([Answer::Yes, Answer::No(2)].map(|answer| Body::Decision {
        place: 1,
        by: held(0, 1),
        answer,
    }));
    bodies
}

pub const fn held(since: u32, index: u8) -> Trusteeship {
    Trusteeship { since, index }
}

fn signed(body: Body) -> Entry {
    Entry::sign([1; 16], NOW, body, &key(1)).unwrap()
}

#[test]
fn entries_are_read_as_they_were_written() {
    for body in one_of_each() {
        let entry = signed(body);
        let logged = Logged {
            logged: NOW,
            entry: entry.clone(),
        };
        assert_eq!(Entry::decode(&entry.encode()), Some(entry.clone()));
        assert_eq!(Logged::decode(&logged.encode()), Some(logged));
        assert!(entry.is_signed());
    }
}

/// Each byte counts: whatever is changed, the entry does not decode or its signature does not hold.
#[test]
fn a_changed_entry_is_not_signed() {
    for body in one_of_each() {
        let bytes = signed(body).encode();
        for place in 0..bytes.len().min(400) {
            let mut changed = bytes.clone();
            changed[place] ^= 1;
            let holds = Entry::decode(&changed).is_some_and(|entry| entry.is_signed());
            assert!(!holds, "byte {place}");
        }
    }
}

#[test]
fn other_layouts_are_refused() {
    // Kinds of a fixed length have no further byte, and none has one less.
    for body in one_of_each() {
        let bytes = signed(body.clone()).encode();
        let end = bytes.len() - SIGNATURE_BYTES;
        let mut longer = bytes.clone();
        longer.insert(end, 0);
        let has_rest = matches!(
            &body,
            Body::Unsealed { .. }
                | Body::Request(Filed {
                    seal: Seal::Open(_),
                    ..
                })
        );
        assert_eq!(Entry::decode(&longer).is_some(), has_rest, "{body:?}");
        let mut shorter = bytes.clone();
        shorter.remove(end - 1);
        assert_eq!(Entry::decode(&shorter).is_some(), has_rest, "{body:?}");
        for cut in 0..LABEL.len() + 57 {
            assert_eq!(Entry::decode(&bytes[..cut]), None);
        }
    }
    let with = |body: Body, place: usize, byte: u8| {
        let mut bytes = signed(body).encode();
        bytes[place] = byte;
        Entry::decode(&bytes)
    };
    let (kind, body) = (16, 16 + 1 + 16 + 8 + 32);
    for bad in [0, 10, 255] {
        assert_eq!(with(Body::Group { record: [0; 32] }, kind, bad), None);
    }
    assert_eq!(with(filed(Seal::Until(NOW)), body, 0), None, "asks");
    assert_eq!(with(filed(Seal::Until(NOW)), body, 3), None, "asks");
    let decision = || one_of_each().pop().unwrap();
    assert_eq!(with(decision(), body + 13, 0), None, "answer");
    let epoch = || one_of_each().swap_remove(2);
    assert_eq!(with(epoch(), body + 3, 0), None, "epoch 0");
    let author = |place, byte| {
        let author = one_of_each().into_iter().find(|body| {
            matches!(
                body,
                Body::Author {
                    role: Role::Observer,
                    ..
                }
            )
        });
        with(author.unwrap(), body + place, byte)
    };
    assert_eq!(author(0, 4), None, "role");
    assert_eq!(author(1, 1), None, "an observer with an index");
    assert_eq!(author(0, 1), None, "a trustee without one");
    assert_eq!(author(39, b' '), None, "name");
}

#[test]
fn what_nobody_could_read_is_not_signed() {
    let long = Warrant {
        salt: [0; 32],
        file: vec![0; ENTRY_BYTES_MAX],
    };
    let empty = Warrant {
        salt: [0; 32],
        file: vec![],
    };
    let mut weak = [0; 32];
    weak[0] = 1;
    let bad = [
        filed(Seal::Open(long)),
        filed(Seal::Open(empty)),
        filed(Seal::Until(WallTime::from_nanos(0))),
        Body::Enrolled {
            first: 0,
            leaves: vec![],
        },
        Body::Enrolled {
            first: 0,
            leaves: vec![[0; 32]; LEAVES_MAX + 1],
        },
        Body::Author {
            role: Role::Trustee(held(7, 0)),
            key: [3; 32],
            change: 0,
            name: name(),
        },
        Body::Author {
            role: Role::Observer,
            key: weak,
            change: 0,
            name: name(),
        },
        Body::Decision {
            place: 0,
            by: held(0, 1),
            answer: Answer::No(1),
        },
    ];
    for bad in bad {
        assert_eq!(
            Entry::sign([1; 16], NOW, bad.clone(), &key(1)),
            None,
            "{bad:?}"
        );
    }
}

#[test]
fn the_same_statement_is_the_same_at_another_time() {
    let body = || filed(Seal::Until(NOW));
    let sign = |time, body, by| {
        Entry::sign([1; 16], WallTime::from_nanos(time), body, &key(by))
            .unwrap()
            .statement()
    };
    assert_eq!(sign(1, body(), 1), sign(2, body(), 1));
    assert_ne!(sign(1, body(), 1), sign(1, body(), 2));
    assert_ne!(sign(1, body(), 1), sign(1, filed(Seal::Open(warrant())), 1));
}

/// The longest entry fits into a bundle, behind the log's time.
#[test]
fn the_longest_entry_is_read() {
    let fixed = signed(filed(Seal::Open(warrant()))).encode().len() - warrant().file.len();
    let longest = |more: usize| {
        let warrant = Warrant {
            salt: [0; 32],
            file: vec![1; ENTRY_BYTES_MAX - TIME_BYTES - fixed + more],
        };
        Entry::sign([1; 16], NOW, filed(Seal::Open(warrant)), &key(1))
    };
    let entry = longest(0).unwrap();
    let logged = Logged { logged: NOW, entry };
    assert_eq!(logged.encode().len(), ENTRY_BYTES_MAX);
    assert_eq!(Logged::decode(&logged.encode()), Some(logged));
    assert_eq!(longest(1), None);
}
