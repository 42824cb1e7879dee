//! `clew log verify` and `count`.

use super::{NO_LOG, founder, is_elsewhere, policy, seconds};
use crate::cli::{Believed, LogCount, LogVerify};
use crate::clock;
use crate::failure::{Failure, Status};
use crate::groups::read_group_file;
use crate::secrets;
use clew_evidence::{GroupFile, WallTime};
use clew_keys::files::{IfExists, MODE_PUBLIC, write_atomically};
use clew_log::{Checkpoint, Counts, LogState, Proof, ProofError, VerifierKey};
use clew_service::http::ServiceUrl;
use clew_service::log::{
    AuditError, LogClient, LogClientError, Mirror, check, group_file_of, read_state,
};
use serde_json::json;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A log is cosigned more often.
const FRESH: Duration = Duration::from_secs(3_600);
const EVIDENCE: &str = "clew-log.evidence";
/// Most files of evidence of one name.
const EVIDENCE_MAX: usize = 1_000;
/// Characters of a time that name its month.
const MONTH: usize = "2026-11".len();

pub async fn verify(arguments: &LogVerify) -> Result<Status, Failure> {
    if let Some(path) = &arguments.proof {
        return verify_proof(path, &arguments.believed, arguments.json);
    }
    let group = arguments
        .group
        .as_deref()
        .map(read_group_file)
        .transpose()?;
    let source = Source::of(arguments.source.as_deref().unwrap_or_default())?;
    let url = match source {
        Source::Dir(dir) => {
            if arguments.state.is_some() || arguments.evidence.is_some() {
                let why = "--state and --evidence require the log's URL: a directory shows one history alone";
                return Err(Failure::file(&dir, why));
            }
            let state = read_state(&dir)?;
            if !arguments.json {
                say!("valid: {} entries", state.size());
            }
            return report(&state, group.as_ref(), arguments.json);
        }
        Source::Url(url) => url,
    };
    let key = named_key(
        &arguments.believed,
        group.as_ref(),
        arguments.group.as_deref(),
    )?;
    let policy = policy(&arguments.believed, key)?;
    let from = group.as_ref().map(founder).transpose()?;
    let watched = group.as_ref().map(register_sizes).unwrap_or_default();
    let mut mirror = Mirror::new(policy, from, watched);
    if let Some(path) = &arguments.state {
        mirror = mirror.open(path).map_err(|error| Failure::new(&error))?;
    }
    let log = LogClient::new(&url).map_err(Failure::new)?;
    match mirror.update(&log, seconds()).await {
        Ok(audited) => {
            if !arguments.json {
                let size = audited.checkpoint.size;
                say!("valid: {size} entries, {} of them new", audited.new);
            }
            tell_age(audited.cosigned);
        }
        Err(error) => return Err(broken(&error, arguments.evidence.as_deref())),
    }
    if arguments.state.is_none() {
        mention!("warning: without --state the next audit does not notice a fork");
    }
    match mirror.state() {
        Some(state) => report(state, group.as_ref(), arguments.json),
        None => Ok(Status::Yes),
    }
}

/// A log that shows nothing new may hide something: nobody but the witnesses' clocks tells.
fn tell_age(cosigned: Option<WallTime>) {
    let age = cosigned.map(|cosigned| clock::wall_time() - cosigned);
    match age {
        Some(age) if age > FRESH => mention!(
            "warning: last cosigned {} ago: the log may hide newer entries",
            clock::spoken(age)
        ),
        Some(_) => {}
        None => mention!("warning: no --witness: others may be shown another log"),
    }
}

/// Writes down what proves that a log broke a rule.
pub(super) fn broken(error: &AuditError, path: Option<&Path>) -> Failure {
    let failure = Failure::new(error);
    let notes = error.evidence();
    if notes.is_empty() {
        return match error {
            AuditError::Log(error) if is_elsewhere(error) => failure.hint(NO_LOG),
            _ => failure,
        };
    }
    let path = path.unwrap_or(Path::new(EVIDENCE));
    let text: Vec<_> = notes.iter().map(ToString::to_string).collect();
    match keep_evidence(path, text.join("\n").as_bytes()) {
        Ok(path) => failure.hint(format!("show {} to the log's witnesses", path.display())),
        Err(error) => failure.hint(Failure::io(path, &error).message),
    }
    .no()
}

/// Writes evidence, and never over other evidence: the second file of a name gets `.2` behind it.
/// Returns where it is.
///
/// # Errors
/// The system's; [`io::ErrorKind::AlreadyExists`] if 1,000 such files are there.
pub fn keep_evidence(path: &Path, text: &[u8]) -> io::Result<PathBuf> {
    for number in 1..=EVIDENCE_MAX {
        let mut name = path.as_os_str().to_owned();
        if number > 1 {
            name.push(format!(".{number}"));
        }
        let path = PathBuf::from(name);
        if std::fs::read(&path).is_ok_and(|kept| kept == text) {
            return Ok(path);
        }
        match write_atomically(&path, text, MODE_PUBLIC, IfExists::Refuse) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            written => return written.map(|()| path),
        }
    }
    let why = "need a free name for evidence";
    Err(io::Error::new(io::ErrorKind::AlreadyExists, why))
}

