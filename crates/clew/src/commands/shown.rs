//! What a trustee is shown beside the packet: its policy, the warrant, the log's proofs.

use super::share::hash_of;
use crate::cli::Share as Arguments;
use crate::failure::Failure;
use crate::secrets;
use clew_evidence::Request;
use clew_log::{AddCheckpoint, Proof};
use clew_trustee::approval::{Shown, ShownLog};
use clew_trustee::policy::{POLICY_BYTES_MAX, Policy};
use sha2::{Digest, Sha256};
use std::fs::File;
use std::io::Read;
use std::num::NonZeroU64;
use std::path::Path;
use zeroize::Zeroizing;

/// Longest proof that is read, in bytes: an entry in base64, a note, and hashes.
const PROOF_BYTES_MAX: u64 = 1 << 18;

/// The files that a trustee is given, read once.
pub struct Files {
    policy: Option<Policy>,
    warrant: Option<Zeroizing<String>>,
    warrant_hash: Option<[u8; 32]>,
    proof: Option<Proof>,
    decision: Option<Proof>,
    consistency: Vec<AddCheckpoint>,
    salt: Option<[u8; 32]>,
}

impl Files {
    /// Reads them.
    ///
    /// # Errors
    /// One cannot be read, or has another form.
    pub fn read(arguments: &Arguments) -> Result<Self, Failure> {
        let policy = arguments.policy.as_deref().map(policy).transpose()?;
        let path = arguments.warrant.as_deref();
        // With a policy the bytes that are hashed are those that are judged.
        let warrant = match (&policy, path) {
            (Some(_), Some(path)) => Some(secrets::read_text(path)?),
            _ => None,
        };
        let warrant_hash = match &warrant {
            Some(text) => Some(Sha256::digest(&**text).into()),
            None => path.map(hash_of).transpose()?,
        };
        let consistency = arguments.consistency.iter().map(|path| consistency(path));
        Ok(Self {
            policy,
            warrant,
            warrant_hash,
            proof: arguments.proof.as_deref().map(proof).transpose()?,
            decision: arguments.decision.as_deref().map(proof).transpose()?,
            consistency: consistency.collect::<Result<_, _>>()?,
            salt: arguments.salt.as_ref().map(|salt| salt.0),
        })
    }

    /// SHA-256 of the warrant's file.
    pub fn warrant_hash(&self) -> Option<[u8; 32]> {
        self.warrant_hash
    }

    /// The request with its place in the log, if the log's proof was given.
    pub fn place(&self, request: Request) -> Request {
        let place = self.proof.as_ref().map(|proof| proof.index);
        match place.and_then(NonZeroU64::new) {
            Some(place) => request.at_place(place),
            None => request,
        }
    }

    /// What the rules look at.
    pub fn shown(&self) -> Shown<'_> {
        Shown {
            policy: self.policy.as_ref(),
            warrant: self.warrant.as_ref().map(|text| text.as_str()),
            log: self.proof.as_ref().map(|request| ShownLog {
                request,
                salt: self.salt,
                decision: self.decision.as_ref(),
                consistency: &self.consistency,
            }),
        }
    }
}

fn policy(path: &Path) -> Result<Policy, Failure> {
    let text = bounded(path, POLICY_BYTES_MAX as u64)?;
    Policy::parse(&text).map_err(|error| Failure::file(path, error))
}

/// Reads a log's proof of an entry.
pub fn proof(path: &Path) -> Result<Proof, Failure> {
    let proof = Proof::parse(&bounded(path, PROOF_BYTES_MAX)?);
    proof.ok_or_else(|| {
        Failure::file(path, "not a proof of a log").hint("use a file of clew log prove")
    })
}

fn consistency(path: &Path) -> Result<AddCheckpoint, Failure> {
    let read = AddCheckpoint::parse(&bounded(path, PROOF_BYTES_MAX)?);
    read.map_err(|_| Failure::file(path, "not a consistency proof with its checkpoint"))
}

fn bounded(path: &Path, most: u64) -> Result<String, Failure> {
    let failed = |error| Failure::io(path, &error);
    let mut text = String::new();
    let file = File::open(path).map_err(failed)?;
    let length = file.take(most + 1).read_to_string(&mut text);
    match length.map_err(failed)? as u64 > most {
        true => Err(Failure::file(path, format!("longer than {most} bytes"))),
        false => Ok(text),
    }
}
