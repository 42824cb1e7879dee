//! Key files on disk: reading them, asking for what unlocks them, and encrypting new ones.

mod command;
mod seal;
mod stream;

use crate::exposure::warn_if_exposed;
use crate::failure::Failure;
use crate::output::STANDARD_STREAM;
use crate::random;
use clap::Args;
use clew_capture::is_capture;
use clew_evidence::TextError;
use clew_keys::encryption::{self, MIN_KEY_FILE_BYTES, Needs, Secret};
use clew_keys::files::{IfExists, MODE_SECRET, Written, write_atomically};
use clew_keys::{IssuerKeyFile, LogKeyFile, TextFile};
use clew_manager::Store;
use command::printed_by;
pub use seal::Seal;
use std::fs::File;
use std::io::{ErrorKind, IsTerminal, Read};
use std::path::{Path, PathBuf};
use zeroize::Zeroizing;

/// Longest key, unlock or passphrase file that is read, in bytes.
const MAX_SECRET_BYTES: u64 = 1 << 20;

/// How a group file begins.
const GROUP_FILE_HEADER: &[u8] = b"clew-group-";

/// With so much room behind its end a file is read without growing the buffer.
const READ_AHEAD_BYTES: usize = 64;

/// What decrypts an encrypted key file.
#[derive(Args, Debug, Default)]
pub struct Unlock {
    /// File whose first line is the key's passphrase [default: prompt]
    #[arg(long, value_name = "FILE")]
    pub passphrase_file: Option<PathBuf>,
    /// File whose content decrypts the key
    #[arg(long, value_name = "FILE", conflicts_with = "passphrase_file")]
    pub unlock_with: Option<PathBuf>,
    /// Shell command that prints what --unlock-with reads: age, a TPM or a security token
    #[arg(long, value_name = "COMMAND", conflicts_with_all = ["passphrase_file", "unlock_with"])]
    pub unlock_command: Option<String>,
}

impl Unlock {
    /// Reads the text of a key file, decrypting it if it is encrypted. The secret comes with it, so
    /// that what is written again stays encrypted.
    pub fn read(&self, path: &Path) -> Result<(Zeroizing<String>, Option<Secret>), Failure> {
        let read = self.read_unwarned(path)?;
        warn_if_exposed(path);
        Ok(read)
    }

    /// Reads a text that an earlier run of the same command wrote: it is encrypted as `seal` says. What
    /// unlocks the other files of the command unlocks it only if `seal` names no secret.
    pub fn read_own(
        &self,
        path: &Path,
        seal: &Seal,
    ) -> Result<(Zeroizing<String>, Option<Secret>), Failure> {
        let Some(secret) = seal.stored()? else {
            return self.read(path);
        };
        let text = read_text(path)?;
        let needs = encryption::needs(&text).map_err(|e| undecoded(path, &e))?;
        if needs == Needs::Nothing {
            return Ok((text, None));
        }
        let clear = encryption::decrypt(&text, &secret).map_err(|e| Failure::file(path, e))?;
        Ok((clear, Some(secret)))
    }

    /// Reads the text of a key file for a daemon, which nobody can ask for a passphrase.
    ///
    /// # Errors
    /// As [`read`](Self::read); the file is encrypted with a passphrase.
    pub fn read_unattended(&self, path: &Path) -> Result<Zeroizing<String>, Failure> {
        let text = read_text(path)?;
        if let Ok(Needs::Passphrase) = encryption::needs(&text) {
            return Err(Failure::file(path, "encrypted with a passphrase")
                .hint("a daemon needs a key encrypted with an unlock file, or not at all"));
        }
        let (text, _) = self.clear(path, text)?;
        Ok(text)
    }

    /// The same for a file that others may read: one that came over some channel.
    pub fn read_unwarned(
        &self,
        path: &Path,
    ) -> Result<(Zeroizing<String>, Option<Secret>), Failure> {
        self.clear(path, read_text(path)?)
    }

    /// Decrypts the text of a key file if it is encrypted.
    fn clear(
        &self,
        path: &Path,
        text: Zeroizing<String>,
    ) -> Result<(Zeroizing<String>, Option<Secret>), Failure> {
        let secret = match encryption::needs(&text).map_err(|e| undecoded(path, &e))? {
            Needs::Nothing => return Ok((text, None)),
            Needs::Passphrase => self.passphrase(path)?,
            Needs::KeyFile => self.content(path)?,
        };
        let clear = encryption::decrypt(&text, &secret).map_err(|e| Failure::file(path, e))?;
        Ok((clear, Some(secret)))
    }

