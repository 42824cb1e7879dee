//! Service records in files, and whom their readers trust.

use super::files::open_regular;
use super::keys::{self, PublicKey};
use crate::clock;
use crate::failure::Failure;
use clew_evidence::{TextError, armor};
use clew_keys::files::{IfExists, MODE_PUBLIC, write_atomically};
use clew_tunnel::Reason;
use clew_tunnel::engine::WallTime;
use clew_tunnel::engine::client::Config;
use clew_tunnel::record::{Cert, RECORD_LABEL, Record, Wanted};
use std::io::{self, Read};
use std::path::Path;

/// Whom a reader trusts for a host's record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trust {
    /// Who gave it: a file that came from where the user trusts.
    Given,
    /// The host itself, by its signing key.
    Pin(PublicKey),
    /// Who signed its certificate.
    Issuer(PublicKey),
}

impl Trust {
    /// Whether a certificate is trusted for its host.
    pub fn trusts(&self, cert: &Cert) -> bool {
        match self {
            Self::Given => true,
            Self::Pin(key) => cert.body.signing == key.0,
            Self::Issuer(key) => cert.body.issuer == key.0,
        }
    }

    /// The host's own key, if it is known.
    pub fn pin(&self) -> Option<[u8; 32]> {
        match self {
            Self::Pin(key) => Some(key.0),
            _ => None,
        }
    }
}

/// Milliseconds since 1970.
pub fn now() -> u64 {
    clock::now_ns() / 1_000_000
}

/// Verifies a record by section 3.3, for any host or for one.
///
/// # Errors
/// The first rule that it breaks.
pub fn verify(
    record: &Record,
    hostname: Option<&str>,
    trusts: impl FnOnce(&Cert) -> bool,
) -> Result<(), Reason> {
    let wanted = Wanted {
        hostname,
        now: WallTime::from_nanos(clock::now_ns()),
        cert_lifetime_max: Config::default().cert_lifetime_max,
    };
    wanted.verify(record, trusts)
}

/// The text of a record's file.
pub fn encode(record: &Record) -> String {
    let body = &record.ecert.body;
    let (host, until) = (
        keys::host(&record.cert),
        clock::to_the_second(body.end * 1_000_000),
    );
    let comment = format!("clew tunnel record of {host}, until {until}. Public: clients need it.");
    armor::encode(&comment, RECORD_LABEL, &record.to_bytes()).to_string()
}

/// Reads the text of a record's file. Nothing of it is verified.
///
/// # Errors
/// It is none.
pub fn decode(text: &str) -> Result<Record, TextError> {
    let payload = armor::decode(text, RECORD_LABEL)?;
    Record::parse(&payload).map_err(|_| TextError::Damaged)
}

/// Reads a record's file. Nothing of it is verified.
///
/// # Errors
/// The system's; `InvalidData` with a [`TextError`].
pub fn read_file(path: &Path) -> io::Result<Record> {
    let mut text = String::new();
    let most = armor::MAX_TEXT_BYTES as u64 + 1;
    open_regular(path)?.take(most).read_to_string(&mut text)?;
    decode(&text).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
}

/// The same for a command.
///
/// # Errors
/// The file's, by its name.
pub fn read(path: &Path) -> Result<Record, Failure> {
    read_file(path)
        .map_err(|e| Failure::io(path, &e).hint("use the file of clew tunnel serve --record"))
}

/// Writes a record's file, in place of an older one of the same host. No other file is replaced.
///
/// # Errors
/// [`io::ErrorKind::AlreadyExists`] if the file is not a record of this host; the system's.
pub fn write(path: &Path, record: &Record) -> io::Result<()> {
    let if_exists = match read_file(path) {
        Ok(older) if older.cert.body.hostname == record.cert.body.hostname => IfExists::Replace,
        Err(error) if error.kind() == io::ErrorKind::NotFound => IfExists::Refuse,
        Err(error) if error.kind() != io::ErrorKind::InvalidData => return Err(error),
        Ok(_) | Err(_) => {
            let host = keys::host(&record.cert);
            let fault = format!("exists, and is not a tunnel record of {host}");
            return Err(io::Error::new(io::ErrorKind::AlreadyExists, fault));
        }
    };
    write_atomically(path, encode(record).as_bytes(), MODE_PUBLIC, if_exists)
}

/// A certificate has ended: no record of that server can be good any more.
pub fn certificate_ended(what: &str, cert: &Cert) -> Failure {
    let end = clock::to_the_second(cert.body.end * 1_000_000);
    Failure::new(format!("{what}: server certificate expired at {end}"))
        .hint("run clew tunnel keygen server on the server, and get its new record")
}

/// Why a record is not taken, for people.
pub fn refused(what: &str, reason: Reason) -> Failure {
    let failure = Failure::new(format!("{what}: {}", words(reason)));
    match reason {
        Reason::Expired => failure.hint("get a newer record from the server, or use --directory"),
        Reason::NotYetValid => failure.hint("compare this machine's clock with the server's"),
        Reason::Untrusted => failure.no().hint(
            "compare --pin or --trust with the key that keygen printed. If they agree, do not \
             connect",
        ),
        _ => failure.no(),
    }
}

fn words(reason: Reason) -> String {
    let words = match reason {
        Reason::Expired => "the record has expired",
        Reason::NotYetValid => "the record is not valid yet",
        Reason::Untrusted => "the record has another key than the trusted one",
        Reason::WrongHost => "the record is for another host",
        Reason::RecordSignature => "the record has an invalid signature",
        _ => "the record is not valid",
    };
    format!("{words} ({reason})")
}
