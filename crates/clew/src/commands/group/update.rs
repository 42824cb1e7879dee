//! `clew update`

use crate::cli::Update;
use crate::clock;
use crate::failure::{Failure, Status};
use crate::groups::read_checked;
use crate::secrets;
use clew_evidence::{GroupFile, short_epoch_id};
use clew_group::Witness;
use clew_keys::files::IfExists;
use clew_keys::join::{CredentialFile, Round, round};
use clew_keys::update::{UpdateError, Witnesses, update as follow};
use clew_keys::witness_file::{self, BUCKET_BYTES_MAX, Need};
use clew_keys::{HeldEpoch, MemberKeyFile, TextFile};
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// What helps if the group ended.
pub(super) const ENDED: &str =
    "ask the operator for the group that comes after it: clew group show GROUPFILE names it";

pub fn update(arguments: &Update) -> Result<Status, Failure> {
    if let Some(url) = &arguments.manager {
        return super::follow::run(arguments, url);
    }
    let group = read_checked(&arguments.group)?;
    let (text, secret) = arguments.unlock.read(&arguments.key)?;
    let key = MemberKeyFile::decode(&text).map_err(|e| Failure::file(&arguments.key, e))?;
    let now = clock::now_ns();
    let mut witnesses = Given::read(&arguments.witness, &key)?;
    let updated = follow(&key, &group, now, &mut witnesses)
        .map_err(|error| refused(arguments, &key, &error, &witnesses))?;
    let (text, path) = (updated.key.encode(), &arguments.key);
    if text == key.encode() {
        say!("{} is up to date", key.machine);
    } else {
        secrets::write(
            path,
            &text,
            &updated.key.comment(),
            secret.as_ref(),
            IfExists::Replace,
        )?;
        say!("{} updated: {}", key.machine, path.display());
    }
    updated.key.epochs.iter().for_each(|held| tell(held, now));
    if let Some(epoch) = updated.revoked {
        tell_end(&group, epoch);
    }
    Ok(Status::Yes)
}

/// An epoch that the key holds, with the id by which people compare histories.
pub(super) fn tell(held: &HeldEpoch, now: u64) {
    let (epoch, id) = (held.epoch, short_epoch_id(&held.id));
    match held.start > now {
        false => say!("  epoch {epoch}, in force          id {id}"),
        true => {
            let start = clock::to_the_second(held.start);
            say!("  epoch {epoch}, from {start}  id {id}");
        }
    }
}

pub(super) fn tell_end(group: &GroupFile, epoch: u32) {
    let start = group.start(epoch);
    let start = start.map(|start| clock::to_the_second(start.as_nanos()));
    let start = start.unwrap_or_default();
    mention!("clew: warning: this machine is revoked in epoch {epoch}, which starts at {start}");
}

fn refused(
    arguments: &Update,
    key: &MemberKeyFile,
    error: &UpdateError,
    witnesses: &Given<'_>,
) -> Failure {
    let failure = Failure::file(&arguments.key, error);
    match error {
        UpdateError::Revoked { .. } => failure.no(),
        UpdateError::Ended { .. } => failure.hint(ENDED).no(),
        UpdateError::KeyIsNewer { .. } => failure.hint("get the newest group file"),
        UpdateError::NeedsWitness(need) => {
            let failure = match witnesses.unfit.is_empty() {
                true => failure,
                false => Failure::new(witnesses.unfit.join("; ")),
            };
            failure.hint(match folder_within(&arguments.witness, need) {
                Some(folder) => format!("use --witness {}", folder.display()),
                None => source_of(need, key),
            })
        }
        _ => failure,
    }
}

/// The folder of witnesses below a folder that was given in its place.
fn folder_within(given: &[PathBuf], need: &Need) -> Option<PathBuf> {
    let mut within = given.iter().map(|folder| folder.join("witnesses"));
    within.find(|folder| need.path_under(folder).is_file())
}

/// Where the witness comes from that is needed.
fn source_of(need: &Need, key: &MemberKeyFile) -> String {
    let again = format!("clew group witness DIR {} -o FILE", key.machine);
    match need.epoch {
        0 => format!("ask the manager to run {again}, then use --witness FILE"),
        epoch => format!(
            "get witnesses/{epoch}/{} from the manager, or ask it to run {again}, then use \
             --witness FILE",
            need.bucket()
        ),
    }
}

