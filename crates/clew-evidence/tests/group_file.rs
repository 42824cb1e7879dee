//! One valid file, and one broken file per rule of `spec/group-file.md` section 3.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail the test")]

use clew_evidence::{
    EpochRecord, Frontier, Genesis, GroupFile, GroupFileError, HEADER, MAX_PART_BYTES,
    RegisterEntry, RegisterHead, Rule, seal,
};
use clew_group::bbs04::{IssuerKey, OpenerKey, PublicKey};
use clew_group::curve::G1;
use ed25519_dalek::SigningKey;
use proptest::prelude::*;
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::SeedableRng;
use sha2::{Digest, Sha256};
use std::sync::LazyLock;

const NONCE: [u8; 32] = [9; 32];

struct Made {
    manager: SigningKey,
    genesis: Genesis,
    epochs: Vec<EpochRecord>,
    register: RegisterHead,
    keys: Vec<PublicKey>,
}

fn hash(body: &[u8]) -> [u8; 32] {
    Sha256::digest(body).into()
}

/// A group with two revocations and one machine.
static MADE: LazyLock<Made> = LazyLock::new(|| {
    let mut rng = ChaCha20Rng::seed_from_u64(1);
    let manager = SigningKey::from_bytes(&[5; 32]);
    let (_, opening) = OpenerKey::generate(&NONCE, &mut rng);
    let (issuer, issuing) = IssuerKey::generate(&mut rng);
    let mut keys = vec![PublicKey::genesis(&opening, &issuing)];
    let genesis = Genesis {
        created: 1_700_000_000_000_000_000,
        nonce: NONCE,
        manager: manager.verifying_key().to_bytes(),
        name: "acme".parse().unwrap(),
        public_key: keys[0].to_bytes(),
    };
    let mut previous = hash(&genesis.encode());
    let mut epochs = Vec::new();
    for epoch in 1..=2u32 {
        let before = keys.last().unwrap();
        let x = clew_group::curve::Scalar::from_u128(u128::from(epoch) + 100);
        let revocation = issuer.revoke(before, x).unwrap();
        let key = before.after(&revocation).unwrap();
        let w = key.to_bytes()[288..384].try_into().unwrap();
        let revocation = revocation.to_bytes();
        let start = 1_800_000_000_000_000_000 + u64::from(epoch);
        let record = EpochRecord {
            epoch,
            previous,
            start,
            revocation,
            w,
        };
        previous = hash(&record.encode());
        epochs.push(record);
        keys.push(key);
    }
    let mut frontier = Frontier::default();
    let credential = G1::generator().to_bytes();
    let entry = RegisterEntry {
        index: 0,
        joined: 0,
        credential,
        name: "web-1".parse().unwrap(),
    };
    assert!(frontier.append(&entry.encode()));
    let register = RegisterHead {
        last: previous,
        time: 7,
        machines: 1,
        root: frontier.root(),
    };
    Made {
        manager,
        genesis,
        epochs,
        register,
        keys,
    }
});

fn file(bodies: &[Vec<u8>]) -> Vec<u8> {
    let parts = bodies.iter().flat_map(|body| seal(body, &MADE.manager));
    HEADER.iter().copied().chain(parts).collect()
}

fn bodies() -> Vec<Vec<u8>> {
    let epochs = MADE.epochs.iter().map(EpochRecord::encode);
    std::iter::once(MADE.genesis.encode())
        .chain(epochs)
        .chain([MADE.register.encode()])
        .collect()
}

/// The bodies with a changed genesis, the chain made to fit again.
fn with_genesis(change: impl FnOnce(&mut Genesis)) -> Vec<u8> {
    let mut genesis = MADE.genesis.clone();
    change(&mut genesis);
    let mut epochs = MADE.epochs.clone();
    epochs[0].previous = hash(&genesis.encode());
    epochs[1].previous = hash(&epochs[0].encode());
    rest(genesis, epochs)
}

fn with_epochs(change: impl FnOnce(&mut Vec<EpochRecord>)) -> Vec<u8> {
    let mut epochs = MADE.epochs.clone();
    change(&mut epochs);
    rest(MADE.genesis.clone(), epochs)
}

fn rest(genesis: Genesis, epochs: Vec<EpochRecord>) -> Vec<u8> {
    let mut all = vec![genesis.encode()];
    all.extend(epochs.iter().map(EpochRecord::encode));
    let register = RegisterHead {
        last: hash(all.last().unwrap()),
        ..MADE.register.clone()
    };
    all.push(register.encode());
    file(&all)
}

fn refused(bytes: &[u8]) -> (usize, Rule) {
    let GroupFileError { part, rule } = GroupFile::from_bytes(bytes).unwrap_err();
    (part, rule)
}

#[test]
fn a_good_file_gives_keys_starts_and_revocations() {
    let group = GroupFile::from_bytes(&file(&bodies())).unwrap();
    assert_eq!(group.genesis(), &MADE.genesis);
    assert_eq!(group.id().0, hash(&MADE.genesis.encode())[..16]);
    assert_eq!(group.newest_epoch(), 2);
    assert_eq!(group.start(0), None);
    assert_eq!(group.start(2), Some(MADE.epochs[1].start));
    assert_eq!(group.register(), &MADE.register);
    for (epoch, key) in MADE.keys.iter().enumerate() {
        assert_eq!(group.public_key(epoch as u32).unwrap().unwrap(), *key);
    }
    assert!(group.public_key(3).is_none());
    assert_eq!(group.revocations_after(0).count(), 2);
    let last = group.revocations_after(1).next().unwrap().unwrap();
    assert_eq!(MADE.keys[1].after(&last), Ok(MADE.keys[2].clone()));
}

