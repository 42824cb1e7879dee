//! A store with as many machines as asked for: its index, its look-ups, its rebase.
//!
//! One machine joined. The rows of all others are made up and written straight into the database, with
//! credentials as good as the first one's: real joins of a million machines would take an hour.

use super::pieces;
use crate::groups::quorum;
use crate::issuing::{Issuing, NOW, checked, name};
use crate::measure::Case;
use crate::nodes::Nodes;
use clew_evidence::{
    CheckedGroup, DeviceEntry, EntryKey, Name, RegisterEntry, Search, base_hash, sign_part,
};
use clew_group::curve::{G1, Scalar};
use clew_group::xr::Generators;
use clew_group::{EpochIssuer, PublicKey, Scheme};
use clew_keys::IssuerKeyFile;
use clew_manager::{EpochStart, INDEXES};
use rayon::prelude::*;
use rusqlite::{Connection, params};
use std::cell::RefCell;
use std::fs;
use std::ops::Range;

/// Rows that are made at once, and rows of the cases that need no store.
const AT_ONCE: u32 = 1 << 14;

/// As many machines as asked for.
pub struct Machines {
    issuing: RefCell<Issuing>,
    count: u32,
    /// A and x of some rows.
    some: Vec<(G1, Scalar)>,
    in_epoch: EpochIssuer,
    group: CheckedGroup,
    /// Of the last machine, in epoch 0.
    base: G1,
}

impl Machines {
    pub fn new(count: u32) -> rusqlite::Result<Self> {
        let issuing = filled(count)?;
        let group = checked(issuing.store.group());
        let last = issuing.machine(&machine(count - 1).to_string());
        let base = issuing.base(&last, 0);
        let made = Made::new(&issuing);
        let some = made.credentials(0..count.min(AT_ONCE));
        let in_epoch = issuing.store.epoch_issuer(&issuing.issuer, 0);
        Ok(Self {
            group,
            base,
            in_epoch: in_epoch.expect("every group has an epoch 0"),
            issuing: RefCell::new(issuing),
            count,
            some,
        })
    }

    fn search(&self) -> Search {
        let search = Search::new(&self.group, 0, &self.base);
        search.expect("every group has an epoch 0")
    }
}

/// A store with so many rows, all but the first one made up.
fn filled(count: u32) -> rusqlite::Result<Issuing> {
    filled_after(count, |_| ())
}

/// The same; `first` sees the store with its first row.
pub fn filled_after(count: u32, first: impl FnOnce(&Issuing)) -> rusqlite::Result<Issuing> {
    let mut issuing = Issuing::new(Scheme::Xr, quorum(1, 1));
    issuing.enrol("machine-0");
    issuing.store.refresh().expect("the store is whole");
    first(&issuing);
    fill(&mut issuing, count)?;
    issuing.store.refresh().expect("the store is whole");
    Ok(issuing)
}

fn machine(index: u32) -> Name {
    name(&format!("machine-{index}"))
}

/// What rows are made of.
struct Made<'a> {
    issuer: &'a IssuerKeyFile,
    like: RegisterEntry,
    /// Gives (g1 C)^(1/(gamma+x)).
    certifier: EpochIssuer,
}

impl<'a> Made<'a> {
    fn new(issuing: &'a Issuing) -> Self {
        let like = issuing.machine("machine-0").entry;
        let EntryKey::Xr(DeviceEntry { commitment, .. }) = &like.key else {
            unreachable!("the issuing is one of xr");
        };
        let c = G1::from_bytes(commitment).expect("the store is whole");
        let group = issuing.store.group();
        let g1 = Generators::of(&group.genesis().nonce).g1;
        let key: PublicKey = group.first_public_key().clone();
        let key = key.in_epoch(&(g1 + c)).expect("not the identity");
        let certifier = issuing.issuer.issuer.in_epoch(&key, []);
        Self {
            issuer: &issuing.issuer,
            certifier: certifier.expect("both are of xr"),
            like,
        }
    }

    fn x(&self, index: u32) -> Scalar {
        self.issuer.derive_x(&salt(index), machine(index).as_str())
    }

    fn credentials(&self, rows: Range<u32>) -> Vec<(G1, Scalar)> {
        let xs: Vec<Scalar> = rows.map(|index| self.x(index)).collect();
        let encoded = self.certifier.witness_bytes(&xs).into_iter();
        let points = encoded.map(|a| G1::from_bytes(&a.expect("nobody is revoked")));
        let points = points.map(|a| a.expect("a point"));
        points.zip(xs).collect()
    }

