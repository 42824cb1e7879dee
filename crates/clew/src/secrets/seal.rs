//! The options that say how new secret files are encrypted.

use super::{ask_twice, key_file, passphrase_from};
use crate::failure::Failure;
use clap::Args;
use clew_keys::encryption::Secret;
use std::path::PathBuf;

/// What encrypts the secret files that a command writes. By default they are not encrypted, with
/// permissions 0600.
#[derive(Args, Debug, Default)]
pub struct Seal {
    /// Prompt for a passphrase and encrypt new secret files with it
    #[arg(long)]
    pub encrypt: bool,
    /// File whose first line is the passphrase for new secret files
    #[arg(long, value_name = "FILE", conflicts_with = "encrypt")]
    pub new_passphrase_file: Option<PathBuf>,
    /// File whose content encrypts new secret files: at least 16 random bytes
    #[arg(long, value_name = "FILE", conflicts_with_all = ["encrypt", "new_passphrase_file"])]
    pub encrypt_with: Option<PathBuf>,
    /// Shell command that prints what --encrypt-with reads
    #[arg(long, value_name = "COMMAND", conflicts_with_all = ["encrypt", "new_passphrase_file", "encrypt_with"])]
    pub encrypt_command: Option<String>,
}

impl Seal {
    /// The secret to encrypt with, asked for twice if it is typed.
    pub fn secret(&self) -> Result<Option<Secret>, Failure> {
        match self.stored()? {
            None if self.encrypt => ask_twice().map(Some),
            secret => Ok(secret),
        }
    }

    /// The secret to encrypt with, unless it is to be typed.
    pub(super) fn stored(&self) -> Result<Option<Secret>, Failure> {
        if let Some(path) = &self.new_passphrase_file {
            return passphrase_from(path).map(Some);
        }
        let with = self.encrypt_with.as_deref();
        key_file(with, self.encrypt_command.as_deref())
    }
}
