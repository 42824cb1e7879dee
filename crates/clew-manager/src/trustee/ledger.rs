//! What one trustee has been asked: a file beside its key, one line per request, only added to.
//!
//! The ledger is written and synced before a share leaves (`spec/opening.md` section 3). It refuses
//! a T1 that it knows under another packet (an attempt to have one packet opened as another), more
//! requests in a day than [`REQUESTS_PER_DAY`], and more machines compared with one packet than
//! [`MATCHES_PER_PACKET`].

use clew_keys::files::{directory, sync_directory};
use std::collections::BTreeSet;
use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Most requests that a trustee answers in 24 hours.
pub const REQUESTS_PER_DAY: usize = 1000;

/// Most machines that one packet is compared with: in a small group every no tells something.
pub const MATCHES_PER_PACKET: usize = 3;

const DAY_NS: u64 = 24 * 3600 * 1_000_000_000;
const HEADER: &str = "# clew trustee ledger: time, kind, T1, packet, asked, machine, request. Keep it: it is part of the trustee's duty.\n";
/// Largest ledger that is read: about 200,000 requests.
const BYTES_MAX: u64 = 64 << 20;

/// Why the ledger refuses a request.
#[derive(Debug)]
pub enum LedgerError {
    /// This T1 was seen with another packet.
    OtherPacket,
    /// Too many requests within a day.
    TooMany,
    /// The packet was compared with too many machines.
    TooManyMatches,
    /// A line is not one of a ledger.
    Damaged(usize),
    /// The system refused.
    Io(io::Error),
}

impl fmt::Display for LedgerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OtherPacket => f.write_str(
                "the signature's T1 was presented before with another packet: somebody tries to open \
                 one packet as another",
            ),
            Self::TooMany => write!(
                f,
                "this trustee answers at most {REQUESTS_PER_DAY} requests in 24 hours"
            ),
            Self::TooManyMatches => write!(
                f,
                "this packet was compared with {MATCHES_PER_PACKET} machines already, the most that is allowed"
            ),
            Self::Damaged(line) => write!(f, "line {line} is not one of a ledger"),
            Self::Io(error) => write!(f, "{error}"),
        }
    }
}

impl std::error::Error for LedgerError {}

impl From<io::Error> for LedgerError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// One request as the ledger keeps it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// When it was asked, nanoseconds since 1970.
    pub time: u64,
    /// T1 of the signature, encoded.
    pub t1: [u8; 48],
    /// The packet's digest.
    pub packet: [u8; 32],
    /// Which packet of its block was asked about.
    pub asked: [u8; 32],
    /// Leaf hash of the machine, if the request is a match.
    pub machine: Option<[u8; 32]>,
    /// The request's id.
    pub request: [u8; 32],
}

/// Checks an entry against everything before it, and writes it. The ledger and its directory are
/// synced before this returns. A request that is known is not written again: asking twice tells
/// nothing new.
///
/// # Errors
/// [`LedgerError`]: one of the limits of this module; a line that is not one of a ledger; an error of
/// the system. [`io::ErrorKind::FileTooLarge`] if the ledger has more than 64 MiB, some 200,000
/// requests: this trustee answers nothing more until it is moved away.
pub fn record(path: &Path, entry: &Entry) -> Result<(), LedgerError> {
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
    if !check(&known, entry)? {
        let header = if known.is_empty() { HEADER } else { "" };
        file.write_all(format!("{header}{entry}\n").as_bytes())?;
    }
    // Also what is known already: a process that was killed may have written it and not synced.
    file.sync_all()?;
    Ok(sync_directory(directory(path))?)
}

/// Whether the request is known; an error if it must not be answered.
fn check(known: &[Entry], new: &Entry) -> Result<bool, LedgerError> {
    if known
        .iter()
        .any(|e| e.t1 == new.t1 && e.packet != new.packet)
    {
        return Err(LedgerError::OtherPacket);
    }
    if known.iter().any(|e| e.request == new.request) {
        return Ok(true);
    }
    let recent = known
        .iter()
        .filter(|e| e.time.saturating_add(DAY_NS) > new.time);
    if recent.count() >= REQUESTS_PER_DAY {
        return Err(LedgerError::TooMany);
    }
    let same_packet = known.iter().filter(|e| e.packet == new.packet);
    let mut machines: BTreeSet<_> = same_packet.filter_map(|e| e.machine).collect();
    machines.extend(new.machine);
    if new.machine.is_some() && machines.len() > MATCHES_PER_PACKET {
        return Err(LedgerError::TooManyMatches);
    }
    Ok(false)
}

fn read(file: &mut File) -> Result<Vec<Entry>, LedgerError> {
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
        .map(|(number, line)| Entry::parse(line).ok_or(LedgerError::Damaged(number)))
        .collect()
}

