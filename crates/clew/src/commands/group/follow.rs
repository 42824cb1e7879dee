//! `clew update --manager`: a group file and a key, kept up to date by the manager's feed.

use super::logged::Logged;
use super::remote::{client, unanswered};
use super::update::{ENDED, tell, tell_end};
use crate::cli::Update;
use crate::clock;
use crate::failure::{Failure, Status};
use crate::flow::relay::Until;
use crate::groups::read_group_file;
use crate::random;
use crate::secrets;
use clew_evidence::{CheckedGroup, GroupFile};
use clew_group::Witness;
use clew_keys::files::{IfExists, MODE_PUBLIC, write_atomically};
use clew_keys::update::{UpdateError, Updated, Witnesses, update};
use clew_keys::witness_file::{self, Need};
use clew_keys::{MAX_HELD_EPOCHS, MemberKeyFile, TextFile};
use clew_service::http::ServiceUrl;
use clew_service::manager::{FollowError, Followed, ManagerClient, follow};
use rand_core::Rng;
use std::fs;
use std::io::ErrorKind;
use std::path::Path;
use std::time::{Duration, Instant};

/// How long a request for the feed waits for news.
const WAIT: Duration = Duration::from_secs(45);
/// How often the log is asked for a fresh checkpoint if there is nothing new.
const LOOK_AGAIN: Duration = Duration::from_secs(3_600);
/// Shortest time of a turn.
const TURN_MIN: Duration = Duration::from_secs(1);
/// First and longest pause after a failure; half of each is random.
const PAUSE: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(300)];

pub fn run(arguments: &Update, url: &ServiceUrl) -> Result<Status, Failure> {
    let client = client(url)?;
    let logged = Logged::beside(&arguments.key, &arguments.witnesses)?;
    if !arguments.follow {
        return crate::tunnel::run_or_stop(async {
            let done = once(arguments, &client, &logged, None).await;
            done.map(|_| Status::Yes).map_err(|ended| ended.failure)
        });
    }
    crate::tunnel::run(async {
        tokio::select! {
            ended = keep_up(arguments, &client, &logged) => ended,
            // What was written is whole, and the next start goes on.
            () = crate::tunnel::over(Until::after(None)) => Ok(Status::Yes),
        }
    })
}

/// Turns until something ends it.
async fn keep_up(
    arguments: &Update,
    client: &ManagerClient,
    logged: &Logged,
) -> Result<Status, Failure> {
    let (mut etag, mut pause) = (None::<String>, PAUSE[0]);
    let mut fetched = Instant::now();
    let mut has_begun = false;
    loop {
        // A head that stays the same is fetched again: its epoch has to stand in a fresh checkpoint.
        let known = etag.as_deref().filter(|_| fetched.elapsed() < LOOK_AGAIN);
        if known.is_none() {
            fetched = Instant::now();
        }
        let began = Instant::now();
        match once(arguments, client, logged, known).await {
            Ok(newest) => {
                // However fast a manager answers.
                tokio::time::sleep(TURN_MIN.saturating_sub(began.elapsed())).await;
                etag = newest.or(etag);
                pause = PAUSE[0];
                has_begun = true;
            }
            Err(ended) if ended.ends(has_begun) => return Err(ended.failure),
            Err(ended) => {
                mention!("clew: {}; trying again", ended.failure.message);
                tokio::time::sleep(jittered(pause)).await;
                pause = (pause * 2).min(PAUSE[1]);
                etag = None;
            }
        }
    }
}

/// Half to all of a pause: devices that lost one service do not come back together.
pub fn jittered(pause: Duration) -> Duration {
    let half = pause / 2;
    let random = random::os().next_u32();
    half + half.mul_f64(f64::from(random) / f64::from(u32::MAX))
}

/// Why one turn did not end well.
struct Ended {
    failure: Failure,
    /// Another turn would end the same.
    is_final: bool,
}

