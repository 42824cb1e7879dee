//! Key files, and everything else that a machine or a trustee needs to use them: encryption, updates,
//! and the device's side of a join. No database, no network.
//!
//! - [`MemberKeyFile`], [`IssuerKeyFile`] and [`TrusteeKeyFile`] are the key files, and [`encryption`]
//!   is their encryption; `spec/key-file.md` is the format.
//! - An [`Author`] writes into a group's log, and [`LogKeyFile`] is the key of a log or a witness.
//! - [`update`] brings a member key to the epochs in force and announced, with the group file alone;
//!   after a rebase also with a [`witness_file`].
//! - [`post`] is what authors post on a board.
//! - [`join`] has the files by which a device joins from its own host, and the device's side.
//! - [`sealed_stream`] encrypts files of any length, such as backups.
//! - [`files`] writes files that appear whole or not at all.
//!
//! The clock and the randomness are arguments; [`files`] alone touches the disk.

pub mod encryption;
pub mod files;
pub mod join;
mod key_file;
pub mod login;
pub mod post;
pub mod sealed_stream;
mod text_file;
pub mod update;
pub mod witness_file;

pub use key_file::{
    Author, AuthorKeyFile, HeldEpoch, IssuerKey, IssuerKeyFile, LogKeyFile, MAX_HELD_EPOCHS,
    MemberKeyFile, OpeningShare, TrusteeKeyFile, is_contributory,
};
pub use text_file::TextFile;