impl fmt::Display for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let machine = self.machine.map_or("-".to_owned(), |m| hex(&m));
        let kind = if self.machine.is_some() {
            "match"
        } else {
            "open"
        };
        let (t1, packet) = (hex(&self.t1), hex(&self.packet));
        let (asked, request) = (hex(&self.asked), hex(&self.request));
        let time = self.time;
        write!(f, "{time} {kind} {t1} {packet} {asked} {machine} {request}")
    }
}

impl Entry {
    fn parse(line: &str) -> Option<Self> {
        let mut words = line.split(' ');
        let mut word = || words.next();
        let (time, kind, t1, packet) = (word()?, word()?, word()?, word()?);
        let (asked, machine, request) = (word()?, word()?, word()?);
        let machine = match (kind, machine) {
            ("open", "-") => None,
            ("match", machine) => Some(unhex(machine)?),
            _ => return None,
        };
        let entry = Self {
            time: time.parse().ok()?,
            t1: unhex(t1)?,
            packet: unhex(packet)?,
            asked: unhex(asked)?,
            machine,
            request: unhex(request)?,
        };
        word().is_none().then_some(entry)
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
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

    fn entry(n: u8) -> Entry {
        Entry {
            time: u64::from(n) * 1_000_000_000,
            t1: [n; 48],
            packet: [n; 32],
            asked: [n ^ 0xff; 32],
            machine: None,
            request: [n; 32],
        }
    }

    #[test]
    fn what_is_asked_stays_asked() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("1.key.ledger");
        let compared = Entry {
            machine: Some([9; 32]),
            request: [7; 32],
            ..entry(1)
        };
        for asked in [entry(1), entry(2), compared, entry(1)] {
            record(&path, &asked).unwrap();
        }
        let read = read(&mut File::open(&path).unwrap()).unwrap();
        assert_eq!(read, [entry(1), entry(2), compared]);
        let mode = std::os::unix::fs::PermissionsExt::mode(&path.metadata().unwrap().permissions());
        assert_eq!(mode & 0o777, 0o600);
    }

    #[test]
    fn one_t1_is_one_packet() {
        let other = Entry {
            packet: [8; 32],
            request: [8; 32],
            ..entry(1)
        };
        let refused = check(&[entry(1)], &other);
        assert!(matches!(refused, Err(LedgerError::OtherPacket)));
    }

    #[test]
    fn a_day_has_its_limit() {
        let request = |i: usize| {
            let mut request = [0; 32];
            request[..8].copy_from_slice(&i.to_be_bytes());
            Entry {
                request,
                t1: std::array::from_fn(|at| request[at % 32]),
                packet: request,
                ..entry(1)
            }
        };
        let day: Vec<Entry> = (0..REQUESTS_PER_DAY).map(request).collect();
        let next = request(REQUESTS_PER_DAY);
        assert!(matches!(check(&day, &next), Err(LedgerError::TooMany)));
        assert!(
            check(&day, &day[3]).unwrap(),
            "what was answered is answered again"
        );
        let tomorrow = Entry {
            time: next.time + DAY_NS,
            ..next
        };
        assert!(!check(&day, &tomorrow).unwrap());
    }

    #[test]
    fn a_packet_is_compared_with_few_machines() {
        let with = |machine: u8| Entry {
            machine: Some([machine; 32]),
            request: [machine; 32],
            ..entry(1)
        };
        let known: Vec<Entry> = (0..MATCHES_PER_PACKET as u8).map(with).collect();
        let refused = check(&known, &with(99));
        assert!(matches!(refused, Err(LedgerError::TooManyMatches)));
        let again = Entry {
            request: [55; 32],
            ..with(0)
        };
        assert!(
            !check(&known, &again).unwrap(),
            "the same machine under another warrant"
        );
        let opening = Entry {
            request: [77; 32],
            ..entry(1)
        };
        assert!(!check(&known, &opening).unwrap());
    }

    #[test]
    fn a_damaged_ledger_is_no_ledger() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("ledger");
        std::fs::write(&path, "12 open ab\n").unwrap();
        let refused = record(&path, &entry(1));
        assert!(matches!(refused, Err(LedgerError::Damaged(1))));
    }

    #[test]
    fn a_line_that_a_crash_cut_off_was_never_answered() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("ledger");
        record(&path, &entry(1)).unwrap();
        let mut file = OpenOptions::new().append(true).open(&path).unwrap();
        file.write_all(&entry(2).to_string().as_bytes()[..70])
            .unwrap();
        record(&path, &entry(3)).unwrap();
        let read = read(&mut File::open(&path).unwrap()).unwrap();
        assert_eq!(read, [entry(1), entry(3)]);
    }
}
