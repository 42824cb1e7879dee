//! The journal of what is to be undone: a line for each step.

use crate::setup::Action;
use std::fs::File;
use std::io::{self, Write};

/// Adds an action to the journal, unless it is there: a step that fails is tried again every second.
pub(super) fn write_line(file: &mut File, journal: &mut String, action: &Action) -> io::Result<()> {
    let line = serde_json::to_string(action)?;
    if whole_lines(journal).any(|(_, known)| known == line) {
        return Ok(());
    }
    // The disk may have been full in the middle of a line.
    let end = match journal.is_empty() || journal.ends_with('\n') {
        true => "",
        false => "\n",
    };
    let added = format!("{end}{line}\n");
    file.write_all(added.as_bytes())?;
    file.sync_all()?;
    journal.push_str(&added);
    Ok(())
}

/// The lines of a file, with their numbers. A last one without its end was never followed by its step.
pub(super) fn whole_lines(text: &str) -> impl DoubleEndedIterator<Item = (usize, &str)> {
    let whole: Vec<&str> = text.split_inclusive('\n').collect();
    let whole = whole.into_iter().enumerate();
    whole.filter_map(|(at, line)| Some((at + 1, line.strip_suffix('\n')?)))
}
