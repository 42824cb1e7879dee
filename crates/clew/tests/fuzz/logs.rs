//! Seeds of a log: its entries, texts and tiles.

use clew_keys::{AuthorKeyFile, LogKeyFile, TextFile};
use clew_log::entry::{Answer, Asks, Body, Entry, Filed, Logged, Role, Seal, Trusteeship, Warrant};
use clew_log::tile::{self, Tile};
use clew_log::{AddCheckpoint, Checkpoint, Cosignature, KeyKind, Note, Proof, sign, tree};
use clew_wire::WallTime;
use zeroize::Zeroizing;

const NOW: WallTime = WallTime::from_nanos(1_800_000_000_000_000_000);

fn author(number: u8) -> AuthorKeyFile {
    AuthorKeyFile::new(Zeroizing::new([number; 32]), "author".parse().unwrap())
}

fn logged() -> Vec<Vec<u8>> {
    let record = [7; 32];
    let warrant = Warrant {
        salt: [1; 32],
        file: b"warrant".to_vec(),
    };
    let admit = |number, role| Body::Author {
        role,
        key: author(number).public().signs.to_bytes(),
        change: 0,
        name: "author".parse().unwrap(),
    };
    let filed = |id: u8, seal| {
        Body::Request(Filed {
            asks: Asks::Opening,
            request: [id; 32],
            signatures: 1,
            warrant: warrant.hash(),
            seal,
        })
    };
    let bodies = [
        (1, Body::Group { record }),
        (1, admit(2, Role::Requester)),
        (1, admit(3, Role::Trustee(Trusteeship::of_first_key(1)))),
        (1, admit(4, Role::Observer)),
        (
            1,
            Body::Enrolled {
                first: 0,
                leaves: vec![[9; 32]; 3],
            },
        ),
        (
            1,
            Body::Epoch {
                epoch: 1,
                id: [5; 32],
                start: NOW,
            },
        ),
        (2, filed(1, Seal::Open(warrant.clone()))),
        (
            2,
            filed(2, Seal::Until(WallTime::from_nanos(NOW.as_nanos() + 1))),
        ),
        (
            3,
            Body::Decision {
                place: 6,
                by: Trusteeship::of_first_key(1),
                answer: Answer::Yes,
            },
        ),
        (
            2,
            Body::Result {
                place: 6,
                evidence: [3; 32],
            },
        ),
        (2, Body::Unsealed { place: 7, warrant }),
        (
            4,
            Body::Anchor {
                segment: [2; 32],
                first: NOW,
                last: NOW,
                packets: 9,
            },
        ),
    ];
    let signed = bodies.into_iter().map(|(number, body)| {
        let entry = Entry::sign([7; 16], NOW, body, &author(number).signing_key());
        let (logged, entry) = (NOW, entry.unwrap());
        Logged { logged, entry }.encode()
    });
    signed.collect()
}

/// A whole log, and its entries alone.
pub fn entries() -> Vec<Vec<u8>> {
    let logged = logged();
    let bundle = tile::bundle(logged.iter().map(Vec::as_slice)).unwrap();
    let alone = logged.iter().map(|bytes| bytes[8..].to_vec());
    alone.chain([bundle]).collect()
}

/// A text of each kind.
pub fn texts() -> Vec<Vec<u8>> {
    let key =
        |kind| LogKeyFile::new(kind, Zeroizing::new([8; 32]), &"log".parse().unwrap()).unwrap();
    let (log, witness) = (key(KeyKind::Log), key(KeyKind::Witness));
    let logged = &logged()[0];
    let checkpoint = Checkpoint {
        origin: "log".into(),
        size: 1,
        root: tree::leaf(logged),
    };
    let mut note = Note::new(checkpoint.to_string()).unwrap();
    note.add(sign(note.text(), "log", &log.signing_key()).unwrap())
        .unwrap();
    let line = Cosignature::sign(note.text(), 1_800_000_000, "log", &witness.signing_key());
    note.add(line.unwrap()).unwrap();
    let request = AddCheckpoint {
        old_size: 3,
        hashes: vec![[1; 32]; 2],
        checkpoint: note.clone(),
    };
    let proof = Proof {
        extra: Some(logged.clone()),
        index: 0,
        hashes: vec![[1; 32]],
        checkpoint: note.clone(),
    };
    let texts = [
        note.to_string(),
        request.to_string(),
        proof.to_string(),
        log.public().to_string(),
        witness.public().to_string(),
        log.encode().to_string(),
        author(1).encode().to_string(),
        author(1).public().encode().to_string(),
    ];
    texts.map(String::into_bytes).into()
}

/// Paths with the tiles that stand there.
pub fn tiles() -> Vec<Vec<u8>> {
    let tiles = [(Some(0), 0, 7), (Some(3), 1_234_067, 256), (None, 999, 1)];
    let tiles = tiles.map(|(level, index, width)| {
        let tile = Tile {
            level,
            index,
            width,
        };
        let hashes = vec![5; 32 * usize::try_from(width).unwrap()];
        [tile.path().as_bytes(), b"\n", &hashes].concat()
    });
    tiles.into()
}
