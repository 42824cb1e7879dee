//! What anybody can check offline, without asking the manager: the group file, the register, and what
//! trustees say about packets.
//!
//! - A [`GroupFile`] is read from bytes with every rule of `spec/group-file.md` section 3; its parts
//!   are written by [`Genesis`], [`EpochRecord`] and [`RegisterHead`].
//! - A [`Row`] is a machine's entry in the register, with the proof that it is there
//!   ([`appended_nodes`], [`root`] and [`inclusion`] for whoever keeps the register's tree).
//! - A [`Request`] asks trustees about a [`Packet`]. Each checks it ([`Asked`]) and gives a [`Share`];
//!   [`combine_opening`] makes an [`Opening`] of them, [`combine_match`] a [`Match`].
//! - [`judge_opening`] and [`judge_match`] say what these prove, with every rule of `spec/opening.md`
//!   sections 6 and 7.
//!
//! No IO, no clock, no randomness; whatever the bytes are, nothing panics, and nothing allocates
//! beyond a small multiple of them.

pub mod armor;
mod evidence;
mod group_file;
mod judge;
mod merkle;
mod name;
mod parts;
mod proof;
mod register;
mod register_file;
mod request;
mod share;
mod signed;
pub mod wire;

pub use armor::TextError;
pub use clew_packet::GroupId;
pub use evidence::{Match, Opening, ReadError};
pub use group_file::{
    EpochSharing, GroupChange, GroupFile, GroupFileError, HEADER, MAX_EPOCHS, Rule,
};
pub use judge::{
    Asked, Caveat, CombineError, Combined, Fault, JudgeRule, Judgement, Refused, Why,
    combine_match, combine_opening, gather_blinds, gather_commitments, judge_match, judge_opening,
};
pub use merkle::{MAX_PROOF_HASHES, appended_nodes, inclusion, root};
pub use name::{BadName, MAX_NAME_BYTES, Name};
pub use parts::{
    Change, EpochRecord, Genesis, MAX_PART_BYTES, NewOpeningKey, Origin, RegisterHead, SealedHead,
    SharingRecord, seal,
};
pub use proof::{MAX_ROW_BYTES, Proof, Row};
pub use register::{DeviceEntry, MAX_ENTRY_BYTES, RegisterEntry, join_session};
pub use register_file::{RegisterFileError, RegisterLine, RegisterReader, register_file_header};
pub use request::{Packet, Question, REQUEST_BYTES, Request, packet_digest};
pub use share::{Share, Step};
