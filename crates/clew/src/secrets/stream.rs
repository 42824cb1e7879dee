//! Long files that may be encrypted.

use super::Unlock;
use crate::failure::Failure;
use clew_evidence::TextError;
use clew_keys::encryption::Needs;
use clew_keys::sealed_stream::{SEALED_HEADER, SealedReader, stream_needs};
use std::fs::File;
use std::io::{BufRead, BufReader, ErrorKind, Read};
use std::path::Path;

impl Unlock {
    /// Reads a long file that may be encrypted: what a backup is. It is decrypted as it is read.
    pub fn stream(&self, path: &Path) -> Result<Box<dyn Read>, Failure> {
        let failed = |error: std::io::Error| match error.kind() {
            ErrorKind::InvalidData => Failure::file(path, error),
            _ => Failure::io(path, &error),
        };
        let mut file = BufReader::new(File::open(path).map_err(failed)?);
        let start = file.fill_buf().map_err(failed)?;
        let first = start
            .strip_prefix(SEALED_HEADER)
            .map(|rest| rest.first().copied());
        let secret = match first.map(|first| first.and_then(stream_needs)) {
            None => return Ok(Box::new(file)),
            Some(Some(Needs::Passphrase)) => self.passphrase(path)?,
            Some(Some(Needs::KeyFile)) => self.content(path)?,
            Some(_) => return Err(Failure::file(path, TextError::Damaged)),
        };
        file.consume(SEALED_HEADER.len());
        let stream = SealedReader::new(file, &secret).map_err(failed)?;
        Ok(Box::new(stream))
    }
}
