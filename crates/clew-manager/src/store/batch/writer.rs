//! Rounds that were checked, written into one transaction.

use super::{Checked, Done, JoinAnswer, offer_file};
use crate::error::StoreError;
use crate::storage::{Offered, Transaction};
use crate::store::enrol::free;
use crate::store::factory::{check_not_over, claim};
use crate::store::join::find;
use crate::store::register::{append, check_tree, write_head};
use crate::store::{LOG_ENROLLED, Machine, enrolled_body};
use clew_evidence::{GroupFile, Name, RegisterEntry};
use clew_group::xr;
use clew_keys::join::RequestFile;
use clew_keys::{IssuerKeyFile, TextFile};

/// Writes rounds into one transaction.
pub(super) struct Writer<'a> {
    pub transaction: &'a dyn Transaction,
    pub group: &'a GroupFile,
    pub issuer: &'a IssuerKeyFile,
    pub now: u64,
    /// The epoch in force.
    pub joined: u32,
    /// Rows of the register so far.
    pub machines: u32,
    /// Leaf hashes of the rows that were added.
    pub leaves: Vec<[u8; 32]>,
}

impl Writer<'_> {
    pub fn write(&mut self, checked: Checked) -> Result<Done, StoreError> {
        match checked {
            Checked::Claim(asked) => {
                let group = self.group.id();
                let (db, issuer, joined) = (self.transaction, self.issuer, self.joined);
                let made = claim(db, issuer, group, &asked, self.now, joined)?;
                Ok(Done::Answer(Box::new(JoinAnswer::Invitation(made))))
            }
            Checked::Repeated(offer) => Ok(Done::Answer(Box::new(JoinAnswer::Offer(*offer)))),
            Checked::Offer {
                request,
                name,
                salt,
                offer,
            } => self.offer(&request, &name, salt, *offer),
            Checked::Entry {
                nonce,
                offered,
                entry,
            } => self.admit(nonce, &offered, *entry),
        }
    }

    fn offer(
        &self,
        request: &RequestFile,
        name: &Name,
        salt: [u8; 16],
        offer: xr::Offer,
    ) -> Result<Done, StoreError> {
        // Another process may have answered the invitation, or withdrawn it.
        if find(self.transaction, &request.nonce)?.offered.is_some() {
            return Err(StoreError::AnsweredMeanwhile);
        }
        check_not_over(
            self.transaction,
            self.issuer,
            (&request.nonce, name),
            self.now,
        )?;
        let replaces = free(self.transaction, name)?;
        let offered = Offered {
            request: request.payload().to_vec(),
            salt,
            joined: self.joined,
            replaces,
            machine: None,
        };
        self.transaction.keep_offer(&request.nonce, &offered)?;
        let file = offer_file(
            self.group,
            request.nonce,
            [Some(self.joined), replaces],
            offer,
        )?;
        Ok(Done::Answer(Box::new(JoinAnswer::Offer(file))))
    }

    fn admit(
        &mut self,
        nonce: [u8; 32],
        offered: &Offered,
        mut entry: RegisterEntry,
    ) -> Result<Done, StoreError> {
        let again = find(self.transaction, &nonce)?.offered;
        let again = again.ok_or(StoreError::NotOffered)?;
        if let Some(index) = again.machine {
            return Ok(Done::Row { nonce, index });
        }
        let invited = (&nonce, &entry.name);
        check_not_over(self.transaction, self.issuer, invited, self.now)?;
        if again.salt != offered.salt {
            return Err(StoreError::Device); // withdrawn, and offered anew meanwhile
        }
        if free(self.transaction, &entry.name)? != offered.replaces {
            return Err(StoreError::NameTaken(entry.name.to_string()));
        }
        if offered.joined != self.joined {
            return Err(StoreError::OfferExpired {
                offered: offered.joined,
                in_force: self.joined,
            });
        }
        if self.leaves.is_empty() {
            check_tree(self.transaction, self.group)?;
        }
        let index = self.machines;
        entry.index = index;
        let leaf = append(self.transaction, index, &entry)?;
        self.transaction.add_machine(&Machine {
            entry,
            enrolled_at: self.now,
            revoked_in: None,
            salt: offered.salt.to_vec(),
        })?;
        self.transaction.keep_joined(&nonce, index)?;
        self.machines = index + 1;
        self.leaves.push(leaf);
        Ok(Done::Row { nonce, index })
    }

    /// Writes the register's head, if there are new rows, and returns it.
    pub fn finish(self, time: u64) -> Result<Option<Vec<u8>>, StoreError> {
        if self.leaves.is_empty() {
            return Ok(None);
        }
        let first = self.group.register().machines;
        let body = enrolled_body(first, &self.leaves);
        self.transaction.send(LOG_ENROLLED, &body)?;
        let last = self.group.last_id();
        let head = write_head(self.transaction, self.machines, last, time, self.issuer)?;
        Ok(Some(head))
    }
}
