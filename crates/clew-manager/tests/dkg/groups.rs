//! Group files around an opening key that trustees made.

use super::run::rng;
use clew_evidence::{
    Change, EpochRecord, Genesis, GroupFile, HEADER, Name, Origin, RegisterHead, SharingRecord,
    seal,
};
use clew_group::curve::G1;
use clew_group::{PublicKey, xr};
use clew_manager::dkg::{Dealing, Plan};
use ed25519_dalek::SigningKey;

const NOW: u64 = 1_800_000_000_000_000_000;

/// A group under construction, as its manager has it.
pub struct Manager {
    key: SigningKey,
    issuer: xr::IssuerKey,
    parts: Vec<Vec<u8>>,
}

impl Manager {
    /// Founds the group of a plan.
    pub fn found(plan: &Plan, dealing: &Dealing) -> Self {
        Self::with_record(plan, dealing.sharing().public(), dealing.record())
    }

    /// Founds a group of that nonce with any opening key.
    pub fn with_record(plan: &Plan, h: &G1, sharing: SharingRecord) -> Self {
        Self::named(plan.name.clone(), plan.nonce, h, sharing)
    }

    pub fn named(name: Name, nonce: [u8; 32], h: &G1, sharing: SharingRecord) -> Self {
        let mut rng = rng(99);
        let issuer = xr::IssuerKey::generate(&mut rng);
        let key = SigningKey::from_bytes(&[7; 32]);
        let (public, proof) = issuer.found(&nonce, h, &mut rng);
        let genesis = Genesis {
            scheme: clew_group::Scheme::Xr,
            created: NOW,
            nonce,
            manager: key.verifying_key().to_bytes(),
            name,
            public_key: PublicKey::Xr(public).to_bytes(),
            issuer_proof: Some(proof.to_bytes()),
            sharing,
        };
        let parts = vec![seal(&genesis.encode(), &key)];
        Self { key, issuer, parts }
    }

    /// The group file.
    pub fn group(&self) -> GroupFile {
        let parts = &self.parts;
        let last = &parts[parts.len() - 1];
        let body = &last[4..last.len() - 64];
        let register = RegisterHead {
            last: clew_group::EpochId(sha2::Digest::finalize(digest(body)).into()),
            time: NOW,
            machines: 0,
            root: [0; 32],
        };
        let register = seal(&register.encode(), &self.key);
        let bytes = [&HEADER[..], &parts.concat(), &register].concat();
        GroupFile::from_bytes(&bytes).unwrap()
    }

    /// A new epoch with what was dealt.
    pub fn reopen(&mut self, dealing: &Dealing) {
        let group = self.group();
        let PublicKey::Xr(public) = group.first_public_key() else {
            unreachable!("an xr group")
        };
        let next = self.issuer.reopened(public, dealing.sharing().public());
        let epoch = group.newest_epoch() + 1;
        let record = EpochRecord {
            epoch,
            previous: group.last_id(),
            start: NOW + u64::from(epoch),
            change: Change::sharing(&next, dealing.record()),
        };
        self.parts.push(seal(&record.encode(), &self.key));
    }
}

/// The same commitments, under the name of a trusted dealer.
pub fn trusted_dealer(dealing: &Dealing) -> SharingRecord {
    SharingRecord::xr(Origin::Dealt, dealing.sharing())
}

fn digest(body: &[u8]) -> sha2::Sha256 {
    sha2::Digest::new_with_prefix(body)
}
