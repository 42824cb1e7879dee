//! The directory of a request: everything that the next steps need.

use super::matter::{Asked, NotAsked};
use crate::clock;
use crate::commands::coverage::Original;
use crate::failure::Failure;
use crate::groups::read_checked;
use crate::secrets;
use clew_evidence::{CheckedGroup, Request, Warrant};
use clew_keys::files::{IfExists, MODE_SECRET, sync_directory, write_atomically};
use clew_log::{Policy, Proof, VerifierKey};
use clew_service::http::ServiceUrl;
use clew_trustee::request::{CASE_BYTES_MAX, CaseFile, CaseMachine};
use serde::{Deserialize, Serialize};
use std::fs::{self, Permissions};
use std::io::Read;
use std::num::NonZeroU64;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

const SETTINGS: &str = "case.json";
const GROUP: &str = "group.clew";
const WARRANT: &str = "warrant.txt";
const PACKETS: &str = "packets";
const MACHINE: &str = "machine";
const PROOF: &str = "request.txt";
/// Trustees that a group can have.
const TRUSTEES_MAX: u8 = 32;
const RESULT: &str = "result.txt";
const EVIDENCE: &str = "evidence.txt";
const NEWEST: &str = "newest.clew";

/// What `clew request file` was told, and the salt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// The manager's address.
    pub manager: String,
    /// The log's address.
    pub log: String,
    /// Keys of witnesses.
    pub witnesses: Vec<String>,
    /// How many of them are needed.
    pub threshold: usize,
    /// Frame number of the packet in the case's own capture.
    pub frame: u32,
    /// The capture that the case's own was copied from. Older directories do not say.
    #[serde(default)]
    pub original: Option<Original>,
    /// Until when the warrant is sealed, nanoseconds since 1970. 0: it is public.
    pub sealed_until: u64,
    /// Salt of the warrant's hash in the log.
    pub salt: [u8; 32],
}

/// A request's directory, read.
pub struct Folder {
    dir: PathBuf,
    /// What it was told.
    pub settings: Settings,
    /// The group, as it was when the request was filed.
    pub group: CheckedGroup,
    /// The warrant's text.
    pub text: String,
    /// The warrant.
    pub warrant: Warrant,
    /// The packet, and the request without its place.
    pub asked: Asked,
    /// Whose log it is, and which witnesses count.
    pub policy: Policy,
}

/// What a new directory is made of.
pub struct New<'a> {
    /// What to remember.
    pub settings: &'a Settings,
    /// The group file.
    pub group: &'a [u8],
    /// The warrant.
    pub warrant: &'a str,
    /// The capture.
    pub packets: &'a [u8],
    /// The machine of a match.
    pub machine: Option<&'a CaseMachine>,
}

impl New<'_> {
    /// Makes the directory, whole or not at all.
    pub fn create(&self, dir: &Path) -> Result<(), Failure> {
        let failed = |error| Failure::io(dir, &error);
        let above = match dir.parent() {
            Some(above) if above != Path::new("") => above,
            _ => Path::new("."),
        };
        // Removed if it gets no name.
        let made = tempfile::Builder::new()
            .prefix(".clew-case-")
            .permissions(Permissions::from_mode(0o700))
            .tempdir_in(above);
        let made = made.map_err(failed)?;
        let settings = serde_json::to_vec_pretty(self.settings).map_err(Failure::new)?;
        let mut files = vec![
            (SETTINGS, settings.as_slice()),
            (GROUP, self.group),
            (WARRANT, self.warrant.as_bytes()),
            (PACKETS, self.packets),
        ];
        let machine = self.machine.map(CaseMachine::to_bytes);
        files.extend(machine.as_deref().map(|machine| (MACHINE, machine)));
        for (name, bytes) in files {
            put(&made.path().join(name), bytes)?;
        }
        match fs::rename(made.path(), dir) {
            // Another run made it meanwhile.
            Err(_) if dir.join(SETTINGS).exists() => return Ok(()),
            renamed => renamed.map_err(failed)?,
        }
        let _ = made.keep();
        sync_directory(above).map_err(failed)
    }
}

