//! What a process without privileges says: its words for the supervisor, and its lines for people.
//!
//! Whoever breaks into such a process writes both. So each is read with a bound, and shown without control
//! characters.

use super::supervise::nap;
use crate::failure::Failure;
use clew_live::visible::{visible, visible_json};
use nix::poll::{PollFd, PollFlags, poll};
use serde::de::DeserializeOwned;
use std::io::{self, BufRead, BufReader, ErrorKind, Read};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

/// Longest line that is copied, in bytes.
const LINE_MAX: usize = 4_096;

/// Most lines that come at once. More than a panic's with all its functions.
const LINES_MAX: u32 = 500;

/// How often there is room for another line.
const LINE_EVERY: Duration = Duration::from_millis(100);

/// Longest word for the supervisor, in bytes.
const WORD_MAX: usize = 8_192;

/// How long the last lines of a process that ended may take.
const LAST: Duration = Duration::from_secs(1);

/// The copying of a process's lines to the log of this one.
pub(super) struct Copied {
    /// Closed at the end.
    end: Receiver<()>,
}

impl Copied {
    /// Begins to copy. The lines go on as they come; nobody waits for the log's reader.
    ///
    /// # Errors
    /// The system has no thread to give.
    pub fn begin(from: impl Read + Send + 'static) -> io::Result<Self> {
        let (held, end) = channel();
        thread::Builder::new().spawn(move || {
            copy(from, log, Instant::now);
            drop(held);
        })?;
        Ok(Self { end })
    }

    /// Waits for the last lines of a process that ended, for a while: it may have left another one behind
    /// that holds the pipe.
    pub fn finish(&self) {
        let _ = self.end.recv_timeout(LAST);
    }
}

/// How many lines a process may say, and how many it said in vain: whoever breaks into it would fill the disk.
struct Allowance {
    left: u32,
    /// Until when lines came back.
    until: Instant,
    left_out: u64,
}

impl Allowance {
    const fn new(now: Instant) -> Self {
        Self {
            left: LINES_MAX,
            until: now,
            left_out: 0,
        }
    }

    /// Returns whether there is room for a line, and how many were left out before it.
    fn take(&mut self, now: Instant) -> Option<u64> {
        let back = now.saturating_duration_since(self.until).as_millis() / LINE_EVERY.as_millis();
        let back = u32::try_from(back).unwrap_or(u32::MAX);
        self.left = self.left.saturating_add(back).min(LINES_MAX);
        self.until = match self.left {
            LINES_MAX => now,
            _ => self.until + LINE_EVERY * back,
        };
        if self.left == 0 {
            self.left_out += 1;
            return None;
        }
        self.left -= 1;
        Some(std::mem::take(&mut self.left_out))
    }
}

fn say_left_out(lines: u64, to: &mut impl FnMut(&str)) {
    if lines > 0 {
        to(&format!(
            "clew: warning: {lines} lines of the data plane were left out: it says too many"
        ));
    }
}

/// Copies lines until the other end is closed. A line that is too long is cut.
fn copy(from: impl Read, mut to: impl FnMut(&str), now: impl Fn() -> Instant) {
    let mut allowance = Allowance::new(now());
    copy_within(&mut allowance, from, &mut to, now);
    say_left_out(allowance.left_out, &mut to);
}

fn copy_within(
    allowance: &mut Allowance,
    from: impl Read,
    to: &mut impl FnMut(&str),
    now: impl Fn() -> Instant,
) {
    let mut from = BufReader::new(from);
    let mut line = Vec::new();
    let mut is_rest = false;
    loop {
        line.clear();
        let read = (&mut from)
            .take(LINE_MAX as u64)
            .read_until(b'\n', &mut line);
        match read {
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Ok(0) | Err(_) => return,
            Ok(_) => {}
        }
        let is_whole = line.last() == Some(&b'\n');
        if !is_rest && let Some(left_out) = allowance.take(now()) {
            say_left_out(left_out, to);
            let text = String::from_utf8_lossy(&line);
            to(&visible(text.trim_end()));
        }
        is_rest = !is_whole;
    }
}

/// Says a line at its level.
fn log(line: &str) {
    let level = |name: &str| line.strip_prefix(name);
    if let Some(text) = level("clew: error: ") {
        tracing::error!("{text}");
    } else if let Some(text) = level("clew: warning: ") {
        tracing::warn!("{text}");
    } else if let Some(text) = level("clew: ") {
        tracing::info!("{text}");
    } else if !line.is_empty() {
        // The last words of a thread, for example.
        tracing::error!("{line}");
    }
}

/// Reads the words of a process, each one line.
pub(super) struct WordReader<R> {
    from: R,
    held: Vec<u8>,
}

impl<R: Read + AsFd> WordReader<R> {
    pub const fn new(from: R) -> Self {
        let held = Vec::new();
        Self { from, held }
    }

