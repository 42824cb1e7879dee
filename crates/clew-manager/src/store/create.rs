//! Founding a group.

use super::{
    APPLICATION_ID, DATABASE, GROUP_FILE, ISSUER_KEY, LAYOUT_VERSION, SCHEMA, Store, TRUSTEE_KEY,
    configure,
};
use crate::error::StoreError;
use crate::files::{self, MODE_SECRET, directory};
use crate::keys::{IssuerKeyFile, TrusteeKeyFile};
use crate::sealed::{self, Secret};
use clew_evidence::{Genesis, Name, RegisterHead, seal};
use clew_group::bbs04::{IssuerKey, OpenerKey, PublicKey};
use ed25519_dalek::SigningKey;
use rand_core::CryptoRng;
use rusqlite::{Connection, params};
use sha2::{Digest, Sha256};
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use zeroize::Zeroizing;

/// A new group, and where its dealt opening key lies.
pub struct Created {
    /// The store.
    pub store: Store,
    /// The key to move away from the issuer.
    pub trustee_key: PathBuf,
}

impl Store {
    /// Founds a group in a new or empty directory. All of it is made under another name and synced
    /// before the directory gets its own, so that no half-made group is ever seen.
    pub fn create(
        dir: &Path,
        name: Name,
        now: u64,
        secret: Option<&Secret>,
        rng: &mut impl CryptoRng,
    ) -> Result<Created, StoreError> {
        let parent = directory(dir);
        fs::create_dir_all(parent).map_err(StoreError::io(parent))?;
        let making = tempfile::Builder::new()
            .prefix(".clew-group-")
            .tempdir_in(parent)
            .map_err(StoreError::io(parent))?;
        Founding::new(name, now, rng).write(making.path(), secret, rng)?;
        place(making, dir)?;
        Ok(Created {
            store: Self::open(dir)?,
            trustee_key: dir.join(TRUSTEE_KEY),
        })
    }
}

/// Gives the finished directory its name; an empty directory of that name is replaced.
fn place(making: tempfile::TempDir, dir: &Path) -> Result<(), StoreError> {
    fs::rename(making.path(), dir).map_err(|error| match error.kind() {
        std::io::ErrorKind::DirectoryNotEmpty
        | std::io::ErrorKind::AlreadyExists
        | std::io::ErrorKind::NotADirectory => StoreError::Exists(dir.to_owned()),
        _ => StoreError::Io {
            path: dir.to_owned(),
            error,
        },
    })?;
    let _ = making.keep(); // its name is gone: nothing is left to remove
    files::sync_directory(directory(dir)).map_err(StoreError::io(dir))
}

/// Everything that a new group starts from.
struct Founding {
    genesis: Genesis,
    issuer: IssuerKeyFile,
    trustee: TrusteeKeyFile,
    now: u64,
}

impl Founding {
    fn new(name: Name, now: u64, rng: &mut impl CryptoRng) -> Self {
        let mut nonce = [0; 32];
        rng.fill_bytes(&mut nonce);
        let (opener, opening) = OpenerKey::generate(&nonce, rng);
        let (issuer, issuing) = IssuerKey::generate(rng);
        let manager = SigningKey::from_bytes(&random_secret(rng));
        let genesis = Genesis {
            created: now,
            nonce,
            manager: manager.verifying_key().to_bytes(),
            name,
            public_key: PublicKey::genesis(&opening, &issuing).to_bytes(),
        };
        let group = genesis.group_id();
        let issuer = IssuerKeyFile {
            group,
            issuer,
            manager,
            seed: random_secret(rng),
        };
        let trustee = TrusteeKeyFile {
            group,
            index: 1,
            opener,
        };
        Self {
            genesis,
            issuer,
            trustee,
            now,
        }
    }

    fn write(
        &self,
        dir: &Path,
        secret: Option<&Secret>,
        rng: &mut impl CryptoRng,
    ) -> Result<(), StoreError> {
        for (name, mode) in [("public", 0o755), ("issuer", 0o700), ("trustees", 0o700)] {
            let path = dir.join(name);
            DirBuilder::new()
                .mode(mode)
                .create(&path)
                .map_err(StoreError::io(&path))?;
        }
        let (issuer, trustee) = (&self.issuer, &self.trustee);
        write_key(
            &dir.join(ISSUER_KEY),
            issuer.encode(),
            issuer.comment(),
            secret,
            rng,
        )?;
        write_key(
            &dir.join(TRUSTEE_KEY),
            trustee.encode(),
            trustee.comment(),
            secret,
            rng,
        )?;
        self.write_database(&dir.join(DATABASE))?;
        // A place for the group file; opening the store writes it from the database.
        files::sync_directory(&dir.join(directory(Path::new(GROUP_FILE))))
            .and_then(|()| fs::set_permissions(dir, public_directory()))
            .and_then(|()| files::sync_directory(dir))
            .map_err(StoreError::io(dir))
    }

    fn write_database(&self, path: &Path) -> Result<(), StoreError> {
        create_secret(path).map_err(StoreError::io(path))?;
        let db = Connection::open(path)?;
        configure(&db)?;
        db.execute_batch(SCHEMA)?;
        let body = self.genesis.encode();
        let last = Sha256::digest(&body).into();
        let register = RegisterHead {
            last,
            time: self.now,
            machines: 0,
            root: [0; 32],
        };
        let manager = &self.issuer.manager;
        db.execute("INSERT INTO part VALUES (0, ?1)", [seal(&body, manager)])?;
        let sealed = seal(&register.encode(), manager);
        db.execute(
            "INSERT INTO register VALUES (0, ?1, ?2)",
            params![sealed, [0u8; 0]],
        )?;
        db.pragma_update(None, "user_version", LAYOUT_VERSION)?;
        db.pragma_update(None, "application_id", APPLICATION_ID)?;
        Ok(())
    }
}

fn random_secret(rng: &mut impl CryptoRng) -> Zeroizing<[u8; 32]> {
    let mut secret = Zeroizing::new([0; 32]);
    rng.fill_bytes(secret.as_mut_slice());
    secret
}

fn public_directory() -> fs::Permissions {
    std::os::unix::fs::PermissionsExt::from_mode(0o755)
}

fn create_secret(path: &Path) -> std::io::Result<File> {
    OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(MODE_SECRET)
        .open(path)
}

fn write_key(
    path: &Path,
    text: Zeroizing<String>,
    comment: String,
    secret: Option<&Secret>,
    rng: &mut impl CryptoRng,
) -> Result<(), StoreError> {
    let text = match secret {
        Some(secret) => sealed::seal(&text, &comment, secret, rng),
        None => text,
    };
    files::write_atomically(path, text.as_bytes(), MODE_SECRET, false).map_err(StoreError::io(path))
}
