//! `clew update`

use crate::cli::Update;
use crate::clock;
use crate::failure::{Failure, Status};
use crate::keyring::read_checked;
use crate::secrets;
use clew_evidence::{GroupFile, short_epoch_id};
use clew_group::Witness;
use clew_manager::join::{CredentialFile, Round, TextFile, round};
use clew_manager::keys::{HeldEpoch, MemberKeyFile};
use clew_manager::sealed::Secret;
use clew_manager::update::{UpdateError, Witnesses, update as follow};
use clew_manager::witness_file::{self, BUCKET_BYTES_MAX, BucketFault, Need};
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

pub fn update(arguments: &Update) -> Result<Status, Failure> {
    let group = read_checked(&arguments.group)?;
    let (text, secret) = arguments.unlock.read(&arguments.key)?;
    let key = MemberKeyFile::decode(&text).map_err(|e| Failure::file(&arguments.key, e))?;
    let now = clock::now_ns();
    let mut witnesses = Given::read(arguments.witness.as_deref(), &key)?;
    let updated = follow(&key, &group, now, &mut witnesses)
        .map_err(|error| refused(arguments, &error, witnesses.failure.take()))?;
    if updated.key.encode() == key.encode() {
        say!("{} is up to date", key.machine);
    } else {
        replace(&arguments.key, &updated.key, secret.as_ref())?;
        say!("{} updated: {}", key.machine, arguments.key.display());
    }
    updated.key.epochs.iter().for_each(|held| tell(held, now));
    if let Some(epoch) = updated.revoked {
        tell_end(&group, epoch);
    }
    Ok(Status::Yes)
}

/// Replaces a machine's key.
pub fn replace(path: &Path, key: &MemberKeyFile, secret: Option<&Secret>) -> Result<(), Failure> {
    secrets::prepare(path, &key.encode(), &key.comment(), secret, true)?
        .commit()
        .map_err(|e| secrets::cannot_write(path, &e))
}

/// An epoch that the key holds, with the id by which people compare histories.
fn tell(held: &HeldEpoch, now: u64) {
    let (epoch, id) = (held.epoch, short_epoch_id(&held.id));
    match held.start > now {
        false => say!("  epoch {epoch}, in force          id {id}"),
        true => {
            let start = clock::to_the_second(held.start);
            say!("  epoch {epoch}, from {start}  id {id}");
        }
    }
}

fn tell_end(group: &GroupFile, epoch: u32) {
    let start = group.start(epoch).map(clock::to_the_second);
    let start = start.unwrap_or_default();
    eprintln!("clew: warning: this machine is revoked in epoch {epoch}, which starts at {start}");
}

fn refused(arguments: &Update, error: &UpdateError, unread: Option<Failure>) -> Failure {
    if let (UpdateError::NeedsWitness(_), Some(failure)) = (error, unread) {
        return failure;
    }
    let failure = Failure::file(&arguments.key, error);
    match error {
        UpdateError::Revoked { .. } => failure.no(),
        UpdateError::KeyIsNewer { .. } => failure.hint("get the newest group file"),
        UpdateError::NeedsWitness(need) if need.epoch == 0 => {
            failure.hint("have the issuer repeat the credential of the join: --witness CREDENTIAL")
        }
        UpdateError::NeedsWitness(need) => failure.hint(format!(
            "get witnesses/{}/{} from the manager: --witness FILE",
            need.epoch,
            need.bucket()
        )),
        UpdateError::Bucket { need, .. } => failure.hint(format!(
            "the bucket of this machine is witnesses/{}/{}",
            need.epoch,
            need.bucket()
        )),
        _ => failure,
    }
}

/// What `--witness` gives: a folder, a bucket, or a credential.
struct Given {
    path: Option<PathBuf>,
    credential: Vec<(u32, Witness)>,
    failure: Option<Failure>,
}

impl Given {
    fn read(path: Option<&Path>, key: &MemberKeyFile) -> Result<Self, Failure> {
        let credential = match path {
            Some(path) if path.is_file() => credential(path, key)?,
            _ => Vec::new(),
        };
        Ok(Self {
            path: path.map(Path::to_owned),
            credential,
            failure: None,
        })
    }
}

impl Witnesses for Given {
    fn find(&mut self, need: &Need) -> Result<Option<Witness>, BucketFault> {
        let Some(path) = &self.path else {
            return Ok(None);
        };
        let path = match path.is_dir() {
            true => need.path_under(path),
            false => path.clone(),
        };
        match read_bounded(&path) {
            Ok(bytes) => witness_file::find(&bytes, need).map(Some),
            Err(error) => {
                self.failure = Some(Failure::file(&path, error));
                Ok(None)
            }
        }
    }

    fn given(&self) -> &[(u32, Witness)] {
        &self.credential
    }
}

/// The witnesses of a file that is a credential; none of a file that is not.
fn credential(path: &Path, key: &MemberKeyFile) -> Result<Vec<(u32, Witness)>, Failure> {
    let failed = |error| Failure::file(path, error);
    let bytes = read_bounded(path).map_err(|error| Failure::file(path, error))?;
    let text = String::from_utf8(bytes).unwrap_or_default();
    if round(&text) != Ok(Some(Round::Credential)) {
        return Ok(Vec::new());
    }
    let credential = CredentialFile::decode(&text).map_err(failed)?;
    if credential.index != key.index {
        let row = credential.index;
        return Err(Failure::file(
            path,
            format!("it is the credential of row {row}"),
        ));
    }
    Ok(credential.witnesses)
}

fn read_bounded(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let most = BUCKET_BYTES_MAX as u64 + 1;
    File::open(path)?.take(most).read_to_end(&mut bytes)?;
    Ok(bytes)
}
