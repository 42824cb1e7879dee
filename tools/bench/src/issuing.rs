//! A real group on disk: a store, its issuer and its trustees, on one folder as no group should be.

use crate::groups::rng;
use crate::nodes::Nodes;
use clew_evidence::{CheckedGroup, FoundRow, GroupFile, Name, RegisterHead, Search, WallTime};
use clew_group::Scheme;
use clew_group::curve::G1;
use clew_group::quorum::Quorum;
use clew_keys::{IssuerKeyFile, MemberKeyFile, TextFile, TrusteeKeyFile};
use clew_manager::{Created, ISSUER_KEY, Machine, NewGroup, Opening, PendingEnrolment, Store};
use rand_chacha::ChaCha20Rng;
use std::fs;
use std::path::PathBuf;
use tempfile::TempDir;

/// When everything happens, nanoseconds since 1970.
pub const NOW: u64 = 1_800_000_000_000_000_000;

/// A store in a temporary directory, with all keys.
pub struct Issuing {
    /// Removed when dropped.
    temporary: TempDir,
    pub store: Store,
    pub issuer: IssuerKeyFile,
    pub trustees: Vec<TrusteeKeyFile>,
    rng: ChaCha20Rng,
}

impl Issuing {
    pub fn new(scheme: Scheme, quorum: Quorum) -> Self {
        let temporary = tempfile::tempdir().expect("a temporary directory");
        let dir = temporary.path().join("group");
        let mut rng = rng(1);
        let group = NewGroup {
            name: name("bench"),
            scheme,
            opening: Opening::TrustedDealer(quorum),
            log: None,
            now: NOW,
        };
        let Created {
            store,
            trustee_keys,
        } = Store::create(&dir, group, None, &mut rng).expect("a new store");
        let read = |path: PathBuf| fs::read_to_string(path).expect("the store's own file");
        let trustees = trustee_keys
            .into_iter()
            .map(|path| TrusteeKeyFile::decode(&read(path)).expect("the store's own key"));
        Self {
            trustees: trustees.collect(),
            issuer: IssuerKeyFile::decode(&read(dir.join(ISSUER_KEY))).expect("its own key"),
            temporary,
            store,
            rng,
        }
    }

    /// Where the store is.
    pub fn dir(&self) -> PathBuf {
        self.temporary.path().join("group")
    }

    /// A whole join up to the commit.
    pub fn begin(&mut self, machine: &str) -> PendingEnrolment<'_> {
        let pending = self
            .store
            .enrol(&self.issuer, name(machine), NOW, &mut self.rng);
        pending.expect("a new name")
    }

    /// A whole join, committed and not yet published.
    pub fn enrol(&mut self, machine: &str) -> MemberKeyFile {
        let pending = self.begin(machine);
        let key = pending.key().clone();
        pending.commit().expect("the disk takes it");
        key
    }

    /// B of a machine in an epoch in which it is not revoked.
    pub fn base(&self, machine: &Machine, epoch: u32) -> G1 {
        let issuer = self.store.epoch_issuer(&self.issuer, epoch);
        let issuer = issuer.expect("an epoch of the group");
        let a = machine.credential().expect("the store is whole");
        let base = issuer.base(&a, &machine.x(&self.issuer));
        base.expect("it is not revoked")
    }

    /// What the store finds; makes the index of that epoch if there is none.
    pub fn found(&self, search: Search, epoch: u32) -> Option<FoundRow> {
        let store = &self.store;
        let found = store.find_signer(&self.issuer, epoch, search, &mut |_, _| true);
        found.expect("the store is whole")
    }

    /// The head of a register with this tree, and no checkpoint.
    pub fn head(&self, nodes: &Nodes) -> RegisterHead {
        RegisterHead {
            last: self.store.group().last_id(),
            time: WallTime::from_nanos(NOW),
            machines: nodes.entries,
            root: nodes.root(),
            hashes: Vec::new(),
        }
    }

    pub fn machine(&self, name: &str) -> Machine {
        let found = self.store.machine(name).expect("the store is whole");
        found.expect("it was enrolled")
    }
}

/// The group as whoever judges, opens or updates holds it.
pub fn checked(group: &GroupFile) -> CheckedGroup {
    let checked = group.clone().check_epochs(&mut rng(2));
    checked.expect("the store's own steps")
}

pub fn name(text: &str) -> Name {
    text.parse().expect("a name")
}