impl Folder {
    /// Reads a request's directory, and checks packet, warrant and group again.
    ///
    /// # Errors
    /// It is not one, or a file was changed.
    pub fn open(dir: &Path) -> Result<Self, Failure> {
        let path = dir.join(SETTINGS);
        let settings = fs::read(&path).map_err(|error| {
            Failure::io(&path, &error).hint("use a directory that clew request file made")
        })?;
        let settings: Settings = serde_json::from_slice(&settings)
            .map_err(|error| Failure::file(&path, format!("not a request's: {error}")))?;
        let group = read_checked(&dir.join(GROUP))?;
        let path = dir.join(WARRANT);
        let text = secrets::read_text(&path)?.to_string();
        let warrant = Warrant::decode(&text).map_err(|error| Failure::file(&path, error))?;
        let machine = machine(&dir.join(MACHINE))?;
        let capture = dir.join(PACKETS);
        let frame = settings.frame.into();
        let asked = Asked::new(&group, &text, &capture, frame, machine);
        let asked = asked.map_err(|error| match error {
            NotAsked::Packet(failure) => failure,
            NotAsked::Warrant(error) => Failure::file(&path, error),
            NotAsked::NoMatches => Failure::file(&path, "bbs04 groups do not support matches"),
        })?;
        Ok(Self {
            policy: policy(&settings, &group)?,
            dir: dir.to_owned(),
            settings,
            group,
            text,
            warrant,
            asked,
        })
    }

    /// Takes other settings, and keeps them. Returns whether they differ.
    ///
    /// # Errors
    /// A witness's key is not one, or the file cannot be written.
    pub fn change(&mut self, settings: Settings) -> Result<bool, Failure> {
        if settings == self.settings {
            return Ok(false);
        }
        let policy = policy(&settings, &self.group)?;
        let text = serde_json::to_vec_pretty(&settings).map_err(Failure::new)?;
        put(&self.dir.join(SETTINGS), &text)?;
        (self.settings, self.policy) = (settings, policy);
        Ok(true)
    }

    /// Names the request on the board: its id without its place.
    pub fn topic(&self) -> [u8; 32] {
        self.asked.request.logged_id()
    }

    /// The manager's address.
    pub fn manager(&self) -> Result<ServiceUrl, Failure> {
        self.settings.manager.parse().map_err(Failure::new)
    }

    /// The log's address.
    pub fn log(&self) -> Result<ServiceUrl, Failure> {
        self.settings.log.parse().map_err(Failure::new)
    }

    /// The case's own capture.
    pub fn capture(&self) -> PathBuf {
        self.dir.join(PACKETS)
    }

    /// The log's proof of the request, once it is filed.
    pub fn proof(&self) -> Result<Option<Proof>, Failure> {
        let path = self.dir.join(PROOF);
        match path.exists() {
            true => super::super::shown::proof(&path).map(Some),
            false => Ok(None),
        }
    }

    /// Keeps the log's proof of the request.
    pub fn put_proof(&self, proof: &Proof) -> Result<(), Failure> {
        put(&self.dir.join(PROOF), proof.to_string().as_bytes())
    }

    /// Keeps the log's proof of a trustee's yes.
    pub fn put_decision(&self, trustee: u8, proof: &Proof) -> Result<(), Failure> {
        put(
            &self.dir.join(decision(trustee)),
            proof.to_string().as_bytes(),
        )
    }

    /// The log's proofs of trustees' yes that were kept.
    pub fn decisions(&self) -> Result<Vec<Proof>, Failure> {
        let paths = (1..=TRUSTEES_MAX).map(|trustee| self.dir.join(decision(trustee)));
        let kept = paths.filter(|path| path.exists());
        kept.map(|path| super::super::shown::proof(&path)).collect()
    }

    /// Whether the log has the hash of the evidence, and the board its proof.
    pub fn is_delivered(&self) -> bool {
        self.dir.join(RESULT).exists()
    }

    /// Keeps the log's proof of the result, once the board has it.
    pub fn put_delivered(&self, proof: &Proof) -> Result<(), Failure> {
        put(&self.dir.join(RESULT), proof.to_string().as_bytes())
    }

