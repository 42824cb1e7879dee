//! Evidence that anybody checks offline, without asking the manager: the group file, the register,
//! and the answers of trustees about packets.
//!
//! - A [`GroupFile`] is read from bytes, or piece by piece ([`GroupFileReader`]), with every rule of
//!   `spec/group-file.md` section 3; its parts are [`Genesis`], [`EpochRecord`], [`Checkpoint`] and
//!   [`RegisterHead`]. It is enough to verify packets. To open, judge, match, give shares or update a
//!   key, a program needs a [`CheckedGroup`], whose chain of revocations was checked.
//! - A [`Row`] is a machine's entry in the register, with the proof that it is there. Whoever keeps
//!   the register's tree makes proofs with [`appended_nodes`], [`root`], [`inclusion`] and
//!   [`consistency`].
//! - A [`Request`] asks trustees about a [`Packet`]. Each checks it ([`Asked`]) and gives a [`Share`];
//!   [`combine_opening`] makes an [`Opening`] of them, [`combine_match`] a [`Match`]. A [`Search`]
//!   finds the row.
//! - A [`Warrant`] says who may ask trustees about which signatures, and until when.
//! - [`judge_opening`] and [`judge_match`] say what these prove, with every rule of `spec/opening.md`
//!   sections 6 and 7, and what they do not: [`Caveat`].
//!
//! No IO and no clock; randomness is an argument. Whatever the bytes are, nothing panics, and nothing
//! allocates beyond a small multiple of them.
#![no_std]

extern crate alloc;
#[cfg(test)]
#[macro_use]
extern crate std;

pub mod armor;
mod credential;
mod evidence;
mod fingerprint;
mod group_file;
mod judge;
mod locator;
mod merkle;
mod parts;
mod register;
mod register_file;
mod request;
mod row;
mod row_question;
mod search;
mod share;
mod warrant;
pub mod wire;

pub use armor::TextError;
pub use clew_log::signed;
pub use clew_packet::GroupId;
pub use clew_wire::{BadName, Name, WallTime};
pub use evidence::{Match, Opening, ReadError};
pub use fingerprint::{BadFingerprint, DeviceFingerprint, short_epoch_id, short_form};
pub use group_file::{
    CheckedGroup, EpochSharing, Follow, GroupFile, GroupFileError, GroupFileReader, HEADER,
    MAX_EPOCHS, MAX_STEPS, Rule,
};
pub use judge::{
    AnchorFault, Anchored, Asked, Caveat, CombineError, Combined, Fault, JudgeRule, Judgement,
    Refused, RequestFault, Requested, ShareFault, combine_match, combine_opening, gather_blinds,
    gather_commitments, judge_match, judge_opening,
};
pub use locator::Locator;
pub use merkle::{appended_nodes, consistency, inclusion, root};
pub use parts::{
    BadLog, Change, Checkpoint, End, EpochRecord, Genesis, GroupLog, MAX_PART_BYTES,
    MAX_REBASE_ROWS, MAX_STEPS_PER_RECORD, NewOpeningKey, Origin, RegisterHead, SharingRecord,
    sign_part,
};
pub use register::{
    DeviceEntry, EntryKey, KeyOrigin, MAX_ENTRY_BYTES, RegisterEntry, join_session,
};
pub use register_file::{
    LineValue, MAX_REGISTER_EPOCHS, RegisterFileError, RegisterFileHeader, RegisterLine,
    RegisterReader,
};
pub use request::{Packet, Question, REQUEST_BYTES, Request};
pub use row::{MAX_ROW_BYTES, Row};
pub use row_question::{ROW_QUESTION_BYTES_MAX, RowQuestion};
pub use search::{FoundRow, OpenedBase, Search, base_hash};
pub use share::{Share, Step};
pub use warrant::{
    Requester, Scope, WARRANT_DIGESTS_MAX, WARRANT_TIME_MAX, Warrant, WarrantDraft, WarrantError,
    WarrantRule,
};
