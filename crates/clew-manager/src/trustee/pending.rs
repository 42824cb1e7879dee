//! What a trustee keeps between the steps of a match: a file beside its key that serves once.
//!
//! A file is removed, and its removal synced, before what it leads to leaves: with one state used
//! twice, whoever chose the other blinds could turn a match into an opening
//! (`spec/group-signature.md` 5.4).

use clew_evidence::TextError;
use clew_evidence::armor;
use clew_keys::files::{self, MODE_SECRET};
use std::io;
use std::path::{Path, PathBuf};
use zeroize::Zeroizing;

const LABEL: &str = "clew-match-state-1";
const COMMENT: &str =
    "clew state of a match under way. SECRET; it serves once and goes away by itself.";

/// The state file of one match.
pub(super) struct Pending(PathBuf);

impl Pending {
    /// That of the session with this id, by the stem of the trustee's files.
    pub fn of(stem: &Path, session: &[u8; 32]) -> Self {
        let name: String = session[..8].iter().map(|b| format!("{b:02x}")).collect();
        Self(stem.with_extension(format!("match-{name}")))
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Writes it, in the place of one that an abandoned match left.
    pub fn put(&self, step: u8, state: &[u8]) -> io::Result<()> {
        let payload = Zeroizing::new([&[step], state].concat());
        let text = armor::encode(COMMENT, LABEL, &payload);
        files::write_atomically(&self.0, text.as_bytes(), MODE_SECRET, true)
    }

    /// Reads it, and removes it for good; nothing if there is none, or one of another step.
    pub fn take(&self, step: u8) -> io::Result<Option<Zeroizing<Vec<u8>>>> {
        let text = match std::fs::read_to_string(&self.0) {
            Ok(text) => Zeroizing::new(text),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let damaged = |error: TextError| io::Error::new(io::ErrorKind::InvalidData, error);
        let payload = armor::decode(&text, LABEL).map_err(damaged)?;
        match payload.split_first() {
            Some((found, state)) if *found == step => {
                std::fs::remove_file(&self.0)?;
                files::sync_directory(files::directory(&self.0))?;
                Ok(Some(Zeroizing::new(state.to_vec())))
            }
            _ => Ok(None),
        }
    }
}