impl Ended {
    /// Whether to stop. Once it has worked, a full disk or a file that is away for a while is no reason
    /// to stop following; a "no" always is.
    fn ends(&self, has_begun: bool) -> bool {
        self.is_final && (!has_begun || matches!(self.failure.status, Status::No))
    }
}

fn last(failure: Failure) -> Ended {
    Ended {
        failure,
        is_final: true,
    }
}

fn passing(failure: Failure) -> Ended {
    Ended {
        failure,
        is_final: false,
    }
}

/// Brings group file and key up to date, and returns the name of the feed's head. Given a name, waits
/// until the feed has another head.
async fn once(
    arguments: &Update,
    client: &ManagerClient,
    logged: &Logged,
    etag: Option<&str>,
) -> Result<Option<String>, Ended> {
    let asked = client.head(etag, WAIT).await;
    let Some((head, etag)) = asked.map_err(|error| passing(unanswered(&error)))? else {
        return Ok(None);
    };
    let path = &arguments.group;
    let before = secrets::read_text(&arguments.key).map_err(last)?;
    let (text, secret) = arguments.unlock.read(&arguments.key).map_err(last)?;
    let key = MemberKeyFile::decode(&text);
    let key = key.map_err(|error| last(Failure::file(&arguments.key, error)))?;
    let held = match fs::read(path) {
        Ok(bytes) => Some((read_group_file(path).map_err(last)?, bytes)),
        Err(error) if error.kind() == ErrorKind::NotFound => None,
        Err(error) => return Err(last(Failure::io(path, &error))),
    };
    let (group, newer) = match held {
        Some((group, bytes)) => match follow(client, &head, &group, &bytes).await {
            Ok(Followed::Current) => (group, None),
            Ok(Followed::Newer(newer, bytes)) => (*newer, Some(bytes)),
            Err(error) => return Err(refused(arguments, error)),
        },
        None => first(arguments, client, &key).await?,
    };
    let newest = group.newest_epoch();
    let checked = group.check_epochs(&mut random::os());
    let checked = checked.map_err(|error| last(Failure::file(path, error).no()))?;
    let updated = updated(arguments, client, &key, &checked).await;
    // An epoch that this machine is not in, or that the key does not know, is not a reason to keep an
    // old group file; another history is.
    let is_other = matches!(&updated, Err(ended) if ended.is_other_history);
    if let (Some(bytes), false) = (newer, is_other) {
        let written = write_atomically(path, &bytes, MODE_PUBLIC, IfExists::Replace);
        written.map_err(|error| last(Failure::io(path, &error)))?;
        say!("group file, up to epoch {newest}: {}", path.display());
    }
    let updated = updated.map_err(|ended| ended.ended)?;
    // Verifiers take the new epoch at once, since it only takes rights away; signers wait for the log.
    let accepted = logged.check(client, &checked).await;
    accepted.map_err(|refused| Ended {
        failure: refused.failure,
        is_final: !refused.is_passing,
    })?;
    let now = clock::now_ns();
    if updated.key.encode() != key.encode() {
        let (text, comment) = (updated.key.encode(), updated.key.comment());
        let replace = IfExists::Replace;
        is_unchanged(&arguments.key, &before)?;
        let written = secrets::write(&arguments.key, &text, &comment, secret.as_ref(), replace);
        written.map_err(last)?;
        say!("{} updated: {}", key.machine, arguments.key.display());
        updated.key.epochs.iter().for_each(|held| tell(held, now));
    } else if !arguments.follow {
        say!("{} is up to date", key.machine);
        updated.key.epochs.iter().for_each(|held| tell(held, now));
    }
    if let Some(epoch) = updated.revoked {
        tell_end(&checked, epoch);
    }
    Ok(etag)
}

