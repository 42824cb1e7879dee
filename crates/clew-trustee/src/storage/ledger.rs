//! What one trustee has been asked: a file beside its key, one line per request, only added to.
//!
//! The ledger is written and synced before a share leaves (`spec/opening.md` section 3).

use crate::LedgerError;
use crate::rules::{LedgerEntry, Limits, RequestHistory, check_limits};
use clew_keys::files::{directory, sync_directory};
use clew_wire::Hex;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

const HEADER: &str = "# clew trustee ledger: time, kind, T1, packet, asked, machine, request. Keep it: it is part of the trustee's duty.\n";
/// Largest ledger that is read: about 200,000 requests.
const BYTES_MAX: u64 = 64 << 20;

/// Checks an entry against everything before it, and writes it. The ledger and its directory are
/// synced before this returns. A request that is known is not written again: asking twice tells
/// nothing new.
///
/// # Errors
/// [`LedgerError::Limit`]; a line that is not one of a ledger; an error of the system,
/// [`io::ErrorKind::FileTooLarge`] if the ledger has more than 64 MiB, some 200,000
/// requests: this trustee answers nothing more until it is moved away.
pub fn record(path: &Path, entry: &LedgerEntry, limits: Limits) -> Result<(), LedgerError> {
    // A link may lead anywhere, and a pipe would wait for ever.
    if path.symlink_metadata().is_ok_and(|found| !found.is_file()) {
        return Err(io::Error::other("the ledger is not a regular file").into());
    }
    let mut file = OpenOptions::new()
        .read(true)
        .append(true)
        .create(true)
        .mode(0o600)
        .open(path)?;
    file.lock()?;
    let known = read(&mut file)?;
    if check_limits(limits, &known, entry)? == RequestHistory::Never {
        let header = if known.is_empty() { HEADER } else { "" };
        file.write_all(format!("{header}{}", line(entry)).as_bytes())?;
    }
    // Also what is known already: a process that was killed may have written it and not synced.
    file.sync_all()?;
    Ok(sync_directory(directory(path))?)
}

fn read(file: &mut File) -> Result<Vec<LedgerEntry>, LedgerError> {
    let mut text = String::new();
    if file.metadata()?.len() > BYTES_MAX {
        return Err(LedgerError::Io(io::ErrorKind::FileTooLarge.into()));
    }
    file.read_to_string(&mut text)?;
    if !text.is_empty() && !text.ends_with('\n') {
        // The end of a line that a crash cut off: its request was never answered.
        text.truncate(text.rfind('\n').map_or(0, |end| end + 1));
        file.set_len(text.len() as u64)?;
    }
    let lines = (1..).zip(text.lines());
    let entries = lines.filter(|(_, line)| !line.starts_with('#'));
    entries
        .map(|(number, line)| parse(line).ok_or(LedgerError::Damaged(number)))
        .collect()
}

fn line(entry: &LedgerEntry) -> String {
    let (kind, machine) = match &entry.machine {
        Some(machine) => ("match", Hex(machine).to_string()),
        None => ("open", "-".to_owned()),
    };
    let (t1, packet) = (Hex(&entry.t1), Hex(&entry.signature_digest));
    let (asked, request) = (Hex(&entry.asked_packet), Hex(&entry.request));
    let time = entry.time;
    format!("{time} {kind} {t1} {packet} {asked} {machine} {request}\n")
}

fn parse(line: &str) -> Option<LedgerEntry> {
    let mut words = line.split(' ');
    let mut word = || words.next();
    let (time, kind, t1, packet) = (word()?, word()?, word()?, word()?);
    let (asked, machine, request) = (word()?, word()?, word()?);
    let machine = match (kind, machine) {
        ("open", "-") => None,
        ("match", machine) => Some(unhex(machine)?),
        _ => return None,
    };
    let entry = LedgerEntry {
        time: time.parse().ok()?,
        t1: unhex(t1)?,
        signature_digest: unhex(packet)?,
        asked_packet: unhex(asked)?,
        machine,
        request: unhex(request)?,
    };
    word().is_none().then_some(entry)
}

fn unhex<const N: usize>(text: &str) -> Option<[u8; N]> {
    let mut out = [0; N];
    let whole = text.len() == 2 * N && text.is_ascii();
    for (byte, pair) in out.iter_mut().zip(text.as_bytes().chunks_exact(2)) {
        *byte = u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()?;
    }
    whole.then_some(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::tests::entry;

    #[test]
    fn what_is_asked_stays_asked() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("1.key.ledger");
        let compared = LedgerEntry {
            machine: Some([9; 32]),
            request: [7; 32],
            ..entry(1)
        };
        for asked in [entry(1), entry(2), compared, entry(1)] {
            record(&path, &asked, Limits::default()).unwrap();
        }
        let read = read(&mut File::open(&path).unwrap()).unwrap();
        assert_eq!(read, [entry(1), entry(2), compared]);
        let mode = std::os::unix::fs::PermissionsExt::mode(&path.metadata().unwrap().permissions());
        assert_eq!(mode & 0o777, 0o600);
    }

    #[test]
    fn a_damaged_ledger_is_no_ledger() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("ledger");
        std::fs::write(&path, "12 open ab\n").unwrap();
        let refused = record(&path, &entry(1), Limits::default());
        assert!(matches!(refused, Err(LedgerError::Damaged(1))));
    }

    #[test]
    fn a_line_that_a_crash_cut_off_was_never_answered() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("ledger");
        record(&path, &entry(1), Limits::default()).unwrap();
        let mut file = OpenOptions::new().append(true).open(&path).unwrap();
        file.write_all(&line(&entry(2)).as_bytes()[..70]).unwrap();
        record(&path, &entry(3), Limits::default()).unwrap();
        let read = read(&mut File::open(&path).unwrap()).unwrap();
        assert_eq!(read, [entry(1), entry(3)]);
    }
}
