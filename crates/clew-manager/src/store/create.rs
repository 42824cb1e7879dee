//! Founding a group.

use super::{GROUP_FILE, ISSUER_KEY, Store, TRUSTEES};
use crate::error::StoreError;
use crate::storage::{self, Transaction};
use clew_evidence::{
    Genesis, GroupLog, HEADER, Name, Origin, RegisterHead, SharingRecord, WallTime, sign_part,
};
use clew_group::curve::Scalar;
use clew_group::quorum::{Quorum, Sharing};
use clew_group::{Proof, PublicKey, Scheme, bbs04, xr};
use clew_keys::encryption::{self, Secret};
use clew_keys::files::{self, MODE_SECRET, directory};
use clew_keys::{IssuerKey, IssuerKeyFile, OpeningShare, TextFile, TrusteeKeyFile};
use clew_trustee::dkg::{Dealing, DkgError};
use ed25519_dalek::SigningKey;
use rand_core::CryptoRng;
use std::fs::{self, DirBuilder};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use zeroize::Zeroizing;

/// What a new group is to be.
#[derive(Clone, Debug)]
pub struct NewGroup {
    /// Its name.
    pub name: Name,
    /// How its machines sign.
    pub scheme: Scheme,
    /// Where its opening key comes from.
    pub opening: Opening,
    /// The transparency log that it writes into, if there is one.
    pub log: Option<GroupLog>,
    /// When it is made, in nanoseconds since 1970.
    pub now: u64,
}

/// Where the opening key of a new group comes from.
#[derive(Clone, Debug)]
pub enum Opening {
    /// A trusted dealer: [`Store::create`] makes it, and deals one share to each trustee's file.
    TrustedDealer(Quorum),
    /// The trustees generated it together (`xr`): nobody ever had it. Every proof of possession in the
    /// deals was checked (`spec/group-signature.md` section 6, rule 15). The group has the nonce of
    /// their plan.
    Dkg(Box<Dealing>),
}

impl NewGroup {
    /// The group that a plan founds, with the opening key that its trustees generated, without a log. `now` is in
    /// nanoseconds since 1970.
    ///
    /// # Errors
    /// [`DkgError::Purpose`] if the plan is for a group that exists.
    pub fn with_dkg(dealing: Dealing, now: u64) -> Result<Self, DkgError> {
        Ok(Self {
            name: dealing.founding()?.name.clone(),
            scheme: Scheme::Xr,
            opening: Opening::Dkg(Box::new(dealing)),
            log: None,
            now,
        })
    }
}

/// A new group, and where its dealt opening key lies.
pub struct Created {
    /// The store.
    pub store: Store,
    /// The keys to move away from the issuer and from each other, trustee 1 first. Empty if the
    /// trustees made theirs.
    pub trustee_keys: Vec<PathBuf>,
}

impl Store {
    /// Founds a group in a new or empty directory. All of it is made under another name and synced
    /// before the directory gets its own, so that no half-made group is ever seen.
    ///
    /// # Errors
    /// [`StoreError::Exists`] if the directory holds something; [`StoreError::OneOpeningKey`] for a
    /// distributed key with `bbs04`; [`StoreError::Dkg`] if its plan is not for a new group.
    pub fn create(
        dir: &Path,
        group: NewGroup,
        secret: Option<&Secret>,
        rng: &mut impl CryptoRng,
    ) -> Result<Created, StoreError> {
        Self::create_with(
            dir,
            None,
            group,
            secret,
            rng,
            |_, _| Ok::<_, StoreError>(()),
        )
    }

    /// As [`create`](Self::create), with a database of PostgreSQL if `database` has its URL. It is committed
    /// once the directory is in its place: killed in between, the directory is there and has no group.
    ///
    /// `also` writes what else belongs into the directory, before that has its name: it gets the directory
    /// as it is called meanwhile, and the group file.
    ///
    /// # Errors
    /// As [`Store::create`], and those of `also`: then nothing was made. [`StoreError::HasGroup`] if the
    /// database has a group's tables; [`StoreError::DatabaseUrl`], [`StoreError::OtherHost`],
    /// [`StoreError::Unreachable`].
    pub fn create_with<E: From<StoreError>>(
        dir: &Path,
        database: Option<&str>,
        group: NewGroup,
        secret: Option<&Secret>,
        rng: &mut impl CryptoRng,
        also: impl FnOnce(&Path, &[u8]) -> Result<(), E>,
    ) -> Result<Created, E> {
        let making = beside(dir)?;
        let founding = Founding::new(group, rng)?;
        founding.write(making.path(), secret, rng)?;
        let path = making.path().to_owned();
        also(&path, &[&HEADER[..], &founding.parts().concat()].concat())?;
        let mut making = Some(making);
        let mut finish = || {
            settle(&path)?;
            making.take().map_or(Ok(()), |making| place(making, dir))
        };
        let mut fill = |db: &dyn Transaction| founding.fill(db);
        storage::create(&path, database, &mut fill, &mut finish)?;
        let key = |key: &TrusteeKeyFile| dir.join(trustee_key(key.trustee().index()));
        Ok(Created {
            store: Self::open(dir)?,
            trustee_keys: founding.trustees.iter().map(key).collect(),
        })
    }
}