    /// Reads and decodes a key file.
    pub fn load<T>(
        &self,
        path: &Path,
        decode: impl FnOnce(&str) -> Result<T, TextError>,
    ) -> Result<T, Failure> {
        let (text, _) = self.read_unwarned(path)?;
        let decoded = decode(&text).map_err(|e| undecoded(path, &e))?;
        warn_if_exposed(path); // another kind of file may be public
        Ok(decoded)
    }

    /// Reads the issuer key of a group's directory.
    pub fn issuer(&self, store: &Store) -> Result<IssuerKeyFile, Failure> {
        self.issuer_at(&store.issuer_key_path())
    }

    /// Reads the issuer key at that path: of a store that cannot be opened.
    pub fn issuer_at(&self, path: &Path) -> Result<IssuerKeyFile, Failure> {
        self.load(path, IssuerKeyFile::decode)
    }

    /// Reads the key of a log or a witness.
    pub fn log_key(&self, path: &Path) -> Result<LogKeyFile, Failure> {
        self.load(path, LogKeyFile::decode)
    }

    fn passphrase(&self, path: &Path) -> Result<Secret, Failure> {
        match &self.passphrase_file {
            Some(file) => passphrase_from(file),
            None => ask(&format!("Passphrase of {}: ", path.display())),
        }
    }

    fn content(&self, path: &Path) -> Result<Secret, Failure> {
        let secret = key_file(self.unlock_with.as_deref(), self.unlock_command.as_deref())?;
        secret.ok_or_else(|| {
            Failure::file(path, "encrypted with an unlock file")
                .hint("use --unlock-with FILE or --unlock-command COMMAND")
        })
    }
}

/// Refuses `-`, which elsewhere stands for standard output: secrets and evidence go to files only.
///
/// # Errors
/// The path is `-`.
pub fn check_named(path: &Path) -> Result<(), Failure> {
    if path != Path::new(STANDARD_STREAM) {
        return Ok(());
    }
    Err(Failure::new("-: this output cannot go to standard output").hint("use the name of a file"))
}

/// Writes a key file under a temporary name, encrypted if there is a secret; it waits for its commit.
pub fn prepare(
    path: &Path,
    text: &Zeroizing<String>,
    comment: &str,
    secret: Option<&Secret>,
    if_exists: IfExists,
) -> Result<Written, Failure> {
    check_named(path)?;
    let text = sealed(text, comment, secret);
    let written = Written::prepare(path, text.as_bytes(), MODE_SECRET, if_exists);
    written.map_err(|e| cannot_write(path, &e))
}

/// Writes a key file, encrypted if there is a secret.
pub fn write(
    path: &Path,
    text: &Zeroizing<String>,
    comment: &str,
    secret: Option<&Secret>,
    if_exists: IfExists,
) -> Result<(), Failure> {
    let written = prepare(path, text, comment, secret, if_exists)?;
    written.commit().map_err(|e| cannot_write(path, &e))
}

/// Writes a key under a name that nothing has, unless a crash left this very key there.
pub fn write_key(path: &Path, key: &impl TextFile, secret: Option<&Secret>) -> Result<(), Failure> {
    let text = key.encode();
    let clear = |found: Zeroizing<String>| match secret {
        Some(secret) => encryption::decrypt(&found, secret).ok(),
        None => Some(found),
    };
    let is_there = path.symlink_metadata().is_ok();
    let found = is_there.then(|| read_text(path).ok()).flatten();
    if found.and_then(clear).is_some_and(|clear| *clear == *text) {
        return Ok(());
    }
    write(path, &text, &key.comment(), secret, IfExists::Refuse)
}

/// The text as it is written.
pub fn sealed(
    text: &Zeroizing<String>,
    comment: &str,
    secret: Option<&Secret>,
) -> Zeroizing<String> {
    match secret {
        Some(secret) => encryption::encrypt(text, comment, secret, &mut random::os()),
        None => text.clone(),
    }
}

