//! Rights of factories: to invite machines whose names begin with a prefix, so many, until a time.
//!
//! The database keeps no secret of them. A right's secret derives from the issuer's seed and the
//! right's id, and the nonce of each invitation from that secret and the machine's name.

use super::Store;
use super::enrol::free;
use super::join::gamma;
use crate::error::StoreError;
use crate::storage::{Offered, Transaction};
use clew_evidence::{GroupId, Name};
use clew_keys::IssuerKeyFile;
use clew_keys::join::{ClaimFile, FactoryFile, InvitationFile, factory_nonce};
use rand_core::CryptoRng;
use sha2::{Digest, Sha256};

/// A factory's right to invite machines, without its secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Factory {
    /// Names it; random.
    pub id: [u8; 16],
    /// What names have to begin with; more has to follow.
    pub prefix: Name,
    /// How many machines it may invite.
    pub machines: u32,
    /// How many it has invited.
    pub used: u32,
    /// Its end, nanoseconds since 1970.
    pub until: u64,
}

impl Store {
    /// The rights of factories, oldest first.
    ///
    /// # Errors
    /// [`StoreError`] if a prefix does not decode.
    pub fn factories(&self) -> Result<Vec<Factory>, StoreError> {
        self.db.factories()
    }

    /// Gives a factory the right to invite `machines` machines (`xr`) until a time. Times are in
    /// nanoseconds since 1970.
    ///
    /// # Errors
    /// [`StoreError::NoJoin`] with `bbs04`; [`StoreError::FactoryOver`] if `until` is not after `now`.
    pub fn add_factory(
        &mut self,
        issuer: &IssuerKeyFile,
        prefix: Name,
        machines: u32,
        [now, until]: [u64; 2],
        rng: &mut impl CryptoRng,
    ) -> Result<FactoryFile, StoreError> {
        self.check_key(issuer)?;
        self.check_not_halted()?;
        gamma(issuer)?;
        let now = self.clock.time(&self.group, now)?;
        if until <= now {
            return Err(StoreError::FactoryOver);
        }
        let mut id = [0; 16];
        rng.fill_bytes(&mut id);
        let transaction = self.db.begin()?;
        let factory = Factory {
            id,
            prefix: prefix.clone(),
            machines,
            used: 0,
            until,
        };
        transaction.add_factory(&factory, now)?;
        transaction.commit()?;
        Ok(FactoryFile {
            group: self.group.id(),
            id,
            prefix,
            machines,
            until,
            secret: issuer.factory_secret(&id),
        })
    }

    /// Withdraws the rights of a prefix, and returns how many there were. What they invited and has not
    /// joined yet is withdrawn, too.
    ///
    /// # Errors
    /// [`StoreError::NoFactoryOf`] if there is none.
    pub fn remove_factories(
        &mut self,
        issuer: &IssuerKeyFile,
        prefix: &Name,
    ) -> Result<usize, StoreError> {
        self.check_key(issuer)?;
        let transaction = self.db.begin()?;
        let factories = transaction.factories()?;
        let of_prefix = factories.iter().filter(|factory| factory.prefix == *prefix);
        let secrets: Vec<_> = of_prefix
            .map(|factory| issuer.factory_secret(&factory.id))
            .collect();
        for name in transaction.invited(prefix.as_str())? {
            for secret in &secrets {
                transaction.withdraw_nonce(&factory_nonce(secret, &name))?;
            }
        }
        match transaction.remove_factories(prefix.as_str())? {
            0 => Err(StoreError::NoFactoryOf(prefix.to_string())),
            removed => {
                transaction.commit()?;
                Ok(removed)
            }
        }
    }
}

/// Refuses an invitation that a factory claimed, if the factory's right has ended since.
pub(super) fn check_not_over(
    db: &dyn Transaction,
    issuer: &IssuerKeyFile,
    (nonce, name): (&[u8; 32], &Name),
    now: u64,
) -> Result<(), StoreError> {
    let factories = db.factories()?.into_iter();
    let mut ended = factories.filter(|factory| {
        now >= factory.until && name.as_str().starts_with(factory.prefix.as_str())
    });
    match ended.any(|own| factory_nonce(&issuer.factory_secret(&own.id), name) == *nonce) {
        true => Err(StoreError::FactoryOver),
        false => Ok(()),
    }
}

/// Makes the invitation that a factory claims: the same one each time. If another epoch is in force than
/// that of its offer, the machine may begin again. `now` is in nanoseconds since
/// 1970.
pub(super) fn claim(
    transaction: &dyn Transaction,
    issuer: &IssuerKeyFile,
    group: GroupId,
    claim: &ClaimFile,
    now: u64,
    in_force: u32,
) -> Result<InvitationFile, StoreError> {
    let factory = transaction.factory(&claim.id)?;
    let factory = factory.ok_or(StoreError::NoFactory)?;
    let nonce = factory_nonce(&issuer.factory_secret(&claim.id), &claim.name);
    // Hashes are compared: the time tells nothing of the nonce.
    if Sha256::digest(nonce) != Sha256::digest(claim.nonce) {
        return Err(StoreError::NoFactory);
    }
    let name = &claim.name;
    let rest = name.as_str().strip_prefix(factory.prefix.as_str());
    if rest.is_none_or(str::is_empty) {
        return Err(StoreError::FactoryPrefix {
            prefix: factory.prefix.to_string(),
            name: name.to_string(),
        });
    }
    if now >= factory.until {
        return Err(StoreError::FactoryOver);
    }
    let join = transaction.join(&nonce)?;
    let offered = join.as_ref().and_then(|join| join.offered.as_ref());
    let is_over = |offered: &Offered| offered.machine.is_none() && offered.joined != in_force;
    if offered.is_some_and(is_over) {
        // Its offer is void: the machine begins again, with a fresh x.
        transaction.withdraw_nonce(&nonce)?;
        transaction.invite(&nonce, name, now)?;
    } else if join.is_none() {
        if factory.used >= factory.machines {
            return Err(StoreError::FactoryUsed(factory.machines));
        }
        free(transaction, name)?;
        transaction.invite(&nonce, name, now)?;
        transaction.use_factory(&claim.id)?;
    }
    let name = name.clone();
    Ok(InvitationFile::new(group, nonce, name, &issuer.manager))
}
