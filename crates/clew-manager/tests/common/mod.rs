//! What the tests share: a group's store with its issuer, trustees at their desks, and signed packets.
#![allow(dead_code, reason = "each test program uses its part")]
#![allow(clippy::unwrap_used, reason = "helpers of tests fail the test")]

use clew_evidence::{
    EpochRecord, GroupFile, HEADER, Packet, Question, RegisterHead, Request, Row, Share, seal,
};
use clew_group::curve::G1;
use clew_group::quorum::{Quorum, Set, Trustee};
use clew_group::{Fault, MemberKey, PublicKey, Scheme, Signed, SigningKey, VerifyingKey};
use clew_manager::keys::{IssuerKey, IssuerKeyFile, MemberKeyFile, TrusteeKeyFile};
use clew_manager::store::{GROUP_FILE, ISSUER_KEY};
use clew_manager::trustee::{Candidate, Case, Desk, TrusteeError};
use clew_manager::{Store, StoreError};
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::SeedableRng;
use std::fs;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

pub const NOW: u64 = 1_800_000_000_000_000_000;
pub const BOTH: [Scheme; 2] = [Scheme::Bbs04, Scheme::Xr];

pub fn rng(seed: u64) -> ChaCha20Rng {
    ChaCha20Rng::seed_from_u64(seed)
}

pub fn quorum(threshold: u8, trustees: u8) -> Quorum {
    Quorum::new(threshold, trustees).unwrap()
}

pub fn who(index: u8) -> Trustee {
    Trustee::new(index).unwrap()
}

pub fn set<const N: usize>(indices: [u8; N]) -> Set {
    Set::of(indices.map(who)).unwrap()
}

/// A group: its store, and the issuer who works with it.
pub struct Office {
    pub folder: TempDir,
    pub dir: PathBuf,
    pub store: Store,
    pub issuer: IssuerKeyFile,
}

impl Office {
    /// A group that any two of three trustees open.
    pub fn new(scheme: Scheme) -> Self {
        Self::of(scheme, quorum(2, 3), 1)
    }

    pub fn of(scheme: Scheme, quorum: Quorum, seed: u64) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let dir = folder.path().join("acme");
        let store = create(&dir, scheme, quorum, seed).unwrap();
        let issuer = issuer(&dir);
        Self {
            folder,
            dir,
            store,
            issuer,
        }
    }

    pub fn enrol(&mut self, name: &str) -> MemberKeyFile {
        enrol(&mut self.store, &self.issuer, name)
    }

    /// Revokes a machine; the new epoch starts as many nanoseconds after [`NOW`] as its number.
    pub fn revoke(&mut self, name: &str) -> u32 {
        let start = NOW + 1 + u64::from(self.group().newest_epoch());
        self.store.revoke(&self.issuer, name, start, NOW).unwrap()
    }

    pub fn group(&self) -> GroupFile {
        self.store.group().clone()
    }

    pub fn trustee_path(&self, index: u8) -> PathBuf {
        self.dir.join(format!("trustees/{index}.key"))
    }

    pub fn trustee(&self, index: u8) -> TrusteeKeyFile {
        TrusteeKeyFile::decode(&fs::read_to_string(self.trustee_path(index)).unwrap()).unwrap()
    }

    /// The row of a machine, and its credential in `epoch`, from the issuer.
    pub fn candidate(&self, name: &str, epoch: u32) -> (Row, G1) {
        let machine = self.store.machine(name).unwrap().unwrap();
        let lines = self.store.lines(&self.issuer, epoch).unwrap();
        let line = lines.line(&machine).unwrap();
        (line.row, G1::from_bytes(&line.credential.unwrap()).unwrap())
    }

    /// gamma.
    pub fn xr(&self) -> &clew_group::xr::IssuerKey {
        match &self.issuer.issuer {
            IssuerKey::Xr(gamma) => gamma,
            IssuerKey::Bbs04(_) => unreachable!("the test made an xr group"),
        }
    }
}

pub fn create(dir: &Path, scheme: Scheme, quorum: Quorum, seed: u64) -> Result<Store, StoreError> {
    let name = "acme".parse().unwrap();
    Store::create(dir, name, scheme, quorum, NOW, None, &mut rng(seed)).map(|made| made.store)
}

pub fn issuer(dir: &Path) -> IssuerKeyFile {
    IssuerKeyFile::decode(&fs::read_to_string(dir.join(ISSUER_KEY)).unwrap()).unwrap()
}

pub fn enrol(store: &mut Store, issuer: &IssuerKeyFile, name: &str) -> MemberKeyFile {
    let seed = name.bytes().fold(7, |all, b| all * 31 + u64::from(b));
    let pending = store
        .enrol(issuer, name.parse().unwrap(), NOW, &mut rng(seed))
        .unwrap();
    let key = pending.key().clone();
    pending.commit().unwrap();
    store.refresh().unwrap();
    key
}

pub fn published(dir: &Path) -> GroupFile {
    GroupFile::from_bytes(&fs::read(dir.join(GROUP_FILE)).unwrap()).unwrap()
}

