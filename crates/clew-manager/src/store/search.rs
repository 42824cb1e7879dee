//! From the base of an opened signature to the row of its machine (`spec/opening.md` section 4).

use super::register::{at, from_nodes, holes};
use super::{Machine, Store};
use crate::error::StoreError;
use crate::index::{Index, Progress, Rows};
use crate::storage::Revoked;
use clew_evidence::{FoundRow, OpenedBase, Search, root};
use clew_group::EpochIssuer;
use clew_group::curve::{G1, Scalar};
use clew_keys::{IssuerKey, IssuerKeyFile};
use std::num::NonZero;
use std::ops::Range;
use std::thread;
use zeroize::Zeroizing;

/// The indexes within a store.
pub const INDEXES: &str = "issuer/index";

/// Fewer rows than this are not worth a thread.
pub(super) const ROWS_PER_THREAD_MIN: usize = 512;

impl Store {
    /// The row that signs with the base of `search` in `epoch`: by the index of that epoch, which is
    /// made if there is none, and among the rows that are revoked by then, which no index has. `None`
    /// if the register has no such row.
    ///
    /// `progress` is told of an index that is made, and may stop it.
    ///
    /// # Errors
    /// [`StoreError::OtherGroupsKey`], [`StoreError::Interrupted`] if `progress` says so, and what the
    /// database or the disk say.
    pub fn find_signer(
        &self,
        issuer: &IssuerKeyFile,
        epoch: u32,
        search: Search,
        progress: Progress<'_>,
    ) -> Result<Option<FoundRow>, StoreError> {
        let rows = EpochRows {
            store: self,
            issuer,
            epoch: self.epoch_issuer(issuer, epoch)?,
        };
        let base = *search.base();
        let fits = |machine: &Machine| {
            let own = rows.epoch.base(&machine.credential()?, &machine.x(issuer));
            Ok(own == Ok(base))
        };
        let at = |index| self.fitting(issuer, index, fits);
        let index = self.index(epoch)?;
        match index.find(&rows, &base.to_bytes(), at, progress)? {
            Some(found) => Ok(Some(found)),
            None => self.find_revoked(issuer, epoch, search),
        }
    }

    /// Q = B^gamma, by which an auditor finds the row of an opened base B in a register file. Returns
    /// `None` with `bbs04`.
    ///
    /// # Errors
    /// [`StoreError::OtherGroupsKey`]; [`StoreError::OtherGroupsBase`] if B was opened in another group
    /// or in another history of this one.
    pub fn locator(
        &self,
        issuer: &IssuerKeyFile,
        opened: &OpenedBase,
    ) -> Result<Option<G1>, StoreError> {
        self.check_key(issuer)?;
        let (group, request) = (self.group(), opened.request());
        let known = group.epoch_id(request.epoch) == Some(request.epoch_id);
        if request.group != group.id() || !known {
            return Err(StoreError::OtherGroupsBase);
        }
        Ok(q_of(issuer, opened.point()))
    }

    /// Root of the register when it had so many machines. `None` if it has fewer.
    ///
    /// # Errors
    /// The database's.
    pub fn root_at(&self, machines: u32) -> Result<Option<[u8; 32]>, StoreError> {
        if machines > self.group().register().machines {
            return Ok(None);
        }
        from_nodes(&*self.db, |nodes| root(machines, nodes))
    }

    fn index(&self, epoch: u32) -> Result<Index, StoreError> {
        let id = self.group().epoch_id(epoch);
        let id = id.ok_or_else(|| StoreError::no_epoch(epoch))?;
        let directory = self.dir.join(INDEXES);
        Ok(Index::new(&directory, self.group().id(), epoch, id))
    }

    /// The row at that place, if there is one and it fits.
    fn fitting(
        &self,
        issuer: &IssuerKeyFile,
        index: u32,
        fits: impl Fn(&Machine) -> Result<bool, StoreError>,
    ) -> Result<Option<FoundRow>, StoreError> {
        let machine = match self.group().register().machines > index {
            true => self.machine_at(index)?,
            false => None,
        };
        match machine {
            Some(machine) if fits(&machine)? => Ok(Some(FoundRow {
                row: self.row(&machine)?,
                x: x_of(&machine, issuer),
            })),
            _ => Ok(None),
        }
    }

