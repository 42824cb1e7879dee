//! Settings of the kernel that more than one daemon needs: the last one that goes down puts them back.

use super::{FILE_MAX, Place, whole_lines};
use crate::files;
use crate::setup::{Action, kept};
use nix::fcntl::{Flock, FlockArg};
use std::fs::File;
use std::path::PathBuf;

impl Place {
    /// Returns settings of the kernel that other daemons of this network namespace put back when they go
    /// down, with what they write then.
    pub(in crate::setup) fn written_by_others(&self) -> Vec<(PathBuf, String)> {
        let Some(folder) = self.folder.parent() else {
            return Vec::new();
        };
        let namespace = |place: &Self| place.kept().and_then(|kept| kept.namespace);
        let own = kept::namespace();
        let places = Self::names_in(folder).into_iter();
        let others = places.filter(|name| *name != self.name);
        let others = others.map(|name| Self::within(folder, &name));
        let others = others.filter(|place| namespace(place) == own);
        others.flat_map(|place| place.writes()).collect()
    }

    /// What the undo of this place writes.
    fn writes(&self) -> Vec<(PathBuf, String)> {
        let text = files::read(&self.undo_file(), FILE_MAX).unwrap_or_default();
        let actions = whole_lines(&text).filter_map(|(_, line)| serde_json::from_str(line).ok());
        let written = actions.filter_map(|action| match action {
            Action::Write { path, text } => Some((path, text)),
            Action::Run { .. } | Action::Queue { .. } => None,
        });
        written.collect()
    }

    /// Waits until no other process undoes: of two that undo at once each would leave shared settings to the
    /// other one. `None` if the system has no such locks.
    pub(super) fn turn(&self) -> Option<Flock<File>> {
        let folder = File::open(self.folder.parent()?).ok()?;
        Flock::lock(folder, FlockArg::LockExclusive).ok()
    }
}
