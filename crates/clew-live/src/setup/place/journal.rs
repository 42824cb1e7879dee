//! The journal of what is to be undone: a line for each step.

use super::FILE_MAX;
use crate::files;
use crate::setup::Action;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// A journal that lines are added to.
pub(super) struct Journal {
    file: File,
    text: String,
}

impl Journal {
    /// Opens it. The disk may have been full in the middle of its last line: nothing is added to such a line.
    pub fn open(path: &Path) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        let file = options.append(true).create(true).mode(0o600).open(path)?;
        let mut text = files::read(path, FILE_MAX)?;
        let whole = text.rfind('\n').map_or(0, |end| end + 1);
        if whole < text.len() {
            text.truncate(whole);
            file.set_len(whole as u64)?;
        }
        Ok(Self { file, text })
    }

    /// Adds an action, unless it is there: a step that fails is tried again every second.
    pub fn add(&mut self, action: &Action) -> io::Result<()> {
        let line = serde_json::to_string(action)? + "\n";
        if self.text.split_inclusive('\n').any(|known| known == line) {
            return Ok(());
        }
        self.file.write_all(line.as_bytes())?;
        self.file.sync_all()?;
        self.text.push_str(&line);
        Ok(())
    }
}

/// The lines of a file, with their numbers. A last one without its end was never followed by its step.
pub(super) fn whole_lines(text: &str) -> impl DoubleEndedIterator<Item = (usize, &str)> {
    let whole: Vec<&str> = text.split_inclusive('\n').collect();
    let whole = whole.into_iter().enumerate();
    whole.filter_map(|(at, line)| Some((at + 1, line.strip_suffix('\n')?)))
}