    /// The same among revoked rows, whose bases nobody computes: by Q without a pairing, or by
    /// pairings.
    fn find_revoked(
        &self,
        issuer: &IssuerKeyFile,
        epoch: u32,
        search: Search,
    ) -> Result<Option<FoundRow>, StoreError> {
        let search = match q_of(issuer, search.base()) {
            Some(q) => search.with_q(&q).map_err(|_| StoreError::OtherGroupsKey)?,
            None => search,
        };
        let fits = |machine: &Machine| {
            let x = x_of(machine, issuer);
            Ok(search.fits(&machine.entry, x.as_ref()))
        };
        let mut revoked = self.db.revoked()?;
        revoked.retain(|row| row.epoch <= epoch);
        revoked.sort_unstable_by_key(|row| row.index);
        for Revoked { index, .. } in revoked {
            if let Some(found) = self.fitting(issuer, index, fits)? {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }
}

/// B^gamma. It leaves the store for an opened base only.
fn q_of(issuer: &IssuerKeyFile, base: &G1) -> Option<G1> {
    match &issuer.issuer {
        IssuerKey::Bbs04(_) => None,
        IssuerKey::Xr(gamma) => Some(gamma.locator(base)),
    }
}

/// x as openings have it: with `xr` only.
fn x_of(machine: &Machine, issuer: &IssuerKeyFile) -> Option<Scalar> {
    match issuer.issuer {
        IssuerKey::Bbs04(_) => None,
        IssuerKey::Xr(_) => Some(machine.x(issuer)),
    }
}

/// The rows of a store with the issuer in one epoch.
struct EpochRows<'s> {
    store: &'s Store,
    issuer: &'s IssuerKeyFile,
    epoch: EpochIssuer,
}

impl Rows for EpochRows<'_> {
    fn machines(&self) -> u32 {
        self.store.group().register().machines
    }

    fn root(&self, machines: u32) -> Result<[u8; 32], StoreError> {
        self.store.root_at(machines)?.ok_or_else(holes)
    }

    fn deleted(&self) -> Result<u64, StoreError> {
        self.store.deleted_machines()
    }

    fn bases(&self, rows: Range<u32>) -> Result<Vec<Option<[u8; 48]>>, StoreError> {
        let (mut machines, mut deleted) = (Vec::new(), Vec::new());
        for (place, row) in rows.enumerate() {
            match self.store.db.is_stub(row)? {
                true => deleted.push(place),
                false => machines.push(at(&*self.store.db, row)?),
            }
        }
        // Not self: a database connection is one thread's.
        let (epoch, issuer) = (&self.epoch, self.issuer);
        let mut bases = by_threads(&machines, ROWS_PER_THREAD_MIN, |part| {
            bases_of(epoch, issuer, part)
        })?;
        for place in deleted {
            bases.insert(place, None);
        }
        Ok(bases)
    }
}

fn bases_of(
    epoch: &EpochIssuer,
    issuer: &IssuerKeyFile,
    machines: &[Machine],
) -> Result<Vec<Option<[u8; 48]>>, StoreError> {
    Ok(epoch.bases(&keys_of(machines, issuer)?))
}

/// A and x of each machine, in order. With `bbs04` that is all of its key: wiped when dropped.
///
/// # Errors
/// [`StoreError::Damaged`] if a credential does not decode.
pub fn keys_of(
    machines: &[Machine],
    issuer: &IssuerKeyFile,
) -> Result<Zeroizing<Vec<(G1, Scalar)>>, StoreError> {
    // No growing: that would leave a copy behind.
    let mut keys = Zeroizing::new(Vec::with_capacity(machines.len()));
    for machine in machines {
        keys.push((machine.credential()?, machine.x(issuer)));
    }
    Ok(keys)
}

/// What `work` makes of the parts of a list, in order, each in a thread of its own.
///
/// A part has at least `least` elements: fewer are not worth a thread.
pub(super) fn by_threads<T: Sync, R: Send>(
    list: &[T],
    least: usize,
    work: impl Fn(&[T]) -> Result<Vec<R>, StoreError> + Sync,
) -> Result<Vec<R>, StoreError> {
    let cores = thread::available_parallelism().map_or(1, NonZero::get);
    let part = list.len().div_ceil(cores).max(least);
    if list.len() <= part {
        return work(list);
    }
    thread::scope(|scope| {
        let work = &work;
        let parts: Vec<_> = list
            .chunks(part)
            .map(|part| scope.spawn(move || work(part)))
            .collect();
        let mut all = Vec::with_capacity(list.len());
        for part in parts {
            let done = part
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            all.extend(done?);
        }
        Ok(all)
    })
}
