//! The issuer in one epoch, as the store knows it: with every row that is revoked by then.

use super::{Store, key_of};
use crate::error::StoreError;
use crate::storage::Tables;
use clew_evidence::GroupFile;
use clew_group::curve::Scalar;
use clew_group::{EpochIssuer, Witness};
use clew_keys::IssuerKeyFile;
use clew_keys::update::held_epochs;
use zeroize::Zeroizing;

impl Store {
    /// The issuer in an epoch: the one source of witnesses and of B of the machines in it. It refuses
    /// every row that is revoked at or before that epoch. Rows come from [`Store::machines`], their x
    /// from [`super::Machine::x`].
    ///
    /// # Errors
    /// [`StoreError::OtherGroupsKey`]; [`StoreError::Damaged`] if the group has no such epoch.
    pub fn epoch_issuer(
        &self,
        issuer: &IssuerKeyFile,
        epoch: u32,
    ) -> Result<EpochIssuer, StoreError> {
        self.check_key(issuer)?;
        RevokedRows::read(&*self.db, issuer)?.issuer_in(&self.group, issuer, epoch)
    }
}

/// Every revoked row of the register: the epoch that locks it out, and its x. Wiped when dropped.
pub(super) struct RevokedRows(Zeroizing<Vec<(u32, Scalar)>>);

impl RevokedRows {
    pub(super) fn read(db: &dyn Tables, issuer: &IssuerKeyFile) -> Result<Self, StoreError> {
        let rows = db.revoked()?;
        // Room for all of them: a list that grows leaves a copy behind.
        let mut revoked = Zeroizing::new(Vec::with_capacity(rows.len()));
        for row in rows {
            revoked.push((row.epoch, issuer.derive_x(&row.salt, &row.name)));
        }
        Ok(Self(revoked))
    }

    pub(super) fn issuer_in(
        &self,
        group: &GroupFile,
        issuer: &IssuerKeyFile,
        epoch: u32,
    ) -> Result<EpochIssuer, StoreError> {
        let until = self.0.iter().filter(|(from, _)| *from <= epoch);
        let public = key_of(group, epoch)?;
        let made = issuer.issuer.in_epoch(&public, until.map(|(_, x)| *x));
        made.ok_or(StoreError::OtherGroupsKey)
    }

    /// The witnesses of a registered machine for the epoch in force at `now` and those announced, as
    /// many as a key holds and until it is revoked. None if it is revoked now.
    pub(super) fn witnesses_of(
        &self,
        group: &GroupFile,
        issuer: &IssuerKeyFile,
        x: &Scalar,
        now: u64,
    ) -> Result<Vec<(u32, Witness)>, StoreError> {
        let mut witnesses = Vec::new();
        for epoch in held_epochs(group, now) {
            match self.issuer_in(group, issuer, epoch)?.witness(x) {
                Ok(witness) => witnesses.push((epoch, witness)),
                Err(_) => break,
            }
        }
        Ok(witnesses)
    }
}
