//! A join from the device's own host, by files: every round can be repeated, stopped and resumed, and
//! what belongs to another join, group or device is refused with one reason.

mod files;
mod refusals;
mod runs;

use crate::common::*;
use clew_evidence::{CheckedGroup, EntryKey, KeyOrigin};
use clew_group::xr::JoinError;
use clew_group::{Proof, Scheme};
use clew_keys::join::{
    AcceptanceFile, CredentialFile, InvitationFile, JoinFault, Joining, OfferFile, RequestFile,
    Round, round,
};
use clew_keys::{MemberKeyFile, TextFile};
use clew_manager::{EpochStart, GROUP_FILE, Store, StoreError};
use std::fs;

/// A device far away from the store. What it keeps is text, as on disk; what it says is text, too.
pub struct Far {
    state: String,
}

impl Far {
    /// Answers an invitation.
    pub fn new(invitation: &InvitationFile, group: &CheckedGroup, seed: u64) -> Self {
        let joining = Joining::begin(travelled(invitation), group, &mut rng(seed)).unwrap();
        Self {
            state: joining.encode().to_string(),
        }
    }

    /// The state as it is read after a restart.
    fn joining(&self) -> Joining {
        Joining::decode(&self.state).unwrap()
    }

    pub fn request(&self) -> RequestFile {
        travelled(self.joining().request())
    }

    pub fn accept(
        &mut self,
        offer: &OfferFile,
        group: &CheckedGroup,
    ) -> Result<AcceptanceFile, JoinFault> {
        let mut joining = self.joining();
        let mut rng = rng(self.state.len() as u64); // another one when it answers again
        let acceptance = joining.accept(&travelled(offer), group, &mut rng)?;
        self.state = joining.encode().to_string();
        Ok(travelled(&acceptance))
    }

    pub fn finish(
        &self,
        credential: &CredentialFile,
        group: &CheckedGroup,
    ) -> Result<MemberKeyFile, JoinFault> {
        self.joining().finish(&travelled(credential), group)
    }
}

/// A proof that decodes and holds for nothing.
fn no_proof() -> Proof {
    Proof::from_bytes(&[0; 64]).unwrap()
}

/// A file that was written and read.
fn travelled<T: TextFile>(file: &T) -> T {
    T::decode(&file.encode()).unwrap()
}

/// The group after a crash: nothing but what is on disk.
fn reopened(acme: &mut TestGroup) -> &mut Store {
    acme.store = Store::open(&acme.dir).unwrap();
    &mut acme.store
}

impl TestGroup {
    pub fn invite(&mut self, name: &str) -> InvitationFile {
        let rows = self.group().register().machines as usize + self.invited();
        let mut rng = rng(rows as u64 + 1000);
        let name = name.parse().unwrap();
        self.store
            .invite(&self.issuer, name, LATER, &mut rng)
            .unwrap()
    }

    /// How many invitations are open.
    fn invited(&self) -> usize {
        self.store.invitations().unwrap().len()
    }

    fn offer(&mut self, request: &RequestFile, seed: u64) -> Result<OfferFile, StoreError> {
        let offer = self
            .store
            .offer(&self.issuer, request, LATER, &mut rng(seed));
        offer.map(|offer| travelled(&offer))
    }

    fn admit(&mut self, acceptance: &AcceptanceFile) -> Result<CredentialFile, StoreError> {
        let credential = self.store.admit(&self.issuer, acceptance, LATER);
        credential.map(|credential| travelled(&credential))
    }

    /// A whole join.
    fn join(&mut self, name: &str, seed: u64) -> MemberKeyFile {
        let invitation = self.invite(name);
        let mut far = Far::new(&invitation, &self.checked(), seed);
        let offer = self.offer(&far.request(), seed).unwrap();
        let acceptance = far.accept(&offer, &self.checked()).unwrap();
        let credential = self.admit(&acceptance).unwrap();
        far.finish(&credential, &self.checked()).unwrap()
    }
}
