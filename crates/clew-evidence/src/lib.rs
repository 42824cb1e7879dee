//! What anybody can check offline, without asking the manager: the group file and the register.
//!
//! Formats only, no IO: a [`GroupFile`] is read from bytes with every rule of `spec/group-file.md`
//! section 3, and its parts are written by [`Genesis`], [`EpochRecord`] and [`RegisterHead`].

mod group_file;
mod merkle;
mod name;
mod parts;
mod wire;

pub use clew_packet::GroupId;
pub use group_file::{GroupFile, GroupFileError, HEADER, MAX_EPOCHS, MAX_PART_BYTES, Rule};
pub use merkle::{Frontier, MAX_PEAKS};
pub use name::{BadName, MAX_NAME_BYTES, Name};
pub use parts::{EpochRecord, Genesis, RegisterEntry, RegisterHead, seal};