fn trustee_key(index: u8) -> PathBuf {
    Path::new(TRUSTEES).join(format!("{index}.key"))
}

/// Makes the folders of a group's directory.
pub(super) fn folders(dir: &Path) -> Result<(), StoreError> {
    for (name, mode) in [("public", 0o755), ("issuer", 0o700), ("trustees", 0o700)] {
        let path = dir.join(name);
        let made = DirBuilder::new().mode(mode).create(&path);
        made.map_err(StoreError::io(&path))?;
    }
    Ok(())
}

/// An empty directory beside the one that is made. If the process is killed, it stays.
pub(super) fn beside(dir: &Path) -> Result<tempfile::TempDir, StoreError> {
    let parent = directory(dir);
    fs::create_dir_all(parent).map_err(StoreError::io(parent))?;
    let mut making = tempfile::Builder::new(); // of mode 0700
    making.prefix(".clew-group-").rand_bytes(16);
    making.tempdir_in(parent).map_err(StoreError::io(parent))
}

/// Gives the finished directory its name; an empty directory of that name is replaced.
pub(super) fn place(making: tempfile::TempDir, dir: &Path) -> Result<(), StoreError> {
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

/// Syncs the folders of a directory that is made. The group file has a place only: opening the store
/// writes it from the database.
pub(super) fn settle(dir: &Path) -> Result<(), StoreError> {
    for folder in [GROUP_FILE, ISSUER_KEY] {
        let folder = dir.join(directory(Path::new(folder)));
        files::sync_directory(&folder).map_err(StoreError::io(&folder))?;
    }
    fs::set_permissions(dir, public_directory())
        .and_then(|()| files::sync_directory(dir))
        .map_err(StoreError::io(dir))
}

/// Everything that a new group starts from.
struct Founding {
    genesis: Genesis,
    issuer: IssuerKeyFile,
    trustees: Vec<TrusteeKeyFile>,
    now: u64,
}

/// The scheme's part of it.
struct Keys {
    issuer: IssuerKey,
    public: PublicKey,
    proof: Option<Proof>,
    sharing: SharingRecord,
    shares: Vec<OpeningShare>,
}

impl Founding {
    fn new(group: NewGroup, rng: &mut impl CryptoRng) -> Result<Self, StoreError> {
        let NewGroup {
            name,
            scheme,
            opening,
            log,
            now,
        } = group;
        let (nonce, keys) = Keys::new(scheme, opening, rng)?;
        let manager = SigningKey::from_bytes(&random_secret(rng));
        let genesis = Genesis {
            created: WallTime::from_nanos(now),
            nonce,
            manager: manager.verifying_key().to_bytes(),
            log,
            name,
            scheme,
            founding: Box::new(keys.public.founding_bytes()),
            issuer_proof: keys.proof.map(|proof| proof.to_bytes()),
            sharing: keys.sharing,
        };
        let group = genesis.group_id();
        let issuer = IssuerKeyFile {
            group,
            issuer: keys.issuer,
            manager,
            seed: random_secret(rng),
        };
        let trustees = keys.shares.into_iter().map(|share| TrusteeKeyFile {
            group,
            since: 0,
            share,
        });
        Ok(Self {
            genesis,
            issuer,
            trustees: trustees.collect(),
            now,
        })
    }

    fn write(
        &self,
        dir: &Path,
        secret: Option<&Secret>,
        rng: &mut impl CryptoRng,
    ) -> Result<(), StoreError> {
        folders(dir)?;
        let key = &self.issuer;
        let path = dir.join(ISSUER_KEY);
        write_key(&path, key, secret, rng)?;
        for key in &self.trustees {
            let path = dir.join(trustee_key(key.trustee().index()));
            write_key(&path, key, secret, rng)?;
        }
        Ok(())
    }

    /// The parts of the group file: record 0, and the head of an empty register.
    fn parts(&self) -> [Vec<u8>; 2] {
        let head = RegisterHead {
            last: self.genesis.epoch_id(),
            time: WallTime::from_nanos(self.now),
            machines: 0,
            root: [0; 32],
            hashes: Vec::new(),
        };
        let parts = [self.genesis.encode(), head.encode()];
        parts.map(|part| sign_part(&part, &self.issuer.manager))
    }

    /// The first rows of the database.
    fn fill(&self, db: &dyn Transaction) -> Result<(), StoreError> {
        let [record, head] = self.parts();
        db.add_record(0, &record)?;
        db.add_head(&head)?;
        storage::fill_outbox(db)
    }
}

impl Keys {
    fn new(
        scheme: Scheme,
        opening: Opening,
        rng: &mut impl CryptoRng,
    ) -> Result<([u8; 32], Self), StoreError> {
        let fresh = *random_secret(rng);
        let (nonce, keys) = match (scheme, opening) {
            (Scheme::Bbs04, Opening::TrustedDealer(quorum)) => {
                (fresh, Self::bbs04(&fresh, quorum, rng)?)
            }
            (Scheme::Xr, Opening::TrustedDealer(quorum)) => {
                (fresh, Self::trusted_dealer(&fresh, quorum, rng)?)
            }
            (Scheme::Xr, Opening::Dkg(dealing)) => {
                let plan = dealing.founding()?;
                let keys = Self::xr(&plan.nonce, plan.origin(), dealing.sharing(), rng);
                (plan.nonce, keys)
            }
            (Scheme::Bbs04, Opening::Dkg(_)) => return Err(StoreError::OneOpeningKey),
        };
        Ok((nonce, keys))
    }

    /// The opening key of XR is dealt in base u, and forgotten.
    fn trusted_dealer(
        nonce: &[u8; 32],
        quorum: Quorum,
        rng: &mut impl CryptoRng,
    ) -> Result<Self, StoreError> {
        let base = xr::Generators::of(nonce).u;
        let secret = Zeroizing::new(Scalar::random(rng));
        let (sharing, shares) =
            Sharing::deal(&base, &secret, quorum, rng).map_err(|_| no_luck())?;
        Ok(Self {
            shares: shares.into_iter().map(OpeningShare::Xr).collect(),
            ..Self::xr(nonce, Origin::TrustedDealer, &sharing, rng)
        })
    }

    fn xr(nonce: &[u8; 32], origin: Origin, sharing: &Sharing, rng: &mut impl CryptoRng) -> Self {
        let issuer = xr::IssuerKey::generate(rng);
        let (public, proof) = issuer.found(nonce, sharing.public(), rng);
        Self {
            issuer: IssuerKey::Xr(issuer),
            public: PublicKey::Xr(public),
            proof: Some(proof),
            sharing: SharingRecord::xr(origin, sharing),
            shares: Vec::new(),
        }
    }

    /// That of BBS04 in the bases u and v.
    fn bbs04(
        nonce: &[u8; 32],
        quorum: Quorum,
        rng: &mut impl CryptoRng,
    ) -> Result<Self, StoreError> {
        let (opener, opening) = bbs04::OpenerKey::generate(nonce, rng);
        let (issuer, issuing) = bbs04::IssuerKey::generate(rng);
        let public = bbs04::PublicKey::genesis(nonce, &opening, &issuing);
        let dealt = opener.deal(&public, quorum, rng);
        let (sharings, [of_xi1, of_xi2]) = dealt.map_err(|_| no_luck())?;
        let shares = of_xi1.into_iter().zip(of_xi2);
        Ok(Self {
            issuer: IssuerKey::Bbs04(issuer),
            public: PublicKey::Bbs04(public),
            proof: None,
            sharing: SharingRecord::bbs04(&sharings),
            shares: shares.map(|(a, b)| OpeningShare::Bbs04([a, b])).collect(),
        })
    }
}

/// A secret was drawn as zero: with probability 2^-255.
fn no_luck() -> StoreError {
    StoreError::Damaged("a random secret was zero: try again".to_owned())
}

fn random_secret(rng: &mut impl CryptoRng) -> Zeroizing<[u8; 32]> {
    let mut secret = Zeroizing::new([0; 32]);
    rng.fill_bytes(secret.as_mut_slice());
    secret
}

fn public_directory() -> fs::Permissions {
    std::os::unix::fs::PermissionsExt::from_mode(0o755)
}

fn write_key(
    path: &Path,
    key: &impl TextFile,
    secret: Option<&Secret>,
    rng: &mut impl CryptoRng,
) -> Result<(), StoreError> {
    let text = match secret {
        Some(secret) => encryption::encrypt(&key.encode(), &key.comment(), secret, rng),
        None => key.encode(),
    };
    files::write_atomically(path, text.as_bytes(), MODE_SECRET, files::IfExists::Refuse)
        .map_err(StoreError::io(path))
}
