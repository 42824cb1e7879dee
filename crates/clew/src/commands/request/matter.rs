//! What a request is about, read again from files: requester and trustees both make the request
//! themselves, and so name the same one.

use crate::commands::evidence::Evidence;
use crate::failure::Failure;
use clew_evidence::{CheckedGroup, Request, Warrant, WarrantError};
use clew_trustee::request::CaseMachine;
use sha2::{Digest, Sha256};
use std::path::Path;

/// A packet under a warrant.
pub struct Asked {
    /// The packet, verified.
    pub evidence: Evidence,
    /// The request, without its place in the log.
    pub request: Request,
    /// In a match: the machine.
    pub machine: Option<CaseMachine>,
}

/// Why there is no request.
pub enum NotAsked {
    /// The warrant is not one.
    Warrant(WarrantError),
    /// The capture does not have the packet, or it is not valid.
    Packet(Failure),
    /// The group's scheme has no matches.
    NoMatches,
}

impl Asked {
    /// Makes the request about packet `frame` of a capture under a warrant.
    ///
    /// # Errors
    /// [`NotAsked`].
    pub fn new(
        group: &CheckedGroup,
        warrant: &str,
        capture: &Path,
        frame: u64,
        machine: Option<CaseMachine>,
    ) -> Result<Self, NotAsked> {
        let read = Warrant::decode(warrant).map_err(NotAsked::Warrant)?;
        let evidence = Evidence::verified(capture, frame, group).map_err(NotAsked::Packet)?;
        let question = read.draft().scope.question;
        let hash = Sha256::digest(warrant).into();
        let request = Request::new(group, question, &evidence.packet(), Some(hash));
        let request = request.ok_or(NotAsked::NoMatches)?;
        Ok(Self {
            evidence,
            request,
            machine,
        })
    }
}