#[test]
fn header() {
    assert_eq!(refused(b""), (0, Rule::Header));
    assert_eq!(refused(b"clew-group-file\r"), (0, Rule::Header));
}

#[test]
fn truncated() {
    let good = file(&bodies());
    for cut in [
        HEADER.len(),
        HEADER.len() + 3,
        HEADER.len() + 100,
        good.len() - 1,
    ] {
        assert_eq!(refused(&good[..cut]).1, Rule::Truncated, "cut at {cut}");
    }
    assert_eq!(refused(&file(&bodies()[..3])), (3, Rule::Truncated));
}

#[test]
fn too_long() {
    let mut bytes = HEADER.to_vec();
    bytes.extend((MAX_PART_BYTES as u32 + 1).to_be_bytes());
    assert_eq!(refused(&bytes), (0, Rule::TooLong));
}

#[test]
fn kind() {
    let all = bodies();
    assert_eq!(refused(&file(&all[1..])), (0, Rule::Kind));
    let again = [all[0].clone(), all[0].clone(), all[3].clone()];
    assert_eq!(refused(&file(&again)), (1, Rule::Kind));
    assert_eq!(refused(&file(&[all[0].clone(), vec![9]])), (1, Rule::Kind));
    assert_eq!(refused(&file(&[all[0].clone(), vec![]])), (1, Rule::Kind));
}

#[test]
fn trailing_bytes() {
    let mut all = bodies();
    all.push(all[3].clone());
    assert_eq!(refused(&file(&all)), (4, Rule::TrailingBytes));
}

#[test]
fn layout() {
    for part in 0..4 {
        for change in [
            |b: &mut Vec<u8>| b.push(0),
            |b: &mut Vec<u8>| b.truncate(b.len() - 1),
        ] {
            let mut all = bodies();
            change(&mut all[part]);
            assert_eq!(refused(&file(&all)), (part, Rule::Layout));
        }
    }
    // Scheme, opening, threshold, trustees, and a name with a control character.
    for at in [1, 74, 75, 76, 78] {
        let mut all = bodies();
        all[0][at] = 0;
        assert_eq!(refused(&file(&all)), (0, Rule::Layout), "byte {at}");
    }
}

#[test]
fn signature() {
    let good = file(&bodies());
    let mut at = HEADER.len();
    for (i, body) in bodies().iter().enumerate() {
        at += 4 + body.len() + 64;
        let mut bytes = good.clone();
        bytes[at - 1] ^= 0x10;
        assert_eq!(refused(&bytes), (i, Rule::Signature));
    }
    let stranger = seal(&bodies()[3], &SigningKey::from_bytes(&[6; 32]));
    let mut forged = file(&bodies()[..3]);
    forged.extend(stranger);
    assert_eq!(refused(&forged), (3, Rule::Signature));
}

#[test]
fn epoch() {
    let wrong = with_epochs(|e| e[1].epoch = 3);
    assert_eq!(refused(&wrong), (2, Rule::Epoch));
}

#[test]
fn chain() {
    let wrong = with_epochs(|e| e[1].previous[0] ^= 1);
    assert_eq!(refused(&wrong), (2, Rule::Chain));
    let mut all = bodies();
    all.remove(2); // the register still names the epoch that was cut away
    assert_eq!(refused(&file(&all)), (2, Rule::Chain));
}

#[test]
fn start() {
    let same = with_epochs(|e| {
        e[1].start = e[0].start;
    });
    assert_eq!(refused(&same), (2, Rule::Start));
    let zero = with_epochs(|e| {
        e.truncate(1);
        e[0].start = 0;
    });
    assert_eq!(refused(&zero), (1, Rule::Start));
}

#[test]
fn first_public_key() {
    let other_nonce = with_genesis(|g| g.nonce[0] ^= 1);
    assert_eq!(refused(&other_nonce), (0, Rule::PublicKey));
    let later_key = with_genesis(|g| g.public_key = MADE.keys[1].to_bytes());
    assert_eq!(refused(&later_key), (0, Rule::PublicKey));
    let off_curve = with_genesis(|g| g.public_key[47] ^= 1);
    assert_eq!(refused(&off_curve), (0, Rule::PublicKey));
}

#[test]
fn later_public_key() {
    let stray = with_epochs(|e| {
        e.truncate(1);
        e[0].w = MADE.epochs[1].w;
    });
    let group = GroupFile::from_bytes(&stray).unwrap();
    let error = group.public_key(1).unwrap().unwrap_err();
    assert_eq!((error.part, error.rule), (1, Rule::PublicKey));
}

proptest! {
    #[test]
    fn any_flipped_bit_is_found(at in any::<prop::sample::Index>(), bit in 0u8..8) {
        let mut bytes = file(&bodies());
        let at = at.index(bytes.len());
        bytes[at] ^= 1 << bit;
        prop_assert!(GroupFile::from_bytes(&bytes).is_err());
    }

    #[test]
    fn arbitrary_bytes_never_panic(bytes in any::<Vec<u8>>(), with_header in any::<bool>()) {
        let bytes = if with_header { [HEADER.as_slice(), &bytes].concat() } else { bytes };
        prop_assert!(GroupFile::from_bytes(&bytes).is_err());
    }
}
