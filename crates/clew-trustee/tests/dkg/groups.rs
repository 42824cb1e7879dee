//! Group files around an opening key that trustees made, written without a store.

use super::run::rng;
use clew_evidence::{
    Change, EpochRecord, Genesis, GroupFile, HEADER, Name, Origin, RegisterHead, SharingRecord,
    WallTime, sign_part,
};
use clew_group::curve::G1;
use clew_group::{PublicKey, xr};
use clew_trustee::dkg::{Dealing, Plan};
use ed25519_dalek::SigningKey;

const NOW: u64 = 1_800_000_000_000_000_000;

/// A group's manager: it adds the epochs that trustees ask for.
#[derive(Clone)]
pub struct Manager {
    genesis: Genesis,
    epochs: Vec<EpochRecord>,
}

impl Manager {
    /// Founds the group of a plan.
    pub fn found(dealing: &Dealing) -> Self {
        let plan = dealing.founding().unwrap();
        let h = dealing.sharing().public();
        Self::named(plan.name.clone(), plan.nonce, h, dealing.record())
    }

    fn named(name: Name, nonce: [u8; 32], h: &G1, sharing: SharingRecord) -> Self {
        let (public, proof) = gamma().found(&nonce, h, &mut rng(99));
        Self {
            genesis: Genesis {
                scheme: clew_group::Scheme::Xr,
                created: WallTime::from_nanos(NOW),
                nonce,
                manager: key().verifying_key().to_bytes(),
                log: None,
                name,
                founding: Box::new(public.founding_bytes()),
                issuer_proof: Some(proof.to_bytes()),
                sharing,
            },
            epochs: Vec::new(),
        }
    }

    pub fn group(&self) -> GroupFile {
        let last = self.epochs.last().map(EpochRecord::epoch_id);
        let register = RegisterHead {
            last: last.unwrap_or(self.genesis.epoch_id()),
            time: WallTime::from_nanos(NOW),
            machines: 0,
            root: [0; 32],
            hashes: Vec::new(),
        };
        let mut parts = vec![self.genesis.encode()];
        parts.extend(self.epochs.iter().map(EpochRecord::encode));
        parts.push(register.encode());
        let parts = parts.iter().flat_map(|part| sign_part(part, &key()));
        let bytes: Vec<u8> = HEADER.iter().copied().chain(parts).collect();
        GroupFile::from_bytes(&bytes).unwrap()
    }

    /// A new epoch with what was dealt.
    pub fn reopen(&mut self, dealing: &Dealing) {
        let group = self.group();
        dealing.plan().check_current(&group).unwrap();
        let epoch = group.newest_epoch();
        let Ok(PublicKey::Xr(newest)) = group.public_key(epoch).unwrap() else {
            unreachable!("the group is of xr")
        };
        let next = gamma().reopened(&newest, dealing.sharing().public());
        self.epochs.push(EpochRecord {
            epoch: epoch + 1,
            previous: group.last_id(),
            made: WallTime::from_nanos(NOW),
            start: WallTime::from_nanos(NOW),
            machines: 0,
            root: [0; 32],
            change: Change::sharing(&next, dealing.record()),
        });
    }
}

fn gamma() -> xr::IssuerKey {
    xr::IssuerKey::generate(&mut rng(98))
}

fn key() -> SigningKey {
    SigningKey::from_bytes(&[7; 32])
}

/// The group file of a manager that writes what it likes.
pub fn forged(plan: &Plan, h: &G1, sharing: SharingRecord) -> GroupFile {
    named(plan.name.clone(), plan.nonce, h, sharing)
}

pub fn named(name: Name, nonce: [u8; 32], h: &G1, sharing: SharingRecord) -> GroupFile {
    Manager::named(name, nonce, h, sharing).group()
}

/// The same commitments, under the name of a trusted dealer.
pub fn trusted_dealer(dealing: &Dealing) -> SharingRecord {
    SharingRecord::xr(Origin::TrustedDealer, dealing.sharing())
}
