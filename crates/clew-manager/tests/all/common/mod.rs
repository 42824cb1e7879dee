//! What the tests share: a group's store with its issuer, and signed packets.

#[path = "../../../../clew/tests/common/cluster.rs"]
#[allow(dead_code, reason = "each program uses a part")]
pub mod cluster;
pub mod court;

use clew_evidence::{
    CheckedGroup, EpochRecord, GroupFile, HEADER, Name, RegisterHead, Row, sign_part,
};
use clew_group::curve::G1;
use clew_group::quorum::{Quorum, Set, Trustee};
use clew_group::{Fault, MemberKey, PublicKey, Revoked, Scheme, Signed, VerifyingKey, Witness};
use clew_keys::update::{UpdateError, Witnesses, update};
use clew_keys::witness_file::{self, Need};
use clew_keys::{IssuerKey, IssuerKeyFile, MemberKeyFile, TextFile, TrusteeKeyFile};
use clew_manager::{EpochStart, GROUP_FILE, ISSUER_KEY, NewGroup, Opening, Store, StoreError};
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::SeedableRng;
use std::fs;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

pub const NOW: u64 = 1_800_000_000_000_000_000;
/// After every epoch that the tests make at once, and before [`clew_manager::FAR_NS`].
pub const LATER: u64 = NOW + 1_000_000;
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
pub struct TestGroup {
    pub folder: TempDir,
    pub dir: PathBuf,
    pub store: Store,
    pub issuer: IssuerKeyFile,
}

impl TestGroup {
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

    pub fn enrol_all(&mut self, names: &[&str]) {
        names.iter().for_each(|name| drop(self.enrol(name)));
    }

    /// Revokes a machine at once; the new epoch is made and starts as many nanoseconds after [`NOW`]
    /// as its number.
    pub fn revoke(&mut self, name: &str) -> u32 {
        self.revoke_all(&[name], false)
    }

    /// Revokes machines together, by a rebase if that is asked for.
    pub fn revoke_all(&mut self, names: &[&str], rebase: bool) -> u32 {
        let when = EpochStart::now(self.next());
        let names: Vec<Name> = names.iter().map(|name| name.parse().unwrap()).collect();
        let revoked = self
            .store
            .revoke(&self.issuer, &names, rebase, when, &mut |_, _| true);
        revoked.unwrap()
    }

    /// When the next epoch is made.
    pub fn next(&self) -> u64 {
        NOW + 1 + u64::from(self.group().newest_epoch())
    }