/// Checks that a key is still what was read: a machine that is enrolled anew meanwhile has its new key
/// under the same name, and an older one is never written over it.
fn is_unchanged(key: &Path, before: &str) -> Result<(), Ended> {
    let found = secrets::read_text(key).map_err(last)?;
    match *found == *before {
        true => Ok(()),
        false => Err(passing(
            Failure::file(key, "another process replaced the key meanwhile")
                .hint("run the command again"),
        )),
    }
}

/// The group file that a device without one fetches: the one of its key's group.
async fn first(
    arguments: &Update,
    client: &ManagerClient,
    key: &MemberKeyFile,
) -> Result<(GroupFile, Option<Vec<u8>>), Ended> {
    let bytes = client.group().await;
    let bytes = bytes.map_err(|error| passing(unanswered(&error)))?;
    let group = GroupFile::from_bytes(&bytes);
    let group = group
        .map_err(|error| last(Failure::new(format!("the manager's group file: {error}")).no()))?;
    if group.id() == key.group {
        return Ok((group, Some(bytes)));
    }
    let why = UpdateError::OtherGroup {
        key: key.group,
        file: group.id(),
    };
    Err(last(Failure::file(&arguments.key, why).no()))
}

fn refused(arguments: &Update, error: FollowError) -> Ended {
    match error {
        FollowError::Client(error) => passing(unanswered(&error)),
        error if error.is_no() => last(Failure::file(&arguments.group, error).no()),
        error => last(Failure::file(&arguments.group, error)),
    }
}

/// Why a key was not updated.
struct NotUpdated {
    ended: Ended,
    is_other_history: bool,
}

/// Updates the key, with witnesses of buckets that it needs.
async fn updated(
    arguments: &Update,
    client: &ManagerClient,
    key: &MemberKeyFile,
    group: &CheckedGroup,
) -> Result<Updated, NotUpdated> {
    let mut fetched = Fetched(Vec::new());
    loop {
        let error = match update(key, group, clock::now_ns(), &mut fetched) {
            Ok(updated) => return Ok(updated),
            Err(error) => error,
        };
        let not = |ended| NotUpdated {
            ended,
            is_other_history: false,
        };
        let failure = Failure::file(&arguments.key, &error);
        match &error {
            UpdateError::NeedsWitness(need) if fetched.0.len() <= MAX_HELD_EPOCHS => {
                if need.epoch == 0 {
                    let again = "ask the manager to run clew group witness, then use --witness";
                    return Err(not(last(failure.hint(again))));
                }
                let bucket = client.bucket(need).await;
                let bucket = bucket.map_err(|error| not(passing(unanswered(&error))))?;
                let found = witness_file::find(&bucket, need);
                let unfit = |fault| not(last(Failure::file(&arguments.key, fault)));
                fetched.0.push((*need, found.map_err(unfit)?));
            }
            UpdateError::Revoked { .. } => return Err(not(last(failure.no()))),
            UpdateError::Ended { .. } => return Err(not(last(failure.hint(ENDED).no()))),
            UpdateError::OtherHistory { .. }
            | UpdateError::OtherGroup { .. }
            | UpdateError::KeyIsNewer { .. } => {
                return Err(NotUpdated {
                    ended: last(failure.no()),
                    is_other_history: true,
                });
            }
            _ => return Err(not(last(failure))),
        }
    }
}

/// Witnesses that were fetched.
struct Fetched(Vec<(Need, Witness)>);

impl Witnesses for Fetched {
    fn find(&mut self, need: &Need) -> Option<Witness> {
        let found = self.0.iter().find(|(of, _)| of == need);
        found.map(|(_, witness)| witness.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_key_is_never_replaced_by_an_old_one() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("web-1.key");
        fs::write(&path, "old").unwrap();
        assert!(is_unchanged(&path, "old").is_ok());
        fs::write(&path, "enrolled anew").unwrap();
        let ended = is_unchanged(&path, "old").unwrap_err();
        assert!(!ended.is_final, "the next turn reads the new key");
        fs::remove_file(&path).unwrap();
        assert!(is_unchanged(&path, "old").unwrap_err().is_final);
    }
}