    fn entries(&self, rows: Range<u32>) -> Vec<RegisterEntry> {
        let xs: Vec<Scalar> = rows.clone().map(|index| self.x(index)).collect();
        let credentials = self.certifier.witness_bytes(&xs);
        let entry = |(index, credential): (u32, Option<[u8; 48]>)| RegisterEntry {
            index,
            name: machine(index),
            credential: credential.expect("nobody is revoked"),
            ..self.like.clone()
        };
        rows.zip(credentials).map(entry).collect()
    }
}

fn salt(index: u32) -> [u8; 16] {
    u128::from(index).to_be_bytes()
}

/// Adds made-up rows to the store, up to so many.
fn fill(issuing: &mut Issuing, count: u32) -> rusqlite::Result<()> {
    let made = Made::new(issuing);
    let mut nodes = Nodes::default();
    nodes.append(&made.like.leaf_hash());
    let mut db = Connection::open(issuing.dir().join("issuer/store.db"))?;
    let transaction = db.transaction()?;
    {
        let mut machines =
            transaction.prepare("INSERT INTO machine VALUES (?1, ?2, ?3, ?4, ?5, NULL)")?;
        let mut tree = transaction.prepare("INSERT INTO node VALUES (?1, ?2, ?3)")?;
        for first in (1..count).step_by(AT_ONCE as usize) {
            let rows = first..count.min(first + AT_ONCE);
            let parts: Vec<Range<u32>> = halves(rows);
            let entries = parts
                .into_par_iter()
                .flat_map_iter(|part| made.entries(part));
            for entry in entries.collect::<Vec<_>>() {
                let index = entry.index;
                let (name, bytes) = (entry.name.as_str(), entry.encode());
                machines.execute(params![index, name, NOW.cast_signed(), salt(index), bytes])?;
                for (level, index, hash) in nodes.append(&entry.leaf_hash()) {
                    tree.execute(params![level, index, hash])?;
                }
            }
        }
    }
    let head = sign_part(&issuing.head(&nodes).encode(), &issuing.issuer.manager);
    let command = "UPDATE register SET bytes = ?1, version = version + 1";
    transaction.execute(command, [head])?;
    transaction.commit()
}

fn halves(rows: Range<u32>) -> Vec<Range<u32>> {
    let middle = rows.start + (rows.end - rows.start) / 2;
    vec![rows.start..middle, middle..rows.end]
}

/// The rows.
pub fn all(machines: &Machines) -> Vec<Case<'_>> {
    let mut cases = in_memory(machines);
    cases.extend(in_store(machines));
    cases
}

/// One core's work for a row.
fn in_memory(m: &Machines) -> Vec<Case<'_>> {
    let xs: Vec<Scalar> = m.some.iter().map(|(_, x)| *x).collect();
    vec![
        pieces(
            "index-row",
            "issuer: B of a row and its hash, one core",
            m.some.len(),
            || {
                let bases = m.in_epoch.bases(&m.some).into_iter().flatten();
                bases.map(|base| base_hash(&base)).collect::<Vec<_>>()
            },
        ),
        pieces(
            "rebase-row",
            "issuer: W of a row, encoded, one core",
            m.some.len(),
            move || m.in_epoch.witness_bytes(&xs),
        ),
    ]
}

fn in_store(m: &Machines) -> Vec<Case<'_>> {
    let n = m.count;
    let find = || m.issuing.borrow().found(m.search(), 0);
    let found = find().expect("the machine is in the register");
    assert_eq!(found.row.entry.index, n - 1);
    let index = m.issuing.borrow().dir().join(INDEXES);
    let search = m.search();
    let fits = move || search.fits(&found.row.entry, found.x.as_ref());
    assert!(fits());
    let rebase = || {
        let issuing = &mut *m.issuing.borrow_mut();
        let made = issuing
            .store
            .rebase(&issuing.issuer, EpochStart::now(NOW), &mut |_, _| true);
        made.expect("the disk takes it")
    };
    vec![
        pieces(
            format!("index-{n}"),
            "issuer: a row of a whole index on disk, all cores",
            n as usize,
            move || {
                fs::remove_dir_all(&index).expect("an index");
                find()
            },
        ),
        Case::new(
            "find-indexed",
            "a row in a known index, its base computed again",
            find,
        ),
        Case::new("find-judged", "beside it: the judge's two equations", fits)
            .against("find-indexed"),
        pieces(
            format!("rebase-{n}"),
            "issuer: a row of a rebase on disk and published",
            n as usize,
            rebase,
        ),
    ]
}
