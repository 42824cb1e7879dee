//! Files in and out: input never modified, output never overwritten unasked and never partial.

use std::borrow::Cow;
use std::fmt;
use std::fs::{self, File};
use std::io::{self, BufWriter, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::{FileExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use clew_keys::files::{IfExists, MODE_PUBLIC, Pending};

use crate::failure::Failure;
use clew_capture::{PIPE_SNAPLEN, Sink};

/// Stands for standard input or output among the paths of a command line.
pub const STANDARD_STREAM: &str = "-";

const STANDARD_INPUT: &str = "/dev/stdin";
const STANDARD_OUTPUT: &str = "/dev/stdout";
const BUFFER_LEN: usize = 256 << 10;
const MODE_BITS: u32 = 0o777;

/// The first failure to print a line.
static UNSAID: OnceLock<io::Error> = OnceLock::new();

/// Prints a line. [`all_said`] tells of a failure.
pub fn say(line: std::fmt::Arguments<'_>) {
    if let Err(error) = writeln!(io::stdout(), "{line}") {
        let _ = UNSAID.set(error);
    }
}

/// Prints a line on standard error. If it cannot be written, nobody can be told: the command goes on.
pub fn mention(line: fmt::Arguments<'_>) {
    // At once, so that the lines of several threads do not mix.
    let _ = io::stderr().write_all(format!("{line}\n").as_bytes());
}

/// Fails if a line was not printed. A reader that went away (`clew show ... | head -1`) has read what
/// it wanted.
pub fn all_said() -> Result<(), Failure> {
    let flushed = io::stdout().flush();
    match UNSAID.get().or(flushed.as_ref().err()) {
        Some(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(Failure::new(format!(
            "cannot write to standard output: {error}"
        ))),
        _ => Ok(()),
    }
}

/// Why an output cannot be opened, or made permanent.
#[derive(Debug, thiserror::Error)]
pub enum OutputError {
    /// There is a file already, and replacing it was not asked for.
    #[error("{}: already exists", name(.0))]
    Exists(PathBuf),
    /// The output is the input.
    #[error("{}: this is the input", name(.0))]
    IsInput(PathBuf),
    /// The system refused.
    #[error("{}: cannot write: {error}", name(.path))]
    Io {
        /// The output.
        path: PathBuf,
        /// The system's reason.
        #[source]
        error: io::Error,
    },
}

impl OutputError {
    fn of(path: &Path, error: io::Error) -> Self {
        let path = path.to_owned();
        match error.kind() {
            io::ErrorKind::AlreadyExists => Self::Exists(path),
            _ => Self::Io { path, error },
        }
    }
}

fn name(path: &Path) -> Cow<'_, str> {
    if path == Path::new(STANDARD_STREAM) {
        "standard output".into()
    } else {
        path.to_string_lossy()
    }
}

/// Opens an input, where `-` is standard input.
pub fn open_input(path: &Path) -> io::Result<Box<dyn Read + Send>> {
    if path == Path::new(STANDARD_STREAM) {
        return Ok(Box::new(io::stdin()));
    }
    if path.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    Ok(Box::new(File::open(path)?))
}

/// An output being written: a file that appears whole when it is committed, or a stream.
///
/// A file is written under another name in the same directory, which is removed if the output is
/// dropped before [`Output::commit`]. Standard output, pipes and devices are streams: what is
/// written to them is gone at once.
#[derive(Debug)]
pub struct Output {
    file: BufWriter<File>,
    path: PathBuf,
    /// Nothing for a stream.
    pending: Option<Pending>,
    /// The greatest length of a packet to come, if it is known.
    longest: Option<u32>,
    /// Whether it was said that a snap length rises.
    has_warned: bool,
}

impl Output {
    /// Opens an output for what is made from `input`; for either, `-` is the standard stream.
    ///
    /// Refuses an output that is the input, and, without `force`, one that exists. A new file gets
    /// the permissions of the input, and one that is replaced keeps its own.
    pub fn create(path: &Path, input: &Path, force: bool) -> Result<Self, OutputError> {
        if is_same_file(path, input) {
            return Err(OutputError::IsInput(path.to_owned()));
        }
        let mode = mode(path).or_else(|| mode(&standard_as_file(input, STANDARD_INPUT)));
        Self::begin(path, mode.unwrap_or(MODE_PUBLIC), force)
    }

    /// Makes the output permanent under its name; a failure leaves what was there before.
    pub fn commit(mut self) -> Result<(), OutputError> {
        let Self {
            file,
            path,
            pending,
            ..
        } = &mut self;
        let committed = file.flush().and_then(|()| match pending.take() {
            Some(pending) => pending.commit(file.get_ref()),
            None => Ok(()),
        });
        committed.map_err(|error| OutputError::of(path, error))
    }

    fn begin(path: &Path, mode: u32, force: bool) -> Result<Self, OutputError> {
        let failed = |error| OutputError::of(path, error);
        let if_exists = match force {
            true => IfExists::Replace,
            false => IfExists::Refuse,
        };
        let create = |target| {
            let (file, pending) = Pending::create(target, mode, if_exists).map_err(failed)?;
            Ok((file, Some(pending)))
        };
        let (file, pending) = match existing(path).map_err(failed)? {
            Existing::Stream(file) => (file, None),
            Existing::File(_) if !force => return Err(OutputError::Exists(path.to_owned())),
            Existing::File(target) => create(&target)?,
            Existing::Nothing => create(path)?,
        };
        let file = BufWriter::with_capacity(BUFFER_LEN, file);
        Ok(Self {
            file,
            path: path.to_owned(),
            pending,
            longest: None,
            has_warned: false,
        })
    }

    /// Tells the greatest length of a packet that will be written, in bytes.
    pub fn foresee(&mut self, longest: u32) {
        self.longest = Some(longest);
    }

    /// The failure to write, with the output's name.
    fn named(&self, error: io::Error) -> io::Error {
        let path = self.path.clone();
        io::Error::new(error.kind(), OutputError::Io { path, error })
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes).map_err(|e| self.named(e))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush().map_err(|e| self.named(e))
    }
}

impl Sink for Output {
    fn can_patch(&self) -> bool {
        self.pending.is_some()
    }

    fn patch(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.flush()?;
        let written = self.file.get_ref().write_all_at(bytes, offset);
        written.map_err(|e| self.named(e))
    }

    fn longest(&self) -> Option<u32> {
        self.longest
    }

    fn raised(&mut self, snaplen: u32) {
        if !std::mem::replace(&mut self.has_warned, true) {
            mention!(
                "clew: warning: {}: a stream's snap length must rise in front, from {snaplen} to \
                 {PIPE_SNAPLEN}, and strip cannot restore it: to keep it, write to a file",
                name(&self.path)
            );
        }
    }
}

/// What stands at the path of an output.
enum Existing {
    Nothing,
    /// A regular file, behind all links: a link stays a link.
    File(PathBuf),
    Stream(File),
}

fn existing(path: &Path) -> io::Result<Existing> {
    if path == Path::new(STANDARD_STREAM) {
        return io::stdout()
            .as_fd()
            .try_clone_to_owned()
            .map(|fd| Existing::Stream(fd.into()));
    }
    let metadata = match fs::metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Existing::Nothing),
        other => other?,
    };
    if metadata.is_file() {
        return fs::canonicalize(path).map(Existing::File);
    }
    File::options().write(true).open(path).map(Existing::Stream)
}

/// Compares what the paths lead to, so that links and redirections do not hide it.
/// Terminals and other devices are not files that an output could damage.
fn is_same_file(output: &Path, input: &Path) -> bool {
    let identity = |path: PathBuf| {
        let metadata = fs::metadata(path).ok().filter(fs::Metadata::is_file)?;
        Some((metadata.dev(), metadata.ino()))
    };
    let output = identity(standard_as_file(output, STANDARD_OUTPUT));
    output.is_some() && output == identity(standard_as_file(input, STANDARD_INPUT))
}

fn standard_as_file(path: &Path, device: &str) -> PathBuf {
    if path == Path::new(STANDARD_STREAM) {
        device.into()
    } else {
        path.to_owned()
    }
}

fn mode(path: &Path) -> Option<u32> {
    let metadata = fs::metadata(path).ok().filter(fs::Metadata::is_file)?;
    Some(metadata.permissions().mode() & MODE_BITS)
}
