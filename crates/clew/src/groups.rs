//! Group files that commands are given.

use crate::failure::Failure;
use crate::random;
use clew_capture::is_capture;
use clew_engine::Keyring;
use clew_evidence::{CheckedGroup, GroupFile, GroupFileError, GroupFileReader, Rule, armor};
use clew_manager::GROUP_FILE;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// Largest group file that is read: 2^20 epochs.
/// Most bytes of a group file that are read.
pub const GROUP_FILE_BYTES_MAX: u64 = 1 << 30;

/// What a file is not that has no header of one.
const NOT_A_GROUP_FILE: &str = "not a group file";

/// What helps then.
const USE_PUBLIC: &str = "use the group's public/group.clew";

/// Bytes of a group file that are read at once.
const PIECE_BYTES: usize = 1 << 16;

/// Reads group files, for a verifier.
///
/// # Errors
/// One cannot be read, or breaks a rule; two show two histories of one group.
pub fn read_keyring(paths: &[impl AsRef<Path>]) -> Result<Keyring, Failure> {
    let mut keyring = Keyring::default();
    for path in paths.iter().map(AsRef::as_ref) {
        let added = keyring.add(read_group_file(path)?);
        added.map_err(|error| {
            Failure::file(path, error).hint("compare the ids with those of other machines")
        })?;
    }
    Ok(keyring)
}

/// Reads and checks one group file, no further than its first bad part.
pub fn read_group_file(path: &Path) -> Result<GroupFile, Failure> {
    let mut file = File::open(path)
        .map_err(|e| unread(path, &e))?
        .take(GROUP_FILE_BYTES_MAX);
    let (mut reader, mut piece) = (GroupFileReader::default(), vec![0; PIECE_BYTES]);
    loop {
        match file.read(&mut piece) {
            Ok(0) => break,
            Ok(read) => reader
                .push(&piece[..read])
                .map_err(|e| undecoded(path, &piece[..read], &e))?,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(unread(path, &error)),
        }
    }
    reader.finish().map_err(|error| {
        if error.rule == Rule::Header {
            return Failure::file(path, format!("{NOT_A_GROUP_FILE}: it is empty"))
                .hint(USE_PUBLIC);
        }
        let failure = Failure::file(path, error);
        match error.rule {
            Rule::Truncated => failure.hint("the file is not whole: copy it again"),
            _ => failure,
        }
    })
}

/// The failure to decode a piece of a group file: if it is another file, which one is wanted.
fn undecoded(path: &Path, piece: &[u8], error: &GroupFileError) -> Failure {
    if error.rule != Rule::Header {
        return Failure::binary(path, piece, error);
    }
    let failure = Failure::binary(path, piece, NOT_A_GROUP_FILE);
    if failure.hint.is_some() {
        return failure;
    }
    let label = std::str::from_utf8(piece).ok();
    let label = label.and_then(|text| armor::label(text).ok());
    let found = match label {
        Some(label) => format!("this is a {label}: "),
        None if is_capture(piece) => "this is a capture: ".to_owned(),
        None => String::new(),
    };
    failure.hint(format!("{found}{USE_PUBLIC}"))
}

/// The failure to read a group file. In a group's directory it has another name.
fn unread(path: &Path, error: &io::Error) -> Failure {
    let (failure, within) = (Failure::io(path, error), path.join(GROUP_FILE));
    match within.is_file() {
        true => failure.hint(format!("use {}", within.display())),
        false => failure,
    }
}

/// Reads one group file with its whole chain of epochs checked, as those need it who open, judge,
/// match, or give shares.
///
/// # Errors
/// It cannot be read, or a rule is broken.
pub fn read_checked(path: &Path) -> Result<CheckedGroup, Failure> {
    check(path, read_group_file(path)?)
}

/// Checks the chain of a group file that was read from `path`.
///
/// # Errors
/// A step does not lead from one epoch to the next.
pub fn check(path: &Path, group: GroupFile) -> Result<CheckedGroup, Failure> {
    let checked = group.check_epochs(&mut random::os());
    checked.map_err(|error| Failure::file(path, error))
}