    /// Reads what is there, so that a process which writes half a line holds up nobody. Returns `None` if
    /// the line is not whole.
    ///
    /// # Errors
    /// The process closed its end, or its line is too long.
    pub fn read(&mut self) -> io::Result<Option<String>> {
        if self.whole().is_none() {
            let mut piece = [0; 512];
            match self.from.read(&mut piece)? {
                0 => return Err(ErrorKind::UnexpectedEof.into()),
                read => self.held.extend(&piece[..read]),
            }
        }
        let Some(length) = self.whole() else {
            return match self.held.len() > WORD_MAX {
                true => Err(ErrorKind::InvalidData.into()),
                false => Ok(None),
            };
        };
        let line: Vec<u8> = self.held.drain(..=length).collect();
        Ok(Some(visible(String::from_utf8_lossy(&line).trim_end())))
    }

    /// Reads the next line, which has this long to come. `None` if it does not, or the process closed its end.
    pub fn read_within(&mut self, most: Duration) -> Option<String> {
        let until = Instant::now() + most;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let mut next = [PollFd::new(self.from.as_fd(), PollFlags::POLLIN)];
            let mut comes =
                || !left.is_zero() && poll(&mut next, nap(left)).is_ok_and(|count| count > 0);
            if self.whole().is_none() && !comes() {
                return None;
            }
            if let Some(said) = self.read().ok()? {
                return Some(said);
            }
        }
    }

    /// The length of the first line, if it is whole.
    fn whole(&self) -> Option<usize> {
        self.held.iter().position(|byte| *byte == b'\n')
    }
}

impl<R: AsFd> AsFd for WordReader<R> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.from.as_fd()
    }
}

/// Reads at most so many bytes to the end.
pub(super) fn bounded(from: impl Read, most: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    // What came before an error counts.
    let _ = from.take(most).read_to_end(&mut bytes);
    bytes
}

/// Decodes what a process said in JSON, without control characters.
pub(super) fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Failure> {
    let value = serde_json::from_slice(bytes).map_err(Failure::new)?;
    serde_json::from_value(visible_json(value)).map_err(Failure::new)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn copied(text: &[u8]) -> Vec<String> {
        let mut lines = Vec::new();
        let now = Instant::now();
        copy(text, |line| lines.push(line.to_owned()), || now);
        lines
    }

    #[test]
    fn lines_are_copied_in_full_and_control_nothing() {
        let lines = copied(b"clew: one\nclew: error: two \xff\n\x1b]0;x\x07\x9b\r\n\nlast");
        let wanted = [
            "clew: one",
            "clew: error: two \u{fffd}",
            "\\u{1b}]0;x\\u{7}\u{fffd}",
            "",
            "last",
        ];
        assert_eq!(lines, wanted);
    }

    #[test]
    fn a_line_without_end_is_cut_and_the_next_one_is_whole() {
        let mut text = vec![b'x'; 10 * LINE_MAX];
        text.extend(b"\nnext\n");
        let lines = copied(&text);
        assert_eq!(lines.len(), 2, "{}", lines.len());
        assert_eq!((lines[0].len(), lines[1].as_str()), (LINE_MAX, "next"));
    }

    /// Nothing comes back as long as the clock stands still, and one line each 100 ms when it goes on.
    #[test]
    fn too_many_lines_are_counted() {
        let lines = copied(&b"x\n".repeat(10_000));
        let end = "clew: warning: 9500 lines of the data plane were left out: it says too many";
        assert_eq!(lines.len(), LINES_MAX as usize + 1);
        assert_eq!(lines.last().map(String::as_str), Some(end));
        let begin = Instant::now();
        let mut allowance = Allowance::new(begin);
        let taken = (0..LINES_MAX).filter(|_| allowance.take(begin) == Some(0));
        assert_eq!(taken.count(), LINES_MAX as usize);
        assert_eq!(allowance.take(begin + LINE_EVERY / 2), None);
        let later = begin + LINE_EVERY * 3 / 2;
        assert_eq!(allowance.take(later), Some(1));
        assert_eq!(allowance.take(later), None);
        assert_eq!(
            allowance.take(begin + LINE_EVERY * 2),
            Some(1),
            "halves count"
        );
        assert_eq!(allowance.take(begin + Duration::from_secs(3_600)), Some(0));
        assert_eq!(allowance.left, LINES_MAX - 1);
    }

    #[test]
    fn words_come_in_pieces_and_are_bounded() {
        let (reader, mut writer) = io::pipe().unwrap();
        let mut words = WordReader::new(reader);
        writer.write_all(b"prep").unwrap();
        assert_eq!(words.read().unwrap(), None);
        writer.write_all(b"ared\nfailed: \x1b\n").unwrap();
        assert_eq!(words.read().unwrap().as_deref(), Some("prepared"));
        assert_eq!(words.read().unwrap().as_deref(), Some("failed: \\u{1b}"));
        writer.write_all(&[b'x'; WORD_MAX + 1]).unwrap();
        let end = std::iter::from_fn(|| match words.read() {
            Ok(word) => Some(word),
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::InvalidData);
                None
            }
        });
        assert!(end.count() <= WORD_MAX / 512 + 1, "without bound");
    }
}
