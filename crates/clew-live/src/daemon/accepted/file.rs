//! The file itself: which format it has, and what is read of it.

use crate::files;
use clew_packet::{AcceptedSeconds, GroupTag, Interval, SECOND_NS, Timestamp};
use serde::{Deserialize, Serialize};
use std::io::{self, ErrorKind};
use std::path::Path;

/// The format of the file.
const VERSION: u32 = 2;

/// Version 1 is a timestamp up to which packets of all groups may have been accepted. A receiver whose clock is
/// right accepts nothing that is further ahead of it, in seconds: 30 s, and what was kept besides.
const OLD_AHEAD_MAX: u64 = 32;

/// Longest file, in bytes: as many intervals and groups as there can be.
const FILE_MAX: u64 = 8 << 20;

/// The file, as JSON.
#[derive(Debug, Serialize, Deserialize)]
struct Kept {
    version: u32,
    /// Seconds of every group: the first one and the last one of each interval.
    all: Vec<Interval>,
    /// Groups, and their seconds.
    groups: Vec<([u8; 8], Vec<Interval>)>,
}

pub(super) fn to_json(seconds: &AcceptedSeconds) -> String {
    let mut kept = Kept {
        version: VERSION,
        all: Vec::new(),
        groups: Vec::new(),
    };
    for (group, intervals) in seconds.iter() {
        match group {
            Some(group) => kept.groups.push((group.0, intervals.to_vec())),
            None => kept.all = intervals.to_vec(),
        }
    }
    serde_json::to_string(&kept).unwrap_or_default()
}

/// Reads what data planes before this one left: nothing, if there is no file.
///
/// # Errors
/// The system's, or it is no such file.
pub(super) fn read(path: &Path, now: Timestamp) -> io::Result<AcceptedSeconds> {
    let text = match files::read(path, FILE_MAX) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(AcceptedSeconds::default()),
        read => read?,
    };
    of_text(&text, now).ok_or_else(|| ErrorKind::InvalidData.into())
}

/// All intervals count, however far ahead they reach. A clock that was a day ahead leaves such ones: without
/// them, copies of what came then would count again a day later. Who has broken into a data plane can write
/// the same, and have everything refused. Nothing tells the two apart, so `clew status` names the file, and
/// an administrator decides ([`Shared::refused`](super::Shared::refused)).
fn of_text(text: &str, now: Timestamp) -> Option<AcceptedSeconds> {
    let mut seconds = AcceptedSeconds::default();
    if let Ok(nanos) = text.trim_end().parse::<u64>() {
        let until = (nanos / SECOND_NS).min(now.0 / SECOND_NS + OLD_AHEAD_MAX);
        seconds.insert_interval(None, (0, until), now);
        return Some(seconds);
    }
    let kept: Kept = serde_json::from_str(text).ok()?;
    let groups = kept.groups.into_iter();
    let groups = groups.map(|(tag, intervals)| (Some(GroupTag(tag)), intervals));
    for (group, intervals) in groups.chain([(None, kept.all)]) {
        for interval in intervals {
            seconds.insert_interval(group, interval, now);
        }
    }
    (kept.version == VERSION).then_some(seconds)
}
