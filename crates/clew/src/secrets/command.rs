//! Secrets that another program keeps, and prints.

use super::READ_AHEAD_BYTES;
use crate::failure::Failure;
use std::fmt::Display;
use std::io::Read;
use std::process::{Command, Stdio};
use zeroize::Zeroizing;

/// Most that a command may print, in bytes.
const MAX_OUTPUT_BYTES: usize = 1 << 16;

/// What a command of the shell prints. It may ask a person on the terminal, for a PIN or a touch.
pub(super) fn printed_by(command: &str) -> Result<Zeroizing<Vec<u8>>, Failure> {
    let failed = |why: &dyn Display| Failure::new(format!("{command:?}: {why}"));
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", command]).stdout(Stdio::piped());
    let mut child = shell.spawn().map_err(|error| failed(&error))?;
    let mut bytes = Zeroizing::new(Vec::with_capacity(MAX_OUTPUT_BYTES + READ_AHEAD_BYTES));
    let output = child.stdout.take().into_iter();
    let read = output
        .map(|output| {
            output
                .take(MAX_OUTPUT_BYTES as u64 + 1)
                .read_to_end(&mut bytes)
        })
        .sum::<std::io::Result<usize>>();
    let ended = child.wait();
    read.map_err(|error| failed(&error))?;
    let status = ended.map_err(|error| failed(&error))?;
    if bytes.len() > MAX_OUTPUT_BYTES {
        return Err(failed(&"prints more than 64 KiB"));
    }
    match status.success() {
        true => Ok(bytes),
        false => Err(failed(&status)),
    }
}