/// Takes the room of a new key file under a temporary name, and writes the key only once `enter` has
/// entered it in the register: a key that the register does not have must not be on any disk.
///
/// # Errors
/// The file cannot be written; nothing is entered then, unless the disk fails afterwards.
pub fn write_once_entered(
    path: &Path,
    text: &Zeroizing<String>,
    comment: &str,
    secret: Option<&Secret>,
    enter: impl FnOnce() -> Result<(), Failure>,
) -> Result<(), Failure> {
    check_named(path)?;
    let text = sealed(text, comment, secret);
    let bytes = text.as_bytes();
    let failed = |e| cannot_write(path, &e);
    let room =
        Written::reserve(path, bytes.len(), MODE_SECRET, IfExists::Refuse).map_err(failed)?;
    enter()?;
    room.fill(bytes).and_then(Written::commit).map_err(failed)
}

/// The failure to write a key file.
pub fn cannot_write(path: &Path, error: &std::io::Error) -> Failure {
    match error.kind() {
        ErrorKind::AlreadyExists => Failure::file(path, "already exists")
            .hint("use another name: a key is never overwritten"),
        _ => Failure::io(path, error),
    }
}

/// Locks a state file until the lock is dropped: runs at one time go one after the other. `None` if
/// there is no such file.
///
/// # Errors
/// The file system has no locks.
pub fn lock(path: &Path) -> Result<Option<File>, Failure> {
    let Ok(file) = File::open(path) else {
        return Ok(None); // reading it says why
    };
    file.lock().map_err(|e| Failure::io(path, &e))?;
    Ok(Some(file))
}

/// Reads the text of a small file, which may be secret.
///
/// # Errors
/// It cannot be read, is longer than 1 MiB, or is not UTF-8.
pub fn read_text(path: &Path) -> Result<Zeroizing<String>, Failure> {
    let mut bytes = read_bounded(path)?;
    // Moved, not copied.
    String::from_utf8(std::mem::take(&mut *bytes))
        .map(Zeroizing::new)
        .map_err(|error| {
            let bytes = Zeroizing::new(error.into_bytes());
            let what = match bytes.starts_with(GROUP_FILE_HEADER) {
                true => Failure::file(path, "not a key file"),
                false => Failure::file(path, TextError::NotAKey),
            };
            hinted(what, &bytes)
        })
}

/// The failure to read a file with these bytes.
fn hinted(failure: Failure, bytes: &[u8]) -> Failure {
    if is_capture(bytes) {
        return failure.hint("this looks like a capture: check the order of the files");
    }
    match bytes.starts_with(GROUP_FILE_HEADER) {
        true => failure.hint("this is a group file: a text file with a key is needed"),
        false => failure,
    }
}

/// The failure to decode a file of clew's text form: if it is of another kind, which command writes the
/// wanted one.
pub fn undecoded(path: &Path, error: &TextError) -> Failure {
    let failure = Failure::file(path, error);
    let TextError::Label { wanted, .. } = error else {
        return failure;
    };
    let hint = match *wanted {
        "clew-member-key-1" => "use the key that clew enrol or clew join wrote",
        "clew-trustee-key-1" => "use the key that clew group create or clew trustee finish wrote",
        "clew-issuer-key-1" => "use issuer/issuer.key of the group's directory",
        "clew-dkg-plan-1" => "use the plan that clew group plan wrote",
        "clew-dkg-deal-1" => "use the deals that clew trustee deal wrote",
        "clew-author-key-1" => "use the NAME.key that clew log keygen wrote",
        "clew-author-1" => "use the NAME.pub that clew log keygen wrote",
        "clew-flow-key-1" => "use the NAME.key that clew flow keygen wrote",
        "clew-tunnel-server-1" => "use the key that clew tunnel keygen server wrote",
        "clew-tunnel-user-1" => "use the key that clew tunnel keygen user wrote",
        _ => return failure,
    };
    failure.hint(hint)
}

/// Reads a file of clew's text form.
///
/// # Errors
/// As [`read_text`]; it does not decode.
pub fn read<T: TextFile>(path: &Path) -> Result<T, Failure> {
    T::decode(&read_text(path)?).map_err(|error| undecoded(path, &error))
}