/// At which numbers of rows the group file states the register's root.
fn register_sizes(group: &GroupFile) -> Vec<u32> {
    group.checkpoints().iter().map(|own| own.machines).collect()
}

/// Says what the log has, and compares it with the group file.
fn report(state: &LogState, group: Option<&GroupFile>, json: bool) -> Result<Status, Failure> {
    if let Some(group) = group {
        compare(state, group)?;
    }
    let (rows, epochs) = (state.rows(), state.epochs().len());
    let requests = state.requests().count();
    let now = clock::wall_time();
    let overdue = state
        .requests()
        .filter(|(_, own)| own.is_overdue(now))
        .count();
    if json {
        let line = json!({
            "entries": state.size(), "machines": rows, "epochs": epochs,
            "requests": requests, "overdue": overdue, "group": group.is_some(),
        });
        say!("{line}");
        return lag(state, group);
    }
    say!("  machines  {rows}");
    say!("  epochs    {epochs}");
    say!("  requests  {requests}, {overdue} overdue to be unsealed");
    match group {
        Some(_) => say!("  group     the group file says the same"),
        None => say!("  group     not compared: no --group"),
    }
    lag(state, group)
}

/// Whether log and group file are of one moment. If not, nothing is proved, and nothing is settled.
fn lag(state: &LogState, group: Option<&GroupFile>) -> Result<Status, Failure> {
    let Some(group) = group else {
        return Ok(Status::Yes);
    };
    let log = (state.rows(), state.epochs().len());
    let file = (group.register().machines, group.newest_epoch() as usize);
    let said = |(rows, epochs): (u32, usize)| format!("{rows} machines and {epochs} epochs");
    if log.0 < file.0 || log.1 < file.1 {
        let (log, file) = (said(log), said(file));
        let why = format!("the log lags: it has {log}, and the group file {file}");
        return Err(Failure::new(why).hint("run clew manager serve, which writes what is missing"));
    }
    if log.1 > file.1 {
        let (log, file) = (said(log), said(file));
        let why = format!("the group file lags: it has {file}, and the log {log}");
        return Err(Failure::new(why).hint("get the newest group file: its feed may be withheld"));
    }
    Ok(Status::Yes)
}

/// Two histories of a group: the log's, and that of the file.
pub(super) fn compare(state: &LogState, group: &GroupFile) -> Result<(), Failure> {
    let no = |what: String| {
        let why =
            format!("{what}: the manager shows two histories, or the file is another group's");
        Failure::new(why)
            .hint("compare the file's epoch ids with those of other machines")
            .no()
    };
    if *state.founder() != founder(group)? {
        return Err(no("the log is another group's".to_owned()));
    }
    for (epoch, id) in (1..).zip(state.epochs()) {
        if group.epoch_id(epoch).is_some_and(|own| own.0 != *id) {
            return Err(no(format!("epoch {epoch} has another id in the log")));
        }
    }
    for own in group.checkpoints() {
        let root = state.register_root(own.machines);
        if root.is_some_and(|root| root != own.root) {
            let what = format!("the first {} machines are others in the log", own.machines);
            return Err(no(what));
        }
    }
    Ok(())
}

/// Whether the proof is wrong. If witnesses are missing, or cosigned long ago, nobody can tell.
pub(super) fn is_no(error: ProofError) -> bool {
    !matches!(error, ProofError::Witnesses { .. })
}

fn verify_proof(path: &Path, believed: &Believed, json: bool) -> Result<Status, Failure> {
    let text = secrets::read_text(path)?;
    let proof = Proof::parse(&text);
    let proof = proof.ok_or_else(|| Failure::file(path, "not a proof of a log's entry"))?;
    let policy = policy(believed, log_key(believed)?)?;
    let logged = check(&proof, &policy, seconds()).map_err(|error| {
        let failure = Failure::file(path, &error);
        match error {
            LogClientError::Proof(error) if is_no(error) => failure.no(),
            _ => failure,
        }
    })?;
    let size = Checkpoint::parse(proof.checkpoint.text()).map_or(0, |own| own.size);
    let (kind, at) = (
        logged.entry.body.name(),
        clock::to_the_second(logged.logged.as_nanos()),
    );
    if json {
        let author = clew_wire::Hex(&logged.entry.author).to_string();
        let line = json!({
            "place": proof.index, "kind": kind, "logged": logged.logged.as_nanos(),
            "author": author, "size": size,
        });
        say!("{line}");
    } else {
        say!("valid: entry {} of {size}: {kind}, added {at}", proof.index);
    }
    Ok(Status::Yes)
}

