//! The register: machines, their entries, the tree over them, and its checkpoints.

use super::{Locked, Store, read_group};
use crate::error::StoreError;
use crate::storage::{Tables, Transaction};
use clew_evidence::{
    Checkpoint, EntryKey, GroupFile, RegisterEntry, RegisterHead, Row as EvidenceRow, WallTime,
    appended_nodes, consistency, inclusion, root, sign_part,
};
use clew_group::curve::{G1, G2, Scalar};
use clew_group::{EpochId, PublicKey};
use clew_keys::IssuerKeyFile;
use std::collections::HashMap;

/// A machine's row in the register.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Machine {
    /// Its entry.
    pub entry: RegisterEntry,
    /// When it was enrolled, nanoseconds since 1970.
    pub enrolled_at: u64,
    /// The epoch that locked it out, if it was revoked.
    pub revoked_in: Option<u32>,
    pub(crate) salt: Vec<u8>,
}

impl Machine {
    /// x of the machine, derived from the issuer's seed.
    pub fn x(&self, issuer: &IssuerKeyFile) -> Scalar {
        issuer.derive_x(&self.salt, self.entry.name.as_str())
    }

    /// Whether the row's salt is the one that its credential was made with.
    pub(crate) fn fits(&self, group: &GroupFile, issuer: &IssuerKeyFile) -> bool {
        let x = self.x(issuer);
        match (&self.entry.key, group.first_public_key()) {
            (EntryKey::Bbs04(own), PublicKey::Bbs04(_)) => {
                G2::generator().mul(&x).to_bytes() == **own
            }
            (EntryKey::Xr(device), PublicKey::Xr(public)) => {
                let points =
                    [&self.entry.credential, &device.commitment].map(|b| G1::from_bytes(b));
                matches!(points, [Ok(a), Ok(c)] if public.certifies(&a, &c, &x))
            }
            _ => false,
        }
    }

    /// A of the machine.
    ///
    /// # Errors
    /// [`StoreError::Damaged`] if it does not decode.
    pub fn credential(&self) -> Result<G1, StoreError> {
        let damaged = |_| StoreError::Damaged("a credential does not decode".to_owned());
        G1::from_bytes(&self.entry.credential).map_err(damaged)
    }
}

impl Store {
    /// Calls `each` for every row in the order of enrolment.
    ///
    /// # Errors
    /// What `each` returns; [`StoreError`] if a row does not decode.
    pub fn machines<E: From<StoreError>>(
        &self,
        each: impl FnMut(Machine) -> Result<(), E>,
    ) -> Result<(), E> {
        for_each(&*self.db, each)
    }

    /// The last machine that was enrolled under a name.
    ///
    /// # Errors
    /// [`StoreError`] if the row does not decode.
    pub fn machine(&self, name: &str) -> Result<Option<Machine>, StoreError> {
        self.db.last_machine(name)
    }

    /// The machine in that place of the register.
    ///
    /// # Errors
    /// [`StoreError`] if the row does not decode.
    pub fn machine_at(&self, index: u32) -> Result<Option<Machine>, StoreError> {
        self.db.machine(index)
    }

    /// The machine's entry with the proof that it is in the register of [`Store::group`]: of the
    /// first checkpoint that has it, else of the present size, which [`Store::keep`] keeps good.
    ///
    /// # Errors
    /// [`StoreError::Damaged`] if the machine is younger than that register, or a node is missing.
    pub fn row(&self, machine: &Machine) -> Result<EvidenceRow, StoreError> {
        let index = machine.entry.index;
        let machines = self.size_with(index);
        let hashes = from_nodes(&*self.db, |nodes| inclusion(index, machines, nodes))?;
        let row = EvidenceRow {
            entry: machine.entry.clone(),
            machines,
            hashes: hashes.ok_or_else(holes)?,
        };
        match row.is_in_register_of(&self.group) {
            true => Ok(row),
            false => Err(StoreError::Damaged(
                "a row's proof does not hold".to_owned(),
            )),
        }
    }

    /// The size of the register for which [`Store::row`] makes the row of that index.
    pub fn size_with(&self, index: u32) -> u32 {
        let checkpoints = self.group.checkpoints();
        let first = checkpoints.partition_point(|checkpoint| checkpoint.machines <= index);
        let first = checkpoints.get(first).map(|checkpoint| checkpoint.machines);
        first.unwrap_or(self.group.register().machines)
    }

    /// Makes a size of the register a checkpoint, unless it is one, so that rows of that size stay
    /// good when the register grows. To be called before a row is given to anybody.
    ///
    /// A checkpoint between epochs tells the public that a row was given out: one of a machine that
    /// was enrolled since the checkpoint before. `now` is in nanoseconds since 1970.
    ///
    /// # Errors
    /// [`StoreError::RegisterMoved`] if a later size became a checkpoint meanwhile. After an error
    /// nothing was changed.
    pub fn keep(
        &mut self,
        issuer: &IssuerKeyFile,
        machines: u32,
        now: u64,
    ) -> Result<(), StoreError> {
        self.check_key(issuer)?;
        let is_halted = self.check_not_halted();
        let Locked {
            transaction,
            group,
            clock,
            ..
        } = self.lock()?;
        // A wrong clock hinders no opening, and dates nothing.
        let time = clock.believe(group, now);
        let time = time.unwrap_or(group.register().time.as_nanos());
        if !write_checkpoint(&*transaction, group, machines, issuer)? {
            drop(transaction);
            return self.refresh();
        }
        is_halted?;
        let present = group.register().machines;
        write_head(&*transaction, present, group.last_id(), time, issuer)?;
        let after = read_group(&*transaction)?; // with every rule: what readers refuse is not kept
        let version = transaction.version()?;
        transaction.commit()?;
        (self.group, self.version) = (after, version);
        self.publish().map_err(StoreError::not_published)
    }
}