    /// The evidence of an earlier fetch.
    pub fn evidence(&self) -> Result<Option<String>, Failure> {
        let path = self.dir.join(EVIDENCE);
        match path.exists() {
            true => secrets::read_text(&path).map(|text| Some(text.to_string())),
            false => Ok(None),
        }
    }

    /// Keeps the evidence.
    pub fn put_evidence(&self, text: &str) -> Result<(), Failure> {
        put(&self.dir.join(EVIDENCE), text.as_bytes())
    }

    /// The group as it was when evidence was made, else when the request was filed.
    pub fn newest_group(&self) -> Result<CheckedGroup, Failure> {
        let path = self.dir.join(NEWEST);
        match path.exists() {
            true => read_checked(&path),
            false => Ok(self.group.clone()),
        }
    }

    /// Keeps the group file under which the evidence holds.
    pub fn put_group(&self, path: &Path) -> Result<(), Failure> {
        let bytes = fs::read(path).map_err(|error| Failure::io(path, &error))?;
        self.put_group_bytes(&bytes)
    }

    /// The same of its bytes.
    pub fn put_group_bytes(&self, bytes: &[u8]) -> Result<(), Failure> {
        put(&self.dir.join(NEWEST), bytes)
    }

    /// The request with its place in the log.
    ///
    /// # Errors
    /// It was not filed yet.
    pub fn placed(&self) -> Result<(Request, Proof), Failure> {
        let proof = self.proof()?;
        let place = proof
            .as_ref()
            .and_then(|proof| NonZeroU64::new(proof.index));
        let (proof, place) = proof.zip(place).ok_or_else(|| {
            Failure::file(&self.dir, "the log does not have the request yet")
                .hint("run clew request file again")
        })?;
        Ok((self.asked.request.clone().at_place(place), proof))
    }

    /// The packet's number in the capture that the case's own was copied from; 0 if it is not known.
    fn original_frame(&self) -> u32 {
        let original = self.settings.original.as_ref();
        let frame = original.and_then(|original| original.frame(self.settings.frame.into()));
        frame
            .and_then(|frame| u32::try_from(frame).ok())
            .unwrap_or(0)
    }

    /// What trustees are shown.
    pub fn case(&self, place: NonZeroU64) -> Result<CaseFile, Failure> {
        let path = self.capture();
        Ok(CaseFile {
            place,
            frame: self.settings.frame,
            original: self.original_frame(),
            salt: self.settings.salt,
            warrant: self.text.clone(),
            machine: self.asked.machine.clone(),
            capture: fs::read(&path).map_err(|error| Failure::io(&path, &error))?,
        })
    }
}

/// The policy by which the log's proofs are read: any age, because a request may take months.
fn policy(settings: &Settings, group: &CheckedGroup) -> Result<Policy, Failure> {
    let log = group.log_at(group.epoch_at(clock::wall_time()));
    let log = log.ok_or_else(|| {
        Failure::new("the group has no log, which trustees over the network need")
            .hint("ask each trustee for a file: clew help share")
    })?;
    let keys = settings.witnesses.iter().map(|key| key.parse());
    let witnesses: Result<Vec<VerifierKey>, _> = keys.collect();
    Ok(Policy {
        log: log.key().clone(),
        witnesses: witnesses.map_err(Failure::new)?,
        threshold: settings.threshold,
        max_age: None,
    })
}

fn machine(path: &Path) -> Result<Option<CaseMachine>, Failure> {
    let mut bytes = Vec::new();
    let failed = |error| Failure::io(path, &error);
    match fs::File::open(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        file => {
            let file = file.map_err(failed)?.take(CASE_BYTES_MAX as u64);
            let mut file = file;
            file.read_to_end(&mut bytes).map_err(failed)?;
        }
    }
    let read = CaseMachine::from_bytes(&bytes);
    read.map(Some)
        .ok_or_else(|| Failure::file(path, "not the machine of a match"))
}

fn put(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    write_atomically(path, bytes, MODE_SECRET, IfExists::Replace)
        .map_err(|error| Failure::io(path, &error))
}

/// The name of the file with a trustee's decision: as in bundles.
fn decision(trustee: u8) -> String {
    format!("decision-{trustee}.txt")
}