/// The bytes of a group file with other epochs, every part signed by the manager.
pub fn group_file(office: &Office, epochs: &[EpochRecord]) -> Vec<u8> {
    let (group, manager) = (office.group(), &office.issuer.manager);
    let last = match epochs.last() {
        Some(record) => record.epoch_id(),
        None => group.genesis().epoch_id(),
    };
    let head = RegisterHead {
        last,
        ..group.register().clone()
    };
    let mut bytes = HEADER.to_vec();
    bytes.extend(seal(&group.genesis().encode(), manager));
    for record in epochs {
        bytes.extend(seal(&record.encode(), manager));
    }
    bytes.extend(head.seal(manager).encode());
    bytes
}

pub fn xr_key(group: &GroupFile, epoch: u32) -> clew_group::xr::PublicKey {
    match group.public_key(epoch).unwrap().unwrap() {
        PublicKey::Xr(key) => key,
        PublicKey::Bbs04(_) => unreachable!("the test made an xr group"),
    }
}

/// y of a machine.
pub fn device_secret(key: &MemberKeyFile) -> [u8; 32] {
    assert!(matches!(key.key, MemberKey::Xr(_)));
    key.key.to_bytes()[80..].try_into().unwrap()
}

/// A packet that a machine signed, as trustees see it.
pub struct Sent {
    pub epoch: u32,
    pub message: Vec<u8>,
    pub body: Vec<u8>,
}

impl Sent {
    pub fn by(key: &MemberKeyFile, message: &[u8], seed: u64) -> Self {
        let scheme = key.public.scheme();
        let mut body = vec![0; scheme.signature_bytes(false)];
        let signer = SigningKey::new(&key.public, key.id, key.key.clone()).unwrap();
        signer
            .precursor(&mut rng(seed))
            .sign(&[message], false, &mut body);
        Self {
            epoch: key.epoch,
            message: message.to_vec(),
            body,
        }
    }

    pub fn packet(&self) -> Packet<'_> {
        Packet {
            epoch: self.epoch,
            message: &self.message,
            body: &self.body,
        }
    }

    pub fn verify(&self, group: &GroupFile) -> Result<(), Fault> {
        let public = group.public_key(self.epoch).unwrap().unwrap();
        let key = VerifyingKey::new(&public, group.epoch_id(self.epoch).unwrap());
        let signed = Signed {
            message: &self.message,
            body: &self.body,
            incremental: false,
        };
        key.verify(signed, &mut rng(0))
    }

    pub fn request(&self, group: &GroupFile, question: Question) -> Request {
        Request::new(group, question, &self.packet(), None).unwrap()
    }

    pub fn opening(&self, group: &GroupFile) -> Request {
        self.request(group, Question::Opening)
    }

    pub fn comparison(&self, group: &GroupFile, row: &Row) -> Request {
        let machine = row.entry.leaf_hash();
        self.request(group, Question::Match { machine })
    }
}

/// What trustee `index` of the office answers to a request for an opening.
pub fn share(
    office: &Office,
    index: u8,
    sent: &Sent,
    request: &Request,
) -> Result<Share, TrusteeError> {
    let (key, path) = (office.trustee(index), office.trustee_path(index));
    let (group, packet) = (office.group(), sent.packet());
    let case = Case {
        group: &group,
        request,
        packet: &packet,
    };
    Desk::new(&key, &path).open(case, NOW, &mut rng(100 + u64::from(index)))
}

/// A match under way: one packet, one machine.
pub struct Comparison<'a> {
    pub office: &'a Office,
    pub group: GroupFile,
    pub sent: Sent,
    pub row: Row,
    pub credential: G1,
    pub request: Request,
}

impl<'a> Comparison<'a> {
    pub fn new(office: &'a Office, sent: Sent, machine: &str) -> Self {
        let (group, (row, credential)) = (office.group(), office.candidate(machine, sent.epoch));
        let request = sent.comparison(&group, &row);
        Self {
            office,
            group,
            sent,
            row,
            credential,
            request,
        }
    }

    fn at_desk<T>(&self, index: u8, act: impl FnOnce(Desk<'_>, Case<'_>, Candidate<'_>) -> T) -> T {
        let (key, path) = (self.office.trustee(index), self.office.trustee_path(index));
        let packet = self.sent.packet();
        let case = Case {
            group: &self.group,
            request: &self.request,
            packet: &packet,
        };
        let with = Candidate {
            row: &self.row,
            credential: &self.credential,
        };
        act(Desk::new(&key, &path), case, with)
    }

    pub fn commit(&self, index: u8, set: Set, seed: u64) -> Result<Share, TrusteeError> {
        self.at_desk(index, |desk, case, with| {
            desk.commit(case, with, set, NOW, &mut rng(seed))
        })
    }

    pub fn reveal(&self, index: u8, commitments: &[Share]) -> Result<Share, TrusteeError> {
        self.at_desk(index, |desk, case, with| {
            desk.reveal(case, with, commitments)
        })
    }

    pub fn compare(&self, index: u8, blinds: &[Share]) -> Result<Share, TrusteeError> {
        self.at_desk(index, |desk, case, with| {
            desk.compare(case, with, blinds, &mut rng(7))
        })
    }

    /// Steps 1 and 2 by all of a set.
    pub fn blinds<const N: usize>(&self, indices: [u8; N]) -> [Share; N] {
        let all = set(indices);
        let commitments = indices.map(|i| self.commit(i, all, i.into()).unwrap());
        indices.map(|i| self.reveal(i, &commitments).unwrap())
    }
}