/// Writes the checkpoint of a size, unless there is one or it is empty. Returns whether it was
/// written: then the head has to be written, too.
pub(super) fn write_checkpoint(
    db: &dyn Transaction,
    group: &GroupFile,
    machines: u32,
    issuer: &IssuerKeyFile,
) -> Result<bool, StoreError> {
    let sizes = group.checkpoints();
    let place = sizes.binary_search_by_key(&machines, |checkpoint| checkpoint.machines);
    if machines == 0 || place.is_ok() {
        return Ok(false);
    }
    if place != Err(sizes.len()) {
        return Err(StoreError::RegisterMoved);
    }
    let checkpoint = Checkpoint {
        machines,
        root: root_of(db, machines)?,
        hashes: proof(db, machines)?,
    };
    let bytes = sign_part(&checkpoint.encode(), &issuer.manager);
    db.add_checkpoint(machines, &checkpoint.root, &bytes)?;
    Ok(true)
}

/// Calls `each` for every row in the order of enrolment.
pub(super) fn for_each<E: From<StoreError>>(
    db: &dyn Tables,
    mut each: impl FnMut(Machine) -> Result<(), E>,
) -> Result<(), E> {
    let mut done = Ok(());
    db.each_machine(&mut |machine| {
        done = each(machine);
        done.is_ok()
    })?;
    done
}

/// The machine in that place of the register.
pub(super) fn at(db: &dyn Tables, index: u32) -> Result<Machine, StoreError> {
    let missing = || StoreError::Damaged(format!("row {index} is missing"));
    db.machine(index)?.ok_or_else(missing)
}

pub(crate) fn holes() -> StoreError {
    StoreError::Damaged("the register's tree has holes".to_owned())
}

/// A source of roots of complete subtrees, by level and index.
pub(super) type Nodes<'a> = &'a mut dyn FnMut(u32, u32) -> Option<[u8; 32]>;

/// Computes from the roots of complete subtrees. Returns `None` if `compute` does. Which ones it asks for
/// must not depend on what they are: they are read together, before.
///
/// # Errors
/// A root cannot be read: that is not the same as a missing one.
pub(super) fn from_nodes<D: Tables + ?Sized, T>(
    db: &D,
    compute: impl Fn(Nodes<'_>) -> Option<T>,
) -> Result<Option<T>, StoreError> {
    let mut places = Vec::new();
    compute(&mut |level, index| {
        places.push((level, index));
        Some([0; 32])
    });
    let nodes = db.nodes(&places)?;
    let read: HashMap<(u32, u32), Option<[u8; 32]>> = places.into_iter().zip(nodes).collect();
    Ok(compute(&mut |level, index| {
        read.get(&(level, index)).copied().flatten()
    }))
}

/// The root of the first `machines` rows.
pub(super) fn root_of(db: &dyn Transaction, machines: u32) -> Result<[u8; 32], StoreError> {
    from_nodes(db, |nodes| root(machines, nodes))?.ok_or_else(holes)
}

/// The consistency proof from the last checkpoint to so many machines; none if there is none.
fn proof(db: &dyn Transaction, machines: u32) -> Result<Vec<[u8; 32]>, StoreError> {
    match db.last_checkpoint()? {
        Some(last) => from_nodes(db, |nodes| consistency(last, machines, nodes))?.ok_or_else(holes),
        None => Ok(Vec::new()),
    }
}

/// Checks that the nodes on which the next rows stand lead to the register's root. A damaged one would
/// make a head that no reader accepts.
pub(super) fn check_tree(db: &dyn Transaction, group: &GroupFile) -> Result<(), StoreError> {
    let register = group.register();
    match register.machines == 0 || root_of(db, register.machines)? == register.root {
        true => Ok(()),
        false => Err(StoreError::Damaged(
            "the register's tree does not lead to its root".to_owned(),
        )),
    }
}

/// Extends the register by one entry behind so many machines, and returns its leaf hash. Its head and
/// the outbox are the caller's.
pub(super) fn append(
    db: &dyn Transaction,
    machines: u32,
    entry: &RegisterEntry,
) -> Result<[u8; 32], StoreError> {
    let leaf = entry.leaf_hash();
    append_leaf(db, machines, &leaf)?;
    Ok(leaf)
}

/// Extends the register's tree by one leaf behind so many.
pub(super) fn append_leaf(
    db: &dyn Transaction,
    machines: u32,
    leaf: &[u8; 32],
) -> Result<(), StoreError> {
    let after = machines.checked_add(1);
    after.ok_or(StoreError::Full("machines"))?;
    let added = from_nodes(db, |nodes| appended_nodes(machines, leaf, nodes))?.ok_or_else(holes)?;
    for (level, index, hash) in added {
        db.add_node(level, index, &hash)?;
    }
    Ok(())
}

/// Replaces the register's head, and returns it as it stands in the group file.
pub(super) fn write_head(
    db: &dyn Transaction,
    machines: u32,
    last: EpochId,
    time: u64,
    issuer: &IssuerKeyFile,
) -> Result<Vec<u8>, StoreError> {
    let head = RegisterHead {
        last,
        time: WallTime::from_nanos(time),
        machines,
        root: root_of(db, machines)?,
        hashes: proof(db, machines)?,
    };
    let part = sign_part(&head.encode(), &issuer.manager);
    db.set_head(&part)?;
    Ok(part)
}