pub async fn count(arguments: &LogCount) -> Result<Status, Failure> {
    let mut group = arguments
        .group
        .as_deref()
        .map(read_group_file)
        .transpose()?;
    let state = match Source::of(&arguments.source)? {
        Source::Dir(dir) => {
            let own = group_file_of(&dir);
            if group.is_none() && own.exists() {
                group = Some(read_group_file(&own)?);
            }
            read_state(&dir)?
        }
        Source::Url(url) => {
            let key = named_key(
                &arguments.believed,
                group.as_ref(),
                arguments.group.as_deref(),
            )?;
            let policy = policy(&arguments.believed, key)?;
            let from = group.as_ref().map(founder).transpose()?;
            let mut mirror = Mirror::new(policy, from, Vec::new());
            let log = LogClient::new(&url).map_err(Failure::new)?;
            let read = mirror.update(&log, seconds()).await;
            read.map_err(|error| broken(&error, None))?;
            let empty = || Failure::new("the log has no entries yet");
            mirror.state().cloned().ok_or_else(empty)?
        }
    };
    if let Some(group) = &group {
        compare(&state, group)?;
    }
    let quorum = group.as_ref().map_or(1, smallest_quorum);
    let counts = Counts::of(&state, quorum, clock::wall_time(), month);
    match arguments.json {
        true => say_json(&counts),
        false => say(&counts, group.is_some()),
    }
    Ok(Status::Yes)
}

/// The month of a time, as 2026-11.
fn month(time: WallTime) -> String {
    let mut month = clock::rfc3339(time.as_nanos());
    month.truncate(MONTH);
    month
}

/// The smallest quorum that the group ever had: no opening is left out.
pub fn smallest_quorum(group: &GroupFile) -> u8 {
    let epochs = 0..=group.newest_epoch();
    let records = epochs.filter_map(|epoch| group.sharing_record(epoch));
    let thresholds = records.map(|(_, sharing)| sharing.quorum.threshold());
    thresholds.min().unwrap_or(1)
}

fn say(counts: &Counts<String>, knows_quorum: bool) {
    say!("requests  {}, {} sealed", counts.requests, counts.sealed);
    for (month, own) in &counts.months {
        say!(
            "{month}   {} openings, {} matches, {} signatures",
            own.openings,
            own.matches,
            own.signatures
        );
    }
    for place in &counts.overdue {
        say!("overdue   request {place} had to be unsealed");
    }
    if !knows_quorum {
        mention!("warning: without --group every request with one yes counts");
    }
}

fn say_json(counts: &Counts<String>) {
    let months: Vec<_> = counts
        .months
        .iter()
        .map(|(month, own)| {
            json!({
                "month": month, "openings": own.openings, "matches": own.matches,
                "signatures": own.signatures,
            })
        })
        .collect();
    let line = json!({
        "threshold": counts.threshold, "requests": counts.requests, "sealed": counts.sealed,
        "overdue": counts.overdue, "months": months,
    });
    say!("{line}");
}

/// Where a log is read.
enum Source {
    Url(ServiceUrl),
    Dir(PathBuf),
}

impl Source {
    fn of(text: &str) -> Result<Self, Failure> {
        if text.contains("://") {
            let url = text.parse();
            return url
                .map(Self::Url)
                .map_err(|error| Failure::new(format!("{text}: {error}")));
        }
        Ok(Self::Dir(text.into()))
    }
}

pub(super) fn log_key(believed: &Believed) -> Result<VerifierKey, Failure> {
    let missing = || {
        Failure::new("need the log's key")
            .hint("use --log with the key that clew log create printed")
    };
    believed.log.clone().ok_or_else(missing)
}

/// The log's key, which the group file names if there is one. With another group's file an honest log
/// would seem to break a rule.
fn named_key(
    believed: &Believed,
    group: Option<&GroupFile>,
    path: Option<&Path>,
) -> Result<VerifierKey, Failure> {
    let key = log_key(believed)?;
    let (Some(group), Some(path)) = (group, path) else {
        return Ok(key);
    };
    if group.logs().any(|log| *log.key() == key) {
        return Ok(key);
    }
    let name = &group.genesis().name;
    let why = format!("group {name} does not name the log of --log");
    Err(Failure::file(path, why).hint("use the group file of the log's own group"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn evidence_is_never_written_over() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("fork");
        let kept = |text: &[u8]| keep_evidence(&path, text).unwrap();
        assert_eq!(kept(b"one"), path);
        let second = kept(b"two");
        assert!(second.ends_with("fork.2"), "{}", second.display());
        assert_eq!((kept(b"one"), kept(b"two")), (path.clone(), second));
        assert_eq!(std::fs::read(&path).unwrap(), b"one");
    }

    #[test]
    fn missing_witnesses_are_not_a_no() {
        assert!(!is_no(ProofError::Witnesses { have: 0, need: 1 }));
        assert!(is_no(ProofError::Inclusion) && is_no(ProofError::Origin));
    }
}