    /// Now is after every epoch that [`TestGroup::revoke`] makes.
    pub fn update(&self, key: &MemberKeyFile) -> Result<MemberKeyFile, UpdateError> {
        let updated = update(key, &self.checked(), LATER, &mut self.published_witnesses());
        updated.map(|updated| updated.key)
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

    /// The row of a machine.
    pub fn row(&self, name: &str) -> Row {
        let machine = self.store.machine(name).unwrap().unwrap();
        self.store.row(&machine).unwrap()
    }

    /// Keeps a row good, as for somebody who gets it.
    pub fn keep(&mut self, row: &Row) {
        let kept = self.store.keep(&self.issuer, row.machines, LATER);
        kept.unwrap();
    }

    /// B of a machine in `epoch`, from the issuer.
    pub fn base(&self, name: &str, epoch: u32) -> Result<G1, Revoked> {
        let machine = self.store.machine(name).unwrap().unwrap();
        let issuer = self.store.epoch_issuer(&self.issuer, epoch).unwrap();
        issuer.base(&machine.credential().unwrap(), &machine.x(&self.issuer))
    }

    /// The group file, with its chain checked.
    pub fn checked(&self) -> CheckedGroup {
        checked(&self.group())
    }

    /// Witnesses as the store publishes them.
    pub fn published_witnesses(&self) -> Published {
        Published(self.store.witnesses_path())
    }

    /// gamma.
    pub fn xr(&self) -> &clew_group::xr::IssuerKey {
        match &self.issuer.issuer {
            IssuerKey::Xr(gamma) => gamma,
            IssuerKey::Bbs04(_) => unreachable!("the test made an xr group"),
        }
    }
}

/// The file of SQLite within a group's directory, with all that is in its log.
pub fn settled(dir: &Path) -> Vec<u8> {
    let path = dir.join("issuer/store.db");
    let database = rusqlite::Connection::open(&path).unwrap();
    let into = "PRAGMA wal_checkpoint(TRUNCATE)";
    let busy: i64 = database.query_row(into, [], |row| row.get(0)).unwrap();
    assert_eq!(busy, 0);
    fs::read(path).unwrap()
}

/// The buckets in a folder.
pub struct Published(pub PathBuf);

impl Witnesses for Published {
    fn find(&mut self, need: &Need) -> Option<Witness> {
        let bytes = fs::read(need.path_under(&self.0)).ok()?;
        witness_file::find(&bytes, need).ok()
    }
}

pub fn checked(group: &GroupFile) -> CheckedGroup {
    group.clone().check_epochs(&mut rng(99)).unwrap()
}

pub fn create(dir: &Path, scheme: Scheme, quorum: Quorum, seed: u64) -> Result<Store, StoreError> {
    let group = NewGroup {
        name: "acme".parse().unwrap(),
        scheme,
        opening: Opening::TrustedDealer(quorum),
        log: None,
        now: NOW,
    };
    let database = database();
    let made = Store::create_with(
        dir,
        database.as_deref(),
        group,
        None,
        &mut rng(seed),
        |_, _| Ok::<_, StoreError>(()),
    );
    made.map(|made| made.store)
}

/// The URL of a new database, if this run is with a server.
pub fn database() -> Option<String> {
    let socket = std::env::var_os(cluster::SOCKET)?;
    Some(cluster::fresh(Path::new(&socket)))
}

pub fn issuer(dir: &Path) -> IssuerKeyFile {
    IssuerKeyFile::decode(&fs::read_to_string(dir.join(ISSUER_KEY)).unwrap()).unwrap()
}

pub fn enrol(store: &mut Store, issuer: &IssuerKeyFile, name: &str) -> MemberKeyFile {
    let rows = u64::from(store.group().register().machines);
    let seed = name.bytes().fold(rows, |all, b| all * 31 + u64::from(b));
    let pending = store
        .enrol(issuer, name.parse().unwrap(), LATER, &mut rng(seed))
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
pub fn group_file(acme: &TestGroup, epochs: &[EpochRecord]) -> Vec<u8> {
    let (group, manager) = (acme.group(), &acme.issuer.manager);
    let last = match epochs.last() {
        Some(record) => record.epoch_id(),
        None => group.genesis().epoch_id(),
    };
    let head = RegisterHead {
        last,
        ..group.register().clone()
    };
    let mut bytes = HEADER.to_vec();
    bytes.extend(sign_part(&group.genesis().encode(), manager));
    for record in epochs {
        bytes.extend(sign_part(&record.encode(), manager));
    }
    for checkpoint in group.checkpoints() {
        bytes.extend(sign_part(&checkpoint.encode(), manager));
    }
    bytes.extend(sign_part(&head.encode(), manager));
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
    /// Signs in the newest epoch that the key holds.
    pub fn by(key: &MemberKeyFile, message: &[u8], seed: u64) -> Self {
        let held = key.newest().unwrap();
        let mut body = vec![0; key.scheme().signature_bytes(false)];
        let precursor = key.signing_key(held).unwrap().precursor(&mut rng(seed));
        precursor.sign(&[message], false, &mut body);
        Self {
            epoch: held.epoch,
            message: message.to_vec(),
            body,
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
}

/// Copies the store's folder.
pub fn copy_all(from: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        let to = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy_all(&entry.path(), &to);
        } else {
            fs::copy(entry.path(), &to).unwrap();
        }
    }
}
