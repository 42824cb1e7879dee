//! What a trustee keeps between the steps of a match: a file beside its key that serves once.
//!
//! A file is removed, and its removal synced, before what it leads to leaves: with one state used
//! twice, whoever chose the other blinds could turn a match into an opening
//! (`spec/group-signature.md` 5.4).

use crate::TrusteeError;
use clew_evidence::{TextError, armor};
use clew_keys::files::{self, MODE_SECRET};
use clew_wire::Hex;
use std::io;
use std::path::{Path, PathBuf};
use zeroize::Zeroizing;

const LABEL: &str = "clew-match-state-1";
const COMMENT: &str =
    "clew state of a match under way. SECRET; it serves once and goes away by itself.";

/// Which step of a match was given last.
#[derive(Clone, Copy)]
pub enum Stage {
    /// The commitment: the state is a blinding.
    Committed = 1,
    /// The blind: the state is what is left of the blinding.
    Revealed = 2,
}

/// The state file of one match.
pub struct MatchState(PathBuf);

impl MatchState {
    /// That of the session with this id, by the stem of the trustee's files.
    pub fn of(stem: &Path, session: &[u8; 32]) -> Self {
        Self(stem.with_extension(format!("match-{}", Hex(&session[..8]))))
    }

    /// Writes it, in the place of one that an abandoned match left.
    pub fn put(&self, stage: Stage, state: &[u8]) -> Result<(), TrusteeError> {
        let payload = Zeroizing::new([&[stage as u8], state].concat());
        let text = armor::encode(COMMENT, LABEL, &payload);
        files::write_atomically(
            &self.0,
            text.as_bytes(),
            MODE_SECRET,
            files::IfExists::Replace,
        )
        .map_err(|error| self.refused(error))
    }

    /// Reads it, and removes it for good. [`TrusteeError::NotUnderWay`] if there is none, or one of
    /// another stage, which stays.
    pub fn take(&self, stage: Stage) -> Result<Zeroizing<Vec<u8>>, TrusteeError> {
        let text = match std::fs::read_to_string(&self.0) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(TrusteeError::NotUnderWay);
            }
            text => Zeroizing::new(text.map_err(|error| self.refused(error))?),
        };
        let damaged = |error: TextError| io::Error::new(io::ErrorKind::InvalidData, error);
        let payload = armor::decode(&text, LABEL).map_err(|error| self.refused(damaged(error)))?;
        match payload.split_first() {
            Some((found, state)) if *found == stage as u8 => {
                let removed = std::fs::remove_file(&self.0);
                removed
                    .and_then(|()| files::sync_directory(files::directory(&self.0)))
                    .map_err(|error| self.refused(error))?;
                Ok(Zeroizing::new(state.to_vec()))
            }
            _ => Err(TrusteeError::NotUnderWay),
        }
    }

    fn refused(&self, error: io::Error) -> TrusteeError {
        let path = self.0.clone();
        TrusteeError::Io { path, error }
    }
}