/// Writes a file that a repeated command gives again. One that holds the same stays; another is never
/// overwritten.
///
/// # Errors
/// It cannot be written, or another file has its name.
pub fn write_same(path: &Path, text: &str, mode: u32) -> Result<(), Failure> {
    check_named(path)?;
    let is_there = || read_bounded(path).is_ok_and(|found| *found == text.as_bytes());
    if is_there() {
        return Ok(());
    }
    let written = write_atomically(path, text.as_bytes(), mode, IfExists::Refuse);
    written.or_else(|error| match error.kind() {
        ErrorKind::AlreadyExists if is_there() => Ok(()), // another run wrote it meanwhile
        ErrorKind::AlreadyExists => {
            Err(Failure::file(path, "already exists").hint("use another name"))
        }
        _ => Err(Failure::io(path, &error)),
    })
}

/// Reads a file into a buffer that never grows: one that grows leaves a copy behind.
fn read_bounded(path: &Path) -> Result<Zeroizing<Vec<u8>>, Failure> {
    let failed = |e| Failure::io(path, &e);
    let file = File::open(path).map_err(failed)?;
    let room = match file.metadata().map_err(failed)?.len() {
        0 => MAX_SECRET_BYTES, // a pipe does not say
        length => length.min(MAX_SECRET_BYTES),
    };
    let mut bytes = Zeroizing::new(Vec::with_capacity(room as usize + READ_AHEAD_BYTES));
    file.take(room + 1)
        .read_to_end(&mut bytes)
        .map_err(failed)?;
    if bytes.len() as u64 > room {
        let why = "longer than 1 MiB, or grew while it was read";
        return Err(hinted(Failure::file(path, why), &bytes));
    }
    Ok(bytes)
}

fn passphrase_from(path: &Path) -> Result<Secret, Failure> {
    let text = read_text(path)?;
    let line = text.lines().next().unwrap_or_default();
    if line.is_empty() {
        return Err(Failure::file(
            path,
            "the first line, the passphrase, is empty",
        ));
    }
    Ok(Secret::Passphrase(Zeroizing::new(line.to_owned())))
}

/// The content of an unlock file, or what a command prints instead, if either is given.
fn key_file(path: Option<&Path>, command: Option<&str>) -> Result<Option<Secret>, Failure> {
    let (bytes, source) = match (path, command) {
        (Some(path), _) => (read_bounded(path)?, path.display().to_string()),
        (_, Some(command)) => (printed_by(command)?, format!("the output of {command:?}")),
        _ => return Ok(None),
    };
    if bytes.len() < MIN_KEY_FILE_BYTES {
        let few = format!("{source}: need at least {MIN_KEY_FILE_BYTES} bytes");
        return Err(Failure::new(few).hint("head -c 32 /dev/urandom > my.secret"));
    }
    Ok(Some(Secret::KeyFile(bytes)))
}

fn ask(prompt: &str) -> Result<Secret, Failure> {
    if !std::io::stderr().is_terminal() {
        return Err(
            Failure::new("need a passphrase, and cannot prompt without a terminal")
                .hint("use --passphrase-file, or --new-passphrase-file for new files"),
        );
    }
    let typed = rpassword::prompt_password(prompt).map(Zeroizing::new);
    let typed = typed.map_err(|e| Failure::new(format!("cannot read the passphrase: {e}")))?;
    Ok(Secret::Passphrase(typed))
}

fn ask_twice() -> Result<Secret, Failure> {
    match (ask("New passphrase: ")?, ask("Repeat the passphrase: ")?) {
        (Secret::Passphrase(one), Secret::Passphrase(two)) if one == two && !one.is_empty() => {
            Ok(Secret::Passphrase(one))
        }
        _ => Err(Failure::new("the two passphrases differ, or are empty")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What grows leaves a copy behind.
    #[test]
    fn a_secret_is_read_without_growing() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("secret");
        for length in [1, 31, 32, 33, 4096, 100_000, MAX_SECRET_BYTES as usize] {
            std::fs::write(&path, vec![7; length]).expect("written");
            let Ok(read) = read_bounded(&path) else {
                unreachable!("{length} bytes are not too many")
            };
            let sizes = (read.len(), read.capacity());
            assert_eq!(sizes, (length, length + READ_AHEAD_BYTES));
        }
        std::fs::write(&path, vec![7; MAX_SECRET_BYTES as usize + 1]).expect("written");
        assert!(read_bounded(&path).is_err(), "it is not cut");
    }
}