/// What `--witness` gives: folders, buckets and credentials.
struct Given<'a> {
    buckets: Vec<&'a Path>,
    /// Credentials, with their first and last epoch.
    credentials: Vec<(&'a Path, u32, u32)>,
    /// The witnesses of all credentials.
    witnesses: Vec<(u32, Witness)>,
    /// Why nothing that was given has the witness that was looked for last, a sentence for each.
    unfit: Vec<String>,
}

impl<'a> Given<'a> {
    fn read(paths: &'a [PathBuf], key: &MemberKeyFile) -> Result<Self, Failure> {
        let mut given = Self {
            buckets: Vec::new(),
            credentials: Vec::new(),
            witnesses: Vec::new(),
            unfit: Vec::new(),
        };
        for path in paths {
            match credential(path, key)? {
                None => given.buckets.push(path),
                Some(witnesses) => given.take(path, witnesses),
            }
        }
        Ok(given)
    }

    fn take(&mut self, path: &'a Path, witnesses: Vec<(u32, Witness)>) {
        let epochs = || witnesses.iter().map(|(epoch, _)| *epoch);
        if let (Some(first), Some(last)) = (epochs().next(), epochs().next_back()) {
            self.credentials.push((path, first, last));
        }
        self.witnesses.extend(witnesses);
    }

    fn unfit_credentials(&self, need: &Need) -> impl Iterator<Item = String> {
        let each = self.credentials.iter();
        each.map(|(path, first, last)| {
            let (path, epoch) = (path.display(), need.epoch);
            format!(
                "{path}: need a witness that leads to epoch {epoch}, have those of epochs {first} \
                 to {last}"
            )
        })
    }
}

impl Witnesses for Given<'_> {
    fn find(&mut self, need: &Need) -> Option<Witness> {
        self.unfit = self.unfit_credentials(need).collect();
        for path in &self.buckets {
            let found = match path.is_dir() {
                true => in_folder(path, need),
                false => bucket(path, need),
            };
            match found {
                Ok(witness) => return Some(witness),
                Err(failure) => self.unfit.push(failure.message),
            }
        }
        None
    }

    fn given(&self) -> &[(u32, Witness)] {
        &self.witnesses
    }
}

/// The witness in a folder of rebases.
fn in_folder(folder: &Path, need: &Need) -> Result<Witness, Failure> {
    let path = need.path_under(folder);
    if path.exists() {
        return bucket(&path, need);
    }
    let why = format!("does not have witnesses of epoch {}", need.epoch);
    Err(Failure::file(folder, why))
}

/// The witness in a bucket.
fn bucket(path: &Path, need: &Need) -> Result<Witness, Failure> {
    let bytes = read_bounded(path).map_err(|error| Failure::io(path, &error))?;
    let found = witness_file::find(&bytes, need);
    found.map_err(|fault| Failure::binary(path, &bytes, fault))
}

/// The witnesses of a file that is a credential. Returns `None` for all else: whether there is a bucket
/// counts only if one is needed.
fn credential(path: &Path, key: &MemberKeyFile) -> Result<Option<Vec<(u32, Witness)>>, Failure> {
    if !path.is_file() {
        return Ok(None);
    }
    let failed = |error| Failure::file(path, error);
    let bytes = read_bounded(path).map_err(|error| Failure::io(path, &error))?;
    let text = String::from_utf8(bytes).unwrap_or_default();
    if round(&text) != Ok(Some(Round::Credential)) {
        return Ok(None);
    }
    let credential = CredentialFile::decode(&text).map_err(failed)?;
    match credential.index == key.index {
        true => Ok(Some(credential.witnesses)),
        false => {
            let row = credential.index;
            let other = format!("is the credential of row {row}");
            Err(Failure::file(path, other))
        }
    }
}

fn read_bounded(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let most = BUCKET_BYTES_MAX as u64 + 1;
    File::open(path)?.take(most).read_to_end(&mut bytes)?;
    Ok(bytes)
}
