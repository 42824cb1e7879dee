//! Group files around an opening key that trustees made.

use super::run::rng;
use clew_evidence::{Genesis, GroupFile, HEADER, Name, Origin, RegisterHead, SharingRecord, seal};
use clew_group::curve::G1;
use clew_group::xr;
use clew_keys::IssuerKeyFile;
use clew_manager::dkg::{Dealing, Plan};
use clew_manager::store::ISSUER_KEY;
use clew_manager::{Store, StoreError, When};
use ed25519_dalek::SigningKey;
use std::path::PathBuf;
use tempfile::TempDir;

const NOW: u64 = 1_800_000_000_000_000_000;

/// A group's manager with its store.
pub struct Manager {
    folder: TempDir,
    pub store: Store,
    pub issuer: IssuerKeyFile,
}

impl Manager {
    /// Founds the group of a plan.
    pub fn found(dealing: &Dealing) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let dir = folder.path().join("acme");
        let group = dealing.new_group(NOW).unwrap();
        let created = Store::create(&dir, group, None, &mut rng(99)).unwrap();
        assert_eq!(created.trustee_keys, Vec::<PathBuf>::new());
        let text = std::fs::read_to_string(dir.join(ISSUER_KEY)).unwrap();
        Self {
            folder,
            store: created.store,
            issuer: IssuerKeyFile::decode(&text).unwrap(),
        }
    }

    pub fn group(&self) -> GroupFile {
        self.store.group().clone()
    }

    /// A new epoch with what was dealt.
    pub fn reopen(&mut self, dealing: &Dealing) -> Result<u32, StoreError> {
        self.store.reopen(&self.issuer, dealing, When::now(NOW))
    }

    /// A second store of the same group, which goes its own way.
    pub fn fork(&self) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (from, to) = (self.folder.path().join("acme"), folder.path().join("acme"));
        for dir in ["public", "issuer"] {
            std::fs::create_dir_all(to.join(dir)).unwrap();
            for file in std::fs::read_dir(from.join(dir)).unwrap() {
                let path = file.unwrap().path();
                std::fs::copy(&path, to.join(dir).join(path.file_name().unwrap())).unwrap();
            }
        }
        let text = std::fs::read_to_string(to.join(ISSUER_KEY)).unwrap();
        Self {
            folder,
            store: Store::open(&to).unwrap(),
            issuer: IssuerKeyFile::decode(&text).unwrap(),
        }
    }
}

/// The group file of a manager that writes what it likes.
pub fn forged(plan: &Plan, h: &G1, sharing: SharingRecord) -> GroupFile {
    named(plan.name.clone(), plan.nonce, h, sharing)
}

pub fn named(name: Name, nonce: [u8; 32], h: &G1, sharing: SharingRecord) -> GroupFile {
    let mut rng = rng(99);
    let key = SigningKey::from_bytes(&[7; 32]);
    let (public, proof) = xr::IssuerKey::generate(&mut rng).found(&nonce, h, &mut rng);
    let genesis = Genesis {
        scheme: clew_group::Scheme::Xr,
        created: NOW,
        nonce,
        manager: key.verifying_key().to_bytes(),
        name,
        founding: Box::new(public.founding_bytes()),
        issuer_proof: Some(proof.to_bytes()),
        sharing,
    };
    let register = RegisterHead {
        last: genesis.epoch_id(),
        time: NOW,
        machines: 0,
        root: [0; 32],
        hashes: Vec::new(),
    };
    let parts = [
        seal(&genesis.encode(), &key),
        seal(&register.encode(), &key),
    ];
    GroupFile::from_bytes(&[&HEADER[..], &parts.concat()].concat()).unwrap()
}

/// The same commitments, under the name of a trusted dealer.
pub fn trusted_dealer(dealing: &Dealing) -> SharingRecord {
    SharingRecord::xr(Origin::Dealt, dealing.sharing())
}
